//! Calls: one answer to one question.

use crate::nodes::Net;
use motet_mesh::{CallError, Request};
use motet_ports::{Port, Receive};
use motet_testkit::Log;

type Square = Request<u32, u32>;

#[test]
fn sem_g856_calls_go_to_those_who_serve_the_key_in_turn() {
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
        let queue = net
            .replay
            .queue(motet_dispatch::QueueConfig::named("server"));
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
fn sem_g856_a_call_to_a_node_that_is_lost_ends_and_one_that_is_given_up_is_not_wanted() {
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
