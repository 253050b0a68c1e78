//! What a publication inside one process costs beside a post, each with its receive, by turns; and
//! for each of many subscribers.
//!
//! `cargo bench -p motet-mesh --bench publication`

use motet_dispatch::{Dispatcher, QueueConfig};
use motet_mesh::{Node, Qos, Sample, SubscribeConfig};
use motet_ports::Port;
use serde_bytes::{ByteBuf, Bytes};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const TURNS: usize = 15;
const EACH: u64 = 200_000;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn node(dispatcher: &Dispatcher) -> Node {
    Node::alone("here", Arc::new(dispatcher.queue(QueueConfig::default())))
}

/// Nanoseconds of one of many.
fn each(mut body: impl FnMut(u64) -> bool) -> f64 {
    let begin = Instant::now();
    assert!((0..EACH).all(&mut body), "an item is missing");
    begin.elapsed().as_nanos() as f64 / EACH as f64
}

/// The least of both, and the median of the differences of each turn.
fn by_turns(mut one: impl FnMut() -> f64, mut other: impl FnMut() -> f64) -> (f64, f64, f64) {
    let turns: Vec<(f64, f64)> = (0..TURNS).map(|_| (one(), other())).collect();
    let mut more: Vec<f64> = turns.iter().map(|(one, other)| other - one).collect();
    more.sort_unstable_by(f64::total_cmp);
    let least = |of: fn(&(f64, f64)) -> f64| turns.iter().map(of).fold(f64::MAX, f64::min);
    (least(|turn| turn.0), least(|turn| turn.1), more[TURNS / 2])
}

fn beside_a_post() -> Fallible<()> {
    let dispatcher = Dispatcher::new(1);
    let node = node(&dispatcher);
    for (name, qos) in [
        ("reliable", Qos::reliable(64)),
        ("latest", Qos::latest(64)),
        ("acknowledged", Qos::acknowledged(64)),
    ] {
        let samples = node.subscribe::<u64>(name, &SubscribeConfig::default())?;
        let topic = node.topic::<u64>(name, qos)?;
        let nobody = node.topic::<u64>("nobody", qos)?;
        let port = Port::new();
        let (post, publish, more) = by_turns(
            || each(|n| port.post(n).is_ok() && port.test().is_some()),
            || each(|n| topic.publish(n).is_ok() && samples.port().test().is_some()),
        );
        let none = (0..TURNS).map(|_| each(|n| nobody.publish(n).is_ok()));
        let none = none.fold(f64::MAX, f64::min);
        println!(
            "{name:<14} post {post:>6.1}  publish {publish:>6.1}  more {more:>6.1}  to nobody {none:>6.1} ns"
        );
    }
    Ok(())
}

/// So many words a sample has beside its value and its origin.
const REST: usize = size_of::<Sample<u64>>() / size_of::<u64>() - 2;

/// As large as a sample.
struct LikeASample {
    _value: Option<Arc<u64>>,
    _origin: Arc<u64>,
    rest: [u64; REST],
}

/// What to post costs where the item is as a sample is: made already but for its origin, and with a
/// value on the heap.
fn like_samples() {
    let (port, origin) = (Port::new(), Arc::new(0));
    let is_back = |n, value| {
        let item = LikeASample {
            _value: value,
            _origin: Arc::clone(&origin),
            rest: [n; REST],
        };
        port.post(item).is_ok() && port.test().is_some_and(|item| item.rest[0] == n)
    };
    let (made, on_heap, more) = by_turns(
        || each(|n| is_back(n, None)),
        || each(|n| is_back(n, Some(Arc::new(n)))),
    );
    println!(
        "like a sample: made already {made:>6.1}  on the heap {on_heap:>6.1}  more {more:>6.1} ns"
    );
}

/// Nanoseconds of a publication for each of so many subscribers of the node.
fn fan_out(subscribers: usize) -> Fallible<f64> {
    let dispatcher = Dispatcher::new(1);
    let node = node(&dispatcher);
    let all = (0..subscribers).map(|_| node.subscribe::<u64>("n", &SubscribeConfig::default()));
    let all: Vec<_> = all.collect::<Result<_, _>>()?;
    let topic = node.topic::<u64>("n", Qos::reliable(64))?;
    let begin = Instant::now();
    for n in 0..50 {
        topic.publish(n)?;
    }
    let each = begin.elapsed().as_nanos() as f64 / (50 * subscribers) as f64;
    assert!(all.iter().all(|samples| samples.port().item_count() == 50));
    Ok(each)
}

/// What it takes to write and read bytes as serde does it, one by one, and as a whole, which topics
/// of `Vec<u8>` do. The form is the same.
fn bytes(count: usize) -> Fallible<()> {
    let bytes = vec![7_u8; count];
    let form = postcard::to_stdvec(&bytes)?;
    assert_eq!(form, postcard::to_stdvec(&Bytes::new(&bytes))?);
    let read = |value: Result<Vec<u8>, postcard::Error>| value.is_ok_and(|it| it.len() == count);
    let (single, whole, more) = by_turns(
        || each(|_| postcard::to_stdvec(&bytes).is_ok() && read(postcard::from_bytes(&form))),
        || {
            each(|_| {
                let back = postcard::from_bytes::<ByteBuf>(&form).map(ByteBuf::into_vec);
                postcard::to_stdvec(&Bytes::new(&bytes)).is_ok() && read(back)
            })
        },
    );
    println!("{count:>5} bytes: one by one {single:>7.1}  whole {whole:>7.1}  more {more:>8.1} ns");
    Ok(())
}

fn main() -> Fallible<()> {
    bytes(64)?;
    bytes(4096)?;
    beside_a_post()?;
    like_samples();
    for subscribers in [10, 100, 1000] {
        let turns = (0..TURNS).map(|_| fan_out(subscribers));
        let turns = turns.collect::<Result<Vec<_>, _>>()?;
        let least = turns.into_iter().fold(f64::MAX, f64::min);
        println!("{subscribers:>5} subscribers: {least:>6.1} ns each");
    }
    Ok(())
}
