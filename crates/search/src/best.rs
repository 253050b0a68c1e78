//! The best node: what each rank knows of it, and what that makes needless.

use crate::Bounded;
use crate::job::NodeWork;
use crate::path::Path;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A solution, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Best<V, N> {
    /// Its value.
    pub value: V,
    /// The numbers of the children that lead from the root to it, from 0.
    pub path: Vec<u32>,
    /// The solution.
    pub node: N,
}

impl<V, N> Best<V, N> {
    /// The same solution with another value.
    pub(crate) fn map<W>(self, change: impl FnOnce(V) -> W) -> Best<W, N> {
        Best {
            value: change(self.value),
            path: self.path,
            node: self.node,
        }
    }
}

/// A value, and for [`Order::First`](crate::Order::First) where it was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KnownValue<V> {
    pub(crate) value: V,
    pub(crate) path: Option<Vec<u32>>,
}

/// Looks for the node of the greatest value.
pub(crate) struct Maximum<P: Bounded> {
    problem: P,
    /// Of several best nodes the first is wanted.
    first: bool,
    known: Option<KnownValue<P::Value>>,
    /// The best that this rank has found itself, if no other rank has found a better one.
    own: Option<Best<P::Value, P::Node>>,
    /// `own` was not told yet.
    fresh: bool,
    pruned: u64,
}

impl<P: Bounded> Maximum<P> {
    pub(crate) fn new(problem: P, first: bool) -> Self {
        Maximum {
            problem,
            first,
            known: None,
            own: None,
            fresh: false,
            pruned: 0,
        }
    }

    /// Begins a subtree before which a solution of this value was found, if one was.
    pub(crate) fn known(&mut self, known: Option<P::Value>) {
        self.known = known.map(|value| KnownValue { value, path: None });
        (self.own, self.pruned) = (None, 0);
    }

    pub(crate) fn take_own(&mut self) -> Option<Best<P::Value, P::Node>> {
        self.own.take()
    }
}

impl<P: Bounded> NodeWork for Maximum<P> {
    type Node = P::Node;
    type News = KnownValue<P::Value>;
    type Part = ();

    #[inline]
    fn visit(&mut self, node: &P::Node, path: &Path<'_, P::Node>) -> bool {
        if let Some(known) = &self.known {
            let needless = match self.problem.bound(node).cmp(&known.value) {
                Ordering::Less => true,
                Ordering::Equal => !comes_before(path, known),
                Ordering::Greater => false,
            };
            if needless {
                self.pruned += 1;
                return false;
            }
        }
        if let Some(value) = self.problem.value(node) {
            let better = self.known.as_ref().is_none_or(|known| {
                let as_good = value == known.value && comes_before(path, known);
                value > known.value || as_good
            });
            if better {
                let found = path.to_vec();
                let path = self.first.then(|| found.clone());
                self.known = Some(KnownValue { value, path });
                self.own = Some(Best {
                    value,
                    path: found,
                    node: node.clone(),
                });
                self.fresh = true;
            }
        }
        true
    }

    #[inline]
    fn children(&self, node: &P::Node, out: &mut Vec<P::Node>) {
        self.problem.children(node, out);
    }

    fn news(&mut self) -> Option<Self::News> {
        let fresh = std::mem::take(&mut self.fresh);
        self.known.clone().filter(|_| fresh)
    }

    fn hear(&mut self, news: Self::News) -> bool {
        let better = self.known.as_ref().is_none_or(|known| {
            let before = match (&news.path, &known.path) {
                (Some(new), Some(old)) => new < old,
                _ => false,
            };
            news.value > known.value || (news.value == known.value && before)
        });
        if better {
            self.known = Some(news);
            (self.own, self.fresh) = (None, false);
        }
        better
    }

    fn part(&mut self) -> Option<()> {
        None
    }

    fn pruned(&self) -> u64 {
        self.pruned
    }
}

/// Whether a node may hold the first of the best, if what is known is as good: it comes before
/// that. What is known without a path was found before, or is as good as any.
fn comes_before<N, V>(path: &Path<'_, N>, known: &KnownValue<V>) -> bool {
    let found = known.path.as_deref();
    found.is_some_and(|found| path.cmp(found) == Ordering::Less)
}
