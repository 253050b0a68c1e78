//! A group of an interleave, as its members see it.

use super::next::Entry;
use super::shared::Shared;
use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use crate::parent::{Above, HandlerCounter, Parent, Pass};
use crate::readers::Readers;
use motet_dispatch::Task;
use std::sync::{Arc, Weak};

/// Who may run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Concurrent,
    Exclusive,
    Teardown,
}

/// A member's place in its group.
pub(super) struct Group {
    this: Weak<Group>,
    shared: Arc<Shared>,
    kind: Kind,
    /// What the member is.
    name: &'static str,
}

impl Group {
    pub(super) fn new(shared: &Arc<Shared>, kind: Kind, name: &'static str) -> Arc<Self> {
        Arc::new_cyclic(|this| Group {
            this: Weak::clone(this),
            shared: Arc::clone(shared),
            kind,
            name,
        })
    }

    /// What its member asks and tells.
    pub(super) fn above(self: Arc<Self>) -> Above {
        let readers = self.is_concurrent().then(|| Arc::clone(self.readers()));
        Above::new(self, readers)
    }

    fn readers(&self) -> &Arc<Readers> {
        self.shared.exclusion.readers()
    }

    #[inline]
    fn is_concurrent(&self) -> bool {
        self.kind == Kind::Concurrent
    }
}

impl Parent for Group {
    #[inline]
    fn is_open(&self) -> bool {
        !self.readers().is_closing()
    }

    #[inline]
    fn claim(&self) -> bool {
        match self.kind {
            Kind::Concurrent | Kind::Exclusive => self.is_open(),
            Kind::Teardown => self.readers().close(),
        }
    }

    #[inline]
    fn send(&self, _: &Arc<dyn Parent>, queue: &QueueHandle, task: Task, deferred: &mut Deferred) {
        let exclusion = &self.shared.exclusion;
        let next = match self.kind {
            Kind::Concurrent => unreachable!("it goes straight to its queue"),
            Kind::Exclusive => exclusion.request(queue, task),
            Kind::Teardown => exclusion.request_teardown(queue, task),
        };
        self.shared.defer(next, deferred);
    }

    fn enter<'a>(
        &'a self,
        above: &'a Above,
        queue: &QueueHandle,
        counted: bool,
        task: &mut dyn FnMut() -> Task,
    ) -> Option<Pass<'a>> {
        if self.is_concurrent() {
            let (shared, hold) = (&self.shared, || (Arc::clone(queue), task()));
            let entry = shared
                .exclusion
                .enter(counted, || shared.was_admitted(), hold);
            if let Entry::Held(next) = entry {
                shared.carry_out(next);
                return None;
            }
            // The task that was let in is this one, also where that was not asked: what runs inside
            // of its handler enters as others do.
            shared.was_admitted();
        }
        Some(above.pass(None))
    }

    fn host(&self) -> &dyn HandlerCounter {
        self
    }

    fn lose(&self) {
        // What is exclusive is held by the interleave until it runs.
        if self.is_concurrent() {
            let next = self.shared.exclusion.lose();
            self.shared.carry_out(next);
        }
    }
}

impl Settle for Group {
    /// Nothing: its members go on.
    fn settle(&self) {}
}

impl HandlerCounter for Group {
    #[inline]
    fn leave(&self) {
        // An exclusive handler leaves when its turn finds that it has not stayed.
        if self.is_concurrent() {
            self.shared.carry_out(self.shared.exclusion.leave());
        }
    }

    fn left(&self) {
        self.shared
            .carry_out(self.shared.exclusion.look_whether_last());
    }

    fn stay(&self) -> Arc<dyn HandlerCounter> {
        if !self.is_concurrent() {
            self.shared.exclusion.stay(self.name);
        }
        self.this.upgrade().expect("the member keeps its group")
    }

    fn leave_later(&self) {
        let next = match self.kind {
            Kind::Concurrent => return self.leave(),
            Kind::Exclusive | Kind::Teardown => self.shared.exclusion.leave_later(),
        };
        self.shared.carry_out(next);
    }
}
