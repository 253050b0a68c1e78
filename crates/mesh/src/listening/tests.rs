//! Who takes what the carrier brings.

use super::{SHORT, TURN};
use crate::frame::{FORM, Frame};
use crate::{
    Carrier, CarrierError, CarrierEvent, FramePriority, Frames, MeshRights, Node, PeerName, Qos,
    SubscribeConfig, Subscription,
};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, Inline, QueueConfig, Task};
use motet_ports::Port;
use motet_sync::{Mutex, thread};
use motet_testkit::{Log, patience, within};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::sync::Arc;

/// A carrier whose events a test tells, also while it sends.
struct Wire {
    events: Port<CarrierEvent>,
    tells: Mutex<Vec<CarrierEvent>>,
    /// Whose events the node says that it has taken.
    taken: Log<PeerName>,
}

impl Wire {
    fn tell(&self, event: CarrierEvent) {
        self.events.post(event).expect("an open port");
    }
}

impl Carrier for Wire {
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
        let tells = std::mem::take(&mut *self.tells.lock());
        tells.into_iter().for_each(|event| self.tell(event));
        Ok(())
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.events.clone()
    }

    fn taken(&self, from: &PeerName) {
        self.taken.push(from.clone());
    }
}

/// A node that has opened a flow to its one subscription.
struct Hears<T: Send + Sync + 'static> {
    wire: Arc<Wire>,
    samples: Subscription<T>,
    node: Node,
    queue: DispatcherQueue,
    dispatcher: Dispatcher,
}

fn hears<T: DeserializeOwned + Send + Sync + 'static>() -> Hears<T> {
    let wire = Arc::new(Wire {
        events: Port::new(),
        tells: Mutex::default(),
        taken: Log::new(),
    });
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("node"));
    let carrier: Arc<dyn Carrier> = Arc::clone(&wire) as _;
    let node = Node::join(&carrier, 1, Arc::new(queue.clone()));
    let config = SubscribeConfig {
        window: 1024,
        ..SubscribeConfig::default()
    };
    let samples = node.subscribe::<T>("a", &config).expect("a pattern");
    wire.tell(CarrierEvent::Up(peer(), 1, MeshRights::all()));
    wire.tell(event(&Frame::Hello {
        form: FORM,
        incarnation: 1,
    }));
    wire.tell(event(&Frame::Open {
        topic: 1,
        subscription: 1,
        key: "a".to_owned(),
        qos: Qos::reliable(8),
        first: 1,
        log: None,
    }));
    Hears {
        wire,
        samples,
        node,
        queue,
        dispatcher,
    }
}

fn peer() -> PeerName {
    PeerName::new("there")
}

fn event(frame: &Frame) -> CarrierEvent {
    CarrierEvent::Frame(peer(), frame.to_bytes().expect("a small frame"))
}

/// The sample of this number. Its value is of one byte.
fn sample(number: u64, value: u8) -> Frame {
    Frame::Data {
        topic: 1,
        subscription: 1,
        number,
        retained: false,
        payload: vec![value],
    }
}

/// Samples that come together.
fn together(numbers: impl Iterator<Item = u64>) -> CarrierEvent {
    let mut bytes = Vec::new();
    for number in numbers {
        let frame = sample(number, 7).to_bytes().expect("a small frame");
        bytes.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&frame);
    }
    let frames = Frames::from_bytes(bytes).expect("whole frames");
    CarrierEvent::Frames(peer(), frames)
}

/// The thread that has read it, by its name.
#[derive(Debug, PartialEq)]
struct ReadBy(Option<String>);

impl<'de> Deserialize<'de> for ReadBy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u32::deserialize(from)?;
        Ok(ReadBy(thread::current().name().map(str::to_owned)))
    }
}

/// Whether the next sample was read by this thread. It is waited for.
fn is_read_here(samples: &Subscription<ReadBy>) -> bool {
    let sample = samples.port().recv_blocking().expect("an open port");
    sample.value.0.as_deref() == thread::current().name()
}

#[test]
fn what_is_short_is_read_by_who_tells_it_and_what_is_long_by_the_queue() {
    within(patience(), || {
        let hears = hears::<ReadBy>();
        hears.wire.tell(event(&sample(1, 7)));
        assert_eq!(hears.samples.port().item_count(), 1, "it is there at once");
        assert!(is_read_here(&hears.samples));
        let many = SHORT as u64 / 8;
        hears.wire.tell(together(2..2 + many));
        for _ in 0..many {
            assert!(!is_read_here(&hears.samples));
        }
    });
}

#[test]
fn while_the_queue_is_suspended_nothing_is_read() {
    within(patience(), || {
        let hears = hears::<ReadBy>();
        hears.queue.suspend();
        for number in 1..=3 {
            hears.wire.tell(event(&sample(number, 7)));
        }
        assert_eq!(hears.samples.port().item_count(), 0);
        hears.queue.resume();
        for _ in 1..=3 {
            assert!(!is_read_here(&hears.samples));
        }
    });
}

#[test]
fn who_tells_it_in_a_task_may_wait_for_it() {
    within(patience(), || {
        let hears = hears::<ReadBy>();
        let (wire, port) = (Arc::clone(&hears.wire), hears.samples.port().clone());
        let waits = Task::new(move || {
            wire.tell(event(&sample(1, 7)));
            while port.item_count() == 0 {
                thread::yield_now();
            }
        });
        Inline::new("task").enqueue(waits).expect("it has room");
        assert!(!is_read_here(&hears.samples));
    });
}

#[test]
fn what_is_told_to_who_sends_is_not_read_by_him() {
    within(patience(), || {
        let hears = hears::<ReadBy>();
        hears.wire.tells.lock().push(event(&sample(1, 7)));
        let config = SubscribeConfig::default();
        let _other = hears.node.subscribe::<u32>("b", &config).expect("a key");
        assert!(!is_read_here(&hears.samples), "he may hold a user's locks");
        hears.dispatcher.wait_idle();
        hears.wire.tell(event(&sample(2, 7)));
        assert!(is_read_here(&hears.samples), "he sends no more");
    });
}

#[test]
fn a_thread_takes_no_more_than_a_turn_of_what_others_tell() {
    within(patience(), || {
        let hears = hears::<ReadBy>();
        let others = (1..=3 * TURN as u64).map(|number| event(&sample(number, 7)));
        hears.wire.tells.lock().extend(others);
        // A queue that was done at once would give this thread another turn.
        let (begins, ends) = (Port::new(), Port::new());
        let (begun, end) = (begins.clone(), ends.clone());
        let busy = Task::new(move || {
            begins.post(()).expect("an open port");
            while ends.test().is_none() {
                thread::yield_now();
            }
        });
        hears.queue.enqueue(busy).expect("it has room");
        begun.recv_blocking().expect("an open port");
        // It says hello then, and meanwhile the others come.
        let other = PeerName::new("another");
        hears
            .wire
            .tell(CarrierEvent::Up(other, 2, MeshRights::all()));
        end.post(()).expect("an open port");
        let read_here = (0..3 * TURN).filter(|_| is_read_here(&hears.samples));
        assert_eq!(read_here.count(), TURN - 1);
    });
}

/// A value of which the one that is 1 panics when it is dropped.
#[derive(Deserialize)]
struct PanicsAsDropped(u32);

impl Drop for PanicsAsDropped {
    fn drop(&mut self) {
        assert!(self.0 != 1, "it is dropped");
    }
}

#[test]
fn sem_g228_what_comes_after_a_panic_is_taken_as_before() {
    within(patience(), || {
        let hears = hears::<PanicsAsDropped>();
        let raised = Log::new();
        let heard = raised.clone();
        hears
            .queue
            .on_exception(move |exception| heard.push(exception.message().to_owned()));
        hears.wire.tell(event(&sample(1, 0)));
        // It has come before, and so it is dropped.
        hears.wire.tell(event(&sample(1, 1)));
        hears.wire.tell(event(&sample(2, 0)));
        for number in 1..=2 {
            let sample = hears.samples.port().test().expect("it has come");
            assert_eq!(sample.number, number);
        }
        assert_eq!(raised.take(), ["it is dropped"]);
    });
}

#[test]
fn sem_g585_a_node_says_what_it_has_taken_when_it_has_and_also_after_a_panic() {
    within(patience(), || {
        let hears = hears::<PanicsAsDropped>();
        hears.queue.on_exception(|_| {});
        hears.dispatcher.wait_idle();
        assert_eq!(hears.wire.taken.take(), [peer(), peer(), peer()]);
        hears.queue.suspend();
        // The second has come before, and so it is dropped.
        for value in 0..2 {
            hears.wire.tell(event(&sample(1, value)));
        }
        assert!(hears.wire.taken.is_empty(), "they wait");
        hears.queue.resume();
        hears.wire.taken.wait_for(2);
        hears.dispatcher.wait_idle();
        assert_eq!(hears.wire.taken.take(), [peer(), peer()]);
    });
}
