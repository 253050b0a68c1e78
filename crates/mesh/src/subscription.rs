//! Subscriptions: samples that come, in order, and the port that they go to.
//!
//! ```text
//!   flow of a topic here   ──┐
//!   frames of peers        ──┴─► [ came ] ── one at a time ──► Port ──► accepted ──► credit for the publisher
//! ```

use crate::flow::{AnySubscription, Hub, Source};
use crate::frame::decode;
use crate::incoming::{Arrival, Incoming, ToBeTold};
use crate::subscribe_config::{Ack, SubscribeConfig};
use crate::{Gap, Key, PeerName, Sample};
use motet_ports::{Port, PostError, PostRefusal};
use motet_sync::Mutex;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    flows: BTreeMap<Source, Flow>,
    /// Samples that have come, oldest first.
    came: VecDeque<(Source, Sample<T>)>,
    /// Somebody posts them.
    posting: bool,
    /// A task will tell publishers what is accepted.
    telling: bool,
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
            flows: BTreeMap::new(),
            came: VecDeque::new(),
            posting: false,
            telling: false,
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

    /// A sample of a topic of this node. Up to which number all are accepted, if that is new.
    pub(crate) fn comes_from_here(
        self: &Arc<Self>,
        topic: u32,
        number: u64,
        retained: bool,
        value: Arc<T>,
    ) -> Option<u64> {
        self.take_in(Source::Here(topic), number, retained, value)
    }

    /// How many samples of one publisher may be under way.
    pub(crate) fn window(&self) -> usize {
        self.window as usize
    }

    fn take_in(
        self: &Arc<Self>,
        source: Source,
        number: u64,
        retained: bool,
        value: Arc<T>,
    ) -> Option<u64> {
        let publisher = self.publisher(&source);
        let mut state = self.state.lock();
        // None: a flow that has ended meanwhile.
        let flow = state.flows.get_mut(&source)?;
        let Arrival::New(gap) = flow.numbers.arrives(number) else {
            return None;
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
        let sample = Sample {
            value,
            key,
            publisher,
            number,
            retained,
            gap: told,
            handled,
        };
        if std::mem::replace(&mut state.posting, true) {
            state.came.push_back((source, sample));
            return None;
        }
        drop(state);
        self.post(source, sample)
    }

    /// Posts a sample, and what has come meanwhile, until the port is full: then a task waits for
    /// room. What the topic of the first sample is to be told, if that is one of this node.
    fn post(self: &Arc<Self>, mut source: Source, mut sample: Sample<T>) -> Option<u64> {
        let mut for_first = None;
        let mut is_first = true;
        loop {
            let number = sample.number;
            match self.port.post(sample) {
                Ok(()) => {}
                Err(PostError {
                    item,
                    reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                }) => {
                    self.wait_and_post(source, item);
                    return for_first;
                }
                Err(_) => {
                    self.end();
                    return for_first;
                }
            }
            let mut state = self.state.lock();
            let told = match self.ack {
                Ack::Accepted => self.accept_in(&mut state, &source, number),
                Ack::Handled => None,
            };
            let next = state.came.pop_front();
            state.posting = next.is_some();
            drop(state);
            match (told, &source) {
                (Some(upto), Source::Here(_)) if is_first => for_first = Some(upto),
                (told, _) => self.tell(&source, told),
            }
            is_first = false;
            let Some(next) = next else {
                return for_first;
            };
            (source, sample) = next;
        }
    }

    /// Posts what has come.
    fn post_more(self: &Arc<Self>) {
        let mut state = self.state.lock();
        let next = state.came.pop_front();
        state.posting = next.is_some();
        drop(state);
        if let Some((source, sample)) = next {
            let told = self.post(source.clone(), sample);
            self.tell(&source, told);
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
                    if this.ack == Ack::Accepted {
                        this.accept(&source, number);
                    }
                    this.post_more();
                }
                // A port that rejects what it has no room for drops it, and the drop is told as a gap.
                Err(PostError {
                    reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                    ..
                }) => {
                    this.drop_one(&source, number);
                    this.post_more();
                }
                Err(_) => this.end(),
            }
        }));
    }

    /// The port refused a sample for good.
    fn drop_one(self: &Arc<Self>, source: &Source, number: u64) {
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

    fn accept(self: &Arc<Self>, source: &Source, number: u64) {
        let told = self.accept_in(&mut self.state.lock(), source, number);
        self.tell(source, told);
    }

    /// Accepts a sample. What its publisher is to be told now.
    fn accept_in(
        self: &Arc<Self>,
        state: &mut State<T>,
        source: &Source,
        number: u64,
    ) -> Option<u64> {
        let flow = state.flows.get_mut(source)?;
        flow.numbers.accepts(number);
        match (flow.numbers.is_to_be_told(self.window.into()), source) {
            (ToBeTold::Now, _) | (ToBeTold::Soon, Source::Here(_)) => Some(flow.numbers.tell()),
            (ToBeTold::Soon, Source::There(..)) => {
                self.tell_soon(state);
                None
            }
            (ToBeTold::Later, _) => None,
        }
    }

    fn tell(&self, source: &Source, upto: Option<u64>) {
        if let (Some(upto), Some(core)) = (upto, self.core.upgrade()) {
            core.tell_accepted(source, self.id, upto, self.window);
        }
    }

    /// A task tells publishers, behind what the queue has now: so one frame tells of many samples.
    fn tell_soon(self: &Arc<Self>, state: &mut State<T>) {
        if std::mem::replace(&mut state.telling, true) {
            return;
        }
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let this = Arc::clone(self);
        core.spawn(Box::pin(async move {
            let mut told = Vec::new();
            let mut state = this.state.lock();
            state.telling = false;
            for (source, flow) in &mut state.flows {
                if flow.numbers.is_to_be_told(this.window.into()) != ToBeTold::Later {
                    told.push((source.clone(), flow.numbers.tell()));
                }
            }
            drop(state);
            for (source, upto) in told {
                this.tell(&source, Some(upto));
            }
        }));
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
            // The topic is another node's, and is told by a frame.
            Ok(value) => drop(self.take_in(source, number, retained, Arc::new(value))),
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
