//! Arrays grow until memory is full. One test, since the limit is that of the process.

use tamis_ir::ir::Status;
use tamis_ir::ir::parse::parse;
use tamis_runtime::budget;
use tamis_runtime::kernel::Executable;

const LIMIT: usize = 64 << 20;

/// Were each element that is appended copied with all before it, this would take a day.
#[test]
fn appending_until_memory_is_full_copies_elements_a_limited_number_of_times() {
    budget::set_limit(LIMIT);
    let function = parse(
        "fn f(n: i64) {\n  local r: [i64]\n  var i: i64\n  for i in 0..n {\n    \
         reserve r, i + 1\n    r[i] = i\n  }\n}\n",
    );
    let function = function.unwrap_or_else(|d| panic!("{d}"));
    let code = tamis_jit::compile(&function).unwrap_or_else(|d| panic!("{d}"));
    let mut slots = [1 << 40, 0, 0];
    // SAFETY: the slots are those of the number, and of the address and the length of the array.
    let status = unsafe { code.call(&mut slots) };
    let [_, address, length] = slots;
    assert_eq!(status, Status::OutOfMemory);
    assert!(length as usize * 8 > LIMIT / 4 * 3, "{length} elements fit");
    // SAFETY: the array is of the malloc family, and owned here alone.
    unsafe { budget::free(address as *mut _) };
}
