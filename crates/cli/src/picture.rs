//! Where the entries of a matrix are: in a terminal by dots of Braille, in a file as SVG; and how long its
//! rows are.
//!
//! ```text
//! ⢣⡀⠀⠀      each character is 2 x 4 cells, a dot where a cell has an entry
//! ⠀⠱⡄⠀
//! ⠀⠀⠙⢆
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write};
use tamis::Coordinates;

/// Cells of the picture in a terminal, across and at most down.
const TERMINAL: (u64, u64) = (80, 80);

/// Cells of the picture in a file, the longer side.
const FILE: u64 = 256;

/// Characters of the longest bar.
const BAR: usize = 40;

/// How many entries are in each cell of a grid over a matrix, by row and column of the grid.
struct Grid {
    rows: u64,
    columns: u64,
    cells: BTreeMap<(u64, u64), usize>,
}

impl Grid {
    /// A grid of no more cells than the matrix has elements, in its shape.
    fn of(list: &Coordinates, across: u64, down: u64) -> Option<Grid> {
        let (&[height, width], [rows, columns]) = (list.dims(), list.crds()) else { return None };
        if height == 0 || width == 0 {
            return Some(Grid { rows: 0, columns: 0, cells: BTreeMap::new() });
        }
        let share = (across as f64 / width as f64).min(down as f64 / height as f64).min(1.0);
        let cells = |size: u64| ((size as f64 * share).round() as u64).clamp(1, size);
        let grid = (cells(height), cells(width));
        let cell = |crd: u64, size: u64, cells: u64| {
            (u128::from(crd) * u128::from(cells) / u128::from(size)) as u64
        };
        let mut counts = BTreeMap::new();
        for (&row, &column) in rows.iter().zip(columns) {
            *counts.entry((cell(row, height, grid.0), cell(column, width, grid.1))).or_default() +=
                1;
        }
        Some(Grid { rows: grid.0, columns: grid.1, cells: counts })
    }
}

/// Draws the pattern of a matrix by dots.
pub fn draw(list: &Coordinates, out: &mut dyn Write) -> io::Result<()> {
    let grid = Grid::of(list, TERMINAL.0, TERMINAL.1).filter(|grid| !grid.cells.is_empty());
    let Some(grid) = grid else { return Ok(()) };
    writeln!(out)?;
    for top in (0..grid.rows).step_by(4) {
        let line = (0..grid.columns).step_by(2).map(|left| braille(&grid, top, left));
        writeln!(out, "  {}", line.collect::<String>())?;
    }
    Ok(())
}

/// The character of 2 x 4 cells.
fn braille(grid: &Grid, top: u64, left: u64) -> char {
    // The bits of Unicode's patterns, by row and column.
    const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let mut bits = 0;
    for (row, dots) in DOTS.iter().enumerate() {
        for (column, dot) in dots.iter().enumerate() {
            if grid.cells.contains_key(&(top + row as u64, left + column as u64)) {
                bits |= dot;
            }
        }
    }
    char::from_u32(0x2800 + bits).unwrap_or(' ')
}

/// How many coordinates have how many entries, with bars: from the least to the most of each, and their count.
pub fn histogram(title: &str, buckets: &[(u64, u64, u64)], out: &mut dyn Write) -> io::Result<()> {
    let longest = buckets.iter().map(|(.., count)| *count).max().unwrap_or(1).max(1);
    writeln!(out, "\n{title}")?;
    for &(least, most, count) in buckets {
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let bar = (count as f64 / longest as f64 * BAR as f64).ceil() as usize;
        writeln!(out, "  {range:>14}  {count:>10}  {}", "#".repeat(bar))?;
    }
    Ok(())
}

/// The pattern of a matrix as SVG: a square for each cell, darker with more entries; nothing of
/// other tensors.
pub fn svg(list: &Coordinates) -> Option<String> {
    let grid = Grid::of(list, FILE, FILE)?;
    let most = grid.cells.values().copied().max().unwrap_or(1) as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{2}\" \
         height=\"{3}\" shape-rendering=\"crispEdges\">\n\
         <rect width=\"{0}\" height=\"{1}\" fill=\"#fff\" stroke=\"#888\" stroke-width=\"0.5\"/>\n",
        grid.columns,
        grid.rows,
        grid.columns * 3,
        grid.rows * 3
    );
    for ((row, column), count) in &grid.cells {
        // Of a few entries some colour is seen.
        let shade = 0.35 + 0.65 * (*count as f64).ln_1p() / most.ln_1p();
        text.push_str(&format!(
            "<rect x=\"{column}\" y=\"{row}\" width=\"1\" height=\"1\" fill=\"#1f4e8c\" \
             fill-opacity=\"{shade:.2}\"/>\n"
        ));
    }
    text.push_str("</svg>\n");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::Values;

    fn matrix(dims: [u64; 2], crds: [Vec<u64>; 2]) -> Coordinates {
        let vals = Values::F64(vec![1.0; crds[0].len()]);
        Coordinates::new(dims.to_vec(), crds.to_vec(), vals).expect("a valid list")
    }

    fn check(list: &Coordinates, expected: &str) {
        let mut out = vec![];
        draw(list, &mut out).expect("a vector takes all");
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }

    #[test]
    fn patterns_are_dots() {
        check(&matrix([4, 4], [vec![0, 1, 2, 3], vec![0, 1, 2, 3]]), "\n  \u{2811}\u{2884}\n");
        let diagonal: Vec<u64> = (0..8000).collect();
        let mut out = vec![];
        draw(&matrix([8000, 8000], [diagonal.clone(), diagonal]), &mut out).expect("drawn");
        assert_eq!(String::from_utf8(out).expect("text").lines().count(), 21);
        check(&matrix([3, 3], [vec![], vec![]]), "");
    }

    #[test]
    fn files_have_a_square_for_each_cell() {
        let list = matrix([1000, 500], [vec![0, 999, 998], vec![0, 499, 499]]);
        let text = svg(&list).expect("it has entries");
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("viewBox=\"0 0 128 256\""), "{text}");
        assert_eq!(text.matches("fill-opacity").count(), 2);
        for dims in [[3, 2], [0, 5]] {
            let text = svg(&matrix(dims, [vec![], vec![]])).expect("a matrix");
            assert!(text.ends_with("</svg>\n") && !text.contains("fill-opacity"), "{text}");
        }
        let vector = Coordinates::new(vec![3], vec![vec![1]], Values::F64(vec![1.0]));
        assert_eq!(svg(&vector.expect("a valid list")), None);
    }
}
