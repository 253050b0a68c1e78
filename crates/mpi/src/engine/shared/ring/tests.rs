//! The tests of a ring.

use super::frame::{KIND, stamp};
use super::*;
use crate::engine::shared::outgoing_message::OutgoingMessage;
use motet_comm::Gone;
use motet_sync::thread;

struct Plain(Vec<AtomicU64>);

impl Memory for Plain {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }
}

fn ring(cells: usize) -> (RingSender<Plain>, RingReceiver<Plain>) {
    // Not at the beginning of the memory.
    let place = 24..24 + ring_words(cells);
    let memory = (0..place.end + 8).map(|_| AtomicU64::new(0)).collect();
    let memory = Arc::new(Plain(memory));
    (
        RingSender::new(Arc::clone(&memory), place.clone()),
        RingReceiver::new(memory, place),
    )
}

fn header(tag: u32) -> Header {
    Header {
        context: u64::MAX - 7,
        source: 3,
        destination: u32::MAX,
        tag,
    }
}

fn bytes(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + number) as u8).collect()
}

fn parcel(tag: u32, payload: Vec<u8>) -> OutgoingMessage {
    OutgoingMessage::Message {
        header: header(tag),
        payload,
        sent: None,
    }
}

/// Every length crosses every place of the ring.
#[test]
fn messages_of_all_lengths_come_out_as_they_went_in() {
    for cells in [16, 64, 1024] {
        let (mut sender, mut receiver) = ring(cells);
        for number in 0..3000 {
            let mut payload = bytes(number, number % 301);
            assert!(sender.write(&mut parcel(number as u32, payload.clone())));
            let came = receiver.next();
            assert_eq!(
                came,
                Some(RingOutput::Message(header(number as u32), &mut payload))
            );
            assert_eq!(receiver.next(), None);
        }
        assert!(sender.write(&mut OutgoingMessage::Close));
        assert_eq!(receiver.next(), Some(RingOutput::Close));
    }
}

/// However a message is cut, and wherever the ring ends in it.
#[test]
fn pieces_come_out_as_one() {
    for cells in [16, 1024] {
        let (mut sender, mut receiver) = ring(cells);
        for number in 0..2000 {
            let mut payload = bytes(number, number * 13 % 401);
            let (one, other) = payload.split_at(payload.len() * (number % 5) / 4);
            let (near, far) = other.split_at(other.len() / 2);
            let (mut sent, tag) = (None, number as u32);
            let pieces = [one, near, &[], far];
            while !sender.write_message(&header(tag), &pieces, &mut sent) {
                assert_eq!(
                    receiver.next(),
                    None,
                    "a ring holds a message of a kilobyte"
                );
            }
            let all = RingOutput::Message(header(tag), &mut payload);
            assert_eq!(receiver.next(), Some(all));
        }
    }
}

#[test]
fn what_has_no_room_goes_on_when_there_is() {
    let (mut sender, mut receiver) = ring(16);
    let mut long = bytes(1, 100_000);
    let mut first = parcel(1, long.clone());
    assert!(!sender.write(&mut first));
    let mut rounds = 0;
    loop {
        if let Some(came) = receiver.next() {
            assert_eq!(came, RingOutput::Message(header(1), &mut long));
            break;
        }
        sender.write(&mut first);
        rounds += 1;
    }
    assert!(rounds > 100, "a ring holds a kilobyte");
    // Full of short ones, to the last cell.
    let mut sent = 0;
    while sender.write(&mut parcel(sent, vec![])) {
        sent += 1;
    }
    assert_eq!(sent, 15);
    for tag in 0..sent {
        assert_eq!(
            receiver.next(),
            Some(RingOutput::Message(header(tag), &mut vec![]))
        );
    }
    assert_eq!(receiver.next(), None);
}

/// As many as there is room for, each cut where a number may end.
#[test]
fn some_of_many_bytes_go_as_messages_of_a_frame() {
    for (cells, length) in [(4, 1000), (16, 10_000), (1024, 200_001)] {
        let (mut sender, mut receiver) = ring(cells);
        let (all, mut came, mut rounds) = (bytes(3, length), Vec::new(), 0);
        let mut gone = Gone::default();
        while gone.bytes < length {
            let some = sender.write_some(&header(9), &all[gone.bytes..]);
            (gone.bytes, gone.messages) = (gone.bytes + some.bytes, gone.messages + some.messages);
            for at in 0..some.messages {
                // Block by block, or as one; not with another header.
                assert!(!receiver.read_next(&header(8), |_, _| panic!("it is not that")));
                let mut read = Vec::new();
                if at % 2 == 0 {
                    assert!(receiver.is_next_of(1));
                    let mut follow = usize::MAX;
                    assert!(receiver.read_next(&header(9), |block, rest| {
                        assert!(follow == usize::MAX || follow == block.len() + rest);
                        read.extend_from_slice(block);
                        follow = rest;
                    }));
                    assert_eq!(follow, 0, "the last block is known");
                    came.append(&mut read);
                    continue;
                }
                let Some(RingOutput::Message(head, piece)) = receiver.next() else {
                    panic!("a message has gone")
                };
                assert_eq!(head, header(9));
                assert!(piece.len().is_multiple_of(64) || came.len() + piece.len() == length);
                came.extend_from_slice(piece);
            }
            assert!(!receiver.is_next_of(0));
            assert!(!receiver.read_next(&header(9), |_, _| panic!("there is nothing")));
            assert_eq!(receiver.next(), None);
            rounds += 1;
        }
        assert!(rounds > 1 && came == all, "{rounds}");
        assert_eq!(sender.write_some(&header(9), &[]), Gone::default());
    }
}

/// A payload may hold what looks like the stamp that comes to stand where it lies.
#[test]
fn what_an_earlier_lap_has_left_is_no_message() {
    let (mut sender, mut receiver) = ring(16);
    let mut cell = 0;
    for round in 0..300 {
        // Two cells; as if each word of the second were the stamp of the next lap's first.
        let word = stamp(WHOLE, cell + 1 + 16, 8);
        let mut payload: Vec<u8> = (0..12).flat_map(|_| word.to_ne_bytes()).collect();
        assert!(sender.write(&mut parcel(round, payload.clone())));
        let all = RingOutput::Message(header(round), &mut payload);
        assert_eq!(receiver.next(), Some(all));
        assert_eq!(receiver.next(), None);
        cell += 2;
        // So that frames begin at all cells.
        if round % 7 == 0 {
            assert!(sender.write(&mut parcel(round, vec![])));
            assert_eq!(
                receiver.next(),
                Some(RingOutput::Message(header(round), &mut vec![]))
            );
            cell += 1;
        }
    }
}

#[test]
fn two_threads_lose_nothing() {
    const COUNT: usize = 20_000;
    let (mut sender, mut receiver) = ring(64);
    let lengths = |number: usize| match number % 97 {
        0 => 5_000,
        rest => rest,
    };
    let sending = thread::spawn(move || {
        for number in 0..COUNT {
            let mut parcel = parcel(number as u32, bytes(number, lengths(number)));
            while !sender.write(&mut parcel) {
                thread::yield_now();
            }
        }
    });
    for number in 0..COUNT {
        let mut payload = bytes(number, lengths(number));
        let all = RingOutput::Message(header(number as u32), &mut payload);
        while !receiver.next().is_some_and(|came| {
            assert_eq!(came, all);
            true
        }) {
            thread::yield_now();
        }
    }
    sending.join().unwrap();
}

#[test]
fn what_no_sender_writes_is_told_once() {
    let stamps = [
        5 << KIND,
        255 << KIND | 8,
        WHOLE << KIND | 1 << 20,
        REST << KIND | 8,
        FIRST << KIND | 8,
        FIRST << KIND,
    ];
    for stamp in stamps {
        let (sender, mut receiver) = ring(16);
        sender.ring.data()[0].store(stamp, Ordering::Relaxed);
        assert_eq!(receiver.next_header(), None, "{stamp:x} is left to nobody");
        assert_eq!(receiver.next(), Some(RingOutput::Nonsense), "{stamp:x}");
        assert_eq!(receiver.next(), None);
    }
    // A message that claims more memory than there is.
    let (sender, mut receiver) = ring(16);
    sender.ring.data()[4].store(u64::MAX, Ordering::Relaxed);
    sender.ring.data()[0].store(FIRST << KIND | 8, Ordering::Relaxed);
    assert_eq!(receiver.next(), Some(RingOutput::Nonsense));
    // Cells taken that were never written.
    let (mut sender, _) = ring(16);
    sender.ring.taken().store(1 << 40, Ordering::Relaxed);
    let mut sent = 0;
    while sender.write(&mut parcel(0, vec![])) {
        sent += 1;
    }
    assert_eq!(sent, 15);
    assert!(!sender.write(&mut parcel(0, vec![])), "nor after that");
}

/// Who takes a long message in frame by frame hears of each but the last, which ends it.
#[test]
fn parts_of_a_long_message_are_counted_once() {
    let (mut sender, mut receiver) = ring(16);
    let mut long = parcel(1, bytes(1, 2000));
    let (mut parts, mut written) = (0, false);
    let came = loop {
        let before = sender.written();
        written = written || sender.write(&mut long);
        match receiver.next() {
            Some(RingOutput::Message(header, payload)) => break (header, payload.clone()),
            Some(other) => panic!("{other:?}"),
            None => assert!(sender.written() > before, "there was room"),
        }
        let taken = receiver.parts();
        assert!(taken > 0);
        assert_eq!(receiver.parts(), 0);
        parts += taken;
    };
    assert_eq!(came, (header(1), bytes(1, 2000)));
    assert!(written && parts > 1);
}
