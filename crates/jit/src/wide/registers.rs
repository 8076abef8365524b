//! Registers for values, each with the ranges in which it lives.
//!
//! ```text
//! values            p [0, 20)   v [3, 9) [15, 18)   w [9, 14)
//! registers         rsi         zmm0                zmm0
//! ```
//!
//! Those for integers and addresses are given by priority (priority-based coloring; Chow and Hennessy, 1990), without
//! splitting ranges: the values that are used least for their length stay in memory. Those for floats and vectors are
//! given in the order in which the values begin; if they run out, the code is not made here.

use super::inst::{Inst, Use, Value};
use tamis_ir::ir::Type;

/// Registers for integers, those first that a function need not keep. `rax` and `rdx` are for
/// operands that are in memory, `rdi` is the frame's address and `rsp` the stack's.
pub(super) const WHOLE: [u8; 12] = [6, 1, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15];

/// So many uses it is worth that a value has a register from which the next one of it is computed: through memory,
/// each iteration waits for the one before it.
const CARRIED: f64 = 16.0;

/// So many uses it is worth that a value that is computed has a register: what reads it waits for the way through memory.
const WRITTEN: f64 = 4.0;

/// Uses that comparisons are worth: nothing waits for branches that are predicted.
const COMPARED: f64 = 0.5;

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

/// When a value lives.
struct Life {
    value: Value,
    /// From the first point of each to the one behind the last: an instruction `k` reads at `2 k` and writes at `2 k + 1`.
    ranges: Vec<(usize, usize)>,
    weight: f64,
}

impl Life {
    fn begin(&self) -> usize {
        self.ranges.iter().map(|(from, _)| *from).min().unwrap_or(0)
    }
}

/// The points at which a register is taken.
struct Taken(Vec<u64>);

/// Finds homes for the values of code that `outputs` are read of at its end, with so many registers for floats
/// and vectors. `None` if there are too few.
pub(super) fn homes(code: &[Inst], types: &[Type], outputs: &[Value], floats: u8) -> Option<Homes> {
    let flow = Flow::of(code, types.len(), outputs);
    let is_float = |life: &Life| types[life.value.index()].register.is_float();
    let lives = lives(code, types.len(), &flow).into_iter();
    let (mut vectors, mut wholes): (Vec<Life>, Vec<Life>) = lives.partition(is_float);
    let mut of = vec![None; types.len()];
    // In this order no more registers are needed than values live at once, ranges taken as a whole.
    vectors.sort_by_key(Life::begin);
    let mut taken: Vec<Taken> = (0..floats).map(|_| Taken::none(code)).collect();
    for life in vectors {
        let register = taken.iter_mut().position(|taken| taken.take(&life))?;
        of[life.value.index()] = Some(Home::Register(register as u8));
    }
    wholes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut taken: Vec<Taken> = WHOLE.iter().map(|_| Taken::none(code)).collect();
    for life in wholes {
        let register = taken.iter_mut().position(|taken| taken.take(&life));
        of[life.value.index()] = Some(register.map_or(Home::Memory, |k| Home::Register(WHOLE[k])));
    }
    Some(Homes { of, inputs: flow.inputs() })
}

impl Taken {
    fn none(code: &[Inst]) -> Taken {
        Taken(vec![0; (2 * code.len()).div_ceil(64)])
    }

    /// Takes the register for a value, if nothing else has it while the value lives.
    fn take(&mut self, life: &Life) -> bool {
        let is_free = life
            .ranges
            .iter()
            .all(|range| masks(*range).all(|(word, mask)| self.0[word] & mask == 0));
        if is_free {
            let masks = life.ranges.iter().flat_map(|range| masks(*range));
            masks.for_each(|(word, mask)| self.0[word] |= mask);
        }
        is_free
    }
}

/// The points of a range as bits of words.
fn masks((from, to): (usize, usize)) -> impl Iterator<Item = (usize, u64)> {
    (from / 64..to.div_ceil(64)).map(move |word| {
        let [low, high] = [from, to].map(|at| at.saturating_sub(64 * word).min(64));
        let below = |n: usize| if n == 64 { u64::MAX } else { (1 << n) - 1 };
        (word, below(high) & !below(low))
    })
}

/// The lives of all values that are used.
fn lives(code: &[Inst], count: usize, flow: &Flow) -> Vec<Life> {
    let life = |k| Life { value: Value(k), ranges: vec![], weight: 0.0 };
    let mut lives: Vec<Life> = (0..count as u32).map(life).collect();
    let mut ends = vec![None; count];
    for block in &flow.blocks {
        block.after.each(|v| ends[v.index()] = Some(2 * block.to));
        for at in (block.from..block.to).rev() {
            code[at].values(&mut |v, how| {
                if how == Use::Writes {
                    let end = ends[v.index()].take().unwrap_or(2 * at + 2);
                    lives[v.index()].ranges.push((2 * at + 1, end));
                }
            });
            code[at].values(&mut |v, how| {
                if how == Use::Reads {
                    ends[v.index()].get_or_insert(2 * at + 1);
                }
            });
        }
        block.before.each(|v| {
            let end = ends[v.index()].take();
            lives[v.index()].ranges.extend(end.map(|end| (2 * block.from, end)));
        });
    }
    weigh(&mut lives, code, flow);
    lives.retain(|life| !life.ranges.is_empty());
    lives
}

/// What registers for values are worth.
fn weigh(lives: &mut [Life], code: &[Inst], flow: &Flow) {
    for (inst, depth) in code.iter().zip(&flow.depths) {
        let often = 8f64.powi((*depth).into());
        let mut read = None;
        inst.values(&mut |v, how| {
            let is_carried = how == Use::Writes && read == Some(v);
            read = read.or(Some(v));
            let uses = match how {
                Use::Writes if is_carried => CARRIED,
                Use::Writes => WRITTEN,
                Use::Reads if inst.target().is_some() => COMPARED,
                Use::Reads => 1.0,
            };
            lives[v.index()].weight += uses * often;
        });
        if let Inst::Load { mem, .. } = inst {
            lives[mem.base.index()].weight += ADDRESS * often;
        }
    }
    for life in lives {
        // Long ones are in the way of many others.
        let length: usize = life.ranges.iter().map(|(from, to)| to - from).sum();
        life.weight /= (length as f64).sqrt();
    }
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
