//! What stands in the braces of a format.
//!
//! ```text
//! part = type | "fill" ":" number | ("pos" | "crd") ":" ("i32" | "i64")
//! ```
//!
//! The fill value is a number such as `-0.5`, `inf` or `1.5+2j`, or `true` or `false`.

use super::FormatSpec;
use super::parse::FormatParser;
use std::ops::Range;
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};

const BRACES: &str = "braces are written {f32, fill: 0, pos: i64, crd: i32}";

impl FormatParser<'_> {
    /// The parts in braces, of which the first has been read.
    pub(super) fn braces(&mut self, spec: &mut FormatSpec) -> Result<(), Diagnostic> {
        let mut first = true;
        let mut fill_at = None;
        while !self.eat("}") {
            if !first {
                self.expect(",", BRACES)?;
            }
            first = false;
            let (name, span) = self.name("a type, fill, pos or crd", BRACES)?;
            let twice = match name {
                "fill" => {
                    self.expect(":", BRACES)?;
                    let (fill, at) = self.fill()?;
                    fill_at = Some(at);
                    spec.fill.replace(fill).is_some()
                }
                "pos" => spec.pos.replace(self.width()?).is_some(),
                "crd" => spec.crd.replace(self.width()?).is_some(),
                _ => spec.datatype.replace(self.datatype(name, &span)?).is_some(),
            };
            if twice {
                let message = "the braces say this twice";
                return Err(self.refuse(Code::Syntax, span, message).help("keep one of the two"));
            }
        }
        match (fill_at, spec.datatype) {
            (Some(at), Some(datatype)) => {
                spec.resolve(datatype).map(|_| ()).map_err(|d| d.at(self.text, at))
            }
            _ => Ok(()),
        }
    }

    fn datatype(&self, name: &str, span: &Range<usize>) -> Result<DataType, Diagnostic> {
        DataType::parse(name).ok_or_else(|| {
            let names: Vec<&str> = DataType::ALL.iter().map(|t| t.name()).collect();
            let message = format!("there is no data type named {name}");
            let help = format!("the data types are {}", names.join(", "));
            self.refuse(Code::UnknownFormat, span.clone(), message).help(help)
        })
    }

    fn width(&mut self) -> Result<IndexWidth, Diagnostic> {
        self.expect(":", BRACES)?;
        let (name, span) = self.name("a width", BRACES)?;
        let widths = [IndexWidth::I32, IndexWidth::I64];
        widths.into_iter().find(|width| width.datatype().name() == name).ok_or_else(|| {
            let message = format!("{name} is not a width of positions or coordinates");
            self.refuse(Code::UnknownFormat, span, message).help("the widths are i32 and i64")
        })
    }

    fn fill(&mut self) -> Result<(Scalar, Range<usize>), Diagnostic> {
        let (text, span) = self.take(|c| c.is_alphanumeric() || "+-.".contains(c));
        let scalar = match text {
            "true" => Some(Scalar::I64(1)),
            "false" => Some(Scalar::I64(0)),
            _ => Scalar::parse(text),
        };
        match scalar {
            Some(scalar) if scalar.is_beyond(text) => {
                let message = "the fill value is beyond 1.8e308, the largest number";
                Err(self.refuse(Code::Syntax, span, message).help("write inf"))
            }
            Some(scalar) => Ok((scalar, span)),
            None => {
                let message = "the fill value is not a number";
                let help = "fill values are numbers, inf, -inf, nan, 1.5+2j, true or false";
                Err(self.refuse(Code::Syntax, span, message).help(help))
            }
        }
    }
}
