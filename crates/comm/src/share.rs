//! Numbers of ranks of several processes of a machine where all of these ranks can use them.

use crate::fabric::{AnyFabric, RunProcesses};
use crate::{CommError, Communicator, Plain};
use motet_values::shared_numbers::SharedNumbers;
use std::collections::HashMap;
use std::sync::Arc;

/// With more mappings in a process nothing is shared: each rank there maps the memory of all
/// others. Linux lets a process have 65530, and the windows of a program are several.
const MOST: usize = 1024;

/// What a rank says of its memory: whether it has some, and the numbers by which it is found.
type Told = (bool, [u64; 2]);

impl Communicator {
    /// Lays the numbers of each rank into memory that all ranks use from then on, each rank's under
    /// a lock of its own: this rank's way to the numbers of every rank. All ranks call it
    /// (MPI_WIN_ALLOCATE_SHARED).
    ///
    /// The numbers come back as they are, on all ranks, where ranks do not live in several
    /// processes of one machine whose transport [offers](crate::Transport::offer) such memory. So
    /// they do where a process would have to map more than 1024 memories.
    ///
    /// # Errors
    /// [`CommError`], as of a collective.
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         // Ranks of one process share all memory anyway.
    ///         let own = comm.share(vec![comm.rank()]).await?;
    ///         assert_eq!(own.unwrap_err(), [comm.rank()]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    pub async fn share<T: Plain>(
        &self,
        numbers: Vec<T>,
    ) -> Result<Result<Vec<SharedNumbers<T>>, Vec<T>>, CommError> {
        let Some(processes) = self.between_processes() else {
            return Ok(Err(numbers));
        };
        let transport = processes.transport();
        let words = SharedNumbers::<T>::words(numbers.len());
        let offer = words.and_then(|words| transport.offer(words));
        let told: Told = match &offer {
            Some(offer) => (true, offer.found_by),
            None => (false, [0; 2]),
        };
        let all = self.allgather((told, numbers.len())).await?;
        let opened = all.iter().enumerate().map(|(rank, (told, length))| {
            let memory = match (&offer, told) {
                (Some(offer), _) if rank == self.rank() => Arc::clone(&offer.memory),
                (Some(_), (true, found_by)) => {
                    let process = self.process_of(rank).ok()?;
                    transport.open(process, *found_by, SharedNumbers::<T>::words(*length)?)?
                }
                _ => return None,
            };
            SharedNumbers::new(memory, *length)
        });
        let opened: Option<Vec<_>> = opened.collect();
        if let Some(opened) = &opened {
            opened[self.rank()].with(|room| room.copy_from_slice(&numbers));
        }
        let all_have = self
            .allreduce(opened.is_some(), |one, other| one && other)
            .await?;
        // Nobody opens it any more.
        drop(offer);
        Ok(opened.filter(|_| all_have).ok_or(numbers))
    }

    /// The way between the processes, if the ranks live in several and are not too many. All ranks
    /// find the same.
    fn between_processes(&self) -> Option<&Arc<RunProcesses>> {
        let AnyFabric::Remote(remote) = self.fabric() else {
            return None;
        };
        let process_of = |rank| remote.processes().process_of(self.team().world_rank(rank));
        let mut ranks_of: HashMap<usize, usize> = HashMap::new();
        for rank in 0..self.size().min(MOST + 1) {
            *ranks_of.entry(process_of(rank)).or_default() += 1;
        }
        let most = ranks_of.values().max().copied().unwrap_or(0);
        let are_several = ranks_of.len() > 1;
        (are_several && self.size().saturating_mul(most) <= MOST).then(|| remote.processes())
    }
}
