//! Machine code in process.
