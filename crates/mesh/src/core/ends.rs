//! Topics that are over, and flows that end before their topic.

use super::{Core, NodeState};
use crate::Key;
use crate::flow::{AnyTopic, FlowSource, FlowTarget};
use crate::frame::Frame;
use crate::peers::PeerChange;
use motet_sync::FirstPanic;
use std::sync::Arc;

impl NodeState {
    /// A topic begins. Peers are told first that the one before is over that had its log, if they
    /// are not yet: its log is closed.
    pub(super) fn says_over(&mut self, topic: &dyn AnyTopic) {
        if let Some(log) = topic.log() {
            self.says_over_if(|other| other.log() == Some(log));
        }
    }

    fn says_over_if(&mut self, is_meant: impl Fn(&dyn AnyTopic) -> bool) {
        let over = self.ending.extract_if(.., |topic| is_meant(&**topic));
        for topic in over.collect::<Vec<_>>() {
            for target in topic.targets() {
                if let FlowTarget::There(peer, subscription) = target {
                    let topic = topic.id();
                    let close = Frame::Close {
                        topic,
                        subscription,
                    };
                    self.tell(&peer, close);
                }
            }
        }
    }
}

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
        self.log_is_closed(&*topic);
    }

    /// The log of a topic that is over is closed.
    fn log_is_closed(&self, topic: &dyn AnyTopic) {
        let here = self.change(|state| {
            state.says_over_if(|other| other.id() == topic.id());
            let targets = topic.targets().into_iter();
            let here = targets.filter_map(|target| match target {
                FlowTarget::Here(id) => state.subscriptions.get(&id).cloned(),
                FlowTarget::There(..) => None,
            });
            here.collect::<Vec<_>>()
        });
        for subscription in here {
            subscription.closed(&FlowSource::Here(topic.id()));
        }
        self.ask_again();
    }

    /// A subscription gets nothing more of a topic, which goes on.
    pub(super) fn end_flow(&self, (topic, key): (u32, &Key), to: &FlowTarget, why: &str) {
        let why = format!("nothing more comes of it: {why}");
        match to {
            FlowTarget::Here(subscription) => {
                let known = self.state.lock().subscriptions.get(subscription).cloned();
                if let Some(known) = known {
                    known.closed(&FlowSource::Here(topic));
                }
                self.tell_target(key, to, why);
                self.ask_again();
            }
            FlowTarget::There(peer, subscription) => {
                let subscription = *subscription;
                let close = Frame::Close {
                    topic,
                    subscription,
                };
                self.change(|state| state.tell(peer, close));
                self.tell_target(key, to, why);
            }
        }
    }

    /// Tells the node of a subscription, this one or a peer, why nothing comes of a topic of this
    /// node.
    pub(super) fn tell_target(&self, key: &Key, to: &FlowTarget, why: String) {
        let key = key.to_string();
        match to {
            FlowTarget::Here(_) => {
                self.tell_change(PeerChange::Mismatch(self.name.clone(), key, why));
            }
            FlowTarget::There(peer, subscription) => {
                let told = Frame::Mismatch {
                    subscription: *subscription,
                    key,
                    why,
                };
                self.change(|state| state.tell(peer, told));
            }
        }
    }
}

impl Core {
    /// Ends all that the node has. What waits for peers is lost. A panic of what sends, or of what
    /// users gave, keeps nothing else from its end.
    pub(crate) fn leave(&self) {
        let mut panics = FirstPanic::default();
        panics.catch(|| self.say_last());
        let (topics, subscriptions, ended) = {
            let mut state = self.state.lock();
            state.left = true;
            let topics = std::mem::take(&mut state.topics);
            let subscriptions = std::mem::take(&mut state.subscriptions);
            for (id, topic) in &topics {
                for target in topic.targets() {
                    if let FlowTarget::There(peer, subscription) = target {
                        let topic = *id;
                        let close = Frame::Close {
                            topic,
                            subscription,
                        };
                        state.tell(&peer, close);
                    }
                }
            }
            for id in subscriptions.keys() {
                state.tell_all(&Frame::Unsubscribe { subscription: *id });
            }
            let ended = state.end_calls();
            (topics, subscriptions, ended)
        };
        panics.catch(|| self.flush());
        for topic in topics.values() {
            panics.catch(|| topic.close());
        }
        panics.catch(|| ended.are_over());
        // Outside of the lock: they hold what users gave. Each by itself: two panics would end the
        // process.
        for topic in topics.into_values() {
            panics.catch(|| drop(topic));
        }
        for subscription in subscriptions.into_values() {
            panics.catch(|| drop(subscription));
        }
        panics.catch(|| drop(ended));
        panics.resume();
    }
}

#[cfg(test)]
mod tests {
    use crate::{LinkConfig, LogConfig, Node, PeerChange, Qos, SimulatedNetwork, SubscribeConfig};
    use motet_dispatch::{QueueConfig, Replay};
    use std::sync::Arc;

    #[test]
    fn sem_g555_a_topic_that_follows_another_one_with_its_log_is_told_behind_its_end() {
        let replay = Replay::new(1);
        let network = SimulatedNetwork::new(1, LinkConfig::default(), replay.clock());
        let node = |name| {
            let queue = Arc::new(replay.queue(QueueConfig::named(name)));
            Node::join(&network.carrier(name), 1, queue)
        };
        let (a, b) = (node("a"), node("b"));
        let directory = std::env::temp_dir().join(format!("motet-over-{}", std::process::id()));
        let (config, depth) = (LogConfig::in_directory(&directory), Qos::durable(4));
        let topic = || {
            let topic = a.durable_topic::<u32>("k", depth, &config);
            topic.expect("a durable topic")
        };
        let subscribed = SubscribeConfig::default();
        let samples = b.subscribe::<u32>("k", &subscribed).expect("a pattern");
        let first = topic();
        replay.run();
        first.publish(1).expect("a sample on the disk");
        replay.run();
        let changes = b.peer_changes();
        // As where another thread comes as soon as the log is closed.
        let (core, over) = (a.core(), {
            let mut state = a.core().state.lock();
            let (_, over) = state.topics.pop_first().expect("one topic");
            state.ending.push(Arc::clone(&over));
            over
        });
        over.close_log();
        let second = topic();
        core.log_is_closed(&*over);
        replay.run();
        second.publish(2).expect("a sample on the disk");
        replay.run();
        let told: Vec<PeerChange> = std::iter::from_fn(|| changes.test()).collect();
        assert_eq!(told, []);
        let came = std::iter::from_fn(|| samples.port().test()).map(|sample| sample.number);
        assert!(came.eq([1, 2]));
        drop((first, second, a));
        std::fs::remove_dir_all(directory).expect("a directory");
    }
}
