//! The flows of a subscription: one from each topic that matches.

use crate::flow::FlowSource;
use crate::incoming::Incoming;
use crate::sample::SampleOrigin;
use crate::{Class, Gap, PeerName, Sample};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A flow of a subscription. No later flow of that gets the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowId(u64);

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) source: FlowSource,
    /// What its samples have in common.
    pub(super) origin: Arc<SampleOrigin>,
    /// The number of the link by which it was opened last.
    pub(super) link: u64,
    /// Of its topic.
    pub(super) class: Class,
    pub(super) numbers: Incoming,
    /// What the next sample that comes tells that was missed before it.
    pub(super) gap: Option<Gap>,
    /// What the port has refused since the last sample that it took: the next one that goes there
    /// tells it.
    pub(super) refused: Option<Gap>,
}

impl Flow {
    pub(super) fn miss(&mut self, gap: Option<Gap>) {
        self.gap = both(self.gap, gap);
    }

    /// A sample goes to the port, and tells what that has refused before.
    pub(super) fn tell_refused<T>(&mut self, sample: &mut Sample<T>) {
        if self.refused.is_some() {
            sample.gap = both(self.refused.take(), sample.gap);
        }
    }
}

/// Two gaps between which nothing was seen, as one.
pub(super) fn both(one: Option<Gap>, other: Option<Gap>) -> Option<Gap> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Gap {
            from: one.from.min(other.from),
            to: one.to.max(other.to),
        }),
        (one, other) => one.or(other),
    }
}

/// Samples find their flow by its id. A source is looked up once for those that came together.
#[derive(Debug, Default)]
pub(super) struct Flows {
    ids: BTreeMap<FlowSource, FlowId>,
    flows: BTreeMap<FlowId, Flow>,
    last: u64,
}

impl Flows {
    pub(super) fn id(&self, source: &FlowSource) -> Option<FlowId> {
        self.ids.get(source).copied()
    }

    /// The flow from the source.
    pub(super) fn of(&self, source: &FlowSource) -> Option<&Flow> {
        self.flows.get(&self.id(source)?)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.flows.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.flows.values_mut()
    }

    /// The flow from the source, which `make` makes if there is none.
    pub(super) fn open(
        &mut self,
        source: FlowSource,
        make: impl FnOnce(FlowSource) -> Flow,
    ) -> (FlowId, &mut Flow) {
        let last = &mut self.last;
        let id = *self.ids.entry(source.clone()).or_insert_with(|| {
            *last += 1;
            FlowId(*last)
        });
        let flow = self.flows.entry(id).or_insert_with(|| make(source));
        (id, flow)
    }

    pub(super) fn close(&mut self, source: &FlowSource) {
        if let Some(id) = self.ids.remove(source) {
            self.flows.remove(&id);
        }
    }

    pub(super) fn retain(&mut self, stays: impl Fn(&Flow) -> bool) {
        self.flows.retain(|_, flow| stays(flow));
        let flows = &self.flows;
        self.ids.retain(|_, id| flows.contains_key(id));
    }

    /// How many flows of topics of the peer there are.
    pub(super) fn count_of(&self, peer: &PeerName) -> usize {
        let of = |topic| FlowSource::There(peer.clone(), topic);
        self.ids.range(of(0)..=of(u32::MAX)).count()
    }

    /// How many flows of logs there are, also of those that nobody has now.
    pub(super) fn count_of_logs(&self) -> usize {
        let last_first = self.ids.keys().rev();
        last_first.take_while(|source| source.is_log()).count()
    }
}
