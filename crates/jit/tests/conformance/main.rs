//! Machine code against the interpreter, operator by operator and statement by statement.

mod harness;
mod operators;
mod statements;
