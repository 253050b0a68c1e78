//! Calls: one answer to one question.

use crate::nodes::Net;
use motet_dispatch::{Causality, QueueConfig};
use motet_mesh::{CallError, MAX_FRAME, Node, Request};
use motet_ports::{Port, Receive};
use motet_testkit::Log;

type Square = Request<u32, u32>;

/// Calls `square`, and writes down what comes of it.
fn ask(net: &Net, node: &Node, number: u32, log: &Log<Result<u32, CallError>>) {
    let (node, log) = (node.clone(), log.clone());
    motet_dispatch::spawn(&net.queue("caller"), async move {
        let answer: Result<u32, CallError> = node.call("square", &number).await;
        log.push(answer);
    })
    .unwrap();
}

#[test]
fn sem_g215_calls_go_to_those_who_serve_the_key_in_turn() {
    let net = Net::new(1);
    let (asks, one, two) = (net.node("asks", 1), net.node("one", 1), net.node("two", 1));
    let answered = Log::new();
    let mut servers = Vec::new();
    for node in [&one, &two] {
        let (port, told, name) = (Port::<Square>::new(), answered.clone(), node.name().clone());
        servers.push(node.serve("square", &port).unwrap());
        let square = move |request: Square| {
            told.push(name.as_str().to_owned());
            let n = request.value;
            request.answer(&(n * n));
        };
        let queue = net.replay.queue(QueueConfig::named("server"));
        Receive::persistent(&port, square).activate(&queue).unwrap();
    }
    net.replay.run();
    let (results, told) = (Log::new(), ());
    let () = told;
    let log = results.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        for n in 1..=4_u32 {
            let answer: Result<u32, CallError> = asks.call("square", &n).await;
            log.push(answer);
        }
        let none: Result<u32, CallError> = asks.call("cube", &1_u32).await;
        log.push(none);
    })
    .unwrap();
    net.replay.run();
    let none = CallError::NoResponder {
        key: "cube".to_owned(),
    };
    assert_eq!(results.take(), [Ok(1), Ok(4), Ok(9), Ok(16), Err(none)]);
    let mut who = answered.take();
    who.sort();
    assert_eq!(who, ["one", "one", "two", "two"]);
}

#[test]
fn sem_g215_a_call_to_a_node_that_is_lost_ends_and_one_that_is_given_up_is_not_wanted() {
    let net = Net::new(2);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Square>::new();
    let _server = serves.serve("square", &port).unwrap();
    net.replay.run();
    let results = Log::new();
    let (log, node) = (results.clone(), asks.clone());
    let handle = motet_dispatch::spawn_with_handle(&net.queue("caller"), async move {
        let answer: Result<u32, CallError> = node.call("square", &3_u32).await;
        log.push(answer);
    })
    .unwrap();
    net.replay.run();
    let first = port.test().expect("the request has come");
    assert!(first.is_wanted());
    handle.abort();
    net.replay.run();
    assert!(!first.is_wanted(), "the caller is gone");
    drop(first);
    let log = results.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        let answer: Result<u32, CallError> = asks.call("square", &3_u32).await;
        log.push(answer);
    })
    .unwrap();
    net.replay.run();
    net.network.kill("serves");
    net.replay.run();
    assert!(
        matches!(&results.take()[..], [Err(CallError::Lost { peer })] if peer.as_str() == "serves")
    );
}

#[test]
fn a_request_that_is_dropped_fails_the_call() {
    let net = Net::new(3);
    let node = net.node("a", 1);
    let port = Port::<Square>::new();
    let _server = node.serve("square", &port).unwrap();
    let results = Log::new();
    let log = results.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        let answer: Result<u32, CallError> = node.call("square", &3_u32).await;
        log.push(answer);
    })
    .unwrap();
    net.replay.run();
    drop(port.test());
    net.replay.run();
    assert!(
        matches!(&results.take()[..], [Err(CallError::Failed(why))] if why.contains("dropped"))
    );
}

#[test]
fn sem_g223_causalities_of_a_caller_travel_by_name_and_are_cancelled_over_the_link() {
    let net = Net::new(4);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Square>::new();
    let _server = serves.serve("square", &port).unwrap();
    net.replay.run();
    let (told, results) = (Log::new(), Log::new());
    let log = told.clone();
    let work = move |request: Square| {
        let log = log.clone();
        async move {
            let active = Causality::active();
            let names = active.iter().map(|causality| causality.name().to_owned());
            log.push(names.collect::<Vec<_>>());
            let why = active[0].cancelled().await;
            log.push(vec![why.to_string()]);
            request.answer(&0);
        }
    };
    let queue = net.replay.queue(QueueConfig::named("server"));
    Receive::persistent_async(&port, work)
        .activate(&queue)
        .unwrap();
    let (outer, log) = (Causality::new("order 7"), results.clone());
    let call = outer.run(|| {
        let inner = Causality::new("payment");
        inner.wrap(async move {
            let answer: Result<u32, CallError> = asks.call("square", &3_u32).await;
            log.push(answer);
        })
    });
    motet_dispatch::spawn(&net.queue("caller"), call).unwrap();
    net.replay.run();
    assert_eq!(told.take(), [["payment", "order 7", "call of asks"]]);
    assert!(results.take().is_empty(), "it waits");
    outer.cancel("the customer has gone");
    net.replay.run();
    let why = told.take().remove(0).remove(0);
    assert!(why.contains("the customer has gone"), "{why}");
    assert!(
        matches!(&results.take()[..], [Err(CallError::Cancelled(why))] if why.contains("order 7"))
    );
}

#[test]
fn sem_g215_a_caller_that_was_started_again_gets_no_answer_to_an_earlier_call() {
    let net = Net::new(5);
    let (before, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Square>::new();
    let _server = serves.serve("square", &port).unwrap();
    net.replay.run();
    let lost = Log::new();
    ask(&net, &before, 3, &lost);
    net.replay.run();
    let first = port.test().expect("the request has come");
    net.network.kill("asks");
    net.replay.run();
    let after = net.node("asks", 2);
    net.replay.run();
    let results = Log::new();
    ask(&net, &after, 5, &results);
    net.replay.run();
    let second = port.test().expect("the request has come");
    first.answer(&9);
    net.replay.run();
    assert!(results.take().is_empty(), "it is an answer to another call");
    second.answer(&25);
    net.replay.run();
    assert_eq!(results.take(), [Ok(25)]);
    assert!(lost.take().is_empty());
}

#[test]
fn sem_g215_a_request_that_no_frame_holds_fails_its_call() {
    let net = Net::new(6);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Request<Vec<u8>, u32>>::new();
    let _server = serves.serve("length", &port).unwrap();
    net.replay.run();
    let results = Log::new();
    let log = results.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        let answer: Result<u32, CallError> = asks.call("length", &vec![1_u8; MAX_FRAME]).await;
        log.push(answer);
    })
    .unwrap();
    net.replay.run();
    let told = results.take();
    assert!(
        matches!(&told[..], [Err(CallError::NotWritable(why))] if why.contains("at most")),
        "{told:?}"
    );
    assert!(port.test().is_none());
}

#[test]
fn sem_g215_an_answer_that_no_frame_holds_fails_its_call() {
    let net = Net::new(7);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Request<u32, Vec<u8>>>::new();
    let _server = serves.serve("bytes", &port).unwrap();
    net.replay.run();
    let results = Log::new();
    let log = results.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        let answer: Result<Vec<u8>, CallError> = asks.call("bytes", &1_u32).await;
        log.push(answer.map(|bytes| bytes.len()));
    })
    .unwrap();
    net.replay.run();
    let request = port.test().expect("the request has come");
    request.answer(&vec![1; MAX_FRAME]);
    net.replay.run();
    let told = results.take();
    assert!(
        matches!(&told[..], [Err(CallError::Failed(why))] if why.contains("the answer has")),
        "{told:?}"
    );
}

#[test]
fn calls_to_a_node_that_is_lost_end_in_the_same_order_in_each_run_of_a_seed() {
    let run = || {
        let net = Net::new(8);
        let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
        let port = Port::<Square>::new();
        let _server = serves.serve("square", &port).unwrap();
        net.replay.run();
        let ended = Log::new();
        for n in 0..12_u32 {
            let (node, log) = (asks.clone(), ended.clone());
            motet_dispatch::spawn(&net.queue("caller"), async move {
                let lost: Result<u32, CallError> = node.call("square", &n).await;
                log.push((n, lost.is_err()));
            })
            .unwrap();
        }
        net.replay.run();
        net.network.kill("serves");
        net.replay.run();
        ended.take()
    };
    let first = run();
    assert_eq!(first.len(), 12);
    assert_eq!(run(), first);
}

#[test]
fn sem_g215_a_node_that_leaves_ends_the_calls_that_it_has_not_answered() {
    let net = Net::new(9);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Square>::new();
    let _server = serves.serve("square", &port).unwrap();
    net.replay.run();
    let results = Log::new();
    ask(&net, &asks, 3, &results);
    net.replay.run();
    let request = port.test().expect("the request has come");
    // Its link stays: other parts of its process may have the carrier.
    serves.leave();
    net.replay.run();
    let told = results.take();
    assert!(
        matches!(&told[..], [Err(CallError::Failed(why))] if why.contains("left")),
        "{told:?}"
    );
    assert!(!request.is_wanted());
    ask(&net, &asks, 4, &results);
    net.replay.run();
    let told = results.take();
    assert!(
        matches!(&told[..], [Err(CallError::NoResponder { .. })]),
        "{told:?}"
    );
}

#[test]
fn sem_g215_a_server_sees_that_the_node_of_its_caller_has_left() {
    let net = Net::new(10);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Square>::new();
    let _server = serves.serve("square", &port).unwrap();
    net.replay.run();
    let results = Log::new();
    ask(&net, &asks, 3, &results);
    net.replay.run();
    let request = port.test().expect("the request has come");
    asks.leave();
    net.replay.run();
    assert_eq!(results.take(), [Err(CallError::Left)]);
    assert!(!request.is_wanted());
}

#[test]
fn sem_g215_calls_under_two_keys_by_turns_go_to_each_server_of_both() {
    let net = Net::new(11);
    let (asks, one, two) = (net.node("asks", 1), net.node("one", 1), net.node("two", 1));
    let (mut servers, mut ports) = (Vec::new(), Vec::new());
    for (node, key) in [(&one, "a"), (&two, "a"), (&one, "b"), (&two, "b")] {
        let port = Port::<Square>::new();
        servers.push(node.serve(key, &port).unwrap());
        ports.push(port);
    }
    net.replay.run();
    let mut calls = Vec::new();
    for _ in 0..6 {
        for key in ["a", "b"] {
            let node = asks.clone();
            let call = async move { node.call::<u32, u32>(key, &1).await };
            calls.push(motet_dispatch::spawn_with_handle(&net.queue("caller"), call).unwrap());
            net.replay.run();
        }
    }
    let asked: Vec<usize> = ports.iter().map(Port::item_count).collect();
    assert_eq!(asked, [3, 3, 3, 3]);
}
