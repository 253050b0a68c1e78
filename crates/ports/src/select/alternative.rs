//! What a select can wait for.

use crate::activation::{Active, Attach};
use crate::arbiter::{
    After, Branches, Choice, HeldBranches, IntoParts, IsReady, JoinInputs, JoinPorts,
    JoinedReceive, Kept, MultipleItemReceive, Receive, Visit,
};
use crate::delivery::items_of;
use crate::handler;
use crate::outlet::Outlet;
use crate::port::Port;
use crate::recv::{adopt, take};
use crate::result_mailbox::ResultMailbox;
use motet_sync::Mutex;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

/// Something to wait for, of which an `R` is made. It keeps its ports.
pub(super) trait Alternative<R>: Send {
    /// Takes it if it is there.
    fn look(&mut self, cx: &Context<'_>) -> Look<R>;

    /// Makes the arbiter that waits for it, whose handler leaves the result in the mailbox.
    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached;
}

/// An arbiter that is to be [registered](Active::register), and the branches that it has until
/// then, if it is a choice.
pub(super) type Attached = (Arc<dyn Active>, Option<Kept>);

/// What a look at an alternative finds.
pub(super) enum Look<R> {
    /// It was there, and has been taken.
    Found(R),
    Nothing,
    /// It may be there: only the arbiter that waits for it knows.
    Unknown,
}

/// All alternatives of a select, as the branches of a choice.
pub(super) struct Several<'a, R> {
    alternatives: &'a mut [Box<dyn Alternative<R>>],
    mailbox: &'a Arc<ResultMailbox<R>>,
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
}

/// Several items of a port.
pub(super) struct Batch<T: Send + 'static, M> {
    port: Port<T>,
    count: usize,
    /// Fewer will do after that.
    span: Option<Duration>,
    map: Map<M>,
}

/// Items of several ports, all or none.
pub(super) struct Together<I, M> {
    inputs: Option<JoinInputs<I>>,
    map: Map<M>,
    /// Who waits at ports keeps them.
    ports: Option<JoinPorts>,
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
        mailbox: &'a Arc<ResultMailbox<R>>,
    ) -> Self {
        Several {
            alternatives,
            mailbox,
        }
    }
}

impl<R> Branches for Several<'_, R> {
    type Held = std::vec::IntoIter<Attached>;

    /// Alternatives are borrowed: they cannot be kept.
    fn hold(self, outlet: &dyn Fn() -> Outlet) -> Self::Held {
        let Several {
            alternatives,
            mailbox,
        } = self;
        let attached = alternatives
            .iter_mut()
            .map(|alternative| alternative.attach(mailbox, outlet()));
        attached.collect::<Vec<_>>().into_iter()
    }

    fn count(&self) -> usize {
        self.alternatives.len()
    }
}

impl HeldBranches for std::vec::IntoIter<Attached> {
    fn each(&mut self, _: &impl Fn() -> Outlet, visit: &mut impl Visit) -> bool {
        self.all(|(branch, _kept)| visit(branch))
    }
}

/// Of which nothing need be kept: the alternative keeps its ports.
fn attached(arbiter: impl Attach, outlet: Outlet) -> Attached {
    (arbiter.attach(outlet).0, None)
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
    fn look(&mut self, cx: &Context<'_>) -> Look<R> {
        match take(&self.port, cx) {
            Some(item) => Look::Found(self.map.take()(item)),
            None => Look::Nothing,
        }
    }

    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached {
        let leave = mailbox.leaving(self.map.take());
        attached(Receive::once(&self.port, leave), outlet)
    }
}

impl<T: Send + 'static, M> OneOf<T, M> {
    pub(super) fn new(ports: &[Port<T>], map: M) -> Self {
        OneOf {
            ports: ports.to_vec(),
            map: Map::new(map),
        }
    }
}

impl<T, M, R> Alternative<R> for OneOf<T, M>
where
    T: Send + 'static,
    M: FnOnce(usize, T) -> R + Send + 'static,
    R: Send + 'static,
{
    fn look(&mut self, cx: &Context<'_>) -> Look<R> {
        let mut ports = self.ports.iter().enumerate();
        match ports.find_map(|(place, port)| Some((place, take(port, cx)?))) {
            Some((place, item)) => Look::Found(self.map.take()(place, item)),
            None => Look::Nothing,
        }
    }

    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached {
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
        let (choice, kept) = Choice::any(branches).attach(outlet);
        (choice, Some(kept))
    }
}

impl<T: Send + 'static, M> Batch<T, M> {
    pub(super) fn new(port: &Port<T>, count: usize, span: Option<Duration>, map: M) -> Self {
        assert!(count > 0, "a select of several items takes at least one");
        if span.is_none() {
            port.assert_holds(count);
        }
        Batch {
            port: port.clone(),
            count,
            span,
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
    fn look(&mut self, cx: &Context<'_>) -> Look<R> {
        let Some(parcels) = self.port.take_multiple(self.count) else {
            return Look::Nothing;
        };
        adopt(&parcels.causalities(), cx);
        Look::Found(self.map.take()(items_of(parcels)))
    }

    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached {
        let leave = mailbox.leaving(self.map.take());
        let batch = MultipleItemReceive::once(&self.port, self.count, leave);
        match self.span {
            Some(span) => attached(batch.or_after(span), outlet),
            None => attached(batch, outlet),
        }
    }
}

impl<I, M> Together<I, M> {
    pub(super) fn new(parts: impl IntoParts<Items = I>, map: M) -> Self {
        Together {
            inputs: Some(parts.into_inputs()),
            map: Map::new(map),
            ports: None,
        }
    }
}

impl<I, M, R> Alternative<R> for Together<I, M>
where
    I: Send + 'static,
    M: FnOnce(I) -> R + Send + 'static,
    R: Send + 'static,
{
    /// Only an arbiter can say whether all its items are there.
    fn look(&mut self, _: &Context<'_>) -> Look<R> {
        Look::Unknown
    }

    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached {
        let leave = mailbox.leaving(self.map.take());
        let inputs = self.inputs.take().expect("a join is attached once");
        let (join, ports) = JoinedReceive::of(inputs, handler::once(leave), true).attach(outlet);
        self.ports = Some(ports);
        (join, None)
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
    fn look(&mut self, _: &Context<'_>) -> Look<R> {
        if self.port.item_count() > 0 {
            Look::Found(self.map.take()())
        } else {
            Look::Nothing
        }
    }

    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached {
        let map = self.map.take();
        let leave = mailbox.leaving(move |()| map());
        attached(IsReady::new(&self.port, || leave(())), outlet)
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
    fn look(&mut self, _: &Context<'_>) -> Look<R> {
        Look::Nothing
    }

    fn attach(&mut self, mailbox: &Arc<ResultMailbox<R>>, outlet: Outlet) -> Attached {
        let map = self.map.take();
        let leave = mailbox.leaving(move |()| map());
        attached(After::new(self.span, || leave(())), outlet)
    }
}
