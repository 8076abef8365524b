//! Products of many operands, and quotients that are exact.

use super::{Flavour, Generator, TENSORS, access};

impl Generator<'_> {
    /// A value over an operand that may be 0.
    pub(super) fn quotient(&mut self, depth: usize) -> String {
        let a = self.value(depth - 1);
        let Some(d) = self.divisor() else { return a };
        if self.random.one_in(3) { format!("mod({a}, {d})") } else { format!("({a}) / {d}") }
    }

    /// An operand by which all quotients are exact, if there may be another.
    fn divisor(&mut self) -> Option<String> {
        let order = self.random.below(3).min(self.vars.len());
        let mut vars = self.vars.clone();
        self.random.shuffle(&mut vars);
        vars.truncate(order);
        if self.operands.len() >= TENSORS.len() {
            return None;
        }
        let name = TENSORS[self.operands.len()];
        let (text, dims) = self.indices(&vars);
        let mut divisor = self.operand(name, dims);
        for (_, value) in &mut divisor.entries {
            value.re = value.re.clamp(-2.0, 2.0);
        }
        self.operands.push(divisor);
        Some(access(name, &text))
    }

    /// A product of many operands, or what is one beside the reduction of the flavour.
    pub(super) fn product(&mut self) -> String {
        let mut factors: Vec<String> = (0..3 + self.random.below(3)).map(|_| self.leaf()).collect();
        if self.flavour == Flavour::Arithmetic && !self.usual && self.random.one_in(2) {
            factors.insert(0, "2".to_owned());
        }
        let divides = !self.usual && self.divides && self.random.one_in(2);
        if let Some(d) = divides.then(|| self.divisor()).flatten() {
            let at = self.random.below(factors.len());
            factors[at] = format!("{} / {d}", factors[at]);
        }
        let joined = |operator| {
            let join = |a, b| format!("{operator}({a}, {b})");
            factors.iter().cloned().reduce(join).expect("there are factors")
        };
        match self.flavour {
            Flavour::Arithmetic => factors.join(" * "),
            Flavour::MinPlus => factors.join(" + "),
            Flavour::MaxMin => joined("min"),
            Flavour::Logic => joined("and"),
        }
    }
}
