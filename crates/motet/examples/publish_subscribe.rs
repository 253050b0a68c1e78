//! Publish-subscribe: two nodes publish readings, a third joins them, a fourth comes late.
//!
//! ```text
//!   north ── temperature ──┐
//!                          ├─► station: a reading of each ─► mean, published as "mean" ─► late: the last one first
//!   south ── temperature ──┘
//! ```
//!
//! The nodes live in one process, on a simulated network in the virtual time of a replay. The link
//! of the south breaks, and nothing is lost, since its topic is acknowledged.

use motet::mesh::{LinkConfig, Node, Qos, Sample, SimulatedNetwork, SubscribeConfig};
use motet::{JoinedReceive, Port, QueueConfig, Replay};
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let replay = Replay::new(2026);
    let network = SimulatedNetwork::new(2026, LinkConfig::default(), replay.clock());
    let node = |name| {
        let queue = replay.queue(QueueConfig::named(name));
        Node::join(&network.carrier(name), 1, Arc::new(queue))
    };
    let (north, south, station) = (node("north"), node("south"), node("station"));

    let config = SubscribeConfig::default();
    let norths = station.subscribe::<f64>("north/temperature", &config)?;
    let souths = station.subscribe::<f64>("south/temperature", &config)?;
    let means = station.topic::<f64>("mean", Qos::latest(4).retaining(1))?;
    let mean = move |(a, b): (Sample<f64>, Sample<f64>)| {
        means
            .publish((*a.value + *b.value) / 2.0)
            .expect("the latest values are never refused");
    };
    JoinedReceive::persistent((norths.port(), souths.port()), mean)
        .activate(&replay.queue(QueueConfig::named("join")))?;

    let a = north.topic::<f64>("north/temperature", Qos::acknowledged(64))?;
    let b = south.topic::<f64>("south/temperature", Qos::acknowledged(64))?;
    replay.run();
    for hour in 0..24_u32 {
        let turn = f64::from(hour) / 24.0 * std::f64::consts::TAU;
        a.publish(10.0 - 5.0 * turn.cos())?;
        b.publish(20.0 - 7.0 * turn.cos())?;
        match hour {
            8 => network.cut("south", "station"),
            16 => network.mend("south", "station"),
            _ => {}
        }
        replay.run_for(Duration::from_millis(1));
    }
    replay.run();

    let late = node("late");
    let all = late.subscribe::<f64>("*", &config)?;
    replay.run();
    let last: &Port<Sample<f64>> = all.port();
    let sample = last.test().expect("the last mean is retained");
    assert_eq!((sample.number, sample.retained), (24, true));
    assert_eq!((norths.missed(), souths.missed()), (0, 0));
    println!(
        "publish_subscribe: 24 means, the last {:.2}, nothing missed",
        *sample.value
    );
    Ok(())
}
