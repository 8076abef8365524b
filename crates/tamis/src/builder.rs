//! Programs with how they are to be compiled, one word after another.
//!
//! ```text
//! Program::parse(..)?.format("C", "csr")?.threads(2).compile()?
//! ```

use crate::backend::Backend;
use crate::explain::Explanation;
use crate::kernel::{Kernel, Options, Parts};
use crate::operand::{Given, operand, variable};
use std::collections::{BTreeMap, BTreeSet};
use tamis_core::format::{self, FormatSpec};
use tamis_core::notation;
use tamis_core::schedule;
use tamis_ir::algebra::Strictness;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::TensorId;
use tamis_runtime::Tensor;

/// A program in index notation, with formats, dimensions and all else that its kernels are compiled for.
///
/// Operands of which nothing is said are dense, and results have the format that suits their operands.
///
/// ```
/// use tamis::{Program, Tensor};
/// # fn main() -> Result<(), tamis::Diagnostic> {
/// let product = Program::parse("C(i,j) = A(i,k) * B(k,j)")?
///     .format("A", "csr")?
///     .format("B", "csr")?
///     .format("C", "csr")?
///     .schedule("reorder(i, k, j)")?
///     .threads(2)
///     .compile()?;
/// let a = Tensor::eye(3, 2.0)?;
/// let results = product.run(&[("A", &a), ("B", &a)])?;
/// assert_eq!(results[0].1, Tensor::eye(3, 4.0)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    program: notation::Program,
    formats: BTreeMap<TensorId, FormatSpec>,
    operands: BTreeMap<TensorId, Given>,
    options: Options,
}

impl From<notation::Program> for Program {
    fn from(program: notation::Program) -> Program {
        let (formats, operands) = (BTreeMap::new(), BTreeMap::new());
        Program { program, formats, operands, options: Options::default() }
    }
}

impl Program {
    /// Reads a program: statements in index notation, with `;` or a new line between them.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Program, Diagnostic> {
        notation::parse(text).map(Program::from)
    }

    /// Stores a tensor, operand or result, in a format.
    ///
    /// # Errors
    /// When the program has no such tensor, there is no such format, or it is of another order.
    pub fn format(mut self, name: &str, text: &str) -> Result<Program, Diagnostic> {
        let id = operand(&self.program, name)?;
        let spec = format::parse(text, Some(self.program.tensors[id].order))?;
        self.formats.insert(id, spec);
        Ok(self)
    }

    /// Takes from a tensor how an operand is stored, its dimensions, and about how many entries it has.
    ///
    /// # Errors
    /// When the program has no such tensor.
    pub fn operand(mut self, name: &str, tensor: &Tensor) -> Result<Program, Diagnostic> {
        let id = operand(&self.program, name)?;
        self.operands.insert(id, Given::of(tensor));
        Ok(self)
    }

    /// Gives an index variable a dimension.
    ///
    /// # Errors
    /// When the program has no such variable.
    pub fn dimension(mut self, name: &str, dimension: u64) -> Result<Program, Diagnostic> {
        variable(&self.program, name)?;
        self.options.dims.insert(name.to_owned(), dimension);
        Ok(self)
    }

    /// Gives a result the dimensions that nothing else fixes: one of which a slice is written.
    ///
    /// ```
    /// use tamis::Program;
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let kernel = Program::parse("y(i[1:3]) = x(i)")?.shape("y", &[5])?.compile()?;
    /// let x = tamis::Tensor::dense(&[2], vec![1.0, 2.0])?;
    /// assert_eq!(kernel.run(&[("x", &x)])?["y"].values::<f64>()?, [0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the program has no such tensor.
    pub fn shape(mut self, name: &str, dims: &[u64]) -> Result<Program, Diagnostic> {
        operand(&self.program, name)?;
        self.options.shapes.insert(name.to_owned(), dims.to_vec());
        Ok(self)
    }

    /// How the loops run.
    ///
    /// # Errors
    /// When the text is no schedule. What it says of loops that the program does not have is refused by
    /// [`compile`](Program::compile).
    pub fn schedule(mut self, text: &str) -> Result<Program, Diagnostic> {
        self.options.schedule = schedule::parse(text)?;
        Ok(self)
    }

    /// At most so many threads run a kernel; 0 counts as 1. Results do not depend on it.
    #[must_use]
    pub fn threads(mut self, most: usize) -> Program {
        self.options.threads = Some(most.max(1));
        self
    }

    /// How kernels are cut into parts; [`Parts::Worthwhile`] unless this says otherwise.
    ///
    /// ```
    /// use tamis::{Parts, Program, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let dot = Program::parse("a = x(i) * y(i)")?.parts(Parts::Whole).compile()?;
    /// let x = Tensor::dense(&[2], vec![3.0, 4.0])?;
    /// assert_eq!(dot.run(&[("x", &x), ("y", &x)])?["a"].values::<f64>()?, [25.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn parts(mut self, parts: Parts) -> Program {
        self.options.parts = parts;
        self
    }

    /// What runs the kernels.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Program {
        self.options.backend = backend;
        self
    }

    /// The element type of results whose format does not say, and of operands of which nothing is known.
    #[must_use]
    pub fn datatype(mut self, datatype: DataType) -> Program {
        self.options.datatype = Some(datatype);
        self
    }

    /// What `/`, `mod` and `atan2` make of a first argument that is an implicit 0.
    #[must_use]
    pub fn strict(mut self, strict: Strictness) -> Program {
        self.options.strict = strict;
        self
    }

    /// What becomes of the program, stage by stage, and its kernels as a library: nothing is compiled to machine code.
    ///
    /// ```
    /// use tamis::explain::Stage;
    /// use tamis::{Language, Program};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let program = Program::parse("y(i) = A(i,j) * x(j)")?.format("A", "csr")?;
    /// let explanation = program.explanation()?;
    /// assert!(explanation.stage(Stage::Plan)?.contains("walk A(i,j) level 2 (compressed)"));
    /// assert_eq!(explanation.library("spmv", Language::C)?[0].name, "spmv.h");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a format does not fit the program.
    pub fn explanation(&self) -> Result<Explanation<'_>, Diagnostic> {
        let name = |id: TensorId| self.program.tensors[id].name.clone();
        let (mut formats, mut entries) = (BTreeMap::new(), BTreeMap::new());
        let mut options = self.options.clone();
        for (&id, given) in &self.operands {
            formats.insert(name(id), given.storage.to_spec());
            entries.extend(given.entries.map(|count| (name(id), count)));
            options.shapes.extend(given.dims.clone().map(|dims| (name(id), dims)));
        }
        formats.extend(self.formats.iter().map(|(&id, spec)| (name(id), spec.clone())));
        Ok(Explanation::of(&self.program, &formats, &options)?.of_entries(&entries))
    }

    /// Compiles the kernels.
    ///
    /// # Errors
    /// When the program, a format or the schedule cannot be compiled.
    pub fn compile(self) -> Result<Kernel, Diagnostic> {
        let Program { program, formats, operands: mut inputs, mut options } = self;
        let read = read(&program);
        for (id, spec) in formats {
            let name = &program.tensors[id].name;
            if read.contains(&id) {
                let datatype = options.datatype.unwrap_or(DataType::F64);
                let storage = spec.storage_of(name, datatype)?;
                let is_other = |given: &format::Storage| {
                    !storage.takes(given) || spec.fill.is_some() && storage.fill != given.fill
                };
                if inputs.get(&id).is_some_and(|given| is_other(&given.storage)) {
                    let message = format!("{name} is given a tensor and the format {storage}");
                    return Err(Diagnostic::new(Code::FormatProperty, message)
                        .help("leave one of them out, or convert the tensor"));
                }
                inputs.entry(id).or_insert_with(|| Given::stored(storage));
            } else {
                options.results.insert(name.clone(), spec);
            }
        }
        for id in read {
            let spec = format::parse("dense", Some(program.tensors[id].order))?;
            let storage = spec.resolve(options.datatype.unwrap_or(DataType::F64))?;
            inputs.entry(id).or_insert_with(|| Given::stored(storage));
        }
        Kernel::of_inputs(program, &inputs, &options)
    }
}

/// The tensors that are read before they are written.
fn read(program: &notation::Program) -> BTreeSet<TensorId> {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for statement in &program.statements {
        let accesses = statement.value.accesses();
        let accessed = accesses.into_iter().map(|access| access.tensor);
        read.extend(accessed.filter(|id| !written.contains(id)));
        written.insert(statement.result.tensor);
    }
    read
}
