//! Large arrays that are freed serve later ones. One test, since the limit and the kept blocks are
//! those of the process.

use tamis_runtime::{Buffer, DataType, budget};

const MIB: usize = 1 << 20;

/// An array of so many bytes.
fn large(bytes: usize) -> Buffer {
    Buffer::zeroed(DataType::U8, bytes).unwrap_or_else(|d| panic!("{d}"))
}

#[test]
fn freed_arrays_serve_what_nearly_fills_them() {
    budget::set_limit(256 * MIB);
    let (first, second) = (large(16 * MIB), large(8 * MIB));
    let (at_first, at_second) = (first.address(), second.address());
    let before = budget::used();
    drop((first, second));
    assert!(before - budget::used() >= 24 * MIB, "kept memory counts as free");
    let again = large(15 * MIB);
    assert_eq!(again.address(), at_first);
    // 5 MiB would waste the block of 8, and 12 do not fit there.
    let others = [large(5 * MIB), large(12 * MIB)];
    assert!(others.iter().all(|other| other.address() != at_second));
    let again_second = large(8 * MIB);
    assert_eq!(again_second.address(), at_second);
    drop((again, again_second, others));
    assert!(budget::release() >= 40 * MIB);
    assert_eq!(budget::release(), 0, "nothing is left");

    // Kept and used memory together stay within the limit.
    drop(large(100 * MIB));
    drop(large(200 * MIB));
    let kept = budget::release();
    assert!((200 * MIB..256 * MIB).contains(&kept), "{kept} bytes were kept");
}
