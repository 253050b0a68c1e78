//! Programs of other languages: built in a folder of their own, which goes with them, and run with
//! a limit.

use crate::program::WorkProgram;
use crate::said::Said;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, process};

/// A folder with the sources and what is built of them.
#[derive(Debug)]
pub(crate) struct Workshop {
    folder: PathBuf,
}

/// What the programs of stages print.
#[derive(Deserialize)]
struct Timing {
    ns: u64,
}

/// What the programs of the clustering kernel print: the deviation of their times over the mean.
#[derive(Deserialize)]
pub(crate) struct Fluctuation {
    pub(crate) deviation: f64,
}

/// A program that runs longer is ended: some libraries take milliseconds per message.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

impl Workshop {
    /// A folder for the sources of `language`, each with its text.
    pub(crate) fn new(language: &str, sources: &[(&str, &str)]) -> Result<Workshop, String> {
        let shop = Workshop {
            folder: new_folder(language)?,
        };
        let at = |error: io::Error| format!("{}: {error}", shop.folder.display());
        for (file, text) in sources {
            fs::write(shop.folder.join(file), text).map_err(at)?;
        }
        Ok(shop)
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a compiler in it.
    pub(crate) fn build(&self, compiler: &mut Command) -> Result<(), String> {
        let built = compiler
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                let name = compiler.get_program().display();
                format!("{name} does not run: {error}")
            })?;
        if built.status.success() {
            return Ok(());
        }
        let name = compiler.get_program().display();
        let said = String::from_utf8_lossy(&built.stderr);
        Err(format!("{name} does not build it: {}", said.trim()))
    }
}

/// A folder that was not there: what somebody else has made may hold programs of theirs.
fn new_folder(language: &str) -> Result<PathBuf, String> {
    // Several experiments of one process may build at one time.
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    loop {
        // Relaxed: only that no two get the same number counts.
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("motet-bench-{language}-{}-{number}", process::id());
        let folder = env::temp_dir().join(name);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{}: {error}", folder.display())),
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // What cannot be removed stays for the system to clean up.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a program has printed when it has ended; it is ended when it takes too long.
pub(crate) fn output(mut command: Command) -> Result<Output, String> {
    let name = command.get_program().display().to_string();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name} does not run: {error}"))?;
    let begun = Instant::now();
    // What these programs print fits a pipe: they do not wait for a reader.
    while child.try_wait().said()?.is_none() {
        if begun.elapsed() > PATIENCE {
            // One that has ended meanwhile needs no end.
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{name} has not ended after {PATIENCE:?}"));
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    child.wait_with_output().said()
}

/// What a program prints in a line of JSON.
pub(crate) fn printed<T: DeserializeOwned>(command: Command, program: &str) -> Result<T, String> {
    let ran = output(command)?;
    let told = String::from_utf8_lossy(&ran.stdout);
    // Launchers may print something of their own.
    let line = told.lines().find(|line| line.starts_with('{'));
    line.and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| format!("{program} gives no time: {}", first_line(&ran.stderr)))
}

/// The time that a program of stages prints.
pub(crate) fn timing(command: Command) -> Result<Duration, String> {
    Ok(Duration::from_nanos(printed::<Timing>(command, "it")?.ns))
}

/// The time in its answer.
pub(crate) fn time(answer: &str) -> Result<Duration, String> {
    Ok(Duration::from_nanos(told::<Timing>(answer)?.ns))
}

/// What an answer tells.
pub(crate) fn told<T: DeserializeOwned>(answer: &str) -> Result<T, String> {
    serde_json::from_str(answer).map_err(|_| format!("it answers {answer}"))
}

/// The first line that somebody has said.
pub(crate) fn first_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let first = said.lines().find(|line| !line.trim().is_empty());
    first.unwrap_or("it says nothing").to_owned()
}

/// What programs of stages are told: pattern, computations, stages, units in each, terms of a unit.
pub(crate) fn words(program: &WorkProgram) -> [String; 5] {
    [
        program.pattern.to_string(),
        program.parallel.to_string(),
        program.stages.to_string(),
        program.work.count.to_string(),
        program.work.unit.terms().to_string(),
    ]
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_workshop() {
        let shop = Workshop::new("text", &[("a.txt", "words")]).unwrap();
        let folder = shop.folder().to_owned();
        assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "words");
        let failed = shop.build(Command::new("sh").args(["-c", "echo no such thing >&2; false"]));
        assert_eq!(failed.unwrap_err(), "sh does not build it: no such thing");
        drop(shop);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_of_somebody_else_is_no_workshop() {
        let first = Workshop::new("taken", &[]).unwrap();
        let name = first.folder().display().to_string();
        let (front, number) = name.rsplit_once('-').unwrap();
        let number: usize = number.parse().unwrap();
        let next = (number + 1..number + 100).map(|next| PathBuf::from(format!("{front}-{next}")));
        let taken: Vec<PathBuf> = next.collect();
        taken
            .iter()
            .for_each(|folder| fs::create_dir(folder).unwrap());
        let second = Workshop::new("taken", &[]);
        taken
            .iter()
            .for_each(|folder| fs::remove_dir(folder).unwrap());
        assert!(!taken.contains(&second.unwrap().folder));
    }

    #[test]
    fn times_are_read_and_reasons_told() {
        let shell = |words: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", words]);
            timing(command)
        };
        let time = shell(r#"echo '{"ns": 12}'"#).unwrap();
        assert_eq!(time, Duration::from_nanos(12));
        let reason = shell("echo; echo it is late >&2").unwrap_err();
        assert_eq!(reason, "it gives no time: it is late");
    }
}
