//! Rows of a dense operand that a stream of coordinates chooses.

use super::{Ahead, Chosen, LINE, Streams};
use crate::ids::{Array, Var};
use crate::ir::build::{add, int};
use crate::ir::{Expr, Stmt};

/// How many coordinates ahead rows are asked for.
const AHEAD: i64 = 16;
/// Bytes of a row: wider tiles leave no time between hints, they read what the processor foresees.
const NARROW: usize = 256;

/// What is read of a row that a coordinate of a stream chooses.
struct Row {
    array: Array,
    chosen: Chosen,
    /// Where vectors of so many lanes are read.
    vectors: Vec<Expr>,
    lanes: usize,
}

impl Streams<'_> {
    /// Hints for the rows that a sum will go over in later steps of the stream, for each turn of the
    /// sum; `before` is what comes before the sum in the same block.
    pub(super) fn summed_rows(
        &mut self,
        before: &[Stmt],
        step: i64,
        body: &[Stmt],
    ) -> Option<Ahead> {
        let steps = self.steps.clone()?;
        (step > 1).then_some(())?;
        let rows = self.rows(steps.0, before, body)?;
        let mut ahead = Ahead::new(self.function, steps, AHEAD);
        for row in rows {
            // Later vectors of the same sum are on lines that are asked for already.
            let line = LINE / self.function.arrays[row.array].elem.size();
            let places = (0..step).step_by(line);
            places.for_each(|k| {
                ahead.ask(row.array, add(row.vectors[0].clone(), int(k)), &row.chosen);
            });
        }
        Some(ahead)
    }

    /// Hints for what a tile takes of rows in later steps of the stream.
    pub(super) fn tiled_rows(&mut self, steps: &(Var, Expr), body: &[Stmt]) -> Option<Ahead> {
        let rows = self.rows(steps.0, body, body)?;
        let bytes = |row: &Row| row.lanes * self.function.arrays[row.array].elem.size();
        rows.iter().all(|row| row.vectors.len() * bytes(row) <= NARROW).then_some(())?;
        let on_a_line: Vec<usize> = rows.iter().map(|row| (LINE / bytes(row)).max(1)).collect();
        let mut ahead = Ahead::new(self.function, steps.clone(), AHEAD);
        for (row, on_a_line) in rows.iter().zip(on_a_line) {
            for index in row.vectors.iter().step_by(on_a_line) {
                ahead.ask(row.array, index.clone(), &row.chosen);
            }
        }
        Some(ahead)
    }

    /// The rows of which statements read vectors in a step of a stream, at the position `position`;
    /// `before` are statements that say which rows they are.
    fn rows(&self, position: Var, before: &[Stmt], body: &[Stmt]) -> Option<Vec<Row>> {
        body.iter().all(|s| matches!(s, Stmt::Assign { .. })).then_some(())?;
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
        (!rows.is_empty()).then_some(rows)
    }
}
