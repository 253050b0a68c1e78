//! What a subscription holds: samples that come, in order, and the port that they go to.
//!
//! ```text
//!   flow of a topic here   ──┐
//!   frames of peers        ──┴─► [ came ] ── one at a time ──► Port ──► accepted ──► credit for the publisher
//! ```

mod accepting;
mod logs;
mod posting;
mod state;

use self::accepting::Handling;
use self::state::{Flow, State};
use crate::core::MAX_WINDOW;
use crate::flow::{AnySubscription, FlowSource, Hub};
use crate::frame::{Data, decode_value};
use crate::incoming::{Arrival, Incoming};
use crate::start_from::{LogId, LogPlace};
use crate::subscribe_config::{Ack, SubscribeConfig};
use crate::{Class, Gap, Key, MAX_ENTRIES, PeerName, Sample, SubscriptionInfo};
use motet_ports::Port;
use motet_sync::Mutex;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

pub(crate) struct Subscribed<T: Send + Sync + 'static> {
    id: u32,
    pattern: Key,
    port: Port<Sample<T>>,
    window: u32,
    ack: Ack,
    me: PeerName,
    core: Weak<dyn Hub>,
    from: LogPlace,
    read: fn(&[u8]) -> Result<T, String>,
    state: Mutex<State<T>>,
}

impl<T: Send + Sync + 'static> Subscribed<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, pattern: Key, config: &SubscribeConfig) -> Self
    where
        T: DeserializeOwned,
    {
        Subscribed {
            id,
            pattern,
            port: Port::with(config.port),
            window: config.window.clamp(1, MAX_WINDOW),
            ack: config.ack,
            me: hub.name().clone(),
            core: Arc::downgrade(hub),
            from: config.from.into(),
            read: |bytes| decode_value(bytes).map_err(|why| why.to_string()),
            state: Mutex::new(State::new()),
        }
    }

    /// Which samples of durable topics come first.
    pub(crate) fn start(&self) -> LogPlace {
        self.from
    }

    pub(crate) fn port(&self) -> &Port<Sample<T>> {
        &self.port
    }

    /// The nodes whose topics come here.
    pub(crate) fn publishers(&self) -> BTreeSet<PeerName> {
        let state = self.state.lock();
        let publishers = state.flows.keys();
        publishers
            .filter_map(|source| self.publisher(&state, source))
            .collect()
    }

    /// Ends it, once its publishers are told what is accepted. Who posts does so when he has
    /// posted: he may have called the handler that ends it.
    pub(crate) fn unsubscribe(&self) {
        let mut state = self.without_poster();
        if state.is_posted_to() {
            state.ends = true;
            return;
        }
        drop(state);
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
        (key, class): (&Key, Class),
        first: u64,
        log: Option<LogId>,
    ) -> (u64, usize) {
        let opened = (key.clone(), class);
        let upto = self.open(FlowSource::Here(topic), 0, opened, (first, log));
        (upto, self.window as usize)
    }

    /// Begins a flow, or goes on with it: up to which number all are accepted.
    fn open(
        &self,
        topic: FlowSource,
        link: u64,
        (key, class): (Key, Class),
        (mut first, log): (u64, Option<LogId>),
    ) -> u64 {
        let mut state = self.state.lock();
        let (mut source, mut is_new_topic) = (topic, false);
        if let Some(log) = log {
            is_new_topic = state.logs.enter(source, log);
            source = FlowSource::Log(log);
            // It goes on where it was, whatever else it would begin with.
            let known = state.flows.get(&source);
            first = known.map_or(first, |flow| flow.numbers.next());
        }
        let fresh = || Flow {
            key,
            link,
            class,
            numbers: Incoming::beginning_at(first, self.window),
            gap: None,
            refused: None,
        };
        let flow = state.flows.entry(source).or_insert_with(fresh);
        let is_new_link = std::mem::replace(&mut flow.link, link) != link || is_new_topic;
        let gap = flow.numbers.goes_on_at(first, is_new_link);
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

    /// None: nobody has the log now.
    fn publisher(&self, state: &State<T>, source: &FlowSource) -> Option<PeerName> {
        match source {
            FlowSource::Here(_) => Some(self.me.clone()),
            FlowSource::There(peer, _) => Some(peer.clone()),
            FlowSource::Log(log) => self.publisher(state, state.logs.topic(*log)?),
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

    /// A sample comes. Its value back: it has come before, its publisher was not to send it, or its
    /// flow has ended meanwhile.
    fn arrives(
        self: &Arc<Self>,
        state: &mut State<T>,
        source: &FlowSource,
        number: u64,
        retained: bool,
        value: Arc<T>,
    ) -> Result<Sample<T>, Arc<T>> {
        let publisher = self.publisher(state, source);
        let (Some(flow), Some(publisher)) = (state.flows.get_mut(source), publisher) else {
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
            publisher,
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

impl<T: Send + Sync + 'static> AnySubscription for Subscribed<T> {
    fn pattern(&self) -> &Key {
        &self.pattern
    }

    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn place(&self) -> LogPlace {
        self.from
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
        log: Option<LogId>,
    ) -> Result<(u64, u32), String> {
        if !self.pattern.matches(&key) {
            return Err(format!(
                "it opens {key} for a subscription to {}",
                self.pattern
            ));
        }
        if self.has_all_of(&source) || self.state.lock().has_all_logs(log) {
            return Err(format!("it has more than {MAX_ENTRIES} topics"));
        }
        let upto = self.open(source, link, (key, class), (first, log));
        Ok((upto, self.window))
    }

    fn comes(self: Arc<Self>, source: &FlowSource, samples: &[Data<'_>]) {
        // What users wrote runs outside of the lock.
        let read = |data: &Data<'_>| (self.read)(data.payload).ok().map(Arc::new);
        let values: Vec<_> = samples.iter().map(read).collect();
        // Dropped outside of the lock.
        let (mut told, mut known) = (None, Vec::new());
        let mut state = self.state.lock();
        let of_log = state.logs.flow(source);
        let source = of_log.as_ref().unwrap_or(source);
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
        let mut state = self.state.lock();
        state.flows.remove(source);
        state.logs.leave(|topic, _| topic == source);
    }

    fn ends(&self) {
        self.tell_rest();
    }

    fn info(&self) -> SubscriptionInfo {
        let state = self.state.lock();
        SubscriptionInfo {
            pattern: self.pattern.clone(),
            publishers: state.publisher_count(),
            came: state.counted,
            missed: state.missed,
            unreadable: state.unreadable,
        }
    }

    fn forget(&self, peer: &PeerName) {
        let mut state = self.state.lock();
        state.flows.retain(|source, _| !source.is_of(peer));
        state.logs.leave(|topic, _| topic.is_of(peer));
    }

    fn has_earlier(&self, peer: &PeerName, link: u64) -> bool {
        let state = self.state.lock();
        let mut flows = state.flows.iter();
        flows.any(|(source, flow)| state.is_of(source, peer) && flow.link != link)
    }

    fn forget_earlier(&self, peer: &PeerName, link: u64) {
        let mut state = self.state.lock();
        let State { flows, logs, .. } = &mut *state;
        flows.retain(|source, flow| !source.is_of(peer) || flow.link == link);
        logs.leave(|topic, log| {
            let flow = flows.get(&FlowSource::Log(log));
            topic.is_of(peer) && flow.is_none_or(|flow| flow.link != link)
        });
    }
}
