//! Vectorises the loops that a schedule asks for: several iterations per instruction, whatever is inside.
//!
//! ```text
//! parallelize(k, cpu_vector)
//!
//! for k in 0..n {                            for k in 0..n / 8 * 8 step 8 {
//!   s = 0.0                                    s_lanes = splat(0.0, 8)
//!   for p in row {                             for p in row {
//!     s = fma(A[p], B[j * n + k], s)             s_lanes = fma(splat(A[p], 8), B[j * n + k; 8], s_lanes)
//!   }                                          }
//!   C[i * n + k] = s                           C[i * n + k; 8] = s_lanes
//! }                                          }
//!                                            for k in n / 8 * 8..n { as before }
//! ```
//!
//! A lane does the work of an iteration, in the same order, so no bit changes. Loops that sum into one value were
//! split over vectors before (`sums`), and dense loops without inner loops are tiled into registers afterwards if the
//! machine is known (`tile`): both do what the schedule asks for.

use crate::algebra::BinaryOp;
use crate::datatype::{DataType, Register};
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, mul, sub};
use crate::ir::flow::{assigned, exposes, mentions, replace};
use crate::ir::{ArrayRole, Expr, Function, Stmt, Type};
use crate::transform::affine::{Scattered, beside, most_iterations, widened_beside};
use crate::transform::vector::register_tile;
use crate::transform::{Target, for_each, fresh, rewrite};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes of vectors, as in sums: backends split them where registers are narrower.
const VECTOR_BYTES: usize = 64;

/// Why a loop cannot be vectorised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// The loop is not counted, or is fully unrolled.
    Uncounted,
    /// Its iterations depend on each other.
    Combined,
    /// Conditions or inner loops depend on the iteration.
    Branches,
    /// Elements are not contiguous.
    Scattered,
    /// Vectors lack an operation or a type.
    Operation,
    /// The loop has a single iteration.
    Short,
}

impl Obstacle {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Obstacle::Uncounted => {
                "it merges what several operands store, searches, or is written out"
            }
            Obstacle::Combined => {
                "its iterations are combined into one value or list, which lanes do for sums, \
                 minima and maxima of floats alone"
            }
            Obstacle::Branches => {
                "what it does, or how often, differs from one iteration to another"
            }
            Obstacle::Scattered => "it reads or writes elements that are not next to each other",
            Obstacle::Operation => {
                "vectors are of f32 or f64, and have + - * /, min, max, abs, sqrt, square and cube \
                 alone"
            }
            Obstacle::Short => "it has one iteration",
        }
    }
}

/// The pass. Vectorises either every loop over a marked variable, or none.
pub(in crate::transform) fn vectorize(function: Function, target: Target) -> Function {
    if !function.vars.iter().any(|v| v.by_lanes) {
        return function;
    }
    let mut wider = function.clone();
    let body = std::mem::take(&mut wider.body);
    let (mut done, mut failed) = (vec![], false);
    let body = rewrite(body, &mut |s| {
        let var = marked(&function, s)?;
        let wide = widened(&mut wider, s);
        failed |= wide.is_err();
        done.push(var);
        let tiled = fits_tiles(&wider, s, target) && register_tile::is_tileable(&wider, s);
        Some(if tiled { vec![s.clone()] } else { wide.ok()? })
    });
    if failed {
        return function;
    }
    done.into_iter().for_each(|var| wider.vars[var].by_lanes = false);
    Function { body, ..wider }
}

/// Why a loop that was to be vectorised is not, if there is one.
pub fn obstacle(function: &Function) -> Option<Obstacle> {
    function.vars.iter().find(|v| v.by_lanes)?;
    let mut found = None;
    let mut scratch = function.clone();
    let _ = rewrite(function.body.clone(), &mut |s| {
        marked(function, s)?;
        // A loop that was split before has steps, and the remaining loop gives the reason.
        found = found.filter(|why| *why != Obstacle::Uncounted).or(widened(&mut scratch, s).err());
        None
    });
    Some(found.unwrap_or(Obstacle::Uncounted))
}

/// Whether a loop has enough iterations for the narrowest register tiles, if there are such tiles.
fn fits_tiles(function: &Function, s: &Stmt, target: Target) -> bool {
    let Stmt::For { lo, hi, body, .. } = s else { return false };
    let mut size = 1;
    for_each(body, &mut |s| {
        if let Stmt::Store { array, .. } = s {
            size = size.max(function.arrays[*array].elem.size());
        }
    });
    let narrowest = usize::from(target.vector_bytes.min(32)) / size;
    narrowest > 0 && most_iterations(lo, hi).is_none_or(|most| most >= narrowest as i64)
}

/// The variable of a loop that is to be vectorised.
fn marked(function: &Function, s: &Stmt) -> Option<Var> {
    match s {
        Stmt::For { var, .. } => function.vars[*var].by_lanes.then_some(*var),
        _ => None,
    }
}

fn widened(function: &mut Function, s: &Stmt) -> Result<Vec<Stmt>, Obstacle> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return Err(Obstacle::Uncounted) };
    let mut changed = vec![];
    assigned(body, &mut changed);
    let varying = varying(*var, body);
    let lanes = lanes(function, &varying, body, most_iterations(lo, hi))?;
    let mut vectors = BTreeMap::new();
    for &v in varying.iter().filter(|v| changed.contains(v)) {
        let ty = function.vars[v].ty;
        if ty.register.is_float() && ty.lanes == 1 {
            let name = format!("{}_lanes", function.vars[v].name);
            vectors.insert(v, fresh(function, &name, Type { lanes, ..ty }));
        }
    }
    let mut widening =
        Widening { function, var: *var, lanes, varying, vectors, names: BTreeMap::new() };
    let wide = widening.block(body)?;
    check_apart(*var, &wide)?;
    if changed.iter().any(|v| exposes(body, *v)) {
        return Err(Obstacle::Combined);
    }
    let name = function.vars[*var].name.clone();
    let first = fresh(function, &format!("{name}_first"), Type::INDEX);
    let rest = fresh(function, &format!("{name}_rest"), Type::INDEX);
    let width = i64::from(lanes);
    let count = binary(BinaryOp::Max, sub(hi.clone(), Expr::Var(first)), int(0));
    let whole = mul(binary(BinaryOp::Div, count, int(width)), int(width));
    let (from, to) = (Expr::Var(first), Expr::Var(rest));
    Ok(vec![
        assign(first, lo.clone()),
        assign(rest, add(from.clone(), whole)),
        Stmt::For { var: *var, lo: from, hi: to.clone(), step: width, body: wide },
        Stmt::For { var: *var, lo: to, hi: hi.clone(), step: 1, body: body.clone() },
    ])
}

/// The variables whose values differ between iterations.
fn varying(var: Var, body: &[Stmt]) -> BTreeSet<Var> {
    let mut found = BTreeSet::from([var]);
    loop {
        let before = found.len();
        spread(body, &mut found);
        if found.len() == before {
            return found;
        }
    }
}

fn spread(block: &[Stmt], found: &mut BTreeSet<Var>) {
    for s in block {
        if let Stmt::Assign { var, value } = s
            && found.iter().any(|v| mentions(value, *v))
        {
            found.insert(*var);
        }
        s.blocks().for_each(|b| spread(b, found));
    }
}

/// The number of lanes of vectors of the widest float type; at most as many as the loop has iterations.
fn lanes(
    function: &Function,
    varying: &BTreeSet<Var>,
    body: &[Stmt],
    most: Option<i64>,
) -> Result<u16, Obstacle> {
    let mut registers: Vec<Register> = varying
        .iter()
        .map(|v| function.vars[*v].ty.register)
        .filter(|register| register.is_float())
        .collect();
    let (mut plain, mut lists) = (true, false);
    for_each(body, &mut |s| {
        if let Stmt::Store { array, .. } = s {
            let elem = function.arrays[*array].elem;
            plain &= matches!(elem, DataType::F32 | DataType::F64);
            lists |= function.arrays[*array].role == ArrayRole::Result && !elem.is_float();
            registers.push(elem.register());
        }
        // Operands may be narrower than their sum.
        s.exprs().for_each(|e| {
            e.walk(&mut |e| {
                registers.extend(Some(function.type_of(e).register).filter(|r| r.is_float()))
            })
        });
    });
    match registers.iter().map(|r| r.datatype().size()).max() {
        Some(widest) if plain => lanes_within(VECTOR_BYTES / widest, most).ok_or(Obstacle::Short),
        _ => Err(if lists { Obstacle::Combined } else { Obstacle::Operation }),
    }
}

/// `lanes`, or the largest power of two that a loop with at most `most` iterations fills; `None` if that is 1.
pub(super) fn lanes_within(lanes: usize, most: Option<i64>) -> Option<u16> {
    let most = most.map_or(lanes, |most| 1 << most.max(1).ilog2().min(16));
    Some(lanes.min(most) as u16).filter(|lanes| *lanes > 1)
}

/// Refuses loops in which a lane may access an element that another lane writes.
fn check_apart(var: Var, wide: &[Stmt]) -> Result<(), Obstacle> {
    let mut written: BTreeMap<Array, Vec<Expr>> = BTreeMap::new();
    for_each(wide, &mut |s| {
        if let Stmt::Store { array, index, .. } = s {
            written.entry(*array).or_default().push(index.clone());
        }
    });
    let mut apart = true;
    for_each(wide, &mut |s| {
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Load { array, index, .. } = e
                    && let Some(places) = written.get_mut(array)
                {
                    places.push((**index).clone());
                }
            });
        }
    });
    for places in written.values() {
        let first = beside(&places[0], var);
        apart &= first.is_some() && places.iter().all(|place| beside(place, var) == first);
    }
    if apart { Ok(()) } else { Err(Obstacle::Combined) }
}

/// The state of rewriting the code of one iteration for several.
struct Widening<'f> {
    function: &'f Function,
    var: Var,
    lanes: u16,
    varying: BTreeSet<Var>,
    /// The vector for each scalar variable.
    vectors: BTreeMap<Var, Var>,
    /// The values of index variables that differ between iterations.
    names: BTreeMap<Var, Expr>,
}

impl Widening<'_> {
    fn block(&mut self, block: &[Stmt]) -> Result<Vec<Stmt>, Obstacle> {
        let mut out = vec![];
        for s in block {
            out.extend(self.stmt(s)?);
        }
        Ok(out)
    }

    fn stmt(&mut self, s: &Stmt) -> Result<Option<Stmt>, Obstacle> {
        Ok(Some(match s {
            Stmt::Assign { var, value } => {
                if let Some(&vector) = self.vectors.get(var) {
                    return Ok(Some(assign(vector, self.wide(value)?)));
                }
                let value = self.named(value);
                self.forget(&[*var]);
                if self.varying.contains(var) {
                    self.names.insert(*var, value);
                    return Ok(None);
                }
                assign(*var, value)
            }
            Stmt::For { var, lo, hi, step, body } => {
                let (lo, hi) = (self.uniform(lo)?, self.uniform(hi)?);
                self.forget_in(s);
                let body = self.inner(body)?;
                Stmt::For { var: *var, lo, hi, step: *step, body }
            }
            Stmt::While { cond, body } => {
                self.forget_in(s);
                Stmt::While { cond: self.uniform(cond)?, body: self.inner(body)? }
            }
            Stmt::If { cond, then, otherwise } => {
                let cond = self.uniform(cond)?;
                let (then, otherwise) = (self.inner(then)?, self.inner(otherwise)?);
                self.forget_in(s);
                Stmt::If { cond, then, otherwise }
            }
            Stmt::Store { array, index, value } => {
                let index = self.named(index);
                beside(&index, self.var).ok_or(Obstacle::Scattered)?;
                Stmt::Store { array: *array, index, value: self.wide(value)? }
            }
            // Prefetch hints are added later, and are no obstacle.
            Stmt::Prefetch { .. } => return Ok(None),
            _ => return Err(Obstacle::Combined),
        }))
    }

    /// A block that may run any number of times.
    fn inner(&mut self, block: &[Stmt]) -> Result<Vec<Stmt>, Obstacle> {
        let names = self.names.clone();
        let wide = self.block(block);
        self.names = names;
        wide
    }

    /// Forgets values of index variables that depend on changed variables.
    fn forget(&mut self, changed: &[Var]) {
        self.names
            .retain(|name, e| !changed.contains(name) && !changed.iter().any(|v| mentions(e, *v)));
    }

    fn forget_in(&mut self, s: &Stmt) {
        let mut changed = vec![];
        assigned(std::slice::from_ref(s), &mut changed);
        self.forget(&changed);
    }

    /// An expression with index variables replaced by their values.
    fn named(&self, e: &Expr) -> Expr {
        self.names.iter().fold(e.clone(), |e, (name, value)| replace(e, *name, value))
    }

    /// An expression that is the same in all iterations.
    fn uniform(&self, e: &Expr) -> Result<Expr, Obstacle> {
        let differs = self.varying.iter().any(|v| mentions(e, *v));
        if differs { Err(Obstacle::Branches) } else { Ok(e.clone()) }
    }

    /// The expression for all lanes.
    fn wide(&self, e: &Expr) -> Result<Expr, Obstacle> {
        let e = self.named(e);
        let left = |v: &Var| *v != self.var && !self.vectors.contains_key(v) && mentions(&e, *v);
        if self.varying.iter().any(left) {
            return Err(Obstacle::Scattered);
        }
        let at = (self.var, self.lanes);
        let wide = widened_beside(self.function, &e, at, (&self.vectors, Scattered::Refused));
        wide.ok_or_else(|| self.obstacle(&e))
    }

    /// Why an expression cannot be vectorised.
    fn obstacle(&self, e: &Expr) -> Obstacle {
        let mut scattered = false;
        e.walk(&mut |e| {
            if let Expr::Load { index, .. } = e {
                scattered |= mentions(index, self.var) && beside(index, self.var).is_none();
            }
        });
        if scattered { Obstacle::Scattered } else { Obstacle::Operation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;
    use crate::transform::transform;

    const HEAD: &str = "fn f(n: i64, m: i64, pos: in [i32], crd: in [i32], A: in [f64], B: in [f32], \
                        y: out [f64], z: out [i64], l: result [i64]) {\n  var p, j: i64\n  var s: f64\n";

    fn read(body: &str, lanes: &str) -> Function {
        let text = format!("{HEAD}  var k: i64{lanes}\n{body}\n}}\n");
        let function = parse(&text).unwrap_or_else(|d| panic!("{d}"));
        verify(&function).unwrap_or_else(|d| panic!("{d}"));
        function
    }

    /// The vector loop of `for k in 0..n` with this body.
    fn check(body: &str, expect: &str) {
        let function = read(&format!("for k in 0..n {{ {body} }}"), " by lanes");
        let after = vectorize(function, Target::SCALAR);
        verify(&after).unwrap_or_else(|d| panic!("{d}\n{after}"));
        assert!(parse(&after.to_string()).as_ref() == Ok(&after), "{after}");
        let text = after.to_string();
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let wide = format!("for k in k_first..k_rest step 8 {{ {expect} }}");
        assert!(squeezed.contains(&wide), "expected {wide} in\n{text}");
        assert_eq!(obstacle(&after), None);
    }

    #[test]
    fn lanes_run_what_is_inside_of_a_loop() {
        check(
            "s = 0.0 for p in 0..m { j = i64(crd[p]) s = fma(A[p], A[j * n + k], s) } y[m + k] = s",
            "s_lanes = splat(0.0, 8) for p in 0..m { j = i64(crd[p]) \
             s_lanes = fma(splat(A[p], 8), A[j * n + k; 8], s_lanes) } y[m + k; 8] = s_lanes",
        );
        check(
            "j = m * n + k if n < 3 { y[j] = A[j] } else { y[j] = y[j] + 1.0 }",
            "if n < 3 { y[m * n + k; 8] = A[m * n + k; 8] } \
             else { y[m * n + k; 8] = y[m * n + k; 8] + splat(1.0, 8) }",
        );
    }

    #[test]
    fn other_loops_have_a_reason() {
        for (body, expect) in [
            (
                "s = 0.0 for p in i64(pos[k])..i64(pos[k + 1]) { s = fma(A[p], A[p], s) } y[k] = s",
                Obstacle::Branches,
            ),
            ("if A[k] < 1.0 { y[k] = 1.0 }", Obstacle::Branches),
            ("y[k] = A[i64(crd[k])]", Obstacle::Scattered),
            ("y[k * n] = A[k]", Obstacle::Scattered),
            ("y[m] = A[k]", Obstacle::Scattered),
            ("y[k] = y[k + 1]", Obstacle::Combined),
            ("y[k] = A[k] y[k + 1] = A[k]", Obstacle::Combined),
            ("s = s + A[k] y[k] = s", Obstacle::Combined),
            ("j = j + 1 y[k] = A[k]", Obstacle::Combined),
            ("reserve l, n l[k] = k y[k] = A[k]", Obstacle::Combined),
            ("y[k] = atan2(A[k], 1.0)", Obstacle::Operation),
            ("z[k] = 1", Obstacle::Operation),
        ] {
            let before = if expect == Obstacle::Combined { "s = 0.0 j = 0 " } else { "" };
            let function = read(&format!("{before}for k in 0..n {{ {body} }}"), " by lanes");
            let after = vectorize(function.clone(), Target::SCALAR);
            assert!(after == function, "{after}");
            assert_eq!(obstacle(&after), Some(expect), "{after}");
        }
        let merged = read("k = 0 while k < n { y[k] = 1.0 k = k + 1 }", " by lanes");
        assert_eq!(obstacle(&merged), Some(Obstacle::Uncounted));
        assert_eq!(obstacle(&read("for k in 0..n { y[k] = y[n] }", "")), None);
    }

    #[test]
    fn loops_of_few_iterations_have_as_many_lanes_as_they_fill() {
        for (end, lanes) in [("4", 4), ("min(n, 4)", 4), ("3", 2), ("min(n, 12)", 8)] {
            let function = read(&format!("for k in 0..{end} {{ y[k] = A[k] }}"), " by lanes");
            let after = vectorize(function, Target::SCALAR);
            let wide = format!("y[k; {lanes}] = A[k; {lanes}]");
            assert!(after.to_string().contains(&wide), "{after}");
            assert_eq!(obstacle(&after), None);
        }
        let one = read("for k in 0..min(n, 1) { y[k] = A[k] }", " by lanes");
        assert_eq!(obstacle(&one), Some(Obstacle::Short));
    }

    #[test]
    fn a_loop_that_is_gone_is_told() {
        let gone = transform(read("y[0] = A[0]", " by lanes"), Target::SCALAR);
        assert_eq!(obstacle(&gone), Some(Obstacle::Uncounted));
    }

    #[test]
    fn lanes_run_all_loops_over_a_variable_or_none() {
        for (other, expect) in [
            ("for k in 0..n { y[i64(crd[k])] = A[k] }", Obstacle::Scattered),
            ("for k in 0..n step 4 { y[k] = A[k] }", Obstacle::Uncounted),
        ] {
            let function = read(&format!("for k in 0..n {{ y[k] = A[k] }} {other}"), " by lanes");
            let after = vectorize(function.clone(), Target::SCALAR);
            assert!(after == function, "{after}");
            assert_eq!(obstacle(&after), Some(expect), "{after}");
        }
        let both = "for k in 0..n { y[k] = A[k] } for k in 0..m { y[k] = y[k] + 1.0 }";
        let after = vectorize(read(both, " by lanes"), Target::SCALAR);
        assert_eq!(after.to_string().matches(" step 8 ").count(), 2, "{after}");
        assert_eq!(obstacle(&after), None);
    }
}
