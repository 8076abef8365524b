//! Random valid programs: expressions, formats, mode orders and sparsity patterns, with small
//! integer values so that every result is exact.

mod again;
mod large;
mod products;

pub use large::large;

use crate::case::{Case, Operand};
use crate::formats;
use crate::number::Number;
use crate::random::Random;
use crate::schedules;
use crate::slices::slice;
use std::collections::BTreeMap;
use tamis::{DataType, Strictness};

const VARS: [&str; 5] = ["i", "j", "k", "l", "m"];
/// The most elements of tensors with large dimensions, slices aside.
const MOST_ELEMENTS: u64 = 1 << 16;
const TENSORS: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

/// A random case. It may turn out invalid (a sum that needs to be written); those are refused by
/// the parser and drawn again.
pub fn case(random: &mut Random) -> Case {
    case_in(random, &formats::format)
}

/// A random case whose formats, for tensors of some order, are drawn from this.
pub fn case_in(random: &mut Random, formats: &Formats) -> Case {
    let mut g = Generator::new(random, formats);
    if g.random.one_in(5) {
        (g.multiplies, g.usual) = (true, false);
    }
    let statements = if g.random.one_in(6) { 2 } else { 1 };
    let mut texts = vec![];
    for n in 0..statements {
        let updates = n == 1 && g.slices && !g.complete.is_empty() && g.random.one_in(2);
        let name = if updates { "R" } else { ["R", "S"][n] };
        texts.push(g.statement(name));
    }
    let mut case = g.finish(texts.join("; "));
    if random.one_in(4) {
        case.schedule = schedules::schedule(random, &case);
    }
    case
}

/// Draws a format for tensors of an order.
pub type Formats = dyn Fn(&mut Random, usize) -> String;

/// What the expression may consist of.
#[derive(Clone, Copy, PartialEq)]
enum Flavour {
    /// `+ - *` and functions over 0.
    Arithmetic,
    /// `min` and `+` over infinity.
    MinPlus,
    /// `max` and `min`, of floats over negative infinity or 0.
    MaxMin,
    /// `and`, `or` over false.
    Logic,
}

impl Flavour {
    /// The element types of a program's tensors, of which most have the first.
    fn types(self, random: &mut Random) -> Vec<DataType> {
        let mut types = vec![match (self, random.below(10)) {
            (Flavour::MinPlus, _) => DataType::F64,
            (Flavour::MaxMin, n) if n < 7 => DataType::F64,
            (Flavour::MaxMin, _) => *random.pick(&[DataType::I32, DataType::U8, DataType::F32]),
            (Flavour::Logic, n) if n < 6 => DataType::Bool,
            (_, n) if n < 5 => *random.pick(&DataType::ALL),
            _ => DataType::F64,
        }];
        if !matches!(self, Flavour::MinPlus | Flavour::MaxMin) && random.one_in(4) {
            types.push(*random.pick(&DataType::ALL));
        }
        types
    }
}

struct Generator<'r> {
    random: &'r mut Random,
    formats: &'r Formats,
    flavour: Flavour,
    /// The element types, of which most operands have the first.
    types: Vec<DataType>,
    vars: Vec<&'static str>,
    sizes: BTreeMap<&'static str, u64>,
    operands: Vec<Operand>,
    written: Vec<(String, Vec<&'static str>)>,
    results: BTreeMap<String, String>,
    /// Whether tensors are sliced.
    slices: bool,
    shapes: BTreeMap<String, Vec<u64>>,
    /// The dimensions of results of which every element has been given a value.
    complete: BTreeMap<String, Vec<u64>>,
    /// Whether values are products of many operands.
    multiplies: bool,
    /// Whether operands are stored as most people do.
    usual: bool,
    /// Whether dimensions are beyond what vectors, tiles and strips take at once.
    wide: bool,
    /// How many entries operands have at least, as far as they have so many elements.
    least: u64,
    /// Whether values are divided: by divisors of which all quotients are exact.
    divides: bool,
    strict: Strictness,
}

impl<'r> Generator<'r> {
    fn new(random: &'r mut Random, formats: &'r Formats) -> Generator<'r> {
        let multiplies = random.one_in(8);
        let count = if multiplies { 3 + random.below(3) } else { 1 + random.below(4) };
        let vars = VARS[..count].to_vec();
        let same = random.one_in(2).then(|| 1 + random.below(5) as u64);
        let mut sizes = BTreeMap::new();
        for &v in &vars {
            let drawn = if random.one_in(25) { 0 } else { 1 + random.below(6) as u64 };
            sizes.insert(v, same.unwrap_or(drawn));
        }
        let wide = count <= 3 && random.one_in(40);
        if wide {
            large::widen(random, &mut sizes);
        } else if random.one_in(if count <= 3 { 6 } else { 20 }) {
            // Long enough for whole vectors and tiles, and what is left over, or nothing left over.
            let v = *random.pick(&vars);
            let any = 14 + random.below(40) as u64;
            let whole = [16, 32, 64][random.below(3)];
            sizes.insert(v, if random.one_in(2) { whole } else { any });
        }
        let flavour = match random.below(10) {
            0 => Flavour::MinPlus,
            1 => Flavour::Logic,
            2 if random.one_in(2) => Flavour::MaxMin,
            _ => Flavour::Arithmetic,
        };
        let types = flavour.types(random);
        let slices = random.one_in(3);
        let divisible = types.iter().all(|t| t.is_float() && !t.is_complex());
        let divides = flavour == Flavour::Arithmetic && divisible && random.one_in(2);
        let is_strict = divides && random.one_in(6);
        let strict = if is_strict { Strictness::Ieee } else { Strictness::Sparse };
        Generator {
            random,
            formats,
            flavour,
            types,
            vars,
            sizes,
            operands: vec![],
            written: vec![],
            results: BTreeMap::new(),
            slices,
            shapes: BTreeMap::new(),
            complete: BTreeMap::new(),
            multiplies,
            usual: multiplies,
            wide,
            least: 0,
            divides,
            strict,
        }
    }

    fn statement(&mut self, name: &str) -> String {
        let mut free = vec![];
        for &v in &self.vars {
            if self.random.below(5) < 3 {
                free.push(v);
            }
        }
        self.random.shuffle(&mut free);
        free.truncate(3);
        let updated = self.complete.get(name).cloned();
        let result = match updated.clone().and_then(|dims| self.update(name, &dims, &mut free)) {
            Some(result) => result,
            None if updated.is_some() => return format!("{name}_2 = 0"),
            None => {
                self.repeat(&mut free);
                self.result(name, &free)
            }
        };
        let again = updated.is_some() && !result.contains('[');
        let assign = match self.flavour {
            Flavour::Arithmetic if self.slices && (again || self.random.one_in(4)) => "+=",
            _ if again => return format!("{name}_2 = 0"),
            _ => "=",
        };
        let depth = 1 + self.random.below(4);
        let value = if self.multiplies { self.product() } else { self.value(depth) };
        let bound: Vec<&str> = self
            .vars
            .iter()
            .copied()
            .filter(|v| !free.contains(v) && mentions(&value, v))
            .collect();
        let reduce = match self.flavour {
            Flavour::MinPlus => "min",
            Flavour::MaxMin => "max",
            Flavour::Logic => "any",
            Flavour::Arithmetic if self.is_complex() => "sum",
            // A product over many elements leaves what is exact.
            Flavour::Arithmetic if self.sizes.values().any(|&d| d > 8) => {
                *self.random.pick(&["sum", "sum", "max", "min"])
            }
            Flavour::Arithmetic => *self.random.pick(&["sum", "sum", "sum", "sum", "max", "prod"]),
        };
        let implicit = self.flavour == Flavour::Arithmetic && self.random.one_in(2);
        let value = if bound.is_empty() || implicit {
            value
        } else {
            format!("{reduce}({}, {value})", bound.join(", "))
        };
        self.result_format(name, free.len());
        if !self.written.iter().any(|(other, _)| other == name) && !result.contains('[') {
            self.written.push((name.to_owned(), free));
        }
        format!("{result} {assign} {value}")
    }

    /// What is written: perhaps slices of a tensor, which may have a value before.
    fn result(&mut self, name: &str, free: &[&'static str]) -> String {
        let sliced = self.slices && self.random.one_in(2);
        let (text, dims) = match sliced {
            true => self.indices(free),
            false => (free.join(","), free.iter().map(|v| self.sizes[v]).collect()),
        };
        if self.slices && self.random.one_in(2) {
            self.complete.insert(name.to_owned(), dims.clone());
            let operand = self.operand(name, dims);
            self.operands.push(operand);
        } else if text.contains('[') {
            self.shapes.insert(name.to_owned(), dims);
        } else {
            self.complete.insert(name.to_owned(), dims);
        }
        access(name, &text)
    }

    /// A result of these dimensions that is written already, by variables that fit, which become
    /// the free ones.
    fn update(&mut self, name: &str, dims: &[u64], free: &mut Vec<&'static str>) -> Option<String> {
        let mut vars = self.vars.clone();
        self.random.shuffle(&mut vars);
        free.clear();
        let mut texts = vec![];
        for &dimension in dims {
            let at = vars.iter().position(|v| self.sizes[v] <= dimension)?;
            let v = vars.swap_remove(at);
            free.push(v);
            let count = self.sizes[v];
            match count == dimension && self.random.one_in(2) {
                true => texts.push(v.to_owned()),
                false => texts.push(format!("{v}{}", slice(self.random, count, dimension))),
            }
        }
        Some(access(name, &texts.join(",")))
    }

    /// Indices, some of them sliced, and the dimensions of the tensor that has them.
    fn indices(&mut self, vars: &[&'static str]) -> (String, Vec<u64>) {
        let mut texts = vec![];
        let mut dims = vec![];
        for &v in vars {
            let count = self.sizes[v];
            if !self.slices || self.random.one_in(2) {
                texts.push(v.to_owned());
                dims.push(count);
                continue;
            }
            let dimension = count + self.random.below(count as usize + 4) as u64;
            texts.push(format!("{v}{}", slice(self.random, count, dimension)));
            dims.push(dimension);
        }
        (texts.join(","), dims)
    }

    fn result_format(&mut self, name: &str, order: usize) {
        if self.random.one_in(4) {
            return;
        }
        let mut format = (self.formats)(self.random, order);
        let datatype = match self.types.iter().find(|t| t.is_complex()) {
            Some(&complex) => complex,
            None => self.datatype(),
        };
        let fill = match self.flavour {
            Flavour::MinPlus if self.random.one_in(2) => ", fill: inf",
            _ => self.fill(),
        };
        format.push_str(&format!("{{{datatype}{fill}}}"));
        self.results.insert(name.to_owned(), format);
    }

    /// Mostly what a format has without a word, now and then a number that every type has.
    fn fill(&mut self) -> &'static str {
        if self.flavour != Flavour::MinPlus && self.random.one_in(8) { ", fill: 1" } else { "" }
    }

    /// Whether values may be complex.
    fn is_complex(&self) -> bool {
        self.types.iter().any(|t| t.is_complex())
    }

    fn datatype(&mut self) -> DataType {
        if self.random.one_in(3) { *self.random.pick(&self.types) } else { self.types[0] }
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(5) {
            return self.leaf();
        }
        if self.divides && self.random.one_in(3) {
            return self.quotient(depth);
        }
        let (a, b) = (self.value(depth - 1), self.value(depth - 1));
        match self.flavour {
            Flavour::MinPlus => match self.random.below(2) {
                0 => format!("({a} + {b})"),
                _ => format!("min({a}, {b})"),
            },
            Flavour::MaxMin => format!("{}({a}, {b})", self.random.pick(&["min", "max"])),
            Flavour::Logic => match self.random.below(5) {
                0 | 1 => format!("and({a}, {b})"),
                2 | 3 => format!("or({a}, {b})"),
                _ => format!("xor({a}, {b})"),
            },
            Flavour::Arithmetic => match self.random.below(20) {
                0..=8 => format!("{a} * {b}"),
                9..=13 => format!("({a} + {b})"),
                // Below 0, integers without sign wrap.
                14 | 15 if self.types.contains(&DataType::U64) => match self.is_complex() {
                    true => format!("({a} + {b})"),
                    false => format!("min({a}, {b})"),
                },
                14 => format!("({a} - {b})"),
                15 => format!("-({a})"),
                16 if self.is_complex() => format!("conj({a})"),
                17 if self.is_complex() => format!("max(real({a}), imag({b}))"),
                18 if self.is_complex() => {
                    format!("({a} {} {b})", self.random.pick(&["==", "!="]))
                }
                19 if self.is_complex() => format!("square({a})"),
                16 => format!("max({a}, {b})"),
                17 => format!("min({a}, {b})"),
                18 => format!("({a} {} {b})", self.random.pick(&["<", ">=", "==", "!="])),
                _ => format!("abs({a})"),
            },
        }
    }

    fn leaf(&mut self) -> String {
        if self.flavour == Flavour::Arithmetic {
            match self.random.below(16) {
                0 if self.is_complex() => return self.complex_constant(),
                0 => return (1 + self.random.below(3)).to_string(),
                1 => return (*self.random.pick(&self.vars.clone())).to_owned(),
                _ => {}
            }
        }
        if let (Some((name, vars)), true) = (self.written.first().cloned(), self.random.one_in(3)) {
            return access(&name, &vars.join(","));
        }
        let order = *self.random.pick(&[0, 1, 1, 2, 2, 2, 2, 3]);
        let mut vars = vec![];
        let diagonal = if self.multiplies && !self.usual { 1 } else { 4 };
        for _ in 0..order {
            let v = *self.random.pick(&self.vars.clone());
            let again = vars.contains(&v);
            if !again || (self.fits(&vars, v) && self.random.one_in(diagonal)) {
                vars.push(v);
            }
        }
        if self.slices
            && self.random.one_in(4)
            && let Some(again) = self.sliced_again(&vars)
        {
            return again;
        }
        let (text, dims) = self.indices(&vars);
        let known = self.operands.iter().position(|o| o.dims == dims);
        if let (Some(known), true) = (known, self.random.one_in(3)) {
            return access(&self.operands[known].name, &text);
        }
        if self.operands.len() >= TENSORS.len() {
            return "2".to_owned();
        }
        let name = TENSORS[self.operands.len()];
        let operand = self.operand(name, dims);
        self.operands.push(operand);
        access(name, &text)
    }

    /// A complex constant, perhaps one whose imaginary part is 0, or a real function of one.
    fn complex_constant(&mut self) -> String {
        let c = format!("{}j", 1 + self.random.below(3));
        match self.random.below(8) {
            0 => format!("square({c})"),
            1 => format!("square(square({c}))"),
            2 => format!("({c} * {c})"),
            3 => format!("({c} - {c})"),
            4 => format!("abs({c})"),
            5 => format!("({c} == {c})"),
            _ => c,
        }
    }

    /// Whether tensors over these variables and one more are small enough to try every element.
    fn fits(&self, vars: &[&'static str], more: &'static str) -> bool {
        vars.iter().chain([&more]).map(|v| self.sizes[v]).product::<u64>() <= MOST_ELEMENTS
    }

    fn operand(&mut self, name: &str, dims: Vec<u64>) -> Operand {
        let mut format = match (self.usual && self.random.below(4) > 0, dims.len()) {
            (true, 2) => (*self.random.pick(&["dense", "dense", "csr", "csc", "dcsr"])).to_owned(),
            (true, 3) => (*self.random.pick(&["dense", "csf"])).to_owned(),
            (true, _) => "dense".to_owned(),
            _ => (self.formats)(self.random, dims.len()),
        };
        let datatype = self.datatype();
        let fill = match self.flavour {
            Flavour::MinPlus => ", fill: inf",
            Flavour::MaxMin if datatype.is_float() && self.random.one_in(2) => ", fill: -inf",
            _ => self.fill(),
        };
        let width = *self.random.pick(&["", "", "", ", pos: i64", ", crd: i64"]);
        format.push_str(&format!("{{{datatype}{fill}{width}}}"));
        let signed = datatype.integers().is_none_or(|all| *all.start() < 0);
        let part = |random: &mut Random| random.below(7) as f64 - 3.0;
        let size: u64 = dims.iter().product();
        let density = match self.wide {
            _ if self.least > 0 => {
                let least = 100 * self.least.min(size / 2 + 1) / size.max(1);
                let most = 100 * large::MOST_ENTRIES.min(size) / size.max(1);
                least.max(*self.random.pick(&[3, 10, 30, 100])).min(most.max(1))
            }
            true => *self.random.pick(&[0, 1, 1, 3, 20, 100]),
            false => *self.random.pick(&[0, 10, 30, 50, 90, 100]),
        };
        let mut entries = vec![];
        for at in 0..size {
            if (self.random.below(100) as u64) < density {
                let mut rest = at;
                let mut place = vec![0; dims.len()];
                for k in (0..dims.len()).rev() {
                    place[k] = rest % dims[k];
                    rest /= dims[k];
                }
                let value = match self.flavour {
                    Flavour::Logic => Number::from(self.random.below(2) as f64),
                    _ if datatype.is_complex() => {
                        Number { re: part(self.random), im: part(self.random) }
                    }
                    _ if signed => part(self.random).into(),
                    _ => Number::from(self.random.below(7) as f64),
                };
                entries.push((place, value));
            }
        }
        let repeats = tamis::format::parse(&format, Some(dims.len()))
            .is_ok_and(|spec| spec.format.has_duplicates() && tamis::is_list(&spec.format));
        if repeats && !entries.is_empty() && self.random.one_in(2) {
            for _ in 0..1 + self.random.below(4) {
                let (place, _) = self.random.pick(&entries).clone();
                entries.push((place, 1.0.into()));
            }
        }
        self.random.shuffle(&mut entries);
        Operand { name: name.to_owned(), format, dims, entries }
    }

    fn finish(self, text: String) -> Case {
        let operands: Vec<Operand> =
            self.operands.into_iter().filter(|o| mentions(&text, &o.name)).collect();
        let dims = self
            .sizes
            .iter()
            .filter(|(v, _)| mentions(&text, v))
            .map(|(v, &d)| ((*v).to_owned(), d))
            .collect();
        let (results, shapes) = (self.results, self.shapes);
        let schedule = String::new();
        Case { text, operands, results, dims, shapes, schedule, strict: self.strict }
    }
}

fn access(name: &str, indices: &str) -> String {
    if indices.is_empty() { name.to_owned() } else { format!("{name}({indices})") }
}

/// Whether a text has a name as a word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
