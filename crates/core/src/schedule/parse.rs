//! Text to commands.
//!
//! ```text
//! schedule = command { (";" | newline) command }
//! command  = name "(" argument { "," argument } ")"
//! argument = name | number | list | expression
//! list     = "(" [ name { "," name } ] ")" | "{" [ name { "," name } ] "}"
//! ```

use super::command::WorkspaceKind;
use super::command::{Command, USAGES, bound_name};
use super::list::{Placed, Schedule};
use crate::cin::{Assembling, BoundType, MergeStrategy, ParallelUnit, Races};
use std::ops::Range;
use tamis_ir::diagnostic::{Code, Diagnostic, nearest};

/// Commands of other compilers, and what to write here.
const ELSEWHERE: [(&str, &str); 6] = [
    ("vectorize", "parallelize(i, cpu_vector)"),
    ("parallel", "parallelize(i, cpu_thread)"),
    ("tile", "split(i, i0, i1, 32), and reorder"),
    ("interchange", "reorder(j, i)"),
    ("permute", "reorder(j, i)"),
    ("collapse", "fuse(i, j, f)"),
];

/// The largest number of commands in a schedule.
const MAX_COMMANDS: usize = 100;

/// Reads commands separated by `;` or newlines.
///
/// ```
/// let schedule = tamis_core::schedule::parse("reorder(j,i)").unwrap();
/// assert_eq!(schedule.to_string(), "reorder(j, i)");
/// ```
pub fn parse(text: &str) -> Result<Schedule, Diagnostic> {
    let mut commands = vec![];
    for span in pieces(text, 0..text.len(), &[';', '\n']) {
        if !text[span.clone()].is_empty() {
            if commands.len() == MAX_COMMANDS {
                let message = format!("a schedule has at most {MAX_COMMANDS} commands");
                return Err(Diagnostic::new(Code::TooLarge, message)
                    .at(text, span)
                    .help("use fewer commands"));
            }
            let call = Call::read(text, span)?;
            let command = call.command()?;
            commands.push(Placed { command, span: call.span, args: call.args });
        }
    }
    Ok(Schedule { source: text.to_owned(), commands })
}

/// A command as text.
struct Call<'t> {
    text: &'t str,
    span: Range<usize>,
    name: Range<usize>,
    args: Vec<Range<usize>>,
}

impl<'t> Call<'t> {
    fn read(text: &'t str, span: Range<usize>) -> Result<Call<'t>, Diagnostic> {
        let written = &text[span.clone()];
        let refuse = |at: Range<usize>, message: &str| {
            let help = "a command is written reorder(i, j), and the next one behind a ;";
            Diagnostic::new(Code::Syntax, message).at(text, at).help(help)
        };
        let Some(open) = written.find('(') else {
            return Err(refuse(span, "expected a command with arguments in parentheses"));
        };
        let name = trimmed(text, span.start..span.start + open);
        let Some(close) = closing(&written[open..]) else {
            let at = span.start + open;
            return Err(refuse(at..at + 1, "a parenthesis is not closed"));
        };
        let end = span.start + open + close;
        if end + 1 != span.end {
            return Err(refuse(end + 1..span.end, "expected ; or the end of the schedule"));
        }
        let inner = span.start + open + 1..end;
        let mut args = pieces(text, inner.clone(), &[',']);
        if text[inner].trim().is_empty() {
            args.clear();
        }
        Ok(Call { text, span, name, args })
    }

    fn command(&self) -> Result<Command, Diagnostic> {
        let name = &self.text[self.name.clone()];
        let counts = match name {
            "reorder" => 1..=usize::MAX,
            "precompute" => 4..=5,
            "bound" | "distribute" | "divide" | "split" => 4..=4,
            "fuse" | "pos" => 3..=3,
            "parallelize" => 2..=3,
            "assemble" | "communicate" | "coord" | "mergeby" | "unroll" => 2..=2,
            "loopfuse" => 1..=2,
            _ => return Err(self.unknown()),
        };
        self.count(counts)?;
        Ok(match name {
            "assemble" => Command::Assemble {
                tensor: self.name(0)?,
                how: self.one_of(1, &Assembling::ALL, Assembling::name)?,
            },
            "bound" => Command::Bound {
                var: self.name(0)?,
                bounded: self.name(1)?,
                bound: self.bound(3, self.size(2)?)?,
            },
            "communicate" => Command::Communicate { tensor: self.name(0)?, outer: self.name(1)? },
            "coord" => Command::Coord { position: self.name(0)?, var: self.name(1)? },
            "distribute" => self.distribute()?,
            "divide" => self.divide()?,
            "fuse" => self.fuse()?,
            "loopfuse" => self.loopfuse()?,
            "mergeby" => Command::Mergeby {
                var: self.name(0)?,
                merge: self.one_of(1, &MergeStrategy::ALL, MergeStrategy::name)?,
            },
            "parallelize" => Command::Parallelize {
                var: self.name(0)?,
                unit: self.one_of(1, &ParallelUnit::ALL, ParallelUnit::name)?,
                races: match self.args.len() {
                    2 => Races::NoRaces,
                    _ => self.one_of(2, &Races::ALL, Races::name)?,
                },
            },
            "pos" => Command::Pos {
                var: self.name(0)?,
                position: self.name(1)?,
                operand: self.text[self.args[2].clone()].to_owned(),
            },
            "precompute" => self.precompute()?,
            "split" => Command::Split {
                var: self.name(0)?,
                outer: self.name(1)?,
                inner: self.name(2)?,
                size: self.size(3)?,
            },
            "unroll" => Command::Unroll { var: self.name(0)?, factor: self.size(1)? },
            _ => self.reorder()?,
        })
    }

    fn unknown(&self) -> Diagnostic {
        let known: Vec<&str> = USAGES.iter().map(|(name, _)| *name).collect();
        let name = &self.text[self.name.clone()];
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name);
        let help = match (elsewhere, nearest(name, known.iter().copied())) {
            (Some((_, here)), _) => format!("write {here}"),
            (None, Some(meant)) => format!("did you mean {meant}?"),
            (None, None) => format!("the commands are {}", known.join(", ")),
        };
        Diagnostic::new(Code::Syntax, format!("there is no command named {name}"))
            .at(self.text, self.name.clone())
            .help(help)
    }

    /// The argument at an index: a number from 1 on.
    fn size(&self, k: usize) -> Result<u64, Diagnostic> {
        let text = &self.text[self.args[k].clone()];
        match text.parse::<u32>() {
            Ok(size) if size > 0 => Ok(u64::from(size)),
            _ => {
                let message =
                    format!("expected a number from 1 to {}, found {}", u32::MAX, shown(text));
                Err(self.refuse(self.args[k].clone(), message))
            }
        }
    }

    fn bound(&self, k: usize, size: u64) -> Result<BoundType, Diagnostic> {
        self.one_of(k, &[BoundType::Exact(size), BoundType::Most(size)], bound_name)
    }

    /// The argument at an index: one of these names.
    fn one_of<T: Copy>(
        &self,
        k: usize,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, Diagnostic> {
        let text = &self.text[self.args[k].clone()];
        all.iter().copied().find(|&one| name(one) == text).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|&one| name(one)).collect();
            let message = format!("expected one of {}, found {}", known.join(", "), shown(text));
            self.refuse(self.args[k].clone(), message)
        })
    }

    /// The loops in their order, or one list of them.
    fn reorder(&self) -> Result<Command, Diagnostic> {
        let vars = match self.args.len() {
            1 => self.names(0)?,
            several => (0..several).map(|k| self.name(k)).collect::<Result<_, _>>()?,
        };
        match vars.len() {
            0 | 1 => {
                let message = format!("expected at least 2 arguments, found {}", vars.len());
                Err(self.refuse(self.span.clone(), message))
            }
            _ => Ok(Command::Reorder { vars }),
        }
    }

    fn distribute(&self) -> Result<Command, Diagnostic> {
        let (var, outer) = (self.name(0)?, self.name(1)?);
        Ok(Command::Distribute { var, outer, inner: self.name(2)?, axis: self.name(3)? })
    }

    fn divide(&self) -> Result<Command, Diagnostic> {
        let (var, outer) = (self.name(0)?, self.name(1)?);
        Ok(Command::Divide { var, outer, inner: self.name(2)?, parts: self.size(3)? })
    }

    fn fuse(&self) -> Result<Command, Diagnostic> {
        Ok(Command::Fuse { outer: self.name(0)?, inner: self.name(1)?, fused: self.name(2)? })
    }

    fn loopfuse(&self) -> Result<Command, Diagnostic> {
        let operand = self.args.get(1).map(|span| self.text[span.clone()].to_owned());
        Ok(Command::Loopfuse { times: self.size(0)?, operand })
    }

    fn precompute(&self) -> Result<Command, Diagnostic> {
        let value = self.text[self.args[0].clone()].to_owned();
        let (vars, own) = (self.names(1)?, self.names(2)?);
        if vars.len() != own.len() {
            let message = format!("{} loops have {} names", vars.len(), own.len());
            return Err(self.refuse(self.args[2].clone(), message));
        }
        let kind = match self.args.get(4) {
            None => None,
            Some(_) => Some(self.one_of(4, &WorkspaceKind::ALL, WorkspaceKind::name)?),
        };
        Ok(Command::Precompute { value, vars, own, workspace: self.name(3)?, kind })
    }

    fn count(&self, wanted: std::ops::RangeInclusive<usize>) -> Result<(), Diagnostic> {
        let found = self.args.len();
        if wanted.contains(&found) {
            return Ok(());
        }
        let (least, most) = (wanted.start(), wanted.end());
        let wanted = match *most {
            usize::MAX => format!("at least {least}"),
            _ if least == most => least.to_string(),
            _ => format!("{least} or {most}"),
        };
        let message = format!("expected {wanted} arguments, found {found}");
        Err(self.refuse(self.span.clone(), message))
    }

    /// The argument at an index: a name, or any number of them in parentheses or braces.
    fn names(&self, k: usize) -> Result<Vec<String>, Diagnostic> {
        let span = self.args[k].clone();
        let text = &self.text[span.clone()];
        let within = |(open, close)| text.strip_prefix(open).and_then(|t| t.strip_suffix(close));
        let inner = [('(', ')'), ('{', '}')].into_iter().find_map(within);
        let Some(inner) = inner else { return Ok(vec![self.name(k)?]) };
        if inner.trim().is_empty() {
            return Ok(vec![]);
        }
        let names: Vec<String> = inner.split(',').map(|name| name.trim().to_owned()).collect();
        match names.iter().find(|name| !is_name(name)) {
            None => Ok(names),
            Some(wrong) => {
                Err(self.refuse(span, format!("expected a name, found {}", shown(wrong))))
            }
        }
    }

    fn refuse(&self, at: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let name = &self.text[self.name.clone()];
        let usage = USAGES.iter().find(|(command, _)| *command == name);
        let usage = usage.map_or("", |(_, usage)| *usage);
        Diagnostic::new(Code::Syntax, message)
            .at(self.text, at)
            .help(format!("it is written {usage}"))
    }

    /// The argument at an index, an identifier.
    fn name(&self, k: usize) -> Result<String, Diagnostic> {
        let name = &self.text[self.args[k].clone()];
        match is_name(name) {
            true => Ok(name.to_owned()),
            false => {
                let message = format!("expected a name, found {}", shown(name));
                Err(self.refuse(self.args[k].clone(), message))
            }
        }
    }
}

fn shown(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}

/// Whether a text is one identifier.
pub(super) fn is_name(text: &str) -> bool {
    let starts = |c: char| c == '_' || c.is_alphabetic();
    let goes_on = |c: char| c == '_' || c.is_alphanumeric();
    text.chars().next().is_some_and(starts) && text.chars().all(goes_on)
}

/// The pieces between separators outside of parentheses, without surrounding blanks.
fn pieces(text: &str, span: Range<usize>, separators: &[char]) -> Vec<Range<usize>> {
    let mut found = vec![];
    let (mut from, mut open) = (span.start, 0_usize);
    for (at, c) in text[span.clone()].char_indices() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            c if open == 0 && separators.contains(&c) => {
                found.push(trimmed(text, from..span.start + at));
                from = span.start + at + c.len_utf8();
            }
            _ => {}
        }
    }
    found.push(trimmed(text, from..span.end));
    found
}

fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let whole = &text[span.clone()];
    let start = span.start + (whole.len() - whole.trim_start().len());
    start..(start + whole.trim().len())
}

/// The end of the parenthesis with which a text begins.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 1 => return Some(at),
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(text: &str, printed: &str) {
        let schedule = parse(text).expect("a schedule");
        assert_eq!(schedule.to_string(), printed);
        let again = parse(printed).expect("what is printed can be read");
        assert_eq!(again, schedule);
        assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn printing_a_schedule_gives_it_back() {
        check("", "");
        check(" ; \n", "");
        check("reorder(j,i)", "reorder(j, i)");
        check("precompute( A(i,j)*x(j), j,jw,w )", "precompute(A(i,j)*x(j), j, jw, w)");
        check("precompute(e, ( ), (), w)", "precompute(e, (), (), w)");
        check("precompute(e,(i, j),(iw,j),w,listed)", "precompute(e, (i, j), (iw, j), w, listed)");
        check("precompute(e,{i, j},{iw,jw},w)", "precompute(e, (i, j), (iw, jw), w)");
        check(
            "precompute(e, {}, {}, w); reorder({i,j})",
            "precompute(e, (), (), w); reorder(i, j)",
        );
        check(
            "assemble(C,insert); assemble( C, append )",
            "assemble(C, insert); assemble(C, append)",
        );
        check("split(i,i0,i1,32)", "split(i, i0, i1, 32)");
        check("divide(i,i0,i1,4); fuse(i0,i1,f)", "divide(i, i0, i1, 4); fuse(i0, i1, f)");
        check(
            "distribute(i,io,ii,x);communicate(B,io)",
            "distribute(i, io, ii, x); communicate(B, io)",
        );
        check("pos(f,p,A( i,j ))\ncoord(p, q)", "pos(f, p, A( i,j )); coord(p, q)");
        check("parallelize(i,cpu_thread,no_races)", "parallelize(i, cpu_thread, no_races)");
        check("parallelize(i,cpu_thread)", "parallelize(i, cpu_thread, no_races)");
        check(
            "mergeby(i,gallop);mergeby(j,two_finger)",
            "mergeby(i, gallop); mergeby(j, two_finger)",
        );
        check("unroll(i,4);bound(k,kb,8,max_exact)", "unroll(i, 4); bound(k, kb, 8, max_exact)");
        check("bound(k,kb,8,max_constraint)", "bound(k, kb, 8, max_constraint)");
        check("reorder( i0 ,j , i1);\nreorder(j,i)", "reorder(i0, j, i1); reorder(j, i)");
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let refused = |text: &str| parse(text).expect_err("a mistake").to_string();
        let first = |text: &str| refused(text).lines().next().unwrap_or_default().to_owned();
        assert_eq!(
            first("reorder"),
            "error[syntax]: expected a command with arguments in parentheses"
        );
        assert_eq!(first("reorder(i, j"), "error[syntax]: a parenthesis is not closed");
        assert_eq!(
            first("reorder(i, j) k"),
            "error[syntax]: expected ; or the end of the schedule"
        );
        assert_eq!(first("reorder(i)"), "error[syntax]: expected at least 2 arguments, found 1");
        assert_eq!(first("reorder({i})"), "error[syntax]: expected at least 2 arguments, found 1");
        assert_eq!(first("reorder({i, j)"), "error[syntax]: expected a name, found {i, j");
        assert_eq!(first("reorder(i, 2)"), "error[syntax]: expected a name, found 2");
        assert_eq!(
            refused("reorder(j, i); flip(i)"),
            "error[syntax]: there is no command named flip\n  | reorder(j, i); flip(i)\n  |                \
             ^^^^\n  = help: the commands are assemble, bound, communicate, coord, distribute, divide, fuse, loopfuse, \
             mergeby, parallelize, pos, precompute, reorder, split, unroll"
        );
    }
}
