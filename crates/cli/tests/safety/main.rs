//! What the command loads and writes where others, or chance, interfere: planted and damaged entries of the
//! cache, processes that write at the same time, signals, and compilers that hang.

mod ending;
mod planted;
mod site;
