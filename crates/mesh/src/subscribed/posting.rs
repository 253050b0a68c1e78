//! Samples go to the port, one thread at a time.

use super::Subscribed;
use crate::flow::FlowSource;
use crate::subscribe_config::Ack;
use crate::unwinding::on_panic;
use crate::{Gap, Sample};
use motet_ports::{PostError, PostRefusal};
use std::collections::VecDeque;
use std::sync::Arc;

/// Samples that are to be posted, oldest first.
type WaitingSamples<T> = VecDeque<(FlowSource, Sample<T>)>;

impl<T: Send + Sync + 'static> Subscribed<T> {
    /// Posts the first sample, and then what has come meanwhile. What the topic of the first is to
    /// be told, if that is one of this node.
    pub(super) fn post(self: &Arc<Self>, source: FlowSource, sample: Sample<T>) -> Option<u64> {
        let number = sample.number;
        let lost = (number, sample.gap);
        let panicked = on_panic(|| self.go_on_behind(source.clone(), lost, Vec::new()));
        let posted = self.port.post(sample);
        panicked.did_not();
        match posted {
            Ok(()) => {}
            Err(PostError {
                item,
                reason: PostRefusal::PortFull | PostRefusal::Queue(_),
            }) => {
                self.wait_and_post(source, item);
                return None;
            }
            Err(_) => {
                self.end();
                return None;
            }
        }
        let mut state = self.state.lock();
        let told = match self.ack {
            Ack::Accepted => self.accept_in(&mut state, &source, number),
            Ack::Handled => None,
        };
        let more = !state.came.is_empty();
        state.posting = more;
        let ends = !more && std::mem::take(&mut state.ends);
        self.unlock(state);
        if more {
            self.post_more();
        }
        let told = match &source {
            FlowSource::Here(_) => told,
            FlowSource::There(..) | FlowSource::Log(_) => {
                self.tell(&source, told);
                None
            }
        };
        if ends {
            self.unsubscribe();
        }
        told
    }

    /// Posts what has come, until nothing has or the port is full: then a task waits for room. The
    /// caller is the one who posts.
    pub(super) fn post_more(self: &Arc<Self>) {
        let mut posted = Vec::new();
        loop {
            let mut came = self.posted(&mut posted);
            if came.is_empty() {
                return;
            }
            while let Some((source, sample)) = came.pop_front() {
                let (number, gap) = (sample.number, sample.gap);
                let panicked = on_panic(|| {
                    self.put_back(std::mem::take(&mut came));
                    let posted = std::mem::take(&mut posted);
                    self.go_on_behind(source.clone(), (number, gap), posted);
                });
                let done = self.port.post(sample);
                panicked.did_not();
                match done {
                    Ok(()) => posted.push((source, number)),
                    Err(PostError {
                        item,
                        reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                    }) => {
                        self.put_back(came);
                        self.accept_posted(&mut posted);
                        self.wait_and_post(source, item);
                        return;
                    }
                    Err(_) => {
                        self.accept_posted(&mut posted);
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

    /// Posting a sample has panicked: a task goes on, and the next sample tells that this one may
    /// be missing. Nothing else is done here, where another panic would end the process.
    fn go_on_behind(
        self: &Arc<Self>,
        source: FlowSource,
        lost: (u64, Option<Gap>),
        posted: Vec<(FlowSource, u64)>,
    ) {
        let (this, mut posted) = (Arc::clone(self), posted);
        if let Some(core) = self.core.upgrade() {
            core.spawn(Box::pin(async move {
                this.accept_posted(&mut posted);
                this.drop_one(&source, lost);
                this.post_more();
            }));
        }
    }

    /// Accepts what has been posted, and tells publishers. What has come meanwhile: nothing, and
    /// then nobody posts.
    fn posted(self: &Arc<Self>, posted: &mut Vec<(FlowSource, u64)>) -> WaitingSamples<T> {
        let mut state = self.state.lock();
        let told = self.accept_all(&mut state, posted);
        let mut came = std::mem::take(&mut state.came);
        state.posting = !came.is_empty();
        let ends = came.is_empty() && std::mem::take(&mut state.ends);
        if state.refused {
            for (source, sample) in &mut came {
                state.tell_refused(source, sample);
            }
            state.refused = state.flows.values().any(|flow| flow.refused.is_some());
        }
        self.unlock(state);
        self.tell_all(told);
        if ends {
            self.unsubscribe();
        }
        came
    }

    fn wait_and_post(self: &Arc<Self>, source: FlowSource, sample: Sample<T>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let this = Arc::clone(self);
        let ends = {
            let mut state = self.state.lock();
            state.waits_for_room = true;
            std::mem::take(&mut state.ends)
        };
        core.spawn(Box::pin(async move {
            let (number, gap) = (sample.number, sample.gap);
            let posted = this.port.post_wait(sample).await;
            this.state.lock().waits_for_room = false;
            match posted {
                Ok(()) => {
                    if this.ack == Ack::Accepted {
                        this.accept(&source, number);
                    }
                    this.post_more();
                }
                // A port that rejects what it has no room for drops it, and the drop is told as a
                // gap.
                Err(PostError {
                    reason: PostRefusal::PortFull | PostRefusal::Queue(_),
                    ..
                }) => {
                    this.drop_one(&source, (number, gap));
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
