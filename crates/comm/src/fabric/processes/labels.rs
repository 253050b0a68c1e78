//! What is written on messages between processes: in words the first time, by number from then on.
//!
//! A program has few kinds of messages, each with the type of its value and the place where it is
//! sent. A process numbers those that it sends to another one; the first message with a number
//! carries the words. Messages keep their order, so whoever gets a number knows it.

use crate::envelope::Label;
use crate::wire::Typed;
use motet_sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::Location;
use std::sync::OnceLock;

/// The labels of the messages to and from all other processes.
pub(super) struct Labels {
    /// By process: the numbers of those that went there.
    to: Box<[Mutex<Numbers>]>,
    /// By process: those that came from there, by number.
    from: Box<[Known]>,
}

/// The labels that came from a process: the first few can be looked up without a lock.
#[derive(Default)]
struct Known {
    few: [OnceLock<Label>; FEW],
    more: Mutex<Vec<Label>>,
}

/// Most programs have fewer labels.
const FEW: usize = 16;

/// The numbers of labels, by the addresses of type and place.
type Numbers = HashMap<(usize, usize), u32, BuildHasherDefault<Addresses>>;

/// The number of a label, while it is used.
pub(super) struct Numbered<'a> {
    pub(super) number: u32,
    /// The words go with it, and no other message with this number may go before.
    fresh: Option<MutexGuard<'a, Numbers>>,
}

/// A hash of two addresses.
#[derive(Default)]
struct Addresses(u64);

impl Labels {
    pub(super) fn new(processes: usize) -> Self {
        Labels {
            to: (0..processes).map(|_| Mutex::default()).collect(),
            from: (0..processes).map(|_| Known::default()).collect(),
        }
    }

    /// The number of a label for messages to a process. While a new one is held nobody else sends
    /// there with a label.
    pub(super) fn number(
        &self,
        process: usize,
        typed: &'static Typed,
        location: &'static Location<'static>,
    ) -> Numbered<'_> {
        let key = (
            std::ptr::from_ref(typed).addr(),
            std::ptr::from_ref(location).addr(),
        );
        let mut numbers = self.to[process].lock();
        let next = u32::try_from(numbers.len()).expect("a program has fewer labels");
        let number = *numbers.entry(key).or_insert(next);
        Numbered {
            number,
            fresh: (number == next).then_some(numbers),
        }
    }

    /// A message with this number has come from a process, with the words if they are new. Gives
    /// its label. Gives `None` if nobody has said what the number means, or it has another meaning.
    pub(super) fn of(&self, process: usize, number: u32, words: Option<Label>) -> Option<Label> {
        let (known, at) = (&self.from[process], number as usize);
        if let Some(words) = words {
            return known.add(at, words);
        }
        match known.few.get(at) {
            Some(label) => label.get().copied(),
            None => known.more.lock().get(at - FEW).copied(),
        }
    }
}

impl Known {
    /// The label with the next number.
    fn add(&self, at: usize, words: Label) -> Option<Label> {
        let mut more = self.more.lock();
        let few = self.few.iter().take_while(|label| label.get().is_some());
        if at != few.count() + more.len() {
            return None;
        }
        match self.few.get(at) {
            Some(label) => label.set(words).ok()?,
            None => more.push(words),
        }
        Some(words)
    }
}

impl Numbered<'_> {
    /// Whether the words are to go with the message.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh.is_some()
    }
}

impl Hasher for Addresses {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_usize(usize::from(byte)));
    }

    #[inline]
    fn write_usize(&mut self, address: usize) {
        // The golden ratio, as in Fibonacci hashing: D. E. Knuth, The Art of Computer Programming,
        // volume 3, 6.4.
        let mixed = (self.0.rotate_left(29) ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::CallSite;
    use crate::wire::Of;

    fn label(type_name: &'static str) -> Label {
        Label {
            type_name,
            site: CallSite::from(Location::caller()),
        }
    }

    #[test]
    fn words_go_once_to_each_process() {
        let (labels, here) = (Labels::new(3), Location::caller());
        for process in [1, 2] {
            for (typed, number) in [(Of::<u8>::TYPE, 0), (Of::<f64>::TYPE, 1)] {
                let first = labels.number(process, typed, here);
                assert!((first.number, first.is_fresh()) == (number, true));
                drop(first);
                let again = labels.number(process, typed, here);
                assert!((again.number, again.is_fresh()) == (number, false));
            }
        }
    }

    #[test]
    fn many_labels_are_known_by_their_numbers() {
        let labels = Labels::new(2);
        let sites: Vec<Label> = (0..3 * FEW as u32)
            .map(|line| Label {
                type_name: "u8",
                site: CallSite::new("file", line, 1),
            })
            .collect();
        for (number, site) in sites.iter().enumerate() {
            let number = number as u32;
            assert_eq!(labels.of(1, number, None), None);
            assert_eq!(labels.of(1, number + 1, Some(*site)), None, "not the next");
            assert_eq!(labels.of(1, number, Some(*site)), Some(*site));
        }
        for (number, site) in sites.iter().enumerate() {
            assert_eq!(labels.of(1, number as u32, None), Some(*site));
        }
    }

    #[test]
    fn a_number_means_what_was_said_first() {
        let labels = Labels::new(2);
        assert_eq!(labels.of(1, 0, None), None);
        assert_eq!(labels.of(1, 1, Some(label("u8"))), None, "0 comes first");
        assert_eq!(labels.of(1, 0, Some(label("u8"))), Some(label("u8")));
        assert_eq!(labels.of(1, 0, Some(label("f64"))), None);
        assert_eq!(labels.of(1, 0, None).unwrap().type_name, "u8");
        assert_eq!(labels.of(0, 0, None), None, "of another process");
    }
}
