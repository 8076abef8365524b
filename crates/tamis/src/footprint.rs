//! How many values and bytes entries take in a storage, before anything is allocated.
//!
//! No level format is named: each says by [`LevelFormat::positions`] and [`LevelFormat::length`]
//! how long its arrays would be, asked with stand-ins for the numbers that arrays would hold.
//!
//! ```text
//! dia, entries on 3 diagonals of 1000 rows    pos 2 x 4, crd 3 x 4, values 3000 x 8 bytes
//! ```
//!
//! [`LevelFormat::positions`]: tamis_core::level::LevelFormat::positions
//! [`LevelFormat::length`]: tamis_core::level::LevelFormat::length

use std::collections::BTreeMap;
use tamis_core::format::{Format, LevelMap, Storage};
use tamis_core::level::{Crd, Insert, LevelView, Numbers, Part, Query};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{Id, IdVec, Mode};
use tamis_ir::interpret::{self, Argument, Buffer};
use tamis_ir::ir::{ArrayDecl, ArrayRole, Function, Param, Type, VarDecl, build};
use tamis_runtime::{Coordinates, budget};

/// The bytes of all arrays of a tensor with these entries, of which those of the same coordinate
/// are one; `None` if nobody can tell: coordinates of more than 128 bits in all, or more entries than
/// memory holds once more.
pub fn footprint(list: &Coordinates, storage: &Storage) -> Option<u64> {
    sizes(list, storage).map(|sizes| sizes.bytes)
}

/// How many values a tensor with these entries stores. Padding of blocks and diagonals and empty buckets of hash maps
/// have values, too. `None` where [`footprint`] is.
pub fn stored_values(list: &Coordinates, storage: &Storage) -> Option<u64> {
    sizes(list, storage).map(|sizes| sizes.values)
}

/// What a tensor takes.
struct Sizes {
    values: u64,
    bytes: u64,
}

fn sizes(list: &Coordinates, storage: &Storage) -> Option<Sizes> {
    let format = &storage.format;
    tamis_runtime::check_dims(list.dims()).ok()?;
    let counts = counts(list, format)?;
    let slots = |k: usize| counts[k].width;
    let headers = format.headers(list.dims(), &slots);
    let (mut parents, mut bytes) = (1u64, 0u64);
    for (k, (spec, header)) in format.levels().iter().zip(headers).enumerate() {
        let end = match spec.insert_edges() {
            Some(_) => counts[k].nodes.saturating_add(parents),
            None => counts[k].nodes,
        };
        let pos = Always(end as i64);
        let width = Always(counts[k].width as i64);
        let crd: Crd<&dyn Numbers> = Crd { array: &pos, stride: 1, offset: 0 };
        let mask: Option<&dyn Numbers> = Some(&pos);
        let view = LevelView { header, pos: Some(&pos), crd: Some(crd), width: Some(&width), mask };
        for part in Part::ALL.into_iter().filter(|part| spec.has(*part)) {
            let (len, size) = match part {
                Part::Width => (1, 8),
                Part::Pos => {
                    (spec.kind.length(&view, part, parents), storage.pos.datatype().size())
                }
                Part::Crd => {
                    (spec.kind.length(&view, part, parents), storage.crd.datatype().size())
                }
                Part::Mask => (spec.kind.length(&view, part, parents), DataType::Bool.size()),
            };
            bytes = bytes.saturating_add(len.saturating_mul(size as u64));
        }
        parents = spec.kind.positions(&view, parents);
    }
    let values = parents;
    let bytes = bytes.saturating_add(values.saturating_mul(storage.datatype.size() as u64));
    Some(Sizes { values, bytes })
}

/// An array of one repeated number.
struct Always(i64);

impl Numbers for Always {
    fn len(&self) -> usize {
        usize::MAX
    }
    fn at(&self, _: usize) -> i64 {
        self.0
    }
}

/// What entries make of one level.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Different coordinates up to the level, or to the end of its chain; where each parent has a width, how far the
    /// widths of all go beyond one position each.
    nodes: u64,
    /// The width, of levels that have one.
    width: u64,
}

fn counts(list: &Coordinates, format: &Format) -> Option<Vec<Count>> {
    let keys = Keys::of(list, format)?;
    let levels = format.levels();
    let count = |k: usize| -> Option<Count> {
        if let (Some(insert), Some(_)) = (levels[k].kind.insert(), levels[k].insert_edges()) {
            return Some(Count { nodes: keys.beyond_one_each(k, insert)?, width: 0 });
        }
        let end = (k + 1..levels.len()).take_while(|&l| format.chain_head(l) <= k).last();
        let nodes = keys.nodes(end.unwrap_or(k));
        let insert = levels[k].kind.insert();
        let width = match (levels[k].map, insert) {
            _ if !levels[k].has(Part::Width) => 0,
            (LevelMap::Slot(_), _) => keys.most_alike(&|l| is_placed(format, l))?,
            (_, Some(insert)) if insert.insert_query() == Query::Span => {
                width(insert, keys.widest_span(k))?
            }
            (_, Some(insert)) => width(insert, keys.most_children(k))?,
            (_, None) => 0,
        };
        Some(Count { nodes, width })
    };
    (0..levels.len()).map(count).collect()
}

/// Whether a level has a position for every coordinate, so that slots count what shares it.
fn is_placed(format: &Format, k: usize) -> bool {
    let (map, kind) = (format.levels()[k].map, format.levels()[k].kind);
    let assembled = kind.insert().is_some() || kind.append().is_some();
    !matches!(map, LevelMap::Slot(_)) && (kind.properties().full || !assembled)
}

/// The coordinates of entries in level order as one number each, sorted, every one once.
struct Keys {
    keys: Vec<u128>,
    /// Per level the bits below its field, and the bits of the field.
    fields: Vec<(u32, u32)>,
}

impl Keys {
    fn of(list: &Coordinates, format: &Format) -> Option<Keys> {
        let headers = format.headers(list.dims(), &|_| 0);
        let bits = headers.iter().map(|h| u64::BITS - h.size.saturating_sub(1).leading_zeros());
        let bits: Vec<u32> = bits.collect();
        let mut below = bits.iter().sum::<u32>();
        if below > u128::BITS {
            return None;
        }
        let field = |&width: &u32| {
            below -= width;
            (below, width)
        };
        let fields: Vec<(u32, u32)> = bits.iter().map(field).collect();
        let key = |n: usize| {
            let at = |m: Mode| list.crds()[m.index()][n];
            format.levels().iter().zip(&headers).zip(&bits).fold(
                0u128,
                |key, ((level, h), &bits)| {
                    let c = match level.map.map(at) {
                        LevelMap::Mode(c) => c as i64,
                        LevelMap::Div(c, size) => (c / size) as i64,
                        LevelMap::Mod(c, size) => (c % size) as i64,
                        LevelMap::Diff { plus, minus } => plus as i64 - minus as i64,
                        LevelMap::Slot(_) => 0,
                    };
                    key.unbounded_shl(bits) | (c - h.least) as u128
                },
            )
        };
        // All keys, and a second time those without some levels.
        let bytes = 2.0 * size_of::<u128>() as f64 * list.vals().len() as f64;
        budget::check("the coordinates of entries", bytes, budget::SMALLER_RESULT).ok()?;
        let mut keys = gathered((0..list.vals().len()).map(key))?;
        keys.sort_unstable();
        keys.dedup();
        Some(Keys { keys, fields })
    }

    /// The coordinates of the levels up to this one.
    fn prefix(&self, key: u128, k: usize) -> u128 {
        key.unbounded_shr(self.fields[k].0)
    }

    fn parent(&self, key: u128, k: usize) -> u128 {
        k.checked_sub(1).map_or(0, |above| self.prefix(key, above))
    }

    /// How many different coordinates the levels up to this one have.
    fn nodes(&self, k: usize) -> u64 {
        self.keys.chunk_by(|&a, &b| self.prefix(a, k) == self.prefix(b, k)).count() as u64
    }

    /// How many children each parent has that has any.
    fn children(&self, k: usize) -> impl Iterator<Item = u64> {
        let families = self.keys.chunk_by(move |&a, &b| self.parent(a, k) == self.parent(b, k));
        families.map(move |family| {
            family.chunk_by(|&a, &b| self.prefix(a, k) == self.prefix(b, k)).count() as u64
        })
    }

    fn most_children(&self, k: usize) -> u64 {
        self.children(k).max().unwrap_or(0)
    }

    /// The widths of all parents that have children, less one for each.
    fn beyond_one_each(&self, k: usize, insert: &dyn Insert) -> Option<u64> {
        let mut widths = BTreeMap::new();
        self.children(k).try_fold(0u64, |sum, children| {
            let known = widths.get(&children).copied();
            let width = known.or_else(|| width(insert, children))?;
            widths.insert(children, width);
            Some(sum.saturating_add(width.saturating_sub(1)))
        })
    }

    fn widest_span(&self, k: usize) -> u64 {
        let families = self.keys.chunk_by(|&a, &b| self.parent(a, k) == self.parent(b, k));
        let span = |family: &[u128]| {
            let ends = family.first().zip(family.last());
            ends.map_or(0, |(&a, &b)| (self.prefix(b, k) - self.prefix(a, k)) as u64 + 1)
        };
        families.map(span).max().unwrap_or(0)
    }

    /// The most entries that agree in some levels.
    fn most_alike(&self, levels: &dyn Fn(usize) -> bool) -> Option<u64> {
        let ones = |(below, bits): (u32, u32)| {
            (u128::MAX.unbounded_shl(bits) ^ u128::MAX).unbounded_shl(below)
        };
        let chosen = (0..self.fields.len()).filter(|&k| levels(k));
        let mask = chosen.fold(0u128, |mask, k| mask | ones(self.fields[k]));
        let mut keys = gathered(self.keys.iter().map(|key| key & mask))?;
        keys.sort_unstable();
        Some(keys.chunk_by(|a, b| a == b).map(<[u128]>::len).max().unwrap_or(0) as u64)
    }
}

/// Keys in a vector, if there is memory for it.
fn gathered(keys: impl ExactSizeIterator<Item = u128>) -> Option<Vec<u128>> {
    let mut gathered = Vec::new();
    gathered.try_reserve_exact(keys.len()).ok()?;
    gathered.extend(keys);
    Some(gathered)
}

/// The width that a level makes of an answer, by its code.
fn width(insert: &dyn Insert, most: u64) -> Option<u64> {
    let index = |name: &str| VarDecl::new(name, Type::INDEX);
    let mut vars = IdVec::new();
    let (asked, width) = (vars.push(index("most")), vars.push(index("width")));
    let mut arrays = IdVec::new();
    let out = arrays.push(ArrayDecl::new("out", DataType::I64, ArrayRole::Output));
    let mut body = insert.insert_width(tamis_ir::ir::Expr::Var(asked), width)?;
    body.push(build::store(out, build::int(0), tamis_ir::ir::Expr::Var(width)));
    let params = vec![Param::Scalar(asked), Param::Array(out)];
    let function = Function { name: "width".to_owned(), params, vars, arrays, body };
    let asked = Argument::Scalar(Scalar::I64(most as i64));
    let room = Argument::Array(Buffer::I64(vec![0]));
    let outcome = interpret::run(&function, vec![asked, room], Some(1 << 20)).ok()?;
    match outcome.arrays.first()? {
        Buffer::I64(out) => out.first().map(|&width| width as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::footprint;
    use crate::{DataType, Duplicates, Values, format, pack};
    use tamis_runtime::Coordinates;

    /// The bytes are those of the tensor that packing makes.
    #[test]
    fn bytes_are_those_of_the_packed_tensor() {
        let rows = vec![0, 0, 0, 2, 3, 3, 6, 699];
        let columns = vec![1, 2, 900, 2, 0, 3, 6, 7];
        let vals = Values::F64(vec![1.0; 8]);
        let list = Coordinates::new(vec![700, 901], vec![rows, columns], vals).expect("a list");
        for text in [
            "dense",
            "dense-column",
            "csr",
            "csc",
            "dcsr{f32}",
            "csr{pos: i64}",
            "coo",
            "coo(nonordered)",
            "coo(aos){crd: i64}",
            "dok",
            "ell",
            "dia",
            "bcsr(2,3)",
            "csb(2,2)",
            "bitmap",
            "(i, j) -> (i: hashed, j: dense)",
            "(i, j) -> (i: dense, #i: dense, j: singleton(padded))",
            "(i, j) -> (j-i: hashed, i: range, j: offset)",
            "(i, j) -> (i: compressed(nonunique), j: compressed)",
        ] {
            let spec = format::parse(text, Some(2)).unwrap_or_else(|d| panic!("{d}"));
            let storage = spec.resolve(DataType::F64).unwrap_or_else(|d| panic!("{d}"));
            let packed = pack(&list, &storage, Duplicates::Sum).unwrap_or_else(|d| panic!("{d}"));
            assert_eq!(footprint(&list, &storage), Some(packed.bytes() as u64), "{text}");
        }
    }
}
