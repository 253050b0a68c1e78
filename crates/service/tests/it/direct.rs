//! Operations that are carried out where they are called.

use motet_dispatch::{Causality, Dispatcher, spawn};
use motet_ports::timer::sleep;
use motet_ports::{Port, reply, wait_blocking_for};
use motet_service::{
    Client, Create, Cx, Fault, FaultCode, Node, Notification, Service, State, Subscribe, contract,
    data,
};
use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What has been done, in order.
#[data]
#[derive(Default)]
pub(crate) struct Done {
    steps: Vec<u32>,
}

#[contract(uri = "test:diary/1", state = Done)]
pub(crate) trait Diary {
    /// Notes a step.
    #[update]
    fn note(&mut self, step: u32) -> usize;
    /// Notes it, and lets others run before and after.
    #[update]
    async fn note_slowly(&mut self, step: u32) -> usize;
    /// Holds its worker for so many milliseconds.
    #[update]
    fn hold(&mut self, ms: u64) -> usize;
    /// The last step.
    #[query]
    fn last(&self) -> Option<u32>;
    /// The sum of two calls of its own.
    #[query]
    async fn call_self(&self, cx: &Cx) -> Result<Option<u32>, Fault>;
    /// Panics when it has noted the step.
    #[update]
    fn tear(&mut self, step: u32) -> usize;
    /// The same, and undoes it.
    #[update(rollback)]
    fn tear_and_undo(&mut self, step: u32) -> usize;
    /// The causalities under which it runs.
    #[update]
    fn under(&mut self) -> Vec<String>;
    /// The thread that carries it out.
    #[update]
    fn thread(&mut self) -> String;
}

#[derive(Service)]
#[service(contract = Diary, many)]
pub(crate) struct Notes {
    #[state]
    done: State<Done>,
}

impl Diary for Notes {
    fn note(&mut self, step: u32) -> usize {
        self.done.steps.push(step);
        self.done.steps.len()
    }

    async fn note_slowly(&mut self, step: u32) -> usize {
        sleep(Duration::ZERO).await;
        self.done.steps.push(step);
        sleep(Duration::ZERO).await;
        self.done.steps.len()
    }

    fn hold(&mut self, ms: u64) -> usize {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(ms) {
            std::hint::spin_loop();
        }
        self.done.steps.len()
    }

    fn last(&self) -> Option<u32> {
        self.done.steps.last().copied()
    }

    async fn call_self(&self, cx: &Cx) -> Result<Option<u32>, Fault> {
        cx.own::<DiaryClient>()?.last().await
    }

    fn tear(&mut self, step: u32) -> usize {
        self.done.steps.push(step);
        panic!("torn")
    }

    fn tear_and_undo(&mut self, step: u32) -> usize {
        self.tear(step)
    }

    fn under(&mut self) -> Vec<String> {
        let active = motet_dispatch::Causalities::active();
        active.iter().map(|one| one.name().to_owned()).collect()
    }

    fn thread(&mut self) -> String {
        here()
    }
}

/// The calling thread.
fn here() -> String {
    format!("{:?}", std::thread::current().id())
}

/// Runs a test on a worker of a dispatcher with so many.
pub(crate) fn on_workers<F>(threads: usize, test: impl FnOnce(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let dispatcher = Dispatcher::new(threads);
    let node = Node::builder("test").register::<Notes>();
    let node = node.start(&dispatcher).unwrap();
    let (to, ended) = reply();
    let (work, ends) = (test(node.clone()), node.clone());
    let running = async move {
        work.await;
        ends.shutdown().await;
        to.post(()).unwrap();
    };
    spawn(&node.queue(), running).unwrap();
    let ended = wait_blocking_for(ended, Duration::from_secs(60));
    ended.expect("it ends in time").expect("it does not panic");
}

async fn diary(node: &Node) -> DiaryClient {
    let diary = node.create(Create::<Notes>::of()).await.unwrap();
    // A handler is known to be short when it has run; one that was interrupted runs again.
    for _ in 0..100 {
        diary.note(0).await.unwrap();
        diary.last().await.unwrap();
        if answer(diary.note(0)).is_some() && answer(diary.last()).is_some() {
            return diary;
        }
    }
    panic!("a short handler is carried out where it is called");
}

/// The answer, if it is there at once; not when the task has to give way now.
pub(crate) fn answer<T>(
    call: impl IntoFuture<Output = Result<T, Fault>>,
) -> Option<Result<T, Fault>> {
    let mut call = pin!(call.into_future());
    let mut cx = Context::from_waker(Waker::noop());
    (0..2).find_map(|_| match call.as_mut().poll(&mut cx) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    })
}

/// Whether there is no answer yet.
fn waits(call: Pin<&mut impl Future>) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    call.poll(&mut cx).is_pending()
}

#[test]
fn sem_g398_a_short_operation_is_carried_out_where_it_is_called() {
    on_workers(1, async |node| {
        let diary = diary(&node).await;
        let before = diary.get().await.unwrap().steps.len();
        assert_eq!(answer(diary.note(7)).unwrap().unwrap(), before + 1);
        assert_eq!(answer(diary.last()).unwrap().unwrap(), Some(7));
        assert_eq!(
            answer(diary.get()).unwrap().unwrap().steps.len(),
            before + 1
        );
        // One that is async is in the same order.
        let slow = diary.note_slowly(8).into_future();
        assert_eq!(diary.note(9).await.unwrap(), before + 3);
        assert_eq!(slow.await.unwrap(), before + 2);
    });
}

#[test]
fn sem_g398_what_was_posted_before_comes_first() {
    for threads in [1, 2] {
        on_workers(threads, async |node| {
            let diary = diary(&node).await;
            for round in 1..200 {
                let first = 10 * round;
                let slow = diary.note_slowly(first).into_future();
                let quick = diary.note(first + 1).into_future();
                let read = diary.last().into_future();
                let again = diary.note(first + 2).into_future();
                assert_eq!(read.await.unwrap().map(|last| last / 10), Some(round));
                for call in [slow, quick, again] {
                    call.await.unwrap();
                }
                let state = diary.get().await.unwrap();
                let last = &state.steps[state.steps.len() - 3..];
                assert_eq!(last, [first, first + 1, first + 2]);
            }
        });
    }
}

#[test]
fn sem_g398_a_long_handler_goes_by_the_queue() {
    on_workers(2, async |node| {
        let diary = diary(&node).await;
        diary.hold(1).await.unwrap();
        let held = diary.hold(1).into_future();
        assert!(answer(diary.get()).is_none(), "it waits for the other");
        held.await.unwrap();
    });
}

#[test]
fn sem_g398_a_change_is_taken_for_short_until_it_was_long() {
    on_workers(1, async |node| {
        let diary = node.create(Create::<Notes>::of()).await.unwrap();
        let limited = diary.note(1).within(Duration::from_secs(60));
        let mut limited = pin!(limited.into_future());
        assert!(waits(limited.as_mut()), "nobody knows how long it takes");
        limited.await.unwrap();
        let mut query = pin!(diary.last().into_future());
        assert!(waits(query.as_mut()), "queries might run beside each other");
        query.await.unwrap();
        let (before, after) = (answer(diary.hold(1)), answer(diary.hold(1)));
        assert!(before.is_some() && after.is_none(), "it was long");
    });
}

#[test]
fn sem_g398_a_handler_that_becomes_long_goes_by_the_queue() {
    on_workers(1, async |node| {
        let diary = diary(&node).await;
        let goes_by_the_queue = |ms| (0..200).any(|_| answer(diary.hold(ms)).is_none());
        // One call that is carried out at once does not say whether the next one is.
        for _ in 0..100 {
            diary.hold(0).await.unwrap();
            if answer(diary.hold(0)).is_some() {
                return assert!(goes_by_the_queue(1), "it holds its callers for ever");
            }
        }
        panic!("a short handler is carried out where it is called");
    });
}

#[test]
fn sem_g398_a_handler_that_is_called_in_turn_with_others_is_measured_too() {
    for others in [1, 3, 7, 15] {
        on_workers(1, async move |node| {
            let diary = diary(&node).await;
            for _ in 0..100 {
                diary.hold(0).await.unwrap();
                if answer(diary.hold(0)).is_some() {
                    break;
                }
            }
            for turn in 0.. {
                for _ in 0..others {
                    diary.note(0).await.unwrap();
                }
                if answer(diary.hold(1)).is_none() {
                    break;
                }
                assert!(
                    turn < 400,
                    "between {others} others it holds its callers for ever"
                );
            }
        });
    }
}

#[test]
fn sem_g398_a_task_that_only_calls_lets_others_run() {
    on_workers(1, async |node| {
        let diary = diary(&node).await;
        let (said, ended) = reply();
        let other = async move { said.post(()).unwrap() };
        spawn(&node.queue(), other).unwrap();
        let mut ended = pin!(ended);
        for calls in 0.. {
            diary.note(1).await.unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            if ended.as_mut().poll(&mut cx).is_ready() {
                break;
            }
            assert!(calls < 1_000, "the other task has not run");
        }
    });
}

#[test]
fn sem_g398_other_threads_post_their_calls() {
    on_workers(1, async |node| {
        let apart = Create::<Notes>::of().at("/apart").threads(1);
        let apart = node.create(apart).await.unwrap();
        let own = apart.thread().await.unwrap();
        assert_ne!(own, here());
        // It is soon known to be short.
        for _ in 0..10 {
            assert_eq!(apart.thread().await.unwrap(), own);
        }
        assert_eq!(diary(&node).await.thread().await.unwrap(), here());
    });
}

#[contract(uri = "test:rider/1", state = Done)]
trait Riders {
    /// Notes a step in the diary.
    #[submit]
    async fn ride(cx: Cx, step: u32) -> Result<(), Fault>;
    /// Keeps the steps that are noted there.
    #[notified]
    fn hear(&mut self, by: Notification<DiaryContract>);
}

#[derive(Service)]
#[service(contract = Riders)]
struct Rider {
    #[state]
    done: State<Done>,
}

impl Riders for Rider {
    async fn ride(cx: Cx, step: u32) -> Result<(), Fault> {
        let diary: DiaryClient = cx.client("/diary")?;
        diary.note(step).await.map(|_| ())
    }
    fn hear(&mut self, by: Notification<DiaryContract>) {
        if let Some(DiaryRequest::Note(step)) = by.operation() {
            self.done.steps.push(*step);
        }
    }
}

#[test]
fn what_a_change_tells_is_no_call_of_who_has_made_it() {
    on_workers(1, async |node| {
        let diary = node.create(Create::<Notes>::of().at("/diary")).await;
        let diary = diary.unwrap();
        let reader = Create::<Rider>::of().at("/reader").allow(["ann: get"]);
        let reader = node.create(reader).await.unwrap();
        let hears: &Client<RidersContract> = &reader;
        let told = diary.subscribe_to(Subscribe::all(), hears, RidersRequest::Hear);
        let _told = told.await.unwrap();
        let rider = node.create(Create::<Rider>::of().at("/rider")).await;
        let rider = rider.unwrap();
        // Nobody waits for it: what it calls has no deadline either, and is carried out at once.
        for step in 0..3 {
            rider.post(RidersRequest::Ride(step)).unwrap();
        }
        while diary.get().await.unwrap().steps.len() < 3 {
            sleep(Duration::from_millis(1)).await;
        }
        let left = diary.lookup().await.unwrap().subscriptions;
        assert_eq!(left.len(), 1, "it has not ended");
        while reader.get().await.unwrap().steps.len() < 3 {
            sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn sem_g398_faults_and_panics_are_the_same() {
    on_workers(1, async |node| {
        let diary = diary(&node).await;
        let version = diary.get().await.unwrap().version;
        // The second time it is known to be short.
        for _ in 0..3 {
            let fault = diary.tear_and_undo(3).await.unwrap_err();
            assert_eq!(fault.code(), FaultCode::OperationFailed);
            assert!(fault.reason().contains("torn"), "{fault}");
            assert_eq!(diary.get().await.unwrap().version, version);
        }
        let fault = diary.note(1).if_version(version + 1).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::PreconditionFailed);
        let fault = diary.call_self().await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::SelfCall);
        assert_eq!(diary.note(1).key("k").await, diary.note(1).key("k").await);
        diary.tear(4).await.unwrap_err();
        loop {
            match diary.get().await {
                Ok(state) => break assert!(state.steps.is_empty(), "torn state is not served"),
                Err(fault) => assert_eq!(fault.code(), FaultCode::Unavailable),
            }
            sleep(Duration::ZERO).await;
        }
        diary.drop_service().await.unwrap();
        let fault =
            answer(diary.note(1)).map_or(FaultCode::Gone, |result| result.unwrap_err().code());
        assert_eq!(fault, FaultCode::Gone);
    });
}

fn fail() {
    panic!("the caller has failed");
}

/// Calls when it is dropped.
struct CallsAtItsEnd<'a>(&'a DiaryClient);

impl Drop for CallsAtItsEnd<'_> {
    fn drop(&mut self) {
        drop(answer(self.0.note(1)));
    }
}

#[test]
fn sem_g371_a_call_of_a_destructor_does_not_build_the_service_anew() {
    on_workers(1, async |node| {
        let diary = diary(&node).await;
        diary.tear(4).await.unwrap_err();
        // The service may be there again, or not yet; a panic of the caller is none of its own.
        for _ in 0..10 {
            let calling = || {
                let _calls = CallsAtItsEnd(&diary);
                fail();
            };
            catch_unwind(AssertUnwindSafe(calling)).unwrap_err();
            sleep(Duration::from_millis(1)).await;
        }
        while diary.get().await.is_err() {
            sleep(Duration::from_millis(1)).await;
        }
        let restarts = node.find("/notes").unwrap().figures().restarts;
        assert_eq!(restarts, 1);
    });
}

#[test]
fn sem_g398_a_change_is_told_and_runs_under_the_causality_of_its_caller() {
    on_workers(1, async |node| {
        let diary = diary(&node).await;
        let told = diary
            .subscribe(motet_service::Subscribe::all())
            .await
            .unwrap();
        assert!(answer(diary.note(9)).unwrap().is_ok());
        let told = told.recv().await;
        assert!(matches!(told.operation(), Some(DiaryRequest::Note(9))));
        for _ in 0..3 {
            let call = Causality::new("order").run(|| diary.under().into_future());
            assert_eq!(call.await.unwrap(), ["order"]);
        }
    });
}

#[test]
fn sem_g399_many_callers_on_many_workers_lose_nothing() {
    on_workers(3, async |node| {
        let diary = diary(&node).await;
        let before = diary.get().await.unwrap().steps.len();
        let all = Port::new();
        for caller in 0..8u32 {
            let (diary, all) = (diary.clone(), all.clone());
            let calls = async move {
                for round in 0..200 {
                    match (caller + round) % 16 {
                        0 => diary.note_slowly(caller).await,
                        _ => diary.note(caller).await,
                    }
                    .unwrap();
                    diary.last().await.unwrap();
                }
                all.post(()).unwrap();
            };
            spawn(&node.queue(), calls).unwrap();
        }
        for _ in 0..8 {
            all.recv().await;
        }
        let state = diary.get().await.unwrap();
        assert_eq!(state.steps.len(), before + 1_600);
        for caller in 0..8 {
            let of_one = state
                .steps
                .iter()
                .skip(before)
                .filter(|step| **step == caller);
            assert_eq!(of_one.count(), 200);
        }
    });
}
