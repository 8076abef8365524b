//! Processes that end while they write or compile, that write the same at the same time, and compilers that
//! do not end.

use crate::site::{PRODUCT, Site, is_right, product, skipped, text};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tamis::temporary::Temporary;

/// Whoever waits longer waits for nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// A compiler that does not end, nor does the program that it started.
const HANGS: &str = "sleep 1000 & echo $! >>\"$(dirname \"$0\")/log\"; wait";
/// A result whose file takes a while.
const LARGE: [&str; 6] = ["run", "C(i,j) = A(i,j)", "-g", "A=1500x1500:0.9:1", "-o", "C=large.mtx"];

fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Whether a process runs.
fn runs(process: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output();
    let state = output.map(|output| text(&output)).unwrap_or_default();
    !state.trim().is_empty() && !state.starts_with('Z')
}

const SIGNALS: [(&str, i32); 3] = [("-INT", 2), ("-TERM", 15), ("-HUP", 1)];

#[test]
fn signals_while_writing_leave_nothing() {
    let site = Site::new();
    fs::write(site.path("large.mtx"), "before").unwrap();
    for (signal, number) in SIGNALS {
        let mut child = site.command(&LARGE).spawn().unwrap();
        until("a temporary file", || site.litter().iter().any(|path| path.is_file()));
        send(signal, &child);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{signal}");
        assert!(site.litter().is_empty(), "{signal}: {:?}", site.litter());
        assert_eq!(fs::read_to_string(site.path("large.mtx")).unwrap(), "before", "{signal}");
    }
}

/// A killed process leaves its temporary file, which is in nobody's way.
#[test]
fn after_a_kill_the_next_write_succeeds() {
    let site = Site::new();
    let mut child = site.command(&LARGE).spawn().unwrap();
    until("a temporary file", || !site.litter().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!site.path("large.mtx").exists());
    let output = site.command(&LARGE).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(fs::read_to_string(site.path("large.mtx")).unwrap().starts_with("%%MatrixMarket"));
}

#[test]
fn signals_while_compiling_leave_nothing() {
    for (signal, number) in SIGNALS {
        let site = Site::new();
        let compiler = site.compiler(HANGS);
        let mut child = product(&site).env("TAMIS_CC", compiler).spawn().unwrap();
        until("a compiler", || site.noted().len() == 2);
        send(signal, &child);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{signal}");
        assert!(site.litter().is_empty(), "{signal}: {:?}", site.litter());
        assert!(!site.noted().into_iter().any(runs), "{signal}");
    }
}

/// A compiler dies with the process; what is left of it in the cache goes after a day.
#[test]
fn killed_processes_leave_no_compiler() {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux tells children of their parent's end");
    }
    let site = Site::new();
    let compiler = site.compiler("sleep 5");
    let mut child = product(&site).env("TAMIS_CC", compiler).spawn().unwrap();
    until("a compiler", || site.noted().len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    until("no compiler", || !site.noted().into_iter().any(runs));
    let stale = site.litter().into_iter().find(|path| path.is_dir()).unwrap();
    let long_ago = Command::new("touch").args(["-d", "2020-01-01"]).arg(&stale).status();
    if !long_ago.is_ok_and(|status| status.success()) {
        return skipped("touch sets no time");
    }
    let output = site.command(&PRODUCT).arg("--tune").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(site.litter().is_empty(), "{:?}", site.litter());
}

#[test]
fn a_compiler_that_hangs_is_given_up() {
    let site = Site::new();
    let compiler = site.compiler(HANGS);
    let mut command = product(&site);
    command.env("TAMIS_CC", &compiler).env("TAMIS_CC_TIMEOUT", "0.5");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected =
        format!("error[compiler-failed]: the C compiler {} takes too long", compiler.display());
    assert!(text(&output).contains(&expected), "{}", text(&output));
    assert!(!site.noted().into_iter().any(runs));
    assert!(site.litter().is_empty(), "{:?}", site.litter());
    let output = command.env("TAMIS_CC_TIMEOUT", "soon").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "error[invalid-option]: TAMIS_CC_TIMEOUT=soon is no number of seconds";
    assert!(text(&output).contains(expected), "{}", text(&output));
}

/// A command that computes once starts no compiler; one that computes often ends with it.
#[test]
fn auto_leaves_no_compiler() {
    // A seventh of a second in optimised code on a fast processor, more in others.
    let long = ["run", "a = sum(i, j, sin(i + j))", "-d", "i=10000", "-d", "j=2000"];
    let site = Site::new();
    let compiler = site.compiler(HANGS);
    let run = |times: &str| {
        let mut command = site.command(&long);
        command.env("TAMIS_CC", &compiler).args(["--threads", "1", "--time", times]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    };
    run("1");
    assert_eq!(site.noted(), [0u32; 0]);
    run("8");
    assert_ne!(site.noted(), [0u32; 0]);
    assert!(!site.noted().into_iter().any(runs));
    assert!(site.litter().is_empty(), "{:?}", site.litter());
}

/// Processes of containers, which all have the same number, share a cache and an output.
#[test]
fn containers_share_a_cache_and_an_output() {
    let site = Site::new();
    let isolated = || {
        let mut command = Command::new("unshare");
        command.args(["-p", "-f"]);
        command
    };
    let is_root = isolated().arg("true").status().is_ok_and(|status| status.success());
    if !is_root {
        skipped("unshare makes no containers here: processes have their own numbers");
    }
    let arguments = [&PRODUCT[..], &["--backend", "c", "-o", "y=y.tns"]].concat();
    for round in 0..2 {
        let start = |_| {
            let mut command = if is_root { isolated() } else { Command::new("env") };
            command.arg(env!("CARGO_BIN_EXE_tamis")).args(&arguments);
            site.prepare(&mut command);
            if !tamis::has_c_compiler() {
                command.env("TAMIS_CC", site.compiler("exit 1"));
            }
            command.spawn().unwrap()
        };
        let children: Vec<Child> = (0..4).map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let is_fine = output.status.success() || !tamis::has_c_compiler();
            assert!(is_fine, "round {round}: {}", text(&output));
        }
    }
    assert!(site.litter().is_empty(), "{:?}", site.litter());
    if tamis::has_c_compiler() {
        assert!(site.path("y.tns").exists());
        is_right(product(&site), "afterwards");
    }
}

/// Names are not guessed: a folder whose names of files can be predicted is another's to prepare.
#[test]
fn temporaries_have_names_of_their_own() {
    let site = Site::new();
    fs::create_dir_all(site.path("tmp")).unwrap();
    let all: Vec<Temporary> =
        (0..50).map(|_| Temporary::folder(&site.path("tmp")).unwrap()).collect();
    let mut names: Vec<_> = all.iter().map(|temporary| temporary.path().to_owned()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 50);
    drop(all);
    assert!(site.litter().is_empty());
}
