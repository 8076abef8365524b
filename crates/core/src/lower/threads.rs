//! Functions that run the parts of a loop on threads themselves: text that is compiled without the runtime.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      csr, parallelize(i, cpu_thread, no_races)
//!
//! parts = max(min(A1_size, 256), 1);  each = A1_size / parts;  rest = A1_size mod parts
//! for part in 0..parts on cpu_thread {
//!   i_begin = part * each + min(part, rest);  i_end = ..
//!   for i in i_begin..i_end ..
//! }
//! ```
//!
//! Parts write disjoint elements of the result; or each part has its own memory, and the results are combined element
//! by element or concatenated, in order of the parts. The number of parts depends on the operands alone, so results
//! are the same, bit for bit, for any number of threads.

use super::builder::Builder;
use super::concatenate::{Concatenated, concatenated};
use super::partition::Interval;
use super::scope::Scope;
use super::symbols::Symbols;
use super::value::Vals;
use super::{Lowered, Lowerer};
use crate::cin::{Kernel, KernelKind, Program, Root};
use crate::plan::{self, CutBy, Join, NotCut, Output, Partition, Plan};
use std::cell::RefCell;
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, TensorId, Var};
use tamis_ir::ir::build::{add, all, assign, binary, div, eq, for_loop, int, load, lt, mul, sub};
use tamis_ir::ir::build::{store, when};
use tamis_ir::ir::{self, Expr, Stmt, Unit};

/// Enough parts to keep any number of threads busy.
const MOST_PARTS: i64 = 256;
/// Enough parts for an inner loop: each part also runs the loops around it.
const MOST_INSIDE: i64 = 16;
/// The largest number of parts where each has memory for the whole result.
const MOST_COMBINED: i64 = 64;
/// The smallest such number, whatever the work is.
const LEAST_COMBINED: i64 = 4;

/// The function of a kernel that runs the parts of a loop itself, if the kernel wants that and a schedule gives a loop
/// to threads. If the parts' results cannot be joined, the function runs on one thread, and says why.
pub(super) fn threaded(program: &Program, kernel: &Kernel, name: &str) -> Option<Lowered> {
    let asked = kernel.tags.values().any(|tag| tag.is_on_threads());
    if !kernel.cut.threaded || !asked || kernel.kind == KernelKind::Assemble {
        return None;
    }
    let mut own = kernel.clone();
    own.cut.chunked = true;
    let plan = plan::plan(program, &own);
    let partition = plan.parts.as_ref().ok()?;
    if let Some(why) = on_one(partition) {
        own.cut.chunked = false;
        own.cut.threaded = false;
        let plan = plan::plan(program, &own);
        let mut lowered = super::lower(program, &own, &plan, name);
        let var = &program.vars[partition.var];
        let why = format!("one thread runs {var}: {why}");
        lowered.function.body.insert(0, Stmt::Comment(why));
        return Some(lowered);
    }
    plan::verify::assert_valid(program, &own, &plan);
    let lowered = lowered(program, &own, &plan, name);
    Some(Lowered { partition: Err(NotCut::NotAsked), ..lowered })
}

fn lowered(program: &Program, kernel: &Kernel, plan: &Plan, name: &str) -> Lowered {
    Lowerer::new(program, kernel, plan, name).lowered().expect("nothing of it is for a GPU")
}

/// Why parts run one after another.
fn on_one(partition: &Partition) -> Option<&'static str> {
    match partition.join {
        Join::Pack { .. } => Some("entries of parts would be sorted, and packed, together"),
        Join::Concatenate | Join::Shared { .. } | Join::Combine(_) | Join::Overlap { .. } => None,
    }
}

/// The parts of a kernel in code.
pub(super) struct Parts<'p> {
    partition: &'p Partition,
    /// The part that an iteration runs, and the number of parts.
    part: Var,
    parts: Var,
    /// The first iteration of the loop that is cut.
    first: Expr,
    /// The sizes of equal parts.
    even: Even,
    begin: Var,
    end: Var,
    /// Statements before the loop over parts.
    before: Vec<Stmt>,
}

/// Parts of equal size, except that the first few have one iteration more.
struct Even {
    each: Var,
    rest: Var,
}

impl Even {
    fn declared(cx: &mut Builder, of: Var, size: &Expr, parts: Var, into: &mut Vec<Stmt>) -> Even {
        let (each, rest) = (cx.temp_of(of, "_each"), cx.temp_of(of, "_rest"));
        let parts = || Expr::Var(parts);
        into.push(assign(each, div(size.clone(), parts())));
        into.push(assign(rest, sub(size.clone(), mul(Expr::Var(each), parts()))));
        Even { each, rest }
    }

    /// The number of iterations before a part.
    fn before(&self, part: Expr) -> Expr {
        let more = binary(BinaryOp::Min, part.clone(), Expr::Var(self.rest));
        add(mul(part, Expr::Var(self.each)), more)
    }
}

impl<'p> Parts<'p> {
    /// Declares the parts, before everything else.
    pub(super) fn declared(cx: &mut Symbols<'_>, partition: &'p Partition) -> Parts<'p> {
        let index = cx.index(partition.var);
        let (first, last) = match (partition.cut.is_by_position(), &partition.leads[..]) {
            (true, &[lead]) => (int(0), cx.positions_at(lead, 0..1, int(1))),
            _ => cx.range(partition.var, &Scope::default()),
        };
        let (begin, end) = (cx.temp_of(index, "_begin"), cx.temp_of(index, "_end"));
        let (part, parts) = (cx.temp("part"), cx.temp("parts"));
        // Sizes of the result's levels are needed before and after the loop over parts.
        cx.result();
        let size = cx.temp_of(index, "_count");
        let count = Expr::Var(size);
        let mut before = vec![assign(size, sub(last, first.clone()))];
        let most = match partition.join {
            Join::Combine(_) => most_combined(cx, partition),
            _ if cx.kernel.body.loops().first() != Some(&partition.var) => int(MOST_INSIDE),
            _ => int(MOST_PARTS),
        };
        let wanted = binary(BinaryOp::Min, count.clone(), most);
        before.push(assign(parts, binary(BinaryOp::Max, wanted, int(1))));
        let even = Even::declared(cx, index, &count, parts, &mut before);
        let mut all = std::mem::take(&mut cx.prologue);
        all.extend(before);
        Parts { partition, part, parts, first, even, begin, end, before: all }
    }

    /// The interval of a part.
    pub(super) fn interval(&self) -> Interval<'p> {
        let (first, last) = (Expr::Var(self.begin), Expr::Var(self.end));
        Interval { partition: self.partition, first, last }
    }

    /// The loop over all parts, given the code of one.
    pub(super) fn run(self, cx: &mut Symbols<'_>, output: &Output, code: Vec<Stmt>) -> Vec<Stmt> {
        let mut own = self.bounds(cx);
        let mut stmts = vec![];
        let outer = std::mem::take(&mut cx.prologue);
        let joined = match self.partition.join {
            Join::Shared { initial } => {
                let (vals, size) = (cx.result().vals, full_size(cx));
                let filled = initial.map(|initial| cx.filled(vals, int(0), size, initial));
                stmts.extend(filled.into_iter().flatten());
                own.extend(code);
                vec![]
            }
            Join::Combine(op) => Combined::whole(cx, &self, op).joined(cx, &self, &mut own, code),
            Join::Overlap { op, initial } => {
                let rows = Combined::rows(cx, &self, (op, initial), &mut own);
                rows.joined(cx, &self, &mut own, code)
            }
            Join::Concatenate => {
                let rows = self.interval().own_rows(cx, output);
                let Concatenated { before, part, after } = concatenated(cx, rows, code);
                stmts.extend(before);
                own.extend(part);
                after
            }
            Join::Pack { .. } => unreachable!("these run on one thread"),
        };
        let room = std::mem::replace(&mut cx.prologue, outer);
        let all = on_threads(self.part, Expr::Var(self.parts), own);
        [self.before, room, stmts, vec![all], joined].concat()
    }

    /// The statements that compute the interval of a part.
    fn bounds(&self, cx: &mut Symbols<'_>) -> Vec<Stmt> {
        let at = |part: Expr| add(self.first.clone(), self.even.before(part));
        let part = Expr::Var(self.part);
        let mut stmts =
            vec![assign(self.begin, at(part.clone())), assign(self.end, at(add(part, int(1))))];
        if let (CutBy::Segments, &[lead]) = (self.partition.cut, &self.partition.leads[..]) {
            let level = cx.arrays(lead).levels[0].clone();
            let last = cx.positions_at(lead, 0..1, int(1));
            let is_inside = |at: Expr| {
                let begun = binary(BinaryOp::Gt, at.clone(), int(0));
                all([begun, lt(at, last.clone())])
            };
            for at in [self.begin, self.end] {
                let before = level.coordinate(sub(Expr::Var(at), int(1)));
                let same = eq(before, level.coordinate(Expr::Var(at)));
                let cond = all([is_inside(Expr::Var(at)), same]);
                let body = vec![assign(at, add(Expr::Var(at), int(1)))];
                stmts.push(Stmt::While { cond, body });
            }
        }
        stmts
    }
}

/// A loop whose iterations threads share.
fn on_threads(var: Var, hi: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::Parallel { unit: Unit::Core, var, lo: int(0), hi, combined: vec![], body }
}

/// The largest number of parts where each has memory for the whole result: together they have about as many elements
/// as there are entries.
fn most_combined(cx: &mut Symbols<'_>, partition: &Partition) -> Expr {
    let lead = partition.leads.iter().find(|&&lead| lead != cx.kernel.result);
    let Some(&lead) = lead else { return int(MOST_COMBINED) };
    let entries = Expr::Len(cx.arrays(lead).vals.arrays()[0]);
    let size = binary(BinaryOp::Max, full_size(cx), int(1));
    let worthwhile = binary(BinaryOp::Max, div(entries, size), int(LEAST_COMBINED));
    binary(BinaryOp::Min, worthwhile, int(MOST_COMBINED))
}

/// The number of values of the result.
fn full_size(cx: &mut Symbols<'_>) -> Expr {
    let levels = cx.result().levels.len();
    cx.positions_at(cx.kernel.result, 0..levels, int(1))
}

/// The values of parts, from which those of the result are combined.
struct Combined {
    op: ReduceOp,
    /// The values of all parts.
    vals: Vals,
    /// A part's value of element `e` is at `e`, plus the stride times the number of the part.
    stride: Var,
    size: Var,
    rows: Option<Windows>,
}

/// The ranges of elements for which parts have values, if these are not all.
struct Windows {
    initial: tamis_ir::datatype::Scalar,
    from: Array,
    to: Array,
}

impl Combined {
    /// Memory for the values of all elements in each part.
    fn whole(cx: &mut Symbols<'_>, parts: &Parts<'_>, op: ReduceOp) -> Combined {
        let size = cx.temp("size");
        let full = full_size(cx);
        cx.prologue.push(assign(size, full));
        let vals = own_vals(cx, mul(Expr::Var(size), Expr::Var(parts.parts)));
        Combined { op, vals, stride: size, size, rows: None }
    }

    /// Memory for the rows of each part: the first row of a part follows the last row of the previous part, or is the
    /// same.
    fn rows(
        cx: &mut Symbols<'_>,
        parts: &Parts<'_>,
        (op, initial): (ReduceOp, tamis_ir::datatype::Scalar),
        own: &mut Vec<Stmt>,
    ) -> Combined {
        let (size, row) = (cx.temp("size"), cx.temp("row"));
        let (full, levels) = (full_size(cx), cx.result().levels.len());
        let of_row = cx.positions_at(cx.kernel.result, 1..levels, int(1));
        cx.prologue.extend([assign(size, full), assign(row, of_row)]);
        let count = || Expr::Var(parts.parts);
        let vals = own_vals(cx, add(Expr::Var(size), mul(Expr::Var(row), count())));
        let windows = ["part_from", "part_to"].map(|name| {
            let array = cx.common(name, DataType::I64);
            cx.prologue.push(Stmt::Reserve { array, len: count() });
            array
        });
        let [from, to] = windows;
        let [first, last] = ["row_first", "row_last"].map(|name| cx.temp(name));
        own.extend(rows(cx, parts, (first, last)));
        let at = |row_of: Var| mul(Expr::Var(row_of), Expr::Var(row));
        let part = || Expr::Var(parts.part);
        own.extend([store(from, part(), at(first)), store(to, part(), at(last))]);
        let shift = || mul(part(), Expr::Var(row));
        let (lo, hi) = (add(at(first), shift()), add(at(last), shift()));
        own.extend(cx.filled(vals, lo, hi, initial));
        Combined { op, vals, stride: row, size, rows: Some(Windows { initial, from, to }) }
    }

    /// The code of a part that writes to its own values, and the code that combines these.
    fn joined(
        self,
        cx: &mut Symbols<'_>,
        parts: &Parts<'_>,
        own: &mut Vec<Stmt>,
        code: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let result = cx.result().vals;
        let shift = cx.temp("shift");
        let numbers = if let Vals::Pairs(_) = result { 2 } else { 1 };
        let before = mul(Expr::Var(self.stride), Expr::Var(parts.part));
        own.push(assign(shift, mul(before, int(numbers))));
        let moved = Moved { from: result.arrays()[0], to: self.vals.arrays()[0], shift };
        own.extend(moved.block(code));
        let (chunk, part, e) = (cx.temp("chunk"), cx.temp("of"), cx.temp("e"));
        let mut stmts = vec![];
        let size = Expr::Var(self.size);
        let even = Even::declared(cx, chunk, &size, parts.parts, &mut stmts);
        let (lo, hi) = (cx.temp_of(e, "_lo"), cx.temp_of(e, "_hi"));
        let mut body = vec![
            assign(lo, even.before(Expr::Var(chunk))),
            assign(hi, even.before(add(Expr::Var(chunk), int(1)))),
        ];
        let ends = (Expr::Var(lo), Expr::Var(hi));
        let at = add(Expr::Var(e), mul(Expr::Var(self.stride), Expr::Var(part)));
        let (first, (from, to)) = match &self.rows {
            Some(Windows { initial, from, to }) => {
                body.extend(cx.filled(result, ends.0.clone(), ends.1.clone(), *initial));
                let of = |array: &Array| load(*array, Expr::Var(part));
                let from = binary(BinaryOp::Max, of(from), ends.0);
                (0, (from, binary(BinaryOp::Min, of(to), ends.1)))
            }
            None => {
                let value = self.vals.load(&Expr::Var(e));
                let copied = result.store(&Expr::Var(e), value, cx.zero());
                body.push(for_loop(e, ends.0.clone(), ends.1.clone(), copied));
                (1, ends)
            }
        };
        let mut each = vec![];
        let (old, value) = (cx.loaded(result, Expr::Var(e)), cx.loaded(self.vals, at));
        let value = cx.combined(self.op, old, value, &mut each);
        each.extend(result.store(&Expr::Var(e), value, cx.zero()));
        let each = vec![for_loop(e, from, to, each)];
        body.push(for_loop(part, int(first), Expr::Var(parts.parts), each));
        stmts.push(on_threads(chunk, Expr::Var(parts.parts), body));
        stmts
    }
}

/// Arrays like those of the result's values, shared by the iterations of loops on threads.
fn own_vals(cx: &mut Symbols<'_>, len: Expr) -> Vals {
    let like = cx.result().vals;
    let array = like.arrays()[0];
    let (name, elem) = (format!("{}_of_parts", cx.arrays[array].name), cx.arrays[array].elem);
    let own = cx.common(&name, elem);
    let vals = if let Vals::Pairs(_) = like { Vals::Pairs(own) } else { Vals::Real(own) };
    cx.prologue.extend(vals.reserve(&len));
    vals
}

/// The first row with positions of a part, and the end of its rows.
fn rows(cx: &mut Symbols<'_>, parts: &Parts<'_>, (first, last): (Var, Var)) -> Vec<Stmt> {
    let Root::Positions(tensor, level) = parts.partition.scale.root else {
        unreachable!("rows that overlap are those of positions")
    };
    let [from, to, lo, hi, mid] = ["from", "to", "lo", "hi", "mid"].map(|name| cx.temp(name));
    let size = cx.positions_at(tensor, 0..level + 1, int(1));
    let position = |cx: &mut Symbols<'_>, iteration: Var| {
        let cx = RefCell::new(cx);
        let dimension = |var| Expr::Var(cx.borrow_mut().dim(var));
        parts.partition.scale.first(Expr::Var(iteration), size.clone(), &dimension)
    };
    let (begin, end) = (position(cx, parts.begin), position(cx, parts.end));
    let mut inside = searched(cx, (tensor, level), Expr::Var(from), [lo, hi, mid]);
    inside.push(assign(first, row(cx, tensor, lo)));
    let behind = sub(Expr::Var(to), int(1));
    inside.extend(searched(cx, (tensor, level), behind, [lo, hi, mid]));
    inside.push(assign(last, add(row(cx, tensor, lo), int(1))));
    vec![
        assign(from, begin),
        assign(to, end),
        assign(first, int(0)),
        assign(last, int(0)),
        when(lt(Expr::Var(from), Expr::Var(to)), inside),
    ]
}

/// The position of the first level that contains a position of another level: `lo`.
fn searched(
    cx: &mut Symbols<'_>,
    (tensor, level): (TensorId, usize),
    position: Expr,
    [lo, hi, mid]: [Var; 3],
) -> Vec<Stmt> {
    let all = cx.positions_at(tensor, 0..1, int(1));
    let behind = add(Expr::Var(mid), int(1));
    let end = cx.positions_at(tensor, 1..level + 1, behind.clone());
    let search = vec![
        assign(mid, div(add(Expr::Var(lo), Expr::Var(hi)), int(2))),
        Stmt::If {
            cond: binary(BinaryOp::Le, end, position),
            then: vec![assign(lo, behind)],
            otherwise: vec![assign(hi, Expr::Var(mid))],
        },
    ];
    let cond = lt(Expr::Var(lo), Expr::Var(hi));
    vec![assign(lo, int(0)), assign(hi, all), Stmt::While { cond, body: search }]
}

/// The coordinate at a position of the first level.
fn row(cx: &mut Symbols<'_>, tensor: TensorId, position: Var) -> Expr {
    let level = cx.arrays(tensor).levels[0].clone();
    match level.crd {
        Some(_) => level.coordinate(Expr::Var(position)),
        None => Expr::Var(position),
    }
}

/// An array whose elements are those of another one, from an offset on.
struct Moved {
    from: Array,
    to: Array,
    shift: Var,
}

impl Moved {
    fn block(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        block.into_iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&self, s: Stmt) -> Stmt {
        let s = s.map_children(&mut |e| self.expr(e), &mut |block| self.block(block));
        match s {
            Stmt::Store { array, index, value } if array == self.from => {
                Stmt::Store { array: self.to, index: self.index(index), value }
            }
            Stmt::Fill { array, lo, hi, value } if array == self.from => {
                Stmt::Fill { array: self.to, lo: self.index(lo), hi: self.index(hi), value }
            }
            s => s,
        }
    }

    fn expr(&self, e: Expr) -> Expr {
        match e.map_children(&mut |e| self.expr(e)) {
            Expr::Load { array, index, lanes } if array == self.from => {
                Expr::Load { array: self.to, index: Box::new(self.index(*index)), lanes }
            }
            e => e,
        }
    }

    fn index(&self, index: Expr) -> Expr {
        add(Expr::Var(self.shift), index)
    }
}

impl Lowerer<'_> {
    /// The code of a kernel; all its parts, if it runs them itself.
    pub(super) fn in_own_parts(&mut self, code: Vec<ir::Stmt>) -> Vec<ir::Stmt> {
        match self.parts.take() {
            Some(parts) => parts.run(&mut self.cx, &self.plan.output, code),
            None => code,
        }
    }
}
