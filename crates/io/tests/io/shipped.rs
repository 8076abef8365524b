//! The data files of the project read as their table says.

use std::fs;
use std::path::Path;
use tamis_io::read;

#[test]
fn table_is_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let table = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut checked = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".gz") {
            continue;
        }
        let mark = format!("| `{name}` |");
        let line = table.lines().find(|line| line.starts_with(&mark)).expect(name);
        let fields: Vec<String> =
            line.split('|').map(|field| field.trim().replace(',', "")).collect();
        let tensor = read(&path).unwrap().coordinates;
        let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
        assert_eq!((&fields[3], &fields[4]), (&dims.join(" x "), &tensor.vals().len().to_string()));
        checked += 1;
    }
    assert_eq!(checked, 5);
}
