//! Commands that reproduce the loops that legalisation chose for a kernel, for the user to edit and apply.
//!
//! ```text
//! forall(i, where(forall(k, forall(l, A(i,l) += w(k) * D(k,l))), forall(j, forall(k, w(k) += B(i,j) * C(j,k)))))
//!
//! reorder(i, j, k, l)
//! precompute(B(i,j) * C(j,k), k, k, w)
//! ```

use super::command::{Command, WorkspaceKind};
use super::list::Schedule;
use super::scheduler::computing;
use crate::cin::{Kernel, Program, Relation, Stmt, print};
use crate::notation::{Access, Expr};
use tamis_ir::ids::IndexVar;

/// Commands for the last computing kernel of an unscheduled program; the same commands without those for temporaries
/// that legalisation makes under a schedule as well; and no commands. The caller has to compare the resulting loops:
/// not all loops can be made by commands.
pub fn chosen(program: &Program) -> Vec<Schedule> {
    let Some(kernel) = computing(program) else { return vec![] };
    let mut commands = vec![];
    let loops = order(&kernel.body);
    if loops.len() > 1 {
        let vars = loops.iter().map(|&v| program.vars[coordinate(program, v)].clone()).collect();
        commands.push(Command::Reorder { vars });
    }
    let few = commands.len();
    commands.extend(loops.into_iter().filter_map(|v| positions(program, v)));
    parts(program, &kernel.body, &mut commands);
    commands.extend(kernel.tags.iter().filter_map(|(&var, tag)| {
        let merge = tag.merge?;
        Some(Command::Mergeby { var: program.vars[var].clone(), merge })
    }));
    let of = |commands: &[Command]| {
        let mut schedule = Schedule::default();
        let pushed = commands.iter().try_for_each(|c| schedule.push(c).map(|_| ()));
        // Some names cannot be written.
        pushed.ok().map(|()| schedule)
    };
    [&commands[..], &commands[..few], &[]].into_iter().filter_map(of).collect()
}

/// Whether two kernels have the same loops around the same products.
pub fn have_same_loops(a: (&Program, &Kernel), b: (&Program, &Kernel)) -> bool {
    shape(a.0, &a.1.body) == shape(b.0, &b.1.body)
}

/// The variable whose coordinates a loop visits.
fn coordinate(program: &Program, var: IndexVar) -> IndexVar {
    match program.derived.relation(var) {
        Some(Relation::Position { of, .. }) => *of.last().unwrap_or(&var),
        _ => var,
    }
}

/// The command that makes a loop over positions.
fn positions(program: &Program, var: IndexVar) -> Option<Command> {
    let Some(Relation::Position { access, .. }) = program.derived.relation(var) else {
        return None;
    };
    let name = |v: IndexVar| program.vars[v].clone();
    let operand = print::access(program, access);
    Some(Command::Pos { var: name(coordinate(program, var)), position: name(var), operand })
}

/// An order of loops that agrees with the order in every branch.
fn order(body: &Stmt) -> Vec<IndexVar> {
    let mut chains = vec![];
    collect(body, &mut vec![], &mut chains);
    let mut order: Vec<IndexVar> = vec![];
    loop {
        let open = |chain: &Vec<IndexVar>| -> Vec<IndexVar> {
            chain.iter().copied().filter(|v| !order.contains(v)).collect()
        };
        let rests: Vec<Vec<IndexVar>> = chains.iter().map(open).collect();
        let firsts = rests.iter().filter_map(|rest| rest.first().copied());
        let ready = |v: &IndexVar| rests.iter().all(|rest| !rest.iter().skip(1).any(|w| w == v));
        match firsts.clone().find(ready).or(firsts.clone().next()) {
            Some(next) => order.push(next),
            None => return order,
        }
    }
}

/// Collects the loops around each assignment, producers first.
fn collect(s: &Stmt, around: &mut Vec<IndexVar>, chains: &mut Vec<Vec<IndexVar>>) {
    match s {
        Stmt::Forall { var, body } => {
            around.push(*var);
            collect(body, around, chains);
            around.pop();
        }
        Stmt::Assign { .. } => chains.push(around.clone()),
        _ => s.children().into_iter().for_each(|child| collect(child, around, chains)),
    }
}

/// A command for each precomputed part, outer ones first.
fn parts(program: &Program, s: &Stmt, commands: &mut Vec<Command>) {
    if let Stmt::Where { producer, .. } = s
        && let Some((lhs, value)) = whole(producer)
    {
        let vars: Vec<String> = lhs.indices.iter().map(|&v| program.vars[v].clone()).collect();
        let own = vars.clone();
        let workspace = program.tensors[lhs.tensor].name.clone();
        let value = print::expr(program, &value);
        let grows = program.storage(lhs.tensor).format.grows();
        let kind = grows.then_some(WorkspaceKind::Hashed);
        commands.push(Command::Precompute { value, vars, own, workspace, kind });
    }
    s.children().into_iter().for_each(|child| parts(program, child, commands));
}

/// The element that a producer writes, and its value with precomputed parts substituted.
fn whole(s: &Stmt) -> Option<(Access, Expr)> {
    match s {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => whole(body),
        Stmt::Sequence(_) => None,
        Stmt::Assign { lhs, rhs, .. } => Some((lhs.clone(), rhs.clone())),
        Stmt::Where { consumer, producer } => {
            let (lhs, rhs) = whole(consumer)?;
            let (part, value) = whole(producer)?;
            Some((lhs, replaced(rhs, &part, &value)))
        }
    }
}

fn replaced(e: Expr, access: &Access, value: &Expr) -> Expr {
    match e {
        Expr::Access(a) if a == *access => value.clone(),
        e => e.map_children(&mut |child| replaced(child, access, value)),
    }
}

/// The assignments in their loops, in the order in which they run, with accesses sorted.
fn shape(program: &Program, s: &Stmt) -> String {
    let name = |v: &IndexVar| program.vars[*v].as_str();
    match s {
        Stmt::Forall { var, body } => format!("{}({})", name(var), shape(program, body)),
        Stmt::Where { consumer, producer } => {
            format!("{}; {}", shape(program, producer), shape(program, consumer))
        }
        Stmt::Sequence(parts) => parts.iter().map(|part| shape(program, part) + "; ").collect(),
        Stmt::Within { body, .. } => shape(program, body),
        Stmt::Assign { lhs, rhs, .. } => {
            let mut accesses: Vec<String> =
                rhs.accesses().into_iter().map(|a| print::access(program, a)).collect();
            accesses.sort();
            format!("{} = {}", print::access(program, lhs), accesses.join(" "))
        }
    }
}
