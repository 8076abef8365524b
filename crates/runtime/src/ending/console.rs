//! Ends of processes on Windows: by Ctrl-C or a closed console, and of programs that the process started.

use super::owned;
use windows_sys::Win32::Foundation::{CloseHandle, FALSE};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_TERMINATE, TerminateProcess};
use windows_sys::core::BOOL;

/// Has Ctrl-C and a closed console remove the temporaries of the process first. For commands: a library leaves
/// them to its program.
pub fn on_signals() {
    // SAFETY: the handler runs on a thread of its own, which may do what others may. Where it is refused, temporaries
    // stay.
    unsafe { SetConsoleCtrlHandler(Some(on_event), 1) };
}

/// Removes everything; what the system does next ends the process.
unsafe extern "system" fn on_event(_: u32) -> BOOL {
    let mut owned = owned();
    owned.end();
    // Other threads that would create or rename a file wait for the end.
    std::mem::forget(owned);
    FALSE
}

/// Kills a process that this one started.
pub(crate) fn kill(process: u32) {
    // SAFETY: the process was started by this one, and was not waited for.
    unsafe {
        let handle = OpenProcess(PROCESS_TERMINATE, FALSE, process);
        if !handle.is_null() {
            TerminateProcess(handle, 1);
            CloseHandle(handle);
        }
    }
}
