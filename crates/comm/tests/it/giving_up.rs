//! Receives that are given up: for everything else it is as if they had never been.

use crate::topology::pause;
use crate::worlds::{Outcome, everywhere, on, worlds_of};
use motet_comm::{
    ANY_TAG, CommError, Communicator, Request, RunError, Source, Tag, TagMatch, World,
};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_testkit::{patience, within};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A receive of a message of this rank to itself that sleeps: it is polled again only when it is
/// woken.
struct Sleeper<'c> {
    receive: Pin<Box<dyn Future<Output = Outcome<i32>> + 'c>>,
    bell: Arc<Bell>,
    waker: Waker,
}

/// Passes on that the receive is woken.
#[derive(Default)]
struct Bell {
    rung: AtomicBool,
    rank: Mutex<Option<Waker>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::SeqCst);
        let rank = self.rank.lock().take();
        rank.into_iter().for_each(Waker::wake);
    }
}

impl<'c> Sleeper<'c> {
    fn new(comm: &'c Communicator) -> Self {
        let bell = Arc::<Bell>::default();
        Sleeper {
            receive: Box::pin(comm.recv(comm.rank(), 0)),
            waker: Waker::from(Arc::clone(&bell)),
            bell,
        }
    }

    fn poll(&mut self) -> Poll<Outcome<i32>> {
        let mut cx = Context::from_waker(&self.waker);
        self.receive.as_mut().poll(&mut cx)
    }

    /// Polls it until it has left its waker with the rank: it sleeps then.
    async fn falls_asleep(&mut self) {
        loop {
            assert!(self.poll().is_pending(), "nothing is there for it");
            if Arc::strong_count(&self.bell) > 2 {
                // What has woken it before does not count.
                return self.bell.rung.store(false, Ordering::SeqCst);
            }
            pause().await;
        }
    }

    /// Waits until it is woken, and for what it receives then.
    async fn wakes(mut self) -> Outcome<i32> {
        poll_fn(|cx| {
            *self.bell.rank.lock() = Some(cx.waker().clone());
            if self.bell.rung.swap(false, Ordering::SeqCst) {
                return self.poll();
            }
            Poll::Pending
        })
        .await
    }
}

#[test]
fn sem_g84_a_receive_that_sleeps_is_woken_for_what_another_gives_up() {
    everywhere(
        async |comm| {
            let me = comm.rank();
            let first = comm.irecv::<i32>(me, 0);
            let mut sleeper = Sleeper::new(&comm);
            sleeper.falls_asleep().await;
            comm.send(me, 0, 5).await?;
            sleeper.falls_asleep().await;
            drop(first);
            sleeper.wakes().await
        },
        |_, _| 5,
    );
}

#[test]
fn sem_g85_a_receive_that_sleeps_is_woken_for_a_matched_message_that_is_dropped() {
    everywhere(
        async |comm| {
            comm.send(comm.rank(), 0, 6).await?;
            let message = comm.improbe(comm.rank(), 0)?.expect("it was sent");
            let mut sleeper = Sleeper::new(&comm);
            sleeper.falls_asleep().await;
            drop(message);
            sleeper.wakes().await
        },
        |_, _| 6,
    );
}

#[test]
fn sem_g69_a_receive_that_sleeps_is_woken_for_a_message_of_another_type() {
    everywhere(
        async |comm| {
            let me = comm.rank();
            let first = comm.irecv::<String>(me, 0);
            let mut sleeper = Sleeper::new(&comm);
            sleeper.falls_asleep().await;
            comm.send(me, 0, 7).await?;
            sleeper.falls_asleep().await;
            let wrong = first.wait().await;
            assert!(matches!(wrong, Err(CommError::WrongType { .. })));
            sleeper.wakes().await
        },
        |_, _| 7,
    );
}

#[test]
fn sem_g84_a_message_that_is_there_again_is_not_overtaken() {
    everywhere(
        async |comm| {
            let me = comm.rank();
            // Posted before the messages come, and after.
            let posts = || [(); 2].map(|()| comm.irecv::<i32>(me, 0));
            let early = posts();
            comm.send(me, 0, 1).await?;
            comm.send(me, 0, 2).await?;
            let [dropped, kept] = early;
            drop(dropped);
            let early = (kept.wait().await?, comm.recv::<i32>(me, 0).await?);
            comm.send(me, 0, 3).await?;
            comm.send(me, 0, 4).await?;
            let [dropped, kept] = posts();
            assert!(!dropped.cancel(), "it had its message");
            Ok((early, (kept.wait().await?, comm.recv::<i32>(me, 0).await?)))
        },
        |_, _| ((1, 2), (3, 4)),
    );
}

#[test]
fn sem_g67_a_message_of_another_type_is_not_overtaken() {
    everywhere(
        async |comm| {
            let me = comm.rank();
            let (wrong, right) = (comm.irecv::<String>(me, 0), comm.irecv::<i32>(me, 0));
            comm.send(me, 0, 1).await?;
            comm.send(me, 0, 2).await?;
            wrong.wait().await.expect_err("it is a number");
            Ok((right.wait().await?, comm.recv::<i32>(me, 0).await?))
        },
        |_, _| (1, 2),
    );
}

/// One thing that a rank does.
#[derive(Debug, Clone, Copy)]
enum Act {
    Send(Tag),
    Post(TagMatch),
}

/// Which message each receive gets, when those that are given up had never been.
fn matched(acts: &[Act], given_up: &[bool]) -> Vec<Option<usize>> {
    let (mut messages, mut receives) = (Vec::<(Tag, bool)>::new(), Vec::new());
    let fits = |wanted, tag| matches!(wanted, TagMatch::Any) || wanted == TagMatch::Only(tag);
    for act in acts {
        match *act {
            Act::Send(tag) => {
                let waits = |at: &usize| {
                    let (wanted, got): (TagMatch, Option<usize>) = receives[*at];
                    !given_up[*at] && got.is_none() && fits(wanted, tag)
                };
                let taken = (0..receives.len()).find(waits);
                if let Some(at) = taken {
                    receives[at].1 = Some(messages.len());
                }
                messages.push((tag, taken.is_some()));
            }
            Act::Post(wanted) => {
                let waits = |message: &(Tag, bool)| !message.1 && fits(wanted, message.0);
                let at = messages.iter().position(waits);
                let at = at.filter(|_| !given_up[receives.len()]);
                if let Some(at) = at {
                    messages[at].1 = true;
                }
                receives.push((wanted, at));
            }
        }
    }
    receives.into_iter().map(|receive| receive.1).collect()
}

/// Numbers that look random, the same in every run.
fn draw(state: &mut u32, below: u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*state >> 16) % below
}

#[test]
fn sem_g84_whatever_is_given_up_the_rest_is_as_if_it_had_not_been() {
    let worlds = [World::solo(), World::threads(1), World::ports(1)];
    on(
        worlds.to_vec(),
        async |comm| {
            for seed in 0..300 {
                let state = &mut seed.clone();
                let mut acts = Vec::new();
                for _ in 0..24 {
                    let tag = draw(state, 3);
                    acts.push(match draw(state, 3) {
                        0 => Act::Send(tag),
                        1 => Act::Post(tag.into()),
                        _ => [Act::Send(tag), Act::Post(ANY_TAG)][draw(state, 2) as usize],
                    });
                }
                let (mut receives, mut given_up, mut sent) = (Vec::new(), Vec::new(), 0_usize);
                for act in &acts {
                    match *act {
                        Act::Send(tag) => {
                            comm.send(0, tag, sent).await?;
                            sent += 1;
                        }
                        Act::Post(wanted) => {
                            receives.push(Some(comm.irecv::<usize>(0, wanted)));
                            given_up.push(false);
                        }
                    }
                    if !receives.is_empty() && draw(state, 4) == 0 {
                        let at = draw(state, receives.len() as u32) as usize;
                        receives[at] = None;
                        given_up[at] = true;
                    }
                }
                let outcome = |receive: Option<Request<'_, usize>>| receive?.test().ok()?.ok();
                let got: Vec<Option<usize>> = receives.into_iter().map(outcome).collect();
                assert_eq!(got, matched(&acts, &given_up), "{seed}: {acts:?}");
                while comm
                    .improbe(Source::Any, ANY_TAG)?
                    .map(|m| m.recv::<usize>())
                    .is_some()
                {}
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g91_what_a_request_has_got_and_nobody_has_taken_is_listed() {
    within(patience(), || {
        for world in worlds_of(1).into_iter().chain([World::solo()]) {
            let stuck = world.run(async |comm: Communicator| -> Outcome<()> {
                let early = comm.irecv::<i32>(0, 1);
                comm.send(0, 1, 10).await?;
                comm.send(0, 2, 20).await?;
                let late = comm.irecv::<i32>(0, 2);
                comm.recv::<i32>(0, 3).await?;
                early.wait().await?;
                late.wait().await.map(drop)
            });
            let Err(RunError::Stuck(report)) = stuck else {
                panic!("{world:?}: {stuck:?}");
            };
            let tags: Vec<Tag> = report.unmatched.iter().map(|message| message.tag).collect();
            assert_eq!(tags, [1, 2], "{world:?}");
        }
    });
}
