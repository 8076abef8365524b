//! Results of many pages: machine code, which computes some strip by strip, gives what the interpreter gives.

mod random;

use tamis::{Backend, Kernel, Options, Parts, Tensor, format};

/// Small integers for values, whose sums are exact in any order.
fn random(format_text: &str, dims: &[u64], entries: usize, seed: u64) -> Tensor {
    random::random(format_text, dims, entries, seed, |x| (x % 7) as f64 - 3.0)
}

/// The values of a dense result.
fn values(text: &str, operands: &[(&str, &Tensor)], backend: Backend) -> Vec<f64> {
    let order = text.split_once('=').map_or(0, |(lhs, _)| lhs.matches(',').count() + 1);
    let dense = format::parse("dense", Some(order)).unwrap_or_else(|d| panic!("{d}"));
    let options = Options {
        results: [("R".to_owned(), dense)].into(),
        backend,
        parts: Parts::Whole,
        ..Options::default()
    };
    let kernel = Kernel::compile(text, operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let mut results = kernel.run(operands).unwrap_or_else(|d| panic!("{text}: {d}"));
    results.remove(0).1.vals().as_slice::<f64>().unwrap_or_default().to_vec()
}

#[test]
fn results_of_many_pages_are_those_of_the_interpreter() {
    let x = random("dense", &[6], 12, 1);
    let c = random("dense", &[6, 40], 200, 2);
    let d = random("dense", &[6, 1100], 6000, 3);
    let v = random("sparse", &[1100], 150, 4);
    let blocks = "(i, j) -> (j: compressed, i/4: dense, i%4: dense)";
    for format in ["csr", "csc", "dcsr", "coo", "dia", "ell", "dok", "bcsr(2,4)", blocks] {
        let b = random(format, &[6, 1100], 300, 5);
        let operands = [("x", &x), ("C", &c), ("D", &d), ("v", &v), ("B", &b)];
        for text in [
            "R(j) = B(i,j) * x(i)",
            "R(j) = sum(i, x(i) + B(i,j))",
            "R(j) = sum(i, max(x(i), B(i,j)))",
            "R(j) = sum(i, x(i) * (1 + B(i,j)))",
            "R(j) = sum(i, abs(D(i,j) - B(i,j)))",
            "R(j,k) = sum(i, C(i,k) + v(j))",
            "R(j,k) = sum(i, C(i,k) * (D(i,j) - B(i,j)))",
            "R(j,i) = B(i,j) + v(j)",
        ] {
            let read = |(name, _): &&(&str, &Tensor)| text.contains(&format!("{name}("));
            let used: Vec<(&str, &Tensor)> = operands.iter().filter(read).copied().collect();
            let [want, got] =
                [Backend::Interpreter, Backend::Jit].map(|backend| values(text, &used, backend));
            assert!(want == got, "{text} with B in {format}");
        }
    }
}
