//! Awaited receives: a future that waits at a port and holds no thread.

use crate::deferred::Deferred;
use crate::delivery::ItemBox;
use crate::ending::{MayEnd, OrClosed, ended};
use crate::port::{Port, PortCore, label};
use crate::predicate;
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{
    Awaited, Cancelled, Causalities, Causality, WaitPart, Waiter, is_task_context, watch_here,
};
use motet_sync::{Mutex, renew_waker};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// The future of [`Port::recv`].
#[must_use = "a receive that is not awaited receives nothing"]
pub struct Recv<'a, T: Send + 'static> {
    port: &'a Port<T>,
    turn: RecvState<T>,
}

/// What a future needs to wait at a port, wherever it has the port.
pub(crate) struct RecvState<T: Send + 'static> {
    /// There from the first time nothing was waiting.
    waits: Option<Arc<Waiting<T>>>,
    created: &'static Location<'static>,
}

/// What a waiting future leaves at its port. Millions may: with the counts of its `Arc` it has 56 bytes,
/// which with the allocator's word makes a chunk of 64.
struct Waiting<T: Send + 'static> {
    port: Weak<PortCore<T>>,
    /// Whether the item is taken out of the port.
    takes: bool,
    stage: Mutex<Stage<T>>,
}

/// How far a wait is: who ends it has decided it. As large as a waker: more variants would not fit.
enum Stage<T: Send + 'static> {
    Waits(Waker),
    /// With an item when the port has chosen this receive. Without one when that has been taken out, the item
    /// was to be looked at only, the port has ended, or the future gave up.
    Ended(Option<ItemBox<T>>),
}

/// # Waiting
impl<T: Send + 'static> Port<T> {
    /// Waits for an item and takes it. The item's causalities become active in the async task that
    /// awaits it, beside its own; [`Causality::scoped`] keeps them to a part of the task. Awaited receives get items in the order in which they began
    /// to wait, and take their turn among the other receivers. At a port that may be
    /// [closed](Port::close), await [`Recv::or_closed`].
    ///
    /// # Cancellation
    /// Dropping the future gives up the wait; an item that was already meant for it goes back to
    /// the front of the port.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, Inline, spawn};
    /// use motet_ports::Port;
    ///
    /// let (asks, answers) = (Port::new(), Port::new());
    /// let (ask, answer) = (asks.clone(), answers.clone());
    /// spawn(&Inline::new("here").handle(), async move {
    ///     let n: u32 = ask.recv().await;
    ///     answer.post(n + 1).unwrap();
    /// }).unwrap();
    /// asks.post(41).unwrap();
    /// assert_eq!(answers.test(), Some(42));
    /// ```
    #[track_caller]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv {
            port: self,
            turn: RecvState::new(),
        }
    }
}

impl<'a, T: Send + 'static> Recv<'a, T> {
    /// Gives up the wait when an active causality is cancelled. An item that is there already is
    /// received all the same.
    ///
    /// # Errors
    /// Which causality was cancelled, and why. No item has been taken then.
    ///
    /// # Cancellation
    /// As [`Port::recv`].
    ///
    /// ```
    /// use motet_dispatch::{Causality, Inline, spawn, Enqueue};
    /// use motet_ports::Port;
    ///
    /// let (parts, given_up) = (Port::<u32>::new(), Port::new());
    /// let order = Causality::new("order 17");
    /// let (wait, tell) = (parts.clone(), given_up.clone());
    /// order.run(|| spawn(&Inline::new("here").handle(), async move {
    ///     tell.post(wait.recv().or_cancelled().await.is_err()).unwrap();
    /// })).unwrap();
    /// assert_eq!(given_up.test(), None);
    /// order.cancel("the customer has left");
    /// assert_eq!(given_up.test(), Some(true));
    /// ```
    pub fn or_cancelled(self) -> impl Future<Output = Result<T, Cancelled>> {
        Causality::unless_cancelled(self)
    }

    /// As [`Port::recv`], or the end of the port: it is [closed](Port::close) and empty.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, Inline, spawn};
    /// use motet_ports::Port;
    ///
    /// let (parts, sums) = (Port::<u32>::new(), Port::new());
    /// let (wait, out) = (parts.clone(), sums.clone());
    /// spawn(&Inline::new("here").handle(), async move {
    ///     let mut sum = 0;
    ///     while let Ok(part) = wait.recv().or_closed().await {
    ///         sum += part;
    ///     }
    ///     out.post(sum).unwrap();
    /// }).unwrap();
    /// parts.post(6).unwrap();
    /// parts.close();
    /// assert_eq!(sums.test(), Some(6));
    /// ```
    pub fn or_closed(self) -> OrClosed<Recv<'a, T>> {
        OrClosed(self)
    }
}

impl<T: Send + 'static> Future for Recv<'_, T> {
    type Output = T;

    /// # Panics
    /// At the end of a closed port: await [`Recv::or_closed`] where that may come.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let result = self.poll_result(cx);
        result.map(|item| item.unwrap_or_else(|| ended("recv")))
    }
}

impl<T: Send + 'static> MayEnd for Recv<'_, T> {
    type Result = T;

    #[inline]
    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.turn.take(self.port, cx)
    }
}

impl<T: Send + 'static> Drop for Recv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.turn.give_up(self.port);
    }
}

impl<T: Send + 'static> RecvState<T> {
    #[inline]
    #[track_caller]
    pub(crate) fn new() -> Self {
        RecvState {
            waits: None,
            created: Location::caller(),
        }
    }

    /// Takes the oldest item, as soon as there is one; `None` at the end. After that it begins anew.
    #[inline]
    pub(crate) fn take(&mut self, port: &Port<T>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if self.waits.is_some() {
            return self.take_after_wait(cx);
        }
        if let Some((item, causalities)) = port.core().pop_bare() {
            adopt(&causalities, cx);
            return Poll::Ready(Some(item));
        }
        match port.core().take_or_wait(&mut self.waits, cx) {
            Some(parcel) => Poll::Ready(Some(received(parcel, cx))),
            None if self.waits.is_none() => Poll::Ready(None),
            None => self.noted(),
        }
    }

    fn take_after_wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(Poll::Ready(parcel)) = self.waits.as_ref().map(|waiting| waiting.look(cx)) else {
            return Poll::Pending;
        };
        self.waits = None;
        Poll::Ready(parcel.map(|parcel| received(parcel, cx)))
    }

    /// Waits until there is an item, and leaves it there.
    pub(crate) fn look(&mut self, port: &Port<T>, cx: &mut Context<'_>) -> Poll<()> {
        if self.waits.is_none() && port.item_count() > 0 {
            return Poll::Ready(());
        }
        let begins = self.waits.is_none();
        let waiting = self.waits.get_or_insert_with(|| {
            let waiting = Waiting::new(port.core(), false, cx);
            // An item that was posted since the last look is offered, and seen, here.
            let receiver = Arc::clone(&waiting) as Arc<dyn Receiver<T>>;
            port.register(receiver);
            waiting
        });
        match waiting.look(cx) {
            Poll::Ready(_nothing) => {
                self.waits = None;
                Poll::Ready(())
            }
            Poll::Pending if begins => self.noted(),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The wait that has just begun can be listed.
    fn noted<R>(&self) -> Poll<R> {
        if let Some(waiting) = &self.waits {
            watch_here(Arc::downgrade(waiting) as Weak<dyn Waiter>, self.created);
        }
        Poll::Pending
    }

    /// Ends the wait; an item that was meant for it goes back to the front of the port.
    #[inline]
    pub(crate) fn give_up(&mut self, port: &Port<T>) {
        if let Some(waits) = self.waits.take() {
            let port = Port::clone(port);
            predicate::outside(move || waits.give_up(&port));
        }
    }
}

impl<T: Send + 'static> PortCore<T> {
    /// Takes the oldest item; else a wait begins in the same step, if the port is open: what comes finds it.
    fn take_or_wait(
        self: &Arc<Self>,
        waits: &mut Option<Arc<Waiting<T>>>,
        cx: &Context<'_>,
    ) -> Option<ItemBox<T>> {
        // An item that waits is taken under the port's own lock: only a wait that begins is for joins to see.
        if self.has_domain()
            && let Some(parcel) = self.pop()
        {
            return Some(parcel);
        }
        let mut deferred = Deferred::default();
        let taken = self.locked(|state| {
            let taken = state.pop();
            if taken.is_some() {
                state.let_in_later(&mut deferred);
            } else if !self.is_closed() {
                let waiting = waits.insert(Waiting::new(self, true, cx));
                state.push_receiver(Arc::clone(waiting) as Arc<dyn Receiver<T>>);
            }
            taken
        });
        deferred.carry_out();
        taken
    }
}

/// The item; what it carried becomes active in the task that gets it.
#[inline]
fn received<T: Send + 'static>(parcel: ItemBox<T>, cx: &Context<'_>) -> T {
    let (delivery, causalities) = parcel.into_parts();
    adopt(&causalities, cx);
    delivery.item
}

/// Takes the oldest item, if there is one, as a receive does.
pub(crate) fn take<T: Send + 'static>(port: &Port<T>, cx: &Context<'_>) -> Option<T> {
    if let Some((item, causalities)) = port.core().pop_bare() {
        adopt(&causalities, cx);
        return Some(item);
    }
    Some(received(port.core().pop()?, cx))
}

/// They become active in the task that is polled. Another executor's threads are left alone: what is
/// active there would go on to whatever they poll next.
#[inline]
pub(crate) fn adopt(causalities: &Causalities, cx: &Context<'_>) {
    if !causalities.is_empty() && is_task_context(cx) {
        causalities.add();
    }
}

impl<T: Send + 'static> Waiting<T> {
    fn new(port: &Arc<PortCore<T>>, takes: bool, cx: &Context<'_>) -> Arc<Self> {
        Arc::new(Waiting {
            port: Arc::downgrade(port),
            takes,
            stage: Mutex::new(Stage::Waits(cx.waker().clone())),
        })
    }

    /// What has come of it, with the item that it takes. While nothing has, `cx` will be woken.
    fn look(&self, cx: &Context<'_>) -> Poll<Option<ItemBox<T>>> {
        let mut stage = self.stage.lock();
        match &mut *stage {
            Stage::Waits(waker) => {
                let before = renew_waker(waker, cx.waker());
                drop((stage, before));
                Poll::Pending
            }
            Stage::Ended(parcel) => Poll::Ready(parcel.take()),
        }
    }

    /// Ends the wait; an item that was meant for it goes back to the front of the port.
    #[cold]
    fn give_up(self: &Arc<Self>, port: &Port<T>) {
        let stage = mem::replace(&mut *self.stage.lock(), Stage::Ended(None));
        match stage {
            Stage::Waits(_) => _ = port.unregister(&(Arc::clone(self) as Arc<dyn Receiver<T>>)),
            Stage::Ended(Some(parcel)) => port.core().put_back(parcel),
            Stage::Ended(None) => (),
        }
    }
}

impl<T: Send + 'static> Receiver<T> for Waiting<T> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        offer.leave_port();
        let mut stage = self.stage.lock();
        if !matches!(*stage, Stage::Waits(_)) {
            return Verdict::Reject;
        }
        let parcel = self.takes.then(|| offer.take());
        let verdict = offer.verdict();
        if let Stage::Waits(waker) = mem::replace(&mut *stage, Stage::Ended(parcel)) {
            offer.wake(waker);
        }
        verdict
    }

    fn ended(&self) {
        let waited = {
            let mut stage = self.stage.lock();
            let waits = matches!(*stage, Stage::Waits(_));
            waits.then(|| mem::replace(&mut *stage, Stage::Ended(None)))
        };
        if let Some(Stage::Waits(waker)) = waited {
            waker.wake();
        }
    }

    fn describe(&self) -> Cow<'static, str> {
        Cow::Borrowed(if self.takes {
            "awaited receive"
        } else {
            "awaited look"
        })
    }
}

impl<T: Send + 'static> Waiter for Waiting<T> {
    fn awaits(&self) -> Option<Awaited> {
        let waits = matches!(*self.stage.lock(), Stage::Waits(_));
        waits.then(|| Awaited {
            who: if self.takes { "recv" } else { "ready" },
            queue: None,
            parts: vec![WaitPart {
                port: label(&self.port),
                there: self.port.upgrade().map_or(0, |port| port.item_count()),
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = match &*self.stage.lock() {
            Stage::Waits(waker) => Some(waker.clone()),
            Stage::Ended(_) => None,
        };
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_receive_fits_a_chunk_of_64_bytes() {
        // Beside it: two counts, and the allocator's word.
        let word = size_of::<usize>();
        assert!(size_of::<Waiting<u64>>() + 3 * word <= 64);
        assert!(size_of::<Waiting<[u64; 100]>>() + 3 * word <= 64);
    }
}
