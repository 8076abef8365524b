//! The entries that a tensor's arrays represent, level by level, in plain Rust.
//!
//! The reference for generated code, and the check of arrays from users.

use super::open::{Known, extent, open};
use super::{Format, LevelMap, Recovery};
use crate::level::{Header, LevelView};
use std::collections::BTreeSet;
use tamis_ir::ids::{Id, Mode};

/// A tensor's levels in memory.
pub struct Walk<'t> {
    format: &'t Format,
    dims: &'t [u64],
    views: Vec<LevelView<'t>>,
    /// For each level, the modes whose coordinates it completes.
    recovered: Vec<Vec<(Mode, Recovery)>>,
}

/// The coordinates from the first level down to an entry.
struct Path {
    levels: Vec<i64>,
    modes: Vec<Option<i64>>,
}

/// The coordinates above one level of a path.
struct Above<'p> {
    walk: &'p Walk<'p>,
    path: &'p Path,
    level: usize,
}

impl Known<Mode, i64> for Above<'_> {
    fn dimension(&mut self, mode: Mode) -> i64 {
        self.walk.dims[mode.index()] as i64
    }

    fn mode(&mut self, mode: Mode) -> Option<i64> {
        self.path.modes[mode.index()]
    }

    fn level(&mut self, map: LevelMap) -> Option<i64> {
        let above = &self.walk.format.levels()[..self.level];
        above.iter().position(|l| l.map == map).map(|k| self.path.levels[k])
    }

    fn diagonals(&mut self, mode: Mode) -> Vec<LevelMap> {
        let above = &self.walk.format.levels()[..self.level];
        let takes = |map: &LevelMap| matches!(*map, LevelMap::Diff { plus, minus } if plus == mode || minus == mode);
        above.iter().map(|l| l.map).filter(takes).collect()
    }

    fn slots(&mut self) -> i64 {
        self.walk.views[self.level].header.size as i64
    }
}

impl Format {
    /// The header of each level, from the dimensions; `slots` gives the width of slot levels.
    pub fn headers(&self, dims: &[u64], slots: &dyn Fn(usize) -> u64) -> Vec<Header> {
        let header = |(k, level): (usize, &super::LevelSpec)| {
            let mut dimension = |m: Mode| i64::try_from(dims[m.index()]).unwrap_or(i64::MAX);
            let mut width = || slots(k) as i64;
            let (least, size) = extent::<Mode, i64>(level.map, &mut dimension, &mut width);
            Header { properties: level.kind.properties(), least, size: size.max(0) as u64 }
        };
        self.levels().iter().enumerate().map(header).collect()
    }
}

impl<'t> Walk<'t> {
    /// A walk over a tensor with a format, dimensions and levels, one view per level.
    pub fn new(format: &'t Format, dims: &'t [u64], views: Vec<LevelView<'t>>) -> Walk<'t> {
        let mut recovered = vec![vec![]; views.len()];
        let mut at = vec![0; format.order()];
        for (mode, recovery) in format.recoveries() {
            let level = match recovery {
                Recovery::Level(k) => k,
                Recovery::Block { block, place, .. } => block.max(place),
                Recovery::Plus { diagonal, minus: other }
                | Recovery::Minus { diagonal, plus: other } => diagonal.max(at[other.index()]),
            };
            at[mode.index()] = level;
            recovered[level].push((mode, recovery));
        }
        Walk { format, dims, views, recovered }
    }

    /// Calls `visit` with the coordinates and the position of each entry, in storage order. Padding outside of the
    /// tensor, where a diagonal leaves it within a block, is skipped.
    pub fn entries(&self, visit: &mut dyn FnMut(&[u64], u64)) {
        let mut modes = vec![0; self.dims.len()];
        let mut path = self.root();
        self.descend(0, 0, &mut path, &mut |path, position| {
            for (mode, c) in modes.iter_mut().zip(&path.modes) {
                // As an unsigned number, a negative coordinate is larger than any dimension.
                *mode = c.unwrap_or(0) as u64;
            }
            if modes.iter().zip(self.dims).all(|(c, dimension)| c < dimension) {
                visit(&modes, position);
            }
        });
    }

    fn root(&self) -> Path {
        Path { levels: vec![0; self.views.len()], modes: vec![None; self.dims.len()] }
    }

    fn descend(&self, k: usize, position: u64, path: &mut Path, visit: &mut dyn FnMut(&Path, u64)) {
        let Some(level) = self.format.levels().get(k) else { return visit(path, position) };
        let range = self.open(k, path);
        level.kind.children(&self.views[k], position, range, &mut |p, c| {
            self.enter(k, c, path);
            self.descend(k + 1, p, path, visit);
            self.leave(k, path);
        });
    }

    fn open(&self, k: usize, path: &Path) -> (i64, i64) {
        let mut above = Above { walk: self, path, level: k };
        open(self.format.levels()[k].map, &mut above)
    }

    fn enter(&self, k: usize, coordinate: i64, path: &mut Path) {
        path.levels[k] = coordinate;
        for &(mode, recovery) in &self.recovered[k] {
            let of = |m: Mode| path.modes[m.index()].unwrap_or(0);
            path.modes[mode.index()] = Some(match recovery {
                Recovery::Level(level) => path.levels[level],
                Recovery::Block { block, place, size } => {
                    path.levels[block] * size as i64 + path.levels[place]
                }
                Recovery::Plus { diagonal, minus } => path.levels[diagonal] + of(minus),
                Recovery::Minus { diagonal, plus } => of(plus) - path.levels[diagonal],
            });
        }
    }

    fn leave(&self, k: usize, path: &mut Path) {
        for (mode, _) in &self.recovered[k] {
            path.modes[mode.index()] = None;
        }
    }

    /// Checks the arrays without their coordinates, and returns the number of positions of the last level. The error
    /// says which level breaks which promise.
    pub fn check_arrays(&self) -> Result<u64, (usize, String)> {
        let mut parents = 1;
        for (k, (level, view)) in self.format.levels().iter().zip(&self.views).enumerate() {
            check_stride(view).map_err(|reason| (k, reason))?;
            level.kind.check(view, parents).map_err(|reason| (k, reason))?;
            parents = level.kind.positions(view, parents);
        }
        Ok(parents)
    }

    /// Checks that coordinates of valid arrays lie within the dimensions, and are ordered and unique as promised. The
    /// error says which level breaks which promise.
    pub fn check_coordinates(&self) -> Result<(), (usize, String)> {
        let mut broken = None;
        self.check_below(0, 0, &mut self.root(), &mut broken);
        broken.map_or(Ok(()), Err)
    }

    /// Checks the children of a position, and everything below them.
    fn check_below(
        &self,
        k: usize,
        position: u64,
        path: &mut Path,
        broken: &mut Option<(usize, String)>,
    ) {
        let Some(level) = self.format.levels().get(k) else { return };
        // The head of a chain checks the whole chain.
        let chain = (k..self.views.len()).take_while(|&l| self.format.chain_head(l) == k).count();
        let range = self.open(k, path);
        let mut before: Option<Vec<i64>> = None;
        let mut seen = BTreeSet::new();
        level.kind.children(&self.views[k], position, range, &mut |p, c| {
            if broken.is_some() {
                return;
            }
            let tuple: Vec<i64> = (k..k + chain)
                .map(|l| if l == k { c } else { self.views[l].coordinate(p) })
                .collect();
            let entered = self.enter_chain(k, &tuple, path);
            *broken = entered
                .and_then(|()| self.check_order(k, &tuple, before.as_deref(), &mut seen))
                .map_err(|(l, reason)| (l, format!("{reason}, at position {p}")))
                .err();
            if broken.is_none() {
                self.check_below(k + chain, p, path, broken);
            }
            (k..k + chain).for_each(|l| self.leave(l, path));
            before = Some(tuple);
        });
    }

    /// Descends the coordinates of a chain, each checked to lie in its range.
    fn enter_chain(&self, k: usize, tuple: &[i64], path: &mut Path) -> Result<(), (usize, String)> {
        for (l, &c) in (k..).zip(tuple) {
            let (lo, hi) = self.open(l, path);
            if c < lo || c >= hi {
                let reason = format!("the coordinate {c} lies outside {lo}..{hi}");
                (k..l).for_each(|l| self.leave(l, path));
                return Err((l, reason));
            }
            self.enter(l, c, path);
        }
        Ok(())
    }

    /// Whether coordinates are ordered and unique as promised.
    fn check_order(
        &self,
        k: usize,
        tuple: &[i64],
        before: Option<&[i64]>,
        seen: &mut BTreeSet<Vec<i64>>,
    ) -> Result<(), (usize, String)> {
        let properties = |l: usize| self.views[l].header.properties;
        let last = k + tuple.len() - 1;
        let all_ordered = (k..=last).all(|l| properties(l).ordered);
        if properties(last).unique && !all_ordered && !seen.insert(tuple.to_vec()) {
            return Err((last, format!("the coordinate {} is repeated", tuple[last - k])));
        }
        let Some(before) = before else { return Ok(()) };
        let ordered = (k..=last).take_while(|&l| properties(l).ordered).count();
        if tuple[..ordered] < before[..ordered] {
            let at = (0..ordered).find(|&n| tuple[n] != before[n]).unwrap_or(0);
            let reason = format!("the coordinate {} comes after {}", tuple[at], before[at]);
            return Err((k + at, reason));
        }
        if all_ordered && properties(last).unique && tuple == before {
            return Err((last, format!("the coordinate {} is repeated", tuple[last - k])));
        }
        Ok(())
    }
}

/// An interleaved array has as many coordinates for each level.
fn check_stride(view: &LevelView<'_>) -> Result<(), String> {
    let Some(crd) = view.crd else { return Ok(()) };
    match crd.array.len() % crd.stride as usize {
        0 => Ok(()),
        _ => Err(format!(
            "crd has {} elements, which are not {} for each position",
            crd.array.len(),
            crd.stride
        )),
    }
}
