//! The branches of a choice before they are registered: a tuple of different types, or a list of
//! one.

use crate::activation::{Active, Attach};
use crate::outlet::Outlet;
use std::sync::Arc;
use std::vec;

/// The branches of a choice, in their order: none, those before and one more, or a list.
pub trait Branches {
    /// The branches until they are registered.
    type Held: HeldBranches;

    /// Keeps the branches until the choice is registered. Those that cannot be kept go to work
    /// here, each with an outlet of its own.
    fn hold(self, outlet: &dyn Fn() -> Outlet) -> Self::Held;

    /// How many there are.
    fn count(&self) -> usize;
}

/// Branches that are to be registered.
pub trait HeldBranches: Send + 'static {
    /// Makes the branches that go to work, in order, until `visit` says `false`. Each has an outlet
    /// of its own. It is made just before it is shown to `visit`, while its [`Attach::Ports`] are
    /// kept.
    fn each(&mut self, outlet: &impl Fn() -> Outlet, visit: &mut impl Visit) -> bool;
}

/// What is done with a branch; `false`: the next ones are not wanted.
pub trait Visit: FnMut(Arc<dyn Active>) -> bool {}

impl<F: FnMut(Arc<dyn Active>) -> bool> Visit for F {}

impl Branches for () {
    type Held = ();

    fn hold(self, _: &dyn Fn() -> Outlet) {}

    fn count(&self) -> usize {
        0
    }
}

impl<L: Branches, B: Attach + Send + 'static> Branches for (L, B) {
    type Held = (L::Held, Option<B>);

    fn hold(self, outlet: &dyn Fn() -> Outlet) -> Self::Held {
        (self.0.hold(outlet), Some(self.1))
    }

    fn count(&self) -> usize {
        self.0.count() + 1
    }
}

impl<B: Attach + Send + 'static> Branches for Vec<B> {
    type Held = vec::IntoIter<B>;

    fn hold(self, _: &dyn Fn() -> Outlet) -> Self::Held {
        self.into_iter()
    }

    fn count(&self) -> usize {
        self.len()
    }
}

impl HeldBranches for () {
    fn each(&mut self, _: &impl Fn() -> Outlet, _: &mut impl Visit) -> bool {
        true
    }
}

impl<L: HeldBranches, B: Attach + Send + 'static> HeldBranches for (L, Option<B>) {
    fn each(&mut self, outlet: &impl Fn() -> Outlet, visit: &mut impl Visit) -> bool {
        self.0.each(outlet, visit)
            && self.1.take().is_none_or(|branch| {
                let (branch, _ports) = branch.attach(outlet());
                visit(branch)
            })
    }
}

impl<B: Attach + Send + 'static> HeldBranches for vec::IntoIter<B> {
    fn each(&mut self, outlet: &impl Fn() -> Outlet, visit: &mut impl Visit) -> bool {
        self.all(|branch| {
            let (branch, _ports) = branch.attach(outlet());
            visit(branch)
        })
    }
}
