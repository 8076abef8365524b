//! Statements as C.

use super::Writer;
use super::lists;
use super::names::ArrayNames;
use super::types::{element, narrow, stored, type_name};
use crate::datatype::DataType;
use crate::ids::{Array, Var};
use crate::ir::flow::{assigns, exposes, mentions, uses};
use crate::ir::pair::{Pair, pair};
use crate::ir::parallel::on_numbers;
use crate::ir::{ArrayDecl, ArrayRole, Expr, Status, Stmt, Unit, build};
use std::collections::BTreeSet;

impl Writer<'_> {
    /// A block, with declarations that are not part of first assignments.
    pub(in crate::backend) fn block(&mut self, stmts: &[Stmt], path: &[usize]) {
        let mut waiting: BTreeSet<Var> = BTreeSet::new();
        for var in self.scopes.undeclared(path) {
            if assigned_first(stmts, var) {
                waiting.insert(var);
            } else {
                self.declare(stmts, var);
            }
        }
        let mut path = path.to_vec();
        let mut first = None;
        for (k, s) in stmts.iter().enumerate() {
            path.push(2 * k);
            let second = first.take();
            if second.is_none() && self.place.is_none() {
                first = pair(self.function, &stmts[k..]);
            }
            match (&first, &second) {
                (Some(pair), _) => self.half(pair, 0, &mut waiting),
                (None, Some(pair)) => self.half(pair, 1, &mut waiting),
                _ => self.stmt(s, &mut path, &mut waiting),
            }
            path.pop();
        }
    }

    /// One of two adjacent loads, for which compilers use one instruction.
    fn half(&mut self, pair: &Pair<'_>, which: usize, waiting: &mut BTreeSet<Var>) {
        let (array, index) = (self.array(pair.array), self.expr(pair.index));
        let name = ["tamis_low", "tamis_high"][which];
        let ty = if pair.signed { "i32" } else { "u32" };
        let value = format!("{name}_{ty}(&{array}[{index}])");
        self.assign(pair.vars[which], &value, waiting);
    }

    fn assign(&mut self, var: Var, value: &str, waiting: &mut BTreeSet<Var>) {
        let name = self.var(var).to_owned();
        let text = match waiting.remove(&var) {
            true => {
                let ty = type_name(self.function.vars[var].ty);
                format!("{ty} {name} = {value};{}", self.unused(var))
            }
            false => format!("{name} = {value};"),
        };
        self.line(&text);
    }

    /// Declares a variable before the statements that assign it. If some path reads it first, it is initialised with
    /// an arbitrary value, since no iteration has assigned one yet.
    fn declare(&mut self, stmts: &[Stmt], var: Var) {
        let ty = self.function.vars[var].ty;
        let start = match (exposes(stmts, var), ty.lanes) {
            (false, _) => "",
            (true, 1) => " = 0",
            (true, _) => " = {0}",
        };
        let text = format!("{} {}{start};", type_name(ty), self.var(var));
        self.line(&(text + &self.unused(var)));
    }

    /// Code that keeps compilers from warning about an unused variable.
    fn unused(&self, var: Var) -> String {
        if self.uses.reads(var) { String::new() } else { format!(" (void){};", self.var(var)) }
    }

    fn stmt(&mut self, s: &Stmt, path: &mut [usize], waiting: &mut BTreeSet<Var>) {
        if self.place.is_some() && self.on_device(s, path) {
            return;
        }
        match s {
            Stmt::Assign { var, value } => {
                let value = self.expr(value);
                self.assign(*var, &value, waiting);
            }
            Stmt::Store { array, index, value } => self.store(*array, index, value),
            Stmt::For { var, lo, hi, step, body } => {
                self.for_loop(*var, (lo, ""), hi, &step.to_string(), body);
                self.nested(body, path, 0);
                self.line("}");
            }
            Stmt::Parallel { unit: Unit::Core, var, lo, hi, body, .. } => {
                self.on_threads((*var, lo, hi), body, path);
            }
            Stmt::Parallel { var, lo, hi, body, .. } => {
                self.for_loop(*var, (lo, ""), hi, "1", body);
                self.nested(body, path, 0);
                self.line("}");
            }
            Stmt::InOrder { body } => self.in_order(body, path),
            Stmt::Update { array, index, op, value } => {
                let old = build::load(*array, index.clone());
                self.store(*array, index, &build::binary(on_numbers(*op), old, value.clone()));
            }
            Stmt::While { cond, body } => {
                let cond = self.expr(cond);
                self.line(&format!("while ({cond}) {{"));
                self.nested(body, path, 0);
                self.line("}");
            }
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise, path),
            Stmt::Reserve { array, len } => self.reserve(*array, len),
            Stmt::Fill { array, lo, hi, value } => self.fill(*array, lo, hi, value),
            Stmt::Sort { keys, carried, lo, hi } => self.sort(keys, carried, lo, hi),
            Stmt::Prefetch { array, index, far } => {
                let index = self.expr(index);
                let size = self.function.arrays[*array].elem.size();
                let name = self.array(*array).to_owned();
                let far = if *far { "_far" } else { "" };
                self.line(&format!("tamis_prefetch{far}({name}, {index}, {size});"));
            }
            Stmt::Fail(status) => self.fail(*status),
            Stmt::Comment(text) => {
                let safe = text.replace("*/", "* /").replace("/*", "/ *").replace('\n', " ");
                self.line(&format!("/* {safe} */"));
            }
        }
    }

    pub(in crate::backend) fn nested(&mut self, stmts: &[Stmt], path: &mut [usize], branch: usize) {
        let mut inner = path.to_vec();
        if let Some(last) = inner.last_mut() {
            *last += branch;
        }
        self.indent += 1;
        self.block(stmts, &inner);
        self.indent -= 1;
    }

    pub(in crate::backend) fn store(&mut self, array: Array, at: &Expr, value: &Expr) {
        let line = self.stored(array, at, value);
        self.line(&line);
    }

    pub(in crate::backend) fn stored(&self, array: Array, at: &Expr, value: &Expr) -> String {
        let elem = self.function.arrays[array].elem;
        let ty = self.function.type_of(value);
        let (at, text) = (self.expr(at), self.expr(value));
        let name = self.array(array);
        match (ty.lanes, narrow(elem, ty.lanes)) {
            (1, _) => format!("{name}[{at}] = {};", stored(elem, ty.register, &text)),
            (_, Some(lanes)) => format!("tamis_store_{lanes}(&{name}[{at}], {text});"),
            (lanes, None) if is_streamed(&self.function.arrays[array], lanes) => {
                format!("tamis_stream_{}(&{name}[{at}], {text});", type_name(ty))
            }
            (_, None) => format!("*({}_at *)&{name}[{at}] = {text};", type_name(ty)),
        }
    }

    /// A value that the fill itself may change is read before.
    fn fill(&mut self, array: Array, lo: &Expr, hi: &Expr, value: &Expr) {
        let register = self.function.type_of(value).register;
        let ty = type_name(self.function.type_of(value));
        let is_fixed = matches!(value, Expr::Const(_) | Expr::Var(_));
        let elem = self.function.arrays[array].elem;
        let (lo, hi, value) = (self.expr(lo), self.expr(hi), self.expr(value));
        let (ty, value) = match elem.is_half() {
            true => (element(elem).to_owned(), stored(elem, register, &value)),
            false => (ty, value),
        };
        let is_fixed = is_fixed && !elem.is_half();
        let name = self.array(array).to_owned();
        let fill = |value: &str| {
            format!(
                "for (int64_t tamis_k = {lo}, tamis_hi = {hi}; tamis_k < tamis_hi; tamis_k++) \
                 {name}[tamis_k] = {value};"
            )
        };
        if is_fixed {
            return self.line(&fill(&value));
        }
        self.line("{");
        self.indent += 1;
        self.line(&format!("{ty} tamis_value = {value};"));
        self.line(&fill("tamis_value"));
        self.indent -= 1;
        self.line("}");
    }

    /// The head of a loop that starts at `lo` plus an increment.
    pub(in crate::backend) fn for_loop(
        &mut self,
        var: Var,
        (lo, from): (&Expr, &str),
        hi: &Expr,
        step: &str,
        body: &[Stmt],
    ) {
        let names = self.names.var(var);
        let name = &names.name;
        let own = mentions(lo, var) || mentions(hi, var);
        let fixed = is_fixed(hi, body, self);
        let start = if *lo == build::int(0) { String::new() } else { self.expr(lo) };
        let lo = match (start.as_str(), from) {
            ("", "") => "0".to_owned(),
            ("", from) => from.to_owned(),
            (_, "") => start,
            (lo, from) => format!("{lo} + {from}"),
        };
        let bound = self.expr(hi);
        let step = if step == "1" { format!("{name}++") } else { format!("{name} += {step}") };
        let (start, bound) = match (own, fixed) {
            // Bounds that use the loop variable's name mean the variable outside.
            (true, _) => {
                let (first, end) = (&names.lo, &names.hi);
                (format!("{end} = {bound}, {first} = {lo}, {name} = {first}"), end.clone())
            }
            (false, true) => (format!("{name} = {lo}"), bound),
            (false, false) => (format!("{name} = {lo}, {} = {bound}", names.hi), names.hi.clone()),
        };
        self.line(&format!("for (int64_t {start}; {name} < {bound}; {step}) {{"));
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
        let ty = element(self.function.arrays[array].elem);
        let wanted = self.expr(len);
        let failed = self.failed(Status::OutOfMemory);
        let ArrayNames { name, len, out, out_len, grown } = self.names.array(array);
        let head = format!("if (__builtin_expect((uint64_t)({wanted}) > (uint64_t){len}, 0)) {{");
        let mut lines = vec![
            format!("int64_t {grown} = tamis_capacity({len}, {wanted});"),
            format!("{ty} *tamis_p = tamis_reserve({name}, {len}, {grown}, sizeof({ty}));"),
            format!("if (!tamis_p) {{ {failed} }}"),
            format!("{name} = tamis_p;"),
            format!("{len} = {grown};"),
        ];
        if self.function.arrays[array].role == ArrayRole::Result {
            lines.push(format!("*{out} = {name};"));
            lines.push(format!("*{out_len} = {len};"));
        }
        self.line(&head);
        self.indent += 1;
        lines.iter().for_each(|line| self.line(line));
        self.indent -= 1;
        self.line("}");
    }

    fn sort(&mut self, keys: &[Array], carried: &[Array], lo: &Expr, hi: &Expr) {
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let failed = self.failed(Status::OutOfMemory);
        if let ([list], []) = (keys, carried) {
            let bits = 8 * self.function.arrays[*list].elem.size();
            let list = format!("(uint{bits}_t *){} + ({lo})", self.array(*list));
            self.line(&format!(
                "if (tamis_sort_list_{bits}({list}, ({hi}) - ({lo}))) {{ {failed} }}"
            ));
            return;
        }
        let column = |&a: &Array| {
            format!("{{{}, sizeof({})}}", self.array(a), element(self.function.arrays[a].elem))
        };
        let columns: Vec<String> = keys.iter().chain(carried).map(column).collect();
        let any = format!(
            "tamis_sort((tamis_column[]){{{}}}, {}, {}, {lo}, {hi})",
            columns.join(", "),
            keys.len(),
            columns.len()
        );
        let typed = |a: Array| (element(self.function.arrays[a].elem), self.array(a));
        let few = match (keys, carried) {
            (&[key], &[with]) => lists::sort_pairs([key, with].map(typed), &lo, &hi),
            _ => None,
        };
        let sorted = few.map_or(any.clone(), |few| format!("{few} && {any}"));
        self.line(&format!("if ({sorted}) {{ {failed} }}"));
    }

    fn fail(&mut self, status: Status) {
        let failed = self.failed(status);
        failed.split_inclusive("; ").for_each(|statement| self.line(statement.trim_end()));
    }

    /// Code that ends the call with a status, or on a thread the part.
    fn failed(&mut self, status: Status) -> String {
        self.fails = true;
        let code = status as i64;
        match &self.part {
            None => format!("status = {code}; goto done;"),
            Some(part) => format!("status = tamis_max_i64(status, {code}); goto {part};"),
        }
    }
}

/// Whether a vector of this size is a cache line, which a non-temporal store writes.
fn is_streamed(array: &ArrayDecl, lanes: u16) -> bool {
    array.streamed && matches!((array.elem, lanes), (DataType::F64, 8) | (DataType::F32, 16))
}

/// Whether the first statement of a block that uses a variable assigns it.
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

/// Whether a loop's bound is loop-invariant.
fn is_fixed(hi: &Expr, body: &[Stmt], writer: &Writer<'_>) -> bool {
    let mut fixed = true;
    hi.walk(&mut |e| match e {
        Expr::Var(v) => fixed &= !body.iter().any(|s| assigns(s, *v)),
        Expr::Load { array, .. } => {
            fixed &= writer.function.arrays[*array].role == ArrayRole::Input
        }
        Expr::Len(_) => fixed = false,
        _ => {}
    });
    fixed
}
