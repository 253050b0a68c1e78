//! All six messaging models in one program. Sensors publish, ranks cluster what they say and search
//! the shortest way. A simulation predicts, a service shows, and an overlay shares the plan.
//!
//! ```text
//!   sensor ─┐ publish-subscribe            ┌─ ranks: cluster, search ─► simulation ─┐
//!   sensor ─┴──────────────────► centre ───┤                                        ├─► overlay ─► viewer, sensors
//!                                          └─ service ◄── message-driven handler ◄──┘
//! ```
//!
//! Here the nodes live in one process, on a simulated network. The same roles run as processes on
//! several machines, linked by zenoh: `cargo run -p motet-cli --features mesh --example
//! six_models_linked`.

mod roles;

use motet::mesh::{LinkConfig, Node, SimulatedNetwork};
use motet::{Dispatcher, Enqueue, QueueConfig, spawn_with_handle};
use roles::{Outcome, SENSORS, centre, sensor, viewer};
use std::sync::Arc;

fn main() -> Outcome<()> {
    let dispatcher = Dispatcher::new(2);
    let queue: Arc<dyn Enqueue> = Arc::new(dispatcher.queue(QueueConfig::named("nodes")));
    let network = SimulatedNetwork::new(2026, LinkConfig::default(), queue.clock());
    let node = |name: &str| Node::join(&network.carrier(name), 1, Arc::clone(&queue));
    let mut sensors = Vec::new();
    for number in 0..SENSORS {
        let node = node(&format!("sensor-{number}"));
        let run = async move { sensor(&node, number).await };
        sensors.push(spawn_with_handle(&queue, run).expect("the queue runs"));
    }
    let at_viewer = node("viewer");
    let mut seen =
        spawn_with_handle(&queue, async move { viewer(&at_viewer).await }).expect("the queue runs");
    let plan = centre(&node("centre"), &dispatcher, sensors.len() + 1)?;
    for mut sensor in sensors {
        sensor.join_blocking().expect("it did not panic")?;
    }
    let seen = seen.join_blocking().expect("it did not panic")?;
    assert_eq!(seen, plan);
    println!(
        "six_models: {} stops, a round of {} km, {:.1} minutes of waiting; the viewer has the same plan",
        plan.stops.len(),
        plan.kilometres,
        plan.wait
    );
    Ok(())
}
