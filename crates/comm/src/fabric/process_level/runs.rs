//! What ranks have brought to a collective, combined as far as they are the halves of a branch.

use crate::fabric::RankSpan;
use crate::fabric::any_cell::AnyCell;

/// What neighbouring ranks have brought, combined.
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) ranks: u32,
    pub(super) value: AnyCell,
}

/// Combines two neighbours' values into the first, the lower rank's.
pub(super) type Combine<'a> = &'a dyn Fn(&mut AnyCell, &mut AnyCell);

/// In the order of ranks; no two runs are neighbours.
pub(super) enum WatchedRuns {
    /// As most often: without an allocation.
    One(Run),
    Several(Vec<Run>),
}

impl WatchedRuns {
    /// What one rank has brought.
    #[inline]
    pub(super) fn one(rank: usize, value: AnyCell) -> Self {
        let RankSpan { first, ranks } = RankSpan::of(rank);
        WatchedRuns::One(Run {
            first,
            ranks,
            value,
        })
    }

    pub(super) fn into_vec(self) -> Vec<Run> {
        match self {
            WatchedRuns::One(run) => vec![run],
            WatchedRuns::Several(runs) => runs,
        }
    }

    /// The value of all these ranks, if they are all neighbours.
    pub(super) fn whole(self) -> Option<AnyCell> {
        match self {
            WatchedRuns::One(run) => Some(run.value),
            WatchedRuns::Several(_) => None,
        }
    }

    /// These and those, neighbours combined from the left.
    pub(super) fn join(self, other: WatchedRuns, all: u32, combine: Combine<'_>) -> WatchedRuns {
        match (self, other) {
            (WatchedRuns::One(one), WatchedRuns::One(other)) => {
                let (mut left, mut right) = match one.first < other.first {
                    true => (one, other),
                    false => (other, one),
                };
                match left.takes(&mut right, all, combine) {
                    true => WatchedRuns::One(left),
                    false => WatchedRuns::Several(vec![left, right]),
                }
            }
            (one, other) => one.join_several(other, all, combine),
        }
    }

    fn join_several(self, other: WatchedRuns, all: u32, combine: Combine<'_>) -> WatchedRuns {
        let mut runs = self.into_vec();
        runs.append(&mut other.into_vec());
        runs.sort_unstable_by_key(|run| run.first);
        let mut joined: Vec<Run> = Vec::new();
        for mut run in runs {
            while let Some(mut last) = joined.pop() {
                if last.takes(&mut run, all, combine) {
                    run = last;
                } else {
                    joined.push(last);
                    break;
                }
            }
            joined.push(run);
        }
        match joined.pop() {
            Some(run) if joined.is_empty() => WatchedRuns::One(run),
            last => {
                joined.extend(last);
                WatchedRuns::Several(joined)
            }
        }
    }
}

impl Run {
    /// Takes in the one behind it, if they are the halves of a branch of `all` ranks; whether they
    /// are.
    #[inline]
    fn takes(&mut self, next: &mut Run, all: u32, combine: Combine<'_>) -> bool {
        let Some(RankSpan { first, ranks }) = self.span().join(next.span(), all) else {
            return false;
        };
        combine(&mut self.value, &mut next.value);
        (self.first, self.ranks) = (first, ranks);
        true
    }

    #[inline]
    fn span(&self) -> RankSpan {
        let Run { first, ranks, .. } = *self;
        RankSpan { first, ranks }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_in_the_order_of_ranks() {
        let run = |first: u32, text: &str| Run {
            first,
            ranks: text.len() as u32,
            value: AnyCell::with(text.to_owned()),
        };
        let join = |left: &mut AnyCell, right: &mut AnyCell| {
            let right: String = right.take().unwrap();
            *left.get_mut::<String>().unwrap() += &right;
        };
        let text = |cell: &AnyCell| cell.get::<String>().cloned();
        let one_of =
            |rank: usize, text: &str| WatchedRuns::one(rank, AnyCell::with(text.to_owned()));
        let (one, other) = (
            WatchedRuns::Several(vec![run(0, "ab"), run(5, "f")]),
            WatchedRuns::Several(vec![run(2, "c"), run(4, "e")]),
        );
        let apart = one.join(other, 7, &join).into_vec();
        let texts: Vec<String> = apart.iter().filter_map(|run| text(&run.value)).collect();
        // Neighbours that are not the halves of a branch wait for their other half.
        assert_eq!(texts, ["ab", "c", "ef"]);
        let all = one_of(3, "d").join(WatchedRuns::Several(apart), 7, &join);
        let all = all.join(one_of(6, "g"), 7, &join);
        assert_eq!(text(&all.whole().unwrap()).as_deref(), Some("abcdefg"));
        let [low, high] = [0, 2].map(|rank| one_of(rank, "a"));
        assert!(high.join(low, 3, &join).whole().is_none());
    }
}
