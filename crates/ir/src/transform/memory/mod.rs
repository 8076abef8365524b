//! Passes that say how memory is written and read: streaming stores, software prefetch, loads before they are needed; and where
//! workspaces are that nothing bounds.

pub(super) mod loads_first;
pub(super) mod nontemporal;
pub(super) mod prefetch;
pub(super) mod slice_workspaces;
