//! Streams: what is asked of one is done in order, whatever others do meanwhile.
//!
//! ```text
//! let stream = device.stream()?;      one that nobody has at present
//! stream.follows(other)?;             from here on after what was asked of the other one
//! stream.wait()?;
//! ```

use crate::driver::{self, Device, Handle};
use std::cell::RefCell;
use std::sync::PoisonError;
use tamis_ir::diagnostic::Diagnostic;

/// The most streams: more calls at the same time share them.
pub(crate) const MOST: usize = 32;
/// Streams do not wait for the one that other libraries use where they name none.
const NON_BLOCKING: u32 = 1;
/// Events that tell no time.
const UNTIMED: u32 = 2;

/// The streams of a device, which last as long as it does.
#[derive(Default)]
pub(crate) struct Streams {
    handles: Vec<Handle>,
    /// Those that nobody has, the one that was given back last at the end.
    free: Vec<usize>,
}

/// A stream that belongs to one call, or is shared where there are too many.
pub struct Stream {
    device: &'static Device,
    number: usize,
    handle: Handle,
    shared: bool,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.shared {
            let mut streams = self.device.streams.lock().unwrap_or_else(PoisonError::into_inner);
            streams.free.push(self.number);
        }
    }
}

impl Device {
    /// A stream, of a device that was entered.
    pub fn stream(&'static self) -> Result<Stream, Diagnostic> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, shared) = match streams.free.pop() {
            Some(number) => (number, false),
            None if streams.handles.len() == MOST => (0, true),
            None => {
                let mut handle = std::ptr::null_mut();
                // SAFETY: there is room for the handle.
                let error = unsafe { (self.api.stream_create)(&mut handle, NON_BLOCKING) };
                self.check("has no stream", error)?;
                streams.handles.push(handle);
                (streams.handles.len() - 1, false)
            }
        };
        Ok(Stream { device: self, number, handle: streams.handles[number], shared })
    }

    /// Waits for what was asked of a stream, by its number.
    pub(crate) fn wait_for(&self, number: usize) -> Result<(), Diagnostic> {
        let handle = self.handle_of(number);
        // SAFETY: the stream is the device's own.
        self.check("failed", unsafe { (self.api.stream_synchronize)(handle) })
    }

    fn handle_of(&self, number: usize) -> Handle {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).handles[number]
    }
}

impl Stream {
    pub(crate) fn device(&self) -> &'static Device {
        self.device
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Waits for what was asked of it; an error of a kernel shows here.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.device.wait_for(self.number)
    }

    /// What is asked from here on is done after what was asked of another stream, by its number.
    pub(crate) fn follows(&self, other: usize) -> Result<(), Diagnostic> {
        if other == self.number {
            return Ok(());
        }
        let event = Event::new(self.device, UNTIMED)?;
        event.record(self.device.handle_of(other))?;
        // SAFETY: the event was recorded; streams remember what they wait for when it is gone.
        let error = unsafe { (self.device.api.stream_wait)(self.handle, event.handle, 0) };
        self.device.check("cannot order its streams", error)
    }
}

/// A point in a stream.
struct Event {
    device: &'static Device,
    handle: Handle,
}

impl Event {
    fn new(device: &'static Device, flags: u32) -> Result<Event, Diagnostic> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: there is room for the handle.
        let error = unsafe { (device.api.event_create)(&mut handle, flags) };
        device.check("has no events", error)?;
        Ok(Event { device, handle })
    }

    fn record(&self, stream: Handle) -> Result<(), Diagnostic> {
        // SAFETY: event and stream are the device's own.
        let error = unsafe { (self.device.api.event_record)(self.handle, stream) };
        self.device.check("has no clock", error)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_entered) = self.device.enter() {
            // SAFETY: the event was made and is destroyed once.
            unsafe { (self.device.api.event_destroy)(self.handle) };
        }
    }
}

/// The time that the device takes between two points in a stream.
pub struct Clock {
    start: Event,
    end: Event,
}

impl Clock {
    /// A clock of a device that was entered.
    pub fn new(device: &'static Device) -> Result<Clock, Diagnostic> {
        Ok(Clock { start: Event::new(device, 0)?, end: Event::new(device, 0)? })
    }

    /// Begins to measure.
    pub fn start(&self, stream: &Stream) -> Result<(), Diagnostic> {
        self.start.record(stream.handle)
    }

    /// Stops.
    pub fn stop(&self, stream: &Stream) -> Result<(), Diagnostic> {
        self.end.record(stream.handle)
    }

    /// The milliseconds between start and stop, once the device has come so far.
    pub fn milliseconds(&self) -> Result<f32, Diagnostic> {
        let device = self.start.device;
        let _entered = device.enter()?;
        let mut elapsed = 0.0;
        // SAFETY: both events were recorded; there is room for the time.
        let error = unsafe {
            match (device.api.event_synchronize)(self.end.handle) {
                0 => (device.api.event_elapsed)(&mut elapsed, self.start.handle, self.end.handle),
                error => error,
            }
        };
        device.check("has no clock", error).map(|()| elapsed)
    }
}

/// The milliseconds that the device takes from before calls of this thread until all of them are done,
/// while no other thread calls.
///
/// # Errors
///
/// As the calls, and without a device.
pub fn elapsed(calls: impl FnOnce() -> Result<(), Diagnostic>) -> Result<f32, Diagnostic> {
    let device = driver::device()?;
    let _entered = device.enter()?;
    let clock = Clock::new(device)?;
    let stream = device.stream()?;
    clock.start(&stream)?;
    // It is the one that the calls get next, one after another.
    let number = stream.number;
    drop(stream);
    calls()?;
    let stream = device.stream()?;
    debug_assert_eq!(stream.number, number, "another thread calls");
    clock.stop(&stream)?;
    clock.milliseconds()
}

thread_local! {
    /// The clock of the last call of this thread.
    static LAST: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// Calls `what` between the two ends of the thread's clock.
pub fn timed<T>(
    stream: &Stream,
    what: impl FnOnce() -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let clock = match LAST.take() {
        Some(clock) => clock,
        None => Clock::new(stream.device)?,
    };
    clock.start(stream)?;
    let done = what()?;
    clock.stop(stream)?;
    LAST.set(Some(clock));
    Ok(done)
}

/// The milliseconds that the device took for the last call of this thread: its kernels, and what lay
/// between them.
pub fn last_milliseconds() -> Option<f32> {
    LAST.with_borrow(|last| last.as_ref().and_then(|clock| clock.milliseconds().ok()))
}
