//! Samples of the mesh as messages to a rank.
//!
//! ```text
//!   topics of other nodes ──► Subscription ──► Port ── one task ──► Entrance ──► recv(ANY_SOURCE, tag) of the rank
//!             ◄── credit ── accepted, when the rank has dropped the sample ◄──┘
//! ```

use motet_comm::{CommError, Communicator, Entrance, Local, Tag};
use motet_dispatch::{JoinHandle, spawn_with_handle};
use motet_mesh::{Ack, MeshError, Node, Sample, SubscribeConfig, Subscription};
use motet_ports::{Overflow, PortConfig};
use serde::de::DeserializeOwned;
use std::error::Error;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Brings samples to a rank: an extension of [`Node`], since the mesh knows nothing of ranks.
pub trait Deliver {
    /// The samples of all topics that match `pattern` become messages to the rank that calls this,
    /// with `tag` of `comm`. The rank receives a [`Local`] [`Sample`] from
    /// [`OUTSIDE`](motet_comm::OUTSIDE), or any source.
    ///
    /// At most `window` samples of one publisher, and at most `window` in all, have come and are
    /// not dropped by the rank. A topic that holds its publisher back does so from there on; one of
    /// class [`Latest`](motet_mesh::Class::Latest) drops its oldest at the publisher. A sample is
    /// accepted when the rank drops it ([`Ack::Handled`]).
    ///
    /// While the rank waits for a sample the world is not stuck, and
    /// [`RunWatch::why`](motet_comm::RunWatch) names the pattern and those who publish. A sample
    /// that comes when the rank has ended counts as accepted; nothing comes after it.
    ///
    /// # Errors
    /// [`DeliverError`]: `pattern` is no key, the node has left, `window` is 0, or the world is
    /// [`World::solo`](motet_comm::World::solo).
    ///
    /// ```
    /// use motet::mesh::{Node, Qos, Sample};
    /// use motet::{Deliver, Dispatcher, Local, QueueConfig, World};
    /// use std::sync::Arc;
    ///
    /// let dispatcher = Dispatcher::new(1);
    /// let node = Node::alone("here", Arc::new(dispatcher.queue(QueueConfig::default())));
    /// let steer = node.topic::<f64>("steer/angle", Qos::reliable(8))?;
    /// let angles = World::threads(1).run(async |comm| -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
    ///     let _delivery = node.deliver::<f64>("steer/**", &comm, 7, 16)?;
    ///     steer.publish(0.25)?;
    ///     let Local(sample) = comm.recv::<Local<Sample<f64>>>(motet::comm::OUTSIDE, 7).await?;
    ///     Ok(*sample.value)
    /// })?;
    /// assert_eq!(angles, [0.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    fn deliver<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        pattern: &str,
        comm: &Communicator,
        tag: Tag,
        window: u32,
    ) -> Result<Delivery<T>, DeliverError>;
}

/// Samples go to a rank until this is dropped, or the rank ends.
#[must_use = "when it is dropped nothing comes any more"]
pub struct Delivery<T: Send + Sync + 'static> {
    subscription: Arc<Subscription<T>>,
    task: JoinHandle<()>,
}

/// Why samples cannot come to the rank.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DeliverError {
    /// The node cannot subscribe.
    Mesh(MeshError),
    /// The rank cannot take messages from outside.
    Comm(CommError),
}

impl Deliver for Node {
    #[track_caller]
    fn deliver<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        pattern: &str,
        comm: &Communicator,
        tag: Tag,
        window: u32,
    ) -> Result<Delivery<T>, DeliverError> {
        let config = SubscribeConfig {
            port: PortConfig {
                capacity: Some(NonZeroUsize::MIN),
                overflow: Overflow::Wait,
            },
            window,
            ack: Ack::Handled,
            ..SubscribeConfig::default()
        };
        let subscription = Arc::new(self.subscribe::<T>(pattern, &config)?);
        let told = Arc::downgrade(&subscription);
        let note = move || match told.upgrade() {
            Some(subscription) => note(&subscription),
            None => String::from("a topic that is not subscribed to any more"),
        };
        let entrance = comm.entrance(tag, window as usize, note)?;
        let come = bring(Arc::clone(&subscription), entrance);
        // A queue that takes no task is stopped: the node has ended with its dispatcher.
        let task = spawn_with_handle(self.queue(), come).map_err(|_| MeshError::Left)?;
        Ok(Delivery { subscription, task })
    }
}

/// What a report says of the wait for a sample.
fn note<T: Send + Sync + 'static>(subscription: &Subscription<T>) -> String {
    let publishers = subscription.publishers();
    let names: Vec<&str> = publishers.iter().map(|name| name.as_str()).collect();
    let names = if names.is_empty() {
        String::from("none")
    } else {
        names.join(", ")
    };
    format!("topic {}; publishers: {names}", subscription.pattern())
}

/// Brings samples to the rank until that has ended.
async fn bring<T: Send + Sync + 'static>(
    subscription: Arc<Subscription<T>>,
    entrance: Entrance<Local<Sample<T>>>,
) {
    loop {
        let sample = subscription.port().recv().await;
        if entrance.post_wait(Local(sample)).await.is_err() {
            return;
        }
    }
}

impl<T: Send + Sync + 'static> Delivery<T> {
    /// What is subscribed to: its counters, and who publishes.
    #[must_use]
    pub fn subscription(&self) -> &Subscription<T> {
        &self.subscription
    }
}

impl<T: Send + Sync + 'static> Drop for Delivery<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Delivery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Delivery").field(&self.subscription).finish()
    }
}

impl From<MeshError> for DeliverError {
    fn from(error: MeshError) -> Self {
        DeliverError::Mesh(error)
    }
}

impl From<CommError> for DeliverError {
    fn from(error: CommError) -> Self {
        DeliverError::Comm(error)
    }
}

impl fmt::Display for DeliverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeliverError::Mesh(error) => write!(f, "deliver: {error}"),
            DeliverError::Comm(error) => write!(f, "deliver: {error}"),
        }
    }
}

impl Error for DeliverError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DeliverError::Mesh(error) => Some(error),
            DeliverError::Comm(error) => Some(error),
        }
    }
}
