//! What `explain` shows of operands is what `run` compiles for them.

#![cfg(unix)]

mod support;

use serde_json::Value;
use support::tamis;

/// What the command prints.
fn printed(command: &[&str], tensors: &[&str], last: &[&str]) -> String {
    let output = tamis(&[command, tensors, last].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} {tensors:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The results of kernels with the variables of their loops, in order, as `run` tells them.
fn compiled(told: &str) -> Vec<(String, Vec<String>)> {
    let told: Value = serde_json::from_str(told).expect("one object");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let kernels = told["kernels"].as_array().expect("kernels").iter();
    let of = |kernel: &Value| {
        let loops = kernel["loops"].as_array().expect("loops").iter();
        (text(&kernel["result"]), loops.map(|l| text(&l["variable"])).collect())
    };
    kernels.map(of).collect()
}

/// Those of kernels in concrete index notation, one a line.
fn explained(text: &str) -> Vec<(String, Vec<String>)> {
    let kernel = |line: &str| {
        let parts: Vec<&str> = line.split("forall(").collect();
        let (last, outer) = parts.split_last().expect("a part");
        let variable = |part: &&str| part.split(',').next().unwrap_or_default().to_owned();
        let (inner, statement) = last.split_once(", ").expect("a statement");
        let result = statement.split('(').next().unwrap_or_default();
        let outer = outer.iter().skip(1).map(variable);
        (result.to_owned(), outer.chain([inner.to_owned()]).collect())
    };
    text.lines().map(kernel).collect()
}

#[test]
fn kernels_are_those_that_run() {
    let formats = ["csr", "dok", "ell", "dia", "bcsr(4,4)", "csb(128,128)", "bitmap", "dense"];
    for program in ["R(i,j) = X(i,j) * Y(j,i)", "R(i,j) = X(i,j) * Y(i,j)"] {
        for format in formats {
            let x = format!("X={format}");
            let tensors = ["-f", &x, "-f", "Y=csr", "-f", "R=csr", "-g"];
            let tensors =
                [&tensors[..], &["X=1000x1000:0.02:1", "-g", "Y=1000x1000:0.04:2"]].concat();
            let dry = ["--dry-run", "--json", "--quiet", "--backend", "jit"];
            let run = compiled(&printed(&["run", program], &tensors, &dry));
            let shown = explained(&printed(&["explain", program], &tensors, &["--emit", "cin"]));
            assert_eq!(shown, run, "{program} with {x}");
        }
    }
}
