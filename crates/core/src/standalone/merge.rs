//! Merges kernels into one function, in which they share the arrays of tensors.

use super::dims::Dims;
use super::{Parameter, Piece, Signature, Standalone, pieces};
use crate::cin::Role;
use crate::lower::{Binding, Lowered};
use crate::pipeline::Compiled;
use crate::plan::Join;
use std::collections::{BTreeMap, BTreeSet};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{Array, Id, IdVec, IndexVar, Mode, TensorId, Var};
use tamis_ir::ir::build::{UniqueNames, add, assign, binary, for_loop, int, load, store, when};
use tamis_ir::ir::number::{Renamed, number};
use tamis_ir::ir::verify::CONSTANTS;
use tamis_ir::ir::{self, ArrayDecl, Expr, Function, Param, Status, Stmt, Type, VarDecl};

/// The function so far.
pub(super) struct Merger<'c> {
    pub(super) compiled: &'c Compiled,
    name: String,
    declared: Declarations,
    pub(super) body: Vec<Stmt>,
    operands: Vec<Signature>,
    pub(super) results: Vec<Signature>,
    sizes: Vec<String>,
    dims: Option<Dims>,
    /// The variables that hold dimensions.
    dimensions: BTreeMap<IndexVar, Var>,
    /// The arrays of tensors.
    held: BTreeMap<(TensorId, Piece), Array>,
    /// The numbers of positions of tensors' levels.
    pub(super) positions: BTreeMap<TensorId, Vec<Expr>>,
    /// Tensors that share the first levels of another tensor.
    shared: BTreeMap<TensorId, (TensorId, usize)>,
}

/// The declarations of the function, with unique names.
struct Declarations {
    vars: IdVec<Var, VarDecl>,
    arrays: IdVec<Array, ArrayDecl>,
    params: Vec<(Param, Parameter)>,
    names: UniqueNames,
}

impl Declarations {
    fn var(&mut self, var: VarDecl) -> Var {
        let name = self.names.fresh(&var.name);
        self.vars.push(VarDecl { name, ..var })
    }

    fn array(&mut self, array: ArrayDecl) -> Array {
        let name = self.names.fresh(&array.name);
        self.arrays.push(ArrayDecl { name, ..array })
    }

    /// A variable that the caller passes.
    fn number(&mut self, name: &str, parameter: Parameter) -> Var {
        let var = self.var(VarDecl::new(name, Type::INDEX));
        self.params.push((Param::Scalar(var), parameter));
        var
    }
}

impl<'c> Merger<'c> {
    pub(super) fn new(
        name: String,
        compiled: &'c Compiled,
        operands: Vec<Signature>,
        results: Vec<Signature>,
    ) -> Merger<'c> {
        let declared = Declarations {
            vars: IdVec::new(),
            arrays: IdVec::new(),
            params: vec![],
            names: UniqueNames::of(CONSTANTS.iter().copied().chain([name.as_str()])),
        };
        Merger {
            compiled,
            name,
            declared,
            body: vec![],
            operands,
            results,
            sizes: vec![],
            dims: None,
            dimensions: BTreeMap::new(),
            held: BTreeMap::new(),
            positions: BTreeMap::new(),
            shared: BTreeMap::new(),
        }
    }

    /// A new variable, with this name if it is free.
    pub(super) fn var(&mut self, name: &str, ty: Type) -> Var {
        self.declared.var(VarDecl::new(name, ty))
    }

    /// The dimensions of operands, by their ids in the notation: parameters.
    pub(super) fn operand_dims(&mut self) -> Vec<(TensorId, Vec<Expr>)> {
        let mut all = vec![];
        for k in 0..self.operands.len() {
            let operand = self.operands[k].clone();
            let Role::Input(source) = self.compiled.program.tensors[operand.id].role else {
                continue;
            };
            let mut dims = vec![];
            for mode in 0..operand.order() {
                let name = format!("{}_dim{}", operand.name, mode + 1);
                let var = self.declared.number(&name, Parameter::Dimension(k, Mode::new(mode)));
                dims.push(Expr::Var(var));
            }
            all.push((source, dims));
        }
        all
    }

    /// The dimension of an index variable that the caller passes.
    pub(super) fn size(&mut self, name: &str) -> Expr {
        let parameter = Parameter::Size(self.sizes.len());
        let var = self.declared.number(&format!("{name}_size"), parameter);
        self.sizes.push(name.to_owned());
        let beyond = binary(BinaryOp::Lt, Expr::Var(var), int(0));
        self.body.push(when(beyond, vec![Stmt::Fail(Status::Dimensions)]));
        Expr::Var(var)
    }

    /// The dimension of an index variable, in a variable of the code.
    pub(super) fn dimension(&mut self, var: IndexVar) -> Expr {
        if let Some(&known) = self.dimensions.get(&var) {
            return Expr::Var(known);
        }
        let dims = self.dims.as_ref().expect("dimensions come first");
        let value = dims.of_var(&self.compiled.program, var);
        if matches!(value, Expr::Var(_) | Expr::Const(_)) {
            return value;
        }
        let name = format!("{}_size", self.compiled.program.vars[var]);
        let held = self.var(&name, Type::INDEX);
        self.body.push(assign(held, value));
        self.dimensions.insert(var, held);
        Expr::Var(held)
    }

    /// An array of a tensor: a parameter for operands and results, otherwise local to the function.
    pub(super) fn array(&mut self, tensor: TensorId, piece: Piece) -> Array {
        let mut owner = tensor;
        while let (Piece::Level(level, _), Some(&(of, levels))) = (piece, self.shared.get(&owner))
            && level.index() < levels
        {
            owner = of;
        }
        self.own_array(owner, piece)
    }

    fn own_array(&mut self, tensor: TensorId, piece: Piece) -> Array {
        if let Some(&known) = self.held.get(&(tensor, piece)) {
            return known;
        }
        let declared = &self.compiled.program.tensors[tensor];
        let name = match piece {
            Piece::Level(level, part) => {
                format!("{}{}_{}", declared.name, level.index() + 1, part.name())
            }
            Piece::Vals => format!("{}_vals", declared.name),
        };
        let operand = self.operands.iter().position(|s| s.id == tensor);
        let result = self.results.iter().position(|s| s.id == tensor);
        let (role, stands_for) = match (operand, result) {
            (Some(k), _) => (ir::ArrayRole::Input, Some(Parameter::Operand(k, piece))),
            (_, Some(k)) => (ir::ArrayRole::Result, Some(Parameter::Result(k, piece))),
            (None, None) => (ir::ArrayRole::Local, None),
        };
        let elem = piece.elem(&declared.storage);
        let array = self.declared.array(ArrayDecl::new(&name, elem, role));
        self.declared.params.extend(stands_for.map(|parameter| (Param::Array(array), parameter)));
        self.held.insert((tensor, piece), array);
        array
    }

    /// The array for the sizes of a result.
    pub(super) fn sizes_of(&mut self, k: usize) -> Array {
        let name = format!("{}_sizes", self.results[k].name);
        let array =
            self.declared.array(ArrayDecl::new(&name, DataType::I64, ir::ArrayRole::Output));
        self.declared.params.push((Param::Array(array), Parameter::Sizes(k)));
        array
    }

    /// Runs all kernels, then copies what results share with operands, and returns their sizes.
    pub(super) fn run(&mut self, dims: Dims) {
        self.dims = Some(dims);
        for (lowered, kernel) in self.compiled.functions.iter().zip(&self.compiled.program.kernels)
        {
            self.kernel(lowered, kernel.result);
        }
        for k in 0..self.results.len() {
            let result = self.results[k].clone();
            self.copy_shared(result.id);
            for piece in pieces(&result.storage) {
                self.own_array(result.id, piece);
            }
            self.say_sizes(k);
        }
    }

    fn kernel(&mut self, lowered: &Lowered, target: TensorId) {
        self.check_extents(target);
        if let Some(like) = lowered.like {
            self.shared.insert(target, (like.operand, like.levels));
        }
        let function = &lowered.function;
        let mut renamed = Renamed::none(function);
        let mut lengths = BTreeMap::new();
        for (param, binding) in function.params.iter().zip(&lowered.bindings) {
            match (param, *binding) {
                (Param::Scalar(var), binding) => {
                    renamed.vars[var.index()] = Some(self.scalar(function, *var, binding));
                }
                (Param::Array(array), Binding::Level { tensor, level, part }) => {
                    let piece = Piece::Level(level, part);
                    renamed.arrays[array.index()] = Some(self.array(tensor, piece));
                    lengths.insert(*array, (tensor, piece));
                }
                (Param::Array(array), Binding::Vals { tensor }) => {
                    renamed.arrays[array.index()] = Some(self.array(tensor, Piece::Vals));
                    lengths.insert(*array, (tensor, Piece::Vals));
                }
                (Param::Array(_), _) => unreachable!("numbers are no arrays"),
            }
        }
        self.allocate(lowered, target);
        for (id, array) in function.arrays.enumerate() {
            if renamed.arrays[id.index()].is_none() {
                renamed.arrays[id.index()] = Some(self.declared.array(array.clone()));
            }
        }
        for (id, var) in function.vars.enumerate() {
            if renamed.vars[id.index()].is_none() {
                renamed.vars[id.index()] = Some(self.declared.var(var.clone()));
            }
        }
        let body = renamed.block(function.body.clone());
        // Memory that an earlier kernel reserved may be longer than the elements in use.
        let mut asked = BTreeSet::new();
        lengths_asked(&body, &mut asked);
        let mut known = BTreeMap::new();
        for (array, (tensor, piece)) in lengths {
            let new = renamed.arrays[array.index()].expect("parameters have arrays");
            if function.arrays[array].role != ir::ArrayRole::Result && asked.contains(&new) {
                known.insert(new, self.length(tensor, piece));
            }
        }
        let body = with_lengths(body, &known);
        self.reserve_others(function, &renamed, &body);
        self.body.extend(body);
    }

    /// Allocates arrays of a result that its kernel never reserves, since it has no entries: later kernels read them.
    fn reserve_others(&mut self, function: &Function, renamed: &Renamed, body: &[Stmt]) {
        let mut reserved = BTreeSet::new();
        arrays_reserved(body, &mut reserved);
        for (id, array) in function.arrays.enumerate() {
            let new = renamed.arrays[id.index()].expect("arrays have new ones");
            if array.role == ir::ArrayRole::Result && !reserved.contains(&new) {
                self.body.push(Stmt::Reserve { array: new, len: int(0) });
            }
        }
    }

    /// A variable for a parameter of a kernel.
    fn scalar(&mut self, function: &Function, var: Var, binding: Binding) -> Var {
        let value = match binding {
            Binding::Dimension(of) => self.dimension(of),
            Binding::Begin => int(i64::MIN),
            _ => int(i64::MAX),
        };
        if let Expr::Var(known) = value {
            return known;
        }
        let held = self.var(&function.vars[var].name, Type::INDEX);
        self.body.push(assign(held, value));
        held
    }

    /// Allocates arrays that a kernel expects with their final size: of a result in which every element has a
    /// position.
    fn allocate(&mut self, lowered: &Lowered, target: TensorId) {
        let function = &lowered.function;
        let is_fixed =
            |a: &ArrayDecl| matches!(a.role, ir::ArrayRole::Output | ir::ArrayRole::Shared);
        if !function.arrays.iter().any(is_fixed) {
            return;
        }
        let storage = &self.compiled.program.tensors[target].storage;
        let pieces = pieces(storage);
        let own = |piece: &Piece| match (piece, self.shared.get(&target)) {
            (Piece::Level(level, _), Some(&(_, levels))) => level.index() >= levels,
            _ => true,
        };
        for piece in pieces.into_iter().filter(own).collect::<Vec<_>>() {
            let len = self.length(target, piece);
            let array = self.array(target, piece);
            self.body.push(Stmt::Reserve { array, len });
        }
        let initial = match lowered.partition.as_ref().map(|partition| partition.join) {
            Ok(Join::Shared { initial }) => initial,
            Ok(Join::Overlap { initial, .. }) => Some(initial),
            _ => None,
        };
        if let Some(initial) = initial {
            self.fill_values(target, initial);
        }
    }

    /// Fills the values of a tensor.
    fn fill_values(&mut self, tensor: TensorId, value: Scalar) {
        let (array, len) = (self.array(tensor, Piece::Vals), self.length(tensor, Piece::Vals));
        let [re, im] = match value {
            Scalar::C64(parts) => parts.map(Scalar::F32),
            Scalar::C128(parts) => parts.map(Scalar::F64),
            real => {
                let value = Expr::Const(real);
                self.body.push(Stmt::Fill { array, lo: int(0), hi: len, value });
                return;
            }
        };
        let p = self.var("p", Type::INDEX);
        let (first, second) = (Expr::Var(p), add(Expr::Var(p), int(1)));
        let body =
            vec![store(array, first, Expr::Const(re)), store(array, second, Expr::Const(im))];
        self.body.push(Stmt::For { var: p, lo: int(0), hi: len, step: 2, body });
    }

    /// Copies the levels that a result shares with another tensor.
    fn copy_shared(&mut self, result: TensorId) {
        let Some(&(_, levels)) = self.shared.get(&result) else { return };
        let storage = self.compiled.program.tensors[result].storage.clone();
        for piece in pieces(&storage) {
            if !matches!(piece, Piece::Level(level, _) if level.index() < levels) {
                continue;
            }
            let len = self.length(result, piece);
            let (from, to) = (self.array(result, piece), self.own_array(result, piece));
            let p = self.var("p", Type::INDEX);
            let copy = store(to, Expr::Var(p), load(from, Expr::Var(p)));
            self.body.push(Stmt::Reserve { array: to, len: len.clone() });
            self.body.push(for_loop(p, int(0), len, vec![copy]));
        }
    }

    /// The function, with its declarations in order.
    pub(super) fn finished(self, source: String) -> Standalone {
        let Declarations { vars, arrays, params, .. } = self.declared;
        let (params, parameters) = params.into_iter().unzip();
        let (name, body) = (self.name, self.body);
        let function = number(Function { name, params, vars, arrays, body });
        Standalone {
            source,
            function,
            parameters,
            operands: self.operands,
            results: self.results,
            sizes: self.sizes,
        }
    }
}

/// Collects the arrays whose lengths statements read.
fn lengths_asked(block: &[Stmt], asked: &mut BTreeSet<Array>) {
    for s in block {
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Len(array) = e {
                    asked.insert(*array);
                }
            });
        }
        s.blocks().for_each(|block| lengths_asked(block, asked));
    }
}

/// Collects the arrays that statements reserve.
fn arrays_reserved(block: &[Stmt], reserved: &mut BTreeSet<Array>) {
    for s in block {
        if let Stmt::Reserve { array, .. } = s {
            reserved.insert(*array);
        }
        s.blocks().for_each(|block| arrays_reserved(block, reserved));
    }
}

/// The statements with these lengths.
fn with_lengths(block: Vec<Stmt>, known: &BTreeMap<Array, Expr>) -> Vec<Stmt> {
    fn expr(e: Expr, known: &BTreeMap<Array, Expr>) -> Expr {
        match e {
            Expr::Len(array) if known.contains_key(&array) => known[&array].clone(),
            e => e.map_children(&mut |e| expr(e, known)),
        }
    }
    let stmt =
        |s: Stmt| s.map_children(&mut |e| expr(e, known), &mut |block| with_lengths(block, known));
    block.into_iter().map(stmt).collect()
}
