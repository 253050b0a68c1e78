//! A port of another node: its items are taken over links. See `step.rs` for how a step takes items
//! of several.

use crate::core::Core;
use crate::export::{ExportAnswer, ExportRequest, KEEP, Ticket, served};
use crate::flow::Hub;
use crate::frame::decode;
use crate::step::{StepFuture, StepName, StepPart, in_time};
use crate::taking::{TakePart, take_all};
use crate::{CallError, Key, TakeError};
use motet_dispatch::Causality;
use motet_ports::timer;
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// How long until an owner whose link is broken is told again.
const AGAIN: Duration = Duration::from_millis(50);
/// How long until a port is asked again at which too many requests of this node wait.
const LATER: Duration = Duration::from_secs(1);

/// A port that some node [exports](crate::Node::export): items are taken from it wherever it is.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
/// use motet_mesh::{LinkConfig, Node, SimulatedNetwork, take_all};
/// use motet_ports::Port;
/// use std::sync::Arc;
///
/// let replay = Replay::new(7);
/// let network = SimulatedNetwork::new(7, LinkConfig::default(), replay.clock());
/// let node = |name| Node::join(&network.carrier(name), 1, Arc::new(replay.queue(QueueConfig::named(name))));
/// let (left, right, here) = (node("left"), node("right"), node("here"));
/// let (names, ages) = (Port::new(), Port::<u32>::new());
/// let exported = (left.export("names", &names)?, right.export("ages", &ages)?);
/// replay.run();
///
/// let (name, age) = (here.remote_port::<String>("names")?, here.remote_port::<u32>("ages")?);
/// let people = Port::new();
/// let out = people.clone();
/// let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::default()));
/// spawn(&queue, async move {
///     let _ = out.post(take_all((&name, &age)).await.unwrap());
/// })?;
/// names.post("Ada".to_owned())?;
/// replay.run();
/// assert_eq!(names.item_count(), 1, "it waits where it was posted");
/// ages.post(36)?;
/// replay.run();
/// assert_eq!(people.test(), Some(("Ada".to_owned(), 36)));
/// # drop(exported);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RemotePort<T> {
    core: Arc<Core>,
    key: Key,
    item: PhantomData<fn() -> T>,
}

/// Several items of a [`RemotePort`], made by [`RemotePort::times`]: a step gives them as a `Vec`.
pub struct RemoteBatch<'a, T> {
    port: &'a RemotePort<T>,
    count: usize,
}

/// Items of a port of some node. Dropped, it gives back what it has reserved.
#[doc(hidden)]
pub struct RemotePart<T> {
    from: AskedPort,
    /// The key that reservations go to.
    own: String,
    /// Each item in bytes.
    reserved: Option<(Reservation, Vec<Vec<u8>>)>,
    items: Vec<T>,
}

/// A port of some node, and how many of its items are wanted.
struct AskedPort {
    core: Arc<Core>,
    key: String,
    ask: String,
    type_name: &'static str,
    count: usize,
}

/// Items that are reserved, or may be. Dropped, they go back.
struct Reservation {
    core: Arc<Core>,
    /// The key of the port, and the one that reservations go to.
    key: String,
    own: String,
    ticket: Ticket,
    open: bool,
}

impl<T: DeserializeOwned> RemotePort<T> {
    pub(crate) fn new(core: &Arc<Core>, key: Key) -> Self {
        RemotePort {
            core: Arc::clone(core),
            key,
            item: PhantomData,
        }
    }

    /// The key of the port.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// A part of a step that takes `count` items, once there are so many, in their order; see
    /// [`take_all`]. A bounded port must have room for them: else this is
    /// [`TakeError::TooMany`]. They must fit a frame together.
    ///
    /// # Panics
    /// When `count` is 0.
    #[must_use]
    pub fn times(&self, count: usize) -> RemoteBatch<'_, T> {
        assert!(count > 0, "a part takes at least one item at a time");
        RemoteBatch { port: self, count }
    }

    fn part(&self, count: usize) -> RemotePart<T> {
        RemotePart {
            from: AskedPort {
                core: Arc::clone(&self.core),
                key: self.key.to_string(),
                ask: served(&self.key),
                type_name: type_name::<T>(),
                count,
            },
            own: String::new(),
            reserved: None,
            items: Vec::new(),
        }
    }
}

impl<T: DeserializeOwned + Send> RemotePort<T> {
    /// Takes an item, once there is one.
    ///
    /// # Cancellation
    /// Dropping the future takes nothing: what was reserved goes back to its port.
    ///
    /// # Errors
    /// [`TakeError`].
    pub async fn recv(&self) -> Result<T, TakeError> {
        let (item,) = take_all((self,)).await?;
        Ok(item)
    }
}

impl<T: DeserializeOwned + Send> StepPart for RemotePart<T> {
    fn name(&self) -> StepName {
        StepName::Key(self.from.key.clone())
    }

    fn ready(&mut self) -> StepFuture<'_, Result<(), TakeError>> {
        Box::pin(async move {
            self.own = self.from.ready().await?;
            Ok(())
        })
    }

    fn reserve(&mut self) -> StepFuture<'_, Result<bool, TakeError>> {
        Box::pin(async move {
            self.reserved = self.from.reserve(self.own.clone()).await?;
            Ok(self.reserved.is_some())
        })
    }

    fn give_back(&mut self) -> StepFuture<'_, ()> {
        let reserved = self.reserved.take();
        Box::pin(async move {
            if let Some((held, _)) = reserved {
                held.give_back().await;
            }
        })
    }

    fn take(&mut self) -> StepFuture<'_, Result<(), TakeError>> {
        let reserved = self.reserved.take();
        Box::pin(async move {
            let Some((held, all)) = reserved else {
                return Ok(());
            };
            held.take().await?;
            for bytes in &all {
                self.items.push(self.from.read(bytes)?);
            }
            Ok(())
        })
    }
}

impl<T: DeserializeOwned + Send> TakePart for &RemotePort<T> {
    type Given = T;
    type Step = RemotePart<T>;

    fn into_step(self) -> RemotePart<T> {
        self.part(1)
    }

    fn given(mut step: RemotePart<T>) -> Option<T> {
        step.items.pop()
    }
}

impl<T: DeserializeOwned + Send> TakePart for RemoteBatch<'_, T> {
    type Given = Vec<T>;
    type Step = RemotePart<T>;

    fn into_step(self) -> RemotePart<T> {
        self.port.part(self.count)
    }

    fn given(mut step: RemotePart<T>) -> Option<Vec<T>> {
        Some(mem::take(&mut step.items))
    }
}

impl AskedPort {
    /// Waits until the port has so many items: the key that reservations go to.
    async fn ready(&self) -> Result<String, TakeError> {
        let type_name = self.type_name.to_owned();
        let count = self.count as u64;
        let ready = ExportRequest::Ready { type_name, count };
        let mut told = self.call(&self.ask, &ready).await?;
        while let ExportAnswer::Busy = told {
            timer::sleep(LATER).await;
            told = self.call(&self.ask, &ready).await?;
        }
        match told {
            // Else the owner would choose whom this node calls: it may do more than the owner may.
            ExportAnswer::Ready(own) if is_below(&own, &self.ask) => Ok(own),
            ExportAnswer::Closed => Err(TakeError::Closed(self.key.clone())),
            ExportAnswer::TooMany(bound) => Err(TakeError::TooMany {
                port: self.key.clone(),
                count: self.count,
                bound: usize::try_from(bound).unwrap_or(usize::MAX),
            }),
            told => Err(self.odd(&told)),
        }
    }

    /// Items of the port that are kept for this node, if there still are so many.
    async fn reserve(&self, own: String) -> Result<Option<(Reservation, Vec<Vec<u8>>)>, TakeError> {
        let number = self.core.change(|state| state.new_number());
        let ticket = (self.core.incarnation(), number);
        // Before the call: if this is dropped, the reservation goes.
        let mut held = Reservation {
            core: Arc::clone(&self.core),
            key: self.key.clone(),
            own,
            ticket,
            open: true,
        };
        let count = self.count as u64;
        match self
            .call(&held.own, &ExportRequest::Reserve { ticket, count })
            .await?
        {
            ExportAnswer::Reserved(all) if all.len() == self.count => Ok(Some((held, all))),
            ExportAnswer::Empty => {
                held.open = false;
                Ok(None)
            }
            told => Err(self.odd(&told)),
        }
    }

    async fn call(&self, to: &str, ask: &ExportRequest) -> Result<ExportAnswer, TakeError> {
        let told = call(&self.core, to, ask).await;
        told.map_err(|error| TakeError::Call(self.key.clone(), error))
    }

    fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, TakeError> {
        let read = decode(bytes);
        read.map_err(|why| TakeError::Unreadable(self.key.clone(), why.to_string()))
    }

    fn odd(&self, told: &ExportAnswer) -> TakeError {
        let why = format!("the owner of the port answered {told:?}");
        TakeError::Call(self.key.clone(), CallError::Unreadable(why))
    }
}

/// Whether a key is another one with more parts.
fn is_below(key: &str, other: &str) -> bool {
    let rest = key.strip_prefix(other);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

async fn call(core: &Arc<Core>, to: &str, ask: &ExportRequest) -> Result<ExportAnswer, CallError> {
    Arc::clone(core).call((Key::plain(to)?, None), ask).await
}

impl Reservation {
    /// Tells the owner that the items are taken; over a new link, if this one breaks.
    async fn take(mut self) -> Result<(), TakeError> {
        self.open = false;
        match settle(&self.core, &self.own, self.ticket, true).await {
            Some(Ok(ExportAnswer::Settled(true))) => Ok(()),
            Some(Ok(ExportAnswer::Settled(false))) => Err(TakeError::Withdrawn(self.key.clone())),
            // The owner may have heard it before it left.
            Some(Err(CallError::Failed(_)) | Ok(_)) | None => {
                Err(TakeError::InDoubt(self.key.clone()))
            }
            Some(Err(error)) => Err(TakeError::Call(self.key.clone(), error)),
        }
    }

    async fn give_back(mut self) {
        // Without an answer the owner takes it back by itself, later.
        let _ = settle(&self.core, &self.own, self.ticket, false).await;
        // Dropped before, it tells the owner again.
        self.open = false;
    }
}

/// Tells the owner of a reservation what becomes of it, until it answers. `None`: it does not in
/// time, be its link broken or not.
async fn settle(
    core: &Arc<Core>,
    own: &str,
    ticket: Ticket,
    take: bool,
) -> Option<Result<ExportAnswer, CallError>> {
    in_time(KEEP, until_answered(core, own, ticket, take)).await
}

async fn until_answered(
    core: &Arc<Core>,
    own: &str,
    ticket: Ticket,
    take: bool,
) -> Result<ExportAnswer, CallError> {
    loop {
        // What becomes of a reservation is no longer the caller's to cancel.
        let told = Causality::scoped(async {
            Causality::clear();
            call(core, own, &ExportRequest::Settle { ticket, take }).await
        });
        match told.await {
            Err(CallError::Lost { .. } | CallError::NoResponder { .. }) => {
                timer::sleep(AGAIN).await;
            }
            other => return other,
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let (core, own, ticket) = (Arc::clone(&self.core), self.own.clone(), self.ticket);
        let back = Box::pin(async move {
            // Without an answer the owner takes it back by itself, later.
            let _ = settle(&core, &own, ticket, false).await;
        });
        self.core.spawn(back);
    }
}

impl<T> fmt::Debug for RemotePort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemotePort")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for RemoteBatch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteBatch")
            .field("port", &self.port)
            .field("count", &self.count)
            .finish()
    }
}

impl<T> fmt::Debug for RemotePart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemotePart")
            .field("key", &self.from.key)
            .field("count", &self.from.count)
            .finish_non_exhaustive()
    }
}
