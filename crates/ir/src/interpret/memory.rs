//! The interpreter's memory: arrays with a shadow that says which elements are defined.

use crate::datatype::{DataType, Scalar};
use crate::half::{Bf16, F16};
use crate::ids::{Array, Id};
use crate::ir::{ArrayRole, Function};
use std::fmt;

/// The elements of an array.
#[derive(Clone, PartialEq, Debug)]
pub enum Buffer {
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
}

/// Expands to the same code for each element type.
macro_rules! each {
    ($buffer:expr, $v:ident => $body:expr) => {
        match $buffer {
            Buffer::Bool($v) => $body,
            Buffer::I8($v) => $body,
            Buffer::I16($v) => $body,
            Buffer::I32($v) => $body,
            Buffer::I64($v) => $body,
            Buffer::U8($v) => $body,
            Buffer::U16($v) => $body,
            Buffer::U32($v) => $body,
            Buffer::U64($v) => $body,
            Buffer::F16($v) => $body,
            Buffer::Bf16($v) => $body,
            Buffer::F32($v) => $body,
            Buffer::F64($v) => $body,
        }
    };
}

/// The counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Iterations of all loops.
    pub iterations: u64,
    /// Elements loaded.
    pub loads: u64,
    /// Elements stored.
    pub stores: u64,
    /// Bytes of the elements that were loaded and stored.
    pub moved: u64,
    /// Bytes of local arrays, by their reserved lengths.
    pub bytes: u64,
}

impl Counts {
    /// Adds other counts.
    pub fn add(&mut self, other: Counts) {
        self.iterations += other.iterations;
        self.loads += other.loads;
        self.stores += other.stores;
        self.moved += other.moved;
        self.bytes += other.bytes;
    }

    /// The difference from earlier counts.
    #[must_use]
    pub fn beyond(self, before: Counts) -> Counts {
        Counts {
            iterations: self.iterations - before.iterations,
            loads: self.loads - before.loads,
            stores: self.stores - before.stores,
            moved: self.moved - before.moved,
            bytes: self.bytes - before.bytes,
        }
    }
}

/// A breach of the semantics, a mistake of the code that made the function; or the limit of iterations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault(String);

impl Fault {
    /// The message for a run with too many iterations.
    const LIMIT: &str = "the limit of iterations is reached";

    pub(super) fn new(message: impl Into<String>) -> Fault {
        Fault(message.into())
    }

    pub(super) fn limit() -> Fault {
        Fault::new(Fault::LIMIT)
    }

    /// Whether the run exceeded the limit of iterations or of array lengths, and nothing else was wrong.
    pub fn is_limit(&self) -> bool {
        self.0 == Fault::LIMIT
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl Buffer {
    /// `len` zeros; for complex numbers, `len` counts real and imaginary parts.
    pub fn of(elem: DataType, len: usize) -> Buffer {
        match elem {
            DataType::Bool => Buffer::Bool(vec![0; len]),
            DataType::I8 => Buffer::I8(vec![0; len]),
            DataType::I16 => Buffer::I16(vec![0; len]),
            DataType::I32 => Buffer::I32(vec![0; len]),
            DataType::I64 => Buffer::I64(vec![0; len]),
            DataType::U8 => Buffer::U8(vec![0; len]),
            DataType::U16 => Buffer::U16(vec![0; len]),
            DataType::U32 => Buffer::U32(vec![0; len]),
            DataType::U64 => Buffer::U64(vec![0; len]),
            DataType::F16 => Buffer::F16(vec![F16::default(); len]),
            DataType::Bf16 => Buffer::Bf16(vec![Bf16::default(); len]),
            DataType::F32 => Buffer::F32(vec![0.0; len]),
            DataType::F64 => Buffer::F64(vec![0.0; len]),
            DataType::C64 => Buffer::F32(vec![0.0; 2 * len]),
            DataType::C128 => Buffer::F64(vec![0.0; 2 * len]),
        }
    }

    /// An array of these values of its register type, if all of them fit.
    pub fn holding(elem: DataType, values: &[Scalar]) -> Option<Buffer> {
        let mut buffer = Buffer::of(elem, values.len());
        let fits = values.iter().enumerate().all(|(at, &value)| buffer.set(at, value));
        fits.then_some(buffer)
    }

    /// The type of the elements.
    pub fn elem(&self) -> DataType {
        match self {
            Buffer::Bool(_) => DataType::Bool,
            Buffer::I8(_) => DataType::I8,
            Buffer::I16(_) => DataType::I16,
            Buffer::I32(_) => DataType::I32,
            Buffer::I64(_) => DataType::I64,
            Buffer::U8(_) => DataType::U8,
            Buffer::U16(_) => DataType::U16,
            Buffer::U32(_) => DataType::U32,
            Buffer::U64(_) => DataType::U64,
            Buffer::F16(_) => DataType::F16,
            Buffer::Bf16(_) => DataType::Bf16,
            Buffer::F32(_) => DataType::F32,
            Buffer::F64(_) => DataType::F64,
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of the elements.
    pub fn as_ptr(&self) -> *const u8 {
        each!(self, v => v.as_ptr().cast())
    }

    /// The address of the elements, for writing.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        each!(self, v => v.as_mut_ptr().cast())
    }

    /// An element as it is loaded.
    pub fn get(&self, at: usize) -> Scalar {
        match self {
            Buffer::Bool(v) => Scalar::I64(i64::from(v[at])),
            Buffer::I8(v) => Scalar::I64(i64::from(v[at])),
            Buffer::I16(v) => Scalar::I64(i64::from(v[at])),
            Buffer::I32(v) => Scalar::I64(i64::from(v[at])),
            Buffer::I64(v) => Scalar::I64(v[at]),
            Buffer::U8(v) => Scalar::I64(i64::from(v[at])),
            Buffer::U16(v) => Scalar::I64(i64::from(v[at])),
            Buffer::U32(v) => Scalar::I64(i64::from(v[at])),
            Buffer::U64(v) => Scalar::U64(v[at]),
            Buffer::F16(v) => Scalar::F32(v[at].into()),
            Buffer::Bf16(v) => Scalar::F32(v[at].into()),
            Buffer::F32(v) => Scalar::F32(v[at]),
            Buffer::F64(v) => Scalar::F64(v[at]),
        }
    }

    /// Stores a value; false if it does not fit.
    fn set(&mut self, at: usize, value: Scalar) -> bool {
        if !self.elem().holds(value) {
            return false;
        }
        match (self, value) {
            (Buffer::Bool(v) | Buffer::U8(v), Scalar::I64(x)) => v[at] = x as u8,
            (Buffer::I8(v), Scalar::I64(x)) => v[at] = x as i8,
            (Buffer::I16(v), Scalar::I64(x)) => v[at] = x as i16,
            (Buffer::I32(v), Scalar::I64(x)) => v[at] = x as i32,
            (Buffer::I64(v), Scalar::I64(x)) => v[at] = x,
            (Buffer::U16(v), Scalar::I64(x)) => v[at] = x as u16,
            (Buffer::U32(v), Scalar::I64(x)) => v[at] = x as u32,
            (Buffer::U64(v), Scalar::U64(x)) => v[at] = x,
            (Buffer::F16(v), Scalar::F32(x)) => v[at] = x.into(),
            (Buffer::Bf16(v), Scalar::F32(x)) => v[at] = x.into(),
            (Buffer::F16(v), Scalar::F64(x)) => v[at] = x.into(),
            (Buffer::Bf16(v), Scalar::F64(x)) => v[at] = x.into(),
            (Buffer::F32(v), Scalar::F32(x)) => v[at] = x,
            (Buffer::F64(v), Scalar::F64(x)) => v[at] = x,
            _ => return false,
        }
        true
    }

    fn resize(&mut self, len: usize) -> bool {
        fn grow<T: Clone + Default>(v: &mut Vec<T>, len: usize) -> bool {
            let fits = v.try_reserve(len - v.len()).is_ok();
            if fits {
                v.resize(len, T::default());
            }
            fits
        }
        each!(self, v => grow(v, len))
    }
}

/// All arrays of a call.
pub(super) struct Memory {
    pub(super) arrays: Vec<Buffer>,
    defined: Vec<Vec<bool>>,
    pub(super) counts: Counts,
}

impl Memory {
    pub(super) fn new(function: &Function) -> Memory {
        Memory {
            arrays: function.arrays.iter().map(|a| Buffer::of(a.elem, 0)).collect(),
            defined: vec![vec![]; function.arrays.len()],
            counts: Counts::default(),
        }
    }

    /// Takes an argument, whose elements are defined or not; those of inputs always are.
    pub(super) fn give(
        &mut self,
        array: Array,
        buffer: Buffer,
        is_defined: bool,
    ) -> Result<(), Fault> {
        let place = &mut self.arrays[array.index()];
        if place.elem() != buffer.elem() {
            return Err(Fault::new("an array of another element type was passed"));
        }
        self.defined[array.index()] = vec![is_defined; buffer.len()];
        *place = buffer;
        Ok(())
    }

    pub(super) fn len(&self, array: Array) -> usize {
        self.arrays[array.index()].len()
    }

    /// Bytes of the arrays that are freed when the function ends: they never shrink.
    pub(super) fn own_bytes(&self, function: &Function) -> u64 {
        let arrays =
            function.arrays.iter().zip(&self.arrays).filter(|(decl, _)| decl.role.is_own());
        arrays.map(|(decl, buffer)| (buffer.len() * decl.elem.size()) as u64).sum()
    }

    fn place(&self, function: &Function, array: Array, at: i64) -> Result<usize, Fault> {
        let len = self.len(array);
        match usize::try_from(at) {
            Ok(place) if place < len => Ok(place),
            _ => {
                let name = &function.arrays[array].name;
                Err(Fault::new(format!("{name}[{at}] is outside its {len} elements")))
            }
        }
    }

    pub(super) fn load(
        &mut self,
        function: &Function,
        array: Array,
        at: i64,
    ) -> Result<Scalar, Fault> {
        let place = self.place(function, array, at)?;
        let decl = &function.arrays[array];
        self.counts.loads += 1;
        self.counts.moved += decl.elem.size() as u64;
        if decl.role != ArrayRole::Input && !self.defined[array.index()][place] {
            return Err(Fault::new(format!("{}[{at}] is read before it is written", decl.name)));
        }
        Ok(self.arrays[array.index()].get(place))
    }

    pub(super) fn store(
        &mut self,
        function: &Function,
        array: Array,
        at: i64,
        value: Scalar,
    ) -> Result<(), Fault> {
        let place = self.place(function, array, at)?;
        let decl = &function.arrays[array];
        self.counts.stores += 1;
        self.counts.moved += decl.elem.size() as u64;
        if decl.role == ArrayRole::Input {
            return Err(Fault::new(format!("the input {} is written", decl.name)));
        }
        self.defined[array.index()][place] = true;
        match self.arrays[array.index()].set(place, value) {
            true => Ok(()),
            false => Err(Fault::new(format!("{value} does not fit {}[{at}]", decl.name))),
        }
    }

    /// Makes an array at least `len` long; false if that is impossible.
    pub(super) fn reserve(&mut self, array: Array, len: i64) -> bool {
        let Ok(len) = usize::try_from(len) else { return false };
        let old = self.len(array);
        if len <= old {
            return true;
        }
        let grown = len.max(old * 2);
        let fits = self.arrays[array.index()].resize(grown);
        if fits {
            self.defined[array.index()].resize(grown, false);
        }
        fits
    }

    pub(super) fn sort(
        &mut self,
        function: &Function,
        keys: &[Array],
        carried: &[Array],
        lo: i64,
        hi: i64,
    ) -> Result<(), Fault> {
        let mut records = vec![];
        for at in lo..hi {
            let load = |m: &mut Self, list: &[Array]| {
                list.iter().map(|&a| m.load(function, a, at)).collect::<Result<Vec<_>, _>>()
            };
            records.push((load(self, keys)?, load(self, carried)?));
        }
        records.sort_by_key(|(keys, _)| keys.iter().map(|k| k.as_i64()).collect::<Vec<_>>());
        for (at, (key, rest)) in (lo..hi).zip(records) {
            for (&array, value) in keys.iter().chain(carried).zip(key.into_iter().chain(rest)) {
                self.store(function, array, at, value)?;
            }
        }
        Ok(())
    }
}
