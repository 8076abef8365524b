//! A program of Tamis as a contender: a text in index notation, operands in their formats, a schedule.

use std::sync::Arc;

use rayon::ThreadPoolBuilder;
use tamis::{Backend, Kernel, Results, Tensor, ToFormat, format};

use crate::contender::{Absent, Prepared, in_process};
use crate::inputs::{Csf3, Csr, Dense};
use crate::operation::Part;
use crate::problem::Output;

/// The format of 3-tensors.
pub const CSF: &str = "(i, j, k) -> (i: dense, j: compressed, k: compressed)";

/// Statements, of which the last computes the result.
pub struct Program {
    /// The statements.
    pub text: String,
    /// Tensors by name, each in its format. The text need not name all.
    pub operands: Vec<(String, Tensor)>,
    /// The formats of results that are not inferred.
    pub formats: Vec<(String, String)>,
    /// How the loops run, where Tamis does not choose.
    pub schedule: String,
    /// Entries or values alone.
    pub part: Option<Part>,
    /// What the compiler knows of the operands.
    pub known: Known,
    /// The form in which the result is compared.
    pub form: Form,
}

/// What the compiler knows of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Their formats, dimensions and numbers of entries.
    Sizes,
    /// Their formats alone.
    Formats,
}

/// The form in which results are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Dense values, or the arrays of CSR.
    AsStored,
    /// The values alone, of results that store every element in whatever format.
    Values,
    /// The entries in order without zeros, since blocks and diagonals are filled up with some.
    Entries,
}

impl Program {
    /// A program with a result whose format is inferred, without a schedule.
    pub fn new(text: &str, operands: Vec<(&str, Tensor)>) -> Self {
        Self {
            text: text.to_owned(),
            operands: operands.into_iter().map(|(name, t)| (name.to_owned(), t)).collect(),
            formats: vec![],
            schedule: String::new(),
            part: None,
            known: Known::Sizes,
            form: Form::AsStored,
        }
    }

    /// Stores a result in a format.
    pub fn format(mut self, name: &str, format: &str) -> Self {
        self.formats.push((name.to_owned(), format.to_owned()));
        self
    }

    /// Compiles the program and gets ready to run it on so many threads.
    pub fn prepare<'a>(
        mut self,
        backend: Backend,
        threads: usize,
    ) -> Result<Box<dyn Prepared + 'a>, Absent> {
        self.operands.retain(|(name, _)| self.text.contains(&format!("{name}(")));
        let kernel = self.compile(backend, threads).map_err(absent)?;
        let pattern = match self.part {
            None => vec![],
            Some(_) => {
                kernel.assemble(&named(&self.operands)).map_err(absent)?.into_iter().collect()
            }
        };
        let form = self.form;
        let step = move || {
            let operands = named(&self.operands);
            let results = match self.part {
                None => kernel.run(&operands),
                Some(Part::Assemble) => kernel.assemble(&operands),
                Some(Part::Compute) => kernel.compute(&operands, &named(&pattern)),
            };
            results.map_err(|d| d.to_string())
        };
        let shown = move |results: Results| match results.into_iter().next_back() {
            Some((_, result)) => output(&result, form),
            None => Output::default(),
        };
        // One thread is this one: the processor's clock counts no other.
        if threads == 1 {
            return in_process(step, shown);
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| Absent::NotAvailable(e.to_string()))?;
        in_process(move || pool.install(&step), shown)
    }

    fn compile(&self, backend: Backend, threads: usize) -> Result<Kernel, tamis::Diagnostic> {
        let mut program = tamis::Program::parse(&self.text)?.backend(backend).threads(threads);
        for (name, tensor) in &self.operands {
            program = match self.known {
                Known::Sizes => program.operand(name, tensor)?,
                Known::Formats => program.format(name, &tensor.storage().to_string())?,
            };
        }
        for (name, format) in &self.formats {
            program = program.format(name, format)?;
        }
        program.schedule(&self.schedule)?.compile()
    }
}

fn absent(diagnostic: tamis::Diagnostic) -> Absent {
    Absent::NotAvailable(diagnostic.to_string())
}

fn named(tensors: &[(String, Tensor)]) -> Vec<(&str, &Tensor)> {
    tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

/// A matrix in CSR.
pub fn csr(a: &Csr) -> Tensor {
    let dims = [a.rows as u64, a.cols as u64];
    Tensor::csr(dims, a.pos.clone(), a.crd.clone(), a.vals.clone()).expect("a valid input")
}

/// A dense vector.
pub fn vector(x: &Dense) -> Tensor {
    array(&[x.rows as u64], x)
}

/// A dense matrix by rows.
pub fn dense(x: &Dense) -> Tensor {
    array(&[x.rows as u64, x.cols as u64], x)
}

/// A dense operand in the memory that the other contenders read.
fn array(dims: &[u64], x: &Dense) -> Tensor {
    let vals = Arc::clone(&x.vals);
    // SAFETY: the numbers are aligned, stay as they are and live as long as the owner.
    let vals = unsafe {
        tamis::Buffer::from_foreign(vals.as_ptr().cast(), vals.len(), tamis::DataType::F64, vals)
    };
    let levels = vec![tamis::LevelData::default(); dims.len()];
    let storage = storage("dense", dims.len());
    Tensor::try_from_parts(dims.to_vec(), storage, levels, vals).expect("a valid input")
}

/// A 3-tensor whose mode 0 is dense and whose modes 1 and 2 are compressed.
pub fn csf(b: &Csf3) -> Tensor {
    let level = |pos: &Vec<i32>, crd: &Vec<i32>| tamis::LevelData {
        pos: Some(tamis::Buffer::from_vec(pos.clone())),
        crd: Some(tamis::Buffer::from_vec(crd.clone())),
        ..tamis::LevelData::default()
    };
    let levels =
        vec![tamis::LevelData::default(), level(&b.pos1, &b.crd1), level(&b.pos2, &b.crd2)];
    let vals = tamis::Buffer::from_vec(b.vals.to_vec());
    let storage = storage(CSF, 3);
    Tensor::try_from_parts(b.dims.map(|d| d as u64).to_vec(), storage, levels, vals)
        .expect("a valid input")
}

/// A tensor in another format.
pub fn stored(tensor: &Tensor, format: &str) -> Result<Tensor, String> {
    tensor.to_format(&storage(format, tensor.ndim())).map_err(|d| format!("{format}: {d}"))
}

/// A format of 64-bit floats.
pub fn storage(text: &str, order: usize) -> tamis::Storage {
    let spec = format::parse(text, Some(order)).expect("a format of the benchmark");
    spec.resolve(tamis::DataType::F64).expect("a storage")
}

fn output(tensor: &Tensor, form: Form) -> Output {
    if form == Form::Entries {
        return entries(tensor);
    }
    let ints = |b: &Option<tamis::Buffer>| {
        b.as_ref().and_then(|b| b.as_slice::<i32>()).map(<[i32]>::to_vec).unwrap_or_default()
    };
    let vals = tensor.vals().as_slice::<f64>().map(<[f64]>::to_vec).unwrap_or_default();
    match tensor.levels().iter().find(|l| l.pos.is_some()) {
        Some(level) if form != Form::Values => {
            Output { pos: ints(&level.pos), crd: ints(&level.crd), vals }
        }
        _ => Output::dense(vals),
    }
}

/// A tensor in any storage as rows of its first mode, without zeros; an entry has the coordinates of all other
/// modes, one after another.
fn entries(tensor: &Tensor) -> Output {
    let list = tensor.to_coordinates().expect("room for a list");
    let tamis::Values::F64(vals) = list.vals() else { return Output::default() };
    let mut order: Vec<usize> = (0..vals.len()).filter(|&n| vals[n] != 0.0).collect();
    let [rows, others @ ..] = list.crds() else { return Output::dense(vals.clone()) };
    let at = |n: usize| list.crds().iter().map(move |crd| crd[n]);
    order.sort_by(|&a, &b| at(a).cmp(at(b)));
    let mut pos = vec![0; list.dims()[0] as usize + 1];
    order.iter().for_each(|&n| pos[rows[n] as usize + 1] += 1);
    (1..pos.len()).for_each(|i| pos[i] += pos[i - 1]);
    let crd = order.iter().flat_map(|&n| others.iter().map(move |crd| crd[n] as i32)).collect();
    Output { pos, crd, vals: order.iter().map(|&n| vals[n]).collect() }
}
