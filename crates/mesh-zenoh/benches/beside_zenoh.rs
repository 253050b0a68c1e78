//! What topics cost beside bare zenoh on the same links, by turns in one run: round trips and
//! streams of 64 bytes, medians. And what a publication inside one process costs beside a post.
//!
//! `cargo bench -p motet-mesh-zenoh`

mod member;

use member::{Fallible, Member, member};
use motet_dispatch::{Dispatcher, QueueConfig};
use motet_mesh::{Node, Qos, SubscribeConfig};
use motet_mesh_zenoh::{RunKey, ZenohConfig};
use motet_ports::{Port, Receive, wait_blocking};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

const BYTES: usize = 64;
const TURNS: usize = 15;
const ROUND_TRIPS: usize = 300;
const STREAM: usize = 50_000;
const LOCAL: usize = 300_000;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The medians of two measurements that are made by turns.
fn by_turns(
    mut bare: impl FnMut() -> Fallible<f64>,
    mut ours: impl FnMut() -> Fallible<f64>,
) -> Fallible<(f64, f64)> {
    let (mut of_bare, mut of_ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        of_bare.push(bare()?);
        of_ours.push(ours()?);
    }
    Ok((median(of_bare), median(of_ours)))
}

/// The median of some trips, in microseconds.
fn trips(trip: impl Fn() -> Option<Duration>) -> f64 {
    let trips = (0..ROUND_TRIPS).filter_map(|_| trip());
    median(trips.map(|time| time.as_secs_f64() * 1e6).collect())
}

/// Tries until it holds, or for a minute.
fn until(mut holds: impl FnMut() -> bool) -> Fallible<()> {
    for _ in 0..6_000 {
        if holds() {
            return Ok(());
        }
        let _ = motet_sync::Parker::new().park_timeout(Duration::from_millis(10));
    }
    Err("the nodes do not meet".into())
}

fn bare_round_trip(a: &Member, b: &Member) -> Fallible<impl FnMut() -> Fallible<f64>> {
    let publisher = |of: &Member, key: &'static str| {
        let session = of.carrier.session();
        session
            .declare_publisher(key)
            .congestion_control(CongestionControl::Block)
            .wait()
            .map_err(|error| error.to_string())
    };
    let back = publisher(b, "bare/pong")?;
    let echo = b
        .carrier
        .session()
        .declare_subscriber("bare/ping")
        .callback(move |sample| drop(back.put(sample.payload().clone()).wait()))
        .wait()
        .map_err(|error| error.to_string())?;
    let (came, comes): (_, Receiver<()>) = channel();
    let pong = a
        .carrier
        .session()
        .declare_subscriber("bare/pong")
        .callback(move |_| {
            // An error: the measurement is over.
            let _ = came.send(());
        })
        .wait()
        .map_err(|error| error.to_string())?;
    let ping = publisher(a, "bare/ping")?;
    let trip = move || {
        let begin = Instant::now();
        let _ = ping.put(vec![7_u8; BYTES]).wait();
        comes.recv_timeout(Duration::from_millis(200)).ok()?;
        Some(begin.elapsed())
    };
    // Until routes are known nothing comes back.
    until(|| trip().is_some())?;
    let subscribers = (echo, pong);
    Ok(move || {
        let _ = &subscribers;
        Ok(trips(&trip))
    })
}

fn round_trip(a: &Member, b: &Member) -> Fallible<impl FnMut() -> Fallible<f64>> {
    let ping = a.node.topic::<Vec<u8>>("ping", Qos::reliable(64))?;
    let pong = b.node.topic::<Vec<u8>>("pong", Qos::reliable(64))?;
    let pings = b
        .node
        .subscribe::<Vec<u8>>("ping", &SubscribeConfig::default())?;
    let pongs = a
        .node
        .subscribe::<Vec<u8>>("pong", &SubscribeConfig::default())?;
    until(|| ping.subscribers().len() + pong.subscribers().len() == 2)?;
    let queue = b.dispatcher.queue(QueueConfig::named("echo"));
    Receive::persistent(pings.port(), move |sample: motet_mesh::Sample<Vec<u8>>| {
        let _ = pong.publish(sample.value.to_vec());
    })
    .activate(&queue)?;
    let trip = move || {
        let begin = Instant::now();
        ping.publish(vec![7; BYTES]).ok()?;
        pongs.port().recv_blocking().ok()?;
        Some(begin.elapsed())
    };
    Ok(move || {
        let _ = &pings;
        Ok(trips(&trip))
    })
}

/// Nanoseconds for each message.
fn bare_stream(a: &Member, b: &Member) -> Fallible<impl FnMut() -> Fallible<f64>> {
    let (came, comes): (_, Receiver<()>) = channel();
    let mut count = 0;
    let all = b
        .carrier
        .session()
        .declare_subscriber("bare/stream")
        .callback_mut(move |_| {
            count += 1;
            if count % STREAM == 1 {
                // An error: the measurement is over.
                let _ = came.send(());
            }
        })
        .wait()
        .map_err(|error| error.to_string())?;
    let session = a.carrier.session();
    let stream = session
        .declare_publisher("bare/stream")
        .congestion_control(CongestionControl::Block)
        .wait()
        .map_err(|error| error.to_string())?;
    // Until routes are known nothing comes.
    until(|| {
        let _ = stream.put(vec![7_u8; BYTES]).wait();
        comes.recv_timeout(Duration::from_millis(200)).is_ok()
    })?;
    Ok(move || {
        let _ = &all;
        let begin = Instant::now();
        for _ in 0..STREAM {
            stream
                .put(vec![7_u8; BYTES])
                .wait()
                .map_err(|error| error.to_string())?;
        }
        comes.recv_timeout(Duration::from_secs(60))?;
        Ok(begin.elapsed().as_nanos() as f64 / STREAM as f64)
    })
}

fn stream(a: &Member, b: &Member) -> Fallible<impl FnMut() -> Fallible<f64>> {
    let topic = a.node.topic::<Vec<u8>>("stream", Qos::reliable(4096))?;
    let config = SubscribeConfig {
        window: 4096,
        ..SubscribeConfig::default()
    };
    let samples = b.node.subscribe::<Vec<u8>>("stream", &config)?;
    until(|| topic.subscribers().len() == 1)?;
    let (queue, done) = (b.dispatcher.queue(QueueConfig::named("sink")), Port::new());
    let out = done.clone();
    Receive::persistent(
        samples.port(),
        move |sample: motet_mesh::Sample<Vec<u8>>| {
            if sample.number.is_multiple_of(STREAM as u64) {
                let _ = out.post(());
            }
        },
    )
    .activate(&queue)?;
    Ok(move || {
        let begin = Instant::now();
        for _ in 0..STREAM {
            match topic.publish(vec![7; BYTES]) {
                Ok(_) => {}
                Err(refused) => {
                    wait_blocking(topic.publish_wait(refused.value))??;
                }
            }
        }
        done.recv_blocking()?;
        let each = begin.elapsed().as_nanos() as f64 / STREAM as f64;
        assert_eq!(samples.missed(), 0);
        Ok(each)
    })
}

/// Nanoseconds of a post and of a publication to one subscriber of the node, each with its receive.
fn local() -> Fallible<(f64, f64)> {
    let dispatcher = Dispatcher::new(1);
    let node = Node::alone("here", Arc::new(dispatcher.queue(QueueConfig::default())));
    let samples = node.subscribe::<u64>("n", &SubscribeConfig::default())?;
    let topic = node.topic::<u64>("n", Qos::reliable(64))?;
    let port = Port::new();
    let each = |mut body: Box<dyn FnMut(u64) -> bool + '_>| {
        let mut best = f64::MAX;
        for _ in 0..5 {
            let begin = Instant::now();
            assert!((0..LOCAL as u64).all(&mut body), "an item is missing");
            best = best.min(begin.elapsed().as_nanos() as f64 / LOCAL as f64);
        }
        best
    };
    let post = each(Box::new(|n| port.post(n).is_ok() && port.test().is_some()));
    let publish = each(Box::new(|n| {
        topic.publish(n).is_ok() && samples.port().test().is_some()
    }));
    Ok((post, publish))
}

/// Nanoseconds of a publication for each of so many subscribers of the node.
fn fan_out(subscribers: usize) -> Fallible<f64> {
    let dispatcher = Dispatcher::new(1);
    let node = Node::alone("here", Arc::new(dispatcher.queue(QueueConfig::default())));
    let all: Result<Vec<_>, _> = (0..subscribers)
        .map(|_| node.subscribe::<u64>("n", &SubscribeConfig::default()))
        .collect();
    let (all, topic) = (all?, node.topic::<u64>("n", Qos::reliable(64))?);
    let begin = Instant::now();
    for n in 0..50 {
        topic.publish(n)?;
    }
    let each = begin.elapsed().as_nanos() as f64 / (50 * subscribers) as f64;
    assert!(all.iter().all(|samples| samples.port().item_count() == 50));
    Ok(each)
}

fn main() -> Fallible<()> {
    let key = Some(RunKey::random()?);
    let a = member(&ZenohConfig {
        key: key.clone(),
        ..ZenohConfig::named("a")
    })?;
    let b = member(&ZenohConfig {
        key,
        known: a.carrier.addresses().to_vec(),
        ..ZenohConfig::named("b")
    })?;
    let row = |what: &str, bare: f64, ours: f64, unit: &str| {
        println!(
            "{what:<34} {bare:>9.1} {ours:>9.1} {:>6.2}  {unit}",
            ours / bare
        );
    };
    println!("{:<34} {:>9} {:>9} {:>6}", "", "zenoh", "motet", "ratio");
    let (bare, ours) = by_turns(bare_round_trip(&a, &b)?, round_trip(&a, &b)?)?;
    row("round trip, 64 bytes, TLS", bare, ours, "us");
    let (bare, ours) = by_turns(bare_stream(&a, &b)?, stream(&a, &b)?)?;
    row("stream, 64 bytes, TLS", bare, ours, "ns a message");
    println!("{:<34} {:>9} {:>9} {:>6}", "", "post", "publish", "ratio");
    let (post, publish) = local()?;
    row("one subscriber of the process", post, publish, "ns");
    for subscribers in [100, 1000] {
        let each = fan_out(subscribers)?;
        println!("{subscribers:>5} subscribers of the process {each:>19.1}         ns each");
    }
    Ok(())
}
