//! Ranks as a directed graph.

use super::neighbourhood::{Edges, Neighbourhood};
use crate::{CommError, Communicator};
use std::future::Future;
use std::panic::Location;

impl Communicator {
    /// A communicator of the same ranks in which each has the neighbours it names: those it
    /// receives from and those it sends to (MPI_DIST_GRAPH_CREATE_ADJACENT). All ranks call this
    /// together. Each edge is named at both its ends; one may be there several times.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Mismatch`] when a rank is in another collective.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// // A star: everyone tells rank 0, which tells nobody.
    /// let heard = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let star = if comm.rank() == 0 {
    ///             comm.graph(&[1, 2], &[]).await?
    ///         } else {
    ///             comm.graph(&[], &[0]).await?
    ///         };
    ///         star.neighbour_allgather(comm.rank() * 10).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(heard, [vec![Some(10), Some(20)], vec![], vec![]]);
    /// ```
    #[track_caller]
    pub fn graph(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> impl Future<Output = Result<Neighbourhood, CommError>> + use<'_> {
        let edges = |ranks: &[usize]| ranks.iter().map(|&rank| (Some(rank), 0)).collect();
        let edges = Edges {
            sources: edges(sources),
            destinations: edges(destinations),
        };
        let location = Location::caller();
        async move {
            for (rank, _) in edges.sources.iter().chain(&edges.destinations) {
                rank.map_or(Ok(()), |rank| self.check_rank(rank))?;
            }
            let comm = self.split_as("graph", Some(0), 0, location).await?;
            Ok(Neighbourhood::new(
                comm.expect("every rank is in it"),
                edges,
            ))
        }
    }
}
