//! Files count against the memory limit while they are read, and as lists.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use tamis_io::{FileErrorCode, read};
use tamis_runtime::budget;

const LIMIT: usize = 8 << 20;

/// A compressed file that starts so and goes on with a text, far beyond the limit.
fn bomb(folder: &Path, name: &str, start: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    let mut out = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
    out.write_all(start.as_bytes()).unwrap();
    let block = text.repeat((1 << 20) / text.len());
    (0..64).for_each(|_| out.write_all(block.as_bytes()).unwrap());
    out.finish().unwrap();
    path
}

/// Files of less than 2 MB, of which lists beside the entries, or these in another type, take far more.
fn lists() -> [(&'static str, String); 5] {
    let array = "%%MatrixMarket matrix array real symmetric\n692 692\n";
    let general = "%%MatrixMarket matrix coordinate real general\n";
    let comments = |mark: &str| format!("{mark}\n").repeat(700_000);
    [
        // The last value is missing: what refuses the file comes before that.
        ("lines.mtx", format!("{array}{}", format!("{}10\n", "10 ".repeat(9)).repeat(23_977))),
        ("comments.mtx", format!("{general}{}1 1 1\n1 1 1\n", comments("%"))),
        ("comments.tns", format!("{}1 1 1\n", comments("#"))),
        ("dims.tns", format!("# dims:{}\n1 1 1\n", " 1".repeat(900_000))),
        ("whole.tns", format!("{}1 9007199254740993\n", "1 1\n".repeat(300_000))),
    ]
}

#[test]
fn files_beyond_the_limit_are_refused() {
    let folder = std::env::temp_dir().join(format!("tamis-io-limit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    budget::set_limit(LIMIT);
    let before = budget::used();
    let real = "%%MatrixMarket matrix coordinate real general\n";
    for (name, start, text) in [
        ("entries.tns.gz", "", "1 2 3\n"),
        ("line.tns.gz", "", "1 "),
        ("comments.tns.gz", "", "# c\n"),
        ("zeros.mtx.gz", real, "\0"),
        ("honest.mtx.gz", &format!("{real}9 9 10000000\n"), "1 2 3\n"),
        ("columns.rua.gz", "t\n1 1 1 1\nrua 9 9000000 9 0\n(8I8) (8I8) (8F8.0)\n", "1 "),
    ] {
        let error = read(&bomb(&folder, name, start, text)).unwrap_err();
        assert_eq!(error.code, FileErrorCode::TooLarge, "{error}");
        assert_eq!(budget::used(), before, "{name} counts no more");
    }
    for (name, text) in lists() {
        std::fs::write(folder.join(name), text).unwrap();
        let error = read(&folder.join(name)).unwrap_err();
        assert_eq!(error.code, FileErrorCode::TooLarge, "{error}");
        assert_eq!(budget::used(), before, "{name} counts no more");
    }
    std::fs::write(folder.join("a.tns"), "1 1 1\n2 2 2\n".repeat(10_000)).unwrap();
    let file = read(&folder.join("a.tns")).unwrap();
    assert!(budget::used() - before >= 20_000 * 24, "lists count as long as they live");
    drop(file);
    assert_eq!(budget::used(), before);
    let _ = std::fs::remove_dir_all(&folder);
}
