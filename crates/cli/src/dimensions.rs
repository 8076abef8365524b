//! The option `-d`: dimensions of index variables and of tensors.

use crate::failure::{Failure, assignment, invalid, suggested};
use std::collections::BTreeMap;
use tamis::notation::Program;
use tamis::{Code, Diagnostic, LARGEST_DIMENSION};

/// Dimensions of index variables and of tensors.
pub struct Dimensions {
    /// Of index variables by name.
    pub vars: BTreeMap<String, u64>,
    /// Of tensors by name.
    pub tensors: BTreeMap<String, Vec<u64>>,
}

/// The dimensions of `-d`: `i=1000` of an index variable, `A=1000x20` of a tensor.
pub fn dimensions(program: &Program, texts: &[String]) -> Result<Dimensions, Failure> {
    let mut dims = Dimensions { vars: BTreeMap::new(), tensors: BTreeMap::new() };
    for text in texts {
        let var = || program.vars.iter().find(|v| !dims.vars.contains_key(&v.name));
        let (name, sizes) = assignment("-d", text, || Some(var()?.name.clone()))?;
        match (program.var(name), program.tensor(name)) {
            (Some(_), _) => {
                let size = size(text, name, sizes)?;
                let earlier = dims.vars.insert(name.to_owned(), size);
                check_once(text, name, earlier.is_none_or(|earlier| earlier == size))?;
            }
            (None, Some(tensor)) => {
                let sizes = sizes.split('x').map(|s| size(text, name, s));
                let sizes: Vec<u64> = sizes.collect::<Result<_, Failure>>()?;
                let order = program.tensors[tensor].order;
                if sizes.len() != order {
                    let message =
                        format!("{name} has order {order}, not {}, as -d {text} says", sizes.len());
                    let help = match order {
                        0 => format!("{name} is a number here, no index variable"),
                        _ => "give one dimension per mode".to_owned(),
                    };
                    return Err(Diagnostic::new(Code::OrderMismatch, message).help(help).into());
                }
                let earlier = dims.tensors.insert(name.to_owned(), sizes.clone());
                check_once(text, name, earlier.is_none_or(|earlier| earlier == sizes))?;
            }
            (None, None) => {
                let message = format!("the expression has no index variable named {name}");
                let vars: Vec<&str> = program.vars.iter().map(|v| v.name.as_str()).collect();
                return Err(Diagnostic::new(Code::UnknownVariable, message)
                    .help(suggested(name, &vars, "its index variables are"))
                    .into());
            }
        }
    }
    Ok(dims)
}

/// Refuses a second size of the same.
fn check_once(text: &str, name: &str, is_same: bool) -> Result<(), Failure> {
    let reason = || format!("{name} has another size already");
    if is_same {
        Ok(())
    } else {
        Err(invalid(&format!("-d {text}"), &reason(), "give each one size"))
    }
}

/// The dimensions of a file that does not say them: `-d 10x20`.
pub fn of_file(text: &str) -> Result<Vec<Option<u64>>, Failure> {
    text.split('x').map(|one| size(text, "", one).map(Some)).collect()
}

/// Refuses other dimensions than a file has.
pub fn check_file(text: &str, given: &[Option<u64>], own: &[u64]) -> Result<(), Failure> {
    let option = format!("-d {text}");
    if given.len() != own.len() {
        let reason = format!("the file has order {}", own.len());
        return Err(invalid(&option, &reason, "give one dimension per mode"));
    }
    if given.iter().zip(own).all(|(given, own)| given.is_none_or(|given| given == *own)) {
        return Ok(());
    }
    let own: Vec<String> = own.iter().map(u64::to_string).collect();
    let reason = format!("the file has the dimensions {}", own.join(" x "));
    Err(invalid(&option, &reason, "leave it out: the file says its own"))
}

/// One dimension of the option `-d text`, of what has a name or of a file.
fn size(text: &str, name: &str, size: &str) -> Result<u64, Failure> {
    if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) {
        let is_list = size.split('x').count() > 1 && !size.starts_with("0x");
        let sizes = if is_list { "10x20" } else { "1000" };
        let help = match name {
            "" => "write -d 10x20".to_owned(),
            name => format!("write -d {name}={sizes}"),
        };
        return Err(invalid(&format!("-d {text}"), "the size must be a whole number", &help));
    }
    let Some(size) = size.parse().ok().filter(|&size| size <= LARGEST_DIMENSION) else {
        let of = if name.is_empty() { "the file" } else { name };
        let message = format!("the dimension {size} of {of} is beyond 2^62 - 1");
        return Err(Diagnostic::new(Code::DimensionTooLarge, message)
            .help("choose a smaller one")
            .into());
    };
    Ok(size)
}

/// What `-d` says of the dimensions of an operand, by itself or by its index variables.
pub fn known(program: &Program, name: &str, order: usize, given: &Dimensions) -> Vec<Option<u64>> {
    if let Some(dims) = given.tensors.get(name) {
        return dims.iter().copied().map(Some).collect();
    }
    let mut known = vec![None; order];
    for statement in &program.statements {
        let mut accesses = statement.value.accesses();
        accesses.push(&statement.result);
        for access in accesses.into_iter().filter(|a| program.tensors[a.tensor].name == name) {
            let whole = (0..order).filter(|&mode| access.slicing(mode).is_none());
            for mode in whole {
                let var = access.indices.get(mode).map(|&v| &program.vars[v].name);
                known[mode] = known[mode].or_else(|| given.vars.get(var?).copied());
            }
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_are_none_are_told_from_sizes_that_are_too_large() {
        for (text, is_large) in
            [("-3", false), ("1e3", false), ("", false), ("9".repeat(30).as_str(), true)]
        {
            let Err(Failure::Diagnostic(told)) = size(&format!("i={text}"), "i", text) else {
                panic!()
            };
            assert_eq!(told.code == Code::DimensionTooLarge, is_large, "{told}");
            assert!(is_large || told.help.as_deref() == Some("write -d i=1000"), "{told}");
        }
    }
}
