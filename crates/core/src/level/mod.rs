//! Level formats: how one level of a tensor's coordinate hierarchy is stored.
//!
//! A level format describes itself by capabilities (papers: the thesis on unified sparse tensor
//! formats, tables 3.1-3.3): each capability is a method that gives the code for one level
//! function, or `None` where the format lacks it. Lowering asks for capabilities and never names
//! a level format. Beside its code each format says in plain Rust what its arrays mean
//! ([`LevelFormat::children`]), against which the code is tested.

mod arrays;
mod bitmap;
mod compressed;
mod dense;
mod hashed;
mod hashed_workspace;
mod listed;
mod offset;
mod properties;
mod range;
mod registry;
mod singleton;

pub use arrays::{Crd, HashTable, Header, LevelArrays, LevelView, Names, Numbers, Part};
pub use properties::{Properties, Property};
pub use registry::{
    BITMAP, COMPRESSED, DENSE, HASHED, HASHED_WORKSPACE, LISTED, LevelKind, OFFSET, RANGE,
    SINGLETON, register, registered,
};

use std::fmt;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, int, mul};
use tamis_ir::ir::{Expr, Stmt};

/// The parts of the imperative form from which level functions make code.
pub mod code {
    pub use tamis_ir::algebra::BinaryOp;
    pub use tamis_ir::ids::{Array, Var};
    pub use tamis_ir::ir::build::{
        add, all, assign, binary, div, eq, for_loop, int, load, lt, mul, store, sub, when,
    };
    pub use tamis_ir::ir::{Expr, Stmt};
}

/// A statistic of coordinates, needed before they are inserted (an attribute query).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Query {
    /// The largest number of children of a parent.
    Children,
    /// The largest number of coordinates from the first child of a parent to its last, both included.
    Span,
}

/// A range of positions or coordinates.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    /// First position or coordinate.
    pub lo: Expr,
    /// End, exclusive.
    pub hi: Expr,
}

/// The coordinate at a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Labelled {
    /// The coordinate.
    pub coordinate: Expr,
    /// Whether the position holds a coordinate; `None` if every position does.
    pub found: Option<Expr>,
}

/// Consecutive positions.
#[derive(Clone, PartialEq, Debug)]
pub struct Stretch {
    /// How many, at least 2.
    pub positions: i64,
    /// Whether none of them holds a coordinate.
    pub empty: Expr,
}

/// The position of a coordinate.
#[derive(Clone, PartialEq, Debug)]
pub struct Located {
    /// Statements that run before the position is known.
    pub stmts: Vec<Stmt>,
    /// The position.
    pub position: Expr,
    /// Whether the coordinate is stored; `None` if every coordinate is.
    pub found: Option<Expr>,
}

/// The position of a coordinate in a workspace, and the code that inserts a missing one.
pub struct Entry {
    /// The position, if the coordinate is stored already.
    pub at: Located,
    /// Statements that insert the coordinate at the position, if it is not stored.
    pub missing: Vec<Stmt>,
}

impl Located {
    /// A coordinate that always has a position.
    pub fn at(position: Expr) -> Located {
        Located { stmts: vec![], position, found: None }
    }
}

/// A storage format of one level. `p` is a position, `i` a coordinate, `k` this level.
pub trait LevelFormat: Sync + fmt::Debug {
    /// The name in format text.
    fn name(&self) -> &'static str;

    /// The level's promises, unless its text overrides them.
    fn properties(&self) -> Properties;

    /// The promises that format text may change.
    fn optional(&self) -> &'static [Property] {
        &[]
    }

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

    /// `pos_access(p_{k-1}, p_k) -> <i_k, found>`: the coordinate at a position, which is a child of the parent.
    /// Levels that walk the children of several parents together are not asked for more.
    fn pos_access(&self, level: &LevelArrays, parent: Expr, position: Expr) -> Option<Labelled> {
        let _ = (level, parent, position);
        None
    }

    /// `pos_passed(p_k) -> <n, empty>`: whether the `n` positions from `p_k` on hold no coordinate, for levels that
    /// test them faster together than one by one. All `n` are positions of the level.
    fn pos_passed(&self, level: &LevelArrays, position: Expr) -> Option<Stretch> {
        let _ = (level, position);
        None
    }

    /// Whether the level has [`pos_bounds`](LevelFormat::pos_bounds).
    fn walks(&self) -> bool {
        false
    }

    /// Whether a walk yields coordinates alone, whose positions are then located.
    fn walks_coordinates(&self) -> bool {
        false
    }

    /// Whether the level has [`locate`](LevelFormat::locate).
    fn locates(&self) -> bool {
        false
    }

    /// `locate(p_{k-1}, i_k) -> <p_k, found>`: the position of a coordinate.
    ///
    /// A full level finds every coordinate that the levels above leave open.
    fn locate(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Option<Located> {
        let _ = (level, parent, coordinate, names);
        None
    }

    /// `size(sz_{k-1}) -> sz_k`: the number of positions below `parents` parents; `None` where it depends on the data.
    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        let _ = (level, parents);
        None
    }

    /// The level functions for assembly in order, if the format has them.
    fn append(&self) -> Option<&dyn Append> {
        None
    }

    /// The level functions for assembly in any order, at positions that exist beforehand.
    fn insert(&self) -> Option<&dyn Insert> {
        None
    }

    /// The level functions for levels of sparse workspaces.
    fn scratch(&self) -> Option<&dyn Scratch> {
        None
    }

    /// The number of positions below `parents` parents, from the arrays.
    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64;

    /// Calls `visit` with the position and the coordinate of each child of a parent, in storage order: the meaning of
    /// the arrays. `open` is the range of coordinates that the levels above allow; formats that store coordinates need
    /// not heed it.
    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        open: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    );

    /// Checks the promises that a walk does not check, above all lengths of arrays; a walk checks order and
    /// uniqueness. The error says what is wrong.
    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String>;

    /// The number of elements in use in an array, below `parents` parents.
    fn length(&self, level: &LevelView<'_>, part: Part, parents: u64) -> u64;

    /// [`length`](LevelFormat::length) as code, from the number of positions: one element for each, except in `pos`
    /// and widths.
    fn length_code(&self, part: Part, parents: Expr, positions: Expr) -> Expr {
        match part {
            Part::Pos => add(parents, int(1)),
            Part::Width => int(1),
            Part::Crd | Part::Mask => positions,
        }
    }
}

/// Level functions that assemble a level in order (section 3.4 of the thesis).
pub trait Append {
    /// `append_init()`: before anything is appended.
    fn append_init(&self, level: &LevelArrays) -> Vec<Stmt>;

    /// Parent positions `lo..hi` follow all others: reserves their elements of the positions array, with empty
    /// segments.
    fn append_parents(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt>;

    /// `append_coord(p_k, i_k)`: stores a coordinate at the next position.
    fn append_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt>;

    /// `append_edges(p_{k-1}, pend_k)`: all children of a parent are stored, up to `end`.
    fn append_edges(&self, level: &LevelArrays, parent: Expr, end: Expr) -> Vec<Stmt>;

    /// `append_finalize(lo_{k-1}, hi_{k-1})`: gives parents `lo..hi` that were skipped empty
    /// segments; `scratch` is a free loop variable.
    fn append_finalize(&self, level: &LevelArrays, lo: Expr, hi: Expr, scratch: Var) -> Vec<Stmt>;

    /// The level functions for assembly by counting, where the children of each parent are written in order, if the
    /// format has them.
    fn count(&self) -> Option<&dyn Count> {
        None
    }
}

/// Level functions that assemble a level in two passes over the entries: the first counts the children of each parent,
/// the second writes them, in order for each parent.
pub trait Count {
    /// `count_init(sz_{k-1})`: all counts are 0.
    fn count_init(&self, level: &LevelArrays, parents: Expr) -> Vec<Stmt>;

    /// `count_coord(p_{k-1})`: counts a child of the parent.
    fn count_coord(&self, level: &LevelArrays, parent: Expr) -> Vec<Stmt>;

    /// `count_sums(sz_{k-1}) -> sz_k`: sums the counts up to positions; `total` becomes the number of children.
    /// `check` runs whenever it has grown; `scratch` is a free loop variable.
    fn count_sums(
        &self,
        level: &LevelArrays,
        parents: Expr,
        scratch: Var,
        total: Var,
        check: Vec<Stmt>,
    ) -> Vec<Stmt>;

    /// `count_next(p_{k-1}) -> p_k`: the position for the parent's next child.
    fn count_next(&self, level: &LevelArrays, parent: Expr, position: Var) -> Vec<Stmt>;
}

/// Level functions that assemble a level in any order (section 3.4 of the thesis).
pub trait Insert {
    /// `insert_init(lo_k, hi_k)`: positions `lo..hi` exist and hold no coordinate.
    fn insert_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt>;

    /// The position for a coordinate, which may be stored already.
    fn insert_position(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Located;

    /// `insert_coord(p_k, i_k)`: the position holds the coordinate.
    fn insert_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt>;

    /// The statistic of the coordinates that [`insert_width`](Insert::insert_width) needs.
    fn insert_query(&self) -> Query {
        Query::Children
    }

    /// Sets `width` to the level's width, at least 1, if it has one; `most` is the answer to
    /// [`insert_query`](Insert::insert_query), 0 where nothing will be inserted. Coordinates are then inserted in
    /// ascending order below each parent.
    fn insert_width(&self, most: Expr, width: Var) -> Option<Vec<Stmt>> {
        let _ = (most, width);
        None
    }

    /// The level functions of levels where each parent has a width of its own, computed from the number of its
    /// children.
    fn edges(&self) -> Option<&dyn InsertEdges> {
        None
    }
}

/// Level functions that assign positions to each parent, before coordinates are inserted there.
pub trait InsertEdges {
    /// `edges_init(lo_{k-1}, hi_{k-1})`: parents `lo..hi` follow all others, each with the width for no children.
    fn edges_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt>;

    /// `insert_edges(p_{k-1}, w)`: the parent has `w` positions.
    fn insert_edges(&self, level: &LevelArrays, parent: Expr, width: Expr) -> Vec<Stmt>;

    /// `edges_finalize(sz_{k-1}) -> sz_k`: sums the widths up to positions; `total` becomes the number of positions.
    /// `check` runs whenever it has grown; `scratch` is a free loop variable.
    fn edges_finalize(
        &self,
        level: &LevelArrays,
        parents: Expr,
        scratch: Var,
        total: Var,
        check: Vec<Stmt>,
    ) -> Vec<Stmt>;
}

/// Level functions of workspaces, which are written in any order, read, and emptied, many
/// times (sparse tensor algebra with workspaces, sections 4.3, 4.4 and 6).
pub trait Scratch {
    /// Whether positions, and the values at them, are allocated as coordinates are inserted: by a [`HashTable`].
    fn grows(&self) -> bool {
        false
    }

    /// `scratch_size(sz_{k-1}) -> sz_k`: the number of positions below `parents` parents.
    fn scratch_size(&self, level: &LevelArrays, parents: Expr) -> Expr {
        mul(parents, level.size.clone())
    }

    /// `scratch_init(sz_{k-1})`: allocates an empty level, once, before everything else.
    fn scratch_init(&self, level: &LevelArrays, parents: Expr) -> Vec<Stmt>;

    /// `scratch_entry(p_{k-1}, i_k) -> <p_k, found>`: the position of a coordinate, and the statements that insert it
    /// if it was not found.
    fn scratch_entry(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Entry;

    /// `scratch_list(sz_{k-1})`: prepares the coordinates for a walk, after the last insertion.
    fn scratch_list(&self, level: &LevelArrays, parents: Expr, names: &mut dyn Names) -> Vec<Stmt> {
        let _ = (level, parents, names);
        vec![]
    }

    /// `scratch_sort(sz_{k-1})`: sorts the listed coordinates, for a walk in order.
    fn scratch_sort(&self, level: &LevelArrays, parents: Expr, names: &mut dyn Names) -> Vec<Stmt>;

    /// `scratch_clear(sz_{k-1})`: removes all coordinates.
    fn scratch_clear(&self, level: &LevelArrays, parents: Expr, names: &mut dyn Names)
    -> Vec<Stmt>;
}
