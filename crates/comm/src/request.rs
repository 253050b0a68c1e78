//! Requests: what has been started and is waited for later.

use crate::CommError;
use crate::pending::{PendingCall, PendingFuture, WaitSite, Whys};
use crate::profile::Called;
use std::fmt;

/// A call that was started and has not been waited for: a send, a receive or a collective
/// (MPI_Request).
///
/// What it stands for goes on by itself. A receive takes its place in the order of receives when it
/// is posted, and a collective needs this rank no more. To await it, call [`Request::wait`].
///
/// # Cancellation
/// A request that is dropped is given up. A receive is then as if it had never been posted, and a
/// message that it had got is there again for others. Sends and collectives take place all the
/// same.
///
/// ```
/// use motet_comm::{CommError, World};
///
/// let sums = World::threads(3)
///     .run(async |comm| -> Result<_, CommError> {
///         let (next, last) = ((comm.rank() + 1) % 3, (comm.rank() + 2) % 3);
///         let came = comm.irecv::<usize>(last, 0);
///         let sum = comm.allreduce(1, |a, b| a + b).start();
///         comm.send(next, 0, comm.rank()).await?;
///         Ok((came.wait().await?, sum.wait().await?))
///     })
///     .unwrap();
/// assert_eq!(sums, [(2, 3), (0, 3), (1, 3)]);
/// ```
#[must_use = "a request that is dropped is given up"]
pub struct Request<'c, T> {
    wait_site: WaitSite<'c>,
    pending: Box<dyn PendingCall<Output = Result<T, CommError>> + 'c>,
}

/// Several requests of one kind, numbered in the order in which they were added.
///
/// ```
/// use motet_comm::{CommError, Requests, World};
///
/// let firsts = World::threads(3)
///     .run(async |comm| -> Result<_, CommError> {
///         if comm.rank() > 0 {
///             comm.send(0, 0, comm.rank() * 10).await?;
///             return Ok(0);
///         }
///         let mut came: Requests<'_, usize> = (1..3).map(|rank| comm.irecv(rank, 0)).collect();
///         let (number, value) = came.wait_any().await.expect("two are waited for");
///         assert_eq!(value?, (number + 1) * 10);
///         Ok(came.wait_all().await?.len())
///     })
///     .unwrap();
/// assert_eq!(firsts[0], 1);
/// ```
#[must_use = "requests that are dropped are given up"]
pub struct Requests<'c, T> {
    wait_site: Option<WaitSite<'c>>,
    /// `None`: it has ended and its outcome was handed out.
    pending: Vec<Option<Request<'c, T>>>,
}

impl<'c, T> Request<'c, T> {
    pub(crate) fn new(
        wait_site: WaitSite<'c>,
        pending: impl PendingCall<Output = Result<T, CommError>> + 'c,
    ) -> Self {
        Request {
            wait_site,
            pending: Box::new(pending),
        }
    }

    /// Waits until it has ended (MPI_WAIT).
    ///
    /// # Errors
    /// Those of the call that has made the request.
    pub async fn wait(self) -> Result<T, CommError> {
        PendingFuture::new(self.wait_site, self.pending).await
    }

    /// Its outcome if it has ended, or the request again (MPI_TEST). Does not wait.
    ///
    /// # Errors
    /// The request, when it has not ended.
    pub fn test(mut self) -> Result<Result<T, CommError>, Self> {
        self.pending.look().ok_or(self)
    }

    /// Gives it up (MPI_CANCEL). `false` when it has ended already, or is one that takes place all
    /// the same: a send or a collective.
    pub fn cancel(mut self) -> bool {
        self.pending.cancel()
    }
}

impl<'c, T> Requests<'c, T> {
    /// None yet.
    pub fn new() -> Self {
        Requests {
            wait_site: None,
            pending: Vec::new(),
        }
    }

    /// Adds one; its number.
    pub fn push(&mut self, request: Request<'c, T>) -> usize {
        self.wait_site = Some(request.wait_site);
        self.pending.push(Some(request));
        self.pending.len() - 1
    }

    /// How many have not ended, as far as their outcomes were handed out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.iter().flatten().count()
    }

    /// Whether the outcomes of all were handed out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until one has ended: its number and outcome (MPI_WAITANY). `None` when none is left.
    pub async fn wait_any(&mut self) -> Option<(usize, Result<T, CommError>)> {
        self.ended(false).await?.pop()
    }

    /// Waits until at least one has ended: the numbers and outcomes of all that have
    /// (MPI_WAITSOME). Empty when none is left.
    pub async fn wait_some(&mut self) -> Vec<(usize, Result<T, CommError>)> {
        self.ended(true).await.unwrap_or_default()
    }

    /// One that has ended, if there is one (MPI_TESTANY).
    pub fn test_any(&mut self) -> Option<(usize, Result<T, CommError>)> {
        self.take_ended(false).pop()
    }

    /// All that have ended (MPI_TESTSOME).
    pub fn test_some(&mut self) -> Vec<(usize, Result<T, CommError>)> {
        self.take_ended(true)
    }

    /// Waits for all that are left; what they brought, in the order of their numbers (MPI_WAITALL).
    ///
    /// # Errors
    /// The first error in that order; the requests after it are given up.
    pub async fn wait_all(self) -> Result<Vec<T>, CommError> {
        let mut all = Vec::with_capacity(self.len());
        for request in self.pending.into_iter().flatten() {
            all.push(request.wait().await?);
        }
        Ok(all)
    }

    async fn ended(&mut self, all: bool) -> Option<Vec<(usize, Result<T, CommError>)>> {
        let wait_site = self.wait_site.filter(|_| !self.is_empty())?;
        Some(PendingFuture::new(wait_site, Any { of: self, all }).await)
    }

    fn take_ended(&mut self, all: bool) -> Vec<(usize, Result<T, CommError>)> {
        let mut ended = Vec::new();
        for (number, place) in self.pending.iter_mut().enumerate() {
            let Some(request) = place else { continue };
            if let Some(outcome) = request.pending.look() {
                *place = None;
                ended.push((number, outcome));
                if !all {
                    break;
                }
            }
        }
        ended
    }
}

/// Waits until one of them has ended.
struct Any<'a, 'c, T> {
    of: &'a mut Requests<'c, T>,
    all: bool,
}

impl<T> PendingCall for Any<'_, '_, T> {
    type Output = Vec<(usize, Result<T, CommError>)>;

    fn look(&mut self) -> Option<Self::Output> {
        Some(self.of.take_ended(self.all)).filter(|ended| !ended.is_empty())
    }

    fn why(&self) -> Whys {
        let requests = self.of.pending.iter().flatten();
        requests.flat_map(|request| request.pending.why()).collect()
    }

    fn stage(&self) -> usize {
        let requests = self.of.pending.iter().flatten();
        requests.fold(0, |sum, request| sum.wrapping_add(request.pending.stage()))
    }

    /// That of the first: what waits for several has no place of its own.
    fn called(&self) -> Option<Called> {
        let requests = self.of.pending.iter().flatten();
        requests
            .into_iter()
            .find_map(|request| request.pending.called())
    }
}

impl<T> Default for Requests<'_, T> {
    fn default() -> Self {
        Requests::new()
    }
}

impl<'c, T> FromIterator<Request<'c, T>> for Requests<'c, T> {
    fn from_iter<I: IntoIterator<Item = Request<'c, T>>>(requests: I) -> Self {
        let mut all = Requests::new();
        for request in requests {
            all.push(request);
        }
        all
    }
}

impl<T> fmt::Debug for Request<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Requests<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}
