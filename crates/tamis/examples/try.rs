//! scratch
use tamis::*;
fn main() {
    let a = Tensor::csr([3, 3], vec![0, 2, 3, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let b = Tensor::csc([3, 3], vec![0, 1, 2, 3], vec![2, 1, 0], vec![1.0, 5.0, 7.0]).unwrap();
    let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0]).unwrap();
    for text in std::env::args().skip(1) {
        println!("{text}");
        let ops: Vec<(&str, &Tensor)> = [("A", &a), ("B", &b), ("x", &x)]
            .into_iter()
            .filter(|(n, _)| {
                let p = notation::parse(&text).unwrap();
                p.tensor(n).is_some()
            })
            .collect();
        let t = std::time::Instant::now();
        let k = Kernel::compile(&text, &ops, &Options::default()).unwrap();
        println!("{:?} {}", t.elapsed(), tamis_core_print(&k));
        for (n, r) in k.run(&ops).unwrap() {
            println!("{n} = {} {:?} {:?}", r.storage(), r.levels(), r.vals());
        }
    }
}
fn tamis_core_print(k: &Kernel) -> String {
    k.print_cin()
}
