//! The arrays of a level: as generated code names them, and as they are in memory.

use super::Properties;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, int, load, mul, store, sub};
use tamis_ir::ir::{Expr, Stmt};

/// The arrays that a level may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// Positions: where segments begin and end.
    Pos,
    /// Coordinates.
    Crd,
    /// One number: the positions per parent, where these are not the dimension.
    Width,
    /// A flag for each position: whether it holds a coordinate.
    Mask,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 4] = [Part::Pos, Part::Crd, Part::Width, Part::Mask];

    /// The suffix in generated names.
    pub fn name(self) -> &'static str {
        match self {
            Part::Pos => "pos",
            Part::Crd => "crd",
            Part::Width => "width",
            Part::Mask => "mask",
        }
    }
}

/// A coordinates array, in which every `stride`-th element from `offset` on belongs to this level.
#[derive(Clone, Copy, Debug)]
pub struct Crd<A> {
    /// The array.
    pub array: A,
    /// The distance between consecutive coordinates of the level.
    pub stride: i64,
    /// The index of the level's first coordinate.
    pub offset: i64,
}

impl<A> Crd<A> {
    /// The same stride and offset in another array.
    pub fn of<B>(&self, array: B) -> Crd<B> {
        Crd { array, stride: self.stride, offset: self.offset }
    }
}

/// The arrays of a workspace's hash table of coordinates.
#[derive(Clone, Copy, Debug)]
pub struct HashTable {
    /// The number of positions, and the number of slots.
    pub counts: Array,
    /// The coordinate of each position.
    pub keys: Array,
    /// The parent position of each, where there are several parents.
    pub above: Option<Array>,
    /// In each slot a position plus one, or 0 if the slot is free.
    pub slots: Array,
}

impl HashTable {
    /// The number of coordinates.
    pub fn positions(&self) -> Expr {
        load(self.counts, int(0))
    }

    /// The number of slots.
    pub fn width(&self) -> Expr {
        load(self.counts, int(1))
    }
}

/// New names, which code of level functions needs from its surrounding function.
pub trait Names {
    /// A new index variable.
    fn index(&mut self, name: &str) -> Var;
}

/// The arrays of one level of one tensor, as generated code names them.
#[derive(Clone, Debug)]
pub struct LevelArrays {
    /// The level's promises.
    pub properties: Properties,
    /// The lowest coordinate.
    pub least: Expr,
    /// The number of coordinates from the lowest one on that may be looked up below a position.
    pub size: Expr,
    /// The positions array, for formats that have it.
    pub pos: Option<Array>,
    /// The coordinates array, for formats that have it.
    pub crd: Option<Crd<Array>>,
    /// The width, for formats that have it.
    pub width: Option<Array>,
    /// The mask, for formats that have it.
    pub mask: Option<Array>,
    /// The hash table, for workspaces whose level grows.
    pub table: Option<HashTable>,
}

impl LevelArrays {
    /// The hash table of a level that has one.
    pub(super) fn table(&self) -> HashTable {
        self.table.expect("a level that grows has a table")
    }

    /// The positions array of a level that has one.
    pub fn pos(&self) -> Array {
        self.pos.expect("the level format declared a positions array")
    }

    /// The mask of a level that has one.
    pub fn mask(&self) -> Array {
        self.mask.expect("the level format declared a mask")
    }

    /// The width of a level that has one.
    pub fn width(&self) -> Expr {
        load(self.width.expect("the level format declared a width"), int(0))
    }

    fn crd(&self) -> Crd<Array> {
        self.crd.expect("the level format declared a coordinates array")
    }

    /// The coordinate stored at a position.
    pub fn coordinate(&self, position: Expr) -> Expr {
        let crd = self.crd();
        load(crd.array, place(crd, position))
    }

    /// Stores a coordinate at a position.
    pub fn set_coordinate(&self, position: Expr, coordinate: Expr) -> Stmt {
        let crd = self.crd();
        store(crd.array, place(crd, position), coordinate)
    }

    /// Reserves elements for the coordinates of `positions` positions.
    pub fn reserve_coordinates(&self, positions: Expr) -> Stmt {
        let crd = self.crd();
        Stmt::Reserve { array: crd.array, len: mul(positions, int(crd.stride)) }
    }

    /// The coordinate at a distance from the lowest one.
    pub fn with_least(&self, distance: Expr) -> Expr {
        add(distance, self.least.clone())
    }

    /// The distance of a coordinate from the lowest one.
    pub fn from_least(&self, coordinate: Expr) -> Expr {
        sub(coordinate, self.least.clone())
    }
}

fn place(crd: Crd<Array>, position: Expr) -> Expr {
    add(mul(position, int(crd.stride)), int(crd.offset))
}

/// An integer array in memory.
pub trait Numbers {
    /// How many elements there are.
    fn len(&self) -> usize;
    /// One element.
    fn at(&self, place: usize) -> i64;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Properties of a level that are known without its arrays.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The level's promises.
    pub properties: Properties,
    /// The lowest coordinate.
    pub least: i64,
    /// The number of coordinates from the lowest one on that may be looked up below a position.
    pub size: u64,
}

/// One level of one tensor in memory.
#[derive(Clone, Copy)]
pub struct LevelView<'t> {
    /// Promises and sizes.
    pub header: Header,
    /// The positions array.
    pub pos: Option<&'t dyn Numbers>,
    /// The coordinates array.
    pub crd: Option<Crd<&'t dyn Numbers>>,
    /// The width.
    pub width: Option<&'t dyn Numbers>,
    /// The mask.
    pub mask: Option<&'t dyn Numbers>,
}

impl LevelView<'_> {
    /// An element of the positions array.
    pub fn pos(&self, place: u64) -> u64 {
        self.pos.expect("the level has a positions array").at(place as usize) as u64
    }

    /// The coordinate at a position.
    pub fn coordinate(&self, position: u64) -> i64 {
        let crd = self.crd.expect("the level has a coordinates array");
        crd.array.at(position as usize * crd.stride as usize + crd.offset as usize)
    }

    /// The number of coordinates that the coordinates array holds for this level.
    pub fn coordinates(&self) -> u64 {
        let crd = self.crd.expect("the level has a coordinates array");
        (crd.array.len() / crd.stride as usize) as u64
    }

    /// The width.
    pub fn width(&self) -> u64 {
        self.width.expect("the level has a width").at(0) as u64
    }

    /// The distance of a coordinate from the lowest one, if it is a coordinate of the level.
    pub fn from_least(&self, coordinate: i64) -> u64 {
        (coordinate - self.header.least) as u64
    }
}
