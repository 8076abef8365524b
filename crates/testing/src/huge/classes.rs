//! Modes and index variables in classes, each of one dimension. A variable that indexes whole modes is in their class.
//!
//! ```text
//! R(i) = A(i,j) * x(j[2:6])     {i, R 0, A 0}  {j, A 1}  {x 0}; j counts 4 coordinates of x
//! ```

use crate::case::Case;
use std::collections::BTreeMap;
use tamis_core::notation::{Access, Expr, Program, Slice};
use tamis_ir::ids::IndexVar;

/// The classes of a program.
#[derive(Clone, Debug)]
pub struct Classes {
    /// How many coordinates each has.
    pub sizes: Vec<u64>,
    /// Which of them a variable has, by name.
    pub vars: BTreeMap<String, usize>,
    /// Which of them a mode of a tensor has, by name.
    pub modes: BTreeMap<(String, usize), usize>,
    /// The slices that variables count.
    pub uses: Vec<Use>,
    /// Which of them have a variable whose values are computed with.
    pub valued: Vec<bool>,
}

/// A slice of a mode that a variable counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// The class of the variable.
    pub counter: usize,
    /// The class of the mode.
    pub mode: usize,
    /// The coordinates, in the order in which they are counted.
    pub coordinates: Vec<u64>,
    /// Whether they are written as a set.
    pub is_set: bool,
}

impl Use {
    /// From one coordinate to the next; `None` if that differs.
    pub fn step(&self) -> Option<i64> {
        step(&self.coordinates)
    }
}

/// From one number to the next; `None` if that differs.
pub fn step(numbers: &[u64]) -> Option<i64> {
    let mut steps = numbers.windows(2).map(|w| w[1].wrapping_sub(w[0]) as i64);
    let Some(first) = steps.next() else { return Some(1) };
    steps.all(|step| step == first).then_some(first)
}

impl Classes {
    /// Those of a case; `None` if the uses of some variable disagree.
    pub fn of(case: &Case, program: &Program) -> Option<Classes> {
        let mut joined = Joined::default();
        for access in accesses(program) {
            for (mode, &var) in access.indices.iter().enumerate() {
                let of_mode = joined.node(Node::Mode(name(program, access), mode));
                let of_var = joined.node(Node::Var(program.vars[var].name.clone()));
                if access.slicing(mode).is_none() {
                    joined.join(of_mode, of_var);
                }
            }
        }
        program.vars.iter().for_each(|v| {
            joined.node(Node::Var(v.name.clone()));
        });
        let mut classes = joined.classes();
        classes.learn_sizes(case)?;
        classes.learn_uses(program)?;
        program.statements.iter().for_each(|s| {
            s.value.walk(&mut |e| {
                if let Expr::Index(v) = e {
                    let class = classes.of_var(program, *v);
                    classes.valued[class] = true;
                }
            });
        });
        Some(classes)
    }

    /// The class of a variable.
    pub fn of_var(&self, program: &Program, var: IndexVar) -> usize {
        self.vars[&program.vars[var].name]
    }

    /// The classes of the modes of a tensor.
    pub fn of_tensor(&self, name: &str, order: usize) -> Option<Vec<usize>> {
        (0..order).map(|mode| self.modes.get(&(name.to_owned(), mode)).copied()).collect()
    }

    /// What operands, results and variables have; `None` where they disagree.
    fn learn_sizes(&mut self, case: &Case) -> Option<()> {
        let mut sizes: Vec<Option<u64>> = vec![None; self.valued.len()];
        let mut learn = |class: usize, size: u64| {
            let known = *sizes[class].get_or_insert(size);
            (known == size).then_some(())
        };
        let operands = case.operands.iter().map(|o| (&o.name, &o.dims));
        for (tensor, dims) in operands.chain(&case.shapes) {
            for (mode, &size) in dims.iter().enumerate() {
                learn(*self.modes.get(&(tensor.clone(), mode))?, size)?;
            }
        }
        for (var, &size) in &case.dims {
            self.vars.get(var).map_or(Some(()), |&class| learn(class, size))?;
        }
        self.sizes = sizes.into_iter().collect::<Option<_>>()?;
        Some(())
    }

    fn learn_uses(&mut self, program: &Program) -> Option<()> {
        for access in accesses(program) {
            for (mode, &var) in access.indices.iter().enumerate() {
                let Some(slicing) = access.slicing(mode) else { continue };
                let (slice, class) = (slicing.slice(), self.modes[&(name(program, access), mode)]);
                let dimension = self.sizes[class];
                let count = slice.len(dimension).ok()?;
                let counter = self.of_var(program, var);
                if count != self.sizes[counter] {
                    return None;
                }
                let coordinates = (0..count).map(|k| slice.coordinate(k, dimension)).collect();
                let is_set = matches!(slice, Slice::Set(_));
                self.uses.push(Use { counter, mode: class, coordinates, is_set });
            }
        }
        Some(())
    }
}

/// Every use of a tensor, results first in each statement.
fn accesses(program: &Program) -> Vec<&Access> {
    let mut found = vec![];
    for statement in &program.statements {
        found.push(&statement.result);
        found.extend(statement.value.accesses());
    }
    found
}

/// The name of the tensor that is used.
fn name(program: &Program, access: &Access) -> String {
    program.tensors[access.tensor].name.clone()
}

/// What has a dimension.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Var(String),
    Mode(String, usize),
}

/// Disjoint sets.
#[derive(Default)]
struct Joined {
    nodes: BTreeMap<Node, usize>,
    parents: Vec<usize>,
}

impl Joined {
    fn node(&mut self, node: Node) -> usize {
        let fresh = self.parents.len();
        let at = *self.nodes.entry(node).or_insert(fresh);
        if at == fresh {
            self.parents.push(fresh);
        }
        at
    }

    fn root(&self, mut at: usize) -> usize {
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a] = b;
    }

    /// The sets, without sizes and slices.
    fn classes(&self) -> Classes {
        let mut roots: Vec<usize> = (0..self.parents.len()).map(|at| self.root(at)).collect();
        let of_nodes = roots.clone();
        roots.sort_unstable();
        roots.dedup();
        let (mut vars, mut modes) = (BTreeMap::new(), BTreeMap::new());
        for (node, &at) in &self.nodes {
            let class = roots.binary_search(&of_nodes[at]).expect("a root is among the roots");
            match node {
                Node::Var(var) => vars.insert(var.clone(), class),
                Node::Mode(tensor, mode) => modes.insert((tensor.clone(), *mode), class),
            };
        }
        let (sizes, uses, valued) = (vec![], vec![], vec![false; roots.len()]);
        Classes { sizes, vars, modes, uses, valued }
    }
}
