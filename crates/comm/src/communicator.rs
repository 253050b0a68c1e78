//! The communicator: one rank's handle on the ranks it belongs to.

use crate::CommError;
use crate::buffer_pool::BufferPool;
use crate::envelope::{Context, MessageKind};
use crate::fabric::{AnyFabric, MeetingPoint, Team};
use crate::layer_call::{LayerCall, LayerPlace};
use crate::limit::Outstanding;
use crate::pending::WaitSite;
use crate::profile::{Called, EnteredCall, Recorder};
use crate::rendezvous_copy::FreeBuffers;
use crate::report::{Wait, WaitOperation, Why};
use std::cell::{Cell, OnceCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

/// One rank's handle on its world, or on a part of it: who it is, and all it can say to the others.
///
/// A communicator belongs to its rank and does not leave it. Its calls are async: a rank that waits
/// holds no thread. The calls are described where they are defined: point-to-point, collectives,
/// topologies, communicators. Messages and collectives of different communicators never meet.
///
/// # Cancellation
/// Dropping the future of a point-to-point call before it ends takes nothing and sends nothing. The
/// exceptions are `ssend`, `sendrecv`, `sendrecv_replace` and `shift`. They send when they are
/// first polled, and their messages stay on their way. Dropping that of a collective, or of an
/// exchange with neighbours, leaves this rank out of step; its next one says so. Most collectives
/// end on the other ranks all the same, but reductions of long vectors in place, and broadcasts of
/// long slices, may need this rank to their end.
pub struct Communicator {
    fabric: AnyFabric,
    team: Arc<Team>,
    rank: u32,
    /// Collectives this rank has come to.
    collectives: Cell<u32>,
    /// Rings and lines this rank has made.
    topologies: Cell<u32>,
    /// The rank has come to a collective and has not left it.
    in_collective: Cell<bool>,
    /// Made when there is something in it: a rank holds its communicator, often twice, and there
    /// may be millions.
    seldom: OnceCell<Box<Seldom>>,
}

/// What most communicators do without.
#[derive(Default)]
struct Seldom {
    /// Notes where the rank's time goes, if the run is profiled.
    recorder: Option<Rc<Recorder>>,
    /// What it has sent, if that has a limit.
    outstanding: Option<Rc<Outstanding>>,
    /// Collectives this rank has started to wait for them later.
    started: Cell<u32>,
    /// The room of what this rank has lent to the others.
    buffer_pool: BufferPool,
    /// The memory of numbers that were sent from slices before their receiver came.
    free_buffers: motet_sync::Arc<FreeBuffers>,
    /// Where the rank is in a call of a layer above, if there are such calls; all communicators
    /// that were made of this one since share it.
    layer_place: OnceCell<LayerPlace>,
}

impl Communicator {
    pub(crate) fn new(fabric: AnyFabric, team: Arc<Team>, rank: usize) -> Self {
        Communicator {
            fabric,
            team,
            rank: u32::try_from(rank).expect("there is no memory for more ranks"),
            collectives: Cell::new(0),
            topologies: Cell::new(0),
            in_collective: Cell::new(false),
            seldom: OnceCell::new(),
        }
    }

    /// The same, with what notes the rank's time, and with what it has sent under a limit.
    pub(crate) fn with(
        self,
        recorder: Option<Rc<Recorder>>,
        outstanding: Option<Rc<Outstanding>>,
    ) -> Self {
        if recorder.is_none() && outstanding.is_none() {
            return self;
        }
        let seldom = Seldom {
            recorder,
            outstanding,
            ..Seldom::default()
        };
        Communicator {
            seldom: OnceCell::from(Box::new(seldom)),
            ..self
        }
    }

    /// What this rank has sent, if that has a limit.
    #[inline]
    pub(crate) fn outstanding(&self) -> Option<&Outstanding> {
        self.seldom.get()?.outstanding.as_deref()
    }

    fn seldom(&self) -> &Seldom {
        self.seldom.get_or_init(Box::default)
    }

    /// The memory of numbers that this rank sends from slices.
    pub(crate) fn free_buffers(&self) -> &motet_sync::Arc<FreeBuffers> {
        &self.seldom().free_buffers
    }

    /// What notes the rank's time, if the run is profiled.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.seldom.get()?.recorder.as_deref()
    }

    /// Where this rank waits.
    #[inline]
    pub(crate) fn wait_site(&self) -> WaitSite<'_> {
        WaitSite {
            slot: self.fabric.slot(),
            recorder: self.recorder(),
        }
    }

    /// A call that does not wait begins, and ends when what is returned is dropped.
    #[inline]
    pub(crate) fn entered(
        &self,
        name: &'static str,
        location: &'static Location<'static>,
    ) -> Option<EnteredCall<'_>> {
        self.recorder()
            .map(|recorder| recorder.entered(Called::new(name, location)))
    }

    /// This rank, from 0.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The number of ranks.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.team.size()
    }

    /// The communicator's number, by which reports name it; 0 is the world. The same on all its
    /// ranks.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.team.communicator
    }

    /// For a library whose calls are made of calls of this communicator, or of others that are made
    /// of it meanwhile. While such a call [runs](LayerCall::run), the report of a stuck run and the
    /// profile name `location`, and not a line of the library.
    ///
    /// ```
    /// use motet_comm::{CommError, Communicator, World};
    /// use std::panic::Location;
    ///
    /// /// The number of ranks. One that waits here for ever is reported where it has called this.
    /// #[track_caller]
    /// fn count(comm: &Communicator) -> impl Future<Output = Result<usize, CommError>> {
    ///     let called = comm.called_from(Location::caller());
    ///     called.run(async move {
    ///         comm.barrier().await?;
    ///         comm.allreduce(1_usize, |a, b| a + b).await
    ///     })
    /// }
    ///
    /// let counts = World::threads(3).run(async |comm| count(&comm).await).unwrap();
    /// assert_eq!(counts, [3, 3, 3]);
    /// ```
    #[must_use]
    pub fn called_from(&self, location: &'static Location<'static>) -> LayerCall {
        let seldom = self.seldom();
        let place = seldom.layer_place.get_or_init(LayerPlace::default);
        LayerCall::new(LayerPlace::clone(place), seldom.recorder.clone(), location)
    }

    #[inline]
    pub(crate) fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    #[inline]
    pub(crate) fn team(&self) -> &Team {
        &self.team
    }

    /// The same, to be kept.
    pub(crate) fn shared_team(&self) -> Arc<Team> {
        Arc::clone(&self.team)
    }

    /// Lends this rank's numbers to the others.
    #[inline]
    pub(crate) fn buffer_pool(&self) -> &BufferPool {
        &self.seldom().buffer_pool
    }

    /// Checks that `rank` exists.
    #[inline]
    pub(crate) fn check_rank(&self, rank: usize) -> Result<(), CommError> {
        let size = self.size();
        if rank < size {
            Ok(())
        } else {
            Err(CommError::NoSuchRank { rank, size })
        }
    }

    /// Tells the messages of the communicator, of this kind, from all others.
    #[inline]
    pub(crate) fn context(&self, kind: MessageKind) -> Context {
        Context {
            communicator: self.team.communicator,
            kind,
        }
    }

    /// What this rank, which is about to sleep, waits for in a call of this communicator.
    pub(crate) fn waits_in(
        &self,
        operation: WaitOperation,
        location: &'static Location<'static>,
    ) -> Why {
        self.fabric.sleeps();
        let communicator = self.number();
        let layer_place = self.seldom.get().and_then(|kept| kept.layer_place.get());
        let location = layer_place.and_then(|at| at.get()).unwrap_or(location);
        Why {
            wait: Wait {
                operation,
                location: location.into(),
                communicator,
            },
            members: self.team.members().clone(),
            peers: None,
            started: false,
        }
    }

    /// The number of the collective that this rank comes to next; it is in it until it leaves.
    #[inline]
    pub(crate) fn enter_collective(&self, operation: &'static str) -> Result<u32, CommError> {
        if self.in_collective.replace(true) {
            return Err(CommError::OutOfStep { operation });
        }
        let number = self.collectives.get().wrapping_add(1);
        self.collectives.set(number);
        Ok(number)
    }

    /// This rank has read the total of the collective, and has to do with it until it leaves.
    pub(crate) fn stay_in_collective(&self) {
        self.in_collective.set(true);
    }

    /// This rank has read the total of the collective.
    #[inline]
    pub(crate) fn leave_collective(&self) {
        self.in_collective.set(false);
    }

    /// Where the ranks meet for the collective that this rank starts next.
    pub(crate) fn next_started_place(&self) -> Arc<MeetingPoint> {
        let started = &self.seldom().started;
        let number = started.replace(started.get().wrapping_add(1));
        self.team.started_place(number)
    }

    /// The number of the ring or line that this rank makes next; the same on all its ranks.
    pub(crate) fn next_topology(&self) -> u32 {
        let number = self.topologies.get();
        self.topologies.set(number.wrapping_add(1));
        number
    }

    /// This rank's handle on a communicator that it belongs to.
    pub(crate) fn member_of(&self, team: Arc<Team>, rank: usize) -> Communicator {
        let kept = self.seldom.get();
        let recorder = kept.and_then(|seldom| seldom.recorder.clone());
        let outstanding = kept.and_then(|seldom| seldom.outstanding.clone());
        let member = Communicator::new(self.fabric.clone(), team, rank);
        let member = member.with(recorder, outstanding);
        if let Some(place) = kept.and_then(|seldom| seldom.layer_place.get()) {
            // It is new: nothing is there.
            let _ = member.seldom().layer_place.set(LayerPlace::clone(place));
        }
        member
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_may_be_millions() {
        assert_eq!(size_of::<Communicator>(), 56);
    }
}
