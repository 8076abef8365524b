//! One test case: a program, its operands, and the formats of its results; printable as a
//! filetest.

use crate::filetest::BEFORE;
use crate::number::Number;
use std::collections::BTreeMap;
use std::fmt;
use tamis::{
    Backend, Coordinates, Diagnostic, Duplicates, Kernel, Options, Parts, Strictness, Tensor,
    Values, format, notation,
};

/// A program with everything it needs to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The statements.
    pub text: String,
    /// The operands.
    pub operands: Vec<Operand>,
    /// Formats of results by name, where given.
    pub results: BTreeMap<String, String>,
    /// Dimensions of index variables that no operand fixes.
    pub dims: BTreeMap<String, u64>,
    /// Dimensions of results of which a slice is written.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// The schedule, as text.
    pub schedule: String,
    /// What quotients and the like make of an implicit 0.
    pub strict: Strictness,
}

/// A tensor by its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// Its format, as text.
    pub format: String,
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// Coordinates and values, no coordinate twice.
    pub entries: Vec<(Vec<u64>, Number)>,
}

impl Operand {
    /// The tensor.
    pub fn tensor(&self) -> Result<Tensor, Diagnostic> {
        let spec = format::parse(&self.format, Some(self.dims.len()))?;
        let storage = spec.resolve(tamis::DataType::F64)?;
        let mut crds = vec![vec![]; self.dims.len()];
        let mut vals = vec![];
        for (place, value) in &self.entries {
            for (list, &c) in crds.iter_mut().zip(place) {
                list.push(c);
            }
            vals.push([value.re, value.im]);
        }
        let vals = match vals.iter().all(|z| z[1] == 0.0) {
            true => Values::F64(vals.into_iter().map(|z| z[0]).collect()),
            false => Values::C128(vals),
        };
        let list = Coordinates::new(self.dims.clone(), crds, vals)?;
        tamis::pack(&list, &storage, Duplicates::Refuse)
    }
}

impl Case {
    /// The operands by name.
    pub fn tensors(&self) -> Result<Vec<(String, Tensor)>, Diagnostic> {
        self.operands.iter().map(|o| Ok((o.name.clone(), o.tensor()?))).collect()
    }

    /// Its kernels for a backend.
    pub fn compile(&self, backend: Backend) -> Result<Kernel, Diagnostic> {
        let tensors = self.tensors()?;
        let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        Kernel::compile(&self.text, &operands, &self.options(backend)?)
    }

    /// Whether its schedule gives a loop to threads.
    pub fn is_threaded(&self) -> bool {
        self.schedule.contains("cpu_thread")
    }

    /// Parts that are small enough for small tensors to have several; some programs have none, some
    /// of large tensors a few.
    fn parts(&self) -> Parts {
        let stored = self.operands.iter().map(|o| o.entries.len() as u64).max().unwrap_or(0);
        match self.text.len() % 8 {
            k if k % 2 == 1 && self.is_threaded() => Parts::Own,
            0 => Parts::Whole,
            1..=3 if stored > 100 => Parts::OfElements(stored / 3),
            _ => Parts::OfElements(2),
        }
    }

    /// The options of its compilation.
    pub fn options(&self, backend: Backend) -> Result<Options, Diagnostic> {
        let program = tamis::notation::parse(&self.text)?;
        let mut results = BTreeMap::new();
        for (name, text) in &self.results {
            let order = program.tensor(name).map(|t| program.tensors[t].order);
            results.insert(name.clone(), format::parse(text, order)?);
        }
        Ok(Options {
            results,
            datatype: None,
            dims: self.dims.clone(),
            shapes: self.shapes.clone(),
            schedule: tamis::schedule::parse(&self.schedule)?,
            backend,
            parts: self.parts(),
            threads: None,
            strict: self.strict,
        })
    }
}

/// The filetest of the case, without its expected result.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# found by the differential test")?;
        for operand in &self.operands {
            writeln!(f, "{}: {}", operand.name, operand.format)?;
        }
        for (name, format) in &self.results {
            writeln!(f, "{name}: {format}")?;
        }
        for (name, dimension) in &self.dims {
            writeln!(f, "{name} = {dimension}")?;
        }
        for (name, shape) in &self.shapes {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            writeln!(f, "{name} = {}", shape.join("x"))?;
        }
        writeln!(f, "{}", self.text)?;
        if !self.schedule.is_empty() {
            writeln!(f, "schedule: {}", self.schedule)?;
        }
        if self.strict == Strictness::Ieee {
            writeln!(f, "strict: ieee")?;
        }
        writeln!(f, "---- run")?;
        let program = notation::parse(&self.text).ok();
        let is_result = |name: &str| {
            let results =
                program.iter().flat_map(|p| p.results().into_iter().map(|id| &p.tensors[id]));
            results.into_iter().any(|tensor| tensor.name == name)
        };
        for operand in &self.operands {
            let dims: Vec<String> = operand.dims.iter().map(u64::to_string).collect();
            let before =
                if is_result(&operand.name) { format!(" {BEFORE}") } else { String::new() };
            write!(f, "{} {}{before} =", operand.name, dims.join("x"))?;
            for (place, value) in &operand.entries {
                let place: Vec<String> = place.iter().map(u64::to_string).collect();
                write!(f, " ({}):{value}", place.join(","))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
