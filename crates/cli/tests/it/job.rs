//! A process of `motet run` that does not end its run: the job fails, and every survivor says whom
//! it has lost.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Stdio, abort, exit};
use std::{env, fs, thread};

use motet::search::{Search, SearchError};
use motet::sim::{Mode, SimError};
use motet::{CommError, Communicator, Current, World};
use motet_problems::{Phold, QueenRows, Queens};
use motet_testkit::mpi_libraries;
use rustix::process::{Signal, getpid, kill_process};

use crate::program::{ProgramFolder, Run};

/// How process 1 leaves.
const WAYS: [&str; 6] = ["kill", "abort", "exit 0", "exit 3", "panic", "error"];

/// What all ranks do meanwhile.
const WORKS: [&str; 12] = [
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "scan",
    "exscan",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "long",
];

const PROCESSES: usize = 3;

/// What a process of a job is told: the way, the work, and the file for the time of its end.
const JOB: &str = "MOTET_CLI_TEST_JOB";

/// So many seconds after the end of one the others have said so.
const SOON: f64 = 1.0;

#[test]
fn sem_g313_needs_mpi_every_survivor_says_whom_it_has_lost() {
    const NAME: &str = "job::sem_g313_needs_mpi_every_survivor_says_whom_it_has_lost";
    if in_job() {
        return;
    }
    // Each way with each library, and every work once.
    for (turn, library) in mpi_libraries().iter().enumerate() {
        for (number, way) in WAYS.iter().enumerate() {
            ends(
                NAME,
                library,
                way,
                WORKS[(number + turn * WAYS.len()) % WORKS.len()],
            );
        }
    }
}

#[test]
fn sem_g313_needs_mpi_who_searches_and_simulates_says_whom_it_has_lost() {
    const NAME: &str = "job::sem_g313_needs_mpi_who_searches_and_simulates_says_whom_it_has_lost";
    if in_job() {
        return;
    }
    // Each once, the libraries in turn.
    let works = ["search", "windows", "null messages", "time warp"];
    for (work, library) in works.iter().zip(mpi_libraries().iter().cycle()) {
        ends(NAME, library, "kill", work);
    }
}

#[test]
#[ignore = "takes minutes; `cargo xtask deep` runs it"]
fn deep_sem_g313_needs_mpi_each_way_in_each_work() {
    const NAME: &str = "job::deep_sem_g313_needs_mpi_each_way_in_each_work";
    if in_job() {
        return;
    }
    for library in mpi_libraries() {
        for way in WAYS {
            for work in WORKS {
                ends(NAME, &library, way, work);
            }
        }
    }
}

#[test]
fn sem_g314_needs_mpi_a_program_of_no_run_keeps_its_status() {
    for library in mpi_libraries() {
        for (script, code) in [("exit 0", 0), ("exit 5", 5), ("kill -9 $$", 137)] {
            let place = ProgramFolder::new();
            let mut command = place.command("run -m 1 --quiet --mpi-lib");
            command.arg(&library).args(["--", "sh", "-c", script]);
            let run = finished(command);
            // Intel MPI tells of a status in words of its own.
            assert!(
                run.code == code || run.code != 0 && code > 128,
                "{script}: {}",
                run.code
            );
        }
    }
}

/// Runs a job whose process 1 leaves in this way.
fn ends(name: &str, library: &PathBuf, way: &str, work: &str) {
    let place = ProgramFolder::new();
    let mark = place.path("mark");
    let mut command = place.command(&format!("run -m {PROCESSES} --quiet --mpi-lib"));
    command
        .arg(library)
        .arg("--")
        .arg(env::current_exe().unwrap());
    command.args(["--exact", name, "--include-ignored", "--nocapture"]);
    command.env(JOB, format!("{way}|{work}|{}", mark.display()));
    command.env("I_MPI_FABRICS", "shm");
    let run = finished(command);
    let all = format!(
        "{way}, {work}, {}:\n{}\n{}",
        library.display(),
        run.out,
        run.err
    );
    assert_ne!(run.code, 0, "{all}");
    let left: f64 = fs::read_to_string(&mark).expect(&all).parse().expect(&all);
    for process in (0..PROCESSES).filter(|&process| process != 1) {
        let begin = format!("survivor {process} at ");
        let said = run.err.lines().find_map(|line| line.split_once(&begin));
        let (_, said) = said.unwrap_or_else(|| panic!("survivor {process} says nothing: {all}"));
        let (at, why) = said.split_once(": ").expect(&all);
        let after = at.parse::<f64>().expect(&all) - left;
        assert!(after < SOON, "survivor {process} after {after:.2} s: {all}");
        let told = match way {
            "panic" => why.contains("panicked"),
            "error" => why.contains("rank 1"),
            _ => why.contains("process 1 is lost"),
        };
        assert!(told, "{all}");
    }
}

fn finished(mut command: std::process::Command) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    output.into()
}

/// Whether this is a process of a job, which then has done its part.
fn in_job() -> bool {
    let Ok(job) = env::var(JOB) else {
        return false;
    };
    let mut words = job.split('|');
    let mut word = || words.next().expect("way, work, file");
    let (way, work, mark) = (word(), word(), PathBuf::from(word()));
    let world = World::current().unwrap();
    let own = world.process().0;
    // A whole search or simulation takes longer than a collective.
    let last = if WORKS.contains(&work) { 300 } else { 5 };
    let ran = world.run(async |comm| -> Result<(), CommError> {
        for round in 0.. {
            if own == 1 && round == last {
                fs::write(&mark, uptime()).unwrap();
                leave(way)?;
            }
            step(&comm, work).await?;
        }
        Ok(())
    });
    let error = ran.expect_err("nobody ends it else");
    // In one piece: the launcher passes on what comes, from all processes.
    let line = format!("survivor {own} at {}: {error}\n", uptime());
    stderr().write_all(line.as_bytes()).unwrap();
    drop(world);
    exit(4);
}

fn leave(way: &str) -> Result<(), CommError> {
    match way {
        "kill" => kill_process(getpid(), Signal::KILL).unwrap(),
        "abort" => abort(),
        "exit 0" => exit(0),
        "exit 3" => exit(3),
        "panic" => panic!("as it was told"),
        _ => {
            let problem = "as it was told".to_owned();
            return Err(CommError::Arguments { problem });
        }
    }
    thread::park();
    Ok(())
}

async fn step(comm: &Communicator, work: &str) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let is_root = rank == 0;
    match work {
        "barrier" => comm.barrier().await?,
        "broadcast" => drop(comm.broadcast(0, is_root.then_some(rank)).await?),
        "reduce" => drop(comm.reduce(0, rank, |a, b| a + b).await?),
        "allreduce" => drop(comm.allreduce(rank, |a, b| a + b).await?),
        "reduce_scatter" => drop(comm.reduce_scatter(vec![rank; size], |a, b| a + b).await?),
        "scan" => drop(comm.scan(rank, |a, b| a + b).await?),
        "exscan" => drop(comm.exscan(rank, |a, b| a + b).await?),
        "gather" => drop(comm.gather(0, rank).await?),
        "scatter" => drop(comm.scatter(0, is_root.then(|| vec![rank; size])).await?),
        "allgather" => drop(comm.allgather(rank).await?),
        "alltoall" => drop(comm.alltoall(vec![rank; size]).await?),
        "search" => {
            let (search, tree) = (Search::default(), Queens { size: 7 });
            let count = |sum: &mut u64, _: &QueenRows| *sum += 1;
            let folded = search.fold(comm, &tree, || 0, count, |a, b| a + b);
            folded.await.map_err(|error| match error {
                SearchError::Comm(error) => error,
                other => panic!("{other}"),
            })?;
        }
        "windows" => simulated(comm, Mode::Windows).await?,
        "null messages" => simulated(comm, Mode::NullMessages).await?,
        "time warp" => simulated(comm, Mode::TimeWarp).await?,
        _ => {
            let (numbers, mut came) = (vec![rank as u64; 3000], vec![0; 3000]);
            comm.alltoall_into(&numbers, &mut came).await?;
        }
    }
    Ok(())
}

async fn simulated(comm: &Communicator, mode: Mode) -> Result<(), CommError> {
    let run = Phold::KNOWN[1].0.model().run(comm, mode).await;
    run.map(drop).map_err(|error| match error {
        SimError::Comm(error) => error,
        other => panic!("{other}"),
    })
}

/// Seconds since the machine has started: the same for all its processes.
fn uptime() -> String {
    let text = fs::read_to_string(Path::new("/proc/uptime")).unwrap();
    text.split(' ').next().unwrap().to_owned()
}
