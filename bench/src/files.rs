//! Matrices and 3-tensors from files. Of a file only the pattern counts: values are generated, since those of
//! files may cancel, and what is zero then differs between libraries.

use std::path::Path;
use std::rc::Rc;

use crate::inputs;
use crate::problem::Input;

/// A sparse input and what it is called.
pub struct Named {
    /// The name.
    pub name: String,
    /// The input.
    pub input: Input,
}

/// The limit of a dimension of a 3-tensor.
const DIMENSION: u64 = 1 << 21;

/// Reads a matrix or 3-tensor: `.mtx`, `.tns`, or one of these compressed.
pub fn read(path: &Path) -> Result<Named, String> {
    let file = tamis::io::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default().to_owned();
    let (dims, crds) = (file.coordinates.dims(), file.coordinates.crds());
    let at = |mode: usize, n: usize| crds[mode][n] as usize;
    let entries = 0..file.coordinates.vals().len();
    let input = match *dims {
        [rows, cols] if rows.max(cols) < i32::MAX as u64 => {
            let keys = entries.map(|n| inputs::key(at(0, n), at(1, n))).collect();
            let a = inputs::csr_from_keys([rows as usize, cols as usize], keys, 1);
            Input::Matrix(Rc::new(a))
        }
        [i, j, k] if i.max(j).max(k) < DIMENSION => {
            let key = |n| inputs::tensor_key([at(0, n), at(1, n), at(2, n)]);
            let mut keys: Vec<u64> = entries.map(key).collect();
            keys.sort_unstable();
            keys.dedup();
            let b = inputs::csf_from_keys([i, j, k].map(|d| d as usize), &keys);
            Input::Tensor(Rc::new(b))
        }
        [_, _] | [_, _, _] => {
            return Err(format!("{}: its dimensions are too large", path.display()));
        }
        _ => {
            let modes = dims.len();
            return Err(format!("{}: a tensor of {modes} modes; it takes 2 or 3", path.display()));
        }
    };
    Ok(Named { name, input })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_give_patterns() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
        let read = |name: &str| read(&data.join(name)).unwrap();
        let mesh = read("4elt.mtx.gz");
        assert_eq!(mesh.name, "4elt");
        assert_eq!(mesh.input.describe(), "15606 x 15606, 91756 nonzeros");
        let Input::Matrix(a) = mesh.input else { panic!("a matrix") };
        assert!(a.vals.iter().all(|value| (0.5..1.5).contains(value)));
        assert!(matches!(read("umls.tns.gz").input, Input::Tensor(_)));
    }
}
