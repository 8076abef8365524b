//! Freed arrays serve later ones. One test, since the limit and the kept blocks are
//! those of the process.

use tamis_runtime::{Buffer, DataType, budget, memory};

const MIB: usize = 1 << 20;

/// An array of so many bytes.
fn large(bytes: usize) -> Buffer {
    Buffer::zeroed(DataType::U8, bytes).unwrap_or_else(|d| panic!("{d}"))
}

/// An array that grew to so many bytes by doubling.
fn grown(bytes: usize) -> Buffer {
    let (mut address, mut old) = (std::ptr::null_mut(), 0);
    while old < bytes {
        let new = (2 * old).max(1 << 10);
        // SAFETY: the address is null, or memory of so many bytes that nobody else uses.
        address = unsafe { memory::reserve(address, old, new) };
        old = new;
    }
    // SAFETY: the memory has so many bytes and one owner; any byte is a `u8`, and none is read.
    unsafe { Buffer::from_malloc(address, bytes, DataType::U8) }
}

/// Wherever the system puts a mapping, it serves again: the C library leaves up to 2 MiB behind an array that begins
/// at a multiple of them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn mappings_serve_again_wherever_they_are() {
    // SAFETY: mappings by the system's choice, which nobody uses, and a setting of the C library.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 17);
        for step in 0..40 {
            let nowhere = std::ptr::null_mut();
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(nowhere, 60 << 10, libc::PROT_READ, flags, -1, 0);
            let first = large(4 * MIB);
            let address = first.address();
            drop(first);
            assert_eq!(large(4 * MIB).address(), address, "mapping {step}");
            budget::release();
        }
    }
}

#[test]
fn freed_arrays_serve_what_nearly_fills_them() {
    budget::set_limit(256 * MIB);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    mappings_serve_again_wherever_they_are();
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

    // Also of arrays below the size of huge pages, with two results alive at a time.
    for bytes in [64 << 10, 200 << 10, MIB, 3 * MIB, 5 * MIB] {
        let (first, mut second) = (large(bytes), large(bytes));
        let mut freed = first.address();
        drop(first);
        for call in 0..20 {
            let next = large(bytes);
            assert_eq!(next.address(), freed, "{bytes} bytes, call {call}");
            assert_eq!(budget::release(), 0, "{bytes} bytes: what was freed is used");
            freed = second.address();
            second = next;
        }
        drop(second);
        let kept = budget::release();
        assert!((2 * bytes..3 * bytes).contains(&kept), "{bytes} bytes: {kept} were kept");
    }

    // And of arrays that grow: each step takes what the same step of an earlier array left.
    let first = grown(MIB);
    let address = first.address();
    drop(first);
    let again = grown(MIB);
    assert_eq!(again.address(), address);
}
