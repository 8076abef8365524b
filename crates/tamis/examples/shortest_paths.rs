//! A semiring: sums are minima and products are sums, so that a step of a product is a step of shortest paths. What
//! has no edge is infinitely far: the fill value of the graph is `inf`.

use tamis::{Diagnostic, Kernel, Options, Scalar, Tensor};

/// Distances from the first vertex of a graph, by Bellman and Ford.
pub fn main() -> Result<(), Diagnostic> {
    const FAR: f64 = f64::INFINITY;
    // 0 -> 1 (4), 0 -> 2 (1), 1 -> 3 (1), 2 -> 1 (2)
    let edges =
        Tensor::csr([4, 4], vec![0, 2, 3, 4, 4], vec![1, 2, 3, 1], vec![4.0, 1.0, 1.0, 2.0])?
            .with_fill(Scalar::F64(FAR))?;
    let mut d = Tensor::dense(&[4], vec![0.0, FAR, FAR, FAR])?;
    let step = Kernel::compile(
        "n(j) = min(d(j), min(i, E(i,j) + d(i)))",
        &[("E", &edges), ("d", &d)],
        &Options::default(),
    )?;
    for _ in 0..3 {
        d = step.run(&[("E", &edges), ("d", &d)])?.remove(0).1;
    }
    let distance = |j| d.get(&[j]).map(|d| d.as_f64());
    let distances: Vec<f64> = (0..4).map(distance).collect::<Result<_, _>>()?;
    assert_eq!(distances, [0.0, 3.0, 1.0, 4.0]);
    println!("distances: {distances:?}");
    Ok(())
}
