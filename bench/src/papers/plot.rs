//! Tables as pictures: times over a parameter as lines, over inputs as dots, on a logarithmic axis.

use std::path::Path;

use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::coord::{Shift, ranged1d::Ranged};
use plotters::prelude::*;

use super::page::{capital, contenders};
use super::{Axis, Columns, Exhibit, Table};
use crate::measure::Entry;

const SIZE: (u32, u32) = (960, 480);
/// The width of the plot; the legend has the rest.
const WIDTH: u32 = 680;

const COLOURS: [RGBColor; 10] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(90, 90, 90),
    RGBColor(188, 189, 34),
    RGBColor(23, 190, 207),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The name of the file of a table.
pub fn name(paper: &str, figure: &str, table: &Table) -> String {
    let of_input = table.input.iter().map(|input| format!(" {input}")).collect::<String>();
    let words = format!("{paper} {figure}{of_input}");
    let parts = words.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    format!("{}.svg", parts.collect::<Vec<_>>().join("-").to_lowercase())
}

/// A contender's points.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Draws a table into a file.
pub fn draw(path: &Path, exhibit: &Exhibit, table: &Table) -> Result<(), String> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    painted(&root, exhibit, table).map_err(|e| format!("{}: {e}", path.display()))?;
    root.present().map_err(|e| format!("{}: {e}", path.display()))
}

type Painted<T = ()> = Result<T, Box<dyn std::error::Error>>;
/// The number of a contender, and where its symbol goes on the picture.
type Mark = (usize, (i32, i32));

fn painted(root: &Area, exhibit: &Exhibit, table: &Table) -> Painted {
    root.fill(&WHITE)?;
    let all = series(exhibit, table);
    let (left, right) = root.split_horizontally(WIDTH);
    let title = format!("{}: {}", capital(exhibit.figure), exhibit.title);
    let times = || all.iter().flat_map(|s| &s.points).map(|&(_, time)| time);
    let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    if low > high {
        return Ok(());
    }
    let time = (low * 0.7..high * 1.4).log_scale();
    let mut builder = ChartBuilder::on(&left);
    builder.caption(title, ("sans-serif", 16)).margin(8);
    builder.x_label_area_size(40).y_label_area_size(60);
    let ends = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (low, values.iter().copied().fold(0.0, f64::max))
    };
    let marks = match exhibit.columns {
        Columns::Parameter { name, values, axis: Axis::Logarithmic } => {
            let (low, high) = ends(values);
            let x = (low / 1.2..high * 1.2).log_scale();
            let mut chart = builder.build_cartesian_2d(x, time)?;
            mesh(&mut chart, name, &|x| x.to_string())?;
            lines(&mut chart, &all)?
        }
        Columns::Parameter { name, values, axis: Axis::Linear } => {
            let (low, high) = ends(values);
            let room = (high - low) / 20.0;
            let mut chart = builder.build_cartesian_2d(low - room..high + room, time)?;
            mesh(&mut chart, name, &|x| format!("{}", (x * 100.0).round() / 100.0))?;
            lines(&mut chart, &all)?
        }
        Columns::Inputs => {
            let heads: Vec<&str> =
                table.columns.iter().map(|column| column.head.as_str()).collect();
            let mut chart = builder.build_cartesian_2d(-0.5..heads.len() as f64 - 0.5, time)?;
            let head = |x: &f64| match x.fract() == 0.0 {
                true => heads.get(*x as usize).map_or(String::new(), |head| head.to_string()),
                false => String::new(),
            };
            mesh(&mut chart, "", &head)?;
            dots(&chart, &all)
        }
    };
    for (n, at) in marks {
        root.draw(&symbol(n, at))?;
    }
    legend(&right, &all)
}

fn series(exhibit: &Exhibit, table: &Table) -> Vec<Series> {
    let of = |name: &str| {
        let points = table.columns.iter().enumerate().filter_map(|(n, column)| {
            let x = if exhibit.columns == Columns::Inputs { n as f64 } else { column.at };
            Some((x, column.entry(name).and_then(Entry::median)? * 1e3))
        });
        Series { name: name.to_owned(), points: points.collect() }
    };
    let all = contenders(table).into_iter().map(of);
    all.filter(|series| !series.points.is_empty()).collect()
}

type Chart<'a, 'b, X> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, plotters::coord::combinators::LogCoord<f64>>>;

fn mesh<X>(chart: &mut Chart<X>, name: &str, label: &dyn Fn(&f64) -> String) -> Painted
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(name).y_desc("ms").x_label_formatter(&label).x_labels(12);
    mesh.light_line_style(WHITE).bold_line_style(RGBColor(225, 225, 225));
    Ok(mesh.draw()?)
}

fn colour(n: usize) -> RGBColor {
    COLOURS[n % COLOURS.len()]
}

/// A line for each contender; where its symbols go.
fn lines<X: Ranged<ValueType = f64>>(chart: &mut Chart<X>, all: &[Series]) -> Painted<Vec<Mark>> {
    let mut marks = vec![];
    for (n, series) in all.iter().enumerate() {
        let line = LineSeries::new(series.points.iter().copied(), colour(n).stroke_width(2));
        chart.draw_series(line)?;
        marks.extend(series.points.iter().map(|point| (n, chart.backend_coord(point))));
    }
    Ok(marks)
}

/// The contenders of an input side by side.
fn dots(chart: &Chart<RangedCoordf64>, all: &[Series]) -> Vec<Mark> {
    let step = 0.7 / all.len() as f64;
    let of = |(n, series): (usize, &Series)| {
        let aside = (n as f64 + 0.5) * step - 0.35;
        let at = |&(x, time): &(f64, f64)| (n, chart.backend_coord(&(x + aside, time)));
        series.points.iter().map(at).collect::<Vec<_>>()
    };
    all.iter().enumerate().flat_map(of).collect()
}

/// A disc for the first colours, a square for the next, then a ring.
fn symbol<'b>(n: usize, (x, y): (i32, i32)) -> DynElement<'b, SVGBackend<'b>, (i32, i32)> {
    let filled = colour(n).filled();
    match n / COLOURS.len() {
        0 => Circle::new((x, y), 4, filled).into_dyn(),
        1 => Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], filled).into_dyn(),
        _ => Circle::new((x, y), 4, colour(n).stroke_width(2)).into_dyn(),
    }
}

fn legend(area: &Area, all: &[Series]) -> Painted {
    for (n, series) in all.iter().enumerate() {
        let y = 40 + 20 * n as i32;
        area.draw(&symbol(n, (12, y)))?;
        let font = ("sans-serif", 13).into_font();
        area.draw(&Text::new(series.name.clone(), (24, y - 7), font))?;
    }
    Ok(())
}
