//! Names without another meaning in Rust.

use super::prelude;
use crate::backend::in_letters;
use crate::ids::{Array, Id, Var};
use crate::ir::Function;
use std::collections::BTreeSet;

/// Keywords, names of Rust's prelude, and names that the text itself uses.
const OWNED: &str = "as async await break const continue crate dyn else enum extern false fn for gen if impl in let \
loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while abstract \
become box do final macro override priv try typeof unsized virtual yield union raw bool char f32 f64 i8 i16 i32 i64 \
i128 isize u8 u16 u32 u64 u128 usize str Ok Err Some None Option Result Vec String Box Error Default Clone Copy \
Drop Iterator From Into Debug PartialEq at lanes order k a b";

/// A name as an identifier that nothing else defines.
pub(super) fn escape(name: &str) -> String {
    let mut out = in_letters(name);
    if OWNED.split_whitespace().any(|word| word == out) || prelude::defines(&out) {
        out.push('_');
    }
    out
}

/// The names within a function.
pub(super) struct Names {
    vars: Vec<String>,
    arrays: Vec<String>,
}

impl Names {
    pub(super) fn of(function: &Function) -> Names {
        let mut taken = BTreeSet::new();
        let mut fresh = |name: &String| {
            let mut candidate = escape(name);
            while !taken.insert(candidate.clone()) {
                candidate.push('_');
            }
            candidate
        };
        Names {
            arrays: function.arrays.iter().map(|a| fresh(&a.name)).collect(),
            vars: function.vars.iter().map(|v| fresh(&v.name)).collect(),
        }
    }

    pub(super) fn var(&self, var: Var) -> &str {
        &self.vars[var.index()]
    }

    pub(super) fn array(&self, array: Array) -> &str {
        &self.arrays[array.index()]
    }
}
