//! What is published: values, or the lines of standard input, as many at once as are there.

use std::io::{self, Read};

use motet_ports::{Overflow, Port};
use motet_sync::thread::spawn_named;

/// How many bytes are read at once.
const ROOM: usize = 64 << 10;

/// How many reads wait to be published.
const READS: usize = 4;

/// What the input comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PubInput {
    /// The next lines, one or more.
    Lines(Vec<String>),
    /// There are no more.
    End,
    /// The line behind those before cannot be read, and why. Nothing comes after it.
    Unreadable(String),
}

/// The values, or the lines of standard input, which a thread of its own reads.
pub(super) fn input(values: &[String]) -> io::Result<Port<PubInput>> {
    if !values.is_empty() {
        let port = Port::new();
        // A port that is open and has no limit takes all.
        let _ = port.post(PubInput::Lines(values.to_vec()));
        let _ = port.post(PubInput::End);
        return Ok(port);
    }
    let port = Port::bounded(READS, Overflow::Wait);
    let to = port.clone();
    let read = move || read(io::stdin().lock(), |input| to.post_blocking(input).is_ok());
    // It ends with the input, or with the process.
    drop(spawn_named("motet-mesh-input", read)?);
    Ok(port)
}

/// Gives all lines of `from`, without their ends, as long as somebody takes them.
fn read(mut from: impl Read, mut give: impl FnMut(PubInput) -> bool) {
    let mut room = vec![0; ROOM];
    // What was read behind the last end of a line.
    let mut begun = Vec::new();
    loop {
        let read = match from.read(&mut room) {
            Ok(0) => break,
            Ok(count) => &room[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                give(PubInput::Unreadable(error.to_string()));
                return;
            }
        };
        let Some(last) = read.iter().rposition(|byte| *byte == b'\n') else {
            begun.extend_from_slice(read);
            continue;
        };
        begun.extend_from_slice(&read[..last]);
        let pieces = begun.split(|byte| *byte == b'\n');
        let ended = pieces.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        if !give_lines(ended, &mut give) {
            return;
        }
        begun.clear();
        begun.extend_from_slice(&read[last + 1..]);
    }
    // The last line may have no end.
    if begun.is_empty() || give_lines([&begun[..]].into_iter(), &mut give) {
        give(PubInput::End);
    }
}

/// Gives some lines. `false`: that was the end.
#[expect(
    single_use_lifetimes,
    reason = "a lifetime without a name is not allowed there"
)]
fn give_lines<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    give: &mut impl FnMut(PubInput) -> bool,
) -> bool {
    let mut texts = Vec::new();
    for line in lines {
        let Ok(text) = std::str::from_utf8(line) else {
            if texts.is_empty() || give(PubInput::Lines(texts)) {
                give(PubInput::Unreadable("it is not UTF-8".to_owned()));
            }
            return false;
        };
        texts.push(text.to_owned());
    }
    give(PubInput::Lines(texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at once, at most.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = room.len().min(self.1).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            room[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    /// The lines, and what comes after them.
    fn all(bytes: &[u8], at_once: usize) -> (Vec<String>, Vec<PubInput>) {
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        read(Pieces(bytes, at_once), |input| {
            match input {
                PubInput::Lines(some) => {
                    assert!(!some.is_empty() && others.is_empty());
                    lines.extend(some);
                }
                other => others.push(other),
            }
            true
        });
        (lines, others)
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let long = "x".repeat(3 * ROOM);
        let text = format!("a\n\nb\r\n{long}\n\u{e4}\rc\nlast");
        let wanted = ["a", "", "b", &long[..], "\u{e4}\rc", "last"];
        for at_once in [1, 2, 7, ROOM - 1, ROOM, usize::MAX] {
            for end in ["", "\n"] {
                let (lines, others) = all(format!("{text}{end}").as_bytes(), at_once);
                assert!(lines.iter().eq(wanted), "{at_once} at once");
                assert_eq!(others, [PubInput::End]);
            }
        }
        assert_eq!(all(b"", 9), (Vec::new(), vec![PubInput::End]));
    }

    #[test]
    fn lines_that_are_there_come_together() {
        let mut counts = Vec::new();
        read(&b"1\n2\n3\n4"[..], |input| {
            if let PubInput::Lines(some) = input {
                counts.push(some.len());
            }
            true
        });
        assert_eq!(counts, [3, 1]);
    }

    #[test]
    fn sem_g587_the_lines_before_one_that_cannot_be_read_come_first() {
        for at_once in [1, 3, usize::MAX] {
            let (lines, others) = all(b"a\nb\nc\xff\nd\n", at_once);
            assert_eq!(lines, ["a", "b"]);
            let why = "it is not UTF-8".to_owned();
            assert_eq!(others, [PubInput::Unreadable(why)]);
        }
    }

    #[test]
    fn who_takes_no_more_is_given_no_more() {
        let mut given = 0;
        read(Pieces(b"a\nb\nc\n", 2), |_| {
            given += 1;
            false
        });
        assert_eq!(given, 1);
    }
}
