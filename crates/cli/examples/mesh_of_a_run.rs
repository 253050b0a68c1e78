//! The mesh of a run: processes that one command starts find each other, and nothing is configured.
//!
//! ```text
//!   motet run -t 2 -m 3 mesh_of_a_run
//! ```
//!
//! Each process is a node, and each of its ranks publishes its number; each rank hears those of
//! all.

use motet::mesh::{Qos, SubscribeConfig, Topic};
use motet::{Current, Dispatcher, QueueConfig, World};
use motet_mesh_zenoh::{Zenoh, ZenohConfig};
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let world = World::current()?;
    let dispatcher = Dispatcher::new(1);
    let carrier = Zenoh::open(&ZenohConfig::of_run()?)?;
    let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::named("mesh"))));
    let node = &node;
    let (process, processes) = world.process();
    world.run(async |comm| -> Result<(), Box<dyn Error + Send + Sync>> {
        let heard = node.subscribe::<usize>("rank/*", &SubscribeConfig::default())?;
        // Who comes late gets the last sample of each.
        let key = format!("rank/{}", comm.rank());
        let topic: Topic<usize> = node.topic(&key, Qos::reliable(4).retaining(1))?;
        topic.publish(comm.rank())?;
        let mut ranks = BTreeSet::new();
        while ranks.len() < comm.size() {
            ranks.insert(*heard.port().recv().await.value);
        }
        assert!(ranks.iter().copied().eq(0..comm.size()));
        // A node leaves when all have heard it.
        comm.barrier().await?;
        Ok(())
    })?;
    println!(
        "process {process} of {processes}: {} peers",
        node.peers().len()
    );
    Ok(())
}
