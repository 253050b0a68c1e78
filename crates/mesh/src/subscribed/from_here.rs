//! Samples of topics of the same node.

use super::Subscribed;
use super::flows::FlowId;
use crate::flow::{AnySubscription, FlowSource};
use crate::frame::Data;
use crate::start_from::LogOfKey;
use crate::unwinding::on_panic;
use crate::{Ack, Class, Key, Sample};
use motet_dispatch::Causalities;
use motet_ports::{PostError, PostRefusal};
use std::sync::Arc;

/// The end of a flow, for the topic that it comes from.
pub(crate) struct FlowEnd<T: Send + Sync + 'static> {
    subscription: Arc<Subscribed<T>>,
    id: FlowId,
}

impl<T: Send + Sync + 'static> Clone for FlowEnd<T> {
    fn clone(&self) -> Self {
        let subscription = Arc::clone(&self.subscription);
        let id = self.id;
        FlowEnd { subscription, id }
    }
}

impl<T: Send + Sync + 'static> FlowEnd<T> {
    /// A topic of the subscription's node, or one with this log, goes there from `first` on: its
    /// end, what counts as accepted, and which other topic had the log until now. None: another
    /// topic of this node has the log.
    pub(crate) fn open(
        subscription: Arc<Subscribed<T>>,
        topic: u32,
        (key, class): (&Key, Class),
        (first, log): (u64, Option<LogOfKey>),
    ) -> Option<(Self, u64, Option<FlowSource>)> {
        let (source, opened) = (FlowSource::Here(topic), (key.clone(), class));
        let (id, upto, before) = subscription.open(source, 0, opened, (first, log))?;
        Some((FlowEnd { subscription, id }, upto, before))
    }

    /// How many samples may be under way.
    pub(crate) fn window(&self) -> usize {
        self.subscription.window as usize
    }

    /// A sample of a log. Its topic is told when it is accepted.
    pub(crate) fn comes_from_log(&self, data: Data<'_>) {
        let subscription = Arc::clone(&self.subscription);
        subscription.comes(&FlowSource::Here(data.topic), &[data]);
    }

    /// A sample, of a topic that knows that all before `first` are accepted. Whether this one is
    /// accepted, too; else the topic is told when it is. It was published under the causalities
    /// that are active now.
    ///
    /// One thread at a time brings those of a flow, so a sample goes to the port without a look at
    /// those of other flows, unless some wait.
    pub(crate) fn comes(&self, first: u64, number: u64, retained: bool, value: Arc<T>) -> bool {
        let (subscription, id) = (&self.subscription, self.id);
        let mut state = subscription.state.lock();
        let state_parts = &mut *state;
        let Some(flow) = state_parts.flows.get_mut(id) else {
            // What users wrote is dropped outside of the lock.
            drop(state);
            return false;
        };
        flow.numbers.is_told_before(first);
        let counts = &mut state_parts.counts;
        let arrived = subscription.arrives((id, flow), counts, (number, retained), value);
        let Ok(mut sample) = arrived else {
            drop(state);
            return false;
        };
        if state_parts.posting {
            let under = Causalities::active();
            state_parts.came.push_back((id, sample, under));
            return false;
        }
        flow.tell_refused(&mut sample);
        drop(state);
        subscription.post(id, sample)
    }
}

impl<T: Send + Sync + 'static> Subscribed<T> {
    /// Posts a sample while nobody else posts those of its flow. Whether it is accepted.
    fn post(self: &Arc<Self>, id: FlowId, sample: Sample<T>) -> bool {
        let lost = (sample.number, sample.gap);
        let panicked = on_panic(|| self.go_on_behind(id, lost, None));
        let posted = self.port.post(sample);
        panicked.did_not();
        match posted {
            Ok(()) => return self.ack == Ack::Accepted,
            Err(PostError {
                item,
                reason: PostRefusal::PortFull | PostRefusal::Queue(_),
            }) => {
                let under = Causalities::active();
                let mut state = self.state.lock();
                if std::mem::replace(&mut state.posting, true) {
                    state.came.push_back((id, item, under));
                } else {
                    drop(state);
                    self.wait_and_post(id, item, under);
                }
            }
            // The port is closed: nobody wants more.
            Err(_) => self.unsubscribe(),
        }
        false
    }
}
