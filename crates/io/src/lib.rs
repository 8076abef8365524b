//! Readers and writers of sparse tensor files: Matrix Market, Rutherford-Boeing, FROSTT, SciPy's
//! archives and binsparse.
//!
//! Files become [`Coordinates`], a list of coordinates and values, and back. Whatever the bytes of
//! a file, reading gives coordinates or a [`FileError`] that names the line and column; a file
//! that is written appears under its name complete or not at all. The crate knows no kernel.
//!
//! ```
//! use tamis_io::{Values, read_frostt};
//!
//! let file = read_frostt(b"# dims: 2 3\n1 1 0.5\n2 3 4\n", "small.tns".as_ref())?;
//! assert_eq!(file.coordinates.dims(), [2, 3]);
//! assert_eq!(file.coordinates.crds(), [[0, 1], [0, 2]]);
//! assert_eq!(*file.coordinates.vals(), Values::F64(vec![0.5, 4.0]));
//! # Ok::<(), tamis_io::FileError>(())
//! ```
//!
//! Modules are listed bottom layer first, which is also the order in which to read them.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `file` | reading and writing by name |
//! | `folder` | tensors in folders of part files |
//! | `parts` | text files that are read in parts |
//! | `spill` | entries of a file that is larger than memory, on disk |
//! | `streamed` | writing entries that come in parts |
//! | `header` | what a file says of itself |
//! | `matrix_market` | `.mtx` |
//! | `rutherford_boeing` | `.rb` and Harwell-Boeing |
//! | `frostt` | `.tns` |
//! | `npz` | `.npz` of SciPy and binsparse, `.npy` of NumPy |
//! | `progress` | how far a file is |
//! | `source` `chunks` | plain and compressed files, as chunks of whole lines |
//! | `at` | reading at positions, and standard input, as systems do it |
//! | `marks` | the type that the values of all parts have |
//! | `lines` | where a text is cut into parts |
//! | `counted` | lists that count against the memory limit |
//! | `text` `cursor` `number` `triplets` `triangles` `save` | lines, fields, numbers, entries, both sides of a diagonal, atomic writing |
//! | `error` | diagnostics of files |

#![forbid(unsafe_code)]

mod at;
mod chunks;
mod counted;
mod cursor;
mod error;
mod file;
mod folder;
mod frostt;
mod header;
mod lines;
mod marks;
mod matrix_market;
mod npz;
mod number;
mod parts;
mod progress;
mod rutherford_boeing;
mod save;
mod source;
mod spill;
mod streamed;
mod text;
mod triangles;
mod triplets;

pub use error::{FileError, FileErrorCode, MORE_MEMORY};
pub use file::{check_writable, is_standard, is_stream, read, read_with, write};
pub use folder::{Folder, NewPart, PartFile, is_folder};
pub use frostt::{read_frostt, write_frostt};
pub use header::{Field, File, FileFormat, Header, Layout, ReadOptions, Symmetry, WriteOptions};
pub use matrix_market::{read_matrix_market, write_matrix_market};
pub use parts::{Cut, Found, Part, changed};
pub use progress::{Progress, progress};
pub use rutherford_boeing::{read_rutherford_boeing, write_rutherford_boeing};
pub use spill::Spill;
pub use streamed::{is_streamed, write_in_parts};
pub use tamis_runtime::temporary;
pub use tamis_runtime::{Bf16, Coordinates, DataType, F16, Scalar, Values};
pub use triangles::entries_written;
