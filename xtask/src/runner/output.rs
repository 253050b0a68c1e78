//! What a child writes: passed on at once or kept, the last lines kept for the end.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::mem;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many last lines are repeated when a step fails.
const KEPT: usize = 40;

/// Where the output of a step goes: through as it comes, or into a text that is shown at its end.
#[derive(Debug, Clone, Default)]
pub(super) struct Sink(Option<Arc<Mutex<Vec<u8>>>>);

impl Sink {
    /// A sink that keeps what is written.
    pub(super) fn kept() -> Sink {
        Sink(Some(Arc::default()))
    }

    /// Whether it keeps what is written.
    pub(super) fn keeps(&self) -> bool {
        self.0.is_some()
    }

    /// Writes a line.
    pub(super) fn line(&self, line: &str) {
        // A reader that has gone does not stop the recipe.
        let _ = self.write(format!("{line}\n").as_bytes(), io::stdout());
    }

    /// Writes a line past a sink that keeps what is written.
    pub(super) fn announce(line: &str) {
        Sink::default().line(line);
    }

    /// Shows what was kept, in one piece.
    pub(super) fn show(&self) {
        let kept = self.0.as_ref().map(|kept| mem::take(&mut *locked(kept)));
        let _ = io::stdout().write_all(&kept.unwrap_or_default());
    }

    fn write(&self, piece: &[u8], mut to: impl Write) -> io::Result<()> {
        match &self.0 {
            Some(kept) => locked(kept).extend_from_slice(piece),
            None => to.write_all(piece).and_then(|()| to.flush())?,
        }
        Ok(())
    }
}

fn locked(kept: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies `from` to `sink`, else to `to`, as it comes, and returns all of it. A reader that has
/// gone does not stop the child.
pub(super) fn pass_on(mut from: impl Read, sink: &Sink, mut to: impl Write) -> String {
    let (mut all, mut piece) = (Vec::new(), [0; 8192]);
    while let Ok(length @ 1..) = from.read(&mut piece) {
        all.extend_from_slice(&piece[..length]);
        let _ = sink.write(&piece[..length], &mut to);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// The last lines of a text, as many as are repeated.
pub(super) fn last(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(KEPT)..].join("\n")
}

/// The name of the program without its folder.
pub(super) fn program(command: &Command) -> String {
    let path = Path::new(command.get_program());
    path.file_name()
        .unwrap_or(path.as_os_str())
        .display()
        .to_string()
}

/// The command as one would type it, with the variables that it sets.
pub(super) fn spelled(command: &Command) -> String {
    let shown = |word: &OsStr| match word.to_string_lossy() {
        word if word.is_empty() || word.contains(char::is_whitespace) => format!("\"{word}\""),
        word => word.into_owned(),
    };
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.display(), value?)));
    let set = set.map(|(name, value)| format!("{name}={}", shown(value)));
    let words = set
        .chain([program(command)])
        .chain(command.get_args().map(shown));
    words.collect::<Vec<_>>().join(" ")
}

/// A time as the table shows it.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_lines_the_last_are_repeated() {
        let lines: Vec<String> = (0..=KEPT).map(|n| n.to_string()).collect();
        assert_eq!(last(&lines.join("\r\n")), lines[1..].join("\n"));
        assert_eq!(last("a"), "a");
    }

    #[test]
    fn output_is_passed_on_unchanged() {
        let mut to = Vec::new();
        let all = pass_on(&b"a\xff\nb"[..], &Sink::default(), &mut to);
        assert_eq!(to, b"a\xff\nb");
        assert_eq!(all, "a\u{fffd}\nb");
    }

    #[test]
    fn what_is_kept_is_not_passed_on() {
        let (mut to, sink) = (Vec::new(), Sink::kept());
        pass_on(&b"a\n"[..], &sink, &mut to);
        sink.line("b");
        assert!(to.is_empty());
        assert_eq!(*locked(sink.0.as_ref().unwrap()), b"a\nb\n");
    }

    #[test]
    fn a_command_is_spelled_as_it_would_be_typed() {
        let mut command = Command::new("cargo");
        command
            .args(["test", "a b"])
            .env("RUSTFLAGS", "--cfg x")
            .env_remove("CI");
        assert_eq!(
            spelled(&command),
            "RUSTFLAGS=\"--cfg x\" cargo test \"a b\""
        );
    }
}
