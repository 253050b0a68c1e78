//! The client of all models, and how its trips are timed.

use crate::said::Said;
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, spawn};
use motet_ports::{reply, wait_blocking};
use std::sync::Arc;
use std::time::Instant;

/// What goes there and back.
pub(super) type Message = [u64; 8];

/// Threads of every dispatcher here.
const WORKERS: usize = 2;

/// How many trips are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trips {
    /// So many messages are under way at once.
    pub(crate) group: usize,
    /// So many groups are counted.
    pub(crate) groups: usize,
}

impl Trips {
    /// So many messages in groups.
    pub(crate) fn of(messages: usize, group: usize) -> Trips {
        Trips {
            group,
            groups: (messages / group).max(1),
        }
    }

    /// Groups before the clock starts.
    pub(super) fn first(self) -> usize {
        self.groups.div_ceil(10)
    }

    /// The time of a trip since then.
    pub(super) fn microseconds(self, begun: Instant) -> f64 {
        begun.elapsed().as_secs_f64() * 1e6 / (self.group * self.groups) as f64
    }
}

/// The client's side of a model.
pub(super) trait TripClient: Send + 'static {
    /// Sends a message, whose answer is not awaited.
    fn send(&mut self, message: Message) -> impl Future<Output = Result<(), String>> + Send;

    /// Awaits the answer to one of the messages.
    fn answer(&mut self) -> impl Future<Output = Result<(), String>> + Send;
}

/// Makes so many groups of trips.
async fn make(client: &mut impl TripClient, group: usize, groups: usize) -> Result<(), String> {
    for _ in 0..groups {
        for n in 0..group {
            client.send([n as u64; 8]).await?;
        }
        for _ in 0..group {
            client.answer().await?;
        }
    }
    Ok(())
}

/// Makes trips by a client on this queue, and times them.
pub(super) fn timed(
    queue: &Arc<dyn Enqueue>,
    trips: Trips,
    mut client: impl TripClient,
) -> Result<f64, String> {
    let (to, took) = reply();
    let measuring = async move {
        let time = measure(&mut client, trips).await;
        drop(client);
        drop(to.post(time));
    };
    spawn(queue, measuring).map_err(|why| why.reason.to_string())?;
    wait_blocking(took).said()?.said()?
}

async fn measure(client: &mut impl TripClient, trips: Trips) -> Result<f64, String> {
    make(client, trips.group, trips.first()).await?;
    let begun = Instant::now();
    make(client, trips.group, trips.groups).await?;
    Ok(trips.microseconds(begun))
}

/// A dispatcher for both sides, with a queue.
pub(super) fn both_sides() -> (Dispatcher, DispatcherQueue) {
    let dispatcher = Dispatcher::new(WORKERS);
    let queue = dispatcher.queue(QueueConfig::named("round trips"));
    (dispatcher, queue)
}

/// It, as others share it.
pub(super) fn shared(queue: &DispatcherQueue) -> Arc<dyn Enqueue> {
    Arc::new(queue.clone())
}
