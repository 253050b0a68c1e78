//! Messages from one process to another in a ring of memory that both see.
//!
//! ```text
//!  │ taken │ cell │ cell │ cell │ …            a cell is a cache line; a frame is one or more
//!             └ stamp │ context │ source, destination │ tag │ payload …
//! ```
//!
//! The sender writes a frame behind the last one, and its stamp at the end. The receiver looks at the stamp of the next
//! frame and at nothing else while there is none: a short message is a few cache lines from core to core, and waiting
//! for one costs nothing. Before a stamp is written the place of the next one is cleared, so what an earlier lap has
//! left there is never read. `taken` says how many cells the receiver is done with; the sender asks for it when the
//! ring seems full.
//!
//! Stamps, headers and counts are read and written as atomic words. Payloads are copied as bytes, which the stamp hands
//! over: a process that misbehaves can send nonsense, and nothing worse.

use super::bytes::{copy_in, copy_out};
use super::parcel::Parcel;
use motet_comm::Header;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

/// Memory that two processes see, as words of eight bytes; at first they are 0.
pub(super) trait Memory {
    fn words(&self) -> &[AtomicU64];
}

/// The end that sends.
pub(super) struct RingSender<M> {
    ring: Ring<M>,
    /// Cells written since the beginning.
    written: u64,
    /// Cells that the receiver was done with when it was last asked.
    taken: u64,
}

/// The end that receives.
pub(super) struct RingReceiver<M> {
    ring: Ring<M>,
    /// Cells read since the beginning.
    read: u64,
    /// A message whose frames have not all come.
    begun: Option<Begun>,
    /// What came last; its memory is used again.
    payload: Vec<u8>,
    broken: bool,
}

/// What comes out of a ring.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Came<'a> {
    /// The payload may be taken away.
    Message(Header, &'a mut Vec<u8>),
    /// The sender will send nothing more.
    Farewell,
    /// A stamp that is none, or not one that can come now. Nothing more comes.
    Nonsense,
}

struct Ring<M> {
    memory: Arc<M>,
    /// Its words in the memory.
    place: Range<usize>,
}

struct Begun {
    header: Header,
    total: usize,
    payload: Vec<u8>,
}

/// Words of a cell, which is a cache line.
const CELL: usize = 8;
/// At most so many bytes of a message in a frame: the receiver copies one while the sender copies the next.
const PIECE: usize = 8 * 1024;

/// A receiver keeps so many bytes of memory for further short messages.
const KEPT: usize = 2 * PIECE;

/// What a frame is, in the highest byte of its stamp; below stands how many bytes it carries.
const WHOLE: u64 = 1;
const FIRST: u64 = 2;
const REST: u64 = 3;
const FAREWELL: u64 = 4;
const KIND: u32 = 56;

/// The words that a ring of `cells` takes.
pub(super) const fn ring_words(cells: usize) -> usize {
    (cells + 1) * CELL
}

impl<M: Memory> RingSender<M> {
    /// The sender of the ring at these words of the memory; there is no other.
    pub(super) fn new(memory: Arc<M>, place: Range<usize>) -> Self {
        RingSender {
            ring: Ring::new(memory, place),
            written: 0,
            taken: 0,
        }
    }

    /// Writes as much of the parcel as there is room for; whether that is all.
    #[inline]
    pub(super) fn write(&mut self, parcel: &mut Parcel) -> bool {
        let Parcel::Message {
            header,
            payload,
            sent,
        } = parcel
        else {
            return self.write_frame(FAREWELL, &[], &[]);
        };
        let piece = self.ring.piece();
        if sent.is_none() && payload.len() <= piece {
            return self.write_whole(header, payload);
        }
        let [one, two] = words_of(header);
        loop {
            let begin = sent.unwrap_or(0);
            let end = payload.len().min(begin + piece);
            let written = match sent {
                None => {
                    let total = payload.len() as u64;
                    let head = [header.context, one, two, total];
                    self.write_frame(FIRST, &head, &payload[begin..end])
                }
                Some(_) => self.write_frame(REST, &[], &payload[begin..end]),
            };
            if !written {
                return false;
            }
            *sent = Some(end);
            if end == payload.len() {
                return true;
            }
        }
    }

    /// Writes a message if it is short and there is room for it.
    #[inline]
    pub(super) fn write_whole(&mut self, header: &Header, payload: &[u8]) -> bool {
        let [one, two] = words_of(header);
        payload.len() <= self.ring.piece()
            && self.write_frame(WHOLE, &[header.context, one, two], payload)
    }

    /// Writes a frame if there is room for it.
    #[inline]
    fn write_frame(&mut self, kind: u64, head: &[u64], payload: &[u8]) -> bool {
        let cells = frame_cells(head.len(), payload.len());
        if !self.has_room(cells) {
            return false;
        }
        let (at, next) = (
            self.ring.at(self.written),
            self.ring.at(self.written + cells),
        );
        let data = self.ring.data();
        // Relaxed for all but the stamp: whoever sees that sees the rest.
        for (word, number) in data[at + 1..].iter().zip(head) {
            word.store(*number, Ordering::Relaxed);
        }
        self.ring.copy_in(payload, at + 1 + head.len());
        let data = self.ring.data();
        data[next].store(0, Ordering::Relaxed);
        let stamp = kind << KIND | payload.len() as u64;
        data[at].store(stamp, Ordering::Release);
        self.written += cells;
        true
    }

    /// Whether a frame of so many cells fits, and the cell behind it, which is cleared.
    #[inline]
    fn has_room(&mut self, cells: u64) -> bool {
        let most = self.ring.cells() - cells - 1;
        if self.written.wrapping_sub(self.taken) <= most {
            return true;
        }
        // Acquire: what the receiver has read of these cells it has read before this.
        self.taken = self.ring.taken().load(Ordering::Acquire);
        // Another process wrote it: it may say anything.
        self.written.wrapping_sub(self.taken) <= most
    }
}

impl<M: Memory> RingReceiver<M> {
    /// The receiver of the ring at these words of the memory; there is no other.
    pub(super) fn new(memory: Arc<M>, place: Range<usize>) -> Self {
        RingReceiver {
            ring: Ring::new(memory, place),
            read: 0,
            begun: None,
            payload: Vec::new(),
            broken: false,
        }
    }

    /// What has come next, if all of it has.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Came<'_>> {
        let whole = loop {
            let at = self.ring.at(self.read);
            // Acquire: the frame was written before its stamp.
            let stamp = self.ring.data()[at].load(Ordering::Acquire);
            if stamp == 0 || self.broken {
                return None;
            }
            match self.take_frame(at, stamp) {
                Ok(Some(whole)) => break whole,
                Ok(None) => {}
                Err(Nonsense) => {
                    self.broken = true;
                    return Some(Came::Nonsense);
                }
            }
        };
        Some(match whole {
            Whole::Message(header) => Came::Message(header, &mut self.payload),
            Whole::Farewell => Came::Farewell,
        })
    }

    /// Takes the frame with this stamp; what is whole by it. A message's payload is then in its place.
    fn take_frame(&mut self, at: usize, stamp: u64) -> Result<Option<Whole>, Nonsense> {
        let (kind, bytes) = (stamp >> KIND, stamp & ((1 << KIND) - 1));
        let bytes = usize::try_from(bytes).map_err(|_| Nonsense)?;
        let head = match kind {
            WHOLE => 3,
            FIRST => 4,
            REST | FAREWELL => 0,
            _ => return Err(Nonsense),
        };
        if bytes > self.ring.piece() || (kind == REST) != self.begun.is_some() {
            return Err(Nonsense);
        }
        let came = match kind {
            FAREWELL => Some(Whole::Farewell),
            WHOLE => {
                let mut payload = mem::take(&mut self.payload);
                payload.clear();
                payload.shrink_to(KEPT);
                self.ring.copy_out(at + 1 + head, bytes, &mut payload);
                self.payload = payload;
                Some(Whole::Message(self.header(at)))
            }
            _ => self.take_piece(kind, at, bytes)?,
        };
        self.read += frame_cells(head, bytes);
        // Release: the cells have been read.
        self.ring.taken().store(self.read, Ordering::Release);
        Ok(came)
    }

    /// Takes a piece of a long message, which may be its last.
    fn take_piece(
        &mut self,
        kind: u64,
        at: usize,
        bytes: usize,
    ) -> Result<Option<Whole>, Nonsense> {
        let begun = match self.begun.take().filter(|_| kind == REST) {
            Some(begun) => begun,
            None => {
                let total = self.ring.data()[at + 4].load(Ordering::Relaxed);
                let total = usize::try_from(total).map_err(|_| Nonsense)?;
                let mut payload = Vec::new();
                payload.try_reserve_exact(total).map_err(|_| Nonsense)?;
                Begun {
                    header: self.header(at),
                    total,
                    payload,
                }
            }
        };
        let Begun {
            header,
            total,
            mut payload,
        } = begun;
        let head = if kind == FIRST { 4 } else { 0 };
        if bytes == 0 || payload.len() + bytes > total {
            return Err(Nonsense);
        }
        self.ring.copy_out(at + 1 + head, bytes, &mut payload);
        if payload.len() == total {
            self.payload = payload;
            return Ok(Some(Whole::Message(header)));
        }
        self.begun = Some(Begun {
            header,
            total,
            payload,
        });
        Ok(None)
    }

    fn header(&self, at: usize) -> Header {
        let [context, one, two] =
            [1, 2, 3].map(|word| self.ring.data()[at + word].load(Ordering::Relaxed));
        Header {
            context,
            source: one as u32,
            destination: (one >> 32) as u32,
            tag: two as u32,
        }
    }
}

impl<M: Memory> Ring<M> {
    fn new(memory: Arc<M>, place: Range<usize>) -> Self {
        let ring = Ring { memory, place };
        assert!(ring.cells().is_power_of_two() && ring.cells() >= 4);
        ring
    }

    #[inline]
    fn cells(&self) -> u64 {
        (self.place.len() / CELL - 1) as u64
    }

    /// At most so many bytes stand in a frame: a ring has room for several.
    #[inline]
    fn piece(&self) -> usize {
        PIECE.min(self.place.len() * 8 / 4)
    }

    #[inline]
    fn taken(&self) -> &AtomicU64 {
        &self.memory.words()[self.place.start]
    }

    /// The words of all cells.
    #[inline]
    fn data(&self) -> &[AtomicU64] {
        &self.memory.words()[self.place.start + CELL..self.place.end]
    }

    /// The first word of the cell with this number since the beginning.
    #[inline]
    fn at(&self, cell: u64) -> usize {
        (cell & (self.cells() - 1)) as usize * CELL
    }

    /// Writes the bytes from this word on, round the end.
    #[inline]
    fn copy_in(&self, bytes: &[u8], begin: usize) {
        let data = self.data();
        let until_end = (data.len() - begin) * 8;
        let (near, far) = bytes.split_at(bytes.len().min(until_end));
        copy_in(near, &data[begin..]);
        copy_in(far, data);
    }

    /// Appends so many bytes from this word on, round the end.
    #[inline]
    fn copy_out(&self, begin: usize, bytes: usize, to: &mut Vec<u8>) {
        let data = self.data();
        let near = bytes.min((data.len() - begin) * 8);
        to.reserve(bytes);
        copy_out(&data[begin..], near, to);
        copy_out(data, bytes - near, to);
    }
}

/// What is whole by a frame.
enum Whole {
    Message(Header),
    Farewell,
}

/// A frame that the sender cannot have written, or not now.
struct Nonsense;

/// The cells of a frame with so many words between its stamp and so many bytes.
#[inline]
fn frame_cells(head: usize, bytes: usize) -> u64 {
    ((1 + head) * 8 + bytes).div_ceil(CELL * 8) as u64
}

fn words_of(header: &Header) -> [u64; 2] {
    let one = u64::from(header.source) | u64::from(header.destination) << 32;
    [one, u64::from(header.tag)]
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
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

    fn parcel(tag: u32, payload: Vec<u8>) -> Parcel {
        Parcel::of(Some((header(tag), payload)))
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
                    Some(Came::Message(header(number as u32), &mut payload))
                );
                assert_eq!(receiver.next(), None);
            }
            assert!(sender.write(&mut Parcel::Farewell));
            assert_eq!(receiver.next(), Some(Came::Farewell));
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
                assert_eq!(came, Came::Message(header(1), &mut long));
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
                Some(Came::Message(header(tag), &mut vec![]))
            );
        }
        assert_eq!(receiver.next(), None);
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
            let all = Came::Message(header(number as u32), &mut payload);
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
            u64::MAX,
            WHOLE << KIND | 1 << 20,
            REST << KIND | 8,
            FIRST << KIND | 8,
            FIRST << KIND,
        ];
        for stamp in stamps {
            let (sender, mut receiver) = ring(16);
            sender.ring.data()[0].store(stamp, Ordering::Relaxed);
            assert_eq!(receiver.next(), Some(Came::Nonsense), "{stamp:x}");
            assert_eq!(receiver.next(), None);
        }
        // A message that claims more memory than there is.
        let (sender, mut receiver) = ring(16);
        sender.ring.data()[4].store(u64::MAX, Ordering::Relaxed);
        sender.ring.data()[0].store(FIRST << KIND | 8, Ordering::Relaxed);
        assert_eq!(receiver.next(), Some(Came::Nonsense));
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
}

#[cfg(all(test, motet_loom))]
mod models {
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
        loom::model(move || {
            let place = 0..ring_words(4);
            let words = place.clone().map(|_| AtomicU64::new(0)).collect();
            let memory = Arc::new(Few(words));
            let mut sender = RingSender::new(Arc::clone(&memory), place.clone());
            let mut receiver = RingReceiver::new(memory, place);
            let sending = loom::thread::spawn(move || {
                for tag in 0..COUNT {
                    let mut parcel = Parcel::of(Some(parcel(tag)));
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
}
