//! Copies of operands and results that make loops cheaper.

pub(super) mod arrays;
pub(super) mod bitmap;
pub(super) mod in_order;
pub(super) mod transpose;
