//! Arrays in NumPy's format `.npy`.
//!
//! ```text
//! \x93NUMPY 1 0  118  {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   then the bytes
//! ```
//!
//! Numbers of either byte order, truth values and text are read; text is what names a format. The
//! specification is in the documentation of `numpy.lib.format`.

use super::{unsupported, wrong};
use crate::counted::Counted;
use crate::error::{FileErrorCode, Flaw, Parsed, Place};
use std::io::{self, Read, Write};
use tamis_runtime::{DataType, F16, Scalar, Values};

/// An array.
#[derive(Debug)]
pub(super) struct Array {
    pub shape: Vec<u64>,
    pub data: Data,
}

/// What an array holds, in row-major order.
#[derive(Debug)]
pub(super) enum Data {
    Numbers(Values),
    Text(String),
}

/// The most bytes of a header and of a text.
const MOST_TEXT: usize = 1 << 20;

/// Bytes that are converted at once.
const CHUNK: usize = 1 << 16;

/// The letters of data types that are neither text nor read.
const NUMBERS: &str = "numbers and truth values are read";

/// Reads an array.
pub(super) fn read_array(mut from: impl Read) -> Parsed<Array> {
    let mut start = [0_u8; 8];
    read_exact(&mut from, &mut start)?;
    if &start[..6] != b"\x93NUMPY" {
        return Err(wrong("this is no array of NumPy"));
    }
    let length = match start[6] {
        1 => {
            let mut length = [0_u8; 2];
            read_exact(&mut from, &mut length)?;
            usize::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0_u8; 4];
            read_exact(&mut from, &mut length)?;
            u32::from_le_bytes(length) as usize
        }
        n => return Err(unsupported(format!("version {n} of the format"), "save it by NumPy 2")),
    };
    if length > MOST_TEXT {
        return Err(wrong("the header is too long"));
    }
    let mut header = vec![0_u8; length];
    read_exact(&mut from, &mut header)?;
    let header = String::from_utf8(header).map_err(|_| wrong("the header is no text"))?;
    let field = |name: &str| {
        let rest = header.split_once(&format!("'{name}':")).map(|(_, rest)| rest.trim_start());
        rest.ok_or_else(|| wrong(format!("the header does not say {name}")))
    };
    let quoted = field("descr")?.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    let descr = quoted.ok_or_else(|| unsupported("records are no numbers", NUMBERS))?.0.to_owned();
    let by_columns = field("fortran_order")?.starts_with("True");
    let shape = field("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let shape = shape.ok_or_else(|| wrong("the header does not say shape"))?.0;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape: Option<Vec<u64>> = sizes.map(|size| size.parse().ok()).collect();
    let shape = shape.ok_or_else(|| wrong("the shape is no list of sizes"))?;
    let count = shape.iter().try_fold(1_u64, |n, &size| n.checked_mul(size));
    let count = count.and_then(|n| usize::try_from(n).ok());
    let count = count.ok_or_else(|| wrong("the shape is too large"))?;
    let data = read_data(&mut from, &descr, count)?;
    let data = match data {
        Data::Numbers(values) if by_columns && shape.len() > 1 => {
            Data::Numbers(select(&values, by_rows(&shape))?)
        }
        data => data,
    };
    Ok(Array { shape, data })
}

/// Where the elements of an array, in row-major order, are in column-major order.
fn by_rows(shape: &[u64]) -> impl Iterator<Item = usize> + '_ {
    let count: u64 = shape.iter().product();
    (0..count).map(move |mut at| {
        let (mut place, mut stride) = (0, count);
        for &size in shape.iter().rev() {
            stride /= size;
            place += (at % size) * stride;
            at /= size;
        }
        place as usize
    })
}

fn read_data(from: &mut impl Read, descr: &str, count: usize) -> Parsed<Data> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or(("", descr));
    let swap = order == ">";
    macro_rules! numbers {
        ($values:ident, $t:ty) => {
            Data::Numbers(Values::$values(numbers(from, count, swap, <$t>::from_le_bytes)?))
        };
    }
    macro_rules! pairs {
        ($values:ident, $t:ty) => {{
            let parts = count.checked_mul(2).ok_or_else(|| wrong("the shape is too large"))?;
            let parts: Vec<$t> = numbers(from, parts, swap, <$t>::from_le_bytes)?;
            Data::Numbers(Values::$values(paired(&parts)?))
        }};
    }
    Ok(match kind {
        "b1" => Data::Numbers(Values::Bool(numbers(from, count, swap, |[byte]: [u8; 1]| byte)?)),
        "i1" => numbers!(I8, i8),
        "i2" => numbers!(I16, i16),
        "i4" => numbers!(I32, i32),
        "i8" => numbers!(I64, i64),
        "u1" => numbers!(U8, u8),
        "u2" => numbers!(U16, u16),
        "u4" => numbers!(U32, u32),
        "u8" => numbers!(U64, u64),
        "f2" => {
            let half = |bytes| F16::from_bits(u16::from_le_bytes(bytes));
            Data::Numbers(Values::F16(numbers(from, count, swap, half)?))
        }
        "f4" => numbers!(F32, f32),
        "f8" => numbers!(F64, f64),
        "c8" => pairs!(C64, f32),
        "c16" => pairs!(C128, f64),
        _ => match (kind.split_at_checked(1), count) {
            (Some(("S", length)), 1) => Data::Text(text(from, length, 1, swap)?),
            (Some(("U", length)), 1) => Data::Text(text(from, length, 4, swap)?),
            _ => {
                let long = match kind {
                    "f12" | "f16" => " (floats of more than 64 bits, NumPy's longdouble)",
                    "c24" | "c32" => {
                        " (complex numbers of more than 128 bits, NumPy's clongdouble)"
                    }
                    _ => return Err(unsupported(format!("elements of the type {descr}"), NUMBERS)),
                };
                let help = "in NumPy, convert the array first: x.astype('float64') or 'complex128'";
                return Err(unsupported(format!("elements of the type {descr}{long}"), help));
            }
        },
    })
}

/// Numbers of `N` bytes, in whose list no more is reserved than the file has.
fn numbers<T, const N: usize>(
    from: &mut impl Read,
    count: usize,
    swap: bool,
    of: impl Fn([u8; N]) -> T,
) -> Parsed<Vec<T>> {
    let mut list = Counted::with_room(count.min(CHUNK))?;
    let mut buffer = vec![0_u8; CHUNK];
    let mut left = count;
    while left > 0 {
        let now = left.min(CHUNK / N);
        let bytes = &mut buffer[..now * N];
        read_exact(from, bytes)?;
        for element in bytes.as_chunks::<N>().0 {
            let mut element = *element;
            if swap {
                element.reverse();
            }
            list.push(of(element))?;
        }
        left -= now;
    }
    Ok(list.into_vec())
}

/// Real and imaginary parts side by side.
pub(super) fn paired<T: Copy>(parts: &[T]) -> Parsed<Vec<[T; 2]>> {
    let mut list = Counted::with_room(parts.len() / 2)?;
    parts.as_chunks::<2>().0.iter().try_for_each(|&pair| list.push(pair))?;
    Ok(list.into_vec())
}

fn text(from: &mut impl Read, length: &str, size: usize, swap: bool) -> Parsed<String> {
    let length = length.parse::<usize>().ok().and_then(|n| n.checked_mul(size));
    let length = length.filter(|&n| n <= MOST_TEXT).ok_or_else(|| wrong("a text is too long"))?;
    let mut bytes = vec![0_u8; length];
    read_exact(from, &mut bytes)?;
    let wide = |b: &[u8; 4]| if swap { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
    let text: Option<String> = match size {
        1 => String::from_utf8(bytes).ok(),
        _ => bytes.as_chunks::<4>().0.iter().map(|b| char::from_u32(wide(b))).collect(),
    };
    let text = text.ok_or_else(|| wrong("a text has characters that are none"))?;
    Ok(text.trim_end_matches('\0').to_owned())
}

fn read_exact(from: &mut impl Read, into: &mut [u8]) -> Parsed<()> {
    from.read_exact(into).map_err(|error| {
        let (code, message) = match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                (FileErrorCode::Truncated, "the array ends before its last element".to_owned())
            }
            _ => (FileErrorCode::Compression, format!("the compressed data is damaged: {error}")),
        };
        Flaw::at(Place::File, code, message, "fetch or write the file again")
    })
}

/// Does the same with the list of any type.
macro_rules! with_list {
    ($values:expr, $list:ident => $made:expr) => {
        match $values {
            Values::Bool($list) => Values::Bool($made),
            Values::I8($list) => Values::I8($made),
            Values::I16($list) => Values::I16($made),
            Values::I32($list) => Values::I32($made),
            Values::I64($list) => Values::I64($made),
            Values::U8($list) => Values::U8($made),
            Values::U16($list) => Values::U16($made),
            Values::U32($list) => Values::U32($made),
            Values::U64($list) => Values::U64($made),
            Values::F16($list) => Values::F16($made),
            Values::Bf16($list) => Values::Bf16($made),
            Values::F32($list) => Values::F32($made),
            Values::F64($list) => Values::F64($made),
            Values::C64($list) => Values::C64($made),
            Values::C128($list) => Values::C128($made),
        }
    };
}

/// The values at some positions, which exist.
pub(super) fn select(values: &Values, positions: impl Iterator<Item = usize>) -> Parsed<Values> {
    Ok(with_list!(values, list => {
        let mut chosen = Counted::default();
        for position in positions {
            chosen.push(list[position])?;
        }
        chosen.into_vec()
    }))
}

/// The first values.
pub(super) fn truncated(values: Values, length: usize) -> Values {
    with_list!(values, list => {
        let mut list = list;
        list.truncate(length);
        list
    })
}

impl Array {
    /// An array of indices.
    pub fn of_indices<'a>(list: impl IntoIterator<Item = &'a u64>) -> Parsed<Array> {
        let mut signed = Counted::default();
        for &x in list {
            let index = i64::try_from(x).map_err(|_| wrong(format!("{x} is no index")))?;
            signed.push(index)?;
        }
        let shape = vec![signed.len() as u64];
        Ok(Array { shape, data: Data::Numbers(Values::I64(signed.into_vec())) })
    }

    /// The values of entries.
    pub fn of_values(values: Values) -> Array {
        Array { shape: vec![values.len() as u64], data: Data::Numbers(values) }
    }

    /// A text.
    pub fn of_text(text: &str) -> Array {
        Array { shape: vec![], data: Data::Text(text.to_owned()) }
    }

    /// A number.
    pub fn of_scalar(scalar: Scalar, datatype: DataType) -> Array {
        let values = match (datatype, scalar) {
            (_, Scalar::C64(z)) => Values::C64(vec![z]),
            (_, Scalar::C128(z)) => Values::C128(vec![z]),
            (DataType::F32, x) => Values::F32(vec![x.as_f64() as f32]),
            (_, Scalar::U64(x)) => Values::U64(vec![x]),
            (_, Scalar::I64(x)) => Values::I64(vec![x]),
            (_, x) => Values::F64(vec![x.as_f64()]),
        };
        Array { shape: vec![], data: Data::Numbers(values) }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Numbers(values) => values.len(),
            Data::Text(_) => 1,
        }
    }

    /// The numbers.
    pub fn numbers(self) -> Parsed<Values> {
        match self.data {
            Data::Numbers(values) => Ok(values),
            Data::Text(_) => Err(wrong("a text stands where numbers do")),
        }
    }

    /// The text.
    pub fn text(self) -> Parsed<String> {
        match self.data {
            Data::Text(text) => Ok(text),
            Data::Numbers(_) => Err(wrong("numbers stand where a text does")),
        }
    }

    /// The only number.
    pub fn scalar(self) -> Parsed<Scalar> {
        let values = self.numbers()?;
        match values.len() {
            1 => Ok(values.get(0)),
            n => Err(wrong(format!("{n} numbers stand where one does"))),
        }
    }

    /// The elements as indices.
    pub fn indices(self, name: &str) -> Parsed<Vec<u64>> {
        macro_rules! all {
            ($list:expr) => {{
                let mut indices = Counted::with_room($list.len())?;
                for &x in $list {
                    let index = u64::try_from(x);
                    let index = index.map_err(|_| wrong(format!("{name} has {x}, no index")))?;
                    indices.push(index)?;
                }
                Ok(indices.into_vec())
            }};
        }
        match &self.numbers()? {
            Values::I8(list) => all!(list),
            Values::I16(list) => all!(list),
            Values::I32(list) => all!(list),
            Values::I64(list) => all!(list),
            Values::U8(list) => all!(list),
            Values::U16(list) => all!(list),
            Values::U32(list) => all!(list),
            Values::U64(list) => all!(list),
            // An empty list has the type of nothing.
            values if values.is_empty() => Ok(vec![]),
            _ => Err(wrong(format!("{name} has no integers"))),
        }
    }
}

/// Writes an array.
pub(super) fn write_array(out: &mut impl Write, array: &Array) -> io::Result<()> {
    let text = match &array.data {
        Data::Text(text) => Some(text),
        Data::Numbers(_) => None,
    };
    let descr = match &array.data {
        Data::Text(text) => format!("<U{}", text.chars().count()),
        Data::Numbers(values) => descr(values.datatype()).to_owned(),
    };
    let sizes: String = array.shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = sizes.trim_end();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The elements start at a multiple of 64 bytes.
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    if let Some(text) = text {
        return text.chars().try_for_each(|c| out.write_all(&u32::from(c).to_le_bytes()));
    }
    let Data::Numbers(values) = &array.data else { return Ok(()) };
    let mut bytes = Vec::with_capacity(CHUNK);
    macro_rules! all {
        ($elements:expr) => {
            for element in $elements {
                bytes.extend_from_slice(&element.to_le_bytes());
                if bytes.len() >= CHUNK - 16 {
                    out.write_all(&bytes)?;
                    bytes.clear();
                }
            }
        };
    }
    match values {
        Values::Bool(list) | Values::U8(list) => all!(list),
        Values::I8(list) => all!(list),
        Values::I16(list) => all!(list),
        Values::I32(list) => all!(list),
        Values::I64(list) => all!(list),
        Values::U16(list) => all!(list),
        Values::U32(list) => all!(list),
        Values::U64(list) => all!(list),
        Values::F32(list) => all!(list),
        Values::F64(list) => all!(list),
        Values::C64(list) => all!(list.iter().flatten()),
        Values::C128(list) => all!(list.iter().flatten()),
        Values::F16(list) => all!(list.iter().map(|x| x.to_bits())),
        // NumPy has no such type: they are floats of 32 bits.
        Values::Bf16(list) => all!(list.iter().map(|&x| f32::from(x))),
    }
    out.write_all(&bytes)
}

fn descr(datatype: DataType) -> &'static str {
    match datatype {
        DataType::Bool => "|b1",
        DataType::I8 => "|i1",
        DataType::I16 => "<i2",
        DataType::I32 => "<i4",
        DataType::I64 => "<i8",
        DataType::U8 => "|u1",
        DataType::U16 => "<u2",
        DataType::U32 => "<u4",
        DataType::U64 => "<u8",
        DataType::F16 => "<f2",
        DataType::F32 | DataType::Bf16 => "<f4",
        DataType::F64 => "<f8",
        DataType::C64 => "<c8",
        DataType::C128 => "<c16",
    }
}
