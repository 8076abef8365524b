//! A program to text.

use crate::cin::{BoundType, Kernel, Overflow, Program, Relation, Role, Stmt, Tag, Tensor};
use crate::format::LevelMap;
use crate::notation::{Access, Commutativity, Expr, Operator, Within};
use std::collections::BTreeMap;
use std::fmt::Write;
use tamis_ir::algebra::{BinaryOp, ReduceOp, Strictness, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};

/// The program as text, which [`parse`](super::parse()) reads back.
pub fn print(program: &Program) -> String {
    let printer = Printer::new(program);
    let mut out = format!("width {}\n", program.width.datatype());
    if program.strictness == Strictness::Ieee {
        out += "strict\n";
    }
    for operator in program.operators.iter() {
        out += &printer.operator(operator);
    }
    for var in program.vars.ids() {
        out += &printer.var(var);
    }
    for (id, tensor) in program.tensors.enumerate() {
        out += &printer.tensor(id, tensor);
    }
    for kernel in &program.kernels {
        out += &printer.kernel(kernel);
    }
    out
}

/// Words of programs and plans, which no tensor or variable may have as its name.
const WORDS: [&str; 36] = [
    "width",
    "strict",
    "operator",
    "var",
    "tensor",
    "kernel",
    "tag",
    "ranks",
    "choice",
    "forall",
    "where",
    "sequence",
    "within",
    "reduce",
    "choose",
    "complex",
    "slice",
    "for",
    "locate",
    "search",
    "compute",
    "at",
    "else",
    "nothing",
    "about",
    "may",
    "not",
    "temporary",
    "only",
    "neither",
    "any",
    "estimate",
    "if",
    "add",
    "then",
    "in",
];

/// Unique names: an ambiguous name, or a word of the text, is followed by a dot and its number.
fn distinct<'n, I: Id>(names: impl Iterator<Item = &'n str>) -> IdVec<I, String> {
    let names: Vec<&str> = names.collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    names.iter().for_each(|name| *count.entry(name).or_default() += 1);
    let name = |(k, &name): (usize, &&str)| match count[name] {
        1 if !WORDS.contains(&name) => name.to_owned(),
        _ => format!("{name}.{k}"),
    };
    names.iter().enumerate().map(name).collect()
}

/// The printed names of tensors, variables and operators.
pub(crate) struct Printer<'p> {
    pub(super) program: &'p Program,
    pub(crate) vars: IdVec<IndexVar, String>,
    pub(crate) tensors: IdVec<TensorId, String>,
}

impl<'p> Printer<'p> {
    /// Names for a program.
    pub(crate) fn new(program: &'p Program) -> Printer<'p> {
        Printer {
            program,
            vars: distinct(program.vars.iter().map(String::as_str)),
            tensors: distinct(program.tensors.iter().map(|t| t.name.as_str())),
        }
    }

    fn operator(&self, operator: &Operator) -> String {
        let properties = operator.properties;
        let mut out = format!("operator {} {}", operator.name, operator.arity);
        if properties.commutative == Commutativity::Commutative {
            out += " commutative";
        }
        for (word, value) in
            [("identity", properties.identity), ("annihilator", properties.annihilator)]
        {
            if let Some(value) = value {
                write!(out, " {word} {}", literal(Scalar::F64(value))).expect("strings grow");
            }
        }
        format!("{out} = {}\n", self.expr(&operator.body))
    }

    fn var(&self, var: IndexVar) -> String {
        let derived = &self.program.derived;
        let name = |v: IndexVar| self.vars[v].clone();
        let mut out = format!("var {}", self.vars[var]);
        if let Some(map) = derived.map(var) {
            out += &match map.map(name) {
                LevelMap::Mode(v) => format!(" = {v}"),
                LevelMap::Div(v, size) => format!(" = {v}/{size}"),
                LevelMap::Mod(v, size) => format!(" = {v}%{size}"),
                LevelMap::Diff { plus, minus } => format!(" = {plus}-{minus}"),
                LevelMap::Slot(v) => format!(" = #{v}"),
            };
        }
        if let Some((tensor, level)) = derived.slots(var) {
            out += &format!(" in {} {}", self.tensors[tensor], level.index());
        }
        if derived.alias(var) != var {
            out += &format!(" like {}", self.vars[derived.alias(var)]);
        }
        if let Some((tensor, mode)) = derived.mode(var) {
            out += &format!(" mode {} {}", tensor.index(), mode.index());
        }
        if derived.split.contains(&var) {
            out += " scheduled";
        }
        if let Some(relation) = derived.relation(var) {
            out += &format!(" {}", self.relation(relation));
        }
        out + "\n"
    }

    fn relation(&self, relation: &Relation) -> String {
        let name = |v: &IndexVar| self.vars[*v].as_str();
        match relation {
            Relation::Part { of, place, parts } => {
                format!("part({}, {}, {parts})", name(of), name(place))
            }
            Relation::Place { of, part } => format!("place({}, {})", name(of), name(part)),
            Relation::Fused { outer, inner } => format!("fused({}, {})", name(outer), name(inner)),
            Relation::Position { of, above, within, access, level, unique } => {
                let [of, above] = [of, above].map(|vars| self.names(vars));
                let within = within.iter().map(|v| format!(", {}", name(v))).collect::<String>();
                let repeated = if *unique { "" } else { " repeated" };
                let access = self.access(access);
                format!("position([{of}], [{above}], {access}, {level}{repeated}{within})")
            }
            Relation::Same { of, bound } => {
                let bound = match bound {
                    None => String::new(),
                    Some(BoundType::Exact(size)) => format!(", exactly {size}"),
                    Some(BoundType::Most(size)) => format!(", most {size}"),
                };
                format!("same({}{bound})", name(of))
            }
        }
    }

    fn names(&self, vars: &[IndexVar]) -> String {
        let names: Vec<&str> = vars.iter().map(|&v| self.vars[v].as_str()).collect();
        names.join(",")
    }

    fn tensor_names(&self, tensors: &[TensorId]) -> String {
        let names: Vec<&str> = tensors.iter().map(|&t| self.tensors[t].as_str()).collect();
        names.join(",")
    }

    fn tensor(&self, id: TensorId, tensor: &Tensor) -> String {
        let mut out = format!("tensor {}", self.tensors[id]);
        if !tensor.modes.is_empty() {
            out += &format!("({})", self.names(&tensor.modes));
        }
        let role = match tensor.role {
            Role::Input(of) => format!("input {}", of.index()),
            Role::Result(of) => format!("result {}", of.index()),
            Role::Temporary => "temporary".to_owned(),
            Role::Register(initial) => format!("register {}", literal(initial)),
            Role::Workspace => "workspace".to_owned(),
        };
        out += &format!(": {} = {role}", tensor.storage);
        out + if tensor.streamed { " streamed\n" } else { "\n" }
    }

    fn kernel(&self, kernel: &Kernel) -> String {
        let result = &self.tensors[kernel.result];
        let mut out = format!("kernel {result} {} {}", kernel.compute, kernel.kind.name());
        for (word, holds) in [
            ("scatter", kernel.scatter),
            ("workspace", kernel.assembly.workspace),
            ("crowded", kernel.assembly.crowded),
            ("chunked", kernel.cut.chunked),
            ("threaded", kernel.cut.threaded),
            ("checked", kernel.overflow.is_checked()),
            ("long_sums", kernel.overflow == Overflow::CheckedLong),
        ] {
            if holds {
                out += &format!(" {word}");
            }
        }
        if let Some(like) = kernel.like {
            out += &format!(" like {}", self.tensors[like]);
        }
        if let Some(how) = kernel.assembly.wanted {
            out += &format!(" {}", how.name());
        }
        if !kernel.partial.is_empty() {
            out += &format!(" partial {}", self.tensor_names(&kernel.partial));
        }
        out += "\n";
        for ranks in &kernel.cut.ranks {
            let (inner, outer, axis) = (&self.vars[ranks.inner], &ranks.outer, &ranks.axis);
            out += &format!("  ranks {inner} {outer} {axis}\n");
        }
        for (&var, tag) in &kernel.tags {
            out += &self.tag(var, tag);
        }
        for choice in &kernel.choices {
            out += &format!("  choice {:?} [{}]", choice.cost, self.names(&choice.loops));
            if !choice.copied.is_empty() {
                out += &format!(" copied {}", self.tensor_names(&choice.copied));
            }
            out += if choice.apart { " apart\n" } else { "\n" };
        }
        out + "  " + &self.stmt(&kernel.body) + "\n"
    }

    fn tag(&self, var: IndexVar, tag: &Tag) -> String {
        let mut out = format!("  tag {}", self.vars[var]);
        if let Some((unit, races)) = tag.parallel {
            out += &format!(" {} {}", unit.name(), races.name());
        }
        if let Some(factor) = tag.unroll {
            out += &format!(" unroll {factor}");
        }
        if let Some(merge) = tag.merge {
            out += &format!(" {}", merge.name());
        }
        out + "\n"
    }

    /// A statement on one line.
    pub(crate) fn stmt(&self, s: &Stmt) -> String {
        match s {
            Stmt::Forall { var, body } => {
                format!("forall({}, {})", self.vars[*var], self.stmt(body))
            }
            Stmt::Where { consumer, producer } => {
                format!("where({}, {})", self.stmt(consumer), self.stmt(producer))
            }
            Stmt::Sequence(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.stmt(part)).collect();
                format!("sequence({})", parts.join(", "))
            }
            Stmt::Assign { lhs, op, rhs } => {
                let op = op.map_or("", |op| match op {
                    ReduceOp::User(id) => &self.program.operators[id].name,
                    op => op.binary().name(),
                });
                format!("{} {op}= {}", self.access(lhs), self.expr(rhs))
            }
            Stmt::Within { pattern, body } => {
                format!("within({}, {})", self.access(pattern), self.stmt(body))
            }
        }
    }

    /// A use of a tensor.
    pub(crate) fn access(&self, a: &Access) -> String {
        let index = |(k, &v): (usize, &IndexVar)| {
            let slicing = a.slicing(k).map_or(String::new(), ToString::to_string);
            format!("{}{slicing}", self.vars[v])
        };
        let indices: Vec<String> = a.indices.iter().enumerate().map(index).collect();
        match indices[..] {
            [] => self.tensors[a.tensor].clone(),
            _ => format!("{}({})", self.tensors[a.tensor], indices.join(",")),
        }
    }

    fn expr(&self, e: &Expr) -> String {
        let call = |name: &str, args: &[&Expr]| {
            let args: Vec<String> = args.iter().map(|e| self.expr(e)).collect();
            format!("{name}({})", args.join(", "))
        };
        match e {
            Expr::Literal(x) => literal(*x),
            Expr::Access(a) => self.access(a),
            Expr::Index(v) => format!("@{}", self.vars[*v]),
            Expr::Param(k) => format!("${k}"),
            Expr::Unary(UnaryOp::Neg, a) => call("neg", &[a]),
            Expr::Unary(op, a) => call(op.name(), &[a]),
            Expr::UserUnary(op, a) => call(&self.program.operators[*op].name, &[a]),
            Expr::Binary(BinaryOp::User(op), a, b) => {
                call(&self.program.operators[*op].name, &[a, b])
            }
            Expr::Binary(op, a, b) if op.name().starts_with(char::is_alphabetic) => {
                call(op.name(), &[a, b])
            }
            Expr::Binary(op, a, b) => {
                format!("{} {} {}", self.operand(a), op.name(), self.operand(b))
            }
            Expr::Reduce { op, vars, body } => {
                let name = match op {
                    ReduceOp::User(id) => &self.program.operators[*id].name,
                    op => op.name(),
                };
                format!("reduce {name}({}; {})", self.names(vars), self.expr(body))
            }
            Expr::Choose { within, then, otherwise } => {
                let slices = within.iter().map(|w| self.within(w));
                let values = [then, otherwise].map(|e| self.expr(e));
                let all: Vec<String> = slices.chain(values).collect();
                format!("choose({})", all.join("; "))
            }
        }
    }

    fn within(&self, w: &Within) -> String {
        format!("slice {} by {}{}", self.vars[w.var], self.vars[w.counter], w.slice)
    }

    /// An operand of an infix operator.
    fn operand(&self, e: &Expr) -> String {
        match e {
            Expr::Binary(op, ..) if !op.name().starts_with(char::is_alphabetic) => {
                format!("({})", self.expr(e))
            }
            _ => self.expr(e),
        }
    }
}

/// A constant with its type: `2` is an integer, `2u` one without sign, `2.0` an `f64`, `2.0f` an `f32`.
pub(super) fn literal(x: Scalar) -> String {
    match x {
        Scalar::Bool(b) => format!("#{b}"),
        Scalar::I64(x) => x.to_string(),
        Scalar::U64(x) => format!("{x}u"),
        Scalar::F64(x) if x.is_finite() => format!("{x:?}"),
        Scalar::F64(x) => format!("#{x}").to_lowercase(),
        Scalar::F32(x) if x.is_finite() => format!("{x:?}f"),
        Scalar::F32(x) => format!("#{x}_f32").to_lowercase(),
        Scalar::C64(_) | Scalar::C128(_) => {
            let [re, im] = x.parts().map(literal);
            format!("complex({re}, {im})")
        }
    }
}
