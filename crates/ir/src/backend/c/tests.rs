//! Tests of names; computations are tested where text can be compiled, in `runtime`.

use super::names::{escape, functions};
use crate::ids::IdVec;
use crate::ir::Function;

#[test]
fn names_of_the_user_mean_nothing_else() {
    let kept = ["A_vals", "A2_pos", "pA2", "pA2_end", "i", "row", "y0", "index", "x_at"];
    for name in kept {
        assert_eq!(escape(name), name);
    }
    let owned = [
        ("int", "int_"),
        ("NULL", "NULL_"),
        ("INT64_MAX", "INT64_MAX_"),
        ("size_t", "size_t_"),
        ("linux", "linux_"),
        ("free", "free_"),
        ("sinf", "sinf_"),
        ("f64x8", "f64x8_"),
        ("f64x8_at", "f64x8_at_"),
        ("tamis_k", "tamis_k_"),
        ("π", "u3c0_"),
        ("_x", "v_x"),
    ];
    for (name, escaped) in owned {
        assert_eq!(escape(name), escaped);
    }
}

#[test]
fn functions_and_their_entries_have_names_of_their_own() {
    let function = |name: &str| Function {
        name: name.to_owned(),
        params: vec![],
        vars: IdVec::new(),
        arrays: IdVec::new(),
        body: vec![],
    };
    let all =
        ["compute_y", "compute_y_entry", "compute_y", "main", "malloc", "slots"].map(function);
    let names = functions(&all.iter().collect::<Vec<_>>());
    let expected = ["compute_y", "compute_y_entry_", "compute_y_", "main_", "malloc_", "slots_"];
    assert_eq!(names, expected);
}
