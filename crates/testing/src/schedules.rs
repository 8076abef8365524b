//! Random schedules: commands over the loops that a program has, most of which can be applied.
//!
//! Commands that are refused stay now and then, so that refusals are met too.

use crate::case::Case;
use crate::random::Random;
use tamis::Backend;
use tamis_core::cin::{Program, print};
use tamis_core::notation::Expr;
use tamis_ir::algebra::ZeroRule;
use tamis_ir::ids::IndexVar;

/// Commands that put loops of the last kernel on units of a GPU; empty if none can be.
pub fn on_gpu(random: &mut Random, case: &Case, schedule: &str) -> String {
    if random.one_in(4)
        && let Some(tiles) = tiles(random, case)
    {
        return tiles;
    }
    if random.one_in(4)
        && let Some(staged) = staged(random, case)
    {
        return staged;
    }
    let program = match compiled(case, schedule) {
        Compiled::Program(program) => program,
        Compiled::Refused => return String::new(),
        // A panic is a fault, which whoever checks the case finds again.
        Compiled::Panicked => return schedule.to_owned(),
    };
    let Some(kernel) = program.kernels.last() else { return String::new() };
    let mut loops = kernel.body.loops();
    let mut commands = vec![];
    // More than one loop over threads is where workspaces are filled and read.
    let units = ["gpu_block", "gpu_warp", "gpu_thread", "gpu_thread", "gpu_thread"];
    for (k, unit) in units.into_iter().enumerate() {
        if loops.is_empty() || ((unit == "gpu_warp" || k > 2) && random.one_in(2)) {
            continue;
        }
        let at = if unit == "gpu_block" { 0 } else { random.below(loops.len()) };
        let var = program.vars[loops[at]].clone();
        loops.drain(..=at);
        let races = random.pick(&["atomics", "atomics", "ignore_races", "parallel_reduction"]);
        commands.push(format!("parallelize({var}, {unit}, {races})"));
    }
    let mut text = schedule.to_owned();
    for command in commands {
        let separator = if text.is_empty() { "" } else { "; " };
        let longer = format!("{text}{separator}{command}");
        if !matches!(compiled(case, &longer), Compiled::Refused) {
            text = longer;
        }
    }
    text
}

/// Tiles of positions of an operand on units of a GPU, whose sums are added up in order, if some of these
/// can be.
fn tiles(random: &mut Random, case: &Case) -> Option<String> {
    let Compiled::Program(program) = compiled(case, "") else { return None };
    let kernel = program.kernels.last()?;
    let name = |v: &IndexVar| program.vars[*v].clone();
    let loops: Vec<String> = kernel.body.loops().iter().map(name).collect();
    for access in kernel.body.reads() {
        let levels: Vec<String> =
            program.level_vars(access.tensor, &access.indices).iter().map(name).collect();
        if levels.len() < 2 || !loops.starts_with(&levels) {
            continue;
        }
        let mut outer = levels[0].clone();
        let mut text = String::new();
        for (k, level) in levels[1..].iter().enumerate() {
            text += &format!("fuse({outer}, {level}, fused{k}); ");
            outer = format!("fused{k}");
        }
        let (tile, part) = (2 + random.below(12), 1 + random.below(4));
        text += &format!("pos({outer}, at, {}); ", print::access(&program, access));
        text += &format!("split(at, block, rest, {tile}); split(rest, inner, nz, {part}); ");
        let columns = &loops[levels.len()..];
        let unit = if random.one_in(2) { "gpu_warp" } else { "gpu_thread" };
        let mut units = vec![("block", "gpu_block"), ("inner", unit)];
        if let (Some(column), true) = (columns.first(), random.one_in(2)) {
            let inner = columns[1..].join(", ");
            let inner = if inner.is_empty() { inner } else { format!(", {inner}") };
            text += &format!("reorder(block, inner, {column}, nz{inner}); ");
            units.extend((unit == "gpu_warp").then_some((column.as_str(), "gpu_thread")));
        }
        let races = random.pick(&["temporary", "temporary", "parallel_reduction"]);
        let on = |(var, unit): &(&str, &str)| format!("parallelize({var}, {unit}, {races})");
        text += &units.iter().map(on).collect::<Vec<_>>().join("; ");
        if !matches!(compiled(case, &text), Compiled::Refused) {
            return Some(text);
        }
    }
    None
}

/// A tile of an operand that the threads of a block, or of a warp, put into a workspace and read there, if
/// there can be one.
fn staged(random: &mut Random, case: &Case) -> Option<String> {
    let Compiled::Program(program) = compiled(case, "") else { return None };
    let kernel = program.kernels.last()?;
    let name = |v: &IndexVar| program.vars[*v].clone();
    let loops: Vec<String> = kernel.body.loops().iter().map(name).collect();
    let reads = kernel.body.reads();
    let access = (!reads.is_empty()).then(|| random.pick(&reads))?;
    let vars: Vec<String> = access.indices.iter().map(name).filter(|v| loops.contains(v)).collect();
    let var = (!vars.is_empty()).then(|| random.pick(&vars))?;
    let mut order: Vec<&str> = loops.iter().filter(|v| *v != var).map(String::as_str).collect();
    order.insert(random.below(order.len() + 1).min(1), "tile");
    order.push("place");
    let unit = random.pick(&["gpu_thread", "gpu_thread", "gpu_warp"]);
    let mut text = format!(
        "split({var}, tile, offset, {}); reorder({}); precompute({}, offset, own, staged, dense); \
         parallelize({}, gpu_block, atomics); parallelize(own, {unit}, no_races)",
        1 + random.below(12),
        order.join(", "),
        print::access(&program, access),
        order[0],
    );
    if matches!(compiled(case, &text), Compiled::Refused) {
        return None;
    }
    for unit in ["gpu_warp", "gpu_thread"] {
        let races = random.pick(&["atomics", "parallel_reduction"]);
        let inner = random.pick(&order[1..]);
        let longer = format!("{text}; parallelize({inner}, {unit}, {races})");
        if !matches!(compiled(case, &longer), Compiled::Refused) {
            text = longer;
        }
    }
    Some(text)
}

/// The schedule of a case, with a loop of its last kernel that ranks share, by coordinates or by positions of an
/// operand, if there can be one; refusals stay now and then.
pub fn on_ranks(random: &mut Random, case: &Case) -> String {
    let Compiled::Program(program) = compiled(case, &case.schedule) else {
        return case.schedule.clone();
    };
    let Some(kernel) = program.kernels.last() else { return case.schedule.clone() };
    let name = |v: &IndexVar| program.vars[*v].clone();
    let loops: Vec<String> = kernel.body.loops().iter().map(name).collect();
    if loops.is_empty() {
        return case.schedule.clone();
    }
    let at = if random.one_in(4) { random.below(loops.len()) } else { 0 };
    let (mut var, mut text) = (loops[at].clone(), case.schedule.clone());
    let add = |text: &mut String, command: String| {
        let separator = if text.is_empty() { "" } else { "; " };
        *text += &format!("{separator}{command}");
    };
    let reads = kernel.body.reads();
    if !reads.is_empty() && random.one_in(2) {
        let access = random.pick(&reads);
        let levels: Vec<String> =
            program.level_vars(access.tensor, &access.indices).iter().map(name).collect();
        let levels = &levels[..(1 + random.below(levels.len().max(1))).min(levels.len())];
        if !levels.is_empty() && loops.starts_with(levels) {
            var = levels[0].clone();
            for (k, level) in levels[1..].iter().enumerate() {
                add(&mut text, format!("fuse({var}, {level}, fused{k})"));
                var = format!("fused{k}");
            }
            add(&mut text, format!("pos({var}, at, {})", print::access(&program, access)));
            var = "at".to_owned();
        }
    }
    add(&mut text, format!("distribute({var}, of_rank, own, x)"));
    if random.one_in(3) && !reads.is_empty() {
        let operand = &program.tensors[random.pick(&reads).tensor].name;
        add(&mut text, format!("communicate({operand}, of_rank)"));
    }
    if random.one_in(5) {
        add(&mut text, format!("split(own, outer, inner, {})", 1 + random.below(5)));
    }
    if matches!(compiled(case, &text), Compiled::Refused) && !random.one_in(8) {
        text = case.schedule.clone();
    }
    // Another loop along another axis of the grid.
    let others: Vec<&String> = loops.iter().filter(|other| **other != var).collect();
    if !others.is_empty() && random.one_in(2) {
        let mut longer = text.clone();
        let other = random.pick(&others);
        add(&mut longer, format!("distribute({other}, of_group, of_slice, y)"));
        if !matches!(compiled(case, &longer), Compiled::Refused) {
            return longer;
        }
    }
    text
}

/// A schedule for a case, empty if the case does not compile.
pub fn schedule(random: &mut Random, case: &Case) -> String {
    let mut text = String::new();
    for n in 0..1 + random.below(4) {
        let Compiled::Program(program) = compiled(case, &text) else { break };
        let Some(command) = command(random, &program, n) else { break };
        let separator = if text.is_empty() { "" } else { "; " };
        let longer = format!("{text}{separator}{command}");
        let applies = !matches!(compiled(case, &longer), Compiled::Refused);
        if applies || random.one_in(8) {
            text = longer;
        }
    }
    text
}

/// Commands for a case, legal or not; `None` if it does not compile, or has no loop.
pub fn blind(random: &mut Random, case: &Case) -> Option<String> {
    let Compiled::Program(program) = compiled(case, "") else { return None };
    command(random, &program, 0)
}

enum Compiled {
    Program(Box<Program>),
    Refused,
    Panicked,
}

fn compiled(case: &Case, schedule: &str) -> Compiled {
    let case = Case { schedule: schedule.to_owned(), ..case.clone() };
    match std::panic::catch_unwind(|| case.compile(Backend::Interpreter)) {
        Ok(Ok(kernel)) => Compiled::Program(Box::new(kernel.compiled().program.clone())),
        Ok(Err(_)) => Compiled::Refused,
        Err(_) => Compiled::Panicked,
    }
}

/// A command for the last kernel; `n` makes its names new.
fn command(random: &mut Random, program: &Program, n: usize) -> Option<String> {
    let kernel = program.kernels.last()?;
    let mut loops = kernel.body.loops();
    if loops.is_empty() {
        return None;
    }
    if random.one_in(3) {
        loops = coordinates(program, &loops);
    }
    let name = |v: IndexVar| program.vars[v].clone();
    let at = random.below(loops.len());
    let var = name(loops[at]);
    let next = loops.get(at + 1).map(|&v| name(v));
    let operands: Vec<String> =
        kernel.body.reads().iter().map(|a| print::access(program, a)).collect();
    Some(match random.below(16) {
        0 | 1 => format!("split({var}, {var}o{n}, {var}i{n}, {})", 1 + random.below(5)),
        2 => {
            // Also into far more parts than there are coordinates.
            let parts = random.pick(&[1, 2, 3, 4, 2_000_000_000]);
            format!("divide({var}, {var}o{n}, {var}i{n}, {parts})")
        }
        3 => {
            let mut some = loops[at..].to_vec();
            some.truncate(2 + random.below(3));
            random.shuffle(&mut some);
            let names: Vec<String> = some.into_iter().map(name).collect();
            format!("reorder({})", names.join(", "))
        }
        4 => fused(random, program, (&var, &next?), n)?,
        5 if !operands.is_empty() => positions(random, (&var, next.as_deref()), n, &operands)?,
        6 if !operands.is_empty() => {
            let operand = random.pick(&operands);
            format!("fuse({var}, {}, f{n}); pos(f{n}, p{n}, {operand})", next?)
        }
        7 => format!("unroll({var}, {})", 1 + random.below(4)),
        8 => {
            let kind = random.pick(&["max_constraint", "max_exact"]);
            format!("bound({var}, {var}b{n}, {}, {kind})", random.pick(&[1, 2, 3, 64]))
        }
        9 => {
            let unit = random.pick(&["cpu_thread", "cpu_vector", "cpu_vector", "not_parallel"]);
            let races = ["no_races", "ignore_races", "atomics", "temporary", "parallel_reduction"];
            format!("parallelize({var}, {unit}, {})", random.pick(&races))
        }
        15 => format!("distribute({var}, {var}o{n}, {var}i{n}, x)"),
        13 => format!("loopfuse({})", 1 + random.below(2)),
        14 => {
            let result = &program.tensors[kernel.result].name;
            format!("assemble({result}, {})", random.pick(&["append", "insert"]))
        }
        10 => format!("mergeby({var}, {})", random.pick(&["gallop", "gallop", "two_finger"])),
        _ => precompute(random, program, (&var, next.as_deref()), n)?,
    })
}

/// A loop over positions of an operand: all of them, or those in a tile of coordinates.
fn positions(
    random: &mut Random,
    (var, next): (&str, Option<&str>),
    n: usize,
    operands: &[String],
) -> Option<String> {
    let operand = random.pick(operands);
    let (command, into) = (random.pick(&["split", "divide"]), 1 + random.below(5));
    let tile = format!("{command}({var}, {var}o{n}, {var}i{n}, {into})");
    Some(match random.below(4) {
        0 => format!("{tile}; pos({var}i{n}, p{n}, {operand})"),
        1 => format!("{tile}; fuse({var}i{n}, {}, f{n}); pos(f{n}, p{n}, {operand})", next?),
        _ => format!("pos({var}, p{n}, {operand})"),
    })
}

/// Two loops as one, and something made of that: alone it is two loops again.
fn fused(
    random: &mut Random,
    program: &Program,
    (var, next): (&str, &str),
    n: usize,
) -> Option<String> {
    let more = match random.below(5) {
        4 => precompute(random, program, (&format!("f{n}"), None), n)?,
        0 => format!("split(f{n}, fo{n}, fi{n}, {})", 1 + random.below(5)),
        1 => format!("divide(f{n}, fo{n}, fi{n}, {})", 1 + random.below(4)),
        2 => format!("bound(f{n}, fb{n}, {}, max_exact)", random.pick(&[1, 4, 9, 16])),
        _ => format!("parallelize(f{n}, cpu_thread, no_races)"),
    };
    Some(format!("fuse({var}, {next}, f{n}); {more}"))
}

/// The loops, with coordinates of the notation instead of blocks, offsets, diagonals and slots.
fn coordinates(program: &Program, loops: &[IndexVar]) -> Vec<IndexVar> {
    let mut found = vec![];
    for &v in loops {
        let modes = program.derived.map(v).map_or(vec![v], |map| map.modes());
        found.extend(modes.into_iter().filter(|v| !found.contains(v)).collect::<Vec<_>>());
    }
    found
}

/// Whether a value has functions that are 0 where the first argument is absent, whatever the second one is.
fn divides(e: &Expr) -> bool {
    matches!(e, Expr::Binary(op, ..) if op.zero_rule() == ZeroRule::First)
        || e.children().into_iter().any(divides)
}

/// A part of a value over no loop, one or two.
fn precompute(
    random: &mut Random,
    program: &Program,
    (var, next): (&str, Option<&str>),
    n: usize,
) -> Option<String> {
    let mut values: Vec<Expr> = vec![];
    program.kernels.last()?.body.for_each_assign(&mut |_, _, rhs| values.push(rhs.clone()));
    let divides = values.iter().any(divides);
    let mut part = random.pick(&values);
    while !part.children().is_empty() && random.one_in(2) {
        let children = part.children();
        part = children[random.below(children.len())];
    }
    let mut part = print::expr(program, part);
    // The terms of long sums are in statements of their own.
    if values.len() > 3 && random.one_in(2) {
        values.retain(|_| random.one_in(2));
        let terms: Vec<String> = values.iter().map(|e| print::expr(program, e)).collect();
        part = if terms.is_empty() { part } else { terms.join(" + ") };
    }
    if random.one_in(4) {
        return Some(format!("precompute({part}, (), (), w{n})"));
    }
    let renamed = random.one_in(2);
    let own = |v: &str| if renamed { format!("{v}w{n}") } else { v.to_owned() };
    let kind = *random.pick(&["", "", ", dense", ", listed", ", bitmap", ", hashed"]);
    // The zeros of a dense workspace are numbers, which divided by an absent one are NaN.
    let kind = if kind == ", dense" && divides { "" } else { kind };
    Some(match next.filter(|_| random.one_in(3)) {
        Some(next) => {
            let (a, b) = (own(var), own(next));
            match random.one_in(2) {
                true => format!("precompute({part}, ({var}, {next}), ({a}, {b}), w{n}{kind})"),
                false => format!("precompute({part}, {{{var}, {next}}}, {{{a}, {b}}}, w{n}{kind})"),
            }
        }
        None => format!("precompute({part}, {var}, {}, w{n}{kind})", own(var)),
    })
}
