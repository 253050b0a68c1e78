//! Which samples are accepted, and when their publishers are told.

use super::Subscribed;
use super::flows::{Flow, FlowId};
use super::state::{State, TellingPlan, ToldWhen};
use crate::flow::FlowSource;
use crate::incoming::ToBeTold;
use crate::{Class, FramePriority, Gap};
use motet_sync::{MutexGuard, thread};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// So long a publisher may wait for what tells it of a few samples. A topic that sends samples
/// again, and has room for others when they are accepted, is told [at once](ToldWhen::Soon); so is
/// any when half of the window is accepted.
const PAUSE: Duration = Duration::from_millis(2);

/// So often a subscription that ends looks whether somebody posts to its port.
const LOOKS: usize = 1000;

impl<T: Send + Sync + 'static> Subscribed<T> {
    /// The port refused a sample for good. What that would have told the next one tells.
    pub(super) fn drop_one(self: &Arc<Self>, id: FlowId, lost: (u64, Option<Gap>)) {
        self.state.lock().lose(id, lost);
        self.accept(id, lost.0);
    }

    pub(super) fn accept(self: &Arc<Self>, id: FlowId, number: u64) {
        self.accept_posted(&[(id, number)]);
    }

    /// What the publisher of a flow is to be told now. The caller [unlocks](Subscribed::unlock).
    pub(super) fn news(&self, flow: &mut Flow, telling: &mut TellingPlan) -> Option<u64> {
        match (flow.numbers.is_to_be_told(self.window.into()), &flow.source) {
            (ToBeTold::Now, _) | (ToBeTold::Soon, FlowSource::Here(_)) => Some(flow.numbers.tell()),
            (ToBeTold::Soon, FlowSource::There(..) | FlowSource::Log(_)) => {
                let wanted = match flow.class {
                    Class::Acknowledged | Class::Durable => ToldWhen::Soon,
                    Class::Latest | Class::Reliable => ToldWhen::Later,
                };
                telling.wants(wanted);
                None
            }
            (ToBeTold::Later, _) => None,
        }
    }

    /// Accepts samples, and tells publishers.
    pub(super) fn accept_posted(self: &Arc<Self>, posted: &[(FlowId, u64)]) {
        let mut state = self.state.lock();
        let told = self.accept_all(&mut state, posted);
        self.unlock(state);
        self.tell_all(told);
    }

    /// Accepts samples. What each publisher is to be told now. The caller
    /// [unlocks](Subscribed::unlock).
    pub(super) fn accept_all(
        &self,
        state: &mut State<T>,
        posted: &[(FlowId, u64)],
    ) -> Vec<(FlowSource, u64)> {
        let mut told = Vec::new();
        let State { flows, telling, .. } = state;
        // Those of one flow follow each other, and its publisher is told once.
        for samples in posted.chunk_by(|(id, _), (next, _)| id == next) {
            let Some(flow) = samples.first().and_then(|(id, _)| flows.get_mut(*id)) else {
                continue;
            };
            for (_, number) in samples {
                flow.numbers.accepts(*number);
            }
            if let Some(upto) = self.news(flow, telling) {
                told.push((flow.source.clone(), upto));
            }
        }
        told
    }

    pub(super) fn tell_all(&self, told: impl IntoIterator<Item = (FlowSource, u64)>) {
        for (source, upto) in told {
            self.tell_by(FramePriority::Urgent, &source, upto);
        }
    }

    fn tell_by(&self, priority: FramePriority, source: &FlowSource, upto: u64) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let of_log = match source {
            FlowSource::Log(log) => match self.state.lock().logs.topic(log) {
                Some(topic) => Some(topic.clone()),
                // Who has the log next is told when he opens the flow.
                None => return,
            },
            FlowSource::Here(_) | FlowSource::There(..) => None,
        };
        let topic = of_log.as_ref().unwrap_or(source);
        core.tell_accepted(topic, self.id, upto, self.window, priority);
    }

    /// Who posts counts what he has posted in a moment: the port's owner may have taken it. The
    /// state then, or after a while.
    pub(super) fn without_poster(&self) -> MutexGuard<'_, State<T>> {
        for _ in 0..LOOKS {
            let state = self.state.lock();
            if !state.is_posted_to() {
                return state;
            }
            drop(state);
            thread::yield_now();
        }
        self.state.lock()
    }

    /// Tells publishers all that is accepted: there will be no more. The frame that says so might
    /// overtake urgent ones, so these go in its order, and also to those who were told before.
    pub(super) fn tell_rest(&self) {
        let mut state = self.without_poster();
        let flows = state.flows.iter_mut();
        let told = flows.map(|flow| (flow.source.clone(), flow.numbers.tell()));
        let told: Vec<_> = told.collect();
        drop(state);
        for (source, upto) in told {
            self.tell_by(FramePriority::Ordered, &source, upto);
        }
    }

    /// Releases the lock. Then that begins which is to tell publishers, if there is something: a
    /// queue may run a task at once.
    pub(super) fn unlock(self: &Arc<Self>, mut state: MutexGuard<'_, State<T>>) {
        let begins = state.telling.begins();
        drop(state);
        match begins {
            ToldWhen::Not => {}
            ToldWhen::Later => self.tell_later(),
            ToldWhen::Soon => self.tell_soon(),
        }
    }

    /// Publishers are told after [`PAUSE`], so that not each sample of a few is a frame back.
    fn tell_later(self: &Arc<Self>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let this = Arc::downgrade(self);
        // The timer goes when it fires: it holds the subscription by a weak handle alone.
        let _timer = core.clock().after(PAUSE, move |_| {
            let Some(this) = this.upgrade() else { return };
            let is_due = this.state.lock().telling.fires();
            if is_due {
                this.tell_soon();
            }
        });
    }

    /// A task tells publishers, behind what the queue has now: so one frame tells of many samples.
    fn tell_soon(self: &Arc<Self>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let this = Arc::clone(self);
        core.spawn(Box::pin(async move {
            let mut told = Vec::new();
            let mut state = this.state.lock();
            state.telling.tells();
            for flow in state.flows.iter_mut() {
                if flow.numbers.has_news() {
                    told.push((flow.source.clone(), flow.numbers.tell()));
                }
            }
            drop(state);
            this.tell_all(told);
        }));
    }
}

/// A sample that a handler has.
pub(super) struct Handling<T: Send + Sync + 'static> {
    pub(super) subscription: Weak<Subscribed<T>>,
    pub(super) id: FlowId,
    pub(super) number: u64,
}

impl<T: Send + Sync + 'static> Drop for Handling<T> {
    fn drop(&mut self) {
        if let Some(subscription) = self.subscription.upgrade() {
            subscription.accept(self.id, self.number);
        }
    }
}
