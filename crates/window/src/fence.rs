//! Active targets: epochs between fences, and those of some of the ranks.

use crate::site::BEGUN;
use crate::window::TAGS;
use crate::{Window, WindowError};
use motet_comm::{ANY_SOURCE, CommError, Plain, Tag};
use std::future::Future;
use std::panic::Location;

/// A window is open to a rank.
const POSTED: Tag = TAGS + 1;
/// A rank has done what it wanted.
const COMPLETED: Tag = TAGS + 2;

/// # Epochs
impl<T: Plain> Window<T> {
    /// Ends when all ranks have called it, and everything that was done to this rank's window
    /// before is done (MPI_WIN_FENCE). What a rank does while it waits belongs behind the fence; to
    /// a window of its process, or in shared memory, it is done at once.
    ///
    /// # Errors
    /// [`WindowError::Comm`].
    #[track_caller]
    pub fn fence(&self) -> impl Future<Output = Result<(), WindowError>> {
        // Here: a profile names its place.
        let barrier = self.comm.barrier();
        let called = self.comm.called_from(Location::caller());
        called.run(self.met(barrier))
    }

    /// As [`Window::fence`], with a barrier that is used where no more is needed.
    pub(crate) async fn met(
        &self,
        barrier: impl Future<Output = Result<(), CommError>>,
    ) -> Result<(), WindowError> {
        if self.processes == 1 || self.shares_memory() {
            return Ok(barrier.await?);
        }
        let sent = self.sent.replace(vec![0; self.processes]);
        let sent: Vec<i64> = sent.iter().map(|sent| *sent as i64).collect();
        // What is asked while this rank waits is counted with the next epoch: it belongs there.
        let next = self.epoch.get().wrapping_add(1);
        self.epoch.set(next);
        let asked = self.pending.all_asked();
        let mut messages = vec![0; self.processes];
        // By its address, which does not depend on the type of the window's numbers.
        let add: fn(i64, i64) -> i64 = |a, b| a + b;
        self.comm.allreduce_into(&sent, &mut messages, add).await?;
        let here = messages[self.process_of[self.rank()]] as u64;
        let has_begun = self.site.ends(next, here, self.rank());
        if !has_begun.map_err(strange)? {
            self.comm.recv::<bool>(ANY_SOURCE, BEGUN).await?;
        }
        for (rank, count) in asked {
            self.pending.are_done(rank, count);
        }
        Ok(())
    }

    /// Opens this rank's window to these ranks, each of which calls [`start`](Window::start)
    /// (MPI_WIN_POST).
    ///
    /// # Errors
    /// [`WindowError::Comm`]: no such rank.
    #[track_caller]
    pub fn post(&self, origins: &[usize]) -> impl Future<Output = Result<(), WindowError>> {
        let called = self.comm.called_from(Location::caller());
        called.run(self.posted(origins))
    }

    async fn posted(&self, origins: &[usize]) -> Result<(), WindowError> {
        for &rank in origins {
            self.comm.send(rank, POSTED, ()).await?;
        }
        Ok(())
    }

    /// Waits until these ranks have opened their windows to this one (MPI_WIN_START).
    ///
    /// # Errors
    /// [`WindowError::Comm`]: no such rank.
    #[track_caller]
    pub fn start(&self, targets: &[usize]) -> impl Future<Output = Result<(), WindowError>> {
        let called = self.comm.called_from(Location::caller());
        called.run(self.started(targets))
    }

    async fn started(&self, targets: &[usize]) -> Result<(), WindowError> {
        for &rank in targets {
            self.comm.recv::<()>(rank, POSTED).await?;
        }
        Ok(())
    }

    /// Tells these ranks, to whose windows this one has had access, that all of it is done
    /// (MPI_WIN_COMPLETE).
    ///
    /// # Errors
    /// As [`Window::flush`].
    #[track_caller]
    pub fn complete(&self, targets: &[usize]) -> impl Future<Output = Result<(), WindowError>> {
        let called = self.comm.called_from(Location::caller());
        called.run(self.completed(targets))
    }

    async fn completed(&self, targets: &[usize]) -> Result<(), WindowError> {
        for &rank in targets {
            self.flush(rank).await?;
            self.comm.send(rank, COMPLETED, ()).await?;
        }
        Ok(())
    }

    /// Waits until these ranks have [completed](Window::complete) (MPI_WIN_WAIT).
    ///
    /// # Errors
    /// [`WindowError::Comm`]: no such rank.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_window::{Window, WindowError};
    ///
    /// // Rank 0 has access to rank 1, and rank 2 does not take part.
    /// let got = World::threads(3)
    ///     .run(async |comm| -> Result<_, WindowError> {
    ///         let window = Window::create(&comm, vec![0]).await?;
    ///         if comm.rank() == 0 {
    ///             window.start(&[1]).await?;
    ///             window.put(1, 0, &[7]).await?;
    ///             window.complete(&[1]).await?;
    ///         } else if comm.rank() == 1 {
    ///             window.post(&[0]).await?;
    ///             window.wait(&[0]).await?;
    ///             assert_eq!(window.with(|numbers| numbers[0]), 7);
    ///         }
    ///         window.free().await
    ///     })
    ///     .unwrap();
    /// assert_eq!(got, [[0], [7], [0]]);
    /// ```
    #[track_caller]
    pub fn wait(&self, origins: &[usize]) -> impl Future<Output = Result<(), WindowError>> {
        let called = self.comm.called_from(Location::caller());
        called.run(self.waited(origins))
    }

    async fn waited(&self, origins: &[usize]) -> Result<(), WindowError> {
        for &rank in origins {
            self.comm.recv::<()>(rank, COMPLETED).await?;
        }
        Ok(())
    }
}

fn strange(problem: String) -> WindowError {
    CommError::Arguments { problem }.into()
}
