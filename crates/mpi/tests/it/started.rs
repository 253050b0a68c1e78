//! Tests that run in several processes.
//!
//! A test starts its own binary under `mpiexec`, once for each library that the testkit's
//! `mpi_libraries` gives, and runs its body there.

use motet_mpi::{EngineConfig, Environment, Family, Launch, Library, Processes, ThreadLevel};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::thread;
use motet_testkit::{mpi_libraries, patience, within};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, process};

/// Set in a process that was started by a test, to the test's name.
pub(crate) const STARTED: &str = "MOTET_MPI_TEST";
/// What such a process says when its body has ended.
pub(crate) const DONE: &str = "the body has ended";
/// The file to which processes write what the test reads later.
pub(crate) const NOTES: &str = "MOTET_MPI_TEST_NOTES";

/// What is promised of a time takes so many steps, one after the other; each may be as late as the
/// clock was.
pub(crate) const STEPS: f64 = 6.0;

/// A launcher that sees a process end without MPI_Finalize may end the rest. Here it sees a shell,
/// which notes how its process has ended, and when, and stays until all have.
const SHELL: &str = r#""$0" "$@"; code=$?; read -r now rest < /proc/uptime
echo "code $code at $now" >> "$MOTET_MPI_TEST_NOTES"
until [ "$(grep -c "^code " "$MOTET_MPI_TEST_NOTES")" -ge "$MOTET_MPI_TEST_PROCESSES" ]; do sleep 0.02; done"#;

/// What processes have left that may end as they like.
pub(crate) struct Left {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) notes: String,
}

impl Left {
    /// All of it, with the library over which they ran.
    pub(crate) fn told(&self, library: &Path) -> String {
        let (library, Left { out, err, notes }) = (library.display(), self);
        format!("{library}: {notes}{out}{err}")
    }
}

/// Runs `body` on so many processes of every library. `name` is the test's own, with its module.
pub(crate) fn on_processes(name: &str, processes: usize, body: fn(&Environment)) {
    on_processes_at(ThreadLevel::Multiple, name, processes, body);
}

/// The same, with MPI started for calls from no more threads than this.
pub(crate) fn on_processes_at(
    level: ThreadLevel,
    name: &str,
    processes: usize,
    body: fn(&Environment),
) {
    if in_process(level, name, body) {
        return;
    }
    for library in mpi_libraries() {
        let ran = run(name, processes, &library, &[]);
        let out = String::from_utf8_lossy(&ran.stdout);
        let err = String::from_utf8_lossy(&ran.stderr);
        let library = library.display();
        assert!(ran.status.success(), "{library}: {out}{err}");
        assert_eq!(
            out.matches(DONE).count(),
            processes,
            "{library}: {out}{err}"
        );
    }
}

/// Runs the body when this is a process that the test of this name has started; then ends MPI.
pub(crate) fn in_process(level: ThreadLevel, name: &str, body: fn(&Environment)) -> bool {
    in_process_with(level, name, move |mpi| {
        body(&mpi);
        mpi.finish().unwrap();
    })
}

/// The same with a body that ends MPI.
pub(crate) fn in_process_with(
    level: ThreadLevel,
    name: &str,
    body: impl FnOnce(Environment) + Send + 'static,
) -> bool {
    if env::var(STARTED).as_deref() != Ok(name) {
        return false;
    }
    let library = PathBuf::from(env::var_os("MOTET_MPI_LIB").expect("the launch names it"));
    within(patience(), move || {
        let mpi = Library::open(&library).unwrap().start_at(level).unwrap();
        body(mpi);
        println!("{DONE}");
    });
    true
}

/// What says to a process that is started whether its messages go through memory or over MPI.
pub(crate) fn way(memory: bool) -> String {
    format!("{WAY}={}", if memory { "memory" } else { "mpi" })
}

/// The processes of a world whose messages go as the start has said; through memory if it has not.
pub(crate) fn joined(mpi: Environment) -> Arc<Processes> {
    let config = EngineConfig {
        share_memory: env::var(WAY).as_deref() != Ok("mpi"),
        ..EngineConfig::default()
    };
    Processes::with(mpi, config).unwrap()
}

const WAY: &str = "MOTET_MPI_TEST_WAY";

/// Starts the test of this name in so many processes, each under the words of `wrapper`.
pub(crate) fn run(name: &str, processes: usize, library: &Path, wrapper: &[&str]) -> Output {
    let opened = Library::open(library).unwrap();
    let family = Family::of(&opened.version());
    let launch = Launch {
        processes,
        ..Launch::new(family, library, family.launcher(library).unwrap())
    };
    let mut program: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
    program.push(env::current_exe().unwrap().into_os_string());
    program.extend(["--exact", name, "--include-ignored", "--nocapture"].map(OsString::from));
    let line = launch.line(&program);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).env(STARTED, name);
    if family == Family::Intel {
        // More processes than processors: nobody may spin for long.
        command
            .env("I_MPI_FABRICS", "shm")
            .env("I_MPI_SHM_RECV_SPIN_COUNT", "1");
    }
    command.output().unwrap()
}

/// Starts the test of this name in so many processes, each with these variables; none is ended
/// because another one is.
pub(crate) fn run_each_to_its_end(
    name: &str,
    processes: usize,
    library: &Path,
    variables: &[String],
) -> Left {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: only that no two get the same number counts.
    let run_number = RUNS.fetch_add(1, Ordering::Relaxed);
    let file = format!("motet-notes-{}-{run_number}", process::id());
    let file = env::temp_dir().join(file);
    let settings = [
        format!("{NOTES}={}", file.display()),
        format!("MOTET_MPI_TEST_PROCESSES={processes}"),
    ];
    let mut wrapper = vec!["env"];
    wrapper.extend(settings.iter().chain(variables).map(String::as_str));
    wrapper.extend(["sh", "-c", SHELL]);
    let ran = run(name, processes, library, &wrapper);
    let notes = fs::read_to_string(&file).unwrap_or_default();
    // What cannot be removed stays for the system to clean up.
    let _ = fs::remove_file(&file);
    Left {
        out: String::from_utf8_lossy(&ran.stdout).into_owned(),
        err: String::from_utf8_lossy(&ran.stderr).into_owned(),
        notes,
    }
}

/// Does the work while another thread looks at the clock every ten milliseconds; by how many
/// seconds it was late at worst.
pub(crate) fn beside_a_clock<R>(work: impl FnOnce() -> R) -> (R, f64) {
    const EVERY: Duration = Duration::from_millis(10);
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let clock = thread::spawn(move || {
        let mut late = Duration::ZERO;
        // Relaxed: a look more or less does not matter.
        while !told.load(Ordering::Relaxed) {
            let begun = Instant::now();
            thread::park_timeout(EVERY);
            late = late.max(begun.elapsed().saturating_sub(EVERY));
        }
        late.as_secs_f64()
    });
    let result = work();
    over.store(true, Ordering::Relaxed);
    (result, clock.join().unwrap())
}

/// What all processes of this launch have noted.
pub(crate) fn noted() -> String {
    let path = env::var_os(NOTES).expect("the launch says it");
    fs::read_to_string(path).unwrap_or_default()
}

/// The times at which this was noted.
pub(crate) fn times(notes: &str, what: &str) -> Vec<f64> {
    let times = notes.lines().filter_map(|line| line.strip_prefix(what));
    times.map(|time| time.parse().unwrap()).collect()
}

/// Writes when this happened, by the machine's clock, for the test to read.
pub(crate) fn note(what: &str) {
    use std::io::Write;

    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let now = uptime.split_whitespace().next().unwrap();
    let path = env::var_os(NOTES).expect("the launch says it");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(format!("{what} {now}\n").as_bytes())
        .unwrap();
}
