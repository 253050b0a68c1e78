//! Delegates: what other ranks ask of a rank is done at once, also while the rank computes.

use crate::address::Status;
use crate::envelope::{Envelope, MessageKind};
use crate::fabric::{
    Addressed, AnyFabric, Asked, LocalRanks, Push, RunProcesses, Take, Team, numbered,
};
use crate::{CommError, Communicator, Tag, Value};
use motet_sync::atomic::{AtomicU32, Ordering};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Acts for a rank of a communicator on any thread: takes in what the delegates of other ranks ask,
/// and sends as the rank.
///
/// What is asked is done by whichever thread brings the message. That is the thread of a rank of
/// the process that waits, or a thread of the run's own. So it is done while the rank computes. It
/// does not wait, and is short: what comes behind it waits.
///
/// The delegate ends when it is dropped; what is asked of it then is not done. This is what windows
/// (`motet-window`) stand on.
pub struct Delegate {
    team: Arc<Team>,
    rank: usize,
    /// How messages go to ranks of this process; `None` in [`World::solo`](crate::World::solo).
    here: Option<Here>,
    /// Long messages so far.
    long: AtomicU32,
}

struct Here {
    local: Weak<LocalRanks>,
    first: usize,
    size: usize,
    place: usize,
    push: Push,
    /// In a world over several.
    processes: Option<Weak<RunProcesses>>,
}

impl Communicator {
    /// The number of the process in which a rank lives; 0 but in a
    /// [`World::over`](crate::World::over) several.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    pub fn process_of(&self, rank: usize) -> Result<usize, CommError> {
        self.check_rank(rank)?;
        let rank = self.team().world_rank(rank);
        Ok(match self.fabric() {
            AnyFabric::Remote(remote) => remote.processes().process_of(rank),
            AnyFabric::Solo(_)
            | AnyFabric::Threads(_)
            | AnyFabric::Ports(_)
            | AnyFabric::InReplay(_) => 0,
        })
    }

    /// Has `take` take in what delegates of other ranks of this communicator [ask](Delegate::ask)
    /// of this rank. It gets long messages in parts, one after the other, and gives the reason if
    /// they are none of its own: that ends the run.
    ///
    /// Who asks before this call is not answered: meet the others in a barrier after it.
    ///
    /// # Errors
    /// [`CommError::Arguments`]: the rank has a delegate for this communicator; `dup` gives another
    /// one.
    ///
    /// ```
    /// use motet_comm::{Asked, CommError, World};
    /// use std::sync::Arc;
    /// use std::sync::mpsc::channel;
    ///
    /// World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let (told, asked) = channel();
    ///         let delegate = comm.delegate(move |asked: Asked<'_>| {
    ///             let sent = told.send((asked.source, asked.part.to_vec()));
    ///             sent.map_err(|_| "nobody listens".to_owned())
    ///         })?;
    ///         comm.barrier().await?;
    ///         let other = 1 - comm.rank();
    ///         delegate.ask(other, &[], b"hello")?;
    ///         comm.barrier().await?; // between processes it may come later
    ///         assert_eq!(asked.recv().unwrap(), (other, b"hello".to_vec()));
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    pub fn delegate(
        &self,
        take: impl Fn(Asked<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<Delegate, CommError> {
        let processes = match self.fabric() {
            AnyFabric::Remote(remote) => Some(Arc::downgrade(remote.processes())),
            AnyFabric::Solo(_)
            | AnyFabric::Threads(_)
            | AnyFabric::Ports(_)
            | AnyFabric::InReplay(_) => None,
        };
        let (rank, mut here) = (self.rank(), None);
        if let Some((local, place, push)) = self.fabric().inside() {
            let take: Arc<Take> = Arc::new(take);
            if !local.delegates.add(self.number(), place, take) {
                let problem = "delegate: the rank has one for this communicator".to_owned();
                return Err(CommError::Arguments { problem });
            }
            here = Some(Here {
                local: Arc::downgrade(local),
                first: local.first,
                size: local.size(),
                place,
                push,
                processes,
            });
        }
        Ok(Delegate {
            team: self.shared_team(),
            rank,
            here,
            long: AtomicU32::new(0),
        })
    }
}

impl Delegate {
    /// Asks the delegate of a rank, which may be this one's own. Sends it a message of a head and a
    /// body, which are copied before this returns. Does not wait for it to be done. What one rank
    /// asks of another is done in order.
    ///
    /// A long body to another process may take this thread until there is room for most of it.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Arguments`] from the delegate of a rank of this
    /// process, and in
    /// [`World::solo`](crate::World::solo), which has none.
    pub fn ask(&self, dest: usize, head: &[u8], body: &[u8]) -> Result<(), CommError> {
        let refused = |problem| CommError::Arguments { problem };
        let on = self.addressed(dest)?;
        let here = self.here.as_ref();
        let here = here.ok_or_else(|| refused("ask: World::solo has no delegates".to_owned()))?;
        let Some(local) = here.local.upgrade() else {
            return Ok(()); // The run is over.
        };
        if let Some(place) = here.place_of(on.to) {
            let asked = Asked {
                source: self.rank,
                head,
                part: body,
                at: 0,
                length: body.len(),
            };
            let taken = local.delegates.take(on.context.communicator, place, asked);
            return taken.map_err(refused);
        }
        if let Some(processes) = here.processes.as_ref().and_then(Weak::upgrade) {
            // Relaxed: only that no two have the same number counts.
            let number = numbered(self.long.fetch_add(1, Ordering::Relaxed));
            processes.call(on, number, head, body);
        }
        Ok(())
    }

    /// Sends a message as this rank, from any thread; the other one receives it as one of this
    /// rank.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Unportable`]; [`CommError::Arguments`] in
    /// [`World::solo`](crate::World::solo).
    #[track_caller]
    pub fn send<T: Value>(&self, dest: usize, tag: Tag, value: T) -> Result<(), CommError> {
        let (on, source) = (self.addressed(dest)?, self.rank);
        let Some(here) = &self.here else {
            let problem = "a delegate in World::solo has nobody to send to".to_owned();
            return Err(CommError::Arguments { problem });
        };
        let status = Status { source, tag };
        let message = Envelope::new(on.context, status, Location::caller(), value);
        match here.place_of(on.to) {
            Some(place) => {
                if let Some(local) = here.local.upgrade() {
                    (here.push)(&local, place, message);
                }
                Ok(())
            }
            None => here.send_away(on, &message),
        }
    }

    fn addressed(&self, dest: usize) -> Result<Addressed, CommError> {
        let size = self.team.size();
        if dest >= size {
            return Err(CommError::NoSuchRank { rank: dest, size });
        }
        let context = crate::envelope::Context {
            communicator: self.team.communicator,
            kind: MessageKind::User,
        };
        Ok(Addressed {
            context,
            source: self.rank,
            to: self.team.world_rank(dest),
        })
    }
}

impl Here {
    /// The place of a rank of the world, if it lives in this process.
    fn place_of(&self, rank: usize) -> Option<usize> {
        let place = rank.checked_sub(self.first)?;
        (place < self.size).then_some(place)
    }

    fn send_away(&self, on: Addressed, message: &Envelope) -> Result<(), CommError> {
        let Some(processes) = self.processes.as_ref().and_then(Weak::upgrade) else {
            return Ok(()); // The run is over.
        };
        let type_name = message.type_name();
        let sent = processes.send(on.to, message);
        sent.map_err(|reason| CommError::Unportable { type_name, reason })
    }
}

impl Drop for Delegate {
    fn drop(&mut self) {
        if let Some(here) = &self.here
            && let Some(local) = here.local.upgrade()
        {
            local.delegates.remove(self.team.communicator, here.place);
        }
    }
}

impl fmt::Debug for Delegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegate")
            .field("rank", &self.rank)
            .field("communicator", &self.team.communicator)
            .finish_non_exhaustive()
    }
}
