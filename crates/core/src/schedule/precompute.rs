//! `precompute(e, i, iw, w)`: a part of a value is computed into a workspace, by loops of its own.
//!
//! ```text
//! forall(i, forall(k, forall(j, C(i,j) += A(i,k) * B(k,j))))
//!                                                        precompute(A(i,k) * B(k,j), j, jw, w)
//! forall(i, where(forall(j, C(i,j) = w(j)), forall(k, forall(jw, w(jw) += A(i,k) * B(k,jw)))))
//! ```
//!
//! The operator split of sparse tensor algebra with workspaces (section 4). Loops that both the part and the rest need
//! stay around both, except named ones, which both get separately. A sum that only the part needs moves into the
//! workspace: the operators around the part have to distribute over it (the reduction precondition). If the workspace
//! is the result itself, the part is written first and the rest added to it, so the part has to be an operand of the
//! outermost sum (the reuse precondition).

use super::command::WorkspaceKind;
use super::expression::{self, HOLE, Taken, distributes, filled, step_name, take};
use super::scheduler::Scheduler;
use super::workspace;
use crate::cin::simplify::Facts;
use crate::cin::{Relation, Role, Stmt, print};
use crate::format::LevelMap;
use crate::notation::{Access, Expr};
use crate::schedule::path::{Element, Side, Way};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{IndexVar, TensorId};

/// The locations of the arguments.
const VALUE: usize = 0;
const VARS: usize = 1;
const OWN: usize = 2;
const WORKSPACE: usize = 3;

/// The parsed arguments.
pub(super) struct Split<'c> {
    pub(super) part: Expr,
    /// The loops that part and rest get separately, with their variables in the producer.
    pub(super) vars: Vec<(IndexVar, IndexVar)>,
    pub(super) workspace: &'c str,
    pub(super) kind: Option<WorkspaceKind>,
}

pub(super) fn precompute(
    s: &mut Scheduler<'_>,
    value: &str,
    (vars, own): (&[String], &[String]),
    workspace: &str,
    kind: Option<WorkspaceKind>,
) -> Result<(), Diagnostic> {
    let part = expression::read(s, VALUE, value)?;
    let workspace = s.own_name(workspace).to_owned();
    check_names(s, own, &workspace)?;
    let mut pairs: Vec<(IndexVar, IndexVar)> = vec![];
    for (var, own) in vars.iter().zip(own) {
        let var = s.loop_var(VARS, var)?;
        if pairs.iter().any(|(v, _)| *v == var) {
            let message = format!("precompute names {} twice", s.name(var));
            return Err(s.refuse(VARS, message, "name each loop once".to_owned()));
        }
        s.check_sized(VARS, var)?;
        let own = if s.name(var) == own { var } else { s.another(OWN, own, var)? };
        pairs.push((var, own));
    }
    let split = Split { part, vars: pairs, workspace: &workspace, kind };
    let body = s.kernel().body.clone();
    let Some(body) = within(s, &body, &split, &mut Loops::default())? else {
        let message = format!("the kernel does not compute {value}");
        let help = "name a part of a value, as in precompute(A(i,j) * x(j), j, jw, w)".to_owned();
        return Err(s.refuse(VALUE, message, help));
    };
    s.kernel_mut().body = body;
    s.declare_uses();
    Ok(())
}

/// Checks that new loops have different names, and a new workspace the name of no loop.
fn check_names(s: &Scheduler<'_>, own: &[String], workspace: &str) -> Result<(), Diagnostic> {
    if let Some(k) = (1..own.len()).find(|&k| own[..k].contains(&own[k])) {
        let message = format!("{} would be the name of two loops of the part", own[k]);
        return Err(s.refuse(OWN, message, "give each loop a name of its own".to_owned()));
    }
    match s.program.tensors.iter().any(|t| t.name == workspace) {
        true => Ok(()),
        false => s.check_fresh(WORKSPACE, workspace),
    }
}

/// The loops around a statement.
#[derive(Clone, Default)]
pub(super) struct Loops {
    pub(super) all: Vec<IndexVar>,
    /// The number of leading loops outside of the initialisation of the written tensor.
    pub(super) begun: usize,
    /// Whether an earlier part of a sequence wrote the same tensor.
    pub(super) later: bool,
}

/// The statement with the part computed beforehand, if it contains the part.
fn within(
    s: &mut Scheduler<'_>,
    stmt: &Stmt,
    split: &Split<'_>,
    outer: &mut Loops,
) -> Result<Option<Stmt>, Diagnostic> {
    let way = Way::down(stmt);
    if let Stmt::Assign { rhs, .. } = way.leaf
        && take(rhs, &split.part).is_some()
    {
        return apart(s, &way, split, outer).map(Some);
    }
    match stmt {
        Stmt::Forall { var, body } => {
            outer.all.push(*var);
            let body = within(s, body, split, outer)?;
            outer.all.pop();
            Ok(body.map(|body| Stmt::Forall { var: *var, body: Box::new(body) }))
        }
        Stmt::Where { consumer, producer } => {
            let mut anew = Loops { begun: outer.all.len(), later: false, all: outer.all.clone() };
            if let Some(producer) = within(s, producer, split, &mut anew)? {
                let (consumer, producer) = (consumer.clone(), Box::new(producer));
                return Ok(Some(Stmt::Where { consumer, producer }));
            }
            let consumer = within(s, consumer, split, outer)?;
            let producer = producer.clone();
            Ok(consumer.map(|c| Stmt::Where { consumer: Box::new(c), producer }))
        }
        Stmt::Sequence(parts) => {
            for (k, part) in parts.iter().enumerate() {
                let later = outer.later || k > 0;
                let mut after = Loops { later, ..outer.clone() };
                if let Some(done) = within(s, part, split, &mut after)? {
                    let mut parts = parts.clone();
                    parts[k] = done;
                    return Ok(Some(Stmt::Sequence(parts)));
                }
            }
            Ok(None)
        }
        Stmt::Assign { .. } | Stmt::Within { .. } => Ok(None),
    }
}

/// The loops around an assignment, split.
pub(super) fn apart(
    s: &mut Scheduler<'_>,
    way: &Way<'_>,
    split: &Split<'_>,
    outer: &Loops,
) -> Result<Stmt, Diagnostic> {
    let all = || Element::around(way.elements.clone(), way.leaf.clone());
    let Stmt::Assign { lhs, op, rhs } = way.leaf else { return Ok(all()) };
    let Some(taken) = take(rhs, &split.part) else { return Ok(all()) };
    let reuse = s.program.tensors[lhs.tensor].name == split.workspace;
    let sides = way.sides(s, &outer.all, lhs, (&split.part, &taken.rest), reuse);
    let named = |e: &Element| e.var().is_some_and(|v| split.vars.iter().any(|(n, _)| *n == v));
    let shared = |k: &usize| sides[*k] == Side::Both && !named(&way.elements[*k]);
    let inside = (0..way.elements.len()).rev().find(shared).map_or(0, |k| k + 1);
    check_vars(s, way, inside, split, &sides)?;
    check_positions(s, way, inside, (split, &taken.rest), outer)?;
    check_extents(s, way, inside, split, outer)?;
    let of = |side: Side| -> Vec<Element> {
        let elements = way.elements.iter().zip(&sides).skip(inside);
        elements.filter(|(e, at)| named(e) || **at == side).map(|(e, _)| e.clone()).collect()
    };
    let (of_part, of_rest) = (of(Side::Part), of(Side::Rest));
    let summed = of_part.iter().any(|e| e.var().is_some() && !named(e));
    let over = op.filter(|_| summed);
    check_distributes(s, &taken, over)?;
    let around = &way.elements[..inside];
    let loops = |more: &[Element]| -> Vec<IndexVar> {
        let around = around.iter().chain(more).filter_map(Element::var);
        outer.all[outer.begun..].iter().copied().chain(around).collect()
    };
    s.walk_by_coordinates();
    let again = |loops: Vec<IndexVar>| op.filter(|_| outer.later || comes_again(s, lhs, &loops));
    let own = |v: &IndexVar| split.vars.iter().find(|(n, _)| n == v).map_or(*v, |(_, own)| *own);
    if reuse {
        let first = again(loops(&of_part));
        let rest = added(s, &taken, *op)?;
        check_own(s, lhs, split)?;
        let part = Stmt::Assign { lhs: lhs.clone(), op: first, rhs: split.part.clone() };
        let rest = Stmt::Assign { lhs: lhs.clone(), op: Some(ReduceOp::Add), rhs: rest };
        let part = renamed(Element::around(of_part, part), &own);
        let both = Stmt::Sequence(vec![part, Element::around(of_rest, rest)]);
        return Ok(Element::around(around.to_vec(), both));
    }
    let op = again(loops(&of_rest));
    let (old, new): (Vec<IndexVar>, Vec<IndexVar>) = split.vars.iter().copied().unzip();
    let shared = [&outer.all, &loops(&[])[..]].concat();
    let part = (&split.part, &old[..], &new[..]);
    let w = workspace::declare(s, WORKSPACE, split.workspace, split.kind, part, &shared, over)?;
    let read = Expr::Access(Access::of(w, old));
    let rhs = filled(taken.rest, &read);
    let is_copied = rhs == read && op.is_none();
    if is_partial(s, over, &split.part) && is_multiplied(s, w, lhs.tensor, is_copied) {
        s.kernel_mut().partial.push(w);
    }
    let consumer = Element::around(of_rest, Stmt::Assign { lhs: lhs.clone(), op, rhs });
    let part = Stmt::Assign { lhs: Access::of(w, new), op: over, rhs: split.part.clone() };
    let producer = renamed(Element::around(of_part, part), &own);
    let (consumer, producer) = (Box::new(consumer), Box::new(producer));
    Ok(Element::around(around.to_vec(), Stmt::Where { consumer, producer }))
}

/// Whether an element gets several values: loops are over other variables than the element's, or over entries of an
/// operand.
fn comes_again(s: &Scheduler<'_>, lhs: &Access, loops: &[IndexVar]) -> bool {
    let told = |v: &IndexVar| s.program.derived.follows(*v, &lhs.indices);
    loops.iter().any(|v| s.kernel().scatter || !told(v))
}

/// Whether sums of a part may be empty.
fn is_partial(s: &Scheduler<'_>, over: Option<ReduceOp>, part: &Expr) -> bool {
    let kernel = s.kernel();
    over == Some(ReduceOp::Add)
        && kernel.compute.integers().is_none()
        && s.program.may_be_nothing(part, &kernel.partial)
}

/// Whether the zero of an empty sum may meet an infinite factor: it is multiplied, or combined with a stored value, on
/// its way from the workspace to a tensor. A tensor that starts from another value needs the zero.
fn is_multiplied(s: &Scheduler<'_>, workspace: TensorId, to: TensorId, is_copied: bool) -> bool {
    let held = |tensor| {
        let full = s.program.storage(tensor).format.is_full();
        full || s.program.tensors[tensor].role == Role::Workspace
    };
    let starts_at_zero = s.program.storage(to).fill.is_zero();
    held(workspace) && (!is_copied || held(to)) && starts_at_zero
}

/// Checks that the named loops are loops of the part, inside of all loops that both need.
fn check_vars(
    s: &Scheduler<'_>,
    way: &Way<'_>,
    inside: usize,
    split: &Split<'_>,
    sides: &[Side],
) -> Result<(), Diagnostic> {
    for &(var, _) in &split.vars {
        let name = s.name(var).to_owned();
        let at = way.elements.iter().position(|e| e.var() == Some(var));
        let Some(at) = at.filter(|&at| sides[at] != Side::Rest) else {
            let message =
                format!("precompute needs a part that depends on {name}; this one does not");
            let help = "name the loops over which the part is computed".to_owned();
            return Err(s.refuse(VARS, message, help));
        };
        if at < inside {
            let between = way.elements[inside - 1].var().map(|v| s.name(v).to_owned());
            let Some(between) = between else {
                let message = format!(
                    "precompute needs the loop over {name} inside of the temporary that both \
                     parts read"
                );
                return Err(s.refuse(VARS, message, "precompute a larger part".to_owned()));
            };
            let message = format!(
                "precompute needs the loop over {name} inside those that both parts need; \
                 {between} is inside {name}"
            );
            let help = format!("reorder({between}, {name}) first, or name {between} too");
            return Err(s.refuse(VARS, message, help));
        }
    }
    Ok(())
}

/// Positions are counted below coordinates that part and rest have to share.
fn check_positions(
    s: &Scheduler<'_>,
    way: &Way<'_>,
    inside: usize,
    (split, rest): (&Split<'_>, &Expr),
    outer: &Loops,
) -> Result<(), Diagnostic> {
    let around = way.elements[..inside].iter().filter_map(Element::var);
    let around: Vec<IndexVar> = outer.all.iter().copied().chain(around).collect();
    let derived = &s.program.derived;
    for &(var, _) in &split.vars {
        let Some(p) = derived.position(var) else { continue };
        let Some(Relation::Position { above, .. }) = derived.relation(p) else { continue };
        if let Some(&above) = above.iter().find(|v| !around.contains(v)) {
            let (name, above) = (s.name(var), s.name(above));
            let message = format!(
                "{name} counts positions below those of {above}, which both sides have to share"
            );
            let help = format!("keep a loop over {above} around both, neither named nor split");
            return Err(s.refuse(VARS, message, help));
        }
    }
    // Positions refer to their operand by its variables.
    let all = way.elements.iter().filter_map(Element::var);
    for var in outer.all.iter().copied().chain(all) {
        let Some(p) = derived.position(var) else { continue };
        let Some(Relation::Position { access, above, .. }) = derived.relation(p) else { continue };
        let read = |e: &Expr| e.accesses().contains(&access);
        let vars = match read(&split.part) && read(rest) {
            true => s.program.level_vars(access.tensor, &access.indices),
            false if around.contains(&var) => vec![],
            false => above.clone(),
        };
        let renamed = |(old, own): &&(IndexVar, IndexVar)| old != own && vars.contains(old);
        if let Some(&(old, own)) = split.vars.iter().find(renamed) {
            let (name, old, own) = (s.name(var), s.name(old), s.name(own));
            let of = print::access(&s.program, access);
            let message = format!("{name} counts positions of {of}, which has {old} and not {own}");
            return Err(s.refuse(OWN, message, format!("name {old} in both arguments")));
        }
    }
    Ok(())
}

/// Part and rest have to agree on variables derived from offsets in a block: the last block may be smaller.
fn check_extents(
    s: &Scheduler<'_>,
    way: &Way<'_>,
    inside: usize,
    split: &Split<'_>,
    outer: &Loops,
) -> Result<(), Diagnostic> {
    let derived = &s.program.derived;
    let around = way.elements[..inside].iter().filter_map(Element::var);
    let around: Vec<IndexVar> = outer.all.iter().copied().chain(around).collect();
    for &(var, _) in &split.vars {
        let varies = |v: &IndexVar| match derived.map(*v) {
            Some(LevelMap::Mod(of, size)) => {
                !around.iter().any(|u| derived.map(*u) == Some(LevelMap::Div(of, size)))
            }
            _ => false,
        };
        if let Some(place) = derived.ancestors(var).into_iter().find(varies) {
            let (name, place) = (s.name(var), s.name(place));
            let message = format!(
                "{name} is made of {place}, offsets in blocks of which the last may have fewer, and the \
                 loop over blocks is not around both sides"
            );
            let help = "precompute first, and fuse and divide then, or keep the blocks around both";
            return Err(s.refuse(VARS, message, help.to_owned()));
        }
    }
    Ok(())
}

/// The reduction precondition.
fn check_distributes(
    s: &Scheduler<'_>,
    taken: &Taken,
    over: Option<ReduceOp>,
) -> Result<(), Diagnostic> {
    let Some(over) = over else { return Ok(()) };
    let Some(step) = taken.steps.iter().find(|step| !distributes(**step, over)) else {
        return Ok(());
    };
    let (step, over) = (step_name(*step), over.name());
    let message = format!(
        "a part is computed beforehand only if the operators around it distribute over the {over} \
         that would move into the workspace; {step} does not"
    );
    Err(s.refuse(VALUE, message, "precompute a larger part, or the whole value".to_owned()))
}

/// The reuse precondition: returns the rest, which is added to the part.
fn added(s: &Scheduler<'_>, taken: &Taken, op: Option<ReduceOp>) -> Result<Expr, Diagnostic> {
    use expression::Step;
    let plus = |step: &Step| {
        matches!(step, Step::Left(BinaryOp::Add | BinaryOp::Sub) | Step::Right(BinaryOp::Add))
    };
    let sums = op.is_none_or(|op| op == ReduceOp::Add);
    if taken.rest == HOLE || !sums || !taken.steps.iter().all(plus) {
        let message = "the result can only hold a part that the rest of the value is added to";
        let help = "give the workspace another name than the result".to_owned();
        return Err(s.refuse(WORKSPACE, message.to_owned(), help));
    }
    let facts = Facts { program: &s.program, compute: s.kernel().compute };
    Ok(facts.expr(filled(taken.rest.clone(), &Expr::Literal(Scalar::I64(0)))))
}

/// Checks that the result of a kernel is written over its own variables.
fn check_own(s: &Scheduler<'_>, lhs: &Access, split: &Split<'_>) -> Result<(), Diagnostic> {
    let renamed = split.vars.iter().find(|(var, own)| var != own);
    let Some((var, _)) = renamed.filter(|_| lhs.tensor == s.kernel().result) else {
        return Ok(());
    };
    let name = s.name(*var).to_owned();
    let message = format!("the result is written by its own variables, such as {name}");
    Err(s.refuse(OWN, message, format!("name the loop {name} in both arguments")))
}

/// The statement with variables replaced.
fn renamed(s: Stmt, own: &dyn Fn(&IndexVar) -> IndexVar) -> Stmt {
    match s {
        Stmt::Forall { var, body } => {
            Stmt::Forall { var: own(&var), body: Box::new(renamed(*body, own)) }
        }
        Stmt::Assign { lhs, op, rhs } => {
            let lhs = Access { indices: lhs.indices.iter().map(own).collect(), ..lhs };
            Stmt::Assign { lhs, op, rhs: rhs.renamed(own) }
        }
        _ => s.map_children(&mut |child| renamed(child, own)),
    }
}
