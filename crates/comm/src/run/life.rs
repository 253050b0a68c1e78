//! The life of one rank: its body, and what is done before, between and after its turns.
//!
//! A future written by hand: there may be millions, and an async function would hold much of what
//! it is given twice.

use super::threads::Run;
use crate::RunError;
use crate::profile::Recorder;
use motet_sync::{CachePadded, Mutex};
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The task of a rank. Its parts are dropped in this order: what the body drops may still fail the
/// run.
pub(super) struct Life<'a, F, R, E, M, B> {
    body: Body<M, B>,
    /// Notes where the rank's time goes, if the run is profiled.
    recorder: Option<Rc<Recorder>>,
    end: End<'a, F, R, E>,
}

/// What the program does on a rank.
enum Body<M, B> {
    /// It has not begun: what makes it, at the first poll.
    New(M),
    /// Pinned with its life.
    Begun(B),
    Over,
}

/// Counts a rank out when it ends, however it ends.
struct End<'a, F, R, E> {
    run: &'a Run<F, R, E>,
    place: u32,
    /// The run knows how the rank has ended.
    told: bool,
}

impl<'a, F, R, E, M, B> Life<'a, F, R, E, M, B>
where
    M: FnOnce() -> (Option<Rc<Recorder>>, B),
    B: Future<Output = Result<R, E>>,
{
    /// The life of the rank with this place here, whose body `make` makes.
    pub(super) fn new(run: &'a Run<F, R, E>, place: usize, make: M) -> Self {
        Life {
            body: Body::New(make),
            recorder: None,
            end: End {
                run,
                place: u32::try_from(place).expect("there is no memory for more ranks"),
                told: false,
            },
        }
    }

    /// The rank begins: this is its first poll.
    #[cold]
    fn begin(body: &mut Body<M, B>, recorder: &mut Option<Rc<Recorder>>) {
        if let Body::New(make) = mem::replace(body, Body::Over) {
            let begun;
            (*recorder, begun) = make();
            *body = Body::Begun(begun);
        }
    }
}

impl<F, R, E, M, B> Future for Life<'_, F, R, E, M, B>
where
    M: FnOnce() -> (Option<Rc<Recorder>>, B),
    B: Future<Output = Result<R, E>>,
{
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: a body that has begun stays where it is until it is dropped there; nothing else
        // is pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let Life {
            body,
            recorder,
            end,
        } = this;
        let (run, place) = (end.run, end.place());
        let outcome = if run.local.is_over() {
            None
        } else {
            let turn = || {
                if let Body::New(_) = body {
                    Self::begin(body, recorder);
                }
                let Body::Begun(body) = body else {
                    unreachable!("a future is not polled after its end");
                };
                if let Some(recorder) = recorder {
                    recorder.resume();
                }
                // SAFETY: as above.
                unsafe { Pin::new_unchecked(body) }.poll(cx)
            };
            let rank = run.local.first + place;
            match catch_unwind(AssertUnwindSafe(turn)) {
                Ok(Poll::Pending) => {
                    run.local.pending_closes(place).tell(&run.local);
                    if let Some(recorder) = recorder {
                        recorder.suspend();
                    }
                    return Poll::Pending;
                }
                Ok(Poll::Ready(Ok(result))) => Some(Ok(result)),
                Ok(Poll::Ready(Err(error))) => Some(Err(RunError::Rank { rank, error })),
                Err(payload) => Some(Err(RunError::panicked(rank, payload))),
            }
        };
        // Dropped where it is, before the run is told: it may panic.
        *body = Body::Over;
        end.tell(outcome, recorder.as_deref());
        Poll::Ready(())
    }
}

impl<F, R, E> End<'_, F, R, E> {
    fn place(&self) -> usize {
        self.place as usize
    }

    /// Tells the run how the rank has ended; `None` when the run ends early.
    fn tell(&mut self, outcome: Option<Result<R, RunError<E>>>, recorder: Option<&Recorder>) {
        let (run, place) = (self.run, self.place());
        run.local.pending_closes(place).forget();
        let home = run.local.home(place);
        if let (Some(profiling), Some(recorder)) = (&run.profiling, recorder) {
            profiling.end(place, run.local.first + place, home, recorder);
        }
        match outcome {
            Some(Ok(result)) => run.results.keep(home, place, result),
            Some(Err(failure)) => run.fail(failure),
            None => {}
        }
        self.told = true;
    }
}

impl<F, R, E> Drop for End<'_, F, R, E> {
    fn drop(&mut self) {
        let (run, place) = (self.run, self.place());
        if !self.told {
            run.local.pending_closes(place).forget();
        }
        if !self.told && !run.local.is_over() {
            // A destructor of the rank's own data has panicked.
            run.fail(RunError::Panicked {
                rank: run.local.first + place,
                message: "a value was dropped with a panic at the end of the rank".to_owned(),
            });
        }
        run.local.slot(place).set_finished();
        run.local.entrances.rank_has_ended(place);
        run.one_has_ended();
    }
}

/// What the ranks that have ended well have returned, each with its place; a list for each worker.
/// Who has not ended has no room here.
pub(super) struct Results<R>(Box<[CachePadded<Kept<R>>]>);

type Kept<R> = Mutex<Vec<(u32, R)>>;

impl<R> Results<R> {
    pub(super) fn new(workers: usize) -> Self {
        let list = |_| CachePadded::new(Mutex::new(Vec::new()));
        Results((0..workers).map(list).collect())
    }

    fn keep(&self, worker: usize, place: usize, result: R) {
        self.0[worker].lock().push((place as u32, result));
    }

    /// In rank order, when all ranks have ended well: the ranks of a worker come after those of the
    /// worker before it.
    pub(super) fn in_order(self) -> Vec<R> {
        let lists = self
            .0
            .into_iter()
            .map(|list| list.into_inner().into_inner());
        let lists = lists.flat_map(|mut list| {
            list.sort_unstable_by_key(|&(place, _)| place);
            list
        });
        lists.map(|(_, result)| result).collect()
    }
}
