//! Samples go to the port, one thread at a time.

use super::Subscribed;
use super::flows::FlowId;
use super::state::WaitingSamples;
use crate::subscribe_config::Ack;
use crate::under::only_under;
use crate::unwinding::on_panic;
use crate::{Gap, Sample};
use motet_dispatch::Causalities;
use motet_ports::{PostError, PostRefusal};
use std::sync::Arc;

impl<T: Send + Sync + 'static> Subscribed<T> {
    /// Posts what has come, until nothing has or the port is full: then a task waits for room. The
    /// caller is the one who posts.
    pub(super) fn post_more(self: &Arc<Self>) {
        let mut posted = Vec::new();
        loop {
            let mut came = self.posted(&mut posted);
            if came.is_empty() {
                return;
            }
            posted.reserve(came.len());
            while let Some((id, sample, under)) = came.pop_front() {
                let (number, gap) = (sample.number, sample.gap);
                let panicked = on_panic(|| {
                    self.put_back(std::mem::take(&mut came));
                    let posted = std::mem::take(&mut posted);
                    self.go_on_behind(id, (number, gap), Some(posted));
                });
                let done = only_under(under.clone(), || self.port.post(sample));
                panicked.did_not();
                match done {
                    Ok(()) if self.ack == Ack::Accepted => posted.push((id, number)),
                    Ok(()) => {}
                    Err(PostError {
                        item,
                        reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                    }) => {
                        self.put_back(came);
                        self.accept_posted(&posted);
                        self.wait_and_post(id, item, under);
                        return;
                    }
                    Err(_) => {
                        self.accept_posted(&posted);
                        self.end();
                        return;
                    }
                }
            }
        }
    }

    /// Samples wait again, before those that have come meanwhile.
    fn put_back(&self, mut came: WaitingSamples<T>) {
        let mut state = self.state.lock();
        came.append(&mut state.came);
        state.came = came;
    }

    /// Posting a sample has panicked: the next sample tells that this one may be missing. A task
    /// goes on, with what was posted before if this was done by the one who posts all. Nothing else
    /// is done here, where another panic would end the process.
    pub(super) fn go_on_behind(
        self: &Arc<Self>,
        id: FlowId,
        lost: (u64, Option<Gap>),
        posted: Option<Vec<(FlowId, u64)>>,
    ) {
        self.state.lock().lose(id, lost);
        let this = Arc::clone(self);
        if let Some(core) = self.core.upgrade() {
            core.spawn(Box::pin(async move {
                let goes_on = posted.is_some();
                let mut accepted = posted.unwrap_or_default();
                accepted.push((id, lost.0));
                this.accept_posted(&accepted);
                if goes_on {
                    this.post_more();
                }
            }));
        }
    }

    /// Accepts what has been posted, and tells publishers. What has come meanwhile: nothing, and
    /// then nobody posts.
    fn posted(self: &Arc<Self>, posted: &mut Vec<(FlowId, u64)>) -> WaitingSamples<T> {
        let mut state = self.state.lock();
        let told = self.accept_all(&mut state, posted);
        posted.clear();
        let mut came = std::mem::take(&mut state.came);
        state.posting = !came.is_empty();
        let ends = came.is_empty() && std::mem::take(&mut state.ends);
        if state.refused {
            for (id, sample, _) in &mut came {
                if let Some(flow) = state.flows.get_mut(*id) {
                    flow.tell_refused(sample);
                }
            }
            let mut flows = state.flows.iter();
            let is_left = flows.any(|flow| flow.refused.is_some());
            drop(flows);
            state.refused = is_left;
        }
        self.unlock(state);
        self.tell_all(told);
        if ends {
            self.unsubscribe();
        }
        came
    }

    pub(super) fn wait_and_post(
        self: &Arc<Self>,
        id: FlowId,
        sample: Sample<T>,
        under: Causalities,
    ) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let this = Arc::clone(self);
        let ends = {
            let mut state = self.state.lock();
            state.waits_for_room = true;
            std::mem::take(&mut state.ends)
        };
        let (number, gap) = (sample.number, sample.gap);
        let posting = only_under(under, || self.port.post_wait(sample));
        core.spawn(Box::pin(async move {
            let posted = posting.await;
            this.state.lock().waits_for_room = false;
            match posted {
                Ok(()) => {
                    if this.ack == Ack::Accepted {
                        this.accept(id, number);
                    }
                    this.post_more();
                }
                // A port that rejects what it has no room for drops it, and the drop is told as a
                // gap.
                Err(PostError {
                    reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                    ..
                }) => {
                    this.drop_one(id, (number, gap));
                    this.post_more();
                }
                Err(_) => this.end(),
            }
        }));
        if ends {
            self.unsubscribe();
        }
    }

    /// The port is closed: nobody wants more. The caller was the one who posts.
    fn end(&self) {
        let came = {
            let mut state = self.state.lock();
            state.posting = false;
            std::mem::take(&mut state.came)
        };
        // Dropped outside of the lock: a sample may accept itself then.
        drop(came);
        self.unsubscribe();
    }
}
