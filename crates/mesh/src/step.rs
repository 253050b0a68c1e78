//! One step over several ports: something of each of them, all or none, or of the first.
//!
//! ```text
//!   1. wait until each port has what is wanted      nothing is taken
//!   2. reserve it, by the order of their names; one has too little: all goes back, and 1 again
//!   3. tell each owner that it is taken
//! ```
//!
//! Reservations are made in one order everywhere, and never wait for an item: so they do not wait
//! for each other. They wait for the answers of owners, for [`RESERVES`] at most: then all go back,
//! and 1 again. Who wants something of the first port looks at those without an answer last, then.

use crate::TakeError;
use motet_ports::timer;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// How long the first items that a step has reserved wait for the others. With the time for which a
/// taker tries to say that it took them, that is no longer than an owner keeps them.
const RESERVES: Duration = Duration::from_secs(30);

pub(crate) type StepFuture<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// What names a port, and its place in the order: ports that only their own process has come last.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepName {
    Key(String),
    Number(u64),
}

/// What a step takes of one port. Dropped, it gives back what it has reserved.
#[doc(hidden)]
pub trait StepPart: Send {
    fn name(&self) -> StepName;

    /// Waits until the port has what is wanted, and takes nothing.
    fn ready(&mut self) -> StepFuture<'_, Result<(), TakeError>>;

    /// Reserves it. `false`: there is too little now.
    fn reserve(&mut self) -> StepFuture<'_, Result<bool, TakeError>>;

    fn give_back(&mut self) -> StepFuture<'_, ()>;

    /// What is reserved is taken.
    fn take(&mut self) -> StepFuture<'_, Result<(), TakeError>>;
}

/// Takes what each part wants, all or none.
pub(crate) async fn take_each(parts: Vec<&mut dyn StepPart>) -> Result<(), TakeError> {
    let mut parts = in_order(parts)?;
    loop {
        ready_each(&mut parts).await?;
        // An owner that does not answer has others wait for what is reserved of their ports.
        let reserved = in_time(RESERVES, reserve_each(&mut parts)).await;
        if reserved.transpose()? == Some(true) {
            break;
        }
        // Somebody else was faster, or an owner is slow. What is held goes back, and before this
        // asks again.
        at_once(parts.iter_mut().map(|part| part.give_back()).collect()).await;
    }
    // At once: a reservation may end while it is waited for the link of another one.
    let told = at_once(parts.iter_mut().map(|part| part.take()).collect()).await;
    told.into_iter().collect()
}

/// Takes what the first part wants whose port has it: the place of the part.
pub(crate) async fn take_one(mut parts: Vec<&mut dyn StepPart>) -> Result<usize, TakeError> {
    if parts.is_empty() {
        return Err(TakeError::Nothing);
    }
    // Those whose owners have not answered when they were last asked, in that order.
    let mut silent: Vec<usize> = Vec::new();
    loop {
        let at = first_ready(&mut parts, &silent).await?;
        // An owner that does not answer keeps nobody from what others have.
        let reserved = in_time(RESERVES, parts[at].reserve()).await;
        silent.retain(|place| *place != at);
        match reserved.transpose()? {
            Some(true) => {
                parts[at].take().await?;
                return Ok(at);
            }
            Some(false) => {}
            None => silent.push(at),
        }
    }
}

/// By their names, each asked for once. Two parts of one port would wait for each other.
fn in_order(parts: Vec<&mut dyn StepPart>) -> Result<Vec<&mut dyn StepPart>, TakeError> {
    let named = parts.into_iter().map(|part| (part.name(), part));
    let mut named: Vec<_> = named.collect();
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    let twice = named.windows(2).find(|two| two[0].0 == two[1].0);
    if let Some(two) = twice {
        return Err(TakeError::Twice(two[0].0.to_string()));
    }
    Ok(named.into_iter().map(|(_, part)| part).collect())
}

/// Waits for all at once: who can never be ready ends it.
async fn ready_each(parts: &mut [&mut dyn StepPart]) -> Result<(), TakeError> {
    let waits = parts.iter_mut().map(|part| Some(part.ready()));
    let mut waits: Vec<_> = waits.collect();
    poll_fn(|context| {
        let mut are_ready = true;
        for place in &mut waits {
            let Some(wait) = place else { continue };
            match wait.as_mut().poll(context) {
                Poll::Ready(Ok(())) => *place = None,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => are_ready = false,
            }
        }
        if are_ready {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Waits for all, which go on beside each other: what each gives.
async fn at_once<R>(waits: Vec<StepFuture<'_, R>>) -> Vec<R> {
    let mut waits: Vec<_> = waits.into_iter().map(|wait| (wait, None)).collect();
    poll_fn(|context| {
        for (wait, given) in &mut waits {
            if given.is_none()
                && let Poll::Ready(gives) = wait.as_mut().poll(context)
            {
                *given = Some(gives);
            }
        }
        match waits.iter().all(|(_, given)| given.is_some()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    waits.into_iter().filter_map(|(_, given)| given).collect()
}

async fn reserve_each(parts: &mut [&mut dyn StepPart]) -> Result<bool, TakeError> {
    for part in parts {
        if !part.reserve().await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is awaited; `None`: it takes longer than that.
pub(crate) async fn in_time<R>(limit: Duration, awaited: impl Future<Output = R>) -> Option<R> {
    let mut awaited = pin!(awaited);
    let mut too_late = pin!(timer::sleep(limit));
    poll_fn(|context| match awaited.as_mut().poll(context) {
        Poll::Pending => too_late.as_mut().poll(context).map(|()| None),
        Poll::Ready(given) => Poll::Ready(Some(given)),
    })
    .await
}

/// The place of the first part whose port has what it wants; those in `last` are looked at last, in
/// that order.
async fn first_ready(parts: &mut [&mut dyn StepPart], last: &[usize]) -> Result<usize, TakeError> {
    let waits = parts.iter_mut().map(|part| part.ready()).enumerate();
    let mut waits: Vec<_> = waits.collect();
    // The others stay in their order.
    waits.sort_by_key(|(at, _)| last.iter().position(|place| place == at));
    poll_fn(|context| {
        for (at, wait) in &mut waits {
            if let Poll::Ready(ready) = wait.as_mut().poll(context) {
                let at = *at;
                return Poll::Ready(ready.map(|()| at));
            }
        }
        Poll::Pending
    })
    .await
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepName::Key(key) => f.write_str(key),
            StepName::Number(number) => write!(f, "number {number} of this process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
    use motet_ports::Port;
    use motet_sync::atomic::{AtomicBool, Ordering};
    use std::future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Waker};

    /// Its owner says that it has what is wanted.
    struct OwnedPart {
        /// Whether its owner says anything else.
        answers: bool,
    }

    impl StepPart for OwnedPart {
        fn name(&self) -> StepName {
            StepName::Number(u64::from(self.answers))
        }

        fn ready(&mut self) -> StepFuture<'_, Result<(), TakeError>> {
            Box::pin(future::ready(Ok::<_, TakeError>(())))
        }

        fn reserve(&mut self) -> StepFuture<'_, Result<bool, TakeError>> {
            match self.answers {
                true => Box::pin(future::ready(Ok::<_, TakeError>(true))),
                false => Box::pin(future::pending::<Result<bool, TakeError>>()),
            }
        }

        fn give_back(&mut self) -> StepFuture<'_, ()> {
            Box::pin(future::ready(()))
        }

        fn take(&mut self) -> StepFuture<'_, Result<(), TakeError>> {
            Box::pin(future::ready(Ok::<_, TakeError>(())))
        }
    }

    #[test]
    fn sem_g221_owners_that_do_not_answer_keep_no_first_item_of_another() {
        let replay = Replay::new(1);
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("takes")));
        let told = Port::new();
        let out = told.clone();
        let takes = async move {
            let [mut first, mut second] = [(); 2].map(|()| OwnedPart { answers: false });
            let mut other = OwnedPart { answers: true };
            let parts = vec![&mut first as &mut dyn StepPart, &mut second, &mut other];
            let at = take_one(parts).await;
            let _ = out.post(at);
        };
        spawn(&queue, takes).expect("the queue is open");
        // One of the two after the other.
        replay.run_for(RESERVES + RESERVES / 2);
        assert_eq!(told.test(), None);
        replay.run_for(RESERVES);
        assert_eq!(told.test(), Some(Ok(2)));
    }

    #[test]
    fn sem_g221_owners_are_told_beside_each_other() {
        let is_told = AtomicBool::new(false);
        // The link to the first owner works again only when the second one has been told.
        let first: StepFuture<'_, u32> =
            Box::pin(poll_fn(|_| match is_told.load(Ordering::Relaxed) {
                true => Poll::Ready(1),
                false => Poll::Pending,
            }));
        let second: StepFuture<'_, u32> = Box::pin(async {
            is_told.store(true, Ordering::Relaxed);
            2
        });
        let mut all = pin!(at_once(vec![first, second]));
        let mut context = Context::from_waker(Waker::noop());
        assert!(all.as_mut().poll(&mut context).is_pending());
        assert_eq!(all.as_mut().poll(&mut context), Poll::Ready(vec![1, 2]));
    }
}
