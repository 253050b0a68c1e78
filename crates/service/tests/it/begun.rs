//! Async handlers that begin where they are called.

use crate::direct::{answer, on_workers};
use motet_dispatch::{Causalities, Causality};
use motet_ports::Port;
use motet_ports::timer::sleep;
use motet_service::{Create, Cx, Fault, FaultCode, Node, Service, State, contract, data};
use std::future::{IntoFuture, poll_fn};
use std::sync::LazyLock;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// What a handler says that has begun, and what it waits for. One test uses them.
static BEGUN: LazyLock<Port<()>> = LazyLock::new(Port::new);
static GO: LazyLock<Port<()>> = LazyLock::new(Port::new);

/// So long the handlers wait that do.
const PAUSE: Duration = Duration::from_millis(2);

/// What was done, in order.
#[data]
#[derive(Default)]
struct Steps {
    all: Vec<u32>,
}

#[contract(uri = "test:desk/1", state = Steps)]
trait Desks {
    /// Does a step, and does not wait.
    #[update]
    async fn step(&mut self, n: u32) -> String;
    /// Waits, and then does it.
    #[update]
    async fn step_later(&mut self, n: u32) -> String;
    /// Says that it has begun, waits until it may go on, and then does it.
    #[update]
    async fn step_behind(&mut self, n: u32);
    /// The same of the number of steps.
    #[query]
    async fn count_behind(&self) -> usize;
    /// Panics behind the step, undone, before or after it has waited.
    #[update(rollback)]
    async fn tear(&mut self, waits: bool) -> usize;
    /// Waits for what never comes.
    #[update]
    async fn never(&mut self);
    /// The number of steps, and the thread that has counted them.
    #[query]
    async fn count(&self) -> (usize, String);
    /// The same later.
    #[query]
    async fn count_later(&self) -> (usize, String);
    /// The number of desks from here on: each asks the next one.
    #[query]
    async fn row(&self, cx: &Cx, next: Option<u32>) -> Result<u32, Fault>;
    /// How long its caller still waits, as the call knows that it makes.
    #[query]
    async fn left(&self, cx: &Cx, of: String) -> Result<u64, Fault>;
    /// Lets no causality be active, and counts those that are, if it says so after a wait.
    #[query]
    async fn clear(&self, waits: bool) -> usize;
    /// The thread, after so many milliseconds without a wait.
    #[update]
    async fn hold(&mut self, ms: u64) -> String;
}

#[derive(Service)]
#[service(contract = Desks, many)]
struct Desk {
    #[state]
    steps: State<Steps>,
}

fn here() -> String {
    format!("{:?}", thread::current().id())
}

impl Desks for Desk {
    async fn step(&mut self, n: u32) -> String {
        self.steps.all.push(n);
        here()
    }

    async fn step_later(&mut self, n: u32) -> String {
        sleep(PAUSE).await;
        self.step(n).await
    }

    async fn step_behind(&mut self, n: u32) {
        BEGUN.post(()).unwrap();
        GO.recv().await;
        self.steps.all.push(n);
    }

    async fn count_behind(&self) -> usize {
        BEGUN.post(()).unwrap();
        GO.recv().await;
        self.steps.all.len()
    }

    async fn tear(&mut self, waits: bool) -> usize {
        self.steps.all.push(0);
        if waits {
            sleep(PAUSE).await;
        }
        panic!("torn")
    }

    async fn never(&mut self) {
        self.steps.all.push(9);
        std::future::pending().await
    }

    async fn count(&self) -> (usize, String) {
        (self.steps.all.len(), here())
    }

    async fn count_later(&self) -> (usize, String) {
        sleep(PAUSE).await;
        self.count().await
    }

    async fn row(&self, cx: &Cx, next: Option<u32>) -> Result<u32, Fault> {
        // It waits once before it asks, if it has an odd number.
        let mut waits = next.is_some_and(|next| next % 2 == 1);
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            match std::mem::take(&mut waits) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        let Some(next) = next else { return Ok(1) };
        let beyond = cx.find(&path(next + 1)).is_ok().then_some(next + 1);
        let desk: DesksClient = cx.client(&path(next))?;
        Ok(desk.row(beyond).await? + 1)
    }

    async fn left(&self, cx: &Cx, of: String) -> Result<u64, Fault> {
        let left = |cx: &Cx| {
            let left = cx.deadline().saturating_duration_since(cx.clock().now());
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        };
        if of.is_empty() {
            return Ok(left(cx));
        }
        let desk: DesksClient = cx.client(&of)?;
        desk.left(String::new()).await
    }

    async fn clear(&self, waits: bool) -> usize {
        Causality::clear();
        if waits {
            sleep(PAUSE).await;
        }
        Causalities::active().iter().count()
    }

    async fn hold(&mut self, ms: u64) -> String {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(ms) {
            std::hint::spin_loop();
        }
        here()
    }
}

fn path(number: u32) -> String {
    format!("/desk-{number}")
}

/// A desk whose short handlers are known to be short.
async fn desk(node: &Node, number: u32) -> DesksClient {
    let desk = node.create(Create::<Desk>::of().at(&path(number))).await;
    let desk: DesksClient = desk.unwrap();
    for _ in 0..100 {
        desk.step(0).await.unwrap();
        desk.count().await.unwrap();
        if answer(desk.step(0)).is_some() && answer(desk.count()).is_some() {
            return desk;
        }
    }
    panic!("a short async handler is carried out where it is called");
}

#[test]
fn sem_g398_an_async_handler_that_does_not_wait_ends_where_it_is_called() {
    on_workers(1, async |node| {
        let desk = desk(&node, 0).await;
        let before = desk.get().await.unwrap();
        assert_eq!(answer(desk.step(7)).unwrap().unwrap(), here());
        let count = before.all.len() + 1;
        assert_eq!(answer(desk.count()).unwrap().unwrap(), (count, here()));
        let after = desk.get().await.unwrap();
        assert_eq!(
            (after.all.last(), after.version),
            (Some(&7), before.version + 1)
        );
        let wrong = answer(desk.step(8).if_version(before.version)).unwrap();
        assert_eq!(wrong.unwrap_err().code(), FaultCode::PreconditionFailed);
    });
}

#[test]
fn sem_g398_an_async_handler_that_waits_goes_on_as_a_task_and_keeps_its_group() {
    on_workers(1, async |node| {
        let desk = desk(&node, 0).await;
        let before = desk.get().await.unwrap().all.len();
        let later = desk.step_behind(1).into_future();
        BEGUN.recv().await;
        // All of them come behind it: none is carried out beside it.
        let next = desk.step(2).into_future();
        let read = desk.count().into_future();
        assert!(answer(desk.get()).is_none(), "a change is under way");
        GO.post(()).unwrap();
        assert_eq!(read.await.unwrap().0, before + 2);
        later.await.unwrap();
        next.await.unwrap();
        let steps = desk.get().await.unwrap().all[before..].to_vec();
        assert_eq!(steps, [1, 2]);

        // Queries that wait keep changes away, and nobody else.
        let later = desk.count_behind().into_future();
        BEGUN.recv().await;
        assert_eq!(desk.count().await.unwrap().0, before + 2);
        let change = desk.step(3).into_future();
        GO.post(()).unwrap();
        assert_eq!(later.await.unwrap(), before + 2);
        change.await.unwrap();
        assert_eq!(desk.count().await.unwrap().0, before + 3);
    });
}

#[test]
fn sem_g398_a_handler_goes_on_when_its_caller_has_gone() {
    for workers in [1, 2] {
        on_workers(workers, async |node| {
            let desk = desk(&node, 0).await;
            let before = desk.get().await.unwrap().all.len();
            for _ in 0..20 {
                drop(desk.step_later(1).into_future());
            }
            // It comes behind all of them.
            desk.step(2).await.unwrap();
            assert_eq!(desk.get().await.unwrap().all.len(), before + 21);
        });
    }
}

#[test]
fn sem_g398_the_panic_of_an_async_handler_is_its_callers_fault_and_undone() {
    on_workers(1, async |node| {
        let desk = desk(&node, 0).await;
        let before = desk.get().await.unwrap();
        for waits in [false, true, false] {
            let fault = desk.tear(waits).await.unwrap_err();
            assert!(fault.reason().contains("torn"), "{fault}");
            let after = desk.get().await.unwrap();
            assert_eq!(after.all, before.all);
        }
        assert_eq!(answer(desk.step(1)).unwrap().unwrap(), here());
    });
}

#[test]
fn sem_g398_handlers_that_call_each_other_do_not_use_up_the_stack() {
    const DESKS: u32 = 2_000;
    on_workers(1, async |node| {
        let first = desk(&node, 0).await;
        for number in 1..DESKS {
            let desk = Create::<Desk>::of().at(&path(number));
            let _: DesksClient = node.create(desk).await.unwrap();
        }
        assert_eq!(first.row(Some(1)).await.unwrap(), DESKS);
        // All are known to be short by now.
        assert_eq!(first.row(Some(1)).await.unwrap(), DESKS);
        assert_eq!(first.row(Some(DESKS - 4)).await.unwrap(), 5);
    });
}

#[test]
fn sem_g398_what_an_async_handler_calls_has_what_is_left_of_its_time() {
    on_workers(1, async |node| {
        let (one, _other) = (desk(&node, 0).await, desk(&node, 1).await);
        for _ in 0..3 {
            let left = one.left(path(1)).within(Duration::from_secs(5));
            let left = left.await.unwrap();
            assert!((1..=5_000).contains(&left), "{left} ms");
        }
        let late = one.count_later().within(PAUSE / 2).await;
        assert_eq!(late.unwrap_err().code(), FaultCode::ResponseTimeout);
    });
}

#[test]
fn sem_g398_an_async_handler_that_was_long_goes_by_the_queue() {
    on_workers(1, async |node| {
        let desk = desk(&node, 0).await;
        let long = (0..200).any(|_| answer(desk.hold(1)).is_none());
        assert!(long, "it holds its callers for ever");
        for _ in 0..100 {
            desk.hold(0).await.unwrap();
            if answer(desk.hold(0)).is_some() {
                return;
            }
        }
        panic!("one that has become short is carried out where it is called");
    });
}

#[test]
fn sem_g60_an_async_handler_leaves_its_callers_causalities_alone() {
    on_workers(1, async |node| {
        let desk = desk(&node, 0).await;
        for waits in [false, true, false] {
            let heard = Causality::new("the caller's").run(|| {
                let call = desk.clear(waits).into_future();
                let active = Causalities::active();
                let names: Vec<_> = active.iter().map(|one| one.name().to_owned()).collect();
                (call, names)
            });
            assert_eq!(heard.1, ["the caller's"]);
            assert_eq!(
                heard.0.await.unwrap(),
                0,
                "what it has cleared stays so for it"
            );
        }
    });
}

#[test]
fn sem_g371_a_service_whose_handler_nobody_can_wake_is_built_anew() {
    on_workers(1, async |node| {
        let desk = desk(&node, 0).await;
        for restarts in 1..=2 {
            let fault = desk.never().await.unwrap_err();
            assert_eq!(fault.code(), FaultCode::NoAnswer);
            while desk.get().await.is_err() {
                sleep(PAUSE).await;
            }
            assert_eq!(desk.get().await.unwrap().all, [0_u32; 0]);
            assert_eq!(node.find(&path(0)).unwrap().figures().restarts, restarts);
        }
    });
}
