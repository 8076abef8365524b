//! Random programs of huge dimensions, up to 2^62 - 1, against the same programs of small ones.
//!
//! A program is drawn as for the differential test. Some of its dimensions become huge: each coordinate gets an
//! image, and between the images are coordinates without entries. In the small program a few additional
//! coordinates stand for all of these; what depends on how many or which they are is no valid draw. The result has
//! to be the image of what the small program gives.
//!
//! Programs that take many steps or much memory by what is estimated are not run, but their reasons are told.

mod check;
mod classes;
mod embedding;
mod formats;

pub use check::{Found, check, limit_memory};

use crate::case::Case;
use crate::generate;
use crate::random::Random;
use crate::schedules;
use classes::{Classes, Use};
use embedding::{Embedding, Follower, Scaling, Side};
use std::collections::BTreeSet;

/// The largest dimension.
const LARGEST: u64 = (1 << 62) - 1;
/// The most members of a set in a slice.
const MOST_MEMBERS: usize = 1000;

/// A random program of huge dimensions.
#[derive(Clone, Debug)]
pub struct Huge {
    /// The program.
    pub case: Case,
    embedding: Embedding,
}

impl Huge {
    /// The same with another case, which has part of its statements and entries.
    pub fn with(&self, case: &Case) -> Huge {
        Huge { case: case.clone(), embedding: self.embedding.clone() }
    }
}

/// A random program; `None` if what was drawn is no valid program or none of its dimensions can be huge.
pub fn drawn(random: &mut Random) -> Option<Huge> {
    let mut case = generate::case(random);
    let scheduled = !case.schedule.is_empty();
    case.schedule.clear();
    let program = tamis::notation::parse(&case.text).ok()?;
    let classes = Classes::of(&case, &program)?;
    let scalings = scalings(random, &classes);
    let is_huge = |scaling: &Scaling| *scaling == Scaling::Huge;
    if !scalings.iter().any(is_huge) {
        return None;
    }
    let mut huge = Side::small(&classes, &scalings, 0);
    for class in (0..scalings.len()).filter(|&class| is_huge(&scalings[class])) {
        enlarge(random, &classes, &scalings, class, &mut huge);
    }
    let huge = huge.with_followers(&classes, &scalings);
    let embedding = Embedding { program, classes, scalings, huge };
    let mut case = embedding.moved(&case, &embedding.small(0), &embedding.huge);
    formats::suit(random, &mut case, &embedding);
    if scheduled {
        case.schedule = schedules::schedule(random, &case);
    }
    Some(Huge { case, embedding })
}

/// Which classes become huge.
fn scalings(random: &mut Random, classes: &Classes) -> Vec<Scaling> {
    let count = classes.sizes.len();
    let mut scalings = vec![Scaling::Kept; count];
    let stored: BTreeSet<usize> = classes.modes.values().copied().collect();
    for class in 0..count {
        let rarely = if stored.contains(&class) { 3 } else { 8 };
        if scalings[class] != Scaling::Kept || random.below(rarely) > 1 {
            continue;
        }
        let counted: Vec<&Use> = classes.uses.iter().filter(|u| u.counter == class).collect();
        let followers: Option<Vec<(usize, Follower)>> =
            counted.iter().map(|u| follower(classes, &scalings, u)).collect();
        if let Some(followers) = followers {
            scalings[class] = Scaling::Huge;
            followers.into_iter().for_each(|(mode, f)| scalings[mode] = Scaling::Follows(f));
        }
    }
    scalings
}

/// How the mode of a slice grows with its variable, if nothing else fixes what it is.
fn follower(classes: &Classes, scalings: &[Scaling], used: &Use) -> Option<(usize, Follower)> {
    let mode = used.mode;
    let is_free = scalings[mode] == Scaling::Kept
        && mode != used.counter
        && !classes.vars.values().any(|&class| class == mode)
        && classes.uses.iter().all(|u| u.mode != mode || u == used);
    let step = used.step().filter(|_| !used.is_set && is_free)?;
    let lowest = *used.coordinates.iter().min()?;
    Some((mode, Follower { counter: used.counter, lowest, step }))
}

/// Gives a class a huge dimension, and its coordinates images there.
fn enlarge(
    random: &mut Random,
    classes: &Classes,
    scalings: &[Scaling],
    class: usize,
    huge: &mut Side,
) {
    let count = classes.sizes[class];
    let is_followed =
        |scaling: &Scaling| matches!(scaling, Scaling::Follows(f) if f.counter == class);
    let most = if scalings.iter().any(is_followed) { LARGEST >> 2 } else { LARGEST };
    let dimension = dimension(random, most);
    let sliced: Vec<&Use> = classes.uses.iter().filter(|u| u.mode == class).collect();
    let is_range = |u: &&Use| {
        let descends = u.step().is_some_and(|step| step < 0);
        !u.is_set && (descends || u.coordinates.len() > MOST_MEMBERS)
    };
    let images = match () {
        () if classes.valued[class] => (0..count).collect(),
        () if sliced.iter().any(is_range) || random.one_in(4) => affine(random, count, dimension),
        () => scattered(random, count, dimension),
    };
    (huge.dims[class], huge.images[class]) = (dimension, images);
}

fn dimension(random: &mut Random, most: u64) -> u64 {
    let near = [16, 20, 31, 32, 32, 40, 53, 62];
    let power = 1_u64 << random.pick(&near);
    let any = (1 << 16) + random.draw() % (1 << (17 + random.below(45)));
    let drawn = [power - 1, power, power + 1, power + random.below(9) as u64, any];
    (*random.pick(&drawn)).clamp((1 << 16) + 1, most)
}

/// Coordinates at equal distances.
fn affine(random: &mut Random, count: u64, dimension: u64) -> Vec<u64> {
    let widest = (dimension - 1) / count.max(2);
    let step = match random.below(3) {
        0 => 1,
        1 => 1 + random.draw() % widest.min(8),
        _ => 1 + random.draw() % widest,
    };
    let room = dimension - step * count.saturating_sub(1);
    let first = match random.below(3) {
        0 => 0,
        1 => room - 1,
        _ => random.draw() % room,
    };
    (0..count).map(|k| first + step * k).collect()
}

/// Any coordinates, many of them where numbers of fewer bits end.
fn scattered(random: &mut Random, count: u64, dimension: u64) -> Vec<u64> {
    let last = dimension - 1;
    let mut found = BTreeSet::new();
    while (found.len() as u64) < count {
        let near = random.below(8) as u64;
        let power = 1_u64 << random.pick(&[8, 16, 31, 32, 53]);
        let drawn = match random.below(6) {
            0 => near,
            1 => last - near,
            2 => power - 4 + near,
            3 => found.last().map_or(near, |c: &u64| c + 1),
            _ => random.draw() % dimension,
        };
        if drawn < dimension {
            found.insert(drawn);
        } else {
            found.insert(random.draw() % dimension);
        }
    }
    found.into_iter().collect()
}
