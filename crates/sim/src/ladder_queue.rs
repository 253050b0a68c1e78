//! What waits for its time: a ladder queue (W. T. Tang, R. S. M. Goh, I. L.-J. Thng, Ladder queue:
//! an O(1) priority queue structure for large-scale discrete event simulation, 2005).
//!
//! ```text
//!  far ──► rungs, coarse to fine ──► sorted ──► the next
//!  no order  buckets of times         by all of the order
//!                                    late: a heap, for what comes before the next bucket
//! ```
//!
//! An item is put into a bucket by its time alone, and sorted with a few others when its bucket
//! comes next. A queue of few items is a heap. The order is the whole order of the items: which
//! way an item took cannot be told from outside.

use crate::event::{Time, Timed};
use std::collections::BinaryHeap;

/// So many items are kept in a heap, and a bucket of so many is sorted.
const FEW: usize = 48;
/// So many items lie in a bucket, if their times are spread evenly.
const PER_BUCKET: usize = 8;
/// A bucket of the last rung is sorted however many items it holds.
const MOST_RUNGS: usize = 8;

/// Items, the greatest first.
#[derive(Debug)]
pub(crate) struct LadderQueue<T> {
    /// The items of the bucket that was taken last; the next of them is the last.
    sorted: Vec<T>,
    /// Items that lie before the next bucket and came after `sorted` was taken.
    late: BinaryHeap<T>,
    /// `late` becomes a rung when it holds more than this.
    most_late: usize,
    /// Each divides a bucket of the one before it.
    rungs: Vec<Rung<T>>,
    /// Items at `far_from` and later.
    far: Vec<T>,
    /// No item is far if there is none.
    far_from: Option<Time>,
    len: usize,
    /// Empty buckets of rungs that are done; their memory is used again.
    spare: Vec<Vec<Vec<T>>>,
}

/// Buckets of equal width, a power of 2. The last takes all that is later.
#[derive(Debug)]
struct Rung<T> {
    start: Time,
    /// Binary logarithm of the width.
    shift: u32,
    /// The first bucket that was not taken yet.
    next: usize,
    buckets: Vec<Vec<T>>,
}

impl<T> Default for LadderQueue<T>
where
    T: Ord,
{
    fn default() -> Self {
        LadderQueue {
            sorted: Vec::new(),
            late: BinaryHeap::new(),
            most_late: FEW,
            rungs: Vec::new(),
            far: Vec::new(),
            far_from: None,
            len: 0,
            spare: Vec::new(),
        }
    }
}

impl<T: Timed> LadderQueue<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.len += 1;
        let time = item.time();
        if self.far_from.is_some_and(|from| time >= from) {
            self.far.push(item);
            return;
        }
        for rung in &mut self.rungs {
            if let Some(bucket) = rung.bucket(time) {
                bucket.push(item);
                return;
            }
        }
        self.late.push(item);
        if self.late.len() > self.most_late {
            self.spread_late();
        }
    }

    /// The next item, if its time is before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<T> {
        if self.peek()?.time() >= end {
            return None;
        }
        self.pop()
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.sorted.is_empty() && self.late.is_empty() {
            self.refill();
        }
        let next = match self.late.peek() {
            Some(late) if self.sorted.last().is_none_or(|next| late > next) => self.late.pop(),
            _ => self.sorted.pop(),
        };
        self.len -= usize::from(next.is_some());
        next
    }

    #[inline]
    pub(crate) fn peek(&mut self) -> Option<&T> {
        if self.sorted.is_empty() && self.late.is_empty() {
            self.refill();
        }
        self.late.peek().max(self.sorted.last())
    }

    /// Drops the items that are not to be kept.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.sorted.retain(&keep);
        self.late.retain(&keep);
        self.far.retain(&keep);
        let mut len = self.sorted.len() + self.late.len() + self.far.len();
        for bucket in self.rungs.iter_mut().flat_map(|rung| &mut rung.buckets) {
            bucket.retain(&keep);
            len += bucket.len();
        }
        self.len = len;
    }

    /// All items, in no order.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let buckets = self.rungs.into_iter().flat_map(|rung| rung.buckets);
        let near = self.sorted.into_iter().chain(self.late);
        near.chain(buckets.flatten()).chain(self.far).collect()
    }

    /// Takes the next bucket into `sorted`, if there is one with items.
    #[cold]
    fn refill(&mut self) {
        self.most_late = FEW;
        loop {
            let Some(rung) = self.rungs.last_mut() else {
                // All that is left is far.
                self.far_from = None;
                std::mem::swap(&mut self.sorted, &mut self.far);
                if self.sorted.len() > FEW && self.spread() {
                    continue;
                }
                break;
            };
            let Some(bucket) = rung.take_next(std::mem::take(&mut self.sorted)) else {
                let done = self.rungs.pop();
                self.spare.extend(done.map(|rung| rung.buckets));
                continue;
            };
            self.sorted = bucket;
            let few = self.sorted.len() <= FEW || self.rungs.len() == MOST_RUNGS;
            if few || !self.spread() {
                break;
            }
        }
        self.sorted.sort_unstable();
    }

    #[cold]
    fn spread_late(&mut self) {
        if self.rungs.len() == MOST_RUNGS {
            self.most_late = usize::MAX;
            return;
        }
        let late = std::mem::take(&mut self.late);
        self.sorted.extend(late.into_vec());
        if !self.spread() {
            self.most_late = 2 * self.sorted.len();
            self.sorted.sort_unstable();
        }
    }

    /// Makes a rung of `sorted`, in whatever order its items lie; false if they have one time.
    fn spread(&mut self) -> bool {
        let times = self.sorted.iter().map(Timed::time);
        let first = times.clone().min();
        let (Some(first), Some(last)) = (first, times.max()) else {
            return false;
        };
        if first == last {
            return false;
        }
        let buckets = (self.sorted.len() / PER_BUCKET).max(2) as Time;
        // Half the width or more of what would be even, so that there are so many or more.
        let shift = ((last - first) / buckets).max(1).ilog2();
        let number = ((last - first) >> shift) as usize + 1;
        let mut rung = Rung {
            start: first,
            shift,
            next: 0,
            buckets: self.spare.pop().unwrap_or_default(),
        };
        rung.buckets.resize_with(number, Vec::new);
        for item in self.sorted.drain(..) {
            let index = ((item.time() - first) >> shift) as usize;
            rung.buckets[index].push(item);
        }
        if self.rungs.is_empty() && self.far_from.is_none() {
            self.far_from = last.checked_add(1);
        }
        self.rungs.push(rung);
        true
    }
}

impl<T> Extend<T> for LadderQueue<T>
where
    T: Timed,
{
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl<T> Rung<T> {
    /// The bucket of an item, unless it was taken already.
    #[inline]
    fn bucket(&mut self, time: Time) -> Option<&mut Vec<T>> {
        let index = (time.checked_sub(self.start)? >> self.shift) as usize;
        let index = index.min(self.buckets.len() - 1);
        match index >= self.next {
            true => Some(&mut self.buckets[index]),
            false => None,
        }
    }

    /// The items of the next bucket that has some; `empty` takes their place.
    fn take_next(&mut self, empty: Vec<T>) -> Option<Vec<T>> {
        let left = self.buckets.get_mut(self.next..)?;
        let at = left.iter().position(|bucket| !bucket.is_empty());
        self.next += at.map_or(left.len(), |at| at + 1);
        Some(std::mem::replace(&mut left[at?], empty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix;
    use std::cmp::Reverse;
    use std::collections::BTreeSet;

    impl Timed for Reverse<(Time, u64)> {
        fn time(&self) -> Time {
            self.0.0
        }
    }

    /// How the delay of the next item is chosen, by a random number.
    type Delay = fn(u64) -> Time;

    const DELAYS: [(&str, Delay); 7] = [
        ("none", |_| 0),
        ("few ticks", |random| random % 4),
        ("even", |random| random % 10_000),
        ("long tails", |random| random >> (random % 60 + 4)),
        ("near or far", |random| match random % 50 {
            0 => 1 << 40,
            _ => random % 100,
        }),
        ("never", |random| match random % 10 {
            0 => Time::MAX,
            _ => random % 1_000,
        }),
        ("steps", |random| random % 3 * 1_000_000),
    ];

    /// Holds about `size` items for so many steps, beside a tree of all.
    fn hold(delay: Delay, size: usize, steps: u64) -> [usize; 2] {
        let (mut queue, mut all) = (LadderQueue::default(), BTreeSet::new());
        let mut now = 0;
        let (mut rungs, mut most) = (0, 0);
        for step in 0..steps {
            let random = mix(step + size as u64);
            // Grows to its size, stays there, and shrinks to nothing near the end.
            let grows = match step * 3 / steps {
                0 => all.len() < size,
                1 => random.is_multiple_of(2),
                _ => random.is_multiple_of(5),
            };
            if grows {
                let time = delay(mix(random)).saturating_add(now);
                queue.push(Reverse((time, step)));
                all.insert((time, step));
            } else {
                let end = match random % 7 {
                    0 => now,
                    _ => Time::MAX,
                };
                let first = all.first().copied().filter(|&(time, _)| time < end);
                let next = queue.pop_before(end).map(|Reverse(item)| item);
                assert_eq!(next, first, "step {step}");
                if let Some(item) = first {
                    all.remove(&item);
                    now = item.0;
                }
            }
            if random.is_multiple_of(997) {
                let keep = |number: u64| !number.is_multiple_of(3);
                queue.retain(|Reverse((_, number))| keep(*number));
                all.retain(|&(_, number)| keep(number));
            }
            assert_eq!(queue.len(), all.len());
            (rungs, most) = (rungs.max(queue.rungs.len()), most.max(all.len()));
        }
        let left: BTreeSet<_> = queue
            .into_vec()
            .into_iter()
            .map(|Reverse(item)| item)
            .collect();
        assert_eq!(left, all);
        [rungs, most]
    }

    #[test]
    fn sem_g178_items_come_in_the_order_of_a_sorted_set() {
        for (name, delay) in DELAYS {
            for size in [1, 3, FEW, FEW + 1, 500, 20_000] {
                let [rungs, most] = hold(delay, size, 60_000);
                let spread = most > 2 * FEW && name != "none";
                assert_eq!(
                    rungs > 0,
                    spread,
                    "{name}, {size}: {rungs} rungs, {most} items"
                );
            }
        }
    }
}
