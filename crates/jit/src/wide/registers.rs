//! Registers for values, in one pass over the intervals in which values live (linear scan; Poletto
//! and Sarkar, 1999).
//!
//! ```text
//! values            p [0, 20)   v [3, 9)   w [9, 14)
//! registers         rsi         zmm0       zmm0
//! ```
//!
//! Integers and addresses that find none stay in memory, those first that are used least; floats
//! and vectors must find one.

use super::inst::{Inst, Use, Value};
use tamis_ir::ir::Type;

/// Registers for integers, those first that a function need not keep. `rax` and `rdx` are for
/// operands that are in memory, `rdi` is the frame's address and `rsp` the stack's.
pub(super) const WHOLE: [u8; 12] = [6, 1, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15];

/// So many uses it is worth that a value has a register from which the next one of it is computed: through memory,
/// each iteration waits for the one before it.
const CARRIED: f64 = 16.0;

/// So many uses it is worth that the address of an array of integers has a register: bounds and coordinates are
/// what everything else waits for.
const ADDRESS: f64 = 8.0;

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    Register(u8),
    Memory,
}

/// Where all values are.
pub(super) struct Homes {
    /// By value; `None` for those that nothing uses.
    pub(super) of: Vec<Option<Home>>,
    /// The values that the code expects.
    pub(super) inputs: Vec<Value>,
}

struct Interval {
    value: Value,
    from: usize,
    to: usize,
    weight: f64,
}

/// Finds homes for the values of code that `outputs` are read of at its end, with so many registers for floats
/// and vectors. `None` if there are too few.
pub(super) fn homes(code: &[Inst], types: &[Type], outputs: &[Value], floats: u8) -> Option<Homes> {
    let flow = Flow::of(code, types.len(), outputs);
    let intervals = intervals(code, types.len(), &flow, outputs);
    let mut of = vec![None; types.len()];
    let mut active: Vec<Interval> = vec![];
    let is_float = |v: Value| types[v.index()].register.is_float();
    for interval in intervals {
        active.retain(|a| a.to >= interval.from);
        let float = is_float(interval.value);
        let taken = |r: u8| {
            active.iter().any(|a| {
                of[a.value.index()] == Some(Home::Register(r)) && is_float(a.value) == float
            })
        };
        let free = match float {
            true => Some((0..floats).find(|r| !taken(*r))?),
            false => WHOLE.into_iter().find(|r| !taken(*r)),
        };
        if let Some(register) = free {
            of[interval.value.index()] = Some(Home::Register(register));
            active.push(interval);
            continue;
        }
        let wholes = active.iter_mut().filter(|a| !is_float(a.value));
        let least = wholes.min_by(|a, b| a.weight.total_cmp(&b.weight))?;
        if least.weight < interval.weight {
            of[interval.value.index()] = of[least.value.index()].replace(Home::Memory);
            *least = interval;
        } else {
            of[interval.value.index()] = Some(Home::Memory);
        }
    }
    Some(Homes { of, inputs: flow.inputs() })
}

/// The intervals of all values that are used, by their beginnings. Instruction `k` reads at `2 k`
/// and writes at `2 k + 1`.
fn intervals(code: &[Inst], count: usize, flow: &Flow, outputs: &[Value]) -> Vec<Interval> {
    let mut ends: Vec<Option<(usize, usize)>> = vec![None; count];
    let mut weights = vec![0.0; count];
    let mut live = |v: Value, at: usize| {
        let end = &mut ends[v.index()];
        let (from, to) = end.unwrap_or((at, at));
        *end = Some((from.min(at), to.max(at)));
    };
    for block in &flow.blocks {
        block.before.each(|v| live(v, 2 * block.from));
        block.after.each(|v| live(v, 2 * block.to));
        for (at, inst) in code.iter().enumerate().take(block.to).skip(block.from) {
            let mut read = None;
            inst.values(&mut |v, how| {
                live(v, 2 * at + usize::from(how == Use::Writes));
                let is_carried = how == Use::Writes && read == Some(v);
                read = read.or(Some(v));
                let uses = if is_carried { CARRIED } else { 1.0 };
                weights[v.index()] += uses * 8f64.powi(flow.depths[at].into());
            });
            if let Inst::Load { mem, .. } = inst {
                weights[mem.base.index()] += ADDRESS * 8f64.powi(flow.depths[at].into());
            }
        }
    }
    outputs.iter().for_each(|v| live(*v, 2 * code.len()));
    let all = ends.into_iter().zip(weights).enumerate();
    let mut all: Vec<Interval> = all
        .filter_map(|(k, (ends, weight))| {
            let (from, to) = ends?;
            // Long ones are in the way of many others.
            let weight = weight / ((to - from + 1) as f64).sqrt();
            Some(Interval { value: Value(k as u32), from, to, weight })
        })
        .collect();
    all.sort_by_key(|interval| interval.from);
    all
}

/// What is live where.
struct Flow {
    blocks: Vec<Block>,
    /// How many loops are around each instruction.
    depths: Vec<u8>,
}

/// Instructions that run one after the other.
struct Block {
    from: usize,
    to: usize,
    next: Vec<usize>,
    before: Set,
    after: Set,
}

impl Flow {
    fn of(code: &[Inst], count: usize, outputs: &[Value]) -> Flow {
        let mut flow = Flow { blocks: blocks(code, count), depths: depths(code) };
        let effects: Vec<(Set, Set)> =
            flow.blocks.iter().map(|b| effects(&code[b.from..b.to], count)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for k in (0..flow.blocks.len()).rev() {
                let mut after = Set::new(count);
                for &next in &flow.blocks[k].next {
                    after.add(&flow.blocks[next].before);
                }
                if flow.blocks[k].to == code.len() {
                    outputs.iter().for_each(|v| after.insert(*v));
                }
                let (reads, writes) = &effects[k];
                let mut before = after.clone();
                before.remove(writes);
                before.add(reads);
                changed |= before != flow.blocks[k].before;
                flow.blocks[k].before = before;
                flow.blocks[k].after = after;
            }
        }
        flow
    }

    fn inputs(&self) -> Vec<Value> {
        let mut inputs = vec![];
        self.blocks.iter().take(1).for_each(|b| b.before.each(|v| inputs.push(v)));
        inputs
    }
}

/// What instructions read that was there before, and what they write.
fn effects(code: &[Inst], count: usize) -> (Set, Set) {
    let (mut reads, mut writes) = (Set::new(count), Set::new(count));
    for inst in code {
        inst.values(&mut |v, how| match how {
            Use::Reads if !writes.contains(v) => reads.insert(v),
            Use::Reads => {}
            Use::Writes => writes.insert(v),
        });
    }
    (reads, writes)
}

fn blocks(code: &[Inst], count: usize) -> Vec<Block> {
    let mut starts = vec![0];
    for (at, inst) in code.iter().enumerate() {
        if matches!(inst, Inst::Label(_)) && at > 0 {
            starts.push(at);
        }
        if inst.target().is_some() && at + 1 < code.len() {
            starts.push(at + 1);
        }
    }
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([code.len()]);
    let block_of = |at: usize| starts.partition_point(|s| *s <= at) - 1;
    let places = places(code);
    let block = |(k, (&from, to)): (usize, (&usize, usize))| {
        let last = code[from..to].last();
        let jump = last.and_then(Inst::target).and_then(|label| places[label.0 as usize]);
        let mut next: Vec<usize> = jump.map(block_of).into_iter().collect();
        if !matches!(last, Some(Inst::Jump(_))) && to < code.len() {
            next.push(k + 1);
        }
        Block { from, to, next, before: Set::new(count), after: Set::new(count) }
    };
    starts.iter().zip(ends).enumerate().map(block).collect()
}

/// Where labels stand.
fn places(code: &[Inst]) -> Vec<Option<usize>> {
    let mut places = vec![];
    for (at, inst) in code.iter().enumerate() {
        if let Inst::Label(label) = inst {
            let k = label.0 as usize;
            places.resize(places.len().max(k + 1), None);
            places[k] = Some(at);
        }
    }
    places
}

/// How many jumps back go over each instruction.
fn depths(code: &[Inst]) -> Vec<u8> {
    let places = places(code);
    let mut depths = vec![0; code.len()];
    for (at, inst) in code.iter().enumerate() {
        let top = inst.target().and_then(|label| *places.get(label.0 as usize)?);
        if let Some(top) = top.filter(|top| *top < at) {
            depths[top..=at].iter_mut().for_each(|d| *d += 1);
        }
    }
    depths
}

/// A set of values.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn new(count: usize) -> Set {
        Set(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, v: Value) {
        self.0[v.index() / 64] |= 1 << (v.index() % 64);
    }

    fn contains(&self, v: Value) -> bool {
        self.0[v.index() / 64] >> (v.index() % 64) & 1 == 1
    }

    fn add(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn remove(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    fn each(&self, mut f: impl FnMut(Value)) {
        for (k, &word) in self.0.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                f(Value(64 * k as u32 + rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
    }
}
