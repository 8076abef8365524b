//! A forecast as text, and how fast a network is.
//!
//! ```text
//! 4 ranks send 1304 bytes in a first run, 904 in later ones
//! ```

use super::{Forecast, Run, Sent};
use std::fmt::Write;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// How fast messages are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Network {
    /// Bytes per second that a rank sends, and gets at the same time.
    pub bandwidth: f64,
    /// Seconds until a message begins to arrive.
    pub latency: f64,
}

impl Network {
    /// Reads bandwidth and latency: `10G,2us` is 10 gigabytes per second, after 2 microseconds.
    ///
    /// # Errors
    /// When the text is something else.
    ///
    /// ```
    /// let network = tamis::dist::Network::parse("10G,2us")?;
    /// assert_eq!((network.bandwidth, network.latency), (1e10, 2e-6));
    /// # Ok::<(), tamis::Diagnostic>(())
    /// ```
    pub fn parse(text: &str) -> Result<Network, Diagnostic> {
        let refuse = || {
            let message = format!("the network {text}: expected bandwidth and latency");
            let help = "write bytes per second and a time, as in 10G,2us or 500M,50us";
            Diagnostic::new(Code::InvalidOption, message).help(help)
        };
        let (bandwidth, latency) = text.split_once(',').ok_or_else(refuse)?;
        let bandwidth = tamis_runtime::size::bytes(bandwidth.trim()).filter(|&n| n > 0);
        let latency = seconds(latency.trim());
        let (bandwidth, latency) = bandwidth.zip(latency).ok_or_else(refuse)?;
        Ok(Network { bandwidth: bandwidth as f64, latency })
    }

    /// How long a step takes: its messages begin one after another, and the rank with most bytes is last.
    pub fn seconds(self, step: &Sent) -> f64 {
        let most = step.sent.iter().chain(&step.received).max().copied().unwrap_or(0);
        self.latency * step.messages as f64 + most as f64 / self.bandwidth
    }
}

/// A time with its unit.
fn seconds(text: &str) -> Option<f64> {
    let units = [("ns", 1e9), ("us", 1e6), ("ms", 1e3), ("s", 1.0)];
    let (number, per_second) =
        units.iter().find_map(|(unit, of)| Some((text.strip_suffix(unit)?, of)))?;
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number / per_second)
}

/// Bytes of so many ranks are told each.
const TOLD_EACH: usize = 8;

impl Forecast {
    /// The forecast as text, with times if it is known how fast messages are.
    pub fn text(&self, network: Option<Network>) -> String {
        let (ranks, all, later) = (self.ranks, self.bytes(Run::First), self.bytes(Run::Later));
        let send =
            if ranks == 1 { "1 rank sends".to_owned() } else { format!("{ranks} ranks send") };
        let mut out = format!("{send} {all} bytes in a first run, {later} in later ones\n\n");
        let mut rows = vec![self.header(network)];
        rows.extend(self.steps.iter().map(|step| self.row(step, network)));
        out += &aligned(&rows);
        if self.steps.iter().any(|step| step.once) {
            out += "*: in the first run alone\n";
        }
        out += "\n";
        for share in &self.kernels {
            let _ = match (share.imbalance(), network) {
                (None, None) => writeln!(out, "{}: all of the work on each rank", share.name),
                (None, Some(_)) => {
                    let ms = share.seconds * 1e3;
                    writeln!(out, "{}: all of the work on each rank, about {ms:.3} ms", share.name)
                }
                (Some(most), None) => {
                    writeln!(out, "{}: at most {most:.3} of an equal share of the work", share.name)
                }
                (Some(most), Some(_)) => writeln!(
                    out,
                    "{}: at most {most:.3} of an equal share of the work, about {:.3} ms of {:.3}",
                    share.name,
                    share.slowest() * 1e3,
                    share.seconds * 1e3
                ),
            };
        }
        if let Some(network) = network {
            let computing: f64 = self.kernels.iter().map(|share| share.slowest()).sum();
            let sending = |run| self.steps_of(run).map(|step| network.seconds(step)).sum::<f64>();
            let [first, later] =
                [Run::First, Run::Later].map(|run| (sending(run) + computing) * 1e3);
            let _ =
                writeln!(out, "a first run takes about {first:.3} ms, later ones {later:.3} ms");
        }
        out
    }

    fn header(&self, network: Option<Network>) -> Vec<String> {
        let mut row: Vec<String> = vec!["bytes sent".to_owned(), "all ranks".to_owned()];
        match self.ranks {
            ranks if ranks <= TOLD_EACH => {
                row.extend((0..ranks).map(|rank| format!("rank {rank}")))
            }
            _ => row.extend(["least", "most"].map(str::to_owned)),
        }
        row.push("messages".to_owned());
        row.extend(network.map(|_| "ms".to_owned()));
        row
    }

    fn row(&self, step: &Sent, network: Option<Network>) -> Vec<String> {
        let what = if step.once { format!("{} *", step.what) } else { step.what.clone() };
        let mut row = vec![what, step.sent.iter().sum::<u64>().to_string()];
        match self.ranks {
            ranks if ranks <= TOLD_EACH => row.extend(step.sent.iter().map(u64::to_string)),
            _ => {
                let ends = [step.sent.iter().min(), step.sent.iter().max()];
                row.extend(ends.map(|n| n.copied().unwrap_or(0).to_string()));
            }
        }
        row.push(step.messages.to_string());
        row.extend(network.map(|network| format!("{:.3}", network.seconds(step) * 1e3)));
        row
    }
}

/// Rows with columns of the same width, the first from the left, others from the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..count)
        .map(|k| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(k, (cell, &width))| match k {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  "))
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn networks_are_read() {
        let read = |text: &str| Network::parse(text).map(|n| (n.bandwidth, n.latency));
        assert_eq!(read("500M, 50us"), Ok((5e8, 5e-5)));
        assert_eq!(read("1000,0s"), Ok((1000.0, 0.0)));
        for wrong in ["", "10G", "10G,2", "0,2us", "fast,2us", "10G,-2us", "10G,2us,3"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
