//! What a child writes: passed on at once or kept, the last lines kept for the end.
#![expect(
    clippy::disallowed_types,
    reason = "recipes must build when the project's own locks do not"
)]

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::mem;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many last lines are repeated when a step fails.
const KEPT: usize = 40;

/// The last lines of one stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    open: Vec<u8>,
}

impl Tail {
    /// Takes the next piece of the stream.
    pub(super) fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.open.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.close();
            }
        }
    }

    /// The last lines, the unfinished one too.
    pub(super) fn into_lines(mut self) -> Vec<String> {
        if !self.open.is_empty() {
            self.close();
        }
        self.lines.into()
    }

    fn close(&mut self) {
        if self.lines.len() == KEPT {
            self.lines.pop_front();
        }
        let line = String::from_utf8_lossy(&self.open);
        self.lines
            .push_back(line.trim_end_matches(['\n', '\r']).to_owned());
        self.open.clear();
    }
}

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

/// Copies `from` to `sink`, else to `to`, as it comes, and returns the last lines. A reader that
/// has gone does not stop the child.
pub(super) fn pass_on(mut from: impl Read, sink: &Sink, mut to: impl Write) -> Tail {
    let (mut tail, mut piece) = (Tail::default(), [0; 8192]);
    while let Ok(length @ 1..) = from.read(&mut piece) {
        tail.take(&piece[..length]);
        let _ = sink.write(&piece[..length], &mut to);
    }
    tail
}

/// The last of these lines, as many as are repeated.
pub(super) fn last(mut lines: Vec<String>) -> Vec<String> {
    lines.drain(..lines.len().saturating_sub(KEPT));
    lines
}

/// The name of the program without its folder.
pub(super) fn program(command: &Command) -> String {
    let path = Path::new(command.get_program());
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The command as one would type it, with the variables that it sets.
pub(super) fn spelled(command: &Command) -> String {
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let set = set.map(|(name, value)| {
        format!(
            "{}={}",
            name.to_string_lossy(),
            quoted(&value.to_string_lossy())
        )
    });
    let words = command
        .get_args()
        .map(|word| quoted(&word.to_string_lossy()));
    let words = std::iter::once(program(command)).chain(words);
    set.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

/// A time as the table shows it.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_whole_whatever_the_pieces() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect::<String>() + "open";
        let mut tail = Tail::default();
        text.as_bytes().chunks(7).for_each(|piece| tail.take(piece));
        let lines = tail.into_lines();
        assert_eq!(lines.len(), KEPT);
        assert_eq!(
            (lines[0].as_str(), lines[KEPT - 1].as_str()),
            ("line 61", "open")
        );
    }

    #[test]
    fn of_many_lines_the_last_are_repeated() {
        let lines: Vec<String> = (0..=KEPT).map(|n| n.to_string()).collect();
        assert_eq!(last(lines.clone()), lines[1..]);
        assert_eq!(last(vec!["a".to_owned()]), ["a"]);
    }

    #[test]
    fn output_is_passed_on_unchanged() {
        let mut to = Vec::new();
        let tail = pass_on(&b"a\xff\nb"[..], &Sink::default(), &mut to);
        assert_eq!(to, b"a\xff\nb");
        assert_eq!(tail.into_lines(), ["a\u{fffd}", "b"]);
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
