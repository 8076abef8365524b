//! Random formats: everything that level formats and maps compose.

use crate::random::Random;
use tamis::format::parse;

const MODES: [&str; 3] = ["i", "j", "k"];

/// A random format for tensors of an order, as text.
pub fn format(random: &mut Random, order: usize) -> String {
    if order == 0 || random.one_in(3) {
        return plain(random, order);
    }
    loop {
        let text = match random.below(3) {
            0 => named(random, order),
            1 if order == 2 => matrix(random),
            _ => composed(random, order),
        };
        if parse(&text, Some(order)).is_ok_and(|spec| tamis::is_writable(&spec.format)) {
            return text;
        }
    }
}

/// Dense and compressed levels in any mode order.
fn plain(random: &mut Random, order: usize) -> String {
    let mut levels = MODES[..order].to_vec();
    if random.one_in(3) {
        random.shuffle(&mut levels);
    }
    let kind = |v: &&str| format!("{v}: {}", random.pick(&["dense", "compressed", "compressed"]));
    let levels: Vec<String> = levels.iter().map(kind).collect();
    arrow(order, &levels)
}

fn arrow(order: usize, levels: &[String]) -> String {
    format!("({}) -> ({})", MODES[..order].join(", "), levels.join(", "))
}

/// A named format.
fn named(random: &mut Random, order: usize) -> String {
    let properties = ["", "(nonordered)", "(nonunique)", "(aos)", "(nonordered,nonunique)"];
    let coo = format!("coo{}", random.pick(&properties));
    let (b, c) = (1 + random.below(4), 1 + random.below(4));
    let names = match order {
        1 => vec!["hash".to_owned(), "sparse".to_owned(), "bitmap".to_owned()],
        2 => vec![
            coo.clone(),
            coo,
            "dok".to_owned(),
            "ell".to_owned(),
            "dia".to_owned(),
            format!("bcsr({b},{c})"),
            format!("csb({b},{c})"),
            "bitmap".to_owned(),
            "dense-column".to_owned(),
        ],
        _ => vec![coo, "coo-dense".to_owned(), "bitmap".to_owned(), "csf".to_owned()],
    };
    random.pick(&names).clone()
}

/// A matrix stored by diagonals, slots or a list, either way round.
fn matrix(random: &mut Random) -> String {
    let (i, j) = if random.one_in(3) { ("j", "i") } else { ("i", "j") };
    let outer = *random.pick(&["compressed", "dense", "hashed", "bitmap"]);
    let inner = *random.pick(&["range", "dense", "compressed", "hashed", "bitmap"]);
    let size = 1 + random.below(4);
    let mut blocks = vec![
        format!("{j}-{i}: {outer}"),
        format!("{i}/{size}: {}", random.pick(&["dense", "compressed", "hashed", "bitmap"])),
        format!("{i}%{size}: dense"),
    ];
    random.shuffle(&mut blocks);
    let forms = [
        blocks,
        vec![format!("{j}-{i}: compressed"), format!("{i}: range")],
        vec![format!("{j}-{i}: {outer}"), format!("{i}: {inner}")],
        vec![format!("{j}-{i}: compressed"), format!("{j}: range")],
        vec![format!("{j}-{i}: compressed"), format!("{i}: range"), format!("{j}: offset")],
        vec![format!("{i}: {outer}"), format!("{j}-{i}: compressed")],
        vec![format!("#{i}: dense"), format!("{i}: dense"), format!("{j}: singleton(padded)")],
        vec![format!("{i}: dense"), format!("#{i}: dense"), format!("{j}: singleton(padded)")],
        vec![format!("{i}: compressed(nonunique)"), format!("{j}: compressed")],
        vec![format!("{i}: compressed(nonunique)"), format!("{j}: singleton")],
        vec![format!("{j}-{i}: compressed(nonunique)"), format!("{i}: singleton")],
        vec![
            format!("{i}/{size}: compressed(nonunique)"),
            format!("{j}: singleton(nonunique)"),
            format!("{i}%{size}: singleton"),
        ],
        vec![format!("{i}: dense"), format!("{j}: compressed(nonordered)")],
        vec![format!("{i}: compressed(nonordered)"), format!("{j}: compressed(nonunique)")],
    ];
    arrow(2, &random.pick(&forms).clone())
}

/// Any levels, some modes by blocks.
fn composed(random: &mut Random, order: usize) -> String {
    let mut levels: Vec<String> = vec![];
    let mut modes = MODES[..order].to_vec();
    if random.one_in(3) {
        random.shuffle(&mut modes);
    }
    for mode in modes {
        if random.one_in(3) {
            let size = 1 + random.below(4);
            let block = random.below(levels.len() + 1);
            levels.insert(block, format!("{mode}/{size}"));
            let least = if random.one_in(4) { 0 } else { block + 1 };
            let place = least + random.below(levels.len() + 1 - least);
            levels.insert(place, format!("{mode}%{size}"));
        } else {
            levels.push(mode.to_owned());
        }
    }
    const KINDS: [&str; 8] = [
        "dense",
        "dense",
        "compressed",
        "compressed",
        "hashed",
        "bitmap",
        "compressed(nonordered)",
        "dense",
    ];
    let levels: Vec<String> =
        levels.into_iter().map(|level| format!("{level}: {}", random.pick(&KINDS))).collect();
    arrow(order, &levels)
}
