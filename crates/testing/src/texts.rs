//! What a program compiles to, as one number: builds that generate the same code agree in it.

use crate::case::Case;
use crate::functions::Functions;
use crate::share::cuda_text;
use std::hash::{DefaultHasher, Hash, Hasher};
use tamis::Backend;

/// A hash of the functions of a case before and after the passes of each target, and of its CUDA C; or of why
/// it is refused.
pub fn hash(case: &Case) -> u64 {
    let mut hasher = DefaultHasher::new();
    match Functions::of(case) {
        Ok(functions) => {
            for backend in [Backend::Interpreter, Backend::Jit, Backend::C] {
                let all = functions.all(backend.target());
                all.iter().for_each(|function| function.to_string().hash(&mut hasher));
            }
        }
        Err(refusal) => refusal.to_string().hash(&mut hasher),
    }
    cuda_text(case).map_err(|refusal| refusal.to_string()).hash(&mut hasher);
    hasher.finish()
}
