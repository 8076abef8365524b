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

/// The guide has the constants that loops are weighed by, with their figures.
#[test]
fn the_guide_has_the_constants_of_the_cost_model() {
    let source = include_str!("../../core/src/legalise/weights.rs");
    let guide = include_str!("../../../docs/guide/plan.md");
    let rows = || guide.lines().filter(|line| line.starts_with("| `"));
    let constants =
        source.lines().filter_map(|line| line.split_once("const ")?.1.split_once(": f64 = "));
    let mut count = 0;
    for (name, figure) in constants {
        let quoted = format!("`{name}`");
        let row = rows().find(|row| row.contains(&quoted));
        let row = row.unwrap_or_else(|| panic!("docs/guide/plan.md lacks the constant {name}"));
        let figure = figure.trim_end_matches(';').trim_end_matches(".0");
        if figure.parse::<f64>().is_ok_and(|figure| figure < 1e3) {
            let cells: Vec<&str> = row.split('|').collect();
            let at = cells[1].split(", ").position(|own| own.trim() == quoted);
            let own = at.and_then(|at| cells[2].split(", ").nth(at)).map(str::trim);
            assert!(own == Some(figure), "{name} is {figure}, not as in {row}");
        }
        count += 1;
    }
    assert!(count > 10, "no constants were found");
}
