//! Rewrites implicit sums as [`Expr::Reduce`], so that every variable is bound where it is used.
//!
//! A variable that the left side lacks is summed over the smallest product that contains all its uses within a term.
//! Terms are the operands of `+`, `-` and unary minus, also inside parentheses; a product consists of the operands
//! that the user joined by `*` and `/` without parentheses.
//!
//! ```text
//! a = B(i) + c                       a = sum(i, B(i)) + c
//! y(i) = b(i) * (A(i,j) * x(j))      y(i) = b(i) * sum(j, A(i,j) * x(j))
//! y(i) = (A(i,j) + B(i,j)) * c(i)    y(i) = (sum(j, A(i,j)) + sum(j, B(i,j))) * c(i)
//! y(i) max= A(i,j)                   y(i) max= max(j, A(i,j))
//! ```

use super::{Access, Expr, Program, Statement};
use std::ops::Range;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::IndexVar;

/// Makes the implicit sums of a program explicit. A variable that occurs only inside a function's argument, a
/// comparison or a divisor has no sum, and is refused.
///
/// Accumulations other than `+=` reduce the whole right side with their own operator.
pub fn make_explicit(program: &Program) -> Result<Program, Diagnostic> {
    let mut explicit = program.clone();
    for statement in &mut explicit.statements {
        let sums = Sums { program, statement: &statement.clone() };
        statement.value = sums.right_side()?;
    }
    Ok(explicit)
}

impl Expr {
    /// The value with variables replaced.
    pub(crate) fn renamed(self, own: &dyn Fn(&IndexVar) -> IndexVar) -> Expr {
        match self {
            Expr::Access(a) => {
                let indices = a.indices.iter().map(own).collect();
                Expr::Access(Access { indices, ..a })
            }
            Expr::Index(v) => Expr::Index(own(&v)),
            Expr::Choose { mut within, then, otherwise } => {
                for part in &mut within {
                    (part.var, part.counter) = (own(&part.var), own(&part.counter));
                }
                let [then, otherwise] = [then, otherwise].map(|e| Box::new(e.renamed(own)));
                Expr::Choose { within, then, otherwise }
            }
            e => e.map_children(&mut |child| child.renamed(own)),
        }
    }

    /// The index variables used and not bound by a reduction inside, in the order of the text.
    pub fn free_vars(&self) -> Vec<IndexVar> {
        let mut found = vec![];
        self.collect_free_vars(&mut vec![], &mut found);
        found
    }

    fn collect_free_vars(&self, bound: &mut Vec<IndexVar>, found: &mut Vec<IndexVar>) {
        let mut use_of = |var: IndexVar| {
            if !bound.contains(&var) && !found.contains(&var) {
                found.push(var);
            }
        };
        match self {
            Expr::Access(access) => access.indices.iter().for_each(|&var| use_of(var)),
            Expr::Index(var) => use_of(*var),
            Expr::Reduce { vars, body, .. } => {
                let outer = bound.len();
                bound.extend(vars);
                body.collect_free_vars(bound, found);
                bound.truncate(outer);
            }
            _ => {
                for child in self.children() {
                    child.collect_free_vars(bound, found);
                }
            }
        }
    }
}

/// The sums of one statement.
struct Sums<'s> {
    program: &'s Program,
    statement: &'s Statement,
}

impl Sums<'_> {
    fn right_side(&self) -> Result<Expr, Diagnostic> {
        let Statement { result, accumulate, value, .. } = self.statement;
        let mut vars = value.free_vars();
        vars.retain(|var| !result.indices.contains(var));
        match accumulate {
            None | Some(ReduceOp::Add) => self.terms(value, &vars),
            Some(op) => self.wrap(*op, vars, value.clone()),
        }
    }

    /// Sums each term of an expression over those of the variables that the term uses.
    fn terms(&self, expr: &Expr, vars: &[IndexVar]) -> Result<Expr, Diagnostic> {
        let free = expr.free_vars();
        let vars: Vec<IndexVar> = free.into_iter().filter(|var| vars.contains(var)).collect();
        let Some(&first) = vars.first() else { return Ok(expr.clone()) };
        let inside = |e: &Expr| self.terms(e, &vars).map(Box::new);
        match expr {
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
                Ok(Expr::Binary(*op, inside(left)?, inside(right)?))
            }
            Expr::Unary(UnaryOp::Neg, operand) => Ok(Expr::Unary(UnaryOp::Neg, inside(operand)?)),
            Expr::Reduce { op: ReduceOp::Add, vars: bound, body } => {
                Ok(Expr::Reduce { op: ReduceOp::Add, vars: bound.clone(), body: inside(body)? })
            }
            Expr::Binary(BinaryOp::Mul | BinaryOp::Div, ..) => self.product(expr, &vars),
            Expr::Access(_) | Expr::Index(_) => self.wrap(ReduceOp::Add, vars, expr.clone()),
            _ => Err(self.refuse(expr, first)),
        }
    }

    /// Sums a product, or moves the sum into its only factor that uses a variable.
    fn product(&self, product: &Expr, vars: &[IndexVar]) -> Result<Expr, Diagnostic> {
        let factors = factors(product);
        let mut here = vec![];
        let mut inside = vec![vec![]; factors.len()];
        for &var in vars {
            let users: Vec<usize> =
                (0..factors.len()).filter(|&k| uses(factors[k].0, var)).collect();
            let open = |&k: &usize| factors[k].1 == Role::Multiplied && is_open(factors[k].0, var);
            if !users.iter().any(open) {
                return Err(self.refuse(product, var));
            }
            match users[..] {
                [only] if !is_operand(factors[only].0) || binds(product, var) => {
                    inside[only].push(var);
                }
                _ => here.push(var),
            }
        }
        let mut summed = Vec::with_capacity(factors.len());
        for ((factor, _), vars) in factors.iter().zip(&inside) {
            summed.push(self.terms(factor, vars)?);
        }
        self.wrap(ReduceOp::Add, here, rebuild(product, &mut summed))
    }

    /// Reduces an expression over variables, none of which may also be bound inside: a name has one meaning at each
    /// use.
    fn wrap(&self, op: ReduceOp, vars: Vec<IndexVar>, body: Expr) -> Result<Expr, Diagnostic> {
        if let Some(&var) = vars.iter().find(|&&var| binds(&body, var)) {
            let name = &self.program.vars[var].name;
            let message = format!("{name} is summed here and bound by a reduction inside");
            return Err(Diagnostic::new(Code::BoundVariable, message)
                .at(&self.program.source, self.place(&body, var))
                .help("use another variable in one of the two"));
        }
        match vars.is_empty() {
            true => Ok(body),
            false => Ok(Expr::Reduce { op, vars, body: Box::new(body) }),
        }
    }

    /// The first use of a variable in an expression, or the statement if that is unknown.
    fn place(&self, within: &Expr, var: IndexVar) -> Range<usize> {
        let accesses = within.accesses();
        let place = accesses.iter().find(|access| access.indices.contains(&var));
        place.map_or(&self.statement.span, |access| &access.span).clone()
    }

    fn refuse(&self, within: &Expr, var: IndexVar) -> Diagnostic {
        let name = &self.program.vars[var].name;
        let message = format!(
            "{name} is absent from the left side and used only inside a function, comparison or \
             divisor, where no sum is implied"
        );
        Diagnostic::new(Code::ImplicitReduction, message)
            .at(&self.program.source, self.place(within, var))
            .help(format!("write sum({name}, ...) around what is to be summed"))
    }
}

/// The role of a factor in a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Multiplied,
    Divided,
}

/// The operands of a product in order. Only the left operand of `*` or `/` continues the product: a product on the
/// right was in parentheses.
fn factors(product: &Expr) -> Vec<(&Expr, Role)> {
    let mut found = vec![];
    let mut rest = product;
    while let Expr::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), left, right) = rest {
        let role = if *op == BinaryOp::Mul { Role::Multiplied } else { Role::Divided };
        found.push((&**right, role));
        rest = left;
    }
    found.push((rest, Role::Multiplied));
    found.reverse();
    found
}

/// The product with other operands, which are taken from the end of the list.
fn rebuild(product: &Expr, factors: &mut Vec<Expr>) -> Expr {
    let last = factors.pop();
    match (product, last) {
        (Expr::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), left, _), Some(right)) => {
            Expr::Binary(*op, Box::new(rebuild(left, factors)), Box::new(right))
        }
        (_, last) => last.unwrap_or_else(|| product.clone()),
    }
}

fn uses(expr: &Expr, var: IndexVar) -> bool {
    expr.free_vars().contains(&var)
}

/// Whether a factor is a tensor's element or an index, perhaps with a sign, so that it contains no sum.
fn is_operand(expr: &Expr) -> bool {
    match expr {
        Expr::Unary(UnaryOp::Neg, operand) => is_operand(operand),
        _ => matches!(expr, Expr::Access(_) | Expr::Index(_)),
    }
}

/// Whether a variable is used outside of functions, comparisons and divisors.
fn is_open(expr: &Expr, var: IndexVar) -> bool {
    match expr {
        Expr::Access(access) => access.indices.contains(&var),
        Expr::Index(index) => *index == var,
        Expr::Unary(UnaryOp::Neg, operand) => is_open(operand, var),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, left, right) => {
            is_open(left, var) || is_open(right, var)
        }
        Expr::Binary(BinaryOp::Div, left, _) => is_open(left, var),
        Expr::Reduce { op: ReduceOp::Add, vars, body } => {
            !vars.contains(&var) && is_open(body, var)
        }
        _ => false,
    }
}

/// Whether a reduction inside an expression binds a variable.
fn binds(expr: &Expr, var: IndexVar) -> bool {
    let mut found = false;
    expr.walk(&mut |e| {
        found |= matches!(e, Expr::Reduce { vars, .. } if vars.contains(&var));
    });
    found
}

#[cfg(test)]
mod tests {
    use crate::notation::{make_explicit, parse};
    use tamis_ir::diagnostic::Code;

    fn check(text: &str, expect: &str) {
        let explicit = make_explicit(&parse(text).unwrap()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(explicit.to_string(), expect);
        let again = make_explicit(&explicit).unwrap();
        assert_eq!(again.to_string(), expect, "explicit sums stay as they are");
    }

    fn refused(text: &str, expect: &str) {
        let diagnostic = make_explicit(&parse(text).unwrap()).unwrap_err();
        assert_eq!(diagnostic.code, Code::ImplicitReduction);
        assert_eq!(diagnostic.to_string(), expect);
    }

    #[test]
    fn a_variable_is_summed_over_its_term() {
        check("a = B(i) + c", "a = sum(i, B(i)) + c");
        check("a = c - -B(i)", "a = c - -sum(i, B(i))");
        check("y(i) = A(i,j) * x(j)", "y(i) = sum(j, A(i,j) * x(j))");
        check("y(i) += A(i,j) * x(j)", "y(i) += sum(j, A(i,j) * x(j))");
        check("y(i) = 2 * A(i,j) * x(j) + 3 * z(i)", "y(i) = sum(j, 2 * A(i,j) * x(j)) + 3 * z(i)");
        check(
            "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)",
            "A(i,j) = sum(k, l, B(i,k,l) * C(k,j) * D(l,j))",
        );
        check("a = i * B(i)", "a = sum(i, i * B(i))");
    }

    #[test]
    fn parentheses_make_a_product_of_their_own() {
        check("y(i) = b(i) * (A(i,j) * x(j))", "y(i) = b(i) * sum(j, A(i,j) * x(j))");
        check("y(i) = b(i) * -(A(i,j) * x(j))", "y(i) = b(i) * -sum(j, A(i,j) * x(j))");
        check("y(i) = B(i,j) * (C(j) + D(j))", "y(i) = sum(j, B(i,j) * (C(j) + D(j)))");
        check("y(i) = (A(i,j) + B(i,j)) * c(i)", "y(i) = (sum(j, A(i,j)) + sum(j, B(i,j))) * c(i)");
        check("A(i,j) = B(i,j) * (C(i,k) * D(k,j))", "A(i,j) = B(i,j) * sum(k, C(i,k) * D(k,j))");
        check("y(i) = A(i,j) / b(i)", "y(i) = sum(j, A(i,j) / b(i))");
        check("y(i) = A(i,j) / b(j)", "y(i) = sum(j, A(i,j) / b(j))");
    }

    #[test]
    fn functions_ride_along_with_a_product() {
        check("y(i) = A(i,j) * exp(B(i,j))", "y(i) = sum(j, A(i,j) * exp(B(i,j)))");
        check("y(i) = A(i,j) * (x(j) > 0)", "y(i) = sum(j, A(i,j) * (x(j) > 0))");
        check("y(i) = exp(x(i)) + A(i,j)", "y(i) = exp(x(i)) + sum(j, A(i,j))");
    }

    #[test]
    fn explicit_reductions_bind_their_variables() {
        check("y(i) = sum(j, A(i,j) * x(j))", "y(i) = sum(j, A(i,j) * x(j))");
        check("y(i) = exp(sum(j, A(i,j)))", "y(i) = exp(sum(j, A(i,j)))");
        check("y = sum(i, A(i,j) + 1)", "y = sum(i, sum(j, A(i,j)) + 1)");
        check("y(i) = max(j, A(i,j)) * B(j)", "y(i) = max(j, A(i,j)) * sum(j, B(j))");
    }

    #[test]
    fn other_accumulations_reduce_the_whole_right_side() {
        check("y(i) max= A(i,j)", "y(i) max= max(j, A(i,j))");
        check("d(j) min= d(i) + exp(W(i,j))", "d(j) min= min(i, d(i) + exp(W(i,j)))");
        check("y(i) *= x(i)", "y(i) *= x(i)");
        check("a or= A(i,j) > 0", "a or= any(i, j, A(i,j) > 0)");
    }

    #[test]
    fn a_variable_has_one_meaning_at_each_place() {
        let program = parse("y(i) = max(j, A(i,j)) * B(j) * C(j)").unwrap();
        let diagnostic = make_explicit(&program).unwrap_err();
        assert_eq!(diagnostic.code, Code::BoundVariable);
    }

    #[test]
    fn a_variable_without_an_open_use_is_refused() {
        refused(
            "y(i) = exp(A(i,j))",
            "error[implicit-reduction]: j is absent from the left side and used only inside a \
             function, comparison or divisor, where no sum is implied\n  | y(i) = exp(A(i,j))\n  \
             |            ^^^^^^\n  = help: write sum(j, ...) around what is to be summed",
        );
        for text in [
            "y(i) = c(i) / b(j)",
            "y(i) = A(i,j) > 0",
            "y(i) = c(i) * exp(A(i,j)) * exp(x(j))",
            "y(i) = (A(i,j) + exp(x(j))) * c(i)",
            "y(i) = max(k, A(i,k) * B(k,j))",
            "y(i) = x(i) / (A(i,j) * b(j))",
        ] {
            let diagnostic = make_explicit(&parse(text).unwrap()).unwrap_err();
            assert_eq!(diagnostic.code, Code::ImplicitReduction, "{text}");
        }
    }
}
