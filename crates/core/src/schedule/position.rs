//! `pos(j, p, A)`: a loop over coordinates becomes one over the positions where an operand stores them; `coord(p, j)`
//! reverts that.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))        fuse(i, j, f); pos(f, p, A)
//!
//! forall(p, y(i) += A(i,j) * x(j))                   i and j are those of the entry at p
//! ```
//!
//! Positions are contiguous, so that they can be cut into parts with equal work. The operand has to decide alone what
//! is visited, since nothing else is.

use super::nest::{around, at_loops, replaced};
use super::scheduler::Scheduler;
use crate::cin::simplify::Facts;
use crate::cin::{Relation, Stmt, WalkOrder};
use crate::notation::Access;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;

pub(super) fn pos(
    s: &mut Scheduler<'_>,
    name: &str,
    position: &str,
    tensor: &str,
) -> Result<(), Diagnostic> {
    let var = s.loop_var(0, name)?;
    s.check_untagged(0, var)?;
    let counted = s.program.derived.unfused(var);
    let (access, first) = operand(s, name, &counted, tensor)?;
    let vars = s.program.level_vars(access.tensor, &access.indices);
    let last = first + counted.len() - 1;
    check_levels(s, &access, first, last)?;
    let tiles = s.program.derived.tiles_of(counted[0], vars[first]).unwrap_or_default();
    let within = (!tiles.is_empty()).then_some(counted[0]);
    if within.is_some() {
        check_tiled(s, &access, first)?;
    }
    check_known(s, (name, var), &vars[..first], &format!("the levels of {tensor} above {name}"))?;
    check_known(s, (name, var), &tiles, &format!("the tile that {name} is in"))?;
    let above = [&vars[..first], &tiles].concat();
    check_decides(s, name, var, &access)?;
    if counted.len() > 1 {
        check_no_index(s, name, var, "pos")?;
    }
    let p = s.fresh(1, position)?;
    let format = &s.program.storage(access.tensor).format;
    let relation = match first == last && format.levels()[last].kind.properties().full {
        true => Relation::Same { of: var, bound: None },
        false => {
            let of = vars[first..=last].to_vec();
            let unique = !format.repeats(last + 1);
            Relation::Position { of, above, within, access, level: last, unique }
        }
    };
    s.program.derived.relate(p, relation);
    s.move_tag(p, var);
    s.rewrite(|body| replaced(body, var, &|body| Stmt::forall(&[p], body)));
    Ok(())
}

/// Checks that the loop is inside of loops over these variables.
fn check_known(
    s: &Scheduler<'_>,
    (name, var): (&str, IndexVar),
    needed: &[IndexVar],
    what: &str,
) -> Result<(), Diagnostic> {
    let derived = &s.program.derived;
    let known = |outer: &Vec<IndexVar>| needed.iter().all(|v| derived.follows(*v, outer));
    if around(&s.kernel().body, var).iter().all(known) {
        return Ok(());
    }
    let needed: Vec<&str> = needed.iter().map(|&v| s.name(v)).collect();
    let needed = needed.join(", ");
    let message = format!("pos needs {what} known outside; {needed} is not");
    let help = format!("reorder({needed}, {name}) first, or fuse {needed} and {name}");
    Err(s.refuse(0, message, help))
}

/// Updates positions to the operand as the kernel reads it: a command may have renamed variables of lower levels.
pub(super) fn follow_operands(s: &mut Scheduler<'_>) {
    let reads: Vec<Access> = s.kernel().body.reads().into_iter().cloned().collect();
    let loops = s.kernel().body.loops();
    let derived = &s.program.derived;
    let counts = |p: IndexVar| loops.iter().any(|&v| v == p || derived.ancestors(v).contains(&p));
    let moved: Vec<(IndexVar, Relation)> = derived
        .relations()
        .filter_map(|(var, relation)| {
            let Relation::Position { access, level, .. } = relation else { return None };
            let slices = |a: &Access, k| s.program.slicing(a, k).cloned();
            let known = |a: &Access| {
                let vars = s.program.level_vars(a.tensor, &a.indices);
                let levels = vars.into_iter().enumerate().take(level + 1);
                levels.map(|(k, v)| (v, slices(a, k))).collect::<Vec<_>>()
            };
            let same = |a: &&Access| a.tensor == access.tensor && known(a) == known(access);
            let here = counts(var) && !reads.contains(access);
            let now = reads.iter().find(same).filter(|_| here)?;
            let mut relation = relation.clone();
            if let Relation::Position { access, .. } = &mut relation {
                *access = now.clone();
            }
            Some((var, relation))
        })
        .collect();
    for (var, relation) in moved {
        s.program.derived.relate(var, relation);
    }
}

/// The use of the tensor whose levels, from one on, are over these variables. The first variable may count offsets in
/// tiles of the level's coordinates.
fn operand(
    s: &Scheduler<'_>,
    name: &str,
    of: &[IndexVar],
    tensor: &str,
) -> Result<(Access, usize), Diagnostic> {
    let written = |a: &Access| crate::cin::print::access(&s.program, a);
    let squeezed = tensor.replace(' ', "");
    let (wanted, indexed) = (squeezed.split('(').next().unwrap_or(""), squeezed.contains('('));
    let reads = s.kernel().body.reads();
    let named = |a: &&&Access| {
        let own = &s.program.tensors[a.tensor].name;
        s.is_named(a.tensor, wanted)
            && (!indexed || written(a) == squeezed.replacen(wanted, own, 1))
    };
    let uses: Vec<&Access> = reads.iter().filter(named).copied().collect();
    if uses.is_empty() {
        let message = format!("the kernel does not read {tensor}");
        return Err(s.refuse(2, message, "name an operand of the kernel".to_owned()));
    }
    let mut stored = vec![];
    for access in uses {
        let vars = s.program.level_vars(access.tensor, &access.indices);
        stored = vars.iter().map(|&v| s.name(v)).collect();
        let derived = &s.program.derived;
        let tiled = |k: &usize| {
            let of_level = of.first().and_then(|&v| derived.tiles_of(v, vars[*k]));
            of_level.is_some() && vars[k + 1..].starts_with(&of[1..])
        };
        let whole = (0..vars.len()).find(|&k| vars[k..].starts_with(of));
        if let Some(first) = whole.or_else(|| (0..vars.len()).find(tiled)) {
            return Ok((access.clone(), first));
        }
    }
    let message = format!("{tensor} has no levels over {name}, in the order of the loops");
    let help = format!(
        "name an operand that stores these coordinates, by levels next to each other, or loops over \
         what {tensor} stores: {}",
        stored.join(", ")
    );
    Err(s.refuse(2, message, help))
}

/// Checks that the levels have positions whose coordinates can be recovered. They may be unordered or have duplicates,
/// if positions are those of entries, which the kernel visits one by one.
fn check_levels(
    s: &Scheduler<'_>,
    access: &Access,
    first: usize,
    last: usize,
) -> Result<(), Diagnostic> {
    let format = &s.program.storage(access.tensor).format;
    let levels = format.levels();
    let whole = format.chain_head(first) == first && !format.chain_goes_on(last);
    let by_entries = s.kernel().scatter && whole;
    for (k, level) in levels.iter().enumerate().take(last + 1).skip(first) {
        let p = level.kind.properties();
        let walks = level.kind.walks() && p.compact && !level.kind.locates();
        let chained = k < last && levels[k + 1].kind.properties().branchless;
        let turned =
            s.program.walk(access, k) == WalkOrder::OutOfOrder && !(first == last && p.full);
        let once = p.ordered && (p.unique || chained) || by_entries;
        if turned || !(p.full || walks && once) {
            let name = &s.program.tensors[access.tensor].name;
            let message = format!(
                "pos needs positions in the order of their coordinates, each once; level {} of \
                 {name} is {}{}",
                k + 1,
                level.kind,
                if turned { " and sliced downwards" } else { "" }
            );
            let help = match turned {
                true => {
                    "compute the slice by a statement of its own first, or leave pos out".into()
                }
                false => {
                    format!("store {name} as compressed levels, such as csr, or leave pos out")
                }
            };
            return Err(s.refuse(2, message, help));
        }
    }
    Ok(())
}

/// Positions of a tile are contiguous if those of all coordinates are.
fn check_tiled(s: &Scheduler<'_>, access: &Access, first: usize) -> Result<(), Diagnostic> {
    let levels = s.program.storage(access.tensor).format.levels();
    let parent = first.checked_sub(1).map(|above| levels[above].kind.properties());
    let several = parent.is_some_and(|p| !p.unique) && !levels[first].kind.properties().branchless;
    if !several && s.program.slicing(access, first).is_none() {
        return Ok(());
    }
    let name = &s.program.tensors[access.tensor].name;
    let (message, help) = match several {
        true => (
            format!(
                "level {first} of {name} repeats coordinates, so that a tile has several stretches of positions"
            ),
            format!("store {name} as levels with coordinates that are unique, such as csr"),
        ),
        false => (
            format!("pos counts positions in tiles of whole levels, and {name} is sliced"),
            format!(
                "compute the slice of {name} by a statement of its own first, or leave split out"
            ),
        ),
    };
    Err(s.refuse(2, message, help))
}

/// Checks that a variable that does not follow from the new loop is not an index.
fn check_no_index(
    s: &Scheduler<'_>,
    name: &str,
    var: IndexVar,
    command: &str,
) -> Result<(), Diagnostic> {
    let mut indexed = None;
    s.kernel().body.for_each_assign(&mut |lhs, _, rhs| {
        let uses = |a: &&Access| a.indices.contains(&var);
        indexed = indexed.or(std::iter::once(lhs).chain(rhs.accesses()).find(uses));
    });
    let Some(access) = indexed else { return Ok(()) };
    let tensor = &s.program.tensors[access.tensor].name;
    let message = format!("{tensor} is indexed by {name}, which {command} does away with");
    let help = format!("use {command} before {tensor} is made, or leave it out");
    Err(s.refuse(0, message, help))
}

/// Checks that there is no work where the operand has no entry.
fn check_decides(
    s: &Scheduler<'_>,
    name: &str,
    var: IndexVar,
    access: &Access,
) -> Result<(), Diagnostic> {
    let facts = Facts { program: &s.program, compute: s.kernel().compute };
    let mut decides = true;
    let _ = at_loops(s.kernel().body.clone(), &[var], &mut |nest| {
        decides &= facts.without(&nest, &|a| a == access).is_none();
        nest
    });
    if decides {
        return Ok(());
    }
    let tensor = s.program.tensors[access.tensor].name.clone();
    let message = format!(
        "pos visits only what {tensor} stores; the loop over {name} has something to do elsewhere"
    );
    let help = "precompute the part that depends on the operand, and use pos there".to_owned();
    Err(s.refuse(2, message, help))
}

pub(super) fn coord(s: &mut Scheduler<'_>, name: &str, coordinate: &str) -> Result<(), Diagnostic> {
    let p = s.loop_var(0, name)?;
    s.check_untagged(0, p)?;
    let of = match s.program.derived.relation(p) {
        Some(Relation::Position { of, within, .. }) => {
            let whole = usize::from(within.is_some());
            let from: Vec<IndexVar> = within.iter().chain(&of[whole..]).copied().collect();
            match from[..] {
                [of] => Some(of),
                _ => s.program.derived.fused(&from),
            }
        }
        Some(&Relation::Same { of, .. }) => Some(of),
        _ => None,
    };
    let Some(of) = of else {
        let message = format!("coord needs positions that pos made; {name} counts others");
        return Err(s.refuse(0, message, "name a variable that pos made".to_owned()));
    };
    check_no_index(s, name, p, "coord")?;
    let var = s.fresh(1, coordinate)?;
    s.program.derived.relate(var, Relation::Same { of, bound: None });
    s.move_tag(var, p);
    s.rewrite(|body| replaced(body, p, &|body| Stmt::forall(&[var], body)));
    Ok(())
}
