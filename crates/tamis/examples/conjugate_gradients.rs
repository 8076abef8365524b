//! A solver loop: conjugate gradients for the Laplacian of a chain. The kernels are compiled before the loop.

use tamis::{Diagnostic, Kernel, Options, Tensor};

/// Unknowns.
const N: usize = 1_000;

/// Solves `A x = b` and checks the residual.
pub fn main() -> Result<(), Diagnostic> {
    let a = laplacian()?;
    let vector = |vals: Vec<f64>| Tensor::dense(&[N as u64], vals);
    let zero = vector(vec![0.0; N])?;
    let (mut x, mut r, mut p) = (zero.clone(), vector(vec![1.0; N])?, vector(vec![1.0; N])?);
    let options = Options::default();
    let product = Kernel::compile("y(i) = A(i,j) * p(j)", &[("A", &a), ("p", &p)], &options)?;
    let dot = Kernel::compile("s = u(i) * v(i)", &[("u", &p), ("v", &r)], &options)?;
    let one = Tensor::scalar(1.0);
    let operands = [("u", &p), ("c", &one), ("v", &r)];
    let add = Kernel::compile("w(i) = u(i) + c * v(i)", &operands, &options)?;

    let number = |u: &Tensor, v: &Tensor| {
        let results = dot.run(&[("u", u), ("v", v)])?;
        Ok::<f64, Diagnostic>(results[0].1.get(&[])?.as_f64())
    };
    let sum = |u: &Tensor, c: f64, v: &Tensor| {
        let c = Tensor::scalar(c);
        let mut results = add.run(&[("u", u), ("c", &c), ("v", v)])?;
        Ok::<Tensor, Diagnostic>(results.remove(0).1)
    };
    let (mut rr, mut steps) = (number(&r, &r)?, 0);
    while rr.sqrt() > 1e-8 && steps < 2 * N {
        let y = product.run(&[("A", &a), ("p", &p)])?.remove(0).1;
        let alpha = rr / number(&p, &y)?;
        x = sum(&x, alpha, &p)?;
        r = sum(&r, -alpha, &y)?;
        let before = std::mem::replace(&mut rr, number(&r, &r)?);
        p = sum(&r, rr / before, &p)?;
        steps += 1;
    }
    // The solution of -x'' = 1 on a chain with both ends held.
    let middle = x.get(&[N as u64 / 2])?.as_f64();
    let exact = 0.5 * (N / 2 + 1) as f64 * (N - N / 2) as f64;
    assert!((middle - exact).abs() < 1e-6 * exact, "{middle} is not {exact}");
    println!("{steps} steps, residual {:.1e}, x({}) = {middle:.3}", rr.sqrt(), N / 2);
    Ok(())
}

/// 2 on the diagonal, -1 beside it.
fn laplacian() -> Result<Tensor, Diagnostic> {
    let (mut pos, mut crd, mut vals) = (vec![0], vec![], vec![]);
    for i in 0..N {
        for j in i.saturating_sub(1)..(i + 2).min(N) {
            crd.push(j as i32);
            vals.push(if i == j { 2.0 } else { -1.0 });
        }
        pos.push(crd.len() as i32);
    }
    Tensor::csr([N as u64; 2], pos, crd, vals)
}
