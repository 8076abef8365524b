//! Statements: loops with their test at the bottom, branches, stores.

use super::inst::{Condition, Grown, Inst, Mem, Value, Whole, WholeOp};
use super::lower::Lowering;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::flow::assigns;
use tamis_ir::ir::{Expr, Stmt, Type};

impl Lowering<'_> {
    /// Adds the code of a statement; `None` if there is none.
    pub(super) fn stmt(&mut self, s: &Stmt) -> Option<()> {
        match s {
            Stmt::Assign { var, value } => {
                let to = self.var(*var);
                if !self.ty(to).register.is_float() {
                    return self.assign_whole(*var, value);
                }
                self.float_into(value, to, self.depth())?;
                self.changed(to);
            }
            Stmt::Store { array, index, value } => self.store(*array, index, value)?,
            Stmt::For { var, lo, hi, step, body } => self.counted(*var, [lo, hi], *step, body)?,
            Stmt::While { cond, body } => {
                let after = self.label();
                self.jump_unless(cond, after)?;
                self.repeated(None, body, |t, top| {
                    t.block(body)?;
                    t.jump(cond, true, top)
                })?;
                self.code.push(Inst::Label(after));
            }
            Stmt::If { cond, then, otherwise } => {
                let no = self.label();
                self.jump_unless(cond, no)?;
                self.branch_where(cond, then)?;
                if otherwise.is_empty() {
                    self.code.push(Inst::Label(no));
                    return Some(());
                }
                let after = self.label();
                self.code.extend([Inst::Jump(after), Inst::Label(no)]);
                self.branch(otherwise)?;
                self.code.push(Inst::Label(after));
            }
            Stmt::Fill { array, lo, hi, value } => self.fill(*array, [lo, hi], value)?,
            Stmt::Prefetch { array, index, far } => {
                let mem = self.mem(*array, index)?;
                self.code.push(Inst::Prefetch { mem, far: *far });
            }
            Stmt::Reserve { array, len } => {
                let len = self.whole(len)?;
                let array = Grown {
                    array: *array,
                    base: self.base(*array),
                    len: self.len(*array),
                    slots: self.slots(),
                    size: self.function.arrays[*array].elem.size(),
                };
                self.code.push(Inst::Reserve { array, len });
                self.changed(array.base);
                self.changed(array.len);
            }
            Stmt::Fail(status) => self.code.push(Inst::Fail(*status)),
            Stmt::Comment(_) => {}
            _ => return None,
        }
        Some(())
    }

    fn store(&mut self, array: Array, index: &Expr, value: &Expr) -> Option<()> {
        let elem = self.function.arrays[array].elem;
        if self.function.type_of(value).register.is_float() {
            matches!(elem, DataType::F32 | DataType::F64).then_some(())?;
            let from = self.float(value)?;
            let mem = self.mem(array, index)?;
            let streamed = self.function.arrays[array].streamed;
            self.code.push(Inst::FloatStore { from, mem, streamed });
        } else {
            let from = self.whole(value)?;
            let mem = self.mem(array, index)?;
            self.code.push(Inst::Store { from, mem, elem });
        }
        Some(())
    }

    fn counted(&mut self, var: Var, [lo, hi]: [&Expr; 2], step: i64, body: &[Stmt]) -> Option<()> {
        let by = i32::try_from(step).ok()?;
        let (i, after) = (self.var(var), self.label());
        let end = self.end(var, hi, body)?;
        self.assign_whole(var, lo)?;
        self.code.push(Inst::Branch { if_: Condition::GreaterOrEqual, a: i, b: end, to: after });
        self.repeated(Some(var), body, |t, top| {
            t.block(body)?;
            t.code.push(match step {
                1 => Inst::Whole { op: WholeOp::Add, to: i, a: i, b: Whole::Const(by) },
                // The next value may be beyond the largest integer.
                _ => Inst::Next { i, by, end, to: top },
            });
            if step == 1 {
                t.code.push(Inst::Branch { if_: Condition::Less, a: i, b: end, to: top });
            }
            Some(())
        })?;
        self.code.push(Inst::Label(after));
        Some(())
    }

    /// The end of a loop.
    fn end(&mut self, var: Var, hi: &Expr, body: &[Stmt]) -> Option<Whole> {
        let end = self.operand(hi)?;
        let changes =
            matches!(hi, Expr::Var(v) if *v == var || body.iter().any(|s| assigns(s, *v)));
        let (Whole::Value(from), true) = (end, changes) else { return Some(end) };
        // Bounds are evaluated once.
        let own = self.fresh(Type::INDEX);
        self.code.push(Inst::Move { to: own, from });
        Some(Whole::Value(own))
    }

    /// Stores a value to elements from `at` on, `by` at a time: as long as that is below the last, or
    /// also at it.
    pub(super) fn stores(
        &mut self,
        array: Array,
        from: Value,
        (at, by, last): (Value, i32, Value),
        at_last: bool,
    ) {
        let (top, after) = (self.label(), self.label());
        let size = self.function.arrays[array].elem.size();
        let mem = Mem {
            base: self.base(array),
            index: Some((at, size.trailing_zeros() as u8)),
            offset: 0,
        };
        let (go, end) = match at_last {
            true => (Condition::LessOrEqual, Condition::Greater),
            false => (Condition::Less, Condition::GreaterOrEqual),
        };
        self.code.extend([
            Inst::Branch { if_: end, a: at, b: Whole::Value(last), to: after },
            Inst::Label(top),
            Inst::FloatStore { from, mem, streamed: false },
            Inst::Whole { op: WholeOp::Add, to: at, a: at, b: Whole::Const(by) },
            Inst::Branch { if_: go, a: at, b: Whole::Value(last), to: top },
            Inst::Label(after),
        ]);
    }
}
