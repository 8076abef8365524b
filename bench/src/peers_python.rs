//! The Python libraries, each in a process of its own that runs `bench/peers` in a virtual environment made on
//! first use. A library that cannot be installed is not available; the others run.
//!
//! Operands travel as raw little-endian files; commands and times as lines over pipes. The process inherits
//! this one's cores, follows its page policy, and sleeps while others are timed.

use std::cell::RefCell;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::clock::Clock;
use crate::contender::{Absent, Contender, Prepared, Role};
use crate::inputs::{Csf3, Csr, Dense};
use crate::pages::Pages;
use crate::problem::{Operands, Output, Problem};
use crate::process::succeeds;

/// What the worker itself needs.
const NEEDED: [&str; 2] = ["numpy", "scipy"];

/// The libraries, with the packages to install and the module that shows that they are there.
const LIBRARIES: [Library; 4] = [
    Library { name: "scipy", packages: &[], module: "scipy.sparse" },
    Library { name: "mkl", packages: &["mkl"], module: "with_mkl" },
    Library {
        name: "sparse_dot_mkl",
        packages: &["mkl", "sparse-dot-mkl"],
        module: "with_sparse_dot_mkl",
    },
    Library { name: "graphblas", packages: &["python-graphblas"], module: "with_graphblas" },
];

struct Library {
    name: &'static str,
    packages: &'static [&'static str],
    module: &'static str,
}

/// The Python libraries on so many threads, each in a process of its own; operands and results are exchanged
/// through a directory under `work`.
pub fn contenders(work: &Path, threads: usize) -> Vec<Box<dyn Contender>> {
    let exchange = work.join("exchange");
    let python =
        fs::create_dir_all(&exchange).map_err(|e| e.to_string()).and_then(|()| environment());
    let pages = preloaded_pages(work);
    let mut all: Vec<Box<dyn Contender>> = vec![];
    for library in &LIBRARIES {
        let environment = Environment { pages: pages.as_deref(), threads };
        all.push(Box::new(Python::start(library, &python, environment, &exchange)));
    }
    all
}

/// A Python library, or why there is none.
struct Python {
    library: &'static str,
    worker: Result<RefCell<Worker>, String>,
    version: String,
    exchange: PathBuf,
}

impl Python {
    fn start(
        library: &'static Library,
        python: &Result<PathBuf, String>,
        environment: Environment,
        exchange: &Path,
    ) -> Self {
        let started = python.clone().and_then(|python| {
            installed(&python, library)?;
            let mut worker = Worker::start(&python, library.name, environment)?;
            Ok((worker.ask("version")?, worker))
        });
        let (worker, version) = match started {
            Ok((version, worker)) => (Ok(RefCell::new(worker)), version),
            Err(why) => (Err(why), String::new()),
        };
        Self { library: library.name, worker, version, exchange: exchange.to_owned() }
    }
}

impl Contender for Python {
    fn name(&self) -> String {
        format!("{} {}", self.library, self.version).trim_end().into()
    }

    fn role(&self) -> Role {
        Role::Peer
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        if matches!(problem.operands, Operands::Squared(_)) {
            return Err(Absent::NoOperation);
        }
        let worker = self.worker.as_ref().map_err(|why| Absent::NotAvailable(why.clone()))?;
        write_operands(&self.exchange, &problem.operands)
            .map_err(|e| Absent::NotAvailable(e.to_string()))?;
        let command = format!("prepare {} {}", problem.operation, self.exchange.display());
        let answer = worker.borrow_mut().ask(&command);
        clear(&self.exchange);
        match answer.map_err(Absent::NotAvailable)?.as_str() {
            "none" => Err(Absent::NoOperation),
            _ => Ok(Box::new(Ready { worker, exchange: &self.exchange })),
        }
    }
}

struct Ready<'a> {
    worker: &'a RefCell<Worker>,
    exchange: &'a Path,
}

impl Prepared for Ready<'_> {
    fn run(&mut self) -> Result<f64, String> {
        let seconds = self.worker.borrow_mut().ask(&format!("run {}", Clock::chosen().name()))?;
        seconds.parse().map_err(|e| format!("{seconds}: {e}"))
    }

    fn output(&mut self) -> Result<Output, String> {
        self.worker.borrow_mut().ask(&format!("save {}", self.exchange.display()))?;
        let output = read_output(self.exchange).map_err(|e| e.to_string());
        clear(self.exchange);
        output
    }

    fn rest(&mut self) {
        // A worker that is gone has forgotten everything.
        let _ = self.worker.borrow_mut().ask("rest");
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        // A worker that is gone has released everything.
        let _ = self.worker.borrow_mut().ask("release");
    }
}

/// What a worker starts under.
#[derive(Clone, Copy)]
struct Environment<'a> {
    /// The library of the page policy.
    pages: Option<&'a Path>,
    /// How many threads it may use.
    threads: usize,
}

/// The Python process; it ends when its standard input is closed.
struct Worker {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start(python: &Path, library: &str, environment: Environment) -> Result<Self, String> {
        let Environment { pages, threads } = environment;
        let counts = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];
        let mut child = Command::new(python)
            .arg(peers())
            .arg(library)
            .envs(counts.map(|count| (count, threads.to_string())))
            .envs([Pages::current().for_numpy()])
            .envs(pages.map(|library| ("LD_PRELOAD", library)))
            .envs(Pages::current().for_libc())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", python.display()))?;
        let commands = child.stdin.take();
        let answers = child.stdout.take().ok_or("the worker has no standard output")?;
        Ok(Self { child, commands, answers: BufReader::new(answers) })
    }

    /// Sends a command; what follows `ok`, or the word `none`.
    fn ask(&mut self, command: &str) -> Result<String, String> {
        let mut answer = String::new();
        let mut exchange = || {
            writeln!(self.commands.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, "{command}")?;
            self.answers.read_line(&mut answer)
        };
        exchange().map_err(|e| format!("python: {e}"))?;
        match answer.trim_end().split_once(' ').unwrap_or((answer.trim_end(), "")) {
            ("ok", rest) => Ok(rest.into()),
            ("none", _) => Ok("none".into()),
            ("error", why) => Err(why.into()),
            _ => Err(format!("python ended at `{command}`")),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.commands = None;
        // Nothing is left to tell it; waiting only keeps it from becoming a zombie.
        let _ = self.child.wait();
    }
}

/// The interpreter of the virtual environment, which is made when it is missing or incomplete.
fn environment() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv");
    let python = home.join("bin/python");
    if imports(&python, "scipy.sparse").is_ok() {
        return Ok(python);
    }
    eprintln!("making {} with {}", home.display(), NEEDED.join(" and "));
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    install(&python, &NEEDED)?;
    Ok(python)
}

/// Installs what a library needs, unless it is there.
fn installed(python: &Path, library: &Library) -> Result<(), String> {
    if imports(python, library.module).is_ok() {
        return Ok(());
    }
    eprintln!("installing {}", library.packages.join(" and "));
    install(python, library.packages)?;
    imports(python, library.module)
}

fn install(python: &Path, packages: &[&str]) -> Result<(), String> {
    succeeds(Command::new(python).args(["-m", "pip", "install", "--quiet"]).args(packages))
}

fn imports(python: &Path, module: &str) -> Result<(), String> {
    let mut command = Command::new(python);
    succeeds(command.args(["-c", &format!("import {module}")]).env("PYTHONPATH", peers()))
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// The page policy as a library to be loaded before libc; without a compiler libraries keep their own.
fn preloaded_pages(work: &Path) -> Option<PathBuf> {
    let library = work.join("libpages.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-O2", "-shared", "-fPIC", "-w"]).arg(peers().join("pages.c"));
    succeeds(command.arg("-o").arg(&library)).ok()?;
    Some(library)
}

fn write_operands(to: &Path, operands: &Operands) -> io::Result<()> {
    match operands {
        Operands::MatrixVector { a, x } | Operands::MatrixDense { a, x } => {
            write_csr(to, "a", a)?;
            write_dense(to, "x", x)
        }
        Operands::Residual { a, x, b } => {
            write_csr(to, "a", a)?;
            write_dense(to, "x", x)?;
            write_dense(to, "b", b)
        }
        Operands::TwoTensors { b, c } => {
            write_tensor(to, "b", b)?;
            write_tensor(to, "c", c)
        }
        Operands::SampledProduct { b, dense } => {
            write_csr(to, "b", b)?;
            let mut named = ["c", "d", "e"].into_iter().zip(dense);
            named.try_for_each(|(name, x)| write_dense(to, name, x))
        }
        Operands::Matrix { a } | Operands::Squared(a) => write_csr(to, "a", a),
        Operands::Matrices { all } => {
            all.iter().enumerate().try_for_each(|(n, a)| write_csr(to, &format!("term{n}"), a))
        }
        Operands::TensorTwoSparse { b, c, d } => {
            write_tensor(to, "b", b)?;
            write_csr(to, "c", c)?;
            write_csr(to, "d", d)
        }
        Operands::TwoMatrices { a, b } => {
            write_csr(to, "a", a)?;
            write_csr(to, "b", b)
        }
        Operands::TensorVector { b, c } | Operands::TensorMatrix { b, c } => {
            write_tensor(to, "b", b)?;
            write_dense(to, "c", c)
        }
        Operands::TensorTwoMatrices { b, c, d } => {
            write_tensor(to, "b", b)?;
            write_dense(to, "c", c)?;
            write_dense(to, "d", d)
        }
        Operands::Sampled { b, c, d } => {
            write_csr(to, "b", b)?;
            write_dense(to, "c", c)?;
            write_dense(to, "d", d)
        }
    }
}

fn write_csr(to: &Path, name: &str, a: &Csr) -> io::Result<()> {
    write_shape(to, name, &[a.rows, a.cols])?;
    write_index(to, &format!("{name}.pos.i32"), &a.pos)?;
    write_index(to, &format!("{name}.crd.i32"), &a.crd)?;
    write_numbers(to, &format!("{name}.vals.f64"), &a.vals)
}

fn write_tensor(to: &Path, name: &str, b: &Csf3) -> io::Result<()> {
    write_shape(to, name, &b.dims)?;
    let parts = [("pos1", &b.pos1), ("crd1", &b.crd1), ("pos2", &b.pos2), ("crd2", &b.crd2)];
    for (part, index) in parts {
        write_index(to, &format!("{name}.{part}.i32"), index)?;
    }
    write_numbers(to, &format!("{name}.vals.f64"), &b.vals)
}

fn write_dense(to: &Path, name: &str, x: &Dense) -> io::Result<()> {
    write_shape(to, name, &[x.rows, x.cols])?;
    write_numbers(to, &format!("{name}.vals.f64"), &x.vals)
}

fn write_shape(to: &Path, name: &str, shape: &[usize]) -> io::Result<()> {
    let bytes = shape.iter().flat_map(|&n| (n as i64).to_le_bytes());
    write_file(&to.join(format!("{name}.shape.i64")), bytes)
}

fn write_index(to: &Path, name: &str, index: &[i32]) -> io::Result<()> {
    write_file(&to.join(name), index.iter().flat_map(|i| i.to_le_bytes()))
}

fn write_numbers(to: &Path, name: &str, numbers: &[f64]) -> io::Result<()> {
    write_file(&to.join(name), numbers.iter().flat_map(|v| v.to_le_bytes()))
}

fn write_file(path: &Path, mut bytes: impl Iterator<Item = u8>) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    let mut chunk = Vec::with_capacity(1 << 20);
    loop {
        chunk.clear();
        chunk.extend(bytes.by_ref().take(1 << 20));
        if chunk.is_empty() {
            return Ok(());
        }
        file.write_all(&chunk)?;
    }
}

fn read_output(from: &Path) -> io::Result<Output> {
    let index = |name: &str| match fs::read(from.join(name)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        bytes => bytes.map(|b| b.as_chunks().0.iter().map(|&i| i32::from_le_bytes(i)).collect()),
    };
    let vals = fs::read(from.join("vals.f64"))?;
    let vals = vals.as_chunks().0.iter().map(|&v| f64::from_le_bytes(v)).collect();
    Ok(Output { pos: index("pos.i32")?, crd: index("crd.i32")?, vals })
}

/// Empties the exchange: operands may be gigabytes.
fn clear(exchange: &Path) {
    for entry in fs::read_dir(exchange).into_iter().flatten().flatten() {
        // A file that stays is overwritten by the next exchange.
        let _ = fs::remove_file(entry.path());
    }
}
