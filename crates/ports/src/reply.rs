//! Replies: one answer to one question, or the news that there will be none.

mod error;

pub use error::{NoReply, ReplyError};

use crate::PostError;
use crate::delivery::parcel;
use crate::port::{Port, PortCore};
use crate::predicate;
use motet_dispatch::{Awaited, WaitPart, Waiter, watch_here};
use motet_sync::{Mutex, renew_waker};
use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// Where the answer to a request goes: an item of the request. It is answered once, by moving the
/// answer in. Dropped without an answer, by a handler that panics for instance, it tells the asker
/// so. So the asker never waits in vain.
///
/// Made by [`reply`], or by [`ReplyPort::to`] where the answer should come to a port, for joins and
/// other arbiters to wait for it.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Port, Receive, ReplyPort, reply};
///
/// struct Square { of: u64, reply: ReplyPort<u64> }
///
/// let squares = Port::new();
/// Receive::persistent(&squares, |Square { of, reply }| reply.post(of * of).unwrap())
///     .activate(&Inline::new("here"))
///     .unwrap();
/// let (to, answer) = reply();
/// squares.post(Square { of: 7, reply: to }).unwrap();
/// # motet_ports::wait_blocking(async {
/// assert_eq!(answer.await, Ok(49));
/// # }).unwrap();
/// ```
#[must_use = "dropped without an answer, it tells the asker that there will be none"]
pub struct ReplyPort<T: Send + 'static> {
    /// There until it is answered.
    to: Option<To<T>>,
    asked_at: &'static Location<'static>,
}

enum To<T: Send + 'static> {
    /// A [`Reply`] that is awaited.
    Cell(Arc<AnswerCell<T>>),
    Port(Arc<dyn AnswerPort<T>>),
}

/// A port of answers. What a port needs is then compiled only for answers that go to one.
trait AnswerPort<T>: Send + Sync {
    fn post(&self, answer: Result<T, NoReply>) -> Result<(), PostError<Result<T, NoReply>>>;

    /// Keeps the news that there is no answer, although there is no room for it.
    fn keep(&self, news: Result<T, NoReply>);
}

impl<T: Send + 'static> AnswerPort<T> for PortCore<Result<T, NoReply>> {
    fn post(&self, answer: Result<T, NoReply>) -> Result<(), PostError<Result<T, NoReply>>> {
        PortCore::post(self, answer)
    }

    fn keep(&self, news: Result<T, NoReply>) {
        self.put_back(parcel(news));
    }
}

/// The future of an answer: see [`reply`].
///
/// # Cancellation
/// Dropping it gives up the answer: one that is there already is dropped, one that comes later goes
/// back to whoever answers.
#[must_use = "an answer that is not awaited is lost"]
pub struct Reply<T: Send + 'static> {
    /// There until it has given its result.
    slot: Option<Arc<AnswerCell<T>>>,
}

struct AnswerCell<T> {
    asked_at: &'static Location<'static>,
    state: Mutex<State<T>>,
}

enum State<T> {
    /// Nothing has come yet; the waker of who awaits it, if anybody does.
    Open(Option<Waker>),
    Answered(T),
    /// The reply port was dropped.
    NoReply,
    /// The future has given its result, or was dropped.
    Done,
}

/// Makes both ends of an answer, in one allocation: the [`ReplyPort`] goes into the request, the
/// [`Reply`] is awaited.
///
/// ```
/// use motet_ports::{ReplyPort, reply, wait_blocking};
///
/// let (to, answer) = reply::<u32>();
/// to.post(42).unwrap();
/// assert_eq!(wait_blocking(answer).unwrap(), Ok(42));
///
/// let (to, answer) = reply::<u32>();
/// drop(to);
/// assert!(wait_blocking(answer).unwrap().is_err(), "not a hang");
/// ```
#[track_caller]
pub fn reply<T: Send + 'static>() -> (ReplyPort<T>, Reply<T>) {
    let asked_at = Location::caller();
    let slot = Arc::new(AnswerCell {
        asked_at,
        state: Mutex::new(State::Open(None)),
    });
    let to = Some(To::Cell(Arc::clone(&slot)));
    (ReplyPort { to, asked_at }, Reply { slot: Some(slot) })
}

impl<T: Send + 'static> ReplyPort<T> {
    /// A reply port whose answer, or the news that there is none, is posted to `port`. Receives,
    /// joins and other arbiters can wait for it there.
    ///
    /// ```
    /// use motet_ports::{Port, ReplyPort};
    ///
    /// let answers = Port::new();
    /// ReplyPort::to(&answers).post(42).unwrap();
    /// drop(ReplyPort::to(&answers));
    /// assert_eq!(answers.test(), Some(Ok(42)));
    /// assert!(answers.test().unwrap().is_err());
    /// ```
    #[track_caller]
    pub fn to(port: &Port<Result<T, NoReply>>) -> Self {
        ReplyPort {
            to: Some(To::Port(Arc::clone(port.core()) as _)),
            asked_at: Location::caller(),
        }
    }

    /// Answers.
    ///
    /// # Errors
    /// [`ReplyError`] gives the answer back when the asker has gone, or when the port of the
    /// answers refuses it.
    pub fn post(mut self, answer: T) -> Result<(), ReplyError<T>> {
        match self.to.take() {
            Some(To::Cell(slot)) => {
                slot.settle(State::Answered(answer))
                    .map_err(|unwanted| match unwanted {
                        State::Answered(answer) => ReplyError::Unwanted(answer),
                        _ => unreachable!("what is handed back is what was to be settled"),
                    })
            }
            Some(To::Port(port)) => port.post(Ok(answer)).map_err(|refused| {
                self.to = Some(To::Port(port));
                let refused = refused.map(|answer| match answer {
                    Ok(answer) => answer,
                    Err(_) => unreachable!("what is handed back is what was posted"),
                });
                ReplyError::Refused(refused, self)
            }),
            None => unreachable!("a reply port that was answered is gone"),
        }
    }

    /// Whether the asker still waits. Work for an answer that nobody wants can be left undone.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        match &self.to {
            Some(To::Cell(slot)) => !matches!(*slot.state.lock(), State::Done),
            _ => true,
        }
    }
}

impl<T: Send + 'static> Drop for ReplyPort<T> {
    fn drop(&mut self) {
        match self.to.take() {
            // An asker that has gone need not know.
            Some(To::Cell(slot)) => drop(slot.settle(State::NoReply)),
            Some(To::Port(port)) => {
                let news = Err(NoReply::new(self.asked_at));
                predicate::outside(move || {
                    if let Err(refused) = port.post(news) {
                        // Whoever waits there must learn it: it is kept although there was no room.
                        port.keep(refused.item);
                    }
                });
            }
            None => {}
        }
    }
}

impl<T: Send + 'static> Reply<T> {
    /// Gives up the answer: what has come and was not looked at.
    pub(crate) fn give_up(&mut self) -> Option<T> {
        let slot = self.slot.take()?;
        // Dropped after the lock is released: a destructor of the answer may answer others.
        let unread = std::mem::replace(&mut *slot.state.lock(), State::Done);
        match unread {
            State::Answered(answer) => Some(answer),
            State::Open(_) | State::NoReply | State::Done => None,
        }
    }
}

impl<T> AnswerCell<T> {
    /// Sets what has come and wakes who waits. Gives it back when nobody waits any more.
    fn settle(&self, news: State<T>) -> Result<(), State<T>> {
        let mut state = self.state.lock();
        let State::Open(waker) = &mut *state else {
            return Err(news);
        };
        let waker = waker.take();
        *state = news;
        drop(state);
        // Outside the lock: an executor may poll at once.
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }
}

impl<T: Send + 'static> Future for Reply<T> {
    type Output = Result<T, NoReply>;

    /// # Panics
    /// When it is polled again after it has given its result.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.slot.as_ref().expect("a reply gives its result once");
        let mut state = slot.state.lock();
        if let State::Open(waiting) = &mut *state {
            if let Some(waker) = waiting {
                let before = renew_waker(waker, cx.waker());
                drop(state);
                // Outside the lock: a task that is dropped with it may have the reply port.
                drop(before);
                return Poll::Pending;
            }
            *waiting = Some(cx.waker().clone());
            drop(state);
            watch_here(Arc::downgrade(slot) as Weak<dyn Waiter>, slot.asked_at);
            return Poll::Pending;
        }
        let result = match std::mem::replace(&mut *state, State::Done) {
            State::Answered(answer) => Ok(answer),
            State::NoReply => Err(NoReply::new(slot.asked_at)),
            State::Open(_) | State::Done => unreachable!("not open, and only this future ends it"),
        };
        drop(state);
        self.slot = None;
        Poll::Ready(result)
    }
}

impl<T: Send + 'static> Waiter for AnswerCell<T> {
    fn awaits(&self) -> Option<Awaited> {
        let waits = matches!(*self.state.lock(), State::Open(Some(_)));
        waits.then(|| Awaited {
            who: "reply",
            queue: None,
            parts: vec![WaitPart {
                port: format!("an answer of {}", type_name::<T>()),
                there: 0,
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = match &*self.state.lock() {
            State::Open(waker) => waker.clone(),
            _ => None,
        };
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> Drop for Reply<T> {
    fn drop(&mut self) {
        drop(self.give_up());
    }
}

impl<T: Send + 'static> fmt::Debug for ReplyPort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyPort")
            .field("asked_at", &format_args!("{}", self.asked_at))
            .field("wanted", &self.is_wanted())
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked_at = self.slot.as_ref().map(|slot| slot.asked_at.to_string());
        f.debug_struct("Reply")
            .field("asked_at", &asked_at)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::atomic::{AtomicUsize, Ordering};
    use motet_sync::thread;
    use std::task::Wake;

    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn waker() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    fn poll(reply: &mut Reply<u32>, waker: &Waker) -> Poll<Result<u32, NoReply>> {
        Pin::new(reply).poll(&mut Context::from_waker(waker))
    }

    /// The answer, or its absence, comes while the asker begins to wait: it sees it or is woken.
    fn comes_while_awaited(answer: impl Fn(ReplyPort<u32>) + Send + Sync + Copy + 'static) {
        loom::model(move || {
            let (to, mut reply) = reply::<u32>();
            let (wakes, waker) = waker();
            let answering = thread::spawn(move || answer(to));
            let mut seen = poll(&mut reply, &waker);
            answering.join().unwrap();
            if seen.is_pending() {
                assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
                seen = poll(&mut reply, &waker);
            }
            assert!(seen.is_ready());
        });
    }

    #[test]
    fn loom_an_answer_against_the_begin_of_the_wait() {
        comes_while_awaited(|to| to.post(7).unwrap());
    }

    #[test]
    fn loom_no_answer_against_the_begin_of_the_wait() {
        comes_while_awaited(drop);
    }

    /// The asker gives up while the answer comes: it is dropped or given back, once.
    #[test]
    fn loom_an_answer_against_an_asker_that_gives_up() {
        loom::model(|| {
            let (to, asker) = reply::<Arc<()>>();
            let answer = Arc::new(());
            let twin = Arc::clone(&answer);
            let answering = thread::spawn(move || to.post(twin));
            drop(asker);
            match answering.join().unwrap() {
                Ok(()) => {}
                Err(ReplyError::Unwanted(given_back)) => drop(given_back),
                Err(other) => panic!("{other}"),
            }
            assert_eq!(Arc::strong_count(&answer), 1);
        });
    }
}
