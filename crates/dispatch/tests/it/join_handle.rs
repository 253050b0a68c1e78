//! Handles to spawned futures: their results, their panics, their aborts.

use crate::support::{Bell, go, hold, until, with_queue};
use motet_dispatch::{
    Causality, Dispatcher, DispatcherQueue, Enqueue, Inline, JoinError, QueueConfig, spawn,
    spawn_with_handle,
};
use motet_sync::{Arc, Mutex};
use motet_testkit::{Drops, Log, explore};
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

/// A future that waits for the bell and keeps a value of `drops`.
fn waiting(bell: &Bell, drops: &Drops) -> impl Future<Output = u32> + Send + 'static {
    let (rung, value) = (bell.rung(), drops.make());
    async move {
        let _value = value;
        rung.await;
        7
    }
}

/// Collects the messages of panics that reach the queue.
fn panics_of(queue: &DispatcherQueue) -> Log<String> {
    let log = Log::new();
    let told = log.clone();
    queue.on_exception(move |exception| told.push(exception.message().to_owned()));
    log
}

#[test]
fn sem_g59_a_handle_gives_the_result_to_a_thread_and_to_a_task() {
    with_queue(2, |dispatcher, queue| {
        let handle = queue.handle();
        let mut blocking = spawn_with_handle(&handle, async { "value" }).unwrap();
        assert_eq!(blocking.join_blocking().unwrap(), "value");
        let (bell, log) = (Bell::default(), Log::new());
        let rung = bell.rung();
        let inner = spawn_with_handle(&handle, async move {
            rung.await;
            41
        })
        .unwrap();
        let told = log.clone();
        spawn(&handle, async move { told.push(inner.await.unwrap() + 1) }).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 0);
        let waiting = dispatcher.waiting().to_string();
        assert!(waiting.contains("JoinHandle"), "{waiting}");
        bell.ring();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [42]);
    });
}

#[test]
fn sem_g59_a_future_whose_handle_is_dropped_goes_on() {
    with_queue(2, |dispatcher, queue| {
        let (bell, drops, log) = (Bell::default(), Drops::new(), Log::new());
        let (future, told) = (waiting(&bell, &drops), log.clone());
        let handle = spawn_with_handle(&queue.handle(), async move { told.push(future.await) });
        dispatcher.wait_idle();
        drop(handle);
        dispatcher.wait_idle();
        assert_eq!((log.len(), drops.dropped()), (0, 0));
        bell.ring();
        dispatcher.wait_idle();
        assert_eq!((log.take(), drops.dropped()), (vec![7], 1));
        // Without its handle, one that nobody can wake is dropped as any other.
        let value = drops.make();
        let handle = spawn_with_handle(&queue.handle(), async move {
            let _value = value;
            pending::<()>().await;
        });
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 1, "the handle could abort it");
        drop(handle);
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 2);
    });
}

#[test]
fn sem_g59_a_panic_comes_to_the_handle_and_nowhere_else() {
    with_queue(2, |dispatcher, queue| {
        let told = panics_of(&queue);
        let mut handle = spawn_with_handle(&queue.handle(), async { panic!("broken {}", 7) });
        let error: Result<(), _> = handle.as_mut().unwrap().join_blocking();
        let exception = error.unwrap_err().into_panic().unwrap();
        assert_eq!(
            (exception.message(), exception.queue()),
            ("broken 7", "test")
        );
        drop(handle);
        dispatcher.wait_idle();
        assert_eq!(told.len(), 0);
    });
}

#[test]
fn sem_g59_a_panic_that_no_handle_takes_goes_the_way_of_the_others() {
    with_queue(2, |dispatcher, queue| {
        let told = panics_of(&queue);
        // The handle goes first.
        let gate = hold(&queue);
        drop(spawn_with_handle(&queue.handle(), async {
            panic!("first")
        }));
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(told.take(), ["first"]);
        // The panic comes first.
        let handle = spawn_with_handle(&queue.handle(), async { panic!("second") }).unwrap();
        dispatcher.wait_idle();
        assert!(handle.is_finished() && told.is_empty());
        drop(handle);
        assert_eq!(told.take(), ["second"]);
        // It goes to the causality that hears of panics.
        let heard = Log::new();
        let ear = heard.clone();
        let order = Causality::new("order").on_exception(move |exception| {
            ear.push(exception.message().to_owned());
            Ok(())
        });
        let handle = order.run(|| spawn_with_handle(&queue.handle(), async { panic!("third") }));
        dispatcher.wait_idle();
        drop(handle);
        assert_eq!((heard.take(), told.len()), (vec!["third".to_owned()], 0));
    });
}

#[test]
fn sem_g59_sem_g62_the_innermost_scope_in_a_future_hears_of_a_panic_that_no_handle_takes() {
    with_queue(1, |dispatcher, queue| {
        let heard = Log::new();
        let hearing = |name: &'static str| {
            let ear = heard.clone();
            Causality::new(name).on_exception(move |exception| {
                ear.push((name, exception.message().to_owned()));
                Ok(())
            })
        };
        for early in [true, false] {
            let (outer, inner) = (hearing("outer"), hearing("inner"));
            let gate = hold(&queue);
            let handle = outer.run(|| {
                spawn_with_handle(&queue.handle(), async move {
                    inner.run(|| panic!("inside"));
                })
            });
            let kept = (!early).then_some(handle);
            gate.open();
            dispatcher.wait_idle();
            drop(kept);
            assert_eq!(heard.take(), [("inner", "inside".to_owned())], "{early}");
        }
    });
}

/// Panics when it is woken.
struct Unwilling;

impl Wake for Unwilling {
    fn wake(self: Arc<Self>) {
        panic!("not now");
    }
}

#[test]
fn sem_g34_a_waker_that_panics_at_the_end_of_a_dispatcher_is_told() {
    with_queue(1, |dispatcher, queue| {
        let told = Log::new();
        let log = told.clone();
        dispatcher.on_exception(move |exception| log.push(exception.message().to_owned()));
        let handle = spawn_with_handle(&queue.handle(), pending::<()>()).unwrap();
        let handle = Arc::new(Mutex::new(handle));
        let waits = Arc::clone(&handle);
        go(&queue, move || {
            let waker = Waker::from(Arc::new(Unwilling));
            let mut cx = Context::from_waker(&waker);
            assert!(Pin::new(&mut *waits.lock()).poll(&mut cx).is_pending());
        });
        dispatcher.wait_idle();
        drop(dispatcher);
        assert_eq!(told.take(), ["not now"]);
        drop(handle);
    });
}

#[test]
fn sem_g59_an_abort_drops_the_future_on_its_queue() {
    with_queue(2, |dispatcher, queue| {
        let (bell, drops) = (Bell::default(), Drops::new());
        let mut handle = spawn_with_handle(&queue.handle(), waiting(&bell, &drops)).unwrap();
        dispatcher.wait_idle();
        assert!(!handle.is_finished());
        handle.abort();
        assert!(handle.join_blocking().unwrap_err().is_aborted());
        assert_eq!(drops.dropped(), 1);
        // Before its first poll.
        let log = Log::new();
        let (gates, told) = ([hold(&queue), hold(&queue)], log.clone());
        let mut handle = spawn_with_handle(&queue.handle(), async move { told.push(()) }).unwrap();
        handle.abort();
        gates.iter().for_each(|gate| gate.open());
        assert!(handle.join_blocking().unwrap_err().is_aborted());
        assert_eq!(log.len(), 0);
        // After its end.
        let mut handle = spawn_with_handle(&queue.handle(), async { 7 }).unwrap();
        until(|| handle.is_finished());
        handle.abort();
        assert_eq!(handle.join_blocking().unwrap(), 7);
    });
}

#[test]
fn sem_g59_a_future_that_is_dropped_tells_its_handle() {
    with_queue(1, |dispatcher, queue| {
        let order = Causality::new("order").skipping_unstarted();
        let gate = hold(&queue);
        let handle = order.run(|| spawn_with_handle(&queue.handle(), async { 7 }));
        order.cancel("nobody wants it");
        gate.open();
        let error = handle.unwrap().join_blocking().unwrap_err();
        assert!(matches!(error, JoinError::Dropped), "{error}");
        drop(dispatcher);
    });
    // A stopped queue drops what it held.
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("test"));
    queue.suspend();
    let mut handle = spawn_with_handle(&queue.handle(), async { 7 }).unwrap();
    drop((queue, dispatcher));
    let error = handle.join_blocking().unwrap_err();
    assert!(matches!(error, JoinError::Dropped), "{error}");
}

#[test]
fn a_worker_does_not_block_for_a_handle() {
    let queue = Inline::new("here");
    let handle = Arc::new(Mutex::new(
        spawn_with_handle(&queue.handle(), async { 7 }).unwrap(),
    ));
    let inner = Arc::clone(&handle);
    go(&queue, move || {
        let error = inner.lock().join_blocking().unwrap_err();
        assert!(matches!(error, JoinError::InsideTask), "{error}");
    });
    assert_eq!(handle.lock().join_blocking().unwrap(), 7);
}

#[test]
#[should_panic(expected = "await it once")]
fn a_result_is_given_once() {
    let handle = spawn_with_handle(&Inline::new("here").handle(), async { 7 }).unwrap();
    let mut handle = pin!(handle);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(handle.as_mut().poll(&mut cx), Poll::Ready(Ok(7))));
    let _ended = handle.poll(&mut cx);
}

#[test]
fn sem_g59_aborts_and_ends_in_any_order_give_one_result() {
    explore(0..100, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let (bell, drops, log) = (Bell::default(), Drops::new(), Log::new());
        let handle = spawn_with_handle(&queue.handle(), waiting(&bell, &drops)).unwrap();
        let handle = Arc::new(Mutex::new(Some(handle)));
        let aborter = Arc::clone(&handle);
        go(&queue, move || {
            if let Some(handle) = &*aborter.lock() {
                handle.abort();
            }
        });
        go(&queue, move || bell.ring());
        let told = log.clone();
        let joiner = async move {
            let handle = handle.lock().take().unwrap();
            told.push(handle.await);
        };
        spawn(&queue.handle(), joiner).unwrap();
        replay.run();
        let results = log.take();
        assert!(matches!(results[..], [Ok(7) | Err(JoinError::Aborted)]));
        assert_eq!(drops.dropped(), 1);
    });
}
