//! The promises of a level.

use std::fmt;

/// The promises of a level (table 3.2 of the thesis).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Properties {
    /// Every coordinate that the levels above leave open is present.
    pub full: bool,
    /// Coordinates ascend within a segment.
    pub ordered: bool,
    /// No coordinate occurs twice within a segment.
    pub unique: bool,
    /// Each position of the level above has exactly one child.
    pub branchless: bool,
    /// Every position has a coordinate.
    pub compact: bool,
    /// The coordinates of this level and of the branchless levels below it alternate in one array: an array of
    /// structs.
    pub interleaved: bool,
}

impl Properties {
    /// Ordered, unique and compact, neither full nor branchless.
    pub const LISTED: Properties = Properties {
        full: false,
        ordered: true,
        unique: true,
        branchless: false,
        compact: true,
        interleaved: false,
    };
}

/// A property that the text of a format may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// Coordinates may be unordered.
    Nonordered,
    /// Coordinates may occur more than once.
    Nonunique,
    /// Positions may have no coordinate.
    Padded,
    /// The coordinates of a chain alternate in one array.
    Interleaved,
}

impl Property {
    /// Every property, in the order in which they print.
    pub const ALL: [Property; 4] =
        [Property::Nonordered, Property::Nonunique, Property::Padded, Property::Interleaved];

    /// The word in format text.
    pub fn name(self) -> &'static str {
        match self {
            Property::Nonordered => "nonordered",
            Property::Nonunique => "nonunique",
            Property::Padded => "padded",
            Property::Interleaved => "aos",
        }
    }

    /// The property of this name.
    pub fn parse(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The field of the property, and the value that the property's word in format text gives it.
    fn place(self, of: &mut Properties) -> (&mut bool, bool) {
        match self {
            Property::Nonordered => (&mut of.ordered, false),
            Property::Nonunique => (&mut of.unique, false),
            Property::Padded => (&mut of.compact, false),
            Property::Interleaved => (&mut of.interleaved, true),
        }
    }

    /// The promises, changed by the property.
    pub fn applied(self, mut to: Properties) -> Properties {
        let (place, value) = self.place(&mut to);
        *place = value;
        to
    }

    /// Whether two sets of promises differ in the property.
    pub fn differs(self, mut a: Properties, mut b: Properties) -> bool {
        *self.place(&mut a).0 != *self.place(&mut b).0
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
