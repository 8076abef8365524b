//! `unroll(i, n)`: unrolls a loop `n` times.
//!
//! ```text
//! unroll(i, 2)        for i in .. step 2   s(i); s(i + 1)
//! ```
//!
//! Counted loops are unrolled; a loop that merges several operands stays as it is.

use super::scheduler::Scheduler;
use crate::cin::Stmt;
use tamis_ir::diagnostic::Diagnostic;

/// The largest number of copies: more make code slower.
const MOST: u64 = 64;

pub(super) fn unroll(s: &mut Scheduler<'_>, name: &str, factor: u64) -> Result<(), Diagnostic> {
    let var = s.loop_var(0, name)?;
    s.check_unsaid(0, var, |tag| tag.unroll.is_some(), "what unrolls")?;
    if factor > MOST {
        let message = format!("unroll writes out at most {MOST} iterations, not {factor}");
        return Err(s.refuse(1, message, "split the loop, and unroll the inner one".to_owned()));
    }
    s.kernel_mut().tags.entry(var).or_default().unroll = Some(factor);
    let copies = copies(s, &s.kernel().body);
    if copies > MOST {
        let message = format!(
            "unroll writes out at most {MOST} iterations of loops in each other, not {copies}"
        );
        return Err(s.refuse(1, message, "unroll fewer loops, or by less".to_owned()));
    }
    Ok(())
}

/// The number of copies of the statement that is copied most.
fn copies(s: &Scheduler<'_>, stmt: &Stmt) -> u64 {
    let inside = stmt.children().into_iter().map(|child| copies(s, child)).max().unwrap_or(1);
    match stmt {
        Stmt::Forall { var, .. } => {
            let tag = s.kernel().tags.get(var);
            tag.and_then(|tag| tag.unroll).unwrap_or(1).saturating_mul(inside)
        }
        _ => inside,
    }
}
