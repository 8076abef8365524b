//! Tensors that stay on the device from call to call.
//!
//! ```text
//! let a = resident::to_device(&matrix)?;      copied once; kernels that read it copy no more
//! drop(a);                                    gone from the device
//! ```

use crate::driver::{self, Memory};
use crate::kept::{self, Place};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tamis_core::diagnostic::Diagnostic;
use tamis_runtime::Tensor;

/// A copy, if there is one, and how many tensors share it.
type Copy = (Option<Arc<Memory>>, usize);

/// Copies on the device of arrays of the host, by address and bytes.
static COPIES: Mutex<BTreeMap<Place, Copy>> = Mutex::new(BTreeMap::new());

/// A tensor that stays where it is, on the device if it was copied there, until dropped.
pub struct Resident {
    /// Keeps the arrays where they are, and as they are.
    tensor: Tensor,
    places: Vec<Place>,
}

/// Copies a tensor to the device, where kernels find it as long as what is given back lives.
///
/// # Errors
///
/// Without a device, or memory there.
pub fn to_device(tensor: &Tensor) -> Result<Resident, Diagnostic> {
    let device = driver::device()?;
    device.enter()?;
    stays(tensor, &|(address, bytes)| {
        let memory = device.allocate(bytes)?;
        // SAFETY: the array holds these bytes.
        unsafe { device.copy_in(&memory, address as *const u8, bytes) }?;
        Ok(Some(Arc::new(memory)))
    })
}

/// Promises that a tensor stays where it is on the host: emulated kernels keep what follows from it.
pub fn hold(tensor: &Tensor) -> Resident {
    let held = stays(tensor, &|_| Ok(None));
    held.unwrap_or_else(|_| unreachable!("nothing is copied"))
}

fn stays(
    tensor: &Tensor,
    copy: &dyn Fn(Place) -> Result<Option<Arc<Memory>>, Diagnostic>,
) -> Result<Resident, Diagnostic> {
    let mut resident = Resident { tensor: tensor.clone(), places: vec![] };
    let levels = tensor.levels().iter().flat_map(|l| [&l.pos, &l.crd]).flatten();
    for array in levels.chain([tensor.vals()]) {
        let place = (array.address() as u64, array.len() * array.datatype().size());
        if place.1 == 0 {
            continue;
        }
        let memory = copy(place)?;
        if let Ok(mut copies) = COPIES.lock() {
            let known = copies.entry(place).or_insert((None, 0));
            known.1 += 1;
            if known.0.is_none() {
                known.0 = memory;
            }
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
                    kept::forget(*place);
                }
            }
        }
    }
}

/// The copy of an array, if there is one.
pub(crate) fn find(address: u64, bytes: usize) -> Option<Arc<Memory>> {
    let copies = COPIES.lock().ok()?;
    copies.get(&(address, bytes)).and_then(|(memory, _)| memory.clone())
}

/// Whether an array stays where it is.
pub(crate) fn is_held(place: Place) -> bool {
    COPIES.lock().is_ok_and(|copies| copies.contains_key(&place))
}
