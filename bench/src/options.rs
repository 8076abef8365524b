//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::measure::Effort;
use crate::operation::{OPERATIONS, Operation};
use crate::pages::Pages;
use crate::papers::{Extent, PAPERS, Paper};
use crate::studies::STUDIES;

pub const USAGE: &str = "\
usage: tamis-bench [--quick] [--only OPERATION,...] [--inputs INPUT,...] [--threads N]
                   [--pages huge|small] [--clock wall|processor] [--save]
       tamis-bench --schedules [--quick] [--only STUDY,...] [--inputs INPUT,...] [--save]
       tamis-bench --paper 000|001|002|003|004|all,... [--quick] [--only FIGURE,...] [--files FILE ...]
                   [--clock wall|processor] [--save]

  --paper    the tables and figures of papers (000 taco, 001 iteration spaces, 002 workspaces, 003 formats,
             004 SparseLNR), also on the patterns of matrices and 3-tensors in --files (.mtx .tns .gz); --save
             writes them into bench/RESULTS.md and bench/plots
  --schedules  studies instead of races: one program in several ways, on one and two threads (fused original
             spmv spmm32 mttkrp32 skewed tiled)

  --quick    few repetitions: a first impression
  --only     operations by name or beginning of a name: spmv spmm spmm64 spadd hadamard ttv ttm mttkrp sddmm
             spadd7 spgemm spgemm-unsorted spgemm-0.0025 mttkrp32-sparse spmv-coo spmv-dia spmv-bcsr spadd-coo
             coo-csr csr-csc csr-dia csr-bcsr
  --inputs   inputs by name: lap2d_1000 lap3d_100 fem60k rmat17 uni500k, smaller ones (lap2d_128 lap3d_25
             fem15k rmat14 uni16k), densities10k, and tensors (uni1000 zipf5m)
  --threads  how many threads contenders may use (default: 1); kernels by hand and crates use one
  --pages    the pages that everybody's arrays lie on (default: huge)
  --clock    what a second is: processor leaves out the turns of other programs (default: wall)
  --save     write bench/out/<date>.json and bench/out/latest.md";

/// What the command line asks for.
pub struct Options {
    /// How long each contender is measured.
    pub effort: Effort,
    /// How much of the tables of papers is run.
    pub extent: Extent,
    /// The beginnings of what is wanted; all, when there are none.
    only: Vec<String>,
    /// The inputs that are wanted; all, when there are none.
    inputs: Vec<String>,
    /// How many threads contenders may use.
    pub threads: usize,
    /// The pages of arrays.
    pub pages: Pages,
    /// The clock.
    pub clock: Clock,
    /// Whether results are saved.
    pub save: bool,
    /// What is run.
    pub what: What,
    /// The arguments, for people.
    pub command: String,
}

/// What is run.
pub enum What {
    /// Races against peers.
    Races,
    /// Studies of schedules.
    Schedules,
    /// The tables of papers, with these files.
    Papers(Vec<&'static Paper>, Vec<PathBuf>),
}

impl Options {
    /// `None` when only help is wanted.
    pub fn parse(arguments: &[OsString]) -> Result<Option<Self>, String> {
        let mut options = Self {
            effort: Effort::FULL,
            extent: Extent::Whole,
            only: Vec::new(),
            inputs: Vec::new(),
            threads: 1,
            pages: Pages::Huge,
            clock: Clock::Wall,
            save: false,
            what: What::Races,
            command: shown(arguments),
        };
        let (mut papers, mut files, mut quick) = (vec![], vec![], false);
        let mut rest = arguments.iter().map(|argument| argument.to_string_lossy()).peekable();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{argument} wants a value"));
            match argument.as_ref() {
                "--quick" => quick = true,
                "--save" => options.save = true,
                "--schedules" => options.what = What::Schedules,
                "--paper" => papers = chosen(&value()?)?,
                "--files" => {
                    while let Some(file) = rest.next_if(|word| !word.starts_with("--")) {
                        files.push(PathBuf::from(file.into_owned()));
                    }
                }
                "--only" => options.only = list(&value()?),
                "--inputs" => options.inputs = list(&value()?),
                "--threads" => options.threads = threads(&value()?)?,
                "--pages" => options.pages = pages(&value()?)?,
                "--clock" => options.clock = clock(&value()?)?,
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        if quick {
            options.effort = Effort::QUICK;
            options.extent = Extent::Sample;
        }
        if !papers.is_empty() {
            options.effort = if quick { Effort::PAPER_QUICK } else { Effort::PAPER };
            options.what = What::Papers(papers, files);
        } else if !files.is_empty() {
            return Err("--files are for --paper".to_owned());
        }
        options.check()?;
        Ok(Some(options))
    }

    fn check(&self) -> Result<(), String> {
        if self.threads > 1 && self.clock == Clock::Processor {
            return Err("the processor's clock counts one thread".to_owned());
        }
        let part = !self.only.is_empty() || !self.inputs.is_empty();
        if self.save && part && matches!(self.what, What::Papers(..)) {
            return Err("--save writes whole papers: leave --only and --inputs out".to_owned());
        }
        let all: Vec<(String, &[&str])> = match &self.what {
            What::Schedules => STUDIES.iter().map(|s| (s.name.to_owned(), s.inputs)).collect(),
            What::Races => OPERATIONS.iter().map(|o| (o.to_string(), o.inputs())).collect(),
            What::Papers(papers, _) => {
                let exhibits = papers.iter().flat_map(|paper| (paper.exhibits)());
                exhibits.map(|exhibit| (exhibit.figure.to_owned(), exhibit.inputs)).collect()
            }
        };
        let unknown = |only: &&String| !all.iter().any(|(name, _)| name.starts_with(only.as_str()));
        if let Some(only) = self.only.iter().find(unknown) {
            return Err(format!("nothing to run begins with {only}"));
        }
        let known = |name: &String| all.iter().any(|(_, inputs)| inputs.contains(&name.as_str()));
        match self.inputs.iter().find(|name| !known(name)) {
            Some(name) => Err(format!("there is no input {name}")),
            None => Ok(()),
        }
    }

    /// The operations that are wanted.
    pub fn operations(&self) -> impl Iterator<Item = Operation> {
        OPERATIONS.into_iter().filter(|operation| self.wants(&operation.to_string()))
    }

    /// Whether what has this name is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only.as_str()))
    }

    /// The cores that contenders need: studies of papers have ways of two threads, which the clock of one cannot time.
    pub fn cores(&self) -> usize {
        let on_two = matches!(self.what, What::Papers(..)) && self.clock == Clock::Wall;
        if on_two { self.threads.max(2) } else { self.threads }
    }

    /// Whether an input is wanted.
    pub fn wants_input(&self, name: &str) -> bool {
        self.inputs.is_empty() || self.inputs.iter().any(|input| input == name)
    }
}

/// The command that these arguments are part of; of files only the names.
fn shown(arguments: &[OsString]) -> String {
    let word = |argument: &OsString| {
        let path = Path::new(argument);
        path.file_name().unwrap_or(argument).to_string_lossy().into_owned()
    };
    let words: Vec<String> = arguments.iter().map(word).collect();
    format!("`cargo xtask bench {}`", words.join(" "))
}

fn chosen(text: &str) -> Result<Vec<&'static Paper>, String> {
    if text == "all" {
        return Ok(PAPERS.iter().collect());
    }
    let paper = |number: &str| {
        let paper = PAPERS.iter().find(|paper| paper.number == number);
        paper.ok_or(format!("--paper is a number from 000 to 004, or all, not {number}"))
    };
    text.split(',').map(paper).collect()
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_string).collect()
}

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or(format!("--threads is a number of threads, not {text}"))
}

fn pages(text: &str) -> Result<Pages, String> {
    match text {
        "huge" => Ok(Pages::Huge),
        "small" => Ok(Pages::Small),
        _ => Err(format!("--pages is huge or small, not {text}")),
    }
}

fn clock(text: &str) -> Result<Clock, String> {
    let named = |clock: &Clock| clock.name() == text;
    let clock = [Clock::Wall, Clock::Processor].into_iter().find(named);
    clock.ok_or(format!("--clock is wall or processor, not {text}"))
}
