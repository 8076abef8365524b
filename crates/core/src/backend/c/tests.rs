//! Tests of the C text.

use super::names::escape;

#[test]
fn names_of_the_user_are_escaped() {
    let cases = [("A2_pos", "A2_pos"), ("int", "int_"), ("π", "vu3c0_"), ("_x", "v_x")];
    for (name, escaped) in cases {
        assert_eq!(escape(name).trim_start_matches('v'), escaped.trim_start_matches('v'));
    }
}
