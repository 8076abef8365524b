//! Exhibits as Markdown, and the page of all results, `bench/RESULTS.md`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::{Cells, Column, Columns, PAPERS, Paper, Shown, Table, plot};
use crate::contender::{Absent, Role};
use crate::measure::{Entry, Outcome};

const HEAD: &str = "\
# Tables and figures of papers

`cargo xtask bench --paper NUMBER --save` wrote this page: each section by a run of its own, whose conditions stand \
below its title. Times are medians in milliseconds, the least of a column in bold; results were compared before \
anything was timed. `tamis ...` is compiled by the system's C compiler unless it says JIT; `hand` are kernels \
written by hand (`bench/hand`). What is fair about it: `bench/README.md`.
";

/// A table or figure as Markdown.
pub fn exhibit(paper: &str, shown: &Shown) -> String {
    let exhibit = &shown.exhibit;
    let mut text = format!("### {}: {}\n\n", capital(exhibit.figure), exhibit.title);
    let _ = writeln!(text, "In the paper: {}.\n", exhibit.original);
    for table in &shown.tables {
        if let Some(input) = &table.input {
            let description = table.columns.first().map_or("", |column| &column.description);
            let _ = writeln!(text, "{input} ({description}):\n");
        }
        text += &rows(table, exhibit.columns, exhibit.cells);
        text += &notes(table);
        let name = plot::name(paper, exhibit.figure, table);
        let _ = writeln!(text, "![{}](plots/{name})\n", exhibit.title);
    }
    text
}

/// A text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The names of the contenders of a table, in the order in which they came.
pub fn contenders(table: &Table) -> Vec<&str> {
    let mut names: Vec<&str> = vec![];
    for entry in table.columns.iter().filter_map(|column| column.entries.as_ref().ok()).flatten() {
        if !names.contains(&entry.name.as_str()) {
            names.push(&entry.name);
        }
    }
    names
}

impl Column {
    /// How a contender did.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.as_ref().ok()?.iter().find(|entry| entry.name == name)
    }

    fn least(&self, role: impl Fn(Role) -> bool) -> Option<f64> {
        let entries = self.entries.as_ref().ok()?.iter().filter(|entry| role(entry.role));
        entries.filter_map(Entry::median).min_by(f64::total_cmp)
    }
}

fn rows(table: &Table, columns: Columns, cells: Cells) -> String {
    let corner = match columns {
        Columns::Inputs => "",
        Columns::Parameter { name, .. } => name,
    };
    let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
    let mut text =
        format!("| {corner} | {} |\n|---|{}\n", heads.join(" | "), "--:|".repeat(heads.len()));
    for name in contenders(table) {
        let cells = table.columns.iter().map(|column| cell(column, name, cells));
        let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    for (what, role) in [("library", Role::Peer), ("kernel by hand", Role::Hand)] {
        let ratio = |column: &Column| {
            let tamis = column.least(|role| matches!(role, Role::TamisC | Role::TamisJit))?;
            Some(column.least(|other| other == role)? / tamis)
        };
        let ratios: Vec<Option<f64>> = table.columns.iter().map(ratio).collect();
        if ratios.iter().any(Option::is_some) {
            let shown = ratios.iter().map(|r| r.map_or(String::new(), |r| format!("{r:.2}")));
            let shown = shown.collect::<Vec<_>>().join(" | ");
            let _ = writeln!(text, "| *fastest {what} / fastest Tamis* | {shown} |");
        }
    }
    text + "\n"
}

fn cell(column: &Column, name: &str, cells: Cells) -> String {
    let least = column.least(|role| role != Role::TamisPart);
    let Some(entry) = column.entry(name) else { return String::new() };
    let time = match (&entry.outcome, entry.median()) {
        (Outcome::Wrong(_), _) => "WRONG".to_owned(),
        (Outcome::Absent(_), _) => "-".to_owned(),
        (_, Some(time)) if Some(time) == least => format!("**{}**", digits(time * 1e3)),
        (_, Some(time)) => digits(time * 1e3),
        _ => "?".to_owned(),
    };
    let bytes = column.storage.iter().find(|(stored, _)| stored == name).map(|(_, bytes)| bytes);
    match bytes.filter(|_| cells == Cells::TimeAndStorage && entry.median().is_some()) {
        Some(&bytes) => format!("{time} ({} MB)", digits(bytes as f64 / 1e6)),
        None => time,
    }
}

/// Three digits.
fn digits(number: f64) -> String {
    let decimals = (2.0 - number.abs().max(1e-3).log10().floor()).clamp(0.0, 4.0);
    format!("{number:.*}", decimals as usize)
}

/// The inputs, and why cells are empty.
fn notes(table: &Table) -> String {
    let mut notes: Vec<String> = vec![];
    for column in &table.columns {
        if table.input.is_none() {
            notes.push(format!("{}: {}", column.head, column.description));
        }
        let entries = match &column.entries {
            Ok(entries) => entries,
            Err(why) => {
                notes.push(format!("{} was not run: {why}", column.head));
                continue;
            }
        };
        for entry in entries {
            let Entry { name, outcome, .. } = entry;
            let note = match outcome {
                Outcome::Absent(Absent::NotAvailable(why)) => {
                    let why = why.lines().next().unwrap_or_default();
                    format!("{name} is not available: {why}")
                }
                Outcome::Wrong(why) => format!("**{name} is wrong on {}**: {why}", column.head),
                _ => continue,
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let items: String = notes.iter().map(|note| format!("- {note}\n")).collect();
    items + "\n"
}

/// The section of a paper.
pub fn section(paper: &Paper, shown: &[Shown], conditions: &[(&'static str, String)]) -> String {
    let mut text = format!("{}{}\n\n", mark(paper), paper.title);
    for (name, setting) in conditions {
        let _ = writeln!(text, "- {name}: {setting}");
    }
    text.push('\n');
    shown.iter().for_each(|shown| text += &exhibit(paper.number, shown));
    text
}

fn mark(paper: &Paper) -> String {
    format!("## {}: ", paper.number)
}

/// Replaces the section of a paper in `RESULTS.md` of a folder, and its plots. Other sections stay.
pub fn save(
    folder: &Path,
    paper: &Paper,
    shown: &[Shown],
    conditions: &[(&'static str, String)],
) -> io::Result<()> {
    let plots = folder.join("plots");
    fs::create_dir_all(&plots)?;
    for shown in shown {
        for table in &shown.tables {
            let path = plots.join(plot::name(paper.number, shown.exhibit.figure, table));
            plot::draw(&path, &shown.exhibit, table).map_err(io::Error::other)?;
        }
    }
    let path = folder.join("RESULTS.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let sections = PAPERS.iter().filter_map(|other| match other.number == paper.number {
        true => Some(section(paper, shown, conditions)),
        false => before.find(&mark(other)).map(|start| of_page(&before[start..]).to_owned()),
    });
    let page: Vec<String> = std::iter::once(HEAD.to_owned()).chain(sections).collect();
    let page: Vec<&str> = page.iter().map(|section| section.trim_end()).collect();
    fs::write(&path, page.join("\n\n") + "\n")
}

/// The section at the beginning of a text, up to the next one.
fn of_page(text: &str) -> &str {
    let end = PAPERS.iter().filter_map(|paper| text[1..].find(&mark(paper))).min();
    end.map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.01234, 1.234, 12.34, 1234.5].map(digits), ["0.0123", "1.23", "12.3", "1234"]);
    }

    #[test]
    fn sections_end_where_the_next_begins() {
        assert_eq!(of_page("## 000: a\n## 002: b\n"), "## 000: a\n");
        assert_eq!(of_page("## 002: b\n"), "## 002: b\n");
    }
}
