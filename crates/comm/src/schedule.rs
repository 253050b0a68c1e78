//! Which numbers a rank sends to which, and gets from which, in a collective of long slices. They
//! are as many as the operation needs, and no more.
//!
//! | operation | what goes | elements that a rank sends, of `n` and `p` ranks |
//! |---|---|---|
//! | all to all | each part to its rank | `n - n/p` |
//! | allgather | the own numbers to each rank | `n * (p - 1)` |
//! | broadcast | a share to each other rank, which passes it on | the root `n`, others less than `n` |
//! | gather, scatter | the own numbers to the root; the root's parts to their ranks | `n`; the root `n - n/p` |
//! | reduce to all | each share to the rank that combines it, then its totals to all | `2 * (n - n/p)` |
//! | … to one | the same, then its totals to the root | `n` |
//! | … and scatter | each part to its rank | `n - n/p` |
//!
//! The peers of rank `r` are `r + 1`, `r + 2` …, round: in each turn every rank sends to one and
//! gets from another. (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective
//! communication operations in MPICH, 2005.)

use std::ops::Range;

/// What one rank does.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExchangeSchedule {
    pub(crate) sends: Vec<SendStep>,
    pub(crate) receives: Vec<ReceiveStep>,
    /// Where the share lies in the room that this rank combines, or gets to pass it on.
    pub(crate) made: Range<usize>,
    /// Where it lies in the own numbers, if it is combined.
    pub(crate) own: Range<usize>,
    /// Which of the own numbers stay here, and where in the room they begin.
    pub(crate) kept: Option<(Range<usize>, usize)>,
    /// So many ranks' numbers are combined here; none, if there is nothing to combine.
    pub(crate) rows: usize,
    /// So many elements are needed as room.
    pub(crate) room: usize,
}

/// Elements for another rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SendStep {
    pub(crate) peer: usize,
    pub(crate) from: SendFrom,
    pub(crate) place: Range<usize>,
}

/// Where they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendFrom {
    /// In the own numbers.
    Numbers,
    /// In the room, from the beginning.
    Room,
    /// In the room, as far as they are [made](ExchangeSchedule::made).
    Made,
}

/// Elements from another rank. Those of one rank come in the order in which they are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceiveStep {
    pub(crate) peer: usize,
    /// They are the peer's row of what is combined; otherwise they belong into the room.
    pub(crate) is_row: bool,
    pub(crate) place: Range<usize>,
    /// What comes from the same rank before.
    pub(crate) after: Option<usize>,
}

/// Shares begin at such multiples of elements.
const STEP: usize = 64;

impl ExchangeSchedule {
    /// Each rank gets a part of the numbers of each other.
    pub(crate) fn alltoall(
        (own, size): (usize, usize),
        gives: impl Fn(usize) -> Range<usize>,
        comes: impl Fn(usize) -> Range<usize>,
    ) -> Self {
        ExchangeSchedule {
            sends: sends(own, size, SendFrom::Numbers, &gives),
            receives: receives(own, size, false, &comes),
            kept: Some((gives(own), comes(own).start)),
            room: comes(size - 1).end,
            ..ExchangeSchedule::default()
        }
    }

    /// Every rank gets `each` numbers of all.
    pub(crate) fn allgather(rank: (usize, usize), each: usize) -> Self {
        ExchangeSchedule::alltoall(rank, |_| 0..each, |peer| peer * each..(peer + 1) * each)
    }

    /// Every rank gets the root's room: a share each, which the other ranks send each other.
    pub(crate) fn broadcast((own, size): (usize, usize), root: usize, length: usize) -> Self {
        let of = |rank: usize| share((rank + size - root - 1) % size, size - 1, length);
        if own == root {
            return ExchangeSchedule {
                sends: sends(own, size, SendFrom::Room, of),
                room: length,
                ..ExchangeSchedule::default()
            };
        }
        let (mut sends, mut receives) = (
            sends(own, size, SendFrom::Made, |_| of(own)),
            receives(own, size, false, of),
        );
        sends.retain(|send| send.peer != root);
        receives
            .iter_mut()
            .filter(|receive| receive.peer == root)
            .for_each(|receive| receive.place = of(own));
        ExchangeSchedule {
            sends,
            receives,
            made: of(own),
            room: length,
            ..ExchangeSchedule::default()
        }
    }

    /// Every rank gets the totals: each combines a share of the places, and sends its totals to
    /// all.
    pub(crate) fn allreduce((own, size): (usize, usize), length: usize) -> Self {
        let of = |rank: usize| share(rank, size, length);
        let mut all = ExchangeSchedule {
            sends: sends(own, size, SendFrom::Numbers, of),
            receives: receives(own, size, true, |_| of(own)),
            made: of(own),
            own: of(own),
            rows: size,
            room: length,
            ..ExchangeSchedule::default()
        };
        all.sends
            .extend(sends(own, size, SendFrom::Made, |_| of(own)));
        let first = all.receives.len();
        all.receives.extend(receives(own, size, false, of));
        for place in first..all.receives.len() {
            all.receives[place].after = Some(place - first);
        }
        all
    }
}

impl ExchangeSchedule {
    /// The root gets `each` numbers of all.
    pub(crate) fn gather((own, size): (usize, usize), root: usize, each: usize) -> Self {
        let gives = |to| if to == root { 0..each } else { 0..0 };
        let comes = |of: usize| match own == root {
            true => of * each..(of + 1) * each,
            false => 0..0,
        };
        ExchangeSchedule::alltoall((own, size), gives, comes)
    }

    /// Every rank gets `each` of the root's numbers.
    pub(crate) fn scatter((own, size): (usize, usize), root: usize, each: usize) -> Self {
        let gives = |to: usize| match own == root {
            true => to * each..(to + 1) * each,
            false => 0..0,
        };
        let comes = |of| if of == root { 0..each } else { 0..0 };
        let mut all = ExchangeSchedule::alltoall((own, size), gives, comes);
        all.room = each;
        all
    }

    /// Every rank gets the totals of its own part of the numbers.
    pub(crate) fn reduce_scatter(
        (own, size): (usize, usize),
        part: impl Fn(usize) -> Range<usize>,
    ) -> Self {
        let length = part(own).len();
        ExchangeSchedule {
            sends: sends(own, size, SendFrom::Numbers, &part),
            receives: receives(own, size, true, |_| 0..length),
            made: 0..length,
            own: part(own),
            rows: size,
            room: length,
            ..ExchangeSchedule::default()
        }
    }

    /// The root gets the totals: each rank combines a share of the places, and the others send
    /// theirs to the root.
    pub(crate) fn reduce((own, size): (usize, usize), root: usize, length: usize) -> Self {
        let of = |rank: usize| share(rank, size, length);
        let mut all = ExchangeSchedule::reduce_scatter((own, size), of);
        if own == root {
            all = ExchangeSchedule::allreduce((own, size), length);
            all.sends.truncate(size - 1);
        } else {
            all.sends.push(SendStep {
                peer: root,
                from: SendFrom::Made,
                place: all.made.clone(),
            });
        }
        all
    }
}

/// To each other rank.
fn sends(
    own: usize,
    size: usize,
    from: SendFrom,
    place: impl Fn(usize) -> Range<usize>,
) -> Vec<SendStep> {
    let peers = (1..size).map(|turn| (own + turn) % size);
    peers
        .map(|peer| SendStep {
            peer,
            from,
            place: place(peer),
        })
        .collect()
}

/// From each other rank.
fn receives(
    own: usize,
    size: usize,
    is_row: bool,
    place: impl Fn(usize) -> Range<usize>,
) -> Vec<ReceiveStep> {
    let peers = (1..size).map(|turn| (own + size - turn) % size);
    peers
        .map(|peer| ReceiveStep {
            peer,
            is_row,
            place: place(peer),
            after: None,
        })
        .collect()
}

/// One of so many shares of so many places; the last ones may be shorter, or empty.
fn share(which: usize, shares: usize, length: usize) -> Range<usize> {
    let each = length.div_ceil(shares).next_multiple_of(STEP);
    let at = |which: usize| (which * each).min(length);
    at(which)..at(which + 1)
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The numbers of a rank, the room of a rank, and what it has got as rows.
    struct Rank {
        schedule: ExchangeSchedule,
        numbers: Vec<u64>,
        room: Vec<u64>,
        rows: Vec<Option<Vec<u64>>>,
        sent: usize,
        got: usize,
        done: Vec<bool>,
    }

    impl Rank {
        fn new(own: usize, schedule: ExchangeSchedule, numbers: Vec<u64>, room: Vec<u64>) -> Self {
            let mut rows = vec![None; schedule.rows];
            let mut room = room;
            if let Some(row) = rows.get_mut(own) {
                *row = Some(numbers[schedule.own.clone()].to_vec());
            }
            if let Some((kept, to)) = &schedule.kept {
                room[*to..][..kept.len()].copy_from_slice(&numbers[kept.clone()]);
            }
            assert_eq!(room.len(), schedule.room);
            let done = vec![false; schedule.receives.len()];
            let (sent, got) = (0, 0);
            Rank {
                schedule,
                numbers,
                room,
                rows,
                sent,
                got,
                done,
            }
        }

        /// Whether what it passes on is there.
        fn is_made(&mut self) -> bool {
            let ExchangeSchedule { rows, made, .. } = &self.schedule;
            if *rows == 0 {
                let mut receives = self.schedule.receives.iter().zip(&self.done);
                return receives.any(|(receive, done)| *done && receive.place == *made);
            }
            let Some(all) = self.rows.iter().cloned().collect::<Option<Vec<_>>>() else {
                return false;
            };
            for (place, total) in self.room[made.clone()].iter_mut().enumerate() {
                *total = all.iter().map(|row| row[place]).sum();
            }
            true
        }
    }

    /// Runs all ranks; everything that is sent comes, in the order of each pair, and nobody waits
    /// for ever.
    fn run(mut ranks: Vec<Rank>) -> Vec<Rank> {
        let size = ranks.len();
        let mut lines = vec![vec![VecDeque::<Vec<u64>>::new(); size]; size];
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for (own, rank) in ranks.iter_mut().enumerate() {
                while let Some(send) = rank.schedule.sends.get(rank.sent).cloned() {
                    let from = match send.from {
                        SendFrom::Made if !rank.is_made() => break,
                        SendFrom::Numbers => &rank.numbers,
                        SendFrom::Made | SendFrom::Room => &rank.room,
                    };
                    lines[send.peer][own].push_back(from[send.place].to_vec());
                    rank.sent += 1;
                    moved = true;
                }
                for (at, receive) in rank.schedule.receives.iter().enumerate() {
                    let first = receive.after.is_none_or(|before| rank.done[before]);
                    if rank.done[at] || !first {
                        continue;
                    }
                    let Some(came) = lines[own][receive.peer].pop_front() else {
                        continue;
                    };
                    assert_eq!(came.len(), receive.place.len(), "{receive:?}");
                    match receive.is_row {
                        true => rank.rows[receive.peer] = Some(came),
                        false => rank.room[receive.place.clone()].copy_from_slice(&came),
                    }
                    rank.done[at] = true;
                    rank.got += 1;
                    moved = true;
                }
            }
        }
        assert!(lines.iter().flatten().all(VecDeque::is_empty));
        for rank in &mut ranks {
            assert!(rank.schedule.rows == 0 || rank.is_made());
            assert_eq!(rank.sent, rank.schedule.sends.len());
            assert_eq!(rank.got, rank.schedule.receives.len());
        }
        ranks
    }

    fn volume(schedule: &ExchangeSchedule) -> usize {
        schedule.sends.iter().map(|send| send.place.len()).sum()
    }

    const LENGTHS: [usize; 5] = [1, 63, 64, 1000, 4096];

    #[test]
    fn all_to_all_sends_each_part_once() {
        for size in 2..=17 {
            for each in [0, 1, 64, 129] {
                let of = |from: usize, to: usize| vec![(from * 100 + to) as u64; each];
                let part = |peer: usize| peer * each..(peer + 1) * each;
                let ranks = (0..size).map(|own| {
                    let numbers: Vec<u64> = (0..size).flat_map(|to| of(own, to)).collect();
                    let schedule = ExchangeSchedule::alltoall((own, size), part, part);
                    assert_eq!(volume(&schedule), (size - 1) * each);
                    Rank::new(own, schedule, numbers, vec![0; size * each])
                });
                for (own, rank) in run(ranks.collect()).into_iter().enumerate() {
                    let right: Vec<u64> = (0..size).flat_map(|from| of(from, own)).collect();
                    assert_eq!(rank.room, right);
                }
            }
        }
    }

    #[test]
    fn an_allgather_sends_the_own_numbers() {
        for size in 2..=17 {
            for each in LENGTHS {
                let ranks = (0..size).map(|own| {
                    let schedule = ExchangeSchedule::allgather((own, size), each);
                    assert_eq!(volume(&schedule), (size - 1) * each);
                    Rank::new(own, schedule, vec![own as u64; each], vec![99; size * each])
                });
                let right: Vec<u64> = (0..size).flat_map(|of| vec![of as u64; each]).collect();
                assert!(run(ranks.collect()).iter().all(|rank| rank.room == right));
            }
        }
    }

    #[test]
    fn a_broadcast_sends_no_rank_more_than_once() {
        for size in 2..=17 {
            for (root, length) in (0..size).flat_map(|root| LENGTHS.map(|length| (root, length))) {
                let ranks = (0..size).map(|own| {
                    let schedule = ExchangeSchedule::broadcast((own, size), root, length);
                    // The root sends everything once; who passes a share on rounds it up.
                    let most = length + STEP * size;
                    assert!(volume(&schedule) <= if own == root { length } else { most });
                    let come = schedule.receives.iter().map(|receive| receive.place.len());
                    assert_eq!(come.sum::<usize>(), if own == root { 0 } else { length });
                    let is_root = u64::from(own == root);
                    let room = (0..length as u64).map(|place| is_root * (place + 1));
                    Rank::new(own, schedule, vec![], room.collect())
                });
                let right: Vec<u64> = (0..length as u64).map(|place| place + 1).collect();
                assert!(run(ranks.collect()).iter().all(|rank| rank.room == right));
            }
        }
    }

    #[test]
    fn a_reduction_sends_each_place_twice() {
        for size in 2..=17 {
            for length in LENGTHS {
                let ranks = (0..size).map(|own| {
                    let schedule = ExchangeSchedule::allreduce((own, size), length);
                    assert!(volume(&schedule) <= 2 * length + STEP * size);
                    let numbers = (0..length).map(|place| ((own + 1) * (place + 3)) as u64);
                    Rank::new(own, schedule, numbers.collect(), vec![0; length])
                });
                let all = size * (size + 1) / 2;
                let right: Vec<u64> = (0..length).map(|i| (all * (i + 3)) as u64).collect();
                assert!(run(ranks.collect()).iter().all(|rank| rank.room == right));
            }
        }
    }

    #[test]
    fn a_gather_and_a_scatter_send_each_part_once() {
        for size in 2..=17 {
            for (root, each) in (0..size).flat_map(|root| [0, 1, 129].map(|each| (root, each))) {
                let of = |rank: usize| vec![rank as u64 + 7; each];
                let all: Vec<u64> = (0..size).flat_map(of).collect();
                let ranks = (0..size).map(|own| {
                    let schedule = ExchangeSchedule::gather((own, size), root, each);
                    let room = if own == root { size * each } else { 0 };
                    assert_eq!(volume(&schedule), if own == root { 0 } else { each });
                    Rank::new(own, schedule, of(own), vec![0; room])
                });
                assert_eq!(run(ranks.collect())[root].room, all);
                let ranks = (0..size).map(|own| {
                    let schedule = ExchangeSchedule::scatter((own, size), root, each);
                    let numbers = if own == root { all.clone() } else { vec![] };
                    let most = if own == root { (size - 1) * each } else { 0 };
                    assert_eq!(volume(&schedule), most);
                    Rank::new(own, schedule, numbers, vec![0; each])
                });
                for (own, rank) in run(ranks.collect()).into_iter().enumerate() {
                    assert_eq!(rank.room, of(own));
                }
            }
        }
    }

    #[test]
    fn a_reduction_to_one_or_to_parts_sends_each_place_once() {
        for size in 2..=17 {
            for length in LENGTHS {
                let numbers = |own: usize| -> Vec<u64> {
                    let all = 0..length;
                    all.map(|place| ((own + 1) * (place + 3)) as u64).collect()
                };
                let all = size * (size + 1) / 2;
                let right: Vec<u64> = (0..length).map(|i| (all * (i + 3)) as u64).collect();
                // The last ranks get less, or nothing.
                let part = |rank: usize| share(rank, size, length);
                let ranks = (0..size).map(|own| {
                    let schedule = ExchangeSchedule::reduce_scatter((own, size), part);
                    assert!(volume(&schedule) <= length);
                    Rank::new(own, schedule, numbers(own), vec![0; part(own).len()])
                });
                for (own, rank) in run(ranks.collect()).into_iter().enumerate() {
                    assert_eq!(rank.room, right[part(own)]);
                }
                for root in [0, size - 1] {
                    let ranks = (0..size).map(|own| {
                        let schedule = ExchangeSchedule::reduce((own, size), root, length);
                        assert!(volume(&schedule) <= length);
                        let room = vec![0; schedule.room];
                        Rank::new(own, schedule, numbers(own), room)
                    });
                    assert_eq!(run(ranks.collect())[root].room, right);
                }
            }
        }
    }
}
