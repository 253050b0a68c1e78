//! Exchanges with the neighbours of a topology.

mod exchange;

use exchange::{Receive, SliceExchange};

use super::parts::{lay_out, part};
use crate::address::{Source, Tag, TagMatch};
use crate::collective_call::{Collective, CollectiveCall, Startable};
use crate::envelope::MessageKind;
use crate::fabric::PostedReceive;
use crate::point_to_point::{Receiving, open};
use crate::{CommError, Communicator, Plain, Value};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::panic::Location;

/// A communicator in which each rank has neighbours: those it receives from and those it sends to,
/// in an order of its own. Made by [`Communicator::graph`], and part of every
/// [`Cartesian`](crate::Cartesian).
///
/// Exchanges bring what each neighbour has sent in the same exchange. A rank may run ahead of its
/// neighbours: only messages hold it back. For many exchanges in a row on one dimension
/// [`Communicator::ring`] and [`line`](Communicator::line) are faster.
///
/// # Cancellation
/// An exchange whose future is dropped before it ends leaves this rank out of step: the next one
/// says so. One that was started takes place all the same.
pub struct Neighbourhood {
    comm: Communicator,
    edges: Edges,
    /// An exchange was dropped before its end, or failed.
    out_of_step: Cell<bool>,
    /// What exchanges that were dropped, or have failed, have still to receive.
    left: RefCell<Vec<PostedReceive>>,
}

/// Neighbours, each with the tag of the messages on that edge; `None` where there is nobody.
#[derive(Debug, Default)]
pub(super) struct Edges {
    pub(super) sources: Vec<(Option<usize>, Tag)>,
    pub(super) destinations: Vec<(Option<usize>, Tag)>,
}

impl Neighbourhood {
    pub(super) fn new(comm: Communicator, edges: Edges) -> Self {
        Neighbourhood {
            comm,
            edges,
            out_of_step: Cell::new(false),
            left: RefCell::default(),
        }
    }

    pub(super) fn set_edges(&mut self, edges: Edges) {
        self.edges = edges;
    }

    /// The neighbours this rank receives from; `None` beyond the end of a grid.
    pub fn sources(&self) -> impl Iterator<Item = Option<usize>> {
        self.edges.sources.iter().map(|edge| edge.0)
    }

    /// The neighbours this rank sends to; `None` beyond the end of a grid.
    pub fn destinations(&self) -> impl Iterator<Item = Option<usize>> {
        self.edges.destinations.iter().map(|edge| edge.0)
    }

    /// Sends a copy of `value` to each neighbour and gives what comes from each, in the order of
    /// [`Neighbourhood::sources`]. This is MPI_NEIGHBOR_ALLGATHER; with a `Vec` as the value it is
    /// also MPI_NEIGHBOR_ALLGATHERV.
    ///
    /// # Errors
    /// [`CommError::WrongType`]; [`CommError::OutOfStep`].
    #[track_caller]
    pub fn neighbour_allgather<T: Clone + Value>(
        &self,
        value: T,
    ) -> CollectiveCall<impl Startable<'_, Given = Vec<Option<T>>>> {
        let values = vec![value; self.edges.destinations.len()];
        self.exchange("neighbour_allgather", Ok(values), Ok, Location::caller())
            .now()
    }

    /// Sends one value to each neighbour, in the order of [`Neighbourhood::destinations`], and
    /// gives what comes from each (MPI_NEIGHBOR_ALLTOALL; with `Vec`s as values also
    /// MPI_NEIGHBOR_ALLTOALLV).
    ///
    /// # Errors
    /// [`CommError::Arguments`] when there is not one value for each neighbour;
    /// [`CommError::WrongType`]; [`CommError::OutOfStep`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let came = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let line = comm.cartesian(&[3], &[false]).await?.expect("it is in it");
    ///         let rank = line.rank();
    ///         line.neighbour_alltoall(vec![(rank, 'l'), (rank, 'r')]).await // to the left, to the right
    ///     })
    ///     .unwrap();
    /// assert_eq!(came[1], [Some((0, 'r')), Some((2, 'l'))]);
    /// assert_eq!(came[0][0], None);
    /// ```
    #[track_caller]
    pub fn neighbour_alltoall<T: Value>(
        &self,
        values: Vec<T>,
    ) -> CollectiveCall<impl Startable<'_, Given = Vec<Option<T>>>> {
        self.exchange("neighbour_alltoall", Ok(values), Ok, Location::caller())
            .now()
    }

    /// Cuts the numbers into equal parts, one for each neighbour this rank sends to. Puts what
    /// comes from each into its part of `came`. Parts of neighbours that are not there stay as they
    /// are.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when the numbers cannot be cut so, or a part has not the length of
    /// what comes; [`CommError::WrongType`]; [`CommError::OutOfStep`].
    #[track_caller]
    pub fn neighbour_alltoall_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        came: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()> + use<'c, T>> {
        let name = "neighbour_alltoall_into";
        let (sources, destinations) = (self.edges.sources.len(), self.edges.destinations.len());
        let lengths = part(name, "of", numbers.len(), destinations)
            .and_then(|given| Ok((given, part(name, "into", came.len(), sources)?)));
        let values = lengths.clone().map(|(given, _)| {
            let begins = (0..destinations).map(|at| at * given);
            begins.map(|at| numbers[at..at + given].to_vec()).collect()
        });
        let give = move |parts: Vec<Option<Vec<T>>>| lay_out(name, &parts, lengths?.1, came);
        self.exchange(name, values, give, Location::caller()).now()
    }

    fn exchange<'c, T: Value, R: 'c>(
        &'c self,
        name: &'static str,
        values: Result<Vec<T>, CommError>,
        give: impl FnOnce(Vec<Option<T>>) -> Result<R, CommError> + 'c,
        location: &'static Location<'static>,
    ) -> impl Collective<'c, R> {
        let receives = self.receives(name, location);
        SliceExchange::new(self, (name, location), values, receives, give)
    }

    /// A receive for each neighbour, not posted yet.
    fn receives<'c, T: Value>(
        &'c self,
        name: &'static str,
        location: &'static Location<'static>,
    ) -> Vec<Option<impl Receive<T> + 'c>> {
        let receive = |&(source, tag): &(Option<usize>, Tag)| {
            let wanted = self.wanted(MessageKind::Neighbourhood, source?.into(), tag.into());
            let receiving = Receiving::new(&self.comm, wanted, location, open(|value: T, _| value));
            Some(receiving.part_of(name))
        };
        self.edges.sources.iter().map(receive).collect()
    }
}

impl Deref for Neighbourhood {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.comm
    }
}

/// Nobody receives any more what exchanges have left, now or when it comes.
impl Drop for Neighbourhood {
    fn drop(&mut self) {
        let fabric = self.comm.fabric();
        for ticket in self.left.take() {
            fabric.leave(ticket);
        }
        let all = self
            .comm
            .wanted(MessageKind::Neighbourhood, Source::Any, TagMatch::Any);
        fabric.clear(&all);
    }
}

impl fmt::Debug for Neighbourhood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbourhood")
            .field("comm", &self.comm)
            .field("edges", &self.edges)
            .finish_non_exhaustive()
    }
}
