//! Statements as instructions: values and where they are computed.
//!
//! What stays the same in a loop is computed before it, and what was computed is used again, as far
//! as integers and splats go. Loads stay where they are, since a loop that does not run may have an
//! index beyond its array.
//!
//! ```text
//! for p in lo..hi { t = fma(v, X[i * n + p; 8], t); u = fma(v, X[i * n + p + 8; 8], u) }
//!
//!     r = i * n; x = X + r * 8
//! 0:  fma t, v, [x + p * 8]; fma u, v, [x + p * 8 + 64]; ...
//! ```

use super::Vectors;
use super::inst::{Inst, Label, Value};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Array, Id, Var};
use tamis_ir::ir::flow::assigned;
use tamis_ir::ir::{ArrayRole, Expr, Function, Stmt, Type};

/// A block on its way to instructions.
pub(super) struct Lowering<'f> {
    pub(super) function: &'f Function,
    pub(super) vectors: Vectors,
    /// The type of each value. Values of variables come first, then addresses and lengths of arrays.
    pub(super) types: Vec<Type>,
    pub(super) code: Vec<Inst>,
    loops: Vec<Around>,
    /// What is known, by blocks around.
    scopes: Vec<Vec<Known>>,
    labels: u32,
}

/// A loop around.
struct Around {
    /// By value of a variable, or of an array's address or length.
    changed: Vec<bool>,
    /// What is computed before it.
    before: Vec<Inst>,
    /// The scope of that.
    scope: usize,
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Value,
    /// The address of an element.
    Place(Array),
    /// No value, but that an integer is not negative.
    NotNegative,
}

/// What a value that never changes is, and the level that it was placed at.
struct Known {
    what: What,
    e: Expr,
    value: Value,
    level: usize,
}

/// What a value stands for outside of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name {
    /// A variable.
    Var(Var),
    /// The address of an array.
    Base(Array),
    /// Its length.
    Len(Array),
    /// The address of the slots of the call.
    Slots,
}

/// The end of the code, where it goes with a status.
pub(super) const EXIT: Label = Label(0);

/// What a value stands for, if it does for anything.
pub(super) fn name(function: &Function, value: Value) -> Option<Name> {
    let (vars, arrays) = (function.vars.len(), function.arrays.len());
    let at = value.index();
    let array = |at: usize| Array::new(at);
    match at {
        _ if at < vars => Some(Name::Var(Var::new(at))),
        _ if at < vars + arrays => Some(Name::Base(array(at - vars))),
        _ if at < vars + 2 * arrays => Some(Name::Len(array(at - vars - arrays))),
        _ if at == vars + 2 * arrays => Some(Name::Slots),
        _ => None,
    }
}

impl<'f> Lowering<'f> {
    pub(super) fn new(function: &'f Function, vectors: Vectors) -> Lowering<'f> {
        let mut types: Vec<Type> = function.vars.iter().map(|v| v.ty).collect();
        types.resize(types.len() + 2 * function.arrays.len() + 1, Type::INDEX);
        let scopes = vec![vec![]];
        let (code, loops, labels) = (vec![], vec![], EXIT.0 + 1);
        Lowering { function, vectors, types, code, loops, scopes, labels }
    }

    pub(super) fn var(&self, var: Var) -> Value {
        Value(var.index() as u32)
    }

    pub(super) fn values(&self, vars: &[Var]) -> Vec<Value> {
        vars.iter().map(|v| self.var(*v)).collect()
    }

    pub(super) fn base(&self, array: Array) -> Value {
        Value((self.function.vars.len() + array.index()) as u32)
    }

    pub(super) fn len(&self, array: Array) -> Value {
        Value((self.function.vars.len() + self.function.arrays.len() + array.index()) as u32)
    }

    pub(super) fn slots(&self) -> Value {
        Value((self.function.vars.len() + 2 * self.function.arrays.len()) as u32)
    }

    pub(super) fn fresh(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        Value(self.types.len() as u32 - 1)
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.types[value.index()]
    }

    /// How many loops around.
    pub(super) fn depth(&self) -> usize {
        self.loops.len()
    }

    /// Before which loop around an expression may be computed; their number if before none.
    pub(super) fn level(&self, e: &Expr) -> usize {
        self.level_by(e, &|v| match self.changes(self.var(v)) {
            0 => 0,
            // It may have been given what stays the same.
            changes => self.find(What::Value, &Expr::Var(v)).map_or(changes, |k| k.level),
        })
    }

    fn level_by(&self, e: &Expr, of: &dyn Fn(Var) -> usize) -> usize {
        let mut level = 0;
        e.walk(&mut |e| match e {
            Expr::Var(v) => level = level.max(of(*v)),
            Expr::Len(array) => level = level.max(self.changes(self.len(*array))),
            Expr::Load { .. } => level = self.depth(),
            _ => {}
        });
        level
    }

    /// How many loops around it takes to be in all that change a value that has a name.
    pub(super) fn changes(&self, value: Value) -> usize {
        self.loops.iter().rposition(|l| l.changed[value.index()]).map_or(0, |at| at + 1)
    }

    /// Adds an instruction before the loop of this level, or here.
    pub(super) fn place(&mut self, level: usize, inst: Inst) {
        match self.loops.get_mut(level) {
            Some(around) => around.before.push(inst),
            None => self.code.push(inst),
        }
    }

    pub(super) fn known(&self, what: What, e: &Expr) -> Option<Value> {
        self.find(what, e).map(|k| k.value)
    }

    fn find(&self, what: What, e: &Expr) -> Option<&Known> {
        let mut all = self.scopes.iter().rev().flatten();
        all.find(|k| k.what == what && k.e == *e)
    }

    /// Notes what a value is that was placed at a level.
    pub(super) fn remember(&mut self, level: usize, what: What, e: &Expr, value: Value) {
        // What its variables are may be known for less long.
        let known = self.level_by(e, &|v| self.changes(self.var(v)));
        let scope = self.loops.get(known).map_or(self.scopes.len() - 1, |l| l.scope);
        self.scopes[scope].push(Known { what, e: e.clone(), value, level });
    }

    /// Notes that a variable has a value that was placed at a level.
    pub(super) fn alias(&mut self, var: Var, value: Value, level: usize) {
        let e = Expr::Var(var);
        let known = Known { what: What::Value, e, value, level };
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(known);
        }
    }

    /// Drops what is not true any more when variables have changed.
    fn forget(&mut self, changed: &dyn Fn(Value) -> bool) {
        let mut scopes = std::mem::take(&mut self.scopes);
        let holds = |known: &Known| {
            let mut holds = match known.what {
                What::Value | What::NotNegative => true,
                What::Place(array) => !changed(self.base(array)),
            };
            known.e.walk(&mut |e| match e {
                Expr::Var(v) => holds &= !changed(self.var(*v)),
                Expr::Len(array) => holds &= !changed(self.len(*array)),
                _ => {}
            });
            holds
        };
        scopes.iter_mut().for_each(|scope| scope.retain(holds));
        self.scopes = scopes;
    }

    /// Notes that a value that has a name is another one.
    pub(super) fn changed(&mut self, value: Value) {
        self.forget(&|v| v == value);
    }

    /// A block that runs where a condition holds.
    pub(super) fn branch_where(&mut self, cond: &Expr, stmts: &[Stmt]) -> Option<()> {
        self.apart(|t| {
            t.note(cond);
            t.block(stmts)
        })
    }

    /// Notes what a condition says that holds from here to the end of the block.
    fn note(&mut self, cond: &Expr) {
        match cond {
            Expr::AndThen(a, b) | Expr::Binary(BinaryOp::And, a, b) => {
                self.note(a);
                self.note(b);
            }
            Expr::Binary(BinaryOp::Ge, a, least) => {
                let Expr::Const(Scalar::I64(0..)) = **least else { return };
                // What a store changes is not looked for.
                let mut loads = false;
                a.walk(&mut |e| loads |= matches!(e, Expr::Load { .. }));
                if loads {
                    return;
                }
                let (what, value) = (What::NotNegative, self.slots());
                let known = Known { what, e: (**a).clone(), value, level: 0 };
                if let Some(scope) = self.scopes.last_mut() {
                    scope.push(known);
                }
            }
            _ => {}
        }
    }

    /// A block that may not run.
    pub(super) fn branch(&mut self, stmts: &[Stmt]) -> Option<()> {
        self.apart(|t| t.block(stmts))
    }

    /// What may not run: what is known then is not known after it.
    pub(super) fn apart(&mut self, f: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.scopes.push(vec![]);
        let done = f(self);
        self.scopes.pop();
        done
    }

    pub(super) fn block(&mut self, stmts: &[Stmt]) -> Option<()> {
        stmts.iter().try_for_each(|s| self.stmt(s))
    }

    /// A loop: `body` gives what it repeats, ended by a jump to its label.
    pub(super) fn repeated(
        &mut self,
        var: Option<Var>,
        stmts: &[Stmt],
        body: impl FnOnce(&mut Self, Label) -> Option<()>,
    ) -> Option<()> {
        let (mut vars, mut arrays) = (Vec::from_iter(var), vec![]);
        assigned(stmts, &mut vars);
        grown(stmts, &mut arrays);
        let mut changed = vec![false; self.slots().index() + 1];
        vars.into_iter().for_each(|v| changed[self.var(v).index()] = true);
        for array in arrays {
            changed[self.base(array).index()] = true;
            changed[self.len(array).index()] = true;
        }
        self.forget(&|v| changed.get(v.index()).copied().unwrap_or(false));
        self.scopes.extend([vec![], vec![]]);
        let scope = self.scopes.len() - 2;
        self.loops.push(Around { changed, before: vec![], scope });
        let outer = std::mem::take(&mut self.code);
        let top = self.label();
        self.code.push(Inst::Label(top));
        let done = body(self, top);
        let inner = std::mem::replace(&mut self.code, outer);
        let around = self.loops.pop()?;
        self.code.extend(around.before);
        self.code.extend(inner);
        self.scopes.truncate(scope);
        done
    }

    /// Whether an array never changes.
    pub(super) fn is_input(&self, array: Array) -> bool {
        self.function.arrays[array].role == ArrayRole::Input
    }
}

/// The arrays that statements may make longer.
pub(super) fn grown(stmts: &[Stmt], found: &mut Vec<Array>) {
    for s in stmts {
        if let Stmt::Reserve { array, .. } = s {
            found.push(*array);
        }
        s.blocks().for_each(|b| grown(b, found));
    }
}
