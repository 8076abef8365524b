//! A tensor as a list of coordinates and values.

use crate::budget::{self, Reservation};
use crate::memory::{Buffer, Element, Truth};
use crate::threads;
use std::any::Any;
use std::collections::HashMap;
use tamis_core::format::{Format, LevelMap, fill_value};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::half::{Bf16, F16};
use tamis_ir::ids::Id;

/// A tensor as a list of coordinates and values, in any order, duplicates allowed: what files hold
/// and what pack takes.
///
/// There is one coordinate per mode and value, each in its dimension. The list counts against the
/// memory limit as long as it lives.
///
/// What came from a tensor or a file with a fill value other than 0 keeps it: [`Coordinates::fill`].
#[derive(Debug)]
pub struct Coordinates {
    dims: Vec<u64>,
    crds: Vec<Vec<u64>>,
    vals: Values,
    /// The value of coordinates without an entry, where that is known to be other than 0.
    fill: Option<Scalar>,
    /// Counts as long as the list lives.
    reservation: Reservation,
}

impl PartialEq for Coordinates {
    fn eq(&self, other: &Coordinates) -> bool {
        (&self.dims, &self.crds, &self.vals, self.fill)
            == (&other.dims, &other.crds, &other.vals, other.fill)
    }
}

impl Clone for Coordinates {
    fn clone(&self) -> Coordinates {
        let (dims, crds, vals) = (self.dims.clone(), self.crds.clone(), self.vals.clone());
        let reservation = Reservation::of(bytes_of(&crds, &vals));
        Coordinates { dims, crds, vals, fill: self.fill, reservation }
    }
}

/// Bytes of a list.
fn bytes_of(crds: &[Vec<u64>], vals: &Values) -> usize {
    let crds = crds.iter().map(|list| list.capacity() * size_of::<u64>()).sum::<usize>();
    crds + vals.len() * vals.datatype().size()
}

impl Coordinates {
    /// A list of these dimensions, with zero-based coordinates, one vector per mode, each as long as the
    /// values.
    ///
    /// # Errors
    /// When a vector is missing or of another length, a coordinate lies outside its dimension, a truth
    /// value is neither 0 nor 1, or the list is beyond the memory limit.
    pub fn new(
        dims: Vec<u64>,
        crds: Vec<Vec<u64>>,
        vals: Values,
    ) -> Result<Coordinates, Diagnostic> {
        check_lengths(&dims, &crds, vals.len())?;
        crds.iter().zip(&dims).enumerate().try_for_each(|(m, (c, &d))| check_mode(c, d, m))?;
        if let Values::Bool(truths) = &vals
            && !holds_of_all(truths, &|part| part.iter().fold(0, |bits, byte| bits | byte) <= 1)
            && let Some(n) = truths.iter().position(|&byte| byte > 1)
        {
            let message = format!("the truth value {} of entry {n} is neither 0 nor 1", truths[n]);
            return Err(Diagnostic::new(Code::InvalidTensor, message).help("store it as u8"));
        }
        let mut reservation = Reservation::default();
        let bytes = bytes_of(&crds, &vals);
        reservation.resize(bytes, "a list of entries", budget::SMALLER_TENSOR)?;
        Ok(Coordinates { dims, crds, vals, fill: None, reservation })
    }

    /// A list of entries, each with its coordinate.
    ///
    /// # Errors
    /// As of [`Coordinates::new`].
    pub fn of_entries<T: Element, const N: usize>(
        dims: [u64; N],
        entries: impl IntoIterator<Item = ([u64; N], T)>,
    ) -> Result<Coordinates, Diagnostic> {
        let (mut crds, mut vals) = (vec![vec![]; N], vec![]);
        for (coordinate, value) in entries {
            crds.iter_mut().zip(coordinate).for_each(|(list, c)| list.push(c));
            vals.push(value);
        }
        Coordinates::new(dims.to_vec(), crds, vals.into())
    }

    /// A list that is known to be valid.
    pub(crate) fn trusted(dims: Vec<u64>, crds: Vec<Vec<u64>>, vals: Values) -> Coordinates {
        debug_assert!(check_lengths(&dims, &crds, vals.len()).is_ok());
        let reservation = Reservation::of(bytes_of(&crds, &vals));
        Coordinates { dims, crds, vals, fill: None, reservation }
    }

    /// The list with this value at coordinates without an entry.
    ///
    /// ```
    /// use tamis_runtime::{Coordinates, Scalar, Values};
    /// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
    /// let list = Coordinates::new(vec![3], vec![vec![1]], Values::F64(vec![5.0]))?;
    /// assert_eq!(list.fill(), None);
    /// let fill = Scalar::F64(f64::INFINITY);
    /// assert_eq!(list.with_fill(fill).fill(), Some(fill));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_fill(self, fill: Scalar) -> Coordinates {
        let fill = Some(self.own(fill)).filter(|fill| !fill.is_zero());
        Coordinates { fill, ..self }
    }

    /// Whether coordinates without an entry have a value, which is 0 if none is given.
    pub fn has_fill(&self, fill: Option<Scalar>) -> bool {
        self.fill == fill.map(|fill| self.own(fill)).filter(|fill| !fill.is_zero())
    }

    /// A number in the type of the values; an integer that it has not stays as it is, for whoever refuses it or
    /// asks for another type.
    fn own(&self, number: Scalar) -> Scalar {
        let own = fill_value(number, self.vals.datatype()).unwrap_or(number);
        let is_same = |x: i128| own.integer().unwrap_or(own.as_f64() as i128) == x;
        if number.integer().is_none_or(is_same) { own } else { number }
    }

    /// The value of coordinates without an entry, where that is known to be other than 0.
    pub fn fill(&self) -> Option<Scalar> {
        self.fill
    }

    /// The dimension of each mode.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The zero-based coordinates: one vector per mode, each as long as the values.
    pub fn crds(&self) -> &[Vec<u64>] {
        &self.crds
    }

    /// The values.
    pub fn vals(&self) -> &Values {
        &self.vals
    }

    /// Adds the entries of another list of the same dimensions and type behind those of this one.
    ///
    /// # Errors
    /// When the other list has other dimensions, another type or another fill value, or both are beyond
    /// the memory limit.
    pub fn append(&mut self, more: Coordinates) -> Result<(), Diagnostic> {
        let (own, other) = (self.vals.datatype(), more.vals.datatype());
        if (&self.dims, own) != (&more.dims, other) {
            let message = format!(
                "a list of {other} with dimensions {:?} is no continuation of one of {own} with {:?}",
                more.dims, self.dims
            );
            let help = "append lists of one tensor";
            return Err(Diagnostic::new(Code::InvalidTensor, message).help(help));
        }
        if self.fill != more.fill {
            let said = |list: &Coordinates| list.fill.map_or("0".to_owned(), |f| f.to_string());
            let message = format!(
                "a list with the fill value {} is no continuation of one with {}",
                said(&more),
                said(self)
            );
            let help = "append lists of one tensor";
            return Err(Diagnostic::new(Code::InvalidTensor, message).help(help));
        }
        let bytes = bytes_of(&self.crds, &self.vals) + bytes_of(&more.crds, &more.vals);
        self.reservation.resize(bytes, "a list of entries", budget::SMALLER_TENSOR)?;
        self.crds.iter_mut().zip(more.crds).for_each(|(all, more)| all.extend(more));
        self.vals.extend(more.vals);
        Ok(())
    }

    /// The entries at some positions of the list, in their order.
    ///
    /// # Errors
    /// When they are beyond the memory limit.
    ///
    /// # Panics
    /// When a position is behind the end.
    pub fn picked(&self, positions: &[usize]) -> Result<Coordinates, Diagnostic> {
        let of = |crds: &Vec<u64>| positions.iter().map(|&n| crds[n]).collect();
        let crds = self.crds.iter().map(of).collect();
        let list = Coordinates::new(self.dims.clone(), crds, self.vals.at(positions))?;
        Ok(Coordinates { fill: self.fill, ..list })
    }

    /// Dimensions, coordinates and values, as [`Coordinates::new`] takes them; [`Coordinates::fill`] is
    /// none of them.
    pub fn into_parts(self) -> (Vec<u64>, Vec<Vec<u64>>, Values) {
        (self.dims, self.crds, self.vals)
    }

    /// The most entries below a coordinate of a format's first level (the longest row), if that level
    /// stores a mode.
    pub fn longest_row(&self, format: &Format) -> Option<u64> {
        let LevelMap::Mode(mode) = format.levels().first()?.map else { return None };
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for &at in self.crds.get(mode.index())? {
            *counts.entry(at).or_default() += 1;
        }
        counts.into_values().max()
    }
}

/// Refuses coordinates of another number of modes, or of entries, than there are.
fn check_lengths(dims: &[u64], crds: &[Vec<u64>], values: usize) -> Result<(), Diagnostic> {
    let order = dims.len();
    let ragged = |message| {
        Err(Diagnostic::new(Code::InvalidTensor, message)
            .help("give one coordinate per mode and value"))
    };
    if crds.len() != order {
        return ragged(format!("there are coordinates of {} modes for {order}", crds.len()));
    }
    match crds.iter().position(|crds| crds.len() != values) {
        Some(m) => {
            ragged(format!("mode {} has {} coordinates for {values} values", m + 1, crds[m].len()))
        }
        None => Ok(()),
    }
}

/// Whether something holds of all parts of an array, asked on all threads.
fn holds_of_all<T: Sync>(all: &[T], holds: &(dyn Fn(&[T]) -> bool + Sync)) -> bool {
    let parts: Vec<&[T]> = all.chunks(1 << 16).collect();
    threads::all(parts.len(), &|k| holds(parts[k]))
}

/// Refuses coordinates of a mode outside its dimension.
fn check_mode(crds: &[u64], dimension: u64, m: usize) -> Result<(), Diagnostic> {
    // Without an early exit, so that several are compared at once.
    let is_inside =
        |part: &[u64]| !part.iter().fold(false, |outside, &c| outside | (c >= dimension));
    if holds_of_all(crds, &is_inside) {
        return Ok(());
    }
    let at = crds.iter().position(|&c| c >= dimension).unwrap_or(0);
    let message = format!(
        "coordinate {} of entry {at} is outside the dimension {dimension} of mode {}",
        crds[at],
        m + 1
    );
    Err(Diagnostic::new(Code::InvalidTensor, message).help("coordinates count from 0"))
}

/// The values of a tensor, in their own type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Truth values, 0 or 1.
    Bool(Vec<u8>),
    /// 8-bit integers.
    I8(Vec<i8>),
    /// 16-bit integers.
    I16(Vec<i16>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 8-bit integers without sign.
    U8(Vec<u8>),
    /// 16-bit integers without sign.
    U16(Vec<u16>),
    /// 32-bit integers without sign.
    U32(Vec<u32>),
    /// 64-bit integers without sign.
    U64(Vec<u64>),
    /// Half precision.
    F16(Vec<F16>),
    /// Half precision with the exponents of single.
    Bf16(Vec<Bf16>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Single precision complex numbers, real part first.
    C64(Vec<[f32; 2]>),
    /// Double precision complex numbers, real part first.
    C128(Vec<[f64; 2]>),
}

/// The values of an array of some data type, given how those of a Rust type are taken from it.
macro_rules! taken {
    ($datatype:expr, $take:expr, $truths:expr) => {
        match $datatype {
            DataType::Bool => Values::Bool($truths),
            DataType::I8 => Values::I8($take),
            DataType::I16 => Values::I16($take),
            DataType::I32 => Values::I32($take),
            DataType::I64 => Values::I64($take),
            DataType::U8 => Values::U8($take),
            DataType::U16 => Values::U16($take),
            DataType::U32 => Values::U32($take),
            DataType::U64 => Values::U64($take),
            DataType::F16 => Values::F16($take),
            DataType::Bf16 => Values::Bf16($take),
            DataType::F32 => Values::F32($take),
            DataType::F64 => Values::F64($take),
            DataType::C64 => Values::C64($take),
            DataType::C128 => Values::C128($take),
        }
    };
}

impl Values {
    /// The elements of an array.
    pub fn copied(buffer: &Buffer) -> Values {
        fn copy<T: Element>(buffer: &Buffer) -> Vec<T> {
            buffer.as_slice().map(<[T]>::to_vec).unwrap_or_default()
        }
        taken!(buffer.datatype(), copy(buffer), bytes(copy(buffer)))
    }

    /// The vector, if it is of this type.
    ///
    /// # Errors
    /// The values themselves, where they are of another type.
    ///
    /// ```
    /// use tamis_runtime::Values;
    /// assert_eq!(Values::from(vec![1.0, 2.0]).into_vec::<f64>(), Ok(vec![1.0, 2.0]));
    /// assert!(Values::from(vec![1.0, 2.0]).into_vec::<f32>().is_err());
    /// ```
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>, Values> {
        macro_rules! of_type {
            ($($v:ident),*) => {
                match self {
                    $(Values::$v(all) => same(all).map_err(Values::$v),)*
                    Values::Bool(all) if T::DATATYPE == DataType::Bool => {
                        let truths: Vec<Truth> = all.into_iter().map(Truth::of_byte).collect();
                        same(truths).map_err(|truths| Values::Bool(bytes(truths)))
                    }
                    other => Err(other),
                }
            };
        }
        of_type!(I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128)
    }

    /// None yet of this type.
    pub(crate) fn none(datatype: DataType) -> Values {
        taken!(datatype, vec![], vec![])
    }

    /// Adds values of the same type.
    pub(crate) fn extend(&mut self, more: Values) {
        macro_rules! extended {
            ($($v:ident),*) => {
                match (self, more) {
                    $((Values::$v(all), Values::$v(more)) => all.extend(more),)*
                    _ => unreachable!("values of one tensor have one type"),
                }
            };
        }
        extended!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128);
    }

    /// Replaces a value by one of the type that it is computed in, which fits.
    pub(crate) fn set(&mut self, n: usize, value: Scalar) {
        macro_rules! replaced {
            ($($v:ident: $t:ty),*) => {
                match self {
                    Values::Bool(all) => all[n] = Truth::of(value).byte(),
                    $(Values::$v(all) => all[n] = <$t>::of(value),)*
                }
            };
        }
        replaced!(I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
            F16: F16, Bf16: Bf16, F32: f32, F64: f64, C64: [f32; 2], C128: [f64; 2]);
    }

    /// The values at some positions.
    pub(crate) fn at(&self, places: &[usize]) -> Values {
        macro_rules! picked {
            ($($v:ident),*) => {
                match self {
                    $(Values::$v(all) => Values::$v(places.iter().map(|&n| all[n]).collect()),)*
                }
            };
        }
        picked!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128)
    }

    /// The elements of an array at some positions.
    pub fn gathered(buffer: &Buffer, places: &[usize]) -> Values {
        fn gather<T: Element>(buffer: &Buffer, places: &[usize]) -> Vec<T> {
            let all = buffer.as_slice::<T>().unwrap_or_default();
            places.iter().map(|&p| all[p]).collect()
        }
        taken!(buffer.datatype(), gather(buffer, places), bytes(gather(buffer, places)))
    }

    /// The type of the values.
    pub fn datatype(&self) -> DataType {
        match self {
            Values::Bool(_) => DataType::Bool,
            Values::I8(_) => DataType::I8,
            Values::I16(_) => DataType::I16,
            Values::I32(_) => DataType::I32,
            Values::I64(_) => DataType::I64,
            Values::U8(_) => DataType::U8,
            Values::U16(_) => DataType::U16,
            Values::U32(_) => DataType::U32,
            Values::U64(_) => DataType::U64,
            Values::F16(_) => DataType::F16,
            Values::Bf16(_) => DataType::Bf16,
            Values::F32(_) => DataType::F32,
            Values::F64(_) => DataType::F64,
            Values::C64(_) => DataType::C64,
            Values::C128(_) => DataType::C128,
        }
    }

    /// A value in the type that it is computed in.
    pub fn get(&self, n: usize) -> Scalar {
        match self {
            Values::Bool(v) | Values::U8(v) => Scalar::I64(i64::from(v[n])),
            Values::I8(v) => Scalar::I64(i64::from(v[n])),
            Values::I16(v) => Scalar::I64(i64::from(v[n])),
            Values::I32(v) => Scalar::I64(i64::from(v[n])),
            Values::I64(v) => Scalar::I64(v[n]),
            Values::U16(v) => Scalar::I64(i64::from(v[n])),
            Values::U32(v) => Scalar::I64(i64::from(v[n])),
            Values::U64(v) => Scalar::U64(v[n]),
            Values::F16(v) => Scalar::F32(v[n].into()),
            Values::Bf16(v) => Scalar::F32(v[n].into()),
            Values::F32(v) => Scalar::F32(v[n]),
            Values::F64(v) => Scalar::F64(v[n]),
            Values::C64(v) => Scalar::C64(v[n]),
            Values::C128(v) => Scalar::C128(v[n]),
        }
    }

    /// A value as a double, the real part of a complex one.
    pub fn as_f64(&self, n: usize) -> f64 {
        self.get(n).as_f64()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Bool(v) | Values::U8(v) => v.len(),
            Values::I8(v) => v.len(),
            Values::I16(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::U16(v) => v.len(),
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::F16(v) => v.len(),
            Values::Bf16(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::C64(v) => v.len(),
            Values::C128(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Element> From<Vec<T>> for Values {
    fn from(vals: Vec<T>) -> Values {
        fn take<T: Element, V: Element>(vals: &mut Vec<T>) -> Vec<V> {
            same(std::mem::take(vals)).unwrap_or_default()
        }
        let vals = &mut { vals };
        taken!(T::DATATYPE, take(vals), bytes(take(vals)))
    }
}

/// A vector as one of another type, if that is the same.
fn same<T: 'static, V: 'static>(vector: Vec<T>) -> Result<Vec<V>, Vec<T>> {
    let mut vector = Some(vector);
    let found = (&mut vector as &mut dyn Any).downcast_mut::<Option<Vec<V>>>();
    found.and_then(Option::take).ok_or_else(|| vector.unwrap_or_default())
}

fn bytes(truths: Vec<Truth>) -> Vec<u8> {
    truths.into_iter().map(Truth::byte).collect()
}
