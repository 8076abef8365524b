//! What a file says about itself, beside its entries.

use std::fmt;
use std::path::Path;
use tamis_runtime::Coordinates;

/// A file format, told by the extension of the name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileFormat {
    /// Matrix Market: `.mtx`.
    MatrixMarket,
    /// Rutherford-Boeing and Harwell-Boeing: `.rb`, `.hb`, and the names that tell the type of
    /// the matrix, such as `.rua`, `.psa` or `.cha`.
    RutherfordBoeing,
    /// FROSTT: `.tns`.
    Frostt,
}

impl FileFormat {
    /// The format of a file of this name, with or without `.gz` at its end.
    pub fn of(path: &Path) -> Option<FileFormat> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (_, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
        match extension.as_bytes() {
            b"mtx" => Some(FileFormat::MatrixMarket),
            b"tns" => Some(FileFormat::Frostt),
            b"rb" | b"hb" => Some(FileFormat::RutherfordBoeing),
            [b'r' | b'c' | b'i' | b'p' | b'q', b's' | b'u' | b'h' | b'z' | b'r', b'a' | b'e'] => {
                Some(FileFormat::RutherfordBoeing)
            }
            _ => None,
        }
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileFormat::MatrixMarket => "Matrix Market",
            FileFormat::RutherfordBoeing => "Rutherford-Boeing",
            FileFormat::Frostt => "FROSTT",
        })
    }
}

/// The kind of values in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// Floating-point numbers.
    Real,
    /// Integers.
    Integer,
    /// Integers without sign.
    Unsigned,
    /// None: every entry stands for one.
    Pattern,
    /// Complex numbers.
    Complex,
}

/// What the entries of a file stand for beyond themselves. Reading gives the full matrix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symmetry {
    /// Nothing.
    General,
    /// `A(j,i) = A(i,j)`
    Symmetric,
    /// `A(j,i) = -A(i,j)`
    SkewSymmetric,
    /// `A(j,i) = conj(A(i,j))`
    Hermitian,
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::SkewSymmetric => "skew-symmetric",
            Symmetry::Hermitian => "hermitian",
        })
    }
}

/// Which entries a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Layout {
    /// Those that are stored, each with its coordinates.
    #[default]
    Coordinate,
    /// All, in column-major order.
    Array,
}

/// What a file says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The format of the file.
    pub format: FileFormat,
    /// Which entries the file holds.
    pub layout: Layout,
    /// The kind of values.
    pub field: Field,
    /// The symmetry that the file declares.
    pub symmetry: Symmetry,
    /// How many entries stand in the file, before symmetry is expanded.
    pub stored: usize,
    /// The comments before the first entry, or the title, without their marks.
    pub comments: Vec<String>,
}

/// A file that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct File {
    /// The entries, in the order of the file.
    pub coordinates: Coordinates,
    /// What the file said about itself.
    pub header: Header,
}

/// How to read a file.
#[derive(Clone, Default, Debug)]
pub struct ReadOptions {
    /// The dimensions of a FROSTT file that has none, as far as known: others are the largest
    /// coordinates. Those in a file hold.
    pub dims: Vec<Option<u64>>,
}

/// How to write a file.
#[derive(Clone, Default, Debug)]
pub struct WriteOptions {
    /// Which entries to write; only Matrix Market knows [`Layout::Array`].
    pub layout: Layout,
    /// Lines of comment for the head of the file.
    pub comments: Vec<String>,
}
