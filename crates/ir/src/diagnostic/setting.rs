//! What a diagnostic names that the command, Python and Rust have under different names.
//!
//! ```text
//! Dimension("i")    Rust      dimension("i", SIZE)
//!                   command   -d i=SIZE
//!                   Python    dims={"i": SIZE}
//! ```

use std::fmt;

/// A setting that each interface names in its own words: those of Rust are its `Display`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// The dimensions of index variables.
    Dimensions,
    /// The dimension of an index variable.
    Dimension(String),
    /// The dimensions of a tensor, of so many modes.
    Shape(String, usize),
    /// The value of a tensor.
    Value(String),
    /// All named formats.
    Formats,
    /// What makes a tensor of entries in any order.
    Entries,
    /// Machine code in process.
    BackendJit,
    /// The system's C compiler.
    BackendC,
    /// The interpreter.
    BackendInterpreter,
    /// An emulated GPU.
    BackendEmulated,
}

/// The settings that a diagnostic names; mostly none, so it takes one pointer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings(Option<Box<Named>>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Named {
    all: Vec<Setting>,
}

impl Settings {
    /// Adds one.
    pub fn push(&mut self, setting: Setting) {
        self.0.get_or_insert_with(|| Box::new(Named { all: vec![] })).all.push(setting);
    }

    /// All of them, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Setting> {
        self.0.as_ref().map_or(&[][..], |named| &named.all).iter()
    }
}

impl Setting {
    /// The settings without a name, and a number of each, for bytes.
    const PLAIN: [Setting; 7] = [
        Setting::Dimensions,
        Setting::Formats,
        Setting::Entries,
        Setting::BackendJit,
        Setting::BackendC,
        Setting::BackendInterpreter,
        Setting::BackendEmulated,
    ];

    /// One of each, with a variable `i` and a matrix `A`.
    pub fn all() -> Vec<Setting> {
        let (i, a) = ("i".to_owned(), "A".to_owned());
        let named = [Setting::Dimension(i), Setting::Shape(a.clone(), 2), Setting::Value(a)];
        Setting::PLAIN.into_iter().chain(named).collect()
    }

    /// A number of the kind, a name and another number, from which [`Setting::from_parts`] makes the setting.
    pub fn to_parts(&self) -> (u64, &str, u64) {
        match self {
            Setting::Dimension(name) => (0, name, 0),
            Setting::Shape(name, order) => (1, name, *order as u64),
            Setting::Value(name) => (2, name, 0),
            plain => {
                let at = Setting::PLAIN.iter().position(|setting| setting == plain);
                (3 + at.map_or(0, |at| at as u64), "", 0)
            }
        }
    }

    /// The setting of these parts, if there is one.
    pub fn from_parts(kind: u64, name: String, order: u64) -> Option<Setting> {
        match kind {
            0 => Some(Setting::Dimension(name)),
            1 => Some(Setting::Shape(name, order.try_into().ok()?)),
            2 => Some(Setting::Value(name)),
            _ => Setting::PLAIN.get(usize::try_from(kind - 3).ok()?).cloned(),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Dimensions => f.write_str("Options::dims"),
            Setting::Dimension(name) => {
                write!(f, "Program::dimension(\"{name}\", SIZE) or Options::dims")
            }
            Setting::Shape(name, order) => {
                let sizes = vec!["SIZE"; *order].join(", ");
                write!(f, "Program::shape(\"{name}\", &[{sizes}]) or Options::shapes")
            }
            Setting::Value(name) => write!(f, "(\"{name}\", &tensor) among the operands"),
            Setting::Formats => f.write_str("`tamis::format::NAMED` lists all"),
            Setting::Entries => f.write_str("Tensor::from_triplets"),
            Setting::BackendJit => f.write_str("Backend::Jit"),
            Setting::BackendC => f.write_str("Backend::C"),
            Setting::BackendInterpreter => f.write_str("Backend::Interpreter"),
            Setting::BackendEmulated => f.write_str("Backend::CudaEmulated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_from_their_parts() {
        let all = Setting::all();
        for (n, setting) in all.iter().enumerate() {
            let (kind, name, order) = setting.to_parts();
            assert_eq!(Setting::from_parts(kind, name.to_owned(), order).as_ref(), Some(setting));
            assert!(all.iter().skip(n + 1).all(|other| other.to_string() != setting.to_string()));
        }
        assert_eq!(Setting::from_parts(99, String::new(), 0), None);
    }
}
