//! Subscriptions that end while samples are on their way to them, and nodes.

use crate::nodes::{Net, waiting};
use motet_dispatch::{Inline, QueueConfig, Replay};
use motet_mesh::{
    Carrier, CarrierError, CarrierEvent, FramePriority, Frames, MeshRights, Node, PeerName, Qos,
    Request, Sample, SubscribeConfig,
};
use motet_ports::{Port, Receive};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_testkit::{Log, patience, within};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn sem_g494_what_a_handler_gets_that_ends_its_subscription_is_not_lost() {
    within(patience(), || {
        // With a sample that is retained it goes another way.
        for retain in [0, 1] {
            let replay = Replay::new(8);
            let node = Node::alone("a", Arc::new(replay.queue(QueueConfig::named("a"))));
            let config = SubscribeConfig::default();
            let samples = node.subscribe::<u32>("n", &config).unwrap();
            let qos = Qos::reliable(8).retaining(retain);
            let topic = node.topic::<u32>("n", qos).unwrap();
            let (port, log) = (samples.port().clone(), Log::new());
            let (heard, ends) = (log.clone(), Mutex::new(Some(samples)));
            let handler = move |sample: Sample<u32>| {
                heard.push(*sample.value);
                drop(ends.lock().take());
            };
            Receive::persistent(&port, handler)
                .activate(&Inline::new("here"))
                .unwrap();
            topic.publish(1).unwrap();
            replay.run();
            assert_eq!(log.take(), [1]);
            assert!(topic.subscribers().is_empty());
            assert_eq!(topic.losses().test(), None, "retain {retain}");
        }
    });
}

#[test]
fn sem_g494_what_comes_with_a_sample_whose_handler_ends_the_subscription_is_not_lost() {
    within(patience(), || {
        let net = Net::new(9);
        let (publisher, subscriber) = (net.node("a", 1), net.together("b"));
        let config = SubscribeConfig::default();
        let samples = subscriber.subscribe::<u32>("n", &config).unwrap();
        let topic = publisher.topic::<u32>("n", Qos::reliable(8)).unwrap();
        let (port, log) = (samples.port().clone(), Log::new());
        let (heard, ends) = (log.clone(), Mutex::new(Some(samples)));
        let handler = move |sample: Sample<u32>| {
            heard.push(*sample.value);
            if *sample.value == 2 {
                drop(ends.lock().take());
            }
        };
        Receive::persistent(&port, handler)
            .activate(&Inline::new("here"))
            .unwrap();
        net.replay.run();
        for n in 1..=3 {
            topic.publish(n).unwrap();
        }
        net.replay.run();
        assert_eq!(log.take(), [1, 2, 3]);
        assert!(topic.subscribers().is_empty());
        assert_eq!(topic.losses().test(), None);
    });
}

/// A carrier without links, which is told when its node is gone.
#[derive(Default)]
struct Unlinked {
    events: Port<CarrierEvent>,
    is_left: AtomicBool,
}

impl Carrier for Unlinked {
    fn name(&self) -> PeerName {
        PeerName::new("alone")
    }

    fn send(&self, to: &PeerName, _: Vec<u8>, _: FramePriority) -> Result<(), CarrierError> {
        Err(CarrierError::NoLink(to.clone()))
    }

    fn send_all(
        &self,
        to: &PeerName,
        _: u64,
        _: &Frames,
        _: FramePriority,
    ) -> Result<(), CarrierError> {
        Err(CarrierError::NoLink(to.clone()))
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.events.clone()
    }

    fn node_is_gone(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }
}

#[test]
fn sem_g606_a_carrier_hears_that_its_node_is_gone_while_others_hold_it() {
    let net = Net::new(1);
    let unlinked = Arc::new(Unlinked::default());
    let carrier: Arc<dyn Carrier> = Arc::clone(&unlinked) as _;
    let node = Node::join(&carrier, 1, net.queue("alone"));
    let other_handle = node.clone();
    let topic = node.topic::<u32>("n", Qos::latest(1)).unwrap();
    drop(node);
    assert!(!unlinked.is_left.load(Ordering::Relaxed));
    drop(other_handle);
    assert!(unlinked.is_left.load(Ordering::Relaxed));
    assert!(topic.publish(1).is_err(), "its node has left");
}

/// A carrier that drops its node while it sends, as another thread may.
#[derive(Default)]
struct DropsItsNode {
    /// As a predicate may that publishes.
    panics: bool,
    events: Port<CarrierEvent>,
    node: Mutex<Option<Node>>,
    /// What it sends next it does not send.
    fails: Mutex<bool>,
    seen: Log<&'static str>,
}

impl Carrier for DropsItsNode {
    fn name(&self) -> PeerName {
        PeerName::new("here")
    }

    fn send(&self, _: &PeerName, _: Vec<u8>, _: FramePriority) -> Result<(), CarrierError> {
        Ok(())
    }

    fn send_all(
        &self,
        _: &PeerName,
        _: u64,
        _: &Frames,
        _: FramePriority,
    ) -> Result<(), CarrierError> {
        let node = self.node.lock().take();
        let panics = self.panics && node.is_some();
        drop(node);
        let fails = std::mem::take(&mut *self.fails.lock());
        assert!(!fails, "it sends nothing");
        self.seen.push("frames");
        assert!(!panics, "it sends no more");
        Ok(())
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.events.clone()
    }

    fn node_is_gone(&self) {
        self.seen.push("gone");
    }
}

#[test]
fn sem_g606_a_carrier_hears_that_its_node_is_gone_though_its_last_frame_was_not_sent() {
    let net = Net::new(3);
    let carries = Arc::new(DropsItsNode::default());
    let carrier: Arc<dyn Carrier> = Arc::clone(&carries) as _;
    let node = Node::join(&carrier, 1, net.queue("here"));
    let config = SubscribeConfig::default();
    let samples = ["m", "n"].map(|key| node.subscribe::<u32>(key, &config).unwrap());
    let up = CarrierEvent::Up(PeerName::new("there"), 1, MeshRights::all());
    carries.events.post(up).unwrap();
    net.replay.run();
    drop(carries.seen.take());
    *carries.fails.lock() = true;
    // It says that its subscriptions have ended. The first of that is not sent.
    assert!(catch_unwind(AssertUnwindSafe(|| drop(node))).is_err());
    assert_eq!(carries.seen.take(), ["frames", "gone"]);
    drop(samples);
}

#[test]
fn sem_g606_a_carrier_hears_that_its_node_is_gone_behind_the_frames_that_another_one_sends() {
    // Also where sending one of them panics.
    for panics in [false, true] {
        let net = Net::new(2);
        let drops = Arc::new(DropsItsNode {
            panics,
            ..DropsItsNode::default()
        });
        let carrier: Arc<dyn Carrier> = Arc::clone(&drops) as _;
        let node = Node::join(&carrier, 1, net.queue("here"));
        let config = SubscribeConfig::default();
        let samples = node.subscribe::<u32>("n", &config).unwrap();
        let server = node.serve("f", &Port::<Request<u32, u32>>::new()).unwrap();
        let up = CarrierEvent::Up(PeerName::new("there"), 1, MeshRights::all());
        drops.events.post(up).unwrap();
        net.replay.run();
        drop(drops.seen.take());
        *drops.node.lock() = Some(node);
        // The peer is told that nobody answers. Meanwhile the node goes, and says that its
        // subscription has ended.
        let told = catch_unwind(AssertUnwindSafe(|| drop(server)));
        assert_eq!(told.is_err(), panics);
        assert_eq!(drops.seen.take(), ["frames", "frames", "gone"]);
        drop(samples);
    }
}

/// Something of a user that may panic as it is dropped.
#[derive(Debug, Serialize, Deserialize)]
struct Brittle {
    panics: bool,
    #[serde(skip)]
    dropped: Arc<AtomicUsize>,
}

impl Drop for Brittle {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics, "it breaks");
    }
}

#[test]
fn sem_g606_a_node_ends_though_values_of_several_topics_panic_as_they_are_dropped() {
    let replay = Replay::new(13);
    let node = Node::alone("a", Arc::new(replay.queue(QueueConfig::named("a"))));
    let broken: Arc<AtomicUsize> = Arc::default();
    let publish = |key: &str| {
        let samples = node.subscribe::<Brittle>(key, &waiting(1, 1)).unwrap();
        let qos = Qos::reliable(8).retaining(1);
        let topic = node.topic::<Brittle>(key, qos).unwrap();
        // The last one is what the topic retains. It waits in the topic, which is not over so.
        for panics in [false, false, true] {
            let dropped = match panics {
                true => Arc::clone(&broken),
                false => Arc::default(),
            };
            topic.publish(Brittle { panics, dropped }).unwrap();
            replay.run();
        }
        samples
    };
    let samples = ["k", "l"].map(publish);
    assert_eq!(node.topics().len(), 2);
    let told = catch_unwind(AssertUnwindSafe(|| drop(node)));
    assert!(told.is_err());
    assert_eq!(broken.load(Ordering::Relaxed), 2);
    drop(samples);
}
