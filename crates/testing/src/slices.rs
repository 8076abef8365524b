//! Random slices of a mode.

use crate::random::Random;

/// The most members of a set.
const MOST_MEMBERS: u64 = 100;

/// A slice of `count` of the `dimension` coordinates of a mode, as text.
pub fn slice(random: &mut Random, count: u64, dimension: u64) -> String {
    let mut below = |n: u64| random.below(n as usize) as u64;
    if count == 0 {
        let at = below(dimension + 1);
        return format!("[{at}:{at}]");
    }
    if count <= MOST_MEMBERS && below(4) == 0 {
        return set(random, count, dimension);
    }
    let widest = if count == 1 { 3 } else { (dimension - 1) / (count - 1) };
    let step = 1 + below(widest.min(3));
    let span = (count - 1) * step + 1;
    let first = below(dimension - span + 1);
    let last = first + span - 1;
    match below(3) {
        0 => downwards(random, first, last, step, dimension),
        _ => upwards(random, first, last, step, dimension),
    }
}

fn upwards(random: &mut Random, first: u64, last: u64, step: u64, dimension: u64) -> String {
    let start = if first == 0 && random.one_in(2) { String::new() } else { first.to_string() };
    let end = match last + step >= dimension {
        true if random.one_in(3) => String::new(),
        true if random.one_in(2) => (dimension + random.below(3) as u64).to_string(),
        _ => (last + 1 + random.below(step as usize) as u64).to_string(),
    };
    let step = if step == 1 && random.one_in(2) { String::new() } else { format!(":{step}") };
    format!("[{start}:{end}{step}]")
}

fn downwards(random: &mut Random, first: u64, last: u64, step: u64, dimension: u64) -> String {
    let start = match last + 1 == dimension {
        true if random.one_in(2) => String::new(),
        true => (last + random.below(3) as u64).to_string(),
        false => last.to_string(),
    };
    let end = match first < step {
        true if first == 0 || random.one_in(2) => String::new(),
        true => random.below(first as usize).to_string(),
        false => (first - 1 - random.below(step as usize) as u64).to_string(),
    };
    format!("[{start}:{end}:-{step}]")
}

fn set(random: &mut Random, count: u64, dimension: u64) -> String {
    let mut members: Vec<u64> = (0..dimension).collect();
    random.shuffle(&mut members);
    members.truncate(count as usize);
    members.sort_unstable();
    let members: Vec<String> = members.iter().map(u64::to_string).collect();
    format!("[{{{}}}]", members.join(","))
}
