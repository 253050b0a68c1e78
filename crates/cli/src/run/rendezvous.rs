//! The folder where nodes of a run's mesh meet. Who starts the run makes it. A process beside the
//! launcher removes it when that one ends, however it ends.
//!
//! ```text
//!  motet run ─► folder, mode 0700 ─► becomes the launcher (MOTET_MESH names the folder) ─► processes
//!      └─► ends at once ─► remover ─── waits for the launcher's end ─── removes the folder
//! ```
//!
//! The remover is no child of the launcher, or of the one program that is started without: that may
//! wait for all children that it has.
//!
//! The key of the mesh lies in the folder, made by the first node that joins. It is in no command
//! line and in no environment.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use motet_mpi::MACHINES;

use crate::error::{CliError, OptionError, OutputError};
use crate::spread::SpreadArgs;
use crate::stderr::tell;

/// Where such folders are made.
pub(super) enum RendezvousParent<'a> {
    /// Where this user has files of this machine.
    Here,
    /// In this folder, which the machines of the run share, or which is on this one.
    In(&'a Path, Reach),
    /// Nowhere: the run is on several machines, and no folder of all is known.
    Nowhere,
}

/// Which machines the processes are on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    This,
    Several,
}

impl<'a> RendezvousParent<'a> {
    pub(super) fn of(named: Option<&'a Path>, spread: &SpreadArgs) -> RendezvousParent<'a> {
        let here = spread.is_local() || (spread.hostfile.is_none() && spread.nodes == 1);
        match (named, here) {
            (Some(folder), true) => RendezvousParent::In(folder, Reach::This),
            (Some(folder), false) => RendezvousParent::In(folder, Reach::Several),
            (None, true) => RendezvousParent::Here,
            (None, false) => RendezvousParent::Nowhere,
        }
    }
}

/// Makes the folder, and has it removed when this process, which becomes the launcher, has ended.
/// `None`: the run is to have none.
///
/// # Errors
/// The folder that was named is none to write in.
pub(super) fn make(place: &RendezvousParent<'_>, quiet: bool) -> Result<Option<PathBuf>, CliError> {
    match place {
        RendezvousParent::Nowhere => Ok(None),
        RendezvousParent::Here => Ok(made(&usual(), Reach::This).map_or_else(
            |error| {
                // Most runs need none.
                if !quiet {
                    let usual = usual();
                    tell(format_args!(
                        "this run has no mesh: {}: {error}",
                        usual.display()
                    ));
                }
                None
            },
            Some,
        )),
        RendezvousParent::In(folder, reach) => {
            let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
            if !folder.is_dir() {
                return Err(no_folder(&folder));
            }
            let made = made(&folder, *reach);
            let made = made.map_err(|source| OutputError::Write {
                path: folder,
                source,
            })?;
            Ok(Some(made))
        }
    }
}

/// # Errors
/// The folder for a batch job is none.
pub(super) fn check(folder: &Path) -> Result<PathBuf, CliError> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(no_folder(&folder)),
    }
}

fn no_folder(folder: &Path) -> CliError {
    CliError::Options(OptionError::Value {
        option: "--mesh",
        value: folder.display().to_string(),
        advice: "there is no such folder; name one that all machines of the run share",
    })
}

/// A new folder in `place` that nobody else may enter, watched over.
fn made(place: &Path, reach: Reach) -> io::Result<PathBuf> {
    let mut name = tempfile::Builder::new();
    let folder = name.prefix("motet-mesh-run-").make_in(place, |path| {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    })?;
    let folder = folder.into_temp_path().keep().map_err(io::Error::from)?;
    let filled = match reach {
        Reach::This => Ok(()),
        Reach::Several => File::create(folder.join(MACHINES)).map(drop),
    };
    let watched = filled.and_then(|()| watch(&folder));
    if watched.is_err() {
        let _ = fs::remove_dir_all(&folder);
    }
    watched.map(|()| folder)
}

/// Where this user has files that others cannot enter, else where all have temporary ones.
fn usual() -> PathBuf {
    let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    own.filter(|folder| folder.is_dir())
        .unwrap_or_else(env::temp_dir)
}

/// Starts the process that removes the folder.
#[cfg(unix)]
fn watch(folder: &Path) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use rustix::process::{PidfdFlags, getpid, pidfd_open};

    let own = getpid();
    if own.is_init() {
        // All processes of a container end with its first one: nobody can remove anything then.
        return Ok(());
    }
    let mut remover = Command::new(crate::own::program()?);
    remover
        .args([crate::supervise::NAME, "--remove"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A key that interrupts the launcher leaves it alone.
        .process_group(0);
    let Ok(of_own) = pidfd_open(own, PidfdFlags::empty()) else {
        // A kernel before 5.3: only a child is told.
        remover.args(["--parent", &own.as_raw_pid().to_string()]);
        return remover.spawn().map(drop);
    };
    let mut starter = remover.arg("--apart").stdin(of_own).spawn()?;
    match starter.wait() {
        Ok(status) if !status.success() => Err(io::Error::other(
            "the process that would remove its folder cannot be started",
        )),
        // Where ends of children are ignored nobody knows how it has ended.
        _ => Ok(()),
    }
}

/// Nobody answers for the end of a launcher here: the folder stays.
#[cfg(not(unix))]
fn watch(_: &Path) -> io::Result<()> {
    Ok(())
}
