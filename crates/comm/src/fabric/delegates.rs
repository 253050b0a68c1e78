//! The delegates of ranks: who takes messages in for them, on whichever thread brings those.

use crate::envelope::Context;
use crate::transport::Header;
use motet_sync::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Takes in what comes to a rank, or says why that is no message of it.
pub(crate) type Take = dyn Fn(Asked<'_>) -> Result<(), String> + Send + Sync;

/// What a delegate is asked: a part of one message, all of it if it is short.
///
/// The parts of a message come one after the other, in order, each cut at a multiple of 64 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The rank that asks, in the communicator.
    pub source: usize,
    /// What the message begins with, the same for all its parts.
    pub head: &'a [u8],
    /// The part.
    pub part: &'a [u8],
    /// Where the part begins in the body of the message, in bytes.
    pub at: usize,
    /// The length of the body, in bytes.
    pub length: usize,
}

/// The delegates of the ranks of one process.
#[derive(Default)]
pub(crate) struct Delegates {
    /// By communicator and the place of the rank here.
    takers: Mutex<HashMap<(u32, usize), Arc<Take>>>,
    /// Long messages that have come in part, by communicator, place, source and their number.
    streams: Mutex<HashMap<(u32, usize, u32, u32), Stream>>,
}

/// A long message, of which some has come.
struct Stream {
    head: Arc<[u8]>,
    at: usize,
    length: usize,
}

/// Stands on the message that opens a long one, whose parts have the number without it. 0 is a
/// whole message.
const OPENS: u32 = 1 << 31;

impl Asked<'_> {
    /// Whether it is the last part.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.at + self.part.len() == self.length
    }
}

impl Delegates {
    /// From now on this one takes messages in; `false` if there is one already.
    pub(crate) fn add(&self, communicator: u32, place: usize, take: Arc<Take>) -> bool {
        let mut takers = self.takers.lock();
        let vacant = !takers.contains_key(&(communicator, place));
        if vacant {
            takers.insert((communicator, place), take);
        }
        vacant
    }

    /// Nobody takes messages in any more.
    pub(crate) fn remove(&self, communicator: u32, place: usize) {
        let removed = self.takers.lock().remove(&(communicator, place));
        // It may own much: under no lock.
        drop(removed);
    }

    /// The run is over: none takes messages in any more. One that its rank has left may own what
    /// owns it, and the way to other processes.
    pub(crate) fn end(&self) {
        let takers = std::mem::take(&mut *self.takers.lock());
        drop(takers);
    }

    /// Gives a message to the delegate, if there is one.
    pub(crate) fn take(
        &self,
        communicator: u32,
        place: usize,
        asked: Asked<'_>,
    ) -> Result<(), String> {
        let taker = self.takers.lock().get(&(communicator, place)).cloned();
        taker.map_or(Ok(()), |take| take(asked))
    }

    /// The same with what has come from another process.
    pub(super) fn take_in(
        &self,
        communicator: u32,
        place: usize,
        header: &Header,
        payload: &[u8],
    ) -> Result<(), String> {
        let (source, number) = (header.source, header.tag);
        let key = (communicator, place, source, number & !OPENS);
        let source = source as usize;
        if number == 0 {
            let (head, part) = opened(payload).ok_or("it has no head")?;
            let length = part.len();
            let asked = Asked {
                source,
                head,
                part,
                at: 0,
                length,
            };
            return self.take(communicator, place, asked);
        }
        if number & OPENS != 0 {
            let (head, length) = opened(payload).ok_or("it has no head")?;
            let length = length.try_into().map(u64::from_le_bytes);
            let stream = Stream {
                head: head.into(),
                at: 0,
                length: length.map_err(|_| "it has no length")? as usize,
            };
            self.streams.lock().insert(key, stream);
            return Ok(());
        }
        let (head, at, length) = self.go_on(key, payload.len())?;
        let asked = Asked {
            source,
            head: &head,
            part: payload,
            at,
            length,
        };
        self.take(communicator, place, asked)
    }

    /// The head of a long message of which so many bytes more have come, where they belong, and its
    /// length.
    fn go_on(
        &self,
        key: (u32, usize, u32, u32),
        came: usize,
    ) -> Result<(Arc<[u8]>, usize, usize), String> {
        let mut streams = self.streams.lock();
        let stream = streams
            .get_mut(&key)
            .ok_or("a part of a message came without its beginning")?;
        let (head, at, length) = (Arc::clone(&stream.head), stream.at, stream.length);
        stream.at += came;
        if stream.at > length {
            return Err("a message is longer than it says".to_owned());
        }
        if stream.at == length {
            streams.remove(&key);
        }
        Ok((head, at, length))
    }
}

/// The number that opens the long message with this number.
pub(super) fn opens(number: u32) -> u32 {
    number | OPENS
}

/// The number of a long message after so many others.
pub(crate) fn numbered(others: u32) -> u32 {
    others % (OPENS - 1) + 1
}

/// What stands behind a head, and makes it one.
pub(super) fn tail_of(head: &[u8]) -> [u8; 4] {
    let length = u32::try_from(head.len()).expect("a head is short");
    length.to_le_bytes()
}

/// The head of a message, and what is behind it.
fn opened(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, tail) = payload.split_last_chunk::<4>()?;
    let length = u32::from_le_bytes(*tail) as usize;
    rest.split_at_checked(length)
}

/// Where a rank's messages of a communicator go from another thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addressed {
    pub(crate) context: Context,
    /// The sender in the communicator.
    pub(crate) source: usize,
    /// The receiver in the world.
    pub(crate) to: usize,
}

impl fmt::Debug for Delegates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.takers.lock().len();
        f.debug_struct("Delegates").field("count", &count).finish()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    fn header(number: u32) -> Header {
        Header {
            context: 0,
            source: 3,
            destination: 1,
            tag: number,
        }
    }

    #[test]
    fn parts_of_long_messages_find_their_place_and_whole_ones_come_between() {
        let (delegates, seen) = (Delegates::default(), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&seen);
        let take = move |asked: Asked<'_>| {
            let part = (asked.head.to_vec(), asked.at, asked.part.to_vec());
            log.lock().push((part, asked.is_last()));
            Ok(())
        };
        assert!(delegates.add(7, 1, Arc::new(take)));
        assert!(!delegates.add(7, 1, Arc::new(|_| Ok(()))));
        let came =
            |number, pieces: &[&[u8]]| delegates.take_in(7, 1, &header(number), &pieces.concat());
        came(opens(5), &[b"ab", &3_u64.to_le_bytes(), &tail_of(b"ab")]).unwrap();
        came(5, &[&[1, 2]]).unwrap();
        came(0, &[b"c", &[9], &tail_of(b"c")]).unwrap();
        came(5, &[&[3]]).unwrap();
        let expected = [
            ((b"ab".to_vec(), 0, vec![1, 2]), false),
            ((b"c".to_vec(), 0, vec![9]), true),
            ((b"ab".to_vec(), 2, vec![3]), true),
        ];
        assert_eq!(*seen.lock(), expected);
        assert!(came(5, &[&[3]]).unwrap_err().contains("beginning"));
        assert!(came(0, &[b"c"]).is_err() && came(opens(1), &[&[0, 0]]).is_err());
        delegates.remove(7, 1);
        assert_eq!(came(0, &[b"c", &[9], &tail_of(b"c")]), Ok(()));
    }

    #[test]
    fn numbers_of_long_messages_are_never_that_of_a_whole_one() {
        assert_eq!([0, 1, OPENS - 2].map(numbered), [1, 2, OPENS - 1]);
        assert_eq!([OPENS - 1, OPENS, u32::MAX].map(numbered), [1, 2, 2]);
    }
}
