//! Why equivalent programs may take more than a few times as much as each other.

use super::comparison::{Cliff, Pair, Taken};
use super::transformation::Transformation;
use crate::case::{Case, Operand};
use tamis_core::format;
use tamis_core::notation::{self, Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::ids::IndexVar;

/// Steps to find, read, move and write an entry, but for those of sorting: a search among 32 takes half of them.
const EACH: f64 = 24.0;
/// Bytes of an entry with its coordinates, and of the buffer that it is sorted in.
const EACH_BYTES: f64 = 64.0;

/// From so many operands that list coordinates on, merges have many cases.
const MANY_LISTS: usize = 3;

/// A reason, as narrow as it can be.
#[derive(Debug)]
pub struct Reason {
    /// One sentence.
    pub why: &'static str,
    /// How many entries of a pair are stored, read or sorted more for it.
    entries: fn(&Pair) -> f64,
}

/// All reasons.
pub const REASONS: &[Reason] = &[
    Reason {
        why: "a statement of its own stores all of its result, also what the next one does not need, sorted, or in \
              an order for which operands are copied",
        entries: |pair| match pair.transformation {
            Transformation::SplitStatement if pair.taken[1].steps > pair.taken[0].steps => {
                let own = pair.taken[1].results.iter().filter(|(name, _)| name == "T");
                let stored: f64 = own.map(|(_, t)| t.vals().len() as f64).sum();
                stored + (pair.taken[1].copied + pair.taken[1].sorted) as f64
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "an operand is copied in the order of the loops, or of its modes for a slice, once and sorted, \
              perhaps only from some size on: n log n",
        entries: |pair| match pair.transformation {
            Transformation::Double => pair.taken[0].copied.max(pair.taken[1].copied) as f64,
            _ if moves(pair) => slower(pair).copied as f64,
            _ => 0.0,
        },
    },
    Reason {
        why: "entries that come in another order than that of the result, or of the statement's own, are \
              sorted: n log n",
        entries: |pair| if moves(pair) { slower(pair).sorted as f64 } else { 0.0 },
    },
    Reason {
        why: "an operand that is stored otherwise is read as it is stored, or copied in another format: what that \
              takes more is what it takes to copy it",
        entries: |pair| match pair.transformation {
            Transformation::Reformat => {
                changed(pair).map(|o| stored(o).max(positions(o))).fold(0.0, f64::max)
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "of loops that cost about the same those are taken that the order of the modes makes the first, \
              and entries of one result are sorted where those of the other are gathered: n log n",
        entries: |pair| match pair.transformation {
            Transformation::PermuteModes => slower(pair).sorted as f64,
            _ => 0.0,
        },
    },
    Reason {
        why: "a list is walked or searched for its diagonal in each iteration of the loops around it, which \
              a statement of its own may have more of",
        entries: |pair| match pair.transformation {
            Transformation::SplitStatement
                if pair.case.operands.iter().any(|o| has_diagonal(&pair.case, &o.name)) =>
            {
                elements(&pair.case)
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "a statement of its own stores products of operands that share no variable, which the next one \
              would take one after the other, and combines each of them with all that it has",
        entries: |pair| match pair.transformation {
            Transformation::SplitStatement if is_outer_product(&pair.other) => {
                let own = pair.taken[1].results.iter().find(|(name, _)| name == "T");
                own.map_or(0.0, |(_, t)| t.vals().len() as f64 * repeats(&pair.other))
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "the terms of a result stored by blocks or diagonals that list coordinates are listed and sorted, or each \
              row is visited for each diagonal",
        entries: |pair| match moves(pair) && lists_blocks(&pair.case) {
            true => elements(&pair.case).max(elements(&pair.other)),
            false => 0.0,
        },
    },
    Reason {
        why: "a product with a sum is computed as it is written: multiplied out, terms may need fewer loops \
              each, or repeat a factor for each term",
        entries: |pair| match pair.transformation {
            Transformation::Distribute => elements(&pair.case),
            _ => 0.0,
        },
    },
    Reason {
        why: "any of what is true is true only if there are coordinates, so that other terms beside it are computed",
        entries: |pair| match pair.transformation {
            Transformation::SplitReduction if any(&pair.other, &is_any_of_true) => {
                elements(&pair.case)
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "a sum of differences stays one sum, since the sums of both sides may be large where the \
              differences are small",
        entries: |pair| match pair.transformation {
            Transformation::AddNegative | Transformation::SplitReduction
                if subtracts(&pair.case) =>
            {
                elements(&pair.case)
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "a factor that is a number, and that may be an empty reduction, stays in the sum where the result, or a \
              temporary for a part of it, lists coordinates",
        entries: |pair| match pair.transformation {
            Transformation::Reformat | Transformation::SplitStatement | Transformation::Double
                if [&pair.case, &pair.other]
                    .into_iter()
                    .any(|case| has_listed_number(case) && !is_plain(case)) =>
            {
                elements(&pair.case)
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "of operands whose merge has many cases some meet in temporaries, and which depends on how they \
              are joined and how many levels list coordinates",
        entries: |pair| {
            use Transformation::{
                AddNegative, Commute, NestReductions, Reassociate, SplitStatement,
            };
            let joins = [AddNegative, Commute, NestReductions, Reassociate, SplitStatement];
            let lists = |case: &Case| case.operands.iter().map(listed_levels).sum::<usize>();
            let differs = match pair.transformation {
                Transformation::Reformat => lists(&pair.case) != lists(&pair.other),
                other => joins.contains(&other),
            };
            match differs && listing(&pair.case) >= MANY_LISTS {
                true => elements(&pair.case),
                false => 0.0,
            }
        },
    },
];

impl Reason {
    /// How much more one of a pair may take for this reason.
    pub fn extra(&self, pair: &Pair, cliff: Cliff) -> u64 {
        let entries = (self.entries)(pair);
        let extra = match cliff {
            Cliff::Steps => entries * (EACH + entries.max(1.0).log2()),
            Cliff::Bytes => entries * EACH_BYTES,
        };
        extra as u64
    }
}

/// The operands that are stored otherwise, both ways.
fn changed(pair: &Pair) -> impl Iterator<Item = &Operand> {
    let both = pair.case.operands.iter().zip(&pair.other.operands);
    both.filter(|(a, b)| a.format != b.format).flat_map(|(a, b)| [a, b])
}

/// How many values an operand stores.
fn stored(operand: &Operand) -> f64 {
    operand.tensor().map_or(0.0, |t| t.vals().len() as f64)
}

/// Whether a transformation changes what order entries have.
fn moves(pair: &Pair) -> bool {
    use Transformation::{
        Distribute, Double, Reformat, SliceWhole, SplitReduction, SplitStatement,
    };
    let those = [Distribute, Double, Reformat, SliceWhole, SplitReduction, SplitStatement];
    those.contains(&pair.transformation)
}

fn slower(pair: &Pair) -> &Taken {
    let [a, b] = &pair.taken;
    if a.steps > b.steps { a } else { b }
}

/// Whether an operand is used with the same variable for two of its modes.
fn has_diagonal(case: &Case, name: &str) -> bool {
    let Ok(program) = notation::parse(&case.text) else { return false };
    let accesses = program.statements.iter().flat_map(|s| s.value.accesses());
    let mut of_name = accesses.filter(|a| program.tensors[a.tensor].name == name);
    of_name.any(|a| (1..a.indices.len()).any(|k| a.indices[..k].contains(&a.indices[k])))
}

/// How many combinations of all variables there are.
fn elements(case: &Case) -> f64 {
    case.dims.values().map(|&d| d as f64).product()
}

/// Whether a difference is summed.
fn subtracts(case: &Case) -> bool {
    any(case, &|e| match e {
        Expr::Reduce { op: ReduceOp::Add, body, .. } => {
            let mut found = false;
            body.walk(&mut |e| found |= matches!(e, Expr::Binary(BinaryOp::Sub, ..)));
            found
        }
        _ => false,
    })
}

/// The statement of its own, which runs first, and the variables of `T`.
fn own_statement(case: &Case) -> Option<(Expr, Vec<IndexVar>)> {
    let program = notation::parse(&case.text).ok()?;
    let first = program.statements.into_iter().next()?;
    Some((first.value, first.result.indices))
}

/// Whether no operand of the statement of its own has all its variables.
fn is_outer_product(case: &Case) -> bool {
    let Some((value, vars)) = own_statement(case) else { return false };
    let has_all = |e: &Expr| vars.iter().all(|v| e.free_vars().contains(v));
    let mut operands = vec![];
    value.walk(&mut |e| {
        if matches!(e, Expr::Access(_)) {
            operands.push(has_all(e));
        }
    });
    !operands.contains(&true)
}

/// How many combinations there are of the variables that `T` lacks.
fn repeats(case: &Case) -> f64 {
    let Ok(program) = notation::parse(&case.text) else { return 1.0 };
    let Some((_, vars)) = own_statement(case) else { return 1.0 };
    let lacked = program.vars.enumerate().filter(|(v, _)| !vars.contains(v));
    lacked.filter_map(|(_, v)| case.dims.get(&v.name)).map(|&d| d as f64).product()
}

/// How many positions the levels of an operand have.
fn positions(operand: &Operand) -> f64 {
    let levels = |t: &tamis::Tensor| t.levels().iter().flat_map(|l| &l.pos).map(|p| p.len()).sum();
    operand.tensor().map_or(0.0, |t| {
        let n: usize = levels(&t);
        n as f64
    })
}

/// Whether a product, or in a minimum or maximum a sum, is reduced of which some factors, one of them of listed coordinates, have variables that neither
/// other factors nor the result have.
fn has_listed_number(case: &Case) -> bool {
    let Ok(program) = notation::parse(&case.text) else { return false };
    let is_listed = |a: &&Access| lists(case, &program.tensors[a.tensor].name);
    any(case, &|e| {
        let Expr::Reduce { op, vars, body } = e else { return false };
        let times = match op {
            ReduceOp::Add => BinaryOp::Mul,
            ReduceOp::Min | ReduceOp::Max => BinaryOp::Add,
            _ => return false,
        };
        let mut factors = vec![];
        flatten(body, times, &mut factors);
        let is_number = |first: &&Expr| {
            let mut own = first.free_vars();
            let is_met = |f: &Expr, own: &[IndexVar]| f.free_vars().iter().any(|v| own.contains(v));
            for _ in 0..factors.len() {
                let met = factors.iter().filter(|f| is_met(f, &own));
                own = met.flat_map(|f| f.free_vars()).collect();
            }
            let is_own = |f: &&&Expr| is_met(f, &own);
            own.iter().all(|v| vars.contains(v))
                && factors.iter().filter(is_own).count() < factors.len()
        };
        let listed = |f: &&&Expr| f.accesses().iter().any(is_listed);
        factors.iter().filter(listed).any(is_number)
    })
}

/// Whether all operands have dense or compressed levels of modes.
fn is_plain(case: &Case) -> bool {
    let is_basic = |o: &Operand| {
        format::parse(&o.format, Some(o.dims.len())).is_ok_and(|spec| spec.format.is_basic())
    };
    case.operands.iter().all(is_basic)
}

/// The factors of a product.
fn flatten<'e>(e: &'e Expr, times: BinaryOp, into: &mut Vec<&'e Expr>) {
    match e {
        Expr::Binary(op, a, b) if *op == times => {
            flatten(a, times, into);
            flatten(b, times, into);
        }
        factor => into.push(factor),
    }
}

/// Whether an expression of a case is of a kind.
fn any(case: &Case, is: &dyn Fn(&Expr) -> bool) -> bool {
    let Ok(program) = notation::parse(&case.text) else { return false };
    let mut found = false;
    for statement in &program.statements {
        statement.value.walk(&mut |e| found |= is(e));
    }
    found
}

/// Whether a result has levels that list coordinates, and levels of blocks or diagonals.
fn lists_blocks(case: &Case) -> bool {
    case.results.values().any(|text| {
        format::parse(text, None)
            .is_ok_and(|spec| !spec.format.is_full() && !spec.format.stores_modes())
    })
}

/// Whether an expression is `any` of what is true by a literal.
fn is_any_of_true(e: &Expr) -> bool {
    fn is_true(e: &Expr) -> bool {
        match e {
            Expr::Literal(c) => !c.is_zero(),
            Expr::Binary(BinaryOp::Or, a, b) => is_true(a) || is_true(b),
            _ => false,
        }
    }
    matches!(e, Expr::Reduce { op: ReduceOp::Or, body, .. } if is_true(body))
}

/// How many levels of an operand list coordinates.
fn listed_levels(operand: &Operand) -> usize {
    let spec = format::parse(&operand.format, Some(operand.dims.len()));
    let lists = |l: &&format::LevelSpec| !l.kind.properties().full;
    spec.map_or(0, |spec| spec.format.levels().iter().filter(lists).count())
}

/// How many uses of operands there are that list coordinates.
fn listing(case: &Case) -> usize {
    let Ok(program) = notation::parse(&case.text) else { return 0 };
    let accesses = program.statements.iter().flat_map(|s| s.value.accesses());
    accesses.filter(|a| lists(case, &program.tensors[a.tensor].name)).count()
}

/// Whether an operand of this name lists coordinates.
fn lists(case: &Case, name: &str) -> bool {
    case.operands.iter().filter(|o| o.name == name).any(|o| {
        let spec = format::parse(&o.format, Some(o.dims.len()));
        spec.is_ok_and(|spec| !spec.format.is_full())
    })
}
