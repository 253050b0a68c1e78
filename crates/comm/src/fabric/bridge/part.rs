//! What the ranks of a process bring to a meeting, as bytes.
//!
//! ```text
//!  values of runs of ranks, or a failure │ calls, unless they are known │ what stands there
//! ```
//!
//! It should be short: with what a transport adds, a number fits into one cache line. So the words of a call go once for
//! each communicator, and their number from then on. (A collective that is started beside others has its words each time.) All processes get all parts, and meetings follow each other, so
//! whoever gets a number knows it.

use super::{Run, Runs};
use crate::fabric::call::{Call, WrittenCall};
use crate::wire::{Tail, decode, encode, known, put_number, put_text};
use crate::{CommError, Value};
use smallvec::{SmallVec, smallvec};
use std::any::type_name;

/// The calls whose words have gone to other processes, and those that came from there.
#[derive(Default)]
pub(super) struct Calls {
    /// Ours, by number.
    ours: Vec<Call>,
    /// By the place of the process among those that meet, ours too, and by number.
    known: Vec<Vec<Box<[u8]>>>,
}

/// So many calls of a communicator get numbers: their lengths may differ each time.
const MOST: usize = 64;

// What stands at the end of a part: its kind, in the lowest byte; these; and above them a number.
/// There is one run.
const ONE: u64 = 1 << 8;
/// The number is that of the call, whose words have gone before. Else it says how many calls stand there.
const KNOWN: u64 = 1 << 9;
/// The call that stands there gets the next number.
const NEW: u64 = 1 << 10;
const NUMBER: u32 = 32;

// The kinds: whether ranks have come together, or why they cannot.
const FINE: u64 = 0;
const MISMATCH: u64 = 1;
const UNPORTABLE: u64 = 2;
const OTHER: u64 = 3;

const CUT_OFF: &str = "the message is cut off";

/// What has been read of a part, but for the values.
pub(super) struct Read<'c, 'a> {
    pub(super) calls: SmallVec<[WrittenCall<'c>; 1]>,
    pub(super) body: Body<'a>,
}

/// The values, or why the ranks there cannot go on.
pub(super) type Body<'a> = Result<Values<'a>, Box<CommError>>;

/// The bytes of what has been brought.
pub(super) struct Values<'a> {
    tail: Tail<'a>,
    /// Whether they are those of one run.
    one: bool,
}

/// Begins a part: what the ranks of the process have brought, or why they cannot go on. Its kind.
pub(super) fn begin<V: Value>(mine: &Result<Runs<V>, Box<CommError>>, bytes: &mut Vec<u8>) -> u64 {
    let written = match mine {
        Ok(runs) => runs.write(bytes).map_err(unreadable::<V>),
        Err(failed) => Err(failed.clone()),
    };
    written.unwrap_or_else(|failed| {
        bytes.clear();
        write_failure(&failed, bytes)
    })
}

/// Ends a part of this kind: its ranks have called these.
pub(super) fn end_with_all(calls: &[(usize, Call)], (bytes, kind): (&mut Vec<u8>, u64)) {
    calls
        .iter()
        .for_each(|(rank, call)| call.write(*rank, bytes));
    put_number(bytes, kind | (calls.len() as u64) << NUMBER);
}

impl Calls {
    /// Ends a part of this kind: all its ranks have called the same.
    pub(super) fn end_with_one(
        &mut self,
        rank: usize,
        call: Call,
        (bytes, kind): (&mut Vec<u8>, u64),
    ) {
        if let Some(number) = self.ours.iter().position(|ours| ours.is(&call)) {
            return put_number(bytes, kind | KNOWN | (number as u64) << NUMBER);
        }
        call.write(rank, bytes);
        let mut last = kind | 1 << NUMBER;
        if self.ours.len() < MOST {
            self.ours.push(call);
            last |= NEW;
        }
        put_number(bytes, last);
    }

    /// Learns what is new in the part of the process at this place among those that meet. For the parts of each meeting
    /// in turn.
    ///
    /// # Errors
    /// Bytes that are no part.
    pub(super) fn learn(&mut self, place: usize, part: &[u8]) -> Result<(), Box<CommError>> {
        let mut tail = Tail(part);
        let last = tail.number().ok_or_else(cut_off)?;
        if last & NEW != 0 {
            let all = tail.0;
            WrittenCall::read(&mut tail).ok_or_else(cut_off)?;
            if self.known.len() <= place {
                self.known.resize_with(place + 1, Vec::new);
            }
            if self.known[place].len() == MOST {
                return Err(cut_off());
            }
            self.known[place].push(all[tail.0.len()..].into());
        }
        Ok(())
    }

    /// Reads such a part, after it was learned from.
    ///
    /// # Errors
    /// Bytes that are no part.
    pub(super) fn read<'c, 'a: 'c>(
        &'c self,
        place: usize,
        part: &'a [u8],
    ) -> Result<Read<'c, 'a>, Box<CommError>> {
        let mut tail = Tail(part);
        let last = tail.number().ok_or_else(cut_off)?;
        let number = last >> NUMBER;
        let calls = if last & KNOWN != 0 {
            let numbers = self.known.get(place);
            let words = numbers.and_then(|numbers| numbers.get(number as usize));
            let call = words.and_then(|words| WrittenCall::read(&mut Tail(words)));
            call.map(|call| smallvec![call])
        } else {
            let read = |_| WrittenCall::read(&mut tail);
            (0..number).map(read).collect::<Option<SmallVec<_>>>()
        };
        let mut calls = calls.ok_or_else(cut_off)?;
        calls.reverse();
        let one = last & ONE != 0;
        let body = match last & 0xff {
            FINE => Ok(Values { tail, one }),
            kind => Err(Box::new(read_failure(kind, &mut tail))),
        };
        Ok(Read { calls, body })
    }
}

impl<V: Value> Runs<V> {
    /// Appends them, for [`Runs::read`]; the part's kind.
    fn write(&self, to: &mut Vec<u8>) -> Result<u64, String> {
        let one = self.0.len() == 1;
        for run in &self.0 {
            let begin = to.len();
            encode(&run.value, to)?;
            let length = to.len() - begin;
            put_number(to, (run.first as u64) << 32 | run.ranks as u64);
            if !one {
                put_number(to, length as u64);
            }
        }
        if !one {
            put_number(to, self.0.len() as u64);
        }
        Ok(if one { FINE | ONE } else { FINE })
    }

    /// Reads them off the end.
    ///
    /// # Errors
    /// Values that cannot be read.
    pub(super) fn read(values: Values<'_>) -> Result<Self, Box<CommError>> {
        let Values { mut tail, one } = values;
        let number = |tail: &mut Tail<'_>| tail.number().ok_or_else(cut_off);
        let count = if one { 1 } else { number(&mut tail)? };
        let mut runs = SmallVec::new();
        for _ in 0..count {
            let length = if one { None } else { Some(number(&mut tail)?) };
            let ranks = number(&mut tail)?;
            let length = length.map_or(Some(tail.0.len()), |length| usize::try_from(length).ok());
            let begin = length.and_then(|length| tail.0.len().checked_sub(length));
            let (rest, body) = tail.0.split_at(begin.ok_or_else(cut_off)?);
            tail.0 = rest;
            runs.push(Run {
                first: (ranks >> 32) as usize,
                ranks: ranks as u32 as usize,
                value: decode(body).map_err(unreadable::<V>)?,
            });
        }
        runs.reverse();
        Ok(Runs(runs))
    }
}

/// A part lacks ranks that are there.
#[cold]
pub(super) fn ranks_missing<V>() -> Box<CommError> {
    unreadable::<V>("the values of some ranks are missing".to_owned())
}

#[cold]
fn cut_off() -> Box<CommError> {
    unreadable::<()>(CUT_OFF.to_owned())
}

fn unreadable<V>(reason: String) -> Box<CommError> {
    let type_name = type_name::<V>();
    Box::new(CommError::Unportable { type_name, reason })
}

/// Appends a failure; its kind, for [`read_failure`].
fn write_failure(failed: &CommError, to: &mut Vec<u8>) -> u64 {
    let (texts, kind) = match failed {
        CommError::Mismatch { one, other } => ([one.clone(), other.clone()], MISMATCH),
        CommError::Unportable { type_name, reason } => {
            ([(*type_name).to_owned(), reason.clone()], UNPORTABLE)
        }
        other => ([String::new(), other.to_string()], OTHER),
    };
    texts.iter().for_each(|text| put_text(to, text));
    kind
}

fn read_failure(kind: u64, tail: &mut Tail<'_>) -> CommError {
    let mut text = || tail.text().unwrap_or(CUT_OFF).to_owned();
    let (second, first) = (text(), text());
    match kind {
        MISMATCH => CommError::Mismatch {
            one: first,
            other: second,
        },
        UNPORTABLE => CommError::Unportable {
            type_name: known(&first),
            reason: second,
        },
        _ => CommError::Arguments { problem: second },
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::panic::Location;

    fn call(length: usize) -> Call {
        Call::new::<f64>("reduce", Location::caller()).length(length)
    }

    fn part(calls: &mut Calls, call: Call, value: f64) -> Vec<u8> {
        let run = Run {
            first: 5,
            ranks: 2,
            value,
        };
        let mut bytes = Vec::new();
        let kind = begin(&Ok(Runs(smallvec![run])), &mut bytes);
        calls.end_with_one(5, call, (&mut bytes, kind));
        bytes
    }

    #[test]
    fn the_words_of_a_call_go_once() {
        let (mut here, mut there) = (Calls::default(), Calls::default());
        let site = call(3);
        for round in 0..3 {
            let bytes = part(&mut here, site, f64::from(round));
            assert_eq!(bytes.len() <= 24, round > 0, "{}", bytes.len());
            there.learn(1, &bytes).unwrap();
            let read = there.read(1, &bytes).unwrap();
            assert_eq!(read.calls.len(), 1);
            assert!(read.calls[0].compare(&read.calls[0]).is_ok());
            let runs = Runs::<f64>::read(read.body.unwrap()).unwrap();
            let [run] = &runs.0[..] else {
                panic!("one run")
            };
            assert_eq!((run.first, run.ranks, run.value), (5, 2, f64::from(round)));
        }
    }

    #[test]
    fn calls_without_end_get_no_numbers() {
        let (mut here, mut there) = (Calls::default(), Calls::default());
        for length in (0..2 * MOST).chain(0..MOST) {
            let bytes = part(&mut here, call(length), 0.5);
            there.learn(0, &bytes).unwrap();
            assert!(there.read(0, &bytes).is_ok());
        }
        assert_eq!((here.ours.len(), there.known[0].len()), (MOST, MOST));
    }

    #[test]
    fn calls_that_differ_are_told_apart_by_number_too() {
        let (mut one, mut other, mut both) = (Calls::default(), Calls::default(), Calls::default());
        for _ in 0..2 {
            let parts = [part(&mut one, call(3), 1.0), part(&mut other, call(4), 1.0)];
            for (place, part) in parts.iter().enumerate() {
                both.learn(place, part).unwrap();
            }
            let [one, other] = [0, 1].map(|place| both.read(place, &parts[place]).unwrap());
            let told = one.calls[0]
                .compare(&other.calls[0])
                .unwrap_err()
                .to_string();
            assert!(
                told.contains("3 elements") && told.contains("4 elements"),
                "{told}"
            );
        }
    }

    #[test]
    fn other_bytes_are_no_part() {
        let mut calls = Calls::default();
        assert!(calls.learn(0, &[1, 2]).is_err() && calls.read(0, &[1, 2]).is_err());
        let number = |last: u64| last.to_le_bytes();
        assert!(calls.learn(0, &number(NEW)).is_err());
        for last in [KNOWN, KNOWN | u64::MAX << NUMBER, 1 << NUMBER] {
            assert!(calls.read(0, &number(last)).is_err(), "{last:x}");
        }
        let words = part(&mut Calls::default(), call(1), 1.0);
        for _ in 0..MOST {
            calls.learn(1, &words).unwrap();
        }
        assert!(calls.learn(1, &words).is_err(), "no sender has more");
        let bytes = number(FINE);
        let read = calls.read(0, &bytes).unwrap();
        assert!(Runs::<f64>::read(read.body.unwrap()).is_err());
    }
}
