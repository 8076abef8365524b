//! Values as bytes, and back: what processes send each other.

use crate::coordinates::Values;
use crate::memory::{Buffer, allocate, fill, for_element};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::half::{Bf16, F16};

/// The elements of a slice as bytes of this machine.
fn bytes_of<T: Copy>(elements: &[T]) -> &[u8] {
    // SAFETY: element types are plain numbers without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Adds elements from bytes of this machine.
fn add_bytes<T: Copy + Default>(elements: &mut Vec<T>, bytes: &[u8]) {
    let (old, count) = (elements.len(), bytes.len() / size_of::<T>());
    elements.resize(old + count, T::default());
    let to = elements[old..].as_mut_ptr();
    // SAFETY: there is room for so many elements, any bytes are numbers, and nothing overlaps.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), count * size_of::<T>()) };
}

impl Values {
    /// The bytes of all, as this machine orders them.
    pub fn as_bytes(&self) -> &[u8] {
        macro_rules! as_bytes {
            ($($v:ident),*) => { match self { $(Values::$v(all) => bytes_of(all)),* } };
        }
        as_bytes!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128)
    }

    /// Adds the values at some positions to bytes.
    pub fn put_bytes(&self, positions: &[usize], into: &mut Vec<u8>) {
        into.extend_from_slice(self.at(positions).as_bytes());
    }

    /// Adds values from the bytes of [`Values::as_bytes`]; bytes of truth values are 0 or 1.
    pub fn extend_bytes(&mut self, bytes: &[u8]) {
        macro_rules! extended {
            ($($v:ident: $t:ty),*) => {
                match self {
                    Values::Bool(all) => all.extend(bytes.iter().map(|&b| u8::from(b != 0))),
                    Values::F16(all) => all.extend(halves(bytes).map(F16::from_bits)),
                    Values::Bf16(all) => all.extend(halves(bytes).map(Bf16::from_bits)),
                    $(Values::$v(all) => add_bytes::<$t>(all, bytes)),*
                }
            };
        }
        extended!(I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
            F32: f32, F64: f64, C64: [f32; 2], C128: [f64; 2]);
    }

    /// No values of a type.
    pub fn empty(datatype: DataType) -> Values {
        Values::none(datatype)
    }
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.chunks_exact(2).map(|half| u16::from_ne_bytes([half[0], half[1]]))
}

impl Buffer {
    /// The bytes of some elements.
    pub fn bytes_of(&self, begin: usize, end: usize) -> &[u8] {
        for_element!(self.datatype(), T => {
            bytes_of(&self.as_slice::<T>().expect("the data type was matched")[begin..end])
        })
    }

    /// So many elements that are `around`, but for pieces of bytes from given elements on.
    ///
    /// # Errors
    /// When they do not fit in memory.
    ///
    /// # Panics
    /// When a piece ends behind the last element.
    pub fn of_pieces<'p>(
        (len, datatype): (usize, DataType),
        around: Scalar,
        pieces: impl Iterator<Item = (usize, &'p [u8])>,
    ) -> Result<Buffer, Diagnostic> {
        let address = allocate(datatype, len)?;
        // SAFETY: there is room for so many elements, which nobody else has.
        unsafe { fill(address, datatype, len, around) };
        for (first, bytes) in pieces {
            let (from, all) = (first * datatype.size(), len * datatype.size());
            assert!(from + bytes.len() <= all, "a piece ends behind the last element");
            if datatype == DataType::Bool {
                assert!(bytes.iter().all(|&byte| byte <= 1), "truth values are 0 or 1");
            }
            // SAFETY: the piece lies inside of the elements, as just checked.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.add(from), bytes.len())
            };
        }
        // SAFETY: the memory was just allocated, with room for so many elements, all of which have a value.
        Ok(unsafe { Buffer::from_malloc(address, len, datatype) })
    }
}

#[cfg(test)]
mod tests {
    use crate::coordinates::Values;
    use crate::memory::Buffer;
    use tamis_ir::datatype::{DataType, Scalar};

    #[test]
    fn values_come_back_from_bytes() {
        let all = [
            Values::Bool(vec![1, 0]),
            Values::I16(vec![-3, 7]),
            Values::F64(vec![-0.0, f64::INFINITY]),
            Values::C64(vec![[1.0, -2.0]]),
        ];
        for values in all {
            let mut back = Values::empty(values.datatype());
            back.extend_bytes(values.as_bytes());
            assert_eq!(back, values);
        }
    }

    #[test]
    fn pieces_lie_among_others() {
        let piece = Values::F32(vec![1.0, 2.0]);
        let pieces = [(1, piece.as_bytes())];
        let made = Buffer::of_pieces((4, DataType::F32), Scalar::F32(9.0), pieces.into_iter());
        let made = made.unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(made.as_slice::<f32>(), Some(&[9.0, 1.0, 2.0, 9.0][..]));
        assert_eq!(made.bytes_of(1, 3), piece.as_bytes());
    }
}
