//! Text to a program: declarations first, then kernels.

use super::reader::Reader;
use crate::cin::{
    Assembling, AssemblyOptions, BoundType, Choice, CutOptions, Derived, Kernel, KernelKind,
    MergeStrategy, OnRanks, Overflow, ParallelUnit, Program, Races, Relation, Role, Tag, Tensor,
};
use crate::format::{self, LevelMap};
use crate::notation::{Commutativity, Expr, Operator, OperatorProperties};
use std::collections::BTreeMap;
use tamis_ir::algebra::Strictness;
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, Level, Mode, TensorId};

/// Reads a program.
///
/// # Errors
///
/// [`Syntax`](tamis_ir::diagnostic::Code::Syntax), with the location, where the text does not follow the grammar or
/// uses a name that it does not declare.
pub fn parse(text: &str) -> Result<Program, Diagnostic> {
    let mut parser = CinParser {
        program: Program {
            kernels: vec![],
            tensors: IdVec::new(),
            vars: IdVec::new(),
            derived: Derived::default(),
            operators: IdVec::new(),
            width: IndexWidth::I32,
            strictness: Strictness::default(),
        },
        vars: BTreeMap::new(),
        tensors: BTreeMap::new(),
    };
    let lines = lines(text);
    // Derivations may refer to variables and tensors that are declared later.
    for mut line in lines.iter().map(|part| Reader::new(text, part.clone())) {
        parser.names(&mut line)?;
    }
    for mut line in lines.iter().map(|part| Reader::new(text, part.clone())) {
        parser.line(&mut line)?;
    }
    Ok(parser.program)
}

/// The lines that are not empty, without the blanks around them.
fn lines(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let mut found = vec![];
    for line in text.split('\n') {
        let start = at + line.len() - line.trim_start().len();
        let end = at + line.trim_end().len();
        if start < end {
            found.push(start..end);
        }
        at += line.len() + 1;
    }
    found
}

/// The program read so far.
pub(crate) struct CinParser {
    pub(super) program: Program,
    pub(super) vars: BTreeMap<String, IndexVar>,
    pub(super) tensors: BTreeMap<String, TensorId>,
}

impl CinParser {
    /// A parser for statements of an existing program.
    pub(crate) fn of(program: &Program) -> CinParser {
        let names = super::Printer::new(program);
        let vars = names.vars.enumerate().map(|(var, name)| (name.clone(), var)).collect();
        let tensors = names.tensors.enumerate().map(|(t, name)| (name.clone(), t)).collect();
        CinParser { program: program.clone(), vars, tensors }
    }

    /// Gives variables and tensors their ids.
    fn names(&mut self, line: &mut Reader<'_>) -> Result<(), Diagnostic> {
        if line.eat("var") {
            let name = line.name()?;
            let id = self.program.vars.push(shared(name).to_owned());
            return once(self.vars.insert(name.to_owned(), id), line);
        }
        if line.eat("tensor") {
            let name = line.name()?;
            let id = TensorId::new(self.tensors.len());
            return once(self.tensors.insert(name.to_owned(), id), line);
        }
        Ok(())
    }

    fn line(&mut self, line: &mut Reader<'_>) -> Result<(), Diagnostic> {
        if line.eat("width") {
            self.program.width = width(line)?;
        } else if line.eat("strict") {
            self.program.strictness = Strictness::Ieee;
        } else if line.eat("operator") {
            let operator = self.operator(line)?;
            self.program.operators.push(operator);
        } else if line.eat("var") {
            self.derived(line)?;
        } else if line.eat("tensor") {
            let tensor = self.tensor_line(line)?;
            self.program.tensors.push(tensor);
        } else if line.eat("kernel") {
            let kernel = self.kernel(line)?;
            self.program.kernels.push(kernel);
        } else if line.eat("tag") {
            let (var, tag) = self.tag(line)?;
            self.last(line)?.tags.insert(var, tag);
        } else if line.eat("ranks") {
            let inner = self.var(line)?;
            let (outer, axis) = (line.name()?.to_owned(), line.name()?.to_owned());
            self.last(line)?.cut.ranks.push(OnRanks { inner, outer, axis });
        } else if line.eat("choice") {
            let choice = self.choice(line)?;
            self.last(line)?.choices.push(choice);
        } else {
            let body = self.stmt(line)?;
            self.last(line)?.body = body;
        }
        line.finish()
    }

    /// The kernel that the current line belongs to.
    fn last(&mut self, line: &Reader<'_>) -> Result<&mut Kernel, Diagnostic> {
        self.program
            .kernels
            .last_mut()
            .ok_or_else(|| line.refuse("no kernel stands before this line"))
    }

    fn operator(&mut self, line: &mut Reader<'_>) -> Result<Operator, Diagnostic> {
        let name = line.name()?.to_owned();
        let arity = line.integer()? as usize;
        let mut properties = OperatorProperties::default();
        if line.eat("commutative") {
            properties.commutative = Commutativity::Commutative;
        }
        if line.eat("identity") {
            properties.identity = Some(self.constant(line)?.as_f64());
        }
        if line.eat("annihilator") {
            properties.annihilator = Some(self.constant(line)?.as_f64());
        }
        line.expect("=")?;
        Ok(Operator { name, arity, body: self.expr(line)?, properties })
    }

    /// The derivation of a variable.
    fn derived(&mut self, line: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let var = self.var(line)?;
        if line.eat("=") {
            let map = self.map(line)?;
            let owner = match line.eat("in") {
                true => Some((self.tensor(line)?, Level::new(line.integer()? as usize))),
                false => None,
            };
            self.program.derived.keys.insert(var, (map, owner));
            self.program.derived.vars.insert((map, owner), var);
        }
        if line.eat("like") {
            let other = self.var(line)?;
            self.program.derived.aliases.insert(var, other);
        }
        if line.eat("mode") {
            let of = TensorId::new(line.integer()? as usize);
            self.program.derived.modes.insert(var, (of, Mode::new(line.integer()? as usize)));
        }
        if line.eat("scheduled") {
            self.program.derived.split.insert(var);
        }
        if !line.rest().is_empty() {
            let relation = self.relation(line)?;
            self.program.derived.relate(var, relation);
        }
        Ok(())
    }

    fn map(&mut self, line: &mut Reader<'_>) -> Result<LevelMap<IndexVar>, Diagnostic> {
        if line.eat("#") {
            return Ok(LevelMap::Slot(self.var(line)?));
        }
        let var = self.var(line)?;
        if line.eat("/") {
            return Ok(LevelMap::Div(var, line.integer()?));
        }
        if line.eat("%") {
            return Ok(LevelMap::Mod(var, line.integer()?));
        }
        match line.eat("-") {
            true => Ok(LevelMap::Diff { plus: var, minus: self.var(line)? }),
            false => Ok(LevelMap::Mode(var)),
        }
    }

    fn relation(&mut self, line: &mut Reader<'_>) -> Result<Relation, Diagnostic> {
        let word = line.name()?;
        line.expect("(")?;
        let relation = match word {
            "part" => {
                let of = self.var(line)?;
                line.expect(",")?;
                let place = self.var(line)?;
                line.expect(",")?;
                Relation::Part { of, place, parts: line.integer()? }
            }
            "place" => {
                let of = self.var(line)?;
                line.expect(",")?;
                Relation::Place { of, part: self.var(line)? }
            }
            "fused" => {
                let outer = self.var(line)?;
                line.expect(",")?;
                Relation::Fused { outer, inner: self.var(line)? }
            }
            "position" => {
                let of = self.list(line)?;
                line.expect(",")?;
                let above = self.list(line)?;
                line.expect(",")?;
                let access = self.access(line)?;
                line.expect(",")?;
                let level = line.integer()? as usize;
                let unique = !line.eat("repeated");
                let within = line.eat(",").then(|| self.var(line)).transpose()?;
                Relation::Position { of, above, within, access, level, unique }
            }
            "same" => {
                let of = self.var(line)?;
                Relation::Same { of, bound: self.bound(line)? }
            }
            _ => return Err(line.refuse("no relation of variables has the name before this")),
        };
        line.expect(")")?;
        Ok(relation)
    }

    fn bound(&mut self, line: &mut Reader<'_>) -> Result<Option<BoundType>, Diagnostic> {
        if !line.eat(",") {
            return Ok(None);
        }
        match line.eat("exactly") {
            true => Ok(Some(BoundType::Exact(line.integer()?))),
            false => {
                line.expect("most")?;
                Ok(Some(BoundType::Most(line.integer()?)))
            }
        }
    }

    fn tensor_line(&mut self, line: &mut Reader<'_>) -> Result<Tensor, Diagnostic> {
        let name = shared(line.name()?).to_owned();
        let modes = match line.eat("(") {
            true => self.names_until(line, ")")?,
            false => vec![],
        };
        line.expect(":")?;
        let storage = line.until(" = ")?;
        let role = match line.name()? {
            "input" => Role::Input(TensorId::new(line.integer()? as usize)),
            "result" => Role::Result(TensorId::new(line.integer()? as usize)),
            "temporary" => Role::Temporary,
            "register" => Role::Register(self.constant(line)?),
            "workspace" => Role::Workspace,
            _ => return Err(line.refuse("no role of tensors has the name before this")),
        };
        let parse =
            if role == Role::Workspace { format::parse_of_workspace } else { format::parse };
        let spec = parse(storage, None).or_else(|_| parse(storage, Some(modes.len())))?;
        let storage = spec.resolve(DataType::F64)?;
        let streamed = line.eat("streamed");
        Ok(Tensor { name, storage, role, modes, streamed })
    }

    fn kernel(&mut self, line: &mut Reader<'_>) -> Result<Kernel, Diagnostic> {
        let result = self.tensor(line)?;
        let compute = line.name()?;
        let compute = DataType::parse(compute)
            .ok_or_else(|| line.refuse("the word before this is no type"))?;
        let kind = KernelKind::parse(line.name()?)
            .ok_or_else(|| line.refuse("the word before this is no kind"))?;
        let words =
            ["scatter", "workspace", "crowded", "chunked", "threaded", "checked", "long_sums"];
        let [scatter, workspace, crowded, chunked, threaded, checked, long_sums] =
            words.map(|word| line.eat(word));
        let overflow = match (checked, long_sums) {
            (false, _) => Overflow::Wraps,
            (true, false) => Overflow::Checked,
            (true, true) => Overflow::CheckedLong,
        };
        let like = if line.eat("like") { Some(self.tensor(line)?) } else { None };
        let wanted = Assembling::ALL.into_iter().find(|how| line.eat(how.name()));
        let partial = if line.eat("partial") { self.tensor_names(line)? } else { vec![] };
        Ok(Kernel {
            result,
            kind,
            like,
            compute,
            body: crate::cin::Stmt::Sequence(vec![]),
            scatter,
            assembly: AssemblyOptions { workspace, crowded, wanted },
            choices: vec![],
            cut: CutOptions { chunked, threaded, ranks: vec![] },
            overflow,
            tags: BTreeMap::new(),
            partial,
        })
    }

    fn tag(&mut self, line: &mut Reader<'_>) -> Result<(IndexVar, Tag), Diagnostic> {
        let var = self.var(line)?;
        let mut tag = Tag::default();
        if let Some(unit) = ParallelUnit::ALL.into_iter().find(|unit| line.eat(unit.name())) {
            let races = Races::ALL.into_iter().find(|races| line.eat(races.name()));
            let races =
                races.ok_or_else(|| line.refuse("a strategy for races is expected here"))?;
            tag.parallel = Some((unit, races));
        }
        if line.eat("unroll") {
            tag.unroll = Some(line.integer()?);
        }
        tag.merge = MergeStrategy::ALL.into_iter().find(|merge| line.eat(merge.name()));
        Ok((var, tag))
    }

    fn choice(&mut self, line: &mut Reader<'_>) -> Result<Choice, Diagnostic> {
        let cost = self.constant(line)?.as_f64();
        let loops = self.list(line)?;
        let copied = if line.eat("copied") { self.tensor_names(line)? } else { vec![] };
        Ok(Choice { loops, copied, apart: line.eat("apart"), cost })
    }

    /// A constant with its type.
    pub(super) fn constant(&mut self, line: &mut Reader<'_>) -> Result<Scalar, Diagnostic> {
        match self.expr(line)? {
            Expr::Literal(x) => Ok(x),
            _ => Err(line.refuse("a constant is expected before this")),
        }
    }

    /// An index variable.
    pub(crate) fn var(&mut self, line: &mut Reader<'_>) -> Result<IndexVar, Diagnostic> {
        let name = line.name()?;
        let known = self.vars.get(name).copied();
        known.ok_or_else(|| line.refuse(&format!("no variable {name} is declared")))
    }

    /// A tensor.
    pub(crate) fn tensor(&mut self, line: &mut Reader<'_>) -> Result<TensorId, Diagnostic> {
        let name = line.name()?;
        let known = self.tensors.get(name).copied();
        known.ok_or_else(|| line.refuse(&format!("no tensor {name} is declared")))
    }

    fn tensor_names(&mut self, line: &mut Reader<'_>) -> Result<Vec<TensorId>, Diagnostic> {
        let mut names = vec![self.tensor(line)?];
        while line.eat(",") {
            names.push(self.tensor(line)?);
        }
        Ok(names)
    }

    /// Variables in brackets.
    fn list(&mut self, line: &mut Reader<'_>) -> Result<Vec<IndexVar>, Diagnostic> {
        line.expect("[")?;
        self.names_until(line, "]")
    }

    /// Variables up to a bracket or semicolon.
    pub(super) fn names_until(
        &mut self,
        line: &mut Reader<'_>,
        close: &str,
    ) -> Result<Vec<IndexVar>, Diagnostic> {
        let mut names = vec![];
        while !line.eat(close) {
            if !names.is_empty() {
                line.expect(",")?;
            }
            names.push(self.var(line)?);
        }
        Ok(names)
    }
}

/// Refuses a name that had an id before.
fn once<I>(before: Option<I>, line: &Reader<'_>) -> Result<(), Diagnostic> {
    match before {
        None => Ok(()),
        Some(_) => Err(line.refuse("the name before this is declared twice")),
    }
}

/// A name without the number that tells it from others that are the same.
fn shared(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn width(line: &mut Reader<'_>) -> Result<IndexWidth, Diagnostic> {
    let all = [IndexWidth::I32, IndexWidth::I64];
    let word = line.name()?;
    let known = all.into_iter().find(|width| width.datatype().to_string() == word);
    known.ok_or_else(|| line.refuse("the word before this is no width"))
}
