//! The order in which what ranks bring is combined: neighbours in pairs, then pairs of pairs.
//!
//! ```text
//! ((0 1)(2 3))((4 5) 6)        of seven ranks
//! ```
//!
//! A branch is 2ⁿ ranks from a multiple of 2ⁿ on, or as many of them as there are. It is combined
//! of its two halves. That depends on the number of ranks alone: not on who shares a thread or a
//! process, nor on who comes when. And it lets neighbours combine what they have before anybody
//! else sees it.

/// Neighbouring ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankSpan {
    pub(crate) first: u32,
    pub(crate) ranks: u32,
}

impl RankSpan {
    /// One rank.
    #[inline]
    pub(crate) fn of(rank: usize) -> Self {
        let first = u32::try_from(rank).expect("there are fewer than 2^32 ranks");
        RankSpan { first, ranks: 1 }
    }

    /// Both, if they are the halves of a branch of `all` ranks.
    #[inline]
    pub(crate) fn join(self, next: RankSpan, all: u32) -> Option<RankSpan> {
        let begins = self.ranks.is_power_of_two()
            && self.first.trailing_zeros() > self.ranks.trailing_zeros();
        let neighbours = self.first + self.ranks == next.first;
        let ends = next.ranks == self.ranks.min(all.saturating_sub(next.first));
        (begins && neighbours && ends).then(|| RankSpan {
            first: self.first,
            ranks: self.ranks + next.ranks,
        })
    }
}

/// Combines the values of ranks 0, 1 ….
pub(crate) fn combined<V>(mut values: Vec<V>, combine: impl Fn(V, V) -> V) -> Option<V> {
    while values.len() > 1 {
        let mut below = values.into_iter();
        let pair = || below.by_ref().take(2).reduce(&combine);
        values = std::iter::from_fn(pair).collect();
    }
    values.pop()
}

/// Places that are combined at a time: what has been made of them stays in the nearest cache.
pub(crate) const BLOCK: usize = 512;

/// Numbers of neighbouring ranks, or what they have been combined to: the first rank, and where
/// they lie.
pub(crate) type RankRow<'a, T> = (usize, &'a [T]);

/// Combines rows of `all` ranks, place by place, in the order in which a collective combines what
/// ranks bring. So a total has the same bits whichever way it was made. `done` gets each block of
/// totals when it is in the nearest cache.
pub(crate) fn fold_rows<T: Copy>(
    rows: &[RankRow<'_, T>],
    all: usize,
    totals: &mut [T],
    op: &impl Fn(T, T) -> T,
    mut done: impl FnMut(&[T]),
) {
    let branch = (0, all.next_power_of_two());
    let depth = branch.1.trailing_zeros() as usize;
    let mut scratch = match rows {
        [] | [_] | [_, _] => Vec::new(),
        [(_, row), ..] => row[..BLOCK.min(row.len())].repeat(depth),
    };
    for (block, totals) in totals.chunks_mut(BLOCK).enumerate() {
        fold_branch(rows, branch, block * BLOCK, totals, &mut scratch, op);
        done(totals);
    }
}

/// The rows of a branch: so many ranks, or as many of them as there are, from the first on.
fn fold_branch<T: Copy>(
    rows: &[RankRow<'_, T>],
    (first, ranks): (usize, usize),
    begin: usize,
    totals: &mut [T],
    scratch: &mut [T],
    op: &impl Fn(T, T) -> T,
) {
    let place = begin..begin + totals.len();
    match rows {
        [] => {}
        [(_, one)] => totals.copy_from_slice(&one[place]),
        [(_, one), (_, other)] => {
            let pairs = one[place.clone()].iter().zip(&other[place]);
            for (total, (one, other)) in totals.iter_mut().zip(pairs) {
                *total = op(*one, *other);
            }
        }
        _ => {
            let half = ranks / 2;
            let (low, high) = rows.split_at(rows.partition_point(|row| row.0 < first + half));
            fold_branch(low, (first, half), begin, totals, scratch, op);
            if let [(_, row)] = high {
                return fold_in(totals, &row[place], op);
            }
            let (total, scratch) = scratch.split_at_mut(totals.len());
            fold_branch(high, (first + half, half), begin, total, scratch, op);
            if !high.is_empty() {
                fold_in(totals, total, op);
            }
        }
    }
}

fn fold_in<T: Copy>(totals: &mut [T], row: &[T], op: &impl Fn(T, T) -> T) {
    for (total, number) in totals.iter_mut().zip(row) {
        *total = op(*total, *number);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_combined_and_then_pairs_of_pairs() {
        let text = |ranks: u32| {
            let ranks = (0..ranks).map(|rank| rank.to_string()).collect();
            combined(ranks, |a: String, b| format!("({a} {b})"))
        };
        assert_eq!(text(0), None);
        assert_eq!(text(1).unwrap(), "0");
        assert_eq!(text(7).unwrap(), "(((0 1) (2 3)) ((4 5) 6))");
        assert_eq!(text(5).unwrap(), "(((0 1) (2 3)) 4)");
    }

    /// Whichever halves come together first, it is the same tree.
    #[test]
    fn spans_join_as_pairs_do() {
        for all in 1..40 {
            let mut texts: Vec<(RankSpan, String)> = (0..all)
                .map(|rank| (RankSpan::of(rank), rank.to_string()))
                .collect();
            let expected = combined(
                texts.iter().map(|(_, text)| text.clone()).collect(),
                |a, b| format!("({a} {b})"),
            );
            let mut turn = 7 * all;
            while texts.len() > 1 {
                turn = (turn * 31 + 11) % 1009;
                let at = turn % (texts.len() - 1);
                let joined = texts[at].0.join(texts[at + 1].0, all as u32);
                if let Some(span) = joined {
                    let (_, next) = texts.remove(at + 1);
                    let text = format!("({} {next})", texts[at].1);
                    texts[at] = (span, text);
                }
            }
            assert_eq!(texts.pop().map(|(_, text)| text), expected);
        }
    }

    #[test]
    fn rows_are_bracketed_as_a_collective_does() {
        use std::cell::RefCell;
        for ranks in [1, 2, 3, 5, 8, 9, 17, 64, 65, 130] {
            // Numbers that stand for texts, so that they can be copied.
            let texts = (0..ranks).map(|rank: usize| rank.to_string());
            let texts = RefCell::new(texts.collect::<Vec<_>>());
            let expected = combined(texts.borrow().clone(), |a, b| format!("({a} {b})"));
            let op = |a: usize, b: usize| {
                let mut texts = texts.borrow_mut();
                let joined = format!("({} {})", texts[a], texts[b]);
                texts.push(joined);
                texts.len() - 1
            };
            let rows: Vec<[usize; 1]> = (0..ranks).map(|rank| [rank]).collect();
            let rows: Vec<RankRow<'_, usize>> =
                rows.iter().map(|row| &row[..]).enumerate().collect();
            let mut total = [0];
            fold_rows(&rows, ranks, &mut total, &op, |_| ());
            assert_eq!(texts.borrow().get(total[0]), expected.as_ref());
        }
    }
}
