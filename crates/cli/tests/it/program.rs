//! Running the program in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;

/// A folder with input files, in which the program runs.
pub(crate) struct ProgramFolder {
    folder: TempDir,
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl ProgramFolder {
    pub(crate) fn new() -> ProgramFolder {
        ProgramFolder {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A place with one file.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> ProgramFolder {
        let place = ProgramFolder::new();
        place.write(name, content);
        place
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names in a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The program with these arguments, cut at blanks, ready to start here.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = heeding(env!("CARGO_BIN_EXE_motet"));
        command
            .current_dir(self.folder.path())
            .args(arguments.split_whitespace());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.command(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    /// Runs the program with something on standard input.
    pub(crate) fn run_with_input(&self, arguments: &str, input: impl AsRef<[u8]>) -> Run {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_ref())
            .unwrap();
        child.wait_with_output().unwrap().into()
    }
}

/// Starts a program that heeds signals, also where the tests were started to ignore some, as in the
/// background of a shell.
#[cfg(target_os = "linux")]
pub(crate) fn heeding(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM", program]);
    command
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn heeding(program: &str) -> Command {
    Command::new(program)
}

/// The program by a shell that prepares something first.
pub(crate) fn by_shell(place: &ProgramFolder, before: &str, arguments: &str) -> Command {
    let mut command = heeding("sh");
    command.current_dir(place.path(".")).args([
        "-c",
        &format!("{before}; exec {} {arguments}", env!("CARGO_BIN_EXE_motet")),
    ]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The exit code, or the signal with a minus.
fn code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    status.code().unwrap_or_else(|| -signal.unwrap_or(1))
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            code: code(output.status),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// Asserts a success that said nothing on standard error; returns standard output.
    #[track_caller]
    pub(crate) fn quiet_success(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Asserts a refusal: exit code 2, nothing on standard output, one line with these words.
    #[track_caller]
    pub(crate) fn refusal(self, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.starts_with("motet: "), "{}", self.err);
        assert_eq!(self.err.matches('\n').count(), 1, "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {}", self.err);
        }
    }
}

/// Three groups of points in the columns x and y, 10, 20 and 30 of them, around (0, 0), (100, 0)
/// and (0, 100).
pub(crate) fn three_groups() -> String {
    let mut text = "x,y\n".to_owned();
    for (count, x, y) in [(10, 0.0, 0.0), (20, 100.0, 0.0), (30, 0.0, 100.0)] {
        for i in 0..count {
            // Steps of a half turn plus a bit: no two points are equal, the mean is near the
            // middle.
            let angle = f64::from(i) * std::f64::consts::TAU / f64::from(count);
            text.push_str(&format!("{:.4},{:.4}\n", x + angle.cos(), y + angle.sin()));
        }
    }
    text
}

/// Packs bytes as gzip does.
pub(crate) fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// The rows of a CSV file without quotes.
pub(crate) fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}
