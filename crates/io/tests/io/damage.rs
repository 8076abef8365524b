//! Whatever the bytes of a file, reading ends with a tensor or an error.

use crate::random::Random;
use crate::{Folder, name};
use std::fs;
use tamis_io::{File, FileError, read, read_frostt, read_matrix_market, read_rutherford_boeing};

/// Good files, which the test damages.
const GOOD: [&str; 9] = [
    "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 3\n1 1 0.5\n3 2 -4e-3\n3 3 1\n",
    "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 4 5\n",
    "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
    "%%MatrixMarket matrix coordinate pattern general\n9 9 3\n1 1\n9 2\n3 3\n",
    "# dims: 3 4 5\n1 1 5 0.5\n3 4 1 -3\n2 2 2 1e10\n",
    "# extended FROSTT format\n2 3\n2 4\n1 2 10\n2 1 0\n2 4 20\n",
    "1 1 1+2j\n2 2 3\n3 3 4j\n",
    "t\n 3 1 1 1\nrua  3 3 4 0\n(5I2)           (4I1)           (2E10.3)\n 1 3 4 5\n1323\n\
      0.150D+01-2.000E+00\n  3.0      4.5-1\n",
    "t\n 5 1 1 1 1\nCHA 2 2 1 0\n(3I2)           (2I2)           (4(1P,G5.1))\nF 1 0\n 1 2 2\n 2\n  3.0  4.0\n",
];

/// Bytes that mean something somewhere.
const BYTES: &[u8] = b"0123456789 \n\t\r.-+eEdDjJ%#():,IPFXx\xff\0";

fn damaged(random: &mut Random, good: &[u8]) -> Vec<u8> {
    let mut text = good.to_vec();
    for _ in 0..1 + random.below(6) {
        let at = random.below(text.len() + 1);
        match random.below(6) {
            0 => text.truncate(at),
            1 => text.insert(at, BYTES[random.below(BYTES.len())]),
            2 if at < text.len() => drop(text.remove(at)),
            3 => {
                let number = (1u64 << random.below(64)).wrapping_sub(1).to_string();
                drop(text.splice(at..at, number.bytes()));
            }
            4 => {
                let part = text[at..(at + random.below(20)).min(text.len())].to_vec();
                let to = random.below(text.len() + 1);
                drop(text.splice(to..to, part));
            }
            _ if at < text.len() => text[at] = BYTES[random.below(BYTES.len())],
            _ => text.push(random.next() as u8),
        }
    }
    text
}

fn check(read: Result<File, FileError>) {
    let Ok(file) = read else { return };
    let tensor = file.coordinates;
    assert_eq!(tensor.crds().len(), tensor.dims().len());
    for (crd, &dim) in tensor.crds().iter().zip(tensor.dims()) {
        assert_eq!(crd.len(), tensor.vals().len());
        assert!(crd.iter().all(|&i| i < dim));
    }
}

#[test]
fn text() {
    let mut random = Random(7);
    for _ in 0..4000 {
        for good in GOOD {
            let text = damaged(&mut random, good.as_bytes());
            check(read_matrix_market(&text, name()));
            check(read_frostt(&text, name()));
            check(read_rutherford_boeing(&text, name()));
        }
    }
}

#[test]
fn compressed() {
    let folder = Folder::new();
    let mut random = Random(9);
    let entries: String = (1..200).map(|i| format!("{i} {} {i}.5\n", i * 7 % 31 + 1)).collect();
    let good = read_frostt(entries.as_bytes(), name()).unwrap().coordinates;
    tamis_io::write(&folder.file("a.tns.gz"), &good, &Default::default()).unwrap();
    let good = fs::read(folder.file("a.tns.gz")).unwrap();
    for _ in 0..500 {
        fs::write(folder.file("b.tns.gz"), damaged(&mut random, &good)).unwrap();
        check(read(&folder.file("b.tns.gz")));
    }
}
