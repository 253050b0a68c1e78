//! Items of ports of other nodes: all or none, each once.

use crate::nodes::Net;
use motet_dispatch::spawn;
use motet_mesh::{CallError, Node, Request, TakeError, take_all, take_first};
use motet_ports::Port;
use motet_testkit::{Log, Random};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Takes an item of `a` and one of `b`, named in this order, until there are none.
fn take_pairs(net: &Net, node: &Node, keys: [&'static str; 2], log: &Log<(u32, u32)>) {
    let (node, log) = (node.clone(), log.clone());
    let (one, other) = (
        node.remote_port::<u32>(keys[0]).unwrap(),
        node.remote_port::<u32>(keys[1]).unwrap(),
    );
    spawn(&net.queue("taker"), async move {
        while let Ok((first, second)) = take_all((&one, &other)).await {
            log.push(match keys {
                ["b", "a"] => (second, first),
                _ => (first, second),
            });
        }
    })
    .unwrap();
}

#[test]
fn sem_g220_items_of_ports_of_several_nodes_are_taken_all_or_none() {
    let net = Net::new(1);
    let (left, right, taker) = (net.node("left", 1), net.node("right", 1), net.node("t", 1));
    let (a, b) = (Port::new(), Port::new());
    let exported = (
        left.export("a", &a).unwrap(),
        right.export("b", &b).unwrap(),
    );
    net.replay.run();
    let log = Log::new();
    take_pairs(&net, &taker, ["b", "a"], &log);
    a.post(1_u32).unwrap();
    net.replay.run();
    assert_eq!((a.items(), log.take()), (vec![1], vec![]), "one is missing");
    assert_eq!(a.test(), Some(1), "somebody else takes it");
    b.post(2_u32).unwrap();
    net.replay.run();
    assert_eq!((b.items(), log.take()), (vec![2], vec![]));
    a.post(3).unwrap();
    net.replay.run();
    assert_eq!(log.take(), [(3, 2)]);
    assert_eq!(a.item_count() + b.item_count(), 0);
    drop(exported);
}

#[test]
fn sem_g220_the_first_port_that_has_an_item_is_chosen_and_the_other_keeps_its_own() {
    let net = Net::new(2);
    let (left, right, taker) = (net.node("left", 1), net.node("right", 1), net.node("t", 1));
    let (a, b) = (Port::new(), Port::new());
    let exported = (
        left.export("a", &a).unwrap(),
        right.export("b", &b).unwrap(),
    );
    net.replay.run();
    let log = Log::new();
    let out = log.clone();
    let (one, other) = (
        taker.remote_port::<u32>("a").unwrap(),
        taker.remote_port::<u32>("b").unwrap(),
    );
    spawn(&net.queue("taker"), async move {
        out.push(take_first(&[&one, &other]).await);
    })
    .unwrap();
    net.replay.run();
    b.post(7_u32).unwrap();
    net.replay.run();
    a.post(8_u32).unwrap();
    net.replay.run();
    assert_eq!(log.take(), [Ok((1, 7))]);
    assert_eq!((a.items(), b.items()), (vec![8], vec![]));
    drop(exported);
}

#[test]
fn errors_of_remote_ports_say_which_and_why() {
    let net = Net::new(3);
    let (owner, taker) = (net.node("owner", 1), net.node("t", 1));
    let (number, closed) = (Port::<u32>::new(), Port::<u32>::new());
    let exported = [
        owner.export("number", &number).unwrap(),
        owner.export("closed", &closed).unwrap(),
    ];
    closed.close();
    net.replay.run();
    let log = Log::new();
    let out = log.clone();
    spawn(&net.queue("taker"), async move {
        let nobody = taker.remote_port::<u32>("nobody").unwrap();
        out.push(nobody.recv().await.unwrap_err());
        let text = taker.remote_port::<String>("number").unwrap();
        out.push(text.recv().await.unwrap_err());
        let number = taker.remote_port::<u32>("number").unwrap();
        out.push(take_all((&number, &number)).await.unwrap_err());
        let closed = taker.remote_port::<u32>("closed").unwrap();
        out.push(closed.recv().await.unwrap_err());
    })
    .unwrap();
    net.replay.run();
    let told = log.take();
    assert!(
        matches!(&told[0], TakeError::Call(key, CallError::NoResponder { .. }) if key == "nobody"),
        "{told:?}"
    );
    assert!(
        told[1].to_string().contains("items of type u32"),
        "{told:?}"
    );
    assert_eq!(told[2], TakeError::Twice("number".to_owned()));
    assert_eq!(told[3], TakeError::Closed("closed".to_owned()));
    drop(exported);
}

#[test]
fn sem_g221_a_taker_that_was_started_again_gets_what_is_posted_later() {
    let net = Net::new(4);
    let (owner, before) = (net.node("owner", 1), net.node("t", 1));
    let port = Port::<u32>::new();
    let exported = owner.export("n", &port).unwrap();
    net.replay.run();
    let take = |node: &Node, log: &Log<Result<u32, TakeError>>| {
        let (remote, log) = (node.remote_port::<u32>("n").unwrap(), log.clone());
        spawn(&net.queue("taker"), async move {
            log.push(remote.recv().await);
        })
        .unwrap();
        net.replay.run();
    };
    let (lost, taken) = (Log::new(), Log::new());
    take(&before, &lost);
    net.network.kill("t");
    net.replay.run();
    let after = net.node("t", 2);
    net.replay.run();
    take(&after, &taken);
    assert!(taken.take().is_empty(), "it waits");
    port.post(7).unwrap();
    net.replay.run();
    assert_eq!(taken.take(), [Ok(7)]);
    assert!(lost.take().is_empty());
    drop((exported, before));
}

#[test]
fn sem_g221_who_waits_for_a_port_is_told_when_it_is_exported_no_longer() {
    let net = Net::new(5);
    let (owner, taker) = (net.node("owner", 1), net.node("t", 1));
    let port = Port::<u32>::new();
    let exported = owner.export("n", &port).unwrap();
    net.replay.run();
    let log = Log::new();
    let (remote, out) = (taker.remote_port::<u32>("n").unwrap(), log.clone());
    spawn(&net.queue("taker"), async move {
        out.push(remote.recv().await);
    })
    .unwrap();
    net.replay.run();
    assert!(log.is_empty(), "it waits");
    drop(exported);
    net.replay.run();
    let told = log.take();
    assert!(
        matches!(&told[..], [Err(TakeError::Call(key, CallError::Failed(why)))]
            if key == "n" && why.contains("no longer")),
        "{told:?}"
    );
}

/// Takers that compete, in both orders, while links are cut and a taker is killed and comes back.
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
    let takes = |node: &Node| {
        let keys = match node.name().as_str() {
            "x" => ["a", "b"],
            _ => ["b", "a"],
        };
        take_pairs(&net, node, keys, &log);
    };
    let troubles = Troubles::befall(&net, seed, [&a, &b], &mut takers, 3, takes);
    let (mut of_a, mut of_b): (Vec<u32>, Vec<u32>) = log.take().into_iter().unzip();
    let taken = of_a.len();
    of_a.extend(a.items());
    of_b.extend(b.items());
    let Troubles { posted, kills } = troubles;
    each_once(&mut of_a, posted[0], kills, seed);
    each_once(&mut of_b, posted[1], kills, seed);
    assert!(taken > 0 || kills > 0, "seed {seed}");
    drop((exported, takers));
}

/// What has happened to takers that compete.
pub(crate) struct Troubles {
    /// How many items have been posted to each port: the numbers from 1 on.
    pub(crate) posted: [u32; 2],
    /// How often `y` was killed.
    pub(crate) kills: u64,
}

impl Troubles {
    /// Nodes `x` and `y` take items. Meanwhile some are posted; of `posts` to each port there is
    /// one trouble of each kind, where the seed has any: the link of `x` to `left` is cut for a
    /// time, or `y` is killed and comes back. Then that node takes items anew.
    pub(crate) fn befall(
        net: &Net,
        seed: u64,
        ports: [&Port<u32>; 2],
        [x, y]: &mut [Node; 2],
        posts: usize,
        takes: impl Fn(&Node),
    ) -> Self {
        let mut random = Random::new(seed);
        let (mut posted, mut kills) = ([0, 0], 0);
        takes(x);
        takes(y);
        for _ in 0..40 {
            match random.below(2 + 2 * posts) {
                0 if seed % 2 == 1 => {
                    net.network.cut("x", "left");
                    let cut = Duration::from_millis(random.below(200) as u64);
                    net.replay.run_for(cut);
                    net.network.mend("x", "left");
                    takes(x);
                }
                1 if seed % 4 == 3 => {
                    net.network.kill("y");
                    kills += 1;
                    *y = net.node("y", 1 + kills);
                    net.replay.run_for(Duration::from_millis(50));
                    takes(y);
                }
                drawn => {
                    let to = usize::from(!(2..2 + posts).contains(&drawn));
                    posted[to] += 1;
                    ports[to].post(posted[to]).unwrap();
                }
            }
            let pause = Duration::from_micros(random.below(2000) as u64);
            net.replay.run_for(pause);
        }
        net.replay.run();
        Troubles { posted, kills }
    }
}

/// Each item was taken once or waits; a taker that was killed has at most those of one step, which
/// it could not write down.
pub(crate) fn each_once(all: &mut [u32], posted: u32, most_lost: u64, seed: u64) {
    all.sort_unstable();
    assert!(
        all.windows(2).all(|two| two[0] < two[1]),
        "seed {seed}: one is doubled of {all:?}"
    );
    assert!(all.iter().all(|item| (1..=posted).contains(item)));
    let lost = u64::from(posted) - all.len() as u64;
    assert!(
        lost <= most_lost,
        "seed {seed}: {lost} of {posted} are lost, and {most_lost} may be: {all:?}"
    );
}

#[test]
fn sem_g221_each_item_is_taken_once_by_takers_that_compete_whatever_links_do() {
    (0..100).for_each(program);
}

#[test]
#[ignore = "takes minutes: cargo xtask deep"]
fn deep_sem_g221_each_item_is_taken_once_by_takers_that_compete_whatever_links_do() {
    (100..10_000).for_each(program);
}

/// What takers ask, and what owners answer, as these go over a link.
#[derive(Deserialize)]
enum Asked {
    #[expect(dead_code, reason = "what it says is of no use here")]
    Ready(String, u64),
    #[expect(dead_code, reason = "what it says is of no use here")]
    Reserve((u64, u64), u64),
    #[expect(dead_code, reason = "what it says is of no use here")]
    Settle((u64, u64), bool),
}

#[derive(Serialize)]
enum Answered {
    Ready(String),
    Reserved(Vec<Vec<u8>>),
}

#[test]
fn sem_g562_the_owner_of_a_port_does_not_choose_whom_its_takers_call() {
    let net = Net::new(9);
    let (owner, other, taker) = (
        net.node("owner", 1),
        net.node("other", 1),
        net.node("taker", 1),
    );
    let (asked, secret) = (Port::<Request<Asked, Answered>>::new(), Port::new());
    let serves = owner.serve("a/.port", &asked).unwrap();
    let kept = other.serve("secret", &secret).unwrap();
    let elsewhere = other.serve("a/.portal/x", &secret).unwrap();
    net.replay.run();
    let port = Arc::new(taker.remote_port::<u32>("a").unwrap());
    for key in ["secret", "a/.portal/x", "a/.port"] {
        let (port, told) = (Arc::clone(&port), Log::new());
        let log = told.clone();
        spawn(&net.queue("taker"), async move {
            log.push(port.recv().await);
        })
        .unwrap();
        net.replay.run();
        let request = asked.test().expect("the question whether there is an item");
        request.answer(&Answered::Ready(key.to_owned()));
        net.replay.run();
        let told = told.take();
        let is_refused = matches!(
            told[..],
            [Err(TakeError::Call(_, CallError::Unreadable(_)))]
        );
        assert!(is_refused && asked.test().is_none(), "{key}: {told:?}");
    }
    let request: Option<Request<Asked, Answered>> = secret.test();
    assert!(request.is_none());
    drop((serves, kept, elsewhere));
}

#[test]
fn sem_g221_a_step_that_waits_for_a_slow_owner_gives_items_of_others_back() {
    let net = Net::new(10);
    let (owner, slow, taker) = (
        net.node("owner", 1),
        net.node("slow", 1),
        net.node("taker", 1),
    );
    let (a, asked) = (Port::new(), Port::<Request<Asked, Answered>>::new());
    let exported = owner.export("a", &a).unwrap();
    let serves = slow.serve("b/.port", &asked).unwrap();
    let reserves = slow.serve("b/.port/own", &asked).unwrap();
    net.replay.run();
    let (one, other) = (
        taker.remote_port::<u32>("a").unwrap(),
        taker.remote_port::<u32>("b").unwrap(),
    );
    spawn(&net.queue("taker"), async move {
        drop(take_all((&one, &other)).await);
    })
    .unwrap();
    a.post(1_u32).unwrap();
    net.replay.run_for(Duration::from_secs(1));
    let request = asked.test().expect("the question whether there is an item");
    request.answer(&Answered::Ready("b/.port/own".to_owned()));
    net.replay.run_for(Duration::from_secs(1));
    assert_eq!(a.item_count(), 0, "it is reserved");
    let reserve = asked.test().expect("the question for an item");
    net.replay.run_for(Duration::from_secs(30));
    assert!(!reserve.is_wanted());
    assert_eq!(a.items(), [1]);
    net.replay.run_for(Duration::from_secs(1));
    let later = std::iter::from_fn(|| asked.test());
    let begins_again = later.filter(|request| matches!(request.value, Asked::Ready(..)));
    assert_eq!(begins_again.count(), 1);
    drop((exported, serves, reserves));
}

#[test]
fn sem_g221_who_has_an_owner_that_hangs_is_in_doubt_though_their_link_works() {
    let net = Net::new(11);
    let (owner, taker) = (net.node("owner", 1), net.node("taker", 1));
    let asked = Port::<Request<Asked, Answered>>::new();
    let serves = owner.serve("a/.port", &asked).unwrap();
    let reserves = owner.serve("a/.port/own", &asked).unwrap();
    net.replay.run();
    let (port, told) = (taker.remote_port::<u32>("a").unwrap(), Log::new());
    let log = told.clone();
    spawn(&net.queue("taker"), async move {
        log.push(port.recv().await);
    })
    .unwrap();
    let ready = Answered::Ready("a/.port/own".to_owned());
    for answer in [ready, Answered::Reserved(vec![vec![7]])] {
        net.replay.run_for(Duration::from_secs(1));
        asked.test().expect("a question").answer(&answer);
    }
    net.replay.run_for(Duration::from_secs(1));
    let settle = asked.test().expect("that it takes the item");
    assert!(matches!(settle.value, Asked::Settle(..)));
    net.replay.run_for(Duration::from_secs(28));
    assert!(settle.is_wanted());
    net.replay.run_for(Duration::from_secs(2));
    let told = told.take();
    assert!(matches!(told[..], [Err(TakeError::InDoubt(_))]), "{told:?}");
    drop((serves, reserves));
}
