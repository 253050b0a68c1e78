//! One round of iterative deepening: a depth-first search up to a limit.

use crate::job::NodeWork;
use crate::path::Path;
use crate::{Best, Bounded, Tree};
use std::cmp::Ordering;

/// Looks for a solution of at most this value.
pub(crate) struct DeepeningRound<P: Bounded> {
    problem: P,
    first: bool,
    limit: P::Value,
    /// The least value or bound above the limit.
    beyond: Option<P::Value>,
    found: Option<Found>,
    own: Option<Best<P::Value, P::Node>>,
    fresh: bool,
    pruned: u64,
}

/// The least value above the limit, and a solution.
type Met<P> = (
    Option<<P as Bounded>::Value>,
    Option<Best<<P as Bounded>::Value, <P as Tree>::Node>>,
);

/// Where a solution was found; if any will do, not even that.
type Found = Option<Vec<u32>>;

impl<P: Bounded> DeepeningRound<P> {
    pub(crate) fn new(problem: P, first: bool, limit: P::Value) -> Self {
        DeepeningRound {
            problem,
            first,
            limit,
            beyond: None,
            found: None,
            own: None,
            fresh: false,
            pruned: 0,
        }
    }

    /// The least value or bound above the limit that this rank has met, and what it has found.
    pub(crate) fn into_parts(self) -> Met<P> {
        (self.beyond, self.own)
    }

    fn is_beyond(&mut self, value: P::Value) -> bool {
        if value <= self.limit {
            return false;
        }
        self.beyond = Some(self.beyond.map_or(value, |beyond| beyond.min(value)));
        true
    }
}

impl<P: Bounded> NodeWork for DeepeningRound<P> {
    type Node = P::Node;
    type News = Found;
    type Part = ();

    #[inline]
    fn visit(&mut self, node: &P::Node, path: &Path<'_, P::Node>) -> bool {
        let needless = self.found.as_ref().is_some_and(|found| {
            let found = found.as_deref();
            found.is_none_or(|found| path.cmp(found) != Ordering::Less)
        });
        if needless || self.is_beyond(self.problem.bound(node)) {
            self.pruned += 1;
            return false;
        }
        if let Some(value) = self.problem.value(node)
            && !self.is_beyond(value)
        {
            let path = path.to_vec();
            self.found = Some(self.first.then(|| path.clone()));
            self.fresh = true;
            self.own = Some(Best {
                value,
                path,
                node: node.clone(),
            });
        }
        true
    }

    #[inline]
    fn children(&self, node: &P::Node, out: &mut Vec<P::Node>) {
        self.problem.children(node, out);
    }

    fn news(&mut self) -> Option<Found> {
        let fresh = std::mem::take(&mut self.fresh);
        self.found.clone().filter(|_| fresh)
    }

    fn hear(&mut self, news: Found) -> bool {
        let better = match (&self.found, &news) {
            (None, _) => true,
            (Some(Some(old)), Some(new)) => new < old,
            _ => false,
        };
        if better {
            self.found = Some(news);
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
