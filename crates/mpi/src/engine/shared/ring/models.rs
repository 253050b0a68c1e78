//! The models of a ring, and of the bell beside it.

use super::super::bell::{self, Bell};
use super::super::outgoing_message::OutgoingMessage;
use super::*;
use motet_sync::atomic::AtomicU32;
use motet_sync::{Condvar, Mutex};
use std::time::Duration;

/// Memory with a bell, as far as a system has to do with it.
struct Few {
    words: Vec<AtomicU64>,
    bell: AtomicU32,
    /// How often somebody was woken.
    woken: Mutex<u32>,
    wakes: Condvar,
}

impl Few {
    fn new(words: usize) -> Arc<Few> {
        Arc::new(Few {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            bell: AtomicU32::new(0),
            woken: Mutex::new(0),
            wakes: Condvar::new(),
        })
    }
}

impl Memory for Few {
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }
}

impl Bell for Few {
    fn bell(&self) -> &AtomicU32 {
        &self.bell
    }

    /// Without the limit: who sleeps must be woken. The system looks at the value while nobody can
    /// wake.
    fn sleep(&self, value: u32, _: Duration) {
        let mut woken = self.woken.lock();
        if self.bell.load(Ordering::Relaxed) != value {
            return;
        }
        let before = *woken;
        while *woken == before {
            woken = self.wakes.wait(woken);
        }
    }

    fn wake(&self) {
        *self.woken.lock() += 1;
        self.wakes.notify_all();
    }
}

/// The ring is full in between, and frames come to lie where others were.
#[test]
fn loom_frames_come_whole_and_in_order() {
    const COUNT: u32 = 5;
    let parcel = |tag: u32| {
        let header = Header {
            context: 1,
            source: 2,
            destination: 3,
            tag,
        };
        (header, vec![tag as u8; 9])
    };
    let sent = |(header, payload)| OutgoingMessage::Message {
        header,
        payload,
        sent: None,
    };
    loom::model(move || {
        let place = 0..ring_words(4);
        let memory = Few::new(place.end);
        let mut sender = RingSender::new(Arc::clone(&memory), place.clone());
        let mut receiver = RingReceiver::new(memory, place);
        let sending = loom::thread::spawn(move || {
            for tag in 0..COUNT {
                let mut parcel = sent(parcel(tag));
                while !sender.write(&mut parcel) {
                    loom::thread::yield_now();
                }
            }
        });
        for tag in 0..COUNT {
            let (header, mut payload) = parcel(tag);
            let all = RingOutput::Message(header, &mut payload);
            while !receiver.next().is_some_and(|came| {
                assert_eq!(came, all);
                true
            }) {
                loom::thread::yield_now();
            }
        }
        sending.join().unwrap();
    });
}

/// Two processes write, one after the other, into two rings of one that sleeps in between.
#[test]
fn loom_who_sleeps_is_woken_by_what_comes() {
    loom::model(|| {
        let words = ring_words(4);
        let memory = Few::new(2 * words);
        let rings = [0..words, words..2 * words];
        let senders = rings.clone().map(|place| {
            let mut sender = RingSender::new(Arc::clone(&memory), place);
            let there = Arc::clone(&memory);
            loom::thread::spawn(move || {
                assert!(sender.write(&mut OutgoingMessage::Close), "there is room");
                bell::ring(&*there);
            })
        });
        let mut receivers = rings.map(|place| RingReceiver::new(Arc::clone(&memory), place));
        let mut came = 0;
        while came < receivers.len() {
            let next = receivers.iter_mut().filter_map(|ring| ring.next());
            match next.count() {
                0 => bell::wait(&*memory, Duration::MAX, || {
                    receivers.iter().any(|ring| ring.has_any())
                }),
                more => came += more,
            }
        }
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
    });
}
