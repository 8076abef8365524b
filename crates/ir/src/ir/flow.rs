//! What blocks of statements read and assign.
//!
//! ```text
//! i = j + 1; if c { k = i }        exposes j; assigns i and k, i on every way
//! ```

use super::{Expr, Stmt};
use crate::ids::{Array, Var};

/// Whether an expression reads a variable.
pub fn mentions(e: &Expr, var: Var) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Var(v) if *v == var));
    found
}

/// The expression with another in place of a variable.
pub fn replace(e: Expr, var: Var, by: &Expr) -> Expr {
    match e {
        Expr::Var(v) if v == var => by.clone(),
        e => e.map_children(&mut |child| replace(child, var, by)),
    }
}

/// Whether a statement reads or assigns a variable.
pub fn uses(s: &Stmt, var: Var) -> bool {
    s.named().0.contains(&var)
        || s.exprs().any(|e| mentions(e, var))
        || s.blocks().flatten().any(|s| uses(s, var))
}

/// Whether some path through statements reads a variable before it assigns the variable.
pub fn exposes(stmts: &[Stmt], var: Var) -> bool {
    reads_first(stmts, var, &mut false)
}

/// As [`exposes`]; `assigned` tells whether the variable is assigned on every path, before and after.
pub fn reads_first(stmts: &[Stmt], var: Var, assigned: &mut bool) -> bool {
    for s in stmts {
        if *assigned {
            return false;
        }
        if s.exprs().into_iter().any(|e| mentions(e, var)) {
            return true;
        }
        match s {
            Stmt::Assign { var: v, .. } => *assigned = *v == var,
            // Nothing follows a failure.
            Stmt::Fail(_) => *assigned = true,
            Stmt::For { var: v, .. } | Stmt::Parallel { var: v, .. } if *v == var => {}
            _ => {
                let mut ways = vec![];
                for block in s.blocks() {
                    let mut way = false;
                    if reads_first(block, var, &mut way) {
                        return true;
                    }
                    ways.push(way);
                }
                *assigned = matches!(s, Stmt::If { .. }) && ways.into_iter().all(|way| way);
            }
        }
    }
    false
}

/// Whether a statement assigns a variable, or is a loop over it.
pub fn assigns(s: &Stmt, var: Var) -> bool {
    let here = match s {
        Stmt::Assign { var: v, .. } | Stmt::For { var: v, .. } => *v == var,
        Stmt::Parallel { var: v, .. } => *v == var,
        _ => false,
    };
    here || s.blocks().flatten().any(|s| assigns(s, var))
}

/// The number of statements in a block, including nested blocks.
pub fn count(block: &[Stmt]) -> usize {
    block.iter().map(|s| 1 + s.blocks().map(count).sum::<usize>()).sum()
}

/// The number of statements, operators and operands in a block.
pub fn size(block: &[Stmt]) -> usize {
    let mut size = 0;
    for s in block {
        s.exprs().for_each(|e| e.walk(&mut |_| size += 1));
        size += 1 + s.blocks().map(self::size).sum::<usize>();
    }
    size
}

/// Collects the variables that a block assigns, including loop variables.
pub fn assigned(block: &[Stmt], found: &mut Vec<Var>) {
    for s in block {
        match s {
            Stmt::Assign { var, .. } | Stmt::For { var, .. } => found.push(*var),
            Stmt::Parallel { var, .. } => found.push(*var),
            _ => {}
        }
        s.blocks().for_each(|b| assigned(b, found));
    }
}

/// Collects the arrays that a statement uses.
pub fn arrays(s: &Stmt, found: &mut Vec<Array>) {
    found.extend(s.named().1);
    for e in s.exprs() {
        e.walk(&mut |e| {
            if let Expr::Load { array, .. } | Expr::Len(array) = e {
                found.push(*array);
            }
        });
    }
    s.blocks().flatten().for_each(|s| arrays(s, found));
}
