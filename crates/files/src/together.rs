//! Small pieces of many ranks, put together before they go to the system: two phases (MPI-3.1,
//! 13.4; R. Thakur, W. Gropp, E. Lusk: Data Sieving and Collective I/O in ROMIO, 1999).
//!
//! ```text
//!  rank 0: a.c.  rank 1: .b.d  ─ exchange ─►  rank 0: ab  rank 1: cd  ─ a call each ─►  abcd
//! ```
//!
//! The part of the file that is accessed is cut into as many domains as there are ranks. Who has
//! something in a domain gives it to the rank of the domain. That rank sorts it and goes to the
//! system once for all that lies in a row.

use crate::{FileError, at};
use motet_comm::Communicator;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Pieces that are shorter on average, in bytes, are put together.
const SMALL: u64 = 16 * 1024;
/// Domains begin at multiples of so many bytes, and with an element.
const PAGE: u64 = 4096;
/// So many bytes that nobody wants are read to go to the system once.
const GAP: u64 = 16 * 1024;

/// How the part of a file that all ranks access is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Domains {
    first: u64,
    each: u64,
}

/// What a rank accesses: the bytes of a piece in the file, one after the other in its memory.
pub(crate) type Pieces = [Range<u64>];

impl Domains {
    /// How all ranks cut, if that is worth it: all of them give what they access, in elements of so
    /// many bytes.
    pub(crate) async fn of(
        comm: &Communicator,
        pieces: &Pieces,
        element: usize,
    ) -> Result<Option<Domains>, FileError> {
        let bytes: u64 = pieces.iter().map(|piece| piece.end - piece.start).sum();
        let first = pieces.first().map_or(u64::MAX, |piece| piece.start);
        let last = pieces.last().map_or(0, |piece| piece.end);
        let mine = (bytes, pieces.len() as u64, first, last);
        let all = comm.allreduce(mine, |a, b| {
            (a.0 + b.0, a.1 + b.1, a.2.min(b.2), a.3.max(b.3))
        });
        let (bytes, count, first, last) = all.await?;
        if comm.size() == 1 || count == 0 || bytes / count >= SMALL {
            return Ok(None);
        }
        Ok(Some(Domains::over(first..last, comm.size(), element)))
    }

    /// For so many ranks. No element is in two: of one that several ranks write, one rank's is
    /// there, whole.
    fn over(all: Range<u64>, ranks: usize, element: usize) -> Domains {
        let (element, pages) = (element.max(1) as u64, PAGE.trailing_zeros());
        // The least common multiple of both.
        let unit = element << (pages - element.trailing_zeros().min(pages));
        let first = all.start / unit * unit;
        let each = (all.end - first).div_ceil(ranks as u64);
        let each = each.div_ceil(unit) * unit;
        Domains { first, each }
    }

    /// Cuts pieces where domains end; each with the rank of its domain.
    fn cut(self, pieces: &Pieces) -> impl Iterator<Item = (usize, Range<u64>)> {
        pieces.iter().flat_map(move |piece| {
            let mut left = piece.clone();
            std::iter::from_fn(move || {
                if left.is_empty() {
                    return None;
                }
                let domain = (left.start - self.first) / self.each;
                let end = self.first + (domain + 1) * self.each;
                let part = left.start..left.end.min(end);
                left.start = part.end;
                Some((domain as usize, part))
            })
        })
    }
}

/// Writes the pieces of all ranks, whose bytes are `bytes`.
pub(crate) async fn write(
    comm: &Communicator,
    (file, domains): (&File, Domains),
    pieces: &Pieces,
    bytes: &[u8],
) -> Result<io::Result<()>, FileError> {
    let mut boxes = vec![Vec::new(); comm.size()];
    let mut rest = bytes;
    for (rank, part) in domains.cut(pieces) {
        let (these, others) = rest.split_at((part.end - part.start) as usize);
        put_range(&mut boxes[rank], &part);
        boxes[rank].extend_from_slice(these);
        rest = others;
    }
    let (came, _) = exchange(comm, &boxes).await?;
    drop(boxes);
    let mut parts = Vec::new();
    let mut left = &came[..];
    while let Some((part, behind)) = take_range(left) {
        let (these, others) = behind.split_at((part.end - part.start) as usize);
        parts.push((part, these));
        left = others;
    }
    // Of two that begin at one place the higher rank's is written last.
    parts.sort_by_key(|(part, _)| part.start);
    Ok(write_runs(file, &parts))
}

/// Writes parts, in order, with one call for what lies in a row.
fn write_runs(file: &File, parts: &[(Range<u64>, &[u8])]) -> io::Result<()> {
    let mut run = Vec::new();
    for in_a_row in parts.chunk_by(|(one, _), (next, _)| one.end == next.start) {
        let at = in_a_row[0].0.start;
        if let [(_, bytes)] = in_a_row {
            at::write(file, bytes, at)?;
            continue;
        }
        run.clear();
        in_a_row
            .iter()
            .for_each(|(_, bytes)| run.extend_from_slice(bytes));
        at::write(file, &run, at)?;
    }
    Ok(())
}

/// Reads the pieces of all ranks; their bytes are put into `room`.
pub(crate) async fn read(
    comm: &Communicator,
    (file, domains): (&File, Domains),
    pieces: &Pieces,
    room: &mut [u8],
) -> Result<io::Result<()>, FileError> {
    let mut wishes = vec![Vec::new(); comm.size()];
    for (rank, part) in domains.cut(pieces) {
        put_range(&mut wishes[rank], &part);
    }
    let (came, counts) = exchange(comm, &wishes).await?;
    let mut wanted = Vec::new();
    let mut left = &came[..];
    while let Some((part, behind)) = take_range(left) {
        wanted.push(part);
        left = behind;
    }
    let read = read_parts(file, &wanted);
    let failed = read
        .as_ref()
        .err()
        .map(|error| (error.kind(), error.to_string()));
    // Who could not read sends nothings: all must go on to know that.
    let mut parts = read.unwrap_or_else(|_| {
        let lengths = wanted.iter().map(|part| part.end - part.start);
        lengths.map(|length| vec![0; length as usize]).collect()
    });
    parts.reverse();
    let mut boxes = vec![Vec::new(); comm.size()];
    for (rank, count) in counts.into_iter().enumerate() {
        for _ in 0..count / RANGE {
            boxes[rank].extend_from_slice(&parts.pop().unwrap_or_default());
        }
    }
    let (came, counts) = exchange(comm, &boxes).await?;
    let mut starts: Vec<usize> = counts
        .iter()
        .scan(0, |end, count| Some(std::mem::replace(end, *end + count)))
        .collect();
    let mut rest = room;
    for (rank, part) in domains.cut(pieces) {
        let length = (part.end - part.start) as usize;
        let (these, others) = rest.split_at_mut(length);
        these.copy_from_slice(&came[starts[rank]..][..length]);
        starts[rank] += length;
        rest = others;
    }
    Ok(failed.map_or(Ok(()), |(kind, told)| Err(io::Error::new(kind, told))))
}

/// The bytes of these parts, in their order, with few calls.
fn read_parts(file: &File, wanted: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_unstable_by_key(|&at| wanted[at].start);
    let (mut parts, mut run) = (vec![Vec::new(); wanted.len()], Vec::new());
    let near = |&one: &usize, &next: &usize| wanted[next].start <= wanted[one].end + GAP;
    for together in order.chunk_by(near) {
        let start = wanted[together[0]].start;
        let end = together.iter().map(|&at| wanted[at].end).max();
        run.resize((end.unwrap_or(start) - start) as usize, 0);
        at::read(file, &mut run, start)?;
        for &at in together {
            let from = (wanted[at].start - start) as usize;
            let length = (wanted[at].end - wanted[at].start) as usize;
            parts[at] = run[from..][..length].to_vec();
        }
    }
    Ok(parts)
}

/// Gives each rank its box; what came, one behind the other, and how much from each.
async fn exchange(
    comm: &Communicator,
    boxes: &[Vec<u8>],
) -> Result<(Vec<u8>, Vec<usize>), FileError> {
    let lengths: Vec<usize> = boxes.iter().map(Vec::len).collect();
    let mut counts = vec![0; lengths.len()];
    comm.alltoall_into(&lengths, &mut counts).await?;
    let mut came = vec![0; counts.iter().sum()];
    comm.alltoallv_into(&boxes.concat(), &lengths, &mut came)
        .await?;
    Ok((came, counts))
}

/// Bytes of a range in a box.
const RANGE: usize = 16;

fn put_range(to: &mut Vec<u8>, range: &Range<u64>) {
    to.extend_from_slice(&range.start.to_le_bytes());
    to.extend_from_slice(&range.end.to_le_bytes());
}

fn take_range(from: &[u8]) -> Option<(Range<u64>, &[u8])> {
    let (start, behind) = from.split_first_chunk::<8>()?;
    let (end, behind) = behind.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*start)..u64::from_le_bytes(*end), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g356_no_element_is_cut_where_a_domain_ends() {
        for element in [1_u64, 3, 8, 24, 4096, 5000] {
            let all = 7 * element..100_000 * element;
            let domains = Domains::over(all.clone(), 5, element as usize);
            let parts: Vec<_> = domains.cut(std::slice::from_ref(&all)).collect();
            let mut end = all.start;
            for (at, (rank, part)) in parts.iter().enumerate() {
                assert_eq!((*rank, part.start), (at, end), "of {element}");
                assert_eq!(part.start % element, 0, "of {element}");
                end = part.end;
            }
            assert_eq!(end, all.end);
            assert!(parts.len() <= 5);
        }
    }
}
