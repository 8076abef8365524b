//! The command line.

use crate::names::Names;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Sparse tensor algebra: index notation and formats in, fast kernels out
#[derive(Parser)]
#[command(
    name = "tamis",
    version,
    about,
    arg_required_else_help = true,
    after_help = "\
Environment:
  TAMIS_CPU          Processor level of generated code: x86-64, x86-64-v2, x86-64-v3, x86-64-v4,
                     or native (the default: all that this processor has)
  TAMIS_CC           C compiler of --backend c [default: clang, gcc, cc]
  TAMIS_NUM_THREADS  Number of threads
  TAMIS_CACHE_DIR    Folder of compiled kernels
  NO_COLOR           Messages without colours, if it is set

Examples:
  tamis run 'y(i) = A(i,j) * x(j)' -i A=web.mtx -g x=dense
  tamis info web.mtx"
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do
#[derive(Subcommand)]
pub enum Command {
    /// Compute an expression on tensors from files or generators
    Run(RunArgs),
    /// Show what the compiler makes of an expression
    Explain(ExplainArgs),
    /// Write an expression's kernels as a library that needs no Tamis
    Build(BuildArgs),
    /// Convert between file formats
    Convert(ConvertArgs),
    /// Describe a tensor file and the formats that suit it
    Info(InfoArgs),
    /// List the level formats and named formats
    Formats(FormatsArgs),
    /// Print the manual page of the command, or of one of its commands
    #[command(after_help = "Examples:
  tamis man | man -l -
  tamis man run > ~/.local/share/man/man1/tamis-run.1")]
    Man {
        /// The command, such as run
        command: Option<String>,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  tamis completions bash > ~/.local/share/bash-completion/completions/tamis
  tamis completions fish > ~/.config/fish/completions/tamis.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// List the level formats, the named formats and the element types, or tell what formats store
#[derive(Args)]
#[command(after_help = "Examples:
  tamis formats
  tamis formats csr 'bcsr(3, 2)' '(i, j) -> (i: compressed, j: hashed)'
  tamis formats --json | jq -r '.formats[].name'")]
pub struct FormatsArgs {
    /// Formats to tell the levels of, all without one: a name, or levels
    #[arg(value_name = "FORMAT", value_parser = Names::of_formats(), hide_possible_values = true)]
    pub formats: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Compute an expression
#[derive(Args, Clone)]
#[command(after_help = "Examples:
  tamis run 'y(i) = A(i,j) * x(j)' -f A=csr -i A=web.mtx -g x=dense -o y=y.tns
  tamis run 'C(i,j) = A(i,k) * B(k,j)' -g A=1000x1000:0.01:7 -g B=1000x1000:0.01:8 --json
  tamis run 'd(i,j) = min(k, A(i,k) + A(k,j))' -f 'A=csr{fill: inf}' -i A=roads.mtx
  tamis run 'a = A(i,i)' -i A=matrix.mtx.gz --time 10
  tamis run 'y(i) = A(i,j) * x(j)' -i A=web.mtx -g x=dense --time 5 --profile
  tamis run 'C(i,j) = A(i,k) * A(k,j)' -f A=csr -f C=csr -i A=web.mtx --dry-run
  mpiexec -n 4 tamis run 'y(i) = A(i,j) * x(j)' -f 'A=csr @ nz(x)' -i A=web.mtx -g x=dense --mpi --grid x=4
  zcat web.mtx.gz | tamis run 'B(i,j) = A(j,i)' -i A=- -o B=- --format mtx | gzip > t.mtx.gz

Kernels that compute for long are compiled by the C compiler too, except on Windows. They are cached in the folder
`tamis` of TAMIS_CACHE_DIR, XDG_CACHE_HOME or ~/.cache, up to TAMIS_CACHE_SIZE (256M). TAMIS_CC=off uses no
compiler, TAMIS_CACHE_DIR=off no cache.")]
pub struct RunArgs {
    /// Statements in index notation, separated by `;` or lines; @FILE reads them from a file, @- from standard input
    pub expression: String,
    /// What is known of tensors
    #[command(flatten)]
    pub tensors: TensorArgs,
    /// Where to write a result: a file, a folder of a part from each rank (T=FOLDER.tns/), - for standard output;
    /// without it a summary is printed
    #[arg(short = 'o', long = "output", value_name = "T=FILE")]
    pub outputs: Vec<String>,
    /// How the loops run: commands separated by `;`, as in 'reorder(j, i)'
    #[arg(short = 's', long = "schedule", value_name = "COMMANDS", default_value = "")]
    pub schedule: String,
    /// auto, jit, c (the C compiler of TAMIS_CC, else clang, gcc or cc), interp, interp-vectors (interpreting what jit would run), cuda, or cuda-emulated (kernels for a GPU on the processor, slowly)
    #[arg(long, default_value = "auto", value_parser = Names::of_backends(), hide_possible_values = true)]
    pub backend: String,
    /// Threads that compute and pack (or TAMIS_NUM_THREADS); results do not depend on it
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Run on the processes that MPI started, as in mpiexec -n 4 tamis run .. --mpi; results have the bits of one
    #[arg(long)]
    pub mpi: bool,
    /// Run on so many ranks that are threads of this process: what --mpi does, to be tried at home
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub ranks: Option<usize>,
    /// The axes of the grid of ranks that a schedule and formats name, as in x=4 or x=2,y=2: refused if there are not as
    /// many ranks
    #[arg(long, value_name = "NAME=N")]
    pub grid: Option<String>,
    /// The most memory for tensors and files being read, as in 500M or 8GiB: bytes, or times 1000 per
    /// letter K M G T, 1024 as KiB MiB GiB TiB; without it what is free. Programs on .mtx and .tns
    /// files that are larger run part by part, where their outermost loop can be cut
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_limit: Option<String>,
    /// Run so many times and report the median; --json has each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count, allow_negative_numbers = true)]
    pub time: usize,
    /// Time the ways to run the loops that the compiler weighed, keep the fastest, and remember it
    #[arg(long)]
    pub tune: bool,
    /// Tell where the time went: stages of compilation, each kernel and loop, estimated beside counted, and how near
    /// to what memory moves
    #[arg(long)]
    pub profile: bool,
    /// Read operands and compile, and tell memory, steps, tier and threads of a run, without running; of operands that
    /// do not fit in --memory-limit, whether it would run part by part
    #[arg(long, conflicts_with_all = ["profile", "tune"])]
    pub dry_run: bool,
    /// Print one JSON object instead of a summary
    #[arg(long)]
    pub json: bool,
    /// Do not warn of what is going to be slow
    #[arg(long)]
    pub quiet: bool,
}

/// What is known of tensors, and of what they do not store
#[derive(Args, Clone)]
pub struct TensorArgs {
    /// How a tensor is stored: T=csr, T='(i, j) -> (i: dense, j: compressed)', T=csr{f32}; where an
    /// operand lies on ranks: T='csr @ rows(x)', '.. @ nz(x)', '.. @ blocks(i: x)', '.. @ replicated'; without a tensor, the format of what goes through - (mtx, rb, tns, npz,
    /// bsp or npy); first bytes tell that of the input, gzipped or not
    #[arg(short = 'f', long = "format", value_name = "T=FORMAT", value_parser = Names::of_file_formats(), hide_possible_values = true)]
    pub formats: Vec<String>,
    /// A tensor's file (.mtx, .rb, .tns, .npy, each may end in .gz, .npz, .bsp.npz), a folder of parts, - for
    /// standard input, or a number for a scalar
    #[arg(short = 'i', long = "input", value_name = "T=FILE")]
    pub inputs: Vec<String>,
    /// Random values: T=[DIMS:]DENSITY[:SEED], as in 1000x1000:0.01:7, dense, or 1000x1000:5/row for
    /// 5 entries in each row, which ranks generate in parts
    #[arg(short = 'g', long = "generate", value_name = "T=DIMS:DENSITY[:SEED]")]
    pub generators: Vec<String>,
    /// The dimension of an index variable that no tensor fixes, or those of a tensor: A=10x20; also
    /// of a .tns file without a line of dimensions
    #[arg(short = 'd', long = "dimension", value_name = "VAR=SIZE", allow_negative_numbers = true)]
    pub dimensions: Vec<String>,
    /// The element type of tensors whose format does not say
    #[arg(long, value_name = "TYPE", value_parser = Names::of_types())]
    pub dtype: Option<String>,
    /// Divide zeros that are not stored as IEEE 754 says, at every coordinate: 0/0 is NaN there, too
    #[arg(long)]
    pub strict: bool,
}

/// Show what the compiler makes of an expression: for any operands, or for those of -i and -g
#[derive(Args)]
#[command(after_help = "Examples:
  tamis explain 'y(i) = A(i,j) * x(j)' -f A=csr
  tamis explain 'C(i,j) = A(i,j) + B(i,j)' -f A=csr -f B=csr -f C=csr --emit c
  tamis explain 'y(i) = A(i,j) * x(j)' -i A=web.mtx -d j=1000 --emit cin,ir
  tamis explain 'C(i,j) = A(i,k) * B(k,j)' -f A=csr -f B=csr -f C=csr --kind compute --emit c
  tamis explain 'y(i) = A(i,j) * x(j)' -i A=web.mtx -g x=dense --emit comm --ranks 4096 --network 10G,2us
  tamis explain 'y(i) = A(i,j) * x(j)' -f A=csr --emit graph --format dot | dot -Tsvg
                                        (a --format without a tensor is that of the graph)")]
pub struct ExplainArgs {
    /// Statements in index notation, separated by `;` or lines; @FILE reads them from a file, @- from standard input
    pub expression: String,
    /// What is known of tensors
    #[command(flatten)]
    pub tensors: TensorArgs,
    /// How the loops run: commands separated by `;`, as in 'reorder(j, i)'
    #[arg(short = 's', long = "schedule", value_name = "COMMANDS", default_value = "")]
    pub schedule: String,
    /// One or several stages, with commas between; without it all, of c, cuda and asm only how long
    /// they are
    #[arg(long, value_name = "STAGE", value_delimiter = ',', value_parser = Names::of_stages())]
    pub emit: Vec<String>,
    /// How many ranks: comm tells what they would send each other, with the operands of -i and -g
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub ranks: Option<usize>,
    /// The axes of the grid of ranks that a schedule and formats name, as in x=4
    #[arg(long, value_name = "NAME=N", requires = "ranks")]
    pub grid: Option<String>,
    /// How fast their messages are: bytes per second and the time until one begins to arrive
    #[arg(long, value_name = "BANDWIDTH,LATENCY", requires = "ranks")]
    pub network: Option<String>,
    /// What kernels do to a result: fused (find entries and values), assemble (find its entries) or
    /// compute (values at entries that are known)
    #[arg(long, value_name = "KIND", default_value = "fused", value_parser = Names::of_kinds(), hide_possible_values = true)]
    pub kind: String,
    /// Print one JSON object: the text of each stage
    #[arg(long)]
    pub json: bool,
}

/// Write an expression's kernels as a library that needs no Tamis: operands in these formats, of any dimensions
#[derive(Args)]
#[command(after_help = "Examples:
  tamis build 'y(i) = A(i,j) * x(j)' -f A=csr -o spmv
  tamis build 'C(i,j) = A(i,k) * B(k,j)' -f A=csr -f B=csr -f C=csr -o src/spgemm
  tamis build 'C(i,j) = A(i,k) * B(k,j)' -f A=csr -f B=csr -f C=csr --emit rust -o src/spgemm

C: compile NAME.c with -O3 -march=native -fwrapv -ffp-contract=off, and with -fopenmp if a schedule gives a loop to
threads; link with -lm. Rust: `mod NAME;`.
A -d fixes a dimension for good; one that neither -d nor an operand fixes becomes a parameter.")]
pub struct BuildArgs {
    /// Statements in index notation, separated by `;` or lines; @FILE reads them from a file, @- from standard input
    pub expression: String,
    /// What is known of tensors
    #[command(flatten)]
    pub tensors: TensorArgs,
    /// How the loops run: commands separated by `;`, as in 'reorder(j, i)'
    #[arg(short = 's', long = "schedule", value_name = "COMMANDS", default_value = "")]
    pub schedule: String,
    /// c-library writes NAME.h and NAME.c, rust writes NAME.rs
    #[arg(long, value_name = "LANGUAGE", default_value = "c-library", value_parser = Names::of_languages(), hide_possible_values = true)]
    pub emit: String,
    /// The name of the library without an ending, with the folder it goes to: -o src/spmv writes src/spmv.h and
    /// src/spmv.c, with --emit rust src/spmv.rs; without it NAME is compute_ and the result's name
    #[arg(short = 'o', long = "output", value_name = "[FOLDER/]NAME")]
    pub output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Convert between file formats
#[derive(Args)]
#[command(after_help = "Examples:
  tamis convert matrix.rb matrix.mtx.gz
  tamis convert tensor.tns sorted.tns --to csf
  tamis convert matrix.mtx by-columns.mtx --to csc
  tamis convert matrix.mtx blocks.mtx --to 'bcsr(4,4)'
  tamis convert matrix.npz - --format mtx | head

A .mtx or .rb file keeps that the input is symmetric, skew-symmetric, hermitian or a pattern: one triangle
is written, or no values.")]
pub struct ConvertArgs {
    /// The file to read, or - for standard input
    pub input: PathBuf,
    /// The file to write, or - for standard output
    pub output: PathBuf,
    /// The format of -; where both sides are, of the output: the first bytes tell that of the input, gzipped or not;
    /// without it the output has that of the input
    #[arg(long, value_name = "FORMAT", value_parser = Names::of_file_formats())]
    pub format: Option<String>,
    /// Write both triangles of a symmetric matrix, and the ones of a pattern
    #[arg(long)]
    pub expand: bool,
    /// Leave out entries that are 0, or the fill value of the file
    #[arg(long)]
    pub drop_zeros: bool,
    /// Pack the tensor in this format in between, whichever it is: entries come out in its order,
    /// duplicates are summed unless it keeps them, numbers that do not fit its type are refused, and
    /// elements that it adds (blocks, diagonals, dense) are written as zeros; implies --expand
    #[arg(long, value_name = "FORMAT", value_parser = Names::of_formats(), hide_possible_values = true)]
    pub to: Option<String>,
    /// How the file is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Do not tell what the output does not say as the input does
    #[arg(long)]
    pub quiet: bool,
}

/// How a file is read
#[derive(Args)]
pub struct ReadingArgs {
    /// The dimensions of a .tns file without a line of them, as in 100x200; without both, each is the largest
    /// coordinate
    #[arg(short = 'd', long, value_name = "SIZES", allow_negative_numbers = true)]
    pub dimensions: Option<String>,
    /// The most memory for tensors and files being read, as in 500M or 8GiB: bytes, or times 1000 per
    /// letter K M G T, 1024 as KiB MiB GiB TiB; without it what is free
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_limit: Option<String>,
}

/// Describe a tensor file: what is measured of it, and the formats that suit it, best first
#[derive(Args)]
#[command(after_help = "Examples:
  tamis info web.mtx.gz
  tamis info web.mtx.gz --plot web.svg
  curl -s https://example.org/web.mtx | tamis info -")]
pub struct InfoArgs {
    /// The file, or - for standard input
    pub file: PathBuf,
    /// The format of standard input, where its first bytes do not tell
    #[arg(long, value_name = "FORMAT", value_parser = Names::of_file_formats())]
    pub format: Option<String>,
    /// How the file is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Draw where the entries of a matrix are to a file
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The value of an option that counts something.
fn count(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "write a whole number, such as 4")
}
