//! A port that other nodes take items from: the side of its owner.
//!
//! ```text
//!   taker: Ready ──► waits here until the port has an item
//!          Reserve ─► an item leaves the port, and is kept for the taker
//!          Settle ──► it is taken; or it goes back to the front of its port
//! ```
//!
//! What is kept for a node that does not come back goes to the front of the port again.

mod handle;

use crate::calling::Server;
use crate::calls::Request;
use crate::core::{CHANGES, Core};
use crate::flow::Hub;
use crate::frame::encode;
use crate::peers::PeerChange;
use crate::{Key, MeshError, PeerName};
use motet_dispatch::Causality;
use motet_ports::{Port, PostError};
use motet_sync::Mutex;
use serde::{Deserialize, Serialize};
use std::any::type_name;
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a taker tries to say that it took an item.
pub(crate) const KEEP: Duration = Duration::from_secs(30);

/// How long an item is kept for a taker: longer than that tries.
const KEPT: Duration = Duration::from_secs(60);

/// How many items that were taken are remembered: who asks again hears that it has them.
const REMEMBERED: usize = 1024;

/// A number that no other reservation has: the taker's incarnation, and a count.
pub(crate) type Ticket = (u64, u64);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ExportRequest {
    /// Tell when the port has an item.
    Ready {
        type_name: String,
    },
    Reserve(Ticket),
    Settle {
        ticket: Ticket,
        take: bool,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ExportAnswer {
    /// The port has an item; the key that reservations go to.
    Ready(String),
    Reserved(Vec<u8>),
    /// There is no item any more.
    Empty,
    /// Whether the item is the taker's now.
    Settled(bool),
    /// The port is closed, and nothing comes any more.
    Closed,
}

/// Exports a port to other nodes, until it is dropped. What is reserved then goes back.
pub struct PortExport {
    key: Key,
    requests: Port<Request<ExportRequest, ExportAnswer>>,
    end: Arc<dyn Fn() + Send + Sync>,
    _servers: [Server; 2],
}

struct ExportedPort<T: Send + 'static> {
    port: Port<T>,
    /// The key that reservations go to.
    own: String,
    core: std::sync::Weak<Core>,
    state: Mutex<State<T>>,
    /// Closed when the port is exported no longer.
    over: Port<()>,
}

struct State<T> {
    /// Items that are kept for a taker.
    reserved: BTreeMap<(PeerName, Ticket), KeptItem<T>>,
    /// How many have been kept so far.
    count: u64,
    taken: VecDeque<(PeerName, Ticket)>,
    /// Those who wait for an item.
    asking: Vec<Request<ExportRequest, ExportAnswer>>,
    /// A task waits for an item on their behalf.
    watching: bool,
    /// A timer looks for items that are kept for too long.
    sweeping: bool,
    /// The port is exported no longer: nothing is kept, and nobody waits.
    ended: bool,
}

/// An item that is kept for a taker.
struct KeptItem<T> {
    since: Instant,
    /// How many were kept before it.
    number: u64,
    item: T,
}

/// Why a taker that waits for an item gets none.
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
                taken: VecDeque::new(),
                asking: Vec::new(),
                watching: false,
                sweeping: false,
                ended: false,
            }),
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

impl<T: Serialize + Send + 'static> ExportedPort<T> {
    fn answer(self: &Arc<Self>, request: Request<ExportRequest, ExportAnswer>) {
        match request.value.clone() {
            ExportRequest::Ready { type_name: wanted } if wanted != type_name::<T>() => {
                request.refuse(format!("the port has items of type {}", type_name::<T>()));
            }
            ExportRequest::Ready { .. } => self.ask(request),
            ExportRequest::Reserve(ticket) => {
                let Some(item) = self.port.test() else {
                    request.answer(&ExportAnswer::Empty);
                    return;
                };
                match encode(&item) {
                    Ok(bytes) => {
                        let is_kept = self.keep((request.from.clone(), ticket), item);
                        request.answer(&match is_kept {
                            true => ExportAnswer::Reserved(bytes),
                            false => ExportAnswer::Empty,
                        });
                    }
                    Err(why) => {
                        self.put_back(item);
                        request.refuse(format!("the item cannot be written: {why}"));
                    }
                }
            }
            ExportRequest::Settle { ticket, take } => {
                let told = self.settle((request.from.clone(), ticket), take);
                request.answer(&ExportAnswer::Settled(told));
            }
        }
    }

    /// `false`: the port is exported no longer, and the item is back in it.
    fn keep(self: &Arc<Self>, of: (PeerName, Ticket), item: T) -> bool {
        let core = self.core.upgrade();
        let mut state = self.state.lock();
        let Some(core) = core.filter(|_| !state.ended) else {
            drop(state);
            self.put_back(item);
            return false;
        };
        let (since, number) = (core.clock().now(), state.count);
        state.count += 1;
        let kept = KeptItem {
            since,
            number,
            item,
        };
        let before = state.reserved.insert(of, kept);
        let begins = !std::mem::replace(&mut state.sweeping, true);
        drop(state);
        // A taker that gives a number twice has one item.
        before.into_iter().for_each(|kept| self.put_back(kept.item));
        if begins {
            self.sweep();
        }
        true
    }

    fn settle(&self, of: (PeerName, Ticket), take: bool) -> bool {
        let mut state = self.state.lock();
        let item = state.reserved.remove(&of).map(|kept| kept.item);
        if item.is_none() || !take {
            let is_taken = state.taken.contains(&of);
            drop(state);
            item.into_iter().for_each(|item| self.put_back(item));
            return is_taken;
        }
        if state.taken.len() == REMEMBERED {
            state.taken.pop_front();
        }
        state.taken.push_back(of);
        drop(state);
        // Outside of the lock: it is the user's.
        drop(item);
        true
    }

    /// Answers once the port has an item.
    fn ask(self: &Arc<Self>, request: Request<ExportRequest, ExportAnswer>) {
        if self.port.item_count() > 0 {
            request.answer(&ExportAnswer::Ready(self.own.clone()));
            return;
        }
        let (gone, begins) = {
            let mut state = self.state.lock();
            if state.ended {
                drop(state);
                return request.refuse(ENDED);
            }
            let gone = state.asking.extract_if(.., |asking| !asking.is_wanted());
            let gone: Vec<_> = gone.collect();
            state.asking.push(request);
            (gone, !std::mem::replace(&mut state.watching, true))
        };
        // Outside of the lock: the node sends what waits when a request is dropped.
        drop(gone);
        if begins {
            self.watch();
        }
    }

    /// Waits for an item on behalf of those who ask.
    fn watch(self: &Arc<Self>) {
        let (Some(core), this) = (self.core.upgrade(), Arc::clone(self)) else {
            return;
        };
        core.spawn(Box::pin(async move {
            let there = unless_over(&this.over, this.port.ready().or_closed()).await;
            // Who asked has been told.
            let Some(there) = there else { return };
            let is_there = there.is_ok();
            let asking = {
                let mut state = this.state.lock();
                state.watching = false;
                std::mem::take(&mut state.asking)
            };
            for request in asking {
                request.answer(&match is_there {
                    true => ExportAnswer::Ready(this.own.clone()),
                    false => ExportAnswer::Closed,
                });
            }
        }));
    }

    fn put_back(&self, item: T) {
        let Err(PostError { item, .. }) = self.port.put_back(item) else {
            return;
        };
        // The queue of a receiver is full: the item waits for room. A port that is closed drops it,
        // as all that it had.
        if let Some(core) = self.core.upgrade() {
            let port = self.port.clone();
            core.spawn(Box::pin(async move { drop(port.post_wait(item).await) }));
        }
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
            return;
        };
        let (this, clock) = (Arc::downgrade(self), core.clock());
        // The timer goes when it fires.
        let _timer = core.clock().after(KEPT, move |_| {
            let Some(this) = this.upgrade() else { return };
            let now = clock.now();
            this.give_back(|_, since| now.saturating_duration_since(since) >= KEPT);
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
        // The first that was taken comes to the front last.
        back.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.number));
        back.into_iter().for_each(|kept| self.put_back(kept.item));
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
        asking.into_iter().for_each(|asking| asking.refuse(ENDED));
        self.give_back(|_, _| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkConfig, Node, SimulatedNetwork};
    use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn, spawn_with_handle};
    use motet_ports::Receive;

    #[test]
    fn sem_g221_items_that_a_lost_node_had_reserved_go_back_in_their_order() {
        let replay = Replay::new(1);
        let network = SimulatedNetwork::new(1, LinkConfig::default(), replay.clock());
        let node = |name, incarnation| {
            let queue = Arc::new(replay.queue(QueueConfig::named(name)));
            Node::join(&network.carrier(name), incarnation, queue)
        };
        let (owner, taker) = (node("owner", 1), node("taker", 1));
        let port = Port::new();
        let _exported = owner.export("n", &port).expect("a key");
        (0..20_u32).for_each(|n| port.post(n).expect("it is open"));
        replay.run();
        let reserves = taker.clone();
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
        spawn(&queue, async move {
            let type_name = type_name::<u32>().to_owned();
            let ready = ExportRequest::Ready { type_name };
            let told = reserves.call::<_, ExportAnswer>("n/.port", &ready).await;
            let Ok(ExportAnswer::Ready(own)) = told else {
                return;
            };
            // The numbers of tickets fall: they are not the order of the items.
            for number in (0..12_u64).rev() {
                let reserve = ExportRequest::Reserve((1, number));
                let _ = reserves.call::<_, ExportAnswer>(&own, &reserve).await;
            }
        })
        .expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        assert_eq!(port.items(), (12..20).collect::<Vec<_>>(), "they are kept");
        network.kill("taker");
        let again = node("taker", 2);
        replay.run_for(Duration::from_secs(1));
        assert_eq!(port.items(), (0..20).collect::<Vec<_>>());
        drop((taker, again));
    }

    /// An owner and a taker, and their network.
    fn two(seed: u64) -> (Replay, SimulatedNetwork, Node, Node) {
        let replay = Replay::new(seed);
        let network = SimulatedNetwork::new(seed, LinkConfig::default(), replay.clock());
        let [owner, taker] = ["owner", "taker"].map(|name| {
            let queue = Arc::new(replay.queue(QueueConfig::named(name)));
            Node::join(&network.carrier(name), 1, queue)
        });
        (replay, network, owner, taker)
    }

    #[test]
    fn sem_g221_a_number_that_a_taker_gives_twice_is_of_one_item() {
        let (replay, _network, owner, taker) = two(3);
        let port = Port::new();
        let exported = owner.export("n", &port).expect("a key");
        (0..2_u32).for_each(|n| port.post(n).expect("it is open"));
        replay.run();
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
        spawn(&queue, async move {
            let type_name = type_name::<u32>().to_owned();
            let ready = ExportRequest::Ready { type_name };
            let told = taker.call::<_, ExportAnswer>("n/.port", &ready).await;
            let Ok(ExportAnswer::Ready(own)) = told else {
                return;
            };
            for _ in 0..2 {
                let reserve = ExportRequest::Reserve((1, 1));
                let _ = taker.call::<_, ExportAnswer>(&own, &reserve).await;
            }
        })
        .expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        assert_eq!(port.items(), [0]);
        drop(exported);
        let mut items = port.items();
        items.sort_unstable();
        assert_eq!(items, [0, 1]);
    }

    #[test]
    fn an_export_that_has_ended_waits_for_nothing() {
        let (replay, _network, owner, taker) = two(4);
        let port = Port::<u32>::new();
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
        let waits = || replay.waiting().len();
        let mut before = None;
        for _ in 0..3 {
            let exported = owner.export("n", &port).expect("a key");
            replay.run_for(Duration::from_secs(1));
            let remote = taker.remote_port::<u32>("n").expect("a key");
            let wait = async move { drop(remote.recv().await) };
            spawn(&queue, wait).expect("the queue is open");
            replay.run_for(Duration::from_secs(1));
            assert_eq!(port.receiver_count(), 1, "it waits on behalf of the taker");
            drop(exported);
            replay.run_for(Duration::from_secs(1));
            assert_eq!(port.receiver_count(), 0);
            assert_eq!(waits(), *before.get_or_insert_with(waits));
        }
    }

    #[test]
    fn an_item_that_goes_back_is_not_of_those_who_have_waited_for_it() {
        let replay = Replay::new(2);
        let network = SimulatedNetwork::new(2, LinkConfig::default(), replay.clock());
        let queue = |name| -> Arc<dyn Enqueue> { Arc::new(replay.queue(QueueConfig::named(name))) };
        let node = |name| Node::join(&network.carrier(name), 1, queue(name));
        let (owner, taker) = (node("owner"), node("taker"));
        let port = Port::new();
        let _exported = owner.export("n", &port).expect("a key");
        port.post(7_u32).expect("it is open");
        replay.run();
        let (task, own) = (queue("task"), Port::new());
        let (out, asks) = (own.clone(), taker.clone());
        let ready = || ExportRequest::Ready {
            type_name: type_name::<u32>().to_owned(),
        };
        let first = ready();
        let reserves = async move {
            let told = asks.call::<_, ExportAnswer>("n/.port", &first).await;
            let Ok(ExportAnswer::Ready(key)) = told else {
                return;
            };
            let reserve = ExportRequest::Reserve((1, 1));
            let _ = asks.call::<_, ExportAnswer>(&key, &reserve).await;
            let _ = out.post(key);
        };
        spawn(&task, reserves).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        let key = own.test().expect("the item is reserved");
        // Another one waits for an item, and gives up.
        let (asks, second) = (taker.clone(), ready());
        let waits = async move {
            asks.call::<_, ExportAnswer>("n/.port", &second)
                .await
                .is_ok()
        };
        let waits = spawn_with_handle(&task, waits).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        waits.abort();
        replay.run_for(Duration::from_secs(1));
        let (ticket, take) = ((1, 1), false);
        let settle = ExportRequest::Settle { ticket, take };
        let back = async move { drop(taker.call::<_, ExportAnswer>(&key, &settle).await) };
        spawn(&task, back).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        let seen = Port::new();
        let out = seen.clone();
        Receive::once(&port, move |item| {
            let active = Causality::active().len();
            let _ = out.post((item, active));
        })
        .activate(&replay.queue(QueueConfig::named("handler")))
        .expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        assert_eq!(seen.test(), Some((7, 0)));
    }
}
