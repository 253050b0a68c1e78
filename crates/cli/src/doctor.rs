//! `motet doctor`: what this machine offers.

mod args;
mod libraries;
mod threads;

pub use args::DoctorArgs;

use std::fmt::Display;
use std::io::{self, Write};

use motet_machine::limits;
use motet_machine::system::{Cache, Cores, SystemLimits, SystemMemory, said};
use serde::Serialize;

use crate::amount::given;
use crate::doctor::libraries::Found;
use crate::doctor::threads::Threads;

use crate::error::CliError;
#[cfg(feature = "mesh")]
use crate::mesh::Listens;
use crate::mpi_search::search;
use crate::stdout::print;
#[cfg(not(feature = "mesh"))]
use crate::without_mesh::Listens;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    cores: Cores,
    caches: Vec<Cache>,
    roundtrip_us: Option<f64>,
    two_cores: Option<f64>,
    /// How many to run.
    threads: Threads,
    clock_ghz: f64,
    wakeup_us: f64,
    memory: SystemMemory,
    limits: SystemLimits,
    mpi: Vec<Found>,
    /// Why there is no library, and how to get one.
    mpi_problem: Option<String>,
    mesh: Listens,
    python: Option<String>,
    go: Option<String>,
}

/// Runs the command to its end.
///
/// # Errors
/// [`CliError::Mpi`] when the library that was named is not there, [`CliError::Start`] when it
/// cannot be opened, [`CliError::Output`].
pub(crate) fn run(args: &DoctorArgs) -> Result<(), CliError> {
    if let Some(path) = &args.start {
        return libraries::start(path);
    }
    let library = given(args.mpi_lib.as_ref());
    let search = search(library);
    let problem = search.find().err();
    if let Some(problem) = problem.clone().filter(|_| library.is_some()) {
        return Err(problem.into());
    }
    let mpi: Vec<Found> = search.all().iter().map(|path| Found::ask(path)).collect();
    if library.is_some() {
        mpi.iter().try_for_each(Found::must_open)?;
    }
    let (cores, two_cores) = (Cores::here(), limits::two_cores().map(|two| two.times));
    let findings = Findings {
        threads: Threads::on(&cores, two_cores),
        cores,
        caches: Cache::all(),
        roundtrip_us: least_of_some(limits::roundtrip_us),
        two_cores,
        clock_ghz: limits::clock_ghz(),
        wakeup_us: limits::wakeup_us(),
        memory: SystemMemory::here(),
        limits: SystemLimits::here(),
        mpi,
        mpi_problem: problem.map(|problem| problem.to_string()),
        mesh: Listens::here(),
        python: said(&args.python, "--version"),
        go: said(&args.go, "version"),
    };
    print(|to| {
        if args.json {
            serde_json::to_writer(&mut *to, &findings)?;
            return writeln!(to);
        }
        findings.write(to)
    })
}

/// The least of some measurements: for the time of one others may have the cores.
fn least_of_some(mut measure: impl FnMut() -> Option<f64>) -> Option<f64> {
    const TIMES: usize = 9;
    (0..TIMES).filter_map(|_| measure()).reduce(f64::min)
}

impl Findings {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut line = |name: &str, text: &str| writeln!(to, "{name:<12}{text}");
        let cores = &self.cores;
        let mut text = format!("{} usable", cores.usable);
        if let Some(installed) = cores.installed {
            text += &format!(" of {installed}");
        }
        if let Some(quota) = cores.quota {
            text += &format!(", a control group allows {quota:.2} at a time");
        }
        line("cores", &text)?;
        for cache in &self.caches {
            let size = size(Some(cache.bytes));
            let (level, kind, by) = (cache.level, &cache.kind, cache.shared_by);
            line("cache", &format!("L{level} {kind}, {size}, of {by}"))?;
        }
        let trip = self
            .roundtrip_us
            .map_or("one core".to_owned(), |us| format!("{us:.3} µs"));
        line("cache line", &format!("{trip} to another core and back"))?;
        line("clock", &format!("{:.1} GHz now", self.clock_ghz))?;
        if let Some(times) = self.two_cores {
            line(
                "two cores",
                &format!("do {times:.2} times what one does alone"),
            )?;
        }
        line("threads", &self.threads.line(self.roundtrip_us))?;
        line(
            "wake-up",
            &format!("{:.1} µs of a sleeping thread", self.wakeup_us),
        )?;
        let memory = &self.memory;
        let mut text = format!(
            "{} available of {}",
            size(memory.available_bytes),
            size(memory.total_bytes)
        );
        if let Some(limit) = memory.limit_bytes {
            text += &format!(", a control group allows {}", size(Some(limit)));
        }
        line("memory", &text)?;
        let limit = |limit: Option<u64>| known(limit.as_ref(), "any number");
        line(
            "limits",
            &format!(
                "{} processes and threads, {} open files",
                limit(self.limits.processes),
                limit(self.limits.open_files)
            ),
        )?;
        for found in &self.mpi {
            line("MPI", &described(found))?;
        }
        if let Some(problem) = &self.mpi_problem {
            line("MPI", problem)?;
        }
        for text in self.mesh.lines() {
            line("mesh", &text)?;
        }
        line("Python", &known(self.python.as_ref(), "none"))?;
        line("Go", &known(self.go.as_ref(), "none"))
    }
}

fn described(found: &Found) -> String {
    let parts = [
        found.version.clone(),
        found
            .standard
            .as_ref()
            .map(|version| format!("MPI {version}")),
        found.threads.clone(),
        Some(found.path.display().to_string()),
        found.problem.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn known(value: Option<&impl Display>, otherwise: &str) -> String {
    value.map_or(otherwise.to_owned(), ToString::to_string)
}

fn size(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) if bytes >= 1 << 30 => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        Some(bytes) if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        Some(bytes) => format!("{} KiB", bytes >> 10),
        None => "an unknown amount".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_some_measurements_counts() {
        let mut times = [35.0, 0.07, 0.06, 9.0].into_iter().cycle();
        assert_eq!(least_of_some(|| times.next()), Some(0.06));
        assert_eq!(least_of_some(|| None), None);
    }
}
