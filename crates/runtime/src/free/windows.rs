//! What Windows tells of memory: of the machine, of what may be promised to processes, and of this one.

use super::Free;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// What is free now.
pub(crate) fn free() -> Option<Free> {
    let status = status()?;
    let available = status.ullAvailPhys.min(status.ullAvailPageFile);
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    let mut own = PROCESS_MEMORY_COUNTERS { cb: size, ..Default::default() };
    // SAFETY: the structure has the size that it says.
    let told = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &mut own, size) };
    (told != 0).then(|| Free {
        available: usize::try_from(available).unwrap_or(usize::MAX),
        resident: own.WorkingSetSize,
    })
}

/// The machine's memory in bytes.
pub(crate) fn of_machine() -> Option<usize> {
    usize::try_from(status()?.ullTotalPhys).ok()
}

fn status() -> Option<MEMORYSTATUSEX> {
    let size = size_of::<MEMORYSTATUSEX>() as u32;
    let mut status = MEMORYSTATUSEX { dwLength: size, ..Default::default() };
    // SAFETY: the structure has the size that it says.
    let told = unsafe { GlobalMemoryStatusEx(&mut status) };
    (told != 0).then_some(status)
}
