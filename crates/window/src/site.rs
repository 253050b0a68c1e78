//! What the ranks of one process share of a window, and what comes to it from other processes.
//!
//! Messages carry the number of fences that their sender has come to. One of an epoch that has not
//! begun here waits. Of what belongs to the epoch before, some may still be on its way from a third
//! process.
//!
//! ```text
//!  asked ──► of this epoch? ──► carried out, counted ──► all of the epoch? ──► the next begins
//!                 └── no: put off ◄──────────────────────────────┘
//! ```
//!
//! An unlock and a flush are only about what their sender asked before. Where none of that waits
//! they are carried out at once, and counted with their epoch: others may wait for the lock before
//! they come to the fence.

use crate::WindowError;
use crate::head::{Act, Head};
use crate::locks::{Holder, Lock};
use crate::memory::part;
use crate::op::{Op, combine_bytes};
use crate::region::Region;
use motet_comm::{Asked, Plain, Tag};
use motet_sync::Mutex;
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

/// With which a rank is told that the epoch for which it waits has begun.
pub(crate) const BEGUN: Tag = 0;

pub(crate) struct WindowSite<T> {
    /// In the order of their ranks.
    regions: Vec<Arc<Region<T>>>,
    state: Mutex<State>,
}

/// How far the messages are.
#[derive(Default)]
struct State {
    /// The epoch that has begun here: all of those before it is done.
    begun: u32,
    /// The epoch up to which it is known how many messages there are.
    known: u32,
    /// How many of those are to be carried out, and how many are.
    expected: u64,
    done: u64,
    put_off: Vec<Message>,
    /// The epochs of messages that were carried out before those had begun.
    ahead: Vec<u32>,
    /// Long ones that are carried out when they are whole, by receiver, sender and tag. Of a put,
    /// which has no tag, the beginning of the element whose rest comes next.
    collected: HashMap<(usize, usize, u32), Vec<u8>>,
    /// Ranks that wait for the next epoch.
    waiting: Vec<usize>,
}

/// A message, or a part of one, that waits.
struct Message {
    to: usize,
    source: usize,
    head: Head,
    at: usize,
    part: Vec<u8>,
    length: usize,
}

/// A message at hand.
#[derive(Clone, Copy)]
struct Now<'a> {
    to: usize,
    source: usize,
    head: Head,
    at: usize,
    part: &'a [u8],
    length: usize,
}

impl<T: Plain> WindowSite<T> {
    pub(crate) fn new(mut regions: Vec<Arc<Region<T>>>) -> Self {
        regions.sort_unstable_by_key(|region| region.rank);
        WindowSite {
            regions,
            state: Mutex::default(),
        }
    }

    /// The window of a rank of this process.
    #[inline]
    pub(crate) fn region(&self, rank: usize) -> Option<&Arc<Region<T>>> {
        let at = self
            .regions
            .binary_search_by_key(&rank, |it| it.rank)
            .ok()?;
        Some(&self.regions[at])
    }

    /// A rank here is asked from another process.
    pub(crate) fn asked(&self, to: usize, asked: Asked<'_>) -> Result<(), String> {
        let now = Now {
            to,
            source: asked.source,
            head: Head::read(asked.head)?,
            at: asked.at,
            part: asked.part,
            length: asked.length,
        };
        let mut state = self.state.lock();
        if is_behind(state.begun, now.head.epoch) {
            if state.is_ahead(now) {
                state.ahead.push(now.head.epoch);
                return self.act(&mut state, now);
            }
            state.put_off.push(now.kept());
            return Ok(());
        }
        self.carry_out(&mut state, now)?;
        self.begin_next(&mut state)
    }

    /// All ranks have come to the end of an epoch, in which so many messages were sent to this
    /// process. Whether the next one has begun; if not, `rank` is told.
    pub(crate) fn ends(&self, next: u32, messages: u64, rank: usize) -> Result<bool, String> {
        let mut state = self.state.lock();
        if state.known != next {
            state.known = next;
            state.expected += messages;
        }
        self.begin_next(&mut state)?;
        let has_begun = state.begun == next;
        if !has_begun {
            state.waiting.push(rank);
        }
        Ok(has_begun)
    }

    fn begin_next(&self, state: &mut State) -> Result<(), String> {
        if state.begun == state.known || state.done != state.expected {
            return Ok(());
        }
        state.begun = state.known;
        let (begun, before) = (state.begun, state.ahead.len());
        state.ahead.retain(|epoch| is_behind(begun, *epoch));
        state.done += (before - state.ahead.len()) as u64;
        for message in mem::take(&mut state.put_off) {
            // Who waits in its next fence is two epochs ahead of one that has not left the last.
            if is_behind(state.begun, message.head.epoch) {
                state.put_off.push(message);
            } else {
                self.carry_out(state, message.now())?;
            }
        }
        for rank in mem::take(&mut state.waiting) {
            self.tell(rank, rank, BEGUN, true);
        }
        Ok(())
    }

    fn carry_out(&self, state: &mut State, now: Now<'_>) -> Result<(), String> {
        if now.at + now.part.len() == now.length {
            state.done += 1;
        }
        self.act(state, now)
    }

    /// Carries out what is asked, uncounted.
    fn act(&self, state: &mut State, now: Now<'_>) -> Result<(), String> {
        let region = self.region(now.to);
        let region = region.ok_or_else(|| format!("rank {} is not here", now.to))?;
        let Head { act, op, kind, .. } = now.head;
        match act {
            Act::Put => self.put(state, region, now),
            Act::Accumulate => {
                let op = known(op)?;
                change(region, now, |there| {
                    combine_bytes(kind, op, there, now.part)
                })
            }
            Act::Get => self.get(region, now),
            Act::Fetch | Act::Swap => self.exchange(state, region, now),
            Act::Lock => {
                let lock = [Lock::Shared, Lock::Exclusive][usize::from(op == 1)];
                let (rank, tag) = (now.source, now.head.tag);
                if region.lock(Holder { rank, tag, lock }) {
                    self.tell(now.to, rank, tag, true);
                }
                Ok(())
            }
            Act::Unlock => {
                region.release(now.source, now.head.tag);
                Ok(())
            }
            Act::Flush => {
                let is_open = region.memory.with(|_| ()).is_ok();
                self.tell(now.to, now.source, now.head.tag, is_open);
                Ok(())
            }
        }
    }

    /// Puts what has come. An element that begins in one part and ends in another is put whole.
    fn put(&self, state: &mut State, region: &Region<T>, now: Now<'_>) -> Result<(), String> {
        let (size, key) = (size_of::<T>().max(1), (now.to, now.source, now.head.tag));
        // Parts are cut at multiples of 64 bytes.
        if 64 % size == 0 || now.part.len() == now.length {
            return lay(region, now);
        }
        let mut bytes = state.collected.remove(&key).unwrap_or_default();
        let at = now.at.checked_sub(bytes.len());
        let at = at.ok_or("a part has lost the one before it")?;
        bytes.extend_from_slice(now.part);
        let rest = bytes.split_off(bytes.len() / size * size);
        if !rest.is_empty() {
            state.collected.insert(key, rest);
        }
        let part = &bytes;
        lay(region, Now { at, part, ..now })
    }

    fn get(&self, region: &Region<T>, now: Now<'_>) -> Result<(), String> {
        let length = now.part.try_into().map(u64::from_le_bytes);
        let length = length.map_err(|_| "a get has no length")? as usize;
        let offset = now.head.offset as usize;
        let copied = region
            .memory
            .with_part(offset, length, |there| there.to_vec());
        self.answer(now, of_open(copied)?, length);
        Ok(())
    }

    /// Combines or swaps, at once for all elements, and answers with what was there.
    fn exchange(&self, state: &mut State, region: &Region<T>, now: Now<'_>) -> Result<(), String> {
        let (key, whole) = (
            (now.to, now.source, now.head.tag),
            now.part.len() == now.length,
        );
        let collected;
        let body = if whole {
            now.part
        } else {
            let part = state.collected.entry(key).or_default();
            part.extend_from_slice(now.part);
            if part.len() < now.length {
                return Ok(());
            }
            collected = state.collected.remove(&key).unwrap_or_default();
            &collected
        };
        let before = exchanged(region, now.head, body)?;
        self.answer(now, before, body.len());
        Ok(())
    }

    /// Answers with numbers. If the window is closed they are not as many as were `wanted`.
    fn answer(&self, now: Now<'_>, numbers: Option<Vec<T>>, wanted: usize) {
        let numbers = numbers.unwrap_or_else(|| match wanted {
            0 => vec![T::zeroed()],
            _ => Vec::new(),
        });
        let delegate = self.region(now.to).and_then(|region| region.delegate());
        if let Some(delegate) = delegate {
            // Who cannot be reached is not there any more, and the run ends.
            let _ = delegate.send(now.source, now.head.tag, numbers);
        }
    }

    /// Tells rank `to` as rank `from`, which lives here.
    fn tell(&self, from: usize, to: usize, tag: Tag, told: bool) {
        if let Some(delegate) = self.region(from).and_then(|region| region.delegate()) {
            let _ = delegate.send(to, tag, told);
        }
    }
}

impl State {
    /// Whether a message of an epoch that has not begun is to be carried out before it.
    fn is_ahead(&self, now: Now<'_>) -> bool {
        let Now { to, source, .. } = now;
        let mut put_off = self.put_off.iter();
        matches!(now.head.act, Act::Unlock | Act::Flush)
            && !put_off.any(|it| (it.to, it.source) == (to, source))
    }
}

/// Whether an epoch comes after the one that has begun.
fn is_behind(begun: u32, epoch: u32) -> bool {
    // Numbers go round.
    epoch.wrapping_sub(begun) as i32 > 0
}

/// Puts whole elements.
fn lay<T: Plain>(region: &Region<T>, now: Now<'_>) -> Result<(), String> {
    change(region, now, |there| {
        there.copy_from_slice(now.part);
        Some(())
    })
}

/// Changes the bytes that a message is about, if the window is open.
fn change<T: Plain>(
    region: &Region<T>,
    now: Now<'_>,
    change: impl FnOnce(&mut [u8]) -> Option<()>,
) -> Result<(), String> {
    let offset = now.head.offset as usize * size_of::<T>() + now.at;
    let changed = region.memory.with(|memory| {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(memory);
        let part = part(now.to, bytes.len(), offset, now.part.len())?;
        Ok(change(&mut bytes[part]))
    });
    match of_open(changed.flatten())? {
        Some(None) => Err(OTHERS.to_owned()),
        Some(Some(())) | None => Ok(()),
    }
}

/// Combines or swaps and gives what was there; `None` if the window is closed.
fn exchanged<T: Plain>(
    region: &Region<T>,
    head: Head,
    body: &[u8],
) -> Result<Option<Vec<T>>, String> {
    let (size, swaps) = (size_of::<T>().max(1), head.act == Act::Swap);
    if swaps && body.len() != 2 * size {
        return Err("a swap has two elements".to_owned());
    }
    let length = if swaps { 1 } else { body.len() / size };
    let op = if swaps { Op::Keep } else { known(head.op)? };
    let exchanged = region
        .memory
        .with_part(head.offset as usize, length, |there| {
            let before = there.to_vec();
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(there);
            if !swaps {
                combine_bytes(head.kind, op, bytes, body).ok_or(OTHERS)?;
            } else if *bytes == body[..size] {
                bytes.copy_from_slice(&body[size..]);
            }
            Ok(before)
        });
    of_open(exchanged)?.transpose()
}

const OTHERS: &str = "the numbers are of another kind";

fn known(op: u8) -> Result<Op, String> {
    Op::of(op).ok_or_else(|| format!("there is no operation {op}"))
}

/// What an access has brought; `None` if the window is closed.
fn of_open<R>(accessed: Result<R, WindowError>) -> Result<Option<R>, String> {
    match accessed {
        Ok(result) => Ok(Some(result)),
        Err(WindowError::Closed { .. }) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

impl Now<'_> {
    fn kept(&self) -> Message {
        Message {
            to: self.to,
            source: self.source,
            head: self.head,
            at: self.at,
            part: self.part.to_vec(),
            length: self.length,
        }
    }
}

impl Message {
    fn now(&self) -> Now<'_> {
        Now {
            to: self.to,
            source: self.source,
            head: self.head,
            at: self.at,
            part: &self.part,
            length: self.length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::WindowMemory;
    use std::ops::Range;

    /// Rank 1, which has come to so many fences, puts a part of a body into the window of rank 0.
    fn put<T: Plain>(site: &WindowSite<T>, epoch: u32, body: &[u8], part: Range<usize>) {
        let head = Head {
            act: Act::Put,
            op: 0,
            kind: 0,
            answers: false,
            epoch,
            tag: 0,
            offset: 0,
        };
        let asked = Asked {
            source: 1,
            head: &head.written(),
            part: &body[part.clone()],
            at: part.start,
            length: body.len(),
        };
        site.asked(0, asked).unwrap();
    }

    #[test]
    fn sem_g345_an_element_that_two_parts_share_is_put_whole() {
        let memory = WindowMemory::here(0, Some(vec![[0_u8; 3]; 44]));
        let site = WindowSite::new(vec![Arc::new(Region::new(0, memory))]);
        let body = [7; 3 * 44];
        for part in [0..64, 64..128, 128..132] {
            put(&site, 0, &body, part.clone());
            let there = site.regions[0].memory.with(|elements| elements.to_vec());
            let there = there.unwrap();
            let (put, rest) = there.split_at(part.end / 3);
            assert!(put.iter().all(|element| *element == [7; 3]), "{part:?}");
            assert!(rest.iter().all(|element| *element == [0; 3]), "{part:?}");
        }
        let state = site.state.lock();
        assert_eq!((state.done, state.collected.len()), (1, 0));
    }

    /// Rank 1, which has come to so many fences, asks this of rank 0.
    fn ask(site: &WindowSite<u8>, epoch: u32, act: Act) {
        let head = Head {
            act,
            op: u8::from(act == Act::Lock),
            kind: 0,
            answers: false,
            epoch,
            tag: 5,
            offset: 0,
        };
        let body: &[u8] = if act == Act::Put { &[9] } else { &[] };
        let asked = Asked {
            source: 1,
            head: &head.written(),
            part: body,
            at: 0,
            length: body.len(),
        };
        site.asked(0, asked).unwrap();
    }

    /// Whether rank 2 would get the lock of rank 0 now.
    fn is_free(site: &WindowSite<u8>) -> bool {
        let (rank, tag, lock) = (2, 0, Lock::Exclusive);
        let is_free = site.regions[0].lock(Holder { rank, tag, lock });
        site.regions[0].release(rank, tag);
        is_free
    }

    #[test]
    fn sem_g348_an_unlock_of_a_later_epoch_waits_only_for_what_was_asked_before_it() {
        for puts in [false, true] {
            let memory = WindowMemory::here(0, Some(vec![0_u8]));
            let site = WindowSite::new(vec![Arc::new(Region::new(0, memory))]);
            ask(&site, 0, Act::Lock);
            assert!(!is_free(&site));
            if puts {
                ask(&site, 1, Act::Put);
            }
            ask(&site, 1, Act::Unlock);
            assert_eq!(is_free(&site), !puts);
            // It is counted with its epoch.
            assert_eq!(site.ends(1, 1, 0), Ok(true));
            assert!(is_free(&site));
            assert_eq!(site.ends(2, 1 + u64::from(puts), 0), Ok(true));
        }
    }

    #[test]
    fn a_lock_of_a_later_epoch_that_is_given_up_stays_behind_its_wish() {
        let memory = WindowMemory::here(0, Some(vec![0_u8]));
        let site = WindowSite::new(vec![Arc::new(Region::new(0, memory))]);
        ask(&site, 1, Act::Lock);
        ask(&site, 1, Act::Unlock);
        assert_eq!(site.ends(1, 0, 0), Ok(true));
        assert!(is_free(&site));
        assert_eq!(site.ends(2, 2, 0), Ok(true));
    }

    #[test]
    fn what_is_of_later_epochs_waits_for_its_own() {
        for begun in [0, u32::MAX - 1] {
            let memory = WindowMemory::here(0, Some(vec![0_u8]));
            let site = WindowSite::new(vec![Arc::new(Region::new(0, memory))]);
            {
                let mut state = site.state.lock();
                (state.begun, state.known) = (begun, begun);
            }
            let there = || site.regions[0].memory.with(|numbers| numbers[0]).unwrap();
            for (ahead, number) in [(2, 30), (1, 20), (0, 10)] {
                put(&site, begun.wrapping_add(ahead), &[number], 0..1);
            }
            for (ahead, number) in [(1, 10), (2, 20), (3, 30)] {
                assert_eq!(there(), number);
                assert_eq!(site.ends(begun.wrapping_add(ahead), 1, 0), Ok(true));
            }
        }
    }
}
