//! The waiting list of a dispatcher: who waits for what.

use motet_dispatch::{
    Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, Replay, Task, Wait, spawn,
};
use motet_ports::{
    Choice, Interleave, JoinedReceive, MultipleItemReceive, Overflow, Port, Receive, select,
};
use motet_testkit::{patience, within};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::time::Duration;

/// Who waits, and for each port whether something is missing.
fn in_short(wait: &Wait) -> (&'static str, Vec<bool>) {
    let missing = wait.awaited.parts.iter().map(|part| part.is_missing());
    (wait.awaited.who, missing.collect())
}

#[test]
fn sem_g283_who_waits_for_what() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let queue = dispatcher.queue(QueueConfig::named("kitchen"));
        let (left, right) = (Port::<u32>::named("left"), Port::<u32>::new());
        let orders = Port::<String>::named("orders");
        let here = line!() + 2;
        JoinedReceive::once((&left, &right), |_| ())
            .activate(&queue)
            .unwrap();
        MultipleItemReceive::persistent(&right, 3, drop)
            .activate(&queue)
            .unwrap();
        left.post(1).unwrap();
        let waits_for = orders.clone();
        let task = async move { assert_eq!(waits_for.recv().await, "soup") };
        spawn(&queue.handle(), task).unwrap();
        dispatcher.wait_idle();

        let waiting = dispatcher.waiting();
        let mut short: Vec<_> = waiting.waits().iter().map(in_short).collect();
        short.sort();
        let join = ("JoinedReceive", vec![false, true]);
        let batch = ("MultipleItemReceive", vec![true]);
        assert_eq!(short, [join, batch, ("recv", vec![true])]);

        let named = |who| waiting.waits().iter().find(|wait| wait.awaited.who == who);
        let join = named("JoinedReceive").unwrap();
        assert_eq!(join.awaited.queue.as_deref(), Some("kitchen"));
        assert_eq!(join.created.file(), file!());
        assert_eq!(join.created.line(), here);
        let parts = &join.awaited.parts;
        assert_eq!((parts[0].there, parts[0].needed), (1, 1));
        assert_eq!((parts[1].there, parts[1].needed), (0, 1));
        let batch = named("MultipleItemReceive").unwrap();
        assert_eq!(batch.awaited.parts[0].needed, 3);
        let text = waiting.to_string();
        assert!(text.starts_with("3 wait\n"), "{text}");
        assert!(
            text.contains("port \"left\" of u32: 1 there, 1 needed\n"),
            "{text}"
        );
        assert!(
            text.contains("port \"orders\" of alloc::string::String: 0 there, 1 needed, missing"),
            "{text}"
        );
        orders.post("soup".to_owned()).unwrap();
    });
}

#[test]
fn sem_g283_a_choice_that_is_not_registered_waits_for_that() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::named("kitchen"));
        queue.suspend();
        let port = Port::<u32>::named("orders");
        Choice::new()
            .or(Receive::once(&port, drop))
            .activate(&queue)
            .unwrap();
        let part = || {
            let waiting = dispatcher.waiting();
            let parts = &waiting.waits()[0].awaited.parts;
            assert_eq!((parts.len(), parts[0].is_missing()), (1, true));
            parts[0].port.clone()
        };
        assert_eq!(part(), "its registration by queue 'kitchen'");
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(part(), "port \"orders\" of u32");
    });
}

#[test]
fn sem_g284_a_wait_that_is_over_is_not_listed() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        let (one, other) = (Port::<u32>::new(), Port::<u32>::new());
        let kept = Receive::persistent(&one, drop).activate(&queue).unwrap();
        Choice::new()
            .or(Receive::once(&other, drop))
            .after(Duration::from_secs(3600), || ())
            .activate(&queue)
            .unwrap();
        let port = other.clone();
        spawn(&queue.handle(), async move {
            port.ready().await;
            assert_eq!(port.recv().await, 2);
        })
        .unwrap();
        dispatcher.wait_idle();
        let who = || -> Vec<_> {
            let waiting = dispatcher.waiting();
            let mut who: Vec<_> = waiting
                .waits()
                .iter()
                .map(|wait| wait.awaited.who)
                .collect();
            who.sort_unstable();
            who
        };
        assert_eq!(who(), ["Choice", "Receive", "ready"]);
        let waiting = dispatcher.waiting();
        let choice = waiting
            .waits()
            .iter()
            .find(|wait| wait.awaited.who == "Choice");
        assert_eq!(
            choice.unwrap().awaited.parts.len(),
            2,
            "an item, and the time"
        );
        // The first ends the choice, the second the two waits of the task.
        other.post(1).unwrap();
        dispatcher.wait_idle();
        other.post(2).unwrap();
        dispatcher.wait_idle();
        assert_eq!(who(), ["Receive"]);
        kept.cleanup();
        assert!(dispatcher.waiting().is_empty());
        assert_eq!(dispatcher.waiting().to_string(), "nobody waits");
    });
}

#[test]
fn sem_g283_waits_elsewhere_are_not_listed() {
    let (dispatcher, other) = (Dispatcher::new(1), Dispatcher::new(1));
    let port = Port::<u32>::new();
    let queue = other.queue(QueueConfig::default());
    Receive::persistent(&port, drop).activate(&queue).unwrap();
    other.wait_idle();
    assert!(dispatcher.waiting().is_empty());
    assert_eq!(other.waiting().len(), 1);
}

#[test]
fn sem_g283_members_and_choices_that_are_awaited_are_listed() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        let (one, other) = (Port::<u32>::new(), Port::<u32>::new());
        let interleave = Interleave::new()
            .exclusive(Receive::persistent(&one, drop))
            .activate(&queue)
            .unwrap();
        let (a, b) = (one.clone(), other.clone());
        spawn(&queue.handle(), async move {
            select().recv(&a, drop).recv(&b, drop).await;
        })
        .unwrap();
        dispatcher.wait_idle();
        let waiting = dispatcher.waiting();
        let mut short: Vec<_> = waiting.waits().iter().map(in_short).collect();
        short.sort();
        let choice = ("Choice", vec![true, true]);
        assert_eq!(short, [choice, ("Receive", vec![true])]);
        other.post(1).unwrap();
        dispatcher.wait_idle();
        assert_eq!(dispatcher.waiting().len(), 1);
        interleave.cleanup();
        one.post(2).unwrap();
        assert!(dispatcher.waiting().is_empty());
    });
}

/// Of someone who waits for room: the line, counted from `here`, the function and the room.
fn for_room(wait: &Wait, here: u32) -> Option<(u32, &'static str, &str)> {
    let [part] = &wait.awaited.parts[..] else {
        panic!("{wait}")
    };
    assert!(
        part.is_missing() && wait.created.file() == file!(),
        "{wait}"
    );
    let line = wait.created.line();
    (line >= here).then(|| (line - here, wait.awaited.who, part.port.as_str()))
}

/// Who waits for room in a port, and who for room in a queue, in whatever way.
#[test]
fn sem_g285_those_who_wait_for_room_are_listed() {
    let replay = Replay::new(1);
    let depth = 1.try_into().unwrap();
    let wide = replay.queue(QueueConfig::named("wide"));
    let narrow = replay.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
        ..QueueConfig::named("narrow")
    });
    let (full, handled) = (Port::bounded(1, Overflow::Wait), Port::named("handled"));
    full.set_name("full");
    full.post(1).unwrap();
    Receive::persistent(&handled, |_: u8| ())
        .activate(&narrow)
        .unwrap();
    replay.run();
    narrow.suspend();
    narrow.enqueue(Task::new(|| ())).unwrap();

    let (to_full, to_narrow, to_handled) = (full.clone(), narrow.clone(), handled.clone());
    let room = narrow.room().expect("its depth is limited");
    let here = line!() + 2;
    let waits: [Pin<Box<dyn Future<Output = ()> + Send>>; 4] = [
        Box::pin(async move { to_full.post_wait(2).await.unwrap() }),
        Box::pin(async move { to_handled.post_wait(3).await.unwrap() }),
        Box::pin(async move { to_narrow.enqueue_wait(Task::new(|| ())).await.unwrap() }),
        Box::pin(async move { drop(room.wait().await) }),
    ];
    for wait in waits {
        spawn(&wide.handle(), wait).unwrap();
    }
    replay.run();
    let waiting = replay.waiting();
    let mut short: Vec<_> = waiting
        .waits()
        .iter()
        .filter_map(|wait| for_room(wait, here))
        .collect();
    short.sort_unstable();
    let of_narrow = "room in queue 'narrow'";
    assert_eq!(
        short,
        [
            (0, "post_wait", "room in port \"full\" of i32"),
            (1, "post_wait", of_narrow),
            (2, "enqueue_wait", of_narrow),
            (3, "room", of_narrow)
        ]
    );

    // Each gets its room.
    narrow.resume();
    assert_eq!(full.test(), Some(1));
    replay.run();
    let left: Vec<_> = replay
        .waiting()
        .waits()
        .iter()
        .map(|wait| wait.awaited.who)
        .collect();
    assert_eq!(left, ["Receive"]);
    assert_eq!((full.items(), handled.item_count()), (vec![2], 0));
}

/// A wait for room that is dropped is over.
#[test]
fn sem_g285_a_wait_for_room_that_is_given_up_is_not_listed() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("wide"));
    let (full, enough) = (Port::bounded(1, Overflow::Wait), Port::<()>::new());
    full.post(1).unwrap();
    let (posts, gives_up) = (full.clone(), enough.clone());
    spawn(&queue.handle(), async move {
        let mut posted = pin!(posts.post_wait(2));
        let mut given_up = pin!(gives_up.recv());
        poll_fn(|cx| {
            assert!(posted.as_mut().poll(cx).is_pending());
            given_up.as_mut().poll(cx)
        })
        .await;
    })
    .unwrap();
    replay.run();
    let who = || -> Vec<_> {
        let waiting = replay.waiting();
        waiting
            .waits()
            .iter()
            .map(|wait| wait.awaited.who)
            .collect()
    };
    assert_eq!(who(), ["post_wait", "recv"]);
    enough.post(()).unwrap();
    replay.run();
    assert!(who().is_empty());
    assert_eq!(full.items(), [1]);
}
