//! What a subscription holds: samples that come, in order, and the port that they go to.
//!
//! ```text
//!   flow of a topic here   ──┐
//!   frames of peers        ──┴─► [ came ] ── one at a time ──► Port ──► accepted ──► credit for the publisher
//! ```

mod accepting;
mod posting;

use self::accepting::{Handling, Telling};
use crate::core::MAX_WINDOW;
use crate::flow::{AnySubscription, FlowSource, Hub};
use crate::frame::{Data, decode_value};
use crate::incoming::{Arrival, Incoming};
use crate::subscribe_config::{Ack, SubscribeConfig};
use crate::{Class, Gap, Key, MAX_ENTRIES, PeerName, Sample, SubscriptionInfo};
use motet_ports::Port;
use motet_sync::Mutex;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Weak};

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
    flows: BTreeMap<FlowSource, Flow>,
    /// Samples that have come, oldest first.
    came: VecDeque<(FlowSource, Sample<T>)>,
    /// Somebody posts them.
    posting: bool,
    /// Who posts waits for room in the port.
    waits_for_room: bool,
    /// When publishers will be told what is accepted.
    telling: Telling,
    /// What is to begin for that once nothing is locked: see [`Subscribed::unlock`].
    begins_to_tell: Telling,
    /// Of some flow samples were refused that no sample tells of yet.
    refused: bool,
    /// Samples that have come for the port.
    counted: u64,
    /// Samples that could not be read.
    unreadable: u64,
    /// Numbers that did not come, in all.
    missed: u64,
}

#[derive(Debug)]
struct Flow {
    key: Key,
    /// The number of the link by which it was opened last.
    link: u64,
    /// Of its topic.
    class: Class,
    numbers: Incoming,
    /// What the next sample that comes tells that was missed before it.
    gap: Option<Gap>,
    /// What the port has refused since the last sample that it took: the next one that goes there
    /// tells it.
    refused: Option<Gap>,
}

impl<T: Send + Sync + 'static> Subscribed<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, pattern: Key, config: &SubscribeConfig) -> Self
    where
        T: DeserializeOwned,
    {
        let state = State {
            flows: BTreeMap::new(),
            came: VecDeque::new(),
            posting: false,
            waits_for_room: false,
            telling: Telling::No,
            begins_to_tell: Telling::No,
            refused: false,
            counted: 0,
            unreadable: 0,
            missed: 0,
        };
        Subscribed {
            id,
            pattern,
            port: Port::with(config.port),
            window: config.window.clamp(1, MAX_WINDOW),
            ack: config.ack,
            me: hub.name().clone(),
            core: Arc::downgrade(hub),
            read: |bytes| decode_value(bytes).map_err(|why| why.to_string()),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn port(&self) -> &Port<Sample<T>> {
        &self.port
    }

    /// The nodes whose topics come here.
    pub(crate) fn publishers(&self) -> BTreeSet<PeerName> {
        let state = self.state.lock();
        state
            .flows
            .keys()
            .map(|source| self.publisher(source))
            .collect()
    }

    pub(crate) fn unsubscribe(&self) {
        self.tell_rest();
        if let Some(core) = self.core.upgrade() {
            core.unsubscribe(self.id);
        }
    }

    /// A topic of this node goes to this subscription from `first` on: what counts as accepted, and
    /// the window.
    pub(crate) fn opened_here(
        &self,
        topic: u32,
        key: &Key,
        class: Class,
        first: u64,
    ) -> (u64, usize) {
        let upto = self.open(FlowSource::Here(topic), 0, key.clone(), class, first);
        (upto, self.window as usize)
    }

    /// Begins a flow, or goes on with it: up to which number all are accepted.
    fn open(&self, source: FlowSource, link: u64, key: Key, class: Class, first: u64) -> u64 {
        let mut state = self.state.lock();
        let fresh = || Flow {
            key,
            link,
            class,
            numbers: Incoming::beginning_at(first),
            gap: None,
            refused: None,
        };
        let flow = state.flows.entry(source).or_insert_with(fresh);
        flow.link = link;
        let gap = flow.numbers.goes_on_at(first);
        flow.miss(gap);
        let upto = flow.numbers.tell();
        state.missed = state
            .missed
            .saturating_add(gap.map_or(0, |gap| gap.count()));
        upto
    }

    /// Whether the peer has as many flows to this subscription as a node may have topics.
    fn has_all_of(&self, source: &FlowSource) -> bool {
        let FlowSource::There(peer, _) = source else {
            return false;
        };
        let of_peer =
            FlowSource::There(peer.clone(), 0)..=FlowSource::There(peer.clone(), u32::MAX);
        let state = self.state.lock();
        !state.flows.contains_key(source) && state.flows.range(of_peer).count() >= MAX_ENTRIES
    }

    fn publisher(&self, source: &FlowSource) -> PeerName {
        match source {
            FlowSource::Here(_) => self.me.clone(),
            FlowSource::There(peer, _) => peer.clone(),
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
        self.take_in(FlowSource::Here(topic), number, retained, value)
    }

    /// How many samples of one publisher may be under way.
    pub(crate) fn window(&self) -> usize {
        self.window as usize
    }

    fn take_in(
        self: &Arc<Self>,
        source: FlowSource,
        number: u64,
        retained: bool,
        value: Arc<T>,
    ) -> Option<u64> {
        let mut state = self.state.lock();
        let arrived = self.arrives(&mut state, &source, number, retained, value);
        let Ok(mut sample) = arrived else {
            // What users wrote is dropped outside of the lock.
            drop(state);
            return None;
        };
        if std::mem::replace(&mut state.posting, true) {
            state.came.push_back((source, sample));
            return None;
        }
        state.tell_refused(&source, &mut sample);
        drop(state);
        self.post(source, sample)
    }

    /// A sample comes. Its value back: it has come before, or its flow has ended meanwhile.
    fn arrives(
        self: &Arc<Self>,
        state: &mut State<T>,
        source: &FlowSource,
        number: u64,
        retained: bool,
        value: Arc<T>,
    ) -> Result<Sample<T>, Arc<T>> {
        let Some(flow) = state.flows.get_mut(source) else {
            return Err(value);
        };
        let Arrival::New(gap) = flow.numbers.arrives(number) else {
            return Err(value);
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
        state.missed = state
            .missed
            .saturating_add(gap.map_or(0, |gap| gap.count()));
        state.counted += 1;
        Ok(Sample {
            value,
            key,
            publisher: self.publisher(source),
            number,
            retained,
            gap: told,
            handled,
        })
    }

    /// A sample comes that cannot be read. What its publisher is to be told now.
    fn unreadable(&self, state: &mut State<T>, source: &FlowSource, number: u64) -> Option<u64> {
        state.unreadable += 1;
        let flow = state.flows.get_mut(source)?;
        let Arrival::New(gap) = flow.numbers.arrives(number) else {
            return None;
        };
        let from = gap.map_or(number, |gap| gap.from);
        let missed = Gap { from, to: number };
        flow.miss(Some(missed));
        state.missed = state.missed.saturating_add(missed.count());
        self.accept_in(state, source, number)
    }
}

impl Flow {
    fn miss(&mut self, gap: Option<Gap>) {
        self.gap = both(self.gap, gap);
    }
}

impl<T: Send + Sync + 'static> State<T> {
    /// A sample goes to the port, and tells what that has refused of its flow before.
    fn tell_refused(&mut self, source: &FlowSource, sample: &mut Sample<T>) {
        if self.refused
            && let Some(flow) = self.flows.get_mut(source)
        {
            sample.gap = both(flow.refused.take(), sample.gap);
        }
    }
}

/// Two gaps between which nothing was seen, as one.
fn both(one: Option<Gap>, other: Option<Gap>) -> Option<Gap> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Gap {
            from: one.from.min(other.from),
            to: one.to.max(other.to),
        }),
        (one, other) => one.or(other),
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

    fn opened(
        &self,
        source: FlowSource,
        link: u64,
        key: Key,
        class: Class,
        first: u64,
    ) -> Result<(u64, u32), String> {
        if !self.pattern.matches(&key) {
            return Err(format!(
                "it opens {key} for a subscription to {}",
                self.pattern
            ));
        }
        if self.has_all_of(&source) {
            return Err(format!("it has more than {MAX_ENTRIES} topics"));
        }
        Ok((self.open(source, link, key, class, first), self.window))
    }

    fn comes(self: Arc<Self>, source: &FlowSource, samples: &[Data<'_>]) {
        // What users wrote runs outside of the lock.
        let read = |data: &Data<'_>| (self.read)(data.payload).ok().map(Arc::new);
        let values: Vec<_> = samples.iter().map(read).collect();
        // Dropped outside of the lock.
        let (mut told, mut known) = (None, Vec::new());
        let mut state = self.state.lock();
        for (data, value) in samples.iter().zip(values) {
            let (number, retained) = (data.number, data.retained);
            match value {
                Some(value) => match self.arrives(&mut state, source, number, retained, value) {
                    Ok(sample) => state.came.push_back((source.clone(), sample)),
                    Err(value) => known.push(value),
                },
                None => told = self.unreadable(&mut state, source, number).or(told),
            }
        }
        let posts = !state.came.is_empty() && !std::mem::replace(&mut state.posting, true);
        self.unlock(state);
        self.tell(source, told);
        if posts {
            self.post_more();
        }
    }

    fn closed(&self, source: &FlowSource) {
        self.state.lock().flows.remove(source);
    }

    fn ends(&self) {
        self.tell_rest();
    }

    fn info(&self) -> SubscriptionInfo {
        let state = self.state.lock();
        SubscriptionInfo {
            pattern: self.pattern.clone(),
            publishers: state.flows.len(),
            came: state.counted,
            missed: state.missed,
            unreadable: state.unreadable,
        }
    }

    fn forget(&self, peer: &PeerName) {
        let mut state = self.state.lock();
        state.flows.retain(|source, _| !source.is_of(peer));
    }

    fn has_earlier(&self, peer: &PeerName, link: u64) -> bool {
        let state = self.state.lock();
        let mut flows = state.flows.iter();
        flows.any(|(source, flow)| source.is_of(peer) && flow.link != link)
    }

    fn forget_earlier(&self, peer: &PeerName, link: u64) {
        let mut state = self.state.lock();
        let flows = &mut state.flows;
        flows.retain(|source, flow| !source.is_of(peer) || flow.link == link);
    }
}
