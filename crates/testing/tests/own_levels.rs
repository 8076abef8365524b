//! A level format of a user's whose positions are in another order than its coordinates.

use tamis::level::code::{Expr, add, int, mul, sub};
use tamis::level::{
    Bounds, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names, Part, Properties,
};
use tamis::{Tensor, ToFormat, evaluate};
use tamis_testing::conformance::conformance;

/// Every coordinate, the last one first.
#[derive(Debug)]
struct Backward;

/// The coordinate at a position below a parent, or the position of a coordinate.
fn mirrored(level: &LevelArrays, parent: Expr, place: Expr) -> Expr {
    sub(sub(mul(add(parent, int(1)), level.size.clone()), int(1)), place)
}

impl LevelFormat for Backward {
    fn name(&self) -> &'static str {
        "backward"
    }

    fn summary(&self) -> &'static str {
        "every coordinate, the last one first"
    }

    fn properties(&self) -> Properties {
        Properties { full: true, ordered: false, ..Properties::LISTED }
    }

    fn parts(&self) -> &'static [Part] {
        &[]
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let lo = mul(parent.clone(), level.size.clone());
        Some(Bounds { lo, hi: mul(add(parent, int(1)), level.size.clone()) })
    }

    fn pos_access(&self, level: &LevelArrays, parent: Expr, position: Expr) -> Option<Labelled> {
        let coordinate = level.with_least(mirrored(level, parent, position));
        Some(Labelled { coordinate, found: None })
    }

    fn locates(&self) -> bool {
        true
    }

    fn locate(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        _: &mut dyn Names,
    ) -> Option<Located> {
        let position = mirrored(level, parent, level.from_least(coordinate));
        Some(Located { stmts: vec![], position, found: None })
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(mul(parents, level.size.clone()))
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        parents.saturating_mul(level.header.size)
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        open: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        let size = level.header.size;
        for k in 0..size {
            let coordinate = (size - 1 - k) as i64 + level.header.least;
            if (open.0..open.1).contains(&coordinate) {
                visit(parent * size + k, coordinate);
            }
        }
    }

    fn check(&self, _: &LevelView<'_>, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn length(&self, _: &LevelView<'_>, _: Part, _: u64) -> u64 {
        0
    }

    fn length_code(&self, _: Part, _: Expr, _: Expr) -> Expr {
        int(0)
    }
}

#[test]
fn positions_out_of_order_are_those_of_the_last_level() {
    let report = conformance(&Backward).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(report.formats > 0 && report.tensors > 5);
    let a = Tensor::from_triplets([3, 4], [([0, 1], 2.0), ([2, 3], 5.0), ([1, 0], -1.0)]);
    let a = a.expect("a matrix");
    for format in ["(i, j) -> (j: compressed, i: backward)", "(i, j) -> (i: dense, j: backward)"] {
        let b = a.to_format(format).unwrap_or_else(|d| panic!("{format}: {d}"));
        assert_eq!(b.to_format("dense"), a.to_format("dense"), "{format}");
        let y = evaluate("y(i) = sum(j, A(i,j))", &[("A", &b)]).expect("sums");
        assert_eq!(y.values::<f64>().expect("values"), [2.0, -1.0, 5.0], "{format}");
    }
    for level in ["compressed", "hashed", "dense", "backward"] {
        let refused = a.to_format(format!("(i, j) -> (i: backward, j: {level})").as_str());
        let refused = refused.expect_err(level);
        assert!(refused.message.contains("in another order"), "{refused}");
    }
}
