//! Text to [`Program`]: names become tensors, index variables, functions and reductions.
//!
//! A bare name is an index variable if the statement uses it as an index or reduces over it, otherwise a tensor of
//! order 0. `min(j, e)` and `max(j, e)` are reductions if every argument before the last is the bare name of an
//! unbound index variable; otherwise they are functions.

use super::check;
use super::slice::{Slice, Slicing};
use super::syntax::{Node, Raw, RawStatement, statements};
use super::words::{self, Word, is_variadic};
use super::{Access, Expr, IndexVarDecl, Operator, Program, Statement, TensorDecl};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId, UserOp};

/// Reads statements, separated by `;` or newlines.
///
/// ```
/// let program = tamis_core::notation::parse("y(i) = A(i,j) * x(j)").unwrap();
/// assert_eq!(program.tensors.len(), 3);
/// assert_eq!(program.to_string(), "y(i) = A(i,j) * x(j)");
/// ```
pub fn parse(text: &str) -> Result<Program, Diagnostic> {
    parse_with(text, &[])
}

/// Parses statements that may apply these operators, reduce with them (`op(j, ...)`) and accumulate with them
/// (`y op= ...`).
pub fn parse_with(text: &str, operators: &[Operator]) -> Result<Program, Diagnostic> {
    for (k, operator) in operators.iter().enumerate() {
        check::operator(operator, &operators[..k])?;
    }
    let program = Program {
        source: text.to_owned(),
        operators: operators.iter().cloned().collect(),
        ..Program::default()
    };
    let mut resolver = Resolver {
        text,
        program,
        tensors: HashMap::new(),
        vars: HashMap::new(),
        indices: HashSet::new(),
        whole: HashSet::new(),
        bound: vec![],
    };
    for raw in statements(text)? {
        let statement = resolver.statement(&raw)?;
        check::sizes(text, &statement)?;
        resolver.program.statements.push(statement);
    }
    check::order_of_statements(&resolver.program)?;
    Ok(resolver.program)
}

/// Resolves names, statement by statement.
pub(super) struct Resolver<'t> {
    pub(super) text: &'t str,
    pub(super) program: Program,
    pub(super) tensors: HashMap<&'t str, TensorId>,
    pub(super) vars: HashMap<&'t str, IndexVar>,
    /// The names that are index variables in this statement.
    pub(super) indices: HashSet<&'t str>,
    /// Those that are the index of a whole mode, on the side that is being resolved.
    pub(super) whole: HashSet<&'t str>,
    /// The variables that are bound at this point: by the left side and by outer reductions.
    pub(super) bound: Vec<IndexVar>,
}

impl<'t> Resolver<'t> {
    pub(super) fn text(&self, span: &Range<usize>) -> &'t str {
        &self.text[span.clone()]
    }

    pub(super) fn refuse(
        &self,
        code: Code,
        span: &Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(code, message).at(self.text, span.clone())
    }

    fn word(&self, name: &str) -> Option<Word> {
        words::meaning(name, &self.program.operators)
    }

    fn statement(&mut self, raw: &RawStatement) -> Result<Statement, Diagnostic> {
        self.indices.clear();
        self.collect_indices(&raw.target);
        self.whole.clear();
        self.collect_indices(&raw.value);
        let whole = std::mem::take(&mut self.whole);
        self.bound.clear();
        let result = self.target(&raw.target)?;
        self.whole = whole;
        let accumulate = match &raw.accumulate {
            Some(span) => Some(self.accumulation(span)?),
            None => None,
        };
        self.bound.clone_from(&result.indices);
        let value = self.expr(&raw.value)?;
        Ok(Statement { result, accumulate, value, span: raw.span.clone() })
    }

    /// Collects the names that are an index of an access or named by a reduction.
    fn collect_indices(&mut self, raw: &Raw) {
        match &raw.node {
            Node::Number(_) | Node::Name => {}
            Node::Sliced { name, .. } => {
                self.indices.insert(self.text(name));
            }
            Node::Group(inner) | Node::Negate(inner) => self.collect_indices(inner),
            Node::Binary(_, left, right) => {
                self.collect_indices(left);
                self.collect_indices(right);
            }
            Node::Call { name, args } => {
                let word = self.word(self.text(name));
                let named = match word {
                    None => args.len(),
                    Some(Word::Reduce(_)) => args.len().saturating_sub(1),
                    Some(_) => 0,
                };
                for (k, arg) in args.iter().enumerate() {
                    match arg.node {
                        Node::Name if k < named => {
                            self.indices.insert(self.text(&arg.span));
                            self.whole.extend(word.is_none().then(|| self.text(&arg.span)));
                        }
                        _ => self.collect_indices(arg),
                    }
                }
            }
        }
    }

    fn target(&mut self, raw: &Raw) -> Result<Access, Diagnostic> {
        let access = match &raw.node {
            Node::Call { name, args } => {
                self.not_reserved(name)?;
                self.access(name, args, &raw.span)?
            }
            Node::Sliced { .. } => return Err(self.not_a_value(raw)),
            _ => self.access(&raw.span, &[], &raw.span)?,
        };
        if let Node::Call { args, .. } = &raw.node {
            let names = args.iter().filter_map(|arg| index(arg).map(|(name, _)| name));
            check::result_variables(self.text, names, access.is_sliced())?;
        }
        Ok(access)
    }

    fn accumulation(&self, span: &Range<usize>) -> Result<ReduceOp, Diagnostic> {
        let name = self.text(span);
        // The sign of the value is already changed.
        let op = if name == "-" { "+" } else { name };
        let Some(op) = words::accumulation(op, &self.program.operators) else {
            let message = format!("nothing accumulates with {name}=");
            let diagnostic = self.refuse(Code::UnknownFunction, span, message);
            return Err(diagnostic.help("assignments are = += -= *= min= max= or= and="));
        };
        self.combines(op, span)?;
        Ok(op)
    }

    /// Checks that a user operator that reduces or accumulates may combine values in any order.
    fn combines(&self, op: ReduceOp, span: &Range<usize>) -> Result<(), Diagnostic> {
        match op {
            ReduceOp::User(id) => check::combines(self.text, span, &self.program.operators[id]),
            _ => Ok(()),
        }
    }

    fn not_reserved(&self, span: &Range<usize>) -> Result<(), Diagnostic> {
        let name = self.text(span);
        if self.word(name).is_none() {
            return Ok(());
        }
        let message = format!("{name} is the name of a function");
        let help = format!("choose another name, such as {name}_");
        Err(self.refuse(Code::Syntax, span, message).help(help))
    }

    fn two_meanings(&self, span: &Range<usize>) -> Diagnostic {
        let message = format!("{} names a tensor and an index variable", self.text(span));
        self.refuse(Code::Syntax, span, message).help("rename one of them")
    }

    fn var(&mut self, span: &Range<usize>) -> Result<IndexVar, Diagnostic> {
        let name = self.text(span);
        if let Some(&var) = self.vars.get(name) {
            return Ok(var);
        }
        self.not_reserved(span)?;
        if self.tensors.contains_key(name) {
            return Err(self.two_meanings(span));
        }
        let var =
            self.program.vars.push(IndexVarDecl { name: name.to_owned(), span: span.clone() });
        self.vars.insert(name, var);
        Ok(var)
    }

    fn tensor(&mut self, span: &Range<usize>, order: usize) -> Result<TensorId, Diagnostic> {
        let name = self.text(span);
        if let Some(&tensor) = self.tensors.get(name) {
            let known = &self.program.tensors[tensor];
            if known.order != order {
                let of = |n| if n == 1 { "1 index".to_owned() } else { format!("{n} indices") };
                let message =
                    format!("{name} has {} here, but {} before", of(order), of(known.order));
                let diagnostic = self.refuse(Code::OrderMismatch, span, message);
                return Err(diagnostic.help("every use of a tensor has one index per mode"));
            }
            return Ok(tensor);
        }
        self.not_reserved(span)?;
        if self.vars.contains_key(name) || self.indices.contains(name) {
            return Err(self.two_meanings(span));
        }
        let decl = TensorDecl { name: name.to_owned(), order, span: span.clone() };
        let tensor = self.program.tensors.push(decl);
        self.tensors.insert(name, tensor);
        Ok(tensor)
    }

    fn access(
        &mut self,
        name: &Range<usize>,
        args: &[Raw],
        span: &Range<usize>,
    ) -> Result<Access, Diagnostic> {
        check::order(self.text, span, args.len())?;
        let mut names = vec![];
        let mut slices = BTreeMap::new();
        for (k, arg) in args.iter().enumerate() {
            let Some((var, slice)) = index(arg) else {
                return Err(self.not_an_index(name, args, arg));
            };
            names.push(var);
            slices.extend(slice.map(|slice| (Mode::new(k), Slicing::Taken(slice.clone()))));
        }
        let tensor = self.tensor(name, args.len())?;
        let indices = names.iter().map(|name| self.var(name)).collect::<Result<_, _>>()?;
        Ok(Access { tensor, indices, slices, span: span.clone() })
    }

    /// The diagnostic for a slice in place of a value or a tensor.
    fn not_a_value(&self, raw: &Raw) -> Diagnostic {
        let message = "a slice stands where an index of a tensor stands";
        self.refuse(Code::Syntax, &raw.span, message).help("write A(i[2:8],j)")
    }

    fn expr(&mut self, raw: &Raw) -> Result<Expr, Diagnostic> {
        match &raw.node {
            Node::Number(scalar) => Ok(Expr::Literal(*scalar)),
            Node::Group(inner) => self.expr(inner),
            Node::Negate(inner) => Ok(Expr::Unary(UnaryOp::Neg, Box::new(self.expr(inner)?))),
            Node::Binary(op, left, right) => {
                let left = Box::new(self.expr(left)?);
                Ok(Expr::Binary(*op, left, Box::new(self.expr(right)?)))
            }
            Node::Name if self.indices.contains(self.text(&raw.span)) => {
                Ok(Expr::Index(self.var(&raw.span)?))
            }
            Node::Name => Ok(Expr::Access(self.access(&raw.span, &[], &raw.span)?)),
            Node::Sliced { .. } => Err(self.not_a_value(raw)),
            Node::Call { name, args } => match self.word(self.text(name)) {
                None => Ok(Expr::Access(self.access(name, args, &raw.span)?)),
                Some(word) => self.call(word, name, args),
            },
        }
    }

    fn call(&mut self, word: Word, name: &Range<usize>, args: &[Raw]) -> Result<Expr, Diagnostic> {
        match word {
            Word::Reduce(op) => self.reduce(op, name, args),
            Word::Binary(_, Some(op)) if self.reduces(args) => self.reduce(op, name, args),
            Word::Binary(BinaryOp::Heaviside, _) if args.len() == 1 => {
                let half = Box::new(Expr::Literal(Scalar::F64(0.5)));
                Ok(Expr::Binary(BinaryOp::Heaviside, Box::new(self.expr(&args[0])?), half))
            }
            Word::Binary(op, _) => {
                let most = if is_variadic(op) { args.len().max(2) } else { 2 };
                self.count(name, args, 2..=most)?;
                self.fold(op, args)
            }
            Word::Unary(op) => {
                self.count(name, args, 1..=1)?;
                Ok(Expr::Unary(op, Box::new(self.expr(&args[0])?)))
            }
            Word::User(op) => self.user(op, name, args),
        }
    }

    fn user(&mut self, op: UserOp, name: &Range<usize>, args: &[Raw]) -> Result<Expr, Diagnostic> {
        let arity = self.program.operators[op].arity;
        if arity == 2 && self.reduces(args) {
            return self.reduce(ReduceOp::User(op), name, args);
        }
        self.count(name, args, arity..=arity)?;
        match arity {
            1 => Ok(Expr::UserUnary(op, Box::new(self.expr(&args[0])?))),
            _ => self.fold(BinaryOp::User(op), args),
        }
    }

    fn count(
        &self,
        name: &Range<usize>,
        args: &[Raw],
        allowed: std::ops::RangeInclusive<usize>,
    ) -> Result<(), Diagnostic> {
        if allowed.contains(&args.len()) {
            return Ok(());
        }
        let (name_text, least) = (self.text(name), *allowed.start());
        let wanted = if least == 1 { "one argument" } else { "two arguments" };
        let message = format!("{name_text} takes {wanted}, not {}", args.len());
        let help = match (self.word(name_text), args) {
            (Some(Word::Binary(_, Some(_))), [only]) => {
                format!("to reduce, name the variables: {}", self.named_reduction(name, only))
            }
            _ if least == 1 => format!("write {name_text}(x)"),
            _ => format!("write {name_text}(x, y)"),
        };
        Err(self.refuse(Code::ArgumentCount, name, message).help(help))
    }

    fn fold(&mut self, op: BinaryOp, args: &[Raw]) -> Result<Expr, Diagnostic> {
        let mut value = self.expr(&args[0])?;
        for arg in &args[1..] {
            value = Expr::Binary(op, Box::new(value), Box::new(self.expr(arg)?));
        }
        Ok(value)
    }

    /// Whether arguments of `min`, `max` or a user operator are variables to reduce over.
    fn reduces(&self, args: &[Raw]) -> bool {
        let free = |arg: &Raw| {
            let name = self.text(&arg.span);
            let bound = self.vars.get(name).is_some_and(|var| self.bound.contains(var));
            matches!(arg.node, Node::Name) && self.indices.contains(name) && !bound
        };
        args.len() >= 2 && args[..args.len() - 1].iter().all(free)
    }

    fn reduce(
        &mut self,
        op: ReduceOp,
        name: &Range<usize>,
        args: &[Raw],
    ) -> Result<Expr, Diagnostic> {
        self.combines(op, name)?;
        let Some((body, named)) = args.split_last() else {
            let message = format!("{} needs a variable and a value", self.text(name));
            let help = format!("write {}(j, A(i,j))", self.text(name));
            return Err(self.refuse(Code::ArgumentCount, name, message).help(help));
        };
        if named.is_empty() {
            let message = format!("{} needs the variables that it reduces", self.text(name));
            let help = format!("write {}", self.named_reduction(name, body));
            return Err(self.refuse(Code::ArgumentCount, name, message).help(help));
        }
        let outer = self.bound.len();
        let mut vars = vec![];
        for arg in named {
            if !matches!(arg.node, Node::Name) {
                let message = format!("{} reduces over variables", self.text(name));
                let (first, others) = (self.text(&args[0].span), &args[1..]);
                let help = match others.iter().all(|arg| matches!(arg.node, Node::Name)) {
                    true => {
                        let vars = others.iter().map(|arg| self.text(&arg.span));
                        let vars = vars.collect::<Vec<_>>().join(", ");
                        format!("write {}({vars}, {first})", self.text(name))
                    }
                    false => format!("write {}(j, ...)", self.text(name)),
                };
                return Err(self.refuse(Code::Syntax, &arg.span, message).help(help));
            }
            let var = self.var(&arg.span)?;
            if self.bound.contains(&var) {
                return Err(check::bound_twice(self.text, &arg.span));
            }
            self.bound.push(var);
            vars.push(var);
        }
        let body = Box::new(self.expr(body)?);
        self.bound.truncate(outer);
        Ok(Expr::Reduce { op, vars, body })
    }

    /// `sum(A(i,j))` with its unbound variables: `sum(j, A(i,j))`.
    fn named_reduction(&self, name: &Range<usize>, body: &Raw) -> String {
        let found = self.free_names(body);
        let (vars, value) = match found.is_empty() {
            true => ("j".to_owned(), "..."),
            false => (found.join(", "), self.text(&body.span)),
        };
        format!("{}({vars}, {value})", self.text(name))
    }

    /// The unbound index variables in an expression.
    pub(super) fn free_names(&self, raw: &Raw) -> Vec<&'t str> {
        let mut found = vec![];
        self.names(raw, &mut found);
        let bound = |name: &&str| self.vars.get(name).is_some_and(|var| self.bound.contains(var));
        found.retain(|name| self.indices.contains(name) && !bound(name));
        found
    }

    /// The bare names in an expression, each once, in the order of the text.
    fn names(&self, raw: &Raw, found: &mut Vec<&'t str>) {
        match &raw.node {
            Node::Number(_) => {}
            Node::Name | Node::Sliced { .. } => {
                let name = index(raw).map_or("", |(name, _)| self.text(&name));
                if !found.contains(&name) {
                    found.push(name);
                }
            }
            Node::Group(inner) | Node::Negate(inner) => self.names(inner, found),
            Node::Binary(_, left, right) => {
                self.names(left, found);
                self.names(right, found);
            }
            Node::Call { args, .. } => args.iter().for_each(|arg| self.names(arg, found)),
        }
    }
}

/// The name of an index and its slice, if it is one.
fn index(raw: &Raw) -> Option<(Range<usize>, Option<&Slice>)> {
    match &raw.node {
        Node::Name => Some((raw.span.clone(), None)),
        Node::Sliced { name, slice } => Some((name.clone(), Some(slice))),
        _ => None,
    }
}
