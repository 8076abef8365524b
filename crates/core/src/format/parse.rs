//! Text to [`FormatSpec`].
//!
//! ```text
//! spec   = format [ "{" [ part { "," part } ] "}" ]
//! format = name [ "(" argument { "," argument } ")" ]
//!        | "(" [ mode { "," mode } ] ")" "->" "(" [ map ":" level { "," map ":" level } ] ")"
//!        | letter { letter } [ ":" number { "," number } ]       taco's: d s u q c
//! map    = mode | mode "/" number | mode "%" number | mode "-" mode | "#" mode
//! level  = name [ "(" property { "," property } ")" ]
//! part   = what [`super::braces`] says
//! ```

use super::named::{FormatArgument, NAMED, NamedFormat};
use super::{Format, FormatSpec, LevelMap, LevelSpec, MAX_ORDER};
use crate::level::{
    COMPRESSED, DENSE, HASHED_WORKSPACE, LISTED, LevelKind, Property, SINGLETON, registered,
};
use std::ops::Range;
use tamis_ir::diagnostic::{Code, Diagnostic, Setting, nearest};
use tamis_ir::ids::{Id, Mode};

/// Reads a format for tensors of this order, or of the order that the text determines.
///
/// ```
/// let spec = tamis_core::format::parse("ds:1,0{f32}", None).unwrap();
/// assert_eq!(spec.to_string(), "csc{f32}");
/// ```
pub fn parse(text: &str, order: Option<usize>) -> Result<FormatSpec, Diagnostic> {
    parse_of(text, order, registered())
}

/// Reads a format that may also name level formats that only workspaces have.
pub(crate) fn parse_of_workspace(
    text: &str,
    order: Option<usize>,
) -> Result<FormatSpec, Diagnostic> {
    let own = [LISTED, HASHED_WORKSPACE].into_iter();
    parse_of(text, order, own.chain(registered()).collect())
}

/// Reads a format with level formats of these kinds.
fn parse_of(
    text: &str,
    order: Option<usize>,
    kinds: Vec<LevelKind>,
) -> Result<FormatSpec, Diagnostic> {
    let mut reader = FormatParser { text, at: 0, kinds };
    reader.blank();
    let start = reader.at;
    if let Some(order) = order.filter(|&order| order > MAX_ORDER) {
        let (of, most) = (modes(order), modes(MAX_ORDER));
        let message = format!("the tensor has {of}, and tensors have at most {most}");
        return Err(Diagnostic::new(Code::TooLarge, message).help("fuse some of its modes"));
    }
    let format = match reader.peek() {
        Some('(') => reader.arrow()?,
        _ => reader.word_form(order)?,
    };
    let span = start..text[..reader.at].trim_end().len();
    if let Some(order) = order
        && order != format.order()
    {
        return Err(reader.wrong_order(span, &modes(format.order()), order));
    }
    let mut spec = FormatSpec { format, datatype: None, fill: None, pos: None, crd: None };
    if reader.eat("{") {
        reader.braces(&mut spec)?;
    }
    match reader.peek() {
        None => Ok(spec),
        Some(_) => Err(reader.unexpected("the end of the format", EXAMPLE)),
    }
}

const EXAMPLE: &str = "formats are written csr, or (i, j) -> (i: dense, j: compressed)";

/// A position in the text. Blanks are skipped after every token.
pub(super) struct FormatParser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The level formats that the text may name.
    kinds: Vec<LevelKind>,
}

impl<'t> FormatParser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
            self.blank();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: &str, help: &str) -> Result<(), Diagnostic> {
        match self.eat(sign) {
            true => Ok(()),
            false if sign == "," => Err(self.unexpected("a comma", help)),
            false => Err(self.unexpected(sign, help)),
        }
    }

    /// The characters up to the first that does not belong to the token, and their location.
    pub(super) fn take(&mut self, belongs: impl Fn(char) -> bool) -> (&'t str, Range<usize>) {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let span = self.at..self.at + length;
        self.at += length;
        self.blank();
        (&rest[..length], span)
    }

    pub(super) fn name(
        &mut self,
        wanted: &str,
        help: &str,
    ) -> Result<(&'t str, Range<usize>), Diagnostic> {
        match self.peek() {
            Some(c) if c == '_' || c.is_alphabetic() => {
                Ok(self.take(|c| c == '_' || c.is_alphanumeric()))
            }
            _ => Err(self.unexpected(wanted, help)),
        }
    }

    pub(super) fn refuse(
        &self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(code, message).at(self.text, span)
    }

    fn unexpected(&self, wanted: &str, help: &str) -> Diagnostic {
        let (found, length) = match self.peek() {
            None => ("the end of the text".to_owned(), 0),
            Some(c) if c.is_control() => ("a control character".to_owned(), c.len_utf8()),
            Some(c) => (c.to_string(), c.len_utf8()),
        };
        let span = self.at..self.at + length;
        self.refuse(Code::Syntax, span, format!("expected {wanted}, found {found}")).help(help)
    }

    /// A name or taco's letters.
    fn word_form(&mut self, order: Option<usize>) -> Result<Format, Diagnostic> {
        let (word, span) = self.take(|c| c == '-' || c == '_' || c.is_alphanumeric());
        if word.is_empty() {
            return Err(self.unexpected("a format", EXAMPLE));
        }
        if let Some(named) = NamedFormat::find(word) {
            let arguments = self.arguments()?;
            let span = span.start..self.text[..self.at].trim_end().len();
            return self.named(named, &arguments, span, order);
        }
        if word.chars().all(|c| "dsuqcp".contains(c)) {
            return self.letters(word, span);
        }
        let names: Vec<&str> = NAMED.iter().map(|named| named.name).collect();
        let meant = nearest(word, names.iter().copied());
        let help = match (NamedFormat::find(&word.to_lowercase()), meant) {
            (Some(named), _) => format!("write {}", named.name),
            (None, Some(meant)) => format!("did you mean {meant}? {}", Setting::Formats),
            (None, None) => format!(
                "the named formats are {}; or write the levels: (i, j) -> (i: dense, j: compressed)",
                names.join(", ")
            ),
        };
        let message = format!("there is no format named {word}");
        Err(self.refuse(Code::UnknownFormat, span, message).help(help).naming(Setting::Formats))
    }

    /// The arguments in parentheses behind a name.
    fn arguments(&mut self) -> Result<Vec<FormatArgument>, Diagnostic> {
        let help = "behind a name stand the sizes of blocks, as in bcsr(4,4), or properties, as \
                    in coo(nonordered, nonunique); another order of modes is written with a letter for each level, as in sss:2,0,1";
        let (mut arguments, mut given) = (vec![], vec![]);
        if !self.eat("(") {
            return Ok(arguments);
        }
        loop {
            if self.peek().is_some_and(|c| c.is_ascii_digit()) {
                arguments.push(FormatArgument::Size(self.size(help)?));
            } else {
                arguments.push(FormatArgument::Property(self.property(&mut given, help)?));
            }
            if self.eat(")") {
                return Ok(arguments);
            }
            self.expect(",", help)?;
        }
    }

    /// The size of a block.
    fn size(&mut self, help: &str) -> Result<u64, Diagnostic> {
        let (digits, span) = self.take(|c| c.is_ascii_digit());
        match digits.parse::<u32>() {
            Ok(size) if size > 0 => Ok(u64::from(size)),
            _ if digits.is_empty() => Err(self.unexpected("the size of a block", help)),
            _ => {
                let message = "the size of a block is a number from 1 to 2^32 - 1";
                Err(self.refuse(Code::Syntax, span, message).help(help))
            }
        }
    }

    /// A property that is not among those `given` before it.
    fn property(&mut self, given: &mut Vec<Property>, help: &str) -> Result<Property, Diagnostic> {
        let (name, span) = self.name("a property", help)?;
        let Some(property) = Property::parse(name) else {
            let names: Vec<&str> = Property::ALL.iter().map(|p| p.name()).collect();
            let message = format!("there is no property named {name}");
            let help = format!("the properties are {}", names.join(", "));
            return Err(self.refuse(Code::UnknownFormat, span, message).help(help));
        };
        if given.contains(&property) {
            let message = format!("{name} is written twice");
            return Err(self.refuse(Code::UnknownFormat, span, message).help("write it once"));
        }
        given.push(property);
        Ok(property)
    }

    fn named(
        &self,
        named: &NamedFormat,
        arguments: &[FormatArgument],
        span: Range<usize>,
        order: Option<usize>,
    ) -> Result<Format, Diagnostic> {
        let Some(order) = order.or(named.order()) else {
            let message = format!("{} suits any order, and nothing says which", named.name);
            let help = "write the levels: (i, j) -> (i: dense, j: compressed)";
            return Err(self.refuse(Code::FormatOrder, span, message).help(help));
        };
        if let Some(format) = named.with(order, arguments) {
            return Ok(format);
        }
        if !named.suits(order) {
            let stored = match named.order() {
                Some(stored) => modes(stored),
                None => format!("{} or more", modes(named.least())),
            };
            return Err(self.wrong_order(span, &stored, order));
        }
        let (message, help) = match named.usage {
            "" => (
                format!("{} takes nothing in parentheses", named.name),
                format!("write {}", named.name),
            ),
            usage => (
                format!("{} takes other things in parentheses", named.name),
                format!("write {}({usage})", named.name),
            ),
        };
        Err(self.refuse(Code::UnknownFormat, span, message).help(help))
    }

    fn wrong_order(&self, span: Range<usize>, stored: &str, order: usize) -> Diagnostic {
        let format = &self.text[span.clone()];
        let message = format!("{format} stores {stored}, but the tensor has {}", modes(order));
        let fits = NAMED.iter().filter(|named| named.suits(order));
        let fits: Vec<&str> = fits.map(|named| named.name).collect();
        let help = format!("formats for {} are {}", modes(order), fits.join(", "));
        self.refuse(Code::FormatOrder, span, message).help(help)
    }

    fn letters(&mut self, word: &str, span: Range<usize>) -> Result<Format, Diagnostic> {
        if word.len() > MAX_ORDER {
            return Err(self.too_many(span, "modes", MAX_ORDER));
        }
        let mut kinds = vec![];
        for (k, letter) in word.chars().enumerate() {
            kinds.push(match letter {
                'd' => DENSE,
                's' => COMPRESSED,
                'u' => nonunique(COMPRESSED),
                'q' => SINGLETON,
                'c' => nonunique(SINGLETON),
                _ => {
                    let at = span.start + k..span.start + k + 1;
                    let message = format!("there is no level format with the letter {letter}");
                    let help = "the letters are d (dense), s (compressed), u (compressed, \
                                nonunique), q (singleton) and c (singleton, nonunique)";
                    return Err(self.refuse(Code::UnknownFormat, at, message).help(help));
                }
            });
        }
        let order = kinds.len();
        if !self.eat(":") {
            let levels = (0..order).map(|m| LevelSpec::of(Mode::new(m), kinds[m])).collect();
            return self.format(levels, order, span, &[]);
        }
        let start = self.at;
        let mut modes: Vec<usize> = vec![];
        loop {
            let (digits, at) = self.take(|c| c.is_ascii_digit());
            let help = "after the letters, each level has the number of its mode: ds:1,0";
            let Ok(mode) = digits.parse() else {
                return Err(match digits.is_empty() {
                    true => self.unexpected("the number of a mode", help),
                    false => self.refuse(Code::Syntax, at, "the number is too large").help(help),
                });
            };
            if mode >= kinds.len() || modes.contains(&mode) || modes.len() == kinds.len() {
                let message = format!("the modes of {word} are the numbers from 0, each once");
                return Err(self.refuse(Code::FormatOrder, at, message).help(help));
            }
            modes.push(mode);
            if !self.eat(",") {
                break;
            }
        }
        if modes.len() < order {
            let message = format!("{word} has {order} levels, each of which stores a mode");
            let help = "write one number per letter, as in ds:1,0";
            return Err(self.refuse(Code::FormatOrder, start..self.at, message).help(help));
        }
        let levels = modes.iter().zip(&kinds);
        let levels = levels.map(|(&m, &kind)| LevelSpec::of(Mode::new(m), kind)).collect();
        self.format(levels, order, span, &[])
    }

    /// The format of these levels, whose locations in the text are given.
    fn format(
        &self,
        levels: Vec<LevelSpec>,
        order: usize,
        whole: Range<usize>,
        places: &[Range<usize>],
    ) -> Result<Format, Diagnostic> {
        Format::new(levels, order).map_err(|misfit| {
            let (message, help) = misfit.message(super::print::mode_name);
            let place = misfit.level().and_then(|k| places.get(k)).cloned().unwrap_or(whole);
            self.refuse(Code::FormatOrder, place, message).help(help)
        })
    }

    fn too_many(&self, span: Range<usize>, what: &str, most: usize) -> Diagnostic {
        let message = format!("a format has at most {most} {what}");
        self.refuse(Code::TooLarge, span, message).help("fuse some modes of the tensor")
    }

    /// `(i, j) -> (i: dense, j: compressed)`.
    fn arrow(&mut self) -> Result<Format, Diagnostic> {
        let modes = self.modes()?;
        self.expect("->", EXAMPLE)?;
        let start = self.at;
        let mut levels: Vec<LevelSpec> = vec![];
        let mut places = vec![];
        self.expect("(", EXAMPLE)?;
        while !self.eat(")") {
            if levels.len() == 2 * MAX_ORDER {
                return Err(self.too_many(self.at..self.at, "levels", 2 * MAX_ORDER));
            }
            if !levels.is_empty() {
                self.expect(",", "levels are separated by , and end with )")?;
            }
            let (map, place) = self.map(&modes)?;
            levels.push(LevelSpec { map, kind: self.level_kind()? });
            places.push(place);
        }
        let span = start..self.text[..self.at].trim_end().len();
        Format::new(levels, modes.len()).map_err(|misfit| {
            let name = |m: Mode| modes.get(m.index()).copied().unwrap_or_default().to_owned();
            let (message, help) = misfit.message(name);
            let place = misfit.level().and_then(|k| places.get(k)).cloned().unwrap_or(span);
            self.refuse(Code::FormatOrder, place, message).help(help)
        })
    }

    fn modes(&mut self) -> Result<Vec<&'t str>, Diagnostic> {
        let mut modes: Vec<&str> = vec![];
        self.expect("(", EXAMPLE)?;
        while !self.eat(")") {
            if modes.len() == MAX_ORDER {
                return Err(self.too_many(self.at..self.at, "modes", MAX_ORDER));
            }
            if !modes.is_empty() {
                self.expect(",", "modes are separated by , and end with )")?;
            }
            let (mode, span) = self.name("the name of a mode", EXAMPLE)?;
            if modes.contains(&mode) {
                let message = format!("the mode {mode} is named twice");
                let help = "every mode has a name of its own";
                return Err(self.refuse(Code::FormatOrder, span, message).help(help));
            }
            modes.push(mode);
        }
        Ok(modes)
    }

    /// The coordinate before the colon of a level.
    fn map(&mut self, modes: &[&str]) -> Result<(LevelMap, Range<usize>), Diagnostic> {
        let help = "a level stores a mode i, its block i/4, its offset i%4, a diagonal j-i, or \
                    slots #i";
        let start = self.at;
        let slots = self.eat("#");
        let mode = self.mode(modes, help)?;
        let map = if slots {
            LevelMap::Slot(mode)
        } else if self.eat("/") {
            LevelMap::Div(mode, self.size(help)?)
        } else if self.eat("%") {
            LevelMap::Mod(mode, self.size(help)?)
        } else if self.eat("-") {
            let minus = self.mode(modes, help)?;
            if minus == mode {
                let span = start..self.at;
                let message = "a diagonal takes two modes";
                return Err(self.refuse(Code::FormatOrder, span, message).help(help));
            }
            LevelMap::Diff { plus: mode, minus }
        } else {
            LevelMap::Mode(mode)
        };
        let place = start..self.text[..self.at].trim_end().len();
        self.expect(":", help)?;
        Ok((map, place))
    }

    fn mode(&mut self, modes: &[&str], help: &str) -> Result<Mode, Diagnostic> {
        let (name, span) = self.name("the name of a mode", help)?;
        modes.iter().position(|&mode| mode == name).map(Mode::new).ok_or_else(|| {
            let message = format!("{name} is not a mode of this format");
            let help = match modes.is_empty() {
                true => "name the modes before the arrow".to_owned(),
                false => format!("the modes are {}", modes.join(", ")),
            };
            self.refuse(Code::FormatOrder, span, message).help(help)
        })
    }

    fn level_kind(&mut self) -> Result<LevelKind, Diagnostic> {
        let names: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        let help = format!("the level formats are {}", names.join(", "));
        let (name, span) = self.name("a level format", &help)?;
        let Some(mut kind) = self.kinds.iter().copied().find(|kind| kind.name() == name) else {
            let message = format!("there is no level format named {name}");
            let meant = nearest(name, names).map(|meant| format!("did you mean {meant}?"));
            let help = meant.unwrap_or(help);
            return Err(self.refuse(Code::UnknownFormat, span, message).help(help));
        };
        if !self.eat("(") {
            return Ok(kind);
        }
        let mut given = vec![];
        loop {
            let start = self.at;
            let help = "properties are written compressed(nonunique)";
            let property = self.property(&mut given, help)?;
            kind = kind.with(property).ok_or_else(|| {
                let message = format!("the level format {name} is never {property}");
                let optional: Vec<&str> = kind.optional().iter().map(|p| p.name()).collect();
                let help = match optional.is_empty() {
                    true => format!("write {name}"),
                    false => format!("{name} may be {}", optional.join(", ")),
                };
                self.refuse(Code::UnknownFormat, start..self.at, message).help(help)
            })?;
            if self.eat(")") {
                return Ok(kind);
            }
            self.expect(",", "properties are separated by , and end with )")?;
        }
    }
}

fn nonunique(kind: LevelKind) -> LevelKind {
    kind.with(Property::Nonunique).unwrap_or(kind)
}

/// `1 mode`, `2 modes`
fn modes(n: usize) -> String {
    format!("{n} mode{}", if n == 1 { "" } else { "s" })
}
