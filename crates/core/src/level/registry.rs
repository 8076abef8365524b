//! All level formats: those of this crate, and those that users register.

use super::{LevelFormat, Properties, Property};
use super::{
    bitmap, compressed, dense, hashed, hashed_workspace, listed, offset, range, singleton,
};
use std::fmt;
use std::sync::RwLock;

/// Every coordinate of the dimension, stored or not.
pub const DENSE: LevelKind = LevelKind::of(&dense::Dense, dense::PROPERTIES);

/// The coordinates that a diagonal above allows.
pub const RANGE: LevelKind = LevelKind::of(&range::Range, dense::PROPERTIES);

/// The stored coordinates, in segments of a coordinates array.
pub const COMPRESSED: LevelKind = LevelKind::of(&compressed::Compressed, Properties::LISTED);

/// One coordinate for each position above.
pub const SINGLETON: LevelKind = LevelKind::of(&singleton::Singleton, singleton::PROPERTIES);

/// One coordinate for each position above, computed from the coordinates above.
pub const OFFSET: LevelKind = LevelKind::of(&offset::Offset, offset::PROPERTIES);

/// A hash map of coordinates for each position above.
pub const HASHED: LevelKind = LevelKind::of(&hashed::Hashed, hashed::PROPERTIES);

/// A position for every coordinate, and a mask of the stored ones.
pub const BITMAP: LevelKind = LevelKind::of(&bitmap::Bitmap, bitmap::PROPERTIES);

/// A position for every coordinate, a mask and a list of the stored ones. Only workspaces have it, so format text does
/// not name it.
pub const LISTED: LevelKind = LevelKind::of(&listed::Listed, listed::PROPERTIES);

/// A hash table of the written coordinates, unordered. Only workspaces have it; in their text it has the name of
/// [`HASHED`].
pub const HASHED_WORKSPACE: LevelKind =
    LevelKind::of(&hashed_workspace::HashedWorkspace, hashed_workspace::PROPERTIES);

/// The level formats of this crate, in the order in which users see them.
static BUILT_IN: [LevelKind; 7] = [DENSE, RANGE, COMPRESSED, SINGLETON, OFFSET, HASHED, BITMAP];

/// The level formats that users registered.
static ADDED: RwLock<Vec<LevelKind>> = RwLock::new(vec![]);

/// Adds a level format to those that format text may name; false if the name is taken.
pub fn register(format: &'static dyn LevelFormat) -> bool {
    let mut added = ADDED.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let taken = BUILT_IN.iter().chain(added.iter()).any(|kind| kind.name() == format.name());
    if !taken {
        added.push(LevelKind::of(format, format.properties()));
    }
    !taken
}

/// Every level format, with its default promises.
pub fn registered() -> Vec<LevelKind> {
    let added = ADDED.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    BUILT_IN.iter().chain(added.iter()).copied().collect()
}

/// A level format of the registry with its promises. Compared by name and promises.
#[derive(Clone, Copy)]
pub struct LevelKind {
    format: &'static dyn LevelFormat,
    properties: Properties,
}

impl LevelKind {
    const fn of(format: &'static dyn LevelFormat, properties: Properties) -> LevelKind {
        LevelKind { format, properties }
    }

    /// The level format itself.
    pub fn format(self) -> &'static dyn LevelFormat {
        self.format
    }

    /// What the level promises.
    pub fn properties(self) -> Properties {
        self.properties
    }

    /// The level format of this name.
    pub fn parse(name: &str) -> Option<LevelKind> {
        registered().into_iter().find(|kind| kind.name() == name)
    }

    /// The level kind with a property changed, if the level format allows that.
    pub fn with(self, property: Property) -> Option<LevelKind> {
        let allowed = self.format.optional().contains(&property);
        let properties = property.applied(self.properties);
        allowed.then_some(LevelKind { properties, ..self })
    }

    /// The level kind without duplicate coordinates.
    pub fn unique(self) -> LevelKind {
        LevelKind { properties: Properties { unique: true, ..self.properties }, ..self }
    }

    /// The properties that differ from the level format's defaults.
    pub fn changed(self) -> impl Iterator<Item = Property> {
        let usual = self.format.properties();
        Property::ALL.into_iter().filter(move |p| p.differs(self.properties, usual))
    }
}

impl std::ops::Deref for LevelKind {
    type Target = dyn LevelFormat;
    fn deref(&self) -> &Self::Target {
        self.format
    }
}

impl PartialEq for LevelKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.properties == other.properties
    }
}

impl Eq for LevelKind {}

impl std::hash::Hash for LevelKind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
        self.properties.hash(state);
    }
}

/// `compressed(nonunique)`.
impl fmt::Display for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed: Vec<&str> = self.changed().map(Property::name).collect();
        match changed.is_empty() {
            true => f.write_str(self.name()),
            false => write!(f, "{}({})", self.name(), changed.join(", ")),
        }
    }
}

impl fmt::Debug for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
