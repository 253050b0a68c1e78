//! A port of another node: its items are taken over links, those of several ports all or none.
//!
//! ```text
//!   1. wait until each port has an item      nothing is taken
//!   2. reserve one of each, by the order of their keys; one is missing: all go back, and 1 again
//!   3. tell each owner that its item is taken
//! ```
//!
//! Reservations are made in one order everywhere, and never wait for an item: so they do not wait
//! for each other.

use crate::core::Core;
use crate::export::{ExportAnswer, ExportRequest, KEEP, Ticket, served};
use crate::flow::Hub;
use crate::frame::decode;
use crate::{CallError, Key, TakeError};
use motet_dispatch::{Causalities, Causality};
use motet_ports::timer;
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How long until an owner whose link is broken is told again.
const AGAIN: Duration = Duration::from_millis(50);

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

/// An item that is reserved, or may be. Dropped, it goes back.
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

    fn part(&self) -> Part {
        Part {
            core: Arc::clone(&self.core),
            key: self.key.to_string(),
            ask: served(&self.key),
            type_name: type_name::<T>(),
        }
    }

    fn read(&self, bytes: &[u8]) -> Result<T, TakeError> {
        let key = self.key.to_string();
        decode(bytes).map_err(|why| TakeError::Unreadable(key, why.to_string()))
    }
}

/// Ports of which one item each is taken: references to [`RemotePort`]s, one to six.
pub trait RemoteParts {
    /// An item of each.
    type Items;
    #[doc(hidden)]
    fn parts(&self) -> UntypedParts;
    #[doc(hidden)]
    fn items(&self, bytes: Vec<Vec<u8>>) -> Result<Self::Items, TakeError>;
}

/// What [`RemoteParts`] are without their types.
#[doc(hidden)]
#[derive(Debug)]
pub struct UntypedParts(Vec<Part>);

struct Part {
    core: Arc<Core>,
    key: String,
    ask: String,
    type_name: &'static str,
}

macro_rules! remote_parts {
    ($($item:ident $at:tt),+) => {
        impl<$($item: DeserializeOwned),+> RemoteParts for ($(&RemotePort<$item>,)+) {
            type Items = ($($item,)+);

            fn parts(&self) -> UntypedParts {
                UntypedParts(vec![$(self.$at.part()),+])
            }

            fn items(&self, bytes: Vec<Vec<u8>>) -> Result<Self::Items, TakeError> {
                Ok(($(self.$at.read(&bytes[$at])?,)+))
            }
        }
    };
}

remote_parts!(A 0);
remote_parts!(A 0, B 1);
remote_parts!(A 0, B 1, C 2);
remote_parts!(A 0, B 1, C 2, D 3);
remote_parts!(A 0, B 1, C 2, D 3, E 4);
remote_parts!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Takes an item of each port, once each has one: all or none. While one is missing the others stay
/// in their ports, visible, and others may take them.
///
/// # Cancellation
/// Dropping the future takes nothing, unless owners are being told already that their items are
/// taken.
///
/// # Errors
/// [`TakeError`]. Nothing is taken then, but with the errors that say so: a link may break while
/// owners are told.
pub async fn take_all<P: RemoteParts>(ports: P) -> Result<P::Items, TakeError> {
    let bytes = take(&ports.parts().0).await?;
    ports.items(bytes)
}

/// Takes an item of the first port that has one: its index, and the item. The others keep theirs.
///
/// # Cancellation
/// As [`take_all`].
///
/// # Errors
/// [`TakeError`], of the first port that cannot be asked.
pub async fn take_first<T: DeserializeOwned>(
    ports: &[&RemotePort<T>],
) -> Result<(usize, T), TakeError> {
    let parts: Vec<Part> = ports.iter().map(|port| port.part()).collect();
    if parts.is_empty() {
        return Err(TakeError::Nothing);
    }
    loop {
        let (at, own) = first_ready(&parts).await?;
        if let Some((held, bytes)) = parts[at].reserve(own).await? {
            held.take().await?;
            return Ok((at, ports[at].read(&bytes)?));
        }
    }
}

/// The first of the parts whose port has an item, and the key of its reservations.
async fn first_ready(parts: &[Part]) -> Result<(usize, String), TakeError> {
    let mut waits: Vec<_> = parts.iter().map(|part| Box::pin(part.ready())).collect();
    poll_fn(|context| {
        for (at, wait) in waits.iter_mut().enumerate() {
            if let Poll::Ready(ready) = wait.as_mut().poll(context) {
                return Poll::Ready(ready.map(|own| (at, own)));
            }
        }
        Poll::Pending
    })
    .await
}

/// The bytes of an item of each part, in the order of the parts.
async fn take(parts: &[Part]) -> Result<Vec<Vec<u8>>, TakeError> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|one, other| parts[*one].key.cmp(&parts[*other].key));
    if let Some(two) = order
        .windows(2)
        .find(|two| parts[two[0]].key == parts[two[1]].key)
    {
        return Err(TakeError::Twice(parts[two[0]].key.clone()));
    }
    let held = loop {
        let mut owners = Vec::new();
        for at in &order {
            owners.push(parts[*at].ready().await?);
        }
        let mut held = Vec::new();
        for (at, own) in order.iter().zip(owners) {
            match parts[*at].reserve(own).await? {
                Some(one) => held.push((*at, one)),
                None => break,
            }
        }
        if held.len() == parts.len() {
            break held;
        }
        // Somebody else was faster. What is held goes back, and before this asks again.
        for (_, (one, _)) in held {
            one.give_back().await;
        }
    };
    let mut all = vec![Vec::new(); parts.len()];
    let mut wrong = None;
    for (at, (one, bytes)) in held {
        all[at] = bytes;
        if let Err(error) = one.take().await {
            wrong = wrong.or(Some(error));
        }
    }
    wrong.map_or(Ok(all), Err)
}

impl Part {
    /// Waits until the port has an item: the key that reservations go to.
    async fn ready(&self) -> Result<String, TakeError> {
        let type_name = self.type_name.to_owned();
        match self
            .call(&self.ask, &ExportRequest::Ready { type_name })
            .await?
        {
            // Else the owner would choose whom this node calls: it may do more than the owner may.
            ExportAnswer::Ready(own) if is_below(&own, &self.ask) => Ok(own),
            ExportAnswer::Closed => Err(TakeError::Closed(self.key.clone())),
            told => Err(self.odd(&told)),
        }
    }

    /// An item of the port that is kept for this node, if there still is one.
    async fn reserve(&self, own: String) -> Result<Option<(Reservation, Vec<u8>)>, TakeError> {
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
        match self
            .call(&held.own, &ExportRequest::Reserve(ticket))
            .await?
        {
            ExportAnswer::Reserved(bytes) => Ok(Some((held, bytes))),
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
    /// Tells the owner that the item is taken; over a new link, if this one breaks.
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
        self.open = false;
        // Without an answer the owner takes it back by itself, later.
        let _ = settle(&self.core, &self.own, self.ticket, false).await;
    }
}

/// Tells the owner of a reservation what becomes of it, until it answers. `None`: it does not.
async fn settle(
    core: &Arc<Core>,
    own: &str,
    ticket: Ticket,
    take: bool,
) -> Option<Result<ExportAnswer, CallError>> {
    let mut left = KEEP;
    loop {
        // What becomes of a reservation is no longer the caller's to cancel.
        let told = Causality::scoped(async {
            Causality::clear();
            call(core, own, &ExportRequest::Settle { ticket, take }).await
        });
        match told.await {
            Err(CallError::Lost { .. } | CallError::NoResponder { .. }) => {}
            other => return Some(other),
        }
        if left.is_zero() {
            return None;
        }
        timer::sleep(AGAIN).await;
        left = left.saturating_sub(AGAIN);
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
        Causalities::none().run(|| self.core.spawn(back));
    }
}

impl<T> fmt::Debug for RemotePort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemotePort")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
