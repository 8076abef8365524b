//! Text to the imperative form: reads what [`print`](super::print) writes back to the identical
//! function.
//!
//! ```text
//! function  = "fn" name "(" [param {"," param}] ")" "{" {local} {var} {statement} "}"
//! param     = name ":" type | name ":" ("in" | "out" | "result") "[" element "]"
//! local     = "local" name ":" "[" element "]"
//! var       = "var" name {"," name} ":" type ["by" "lanes"]
//! type      = ("bool" | "i64" | "f32" | "f64") ["x" lanes]
//! statement = name "=" expr
//!           | name "[" expr [";" lanes] "]" "=" expr
//!           | "for" name "in" expr ".." expr ["step" integer] block
//!           | "for" name "in" expr ".." expr "on" unit
//!             ["with" name "by" op {"," name "by" op}] block
//!           | "update" name "[" expr "]" "by" op ":" expr
//!           | "while" expr block
//!           | "if" expr block ["else" block]
//!           | "reserve" name "," expr
//!           | "fill" name "[" expr ".." expr "]" "=" expr
//!           | "sort" expr ".." expr "by" names ["with" names]
//!           | "fail" status
//!           | "#" text to the end of the line
//! ```
//!
//! Variables are numbered in the order of their declarations, and so are arrays. [`verify`](super::verify) checks
//! types.

mod expr;
mod lex;

#[cfg(test)]
mod tests;

use super::verify::is_name;
use super::{
    ArrayDecl, ArrayRole, Expr, Function, Param, Reduction, Status, Stmt, Type, Unit, VarDecl,
};
use crate::algebra::ReduceOp;
use crate::datatype::{DataType, Register};
use crate::diagnostic::{Code, Diagnostic};
use crate::ids::{Array, Var};
use lex::{Kind, Token, lex};
use std::collections::BTreeMap;

/// The deepest nesting of blocks and parentheses, so that no text exhausts the stack.
const DEEPEST: usize = 400;

/// Reads a function.
///
/// ```
/// let text = "fn f(n: i64, x: out [f64]) {\n  var i: i64\n  for i in 0..n {\n    x[i] = 0.5\n  }\n}\n";
/// assert_eq!(tamis_ir::ir::parse::parse(text).unwrap().to_string(), text);
/// ```
///
/// # Errors
///
/// [`Code::Syntax`], with the location, where the text does not follow the grammar or uses a name
/// that it does not declare.
pub fn parse(text: &str) -> Result<Function, Diagnostic> {
    let function = Function {
        name: String::new(),
        params: vec![],
        vars: [].into_iter().collect(),
        arrays: [].into_iter().collect(),
        body: vec![],
    };
    let names = BTreeMap::new();
    let mut parser = Parser { text, tokens: lex(text)?, at: 0, depth: 0, function, names };
    parser.header()?;
    parser.function.body = parser.block()?;
    match parser.next().kind {
        Kind::End => Ok(parser.function),
        _ => Err(parser.expected("the end of the text")),
    }
}

/// The declaration of a name.
#[derive(Clone, Copy)]
enum Meaning {
    Var(Var),
    Array(Array),
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// The next token.
    at: usize,
    /// The current nesting of blocks and parentheses.
    depth: usize,
    /// The declarations so far.
    function: Function,
    names: BTreeMap<&'t str, Meaning>,
}

impl<'t> Parser<'t> {
    fn next(&self) -> &Token {
        &self.tokens[self.at]
    }

    /// The text of the next token.
    fn word(&self) -> &'t str {
        &self.text[self.next().span.clone()]
    }

    /// The text of the token after the next.
    fn word_after(&self) -> &'t str {
        self.tokens.get(self.at + 1).map_or("", |t| &self.text[t.span.clone()])
    }

    fn refuse(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::Syntax, message).at(self.text, self.next().span.clone())
    }

    fn expected(&self, what: &str) -> Diagnostic {
        match self.next().kind {
            Kind::End => self.refuse(format!("expected {what}, not the end of the text")),
            _ => self.refuse(format!("expected {what}, not `{}`", self.word())),
        }
    }

    /// Takes the next token if it is this sign or word.
    fn takes(&mut self, word: &str) -> bool {
        let found = matches!(self.next().kind, Kind::Sign(_) | Kind::Name) && self.word() == word;
        self.at += usize::from(found);
        found
    }

    fn take(&mut self, word: &str) -> Result<(), Diagnostic> {
        if self.takes(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    fn name(&mut self) -> Result<&'t str, Diagnostic> {
        let name = self.word();
        if self.next().kind != Kind::Name {
            return Err(self.expected("a name"));
        }
        self.at += 1;
        Ok(name)
    }

    /// The next token, as `read` parses it.
    fn one<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Diagnostic> {
        let value = read(self.word()).ok_or_else(|| self.expected(what))?;
        self.at += 1;
        Ok(value)
    }

    /// The declaration of the next name.
    fn meaning(&mut self) -> Result<Meaning, Diagnostic> {
        let name = self.word();
        if self.next().kind != Kind::Name {
            return Err(self.expected("a name"));
        }
        let unknown = || self.refuse(format!("{name} is not declared"));
        let meaning = self.names.get(name).copied().ok_or_else(unknown)?;
        self.at += 1;
        Ok(meaning)
    }

    fn var(&mut self) -> Result<Var, Diagnostic> {
        match self.meaning()? {
            Meaning::Var(v) => Ok(v),
            Meaning::Array(_) => {
                self.at -= 1;
                Err(self.expected("a variable"))
            }
        }
    }

    fn array(&mut self) -> Result<Array, Diagnostic> {
        match self.meaning()? {
            Meaning::Array(a) => Ok(a),
            Meaning::Var(_) => {
                self.at -= 1;
                Err(self.expected("an array"))
            }
        }
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        if self.depth == DEEPEST {
            return Err(self.refuse("this is nested too deep"));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Everything before the first statement.
    fn header(&mut self) -> Result<(), Diagnostic> {
        self.take("fn")?;
        self.function.name = self.name()?.to_owned();
        self.take("(")?;
        if !self.takes(")") {
            self.param()?;
            while self.takes(",") {
                self.param()?;
            }
            self.take(")")?;
        }
        self.take("{")?;
        let declares = |p: &Self, word: &str| {
            p.word() == word && p.tokens.get(p.at + 1).is_some_and(|t| t.kind == Kind::Name)
        };
        let own = [("local", ArrayRole::Local), ("common", ArrayRole::Common)];
        while let Some((_, role)) = own.into_iter().find(|(word, _)| declares(self, word)) {
            self.at += 1;
            let name = self.new_name()?;
            self.take(":")?;
            self.declare_array(name, role)?;
        }
        while declares(self, "var") {
            self.at += 1;
            let mut names = vec![self.new_name()?];
            while self.takes(",") {
                names.push(self.new_name()?);
            }
            self.take(":")?;
            let ty = self.ty()?;
            let by_lanes = self.takes("by");
            if by_lanes {
                self.take("lanes")?;
            }
            names.into_iter().for_each(|name| {
                let var = self.declare_var(name, ty);
                self.function.vars[var].by_lanes = by_lanes;
            });
        }
        Ok(())
    }

    fn param(&mut self) -> Result<(), Diagnostic> {
        let name = self.new_name()?;
        self.take(":")?;
        let roles = [
            ("in", ArrayRole::Input),
            ("out", ArrayRole::Output),
            ("shared", ArrayRole::Shared),
            ("result", ArrayRole::Result),
        ];
        let param = match roles.into_iter().find(|(word, _)| self.takes(word)) {
            Some((_, role)) => Param::Array(self.declare_array(name, role)?),
            None => {
                let ty = self.ty()?;
                Param::Scalar(self.declare_var(name, ty))
            }
        };
        self.function.params.push(param);
        Ok(())
    }

    /// A new name, which must not be declared yet.
    fn new_name(&mut self) -> Result<&'t str, Diagnostic> {
        let name = self.name()?;
        let problem = match self.names.contains_key(name) {
            true => "is declared already",
            false if !is_name(name) => "is a constant",
            false => {
                // Inserted immediately, so that one line cannot declare it twice.
                self.names.insert(name, Meaning::Var(crate::ids::Id::new(0)));
                return Ok(name);
            }
        };
        self.at -= 1;
        Err(self.refuse(format!("{name} {problem}")))
    }

    fn declare_var(&mut self, name: &'t str, ty: Type) -> Var {
        let var = self.function.vars.push(VarDecl::new(name, ty));
        self.names.insert(name, Meaning::Var(var));
        var
    }

    fn declare_array(&mut self, name: &'t str, role: ArrayRole) -> Result<Array, Diagnostic> {
        let streamed =
            matches!(role, ArrayRole::Output | ArrayRole::Shared) && self.takes("streamed");
        self.take("[")?;
        let elem = self.one("the type of elements", DataType::parse)?;
        self.take("]")?;
        let array =
            self.function.arrays.push(ArrayDecl { streamed, ..ArrayDecl::new(name, elem, role) });
        self.names.insert(name, Meaning::Array(array));
        Ok(array)
    }

    fn ty(&mut self) -> Result<Type, Diagnostic> {
        self.one("a type", |word| {
            let (register, lanes) = word.split_once('x').unwrap_or((word, "1"));
            Some(Type { register: Register::parse(register)?, lanes: lanes.parse().ok()? })
        })
    }

    /// Statements up to and including the closing brace.
    fn block(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        self.deeper(|p| {
            let mut stmts = vec![];
            while !p.takes("}") {
                stmts.push(p.stmt()?);
            }
            Ok(stmts)
        })
    }

    fn inner_block(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        self.take("{")?;
        self.block()
    }

    fn stmt(&mut self) -> Result<Stmt, Diagnostic> {
        match (self.next().kind, self.word_after()) {
            (Kind::Comment, _) => {
                let text = &self.word()[1..];
                self.at += 1;
                Ok(Stmt::Comment(text.strip_prefix(' ').unwrap_or(text).to_owned()))
            }
            (Kind::Name, "=") => {
                let var = self.var()?;
                self.take("=")?;
                Ok(Stmt::Assign { var, value: self.expr()? })
            }
            (Kind::Name, "[") => self.store(),
            (Kind::Name, _) => self.keyword(),
            _ => Err(self.expected("a statement")),
        }
    }

    fn store(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array()?;
        self.take("[")?;
        let index = self.expr()?;
        let at = self.at;
        let lanes = self.lanes()?;
        self.take("]")?;
        self.take("=")?;
        let value = self.expr()?;
        let found = self.function.type_of(&value).lanes;
        if found != lanes {
            self.at = at;
            return Err(self.refuse(format!("{lanes} elements are to take {found} lanes")));
        }
        Ok(Stmt::Store { array, index, value })
    }

    /// A statement that starts with a word of the grammar.
    fn keyword(&mut self) -> Result<Stmt, Diagnostic> {
        if self.takes("for") {
            return self.for_loop();
        } else if self.takes("while") {
            return Ok(Stmt::While { cond: self.expr()?, body: self.inner_block()? });
        } else if self.takes("in") {
            self.take("order")?;
            return Ok(Stmt::InOrder { body: self.inner_block()? });
        } else if self.takes("if") {
            let (cond, then) = (self.expr()?, self.inner_block()?);
            let otherwise = if self.takes("else") { self.inner_block()? } else { vec![] };
            return Ok(Stmt::If { cond, then, otherwise });
        } else if self.takes("reserve") {
            let array = self.array()?;
            self.take(",")?;
            return Ok(Stmt::Reserve { array, len: self.expr()? });
        } else if self.takes("fill") {
            let array = self.array()?;
            self.take("[")?;
            let (lo, hi) = self.range()?;
            self.take("]")?;
            self.take("=")?;
            return Ok(Stmt::Fill { array, lo, hi, value: self.expr()? });
        } else if self.takes("sort") {
            let (lo, hi) = self.range()?;
            self.take("by")?;
            let keys = self.arrays()?;
            // A statement may start with a variable of that name.
            let more = self.word() == "with" && !["=", "["].contains(&self.word_after());
            self.at += usize::from(more);
            let carried = if more { self.arrays()? } else { vec![] };
            return Ok(Stmt::Sort { keys, carried, lo, hi });
        } else if self.takes("update") {
            let array = self.array()?;
            self.take("[")?;
            let index = self.expr()?;
            self.take("]")?;
            let op = self.combining()?;
            self.take(":")?;
            return Ok(Stmt::Update { array, index, op, value: self.expr()? });
        } else if self.takes("prefetch") {
            let array = self.array()?;
            self.take("[")?;
            let index = self.expr()?;
            self.take("]")?;
            return Ok(Stmt::Prefetch { array, index, far: self.takes("far") });
        } else if self.takes("fail") {
            let status = |word: &str| Status::ALL.into_iter().find(|s| s.name() == word);
            return Ok(Stmt::Fail(self.one("a status", status)?));
        }
        Err(self.expected("a statement"))
    }

    fn for_loop(&mut self) -> Result<Stmt, Diagnostic> {
        let var = self.var()?;
        self.take("in")?;
        let (lo, hi) = self.range()?;
        if self.takes("on") {
            let unit = |word: &str| Unit::ALL.into_iter().find(|u| u.name() == word);
            let unit = self.one("a unit", unit)?;
            let mut combined = vec![];
            let mut more = self.takes("with");
            while more {
                combined.push(Reduction { var: self.var()?, op: self.combining()? });
                more = self.takes(",");
            }
            return Ok(Stmt::Parallel { unit, var, lo, hi, combined, body: self.inner_block()? });
        }
        let step = if self.takes("step") { self.integer()? } else { 1 };
        Ok(Stmt::For { var, lo, hi, step, body: self.inner_block()? })
    }

    /// `by sum`: how iterations combine values.
    fn combining(&mut self) -> Result<ReduceOp, Diagnostic> {
        self.take("by")?;
        let op = |word: &str| ReduceOp::ALL.into_iter().find(|op| op.name() == word);
        self.one("an operator", op)
    }

    fn range(&mut self) -> Result<(Expr, Expr), Diagnostic> {
        let lo = self.expr()?;
        self.take("..")?;
        Ok((lo, self.expr()?))
    }

    fn arrays(&mut self) -> Result<Vec<Array>, Diagnostic> {
        let mut arrays = vec![self.array()?];
        while self.takes(",") {
            arrays.push(self.array()?);
        }
        Ok(arrays)
    }

    fn integer(&mut self) -> Result<i64, Diagnostic> {
        let sign = if self.takes("-") { "-" } else { "" };
        self.one("an integer", |word| format!("{sign}{word}").parse().ok())
    }

    /// `; lanes`, or nothing for one.
    fn lanes(&mut self) -> Result<u16, Diagnostic> {
        match self.takes(";") {
            true => self.one("a number of lanes", |word| word.parse().ok()),
            false => Ok(1),
        }
    }
}
