//! The report: a Markdown table for people and JSON with every single time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::bars::{Bar, Required};
use crate::contender::{Absent, Role};
use crate::limits::Limits;
use crate::measure::{Entry, Outcome, Race};
use crate::schedules::Row;

/// Everything that was found out in one run of the benchmark.
pub struct Report {
    /// The conditions: name and setting.
    pub conditions: Vec<(&'static str, String)>,
    /// The limits of the machine.
    pub limits: Limits,
    /// The races.
    pub races: Vec<Race>,
    /// The studies of schedules.
    pub studies: Vec<Row>,
    /// The bars.
    pub bars: Vec<Bar>,
}

impl Report {
    /// Whether every result agreed.
    pub fn agrees(&self) -> bool {
        let studies = self.studies.iter().flat_map(|row| &row.entries);
        let mut entries = self.races.iter().flat_map(|race| &race.entries).chain(studies);
        !entries.any(|entry| matches!(entry.outcome, Outcome::Wrong(_)))
    }

    /// The whole report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Benchmark\n\n");
        for (name, setting) in &self.conditions {
            let _ = writeln!(text, "- {name}: {setting}");
        }
        let _ = writeln!(text, "- limits: {}\n", self.describe_limits());
        if !self.races.is_empty() {
            text += &self.times();
            text += &self.notes();
        }
        if !self.studies.is_empty() {
            text += "| study | input | ways, median milliseconds |\n|---|---|---|\n";
            self.studies.iter().for_each(|row| text += &format!("{}\n", row.text()));
        }
        text += &self.bar_table();
        text
    }

    /// Writes `<date>.json` and `latest.md`; the path of the former.
    pub fn save(&self, directory: &Path) -> std::io::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{}.json", now()));
        fs::write(&path, format!("{:#}\n", self.json()))?;
        fs::write(directory.join("latest.md"), self.markdown())?;
        Ok(path)
    }

    fn describe_limits(&self) -> String {
        let Limits { triad, copy, read, gather } = &self.limits;
        let gather = gather
            .iter()
            .map(|(bytes, seconds)| format!("{:.1} ns in {} KiB", seconds * 1e9, bytes / 1024));
        format!(
            "triad {:.1} GB/s, copy {:.1} GB/s, read {:.1} GB/s, random 8-byte gather {}",
            triad / 1e9,
            copy / 1e9,
            read / 1e9,
            gather.collect::<Vec<_>>().join(", ")
        )
    }

    fn times(&self) -> String {
        let Some(first) = self.races.first() else { return String::new() };
        let names: Vec<&str> = first.entries.iter().map(|e| e.name.as_str()).collect();
        let mut text = String::from("Medians in milliseconds; the fastest peer in bold.\n\n");
        let _ = writeln!(
            text,
            "| operation | input | bus limit | {} | peer/hand | tamis/peer | tamis/hand |",
            names.join(" | ")
        );
        let _ = writeln!(text, "|---|---|{}", "--:|".repeat(names.len() + 4));
        for race in &self.races {
            let _ = writeln!(text, "{}", row(race, &self.limits));
        }
        text
    }

    fn notes(&self) -> String {
        let mut text = String::from(
            "\nBus limit: every operand and the result crossing the memory bus once at triad bandwidth. \
             x/y is the speed of x as a multiple of that of y. Tamis counts with its better tier. \
             `-`: it has no such operation.\n\n",
        );
        let mut described = Vec::new();
        for race in &self.races {
            if !described.contains(&race.input) {
                described.push(race.input.clone());
                let _ = writeln!(text, "- {}: {}", race.input, race.description);
            }
        }
        let mut missing = Vec::new();
        for race in &self.races {
            for entry in &race.entries {
                let note = match &entry.outcome {
                    Outcome::Absent(Absent::NotAvailable(why)) => {
                        format!("- {} is not available: {why}", entry.name)
                    }
                    Outcome::Wrong(why) => {
                        let (op, input) = (race.operation, &race.input);
                        format!("- **{} is wrong on {op} {input}**: {why}", entry.name)
                    }
                    _ => continue,
                };
                if !missing.contains(&note) {
                    missing.push(note);
                }
            }
        }
        text + &missing.join("\n") + "\n"
    }

    fn bar_table(&self) -> String {
        if self.bars.is_empty() {
            return String::new();
        }
        let held = self.bars.iter().filter(|bar| bar.holds()).count();
        let mut text = format!("\n## Bars: {held} of {} reached\n\n", self.bars.len());
        text += "| figure | reached | bar | |\n|---|--:|--:|---|\n";
        for bar in &self.bars {
            let required = match bar.required {
                Required::AtLeast(bar) => format!(">= {bar}"),
                Required::AtMost(bar) => format!("<= {bar}"),
            };
            let verdict = if bar.holds() { "reached" } else { "**missed**" };
            let Bar { what, reached, unit, .. } = bar;
            let _ =
                writeln!(text, "| {what} | {reached:.2} {unit} | {required} {unit} | {verdict} |");
        }
        text
    }

    fn json(&self) -> Value {
        let conditions: serde_json::Map<_, _> =
            self.conditions.iter().map(|(k, v)| (k.to_string(), json!(v))).collect();
        json!({
            "conditions": conditions,
            "limits": {
                "triad": self.limits.triad,
                "copy": self.limits.copy,
                "read": self.limits.read,
                "gather": self.limits.gather,
            },
            "races": self.races.iter().map(|race| self.race_json(race)).collect::<Vec<_>>(),
            "studies": self.studies.iter().map(study_json).collect::<Vec<_>>(),
            "bars": self.bars.iter().map(bar_json).collect::<Vec<_>>(),
        })
    }

    fn race_json(&self, race: &Race) -> Value {
        json!({
            "operation": race.operation.to_string(),
            "input": race.input,
            "description": race.description,
            "bytes": race.bytes,
            "bus_limit": race.bytes as f64 / self.limits.triad,
            "entries": race.entries.iter().map(entry_json).collect::<Vec<_>>(),
        })
    }
}

fn cell(entry: &Entry, fastest_peer: Option<&str>) -> String {
    match (&entry.outcome, entry.median()) {
        (Outcome::Seconds(_), Some(median)) if fastest_peer == Some(&entry.name) => {
            format!("**{}**", milliseconds(median))
        }
        (Outcome::Seconds(_), median) => median.map_or("?".into(), milliseconds),
        (Outcome::Absent(Absent::NoOperation), _) => "-".into(),
        (Outcome::Absent(Absent::NotAvailable(_)), _) => "not available".into(),
        (Outcome::Wrong(_), _) => "WRONG".into(),
    }
}

/// The row of a race in the table of times.
pub fn row(race: &Race, limits: &Limits) -> String {
    let peer = race.fastest(|role| role == Role::Peer);
    let hand = race.fastest(|role| role == Role::Hand);
    let tamis = race.best_tamis();
    let cells: Vec<String> =
        race.entries.iter().map(|entry| cell(entry, peer.map(|(name, _)| name))).collect();
    let (peer, hand) = (peer.map(|(_, s)| s), hand.map(|(_, s)| s));
    format!(
        "| {} | {} | {:.1} | {} | {} | {} | {} |",
        race.operation,
        race.input,
        race.bytes as f64 / limits.triad * 1e3,
        cells.join(" | "),
        speed(peer, hand),
        speed(tamis, peer),
        speed(tamis, hand),
    )
}

/// Three digits or so: noise begins there.
fn milliseconds(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.1}") }
}

/// How many times as fast the one is as the other.
fn speed(one: Option<f64>, other: Option<f64>) -> String {
    match (one, other) {
        (Some(one), Some(other)) => format!("{:.2}", other / one),
        _ => String::new(),
    }
}

fn study_json(row: &Row) -> Value {
    json!({
        "study": row.study.name,
        "input": row.input,
        "entries": row.entries.iter().map(entry_json).collect::<Vec<_>>(),
    })
}

fn entry_json(entry: &Entry) -> Value {
    let mut value = json!({ "name": entry.name, "role": format!("{:?}", entry.role) });
    match &entry.outcome {
        Outcome::Seconds(times) => {
            value["median"] = json!(entry.median());
            value["seconds"] = json!(times);
        }
        Outcome::Absent(Absent::NoOperation) => value["absent"] = json!("no such operation"),
        Outcome::Absent(Absent::NotAvailable(why)) => value["absent"] = json!(why),
        Outcome::Wrong(why) => value["wrong"] = json!(why),
    }
    value
}

fn bar_json(bar: &Bar) -> Value {
    json!({
        "what": bar.what,
        "reached": bar.reached,
        "required": format!("{:?}", bar.required),
        "unit": bar.unit,
        "holds": bar.holds(),
    })
}

/// The time in UTC, as it stands in file names: `2026-11-21T043900`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}{m:02}{s:02}")
}

/// Days since 1970 to year, month, day. Years are counted from March, so that leap days come last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * day_of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    (year, month, day_of_year - (153 * march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }
}
