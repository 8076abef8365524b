//! The limits of the machine, measured in the same run on the same cores: how fast memory can be streamed
//! and gathered from. Arrays are far larger than any cache, except where gathering is measured inside one.

use std::hint::black_box;
use std::time::Instant;

use crate::inputs::Rng;

/// What one core of this machine can do, and several where they stream.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `a[i] = b[i] + s * c[i]` on all threads, counting 24 bytes an element, in bytes per second.
    pub triad: f64,
    /// `a[i] = b[i]`, counting 16 bytes an element, in bytes per second.
    pub copy: f64,
    /// Summing an array, counting 8 bytes an element, in bytes per second.
    pub read: f64,
    /// Seconds to load one random element from a table of so many bytes, loads being independent.
    pub gather: Vec<(usize, f64)>,
}

/// How often each limit is measured; the best counts, since nothing makes memory faster than it is.
const REPETITIONS: usize = 7;
/// 256 MiB an array.
const ELEMENTS: usize = 1 << 25;

impl Limits {
    /// Measures with so many threads, in about two seconds.
    pub fn measure(threads: usize) -> Self {
        let mut a = vec![0.0f64; ELEMENTS];
        let b = vec![1.0f64; ELEMENTS];
        let c = vec![2.0f64; ELEMENTS];
        let per_second = |bytes: usize, seconds: f64| (bytes * ELEMENTS) as f64 / seconds;
        let triad = best(|| {
            let part = ELEMENTS.div_ceil(threads);
            let parts = a.chunks_mut(part).zip(b.chunks(part)).zip(c.chunks(part));
            std::thread::scope(|scope| {
                for ((a, b), c) in parts {
                    scope.spawn(move || add(a, b, c));
                }
            });
            black_box(&mut a);
        });
        let copy = best(|| {
            a.copy_from_slice(&b);
            black_box(&mut a);
        });
        let read = best(|| {
            black_box(sum(&b));
        });
        let gather = [1 << 17, 1 << 23, 1 << 25, 1 << 28].map(|bytes| (bytes, gather(&b, bytes)));
        Self {
            triad: per_second(24, triad),
            copy: per_second(16, copy),
            read: per_second(8, read),
            gather: gather.into(),
        }
    }
}

fn best(mut step: impl FnMut()) -> f64 {
    let time = |step: &mut dyn FnMut()| {
        let start = Instant::now();
        step();
        start.elapsed().as_secs_f64()
    };
    (0..REPETITIONS).map(|_| time(&mut step)).fold(f64::INFINITY, f64::min)
}

fn add(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + 3.0 * c;
    }
}

/// Sixteen chains, so that the latency of the addition does not limit.
fn sum(numbers: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    for chunk in numbers.as_chunks::<16>().0 {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number;
        }
    }
    sums.iter().sum()
}

fn gather(table: &[f64], bytes: usize) -> f64 {
    let table = &table[..bytes / 8];
    let mut rng = Rng::new(9);
    let index: Vec<u32> = (0..1 << 21).map(|_| rng.below(table.len()) as u32).collect();
    let seconds = best(|| {
        let mut sums = [0.0; 4];
        for four in index.as_chunks::<4>().0 {
            for (sum, &i) in sums.iter_mut().zip(four) {
                *sum += table[i as usize];
            }
        }
        black_box(sums);
    });
    seconds / index.len() as f64
}
