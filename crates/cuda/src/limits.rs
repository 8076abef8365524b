//! The yardsticks: how fast a device copies, and how fast it gathers and does nothing else.

use crate::driver::{self, Device, Function, Module};
use crate::memory::Memory;
use crate::nvrtc::Suited;
use crate::stream::{Clock, Stream};
use std::ffi::c_void;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::Buffer;

/// The kernels.
pub const TEXT: &str = include_str!("limits.cu");
/// How often each is timed; the median counts.
const RUNS: usize = 9;

/// Threads of a block.
const THREADS: u32 = 256;
/// The bytes that are copied: more than caches hold.
const COPIED: usize = 512 << 20;

/// The kernels of `limits.cu` on a device.
pub struct Limits {
    device: &'static Device,
    copy: Function,
    gather: Function,
    _module: Module,
}

impl Limits {
    /// Compiles them.
    ///
    /// # Errors
    ///
    /// Without a driver, a device or a compiler.
    pub fn new() -> Result<Limits, Diagnostic> {
        let device = driver::device()?;
        let _entered = device.enter()?;
        let code = Suited::to(device.capability, Some(device.version.0))?.compile(TEXT)?.code;
        let module = device.load(&code)?;
        let (copy, gather) = (module.function("copy")?, module.function("gather")?);
        Ok(Limits { device, copy, gather, _module: module })
    }

    /// The bytes that a copy reads and writes, in GB/s.
    ///
    /// # Errors
    ///
    /// Without memory on the device, or if it fails.
    pub fn copied(&self) -> Result<f64, Diagnostic> {
        let _entered = self.device.enter()?;
        let stream = self.device.stream()?;
        let [from, to] = [stream.allocate(COPIED)?, stream.allocate(COPIED)?];
        let (mut from, mut to) = (from.address(), to.address());
        let mut count = (COPIED / 16) as i64;
        let mut arguments =
            [(&raw mut from).cast::<c_void>(), (&raw mut to).cast(), (&raw mut count).cast()];
        let blocks = self.device.blocks(self.copy, THREADS)?;
        let ms = self.timed(&stream, self.copy, blocks, &mut arguments)?;
        Ok(2.0 * COPIED as f64 / f64::from(ms) / 1e6)
    }

    /// The milliseconds that it takes to bring the row of every coordinate, which are 32 bits wide;
    /// rows are of 64-bit floats, as many as a power of two.
    ///
    /// # Errors
    ///
    /// As for [`copied`](Limits::copied).
    pub fn gathered(&self, crd: &Buffer, rows: &Buffer, columns: u64) -> Result<f32, Diagnostic> {
        let _entered = self.device.enter()?;
        let stream = self.device.stream()?;
        let blocks = self.device.blocks(self.gather, THREADS)?;
        let sums = stream.allocate(blocks as usize * THREADS as usize * 8)?;
        let (on_device, values) = (copy_of(crd, &stream)?, copy_of(rows, &stream)?);
        let (mut from, mut values, mut to) =
            (on_device.address(), values.address(), sums.address());
        debug_assert!(crd.datatype() == DataType::I32 && columns.is_power_of_two());
        let (mut count, mut columns) = (crd.len() as i64, columns as i32);
        let mut arguments = [
            (&raw mut from).cast::<c_void>(),
            (&raw mut values).cast(),
            (&raw mut to).cast(),
            (&raw mut count).cast(),
            (&raw mut columns).cast(),
        ];
        self.timed(&stream, self.gather, blocks, &mut arguments)
    }

    /// The median of several runs.
    fn timed(
        &self,
        stream: &Stream,
        kernel: Function,
        blocks: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<f32, Diagnostic> {
        let (mut times, clock) = (vec![], Clock::new(self.device)?);
        for _ in 0..RUNS {
            clock.start(stream)?;
            // SAFETY: the arguments are those of the kernel, and its arrays are on the device.
            unsafe { self.device.launch(stream, kernel, (blocks, THREADS), arguments) }?;
            clock.stop(stream)?;
            times.push(clock.milliseconds()?);
        }
        times.sort_by(f32::total_cmp);
        Ok(times[RUNS / 2])
    }
}

/// An array on the device.
fn copy_of(array: &Buffer, stream: &Stream) -> Result<Memory, Diagnostic> {
    let memory = stream.allocate(array.bytes())?;
    // SAFETY: the array has these bytes, and the stream is waited for.
    let copied = unsafe { stream.copy_in(&memory, array.address(), array.bytes()) };
    stream.wait()?;
    copied.map(|()| memory)
}
