//! Tensors that stay on the device from call to call.
//!
//! ```text
//! let a = resident::to_device(&matrix)?;      copied once; kernels that read it copy no more
//! drop(a);                                    gone from the device
//! ```

use crate::driver::{self, Memory};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tamis_core::diagnostic::Diagnostic;
use tamis_runtime::Tensor;

/// A copy, and how many tensors share it.
type Copy = (Arc<Memory>, usize);

/// Copies on the device of arrays of the host, by address and bytes.
static COPIES: Mutex<BTreeMap<(u64, usize), Copy>> = Mutex::new(BTreeMap::new());

/// A tensor on the device, until dropped.
pub struct Resident {
    /// Keeps the arrays where they are, and as they are.
    tensor: Tensor,
    places: Vec<(u64, usize)>,
}

/// Copies a tensor to the device, where kernels find it as long as what is given back lives.
///
/// # Errors
///
/// Without a device, or memory there.
pub fn to_device(tensor: &Tensor) -> Result<Resident, Diagnostic> {
    let device = driver::device()?;
    device.enter()?;
    let mut resident = Resident { tensor: tensor.clone(), places: vec![] };
    let levels = tensor.levels().iter().flat_map(|l| [&l.pos, &l.crd]).flatten();
    for array in levels.chain([tensor.vals()]) {
        let place = (array.address() as u64, array.len() * array.datatype().size());
        if place.1 == 0 {
            continue;
        }
        let memory = device.allocate(place.1)?;
        // SAFETY: the array holds these bytes.
        unsafe { device.copy_in(&memory, place.0 as *const u8, place.1) }?;
        if let Ok(mut copies) = COPIES.lock() {
            copies.entry(place).or_insert((Arc::new(memory), 0)).1 += 1;
            resident.places.push(place);
        }
    }
    Ok(resident)
}

impl Resident {
    /// The tensor on the host.
    pub fn from_device(&self) -> &Tensor {
        &self.tensor
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let Ok(mut copies) = COPIES.lock() else { return };
        for place in &self.places {
            if let Some((_, users)) = copies.get_mut(place) {
                *users -= 1;
                if *users == 0 {
                    copies.remove(place);
                }
            }
        }
    }
}

/// The copy of an array, if there is one.
pub(crate) fn find(address: u64, bytes: usize) -> Option<Arc<Memory>> {
    let copies = COPIES.lock().ok()?;
    copies.get(&(address, bytes)).map(|(memory, _)| Arc::clone(memory))
}
