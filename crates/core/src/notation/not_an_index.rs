//! Accesses with an index that is not a variable: a function of another language, or arithmetic on coordinates, for
//! which there are slices and comparisons.
//!
//! ```text
//! C(i,j) = A(i,j+1)     write A(i,j[1:])
//! y = A(0,3)            write A(k[{0}],l[{3}])
//! y = mean(x(i))        write sum(i, x(i)) / sum(i, 1.0)
//! ```

use super::foreign::{self, Call};
use super::parse::Resolver;
use super::syntax::{Node, Raw};
use super::words;
use std::ops::Range;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Where functions are.
const LISTED: &str = "docs/guide/notation.md lists the functions";

impl<'t> Resolver<'t> {
    /// Why an access with an index that is not a name is refused: probably a misspelt function, unless all its
    /// arguments look like indices.
    pub(super) fn not_an_index(&self, name: &Range<usize>, args: &[Raw], arg: &Raw) -> Diagnostic {
        let function = self.text(name);
        let nearest = words::nearest(function, &self.program.operators);
        let is_tensor = self.tensors.contains_key(function);
        let known = foreign::call(&self.foreign_call(name, args)).filter(|_| !is_tensor);
        let applied = args.iter().any(has_call) || args.iter().all(is_number);
        if !is_tensor && (known.is_some() || nearest.is_some()) || applied {
            let message = format!("there is no function named {function}");
            let help = known.unwrap_or_else(|| match nearest {
                Some(nearest) => format!("did you mean {nearest}? {LISTED}"),
                None => {
                    let picked = self.picked(name, args, arg);
                    format!("{LISTED}; of a tensor {function}, write {picked}")
                }
            });
            return self.refuse(Code::UnknownFunction, name, message).help(help);
        }
        let help = self.as_slice(name, args, arg);
        self.refuse(Code::Syntax, &arg.span, "an index has to be a variable").help(help)
    }

    /// A call of an unknown function, with its arguments as text.
    fn foreign_call(&self, name: &Range<usize>, args: &[Raw]) -> Call<'t> {
        let (body, named) = args.split_last().map_or((None, args), |(b, n)| (Some(b), n));
        let vars: Vec<&str> = match body {
            Some(body) if named.is_empty() => self.free_names(body),
            _ => named.iter().map(|arg| self.text(&arg.span)).collect(),
        };
        let vars = if vars.is_empty() { "j".to_owned() } else { vars.join(", ") };
        let indices = match body.map(|body| &body.node) {
            Some(Node::Call { name, args }) => {
                Some((self.text(name), args.iter().map(|arg| self.text(&arg.span)).collect()))
            }
            _ => None,
        };
        let args = args.iter().map(|arg| self.text(&arg.span)).collect();
        Call { name: self.text(name), args, vars, indices }
    }

    /// `A(i,j+1)` as `A(i,j[1:])`, `A(i,3)` as `A(i,k[{3}])`; other indices by a comparison.
    fn as_slice(&self, name: &Range<usize>, args: &[Raw], arg: &Raw) -> String {
        let sliced = match &arg.node {
            Node::Number(Scalar::I64(0..)) => {
                let indices = args.iter().map(|arg| self.text(&arg.span));
                return format!(
                    "write {}",
                    foreign::in_slices(self.text, self.text(name), indices)
                );
            }
            Node::Number(_) | Node::Negate(_) => {
                return "coordinates are counted from 0: write A(i,k[{0}]) for the first"
                    .to_owned();
            }
            Node::Binary(op, left, right) => {
                let (var, number) = match (&left.node, &right.node) {
                    (Node::Name, Node::Number(Scalar::I64(1..))) => (left, right),
                    (Node::Number(Scalar::I64(1..)), Node::Name) if *op != BinaryOp::Sub => {
                        (right, left)
                    }
                    _ => (left, left),
                };
                let (var, number) = (self.text(&var.span), self.text(&number.span));
                match op {
                    _ if var == number => None,
                    // The variable would count fewer coordinates here than at its whole mode.
                    _ if self.whole.contains(var) => None,
                    BinaryOp::Add => Some(format!("{var}[{number}:]")),
                    BinaryOp::Mul => Some(format!("{var}[::{number}]")),
                    _ => None,
                }
            }
            _ => None,
        };
        match sliced {
            Some(index) => format!("write {}", self.with_index(name, args, arg, &index)),
            None if self.bound.is_empty() && self.whole.is_empty() => {
                "write a name, as in A(i,j)".to_owned()
            }
            None => format!("write {}", self.picked(name, args, arg)),
        }
    }

    /// An access with one index replaced.
    fn with_index(&self, name: &Range<usize>, args: &[Raw], arg: &Raw, index: &str) -> String {
        let indices = args.iter().map(|other| match other.span == arg.span {
            true => index,
            false => self.text(&other.span),
        });
        format!("{}({})", self.text(name), indices.collect::<Vec<_>>().join(","))
    }

    /// The element at an index expression, as a sum with a comparison.
    fn picked(&self, name: &Range<usize>, args: &[Raw], arg: &Raw) -> String {
        let var = foreign::fresh(self.text);
        let access = self.with_index(name, args, arg, &var);
        let picked = self.text(&arg.span);
        let sum = format!("sum({var}, {access} * ({var} == {picked}))");
        match has_call(arg) {
            true => {
                format!("{sum}, or multiply by a sparse matrix that is 1 where {var} == {picked}")
            }
            false => sum,
        }
    }
}

fn is_number(raw: &Raw) -> bool {
    match &raw.node {
        Node::Number(Scalar::F64(_)) => true,
        Node::Group(inner) | Node::Negate(inner) => is_number(inner),
        _ => false,
    }
}

fn has_call(raw: &Raw) -> bool {
    match &raw.node {
        Node::Number(_) | Node::Name | Node::Sliced { .. } => false,
        Node::Call { .. } => true,
        Node::Group(inner) | Node::Negate(inner) => has_call(inner),
        Node::Binary(_, left, right) => has_call(left) || has_call(right),
    }
}
