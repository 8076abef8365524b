//! Names that mean nothing else in C.
//!
//! A name that C, a header or the text itself may own gets a `_` behind it, and nothing of theirs
//! ends so: `int` is `int_`, `tamis_k` is `tamis_k_`, while `A2_pos`, `pA2` and `i` stay. Headers
//! that open-ended sets of names come from are not included; what the text takes from libraries it
//! declares itself (see [`super::prelude`]).

use super::prelude;
use crate::backend::in_letters;
use crate::ids::{Array, Id, Var};
use crate::ir::Function;
use std::collections::BTreeSet;

/// Keywords of C up to C23 and of GNU C, what the three included headers define in lower case, and
/// macros that GNU compilers predefine.
const WORDS: &str = "alignas alignof asm auto bool break case char const constexpr continue default \
do double else enum extern false float for goto if inline int long nullptr register restrict return \
short signed sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual \
union unsigned void volatile while main offsetof unreachable linux unix i386 mips sparc sun sgi hpux \
hppa vax m68k mc68000 pdp11 powerpc I";

/// What C++ and CUDA own beyond that.
const DEVICE: &str = "and and_eq bitand bitor catch char16_t char32_t class compl concept const_cast \
consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept \
not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template \
this throw try typeid typename using virtual wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim \
warpSize fma fmaf fmod fmodf nan nanf atomicAdd atomicMax atomicCAS clock";

/// A name as a C identifier that nothing else owns.
pub(in crate::backend) fn escape(name: &str) -> String {
    let mut out = in_letters(name);
    if is_owned(&out) {
        out.push('_');
    }
    out
}

/// Whether a name is a word of C, looks like one of a header (`INT64_MAX`, `size_t`), or is one
/// that the text uses itself.
fn is_owned(name: &str) -> bool {
    let is_macro = name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase());
    is_macro
        || name.ends_with("_t")
        || name.starts_with("tamis_")
        || [WORDS, DEVICE].iter().any(|words| words.split_whitespace().any(|word| word == name))
        || prelude::defines(name)
}

/// Names that are in use.
struct Taken(BTreeSet<String>);

impl Taken {
    /// A name like this one that nobody has, nor any of those derived from it.
    fn fresh(&mut self, name: &str, derived: &[&str]) -> String {
        let mut candidate = name.to_owned();
        let with = |name: &str, end: &&str| format!("{name}{end}");
        while self.0.contains(&candidate)
            || derived.iter().any(|end| self.0.contains(&with(&candidate, end)))
        {
            candidate.push('_');
        }
        self.0.extend(derived.iter().map(|end| with(&candidate, end)));
        self.0.insert(candidate.clone());
        candidate
    }
}

/// The names of the functions of a file. No library has a `compute_..`; others get a `_`.
pub(in crate::backend) fn functions(functions: &[&Function]) -> Vec<String> {
    let mut taken = Taken(BTreeSet::from(["slots".to_owned()]));
    let mut named = vec![];
    for function in functions {
        let mut name = escape(&function.name);
        if !name.starts_with("compute_") && !name.ends_with('_') {
            name.push('_');
        }
        named.push(taken.fresh(&name, &["_entry"]));
    }
    named
}

/// The names within a function.
pub(in crate::backend) struct Locals {
    vars: Vec<Variable>,
    arrays: Vec<ArrayNames>,
}

/// What a variable is called, and the bounds of its loops where they have to be held.
pub(in crate::backend) struct Variable {
    pub(in crate::backend) name: String,
    pub(in crate::backend) lo: String,
    /// The value before a loop whose iterations combine it.
    pub(in crate::backend) before: String,
    pub(in crate::backend) hi: String,
    /// The label at the end of an iteration on a thread.
    pub(in crate::backend) end: String,
}

/// What an array is called, and what belongs to one that is allocated.
pub(in crate::backend) struct ArrayNames {
    pub(in crate::backend) name: String,
    pub(in crate::backend) len: String,
    pub(in crate::backend) out: String,
    pub(in crate::backend) out_len: String,
    pub(in crate::backend) grown: String,
}

impl Locals {
    /// Names for all variables and arrays: first those that were given, then those derived.
    pub(in crate::backend) fn of(function: &Function) -> Locals {
        let mut taken = Taken(BTreeSet::from(["status".to_owned()]));
        let mut given = |name: &String| taken.fresh(&escape(name), &[]);
        let arrays: Vec<String> = function.arrays.iter().map(|a| given(&a.name)).collect();
        let vars: Vec<String> = function.vars.iter().map(|v| given(&v.name)).collect();
        let mut derived = |name: &str, end: &str| taken.fresh(&format!("{name}{end}"), &[]);
        let arrays = arrays.into_iter().map(|name| ArrayNames {
            len: derived(&name, "_len"),
            out: derived(&name, "_out"),
            out_len: derived(&name, "_out_len"),
            grown: derived(&name, "_grown"),
            name,
        });
        let arrays = arrays.collect();
        let vars = vars.into_iter().map(|name| Variable {
            lo: derived(&name, "_lo"),
            before: derived(&name, "_before"),
            hi: derived(&name, "_hi"),
            end: derived(&name, "_end"),
            name,
        });
        Locals { vars: vars.collect(), arrays }
    }

    pub(in crate::backend) fn var(&self, var: Var) -> &Variable {
        &self.vars[var.index()]
    }

    pub(in crate::backend) fn array(&self, array: Array) -> &ArrayNames {
        &self.arrays[array.index()]
    }
}
