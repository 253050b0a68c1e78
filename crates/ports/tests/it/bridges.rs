//! Ports and the world outside: other executors, other threads.

use crate::support::{dispatcher, here, port_with, post_all, take_all};
use motet_dispatch::{Enqueue, InsideTask, Task, spawn};
use motet_ports::{
    BlockingError, ExceptionPort, FromHandler, Port, Receive, ReplyPort, reply, wait_blocking,
    wait_blocking_for,
};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

fn tokio_runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
}

#[test]
fn sem_g262_a_tokio_program_awaits_ports() {
    within(patience(), || {
        let (_dispatcher, queue) = dispatcher(1);
        let (asks, answers) = (Port::new(), Port::new());
        let out = answers.clone();
        Receive::persistent(&asks, move |n: u32| out.post(n * n).unwrap())
            .activate(&queue)
            .unwrap();
        let sum = tokio_runtime().block_on(async move {
            let mut sum = 0;
            for n in 0..1_000 {
                asks.post(n).unwrap();
                answers.ready().await;
                sum += answers.recv().await;
            }
            sum
        });
        assert_eq!(sum, (0..1_000).map(|n| n * n).sum());
    });
}

#[test]
fn sem_g262_tokio_tasks_post_and_await_replies_of_motet_handlers() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let requests = Port::new();
        Receive::persistent(&requests, |(n, reply): (u64, ReplyPort<u64>)| {
            reply.post(n + 1).unwrap();
        })
        .activate(&queue)
        .unwrap();
        let runtime = tokio_runtime();
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let requests = requests.clone();
                runtime.spawn(async move {
                    let mut n = 0;
                    for _ in 0..200 {
                        let (to, answer) = reply();
                        requests.post((n, to)).unwrap();
                        n = answer.await.unwrap();
                        tokio::task::yield_now().await;
                    }
                    n
                })
            })
            .collect();
        for client in clients {
            assert_eq!(runtime.block_on(client).unwrap(), 200);
        }
        dispatcher.wait_idle();
        assert_eq!(requests.item_count(), 0);
    });
}

#[test]
fn sem_g262_a_tokio_timeout_around_a_receive_loses_no_item() {
    within(patience(), || {
        let port = Port::new();
        tokio_runtime().block_on(async {
            let late = tokio::time::timeout(Duration::from_millis(2), port.recv()).await;
            assert!(late.is_err());
        });
        assert_eq!(port.receiver_count(), 0);
        post_all(&port, [1]);
        assert_eq!(port.test(), Some(1));
    });
}

#[test]
fn sem_g262_a_motet_handler_awaits_what_tokio_does() {
    within(patience(), || {
        let (_dispatcher, queue) = dispatcher(1);
        let runtime = tokio_runtime();
        let (done, tokio) = (Port::new(), runtime.handle().clone());
        let out = done.clone();
        FromHandler::new_async(move || async move {
            let (tell, told) = tokio::sync::oneshot::channel();
            let slept = tokio.spawn(async move {
                tokio::time::sleep(Duration::from_millis(2)).await;
                tell.send("slept").unwrap();
                motet_dispatch::inside_task()
            });
            out.post(told.await.unwrap()).unwrap();
            let on_motet = slept.await.unwrap();
            assert!(!on_motet, "I/O runs on tokio's threads");
            assert!(motet_dispatch::inside_task(), "and the handler on motet's");
            out.post("ended").unwrap();
        })
        .activate(&queue)
        .unwrap();
        assert_eq!(done.recv_blocking(), Ok("slept"));
        assert_eq!(done.recv_blocking(), Ok("ended"));
    });
}

#[test]
fn sem_g262_a_motet_handler_sees_that_a_tokio_task_panicked() {
    within(patience(), || {
        let (_dispatcher, queue) = dispatcher(1);
        let runtime = tokio_runtime();
        let (done, tokio) = (Port::new(), runtime.handle().clone());
        let out = done.clone();
        FromHandler::new_async(move || async move {
            let failed = tokio.spawn(async { panic!("no such host") }).await;
            out.post(failed.unwrap_err().is_panic()).unwrap();
        })
        .activate(&queue)
        .unwrap();
        assert_eq!(done.recv_blocking(), Ok(true));
    });
}

#[test]
fn sem_g262_threads_outside_wait_for_items() {
    within(patience(), || {
        let (numbers, sums) = (Port::new(), Port::new());
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let (numbers, sums) = (numbers.clone(), sums.clone());
                thread::spawn(move || {
                    for _ in 0..500 {
                        sums.post(numbers.recv_blocking().unwrap()).unwrap();
                    }
                })
            })
            .collect();
        post_all(&numbers, 0..1_500_u32);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        let mut all = take_all(&sums);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1_500));
    });
}

#[test]
fn sem_g262_a_thread_waits_no_longer_than_it_said() {
    within(patience(), || {
        let port = Port::<u32>::new();
        let begin = Instant::now();
        let limit = Duration::from_millis(5);
        assert_eq!(port.recv_blocking_for(limit), Err(BlockingError::Elapsed));
        assert_eq!(port.ready_blocking_for(limit), Err(BlockingError::Elapsed));
        assert!(begin.elapsed() >= 2 * limit);
        assert_eq!(port.receiver_count(), 0);
        // What is there is had in no time.
        port.post(1).unwrap();
        assert_eq!(port.ready_blocking_for(Duration::ZERO), Ok(()));
        assert_eq!(port.recv_blocking_for(Duration::ZERO), Ok(1));
    });
}

#[test]
fn sem_g262_ready_blocking_leaves_the_item() {
    within(patience(), || {
        let port = Port::new();
        let poster = port.clone();
        let posting = thread::spawn(move || poster.post(7).unwrap());
        port.ready_blocking().unwrap();
        posting.join().unwrap();
        assert_eq!(port.test(), Some(7));
    });
}

#[test]
fn sem_g262_a_wait_that_runs_out_races_with_a_post_and_loses_nothing() {
    within(patience(), || {
        const ITEMS: u32 = 2_000;
        let port = Port::new();
        let poster = port.clone();
        let posting = thread::spawn(move || {
            for n in 0..ITEMS {
                poster.post(n).unwrap();
                thread::yield_now();
            }
        });
        let mut taken = Vec::new();
        while taken.len() < ITEMS as usize {
            taken.extend(port.recv_blocking_for(Duration::from_micros(1)));
        }
        posting.join().unwrap();
        assert!(taken.into_iter().eq(0..ITEMS));
    });
}

#[test]
fn sem_g262_a_task_that_would_block_is_told_so_instead() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let exceptions = dispatcher.exception_port();
        let (port, log) = (port_with([7]), Log::new());
        for on in [queue.handle(), queue.home(0).handle(), here().handle()] {
            let (port, told) = (port.clone(), log.clone());
            let blocking = Task::new(move || {
                told.push(port.recv_blocking().unwrap_err());
                told.push(port.ready_blocking().unwrap_err());
                told.push(port.recv_blocking_for(Duration::ZERO).unwrap_err());
                told.push(wait_blocking(reply::<u32>().1).unwrap_err());
                told.push(wait_blocking_for(async {}, Duration::ZERO).unwrap_err());
            });
            on.enqueue(blocking).unwrap();
            dispatcher.wait_idle();
        }
        // An async handler is no better place.
        let (blocked, told) = (port.clone(), log.clone());
        spawn(&queue.handle(), async move {
            told.push(blocked.recv_blocking().unwrap_err());
        })
        .unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [BlockingError::InsideTask(InsideTask); 16]);
        assert_eq!((port.items(), port.receiver_count()), (vec![7], 0));
        assert_eq!(exceptions.item_count(), 0);
        assert_eq!(
            BlockingError::InsideTask(InsideTask).to_string(),
            "a blocking wait inside a task of a dispatcher would hold its thread; \
             make the handler async and await instead"
        );
    });
}
