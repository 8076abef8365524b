//! What the guide says of operators, against their tables.

use tamis_ir::algebra::{BinaryOp, ZeroRule};

/// The guide prints what operators make of an implicit 0.
#[test]
fn the_guide_has_what_operators_make_of_implicit_zeros() {
    let line = |op: &BinaryOp| {
        let [first, second] = match op.zero_rule() {
            ZeroRule::Either => ["0", "0"],
            ZeroRule::First => ["0", "computed"],
            ZeroRule::Neither => ["computed", "computed"],
        };
        format!("| `{}` | {first} | {second} |\n", op.name())
    };
    let head = "| of an implicit 0 | as the first argument | as the second |\n|---|---|---|\n";
    let table = head.to_owned() + &BinaryOp::ALL.iter().map(line).collect::<String>();
    let guide = include_str!("../../../docs/guide/notation.md");
    assert!(guide.contains(&table), "docs/guide/notation.md lacks this table:\n{table}");
}

/// The table holds: of a 0 the functions are 0 beside any ordinary number.
#[test]
fn zeros_that_decide_are_what_is_computed() {
    use tamis_ir::algebra::eval::binary;
    use tamis_ir::datatype::Scalar::F64;
    for op in BinaryOp::ALL.into_iter().filter(|op| op.zero_rule() != ZeroRule::Neither) {
        for x in [0.5, 1.0, 3.0] {
            assert_eq!(binary(op, F64(0.0), F64(x)).as_f64(), 0.0, "{op:?}");
            if op.zero_rule() == ZeroRule::Either {
                assert_eq!(binary(op, F64(x), F64(0.0)).as_f64(), 0.0, "{op:?}");
            }
        }
    }
}
