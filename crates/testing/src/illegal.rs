//! Schedules that nobody checked before: random commands, as they are drawn, or with one argument replaced by
//! something wrong.
//!
//! ```text
//! split(i, io0, ii0, 4)      accepted, then run like any other
//! split(i, io0, ii0, 0)      refused: where in the schedule, why, and what to do
//! ```

use crate::case::Case;
use crate::check::{Outcome, check};
use crate::random::Random;
use crate::schedules;
use tamis::{Backend, Code, Diagnostic};
use tamis_ir::diagnostic::Place;

/// What became of schedules.
#[derive(Default)]
pub struct Draws {
    /// Commands as they were drawn that were accepted, and how many there were.
    pub accepted: u64,
    /// Commands that were drawn for programs that compile.
    pub drawn: u64,
    /// Schedules that were refused with a diagnostic.
    pub refused: u64,
    /// Schedules that were accepted, with results that are right.
    pub legal: u64,
}

impl Draws {
    /// Draws a schedule for a case, and counts what becomes of it; what is wrong with that, with the case
    /// as a filetest, if something is.
    pub fn count(&mut self, random: &mut Random, case: &Case) -> Result<(), String> {
        let wrong = |why: String, case: &Case| format!("{why}\n{case}");
        let base = Case { schedule: String::new(), ..case.clone() };
        let Some(command) = schedules::blind(random, &base) else { return Ok(()) };
        self.drawn += 1;
        let plain = Case { schedule: command.clone(), ..base.clone() };
        self.accepted += u64::from(refusal(&plain).map_err(|why| wrong(why, &plain))?.is_none());
        let broken = Case { schedule: broken(random, &command), ..base };
        for case in [plain, broken] {
            match refusal(&case).map_err(|why| wrong(why, &case))? {
                Some(diagnostic) => {
                    explained(&case, &diagnostic).map_err(|why| wrong(why, &case))?;
                    self.refused += 1;
                }
                None => match check(&case, Backend::Jit) {
                    Outcome::Wrong(why) => return Err(wrong(why, &case)),
                    Outcome::Right => self.legal += 1,
                    Outcome::Invalid => {}
                },
            }
        }
        Ok(())
    }
}

/// Why a case is refused when it is compiled, if it is; an error if that ends in a panic.
fn refusal(case: &Case) -> Result<Option<Diagnostic>, String> {
    let compiled = std::panic::catch_unwind(|| case.compile(Backend::Jit));
    compiled.map(Result::err).map_err(|_| "a panic".to_owned())
}

/// A diagnostic of a schedule has its location there, a reason and a way out.
fn explained(case: &Case, diagnostic: &Diagnostic) -> Result<(), String> {
    let there = matches!(&diagnostic.place, Some(Place::Text { source, span, .. })
        if **source == *case.schedule && span.end <= source.len());
    let lacks = [
        ("a location in the schedule", !there),
        ("a reason", diagnostic.message.is_empty()),
        ("a way out", diagnostic.help.as_ref().is_none_or(String::is_empty)),
        ("a code of its own", diagnostic.code == Code::Internal),
    ];
    match lacks.iter().find(|(_, lacking)| *lacking) {
        Some((what, _)) => Err(format!("a diagnostic without {what}: {diagnostic}")),
        None => Ok(()),
    }
}

/// The commands with one word of them replaced, doubled or left out.
fn broken(random: &mut Random, commands: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words: Vec<(usize, usize)> = vec![];
    for (at, c) in commands.char_indices().filter(|(_, c)| is_word(*c)) {
        match words.last_mut() {
            Some((_, end)) if *end == at => *end = at + c.len_utf8(),
            _ => words.push((at, at + c.len_utf8())),
        }
    }
    let &(start, end) = random.pick(&words);
    let &(other, last) = random.pick(&words);
    let own = &commands[start..end];
    let instead = match random.below(8) {
        0 => "nobody".to_owned(),
        1 => "0".to_owned(),
        2 => "-1".to_owned(),
        3 => "99999999999999999999".to_owned(),
        4 => String::new(),
        5 => format!("{own}, {own}"),
        6 => format!("{own}("),
        _ => commands[other..last].to_owned(),
    };
    format!("{}{instead}{}", &commands[..start], &commands[end..])
}
