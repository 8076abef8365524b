//! The kernels that a function becomes.
//!
//! ```text
//! n = A2_pos[A1_size]                        computed by every kernel that needs it
//! fill y_vals[0..A1_size] = 0.0              kernel 1, any number of threads
//! for block in 0..n on gpu_block { .. }      kernel 2
//! a_vals[0] = s                              kernel 3, one thread
//! ```

use super::shape::{Shape, USUAL, WARP, shape};
use super::workspaces::Workspaces;
use crate::ids::{Array, Var};
use crate::ir::flow::{arrays, assigned, exposes, mentions};
use crate::ir::parallel::has_parallel;
use crate::ir::{ArrayRole, Expr, Function, Stmt, Unit};

/// The name of a kernel.
pub(super) fn kernel_name(function: &str, k: usize) -> String {
    format!("{function}_{}", k + 1)
}

/// Whether a statement in a block ends the call.
pub(super) fn fails(block: &[Stmt]) -> bool {
    block.iter().any(|s| matches!(s, Stmt::Fail(_)) || s.blocks().any(fails))
}

/// A kernel.
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    /// Statements that every thread runs for itself.
    pub(super) common: Vec<Stmt>,
    /// The kernel's own statements.
    pub(super) own: Vec<Stmt>,
    /// Arrays that threads have for themselves, or share.
    pub(super) workspaces: Workspaces,
}

impl Step {
    /// Arrays that are allocated after the kernel.
    pub(super) fn reserves(&self) -> Vec<Array> {
        let reserved = |s: &Stmt| match s {
            Stmt::Reserve { array, .. } => Some(*array),
            _ => None,
        };
        self.own.iter().filter_map(reserved).collect()
    }
}

/// How a kernel runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Loops over blocks.
    Grid,
    /// All threads fill an array.
    Fill,
    /// One thread.
    Serial,
    /// One thread, which computes lengths of arrays.
    Lengths,
}

/// The kernels of a function; or why it has none.
pub(super) fn steps(function: &Function) -> Result<Vec<Step>, String> {
    if !has_parallel(&function.body) {
        return Err("no loop of it runs on blocks of a GPU".to_owned());
    }
    let mut planner = Planner {
        function,
        common: vec![],
        workspaces: Workspaces::of(function)?,
        lent: vec![],
        given: vec![],
        known: vec![],
        steps: vec![],
    };
    function.body.iter().try_for_each(|s| planner.top(s))?;
    Ok(planner.steps)
}

struct Planner<'f> {
    function: &'f Function,
    /// Statements that every kernel runs for itself.
    common: Vec<Stmt>,
    workspaces: Workspaces,
    /// Arrays that threads have for themselves, and that kernels have used.
    lent: Vec<Array>,
    /// Variables that kernels assign, which no other kernel can read.
    given: Vec<Var>,
    /// Arrays whose elements every kernel may read from now on.
    known: Vec<Array>,
    steps: Vec<Step>,
}

impl Planner<'_> {
    /// A statement outside of all parallel loops.
    fn top(&mut self, s: &Stmt) -> Result<(), String> {
        let role = |a: &Array| self.function.arrays[*a].role;
        match s {
            Stmt::Comment(_) | Stmt::Prefetch { .. } => Ok(()),
            Stmt::Assign { var, value } => self.computed_by_all(*var, value, s),
            Stmt::Reserve { array, .. } if role(array) == ArrayRole::Local => Ok(()),
            Stmt::Reserve { .. } => self.step(Kind::Lengths, s),
            Stmt::Fill { array, .. } if self.workspaces.held.contains_key(array) => {
                self.common.push(s.clone());
                Ok(())
            }
            Stmt::Fill { .. } => self.step(Kind::Fill, s),
            _ if has_parallel(std::slice::from_ref(s)) => {
                self.grid(s)?;
                self.step(Kind::Grid, s)
            }
            _ => self.step(Kind::Serial, s),
        }
    }

    /// A value outside of all loops, which no kernel changes any more.
    fn computed_by_all(&mut self, var: Var, value: &Expr, s: &Stmt) -> Result<(), String> {
        let mut loaded = vec![];
        arrays(s, &mut loaded);
        let is = |role: ArrayRole| loaded.iter().any(|a| self.function.arrays[*a].role == role);
        let mut length = false;
        value.walk(&mut |e| length |= matches!(e, Expr::Len(_)));
        if length || is(ArrayRole::Local) || is(ArrayRole::Output) || is(ArrayRole::Shared) {
            return Err("a value outside of its loops depends on its result".to_owned());
        }
        self.given_away(|v| mentions(value, v))?;
        self.given.retain(|v| *v != var);
        self.known.extend(loaded);
        self.common.push(s.clone());
        Ok(())
    }

    fn step(&mut self, kind: Kind, s: &Stmt) -> Result<(), String> {
        if kind != Kind::Lengths {
            self.possible(s, &changed(s))?;
        }
        self.independent(s)?;
        let shape = match kind {
            Kind::Grid => shape(s),
            Kind::Fill => Shape { threads: USUAL, width: WARP },
            Kind::Serial | Kind::Lengths => Shape { threads: 1, width: 1 },
        };
        let workspaces = self.workspaces.fitted(self.function, s, shape)?;
        let alone = matches!(kind, Kind::Serial | Kind::Lengths);
        let goes_on = |last: &Step| {
            let mut fresh = self.common.iter().skip(last.common.len());
            alone && last.kind == kind && fresh.all(|s| s.exprs().all(|e| self.reads_inputs(e)))
        };
        if self.steps.last().is_some_and(goes_on)
            && let Some(last) = self.steps.last_mut()
        {
            last.common.clone_from(&self.common);
            last.own.push(s.clone());
            return Ok(());
        }
        let (common, own) = (self.common.clone(), vec![s.clone()]);
        self.steps.push(Step { kind, shape, common, own, workspaces });
        Ok(())
    }

    /// Checks that loops over blocks are inside of conditions at most.
    fn grid(&self, s: &Stmt) -> Result<(), String> {
        match s {
            Stmt::Parallel { .. } | Stmt::Assign { .. } | Stmt::Comment(_) => Ok(()),
            Stmt::If { cond, then, otherwise } if self.reads_inputs(cond) => {
                then.iter().chain(otherwise).try_for_each(|s| self.grid(s))
            }
            _ => Err("something is to happen between its loops over blocks".to_owned()),
        }
    }

    /// Checks that threads do not sort, allocate, or use arrays of the kernel that they would share.
    fn possible(&self, s: &Stmt, changed: &[Array]) -> Result<(), String> {
        match s {
            Stmt::Sort { .. } => return Err("it sorts".to_owned()),
            Stmt::Reserve { array, .. } if self.workspaces.have(array) => {}
            Stmt::Reserve { array, .. } => {
                let name = &self.function.arrays[*array].name;
                return Err(format!("{name} grows in its loops"));
            }
            Stmt::For { .. } | Stmt::Parallel { .. } | Stmt::While { .. } | Stmt::If { .. }
                if !s.exprs().all(|e| self.reads_own(e, changed)) =>
            {
                return Err("what it does depends on what its threads write".to_owned());
            }
            _ => {}
        }
        let mut measured = vec![];
        s.exprs().for_each(|e| lengths(e, &mut measured));
        if let Some(array) = measured.iter().find(|a| self.workspaces.have(a)) {
            let name = &self.function.arrays[*array].name;
            return Err(format!("what it does depends on the length of {name}"));
        }
        // A thread alone may run any control flow: it waits for no other.
        let changed = match s {
            Stmt::Parallel { unit: Unit::Thread, .. } => &[],
            _ => changed,
        };
        s.blocks().flatten().try_for_each(|s| self.possible(s, changed))
    }

    /// Checks that kernels pass values on only in arrays.
    fn independent(&mut self, s: &Stmt) -> Result<(), String> {
        let own = std::slice::from_ref(s);
        self.given_away(|v| exposes(own, v))?;
        assigned(own, &mut self.given);
        let mut used = vec![];
        arrays(s, &mut used);
        let lengths = |step: &Step| step.reserves().iter().any(|a| changed(s).contains(a));
        let again = matches!(s, Stmt::Reserve { .. }) && self.steps.iter().any(lengths);
        if again || changed(s).iter().any(|array| self.known.contains(array)) {
            return Err("what every kernel knows changes".to_owned());
        }
        let is_shared = |array: &Array| self.workspaces.shared.contains_key(array);
        let outside = !has_parallel(own) && used.iter().any(is_shared);
        used.retain(|array| self.workspaces.held.contains_key(array));
        if outside || used.iter().any(|array| self.lent.contains(array)) {
            return Err("a workspace is handed on from one of its loops to another".to_owned());
        }
        self.lent.extend(used);
        Ok(())
    }

    /// Fails if a variable that a kernel assigns is read later.
    fn given_away(&self, wanted: impl Fn(Var) -> bool) -> Result<(), String> {
        match self.given.iter().find(|v| wanted(**v)) {
            Some(var) => {
                let name = &self.function.vars[*var].name;
                Err(format!("{name} is handed on from one of its loops to another"))
            }
            None => Ok(()),
        }
    }

    /// Whether an expression reads nothing that other threads write.
    fn reads_own(&self, e: &Expr, changed: &[Array]) -> bool {
        let mut own = true;
        e.walk(&mut |e| {
            if let Expr::Load { array, .. } | Expr::Len(array) = e {
                own &= !changed.contains(array) || self.workspaces.held.contains_key(array);
            }
        });
        own
    }

    fn reads_inputs(&self, e: &Expr) -> bool {
        let mut only = true;
        e.walk(&mut |e| match e {
            Expr::Load { array, .. } => {
                only &= self.function.arrays[*array].role == ArrayRole::Input;
            }
            Expr::Len(_) => only = false,
            _ => {}
        });
        only
    }
}

/// The arrays that a statement writes to.
pub(super) fn changed(s: &Stmt) -> Vec<Array> {
    let named = match s {
        Stmt::Prefetch { .. } => vec![],
        s => s.named().1,
    };
    s.blocks().flatten().flat_map(changed).chain(named).collect()
}

/// The arrays whose lengths an expression reads.
fn lengths(e: &Expr, found: &mut Vec<Array>) {
    e.walk(&mut |e| {
        if let Expr::Len(array) = e {
            found.push(*array);
        }
    });
}
