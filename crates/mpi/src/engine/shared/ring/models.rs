//! The model of a ring.

use super::*;

struct Few(Vec<AtomicU64>);

impl Memory for Few {
    fn words(&self) -> &[AtomicU64] {
        &self.0
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
    let sent = |(header, payload)| Parcel::Message {
        header,
        payload,
        sent: None,
    };
    loom::model(move || {
        let place = 0..ring_words(4);
        let words = place.clone().map(|_| AtomicU64::new(0)).collect();
        let memory = Arc::new(Few(words));
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
            let all = Came::Message(header, &mut payload);
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
