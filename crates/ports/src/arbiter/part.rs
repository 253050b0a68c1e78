//! The parts of joins: how many items of which port, and which.

use super::join_input::{Input, Rule};
use super::rule::{GatherShare, One, Several};
use crate::port::{AnyPort, Port};
use crate::predicate::Predicate;
use std::fmt;
use std::sync::Arc;

/// One item of a port: any, or with [`Port::when`] one that a guard wants.
pub struct Part<T: Send + 'static> {
    port: Port<T>,
    guard: Option<Predicate<T>>,
}

/// Several items of a port, made by [`Port::times`], [`Part::times`] and [`Port::one_each`]; the
/// handler gets them as a `Vec`.
pub struct Batch<T: Send + 'static> {
    port: Port<T>,
    rule: Several<T>,
}

/// A part that brings some of the items that several ports bring together.
pub(crate) struct SharedPart<T: Send + 'static>(Part<T>);

/// What a part of a join can be made of: a port (one item), a [`Part`] or a [`Batch`].
pub trait IntoPart {
    /// The part.
    type Part;
    /// What the handler gets.
    type Given: Send + 'static;

    /// Makes the part.
    fn into_part(self) -> Self::Part;
}

/// A part on its way to its input.
pub(crate) trait ToInput {
    type Rule: Rule;

    fn port(&self) -> Arc<dyn AnyPort>;

    fn to_input(self) -> Input<Self::Rule>;
}

/// # Parts of joins
impl<T: Send + 'static> Port<T> {
    /// A part that takes an item that `guard` wants: the oldest such item, wherever it stands. The
    /// others stay in the port.
    ///
    /// A guard runs on posters' threads under the ports' locks: it must be quick and pure, and must
    /// not use ports. One that panics wants nothing; the panic goes the way of the queue's
    /// exceptions. Ready guards are in [`guard`](crate::guard).
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{JoinedReceive, Port};
    ///
    /// let (numbers, names, out) = (Port::new(), Port::new(), Port::new());
    /// let pairs = out.clone();
    /// JoinedReceive::persistent((numbers.when(|n| n % 2 == 0), &names), move |(n, name)| {
    ///     pairs.post((n, name)).unwrap();
    /// })
    /// .activate(&Inline::new("here"))
    /// .unwrap();
    /// names.post("even").unwrap();
    /// numbers.post(1).unwrap();
    /// numbers.post(2).unwrap();
    /// assert_eq!(out.items(), [(2, "even")]);
    /// assert_eq!(numbers.items(), [1]);
    /// ```
    pub fn when(&self, guard: impl Fn(&T) -> bool + Send + Sync + 'static) -> Part<T> {
        Part {
            port: self.clone(),
            guard: Some(Box::new(guard)),
        }
    }

    /// A part that takes `count` items, in the order in which they waited.
    ///
    /// An arbiter or a wait with such a part of a bounded port panics when so many are never there:
    /// as many as may wait, and one that is posted.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn times(&self, count: usize) -> Batch<T> {
        self.into_part().times(count)
    }

    /// A part that takes one item for each guard, all different. Each waiting item, from the oldest
    /// on, goes to the first guard that wants it and has none yet. The handler gets them in the
    /// order of the guards. With [`guard::source`](crate::guard::source): one message of each of
    /// these senders.
    ///
    /// # Panics
    /// When there is no guard, or there are more than 64.
    pub fn one_each<G>(&self, guards: impl IntoIterator<Item = G>) -> Batch<T>
    where
        G: Fn(&T) -> bool + Send + Sync + 'static,
    {
        let guards = guards.into_iter().map(|guard| Box::new(guard) as _);
        let guards: Vec<Predicate<T>> = guards.collect();
        assert!(
            (1..=64).contains(&guards.len()),
            "a part takes one item for each of 1 to 64 guards, not {}",
            guards.len()
        );
        Batch {
            port: self.clone(),
            rule: Several::each(guards),
        }
    }
}

impl<T: Send + 'static> Part<T> {
    /// A part that takes `count` such items, in the order in which they waited.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn times(self, count: usize) -> Batch<T> {
        assert!(count > 0, "a part takes at least one item at a time");
        Batch {
            port: self.port,
            rule: Several::count(count, self.guard),
        }
    }

    /// The port, and which of its items.
    pub(super) fn into_inner(self) -> (Port<T>, Option<Predicate<T>>) {
        (self.port, self.guard)
    }

    /// The same as a part that brings some of a number of items.
    pub(crate) fn shared(self) -> SharedPart<T> {
        SharedPart(self)
    }
}

impl<T: Send + 'static> Batch<T> {
    /// The port and how many, if any items will do.
    pub(super) fn unguarded(&self) -> Option<(&Port<T>, usize)> {
        Some((&self.port, self.rule.unguarded()?))
    }

    /// The port, and how many items if any will do.
    #[doc(hidden)]
    #[must_use]
    pub fn into_count(self) -> (Port<T>, Option<usize>) {
        let count = self.rule.unguarded();
        (self.port, count)
    }

    /// The same number of items, of those that the guard wants.
    pub(crate) fn guarded(mut self, guard: Predicate<T>) -> Self {
        self.rule = self.rule.guarded(guard);
        self
    }
}

impl<T: Send + 'static> IntoPart for &Port<T> {
    type Part = Part<T>;
    type Given = T;

    fn into_part(self) -> Part<T> {
        Part {
            port: self.clone(),
            guard: None,
        }
    }
}

impl<T: Send + 'static> IntoPart for Part<T> {
    type Part = Self;
    type Given = T;

    fn into_part(self) -> Self {
        self
    }
}

impl<T: Send + 'static> IntoPart for Batch<T> {
    type Part = Self;
    type Given = Vec<T>;

    fn into_part(self) -> Self {
        self
    }
}

impl<T: Send + 'static> ToInput for Part<T> {
    type Rule = One<T>;

    fn port(&self) -> Arc<dyn AnyPort> {
        Arc::clone(self.port.core()) as _
    }

    fn to_input(self) -> Input<One<T>> {
        Input::new(&self.port, One(self.guard))
    }
}

impl<T: Send + 'static> ToInput for Batch<T> {
    type Rule = Several<T>;

    fn port(&self) -> Arc<dyn AnyPort> {
        Arc::clone(self.port.core()) as _
    }

    fn to_input(self) -> Input<Several<T>> {
        self.port.assert_holds(self.rule.needed());
        Input::new(&self.port, self.rule)
    }
}

impl<T: Send + 'static> ToInput for SharedPart<T> {
    type Rule = GatherShare<T>;

    fn port(&self) -> Arc<dyn AnyPort> {
        self.0.port()
    }

    fn to_input(self) -> Input<GatherShare<T>> {
        Input::new(&self.0.port, GatherShare(self.0.guard))
    }
}

impl<T: Send + 'static> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("port", &self.port)
            .field("guarded", &self.guard.is_some())
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("port", &self.port)
            .field("takes", &format_args!("{}", self.rule))
            .finish_non_exhaustive()
    }
}
