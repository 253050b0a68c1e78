//! Posting that waits for room: in the port, or in the queue of the receiver that wants the item.

use super::state::{PortState, Refusal};
use super::{Port, PortCore, PortOf, label};
use crate::deferred::Deferred;
use crate::delivery::{ItemBox, ItemDelivery, item_of};
use crate::predicate;
use crate::stamps::ItemEntry;
use crate::{PostError, PostRefusal};
use motet_dispatch::{
    Awaited, BoxList, ClaimedRoom, InsideTask, QueueError, RoomLine, RoomWait, WaitPart, Waiter,
    watch_here,
};
use motet_sync::{Mutex, renew_waker};
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// The future of [`Port::post_wait`].
pub struct PostWait<T: Send + 'static> {
    port: Port<T>,
    stage: Stage<T>,
    created: &'static Location<'static>,
}

enum Stage<T: Send + 'static> {
    /// The item has not been offered yet.
    New(ItemBox<T>),
    /// The port is full; the item is in its line.
    AtPort(Arc<Poster<T>>),
    /// The queue of the receiver that wants it has no room.
    AtQueue(ItemBox<T>, RoomWait),
    Ended,
}

/// Someone in the line of a full port.
pub(super) struct Poster<T: Send + 'static> {
    port: Weak<dyn PortOf<T>>,
    slot: Mutex<WaitingItem<T>>,
}

struct WaitingItem<T: Send + 'static> {
    /// One parcel, or none once it has been let in, under the port's lock. It is a list, because
    /// items may hold ports of their own type. The compiler cannot work out a port that holds a
    /// `TaskBox` of its items.
    parcel: BoxList<ItemDelivery<T>>,
    waker: Waker,
}

/// What came of offering an item.
enum Outcome<T: Send + 'static> {
    Posted,
    AtPort(Arc<Poster<T>>),
    /// With the line in which the poster may wait for room in the queue of the receiver that wanted
    /// the item.
    Refused(Refusal<T>, Option<RoomLine>),
}

/// # Waiting for room
impl<T: Send + 'static> Port<T> {
    /// Posts `item`, once there is room. That is room in this port, if it is full and its overflow
    /// policy is [`Wait`](crate::Overflow::Wait). Or it is room in the queue of the receiver that
    /// wants the item, if it throttles. First come, first served, in both. Holds no thread.
    ///
    /// # Cancellation
    /// Dropping the future drops the item, if it still waits for room; else it is posted already.
    /// [`PostWait::into_item`] gives it back.
    ///
    /// # Errors
    /// [`PostError`] as [`Port::post`], from ports and queues that let nobody wait.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, Inline, spawn};
    /// use motet_ports::{Overflow, Port};
    ///
    /// let port = Port::bounded(2, Overflow::Wait);
    /// let poster = port.clone();
    /// spawn(&Inline::new("here").handle(), async move {
    ///     for n in 0..5 {
    ///         poster.post_wait(n).await.unwrap();
    ///     }
    /// }).unwrap();
    /// assert_eq!(port.items(), [0, 1], "the third waits");
    /// let taken: Vec<_> = std::iter::from_fn(|| port.test()).collect();
    /// assert_eq!(taken, [0, 1, 2, 3, 4]);
    /// ```
    #[must_use = "a post that is not awaited posts nothing"]
    #[track_caller]
    pub fn post_wait(&self, item: T) -> PostWait<T> {
        PostWait {
            port: self.clone(),
            stage: Stage::New(self.core.parcel(item)),
            created: Location::caller(),
        }
    }

    /// Like [`Port::post_wait`], for a thread that runs no task, which sleeps until there is room.
    ///
    /// # Errors
    /// As there; and [`InsideTask`] when there is no room now and the calling thread runs a
    /// task.
    pub fn post_blocking(&self, item: T) -> Result<(), PostError<T>> {
        if !motet_dispatch::inside_task() {
            return motet_sync::block_on(self.post_wait(item));
        }
        self.post(item).map_err(|refused| match refused.reason {
            PostRefusal::PortFull
            | PostRefusal::Queue(QueueError::Full | QueueError::RateExceeded) => PostError {
                reason: InsideTask.into(),
                ..refused
            },
            _ => refused,
        })
    }
}

impl<T: Send + 'static> PostWait<T> {
    /// Gives the wait up and the item back; `None` when it has been posted or handed back.
    #[must_use]
    pub fn into_item(mut self) -> Option<T> {
        let parcel = self.take_parcel();
        parcel.map(item_of)
    }

    fn take_parcel(&mut self) -> Option<ItemBox<T>> {
        match mem::replace(&mut self.stage, Stage::Ended) {
            Stage::New(parcel) | Stage::AtQueue(parcel, _) => Some(parcel),
            Stage::AtPort(poster) => self.port.core.give_up(&poster),
            Stage::Ended => None,
        }
    }

    /// Offers the item; `room` has been granted by the queue that refused it before.
    fn offer(
        &mut self,
        parcel: ItemBox<T>,
        room: Option<ClaimedRoom>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), PostError<T>>> {
        match self.port.core.place_or_wait(parcel, room, cx.waker()) {
            Outcome::Posted => return Poll::Ready(Ok(())),
            Outcome::AtPort(poster) => {
                watch_here(Arc::downgrade(&poster) as Weak<dyn Waiter>, self.created);
                self.stage = Stage::AtPort(poster);
            }
            Outcome::Refused(refusal, line) => {
                let Some(line) = line else {
                    return Poll::Ready(Err(refusal.into_error()));
                };
                let wait = line.wait().listed(Some(("post_wait", self.created)));
                self.stage = Stage::AtQueue(refusal.parcel, wait);
            }
        }
        Poll::Pending
    }
}

impl<T: Send + 'static> Future for PostWait<T> {
    type Output = Result<(), PostError<T>>;

    /// # Panics
    /// When the future has ended.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let offered = match mem::replace(&mut this.stage, Stage::Ended) {
                Stage::Ended => panic!("an ended future is not polled"),
                Stage::New(parcel) => this.offer(parcel, None, cx),
                Stage::AtPort(poster) => {
                    if !poster.waits(cx) {
                        return Poll::Ready(Ok(()));
                    }
                    if !this.port.is_closed() {
                        this.stage = Stage::AtPort(poster);
                        return Poll::Pending;
                    }
                    let parcel = this.port.core.give_up(&poster);
                    return Poll::Ready(parcel.map_or(Ok(()), |parcel| {
                        let reason = PostRefusal::Closed;
                        Err(Refusal { parcel, reason }.into_error())
                    }));
                }
                Stage::AtQueue(parcel, mut wait) => match Pin::new(&mut wait).poll(cx) {
                    // A queue that was stopped has lost its receiver: the item is offered to
                    // others.
                    Poll::Ready(granted) => this.offer(parcel, granted.ok(), cx),
                    Poll::Pending => {
                        this.stage = Stage::AtQueue(parcel, wait);
                        return Poll::Pending;
                    }
                },
            };
            if offered.is_ready() || matches!(this.stage, Stage::AtPort(_)) {
                return offered;
            }
        }
    }
}

/// Nothing of it is pinned: the item is in a node of its own.
impl<T: Send + 'static> Unpin for PostWait<T> {}

impl<T: Send + 'static> Drop for PostWait<T> {
    fn drop(&mut self) {
        if let Stage::AtPort(poster) = mem::replace(&mut self.stage, Stage::Ended) {
            let port = self.port.clone();
            predicate::outside(move || drop(port.core.give_up(&poster)));
        }
    }
}

impl<T: Send + 'static> Poster<T> {
    /// Takes the item, and wakes whoever waits once the port is unlocked.
    pub(super) fn let_in(&self, deferred: &mut Deferred) -> Option<ItemBox<T>> {
        let mut slot = self.slot.lock();
        deferred.wake(slot.waker.clone());
        slot.parcel.pop_front()
    }

    /// Wakes whoever waits once the port is unlocked: it is closed.
    pub(super) fn wake(&self, deferred: &mut Deferred) {
        deferred.wake(self.slot.lock().waker.clone());
    }

    /// Whether the item still waits; then `cx` is woken when it is let in.
    fn waits(&self, cx: &Context<'_>) -> bool {
        let mut slot = self.slot.lock();
        let before = renew_waker(&mut slot.waker, cx.waker());
        let waits = !slot.parcel.is_empty();
        drop(slot);
        drop(before);
        waits
    }
}

impl<T: Send + 'static> Waiter for Poster<T> {
    fn awaits(&self) -> Option<Awaited> {
        let waits = !self.slot.lock().parcel.is_empty();
        waits.then(|| Awaited {
            who: "post_wait",
            queue: None,
            parts: vec![WaitPart {
                port: format!("room in {}", label(&self.port)),
                there: 0,
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = Some(self.slot.lock().waker.clone());
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> PortCore<T> {
    /// Offers an item; if the port is full it joins the line, if there is one.
    fn place_or_wait(
        &self,
        parcel: ItemBox<T>,
        room: Option<ClaimedRoom>,
        waker: &Waker,
    ) -> Outcome<T> {
        let mut deferred = Deferred::with_room(room);
        let outcome =
            self.locked(
                |state| match state.place(parcel, ItemEntry::Posted, &mut deferred) {
                    Ok(()) => Outcome::Posted,
                    Err(refusal) => state.line_up(refusal, waker, &mut deferred),
                },
            );
        deferred.carry_out();
        outcome
    }

    /// Takes a poster out of the line, with its item if it still waits.
    fn give_up(&self, poster: &Arc<Poster<T>>) -> Option<ItemBox<T>> {
        let mut state = self.state();
        if let Some(bound) = &mut state.bound {
            bound
                .posters_mut()
                .retain(|other| !Arc::ptr_eq(other, poster));
        }
        poster.slot.lock().parcel.pop_front()
    }
}

impl<T: Send + 'static> PortState<T> {
    fn line_up(
        &mut self,
        refusal: Refusal<T>,
        waker: &Waker,
        deferred: &mut Deferred,
    ) -> Outcome<T> {
        match &mut self.bound {
            Some(bound) if refusal.reason == PostRefusal::PortFull && bound.lets_wait() => {
                let mut parcel = BoxList::new();
                parcel.push_back(refusal.parcel);
                let slot = Mutex::new(WaitingItem {
                    parcel,
                    waker: waker.clone(),
                });
                self.turned_away.waits();
                let port = Weak::clone(&self.this);
                let poster = Arc::new(Poster { port, slot });
                bound.posters_mut().push_back(Arc::clone(&poster));
                Outcome::AtPort(poster)
            }
            _ => {
                let full = deferred.take_full();
                let line = full.and_then(|queue| queue.room().filter(RoomLine::throttles));
                if line.is_some() {
                    self.turned_away.waits();
                }
                Outcome::Refused(refusal, line)
            }
        }
    }
}

impl<T: Send + 'static> fmt::Debug for PostWait<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::New(_) => "new",
            Stage::AtPort(_) => "port full",
            Stage::AtQueue(..) => "queue full",
            Stage::Ended => "ended",
        };
        f.debug_struct("PostWait")
            .field("port", &self.port)
            .field("stage", &stage)
            .finish()
    }
}
