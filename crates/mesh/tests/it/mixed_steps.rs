//! Steps over ports of this node and of others, with counts, and choices between types.

use crate::nodes::Net;
use crate::remote_ports::{Troubles, each_once};
use motet_dispatch::{spawn, spawn_with_handle};
use motet_mesh::{Node, PortExport, RemotePort, TakeError, take_all, take_first};
use motet_ports::one_of::{OneOf2, OneOf3};
use motet_ports::{Overflow, Port};
use motet_testkit::Log;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::future::Future;
use std::time::Duration;

/// An owner that exports a port, and a node that names it.
struct Pair {
    net: Net,
    port: Port<u32>,
    taker: Node,
    owner: Node,
    _exported: PortExport,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let net = Net::new(seed);
        let (owner, taker, port) = (net.node("owner", 1), net.node("t", 1), Port::new());
        let exported = owner.export("a", &port).unwrap();
        net.replay.run();
        Pair {
            net,
            port,
            taker,
            owner,
            _exported: exported,
        }
    }

    fn remote(&self) -> RemotePort<u32> {
        self.taker.remote_port("a").unwrap()
    }

    /// Runs it until nothing is left to run.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        spawn(&self.net.queue("taker"), work).unwrap();
        self.net.replay.run();
    }

    fn post(&self, items: impl IntoIterator<Item = u32>) {
        items
            .into_iter()
            .for_each(|item| self.port.post(item).unwrap());
        self.net.replay.run();
    }
}

#[test]
fn sem_g603_ports_of_this_node_and_of_others_give_all_or_none() {
    let pair = Pair::new(1);
    let (here, log) = (Port::new(), Log::new());
    let (remote, local, out) = (pair.remote(), here.clone(), log.clone());
    pair.spawn(async move {
        for _ in 0..2 {
            out.push(take_all((&local, &remote)).await);
        }
    });
    here.post("first").unwrap();
    pair.net.replay.run();
    assert_eq!((here.items(), log.take()), (vec!["first"], vec![]));
    assert_eq!(here.test(), Some("first"), "somebody else takes it");
    pair.post([1]);
    assert_eq!((pair.port.items(), log.take()), (vec![1], vec![]));
    here.post("second").unwrap();
    pair.net.replay.run();
    assert_eq!(log.take(), [Ok(("second", 1))]);
    here.close();
    pair.net.replay.run();
    let told = log.take();
    let closed = TakeError::Closed(format!("number {} of this process", here.id()));
    assert_eq!(told, [Err(closed)]);
}

/// An item that nobody can read.
#[derive(Debug, Serialize)]
struct Unreadable;

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("nobody reads it"))
    }
}

#[test]
fn sem_g603_items_of_this_node_go_back_in_their_order_when_a_step_fails() {
    let net = Net::new(2);
    let (owner, taker) = (net.node("owner", 1), net.node("t", 1));
    let (port, here) = (Port::new(), Port::new());
    let exported = owner.export("a", &port).unwrap();
    net.replay.run();
    port.post(Unreadable).unwrap();
    (1..=4).for_each(|n| here.post(n).unwrap());
    let (local, log) = (here.clone(), Log::new());
    let (remote, out) = (taker.remote_port::<Unreadable>("a").unwrap(), log.clone());
    spawn(&net.queue("taker"), async move {
        out.push(take_all((&remote, local.times(3))).await);
    })
    .unwrap();
    net.replay.run();
    let told = log.take();
    assert!(
        matches!(&told[..], [Err(TakeError::Unreadable(key, _))] if key == "a"),
        "{told:?}"
    );
    assert_eq!((port.item_count(), here.items()), (0, vec![1, 2, 3, 4]));
    drop(exported);
}

#[test]
fn sem_g603_a_step_that_is_dropped_while_owners_are_told_keeps_nothing_of_this_node() {
    let pair = Pair::new(8);
    let here = Port::new();
    pair.post([1]);
    (2..=3_u32).for_each(|n| here.post(n).unwrap());
    let (remote, local) = (pair.remote(), here.clone());
    let step = async move { take_all((&remote, local.times(2))).await.is_ok() };
    let step = spawn_with_handle(&pair.net.queue("taker"), step).unwrap();
    // Messages take ten times as long as this at least.
    let is_reserved = (0..10_000).any(|_| {
        pair.net.replay.run_for(Duration::from_micros(5));
        here.item_count() == 0
    });
    assert!(is_reserved && pair.port.item_count() == 0);
    // Who waits meanwhile gets them in their order.
    let (next, came) = (here.clone(), Port::new());
    let out = came.clone();
    spawn(&pair.net.queue("waits"), async move {
        out.post(next.recv().await).unwrap();
    })
    .unwrap();
    pair.net.replay.run_for(Duration::from_micros(5));
    assert_eq!(came.test(), None);
    step.abort();
    pair.net.replay.run();
    assert_eq!((came.items(), here.items()), (vec![2], vec![3]));
}

#[test]
fn sem_g603_a_port_of_this_node_that_is_exported_is_known_by_its_key() {
    let net = Net::new(3);
    let (owner, here) = (net.node("owner", 1), Port::<u32>::new());
    let exported = owner.export("a", &here).unwrap();
    net.replay.run();
    let (local, log) = (here.clone(), Log::new());
    let (remote, out) = (owner.remote_port::<u32>("a").unwrap(), log.clone());
    spawn(&net.queue("taker"), async move {
        out.push(take_all((&local, &remote)).await);
        let even = local.when(|n| n % 2 == 0).times(1);
        out.push(take_all((even, &remote)).await.map(|(_, n)| (n, n)));
    })
    .unwrap();
    net.replay.run();
    let twice = || Err(TakeError::Twice("a".to_owned()));
    assert_eq!(log.take(), [twice(), twice()]);
    drop(exported);
    let (local, out) = (here, log.clone());
    spawn(&net.queue("taker"), async move {
        let even = local.when(|n| n % 2 == 0).times(1);
        let told = take_all((even,)).await;
        out.push(told.map(|_| (0, 0)));
    })
    .unwrap();
    net.replay.run();
    let told = log.take();
    assert!(
        matches!(&told[..], [Err(TakeError::Guarded(_))]),
        "{told:?}"
    );
}

#[test]
fn sem_g604_several_items_of_a_port_of_another_node_are_taken_at_once() {
    let pair = Pair::new(4);
    let (remote, log) = (pair.remote(), Log::new());
    let out = log.clone();
    pair.spawn(async move {
        for _ in 0..2 {
            let (items,) = take_all((remote.times(3),)).await.unwrap();
            out.push(items);
        }
    });
    pair.post([1, 2]);
    assert_eq!((pair.port.items(), log.take()), (vec![1, 2], vec![]));
    assert_eq!(pair.port.test(), Some(1), "somebody else takes it");
    pair.post([3]);
    assert_eq!((pair.port.items(), log.take()), (vec![2, 3], vec![]));
    pair.post([4, 5]);
    assert_eq!(
        (pair.port.items(), log.take()),
        (vec![5], vec![vec![2, 3, 4]])
    );
    pair.post([6, 7]);
    assert_eq!(
        (pair.port.item_count(), log.take()),
        (0, vec![vec![5, 6, 7]])
    );
}

#[test]
fn sem_g604_who_wants_fewer_items_does_not_wait_for_who_wants_more() {
    let pair = Pair::new(5);
    let log = Log::new();
    for count in [3, 1, 2] {
        let (remote, out) = (pair.remote(), log.clone());
        pair.spawn(async move {
            let told = take_all((remote.times(count),)).await;
            out.push((count, told.map(|(items,)| items)));
        });
    }
    pair.post([1]);
    assert_eq!(log.take(), [(1, Ok(vec![1]))]);
    pair.post([2, 3]);
    assert_eq!(log.take(), [(2, Ok(vec![2, 3]))]);
    pair.post([4, 5]);
    pair.port.close();
    pair.net.replay.run();
    assert_eq!(log.take(), [(3, Err(TakeError::Closed("a".to_owned())))]);
    assert_eq!(pair.port.items(), [4, 5], "they are left");
}

#[test]
fn sem_g605_a_choice_between_ports_of_different_types_says_which_it_took() {
    let pair = Pair::new(6);
    let (words, here) = (Port::<String>::new(), Port::<char>::new());
    let exported = pair.owner.export("b", &words).unwrap();
    pair.net.replay.run();
    let (numbers, log) = (pair.remote(), Log::new());
    let (other, local, out) = (
        pair.taker.remote_port::<String>("b").unwrap(),
        here.clone(),
        log.clone(),
    );
    pair.spawn(async move {
        for _ in 0..3 {
            let first = take_first((numbers.times(2), &other, &local)).await;
            out.push(first.unwrap());
        }
    });
    pair.post([1]);
    assert!(log.is_empty(), "one is too few");
    words.post("one".to_owned()).unwrap();
    pair.net.replay.run();
    here.post('x').unwrap();
    pair.net.replay.run();
    assert_eq!((pair.port.items(), words.item_count()), (vec![1], 0));
    pair.post([2]);
    let one = OneOf3::P1("one".to_owned());
    let chosen = [one, OneOf3::P2('x'), OneOf3::P0(vec![1, 2])];
    assert_eq!(log.take(), chosen);
    drop(exported);
}

#[test]
fn sem_g605_a_choice_takes_one_of_a_list_of_ports_of_this_node() {
    let pair = Pair::new(7);
    let ports = [Port::new(), Port::new()];
    ports.iter().for_each(|port| port.post(5_u32).unwrap());
    let (left, log) = (ports.clone(), Log::new());
    let (remote, out) = (pair.remote(), log.clone());
    pair.spawn(async move {
        let list: Vec<&Port<u32>> = left.iter().collect();
        out.push(take_first(&list[..]).await.map(OneOf2::P0));
        out.push(take_first(&[&left[1]]).await.map(OneOf2::P0));
        let none: [&RemotePort<u32>; 0] = [];
        out.push(take_first(&none).await.map(OneOf2::P0));
        out.push(take_first(&[&remote]).await.map(OneOf2::P1));
    });
    pair.post([9]);
    let told = [
        Ok(OneOf2::P0((0, 5))),
        Ok(OneOf2::P0((0, 5))),
        Err(TakeError::Nothing),
        Ok(OneOf2::P1((0, 9))),
    ];
    assert_eq!(log.take(), told);
    assert!(ports.iter().all(|port| port.item_count() == 0));
}

#[test]
fn sem_g608_a_step_that_has_the_last_item_of_a_closed_port_may_give_it_back() {
    let pair = Pair::new(9);
    let here = Port::new();
    pair.post([1]);
    here.post(2_u32).unwrap();
    let (remote, local) = (pair.remote(), here.clone());
    let step = async move { take_all((&remote, &local)).await.is_ok() };
    let step = spawn_with_handle(&pair.net.queue("taker"), step).unwrap();
    // Messages take ten times as long as this at least.
    let is_reserved = (0..10_000).any(|_| {
        pair.net.replay.run_for(Duration::from_micros(5));
        here.item_count() == 0
    });
    assert!(is_reserved);
    here.close();
    let (next, log) = (here, Log::new());
    let out = log.clone();
    spawn(&pair.net.queue("waits"), async move {
        out.push(take_all((&next,)).await);
    })
    .unwrap();
    pair.net.replay.run_for(Duration::from_micros(5));
    assert!(log.is_empty(), "it may come back");
    step.abort();
    pair.net.replay.run();
    assert_eq!(log.take(), [Ok((2,))]);
}

#[test]
fn sem_g598_more_items_at_once_than_a_port_may_hold_are_refused() {
    let net = Net::new(10);
    let (owner, taker) = (net.node("owner", 1), net.node("t", 1));
    let port = Port::<u32>::bounded(2, Overflow::Wait);
    let here = Port::<u32>::bounded(3, Overflow::Wait);
    let exported = owner.export("a", &port).unwrap();
    net.replay.run();
    let (remote, log) = (taker.remote_port::<u32>("a").unwrap(), Log::new());
    let (local, out) = (here.clone(), log.clone());
    spawn(&net.queue("taker"), async move {
        out.push(take_all((remote.times(3),)).await.map(drop));
        out.push(take_first((&remote, local.times(4))).await.map(drop));
        // As many as there may be.
        let most = take_all((remote.times(2), local.times(3))).await;
        out.push(most.map(drop));
    })
    .unwrap();
    net.replay.run();
    let too_many = |port: &str, count, bound| -> Result<(), TakeError> {
        let port = port.to_owned();
        Err(TakeError::TooMany { port, count, bound })
    };
    let told = log.take();
    let number = format!("number {} of this process", here.id());
    assert_eq!(told, [too_many("a", 3, 2), too_many(&number, 4, 3)]);
    let why = told[0].clone().unwrap_err().to_string();
    assert!(
        why.contains("\"a\" holds 2 items at most, and 3 are wanted"),
        "{why}"
    );
    (0..2).for_each(|n| port.post(n).unwrap());
    (0..3).for_each(|n| here.post(n).unwrap());
    net.replay.run();
    assert_eq!(log.take(), [Ok(())]);
    drop(exported);
}

/// What each of the takers has taken of `a` and of `b`.
type Taken = Log<(Vec<u32>, Vec<u32>)>;

/// Takes an item of each port, of which the first is one of this node, until there are none.
fn take_mixed(net: &Net, here: &Port<u32>, node: &Node, log: &Taken) {
    let (here, log) = (here.clone(), log.clone());
    let remote = node.remote_port::<u32>("b").unwrap();
    spawn(&net.queue("taker"), async move {
        while let Ok((b, a)) = take_all((&remote, &here)).await {
            log.push((vec![a], vec![b]));
        }
    })
    .unwrap();
}

/// Takes one item of the port of this node, and two of the other.
fn take_two(net: &Net, here: &Port<u32>, node: &Node, log: &Taken) {
    let (here, log) = (here.clone(), log.clone());
    let remote = node.remote_port::<u32>("a").unwrap();
    spawn(&net.queue("taker"), async move {
        while let Ok((b, a)) = take_all((&here, remote.times(2))).await {
            log.push((a, vec![b]));
        }
    })
    .unwrap();
}

/// Takes two items of `b`, or one of `a`.
fn take_either(net: &Net, node: &Node, log: &Taken) {
    let log = log.clone();
    let a = node.remote_port::<u32>("a").unwrap();
    let b = node.remote_port::<u32>("b").unwrap();
    spawn(&net.queue("taker"), async move {
        while let Ok(first) = take_first((b.times(2), &a)).await {
            log.push(match first {
                OneOf2::P0(b) => (vec![], b),
                OneOf2::P1(a) => (vec![a], vec![]),
            });
        }
    })
    .unwrap();
}

/// Both owners take part, beside a taker whose link is cut, and one that is killed and comes back.
fn program(seed: u64) {
    let net = Net::new(seed);
    let (left, right) = (net.node("left", 1), net.node("right", 1));
    let (a, b) = (Port::new(), Port::new());
    let exported = (
        left.export("a", &a).unwrap(),
        right.export("b", &b).unwrap(),
    );
    let mut takers = [net.node("x", 1), net.node("y", 1)];
    net.replay.run();
    let log = Log::new();
    take_mixed(&net, &a, &left, &log);
    take_two(&net, &b, &right, &log);
    let takes = |node: &Node| take_either(&net, node, &log);
    let Troubles { posted, kills } = Troubles::befall(&net, seed, [&a, &b], &mut takers, 5, takes);
    let (of_a, of_b): (Vec<_>, Vec<_>) = log.take().into_iter().unzip();
    let (mut of_a, mut of_b) = (of_a.concat(), of_b.concat());
    of_a.extend(a.items());
    of_b.extend(b.items());
    // A step of the taker that is killed has one item of `a`, or two of `b`.
    each_once(&mut of_a, posted[0], kills, seed);
    each_once(&mut of_b, posted[1], 2 * kills, seed);
    drop((exported, takers));
}

#[test]
fn sem_g603_takers_of_both_kinds_that_compete_take_each_item_once() {
    (0..100).for_each(program);
}

#[test]
#[ignore = "takes minutes: cargo xtask deep"]
fn deep_sem_g603_takers_of_both_kinds_that_compete_take_each_item_once() {
    (100..10_000).for_each(program);
}
