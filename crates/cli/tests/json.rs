//! What `--json` prints is JSON, and has the keys of `docs/guide/json.md`.

mod support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::tamis;

/// The keys that a section of the guide has.
fn documented(section: &str) -> BTreeSet<String> {
    let guide = include_str!("../../../docs/guide/json.md");
    let after = guide.split_once(&format!("\n## {section}\n")).expect("the section is there").1;
    let rows = after.lines().take_while(|line| !line.starts_with("## "));
    let rows = rows.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(key, _)| key.to_owned()).collect()
}

#[track_caller]
fn check_keys(section: &str, object: &Value) {
    let keys = object.as_object().unwrap_or_else(|| panic!("no object: {object}")).keys();
    assert_eq!(keys.cloned().collect::<BTreeSet<_>>(), documented(section), "{section}: {object}");
}

#[track_caller]
fn printed(args: &[&str], status: i32, section: &str) -> Value {
    let output = tamis(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(output.stderr.is_empty(), "{:?}", String::from_utf8_lossy(&output.stderr));
    let object = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    check_keys(section, &object);
    assert_eq!(object["version"], env!("CARGO_PKG_VERSION"));
    object
}

const SPMV: &str = "y(i) = A(i,j) * x(j)";
const OPERANDS: [&str; 4] = ["-i", "A=data/bar.mtx.gz", "-g", "x=dense"];

#[test]
fn runs_tell_all_results_and_times() {
    let both = format!("{SPMV}; s = y(i)");
    let args = [&["run", &both][..], &OPERANDS, &["--time", "2", "-s", "reorder(i,\tj)"]].concat();
    let object = printed(&args, 0, "run");
    for (list, count) in [("results", 2), ("operands", 2)] {
        let list = object[list].as_array().expect("a list");
        assert_eq!(list.len(), count);
        list.iter().for_each(|tensor| check_keys("tensor", tensor));
    }
    let kernels = object["kernels"].as_array().expect("a list");
    assert!(!kernels.is_empty());
    kernels.iter().for_each(|kernel| check_keys("kernel", kernel));
    assert!(kernels.iter().all(|kernel| kernel["tier"] == object["ran_on"][1]), "{object}");
    let [y, s] = &object["results"].as_array().expect("a list")[..] else { panic!("{object}") };
    assert_eq!((&y["name"], &y["dims"], &y["nnz"]), (&json!("y"), &json!([600]), &json!(600)));
    assert_eq!(
        (&y["format"], &y["type"], &y["value"]),
        (&json!("dense"), &json!("f64"), &json!(null))
    );
    assert_eq!((&s["name"], &s["dims"]), (&json!("s"), &json!([])));
    assert!(s["value"].is_f64(), "{s}");
    assert_eq!(object["run_seconds"].as_array().map(Vec::len), Some(2));
    assert_eq!(object["ran_on"].as_array().map(Vec::len), Some(2));
    assert_eq!(object["schedule"], "reorder(i, j)");
    assert!(object["compile_seconds"].as_f64().is_some_and(|t| t > 0.0 && t < 60.0));
}

/// The list under a key.
fn list<'o>(object: &'o Value, key: &str) -> &'o [Value] {
    object[key].as_array().unwrap_or_else(|| panic!("no list {key}: {object}"))
}

#[test]
fn profiles_tell_stages_kernels_and_loops() {
    let args =
        [&["run", SPMV, "-f", "A=csr"][..], &OPERANDS, &["--time", "3", "--profile"]].concat();
    let object = printed(&args, 0, "run");
    let profile = &object["profile"];
    check_keys("profile", profile);
    let stages = profile["stages"].as_object().expect("an object");
    for stage in ["parse", "legalise", "plan", "lower", "passes", "cranelift", "loading"] {
        assert!(stages[stage].as_f64().is_some_and(|t| t > 0.0), "{stage}: {profile}");
    }
    let [kernel] = list(profile, "kernels") else { panic!("{profile}") };
    check_keys("profiled kernel", kernel);
    let nnz = object["operands"][0]["nnz"].as_u64().expect("a number");
    let bytes = ["operands", "results"].map(|of| list(&object, of)).concat();
    let bytes = bytes.iter().map(|tensor| tensor["bytes"].as_u64().expect("bytes")).sum::<u64>();
    assert_eq!((&kernel["bytes"], &kernel["values"]), (&json!(bytes), &json!(600)));
    assert_eq!(kernel["stores"], 600);
    assert!(kernel["seconds"].as_f64().is_some_and(|t| t > 0.0), "{kernel}");
    let loops = list(kernel, "loops");
    loops.iter().for_each(|one| check_keys("profiled loop", one));
    let told = |one: &Value| {
        let key = |key: &str| one[key].clone();
        [key("variable"), key("depth"), key("drivers"), key("iterations"), key("loads")]
    };
    let loops: Vec<_> = loops.iter().map(told).collect();
    let i = [json!("i"), json!(0), json!([]), json!(600), json!(0)];
    let j = [json!("j"), json!(1), json!(["A"]), json!(nnz), json!(3 * nnz + 1200)];
    assert_eq!(loops, [i, j]);
}

#[test]
fn what_takes_too_many_steps_is_estimated() {
    let args = ["run", "a = x(i)", "-d", "i=5000000", "-g", "x=dense", "--profile"];
    let object = printed(&args, 0, "run");
    let profile = &object["profile"];
    assert_eq!(
        (&profile["counted"], &profile["kernels"][0]["loads"]),
        (&json!(false), &json!(null))
    );
    let one = &profile["kernels"][0]["loops"][0];
    assert_eq!(
        (&one["estimated_iterations"], &one["iterations"]),
        (&json!(5_000_000), &json!(null))
    );
}

/// 30 rows with an entry each, in every one of which 9,000 entries of two vectors may be passed.
#[test]
fn entries_that_followers_pass_are_steps() {
    let run = ["run", "R(i,j) = (a(j) + b(j)) * C(i,j)", "-s", "mergeby(j,two_finger)"];
    let operands = ["-g", "a=30000:0.3:1", "-g", "b=30000:0.3:2", "-g", "C=30x30000:1/row:3"];
    let formats = ["-f", "a=sparse", "-f", "b=sparse", "-f", "C=csr", "-f", "R=csr"];
    let args = [&run[..], &operands, &formats, &["--dry-run", "--quiet"]].concat();
    let steps = printed(&args, 0, "dry run")["steps"].as_u64().expect("a number");
    assert!((200_000..600_000).contains(&steps), "{steps}");
}

#[test]
fn dry_runs_tell_memory_steps_and_tier() {
    let args = [&["run", SPMV, "-f", "A=csr"][..], &OPERANDS, &["--dry-run"]].concat();
    let object = printed(&args, 0, "dry run");
    list(&object, "kernels").iter().for_each(|kernel| check_keys("estimated kernel", kernel));
    let operands = list(&object, "operands");
    let bytes = operands.iter().map(|tensor| tensor["bytes"].as_u64().expect("bytes")).sum::<u64>();
    let nnz = operands[0]["nnz"].as_u64().expect("a number");
    assert_eq!(object["operand_bytes"], bytes);
    assert_eq!((&object["result_bytes"], &object["steps"]), (&json!(4800), &json!(600 + nnz)));
    assert_eq!((&object["bytes"], &object["tier"]), (&json!(bytes + 4800), &json!("jit")));
    let several = [&args[..], &["--ranks", "2"]].concat();
    printed(&several, 2, "failure");
}

/// Estimates are whole, those of products at random, too.
#[test]
fn estimates_are_whole_numbers() {
    let matrix = ["-f", "A=csr", "-f", "C=csr", "-i", "A=data/bar.mtx.gz", "--dry-run"];
    let args = [&["run", "C(i,j) = A(i,k) * A(k,j)"][..], &matrix].concat();
    let object = printed(&args, 0, "dry run");
    let kernel = &list(&object, "kernels")[0];
    for key in ["steps", "bytes", "workspace_bytes"] {
        assert!(object[key].is_u64() && kernel[key].is_u64(), "{key}: {object}");
    }
    assert!(object["result_bytes"].is_u64() && kernel["values"].is_u64(), "{object}");
    assert!(list(kernel, "loops").iter().all(|one| one["iterations"].is_u64()), "{object}");
}

#[test]
fn numbers_that_json_lacks_are_texts() {
    let result = |text: &str, input: &str| {
        let object = printed(&["run", text, "-i", input], 0, "run");
        object["results"][0]["value"].clone()
    };
    assert_eq!(result("a = 2 * b", "b=inf"), json!("inf"));
    assert_eq!(result("a = b", "b=1+2j"), json!([1.0, 2.0]));
}

#[test]
fn warnings_and_errors_are_objects() {
    let quotients = ["run", "y(i) = A(i,j) / d(j)", "-f", "A=csr", "-g", "A=5000x5000:0.000001"];
    let object = printed(&[&quotients[..], &["-g", "d=dense", "--strict"]].concat(), 0, "run");
    let [warning] = &object["warnings"].as_array().expect("a list")[..] else { panic!("{object}") };
    check_keys("error", warning);
    assert_eq!(warning["code"], "many-steps");
    let wrong: [(&[&str], i32, &str, Value); 5] = [
        (
            &["run", "y(i) = x(i"],
            2,
            "syntax",
            json!({"text": "y(i) = x(i", "start": 10, "end": 10}),
        ),
        (
            &["run", SPMV, "-i", "A=none.mtx"],
            1,
            "file-not-readable",
            json!({"file": "none.mtx", "line": null, "column": null}),
        ),
        (&["run", SPMV, "--thread", "2"], 2, "invalid-option", json!(null)),
        (&["explain", SPMV, "--emit", "cim"], 2, "invalid-option", json!(null)),
        (
            &["info", "none.xyz"],
            2,
            "file-unknown-format",
            json!({"file": "none.xyz", "line": null, "column": null}),
        ),
    ];
    for (args, status, code, place) in wrong {
        let object = printed(args, status, "failure");
        check_keys("error", &object["error"]);
        assert_eq!(object["error"]["code"], code, "{object}");
        assert_eq!(object["error"]["place"], place, "{object}");
    }
}

#[test]
fn other_commands_print_objects() {
    let object = printed(&["explain", SPMV, "-f", "A=csr", "--emit", "cin,c"], 0, "explain");
    let stages = object["stages"].as_object().expect("an object");
    assert_eq!(stages.keys().collect::<Vec<_>>(), ["c", "cin"]);
    let object = printed(&["info", "data/bar.mtx.gz"], 0, "info");
    assert_eq!(object["dims"], json!([600, 600]));
    assert!(object["formats"].as_array().is_some_and(|formats| formats.len() > 5));
    let modes = list(&object, "modes");
    modes.iter().for_each(|mode| check_keys("mode", mode));
    for mode in modes {
        let counts = list(mode, "histogram").iter().map(|bucket| bucket["count"].as_u64());
        assert_eq!(counts.sum::<Option<u64>>(), Some(600), "{mode}");
    }
    assert_eq!((modes.len(), list(&object, "blocks").len()), (2, 5));
    assert!(object["diagonals"]["count"].is_u64() && object["symmetric_pattern"].is_boolean());
    let output = support::scratch("bar.rb");
    let output = output.to_string_lossy();
    let object = printed(&["convert", "data/bar.mtx.gz", &output], 0, "convert");
    assert_eq!(object["output_format"], "rb");
    assert!(object["written"].is_u64() && object["nnz"].is_u64(), "{object}");
    printed(&["convert", "data/bar.mtx.gz", "-"], 2, "failure");
    let library = support::scratch("spmv");
    let library = library.to_string_lossy();
    let object = printed(&["build", SPMV, "-f", "A=csr", "-o", &library], 0, "build");
    assert_eq!((&object["name"], &object["language"]), (&json!("spmv"), &json!("c-library")));
    let [header, code] = list(&object, "files") else { panic!("{object}") };
    assert!(header["file"].as_str().is_some_and(|file| file.ends_with("spmv.h")), "{object}");
    assert!(code["lines"].as_u64().is_some_and(|lines| lines > 5), "{object}");
    let object = printed(&["formats"], 0, "formats");
    let names = object["formats"].as_array().expect("a list").iter().map(|f| &f["name"]);
    assert!(names.clone().any(|name| name == "csr"), "{object}");
}

#[test]
fn files_tell_their_field_and_symmetry() {
    for (field, symmetry, value) in [
        ("pattern", "symmetric", ""),
        ("integer", "skew-symmetric", " 3"),
        ("complex", "hermitian", " 3 1"),
    ] {
        let text =
            format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n2 2 1\n2 1{value}\n");
        let file = support::scratch("kind.mtx");
        std::fs::write(&file, text).expect("written");
        let file = file.to_string_lossy();
        let object = printed(&["info", &file], 0, "info");
        assert_eq!((&object["field"], &object["symmetry"]), (&json!(field), &json!(symmetry)));
        support::check(&["info", &file], 0, &format!("stored as   {field}, {symmetry}\n"));
    }
}
