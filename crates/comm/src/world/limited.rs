//! Worlds whose ranks may send so much before it is received.

use super::World;
use crate::limit::{SendLimit, SendOverflow};

impl World {
    /// Lets at most so many messages of one rank to another wait there to be received, 1 at least;
    /// by default there is no limit. A rank that sends more than another receives is told by what
    /// `overflow` says. Between processes each message then has a receipt that comes back.
    ///
    /// It holds for `send` and all that is made of it, and for slices. It does not for collectives
    /// and topologies, whose steps have a bound of their own, nor for synchronous sends.
    ///
    /// ```
    /// use motet_comm::{CommError, SendOverflow, World};
    ///
    /// let world = World::threads(2).limit(3, SendOverflow::Reject);
    /// let sent = world.run(async |comm| -> Result<_, CommError> {
    ///     let mut sent = 0;
    ///     while comm.rank() == 0 {
    ///         match comm.send(1, 0, sent).await {
    ///             Err(CommError::Full { .. }) => break,
    ///             other => other?,
    ///         }
    ///         sent += 1;
    ///     }
    ///     comm.barrier().await?;
    ///     Ok(sent)
    /// });
    /// assert_eq!(sent.unwrap(), [3, 0]);
    /// ```
    pub fn limit(mut self, messages: usize, overflow: SendOverflow) -> Self {
        let messages = messages.max(1);
        self.limit = Some(SendLimit { messages, overflow });
        self
    }
}
