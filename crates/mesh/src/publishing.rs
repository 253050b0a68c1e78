//! What a topic holds: its numbers, what it retains, and a queue for each subscriber.

mod any_topic;
mod state;

use self::state::{Flow, Payload, State};
use crate::flow::{FlowTarget, Hub};
use crate::frame::{Data, encode_value};
use crate::outgoing::{Entry, Outgoing};
use crate::subscribed::Subscribed;
use crate::unwinding::on_panic;
use crate::{Gap, Key, PeerName, PublishError, PublishRefusal, Qos, SubscriberInfo};
use motet_ports::{Overflow, Port, ReplyPort};
use motet_sync::{Mutex, MutexGuard};
use serde::Serialize;
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

/// What became of a sample that was to be sent.
enum Delivered {
    /// The subscriber will tell when it has accepted it.
    Sent,
    /// A subscriber of this node has accepted all up to this number, and takes so many more.
    Accepted(u64, usize),
    /// There is no link.
    No,
}

pub(crate) struct Publishing<T: Send + Sync + 'static> {
    id: u32,
    key: Key,
    qos: Qos,
    core: Weak<dyn Hub>,
    me: PeerName,
    write: fn(&T, &mut Vec<u8>) -> Result<(), String>,
    losses: Port<Lost>,
    state: Mutex<State<T>>,
}

impl<T: Send + Sync + 'static> Publishing<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, key: Key, qos: Qos) -> Self
    where
        T: Serialize,
    {
        Publishing {
            id,
            key,
            qos,
            core: Arc::downgrade(hub),
            me: hub.name().clone(),
            write: |value, room| encode_value(value, room).map_err(|why| why.to_string()),
            losses: Port::bounded(1024, Overflow::DropOldest),
            state: Mutex::new(State::new()),
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
                FlowTarget::Here(_) => self.me.clone(),
                FlowTarget::There(peer, _) => peer.clone(),
            };
            state.wait(room);
            return refused(value, PublishRefusal::Full { subscriber });
        }
        let retains = self.qos.retain > 0;
        let bytes = if retains || state.flows.keys().any(FlowTarget::is_there) {
            match state.write(self.write, &value) {
                Ok(bytes) => Some(bytes),
                Err(why) => return refused(value, PublishRefusal::NotWritable(why)),
            }
        } else {
            None
        };
        let number = state.next;
        state.next += 1;
        let subscribers = state.flows.len();
        if subscribers == 0 && self.qos.retain == 0 {
            return Ok(Published {
                number,
                subscribers,
                dropped: 0,
            });
        }
        if self.qos.retain == 0
            && let Some((to, subscription)) = state.only_one_here(number)
        {
            drop(state);
            self.send_here(to, number, value, subscription);
            return Ok(Published {
                number,
                subscribers,
                dropped: 0,
            });
        }
        let is_read = retains || !state.flows.keys().all(FlowTarget::is_there);
        let payload = Payload {
            value: is_read.then(|| Arc::new(value)),
            bytes,
        };
        let dropped = state.push(number, payload, self.qos.retain as usize);
        self.send_from(state);
        Ok(Published {
            number,
            subscribers,
            dropped,
        })
    }

    /// Sends a value to the only subscriber, which is of this node. The caller is the one who
    /// sends.
    fn send_here(&self, to: u32, number: u64, value: T, subscription: Arc<Subscribed<T>>) {
        let to = FlowTarget::Here(to);
        let panicked = on_panic(|| self.give_back(&to, Some(Arc::clone(&subscription))));
        let upto = subscription.comes_from_here(self.id, number, false, Arc::new(value));
        panicked.did_not();
        let window = subscription.window();
        let mut state = self.state.lock();
        let State { flows, ready, .. } = &mut *state;
        let gone = match flows.get_mut(&to) {
            Some(flow) => {
                flow.subscription = Some(subscription);
                if let Some(upto) = upto {
                    flow.out.accepted(upto, window);
                    flow.list(&to, ready);
                }
                None
            }
            None => Some(subscription),
        };
        let waiters = match upto {
            Some(_) => std::mem::take(&mut state.waiters),
            None => Vec::new(),
        };
        state.sending = false;
        if !state.ready.is_empty() || state.ended {
            self.send_from(state);
        } else {
            drop(state);
        }
        drop(gone);
        if !waiters.is_empty() {
            wake(waiters);
        }
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
        // Dropped outside of the lock.
        let (mut waiters, mut gone, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let State { flows, ready, .. } = &mut *state;
            let Some(to) = ready.pop_front() else {
                break;
            };
            // A flow that has gone meanwhile, or that must wait again.
            let Some(flow) = flows.get_mut(&to) else {
                continue;
            };
            flow.take(&mut entries);
            if entries.is_empty() {
                continue;
            }
            flow.list(&to, ready);
            let link = flow.link;
            // Only who sends uses it.
            let subscription = flow.subscription.take();
            drop(state);
            let panicked = on_panic(|| self.give_back(&to, subscription.clone()));
            let delivered = self.deliver(&to, link, subscription.as_ref(), &mut entries);
            panicked.did_not();
            if !matches!(delivered, Delivered::No) {
                entries.clear();
            }
            state = self.state.lock();
            let State { flows, ready, .. } = &mut *state;
            let Some(flow) = flows.get_mut(&to) else {
                gone.extend(subscription);
                entries.clear();
                continue;
            };
            flow.subscription = subscription;
            match delivered {
                Delivered::No => flow.out.not_sent(entries.drain(..)),
                Delivered::Accepted(upto, window) => {
                    flow.out.accepted(upto, window);
                    flow.list(&to, ready);
                    waiters.append(&mut state.waiters);
                }
                Delivered::Sent => {}
            }
        }
        state.sending = false;
        let over = state.ended && state.flows.values().all(|flow| flow.out.first().is_none());
        drop(state);
        drop(gone);
        if !waiters.is_empty() {
            wake(waiters);
        }
        if over && let Some(core) = self.core.upgrade() {
            core.topic_is_over(self.id);
        }
    }

    /// Who sends has panicked: a task goes on.
    fn give_back(&self, to: &FlowTarget, subscription: Option<Arc<Subscribed<T>>>) {
        let mut state = self.state.lock();
        if let Some(flow) = state.flows.get_mut(to) {
            flow.subscription = subscription;
        }
        state.sending = false;
        drop(state);
        let (core, id) = (Weak::clone(&self.core), self.id);
        if let Some(hub) = self.core.upgrade() {
            hub.spawn(Box::pin(async move {
                if let Some(core) = core.upgrade() {
                    core.go_on(id);
                }
            }));
        }
    }

    /// Samples to a peer, or one to a subscription of this node, which takes its value.
    fn deliver(
        &self,
        to: &FlowTarget,
        link: u64,
        here: Option<&Arc<Subscribed<T>>>,
        entries: &mut [Entry<Payload<T>>],
    ) -> Delivered {
        match (to, here, entries) {
            (FlowTarget::Here(_), Some(subscription), [entry]) => {
                let Some(value) = entry.payload.value.take() else {
                    return Delivered::Sent;
                };
                let (number, retained) = (entry.number, entry.retained);
                match subscription.comes_from_here(self.id, number, retained, value) {
                    Some(upto) => Delivered::Accepted(upto, subscription.window()),
                    None => Delivered::Sent,
                }
            }
            (FlowTarget::There(peer, subscription), _, entries) => {
                let mut data = entries.iter().map(|entry| Data {
                    topic: self.id,
                    subscription: *subscription,
                    number: entry.number,
                    retained: entry.retained,
                    payload: entry.payload.bytes.as_deref().unwrap_or_default(),
                });
                match self.core.upgrade() {
                    Some(core) if core.send_data(peer, link, &mut data) => Delivered::Sent,
                    _ => Delivered::No,
                }
            }
            _ => Delivered::Sent,
        }
    }

    pub(crate) fn subscribers(&self) -> Vec<SubscriberInfo> {
        let state = self.state.lock();
        let info = |(to, flow): (&FlowTarget, &Flow<T>)| {
            let (waiting, in_flight, dropped) = flow.out.counts();
            let node = match to {
                FlowTarget::Here(_) => self.me.clone(),
                FlowTarget::There(peer, _) => peer.clone(),
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
            link: 0,
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
    fn remove(&self, which: impl Fn(&FlowTarget, &Flow<T>) -> bool, why: &str) {
        let mut state = self.state.lock();
        let gone = state.flows.extract_if(.., |to, flow| which(to, flow));
        let gone: Vec<_> = gone.collect();
        let waiters = if gone.is_empty() {
            Vec::new()
        } else {
            std::mem::take(&mut state.waiters)
        };
        drop(state);
        for (to, mut flow) in gone {
            let node = match &to {
                FlowTarget::Here(_) => self.me.clone(),
                FlowTarget::There(peer, _) => peer.clone(),
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
