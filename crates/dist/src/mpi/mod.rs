//! MPI, as the cluster has it: the library is found and loaded at run time, and nothing of it is needed to build.

mod abi;
mod library;
mod world;

use crate::communicator::{Communicator, GroupWork};
use crate::steps::{Engine, Stepwise};
use abi::{Api, Handle};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use tamis_ir::diagnostic::{Code, Diagnostic};
use world::{World, checked};

/// The exit status of ranks that are ended because one panicked amid a step.
const PANICKED: i32 = 101;

/// A communicator of the MPI library that is found at run time.
///
/// The library is the one that `TAMIS_MPI` names, else one that the process has loaded already, else that of what
/// started the process. Open MPI, libraries with the ABI of MPI 5, and those with MPICH's are known.
///
/// A rank that panics, drops its communicator, or calls [`end`](Mpi::end), while others are about to take a step
/// fails them in that step, as in [`on_threads`](crate::on_threads).
///
/// ```no_run
/// use tamis_dist::{Communicator, Mpi};
///
/// fn main() -> Result<(), tamis_ir::diagnostic::Diagnostic> {
///     let mpi = Mpi::world()?;
///     let gathered = mpi.all_gather(&[mpi.rank() as u8]);
///     let rank = mpi.rank();
///     let told = |error: &tamis_ir::diagnostic::Diagnostic| if rank == 0 { eprintln!("{error}") };
///     mpi.end(gathered, told).map(drop)
/// }
/// ```
pub struct Mpi {
    steps: Stepwise<World>,
    /// Whether MPI was initialised by Tamis, which then also finalises it.
    is_ours: bool,
    has_ended: bool,
}

/// How many communicators need MPI to go on; the last one ends it. Only where Tamis began it.
static OURS: Mutex<usize> = Mutex::new(0);

fn ours() -> MutexGuard<'static, usize> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mpi {
    /// All processes that were started together; one alone, if it was started by itself. All ranks call this.
    ///
    /// # Errors
    ///
    /// [`Code::UnsupportedBackend`] if no MPI library is found (where it was looked for, and how to name one), if
    /// it is of an unknown kind, or not that of what started the process; [`Code::RankFailed`] if it cannot start.
    pub fn world() -> Result<Mpi, Diagnostic> {
        let launcher = library::launcher();
        let api = api(|| library::find(launcher))?;
        let mut ours = ours();
        let is_ours = *ours > 0 || !is_initialised(api)?;
        if *ours == 0 && is_ours {
            initialise(api)?;
        }
        let world = World::copy_of(api, api.abi.world)?;
        *ours += usize::from(is_ours);
        drop(ours);
        let mpi = Mpi { steps: Stepwise::new(world), is_ours, has_ended: false };
        match launcher {
            Some(library::Launcher { name, ranks: Some(ranks), .. })
                if ranks > 1 && mpi.ranks() == 1 =>
            {
                Err(unlike(name, ranks, &api.version))
            }
            _ => Ok(mpi),
        }
    }

    /// A copy of a communicator that other code of this process has, such as mpi4py's `comm.handle`. All its ranks
    /// call this. Dropping it sends nothing, since garbage collectors drop at any time; [`end`](Mpi::end) does.
    ///
    /// # Errors
    ///
    /// [`Code::UnsupportedBackend`] if no MPI library is loaded, or it is of an unknown kind;
    /// [`Code::RankFailed`] if MPI is not initialised, or fails.
    ///
    /// # Safety
    ///
    /// The handle is a communicator (`MPI_Comm`) of the MPI library that the process has loaded.
    pub unsafe fn from_handle(handle: usize) -> Result<Mpi, Diagnostic> {
        let api = api(|| library::loaded().map_or_else(|| library::find(None), Ok))?;
        if !is_initialised(api)? {
            let message = "a communicator was given, but MPI is not initialised";
            let help =
                "initialise MPI first, and give a communicator of the library that Tamis uses";
            return Err(Diagnostic::new(Code::RankFailed, message).help(help));
        }
        let world = World::copy_of(api, handle as Handle)?;
        Ok(Mpi { steps: Stepwise::new(world), is_ours: false, has_ended: false })
    }

    /// Sends messages in pieces of at most so many bytes; else of 2^30. All ranks say the same.
    pub fn in_pieces(mut self, most: NonZeroUsize) -> Mpi {
        self.steps.engine.piece = most.get().min(world::PIECE);
        self
    }

    /// The communicator as the library knows it (`MPI_Comm`), for other code of this process.
    pub fn handle(&self) -> usize {
        self.steps.engine.comm
    }

    /// What the library says it is.
    pub fn version(&self) -> &str {
        &self.steps.engine.api.version
    }

    /// Says that this rank takes no further steps, and waits until the others do. The outcome is that of all ranks.
    ///
    /// A failure is told on each rank before any of them goes on: some launchers end all processes when the first
    /// one exits with an error, and what the others were about to print is lost.
    ///
    /// # Errors
    ///
    /// What the outcome was, or that of another rank; [`Code::RankFailed`] if others were about to take a step.
    pub fn end<T>(
        mut self,
        outcome: Result<T, Diagnostic>,
        tell: impl FnOnce(&Diagnostic),
    ) -> Result<T, Diagnostic> {
        self.finish(outcome, tell)
    }

    fn finish<T>(
        &mut self,
        outcome: Result<T, Diagnostic>,
        tell: impl FnOnce(&Diagnostic),
    ) -> Result<T, Diagnostic> {
        let outcome = self.steps.end(outcome);
        if let Err(failure) = &outcome {
            tell(failure);
            if !self.steps.engine.is_broken() {
                self.steps.wait();
            }
        }
        self.close();
        outcome
    }

    /// What the others are told of a panic; ends all ranks if it came amid a step, of which they know nothing.
    fn panicked(&self) -> Diagnostic {
        let rank = self.rank();
        if self.steps.is_amid_step() {
            eprintln!("rank {rank} panicked amid a step, and ends all ranks");
            self.abort(PANICKED);
        }
        let help = "see what it wrote, and please report it";
        Diagnostic::new(Code::Internal, format!("rank {rank} panicked")).help(help)
    }

    /// Ends all ranks with an exit status. Nothing is waited for, and nothing that is not yet written is kept.
    pub fn abort(&self, code: i32) -> ! {
        self.steps.engine.abort(code)
    }

    /// Gives back what MPI has for this communicator, after all ranks have ended.
    fn close(&mut self) {
        self.has_ended = true;
        let world = &self.steps.engine;
        if world.is_broken() {
            // The others do not know, and may wait for ever.
            eprintln!("rank {} cannot go on, and ends all ranks", world.rank());
            self.abort(1);
        }
        world.free();
        if self.is_ours {
            let mut ours = ours();
            *ours -= 1;
            if *ours == 0 {
                // SAFETY: MPI was initialised here, and no communicator is left. A failure changes nothing.
                unsafe { (world.api.finalize)() };
            }
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.has_ended || (!self.is_ours && !thread::panicking()) {
            return;
        }
        let outcome = if thread::panicking() { Err(self.panicked()) } else { Ok(()) };
        // This rank fails already, or has nothing left to fail.
        let _ = self.finish(outcome, |_| ());
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.steps.rank()
    }

    fn ranks(&self) -> usize {
        self.steps.ranks()
    }

    fn exchange(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        self.steps.exchange(parts)
    }

    fn all_gather(&self, part: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic> {
        self.steps.all_gather(part)
    }

    fn begin(&self) {
        self.steps.begin();
    }

    fn settle(&self, failure: Option<Diagnostic>) -> Result<(), Diagnostic> {
        self.steps.settle(failure)
    }

    fn in_groups(&self, group: u64, work: GroupWork<'_>) -> Result<(), Diagnostic> {
        self.steps.in_groups(group, work)
    }
}

/// The functions of the library, which is found once.
fn api(
    find: impl FnOnce() -> Result<library::Library, Diagnostic>,
) -> Result<&'static Api, Diagnostic> {
    static API: OnceLock<Api> = OnceLock::new();
    match API.get() {
        Some(api) => Ok(api),
        None => find().and_then(Api::of).map(|found| API.get_or_init(|| found)),
    }
}

fn is_initialised(api: &Api) -> Result<bool, Diagnostic> {
    let (mut is_initialised, mut is_over) = (0, 0);
    // SAFETY: these may be called at any time.
    unsafe {
        checked(api, "MPI_Initialized", (api.initialized)(&mut is_initialised))?;
        checked(api, "MPI_Finalized", (api.finalized)(&mut is_over))?;
    }
    if is_over != 0 {
        let message = "MPI has ended in this process, and cannot start a second time";
        let help = "keep a communicator until the last use of MPI";
        return Err(Diagnostic::new(Code::RankFailed, message).help(help));
    }
    Ok(is_initialised != 0)
}

fn initialise(api: &Api) -> Result<(), Diagnostic> {
    let (none, mut level) = (std::ptr::null_mut(), 0);
    let abi = &api.abi;
    // SAFETY: MPI is not initialised yet; it takes null for the arguments of the process.
    let error = unsafe { (api.init)(none, none, abi.serialized, &mut level) };
    checked(api, "MPI_Init_thread", error)?;
    // Errors of no communicator are those of the world's, since MPI 4 of a rank's own.
    [abi.world, abi.own].into_iter().try_for_each(|comm| {
        // SAFETY: MPI is initialised now, and has these communicators.
        let error = unsafe { (api.set_errhandler)(comm, abi.errors_return) };
        checked(api, "MPI_Comm_set_errhandler", error)
    })
}

/// What started the process does not belong to the library.
fn unlike(launcher: &str, ranks: usize, version: &str) -> Diagnostic {
    let message = format!(
        "{launcher} started {ranks} processes, but the MPI library that is loaded sees one: it is {version}"
    );
    let help = "start them by the mpiexec of that library, or name the library by TAMIS_MPI";
    Diagnostic::new(Code::UnsupportedBackend, message).help(help)
}
