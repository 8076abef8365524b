//! What a file says about itself, beside its entries.

use crate::rutherford_boeing;
use std::fmt;
use std::path::Path;
use tamis_runtime::{Coordinates, Scalar};

/// How the comment begins that says the fill value of a text file. Nobody else writes such comments:
/// those of others that begin with `fill:` say nothing about entries.
pub(crate) const FILL_MARK: &str = "tamis fill:";

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
    /// Archives of NumPy arrays as SciPy saves them: `.npz`.
    Npz,
    /// Binsparse in an archive of NumPy arrays: `.bsp.npz`.
    Binsparse,
    /// One NumPy array, of all elements: `.npy`.
    Npy,
}

impl FileFormat {
    /// Every format, and the name that says it where no file name does.
    pub const NAMED: [(&'static str, FileFormat); 6] = [
        ("mtx", FileFormat::MatrixMarket),
        ("rb", FileFormat::RutherfordBoeing),
        ("tns", FileFormat::Frostt),
        ("npz", FileFormat::Npz),
        ("bsp", FileFormat::Binsparse),
        ("npy", FileFormat::Npy),
    ];

    /// The format that a name such as `mtx` says.
    pub fn parse(name: &str) -> Option<FileFormat> {
        FileFormat::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// The name that says it, such as `mtx`.
    pub fn name(self) -> &'static str {
        FileFormat::NAMED.into_iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// The format that the first bytes of a file tell, where they do.
    pub fn of_bytes(bytes: &[u8]) -> Option<FileFormat> {
        match FileFormat::marked(bytes) {
            // Titles of Rutherford-Boeing may begin as FROSTT does.
            None if rutherford_boeing::is_begun(bytes) => Some(FileFormat::RutherfordBoeing),
            None => FileFormat::may_be_frostt(bytes).then_some(FileFormat::Frostt),
            marked => marked,
        }
    }

    /// The format whose mark a file begins with, as those of no other do.
    pub(crate) fn marked(bytes: &[u8]) -> Option<FileFormat> {
        match bytes {
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(FileFormat::Npz),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(FileFormat::Npy),
            // Comments of FROSTT and titles of Rutherford-Boeing may begin with %, too.
            _ => bytes
                .get(..14)
                .is_some_and(|b| b.eq_ignore_ascii_case(b"%%MatrixMarket"))
                .then_some(FileFormat::MatrixMarket),
        }
    }

    /// Whether a text begins as one of FROSTT does, with a comment or numbers.
    fn may_be_frostt(bytes: &[u8]) -> bool {
        let line = bytes.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        line.is_some_and(|line| {
            let number = |word: &[u8]| {
                std::str::from_utf8(word).is_ok_and(|word| Scalar::parse(word).is_some())
            };
            line.starts_with(b"#")
                || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).all(number)
        })
    }

    /// Whether tensors of any order can be held, not only matrices.
    pub fn holds_tensors(self) -> bool {
        !matches!(self, FileFormat::MatrixMarket | FileFormat::RutherfordBoeing)
    }

    /// The format of a file of this name, with or without `.gz` at its end.
    pub fn of(path: &Path) -> Option<FileFormat> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        if name.ends_with(".npz") {
            let is_binsparse = name.ends_with(".bsp.npz");
            return Some(if is_binsparse { FileFormat::Binsparse } else { FileFormat::Npz });
        }
        let (_, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
        match extension.as_bytes() {
            b"mtx" => Some(FileFormat::MatrixMarket),
            b"tns" => Some(FileFormat::Frostt),
            b"npy" => Some(FileFormat::Npy),
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
            FileFormat::Npz => "SciPy's npz",
            FileFormat::Binsparse => "binsparse",
            FileFormat::Npy => "NumPy's npy",
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

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Real => "real",
            Field::Integer => "integer",
            Field::Unsigned => "unsigned-integer",
            Field::Pattern => "pattern",
            Field::Complex => "complex",
        })
    }
}

/// What the entries of a file stand for beyond themselves. Reading gives the full matrix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Symmetry {
    /// Nothing.
    #[default]
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
    /// The value of coordinates without an entry, where the file says another than 0: a comment
    /// `tamis fill: inf`, or an array `fill_value`.
    pub fill: Option<Scalar>,
}

/// A file that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct File {
    /// The entries, in the order of the file.
    pub coordinates: Coordinates,
    /// What the file said about itself.
    pub header: Header,
}

impl File {
    /// The file, whose entries have the fill value that the header says.
    pub(crate) fn with_fill(self) -> File {
        match self.header.fill {
            Some(fill) => File { coordinates: self.coordinates.with_fill(fill), ..self },
            None => self,
        }
    }
}

/// How to read a file.
#[derive(Clone, Default, Debug)]
pub struct ReadOptions {
    /// The dimensions of a FROSTT file that has none, as far as known: others are the largest
    /// coordinates. Those in a file hold.
    pub dims: Vec<Option<u64>>,
    /// The format of standard input, which has no file name. An archive's content tells which of the two
    /// archive formats it is.
    pub format: Option<FileFormat>,
    /// The format of standard input where neither `format` nor its first bytes tell.
    pub otherwise: Option<FileFormat>,
}

/// How to write a file.
#[derive(Clone, Default, Debug)]
pub struct WriteOptions {
    /// Which entries to write; only Matrix Market knows [`Layout::Array`].
    pub layout: Layout,
    /// Lines of comment for the head of the file.
    pub comments: Vec<String>,
    /// The format of what goes to standard output.
    pub format: Option<FileFormat>,
    /// The value of coordinates without an entry, where the list does not say it ([`Coordinates::fill`]) and
    /// it is not 0.
    pub fill: Option<Scalar>,
    /// What the entries on and below the diagonal stand for; those above are left out then. Only
    /// formats of matrices hold it.
    pub symmetry: Symmetry,
    /// Which values to write: with [`Field::Pattern`] none, with others all. Only formats of
    /// matrices hold it.
    pub field: Option<Field>,
}

impl WriteOptions {
    /// The options for a list: with its own fill value where it says one.
    pub(crate) fn with_fill_of(&self, list: &Coordinates) -> WriteOptions {
        WriteOptions { fill: list.fill().or(self.fill), ..self.clone() }
    }
}
