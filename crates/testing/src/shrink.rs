//! Making a failing case small: fewer entries, simpler formats, as long as it fails.

use crate::case::Case;

/// How many entries of an operand are taken out one by one.
const MOST_SINGLE: usize = 100;

/// The smallest case found that still fails.
pub fn shrink(case: &Case, fails: &dyn Fn(&Case) -> bool) -> Case {
    let mut best = case.clone();
    loop {
        let smaller = candidates(&best).into_iter().find(|c| *c != best && fails(c));
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut found = vec![];
    let statements: Vec<&str> = case.text.split("; ").collect();
    if statements.len() > 1 {
        let mut smaller = Case { text: statements[..1].join("; "), ..case.clone() };
        let text = smaller.text.clone();
        smaller.results.retain(|name, _| text.starts_with(name));
        smaller.operands.retain(|operand| text.contains(&operand.name));
        found.push(smaller);
    }
    let commands: Vec<&str> = case.schedule.split("; ").collect();
    for k in 0..commands.len() {
        let mut fewer = commands.clone();
        fewer.remove(k);
        found.push(Case { schedule: fewer.join("; "), ..case.clone() });
    }
    for (k, operand) in case.operands.iter().enumerate() {
        let count = operand.entries.len();
        for half in [0..count / 2, count / 2..count] {
            let mut smaller = case.clone();
            smaller.operands[k].entries.drain(half);
            found.push(smaller);
        }
        for n in 0..count.min(MOST_SINGLE) {
            let mut smaller = case.clone();
            smaller.operands[k].entries.remove(n);
            found.push(smaller);
        }
        let mut simpler = case.clone();
        let braces = operand.format.find('{').map_or("", |at| &operand.format[at..]);
        simpler.operands[k].format = format!("dense{braces}");
        found.push(simpler);
    }
    for name in case.results.keys() {
        let mut simpler = case.clone();
        simpler.results.remove(name);
        found.push(simpler);
    }
    found
}
