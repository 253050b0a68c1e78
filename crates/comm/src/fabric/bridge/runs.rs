//! What ranks have brought to a meeting, combined as far as they are neighbours.

use crate::Value;

/// What neighbouring ranks have brought, combined.
pub(super) struct Run<V> {
    pub(super) first: u32,
    pub(super) ranks: u32,
    pub(super) value: V,
}

/// In the order of ranks; no two runs are neighbours.
pub(super) enum Runs<V> {
    /// As most often. Small: it goes from cell to cell without an allocation.
    One(Run<V>),
    Several(Vec<Run<V>>),
}

impl<V: Value> Runs<V> {
    /// What one rank has brought.
    #[inline]
    pub(super) fn one(rank: usize, value: V) -> Self {
        let first = u32::try_from(rank).expect("there are fewer than 2^32 ranks");
        Runs::One(Run {
            first,
            ranks: 1,
            value,
        })
    }

    pub(super) fn into_vec(self) -> Vec<Run<V>> {
        match self {
            Runs::One(run) => vec![run],
            Runs::Several(runs) => runs,
        }
    }

    /// The value of all these ranks, if they are all neighbours.
    pub(super) fn whole(self) -> Option<V> {
        match self {
            Runs::One(run) => Some(run.value),
            Runs::Several(_) => None,
        }
    }

    /// These and those, neighbours combined from the left.
    #[inline]
    pub(super) fn join(self, other: Runs<V>, combine: &impl Fn(V, V) -> V) -> Runs<V> {
        match (self, other) {
            (Runs::One(one), Runs::One(other)) => {
                let (left, right) = match one.first < other.first {
                    true => (one, other),
                    false => (other, one),
                };
                match left.join(right, combine) {
                    Ok(run) => Runs::One(run),
                    Err(apart) => Runs::Several(apart.into()),
                }
            }
            (one, other) => one.join_several(other, combine),
        }
    }

    fn join_several(self, other: Runs<V>, combine: &impl Fn(V, V) -> V) -> Runs<V> {
        let mut all = self.into_vec();
        all.append(&mut other.into_vec());
        all.sort_unstable_by_key(|run| run.first);
        let mut joined: Vec<Run<V>> = Vec::new();
        for run in all {
            match joined.pop() {
                None => joined.push(run),
                Some(last) => match last.join(run, combine) {
                    Ok(run) => joined.push(run),
                    Err(apart) => joined.extend(apart),
                },
            }
        }
        match joined.pop() {
            Some(run) if joined.is_empty() => Runs::One(run),
            last => {
                joined.extend(last);
                Runs::Several(joined)
            }
        }
    }
}

impl<V> Run<V> {
    /// This and the one behind it, if they are neighbours.
    #[inline]
    fn join(self, next: Run<V>, combine: &impl Fn(V, V) -> V) -> Result<Run<V>, [Run<V>; 2]> {
        if self.first + self.ranks != next.first {
            return Err([self, next]);
        }
        Ok(Run {
            first: self.first,
            ranks: self.ranks + next.ranks,
            value: combine(self.value, next.value),
        })
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
            Runs::Several(vec![run(0, "ab"), run(5, "f")]),
            Runs::Several(vec![run(2, "c"), run(4, "e")]),
        );
        let apart = one.join(other, &join).into_vec();
        let texts: Vec<&str> = apart.iter().map(|run| run.value.as_str()).collect();
        assert_eq!(texts, ["abc", "ef"]);
        let all = Runs::one(3, "d".to_owned()).join(Runs::Several(apart), &join);
        assert_eq!(all.whole().as_deref(), Some("abcdef"));
        let [low, high] = [0, 2].map(|rank| Runs::one(rank, rank.to_string()));
        assert!(high.join(low, &join).whole().is_none());
    }
}
