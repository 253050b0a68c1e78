//! What a topic holds: its numbers, what it retains, and a queue for each subscriber.

mod any_topic;

use crate::flow::{Hub, Target};
use crate::frame::{Frame, encode};
use crate::outgoing::{Entry, Outgoing, Pushed};
use crate::subscribed::Subscribed;
use crate::{Gap, Key, PeerName, PublishError, PublishRefusal, Qos, SubscriberInfo};
use motet_ports::{Overflow, Port, ReplyPort};
use motet_sync::{Mutex, MutexGuard};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

/// What became of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The number of the sample.
    pub number: u64,
    /// How many subscribers get it.
    pub subscribers: usize,
    /// How many older samples were dropped to make room for it, over all subscribers.
    pub dropped: usize,
}

/// Samples that a subscriber will not get, or may not have got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The node of the subscriber.
    pub subscriber: PeerName,
    /// The numbers that it has not accepted.
    pub gap: Gap,
    /// Why.
    pub why: String,
}

struct Flow<T: Send + Sync + 'static> {
    /// For subscriptions of this node.
    subscription: Option<Arc<Subscribed<T>>>,
    out: Outgoing<Payload<T>>,
    /// It is in the list of those that may send.
    listed: bool,
}

/// What became of a sample that was to be sent.
enum Delivered {
    /// The subscriber will tell when it has accepted it.
    Sent,
    /// A subscriber of this node has accepted all up to this number, and takes so many more.
    Accepted(u64, usize),
    /// There is no link.
    No,
}

/// A value, and its bytes if somebody needs them.
struct Payload<T> {
    value: Arc<T>,
    bytes: Option<Arc<[u8]>>,
}

impl<T> Clone for Payload<T> {
    fn clone(&self) -> Self {
        let bytes = self.bytes.clone();
        Payload {
            value: Arc::clone(&self.value),
            bytes,
        }
    }
}

impl<T: Send + Sync + 'static> Flow<T> {
    /// Puts the flow into the list of those that may send, if it may and is not there.
    fn list(&mut self, to: &Target, ready: &mut VecDeque<Target>) {
        if self.out.may_send() && !std::mem::replace(&mut self.listed, true) {
            ready.push_back(to.clone());
        }
    }

    /// The next sample of a flow that has left the list.
    fn take(&mut self) -> Option<(&mut Self, Entry<Payload<T>>)> {
        self.listed = false;
        let entry = self.out.next()?;
        Some((self, entry))
    }
}

pub(crate) struct Publishing<T: Send + Sync + 'static> {
    id: u32,
    key: Key,
    qos: Qos,
    core: Weak<dyn Hub>,
    me: PeerName,
    write: fn(&T) -> Result<Vec<u8>, String>,
    losses: Port<Lost>,
    state: Mutex<State<T>>,
}

struct State<T: Send + Sync + 'static> {
    /// The number of the next sample.
    next: u64,
    flows: BTreeMap<Target, Flow<T>>,
    /// Flows that may send, each once: they take turns.
    ready: VecDeque<Target>,
    retained: VecDeque<(u64, Payload<T>)>,
    /// Those who wait for room.
    waiters: Vec<ReplyPort<()>>,
    /// Some thread sends what can be sent: it looks again before it ends.
    sending: bool,
    /// Nobody publishes any more.
    ended: bool,
}

impl<T: Send + Sync + 'static> Publishing<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, key: Key, qos: Qos) -> Self
    where
        T: Serialize,
    {
        let state = State {
            next: 1,
            flows: BTreeMap::new(),
            ready: VecDeque::new(),
            retained: VecDeque::new(),
            waiters: Vec::new(),
            sending: false,
            ended: false,
        };
        Publishing {
            id,
            key,
            qos,
            core: Arc::downgrade(hub),
            me: hub.name().clone(),
            write: |value| encode(value).map_err(|why| why.to_string()),
            losses: Port::bounded(1024, Overflow::DropOldest),
            state: Mutex::new(state),
        }
    }

    /// Publishes a value, and sends what may be sent.
    pub(crate) fn publish(
        &self,
        value: T,
        room: Option<ReplyPort<()>>,
    ) -> Result<Published, PublishError<T>> {
        let mut state = self.state.lock();
        let refused = |value, reason| Err(PublishError { value, reason });
        if state.ended || self.core.strong_count() == 0 {
            return refused(value, PublishRefusal::Left);
        }
        let full = state.flows.iter().find(|(_, flow)| !flow.out.has_room());
        if let Some((full, _)) = full {
            let subscriber = match full {
                Target::Here(_) => self.me.clone(),
                Target::There(peer, _) => peer.clone(),
            };
            state.waiters.extend(room);
            return refused(value, PublishRefusal::Full { subscriber });
        }
        let is_there = |to: &Target| matches!(to, Target::There(..));
        let bytes = if self.qos.retain > 0 || state.flows.keys().any(is_there) {
            match (self.write)(&value) {
                Ok(bytes) => Some(bytes.into()),
                Err(why) => return refused(value, PublishRefusal::NotWritable(why)),
            }
        } else {
            None
        };
        let payload = Payload {
            value: Arc::new(value),
            bytes,
        };
        let number = state.next;
        state.next += 1;
        let mut dropped = 0;
        let State { flows, ready, .. } = &mut *state;
        for (to, flow) in flows {
            if let Pushed::Dropped(_) = flow.out.push(number, payload.clone()) {
                dropped += 1;
            }
            flow.list(to, ready);
        }
        if self.qos.retain > 0 {
            if state.retained.len() == self.qos.retain as usize {
                state.retained.pop_front();
            }
            state.retained.push_back((number, payload));
        }
        let subscribers = state.flows.len();
        self.send_from(state);
        Ok(Published {
            number,
            subscribers,
            dropped,
        })
    }

    /// Sends what may be sent.
    pub(crate) fn send(&self) {
        self.send_from(self.state.lock());
    }

    /// Sends what may be sent. One thread at a time does, so each flow keeps its order.
    fn send_from<'a>(&'a self, mut state: MutexGuard<'a, State<T>>) {
        if std::mem::replace(&mut state.sending, true) {
            return;
        }
        let mut waiters = Vec::new();
        loop {
            let State { flows, ready, .. } = &mut *state;
            let Some(to) = ready.pop_front() else {
                break;
            };
            // A flow that has gone meanwhile, or that must wait again.
            let Some((flow, entry)) = flows.get_mut(&to).and_then(Flow::take) else {
                continue;
            };
            flow.list(&to, ready);
            let subscription = flow.subscription.clone();
            drop(state);
            let delivered = self.deliver(&to, subscription.as_ref(), entry);
            state = self.state.lock();
            let State { flows, ready, .. } = &mut *state;
            match (delivered, flows.get_mut(&to)) {
                (Delivered::No, Some(flow)) => flow.out.not_sent(),
                (Delivered::Accepted(upto, window), Some(flow)) => {
                    flow.out.accepted(upto, window);
                    flow.list(&to, ready);
                    waiters.append(&mut state.waiters);
                }
                _ => {}
            }
        }
        state.sending = false;
        let over = state.ended && state.flows.values().all(|flow| flow.out.first().is_none());
        drop(state);
        wake(waiters);
        if over && let Some(core) = self.core.upgrade() {
            core.topic_is_over(self.id);
        }
    }

    fn deliver(
        &self,
        to: &Target,
        here: Option<&Arc<Subscribed<T>>>,
        entry: Entry<Payload<T>>,
    ) -> Delivered {
        let Entry {
            number,
            retained,
            payload,
        } = entry;
        match (to, here) {
            (Target::Here(_), Some(subscription)) => {
                let upto = subscription.comes_from_here(self.id, number, retained, payload.value);
                match upto {
                    Some(upto) => Delivered::Accepted(upto, subscription.window()),
                    None => Delivered::Sent,
                }
            }
            (Target::There(peer, subscription), _) => {
                let Some(core) = self.core.upgrade() else {
                    return Delivered::No;
                };
                let payload = payload.bytes.as_deref().unwrap_or_default().to_vec();
                let (topic, subscription) = (self.id, *subscription);
                let data = Frame::Data {
                    topic,
                    subscription,
                    number,
                    retained,
                    payload,
                };
                match core.send_now(peer, &data) {
                    true => Delivered::Sent,
                    false => Delivered::No,
                }
            }
            _ => Delivered::Sent,
        }
    }

    pub(crate) fn subscribers(&self) -> Vec<SubscriberInfo> {
        let state = self.state.lock();
        let info = |(to, flow): (&Target, &Flow<T>)| {
            let (waiting, in_flight, dropped) = flow.out.counts();
            let node = match to {
                Target::Here(_) => self.me.clone(),
                Target::There(peer, _) => peer.clone(),
            };
            SubscriberInfo {
                node,
                waiting,
                in_flight,
                dropped,
                credit: flow.out.credit(),
            }
        };
        state.flows.iter().map(info).collect()
    }

    /// Number of publications, and of flows.
    pub(crate) fn counts(&self) -> (u64, usize) {
        let state = self.state.lock();
        (state.next - 1, state.flows.len())
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn losses(&self) -> &Port<Lost> {
        &self.losses
    }

    /// A new flow, with what is retained.
    fn flow(&self, state: &State<T>) -> Flow<T> {
        let mut out = Outgoing::new(&self.qos);
        for (number, payload) in &state.retained {
            out.push_retained(*number, payload.clone());
        }
        Flow {
            subscription: None,
            out,
            listed: false,
        }
    }

    fn tell_lost(&self, subscriber: PeerName, gap: Option<Gap>, why: &str) {
        if let Some(gap) = gap {
            let why = why.to_owned();
            // A port that drops its oldest refuses nothing.
            let _ = self.losses.post(Lost {
                subscriber,
                gap,
                why,
            });
        }
    }

    /// Takes flows away, tells what is lost with them, and lets those go on who waited for them.
    fn remove(&self, which: impl Fn(&Target) -> bool, why: &str) {
        let mut state = self.state.lock();
        let gone: Vec<_> = state.flows.extract_if(.., |to, _| which(to)).collect();
        let waiters = if gone.is_empty() {
            Vec::new()
        } else {
            std::mem::take(&mut state.waiters)
        };
        drop(state);
        for (to, mut flow) in gone {
            let node = match &to {
                Target::Here(_) => self.me.clone(),
                Target::There(peer, _) => peer.clone(),
            };
            self.tell_lost(node, flow.out.lost(), why);
        }
        wake(waiters);
        self.send();
    }
}

/// Those who wait for room try again.
fn wake(waiters: Vec<ReplyPort<()>>) {
    for waiter in waiters {
        // An error: nobody waits any more.
        let _ = waiter.post(());
    }
}
