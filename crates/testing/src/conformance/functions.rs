//! The code of one level's functions, interpreted, against what its arrays mean in plain Rust.

use tamis::level::code::{Expr, Stmt, add, assign, for_loop, int, store, when};
use tamis::level::{Crd, Header, LevelArrays, LevelKind, LevelView, Names, Numbers, Part};
use tamis::{DataType, Scalar, Tensor};
use tamis_core::format::LevelMap;
use tamis_ir::ids::{Array, Id, IdVec, Var};
use tamis_ir::interpret::{self, Argument, Buffer};
use tamis_ir::ir::{ArrayDecl, ArrayRole, Function, Param, Type, VarDecl};

/// No more elements than this are asked for.
const MOST: u64 = 10_000;

/// A parent, a position and a coordinate.
type Child = (i64, i64, i64);

/// Compares the functions of a level of a tensor.
pub(super) fn compare(tensor: &Tensor, k: usize) -> Result<(), String> {
    let level = View::of(tensor, k);
    let view = level.view();
    let kind = level.kind;
    let code = Code::new(&level);
    if kind.walks() != code.walk().is_some() {
        return Err("walks() does not say whether there is position iteration".to_owned());
    }
    if kind.locates() != code.locate().is_some() {
        return Err("locates() does not say whether there is locate".to_owned());
    }
    if let Some((code, body)) = code.walk() {
        let all = (level.header.least, level.header.least + level.header.size as i64);
        let mut expected = vec![];
        for parent in 0..level.parents {
            kind.children(&view, parent, all, &mut |p, c| {
                expected.push((parent as i64, p as i64, c));
            });
        }
        agree("position iteration", &code.run(&level, body)?, &expected)?;
    }
    let places = level.parents.saturating_mul(level.header.size);
    if let Some((code, body)) = code.locate().filter(|_| places <= MOST) {
        agree("locate", &code.run(&level, body)?, &level.located(&view))?;
    }
    let Some((code, body)) = code.size() else { return Ok(()) };
    let positions = kind.positions(&view, level.parents) as i64;
    agree("size", &code.run(&level, body)?, &[(level.parents as i64, positions, 0)])
}

fn agree(what: &str, got: &[Child], expected: &[Child]) -> Result<(), String> {
    match got == expected {
        true => Ok(()),
        false => Err(format!("{what} finds {got:?}, the arrays mean {expected:?}")),
    }
}

/// The arrays of one level as 64-bit integers.
struct View {
    kind: LevelKind,
    header: Header,
    parents: u64,
    place: Crd<()>,
    parts: Vec<(Part, Vec64)>,
}

/// An array.
#[derive(Clone)]
struct Vec64(Vec<i64>);

impl Numbers for Vec64 {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn at(&self, place: usize) -> i64 {
        self.0[place]
    }
}

impl View {
    fn of(tensor: &Tensor, k: usize) -> View {
        let mut parents = 1;
        for above in 0..k {
            let level = View::under(tensor, above, parents);
            parents = level.kind.positions(&level.view(), parents);
        }
        View::under(tensor, k, parents)
    }

    fn under(tensor: &Tensor, k: usize, parents: u64) -> View {
        let format = &tensor.storage().format;
        let level = &format.levels()[k];
        let numbers = |l: usize, part: Part| {
            let array = tensor.levels()[l].part(part)?;
            Some(Vec64((0..array.len()).map(|at| Numbers::at(array, at)).collect()))
        };
        let slots = |l: usize| numbers(l, Part::Width).map_or(0, |w| w.0[0] as u64);
        let header = format.headers(tensor.dims(), &slots)[k];
        let alone = (k, Crd { array: (), stride: 1, offset: 0 });
        let (head, place) = format.interleaved(k).unwrap_or(alone);
        // The width of slots is the size, which is known already.
        let own = |part: &Part| !(matches!(level.map, LevelMap::Slot(_)) && *part == Part::Width);
        let parts = Part::ALL.into_iter().filter(own).filter_map(|part| {
            let holder = if part == Part::Crd { head } else { k };
            Some((part, numbers(holder, part)?))
        });
        View { kind: level.kind, header, parents, place, parts: parts.collect() }
    }

    fn part(&self, part: Part) -> Option<&dyn Numbers> {
        let found = self.parts.iter().find(|(p, _)| *p == part);
        found.map(|(_, array)| array as &dyn Numbers)
    }

    fn view(&self) -> LevelView<'_> {
        LevelView {
            header: self.header,
            pos: self.part(Part::Pos),
            crd: self.part(Part::Crd).map(|array| self.place.of(array)),
            width: self.part(Part::Width),
            mask: self.part(Part::Mask),
        }
    }

    /// The position of every coordinate below every parent, where there is one.
    fn located(&self, view: &LevelView<'_>) -> Vec<Child> {
        let mut found = vec![];
        for parent in 0..self.parents {
            let least = self.header.least;
            for c in least..least + self.header.size as i64 {
                let mut at = None;
                self.kind.children(view, parent, (c, c + 1), &mut |p, coordinate| {
                    if coordinate == c {
                        at = at.or(Some(p));
                    }
                });
                found.extend(at.map(|p| (parent as i64, p as i64, c)));
            }
        }
        found
    }
}

/// A function under construction: the arrays of a level come in, children go out.
#[derive(Clone)]
struct Code {
    kind: LevelKind,
    level: LevelArrays,
    vars: IdVec<Var, VarDecl>,
    arrays: IdVec<Array, ArrayDecl>,
    parents: Var,
    count: Var,
    out: [Array; 3],
    /// The count at the end.
    total: Array,
}

impl Names for Code {
    fn index(&mut self, name: &str) -> Var {
        let name = format!("{name}{}", self.vars.len());
        self.vars.push(VarDecl::new(&name, Type::INDEX))
    }
}

impl Code {
    fn new(view: &View) -> Code {
        let mut arrays = IdVec::new();
        let mut array = |name: &str, role| arrays.push(ArrayDecl::new(name, DataType::I64, role));
        let mut inputs = vec![];
        for (part, _) in &view.parts {
            inputs.push((*part, array(part.name(), ArrayRole::Input)));
        }
        let out =
            ["parents", "positions", "coordinates"].map(|name| array(name, ArrayRole::Result));
        let total = array("total", ArrayRole::Result);
        let input = |part: Part| inputs.iter().find(|(p, _)| *p == part).map(|(_, a)| *a);
        let (least, size) = (int(view.header.least), int(view.header.size as i64));
        let level = LevelArrays {
            properties: view.header.properties,
            least,
            size,
            pos: input(Part::Pos),
            crd: input(Part::Crd).map(|array| view.place.of(array)),
            width: input(Part::Width),
            mask: input(Part::Mask),
            table: None,
        };
        let mut vars = IdVec::new();
        let mut var = |name: &str| vars.push(VarDecl::new(name, Type::INDEX));
        let (parents, count) = (var("parents_size"), var("count"));
        Code { kind: view.kind, level, vars, arrays, parents, count, out, total }
    }

    /// Code that gives every child by position iteration.
    fn walk(&self) -> Option<(Code, Vec<Stmt>)> {
        let mut code = self.clone();
        let (parent, p) = (code.index("parent"), code.index("p"));
        let bounds = self.kind.pos_bounds(&self.level, Expr::Var(parent))?;
        let at = self.kind.pos_access(&self.level, Expr::Var(parent), Expr::Var(p))?;
        let found = code.give(parent, Expr::Var(p), at.coordinate);
        let body = at.found.map_or_else(|| found.clone(), |cond| vec![when(cond, found.clone())]);
        let positions = for_loop(p, bounds.lo, bounds.hi, body);
        let all = for_loop(parent, int(0), Expr::Var(self.parents), vec![positions]);
        Some((code, vec![all]))
    }

    /// Code that gives every coordinate that is located.
    fn locate(&self) -> Option<(Code, Vec<Stmt>)> {
        let mut code = self.clone();
        let (parent, c) = (code.index("parent"), code.index("c"));
        let level = self.level.clone();
        let at = self.kind.locate(&level, Expr::Var(parent), Expr::Var(c), &mut code)?;
        let found = code.give(parent, at.position, Expr::Var(c));
        let mut body = at.stmts;
        match at.found {
            Some(cond) => body.push(when(cond, found)),
            None => body.extend(found),
        }
        let end = add(level.least.clone(), level.size.clone());
        let coordinates = for_loop(c, level.least, end, body);
        let all = for_loop(parent, int(0), Expr::Var(self.parents), vec![coordinates]);
        Some((code, vec![all]))
    }

    /// Code that gives the number of positions.
    fn size(&self) -> Option<(Code, Vec<Stmt>)> {
        let mut code = self.clone();
        let size = self.kind.size(&self.level, Expr::Var(self.parents))?;
        let given = code.give(self.parents, size, int(0));
        Some((code, given))
    }

    fn give(&mut self, parent: Var, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        let count = || Expr::Var(self.count);
        let mut stmts = vec![];
        for (array, value) in self.out.into_iter().zip([Expr::Var(parent), position, coordinate]) {
            stmts.push(Stmt::Reserve { array, len: add(count(), int(1)) });
            stmts.push(store(array, count(), value));
        }
        stmts.push(assign(self.count, add(count(), int(1))));
        stmts
    }

    /// What the code gives for the arrays of a level.
    fn run(self, view: &View, mut body: Vec<Stmt>) -> Result<Vec<Child>, String> {
        body.insert(0, assign(self.count, int(0)));
        // Results are as long as was reserved, which may be more than was asked for.
        body.push(Stmt::Reserve { array: self.total, len: int(1) });
        body.push(store(self.total, int(0), Expr::Var(self.count)));
        let mut params = vec![Param::Scalar(self.parents)];
        params.extend(self.arrays.ids().map(Param::Array));
        let mut arguments = vec![Argument::Scalar(Scalar::I64(view.parents as i64))];
        let inputs = view.parts.iter().map(|(_, array)| Buffer::I64(array.0.clone()));
        let results = (0..=self.out.len()).map(|_| Buffer::I64(vec![]));
        arguments.extend(inputs.chain(results).map(Argument::Array));
        let name = "level".to_owned();
        let function = Function { name, params, vars: self.vars, arrays: self.arrays, body };
        let outcome = interpret::run(&function, arguments, Some(1 << 24));
        let outcome = outcome.map_err(|fault| format!("{fault}\n{function}"))?;
        let list = |array: Array| match &outcome.arrays[array.index()] {
            Buffer::I64(elements) => elements.clone(),
            _ => vec![],
        };
        let [parents, positions, coordinates] = self.out.map(list);
        let triples = parents.iter().zip(positions).zip(coordinates);
        let count = list(self.total)[0] as usize;
        Ok(triples.take(count).map(|((&parent, p), c)| (parent, p, c)).collect())
    }
}
