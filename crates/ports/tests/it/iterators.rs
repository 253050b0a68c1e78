//! CCR's iterators are async handlers: what they yield on, these await.

use crate::support::port_with;
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
use motet_ports::{ExceptionPort, Port, reply, select};
use motet_sync::thread;
use motet_testkit::{Drops, Log, patience, within};

#[test]
fn ccr_089_five_receives_in_a_row_and_many_that_wait_on_one_thread() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default()).handle();
        let (numbers, sums) = (Port::<u64>::new(), Port::new());
        let (read, out) = (numbers.clone(), sums.clone());
        spawn(&queue, async move {
            let mut sum = 0;
            for _ in 0..5 {
                sum += read.recv().await;
            }
            out.post(sum).unwrap();
        })
        .unwrap();
        (1..=5).for_each(|n| numbers.post(n).unwrap());
        dispatcher.wait_idle();
        assert_eq!(sums.test(), Some(15));

        const MANY: u64 = 100_000;
        for _ in 0..MANY {
            let (read, out) = (numbers.clone(), sums.clone());
            spawn(&queue, async move {
                let number = read.recv().await;
                out.post(number).unwrap();
            })
            .unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(
            (sums.item_count(), dispatcher.waiting().len()),
            (0, MANY as usize)
        );
        (0..MANY).for_each(|n| numbers.post(n).unwrap());
        dispatcher.wait_idle();
        let sum: u64 = sums.items().iter().sum();
        assert_eq!(sum, MANY * (MANY - 1) / 2);
    });
}

#[test]
fn ccr_090_what_a_choice_makes_of_its_item_comes_before_the_code_behind_it() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let queue = dispatcher.queue(QueueConfig::default()).handle();
        let (port, other, log) = (port_with([7]), Port::<u32>::new(), Log::new());
        let (first, then) = (log.clone(), log.clone());
        spawn(&queue, async move {
            let handler = move |item: u32| first.push(format!("handler {item}"));
            select().recv(&other, |_| ()).recv(&port, handler).await;
            then.push("behind it".to_owned());
        })
        .unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["handler 7", "behind it"]);
    });
}

#[test]
fn ccr_091_work_on_another_dispatcher_and_back() {
    within(patience(), || {
        let [home, abroad] = ["home", "abroad"].map(|name| {
            let config = motet_dispatch::DispatcherConfig {
                threads: 1,
                name: name.to_owned(),
                ..Default::default()
            };
            Dispatcher::with(config).unwrap()
        });
        let queues = [&home, &abroad].map(|d| d.queue(QueueConfig::default()).handle());
        let [here, there] = queues;
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let log = Log::new();
        let steps = log.clone();
        spawn(&here, async move {
            steps.push(name());
            let (answer, wait) = reply();
            let inner = steps.clone();
            spawn(&there, async move {
                inner.push(name());
                answer.post(6 * 7).expect("it is awaited");
            })
            .unwrap();
            assert_eq!(wait.await, Ok(42));
            steps.push(name());
        })
        .unwrap();
        log.wait_for(3);
        assert_eq!(log.take(), ["home-0", "abroad-0", "home-0"]);
    });
}

#[test]
fn ccr_092_a_step_that_panics_is_the_last() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        let exceptions = queue.exception_port();
        let (port, drops, log) = (Port::<u32>::new(), Drops::new(), Log::new());
        let (read, held, steps) = (port.clone(), drops.make(), log.clone());
        spawn(&queue.handle(), async move {
            let _held = held;
            steps.push("before");
            let number = read.recv().await;
            assert!(number > 1, "out of tune");
            steps.push("after");
            read.recv().await;
        })
        .unwrap();
        port.post(1).unwrap();
        port.post(2).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["before"]);
        assert_eq!(drops.dropped(), 1, "what it held, once");
        assert_eq!(exceptions.test().unwrap().message(), "out of tune");
        assert_eq!(port.items(), [2], "it does not go on");
    });
}
