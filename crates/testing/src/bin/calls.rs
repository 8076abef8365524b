//! What calls cost: a small one, and conjugate gradients of 100,000 unknowns beside the same by hand.
//!
//! ```text
//! cargo xtask bench --calls
//! ```

use std::time::{Duration, Instant};
use tamis::{Backend, Diagnostic, Kernel, Options, Parts, Tensor, budget};

fn main() -> Result<(), Diagnostic> {
    small()?;
    if std::env::args().any(|arg| arg == "--small") {
        return Ok(());
    }
    for parts in [Parts::Whole, Parts::Worthwhile] {
        gradients(parts)?;
    }
    Ok(())
}

/// The shortest of several times of some work, each of so many repetitions, per repetition.
fn shortest(repetitions: u32, mut work: impl FnMut()) -> Duration {
    let times = (0..15).map(|_| {
        let start = Instant::now();
        (0..repetitions).for_each(|_| work());
        start.elapsed() / repetitions
    });
    times.min().unwrap_or_default()
}

/// `y(i) = A(i,j) * x(j)` of two rows.
fn small() -> Result<(), Diagnostic> {
    let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
    let operands = [("A", &a), ("x", &x)];
    for backend in [Backend::Jit, Backend::Auto] {
        let options = Options { backend, ..Options::default() };
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &options)?;
        let mut y = kernel.run(&operands)?.remove(0).1;
        let new = shortest(20_000, || drop(kernel.run(&operands)));
        let into = shortest(20_000, || {
            kernel.run_into(&operands, &mut [("y", &mut y)]).expect("it ran before");
        });
        println!("small call, {}: run {new:?}, run_into {into:?}", backend.name());
    }
    Ok(())
}

/// Unknowns of a grid.
const SIDE: u64 = 316;
/// Steps of the solver.
const STEPS: u32 = 100;

/// The Laplacian of a grid: positions, coordinates, values.
fn laplacian() -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (mut pos, mut crd, mut vals) = (vec![0], vec![], vec![]);
    for k in 0..SIDE * SIDE {
        let (i, j) = (k / SIDE, k % SIDE);
        let near = [
            (i > 0).then(|| k - SIDE),
            (j > 0).then(|| k - 1),
            Some(k),
            (j + 1 < SIDE).then_some(k + 1),
            (i + 1 < SIDE).then_some(k + SIDE),
        ];
        for at in near.into_iter().flatten() {
            crd.push(at as i32);
            vals.push(if at == k { 4.01 } else { -1.0 });
        }
        pos.push(crd.len() as i32);
    }
    (pos, crd, vals)
}

fn gradients(parts: Parts) -> Result<(), Diagnostic> {
    let (pos, crd, vals) = laplacian();
    let n = SIDE * SIDE;
    let (mut faults, mut used) = (0, 0);
    let mut by_kernels = Solver::new(parts, (pos.clone(), crd.clone(), vals.clone()))?;
    let mut compiled = Duration::MAX;
    for _ in 0..15 {
        by_kernels.begin()?;
        by_kernels.step()?;
        (faults, used) = (page_faults(), budget::used());
        let start = Instant::now();
        (0..STEPS).try_for_each(|_| by_kernels.step())?;
        compiled = compiled.min(start.elapsed() / STEPS);
    }
    let faults = (page_faults() - faults) as f64 / f64::from(STEPS);
    let mut hand = Duration::MAX;
    let mut rr = 0.0;
    for _ in 0..15 {
        let mut state = ByHand::new(n as usize);
        rr = state.step(&pos, &crd, &vals, 0.0);
        let start = Instant::now();
        (0..STEPS).for_each(|_| rr = state.step(&pos, &crd, &vals, rr));
        hand = hand.min(start.elapsed() / STEPS);
    }
    println!(
        "CG of {n} unknowns, {parts:?}: {compiled:?} a step, {hand:?} by hand ({:.2}), {faults} page \
         faults a step, {} bytes more, residuals {:e} and {rr:e}",
        compiled.as_secs_f64() / hand.as_secs_f64(),
        budget::used() as i64 - used as i64,
        by_kernels.rr.values::<f64>()?[0],
    );
    Ok(())
}

/// Conjugate gradients by kernels.
struct Solver {
    product: Kernel,
    step: Kernel,
    direction: Kernel,
    a: Tensor,
    x: [Tensor; 2],
    r: [Tensor; 2],
    p: [Tensor; 2],
    q: Tensor,
    pq: Tensor,
    rr: Tensor,
    before: Tensor,
}

impl Solver {
    fn new(
        parts: Parts,
        (pos, crd, vals): (Vec<i32>, Vec<i32>, Vec<f64>),
    ) -> Result<Solver, Diagnostic> {
        let n = SIDE * SIDE;
        let a = Tensor::csr([n, n], pos, crd, vals)?;
        let options = Options { parts, backend: Backend::Jit, ..Options::default() };
        let v = Tensor::zeros::<f64>(&[n])?;
        let one = Tensor::scalar(1.0);
        let product = "q(i) = A(i,j) * p(j); pq = p(i) * q(i)";
        let step =
            "x1(i) = x(i) + rr / pq * p(i); r1(i) = r(i) - rr / pq * q(i); s = r1(i) * r1(i)";
        let direction = "p1(i) = r(i) + rr / before * p(i)";
        let of =
            |text: &str, operands: &[(&str, &Tensor)]| Kernel::compile(text, operands, &options);
        let all = [("x", &v), ("r", &v), ("p", &v), ("q", &v), ("rr", &one), ("pq", &one)];
        let vectors =
            || Ok::<_, Diagnostic>([Tensor::zeros::<f64>(&[n])?, Tensor::zeros::<f64>(&[n])?]);
        Ok(Solver {
            product: of(product, &[("A", &a), ("p", &v)])?,
            step: of(step, &all)?,
            direction: of(direction, &[("r", &v), ("p", &v), ("rr", &one), ("before", &one)])?,
            a,
            x: vectors()?,
            r: vectors()?,
            p: vectors()?,
            q: v,
            pq: Tensor::scalar(0.0),
            rr: Tensor::scalar(n as f64),
            before: Tensor::scalar(0.0),
        })
    }

    fn begin(&mut self) -> Result<(), Diagnostic> {
        self.x[0].values_mut::<f64>()?.fill(0.0);
        self.r[0].values_mut::<f64>()?.fill(1.0);
        self.p[0].values_mut::<f64>()?.fill(1.0);
        self.rr.values_mut::<f64>()?[0] = (SIDE * SIDE) as f64;
        Ok(())
    }

    fn step(&mut self) -> Result<(), Diagnostic> {
        let Solver { x: [x, x1], r: [r, r1], p: [p, p1], q, pq, rr, before, .. } = self;
        self.product.run_into(&[("A", &self.a), ("p", p)], &mut [("q", q), ("pq", pq)])?;
        let operands = [("x", &*x), ("r", r), ("p", p), ("q", q), ("rr", rr), ("pq", pq)];
        self.step.run_into(&operands, &mut [("x1", x1), ("r1", r1), ("s", before)])?;
        std::mem::swap(rr, before);
        let operands = [("r", &*r1), ("p", p), ("rr", rr), ("before", before)];
        self.direction.run_into(&operands, &mut [("p1", p1)])?;
        std::mem::swap(x, x1);
        std::mem::swap(r, r1);
        std::mem::swap(p, p1);
        Ok(())
    }
}

/// The same without kernels.
struct ByHand {
    x: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl ByHand {
    fn new(n: usize) -> ByHand {
        ByHand { x: vec![0.0; n], r: vec![1.0; n], p: vec![1.0; n], q: vec![0.0; n] }
    }

    /// A step; `rr` is the square of the residual before, or 0 for the first step.
    fn step(&mut self, pos: &[i32], crd: &[i32], vals: &[f64], rr: f64) -> f64 {
        let ByHand { x, r, p, q } = self;
        let rr = if rr == 0.0 { r.len() as f64 } else { rr };
        for (i, q) in q.iter_mut().enumerate() {
            let (begin, end) = (pos[i] as usize, pos[i + 1] as usize);
            let row = crd[begin..end].iter().zip(&vals[begin..end]);
            *q = row.map(|(&j, a)| a * p[j as usize]).sum();
        }
        let pq: f64 = p.iter().zip(&*q).map(|(p, q)| p * q).sum();
        let alpha = rr / pq;
        x.iter_mut().zip(&*p).for_each(|(x, p)| *x += alpha * p);
        r.iter_mut().zip(&*q).for_each(|(r, q)| *r -= alpha * q);
        let next: f64 = r.iter().map(|r| r * r).sum();
        let beta = next / rr;
        p.iter_mut().zip(&*r).for_each(|(p, r)| *p = r + beta * *p);
        next
    }
}

/// How many page faults this process had that needed no disk.
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
    behind.split(' ').nth(7).and_then(|faults| faults.parse().ok()).unwrap_or(0)
}
