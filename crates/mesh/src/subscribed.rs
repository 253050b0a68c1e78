//! What a subscription holds: samples that come, in order, and the port that they go to.
//!
//! ```text
//!   flow of a topic here   ──┬──── if none posts or waits ────┐
//!   frames of peers        ──┴─► [ came ] ── one at a time ──┴─► Port ──► accepted ──► credit
//! ```

mod accepting;
mod flows;
mod from_here;
mod logs;
mod posting;
mod state;

pub(crate) use self::from_here::FlowEnd;

use self::accepting::Handling;
use self::flows::{Flow, FlowId};
use self::state::{ArrivalCounts, State, TellingPlan};
use crate::core::MAX_WINDOW;
use crate::flow::{AnySubscription, FlowSource, Hub};
use crate::frame::{Data, decode_value};
use crate::incoming::{Arrival, Incoming};
use crate::sample::SampleOrigin;
use crate::start_from::{LogOfKey, LogPlace};
use crate::subscribe_config::{Ack, SubscribeConfig};
use crate::under::{end_with, named};
use crate::{Class, Deed, Gap, Key, MAX_ENTRIES, MeshRights, PeerName, Sample, SubscriptionInfo};
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
            from: match config.observes {
                true => LogPlace::Observe,
                false => config.from.into(),
            },
            read: |bytes| decode_value(bytes).map_err(|why| why.to_string()),
            state: Mutex::new(State::new()),
        }
    }

    /// Which samples of durable topics come first, and whether it looks on.
    pub(crate) fn start(&self) -> LogPlace {
        self.from
    }

    pub(crate) fn port(&self) -> &Port<Sample<T>> {
        &self.port
    }

    /// The nodes whose topics come here.
    pub(crate) fn publishers(&self) -> BTreeSet<PeerName> {
        let state = self.state.lock();
        let publishers = state.flows_now().map(|flow| &flow.origin.publisher);
        publishers.cloned().collect()
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

    /// Begins a flow, or goes on with it: its id, up to which number all are accepted, and which
    /// other topic had its log until now. None: the topic is of this node, of which another one has
    /// the log.
    fn open(
        &self,
        topic: FlowSource,
        link: u64,
        (key, class): (Key, Class),
        (mut first, log): (u64, Option<LogOfKey>),
    ) -> Option<(FlowId, u64, Option<FlowSource>)> {
        let publisher = topic.peer().unwrap_or(&self.me).clone();
        let origin = Arc::new(SampleOrigin { key, publisher });
        let mut state = self.state.lock();
        let State {
            flows,
            logs,
            counts,
            ..
        } = &mut *state;
        let (mut source, mut is_new_topic, mut before) = (topic, false, None);
        if let Some(log) = log {
            if logs.has_other_here(&source, &log) {
                return None;
            }
            (is_new_topic, before) = logs.enter(source, &log);
            source = FlowSource::Log(log);
            // It goes on where it was, whatever else it would begin with.
            let known = flows.of(&source);
            first = known.map_or(first, |flow| flow.numbers.next());
        }
        let (id, flow) = flows.open(source, |source| Flow {
            source,
            origin: Arc::clone(&origin),
            link,
            class,
            numbers: Incoming::beginning_at(first, self.window),
            gap: None,
            refused: None,
        });
        let is_new_link = std::mem::replace(&mut flow.link, link) != link || is_new_topic;
        if is_new_topic {
            flow.origin = origin;
        }
        let gap = flow.numbers.goes_on_at(first, is_new_link);
        flow.miss(gap);
        counts.miss(gap);
        Some((id, flow.numbers.tell(), before))
    }

    /// Whether the peer has as many flows to this subscription as a node may have topics.
    fn has_all_of(&self, source: &FlowSource) -> bool {
        let FlowSource::There(peer, _) = source else {
            return false;
        };
        let flows = &self.state.lock().flows;
        flows.id(source).is_none() && flows.count_of(peer) >= MAX_ENTRIES
    }

    /// A sample comes. Its value back: it has come before, or its publisher was not to send it.
    fn arrives(
        self: &Arc<Self>,
        (id, flow): (FlowId, &mut Flow),
        counts: &mut ArrivalCounts,
        (number, retained): (u64, bool),
        value: Arc<T>,
    ) -> Result<Sample<T>, Arc<T>> {
        let Arrival::New(gap) = flow.numbers.arrives(number) else {
            return Err(value);
        };
        flow.miss(gap);
        counts.miss(gap);
        counts.came += 1;
        let handled = (self.ack == Ack::Handled).then(|| {
            let subscription = Arc::downgrade(self);
            Arc::new(Handling {
                subscription,
                id,
                number,
            }) as Arc<dyn Any + Send + Sync>
        });
        Ok(Sample {
            value,
            number,
            retained,
            gap: flow.gap.take(),
            origin: Arc::clone(&flow.origin),
            handled,
        })
    }

    /// A sample comes that cannot be read. What its publisher is to be told now.
    fn unreadable(
        &self,
        flow: &mut Flow,
        counts: &mut ArrivalCounts,
        telling: &mut TellingPlan,
        number: u64,
    ) -> Option<u64> {
        counts.unreadable += 1;
        let Arrival::New(gap) = flow.numbers.arrives(number) else {
            return None;
        };
        let from = gap.map_or(number, |gap| gap.from);
        let missed = Some(Gap { from, to: number });
        flow.miss(missed);
        counts.miss(missed);
        flow.numbers.accepts(number);
        self.news(flow, telling)
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
        log: Option<LogOfKey>,
    ) -> Result<(u64, u32), String> {
        if !self.pattern.matches(&key) {
            return Err(format!(
                "it opens {key} for a subscription to {}",
                self.pattern
            ));
        }
        if self.has_all_of(&source) || self.state.lock().has_all_logs(log.clone()) {
            return Err(format!("it has more than {MAX_ENTRIES} topics"));
        }
        match self.open(source, link, (key, class), (first, log)) {
            Some((_, upto, _)) => Ok((upto, self.window)),
            None => Err("another topic of this node has its log".to_owned()),
        }
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
        let State {
            flows,
            counts,
            came,
            telling,
            ..
        } = &mut *state;
        let id = flows.id(source);
        let Some((id, flow)) = id.and_then(|id| Some((id, flows.get_mut(id)?))) else {
            drop(state);
            return;
        };
        came.reserve(samples.len());
        for (data, value) in samples.iter().zip(values) {
            let (number, retained) = (data.number, data.retained);
            match value.map(|value| self.arrives((id, flow), counts, (number, retained), value)) {
                Some(Ok(mut sample)) => {
                    // Of these there are no more than a window.
                    let under = named(data.names);
                    end_with(&mut sample, &under);
                    came.push_back((id, sample, under));
                }
                Some(Err(value)) => known.push(value),
                None => told = self.unreadable(flow, counts, telling, number).or(told),
            }
        }
        let posts = !state.came.is_empty() && !std::mem::replace(&mut state.posting, true);
        self.unlock(state);
        self.tell_all(told.map(|upto| (source.clone(), upto)));
        if posts {
            self.post_more();
        }
    }

    fn closed(&self, source: &FlowSource) {
        let mut state = self.state.lock();
        state.flows.close(source);
        state.logs.leave(|topic, _| topic == source);
    }

    fn has_room_for(&self, log: &LogOfKey, peer: &PeerName, most: usize) -> bool {
        self.state.lock().has_room_for(log, peer, most)
    }

    fn topic_of(&self, log: &LogOfKey) -> Option<(FlowSource, u64)> {
        let state = self.state.lock();
        let topic = state.logs.topic(log)?.clone();
        let flow = state.flows.of(&FlowSource::Log(log.clone()));
        Some((topic, flow.map_or(0, |flow| flow.link)))
    }

    fn ends(&self) {
        self.tell_rest();
    }

    fn info(&self) -> SubscriptionInfo {
        let state = self.state.lock();
        SubscriptionInfo {
            pattern: self.pattern.clone(),
            publishers: state.flows_now().count(),
            came: state.counts.came,
            missed: state.counts.missed,
            unreadable: state.counts.unreadable,
        }
    }

    fn forget(&self, peer: &PeerName) {
        let mut state = self.state.lock();
        state.flows.retain(|flow| !flow.source.is_of(peer));
        state.logs.leave(|topic, _| topic.is_of(peer));
    }

    fn forget_beyond(&self, peer: &PeerName, rights: &MeshRights) {
        let mut state = self.state.lock();
        let may = |key: &Key| rights.may(Deed::Publish, key);
        let stays = |flow: &Flow| !flow.source.is_of(peer) || may(&flow.origin.key);
        state.flows.retain(stays);
        let is_gone = |topic: &FlowSource, log: &LogOfKey| topic.is_of(peer) && !may(&log.key);
        state.logs.leave(is_gone);
    }

    fn has_earlier(&self, peer: &PeerName, link: u64) -> bool {
        let state = self.state.lock();
        let mut flows = state.flows.iter();
        flows.any(|flow| state.logs.is_of(&flow.source, peer) && flow.link != link)
    }

    fn forget_earlier(&self, peer: &PeerName, link: u64) {
        let mut state = self.state.lock();
        let State { flows, logs, .. } = &mut *state;
        flows.retain(|flow| !flow.source.is_of(peer) || flow.link == link);
        logs.leave(|topic, log| {
            let flow = flows.of(&FlowSource::Log(log.clone()));
            topic.is_of(peer) && flow.is_none_or(|flow| flow.link != link)
        });
    }
}
