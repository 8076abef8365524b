//! What happens when nobody reads what a command prints.

/// Lets the process end quietly when its reader goes away, as commands in pipelines do; Rust would
/// have writes fail instead.
pub fn end_with_reader() {
    #[cfg(unix)]
    // SAFETY: the default action of a signal needs no handler, and nothing here relies on another.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
