//! What peers say of their topics.

use crate::core::Core;
use crate::flow::{AnySubscription, FlowSource};
use crate::frame::Frame;
use crate::start_from::{LogId, LogOfKey};
use crate::{Class, Deed, Key, PeerName};
use std::sync::Arc;

/// So many logs a subscription knows of each peer that may not do all: of 1,024 in all.
const LOGS_OF_LIMITED: usize = 64;

impl Core {
    /// What a peer says of its topics.
    pub(super) fn on_topic_frame(&self, peer: &PeerName, frame: Frame) {
        match frame {
            Frame::Open {
                topic,
                subscription,
                key,
                qos,
                first,
                log,
            } => {
                self.on_open(peer, topic, subscription, (&key, qos.class), (first, log));
            }
            Frame::Mismatch { key, why, .. } => {
                self.tell_mismatch(peer, key, why);
            }
            Frame::Close {
                topic,
                subscription,
            } => {
                if let Some(subscription) = self.subscription(subscription) {
                    subscription.closed(&FlowSource::There(peer.clone(), topic));
                    self.ask_again();
                }
            }
            _ => {}
        }
    }

    fn subscription(&self, id: u32) -> Option<Arc<dyn AnySubscription>> {
        self.state.lock().subscriptions.get(&id).cloned()
    }

    fn on_open(
        &self,
        peer: &PeerName,
        topic: u32,
        subscription: u32,
        (key, class): (&str, Class),
        (first, log): (u64, Option<LogId>),
    ) {
        let (Some(known), Ok(key)) = (self.subscription(subscription), Key::plain(key)) else {
            return;
        };
        if let Err(refused) = self.peer_may(peer, Deed::Publish, &key) {
            self.tell_refused(peer, (topic, subscription), refused);
            return;
        }
        let wanted = (subscription, &*known);
        let source = FlowSource::There(peer.clone(), topic);
        let of = (!self.rights_of(peer).is_all()).then(|| peer.clone());
        let is_limited = of.is_some();
        let log = log.map(|id| LogOfKey {
            id,
            key: key.clone(),
            of,
        });
        if let Some(log) = &log {
            if is_limited && !known.has_room_for(log, peer, LOGS_OF_LIMITED) {
                let why = format!("it has more than {LOGS_OF_LIMITED} durable topics");
                self.tell_refusal(peer, why);
                return;
            }
            if self.has_rival((peer, &source), wanted, log) {
                return;
            }
        }
        let link = self
            .state
            .lock()
            .peers
            .get(peer)
            .map_or(0, |peer| peer.link);
        let (upto, window) = match known.opened(source, link, key, class, first, log) {
            Ok(opened) => opened,
            Err(why) => {
                self.tell_refusal(peer, why);
                return;
            }
        };
        let accepted = Frame::Accepted {
            topic,
            subscription,
            upto,
            window,
        };
        self.change(|state| state.tell(peer, accepted));
    }
}
