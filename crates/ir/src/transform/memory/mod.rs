//! Passes that say how memory is written and read: streaming stores, software prefetch.

pub(super) mod nontemporal;
pub(super) mod prefetch;
