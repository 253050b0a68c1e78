//! Two machines: namespaces of the network, of names and of processes, with a cable between them.
//! They need root, and `unshare` and `ip`: tests that have `needs_hosts` in their names.

use crate::started::{NOTES, STARTED, STEPS, beside_a_clock, in_process_with, note};
use motet_comm::{CommError, RunError, World};
use motet_mpi::{Environment, Family, Launch, Library, Processes, ThreadLevel};
use motet_sync::thread;
use motet_testkit::{mpi_libraries, patience, two_machines};
use rustix::process::{Signal, getpid, kill_process};
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the processes wait for one that says nothing, also for the first word of each.
const PATIENCE: Duration = Duration::from_secs(10);
/// The run has ended so long after that, where threads are not kept waiting.
const SOON: Duration = Duration::from_secs(3);

/// The launcher must not see the death: it sees a shell, which stays until the others have told how
/// they ended.
const SHELL: &str = r#""$0" "$@"; echo "code $?"
until [ "$(grep -c "^told " "$MOTET_MPI_TEST_NOTES")" -ge "$MOTET_MPI_TEST_ENDS" ]; do sleep 0.05; done"#;
/// How many will tell.
const ENDS: &str = "MOTET_MPI_TEST_ENDS";

/// What happens while the ranks work.
const EVENT: &str = "MOTET_MPI_TEST_EVENT";

#[test]
fn sem_g318_needs_mpi_needs_hosts_a_process_that_is_killed_on_another_machine_is_named() {
    let name = "hosts::sem_g318_needs_mpi_needs_hosts_a_process_that_is_killed_on_another_machine_is_named";
    on_two(name, "kill", &[0]);
}

#[test]
fn sem_g318_needs_mpi_needs_hosts_a_cable_that_is_cut_ends_the_run_at_both_ends() {
    let name =
        "hosts::sem_g318_needs_mpi_needs_hosts_a_cable_that_is_cut_ends_the_run_at_both_ends";
    on_two(name, "cut", &[0, 1]);
}

/// Runs the test of this name as two processes on two machines; these end in time and say why.
fn on_two(name: &str, event: &str, ends: &[usize]) {
    if in_process_with(ThreadLevel::Multiple, name, live) {
        return;
    }
    for library in mpi_libraries() {
        let file = format!("motet-hosts-{}-{event}", std::process::id());
        let file = env::temp_dir().join(file);
        let mut started = launch(&library, name, event, ends.len(), &file);
        let notes = || fs::read_to_string(&file).unwrap_or_default();
        let told = |notes: &str| notes.matches("told ").count() == ends.len();
        let ((), late) = beside_a_clock(|| {
            let begun = Instant::now();
            let mut runs = || started.try_wait().unwrap().is_none();
            while !told(&notes()) && runs() && begun.elapsed() < patience() / 2 {
                thread::park_timeout(Duration::from_millis(50));
            }
        });
        let notes = notes();
        // With it all that runs on the two machines.
        let _ = started.kill();
        let said = started.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout) + String::from_utf8_lossy(&said.stderr);
        let _ = fs::remove_file(&file);
        let all = format!(
            "{}, {event}, {late:.2} s late:\n{notes}{said}",
            library.display()
        );
        assert!(told(&notes), "{all}");
        let happened = time(&notes, "happened at ").unwrap();
        for process in ends {
            let ended = time(&notes, &format!("ended {process} at ")).unwrap();
            let after = ended - happened;
            let soon = (PATIENCE + SOON).as_secs_f64() + STEPS * late;
            assert!(after <= soon, "{all}");
            println!("{event}: process {process} ended after {after:.2} s");
        }
    }
}

/// When this was noted.
fn time(notes: &str, what: &str) -> Option<f64> {
    let mut lines = notes.lines();
    lines.find_map(|line| line.strip_prefix(what)?.parse().ok())
}

/// Starts two processes on two machines.
fn launch(library: &Path, name: &str, event: &str, ends: usize, notes: &Path) -> Child {
    let family = Family::of(&Library::open(library).unwrap().version());
    let launch = Launch {
        threads: 2,
        nodes: 2,
        ..Launch::new(family, library, family.launcher(library).unwrap())
    };
    let mut command = two_machines();
    command.arg(&launch.mpiexec);
    match family {
        Family::Intel => command
            .args(["-bootstrap", "ssh", "-bootstrap-exec", "/run/netns/shell"])
            .env("I_MPI_FABRICS", "shm:ofi")
            .env("LD_LIBRARY_PATH", library.parent().unwrap())
            .env("FI_PROVIDER_PATH", library.parent().unwrap())
            .env("FI_PROVIDER", "tcp"),
        // Both have the same boot: it would take shared memory.
        _ => command
            .args(["-launcher", "ssh", "-launcher-exec", "/run/netns/shell"])
            .env("UCX_TLS", "tcp,self")
            .env("UCX_NET_DEVICES", "cable"),
    };
    let line = launch.line(&[]);
    let ends = ends.to_string();
    command.args(["-hosts", "h1,h2"]).args(&line[1..]);
    for (name, value) in [
        (STARTED, name.as_ref()),
        (EVENT, event.as_ref()),
        (NOTES, notes.as_os_str()),
        (ENDS, ends.as_ref()),
    ] {
        command.arg("-genv").arg(name).arg(value);
    }
    command
        .args(["sh", "-c", SHELL])
        .arg(env::current_exe().unwrap())
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The life of a process.
fn live(mpi: Environment) {
    let world = World::over(Processes::new(mpi).unwrap(), 2).patience(PATIENCE);
    let own = world.process().0;
    let event = env::var(EVENT).expect("the launch says it");
    let ended = world.run(async |comm| -> Result<(), CommError> {
        for round in 0.. {
            match (round, comm.rank(), event.as_str()) {
                (100, 2, "kill") => {
                    note("happened at");
                    kill_process(getpid(), Signal::KILL).unwrap();
                }
                (100, 0, "cut") => {
                    let cut = Command::new("ip")
                        .args(["link", "set", "cable", "down"])
                        .status();
                    assert!(cut.unwrap().success());
                    note("happened at");
                }
                _ => comm.barrier().await?,
            }
        }
        Ok(())
    });
    note(&format!("ended {own} at"));
    let ended = ended.unwrap_err();
    match &ended {
        RunError::Lost { process, .. } => assert_eq!(*process, 1 - own),
        other => panic!("{other}"),
    }
    note(&format!("told {own}: {ended} at"));
}
