//! A round trip of 64 bytes in each model of messaging, one at a time.

use crate::said::Said;
use crate::suite::experiments::services::calls::{CallKind, on_motet};
use motet_comm::{CommError, World};
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn_with_handle};
use motet_mesh::{
    LinkConfig, Node, Overlay, OverlayConfig, Qos, SimulatedNetwork, SubscribeConfig,
};
use motet_ports::{Port, Receive, wait_blocking};
use motet_sim::Simulation;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What goes there and back.
type Message = [u64; 8];
/// Makes so many round trips; the time of one in microseconds.
type Measure = fn(usize) -> Result<f64, String>;

pub(super) const MODELS: &[(&str, Measure)] = &[
    ("(a) spawned", handlers),
    ("(b) queued", events),
    ("(c) rendezvous", ranks),
    ("(d) rendezvous with handlers", service),
    ("(e) publish-subscribe", topics),
    ("(f) overlay", overlay),
];

/// Trips before the clock starts.
fn first(trips: usize) -> usize {
    trips.div_ceil(10)
}

fn microseconds(begun: Instant, trips: usize) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6 / trips as f64
}

/// A handler answers; the answer is awaited at a port.
fn handlers(trips: usize) -> Result<f64, String> {
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("round trips"));
    let (there, back) = (Port::<Message>::new(), Port::<Message>::new());
    let answers = back.clone();
    let answer = move |message| answers.post(message).expect("the port takes all");
    Receive::persistent(&there, answer)
        .activate(&queue)
        .said()?;
    let asks = async move |count: usize| {
        for n in 0..count {
            there.post([n as u64; 8]).said()?;
            back.recv().await;
        }
        Ok::<_, String>(())
    };
    timed(trips, asks)
}

/// Awaits trips, and times them.
fn timed(
    trips: usize,
    mut asks: impl AsyncFnMut(usize) -> Result<(), String>,
) -> Result<f64, String> {
    let run = async move {
        asks(first(trips)).await?;
        let begun = Instant::now();
        asks(trips).await?;
        Ok(microseconds(begun, trips))
    };
    wait_blocking(run).said()?
}

/// Two processes in virtual time hand a message to each other by stores.
fn events(trips: usize) -> Result<f64, String> {
    let simulation = Simulation::new(1);
    let (there, back) = (
        simulation.store::<Message>("there", 1),
        simulation.store::<Message>("back", 1),
    );
    let (asked, answers) = (there.clone(), back.clone());
    simulation.spawn_background("answers", async move |sim| {
        loop {
            let message = asked.get().await;
            sim.sleep(1).await;
            answers.put(message).await;
        }
    });
    let asks = simulation.spawn("asks", async move |sim| {
        for n in 0..trips {
            there.put([n as u64; 8]).await;
            sim.sleep(1).await;
            back.get().await;
        }
    });
    let begun = Instant::now();
    simulation.run().said()?;
    drop(asks);
    Ok(microseconds(begun, trips))
}

fn ranks(trips: usize) -> Result<f64, String> {
    let run = async |comm: motet_comm::Communicator| -> Result<f64, CommError> {
        let mut begun = Instant::now();
        let count = first(trips) + trips;
        for n in 0..count {
            if n == first(trips) {
                begun = Instant::now();
            }
            if comm.rank() == 0 {
                comm.send(1, 0, [n as u64; 8]).await?;
                comm.recv::<Message>(1, 0).await?;
            } else {
                let message = comm.recv::<Message>(0, 0).await?;
                comm.send(0, 0, message).await?;
            }
        }
        Ok(microseconds(begun, trips))
    };
    let times = World::threads(2).run(run).said()?;
    Ok(times[0])
}

/// A call of a service whose handler runs by its port.
fn service(trips: usize) -> Result<f64, String> {
    on_motet(CallKind::Posted, 1, trips, first(trips)).said()
}

/// Two topics inside one node.
fn topics(trips: usize) -> Result<f64, String> {
    let dispatcher = Dispatcher::new(2);
    let queue = Arc::new(dispatcher.queue(QueueConfig::named("round trips")));
    let node = Node::alone("here", Arc::clone(&queue) as Arc<dyn Enqueue>);
    let config = SubscribeConfig::default();
    let asked = node.subscribe::<Message>("there", &config).said()?;
    let answered = node.subscribe::<Message>("back", &config).said()?;
    let topic = |key| node.topic::<Message>(key, Qos::reliable(8)).said();
    let (there, back) = (topic("there")?, topic("back")?);
    let answer = move |sample: motet_mesh::Sample<Message>| {
        back.publish(*sample.value).expect("there is room for one");
    };
    Receive::persistent(asked.port(), answer)
        .activate(&*queue)
        .said()?;
    let asks = async move |count: usize| {
        for n in 0..count {
            there.publish([n as u64; 8]).said()?;
            answered.port().recv().await;
        }
        Ok::<_, String>(())
    };
    timed(trips, asks)
}

/// Two members of an overlay, in one room.
fn overlay(trips: usize) -> Result<f64, String> {
    let dispatcher = Dispatcher::new(2);
    let queue: Arc<dyn Enqueue> = Arc::new(dispatcher.queue(QueueConfig::named("round trips")));
    let link = LinkConfig {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        detection: Duration::ZERO,
    };
    let network = SimulatedNetwork::new(1, link, queue.clock());
    let member = |name| {
        let node = Node::join(&network.carrier(name), 1, Arc::clone(&queue));
        let member = Overlay::join(&node, "o", OverlayConfig::default()).said()?;
        let room = member.room::<(bool, Message)>("hall", 8).said()?;
        Ok::<_, String>((member, room))
    };
    let ((one, asks), (other, answers)) = (member("one")?, member("other")?);
    while asks.present().len() < 2 || answers.present().len() < 2 {
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
    let trip = async move |count: usize| {
        for n in 0..count {
            asks.say_wait((true, [n as u64; 8])).await.said()?;
            while asks.port().recv().await.value.0 {}
        }
        Ok::<_, String>(())
    };
    let time = timed(trips, trip);
    answering.abort();
    drop((one, other));
    time
}
