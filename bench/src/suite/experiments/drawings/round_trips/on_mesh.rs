//! Topics of a node, and a room of an overlay.

use super::trip::{Message, TripClient, Trips, both_sides, shared, timed};
use crate::said::Said;
use motet_dispatch::spawn_with_handle;
use motet_mesh::{
    LinkConfig, Node, Overlay, OverlayConfig, Qos, Room, Sample, SimulatedNetwork, SubscribeConfig,
    Topic,
};
use motet_ports::{Port, Receive};
use std::sync::Arc;
use std::time::Duration;

/// More messages of a topic or a room than a group has.
const DEPTH: u32 = 128;

/// Publishes, and awaits the samples of another topic.
struct TopicClient {
    there: Topic<Message>,
    back: Port<Sample<Message>>,
}

impl TripClient for TopicClient {
    async fn send(&mut self, message: Message) -> Result<(), String> {
        self.there.publish(message).map(drop).said()
    }

    async fn answer(&mut self) -> Result<(), String> {
        self.back.recv().await;
        Ok(())
    }
}

/// Two topics inside one node.
pub(super) fn topics(trips: Trips) -> Result<f64, String> {
    let (_dispatcher, queue) = both_sides();
    let node = Node::alone("here", shared(&queue));
    let config = SubscribeConfig::default();
    let asked = node.subscribe::<Message>("there", &config).said()?;
    let answered = node.subscribe::<Message>("back", &config).said()?;
    let topic = |key| node.topic::<Message>(key, Qos::reliable(DEPTH)).said();
    let (there, back) = (topic("there")?, topic("back")?);
    let answer = move |sample: Sample<Message>| {
        back.publish(*sample.value).expect("there is room for all");
    };
    Receive::persistent(asked.port(), answer)
        .activate(&queue)
        .said()?;
    let client = TopicClient {
        there,
        back: answered.port().clone(),
    };
    timed(&shared(&queue), trips, client)
}

/// Says something in a room, and awaits what is no question.
struct RoomClient {
    room: Room<(bool, Message)>,
}

impl TripClient for RoomClient {
    async fn send(&mut self, message: Message) -> Result<(), String> {
        self.room.say_wait((true, message)).await.map(drop).said()
    }

    async fn answer(&mut self) -> Result<(), String> {
        while self.room.port().recv().await.value.0 {}
        Ok(())
    }
}

/// Two members of an overlay, in one room.
pub(super) fn overlay(trips: Trips) -> Result<f64, String> {
    let (_dispatcher, queue) = both_sides();
    let queue = shared(&queue);
    let link = LinkConfig {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        detection: Duration::ZERO,
    };
    let network = SimulatedNetwork::new(1, link, queue.clock());
    let member = |name| {
        let node = Node::join(&network.carrier(name), 1, Arc::clone(&queue));
        let member = Overlay::join(&node, "o", OverlayConfig::default()).said()?;
        let room = member.room::<(bool, Message)>("hall", DEPTH).said()?;
        Ok::<_, String>((member, room))
    };
    let ((one, room), (other, answers)) = (member("one")?, member("other")?);
    while room.present().len() < 2 || answers.present().len() < 2 {
        motet_sync::thread::yield_now();
    }
    let answer = async move {
        loop {
            let sample = answers.port().recv().await;
            if let (true, message) = *sample.value {
                let said = answers.say_wait((false, message)).await;
                said.expect("the message can be written");
            }
        }
    };
    let answering = spawn_with_handle(&queue, answer).map_err(|_| "the queue is stopped")?;
    let time = timed(&queue, trips, RoomClient { room });
    answering.abort();
    drop((one, other));
    time
}
