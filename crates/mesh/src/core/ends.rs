//! Topics that are over, and flows that end before their topic.

use super::Core;
use crate::Key;
use crate::flow::{FlowSource, FlowTarget};
use crate::frame::Frame;
use crate::peers::PeerChange;
use std::sync::Arc;

impl Core {
    /// Ends a topic that has nothing left to send, if that still is so.
    pub(super) fn end_if_over(&self, id: u32) {
        let topic = {
            let mut state = self.state.lock();
            let over = state.topics.get(&id).filter(|topic| topic.is_over());
            let Some(topic) = over.cloned() else { return };
            state.topics.remove(&id);
            state.ending.push(Arc::clone(&topic));
            topic
        };
        // Outside of the lock: what the log has told may wait for that. Before others are told, or
        // see that it is gone: one of them may open the log next.
        topic.close_log();
        let here = self.change(|state| {
            state.ending.retain(|topic| topic.id() != id);
            let mut here = Vec::new();
            for target in topic.targets() {
                match target {
                    FlowTarget::Here(subscription) => {
                        here.extend(state.subscriptions.get(&subscription).cloned())
                    }
                    FlowTarget::There(peer, subscription) => {
                        state.tell(
                            &peer,
                            Frame::Close {
                                topic: id,
                                subscription,
                            },
                        );
                    }
                }
            }
            here
        });
        for subscription in here {
            subscription.closed(&FlowSource::Here(id));
        }
        self.ask_again();
    }

    /// A subscription gets nothing more of a topic, which goes on.
    pub(super) fn end_flow(&self, (topic, key): (u32, &Key), to: &FlowTarget, why: &str) {
        let (key, why) = (key.to_string(), format!("nothing more comes of it: {why}"));
        match to {
            FlowTarget::Here(subscription) => {
                let known = self.state.lock().subscriptions.get(subscription).cloned();
                if let Some(known) = known {
                    known.closed(&FlowSource::Here(topic));
                }
                self.tell_change(PeerChange::Mismatch(self.name.clone(), key, why));
                self.ask_again();
            }
            FlowTarget::There(peer, subscription) => {
                let subscription = *subscription;
                let close = Frame::Close {
                    topic,
                    subscription,
                };
                let told = Frame::Mismatch {
                    subscription,
                    key,
                    why,
                };
                self.change(|state| {
                    state.tell(peer, close);
                    state.tell(peer, told);
                });
            }
        }
    }
}
