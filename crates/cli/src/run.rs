//! `motet run`: a program, or several, on threads, processes and nodes.

mod args;
mod parts;
mod rendezvous;

pub use args::RunArgs;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use motet_mpi::{Family, Launch, Library, MpiError, ProgramPart};
use motet_sync::thread;

use crate::error::{CliError, OptionError, ProgramStartError, not_started};
use crate::mpi_search::search;
use crate::spread::SpreadArgs;
use crate::stderr::tell;
use crate::stdout::print;
use crate::text::shell_word;

/// Runs the command to its end. On Unix this process becomes the launcher, so only a refusal
/// returns.
///
/// # Errors
/// [`CliError::Mpi`] when there is no library, [`CliError::Start`] when something cannot be
/// started, [`CliError::Options`].
pub(crate) fn run(args: &RunArgs) -> Result<(), CliError> {
    let (spread, slurm, dry_run) = (&args.spread, args.slurm, args.dry_run);
    let local = !slurm && spread.is_local();
    let (program, others) = parts::parts(&args.program)?;
    check_hostfile(spread.hostfile.as_deref())?;
    check_launcher_exec(spread)?;
    if local && !dry_run {
        check_programs(&program, &others)?;
    }
    let in_job = args.mesh.as_deref().filter(|_| slurm || dry_run);
    let mut launch = Launch {
        mesh: in_job.map(rendezvous::check).transpose()?,
        threads: args.threads,
        processes: spread.processes,
        nodes: spread.nodes,
        cores: match slurm {
            true => thread::cores(),
            false => spread.cores(),
        },
        why: args.why,
        balance: args.balance,
        others,
        ..Launch::new(Family::Other, "", "")
    };
    let is_alone = local && launch.total() == 1 && spread.library().is_none();
    let line = match search(spread.library()).find() {
        Err(MpiError::NotFound { .. } | MpiError::Static) if is_alone && dry_run => {
            let line = lone_line(&launch, &program);
            return print(|to| writeln!(to, "{line}"));
        }
        Err(MpiError::NotFound { .. } | MpiError::Static) if is_alone => {
            if !args.quiet {
                tell(format_args!(
                    "no MPI library: the program is started without a launcher"
                ));
            }
            program
        }
        library => {
            let version = add_library(&mut launch, library?, args)?;
            if dry_run {
                let text = match slurm {
                    true => launch.batch_script(&program),
                    false => launch.shell_line(&program) + "\n",
                };
                return print(|to| to.write_all(text.as_bytes()));
            }
            if slurm && !is_there(OsStr::new("sbatch")) {
                return Err(CliError::Start(ProgramStartError::NoSlurm));
            }
            if !args.quiet {
                announce(&version, &launch, local);
            }
            if slurm {
                return submit(&launch.batch_script(&program));
            }
            launch.line(&program)
        }
    };
    if !args.no_mesh {
        let place = rendezvous::RendezvousParent::of(args.mesh.as_deref(), spread);
        launch.mesh = rendezvous::make(&place, args.quiet)?;
    }
    become_it(command(&line, &launch))
}

/// The line for a shell that starts the program without a launcher.
fn lone_line(launch: &Launch, program: &[OsString]) -> String {
    let variables = launch.variables().into_iter();
    let set = variables.map(|(name, value)| format!("{name}={}", shell_word(&value)));
    let words = program.iter().map(|word| shell_word(word));
    set.chain(words).collect::<Vec<_>>().join(" ")
}

/// Adds the library with its launcher, and what the launcher is told; the words of the library.
fn add_library(launch: &mut Launch, library: PathBuf, args: &RunArgs) -> Result<String, CliError> {
    let (spread, opened) = (&args.spread, Library::open(&library)?);
    let version = opened.version();
    let family = Family::of(&version);
    if !args.slurm && !args.dry_run && spread.is_local() && family != Family::Other {
        check_files(launch.total())?;
    }
    launch.family = family;
    launch.mpiexec = family.launcher(&library)?;
    launch.launcher_exec = launcher_exec(spread, family)?;
    launch.hostfile.clone_from(&spread.hostfile);
    launch.library = library;
    // On a cluster Slurm answers for the processes.
    launch.under = if args.slurm {
        Vec::new()
    } else {
        supervisor()?
    };
    Ok(version)
}

/// The first of the words with the others as arguments, told what its processes need to know.
fn command(line: &[OsString], launch: &Launch) -> Command {
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).envs(launch.variables());
    command
}

/// Says what is going to run.
fn announce(version: &str, launch: &Launch, local: bool) {
    let (library, nodes) = (launch.library.display(), launch.nodes);
    tell(format_args!("{version} in {library}"));
    if local && nodes > 1 {
        tell(format_args!(
            "no --hostfile: all {nodes} nodes are this machine"
        ));
    }
}

/// Open files that the launchers of MPICH and Intel MPI have for each process, and some more.
#[cfg(unix)]
const FILES: (u64, u64) = (4, 8);

/// # Errors
/// More processes than the launcher can have open files for: it says so for each, and may not end.
#[cfg(unix)]
fn check_files(processes: usize) -> Result<(), CliError> {
    use rustix::process::{Resource, getrlimit};

    let needed = processes as u64 * FILES.0 + FILES.1;
    match getrlimit(Resource::Nofile).current {
        Some(most) if needed > most => Err(CliError::Options(OptionError::Value {
            option: "--processes times --nodes, of all programs,",
            value: processes.to_string(),
            advice: "the launcher needs 4 open files for each process, and ulimit -n allows fewer \
                     here: give less than a quarter of it, or raise it",
        })),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_files(_: usize) -> Result<(), CliError> {
    Ok(())
}

/// # Errors
/// There is no such file.
fn check_hostfile(file: Option<&Path>) -> Result<(), CliError> {
    // A pipe, as of `<(…)` in a shell, is read as a file.
    match file.filter(|file| !file.exists() || file.is_dir()) {
        None => Ok(()),
        Some(file) => Err(CliError::Options(OptionError::Value {
            option: "--hostfile",
            value: file.display().to_string(),
            advice: "there is no such file; name one with a machine on each line",
        })),
    }
}

/// # Errors
/// There is no such program, or no node but this machine.
fn check_launcher_exec(spread: &SpreadArgs) -> Result<(), CliError> {
    let advice = match &spread.launcher_exec {
        Some(program) if !is_there(program.as_os_str()) => {
            "there is no such program; name one that is called as ssh is"
        }
        Some(_) if spread.is_local() => {
            "all nodes are this machine; name the machines with --hostfile"
        }
        _ => return Ok(()),
    };
    let value = spread.launcher_exec.as_deref().unwrap_or(Path::new(""));
    Err(CliError::Options(OptionError::Value {
        option: "--launcher-exec",
        value: value.display().to_string(),
        advice,
    }))
}

/// The program that starts processes on other nodes, by its whole path: the launcher may look for
/// it from another folder.
///
/// # Errors
/// Nobody knows how the launcher is told.
fn launcher_exec(spread: &SpreadArgs, family: Family) -> Result<Option<PathBuf>, CliError> {
    let Some(program) = &spread.launcher_exec else {
        return Ok(None);
    };
    if family == Family::Other {
        return Err(CliError::Options(OptionError::Conflict {
            option: "--launcher-exec",
            other: "the launcher of this MPI library",
            advice: "leave it out: only the options of MPICH and Intel MPI for it are known",
        }));
    }
    Ok(Some(match program.components().count() {
        1 => program.clone(),
        _ => std::path::absolute(program).unwrap_or_else(|_| program.clone()),
    }))
}

/// What each process runs under, which answers for its end.
#[cfg(unix)]
fn supervisor() -> Result<Vec<OsString>, CliError> {
    crate::supervise::line()
}

/// Nothing: nobody answers for the end of a process here.
#[cfg(not(unix))]
fn supervisor() -> Result<Vec<OsString>, CliError> {
    Ok(Vec::new())
}

/// # Errors
/// One of the programs is not here.
fn check_programs(program: &[OsString], others: &[ProgramPart]) -> Result<(), CliError> {
    check_program(&program[0])?;
    let mut others = others.iter();
    others.try_for_each(|part| check_program(&part.program[0]))
}

/// # Errors
/// There is no such program here.
fn check_program(program: &OsStr) -> Result<(), CliError> {
    match is_there(program) {
        true => Ok(()),
        false => Err(CliError::Start(ProgramStartError::NoProgram {
            program: PathBuf::from(program),
        })),
    }
}

/// Whether a program can be started by this name here.
fn is_there(program: &OsStr) -> bool {
    if Path::new(program).components().count() > 1 {
        return is_program(Path::new(program));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| is_program(&folder.join(program)))
}

/// Whether it is a file that somebody may execute.
#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Whether it is a file: which ones are programs the system knows when it starts them.
#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Gives the script to `sbatch`.
fn submit(script: &str) -> Result<(), CliError> {
    let fault = |source| not_started(PathBuf::from("sbatch"), source);
    let mut sbatch = Command::new("sbatch")
        .stdin(Stdio::piped())
        .spawn()
        .map_err(fault)?;
    if let Some(mut input) = sbatch.stdin.take() {
        // One that ends before it has read says why by its exit code.
        let _ = input.write_all(script.as_bytes());
    }
    let status = sbatch.wait().map_err(fault)?;
    match status.code() {
        Some(0) => Ok(()),
        code => Err(CliError::Start(ProgramStartError::Refused {
            launcher: PathBuf::from("sbatch"),
            code,
        })),
    }
}

/// Replaces this process by the launcher: signals and the exit code are its own.
#[cfg(unix)]
fn become_it(mut command: Command) -> Result<(), CliError> {
    use std::os::unix::process::CommandExt;

    let launcher = PathBuf::from(command.get_program());
    let source = command.exec();
    Err(not_started(launcher, source))
}

/// Runs the launcher to its end.
#[cfg(not(unix))]
fn become_it(mut command: Command) -> Result<(), CliError> {
    let launcher = PathBuf::from(command.get_program());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CliError::Start(ProgramStartError::Refused {
            launcher,
            code: status.code(),
        })),
        Err(source) => Err(not_started(launcher, source)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn machines_may_come_through_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(check_hostfile(Some(&pipe)).is_ok());
        let none = folder.path().join("none");
        for other in [folder.path(), none.as_path()] {
            let told = check_hostfile(Some(other)).unwrap_err().to_string();
            assert!(told.contains("there is no such file"), "{told}");
        }
    }
}
