//! Ranks under the MPI libraries that PyPI has, each in a virtual environment of its own under the target folder:
//! what arrives, and that a rank that fails, panics or is killed ends the job.

mod hosts;

use crate::python::{has_python, prepare, target};
use hosts::Hosts;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A job that lasts longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// A job may last so long after a rank was killed.
const END: Duration = Duration::from_secs(10);
/// Ranks on two hosts have to send what they exchange.
const LOCAL: &str = "ranks on two hosts do not use the network between them";
const RANKS: [usize; 4] = [1, 2, 4, 8];

/// An MPI library, and the ABI by which it is used.
struct Mpi {
    name: &'static str,
    package: &'static str,
    /// The file in the environment's folder of libraries, where it is not the one that is found.
    library: Option<&'static str>,
    flags: &'static [&'static str],
}

const MPIS: [Mpi; 3] = [
    Mpi { name: "Open MPI", package: "openmpi", library: None, flags: &["--oversubscribe"] },
    Mpi { name: "MPICH, the standard's ABI", package: "mpich", library: None, flags: &[] },
    Mpi { name: "MPICH's ABI", package: "mpich", library: Some("libmpi.so.12"), flags: &[] },
];

/// Runs the example `ranks` of `tamis-dist` under each library, on two hosts if `--hosts` says so; true without that
/// where there is no Python.
pub fn test(profile: &str, args: &[&str]) -> bool {
    let (on_hosts, args) = match args {
        ["--hosts", rest @ ..] => (true, rest),
        _ => (false, args),
    };
    let kills = match args {
        [] => Some(2),
        ["--kills", count] => count.parse().ok(),
        _ => None,
    };
    let Some(kills) = kills else {
        println!("usage: cargo xtask mpi [--hosts] [--kills N]");
        return false;
    };
    if !has_python() {
        println!("mpi tests were skipped: there is no python3 of version 3.11 or later");
        return true;
    }
    let build = ["build", "--quiet", "--profile", profile, "--workspace", "--example", "ranks"];
    let built = Command::new("cargo").args(build).status().is_ok_and(|status| status.success());
    if !MPIS.iter().all(|mpi| prepare(&environment(mpi), &[mpi.package.to_owned()])) {
        println!(
            "mpi tests were skipped: PyPI has no MPI library for this machine, or cannot be reached"
        );
        return built;
    }
    built && checked(profile, on_hosts, kills).inspect_err(|why| println!("mpi: {why}")).is_ok()
}

fn checked(profile: &str, on_hosts: bool, kills: usize) -> Result<(), String> {
    let program = path::absolute(target().join(profile).join("examples/ranks"));
    let program = program.map_err(|error| error.to_string())?;
    let folder = path::absolute(target().join("mpi")).map_err(|error| error.to_string())?;
    let hosts = if on_hosts { Some(Hosts::new(&folder)?) } else { None };
    MPIS.iter().try_for_each(|mpi| {
        let job = Job::new(mpi, program.clone(), hosts.as_ref());
        job.holds(kills).map_err(|why| format!("{}: {why}", mpi.name))
    })
}

fn environment(mpi: &Mpi) -> PathBuf {
    target().join("mpi").join(mpi.package)
}

/// How to start ranks under a library.
struct Job<'m> {
    mpi: &'m Mpi,
    environment: PathBuf,
    program: PathBuf,
    /// What all ranks print.
    output: PathBuf,
    library: Option<PathBuf>,
    /// Where ranks run, if not on this host.
    hosts: Option<&'m Hosts>,
}

impl<'m> Job<'m> {
    fn new(mpi: &'m Mpi, program: PathBuf, hosts: Option<&'m Hosts>) -> Job<'m> {
        let environment = environment(mpi);
        let library = mpi.library.map(|library| environment.join("lib").join(library));
        Job { mpi, output: environment.join("output"), environment, program, library, hosts }
    }

    fn holds(&self, kills: usize) -> Result<(), String> {
        for ranks in RANKS {
            let (start, sent) = (Instant::now(), self.hosts.map_or(0, Hosts::sent));
            self.check(ranks, "messages", true, |told| {
                told.contains(&format!("{ranks} ranks of "))
            })?;
            self.check(ranks, "faults", true, |told| told.contains("faults"))?;
            let seconds = start.elapsed().as_secs_f64();
            let between = match self.hosts.map(|hosts| hosts.sent() - sent) {
                Some(sent) if ranks > 1 && sent < 1 << 20 => return Err(LOCAL.to_owned()),
                Some(sent) => format!(", {sent} bytes from host to host"),
                None => String::new(),
            };
            println!("{}, {ranks} ranks: {seconds:.1} s{between}", self.mpi.name);
        }
        let failed = "error[invalid-tensor]: rank 2 failed at 1   = help: mend it";
        self.check(4, "returns", false, |told| same(told, failed))?;
        let left = "error[rank-failed]: rank 2 has ended while rank 0 gathers data ";
        self.check(4, "leaves", false, |told| same(told, left))?;
        self.check(4, "panics", false, |told| {
            let others =
                [0, 1, 3].map(|rank| format!("rank {rank}: error[internal]: rank 2 panicked"));
            told.contains("of rank 2 at 1") && others.iter().all(|other| told.contains(other))
        })?;
        self.check(4, "aborts", false, |told| told.contains("is process"))?;
        self.other_libraries()?;
        let mut longest = Duration::ZERO;
        for kill in 0..kills {
            longest = longest.max(self.killed(kill)?);
        }
        let longest = longest.as_secs_f64();
        println!(
            "{}: {kills} ranks were killed, jobs ended in at most {longest:.1} s",
            self.mpi.name
        );
        Ok(())
    }

    /// Libraries that are missing, or not the launcher's.
    fn other_libraries(&self) -> Result<(), String> {
        let named = |library: PathBuf, told: &str| {
            let job = Job {
                library: Some(library),
                ..Job::new(self.mpi, self.program.clone(), self.hosts)
            };
            job.check(2, "messages", false, |all| {
                all.contains("error[unsupported-backend]") && all.contains(told)
            })
        };
        named(PathBuf::from("libmissing.so"), "that TAMIS_MPI names cannot be loaded")?;
        // MPICH's library ends a process by itself where Open MPI started it.
        if self.mpi.package == "openmpi" {
            return Ok(());
        }
        let library = environment(&MPIS[0]).join("lib/libmpi.so.40");
        named(library, "2 processes, but the MPI library that is loaded sees one")
    }

    /// Kills one of four ranks amid steps; how long the job then lasts.
    fn killed(&self, kill: usize) -> Result<Duration, String> {
        let mut job = self.start(4, "endless")?;
        let known = |rank: usize| {
            let told = self.told();
            let line = format!("rank {rank} is process ");
            told.lines().find_map(|l| l.trim().strip_prefix(&line)?.parse::<u32>().ok())
        };
        let start = Instant::now();
        while (0..4).any(|rank| known(rank).is_none()) {
            if start.elapsed() > LIMIT || job.try_wait().is_ok_and(|status| status.is_some()) {
                return Err(format!("ranks did not start: {}", self.told()));
            }
            sleep(Duration::from_millis(10));
        }
        // At different steps.
        sleep(Duration::from_millis(20 * (kill as u64 % 10)));
        let all: Vec<u32> = (0..4).filter_map(known).collect();
        let shell = format!("kill -9 {}", all[kill % 4]);
        let start = Instant::now();
        let sent = Command::new("sh").args(["-c", &shell]).status();
        sent.map_err(|error| error.to_string())?;
        let status = ended(&mut job, END).ok_or("a job hangs after a rank was killed")?;
        if status.success() {
            return Err("a job whose rank was killed succeeds".to_owned());
        }
        let is_alive = |process: &&u32| Path::new(&format!("/proc/{process}/exe")).exists();
        while let Some(process) = all.iter().find(is_alive) {
            if start.elapsed() > END {
                return Err(format!("process {process} outlives its job"));
            }
            sleep(Duration::from_millis(5));
        }
        Ok(start.elapsed())
    }

    /// Runs a job: whether it succeeds, and what it tells.
    fn check(
        &self,
        ranks: usize,
        command: &str,
        succeeds: bool,
        tells: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let mut job = self.start(ranks, command)?;
        let status: Option<ExitStatus> = ended(&mut job, LIMIT);
        let told = self.told();
        match status {
            Some(status) if status.success() == succeeds && tells(&told) => Ok(()),
            Some(status) => {
                Err(format!("{ranks} ranks, {command}: {status}, and this was told:\n{told}"))
            }
            None => Err(format!("{ranks} ranks, {command}: hangs, and this was told:\n{told}")),
        }
    }

    fn start(&self, ranks: usize, command: &str) -> Result<Child, String> {
        let output = File::create(&self.output).map_err(|error| error.to_string())?;
        let both = output.try_clone().map_err(|error| error.to_string())?;
        let program = self.environment.join("bin/mpiexec");
        let mut mpiexec = match self.hosts {
            Some(hosts) => hosts.mpiexec(self.mpi.package, &program),
            None => {
                let mut mpiexec = Command::new(program);
                mpiexec.args(self.mpi.flags);
                mpiexec
            }
        };
        mpiexec.args(["-n", &ranks.to_string()]).arg(&self.program);
        mpiexec.arg(command).env_remove("TAMIS_MPI").stdout(output).stderr(both);
        // Machines that run tests may have only this user.
        mpiexec.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        if let Some(library) = &self.library {
            mpiexec.env("TAMIS_MPI", library);
        }
        mpiexec
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{}: {error}", mpiexec.get_program().display()))
    }

    fn told(&self) -> String {
        fs::read(&self.output)
            .map_or_else(|_| String::new(), |told| String::from_utf8_lossy(&told).into_owned())
    }
}

/// Whether each of four ranks tells the same.
fn same(told: &str, wanted: &str) -> bool {
    (0..4).all(|rank| told.contains(&format!("rank {rank}: {wanted}")))
}

/// How a job ends; one that lasts too long is ended.
fn ended(job: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Ok(Some(status)) = job.try_wait() {
            return Some(status);
        }
        sleep(Duration::from_millis(5));
    }
    // It hangs; what it left behind cannot be told.
    let shell = format!("kill -9 -{}", job.id());
    let _ = Command::new("sh").args(["-c", &shell]).status();
    let _ = job.wait();
    None
}
