//! Subscriptions: samples that come, in order, and the port that they go to.
//!
//! ```text
//!   flow of a topic here   ──┐
//!   frames of peers        ──┴─► [ came ] ── one at a time ──► Port ──► accepted ──► credit for the publisher
//! ```

use crate::flow::{AnySubscription, Hub, Source};
use crate::frame::decode;
use crate::incoming::{Arrival, Incoming};
use crate::subscribe_config::{Ack, SubscribeConfig};
use crate::{Gap, Key, PeerName, Sample};
use motet_ports::{Port, PostError, PostRefusal};
use motet_sync::Mutex;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};

/// Samples of all topics that match a pattern, in a port. Ends when it is dropped.
pub struct Subscription<T: Send + Sync + 'static> {
    shared: Arc<Subscribed<T>>,
}

pub(crate) struct Subscribed<T: Send + Sync + 'static> {
    id: u32,
    pattern: Key,
    port: Port<Sample<T>>,
    window: u32,
    ack: Ack,
    me: PeerName,
    core: Weak<dyn Hub>,
    read: fn(&[u8]) -> Result<T, String>,
    state: Mutex<State<T>>,
}

struct State<T> {
    flows: HashMap<Source, Flow>,
    /// Samples that have come, oldest first.
    came: VecDeque<(Source, Sample<T>)>,
    /// Somebody posts them.
    posting: bool,
    /// Samples that could not be read.
    unreadable: u64,
    /// Numbers that did not come, in all.
    missed: u64,
}

#[derive(Debug)]
struct Flow {
    key: Key,
    numbers: Incoming,
    /// What the next sample tells that was missed before it.
    gap: Option<Gap>,
}

impl<T: Send + Sync + 'static> Subscription<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, pattern: Key, config: &SubscribeConfig) -> Self
    where
        T: DeserializeOwned,
    {
        let state = State {
            flows: HashMap::new(),
            came: VecDeque::new(),
            posting: false,
            unreadable: 0,
            missed: 0,
        };
        let shared = Arc::new(Subscribed {
            id,
            pattern,
            port: Port::with(config.port),
            window: config.window.max(1),
            ack: config.ack,
            me: hub.name().clone(),
            core: Arc::downgrade(hub),
            read: |bytes| decode(bytes).map_err(|why| why.to_string()),
            state: Mutex::new(state),
        });
        Subscription { shared }
    }

    pub(crate) fn shared(&self) -> Arc<Subscribed<T>> {
        Arc::clone(&self.shared)
    }

    /// The port that samples come to: receive it, join it with other ports, choose it.
    #[must_use]
    pub fn port(&self) -> &Port<Sample<T>> {
        &self.shared.port
    }

    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Key {
        &self.shared.pattern
    }

    /// How many samples were published and did not come: they were dropped, or lost with a link.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.state.lock().missed
    }

    /// How many samples came and could not be read as `T`.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.shared.state.lock().unreadable
    }

    /// The number of publishers whose samples come here.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.shared.state.lock().flows.len()
    }

    /// The nodes whose topics come here, in order of their names.
    #[must_use]
    pub fn publishers(&self) -> Vec<PeerName> {
        let state = self.shared.state.lock();
        let names = state
            .flows
            .keys()
            .map(|source| self.shared.publisher(source));
        let names: BTreeSet<PeerName> = names.collect();
        names.into_iter().collect()
    }
}

impl<T: Send + Sync + 'static> Subscribed<T> {
    /// A topic of this node goes to this subscription from `first` on: what counts as accepted, and the window.
    pub(crate) fn opened_here(&self, topic: u32, key: &Key, first: u64) -> (u64, usize) {
        let (upto, window) = self.open(Source::Here(topic), key.clone(), first);
        (upto, window as usize)
    }

    fn open(&self, source: Source, key: Key, first: u64) -> (u64, u32) {
        let mut state = self.state.lock();
        let fresh = || Flow {
            key,
            numbers: Incoming::beginning_at(first),
            gap: None,
        };
        let flow = state.flows.entry(source).or_insert_with(fresh);
        let gap = flow.numbers.goes_on_at(first);
        flow.miss(gap);
        let upto = flow.numbers.tell();
        state.missed += gap.map_or(0, |gap| gap.count());
        (upto, self.window)
    }

    fn publisher(&self, source: &Source) -> PeerName {
        match source {
            Source::Here(_) => self.me.clone(),
            Source::There(peer, _) => peer.clone(),
        }
    }

    /// A sample of a topic of this node.
    pub(crate) fn comes_from_here(
        self: &Arc<Self>,
        topic: u32,
        number: u64,
        retained: bool,
        value: Arc<T>,
    ) {
        self.take_in(Source::Here(topic), number, retained, value);
    }

    fn take_in(self: &Arc<Self>, source: Source, number: u64, retained: bool, value: Arc<T>) {
        let publisher = self.publisher(&source);
        let mut state = self.state.lock();
        // A flow that has ended meanwhile.
        let Some(flow) = state.flows.get_mut(&source) else {
            return;
        };
        let Arrival::New(gap) = flow.numbers.arrives(number) else {
            return;
        };
        flow.miss(gap);
        let (key, told) = (flow.key.clone(), flow.gap.take());
        let handled = (self.ack == Ack::Handled).then(|| {
            let (subscription, source) = (Arc::downgrade(self), source.clone());
            Arc::new(Handling {
                subscription,
                source,
                number,
            }) as Arc<dyn Any + Send + Sync>
        });
        state.missed += gap.map_or(0, |gap| gap.count());
        state.came.push_back((
            source,
            Sample {
                value,
                key,
                publisher,
                number,
                retained,
                gap: told,
                handled,
            },
        ));
        if !std::mem::replace(&mut state.posting, true) {
            drop(state);
            self.post();
        }
    }

    /// Posts what has come, until the port is full: then a task waits for room.
    fn post(self: &Arc<Self>) {
        loop {
            let mut state = self.state.lock();
            let Some((source, sample)) = state.came.pop_front() else {
                state.posting = false;
                return;
            };
            drop(state);
            let number = sample.number;
            match self.port.post(sample) {
                Ok(()) => self.taken(&source, number),
                Err(PostError {
                    item,
                    reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                }) => {
                    self.wait_and_post(source, item);
                    return;
                }
                Err(_) => {
                    self.end();
                    return;
                }
            }
        }
    }

    fn wait_and_post(self: &Arc<Self>, source: Source, sample: Sample<T>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let this = Arc::clone(self);
        core.spawn(Box::pin(async move {
            let number = sample.number;
            match this.port.post_wait(sample).await {
                Ok(()) => {
                    this.taken(&source, number);
                    this.post();
                }
                // A port that rejects what it has no room for drops it, and the drop is told as a gap.
                Err(PostError {
                    reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                    ..
                }) => {
                    this.drop_one(&source, number);
                    this.post();
                }
                Err(_) => this.end(),
            }
        }));
    }

    /// The port has taken a sample.
    fn taken(&self, source: &Source, number: u64) {
        if self.ack == Ack::Accepted {
            self.accept(source, number);
        }
    }

    /// The port refused a sample for good.
    fn drop_one(&self, source: &Source, number: u64) {
        let mut state = self.state.lock();
        state.missed += 1;
        if let Some(flow) = state.flows.get_mut(source) {
            flow.miss(Some(Gap {
                from: number,
                to: number,
            }));
        }
        drop(state);
        self.accept(source, number);
    }

    fn accept(&self, source: &Source, number: u64) {
        let mut state = self.state.lock();
        let Some(flow) = state.flows.get_mut(source) else {
            return;
        };
        flow.numbers.accepts(number);
        let told = flow
            .numbers
            .is_to_be_told(self.window.into())
            .then(|| flow.numbers.tell());
        drop(state);
        if let (Some(upto), Some(core)) = (told, self.core.upgrade()) {
            core.tell_accepted(source, self.id, upto, self.window);
        }
    }

    /// The port is closed: nobody wants more.
    fn end(&self) {
        // Dropped outside of the lock: a sample may accept itself then.
        let came = std::mem::take(&mut self.state.lock().came);
        drop(came);
        if let Some(core) = self.core.upgrade() {
            core.unsubscribe(self.id);
        }
    }
}

/// A sample that a handler has.
struct Handling<T: Send + Sync + 'static> {
    subscription: Weak<Subscribed<T>>,
    source: Source,
    number: u64,
}

impl<T: Send + Sync + 'static> Drop for Handling<T> {
    fn drop(&mut self) {
        if let Some(subscription) = self.subscription.upgrade() {
            subscription.accept(&self.source, self.number);
        }
    }
}

impl Flow {
    fn miss(&mut self, gap: Option<Gap>) {
        self.gap = match (self.gap, gap) {
            (Some(old), Some(new)) => {
                let (from, to) = (old.from.min(new.from), old.to.max(new.to));
                Some(Gap { from, to })
            }
            (old, new) => new.or(old),
        };
    }
}

impl<T: Send + Sync + 'static> AnySubscription for Subscribed<T> {
    fn pattern(&self) -> &Key {
        &self.pattern
    }

    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn opened(&self, source: Source, key: Key, first: u64) -> (u64, u32) {
        self.open(source, key, first)
    }

    fn comes(self: Arc<Self>, source: Source, number: u64, retained: bool, payload: &[u8]) {
        match (self.read)(payload) {
            Ok(value) => self.take_in(source, number, retained, Arc::new(value)),
            Err(_) => {
                self.state.lock().unreadable += 1;
                let arrived = match self.state.lock().flows.get_mut(&source) {
                    Some(flow) => flow.numbers.arrives(number) != Arrival::Duplicate,
                    None => false,
                };
                if arrived {
                    self.drop_one(&source, number);
                }
            }
        }
    }

    fn closed(&self, source: &Source) {
        self.state.lock().flows.remove(source);
    }

    fn forget(&self, peer: &PeerName) {
        let of_peer = |source: &Source| matches!(source, Source::There(of, _) if of == peer);
        self.state.lock().flows.retain(|source, _| !of_peer(source));
    }
}

impl<T: Send + Sync + 'static> Drop for Subscription<T> {
    fn drop(&mut self) {
        if let Some(core) = self.shared.core.upgrade() {
            core.unsubscribe(self.shared.id);
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("pattern", &self.shared.pattern)
            .field("publishers", &self.publisher_count())
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}
