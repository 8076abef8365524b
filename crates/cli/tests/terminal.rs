//! Pictures, manual pages, versions, completions, colours and plain words.

mod support;

use std::process::Command;
use support::{check, scratch, tamis};

const SPMV: &str = "y(i) = A(i,j) * x(j)";

#[test]
fn matrices_are_drawn() {
    let output = String::from_utf8(tamis(&["info", "data/bar.mtx.gz"]).stdout).expect("text");
    let dots =
        output.lines().filter(|line| line.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
    assert_eq!(dots.count(), 20, "{output}");
    assert!(output.contains("entries per row"), "{output}");
    let path = scratch("bar.svg");
    check(&["info", "data/bar.mtx.gz", "--plot", &path.to_string_lossy()], 0, "600 x 600");
    assert!(std::fs::read_to_string(path).expect("written").starts_with("<svg "));
    let tensor = crate::support::scratch("t.tns");
    std::fs::write(&tensor, "1 1 1 1\n1 2 4 1\n3 2 4 1\n").expect("written");
    let printed =
        String::from_utf8(tamis(&["info", &tensor.to_string_lossy()]).stdout).expect("text");
    for mode in 1..=3 {
        assert!(
            printed.contains(&format!("\nentries per coordinate of mode {mode}\n")),
            "{printed}"
        );
    }
    check(&["info", "data/bar.mtx.gz", "--plot", "bar.gif"], 2, "help: end the name in .svg");
}

/// The commands that help lists.
fn commands() -> Vec<String> {
    let help = String::from_utf8(tamis(&["--help"]).stdout).expect("text");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names.filter(|name| *name != "help").map(str::to_owned).collect();
    assert!(names.contains(&"run".to_owned()), "{help}");
    names
}

#[test]
fn each_command_has_a_manual_page_and_examples() {
    check(&["man"], 0, ".TH tamis 1");
    check(&["--help"], 0, "Examples:");
    for command in commands() {
        check(&["man", &command], 0, &format!(".TH tamis-{command} 1"));
        check(&["man", &command], 0, "Examples:");
        check(&[&command, "--help"], 0, "Examples:");
    }
    check(&["man", "rum"], 2, "help: did you mean run?");
}

#[test]
fn versions_are_a_fact_a_line() {
    let told = |option: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.arg(option).envs(variables.iter().copied());
        String::from_utf8(command.output().expect("it starts").stdout).expect("text")
    };
    let first = format!("tamis {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(told("-V", &[]), first);
    let text = told("--version", &[("TAMIS_CC", "off"), ("TAMIS_CPU", "native")]);
    assert!(text.starts_with(&first), "{text}");
    let facts = text.lines().skip(1).map(|line| line.split_once(": ").expect("a fact"));
    let (names, values): (Vec<&str>, Vec<&str>) = facts.unzip();
    assert_eq!(
        names,
        ["features", "backends", "processor", "processor level", "C compiler"],
        "{text}"
    );
    for feature in ["jit", "c-tier", "cuda", "io", "dist"] {
        assert!(values[0].split(", ").any(|name| name == feature), "{text}");
    }
    assert!(values[1].starts_with("auto, jit, interp"), "{text}");
    assert_eq!(values[3..], ["native", "none"], "{text}");
}

#[test]
fn shells_complete_values() {
    for shell in ["bash", "zsh", "fish"] {
        for value in ["interp-vectors", "lattice", "assemble", "bf16", "npz", "c-library", "bcsr"] {
            check(&["completions", shell], 0, value);
        }
    }
}

#[test]
fn colours_follow_the_environment() {
    let told = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        command.args(args).envs(variables.iter().copied());
        String::from_utf8(command.output().expect("it starts").stderr).expect("text")
    };
    for args in [&["run", "y = q +"][..], &["run", "--threds", "2"]] {
        assert!(!told(&[], args).contains('\x1b'));
        assert!(!told(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], args).contains('\x1b'));
        assert!(told(&[("CLICOLOR_FORCE", "1")], args).contains("\x1b["));
    }
}

#[test]
fn explanations_begin_with_plain_words() {
    let operands = ["-i", "A=data/bar.mtx.gz"];
    let output = tamis(&[&["explain", SPMV][..], &operands].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "# This computes y from A (csr) and x (dense).", "{text}");
    assert!(lines[1].starts_with("# It takes the sum over j; "), "{text}");
    assert!(lines[2].starts_with("# Below is what each stage"), "{text}");
    assert_eq!(lines[3], "---- notation", "{text}");
}

/// What is no text is not printed. Where there is no `script`, there is no terminal to try.
#[cfg(target_os = "linux")]
#[test]
fn archives_are_not_printed_on_a_terminal() {
    let convert = "convert data/bar.mtx.gz - --format npz";
    let command = format!("{} {convert}", env!("CARGO_BIN_EXE_tamis"));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(folder);
    let Ok(output) = script.output() else { return };
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("are no text, and standard output is a terminal"), "{told}");
    let piped = tamis(&convert.split(' ').collect::<Vec<_>>());
    assert!(piped.stdout.starts_with(b"PK"), "{piped:?}");
}
