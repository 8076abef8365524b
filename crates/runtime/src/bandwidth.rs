//! How many bytes memory moves in a second, measured: what no kernel on large operands goes beyond.
//!
//! `a[i] = b[i] + s * c[i]` on the threads of rayon's pool, 24 bytes an element (McCalpin's STREAM, 1995).

use crate::budget;
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

/// 64 MiB an array: caches hold less of the three, or most of it where they are very large.
const ELEMENTS: usize = 1 << 23;
/// The best of so many counts: nothing makes memory faster than it is.
const REPETITIONS: usize = 5;
/// At most this part of the memory that is left.
const LEFT_TO_OTHERS: usize = 4;

/// Bytes per second of a triad on all threads, measured in a few tens of milliseconds.
pub fn triad() -> f64 {
    let bytes = budget::left() / LEFT_TO_OTHERS;
    let elements = ELEMENTS.min(bytes / 24).max(1);
    let mut a = vec![0.0f64; elements];
    let (b, c) = (vec![1.0f64; elements], vec![2.0f64; elements]);
    let part = elements.div_ceil(rayon::current_num_threads());
    let best = (0..REPETITIONS).map(|_| {
        let start = Instant::now();
        let parts = a.par_chunks_mut(part).zip(b.par_chunks(part)).zip(c.par_chunks(part));
        parts.for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + 3.0 * c;
            }
        });
        black_box(&mut a);
        start.elapsed().as_secs_f64()
    });
    (24 * elements) as f64 / best.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    /// Any machine is within these: a mistake of units is not.
    #[test]
    fn memory_moves_gigabytes_in_a_second() {
        let bytes = super::triad();
        assert!((1e8..1e13).contains(&bytes), "{bytes}");
    }
}
