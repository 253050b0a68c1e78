//! What a select can wait for.

use crate::activation::{Active, Attach};
use crate::arbiter::{
    After, Branches, Choice, IsReady, JoinedReceive, MultipleItemReceive, Receive,
};
use crate::delivery::items_of;
use crate::domain::Domain;
use crate::mailbox::Mailbox;
use crate::outlet::Outlet;
use crate::port::Port;
use crate::recv::{adopt, received};
use motet_sync::Mutex;
use std::sync::{Arc, Weak};
use std::task::Context;
use std::time::Duration;

/// Something to wait for, of which an `R` is made. It keeps its ports.
pub(super) trait Alternative<R>: Send {
    /// Takes it if it is there.
    fn look(&mut self, cx: &Context<'_>) -> Option<R>;

    /// Makes the arbiter that waits for it, whose handler leaves the result in the mailbox.
    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active>;
}

/// All alternatives of a select, as the branches of a choice.
pub(super) struct Several<'a, R> {
    alternatives: &'a mut [Box<dyn Alternative<R>>],
    mailbox: &'a Arc<Mailbox<R>>,
}

/// An item of a port.
pub(super) struct Item<T: Send + 'static, M> {
    port: Port<T>,
    map: Map<M>,
}

/// An item of any of several ports.
pub(super) struct OneOf<T: Send + 'static, M> {
    ports: Vec<Port<T>>,
    map: Map<M>,
    /// Kept until they are on their ports.
    branches: Vec<(Port<T>, Arc<dyn Active>)>,
}

/// Several items of a port.
pub(super) struct Batch<T: Send + 'static, M> {
    port: Port<T>,
    count: usize,
    map: Map<M>,
}

/// An item of each of two ports.
pub(super) struct Both<A: Send + 'static, B: Send + 'static, M> {
    ports: (Port<A>, Port<B>),
    map: Map<M>,
}

/// That an item is there.
pub(super) struct IsThere<T: Send + 'static, M> {
    port: Port<T>,
    map: Map<M>,
}

/// That a time is over.
pub(super) struct Time<M> {
    span: Duration,
    map: Map<M>,
}

/// The function beside an alternative, until it is used.
struct Map<M>(Option<M>);

impl<M> Map<M> {
    fn new(map: M) -> Self {
        Map(Some(map))
    }

    fn take(&mut self) -> M {
        self.0.take().expect("one alternative is taken, once")
    }
}

impl<'a, R> Several<'a, R> {
    pub(super) fn new(
        alternatives: &'a mut [Box<dyn Alternative<R>>],
        mailbox: &'a Arc<Mailbox<R>>,
    ) -> Self {
        Several {
            alternatives,
            mailbox,
        }
    }
}

impl<R> Branches for Several<'_, R> {
    type Ports = Vec<Arc<dyn Active>>;
    type Roster = Vec<Weak<dyn Active>>;

    fn attach(self, outlet: &Outlet) -> (Self::Roster, Self::Ports) {
        let Several {
            alternatives,
            mailbox,
        } = self;
        let branches: Vec<_> = alternatives
            .iter_mut()
            .map(|alternative| alternative.attach(mailbox, outlet.clone()))
            .collect();
        (branches.iter().map(Arc::downgrade).collect(), branches)
    }

    fn count(&self) -> usize {
        self.alternatives.len()
    }
}

impl<T: Send + 'static, M> Item<T, M> {
    pub(super) fn new(port: &Port<T>, map: M) -> Self {
        Item {
            port: port.clone(),
            map: Map::new(map),
        }
    }
}

impl<T, M, R> Alternative<R> for Item<T, M>
where
    T: Send + 'static,
    M: FnOnce(T) -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, cx: &Context<'_>) -> Option<R> {
        let item = received(self.port.take()?, cx);
        Some(self.map.take()(item))
    }

    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active> {
        let leave = mailbox.leaving(self.map.take());
        Receive::once(&self.port, leave).attach(outlet).0
    }
}

impl<T: Send + 'static, M> OneOf<T, M> {
    pub(super) fn new(ports: &[Port<T>], map: M) -> Self {
        OneOf {
            ports: ports.to_vec(),
            map: Map::new(map),
            branches: Vec::new(),
        }
    }
}

impl<T, M, R> Alternative<R> for OneOf<T, M>
where
    T: Send + 'static,
    M: FnOnce(usize, T) -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, cx: &Context<'_>) -> Option<R> {
        let mut ports = self.ports.iter().enumerate();
        let (place, item) = ports.find_map(|(place, port)| Some((place, port.take()?)))?;
        Some(self.map.take()(place, received(item, cx)))
    }

    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active> {
        let map = self.map.take();
        // One of the branches runs: it takes the function.
        let leave = mailbox.leaving(move |(place, item)| map(place, item));
        let leave = Arc::new(Mutex::new(Some(leave)));
        let branches = self.ports.iter().enumerate().map(|(place, port)| {
            let leave = Arc::clone(&leave);
            Receive::once(port, move |item| {
                let leave = leave.lock().take();
                leave.expect("one branch runs, once")((place, item));
            })
        });
        let (choice, branches) = Choice::any(branches).attach(outlet);
        self.branches = branches;
        choice
    }
}

impl<T: Send + 'static, M> Batch<T, M> {
    pub(super) fn new(port: &Port<T>, count: usize, map: M) -> Self {
        assert!(count > 0, "a select of several items takes at least one");
        Batch {
            port: port.clone(),
            count,
            map: Map::new(map),
        }
    }
}

impl<T, M, R> Alternative<R> for Batch<T, M>
where
    T: Send + 'static,
    M: FnOnce(Vec<T>) -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, cx: &Context<'_>) -> Option<R> {
        let parcels = self.port.take_multiple(self.count)?;
        adopt(&parcels.causalities(), cx);
        Some(self.map.take()(items_of(parcels)))
    }

    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active> {
        let leave = mailbox.leaving(self.map.take());
        let batch = MultipleItemReceive::once(&self.port, self.count, leave);
        batch.attach(outlet).0
    }
}

impl<A: Send + 'static, B: Send + 'static, M> Both<A, B, M> {
    pub(super) fn new(a: &Port<A>, b: &Port<B>, map: M) -> Self {
        assert!(
            a.id() != b.id(),
            "a join of a port with itself: take two items of it instead"
        );
        Both {
            ports: (a.clone(), b.clone()),
            map: Map::new(map),
        }
    }
}

impl<A, B, M, R> Alternative<R> for Both<A, B, M>
where
    A: Send + 'static,
    B: Send + 'static,
    M: FnOnce((A, B)) -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, cx: &Context<'_>) -> Option<R> {
        let (a, b) = (self.ports.0.core(), self.ports.1.core());
        Domain::merge(a.domain(), b.domain());
        let parcels = a.domain().locked(|| {
            let (mut a, mut b) = (a.state(), b.state());
            if b.items_mut().is_empty() {
                return None;
            }
            Some((a.items_mut().pop_front()?, b.items_mut().pop_front()?))
        });
        self.ports.0.core().let_in_posters();
        self.ports.1.core().let_in_posters();
        let (a, b) = parcels?;
        Some(self.map.take()((received(a, cx), received(b, cx))))
    }

    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active> {
        let leave = mailbox.leaving(self.map.take());
        let ports = (&self.ports.0, &self.ports.1);
        JoinedReceive::once(ports, leave).attach(outlet).0
    }
}

impl<T: Send + 'static, M> IsThere<T, M> {
    pub(super) fn new(port: &Port<T>, map: M) -> Self {
        IsThere {
            port: port.clone(),
            map: Map::new(map),
        }
    }
}

impl<T, M, R> Alternative<R> for IsThere<T, M>
where
    T: Send + 'static,
    M: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, _: &Context<'_>) -> Option<R> {
        (self.port.item_count() > 0).then(|| self.map.take()())
    }

    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active> {
        let map = self.map.take();
        let leave = mailbox.leaving(move |()| map());
        IsReady::new(&self.port, || leave(())).attach(outlet).0
    }
}

impl<M> Time<M> {
    pub(super) fn new(span: Duration, map: M) -> Self {
        Time {
            span,
            map: Map::new(map),
        }
    }
}

impl<M, R> Alternative<R> for Time<M>
where
    M: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, _: &Context<'_>) -> Option<R> {
        None
    }

    fn attach(&mut self, mailbox: &Arc<Mailbox<R>>, outlet: Outlet) -> Arc<dyn Active> {
        let map = self.map.take();
        let leave = mailbox.leaving(move |()| map());
        After::new(self.span, || leave(())).attach(outlet).0
    }
}
