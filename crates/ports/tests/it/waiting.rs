//! The waiting list of a dispatcher: who waits for what.

use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, Wait, spawn};
use motet_ports::{Choice, Interleave, JoinedReceive, MultipleItemReceive, Port, Receive, select};
use motet_testkit::{patience, within};
use std::time::Duration;

/// Who waits, and for each port whether something is missing.
fn in_short(wait: &Wait) -> (&'static str, Vec<bool>) {
    let missing = wait.awaited.parts.iter().map(|part| part.is_missing());
    (wait.awaited.who, missing.collect())
}

#[test]
fn sem_g91_who_waits_for_what() {
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
fn sem_g92_a_wait_that_is_over_is_not_listed() {
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
fn sem_g91_waits_elsewhere_are_not_listed() {
    let (dispatcher, other) = (Dispatcher::new(1), Dispatcher::new(1));
    let port = Port::<u32>::new();
    let queue = other.queue(QueueConfig::default());
    Receive::persistent(&port, drop).activate(&queue).unwrap();
    other.wait_idle();
    assert!(dispatcher.waiting().is_empty());
    assert_eq!(other.waiting().len(), 1);
}

#[test]
fn sem_g91_members_and_choices_that_are_awaited_are_listed() {
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
        assert!(dispatcher.waiting().is_empty());
    });
}
