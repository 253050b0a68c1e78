//! What the ranks of a process bring to a collective, as bytes.
//!
//! ```text
//!  values of runs of ranks, or a failure │ calls, unless they are known │ what stands there
//! ```
//!
//! It should be short: with what a transport adds, a number fits into one cache line. So the words
//! of a call go once for each communicator, and their number from then on. (A collective that is
//! started beside others has its words each time.) All processes get all parts, and collectives
//! follow each other, so whoever gets a number knows it.

use super::runs::{Run, WatchedRuns};
use crate::CommError;
use crate::fabric::any_cell::AnyCell;
use crate::fabric::call::{RankCall, WrittenCall};
use crate::fabric::operators::ValueKind;
use crate::fabric::processes::ProcessPart;
use crate::wire::{Tail, put_number, put_text};
use motet_trace::known;
use smallvec::{SmallVec, smallvec};

/// The calls whose words have gone to other processes, and those that came from there.
#[derive(Default)]
pub(super) struct Calls {
    /// Ours, by number.
    ours: Vec<RankCall>,
    /// By the place of the process among those that meet, ours too, and by number.
    known: Vec<Vec<Box<[u8]>>>,
    /// The last words of the parts of the last collective, by place, if they were known calls and
    /// the same.
    agreed: SmallVec<[u64; 4]>,
}

/// So many calls of a communicator get numbers: their lengths may differ each time.
const MOST: usize = 64;

// What stands at the end of a part: its kind, in the lowest byte; these; and above them a number.
/// There is one run.
const ONE: u64 = 1 << 8;
/// The number is that of the call, whose words have gone before. Else it says how many calls stand
/// there.
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

/// What a part begins with.
pub(super) struct Begun<'v> {
    pub(super) kind: u64,
    /// The values, if they stand before the part's bytes and not in them: as they lie in memory.
    pub(super) values: &'v [u8],
}

/// The bytes of what has been brought.
pub(super) struct Values<'a> {
    tail: Tail<'a>,
    /// Whether they are those of one run.
    one: bool,
}

/// Begins a part: what the ranks of the process have brought, or why they cannot go on. Values that
/// need not be written may `stay` where they are, before the part's bytes.
pub(super) fn begin<'v>(
    mine: &'v mut Result<WatchedRuns, Box<CommError>>,
    kind: &ValueKind,
    bytes: &mut Vec<u8>,
    stay: bool,
) -> Begun<'v> {
    let written = match mine {
        Ok(runs) => {
            let written = runs.write(kind, bytes, stay);
            written.map_err(|reason| unreadable((kind.name)(), reason))
        }
        Err(failed) => Err(failed.clone()),
    };
    written.unwrap_or_else(|failed| {
        bytes.clear();
        Begun {
            kind: write_failure(&failed, bytes),
            values: &[],
        }
    })
}

/// Ends a part of this kind: its ranks have called these.
pub(super) fn end_with_all(calls: &[(usize, RankCall)], (bytes, kind): (&mut Vec<u8>, u64)) {
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
        call: RankCall,
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

    /// Learns what is new in the part of the process at this place among those that meet. For the
    /// parts of each collective in turn.
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

    /// Checks that the ranks of all processes have called the same, by their parts in each
    /// collective in turn.
    ///
    /// # Errors
    /// Two calls that differ, the same two on every process; bytes that are no part.
    pub(super) fn check(&mut self, parts: &[ProcessPart]) -> Result<(), Box<CommError>> {
        let last = |part: &ProcessPart| Tail(&part.bytes).number();
        let agreed = self.agreed.iter().map(|&last| Some(last));
        if !self.agreed.is_empty() && parts.iter().map(last).eq(agreed) {
            return Ok(());
        }
        self.agreed.clear();
        for (place, part) in parts.iter().enumerate() {
            self.learn(place, &part.bytes)?;
        }
        let mut first: Option<WrittenCall<'_>> = None;
        for (place, part) in parts.iter().enumerate() {
            for call in self.calls_of(place, &part.bytes)? {
                match &first {
                    Some(first) => first.compare(&call)?,
                    None => first = Some(call),
                }
            }
        }
        let lasts = parts.iter().filter_map(last);
        if lasts.clone().all(|last| last & KNOWN != 0) {
            self.agreed = lasts.collect();
        }
        Ok(())
    }

    /// What the ranks of such a part have called, after it was learned from.
    fn calls_of<'c>(
        &'c self,
        place: usize,
        part: &'c [u8],
    ) -> Result<SmallVec<[WrittenCall<'c>; 1]>, Box<CommError>> {
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
        Ok(calls)
    }
}

/// What was brought, by a part that was checked.
///
/// # Errors
/// Why the ranks there cannot go on; bytes that are no part.
pub(super) fn body(part: &[u8]) -> Result<Values<'_>, Box<CommError>> {
    let mut tail = Tail(part);
    let last = tail.number().ok_or_else(cut_off)?;
    if last & KNOWN == 0 {
        for _ in 0..last >> NUMBER {
            WrittenCall::read(&mut tail).ok_or_else(cut_off)?;
        }
    }
    let one = last & ONE != 0;
    match last & 0xff {
        FINE => Ok(Values { tail, one }),
        kind => Err(Box::new(read_failure(kind, &mut tail))),
    }
}

impl WatchedRuns {
    /// Appends them, which are values of this kind, for [`WatchedRuns::read`]; the part's kind.
    fn write(
        &mut self,
        kind: &ValueKind,
        to: &mut Vec<u8>,
        stay: bool,
    ) -> Result<Begun<'_>, String> {
        let place = |run: &Run| u64::from(run.first) << 32 | u64::from(run.ranks);
        let runs = match self {
            WatchedRuns::One(run) => {
                let place = place(run);
                let stays = stay && (kind.plain_bytes)(&mut run.value).is_some();
                if !stays {
                    (kind.encode)(&mut run.value, to)?;
                }
                put_number(to, place);
                let values = if stays {
                    (kind.plain_bytes)(&mut run.value)
                } else {
                    None
                };
                return Ok(Begun {
                    kind: FINE | ONE,
                    values: values.unwrap_or_default(),
                });
            }
            WatchedRuns::Several(runs) => runs,
        };
        for run in &mut *runs {
            let begin = to.len();
            (kind.encode)(&mut run.value, to)?;
            let length = to.len() - begin;
            put_number(to, place(run));
            put_number(to, length as u64);
        }
        put_number(to, runs.len() as u64);
        Ok(Begun {
            kind: FINE,
            values: &[],
        })
    }

    /// Reads values of this kind from a part; numbers may take its bytes along.
    ///
    /// # Errors
    /// Why the ranks there cannot go on; values that cannot be read, bytes that are no part.
    pub(super) fn read(kind: &ValueKind, part: &mut Vec<u8>) -> Result<Self, Box<CommError>> {
        let Values { mut tail, one } = body(part)?;
        let number = |tail: &mut Tail<'_>| tail.number().ok_or_else(cut_off);
        let run = |place: u64, value: Result<AnyCell, String>| {
            let (first, ranks) = ((place >> 32) as u32, place as u32);
            // No two processes have the same, and all together are so many.
            first.checked_add(ranks).ok_or_else(cut_off)?;
            let value = value.map_err(|reason| unreadable((kind.name)(), reason))?;
            Ok::<_, Box<CommError>>(Run {
                first,
                ranks,
                value,
            })
        };
        if one {
            let (place, length) = (number(&mut tail)?, tail.0.len());
            let value = (kind.adopt)(part, length);
            return Ok(WatchedRuns::One(run(place, value)?));
        }
        let mut runs = Vec::new();
        for _ in 0..number(&mut tail)? {
            let length = usize::try_from(number(&mut tail)?).ok();
            let place = number(&mut tail)?;
            let begin = length.and_then(|length| tail.0.len().checked_sub(length));
            let (rest, body) = tail.0.split_at(begin.ok_or_else(cut_off)?);
            tail.0 = rest;
            runs.push(run(place, (kind.decode)(body))?);
        }
        runs.reverse();
        Ok(WatchedRuns::Several(runs))
    }
}

/// A part lacks ranks that are there.
#[cold]
pub(super) fn ranks_missing(kind: &ValueKind) -> Box<CommError> {
    let reason = "the values of some ranks are missing";
    unreadable((kind.name)(), reason.to_owned())
}

#[cold]
fn cut_off() -> Box<CommError> {
    unreadable("()", CUT_OFF.to_owned())
}

#[cold]
fn unreadable(type_name: &'static str, reason: String) -> Box<CommError> {
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
    use crate::Value;
    use std::panic::Location;

    fn read<V: Value>(part: &mut Vec<u8>) -> Result<WatchedRuns, Box<CommError>> {
        WatchedRuns::read(ValueKind::of::<V>(), part)
    }

    fn call(length: usize) -> RankCall {
        RankCall::new::<f64>("reduce", Location::caller()).length(length)
    }

    fn part(calls: &mut Calls, call: RankCall, value: f64) -> Vec<u8> {
        let run = Run {
            first: 5,
            ranks: 2,
            value: AnyCell::with(value),
        };
        let (mut mine, mut bytes) = (Ok(WatchedRuns::One(run)), Vec::new());
        let begun = begin(&mut mine, ValueKind::of::<f64>(), &mut bytes, true);
        assert!(begun.values.is_empty(), "one number is no vector");
        calls.end_with_one(5, call, (&mut bytes, begun.kind));
        bytes
    }

    fn parts<const N: usize>(parts: [Vec<u8>; N]) -> [ProcessPart; N] {
        let mut process = 0;
        parts.map(|bytes| {
            process += 1;
            ProcessPart { process, bytes }
        })
    }

    #[test]
    fn the_words_of_a_call_go_once() {
        let (mut here, mut there) = (Calls::default(), Calls::default());
        let site = call(3);
        for round in 0..4 {
            let bytes = part(&mut here, site, f64::from(round));
            assert_eq!(bytes.len() <= 24, round > 0, "{}", bytes.len());
            let parts = parts([bytes]);
            assert_eq!(there.check(&parts), Ok(()));
            assert_eq!(there.agreed.len(), usize::from(round > 0));
            let [ProcessPart { bytes, .. }] = &parts;
            assert_eq!(there.calls_of(0, bytes).unwrap().len(), 1);
            let WatchedRuns::One(run) = read::<f64>(&mut bytes.clone()).unwrap() else {
                panic!("one run")
            };
            assert_eq!((run.first, run.ranks), (5, 2));
            assert_eq!(run.value.get(), Some(&f64::from(round)));
        }
    }

    #[test]
    fn plain_numbers_stay_where_they_are_unless_they_are_passed_on() {
        let kind = ValueKind::of::<Vec<f64>>();
        let mut mine = Ok(WatchedRuns::one(3, AnyCell::with(vec![1.5, 2.5])));
        let (mut all, mut rest, number) = (Vec::new(), Vec::new(), |last: u64| last.to_le_bytes());
        let written = begin(&mut mine, kind, &mut all, false);
        assert_eq!(written.values.len(), 0);
        let last = written.kind;
        let stayed = begin(&mut mine, kind, &mut rest, true);
        assert_eq!(stayed.values.len(), 16);
        assert_eq!(all, [stayed.values, &rest].concat());
        all.extend(number(last));
        let whole = read::<Vec<f64>>(&mut all.clone()).unwrap().whole();
        assert_eq!(whole.unwrap().take(), Some(vec![1.5, 2.5]));
        // Bytes that begin anywhere, and bytes that are no numbers.
        for (ahead, fine) in [(8, true), (1, false)] {
            let mut bytes = [vec![0; ahead], all.clone()].concat();
            assert_eq!(read::<Vec<f64>>(&mut bytes).is_ok(), fine);
        }
    }

    #[test]
    fn several_runs_are_read_as_they_were() {
        let run = |first: u32, value: &str| Run {
            first,
            ranks: 1,
            value: AnyCell::with(value.to_owned()),
        };
        let kind = ValueKind::of::<String>();
        let (mut mine, mut bytes) = (
            Ok(WatchedRuns::Several(vec![run(2, "c"), run(4, "e")])),
            Vec::new(),
        );
        let begun = begin(&mut mine, kind, &mut bytes, true);
        end_with_all(&[], (&mut bytes, begun.kind));
        let runs = read::<String>(&mut bytes.clone()).unwrap();
        let others = WatchedRuns::Several(vec![run(0, "a"), run(1, "b"), run(3, "d")]);
        let joined = runs.join(others, 5, &|left, right| {
            let right: String = right.take().unwrap();
            *left.get_mut::<String>().unwrap() += &right;
        });
        assert_eq!(joined.whole().unwrap().take(), Some("abcde".to_owned()));
        assert!(read::<String>(&mut bytes[1..].to_vec()).is_err());
    }

    #[test]
    fn calls_without_end_get_no_numbers() {
        let (mut here, mut there) = (Calls::default(), Calls::default());
        for length in (0..2 * MOST).chain(0..MOST) {
            let parts = parts([part(&mut here, call(length), 0.5)]);
            assert_eq!(there.check(&parts), Ok(()));
        }
        assert_eq!((here.ours.len(), there.known[0].len()), (MOST, MOST));
    }

    #[test]
    fn calls_that_differ_are_told_apart_by_number_too() {
        let (mut one, mut other, mut both) = (Calls::default(), Calls::default(), Calls::default());
        let agree = |calls: &mut Calls| calls.check(&parts([Vec::new(), Vec::new()]));
        assert!(agree(&mut both).is_err(), "no parts");
        // The second time by number; the third time after both have called the same, by number.
        for lengths in [[3, 4], [3, 4], [5, 5], [5, 5], [5, 5], [3, 4], [5, 5]] {
            let [left, right] = lengths;
            let parts = parts([
                part(&mut one, call(left), 1.0),
                part(&mut other, call(right), 1.0),
            ]);
            let told = both.check(&parts);
            assert_eq!(told.is_ok(), left == right);
            if let Err(told) = told {
                let told = told.to_string();
                assert!(
                    told.contains("3 elements") && told.contains("4 elements"),
                    "{told}"
                );
            }
        }
    }

    #[test]
    fn other_bytes_are_no_part() {
        let mut calls = Calls::default();
        assert!(calls.learn(0, &[1, 2]).is_err() && body(&[1, 2]).is_err());
        let number = |last: u64| last.to_le_bytes();
        assert!(calls.learn(0, &number(NEW)).is_err());
        for last in [KNOWN, KNOWN | u64::MAX << NUMBER, 1 << NUMBER] {
            assert!(calls.calls_of(0, &number(last)).is_err(), "{last:x}");
        }
        let words = part(&mut Calls::default(), call(1), 1.0);
        for _ in 0..MOST {
            calls.learn(1, &words).unwrap();
        }
        assert!(calls.learn(1, &words).is_err(), "no sender has more");
        assert!(read::<f64>(&mut number(FINE).to_vec()).is_err());
        assert!(read::<f64>(&mut number(FINE | ONE).to_vec()).is_err());
        // Ranks without end.
        let mut place = [number(u64::MAX), number(FINE | ONE)].concat();
        assert!(read::<()>(&mut place).is_err());
    }
}
