//! What ranks have brought to a collective, combined as far as they are the halves of a branch.

use crate::Value;
use crate::fabric::RankSpan;

/// What neighbouring ranks have brought, combined.
pub(super) struct Run<V> {
    pub(super) first: u32,
    pub(super) ranks: u32,
    pub(super) value: V,
}

/// In the order of ranks; no two runs are neighbours.
pub(super) enum WatchedRuns<V> {
    /// As most often. Small: it goes from cell to cell without an allocation.
    One(Run<V>),
    Several(Vec<Run<V>>),
}

impl<V: Value> WatchedRuns<V> {
    /// What one rank has brought.
    #[inline]
    pub(super) fn one(rank: usize, value: V) -> Self {
        let RankSpan { first, ranks } = RankSpan::of(rank);
        WatchedRuns::One(Run {
            first,
            ranks,
            value,
        })
    }

    pub(super) fn into_vec(self) -> Vec<Run<V>> {
        match self {
            WatchedRuns::One(run) => vec![run],
            WatchedRuns::Several(runs) => runs,
        }
    }

    /// The value of all these ranks, if they are all neighbours.
    pub(super) fn whole(self) -> Option<V> {
        match self {
            WatchedRuns::One(run) => Some(run.value),
            WatchedRuns::Several(_) => None,
        }
    }

    /// These and those, neighbours combined from the left.
    #[inline]
    pub(super) fn join(
        self,
        other: WatchedRuns<V>,
        all: u32,
        combine: &dyn Fn(V, V) -> V,
    ) -> WatchedRuns<V> {
        match (self, other) {
            (WatchedRuns::One(one), WatchedRuns::One(other)) => {
                let (left, right) = match one.first < other.first {
                    true => (one, other),
                    false => (other, one),
                };
                match left.join(right, all, combine) {
                    Ok(run) => WatchedRuns::One(run),
                    Err(apart) => WatchedRuns::Several(apart.into()),
                }
            }
            (one, other) => one.join_several(other, all, combine),
        }
    }

    fn join_several(
        self,
        other: WatchedRuns<V>,
        all: u32,
        combine: &dyn Fn(V, V) -> V,
    ) -> WatchedRuns<V> {
        let mut runs = self.into_vec();
        runs.append(&mut other.into_vec());
        runs.sort_unstable_by_key(|run| run.first);
        let mut joined: Vec<Run<V>> = Vec::new();
        for mut run in runs {
            while let Some(last) = joined.pop() {
                match last.join(run, all, combine) {
                    Ok(both) => run = both,
                    Err([last, next]) => {
                        joined.push(last);
                        run = next;
                        break;
                    }
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

impl<V> Run<V> {
    /// This and the one behind it, if they are the halves of a branch of `all` ranks; otherwise
    /// both.
    #[inline]
    fn join(
        self,
        next: Run<V>,
        all: u32,
        combine: &dyn Fn(V, V) -> V,
    ) -> Result<Run<V>, [Run<V>; 2]> {
        match self.span().join(next.span(), all) {
            None => Err([self, next]),
            Some(RankSpan { first, ranks }) => Ok(Run {
                first,
                ranks,
                value: combine(self.value, next.value),
            }),
        }
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
            value: text.to_owned(),
        };
        let join = |a: String, b: String| a + &b;
        let (one, other) = (
            WatchedRuns::Several(vec![run(0, "ab"), run(5, "f")]),
            WatchedRuns::Several(vec![run(2, "c"), run(4, "e")]),
        );
        let apart = one.join(other, 7, &join).into_vec();
        let texts: Vec<&str> = apart.iter().map(|run| run.value.as_str()).collect();
        // Neighbours that are not the halves of a branch wait for their other half.
        assert_eq!(texts, ["ab", "c", "ef"]);
        let all = WatchedRuns::one(3, "d".to_owned()).join(WatchedRuns::Several(apart), 7, &join);
        let all = all.join(WatchedRuns::one(6, "g".to_owned()), 7, &join);
        assert_eq!(all.whole().as_deref(), Some("abcdefg"));
        let [low, high] = [0, 2].map(|rank| WatchedRuns::one(rank, rank.to_string()));
        assert!(high.join(low, 3, &join).whole().is_none());
    }
}
