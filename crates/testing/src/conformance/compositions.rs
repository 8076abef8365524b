//! Formats that have a level of a certain level format.

use tamis::Format;
use tamis::format::parse;
use tamis::level::LevelKind;

/// Ways to compose a level, which is written as `?`, with others.
const TEMPLATES: [&[&str]; 4] = [
    &[],
    &["(i) -> (i: ?)", "(i) -> (i/3: ?, i%3: dense)", "(i) -> (i/2: compressed, i%2: ?)"],
    &[
        "(i, j) -> (i: dense, j: ?)",
        "(i, j) -> (j: dense, i: ?)",
        "(i, j) -> (i: compressed, j: ?)",
        "(i, j) -> (i: hashed, j: ?)",
        "(i, j) -> (i: bitmap, j: ?)",
        "(i, j) -> (i: ?, j: dense)",
        "(i, j) -> (i: ?, j: compressed)",
        "(i, j) -> (i: ?, j: hashed)",
        "(i, j) -> (j: ?, i: ?)",
        "(i, j) -> (i: ?, j: singleton)",
        "(i, j) -> (i: compressed(nonunique), j: ?)",
        "(i, j) -> (i: compressed(nonordered, nonunique), j: ?)",
        "(i, j) -> (i/2: ?, j/3: dense, i%2: dense, j%3: ?)",
        "(i, j) -> (i/2: dense, j/2: compressed, i%2: ?, j%2: dense)",
        "(i, j) -> (j-i: ?, i: range)",
        "(i, j) -> (i: dense, j-i: ?)",
        "(i, j) -> (j-i: compressed, i: ?)",
        "(i, j) -> (j-i: compressed, j: ?)",
        "(i, j) -> (j-i: compressed, i: range, j: ?)",
        "(i, j) -> (#i: dense, i: dense, j: ?)",
        "(i, j) -> (i: dense, #i: dense, j: ?)",
        "(i, j) -> (#i: ?, i: dense, j: singleton(padded))",
    ],
    &[
        "(i, j, k) -> (i: dense, j: ?, k: ?)",
        "(i, j, k) -> (i: ?, j: dense, k: compressed)",
        "(i, j, k) -> (k: compressed, i: ?, j: dense)",
        "(i, j, k) -> (i: ?, j: ?, k: ?)",
        "(i, j, k) -> (i: compressed(nonunique), j: ?, k: singleton)",
        "(i, j, k) -> (i: compressed(nonunique), j: singleton(nonunique), k: ?)",
    ],
];

/// Formats for tensors of an order that have a level of this kind, with each set of the properties
/// it may have, as text.
pub fn compositions(kind: LevelKind, order: usize) -> Vec<String> {
    let mut found = vec![];
    for template in TEMPLATES.get(order).copied().unwrap_or_default() {
        for level in variants(kind) {
            let text = template.replace('?', &level);
            if parse(&text, Some(order)).is_ok_and(|spec| holds_anything(&spec.format)) {
                found.push(text);
            }
        }
    }
    found
}

/// The level format with each set of its optional properties, as text.
fn variants(kind: LevelKind) -> Vec<String> {
    let optional = kind.optional();
    let chosen = |set: usize| {
        let of = optional.iter().enumerate().filter(move |(k, _)| set & (1 << k) != 0);
        of.map(|(_, p)| p.name()).collect::<Vec<&str>>().join(", ")
    };
    let text = |set: usize| match set {
        0 => kind.name().to_owned(),
        _ => format!("{}({})", kind.name(), chosen(set)),
    };
    (0..1 << optional.len()).map(text).collect()
}

/// Whether a format can be written, and stores any number of entries.
fn holds_anything(format: &Format) -> bool {
    let slots = format.levels().iter().any(|l| matches!(l.map, tamis::format::LevelMap::Slot(_)));
    let one_each = |k: usize| {
        let p = format.levels()[k].kind.properties();
        p.branchless && !p.full && format.chain_head(k) == k && !slots
    };
    format.unwritable_level().is_none() && !(0..format.levels().len()).any(one_each)
}
