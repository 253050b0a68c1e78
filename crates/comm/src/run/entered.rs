//! A rank that the calling thread is: the program is not a function of its communicator.
//!
//! ```text
//!   the caller                              a thread of its own: run_endpoints
//!   World::enter ───────────────────────►   the rank's task: gives its endpoint away
//!        ◄─────────────── endpoint ──────     │ waits
//!   communicator().send(…) …                  │
//!   Entered::finish ─────── result ─────►   ends; the run ends
//! ```

use super::links::Endpoint;
use super::threads::{ThreadsConfig, run_endpoints};
use crate::fabric::{AnyFabric, Solo};
use crate::limit::{Outstanding, SendLimit};
use crate::{Communicator, RunError};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread::{self, JoinHandle};
use motet_sync::{Mutex, Parker, Unparker};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What a run has ended with that an [`Entered`] rank began.
type Ran = Result<(), RunError<String>>;

/// The rank that the calling thread is, made by [`World::enter`](crate::World::enter).
///
/// Dropped without [`Entered::finish`] it ends the run with an error, and waits for the end.
#[must_use = "the run ends when it is dropped"]
pub struct Entered {
    pub(super) comm: Option<Rc<Communicator>>,
    /// One rank alone needs nobody beside the caller.
    running: Option<Running>,
}

/// The run beside the caller.
struct Running {
    shared: Arc<Shared>,
    thread: JoinHandle<Ran>,
}

/// What the caller shares with the rank's task.
struct Shared {
    /// Until the caller takes it.
    endpoint: Mutex<Option<Endpoint>>,
    end: Mutex<End>,
    /// The rank's task has ended, so the rank is to end where it waits.
    over: AtomicBool,
    caller: Unparker,
}

/// How the rank ends.
#[derive(Default)]
struct End {
    result: Option<Result<(), String>>,
    waker: Option<Waker>,
}

impl Entered {
    /// One rank alone, which needs no run beside it.
    pub(crate) fn alone(limit: Option<SendLimit>) -> Entered {
        let fabric = AnyFabric::Solo(Solo::new());
        let comm = Communicator::new(fabric, Arc::new(Solo::team()), 0);
        let comm = comm.with(None, limit.map(Outstanding::new));
        Entered {
            comm: Some(Rc::new(comm)),
            running: None,
        }
    }

    /// Begins a run on a thread of its own; `run` calls what it is given with how the run is to be.
    pub(crate) fn begin<W>(ranks: usize, run: W) -> Result<Entered, RunError<String>>
    where
        W: FnOnce(Box<dyn FnOnce(ThreadsConfig) -> Ran>) -> Ran + Send + 'static,
    {
        if ranks != 1 {
            let problem = format!(
                "one thread cannot be the {ranks} ranks of this process; give each process one \
                 rank, or use World::run"
            );
            let problem = io::Error::new(io::ErrorKind::InvalidInput, problem);
            return Err(RunError::Start(problem));
        }
        let caller = Parker::new();
        let shared = Arc::new(Shared {
            endpoint: Mutex::new(None),
            end: Mutex::default(),
            over: AtomicBool::new(false),
            caller: caller.unparker(),
        });
        let ours = Arc::clone(&shared);
        let thread = thread::spawn_named("entered", move || {
            let rank = Arc::clone(&ours);
            let ran = run(Box::new(move |config| {
                let rank = &rank;
                run_endpoints(config, async move |endpoint: Endpoint, _| {
                    rank.stay(endpoint).await
                })
                .map(|_| ())
            }));
            // Perhaps there was no rank.
            ours.leave();
            ran
        });
        let thread = thread.map_err(RunError::Start)?;
        let endpoint = loop {
            let endpoint = shared.endpoint.lock().take();
            match endpoint {
                Some(endpoint) => break endpoint,
                None if shared.over.load(Ordering::Acquire) => {
                    let ran = thread.join().expect("a run does not panic");
                    let nobody = || RunError::Transport {
                        reason: "the run ended before its rank began".to_owned(),
                    };
                    return Err(ran.err().unwrap_or_else(nobody));
                }
                None => caller.park(),
            }
        };
        Ok(Entered {
            comm: Some(Rc::new(endpoint.communicator(None))),
            running: Some(Running { shared, thread }),
        })
    }

    /// The communicator of all ranks. What is cloned of it must be gone before [`Entered::finish`].
    #[must_use]
    pub fn communicator(&self) -> Rc<Communicator> {
        Rc::clone(self.comm.as_ref().expect("it is taken at the end"))
    }

    /// Whether the run is over already: another rank has failed, or a process is gone. What this
    /// rank waits for then does not come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|Running { shared, .. }| shared.over.load(Ordering::Acquire))
    }

    /// Ends the rank, well or with an error, which ends the ranks of the other processes too. Waits
    /// until the run has ended everywhere.
    ///
    /// # Errors
    /// As [`World::run`](crate::World::run); the error that is given here as [`RunError::Rank`].
    ///
    /// # Panics
    /// When a clone of the communicator is left.
    pub fn finish(mut self, result: Result<(), String>) -> Ran {
        let comm = self.comm.take().expect("it is taken at the end");
        let left = Rc::into_inner(comm);
        assert!(left.is_some(), "the rank's communicator is still in use");
        drop(left);
        self.end(result)
    }

    fn end(&mut self, result: Result<(), String>) -> Ran {
        match self.running.take() {
            Some(Running { shared, thread }) => {
                shared.finish(result);
                thread.join().expect("a run does not panic")
            }
            None => result.map_err(|error| RunError::Rank { rank: 0, error }),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(self.comm.take());
        // Whoever wants to know how it ends calls `finish`.
        let _ = self.end(Err("the rank was dropped before its end".to_owned()));
    }
}

impl Shared {
    /// The rank's task: another thread is the rank.
    async fn stay(&self, endpoint: Endpoint) -> Result<(), String> {
        // Also when the run ends early: then the task is dropped where it waits.
        let _leaving = Leaving(self);
        *self.endpoint.lock() = Some(endpoint);
        self.caller.unpark();
        poll_fn(|cx| {
            let mut end = self.end.lock();
            match end.result.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    end.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn finish(&self, result: Result<(), String>) {
        let waker = {
            let mut end = self.end.lock();
            end.result = Some(result);
            end.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn leave(&self) {
        // A waker keeps the task's memory.
        drop(mem::take(&mut self.end.lock().waker));
        self.over.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// Says that the rank's task has ended.
struct Leaving<'s>(&'s Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered").finish_non_exhaustive()
    }
}
