//! Which branches of a choice are on their ports.

use crate::activation::Active;
use crate::claim::Claim;
use std::sync::{Arc, Weak};

/// The branches that have begun to register, which live as long as they are on their ports. A
/// branch begins only before the choice settles, so whoever settles knows whom to look at.
///
/// ```text
///   registering:  begin ──> on its port ──> decided meanwhile? it leaves again
///   settling:     decide ──> settle ──> those that have begun leave
/// ```
///
/// Both may miss a branch that was looked for before it came to its port. Such a branch finds the
/// choice decided: the lock of its port, which both have held, orders that.
#[derive(Default)]
pub(super) struct RegisteredBranches {
    /// As many as most choices have; the others are behind them.
    few: [Option<Weak<dyn Active>>; 2],
    others: Vec<Weak<dyn Active>>,
    pub(super) settles: bool,
}

impl RegisteredBranches {
    /// Another branch is about to register. `false`: it must not any more.
    pub(super) fn begin(&mut self, branch: &Arc<dyn Active>, claim: &Claim) -> bool {
        if self.settles || (self.few[0].is_some() && !claim.share()) {
            return false;
        }
        let branch = Arc::downgrade(branch);
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(free) => *free = Some(branch),
            None => self.others.push(branch),
        }
        true
    }

    /// As [`RegisteredBranches::branches`]; `None` before any has begun to register.
    pub(super) fn all_branches(&self) -> Option<impl Iterator<Item = Arc<dyn Active>> + use<>> {
        self.few[0].is_some().then(|| self.branches())
    }

    /// Those that have begun to register, and are still there.
    pub(super) fn branches(&self) -> impl Iterator<Item = Arc<dyn Active>> + use<> {
        let few = self.few.each_ref().map(|branch| branch.as_ref()?.upgrade());
        let others: Vec<_> = self.others.iter().filter_map(Weak::upgrade).collect();
        few.into_iter().flatten().chain(others)
    }
}
