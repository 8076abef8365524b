//! Files that are read in parts: what the whole reader reads, and the errors that it tells.

use crate::Folder;
use std::fs;
use std::path::Path;
use tamis_io::{Coordinates, Cut, FileError, Found, ReadOptions, changed, read_with};

const PARTS: [usize; 5] = [1, 2, 3, 5, 16];

/// The entries of parts that are read at the same time, none of which knows the others, in the whole's order; none where
/// the file has to be read as a whole.
fn at_once(
    path: &Path,
    options: &ReadOptions,
    n: usize,
) -> Result<Option<Vec<Coordinates>>, FileError> {
    let Some(cut) = Cut::open(path, options) else { return Ok(None) };
    let mut before = vec![None; n];
    if cut.needs_before() {
        let mut sum = Found::default();
        for (part, before) in before.iter_mut().enumerate() {
            *before = Some(sum.clone());
            sum.join(&cut.count(part, n)?);
        }
    }
    let parts: Vec<_> = (0..n).map(|part| cut.read(part, n, before[part].as_ref())).collect();
    let mut all = Found::default();
    parts.iter().flatten().for_each(|part| all.join(&part.found));
    if parts.iter().all(Result::is_ok) && cut.is_sound(&all) {
        if cut.is_two_sided(&all) {
            return Ok(None);
        }
        let finished = parts.into_iter().flatten().map(|part| cut.finished(part, &all));
        return finished.collect::<Result<_, _>>().map(Some);
    }
    let mut before = Found { marks: all.marks, ..Found::default() };
    for (part, read) in parts.iter().enumerate() {
        cut.read(part, n, Some(&before))?;
        before.join(&read.as_ref().map(|part| part.found.clone()).unwrap_or_default());
    }
    Err(changed(path))
}

/// The entries of parts that are read one after the other.
fn in_turn(
    path: &Path,
    options: &ReadOptions,
    n: usize,
) -> Result<Option<Vec<Coordinates>>, FileError> {
    let Some(cut) = Cut::open(path, options) else { return Ok(None) };
    let (mut all, mut parts) = (Found::default(), vec![]);
    for part in 0..n {
        let read = cut.read(part, n, Some(&all))?;
        all.join(&read.found);
        parts.push(read);
    }
    if cut.is_two_sided(&all) {
        return Ok(None);
    }
    if !cut.is_sound(&all) {
        return Err(cut.flaw(n, &all));
    }
    parts.into_iter().map(|part| cut.finished(part, &all)).collect::<Result<_, _>>().map(Some)
}

/// A file gives the same in parts, or fails the same.
fn check(folder: &Folder, name: &str, text: &str) {
    check_with(folder, name, text, &ReadOptions::default());
}

fn check_with(folder: &Folder, name: &str, text: &str, options: &ReadOptions) {
    let path = &folder.file(name);
    fs::write(path, text).unwrap();
    let whole = read_with(path, options).map(|file| file.coordinates);
    for n in PARTS {
        for read in [at_once(path, options, n), in_turn(path, options, n)] {
            let Some(parts) = read.transpose() else { continue };
            let parts = parts.map(|parts| {
                let dims = parts[0].dims().to_vec();
                let mut crds = vec![vec![]; dims.len()];
                let mut vals = tamis_io::Values::empty(parts[0].vals().datatype());
                for part in parts {
                    assert_eq!(part.dims(), dims);
                    crds.iter_mut().zip(part.crds()).for_each(|(all, own)| all.extend(own));
                    vals.extend_bytes(part.vals().as_bytes());
                }
                Coordinates::new(dims, crds, vals).unwrap()
            });
            assert_eq!(parts, whole, "{n} parts of\n{text}");
        }
    }
}

/// Whether a file is read in parts at all.
fn is_cut(folder: &Folder, name: &str, text: &str) -> bool {
    let path = &folder.file(name);
    fs::write(path, text).unwrap();
    let options = ReadOptions::default();
    let [at_once, in_turn] = [at_once, in_turn].map(|read| read(path, &options, 3).unwrap());
    assert_eq!(at_once.is_some(), in_turn.is_some());
    at_once.is_some()
}

fn matrix(kind: &str, sizes: &str, body: &str) -> String {
    format!("%%MatrixMarket matrix {kind}\n% a comment\n{sizes}\n{body}")
}

#[test]
fn matrices_are_the_same_in_parts() {
    let folder = &Folder::new();
    let body = "1 1 0.5\n\n% more\n2 1 4\r\n3 1 1\n3 3 2\n1 1 7\n2 2 0";
    check(folder, "a.mtx", &matrix("coordinate real general", "3 3 6", body));
    check(folder, "a.mtx", &matrix("coordinate real symmetric", "3 3 6", body));
    check(folder, "a.mtx", &matrix("coordinate complex hermitian", "3 3 2", "2 1 1 -4\n3 3 2 0\n"));
    check(folder, "a.mtx", &matrix("coordinate real skew-symmetric", "4 4 2", "2 1 3\n4 3 -1\n"));
    check(folder, "a.mtx", &matrix("coordinate pattern symmetric", "4 4 3", "2 1\n4 3\n4 4\n"));
    check(folder, "a.mtx", &matrix("coordinate real general", "0 0 0", ""));
    check(folder, "a.mtx", &matrix("coordinate real general", "3 3 0", "\n% nothing\n\n"));
    assert!(is_cut(folder, "a.mtx", &matrix("coordinate real symmetric", "3 3 1", "2 1 3")));
    assert!(is_cut(folder, "a.mtx", &matrix("coordinate real symmetric", "3 3 1", "1 2 3")));
    let both = matrix("coordinate real symmetric", "3 3 2", "2 1 3\n1 2 3\n");
    assert!(!is_cut(folder, "a.mtx", &both), "both sides are compared as a whole");
}

#[test]
fn arrays_are_the_same_in_parts() {
    let folder = &Folder::new();
    let values = |count: usize| (0..count).map(|n| format!("{n}.5\n")).collect::<String>();
    check(folder, "a.mtx", &matrix("array real general", "4 3", &values(12)));
    check(folder, "a.mtx", &matrix("array real symmetric", "4 4", &values(10)));
    check(folder, "a.mtx", &matrix("array real skew-symmetric", "4 4", &values(6)));
    check(folder, "a.mtx", &matrix("array complex general", "2 2", "1 2 3 4\n5 6\n% c\n7 8\n"));
    check(folder, "a.mtx", &matrix("array real general", "4 3", &values(11)));
    check(folder, "a.mtx", &matrix("array real general", "4 3", &values(13)));
    check(folder, "a.mtx", &matrix("array real general", "2 2", "1 2\n3 x\n"));
    check(folder, "a.mtx", &matrix("array complex general", "2 2", "1 2 3\n 4\n5 6\n7 8\n"));
}

#[test]
fn integers_have_one_type() {
    let folder = &Folder::new();
    let big = u64::MAX;
    let of = |values: [&str; 4]| {
        let rows = values.iter().enumerate().map(|(n, value)| format!("{} 1 {value}\n", n + 1));
        rows.collect::<String>()
    };
    let wide = big.to_string();
    let texts = [
        ["1", "2", "3", &wide],
        ["1", "-2", "3", &wide],
        [&wide, "2", "3", "-4"],
        ["1", "-2", "3", "4"],
        ["9007199254740993", "2", "0.5", "4"],
        ["1", "2", "9007199254740993", "4"],
        ["-1", "2", "9007199254740993", &wide],
        ["1", "99999999999999999999999", "3", "9007199254740993"],
        ["1", "2+3j", "3", "9007199254740993"],
        ["1", "2", "inf", "9007199254740993"],
    ];
    for values in texts {
        let body = of(values);
        for kind in ["integer", "unsigned-integer", "real"] {
            check(folder, "a.mtx", &matrix(&format!("coordinate {kind} general"), "9 9 4", &body));
        }
        check(folder, "a.tns", &body);
    }
}

#[test]
fn errors_are_those_of_the_whole() {
    let folder = &Folder::new();
    let good = "1 1 0.5\n2 1 4\n3 1 1\n3 3 2\n% c\n1 2 7\n2 2 0\n";
    let real = |stored: usize, body: &str| {
        matrix("coordinate real general", &format!("3 3 {stored}"), body)
    };
    for stored in 0..9 {
        check(folder, "a.mtx", &real(stored, good));
    }
    let lines: Vec<&str> = good.lines().collect();
    for at in 0..lines.len() {
        for bad in ["4 1 1", "1 0 1", "1 1", "1 1 1 1", "x", "1 1 1e999", "# dims: 3 3", ";"] {
            let mut lines = lines.clone();
            lines[at] = bad;
            let body = lines.join("\n");
            for stored in [3, 5, 6, 7] {
                check(folder, "a.mtx", &real(stored, &body));
            }
            let kind = "coordinate real skew-symmetric";
            check(folder, "a.mtx", &matrix(kind, "3 3 6", &body));
            check(folder, "a.tns", &body.replace('%', "#"));
            check(folder, "a.tns", &format!("# dims: 3 3\n{}", body.replace('%', "#")));
            check(folder, "a.tns", &format!("2 6\n3 3\n{}", body.replace('%', "#")));
        }
    }
}

#[test]
fn tensors_are_the_same_in_parts() {
    let folder = &Folder::new();
    let body = "1 1 1 0.5\n2 9 1 4\n# c\n\n3 1 7 1\n3 3 3 2\n1 2 3 1+2j\n";
    check(folder, "a.tns", body);
    check(folder, "a.tns", &format!("# dims: 9 9 9\n{body}"));
    for announced in 3..7 {
        check(folder, "a.tns", &format!("3 {announced}\n9 9 9\n{body}"));
    }
    let dims = vec![None, Some(12), None];
    check_with(folder, "a.tns", body, &ReadOptions { dims, ..ReadOptions::default() });
    let dims = vec![None, Some(3), None];
    check_with(folder, "a.tns", body, &ReadOptions { dims, ..ReadOptions::default() });
    check(folder, "a.tns", "# dims: 2 2\n");
    check(folder, "a.tns", "7\n");
    check(folder, "a.tns", "");
    assert!(is_cut(folder, "a.tns", body));
    assert!(!is_cut(folder, "b.tns", "7\n"), "a scalar is one line");
}

#[test]
fn what_is_no_plain_text_is_not_cut() {
    let folder = &Folder::new();
    let list = Coordinates::new(vec![3], vec![vec![0, 2]], tamis_io::Values::F64(vec![1.0, 2.0]));
    let list = list.unwrap();
    let options = ReadOptions::default();
    for (name, is_cut) in [
        ("a.tns", true),
        ("a.mtx", true),
        ("a.tns.gz", false),
        ("a.mtx.gz", false),
        ("a.npz", false),
        ("a.rb", false),
    ] {
        tamis_io::write(&folder.file(name), &list, &Default::default()).unwrap();
        assert_eq!(Cut::open(&folder.file(name), &options).is_some(), is_cut, "{name}");
    }
    assert!(Cut::open(&folder.file("missing.tns"), &options).is_none());
    let pipe = folder.file("pipe.mtx");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|status| status.success()) {
        // Nobody writes to it, and nobody waits.
        assert!(Cut::open(&pipe, &options).is_none());
    }
}

/// What is read is the file that was opened, whatever gets its name; one that is written to meanwhile is refused.
#[test]
fn files_stay_what_they_were_when_they_were_opened() {
    let folder = Folder::new();
    let text = |value: &str| {
        matrix(
            "coordinate real general",
            "3 3 3",
            &format!("1 1 {value}\n2 2 {value}\n3 3 {value}\n"),
        )
    };
    let (path, other) = (folder.file("a.mtx"), folder.file("b.mtx"));
    fs::write(&path, text("1")).unwrap();
    fs::write(&other, text("2")).unwrap();
    let cut = Cut::open(&path, &ReadOptions::default()).unwrap();
    let first = cut.read(0, 2, None).unwrap();
    fs::rename(&other, &path).unwrap();
    let second = cut.read(1, 2, None).unwrap();
    let mut all = Found::default();
    [&first, &second].into_iter().for_each(|part| all.join(&part.found));
    assert!(cut.is_sound(&all));
    for part in [first, second] {
        let list = cut.finished(part, &all).unwrap();
        assert!((0..list.vals().len()).all(|n| list.vals().as_f64(n) == 1.0));
    }
    let cut = Cut::open(&path, &ReadOptions::default()).unwrap();
    let written = fs::File::options().write(true).open(&path).unwrap();
    written.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(9)).unwrap();
    assert!(!cut.is_sound(&all));
    assert!(cut.flaw(2, &all).to_string().contains("changed while it was read"));
    written.set_len(30).unwrap();
    assert!(cut.read(1, 2, None).is_err());
}
