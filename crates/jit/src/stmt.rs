//! Statements: control flow, stores, and calls into the support functions.

use crate::addresses::Addresses;
use crate::home::Home;
use crate::load_sinking::Anchors;
use crate::prefetch::Hints;
use crate::support;
use crate::vector::Lanes;
use crate::wide::Wide;
use crate::{Effort, Generator};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::FunctionBuilder;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Array, Id, Var};
use tamis_ir::ir::pair::{Pair, pair};
use tamis_ir::ir::parallel::on_numbers;
use tamis_ir::ir::{self, Param, Status, Stmt};
use tamis_runtime::processor::Level;

/// One function on its way to Cranelift's form.
pub(crate) struct Translator<'f> {
    pub(crate) function: &'f ir::Function,
    pub(crate) b: FunctionBuilder<'f>,
    pub(crate) isa: &'f OwnedTargetIsa,
    pub(crate) level: Level,
    /// Per variable one machine variable, or several for vectors wider than the machine's.
    pub(crate) vars: Vec<Vec<Home>>,
    pub(crate) addresses: Addresses,
    /// Where calls that make room leave their status.
    pub(crate) status: Option<StackSlot>,
    pub(crate) hints: Hints,
    /// What surely changes in each iteration of the innermost loop.
    pub(crate) anchors: Anchors,
    /// What has code of our own.
    pub(crate) wide: &'f Wide,
    /// The byte offset of each array's slots.
    pub(crate) slots: Vec<i32>,
    /// The address of the slots.
    pub(crate) base: Value,
    /// Returns its parameter.
    pub(crate) exit: Block,
}

/// Translates a whole function.
pub(crate) fn translate(
    function: &ir::Function,
    mut b: FunctionBuilder<'_>,
    isa: &OwnedTargetIsa,
    hints: Hints,
    (level, effort): Generator,
    wide: &Wide,
) -> Result<(), Diagnostic> {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let exit = b.create_block();
    b.append_block_param(exit, types::I64);
    let base = b.block_params(entry)[0];
    let in_memory = matches!(effort, Effort::Quick);
    let vars = function
        .vars
        .iter()
        .map(|v| Lanes::of(v.ty).map(|lanes| lanes.declare(&mut b, in_memory)))
        .collect::<Result<_, _>>()?;
    let addresses = Addresses::of(function, in_memory);
    let slots = slots(function);
    let anchors = Anchors::default();
    let mut t = Translator {
        function,
        b,
        isa,
        level,
        vars,
        addresses,
        status: None,
        hints,
        anchors,
        wide,
        slots,
        base,
        exit,
    };
    t.prologue();
    t.block(&function.body)?;
    let ok = t.b.ins().iconst(types::I64, 0);
    t.b.ins().jump(exit, &[ok.into()]);
    t.b.switch_to_block(exit);
    let status = t.b.block_params(exit)[0];
    t.b.ins().return_(&[status]);
    t.b.seal_all_blocks();
    let config = isa.frontend_config();
    t.b.finalize(config);
    Ok(())
}

/// The byte offset of each array's slots: those of parameters, and behind them those of the
/// kernel's own arrays.
pub(crate) fn slots(function: &ir::Function) -> Vec<i32> {
    let mut slots = vec![0; function.arrays.len()];
    let mut offset = 0;
    let own = function.locals().map(Param::Array);
    for param in function.params.iter().copied().chain(own) {
        match param {
            Param::Scalar(_) => offset += 8,
            Param::Array(array) => {
                slots[array.index()] = offset;
                offset += 16;
            }
        }
    }
    slots
}

impl Translator<'_> {
    /// Loads the parameters from the slots.
    fn prologue(&mut self) {
        let flags = MemFlagsData::trusted();
        let mut offset = 0;
        for param in self.function.params.clone() {
            match param {
                Param::Scalar(var) => {
                    let ty = machine_type(self.function.vars[var].ty.register);
                    let value = self.b.ins().load(ty, flags, self.base, offset);
                    self.vars[var.index()][0].set(&mut self.b, value);
                    offset += 8;
                }
                Param::Array(_) => offset += 16,
            }
        }
    }

    fn block(&mut self, mut stmts: &[Stmt]) -> Result<(), Diagnostic> {
        while let [s, rest @ ..] = stmts {
            let wide = self.wide;
            stmts = match wide.at(stmts) {
                Some(unit) => {
                    let (inside, rest) = stmts.split_at(unit.len);
                    self.unit(inside, unit, wide.address(unit))?;
                    rest
                }
                None => match pair(self.function, stmts) {
                    Some(pair) => {
                        self.pair(&pair, stmts)?;
                        &stmts[2..]
                    }
                    None => {
                        self.stmt(s)?;
                        rest
                    }
                },
            };
        }
        Ok(())
    }

    /// Two neighbours by one instruction.
    fn pair(&mut self, pair: &Pair<'_>, stmts: &[Stmt]) -> Result<(), Diagnostic> {
        let (address, offset) = self.place(pair.array, pair.index)?;
        let both = self.b.ins().load(types::I64, MemFlagsData::trusted(), address, offset);
        let low = self.b.ins().ireduce(types::I32, both);
        let halves = match pair.signed {
            true => [self.b.ins().sextend(types::I64, low), self.b.ins().sshr_imm_u(both, 32)],
            false => [self.b.ins().uextend(types::I64, low), self.b.ins().ushr_imm_u(both, 32)],
        };
        for ((var, half), s) in pair.vars.into_iter().zip(halves).zip(stmts) {
            if let Stmt::Assign { value, .. } = s {
                self.anchors.assign(self.function, var, value);
            }
            self.assign(var, &[half]);
        }
        Ok(())
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Diagnostic> {
        match s {
            Stmt::Assign { var, value } => {
                let values = self.expr(value)?;
                self.anchors.assign(self.function, *var, value);
                self.assign(*var, &values);
            }
            Stmt::Store { array, index, value } => self.store(*array, index, value)?,
            Stmt::For { var, lo, hi, step, body } => self.for_loop(*var, lo, hi, *step, body)?,
            Stmt::Parallel { var, lo, hi, body, .. } => self.for_loop(*var, lo, hi, 1, body)?,
            Stmt::InOrder { body } => self.block(body)?,
            Stmt::Update { array, index, op, value } => {
                let element = ir::build::load(*array, index.clone());
                let new = ir::build::binary(on_numbers(*op), element, value.clone());
                self.store(*array, index, &new)?;
            }
            Stmt::While { cond, body } => self.while_loop(cond, body)?,
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise)?,
            Stmt::Reserve { array, len } => self.reserve(*array, len)?,
            Stmt::Fill { array, lo, hi, value } => self.fill(*array, lo, hi, value)?,
            Stmt::Sort { keys, carried, lo, hi } => self.sort(keys, carried, lo, hi)?,
            Stmt::Prefetch { array, index, far } => self.prefetch(*array, index, *far)?,
            Stmt::Fail(status) => self.fail(*status),
            Stmt::Comment(_) => {}
        }
        Ok(())
    }

    pub(crate) fn assign(&mut self, var: Var, values: &[Value]) {
        for (home, &value) in self.vars[var.index()].iter().zip(values) {
            home.set(&mut self.b, value);
        }
    }

    fn store(
        &mut self,
        array: Array,
        index: &ir::Expr,
        value: &ir::Expr,
    ) -> Result<(), Diagnostic> {
        if self.computed_in_memory(array, index, value)? {
            return Ok(());
        }
        let values = self.expr(value)?;
        self.stored(array, index, values)
    }

    /// Stores values to consecutive elements.
    pub(crate) fn stored(
        &mut self,
        array: Array,
        index: &ir::Expr,
        values: Vec<Value>,
    ) -> Result<(), Diagnostic> {
        let elem = self.function.arrays[array].elem;
        let (address, offset) = self.place(array, index)?;
        let held = self.b.func.dfg.value_type(values[0]);
        if held.is_vector() && held.lane_bits() as usize == 8 * elem.size() {
            // Vectors need not be aligned to their own size.
            let mut unaligned = MemFlagsData::new();
            unaligned.set_notrap();
            for (k, value) in values.into_iter().enumerate() {
                self.b.ins().store(unaligned, value, address, offset + 16 * k as i32);
            }
            return Ok(());
        }
        let flags = MemFlagsData::trusted();
        for (k, value) in self.split_lanes(values).into_iter().enumerate() {
            let offset = offset + (k * elem.size()) as i32;
            let value = self.rounded_half(elem, value);
            // Constants of the narrow type are part of the instruction.
            let narrow = match (elem.is_float(), elem.size()) {
                (_, 1) => self.b.ins().ireduce(types::I8, value),
                (_, 2) => self.b.ins().ireduce(types::I16, value),
                (false, 4) => self.b.ins().ireduce(types::I32, value),
                _ => value,
            };
            self.b.ins().store(flags, narrow, address, offset);
        }
        Ok(())
    }

    /// A counted loop with its test at the bottom.
    fn for_loop(
        &mut self,
        var: Var,
        lo: &ir::Expr,
        hi: &ir::Expr,
        step: i64,
        body: &[Stmt],
    ) -> Result<(), Diagnostic> {
        let (lo, hi) = (self.scalar(lo)?, self.scalar(hi)?);
        let variable = self.vars[var.index()][0];
        variable.set(&mut self.b, lo);
        let (top, after) = (self.b.create_block(), self.b.create_block());
        // The next value may be beyond the largest integer, the last that has a next one is not
        // below the smallest.
        let last = match step {
            1 => hi,
            _ => {
                let least = self.b.ins().iconst(types::I64, i64::MIN + step);
                let hi = self.b.ins().smax(hi, least);
                self.b.ins().iadd_imm_s(hi, -step)
            }
        };
        let some = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let before = self.b.create_block();
        self.b.ins().brif(some, before, &[], after, &[]);
        self.b.switch_to_block(before);
        let held = self.hold(None, body);
        self.b.ins().jump(top, &[]);
        self.b.switch_to_block(top);
        let outer = self.anchors.enter(Some(var), body);
        self.block(body)?;
        self.anchors = outer;
        let i = variable.get(&mut self.b);
        let next = self.b.ins().iadd_imm_s(i, step);
        variable.set(&mut self.b, next);
        let more = match step {
            1 => self.b.ins().icmp(IntCC::SignedLessThan, next, last),
            _ => self.b.ins().icmp(IntCC::SignedLessThan, i, last),
        };
        self.b.ins().brif(more, top, &[], after, &[]);
        self.b.switch_to_block(after);
        self.addresses.leave(held);
        Ok(())
    }

    fn while_loop(&mut self, cond: &ir::Expr, body: &[Stmt]) -> Result<(), Diagnostic> {
        let (top, after) = (self.b.create_block(), self.b.create_block());
        let held = self.hold(Some(cond), body);
        self.jump_if(cond, top, after)?;
        self.b.switch_to_block(top);
        let outer = self.anchors.enter(None, body);
        self.block(body)?;
        self.anchors = outer;
        self.jump_if(cond, top, after)?;
        self.b.switch_to_block(after);
        self.addresses.leave(held);
        Ok(())
    }

    fn branch(
        &mut self,
        cond: &ir::Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
    ) -> Result<(), Diagnostic> {
        let (yes, after) = (self.b.create_block(), self.b.create_block());
        let no = if otherwise.is_empty() { after } else { self.b.create_block() };
        if matches!(then, [Stmt::Fail(_)]) {
            self.b.set_cold_block(yes);
        }
        self.jump_if(cond, yes, no)?;
        self.b.switch_to_block(yes);
        self.block(then)?;
        self.b.ins().jump(after, &[]);
        if no != after {
            self.b.switch_to_block(no);
            self.block(otherwise)?;
            self.b.ins().jump(after, &[]);
        }
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Jumps on a condition; later parts of a conjunction are evaluated only if needed.
    fn jump_if(&mut self, cond: &ir::Expr, yes: Block, no: Block) -> Result<(), Diagnostic> {
        if let ir::Expr::AndThen(a, b) = cond {
            let second = self.b.create_block();
            self.jump_if(a, second, no)?;
            self.b.switch_to_block(second);
            return self.jump_if(b, yes, no);
        }
        let cond = self.scalar(cond)?;
        self.b.ins().brif(cond, yes, &[], no, &[]);
        Ok(())
    }

    fn fail(&mut self, status: Status) {
        let status = self.b.ins().iconst(types::I64, status as i64);
        self.b.ins().jump(self.exit, &[status.into()]);
        let unreachable = self.b.create_block();
        self.b.switch_to_block(unreachable);
    }

    fn fill(
        &mut self,
        array: Array,
        lo: &ir::Expr,
        hi: &ir::Expr,
        value: &ir::Expr,
    ) -> Result<(), Diagnostic> {
        let elem = self.function.arrays[array].elem;
        let (lo, hi, value) = (self.scalar(lo)?, self.scalar(hi)?, self.scalar(value)?);
        let bits = match elem {
            DataType::F64 => self.b.ins().bitcast(types::I64, MemFlagsData::new(), value),
            DataType::F32 => {
                let bits = self.b.ins().bitcast(types::I32, MemFlagsData::new(), value);
                self.b.ins().uextend(types::I64, bits)
            }
            // The low bytes of an integer are the narrower one.
            _ => self.rounded_half(elem, value),
        };
        let count = self.b.ins().isub(hi, lo);
        let address = self.element(array, lo);
        let size = self.b.ins().iconst(types::I64, elem.size() as i64);
        self.call(support::fill as *const () as usize, &[address, count, bits, size], None);
        Ok(())
    }

    fn sort(
        &mut self,
        keys: &[Array],
        carried: &[Array],
        lo: &ir::Expr,
        hi: &ir::Expr,
    ) -> Result<(), Diagnostic> {
        let all: Vec<Array> = keys.iter().chain(carried).copied().collect();
        let bytes = 16 * all.len() as u32;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3);
        let slot = self.b.create_sized_stack_slot(data);
        for (k, &array) in all.iter().enumerate() {
            let address = self.array(array);
            let size = self.function.arrays[array].elem.size() as i64;
            let size = self.b.ins().iconst(types::I64, size);
            self.b.ins().stack_store(types::I64, address, slot, 16 * k as i32);
            self.b.ins().stack_store(types::I64, size, slot, 16 * k as i32 + 8);
        }
        let list = self.b.ins().stack_addr(types::I64, slot, 0);
        let (lo, hi) = (self.scalar(lo)?, self.scalar(hi)?);
        let count = |t: &mut Self, n: usize| t.b.ins().iconst(types::I64, n as i64);
        let (n_keys, n_carried) = (count(self, keys.len()), count(self, carried.len()));
        let f = support::sort as *const () as usize;
        let status = self.call(f, &[list, n_keys, n_carried, lo, hi], Some(types::I64));
        let status = status.expect("sort returns a status");
        let sorted = self.b.create_block();
        self.b.ins().brif(status, self.exit, &[status.into()], sorted, &[]);
        self.b.switch_to_block(sorted);
        Ok(())
    }

    /// The address of an element and a constant offset from it, so that neighbours share one.
    pub(crate) fn place(
        &mut self,
        array: Array,
        index: &ir::Expr,
    ) -> Result<(Value, i32), Diagnostic> {
        let size = self.function.arrays[array].elem.size() as i64;
        if let ir::Expr::Binary(BinaryOp::Add, rest, by) = index
            && let ir::Expr::Const(Scalar::I64(by)) = **by
            && let Some(offset) = by.checked_mul(size)
            && offset.unsigned_abs() < 1 << 20
        {
            return Ok((self.address(array, rest)?, offset as i32));
        }
        Ok((self.address(array, index)?, 0))
    }

    /// The address of the element at an index. What stays the same in the innermost loop is added
    /// first, so that it is added outside of the loop.
    fn address(&mut self, array: Array, index: &ir::Expr) -> Result<Value, Diagnostic> {
        let base = self.array(array);
        let parts = self.anchors.apart(index).map_or(vec![index.clone()], Vec::from);
        parts.iter().try_fold(base, |base, part| {
            let part = self.scalar(part)?;
            Ok(self.beyond(base, array, part))
        })
    }

    /// The address of an element.
    pub(crate) fn element(&mut self, array: Array, index: Value) -> Value {
        let base = self.array(array);
        self.beyond(base, array, index)
    }

    /// The address `index` elements of an array beyond an address.
    fn beyond(&mut self, base: Value, array: Array, index: Value) -> Value {
        let shift = self.function.arrays[array].elem.size().trailing_zeros();
        let offset = match shift {
            0 => index,
            _ => self.b.ins().ishl_imm_u(index, i64::from(shift)),
        };
        self.b.ins().iadd(base, offset)
    }
}

/// The machine type of one lane.
pub(crate) fn machine_type(register: Register) -> Type {
    match register {
        Register::Bool => types::I8,
        Register::I64 | Register::U64 => types::I64,
        Register::F32 => types::F32,
        Register::F64 => types::F64,
    }
}
