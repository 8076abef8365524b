//! Prefetches rows of a dense operand that a stream of coordinates chooses.

use super::{Chosen, LINE, Streams};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::ids::Array;
use crate::ir::build::{add, binary, div, int, load, lt, sub, when};
use crate::ir::{Expr, Stmt};
use crate::transform::branchless::probe::Holds;

/// The distance of prefetched rows, in coordinates.
const AHEAD: i64 = 16;
/// Rows further apart than this are not expected to keep each other in cache.
const FAR: i64 = 1 << 10;
/// The largest row of a tile, in bytes: wider tiles leave no time between hints, and the processor prefetches their
/// lines itself.
const NARROW: usize = 128;

/// The elements of a row that a step reads; a coordinate of a stream chooses the row.
struct Row {
    array: Array,
    chosen: Chosen,
    /// The indices of vectors with this number of lanes.
    vectors: Vec<Expr>,
    lanes: usize,
}

impl Streams<'_> {
    /// Hints for the rows that a sum will read in later steps of the stream, one for each iteration of the sum;
    /// `before` are the statements before the sum in the same block.
    pub(in crate::transform::memory::prefetch) fn summed_rows(
        &mut self,
        before: &[Stmt],
        step: i64,
        body: &[Stmt],
    ) -> Vec<Stmt> {
        if step == 1 {
            return vec![];
        }
        let mut hints = vec![];
        for row in self.rows(before, body) {
            // Later vectors of the same sum are on lines that are already prefetched.
            let line = LINE / self.function.arrays[row.array].elem.size();
            let lines = (0..step).step_by(line).filter_map(|k| {
                self.hint(row.array, add(row.vectors[0].clone(), int(k)), &row.chosen, AHEAD)
            });
            let lines = lines.collect();
            hints.extend(self.scattered(&row.chosen).map(|scattered| when(scattered, lines)));
        }
        hints
    }

    /// The condition that the next segment of the stream chooses other rows: in its middle, the coordinate is far
    /// away.
    fn scattered(&mut self, chosen: &Chosen) -> Option<Expr> {
        let segments = self.steps.as_ref()?.segments;
        let Expr::Load { array: coordinates, .. } = chosen.coordinate else { return None };
        let are_any = lt(int(0), Expr::Len(coordinates));
        let about = ("scattered", segments, coordinates);
        let apart = |[first, second, end]: [Expr; 3]| {
            let middle = |from: Expr, to: Expr| {
                let last = sub(Expr::Len(coordinates), int(1));
                let at = binary(BinaryOp::Min, div(add(from, to), int(2)), last);
                load(coordinates, at)
            };
            let (one, next) = (middle(first, second.clone()), middle(second, end));
            lt(int(FAR), Expr::Unary(UnaryOp::Abs, Box::new(sub(next, one))))
        };
        Some(self.questions.ask(self.function, about, are_any, (Holds::Often, apart)))
    }

    /// Hints for the lines of rows that a tile will read in later steps of the stream.
    pub(in crate::transform::memory::prefetch) fn tiled_rows(
        &mut self,
        body: &[Stmt],
    ) -> Vec<Stmt> {
        let rows = self.rows(body, body);
        let bytes: Vec<usize> = rows
            .iter()
            .map(|row| row.lanes * self.function.arrays[row.array].elem.size())
            .collect();
        let mut hints = vec![];
        if rows.iter().zip(&bytes).any(|(row, bytes)| row.vectors.len() * bytes > NARROW) {
            return hints;
        }
        for (row, bytes) in rows.into_iter().zip(bytes) {
            let lines = row.vectors.into_iter().step_by((LINE / bytes).max(1));
            hints.extend(lines.filter_map(|at| self.hint(row.array, at, &row.chosen, AHEAD)));
        }
        hints
    }

    /// The rows from which statements read vectors in a step of the stream; `before` are statements that compute the
    /// numbers of the rows.
    fn rows(&self, before: &[Stmt], body: &[Stmt]) -> Vec<Row> {
        let Some(position) = self.steps.as_ref().map(|steps| steps.position) else { return vec![] };
        if !body.iter().all(|s| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. })) {
            return vec![];
        }
        let mut rows: Vec<Row> = vec![];
        for e in body.iter().flat_map(Stmt::exprs) {
            e.walk(&mut |e| {
                let Expr::Load { array, index, lanes: lanes @ 2.. } = e else { return };
                let chosen = self.chosen(before, position, index);
                let Some(chosen) = chosen.filter(|_| self.is_input(*array)) else { return };
                let index = (**index).clone();
                match rows.iter_mut().find(|row| row.array == *array && row.chosen == chosen) {
                    Some(row) => row.vectors.push(index),
                    None => rows.push(Row {
                        array: *array,
                        chosen,
                        vectors: vec![index],
                        lanes: usize::from(*lanes),
                    }),
                }
            });
        }
        rows
    }
}
