//! Every barrier, mask and condition of a single thread in kernels is needed: without it, the
//! emulated GPU gives a wrong number or meets a fault.

use std::path::Path;
use tamis::{Backend, Kernel, Tensor};
use tamis_cuda::emulated;
use tamis_ir::backend::cuda;
use tamis_ir::ids::Id;
use tamis_ir::ir::Function;
use tamis_runtime::kernel::Call;
use tamis_testing::case::Case;
use tamis_testing::filetest;
use tamis_testing::functions::bits;

/// How often a text runs before it counts as right.
const RUNS: usize = 60;

/// Files whose kernels have barriers, masks and conditions.
const FILES: [&str; 9] = [
    "schedules-gpu-block-sum",
    "schedules-gpu-scalar",
    "schedules-gpu-rows",
    "schedules-gpu-exchange",
    "schedules-gpu-shared-tile",
    "schedules-gpu-shared-turns",
    "schedules-gpu-shared-row",
    "schedules-gpu-shared-warps",
    "schedules-gpu-shared-sums",
];

/// Eight threads for each of the rows that an operand lists.
const PARTS_OF_WARPS: &str = "pos(i, row, A(i,j)); split(row, block, warp, 32); pos(j, fused, A(i,j)); \
    split(fused, rest, thread, 8); reorder(block, warp, thread, rest); \
    parallelize(block, gpu_block, no_races); parallelize(warp, gpu_warp, no_races); \
    parallelize(thread, gpu_thread, parallel_reduction)";

#[test]
fn none_can_be_left_out() {
    if !tamis::has_c_compiler() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let (mut barriers, mut conditions) = (0, 0);
    for name in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
        let text = std::fs::read_to_string(path.join(format!("{name}.test"))).unwrap();
        let case = filetest::cases(&text).unwrap().remove(0);
        let checked = Checked::of(&case);
        let text = checked.text();
        assert!(checked.is_right(&text), "{name} is wrong as it is");
        for changed in without_one(&text, &["__syncthreads();", "__syncwarp("]) {
            assert!(!checked.is_right(&changed), "{name}: no barrier is missed in\n{changed}");
            barriers += 1;
        }
        for changed in without_conditions(&text) {
            assert!(!checked.is_right(&changed), "{name}: no condition is missed in\n{changed}");
            conditions += 1;
        }
    }
    assert!(barriers >= 16 && conditions >= 1, "{barriers} barriers, {conditions} conditions");
    // The second has two phases, and sums in the one that fills; so has the third, of rows with numbers.
    for name in ["schedules-gpu-rows", "gpu-sparse-sddmm", "gpu-sparse-vector"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
        let text = std::fs::read_to_string(path.join(format!("{name}.test"))).unwrap();
        let mut case = filetest::cases(&text).unwrap().remove(0);
        if name == "gpu-sparse-vector" {
            PARTS_OF_WARPS.clone_into(&mut case.schedule);
        }
        let checked = Checked::of(&case);
        let whole =
            checked.text().replace("return width == 32 ? 0xffffffffu :", "return 0xffffffffu; //");
        assert!(!checked.is_right(&whole), "{name}: masks of parts of warps are not missed");
    }
}

/// So many tiles that blocks join what blocks have joined.
const TILES: usize = 66_000;

/// Of all kernels that join carries of tiles, whatever they join.
#[test]
fn no_barrier_between_tiles_can_be_left_out() {
    if !tamis::has_c_compiler() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let entries: String = (0..TILES).map(|j| format!(" (1,{j}):{}", 1 + j % 7)).collect();
    let text = format!(
        "# one row\nA: csr\ny: dense\ny(i) = A(i,j)\nschedule: fuse(i, j, f); pos(f, p, A(i,j))\n\
         schedule: split(p, block, thread, 256); parallelize(block, gpu_block, temporary)\n\
         schedule: parallelize(thread, gpu_thread, temporary)\n---- run\nA 3x{TILES} ={entries}\n"
    );
    let checked = Checked::of(&filetest::cases(&text).unwrap().remove(0));
    let text = checked.text();
    assert!(checked.is_right_in(&text, 3), "it is wrong as it is");
    let without = without_one(&text, &["__syncthreads();"]);
    assert_eq!(without.len(), 2);
    for changed in without {
        assert!(!checked.is_right_in(&changed, 3), "no barrier is missed in\n{changed}");
    }
}

/// A case with one kernel, and what it gives.
struct Checked {
    kernel: Kernel,
    operands: Vec<(String, Tensor)>,
    expected: Tensor,
}

impl Checked {
    fn of(case: &Case) -> Checked {
        let operands: Vec<(String, Tensor)> =
            case.operands.iter().map(|o| (o.name.clone(), o.tensor().unwrap())).collect();
        let named: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let on = |backend: Backend| {
            Kernel::compile(&case.text, &named, &case.options(backend).unwrap()).unwrap()
        };
        let expected = on(Backend::Interpreter).run(&named).unwrap().remove(0).1;
        let kernel = on(Backend::CudaEmulated);
        Checked { kernel, operands, expected }
    }

    fn function(&self) -> &Function {
        &self.kernel.compiled().functions[0].function
    }

    fn text(&self) -> String {
        cuda::emit(&[self.function()])
    }

    /// Whether a text gives the right result whenever it runs.
    fn is_right(&self, text: &str) -> bool {
        self.is_right_in(text, RUNS)
    }

    /// Whether it does in so many runs.
    fn is_right_in(&self, text: &str, runs: usize) -> bool {
        let compiled = emulated::compile_text(&[self.function()], text).unwrap();
        let named: Vec<(&str, &Tensor)> =
            self.operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let (values, dims) = self.kernel.bind(&named).unwrap();
        let program = &self.kernel.compiled().program;
        let id = program.kernels[0].result;
        let call = Call {
            target: &program.tensors[id],
            id,
            lowered: &self.kernel.compiled().functions[0],
            executable: &compiled[0],
            values: &values,
            dims: &dims,
            pack: tamis::pack,
            threads: usize::MAX,
            grain: u64::MAX,
            follows: false,
            packs: false,
        };
        assert!(values[id.index()].is_none());
        (0..runs).all(|_| call.run().is_ok_and(|result| bits(&result) == bits(&self.expected)))
    }
}

/// The text without one of the statements that begin so, for each.
fn without_one(text: &str, statements: &[&str]) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_one = |line: &str| statements.iter().any(|s| line.trim_start().starts_with(s));
    let places = (0..lines.len()).filter(|&k| is_one(lines[k]));
    places.map(|k| [&lines[..k], &lines[k + 1..]].concat().join("\n") + "\n").collect()
}

/// The text without one of the conditions that let a single thread do something, for each. All
/// threads may store the same value, so conditions of plain stores are left alone.
fn without_conditions(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut changed = vec![];
    for (k, line) in lines.iter().enumerate() {
        let Some((condition, rest)) = line.split_once(") ") else { continue };
        let updates = |rest: &str| {
            let array = rest.split('[').next().unwrap_or_default();
            let reads = rest.split_once("] = ").is_some_and(|(_, value)| value.contains(array));
            rest.starts_with("tamis_update") || reads
        };
        let of_one = condition.trim_start().starts_with("if (threadIdx.x") && updates(rest);
        if of_one {
            let mut lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            lines[k] = rest.to_owned();
            changed.push(lines.join("\n") + "\n");
        }
    }
    changed
}
