//! What an owner does when takers ask in other ways than steps do.

use super::*;
use crate::{LinkConfig, Node, SimulatedNetwork, TakeError, take_all};
use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn, spawn_with_handle};
use motet_ports::Receive;

#[test]
fn sem_g221_items_that_a_lost_node_had_reserved_go_back_in_their_order() {
    let replay = Replay::new(1);
    let network = SimulatedNetwork::new(1, LinkConfig::default(), replay.clock());
    let node = |name, incarnation| {
        let queue = Arc::new(replay.queue(QueueConfig::named(name)));
        Node::join(&network.carrier(name), incarnation, queue)
    };
    let (owner, taker) = (node("owner", 1), node("taker", 1));
    let port = Port::new();
    let _exported = owner.export("n", &port).expect("a key");
    (0..20_u32).for_each(|n| port.post(n).expect("it is open"));
    replay.run();
    let reserves = taker.clone();
    let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
    spawn(&queue, async move {
        let type_name = type_name::<u32>().to_owned();
        let count = 1;
        let ready = ExportRequest::Ready { type_name, count };
        let told = reserves.call::<_, ExportAnswer>("n/.port", &ready).await;
        let Ok(ExportAnswer::Ready(own)) = told else {
            return;
        };
        // The numbers of tickets fall: they are not the order of the items.
        for number in (0..12_u64).rev() {
            let ticket = (1, number);
            let reserve = ExportRequest::Reserve { ticket, count };
            let _ = reserves.call::<_, ExportAnswer>(&own, &reserve).await;
        }
    })
    .expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    assert_eq!(port.items(), (12..20).collect::<Vec<_>>(), "they are kept");
    network.kill("taker");
    let again = node("taker", 2);
    replay.run_for(Duration::from_secs(1));
    assert_eq!(port.items(), (0..20).collect::<Vec<_>>());
    drop((taker, again));
}

#[test]
fn sem_g604_no_more_is_written_than_goes_over_a_link() {
    let items = [vec![7_u8; 100], vec![7; 100]];
    assert_eq!(encode_all(&items, 500).expect("there is room").len(), 2);
    let why = encode_all(&items, 150).expect_err("there is none");
    assert!(
        why.contains("2 items have more than the 150 bytes"),
        "{why}"
    );
}

/// An owner and a taker, and their network.
fn two(seed: u64) -> (Replay, SimulatedNetwork, Node, Node) {
    let replay = Replay::new(seed);
    let network = SimulatedNetwork::new(seed, LinkConfig::default(), replay.clock());
    let [owner, taker] = ["owner", "taker"].map(|name| {
        let queue = Arc::new(replay.queue(QueueConfig::named(name)));
        Node::join(&network.carrier(name), 1, queue)
    });
    (replay, network, owner, taker)
}

#[test]
fn sem_g221_a_number_that_a_taker_gives_twice_is_of_one_item() {
    let (replay, _network, owner, taker) = two(3);
    let port = Port::new();
    let exported = owner.export("n", &port).expect("a key");
    (0..2_u32).for_each(|n| port.post(n).expect("it is open"));
    replay.run();
    let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
    spawn(&queue, async move {
        let type_name = type_name::<u32>().to_owned();
        let count = 1;
        let ready = ExportRequest::Ready { type_name, count };
        let told = taker.call::<_, ExportAnswer>("n/.port", &ready).await;
        let Ok(ExportAnswer::Ready(own)) = told else {
            return;
        };
        for _ in 0..2 {
            let ticket = (1, 1);
            let reserve = ExportRequest::Reserve { ticket, count };
            let _ = taker.call::<_, ExportAnswer>(&own, &reserve).await;
        }
    })
    .expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    assert_eq!(port.items(), [0]);
    drop(exported);
    let mut items = port.items();
    items.sort_unstable();
    assert_eq!(items, [0, 1]);
}

#[test]
fn sem_g221_items_that_go_back_to_a_port_that_was_closed_are_in_it() {
    let (replay, _network, owner, taker) = two(5);
    let port = Port::new();
    let exported = owner.export("n", &port).expect("a key");
    (0..5_u32).for_each(|n| port.post(n).expect("it is open"));
    replay.run();
    let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
    spawn(&queue, async move {
        let (type_name, count) = (type_name::<u32>().to_owned(), 3);
        let ready = ExportRequest::Ready { type_name, count };
        let told = taker.call::<_, ExportAnswer>("n/.port", &ready).await;
        let Ok(ExportAnswer::Ready(own)) = told else {
            return;
        };
        let ticket = (1, 1);
        let reserve = ExportRequest::Reserve { ticket, count };
        let _ = taker.call::<_, ExportAnswer>(&own, &reserve).await;
    })
    .expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    assert_eq!(port.items(), [3, 4], "three are kept");
    port.close();
    drop(exported);
    assert_eq!(port.items(), [0, 1, 2, 3, 4]);
}

#[test]
fn an_export_that_has_ended_waits_for_nothing() {
    let (replay, _network, owner, taker) = two(4);
    let port = Port::<u32>::new();
    let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
    let waits = || replay.waiting().len();
    let mut before = None;
    for _ in 0..3 {
        let exported = owner.export("n", &port).expect("a key");
        replay.run_for(Duration::from_secs(1));
        let remote = taker.remote_port::<u32>("n").expect("a key");
        let wait = async move { drop(remote.recv().await) };
        spawn(&queue, wait).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        assert_eq!(port.receiver_count(), 1, "it waits on behalf of the taker");
        drop(exported);
        replay.run_for(Duration::from_secs(1));
        assert_eq!(port.receiver_count(), 0);
        assert_eq!(waits(), *before.get_or_insert_with(waits));
    }
}

#[test]
fn an_item_that_goes_back_is_not_of_those_who_have_waited_for_it() {
    let replay = Replay::new(2);
    let network = SimulatedNetwork::new(2, LinkConfig::default(), replay.clock());
    let queue = |name| -> Arc<dyn Enqueue> { Arc::new(replay.queue(QueueConfig::named(name))) };
    let node = |name| Node::join(&network.carrier(name), 1, queue(name));
    let (owner, taker) = (node("owner"), node("taker"));
    let port = Port::new();
    let _exported = owner.export("n", &port).expect("a key");
    port.post(7_u32).expect("it is open");
    replay.run();
    let (task, own) = (queue("task"), Port::new());
    let (out, asks) = (own.clone(), taker.clone());
    let ready = || ExportRequest::Ready {
        type_name: type_name::<u32>().to_owned(),
        count: 1,
    };
    let first = ready();
    let reserves = async move {
        let told = asks.call::<_, ExportAnswer>("n/.port", &first).await;
        let Ok(ExportAnswer::Ready(key)) = told else {
            return;
        };
        let (ticket, count) = ((1, 1), 1);
        let reserve = ExportRequest::Reserve { ticket, count };
        let _ = asks.call::<_, ExportAnswer>(&key, &reserve).await;
        let _ = out.post(key);
    };
    spawn(&task, reserves).expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    let key = own.test().expect("the item is reserved");
    // Another one waits for an item, and gives up.
    let (asks, second) = (taker.clone(), ready());
    let waits = async move {
        asks.call::<_, ExportAnswer>("n/.port", &second)
            .await
            .is_ok()
    };
    let waits = spawn_with_handle(&task, waits).expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    waits.abort();
    replay.run_for(Duration::from_secs(1));
    let (ticket, take) = ((1, 1), false);
    let settle = ExportRequest::Settle { ticket, take };
    let back = async move { drop(taker.call::<_, ExportAnswer>(&key, &settle).await) };
    spawn(&task, back).expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    let seen = Port::new();
    let out = seen.clone();
    Receive::once(&port, move |item| {
        let active = Causality::active().len();
        let _ = out.post((item, active));
    })
    .activate(&replay.queue(QueueConfig::named("handler")))
    .expect("the queue is open");
    replay.run_for(Duration::from_secs(1));
    assert_eq!(seen.test(), Some((7, 0)));
}

/// What the owner answers to a request.
fn ask(replay: &Replay, taker: &Node, key: &str, request: ExportRequest) -> Option<ExportAnswer> {
    begin_to_ask(replay, taker, key, request).test()
}

/// The port that has the owner's answer to a request, now or later.
fn begin_to_ask(
    replay: &Replay,
    taker: &Node,
    key: &str,
    request: ExportRequest,
) -> Port<ExportAnswer> {
    let (taker, key, told) = (taker.clone(), key.to_owned(), Port::new());
    let out = told.clone();
    let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("asks")));
    spawn(&queue, async move {
        if let Ok(answer) = taker.call::<_, ExportAnswer>(&key, &request).await {
            let _ = out.post(answer);
        }
    })
    .expect("the queue is open");
    replay.run_for(Duration::from_millis(5));
    told
}

/// The key that reservations go to, of a port of numbers that has an item.
fn own_key(replay: &Replay, taker: &Node) -> String {
    let (type_name, count) = (type_name::<u32>().to_owned(), 1);
    let ready = ExportRequest::Ready { type_name, count };
    match ask(replay, taker, "n/.port", ready) {
        Some(ExportAnswer::Ready(own)) => own,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sem_g221_who_asks_again_hears_that_it_has_its_items_however_busy_another_taker_is() {
    let (replay, network, owner, taker) = two(6);
    let queue = Arc::new(replay.queue(QueueConfig::named("busy")));
    let busy = Node::join(&network.carrier("busy"), 1, queue);
    let port = Port::new();
    let exported = owner.export("n", &port).expect("a key");
    (0..1_100_u32).for_each(|n| port.post(n).expect("it is open"));
    replay.run();
    let own = own_key(&replay, &taker);
    let settles = |node: &Node, number: u64| {
        let (ticket, take) = ((1, number), true);
        let told = ask(&replay, node, &own, ExportRequest::Settle { ticket, take });
        matches!(told, Some(ExportAnswer::Settled(true)))
    };
    let takes = |node: &Node, number: u64| {
        let (ticket, count) = ((1, number), 1);
        drop(ask(
            &replay,
            node,
            &own,
            ExportRequest::Reserve { ticket, count },
        ));
        settles(node, number)
    };
    assert!(takes(&taker, 0));
    assert!((0..1_050).all(|number| takes(&busy, number)));
    // As where its link broke before it heard so.
    assert!(
        settles(&taker, 0),
        "it is told that they are back in the port"
    );
    assert_eq!(port.item_count(), 1_100 - 1_051);
    drop(exported);
}

#[test]
fn sem_g217_so_many_of_a_node_wait_at_a_port_and_a_step_beyond_them_asks_again() {
    let (replay, _network, owner, taker) = two(10);
    let port = Port::<u32>::new();
    let exported = owner.export("n", &port).expect("a key");
    replay.run();
    let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("waits")));
    let busy = Port::new();
    for _ in 0..asking::WAITING + 3 {
        let (asks, out) = (taker.clone(), busy.clone());
        let waits = async move {
            let (type_name, count) = (type_name::<u32>().to_owned(), 1);
            let ready = ExportRequest::Ready { type_name, count };
            let told = asks.call::<_, ExportAnswer>("n/.port", &ready).await;
            if matches!(told, Ok(ExportAnswer::Busy)) {
                let _ = out.post(());
            }
        };
        spawn(&queue, waits).expect("the queue is open");
    }
    replay.run_for(Duration::from_secs(1));
    assert_eq!(busy.item_count(), 3);
    let (remote, taken) = (taker.remote_port::<u32>("n").expect("a key"), Port::new());
    let out = taken.clone();
    let takes = async move {
        let _ = out.post(remote.recv().await);
    };
    spawn(&queue, takes).expect("the queue is open");
    replay.run_for(Duration::from_secs(5));
    assert_eq!(taken.test(), None, "it waits as the others do");
    // They are told, and take nothing.
    port.post(7).expect("it is open");
    replay.run_for(Duration::from_secs(5));
    assert_eq!(taken.test(), Some(Ok(7)));
    drop(exported);
}

#[test]
fn sem_g608_of_a_closed_port_nobody_is_told_the_end_while_another_taker_may_give_items_back() {
    for (take, is_local) in [(true, true), (true, false), (false, true), (false, false)] {
        let (replay, network, owner, taker) = two(7);
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("other")));
        let other = Node::join(&network.carrier("other"), 1, Arc::clone(&queue));
        let port = Port::new();
        let exported = owner.export("n", &port).expect("a key");
        port.post(7_u32).expect("it is open");
        replay.run();
        let own = own_key(&replay, &taker);
        let (ticket, count) = ((1, 1), 1);
        let reserve = ExportRequest::Reserve { ticket, count };
        let reserved = ask(&replay, &taker, &own, reserve);
        assert!(matches!(reserved, Some(ExportAnswer::Reserved(_))));
        port.close();
        let (local, told) = (port.clone(), Port::new());
        let (remote, out) = (other.remote_port::<u32>("n").expect("a key"), told.clone());
        let waits = async move {
            let item = match is_local {
                true => take_all((&local,)).await.map(|(item,)| item),
                false => remote.recv().await,
            };
            let _ = out.post(item);
        };
        spawn(&queue, waits).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        assert_eq!(told.test(), None, "the item may come back");
        let settle = ExportRequest::Settle { ticket, take };
        drop(ask(&replay, &taker, &own, settle));
        replay.run_for(Duration::from_secs(1));
        let item = match take {
            true => Err(TakeError::Closed("n".to_owned())),
            false => Ok(7),
        };
        assert_eq!(told.test(), Some(item));
        drop(exported);
    }
}

#[test]
fn sem_g608_who_wants_more_than_may_come_back_is_told_the_end_whoever_waits_for_fewer() {
    for is_first in [true, false] {
        let (replay, _network, owner, taker) = two(8);
        let port = Port::new();
        let exported = owner.export("n", &port).expect("a key");
        (0..2_u32).for_each(|n| port.post(n).expect("it is open"));
        replay.run();
        let own = own_key(&replay, &taker);
        let (ticket, count) = ((1, 1), 1);
        let reserve = ExportRequest::Reserve { ticket, count };
        let reserved = ask(&replay, &taker, &own, reserve);
        assert!(matches!(reserved, Some(ExportAnswer::Reserved(_))));
        port.close();
        let wants = |count| {
            let type_name = type_name::<u32>().to_owned();
            let ready = ExportRequest::Ready { type_name, count };
            let told = begin_to_ask(&replay, &taker, "n/.port", ready);
            replay.run_for(Duration::from_secs(1));
            told
        };
        let before = is_first.then(|| wants(2));
        let more = wants(3).test();
        assert!(matches!(more, Some(ExportAnswer::Closed)), "{more:?}");
        let fewer = before.unwrap_or_else(|| wants(2));
        assert_eq!(fewer.item_count(), 0, "an item may come back");
        let settle = ExportRequest::Settle {
            ticket,
            take: false,
        };
        drop(ask(&replay, &taker, &own, settle));
        replay.run_for(Duration::from_secs(1));
        let fewer = fewer.test();
        assert!(matches!(fewer, Some(ExportAnswer::Ready(_))), "{fewer:?}");
        drop(exported);
    }
}

#[test]
fn sem_g221_items_that_are_kept_go_back_in_their_order_when_their_owners_node_is_gone() {
    let (replay, _network, owner, taker) = two(9);
    let port = Port::new();
    let exported = owner.export("n", &port).expect("a key");
    (0..3_u32).for_each(|n| port.post(n).expect("it is open"));
    replay.run();
    let own = own_key(&replay, &taker);
    for number in 1..=2 {
        let (ticket, count) = ((1, number), 1);
        let reserve = ExportRequest::Reserve { ticket, count };
        let reserved = ask(&replay, &taker, &own, reserve);
        assert!(matches!(reserved, Some(ExportAnswer::Reserved(_))));
        // The first is kept for too long before the second is.
        replay.run_for(Duration::from_secs(20));
    }
    assert_eq!(port.items(), [2]);
    drop(owner);
    replay.run_for(Duration::from_secs(120));
    assert_eq!(port.items(), [0, 1, 2]);
    drop(exported);
}
