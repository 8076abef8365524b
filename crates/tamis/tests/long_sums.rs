//! Sums of so many terms that terms of 32 bits add up to more than 64 bits.

use tamis::{
    Backend, Coordinates, DataType, Duplicates, Kernel, Options, Parts, Tensor, Values, format,
};
use tamis_core::cin::Overflow;
use tamis_core::cin::terms::{MANY, Sizes, terms};
use tamis_ir::ids::{Id, TensorId};

/// A tensor of ones, at every coordinate for which `is_stored` holds of the sum of its parts.
fn ones(text: &str, dims: &[u64], is_stored: impl Fn(u64) -> bool) -> Tensor {
    let mut crds = vec![vec![]; dims.len()];
    for at in 0..dims.iter().product() {
        let parts = dims.iter().rev().scan(at, |at, d| {
            let part = *at % d;
            *at /= d;
            Some(part)
        });
        let coordinate: Vec<u64> = parts.collect();
        if is_stored(coordinate.iter().sum()) {
            crds.iter_mut().zip(coordinate.iter().rev()).for_each(|(c, &x)| c.push(x));
        }
    }
    let vals = Values::I8(vec![1; crds[0].len()]);
    let list = Coordinates::new(dims.to_vec(), crds, vals).expect("a list of entries");
    let spec = format::parse(text, Some(dims.len())).unwrap_or_else(|d| panic!("{d}"));
    let storage = spec.resolve(DataType::I8).expect("a storage");
    tamis::pack(&list, &storage, Duplicates::Refuse).unwrap_or_else(|d| panic!("{d}"))
}

/// Sums of ones count their terms, so that no element may be above the bound.
#[test]
fn no_sum_has_more_terms_than_its_bound() {
    let programs = [
        ("R(i) = A(i,j) * x(j)", 6),
        ("R(j) = A(i,j)", 5),
        ("R = A(i,j)", 16),
        ("R(i,k) = A(i,j) * B(j,k)", 6),
        ("R = A(i,j) * B(j,k)", 1000),
        ("R(i) = sum(j, max(A(i,j), x(j)))", 1000),
        ("R(i) = sum(j, A(i,j) == 0)", 1000),
        ("R(i) = A(i,j)*B(j,k)*x(k)", 1000),
        ("R(i,j) = A(i,j)", 1000),
    ];
    for format in ["csr", "csc", "dcsr", "coo", "ell", "dia", "bcsr(2,3)", "dense"] {
        let a = ones(format, &[5, 6], |sum| sum % 2 == 0);
        let b = ones(format, &[6, 4], |sum| sum % 3 > 0);
        let [x, z] = [6, 4].map(|n| ones("dense", &[n], |_| true));
        for (text, tight) in programs {
            let x = if text.contains("x(k)") { &z } else { &x };
            let mut operands = vec![("A", &a), ("B", &b), ("x", x)];
            operands.retain(|(name, _)| text.contains(&format!("{name}(")));
            let options = Options { datatype: Some(DataType::I32), ..Options::default() };
            let kernel = Kernel::compile(text, &operands, &options);
            let kernel = kernel.unwrap_or_else(|d| panic!("{text} {format}: {d}"));
            let (values, dims) = kernel.bind(&operands).expect("operands of the kernel");
            let stored = |id: TensorId| values[id.index()].as_ref().map(|t| t.vals().len() as u64);
            let sizes = Sizes { dimension: &|var| dims[var], stored: &stored };
            let program = &kernel.compiled().program;
            assert!(
                program.kernels.iter().all(|k| k.overflow == Overflow::Checked),
                "{text} {format}"
            );
            // Sums that are multiplied have as many terms as their product.
            let bounds = program.kernels.iter().flat_map(|k| terms(program, k, &sizes));
            let bound = bounds.map(|(_, n)| n.max(1)).fold(1, u64::saturating_mul);
            let results = kernel.run(&operands).unwrap_or_else(|d| panic!("{text} {format}: {d}"));
            let vals = results[0].1.vals();
            let most = (0..vals.len()).filter_map(|k| vals.get(k).integer()).max().unwrap_or(0);
            assert!(most <= bound.into(), "{text} {format}: {most} terms, not {bound}");
            assert!(format != "csr" || bound <= tight, "{text}: {bound} is too high a bound");
        }
    }
}

/// What a program computes for `x`, or the code of its diagnostic, on every backend and in parts.
fn check(text: &str, (x, datatype): (i64, DataType), n: u64, expect: &str) {
    let spec = format::parse("dense", Some(0)).and_then(|spec| spec.resolve(datatype));
    let list = Coordinates::new(vec![], vec![], Values::I64(vec![x])).expect("a number");
    let x = tamis::pack(&list, &spec.expect("a storage"), Duplicates::Refuse).expect("a number");
    for backend in [Backend::Jit, Backend::Interpreter, Backend::C] {
        if backend == Backend::C && !tamis::has_c_compiler() {
            continue;
        }
        for parts in [Parts::Whole, Parts::Worthwhile] {
            let mut options =
                Options { backend, parts, datatype: Some(datatype), ..Options::default() };
            options.dims.insert("i".to_owned(), n);
            let kernel = Kernel::compile(text, &[("x", &x)], &options);
            let got = match kernel.and_then(|kernel| kernel.run(&[("x", &x)])) {
                Ok(results) => results[0].1.vals().get(0).to_string(),
                Err(d) => d.code.name().to_owned(),
            };
            assert_eq!(got, expect, "{text} for {n} terms on {backend:?} in {parts:?}");
        }
    }
}

/// 2^33 times 2^31 is 2^64, whose lower half is 0.
#[test]
fn sums_of_very_many_terms_do_not_wrap() {
    let (unsigned, signed) = (DataType::U32, DataType::I32);
    for text in ["r = sum(i, x)", "r = sum(i, x) + x - x", "r = sum(i, x) - sum(i, x)"] {
        for n in [1 << 33, (1 << 33) + 1] {
            check(text, (1 << 31, unsigned), n, "integer-overflow");
            check(text, (i64::from(i32::MIN), signed), n, "integer-overflow");
            check(text, (0, unsigned), n, "0");
        }
    }
    check("r = sum(i, x)", (1, unsigned), (1 << 32) - 1, "4294967295");
    check("r = sum(i, x)", (1, unsigned), 1 << 32, "integer-overflow");
    check("r = sum(i, x)", (-1, signed), 1 << 31, "-2147483648");
    check("r = sum(i, x) - sum(i, x)", (7, signed), MANY * 8, "0");
}
