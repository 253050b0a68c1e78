//! Runs that end with an error or a panic.

use crate::worlds::{fails_everywhere, worlds, worlds_of};
use motet_comm::{CommError, Communicator, Local, RunError, World};
use motet_dispatch::{Causality, Exception};
use motet_testkit::{Drops, Log, patience, within};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// The calls in which a rank can wait for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Recv,
    Shift,
    Barrier,
    Reduce,
    Scatter,
    MakeRing,
    Exchange,
    Room,
    Foreign,
}

const CALLS: [Call; 9] = [
    Call::Recv,
    Call::Shift,
    Call::Barrier,
    Call::Reduce,
    Call::Scatter,
    Call::MakeRing,
    Call::Exchange,
    Call::Room,
    Call::Foreign,
];

/// Waits in `call` until the end of the run.
async fn wait_in(call: Call, comm: &Communicator) -> Result<(), CommError> {
    match call {
        Call::Recv => comm.recv(0, 99).await,
        Call::Shift => comm.shift((), 1).await,
        Call::Barrier => comm.barrier().await,
        Call::Reduce => comm.reduce(0, (), |(), ()| ()).await.map(drop),
        Call::Scatter => {
            let parts = || (0..comm.size()).map(|_| ()).collect();
            comm.scatter(0, (comm.rank() == 0).then(parts)).await
        }
        Call::MakeRing => comm.ring::<()>().await.map(drop),
        Call::Foreign => std::future::pending().await,
        Call::Exchange | Call::Room => unreachable!("these have been made with everyone"),
    }
}

/// Every rank but `failing` waits in `call` when that one ends with `fail`.
async fn wait_while_one_fails(
    comm: &Communicator,
    call: Call,
    failing: usize,
    fail: impl AsyncFn() -> Result<(), CommError>,
) -> Result<(), CommError> {
    let mut line = comm.line().await?;
    comm.barrier().await?;
    if comm.rank() == failing {
        return fail().await;
    }
    match call {
        Call::Exchange => loop {
            line.exchange(1, 1).await?;
        },
        // To the right nothing is received at rank 0, which sends until the ring is full.
        Call::Room if comm.rank() == 0 => loop {
            line.shift_right(1).await?;
        },
        Call::Room => wait_in(Call::Recv, comm).await,
        other => wait_in(other, comm).await,
    }
}

const REFUSED: CommError = CommError::NoSuchRank { rank: 7, size: 1 };

#[test]
fn sem_g71_an_error_ends_the_run_wherever_the_others_wait() {
    for call in CALLS {
        fails_everywhere(
            2,
            async move |comm| {
                let failing = comm.size() - 1;
                wait_while_one_fails(&comm, call, failing, async || Err(REFUSED)).await
            },
            move |size, error| match error {
                RunError::Rank { rank, error } => assert_eq!((rank, error), (size - 1, REFUSED)),
                other => panic!("{call:?}: {other}"),
            },
        );
    }
}

#[test]
fn sem_g71_a_panic_ends_the_run_wherever_the_others_wait() {
    for call in CALLS {
        fails_everywhere(
            2,
            async move |comm| {
                let failing = 1;
                wait_while_one_fails(&comm, call, failing, async || panic!("{call:?} as planned"))
                    .await
            },
            move |_, error| {
                assert_eq!(
                    error.to_string(),
                    format!("rank 1 panicked: {call:?} as planned")
                );
                assert!(matches!(error, RunError::Panicked { rank: 1, .. }));
            },
        );
    }
}

#[test]
fn sem_g71_ranks_are_dropped_where_they_wait() {
    let drops = Drops::new();
    let held = drops.clone();
    fails_everywhere(
        2,
        async move |comm| {
            let _held = held.make();
            let (mut ring, _one_more) = (comm.ring().await?, held.make());
            ring.exchange(Local(held.make()), Local(held.make()))
                .await?;
            comm.send(0, 3, Local(held.make())).await?;
            comm.barrier().await?;
            if comm.rank() == 0 {
                return Err(REFUSED);
            }
            comm.gather(0, Local(held.make())).await.map(drop)
        },
        |_, error| assert!(matches!(error, RunError::Rank { rank: 0, .. })),
    );
    assert!(drops.made() > 0);
    assert_eq!(drops.made(), drops.dropped());
}

#[test]
fn sem_g71_of_two_failures_the_first_is_told() {
    fails_everywhere(
        2,
        async |comm| {
            comm.barrier().await.map_err(|_| usize::MAX)?;
            match comm.rank() {
                0 => Err(0),
                1 => panic!("one"),
                _ => comm.barrier().await.map_err(|_| usize::MAX),
            }
        },
        |_, error| {
            let text = error.to_string();
            assert!(
                ["rank 0: 0", "rank 1 panicked: one"].contains(&&*text),
                "{text}"
            );
        },
    );
}

#[test]
fn sem_g71_every_rank_may_fail_at_once() {
    fails_everywhere(
        1,
        async |comm| Err::<(), _>(comm.rank()),
        |size, error| match error {
            RunError::Rank { rank, error } => assert!(rank == error && rank < size),
            other => panic!("{other}"),
        },
    );
}

#[test]
fn a_panic_without_words_is_told_too() {
    fails_everywhere(
        1,
        async |_| -> Result<(), CommError> { std::panic::panic_any(17u8) },
        |_, error| assert!(matches!(error, RunError::Panicked { .. })),
    );
}

#[test]
fn sem_g71_a_panic_in_an_operator_ends_the_run() {
    fails_everywhere(
        2,
        async |comm| comm.allreduce(1, |_, _| panic!("it does not add")).await,
        |_, error| assert!(error.to_string().ends_with(" panicked: it does not add")),
    );
}

/// Whoever reads a total that could not be made is told why, not only the rank that was to make it.
#[test]
fn sem_g71_a_panic_in_an_operator_is_told_on_every_rank_of_ports() {
    within(patience(), || {
        let told = World::ports(2).run(async |comm| {
            let mut call = pin!(comm.allreduce(1, |_, _| panic!("it does not add")));
            let told = poll_fn(|cx| {
                let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
                match polled {
                    Ok(polled) => polled.map(|total| format!("{total:?}")),
                    Err(payload) => {
                        Poll::Ready(Exception::new(payload, "ranks").message().to_owned())
                    }
                }
            });
            Ok::<_, CommError>(told.await)
        });
        assert_eq!(told.unwrap(), ["it does not add"; 2]);
    });
}

#[test]
fn sem_g71_a_panic_in_clone_ends_the_run() {
    struct Unique;
    impl Clone for Unique {
        fn clone(&self) -> Self {
            panic!("there is only one")
        }
    }
    fails_everywhere(
        2,
        async |comm| {
            let told = comm
                .broadcast(0, (comm.rank() == 0).then_some(Local(Unique)))
                .await;
            told.map(drop)
        },
        |_, error| assert!(error.to_string().ends_with(" panicked: there is only one")),
    );
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a destructor")
        }
    }
}

#[test]
fn sem_g71_a_panic_in_a_destructor_ends_the_run() {
    fails_everywhere(
        1,
        async |comm| {
            let _bomb = (comm.rank() == comm.size() / 2).then(|| Bomb);
            Ok::<_, CommError>(())
        },
        |size, error| {
            let text = format!("rank {} panicked: a destructor", size / 2);
            assert_eq!(error.to_string(), text);
        },
    );
}

/// What the run gives, and the panics of ranks that nobody but a causality hears of.
fn hearing<R>(run: impl FnOnce() -> R) -> (R, Vec<String>) {
    let heard = Log::new();
    let hears = heard.clone();
    let causality = Causality::new("hears").on_exception(move |exception| {
        hears.push(exception.message().to_owned());
        Ok(())
    });
    let ended = causality.run(run);
    (ended, heard.take())
}

/// A rank that ends well, and whose future then panics when it is dropped.
struct EndsWithBomb(Bomb);

impl Future for EndsWithBomb {
    type Output = Result<(), CommError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn sem_g71_a_future_that_panics_when_it_is_dropped_ends_the_run() {
    within(patience(), || {
        for (at, world) in worlds().into_iter().enumerate() {
            let (ended, heard) = hearing(|| world.run(|_| EndsWithBomb(Bomb)));
            let error = ended.expect_err("its end panics");
            assert!(
                matches!(error, RunError::Panicked { .. }),
                "{world:?}: {error}"
            );
            // The first world is one rank alone: its panic is the error.
            assert_eq!(heard.is_empty(), at == 0, "{world:?}: {heard:?}");
            assert!(heard.iter().all(|text| text == "a destructor"), "{heard:?}");
        }
    });
}

#[test]
fn sem_g71_a_destructor_that_panics_while_the_run_ends_changes_nothing() {
    within(patience(), || {
        for world in worlds().into_iter().filter(|world| world.size() > 1) {
            let body = async |comm: Communicator| {
                let _bomb = (comm.rank() == 0).then(|| Bomb);
                comm.barrier().await?;
                if comm.rank() == 1 {
                    return Err(REFUSED);
                }
                comm.recv::<()>(comm.rank(), 0).await
            };
            let (ended, heard) = hearing(|| world.run(body));
            let error = ended.expect_err("rank 1 refuses");
            assert!(matches!(error, RunError::Rank { rank: 1, .. }), "{error}");
            assert_eq!(heard, ["a destructor"], "{world:?}");
        }
    });
}

#[test]
fn a_rank_that_ends_early_does_not_disturb_the_others() {
    within(patience(), || {
        for world in worlds_of(8) {
            let body = async |comm: Communicator| {
                comm.barrier().await?;
                if comm.rank().is_multiple_of(2) {
                    comm.send(comm.rank() + 1, 0, comm.rank()).await?;
                    return Ok(0);
                }
                comm.recv::<usize>(comm.rank() - 1, 0).await
            };
            let results: Result<Vec<usize>, RunError<CommError>> = world.run(body);
            assert_eq!(results.expect("it ends well"), [0, 0, 0, 2, 0, 4, 0, 6]);
        }
    });
}

#[test]
fn a_world_can_be_run_again_after_a_failure() {
    within(patience(), || {
        let world = World::threads(3);
        for round in 0..100 {
            let outcome = world.run(async |comm| {
                comm.barrier().await?;
                if round % 2 == 0 && comm.rank() == 2 {
                    return Err(REFUSED);
                }
                comm.barrier().await
            });
            assert_eq!(outcome.is_err(), round % 2 == 0);
        }
    });
}
