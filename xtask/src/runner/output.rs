//! What a child writes: passed on at once, the last lines kept for the end.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
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

/// Copies `from` to `to` as it comes, and returns the last lines. A reader of `to` that has gone
/// does not stop the child.
pub(super) fn pass_on(mut from: impl Read, mut to: impl Write) -> Tail {
    let (mut tail, mut piece) = (Tail::default(), [0; 8192]);
    while let Ok(length @ 1..) = from.read(&mut piece) {
        tail.take(&piece[..length]);
        if to
            .write_all(&piece[..length])
            .and_then(|()| to.flush())
            .is_err()
        {
            continue;
        }
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
        let tail = pass_on(&b"a\xff\nb"[..], &mut to);
        assert_eq!(to, b"a\xff\nb");
        assert_eq!(tail.into_lines(), ["a\u{fffd}", "b"]);
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
