//! A port that other nodes take items from: the side of its owner.
//!
//! ```text
//!   taker: Ready ──► waits here until the port has so many items
//!          Reserve ─► they leave the port, and are kept for the taker
//!          Settle ──► they are taken; or they go back to the front of their port
//! ```
//!
//! What is kept for a node that does not come back goes to the front of the port again.

mod asking;
mod handle;
mod names;
mod taken;

pub(crate) use names::exported_as;

use crate::calling::Server;
use crate::calls::Request;
use crate::core::{CHANGES, Core};
use crate::flow::Hub;
use crate::frame::{MAX_ANSWER, encode};
use crate::held::HeldItems;
use crate::peers::PeerChange;
use crate::{Key, MeshError, PeerName};
use motet_dispatch::Causality;
use motet_ports::Port;
use motet_sync::Mutex;
use names::ExportedName;
use serde::{Deserialize, Serialize};
use std::any::type_name;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use taken::TakenTickets;

/// How long a taker tries to say that it took an item.
pub(crate) const KEEP: Duration = Duration::from_secs(30);

/// How long an item is kept for a taker: longer than that tries.
const KEPT: Duration = Duration::from_secs(60);

/// A number that no other reservation has: the taker's incarnation, and a count.
pub(crate) type Ticket = (u64, u64);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ExportRequest {
    /// Tell when the port has so many items.
    Ready {
        type_name: String,
        count: u64,
    },
    Reserve {
        ticket: Ticket,
        count: u64,
    },
    Settle {
        ticket: Ticket,
        take: bool,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ExportAnswer {
    /// The port has the items; the key that reservations go to.
    Ready(String),
    /// Each of the items.
    Reserved(Vec<Vec<u8>>),
    /// There are fewer items.
    Empty,
    /// Whether the items are the taker's now.
    Settled(bool),
    /// The port is closed and has fewer, and nothing comes any more.
    Closed,
    /// The port may hold so many, which are fewer.
    TooMany(u64),
    /// Too many requests of the taker's node wait at the port: it is to ask again later.
    Busy,
}

/// Exports a port to other nodes, until it is dropped. What is reserved then goes back.
pub struct PortExport {
    key: Key,
    requests: Port<Request<ExportRequest, ExportAnswer>>,
    end: Arc<dyn Fn() + Send + Sync>,
    _servers: [Server; 2],
    _name: ExportedName,
}

struct ExportedPort<T: Send + 'static> {
    port: Port<T>,
    /// The key that reservations go to.
    own: String,
    core: std::sync::Weak<Core>,
    state: Mutex<State<T>>,
    /// Told when somebody asks for fewer items, or for more, than all who are waited for.
    counts_change: Port<()>,
    /// Closed when the port is exported no longer.
    over: Port<()>,
}

struct State<T: Send + 'static> {
    /// Items that are kept for a taker.
    reserved: BTreeMap<(PeerName, Ticket), KeptItems<T>>,
    /// How many have been kept so far.
    count: u64,
    taken: TakenTickets,
    /// Those who wait for items, and for how many.
    asking: Vec<(usize, Request<ExportRequest, ExportAnswer>)>,
    /// A task waits on their behalf: for those who want so many items, from the fewest to the most.
    watched: Option<(usize, usize)>,
    /// A timer looks for items that are kept for too long.
    sweeping: bool,
    /// The port is exported no longer: nothing is kept, and nobody waits.
    ended: bool,
}

/// Items that are kept for a taker.
struct KeptItems<T: Send + 'static> {
    since: Instant,
    /// How many times items were kept before these.
    number: u64,
    items: HeldItems<T>,
}

/// Why a taker that waits for items gets none.
const ENDED: &str = "the port is exported no longer";

impl Core {
    pub(crate) fn export<T: Serialize + Send + 'static>(
        self: &Arc<Self>,
        key: Key,
        port: &Port<T>,
    ) -> Result<PortExport, MeshError> {
        let requests = Port::new();
        let id = self.change(|state| state.new_number());
        let own = format!("{}/{:x}-{id}", served(&key), self.incarnation());
        let servers = [
            self.serve(Key::plain(&served(&key))?, &requests)?,
            self.serve(Key::plain(&own)?, &requests)?,
        ];
        let exported = Arc::new(ExportedPort {
            port: port.clone(),
            own,
            core: Arc::downgrade(self),
            state: Mutex::new(State {
                reserved: BTreeMap::new(),
                count: 0,
                taken: TakenTickets::default(),
                asking: Vec::new(),
                watched: None,
                sweeping: false,
                ended: false,
            }),
            counts_change: Port::new(),
            over: Port::new(),
        });
        let (asked, answers) = (requests.clone(), Arc::clone(&exported));
        self.spawn(Box::pin(async move {
            while let Ok(request) = asked.recv().or_closed().await {
                // An item that goes back is not the taker's.
                Causality::clear();
                answers.answer(request);
            }
        }));
        let (capacity, overflow) = CHANGES;
        let changes = self.changes.subscribe(capacity, overflow);
        let (watcher, over) = (Arc::downgrade(&exported), exported.over.clone());
        self.spawn(Box::pin(async move {
            while let Some(Ok(change)) = unless_over(&over, changes.recv().or_closed()).await {
                let Some(exported) = watcher.upgrade() else {
                    return;
                };
                exported.on_change(&change);
            }
        }));
        Ok(PortExport {
            _name: ExportedName::new(port.id(), &key.to_string()),
            key,
            requests,
            end: Arc::new(move || exported.end()),
            _servers: servers,
        })
    }
}

/// What is awaited; `None`: the port is exported no longer before that.
async fn unless_over<R>(over: &Port<()>, awaited: impl Future<Output = R>) -> Option<R> {
    let mut over = pin!(over.ready().or_closed());
    let mut awaited = pin!(awaited);
    poll_fn(|context| match over.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => awaited.as_mut().poll(context).map(Some),
    })
    .await
}

/// The key under which a port is asked for.
pub(crate) fn served(key: &Key) -> String {
    format!("{key}/.port")
}

/// Items as they go over a link, in an answer of at most so many bytes.
fn encode_all<T: Serialize>(items: &[T], most: usize) -> Result<Vec<Vec<u8>>, String> {
    /// What an answer, and each item, takes beside the bytes: the numbers of their lengths.
    const BESIDE: usize = 16;
    let mut room = most.saturating_sub(BESIDE);
    let write = |item: &T| {
        let bytes = encode(item).map_err(|why| format!("an item cannot be written: {why}"))?;
        let left = room.checked_sub(bytes.len() + BESIDE);
        room = left.ok_or_else(|| {
            let count = items.len();
            format!("{count} items have more than the {most} bytes that go over a link; take fewer")
        })?;
        Ok(bytes)
    };
    items.iter().map(write).collect()
}

impl<T: Serialize + Send + 'static> ExportedPort<T> {
    fn answer(self: &Arc<Self>, request: Request<ExportRequest, ExportAnswer>) {
        match request.value.clone() {
            ExportRequest::Ready {
                type_name: wanted, ..
            } if wanted != type_name::<T>() => {
                request.refuse(format!("the port has items of type {}", type_name::<T>()));
            }
            ExportRequest::Ready { count, .. } => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let bound = self.port.capacity().filter(|bound| *bound < count);
                if let Some(bound) = bound {
                    request.answer(&ExportAnswer::TooMany(bound as u64));
                } else {
                    self.ask(request, count);
                }
            }
            ExportRequest::Reserve { ticket, count } => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                self.reserve(request, ticket, count.max(1));
            }
            ExportRequest::Settle { ticket, take } => {
                let told = self.settle((request.from.clone(), ticket), take);
                request.answer(&ExportAnswer::Settled(told));
            }
        }
    }

    fn reserve(
        self: &Arc<Self>,
        request: Request<ExportRequest, ExportAnswer>,
        ticket: Ticket,
        count: usize,
    ) {
        let Some(items) = HeldItems::take_out(&self.port, count) else {
            request.answer(&ExportAnswer::Empty);
            return;
        };
        let is_here = (self.core.upgrade()).is_some_and(|core| *core.name() == request.from);
        let most = if is_here { usize::MAX } else { MAX_ANSWER };
        match encode_all(items.items(), most) {
            Ok(bytes) => {
                let is_kept = self.keep((request.from.clone(), ticket), items);
                request.answer(&match is_kept {
                    true => ExportAnswer::Reserved(bytes),
                    false => ExportAnswer::Empty,
                });
            }
            Err(why) => {
                drop(items);
                request.refuse(why);
            }
        }
    }

    /// `false`: the port is exported no longer, and the items are back in it.
    fn keep(self: &Arc<Self>, of: (PeerName, Ticket), items: HeldItems<T>) -> bool {
        let core = self.core.upgrade();
        let mut state = self.state.lock();
        let Some(core) = core.filter(|_| !state.ended) else {
            drop(state);
            drop(items);
            return false;
        };
        let (since, number) = (core.clock().now(), state.count);
        state.count += 1;
        let kept = KeptItems {
            since,
            number,
            items,
        };
        let before = state.reserved.insert(of, kept);
        let begins = !std::mem::replace(&mut state.sweeping, true);
        drop(state);
        // A taker that gives a number twice has items once.
        drop(before);
        if begins {
            self.sweep();
        }
        true
    }

    fn settle(&self, of: (PeerName, Ticket), take: bool) -> bool {
        let mut state = self.state.lock();
        let kept = state.reserved.remove(&of);
        if kept.is_none() || !take {
            let is_taken = state.taken.contains(&of);
            drop(state);
            // Outside of the lock: they go back.
            drop(kept);
            return is_taken;
        }
        state.taken.insert(of);
        drop(state);
        // Outside of the lock: they are the user's.
        drop(kept.map(|kept| kept.items.into_items()));
        true
    }
}

impl<T: Send + 'static> ExportedPort<T> {
    fn on_change(self: &Arc<Self>, change: &PeerChange)
    where
        T: Serialize,
    {
        if let PeerChange::Restarted(peer) = change {
            let core = self.core.upgrade();
            let now = core.and_then(|core| core.incarnation_of(peer));
            self.give_back(|(of, (incarnation, _)), _| of == peer && Some(*incarnation) != now);
        }
    }

    /// Gives back what has been kept for too long: its taker does not come back.
    fn sweep(self: &Arc<Self>)
    where
        T: Serialize,
    {
        let Some(core) = self.core.upgrade() else {
            return self.give_back(|_, _| true);
        };
        let (this, clock) = (Arc::downgrade(self), core.clock());
        // The timer goes when it fires.
        let _timer = core.clock().after(KEPT, move |_| {
            let Some(this) = this.upgrade() else { return };
            let now = clock.now();
            // Nobody can tell a node that is gone that they are taken.
            let is_gone = this.core.strong_count() == 0;
            let is_back = |since| is_gone || now.saturating_duration_since(since) >= KEPT;
            this.give_back(|_, since| is_back(since));
            let mut state = this.state.lock();
            state.sweeping = !state.reserved.is_empty();
            let again = state.sweeping;
            drop(state);
            if again {
                this.sweep();
            }
        });
    }

    fn give_back(&self, which: impl Fn(&(PeerName, Ticket), Instant) -> bool)
    where
        T: Serialize,
    {
        let mut state = self.state.lock();
        let back = state
            .reserved
            .extract_if(.., |of, kept| which(of, kept.since));
        let mut back: Vec<_> = back.map(|(_, kept)| kept).collect();
        drop(state);
        back.sort_unstable_by_key(|kept| kept.number);
        let back = back.into_iter().map(|kept| kept.items);
        HeldItems::put_all_back(&self.port, back.collect());
    }

    /// The port is exported no longer.
    fn end(&self)
    where
        T: Serialize,
    {
        let asking = {
            let mut state = self.state.lock();
            state.ended = true;
            std::mem::take(&mut state.asking)
        };
        self.over.close();
        asking
            .into_iter()
            .for_each(|(_, asking)| asking.refuse(ENDED));
        self.give_back(|_, _| true);
    }
}

#[cfg(test)]
mod tests;
