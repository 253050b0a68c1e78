//! How records lie in a file of a log.
//!
//! ```text
//!   file    magic (8), head, record, record, …
//!   head    length (4), checksum (4), id (16), key and type, each behind its length (4)
//!   record  length (4), checksum (4), first number (8), time (8), count (4),
//!           samples, each behind its length (4)
//! ```
//!
//! Numbers have their least byte first. A length counts what is behind the checksum. That is of the
//! log's id, the place in the file, the length, and what is behind: so a record counts as one in
//! its place alone, also where a sample is a copy of some log. Samples that are synced together are
//! one record: what is cut off within it is cut off whole. All files of a log have the same head,
//! and the name of each says the number of its first sample.

use crate::start_from::LogId;
use crc32fast::Hasher;

/// What the file begins with. The last byte is the number of the form.
pub(super) const MAGIC: [u8; 8] = *b"motetlg1";

/// Length and checksum.
pub(super) const PREFIX: usize = 8;

/// First number, time, count.
pub(super) const FIXED: usize = 20;

/// The length before each sample.
pub(super) const LENGTH: usize = 4;

/// Samples that wait together are one record up to so many bytes. A longer sample is one itself.
pub(super) const RECORD: usize = 256 << 10;

/// The longest record behind its prefix: one sample that fits a frame.
pub(super) const MAX_RECORD: usize = crate::MAX_FRAME + RECORD;

fn checksum(id: LogId, offset: u64, body: &[u8]) -> u32 {
    let mut sum = sum_of_place(id, offset, body.len());
    sum.update(body);
    sum.finalize()
}

fn sum_of_place(id: LogId, offset: u64, length: usize) -> Hasher {
    let mut sum = Hasher::new();
    sum.update(&id.to_le_bytes());
    sum.update(&offset.to_le_bytes());
    sum.update(&(length as u32).to_le_bytes());
    sum
}

/// Looks at what may be records that all end where some bytes end, the shortest first. Each byte is
/// read once, however many there are.
#[derive(Debug)]
pub(super) struct EndSum<'a> {
    id: LogId,
    bytes: &'a [u8],
    /// The bytes from here on are in the sum.
    begin: usize,
    sum: Hasher,
}

impl<'a> EndSum<'a> {
    pub(super) fn new(id: LogId, bytes: &'a [u8]) -> Self {
        EndSum {
            id,
            bytes,
            begin: bytes.len(),
            sum: Hasher::new(),
        }
    }

    /// Whether what begins at this place of the bytes, which is `offset` in the file, is whole.
    pub(super) fn is_whole(&mut self, at: usize, offset: u64) -> bool {
        let (prefix, body) = self.bytes[at..].split_at(PREFIX);
        let more = self.begin.saturating_sub(at + PREFIX);
        let mut sum = Hasher::new();
        sum.update(&body[..more]);
        sum.combine(&self.sum);
        (self.begin, self.sum) = (at + PREFIX, sum);
        let mut sum = sum_of_place(self.id, offset, body.len());
        sum.combine(&self.sum);
        prefix[4..] == sum.finalize().to_le_bytes()
    }
}

/// What stands before `body` at this place of the file.
fn prefix(id: LogId, offset: u64, body: &[u8]) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    prefix[4..].copy_from_slice(&checksum(id, offset, body).to_le_bytes());
    prefix
}

/// The length that a prefix says, if a record can have it.
pub(super) fn length(prefix: &[u8]) -> Option<usize> {
    let (length, _) = number::<4>(prefix)?;
    let length = u32::from_le_bytes(length) as usize;
    (length <= MAX_RECORD).then_some(length)
}

/// Whether a prefix is that of `body` at this place.
pub(super) fn is_whole(id: LogId, offset: u64, prefix: &[u8], body: &[u8]) -> bool {
    prefix == self::prefix(id, offset, body)
}

fn number<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<N>()?;
    Some((*number, rest))
}

/// What a record says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHead {
    pub(super) first: u64,
    pub(super) time: u64,
    pub(super) count: u32,
}

impl RecordHead {
    /// The head that a record begins with behind its prefix.
    pub(super) fn of(body: &[u8]) -> Option<Self> {
        let (first, rest) = number::<8>(body)?;
        let (time, rest) = number::<8>(rest)?;
        let (count, _) = number::<4>(rest)?;
        Some(RecordHead {
            first: u64::from_le_bytes(first),
            time: u64::from_le_bytes(time),
            count: u32::from_le_bytes(count),
        })
    }

    /// The number behind its last.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.count.into())
    }

    /// Whether a record of this length behind its prefix may begin so.
    pub(super) fn fits(&self, length: usize) -> bool {
        let samples = (self.count as usize).saturating_mul(LENGTH);
        self.count > 0 && samples.saturating_add(FIXED) <= length
    }
}

/// A record for this place of the file.
pub(super) fn record(
    id: LogId,
    offset: u64,
    head: RecordHead,
    samples: &[impl AsRef<[u8]>],
) -> Vec<u8> {
    let mut bytes = vec![0; PREFIX];
    bytes.extend_from_slice(&head.first.to_le_bytes());
    bytes.extend_from_slice(&head.time.to_le_bytes());
    bytes.extend_from_slice(&head.count.to_le_bytes());
    for sample in samples {
        put(&mut bytes, sample.as_ref());
    }
    let prefix = prefix(id, offset, &bytes[PREFIX..]);
    bytes[..PREFIX].copy_from_slice(&prefix);
    bytes
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend_from_slice(&(field.len() as u32).to_le_bytes());
    bytes.extend_from_slice(field);
}

fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number::<LENGTH>(bytes)?;
    rest.split_at_checked(u32::from_le_bytes(length) as usize)
}

/// The samples of a record; none: it has more or fewer than it says.
fn samples(body: &[u8]) -> Option<Vec<&[u8]>> {
    let head = RecordHead::of(body)?;
    let (mut rest, mut samples) = (&body[FIXED..], Vec::new());
    for _ in 0..head.count {
        let (sample, others) = field(rest)?;
        samples.push(sample);
        rest = others;
    }
    rest.is_empty().then_some(samples)
}

/// The head and the samples of a record that is to begin with this number; none: it does not.
pub(super) fn numbered(body: &[u8], first: u64) -> Option<(RecordHead, Vec<&[u8]>)> {
    let head = RecordHead::of(body)?;
    let is_it = head.first == first && head.count > 0;
    is_it
        .then(|| samples(body))
        .flatten()
        .map(|samples| (head, samples))
}

/// What the file begins with: the log's id, and its topic.
pub(super) fn file_head(id: LogId, key: &str, type_name: &str) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    put(&mut body, key.as_bytes());
    put(&mut body, type_name.as_bytes());
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&prefix(0, MAGIC.len() as u64, &body));
    bytes.extend_from_slice(&body);
    bytes
}

/// The id, the key and the type that the head of a file names.
pub(super) fn topic_of(body: &[u8]) -> Option<(LogId, String, String)> {
    let (id, rest) = number::<16>(body)?;
    let (key, rest) = field(rest)?;
    let (type_name, _) = field(rest)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((LogId::from_le_bytes(id), text(key), text(type_name)))
}
