//! Level formats: how one level of a tensor's coordinate hierarchy is stored.
//!
//! A level format describes itself by capabilities (papers: the thesis on unified sparse tensor
//! formats, tables 3.1-3.3): each capability is a method that gives the code for one level
//! function, or `None` where the format lacks it. Lowering asks for capabilities and never names
//! a level format.

mod compressed;
mod dense;

use crate::ids::{Array, Var};
use crate::ir::{Expr, Stmt};
use std::fmt;

/// Every level format, in the order in which they are listed to users.
pub static REGISTRY: [LevelKind; 2] = [DENSE, COMPRESSED];

/// Every coordinate from 0 to the dimension, stored or not.
pub const DENSE: LevelKind = LevelKind(&dense::Dense);

/// The coordinates present, as segments of a coordinates array.
pub const COMPRESSED: LevelKind = LevelKind(&compressed::Compressed);

/// What a level promises (table 3.2 of the thesis).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Properties {
    /// Every coordinate of the dimension is present.
    pub full: bool,
    /// Coordinates ascend within a segment.
    pub ordered: bool,
    /// No coordinate occurs twice within a segment.
    pub unique: bool,
    /// Each position has exactly one child.
    pub branchless: bool,
    /// No position lies between segments without a coordinate.
    pub compact: bool,
}

/// The arrays that a level may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// Positions: where segments begin and end.
    Pos,
    /// Coordinates.
    Crd,
}

/// The names under which generated code finds one level of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct LevelArrays {
    /// The dimension.
    pub size: Var,
    /// The positions array, for formats that have it.
    pub pos: Option<Array>,
    /// The coordinates array, for formats that have it.
    pub crd: Option<Array>,
}

impl LevelArrays {
    fn size(&self) -> Expr {
        Expr::Var(self.size)
    }
    /// The positions array of a level that has one.
    pub fn pos(&self) -> Array {
        self.pos.expect("the level format declared a positions array")
    }
    /// The coordinates array of a level that has one.
    pub fn crd(&self) -> Array {
        self.crd.expect("the level format declared a coordinates array")
    }
}

/// How a position is reached and what is there.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    /// First position or coordinate.
    pub lo: Expr,
    /// End, exclusive.
    pub hi: Expr,
}

/// A storage format of one level. `p` is a position, `i` a coordinate, `k` this level.
pub trait LevelFormat: Sync + fmt::Debug {
    /// The name in format text.
    fn name(&self) -> &'static str;

    /// What the level promises.
    fn properties(&self) -> Properties;

    /// The arrays of the level.
    fn parts(&self) -> &'static [Part];

    /// One line for people.
    fn summary(&self) -> &'static str;

    /// `pos_bounds(p_{k-1}) -> <lo_k, hi_k>`: coordinate position iteration, the positions of the
    /// children of a position.
    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let _ = (level, parent);
        None
    }

    /// `pos_access(p_k) -> i_k`: the coordinate at a position.
    fn pos_access(&self, level: &LevelArrays, position: Expr) -> Option<Expr> {
        let _ = (level, position);
        None
    }

    /// `coord_bounds() -> <lo_k, hi_k>`: coordinate value iteration.
    fn coord_bounds(&self, level: &LevelArrays) -> Option<Bounds> {
        let _ = level;
        None
    }

    /// `locate(p_{k-1}, i_k) -> p_k`: the position of a coordinate, which is always present.
    fn locate(&self, level: &LevelArrays, parent: Expr, coordinate: Expr) -> Option<Expr> {
        let _ = (level, parent, coordinate);
        None
    }

    /// `size(sz_{k-1}) -> sz_k`: how many positions the level has under so many parents; `None`
    /// where only the data tell.
    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        let _ = (level, parents);
        None
    }

    /// The level functions for results written in order.
    fn append(&self) -> Option<&dyn Append> {
        None
    }
}

/// Level functions that assemble a level in order (section 3.2 of the thesis).
pub trait Append {
    /// `append_init(sz_{k-1})`: before anything is appended. `parents` is the number of parent
    /// positions where it is known.
    fn append_init(&self, level: &LevelArrays, parents: Option<Expr>) -> Vec<Stmt>;

    /// `append_coord(p_k, i_k)`: stores a coordinate at the next position.
    fn append_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt>;

    /// `append_edges(p_{k-1}, pend_k)`: all children of a parent are stored, up to `end`.
    fn append_edges(&self, level: &LevelArrays, parent: Expr, end: Expr) -> Vec<Stmt>;

    /// New parent positions `lo..hi` follow all others, so room for their edges is needed, which
    /// are empty at first; only called where the number of parents is not known beforehand.
    fn append_parents(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt>;

    /// `append_finalize(sz_{k-1})`: gives parents that were passed over empty segments; `scratch`
    /// is a free loop variable.
    fn append_finalize(&self, level: &LevelArrays, parents: Expr, scratch: Var) -> Vec<Stmt>;
}

/// A level format of the registry, compared by name.
#[derive(Clone, Copy)]
pub struct LevelKind(&'static dyn LevelFormat);

impl LevelKind {
    /// The level format itself.
    pub fn format(self) -> &'static dyn LevelFormat {
        self.0
    }

    /// The level format of this name.
    pub fn parse(name: &str) -> Option<LevelKind> {
        REGISTRY.into_iter().find(|kind| kind.name() == name)
    }
}

impl std::ops::Deref for LevelKind {
    type Target = dyn LevelFormat;
    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl PartialEq for LevelKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for LevelKind {}

impl std::hash::Hash for LevelKind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
