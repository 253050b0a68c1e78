//! The set of causalities that something runs, or waits to run, under.
//!
//! A set does not change: making one inner, or joining two, makes another; capturing one copies a
//! pointer. It holds each causality once, innermost first, and which of them is directly inside
//! which. A stack has one innermost, the union of two stacks has two.

use super::{Cancelled, Causality, Entered, UntilCancelled, current};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The causalities of a task or of a waiting item; most have none, which costs nothing.
///
/// ```
/// use motet_dispatch::{Causalities, Causality};
///
/// let (outer, inner) = (Causality::new("outer"), Causality::new("inner"));
/// let both = outer.run(|| inner.run(Causalities::active));
/// assert_eq!(both.iter().map(Causality::name).collect::<Vec<_>>(), ["inner", "outer"]);
/// assert!(both.check().is_ok());
/// outer.cancel("no longer wanted");
/// assert!(both.check().is_err());
/// ```
#[derive(Clone, Default)]
pub struct Causalities(Option<Arc<Set>>);

#[derive(Default)]
struct Set {
    /// Innermost first; no two are the same.
    members: Vec<Causality>,
    /// Identities: the first is directly inside the second.
    inside: Vec<(u64, u64)>,
    /// One of them wants tasks to be skipped.
    skips: bool,
}

impl Causalities {
    /// No causality.
    #[must_use]
    pub const fn none() -> Self {
        Causalities(None)
    }

    /// Those that are active on this thread, as an item that is posted now would capture them:
    /// without those that have ended.
    #[inline]
    #[must_use]
    pub fn active() -> Self {
        if current::holds_nothing() {
            return Causalities::none();
        }
        Causalities::that_are_active()
    }

    #[inline(never)]
    fn that_are_active() -> Self {
        let active = current::active();
        if active.is_empty() {
            return active;
        }
        active.without_ended()
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The causalities, innermost first.
    pub fn iter(&self) -> impl Iterator<Item = &Causality> {
        self.members().iter()
    }

    /// These and the others, each once, as the handler of a join has them. Those that have ended
    /// are left out. So is what has been cancelled, with all inside it, if something else remains
    /// that is still wanted. Else one cancelled causality stands for all, so that a token that goes
    /// from hand to hand does not grow.
    #[inline]
    #[must_use]
    pub fn union(&self, other: &Causalities) -> Self {
        if self.is_empty() {
            return other.without_ended();
        }
        if other.is_same(self) || other.is_empty() {
            return self.without_ended();
        }
        self.join(other)
    }

    /// Makes these the active ones until the guard is dropped.
    pub(super) fn enter(self) -> Entered {
        Entered::new(self)
    }

    /// Calls `work` under these.
    ///
    /// # Panics
    /// When `work` does.
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        let _entered = self.enter();
        work()
    }

    /// Adds these to the active ones, as a received item does.
    pub fn add(&self) {
        if !self.is_empty() {
            let both = current::active().union(self);
            drop(current::replace(both));
        }
    }

    /// Whether none of them has been cancelled.
    ///
    /// # Errors
    /// Which one has, and why.
    #[inline]
    pub fn check(&self) -> Result<(), Cancelled> {
        let why = self.iter().find_map(Causality::own_cancellation);
        why.map_or(Ok(()), Err)
    }

    /// Waits until one of them is cancelled; for ever if there is none.
    #[must_use = "a wait that is not awaited does not wait"]
    pub fn cancelled(&self) -> UntilCancelled {
        UntilCancelled::new(self.clone())
    }

    /// Whether a task with these must not start.
    #[inline]
    #[must_use]
    pub fn skips(&self) -> bool {
        self.0.as_ref().is_some_and(|set| set.skips) && self.cancelled_member().is_some()
    }

    /// These with `inner` inside all of them.
    pub(super) fn with_inner(&self, inner: &Causality) -> Self {
        let outer = self.settled().filter(|member| member != inner);
        let mut set = Set::default();
        set.members.push(inner.clone());
        set.inside = outer
            .innermost()
            .map(|member| (inner.id(), member.id()))
            .collect();
        if let Some(outer) = &outer.0 {
            set.members.extend(outer.members.iter().cloned());
            set.inside.extend_from_slice(&outer.inside);
        }
        set.into()
    }

    /// Those that `inner` is inside of.
    pub(crate) fn outside_of(&self, inner: &Causality) -> Self {
        let reach = self.reach(inner.id());
        self.filter(|member| member != inner && reach.contains(&member.id()))
    }

    /// Those who are told of a panic: from each innermost one outwards the first that hears, each
    /// once.
    pub(crate) fn hearers(&self) -> Vec<Causality> {
        let mut hearers = Vec::new();
        let mut seen = HashSet::new();
        let mut asked: Vec<u64> = self.innermost().map(Causality::id).collect();
        while !asked.is_empty() {
            let mut next = Vec::new();
            for member in self.iter().filter(|member| asked.contains(&member.id())) {
                if !seen.insert(member.id()) {
                } else if member.hears() {
                    hearers.push(member.clone());
                } else {
                    next.extend(self.directly_outside(member.id()));
                }
            }
            asked = next;
        }
        hearers
    }

    fn members(&self) -> &[Causality] {
        self.0.as_ref().map_or(&[], |set| &set.members)
    }

    fn inside(&self) -> &[(u64, u64)] {
        self.0.as_ref().map_or(&[], |set| &set.inside)
    }

    fn is_same(&self, other: &Causalities) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        }
    }

    fn contains(&self, id: u64) -> bool {
        self.iter().any(|member| member.id() == id)
    }

    fn directly_outside(&self, id: u64) -> impl Iterator<Item = u64> {
        let inside = self.inside().iter();
        inside
            .filter(move |(inner, _)| *inner == id)
            .map(|(_, outer)| *outer)
    }

    /// Those that are outside of no other. Two that were entered inside each other in different
    /// places may be outside of each other here; then the first counts.
    fn innermost(&self) -> impl Iterator<Item = &Causality> {
        let is_outer = |member: &&Causality| {
            let mut inside = self.inside().iter();
            inside.any(|(_, outer)| *outer == member.id())
        };
        let none = self.iter().all(|member| is_outer(&member));
        let chosen = move |(at, member): &(usize, &Causality)| {
            if none { *at == 0 } else { !is_outer(member) }
        };
        self.iter()
            .enumerate()
            .filter(chosen)
            .map(|(_, member)| member)
    }

    /// The identities that `from` is inside of, near and far.
    fn reach(&self, from: u64) -> HashSet<u64> {
        let mut reach = HashSet::new();
        let mut asked = vec![from];
        while let Some(id) = asked.pop() {
            asked.extend(
                self.directly_outside(id)
                    .filter(|&outer| reach.insert(outer)),
            );
        }
        reach
    }

    /// The first one that has been cancelled itself.
    fn cancelled_member(&self) -> Option<&Causality> {
        self.iter().find(|member| member.0.fate.is_cancelled())
    }

    fn gone(&self) -> Option<u64> {
        self.cancelled_member().map(Causality::id)
    }

    #[inline]
    fn without_ended(&self) -> Self {
        match self.is_empty() {
            true => Causalities::none(),
            false => self.without_those_ended(),
        }
    }

    #[inline(never)]
    fn without_those_ended(&self) -> Self {
        if self.iter().any(Causality::is_ended) {
            return self.filter(|member| !member.is_ended());
        }
        self.clone()
    }

    /// Without those that have ended, and with one cancelled one at most. That is the outermost, so
    /// that nothing that remains outside of it is inside a cancelled one.
    fn settled(&self) -> Self {
        let live = self.without_ended();
        let cancelled = |member: &&Causality| member.0.fate.is_cancelled();
        let Some(last) = live.iter().filter(cancelled).last().map(Causality::id) else {
            return live;
        };
        live.filter(|member| member.id() == last || !member.0.fate.is_cancelled())
    }

    /// Without `gone` and what is inside of it.
    fn without_inside(&self, gone: u64) -> Self {
        self.filter(|member| member.id() != gone && !self.reach(member.id()).contains(&gone))
    }

    /// Those that are to be kept; what was between two of them is bridged.
    fn filter(&self, keep: impl Fn(&Causality) -> bool) -> Self {
        let gone: Vec<u64> = self
            .iter()
            .filter(|member| !keep(member))
            .map(Causality::id)
            .collect();
        if gone.is_empty() {
            return self.clone();
        }
        let mut inside = self.inside().to_vec();
        for &id in &gone {
            let inner: Vec<u64> = inside.iter().filter(|e| e.1 == id).map(|e| e.0).collect();
            let outer: Vec<u64> = inside.iter().filter(|e| e.0 == id).map(|e| e.1).collect();
            inside.retain(|&(from, to)| from != id && to != id);
            for &from in &inner {
                let bridges = outer.iter().map(|&to| (from, to));
                inside.extend(bridges.filter(|(from, to)| from != to));
            }
        }
        inside.sort_unstable();
        inside.dedup();
        let members = self.iter().filter(|member| !gone.contains(&member.id()));
        Set {
            members: members.cloned().collect(),
            inside,
            skips: false,
        }
        .into()
    }

    /// The union of two that are not empty.
    fn join(&self, other: &Causalities) -> Self {
        let (one, two) = (self.settled(), other.settled());
        match (one.gone(), two.gone()) {
            (None, Some(gone)) if !one.is_empty() => one.merge(&two.without_inside(gone)),
            (Some(gone), None) if !two.is_empty() => one.without_inside(gone).merge(&two),
            (Some(_), Some(gone)) => one.merge(&two.without_inside(gone)),
            _ => one.merge(&two),
        }
    }

    /// Both, each member once.
    fn merge(&self, other: &Causalities) -> Self {
        let (members, inside) = (other.iter(), other.inside().iter());
        let new: Vec<&Causality> = members.filter(|m| !self.contains(m.id())).collect();
        let edges: Vec<_> = inside.filter(|e| !self.inside().contains(e)).collect();
        if new.is_empty() && edges.is_empty() {
            return self.clone();
        }
        Set {
            members: self.iter().chain(new).cloned().collect(),
            inside: self.inside().iter().chain(edges).copied().collect(),
            skips: false,
        }
        .into()
    }
}

impl From<Set> for Causalities {
    fn from(mut set: Set) -> Self {
        set.skips = set.members.iter().any(|member| member.0.skips);
        Causalities((!set.members.is_empty()).then(|| Arc::new(set)))
    }
}

impl fmt::Debug for Causalities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|member| (member.id(), member.name()));
        f.debug_map().entries(entries).finish()
    }
}
