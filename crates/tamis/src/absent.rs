//! What stands for parts that were not compiled in: types without values, so that what uses the parts
//! needs no conditions.
//!
//! ```text
//! without cuda                 no Steps: loading some is refused
//! without jit or c-tier        no Tiers: auto runs on one backend
//! ```

#[cfg(not(feature = "cuda"))]
pub(crate) mod on_device {
    use crate::backend::Backend;
    use crate::compiled_kind::CompiledKind;
    use tamis_ir::diagnostic::Diagnostic;
    use tamis_ir::ids::{IdVec, IndexVar};
    use tamis_ir::ir::Function;
    use tamis_runtime::Tensor;

    /// What runs functions on a device: nothing.
    pub(crate) enum Steps {}

    impl Steps {
        pub(crate) fn load(_: &[&Function]) -> Result<Steps, Diagnostic> {
            Err(Backend::Cuda.missing())
        }

        pub(crate) fn run(
            &self,
            _: &CompiledKind,
            _: Vec<Option<Tensor>>,
            _: &IdVec<IndexVar, u64>,
        ) -> Result<Vec<Option<Tensor>>, Diagnostic> {
            match *self {}
        }
    }
}

#[cfg(not(all(feature = "jit", feature = "c-tier")))]
pub(crate) mod tiers {
    use crate::backend::{Backend, Executables};
    use crate::binding::Values;
    use std::sync::Arc;
    use std::time::Duration;
    use tamis_core::pipeline::Compiled;
    use tamis_runtime::Tensor;

    /// Two tiers: there is one.
    pub(crate) enum Tiers {}

    impl Tiers {
        pub(crate) fn of(_: Backend) -> Option<Arc<Tiers>> {
            None
        }

        pub(crate) fn begin(
            self: &Arc<Tiers>,
            _: &Compiled,
            _: &Values<'_, Tensor>,
        ) -> (Tiers, Option<&Executables>) {
            match **self {}
        }

        pub(crate) fn timed(&self, _: Tiers, _: Duration) {
            match *self {}
        }
    }
}
