//! Entries and folders of the cache that others, or chance, made.

use crate::site::{PRODUCT, Site, is_right, product, skipped, text};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::Command;

#[test]
fn damaged_entries_are_compiled_again() {
    if !tamis::has_c_compiler() {
        return skipped("there is no C compiler");
    }
    let site = Site::new();
    is_right(product(&site), "new");
    let entries = site.entries();
    // The library, and the flags that the compiler takes.
    assert_eq!(entries.len(), 2, "{entries:?}");
    for entry in &entries {
        let whole = fs::read(entry).unwrap();
        let cut = [0, 33, whole.len() / 2, whole.len() - 1].map(|n| whole[..n].to_vec());
        let flipped = [0, whole.len() / 3, whole.len() - 1].map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            bytes
        });
        let zeroed = [0, 2 * 4096].into_iter().filter(|from| *from < whole.len()).map(|from| {
            let mut bytes = whole.clone();
            let page = from + 4096;
            bytes[from..page.min(whole.len())].fill(0);
            bytes
        });
        let damages = cut.into_iter().chain(flipped).chain(zeroed);
        for (n, damaged) in damages.enumerate() {
            fs::write(entry, damaged).unwrap();
            is_right(product(&site), &format!("damage {n}"));
            assert_eq!(fs::read(entry).unwrap().len(), whole.len(), "damage {n}");
        }
    }
    assert!(site.litter().is_empty(), "{:?}", site.litter());
}

/// Links and files of others under the name of an entry are neither read nor written through.
#[test]
fn planted_entries_are_replaced() {
    if !tamis::has_c_compiler() {
        return skipped("there is no C compiler");
    }
    let site = Site::new();
    is_right(product(&site), "new");
    let size = |entry: &PathBuf| fs::metadata(entry).unwrap().len();
    let entry = site.entries().into_iter().max_by_key(size).unwrap();
    let whole = fs::read(&entry).unwrap();
    let victim = site.path("victim");
    let mut plants: Vec<(&str, Plant)> = vec![
        ("link", Box::new(|| symlink(&victim, &entry).unwrap())),
        (
            "pipe",
            Box::new(|| {
                Command::new("mkfifo").arg(&entry).status().unwrap();
            }),
        ),
        (
            "writable",
            Box::new(|| {
                fs::write(&entry, &whole).unwrap();
                fs::set_permissions(&entry, Permissions::from_mode(0o666)).unwrap();
            }),
        ),
    ];
    if chown(site.path("tmp"), Some(0), None).is_ok() {
        plants.push((
            "foreign",
            Box::new(|| {
                fs::write(&entry, &whole).unwrap();
                chown(&entry, Some(65534), None).unwrap();
            }),
        ));
    } else {
        skipped("only root makes files of others");
    }
    for (name, plant) in plants {
        fs::write(&victim, &whole).unwrap();
        fs::remove_file(&entry).unwrap();
        plant();
        is_right(product(&site), name);
        assert_eq!(fs::read(&victim).unwrap(), whole, "{name}");
        let about = fs::symlink_metadata(&entry).unwrap();
        assert!(about.is_file() && about.mode() & 0o777 == 0o600, "{name}");
        assert_eq!(about.uid(), fs::metadata(site.path("tmp")).unwrap().uid(), "{name}");
    }
}

/// Creates a file where a cache entry belongs.
type Plant<'a> = Box<dyn Fn() + 'a>;

/// A compiler removes what has the name of its output, `/dev/null` too where it may: each is in a folder of ours.
#[test]
fn compilers_write_to_folders_of_ours_alone() {
    let site = Site::new();
    let outputs = site.path("outputs");
    let script = site.path("noting");
    let noted = format!("[ \"$before\" = -o ] && echo \"$word\" >>{}", outputs.display());
    let each = format!("before=; for word in \"$@\"; do {noted}; before=$word; done");
    fs::write(&script, format!("#!/bin/sh\n{each}\nexec cc \"$@\"\n")).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let mut command = product(&site);
    command.env("TAMIS_CC", &script);
    is_right(command, "a compiler that notes");
    let noted = fs::read_to_string(outputs).unwrap();
    assert!(noted.lines().count() > 2, "{noted}");
    for output in noted.lines() {
        assert!(output.starts_with(site.path("").to_str().unwrap()), "{output}");
    }
}

/// A folder that others may write to, or that is not the user's, is not used.
#[test]
fn folders_of_others_are_refused() {
    let site = Site::new();
    let compiler = site.compiler("exit 1");
    let refused = |name: &str, expected: &str| {
        let mut command = product(&site);
        command.env("TAMIS_CC", &compiler).env("TAMIS_CACHE_DIR", site.path(name));
        let told = text(&command.output().unwrap());
        assert!(told.contains("error[compiler-failed]"), "{name}: {told}");
        let note = "note: without a cache of compiled kernels: TAMIS_CACHE_DIR=";
        assert!(told.contains(note) && told.contains(expected), "{name}: {told}");
        assert!(site.entries().is_empty(), "{name}");
    };
    let folder = |name: &str, mode: u32| {
        fs::create_dir_all(site.path(name)).unwrap();
        fs::set_permissions(site.path(name), Permissions::from_mode(mode)).unwrap();
    };
    folder("open", 0o777);
    refused("open", "others may write to");
    folder("group/cache", 0o755);
    folder("group", 0o775);
    refused("group/cache", "others may write to");
    folder("inner/tamis", 0o777);
    refused("inner", "others may write to");
    folder("linked", 0o755);
    symlink(site.path("tmp"), site.path("linked/tamis")).unwrap();
    refused("linked", "is not a folder");
    fs::write(site.path("file"), "").unwrap();
    refused("file", "is not a folder");
    symlink("loop", site.path("loop")).unwrap();
    refused("loop", "is a link to itself");
    folder("foreign/tamis", 0o755);
    if chown(site.path("foreign/tamis"), Some(65534), None).is_err() {
        return skipped("only root makes folders of others");
    }
    refused("foreign", "belongs to another user");
    chown(site.path("foreign"), Some(65534), None).unwrap();
    refused("foreign", "belongs to another user");
    assert!(site.litter().is_empty(), "{:?}", site.litter());
}

/// Every way to name a folder works or is refused by name.
#[test]
fn the_environment_names_the_cache() {
    let site = Site::new();
    let compiler = site.compiler("exit 1");
    let run = |variables: &[(&str, &str)], expected: Option<&str>| {
        let mut command = site.command(&PRODUCT);
        command.args(["--tune"]).env("TAMIS_CC", &compiler).env_remove("XDG_CACHE_HOME");
        command.env_remove("TAMIS_CACHE_DIR").env("HOME", site.path("home"));
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        let told = text(&output);
        assert!(output.status.success(), "{variables:?}: {told}");
        let note = told.lines().find(|line| line.starts_with("note: without a cache"));
        assert_eq!(note.is_some(), expected.is_some(), "{variables:?}: {told}");
        assert!(told.contains(expected.unwrap_or("")), "{variables:?}: {told}");
        is_kept(told.starts_with("tuned before"))
    };
    fs::create_dir_all(site.path("home")).unwrap();
    let long = "x".repeat(300);
    let home = site.path("home");
    let home = home.to_str().unwrap();
    for off in [("TAMIS_CACHE_DIR", "off"), ("TAMIS_CACHE_SIZE", "0"), ("HOME", "")] {
        assert_eq!([run(&[off], None), run(&[off], None)], [Kept::No, Kept::No], "{off:?}");
    }
    for (variable, value, expected) in [
        ("TAMIS_CACHE_DIR", &long[..], "TAMIS_CACHE_DIR=xxx"),
        (
            "TAMIS_CACHE_DIR",
            "/dev/null/x",
            "TAMIS_CACHE_DIR=/dev/null/x: /dev/null is not a folder",
        ),
        ("XDG_CACHE_HOME", "cache", "XDG_CACHE_HOME=cache: the path is not absolute"),
        ("HOME", "home", "HOME=home: the path is not absolute"),
        ("HOME", "/nonexistent", "HOME=/nonexistent: /nonexistent: "),
        ("TAMIS_CACHE_SIZE", "many", "TAMIS_CACHE_SIZE=many: write a size as 500M or 1G"),
    ] {
        run(&[(variable, value)], Some(expected));
    }
    assert!(!site.path("home/.cache").exists());
    let odd = format!("{home}/odd \n'\"$x");
    for works in [
        ("TAMIS_CACHE_DIR", "relative/folder"),
        ("TAMIS_CACHE_DIR", "./off"),
        ("TAMIS_CACHE_DIR", "home/../up"),
        ("TAMIS_CACHE_DIR", &odd),
        ("XDG_CACHE_HOME", &format!("{home}/xdg")),
        ("XDG_CACHE_HOME", ""),
    ] {
        assert_eq!([run(&[works], None), run(&[works], None)], [Kept::No, Kept::Yes], "{works:?}");
    }
    assert!(site.path("home/.cache/tamis").is_dir());
    assert!(site.litter().is_empty(), "{:?}", site.litter());
}

/// Whether a note of `--tune` was found.
#[derive(PartialEq, Eq, Debug)]
enum Kept {
    Yes,
    No,
}

fn is_kept(found: bool) -> Kept {
    if found { Kept::Yes } else { Kept::No }
}

#[test]
fn the_compiler_is_turned_off() {
    let site = Site::new();
    for (name, expected) in
        [("off", "TAMIS_CC=off: no C compiler is used"), ("/no/cc", "/no/cc, which TAMIS_CC names")]
    {
        let output = product(&site).env("TAMIS_CC", name).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output).contains(&format!("error[unsupported-backend]: {expected}")));
    }
}

/// The least recently used entries go first.
#[test]
fn the_cache_has_a_bound() {
    let site = Site::new();
    let tuned = |size: &str| {
        let dims = format!("A={size}x9:0.5:1");
        let mut command = site.command(&["run", "y(i) = A(i,j)", "-g", &dims, "--tune"]);
        text(&command.env("TAMIS_CACHE_SIZE", "10K").output().unwrap()).contains("tuned before")
    };
    assert!(!tuned("10") && !tuned("100"));
    assert!(tuned("10"));
    assert!(!tuned("1000"));
    assert!(tuned("10") && !tuned("100"));
    assert_eq!(site.entries().len(), 2);
}
