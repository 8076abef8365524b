//! Statements as C.

use super::scopes::place;
use super::{Writer, element, index, type_name};
use crate::datatype::DataType;
use crate::ids::{Array, Var};
use crate::ir::{Expr, Role, Status, Stmt};
use std::collections::BTreeSet;

impl Writer<'_> {
    /// A block, with the declarations that its first assignments cannot carry.
    pub(super) fn block(&mut self, stmts: &[Stmt], path: &[usize]) {
        let mut waiting: BTreeSet<usize> = BTreeSet::new();
        for var in self.scopes.undeclared(path) {
            if assigned_first(stmts, var) {
                waiting.insert(place(var));
            } else {
                let ty = type_name(self.function.vars[var].ty);
                let name = self.vars[place(var)].clone();
                self.line(&format!("{ty} {name};"));
            }
        }
        let mut path = path.to_vec();
        for (k, s) in stmts.iter().enumerate() {
            path.push(2 * k);
            self.stmt(s, &mut path, &mut waiting);
            path.pop();
        }
    }

    fn stmt(&mut self, s: &Stmt, path: &mut [usize], waiting: &mut BTreeSet<usize>) {
        match s {
            Stmt::Assign { var, value } => {
                let ty = match waiting.remove(&place(*var)) {
                    true => format!("{} ", type_name(self.function.vars[*var].ty)),
                    false => String::new(),
                };
                let value = self.expr(value);
                let name = &self.vars[place(*var)];
                self.line(&format!("{ty}{name} = {value};"));
            }
            Stmt::Store { array, index, value } => self.store(*array, index, value),
            Stmt::For { var, lo, hi, step, body } => {
                self.for_loop(*var, lo, hi, *step, body);
                self.nested(body, path, 0);
                self.line("}");
            }
            Stmt::While { cond, body } => {
                let cond = self.expr(cond);
                self.line(&format!("while ({cond}) {{"));
                self.nested(body, path, 0);
                self.line("}");
            }
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise, path),
            Stmt::Reserve { array, len } => self.reserve(*array, len),
            Stmt::Fill { array, lo, hi, value } => {
                let (lo, hi, value) = (self.expr(lo), self.expr(hi), self.expr(value));
                let name = self.arrays[index(*array)].clone();
                self.line(&format!(
                    "for (int64_t tamis_k = {lo}, tamis_hi = {hi}; tamis_k < tamis_hi; tamis_k++) \
                     {name}[tamis_k] = {value};"
                ));
            }
            Stmt::Sort { keys, carried, lo, hi } => self.sort(keys, carried, lo, hi),
            Stmt::Fail(status) => self.fail(*status),
            Stmt::Comment(text) => {
                let safe = text.replace("*/", "* /").replace('\n', " ");
                self.line(&format!("/* {safe} */"));
            }
        }
    }

    fn nested(&mut self, stmts: &[Stmt], path: &mut [usize], branch: usize) {
        let mut inner = path.to_vec();
        if let Some(last) = inner.last_mut() {
            *last += branch;
        }
        self.indent += 1;
        self.block(stmts, &inner);
        self.indent -= 1;
    }

    fn store(&mut self, array: Array, at: &Expr, value: &Expr) {
        let elem = self.function.arrays[array].elem;
        let ty = self.function.type_of(value);
        let (at, value) = (self.expr(at), self.expr(value));
        let name = self.arrays[index(array)].clone();
        if ty.lanes > 1 {
            let vector = type_name(ty);
            self.line(&format!("*({vector}_at *)&{name}[{at}] = {value};"));
            return;
        }
        let cast = match elem {
            DataType::I32 | DataType::Bool => format!("({})", element(elem)),
            _ => String::new(),
        };
        let value = if cast.is_empty() || is_atom(&value) { value } else { format!("({value})") };
        self.line(&format!("{name}[{at}] = {cast}{value};"));
    }

    fn for_loop(&mut self, var: Var, lo: &Expr, hi: &Expr, step: i64, body: &[Stmt]) {
        let name = self.vars[place(var)].clone();
        let (lo, bound) = (self.expr(lo), self.expr(hi));
        let step = if step == 1 { format!("{name}++") } else { format!("{name} += {step}") };
        if is_fixed(hi, body, self) {
            self.line(&format!("for (int64_t {name} = {lo}; {name} < {bound}; {step}) {{"));
        } else {
            self.line(&format!(
                "for (int64_t {name} = {lo}, {name}_hi = {bound}; {name} < {name}_hi; {step}) {{"
            ));
        }
    }

    fn branch(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt], path: &mut [usize]) {
        let cond = self.expr(cond);
        self.line(&format!("if ({cond}) {{"));
        self.nested(then, path, 0);
        if otherwise.is_empty() {
            self.line("}");
            return;
        }
        self.line("} else {");
        self.nested(otherwise, path, 1);
        self.line("}");
    }

    fn reserve(&mut self, array: Array, len: &Expr) {
        self.fails = true;
        let name = self.arrays[index(array)].clone();
        let ty = element(self.function.arrays[array].elem);
        let len = self.expr(len);
        let failed = Status::OutOfMemory as i64;
        self.line(&format!(
            "if (__builtin_expect((uint64_t)({len}) > (uint64_t){name}_len, 0)) {{"
        ));
        self.indent += 1;
        self.line(&format!("int64_t {name}_grown = tamis_capacity({name}_len, {len});"));
        self.line(&format!(
            "{ty} *tamis_p = tamis_reserve({name}, {name}_len, {name}_grown, sizeof({ty}));"
        ));
        self.line(&format!("if (!tamis_p) {{ status = {failed}; goto done; }}"));
        self.line(&format!("{name} = tamis_p;"));
        self.line(&format!("{name}_len = {name}_grown;"));
        if self.function.arrays[array].role == Role::Result {
            self.line(&format!("*{name}_out = {name};"));
            self.line(&format!("*{name}_out_len = {name}_len;"));
        }
        self.indent -= 1;
        self.line("}");
    }

    fn sort(&mut self, keys: &[Array], carried: &[Array], lo: &Expr, hi: &Expr) {
        self.fails = true;
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let columns: Vec<String> = keys
            .iter()
            .chain(carried)
            .map(|&a| {
                let ty = element(self.function.arrays[a].elem);
                format!("{{{}, sizeof({ty})}}", self.arrays[index(a)])
            })
            .collect();
        let (keys, failed) = (keys.len(), Status::OutOfMemory as i64);
        self.line(&format!(
            "if (tamis_sort((tamis_column[]){{{}}}, {keys}, {}, {lo}, {hi})) {{ status = {failed}; \
             goto done; }}",
            columns.join(", "),
            columns.len()
        ));
    }

    fn fail(&mut self, status: Status) {
        self.fails = true;
        self.line(&format!("status = {};", status as i64));
        self.line("goto done;");
    }
}

/// Whether the first statement of a block that mentions a variable assigns it.
fn assigned_first(stmts: &[Stmt], var: Var) -> bool {
    for s in stmts {
        if let Stmt::Assign { var: assigned, value } = s
            && *assigned == var
        {
            return !mentions(value, var);
        }
        if uses(s, var) {
            return false;
        }
    }
    false
}

fn uses(s: &Stmt, var: Var) -> bool {
    let assigned = matches!(s, Stmt::Assign { var: v, .. } | Stmt::For { var: v, .. } if *v == var);
    assigned || s.exprs().any(|e| mentions(e, var)) || s.blocks().flatten().any(|s| uses(s, var))
}

fn mentions(e: &Expr, var: Var) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Var(v) if *v == var));
    found
}

/// Whether a loop's bound cannot change while the loop runs.
fn is_fixed(hi: &Expr, body: &[Stmt], writer: &Writer<'_>) -> bool {
    let mut fixed = true;
    hi.walk(&mut |e| match e {
        Expr::Var(v) => fixed &= !body.iter().any(|s| assigns(s, *v)),
        Expr::Load { array, .. } => fixed &= writer.function.arrays[*array].role == Role::Input,
        Expr::Len(_) => fixed = false,
        _ => {}
    });
    fixed
}

fn assigns(s: &Stmt, var: Var) -> bool {
    let here = matches!(s, Stmt::Assign { var: v, .. } | Stmt::For { var: v, .. } if *v == var);
    here || s.blocks().flatten().any(|s| assigns(s, var))
}

/// Whether text needs no parentheses as an operand.
fn is_atom(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}
