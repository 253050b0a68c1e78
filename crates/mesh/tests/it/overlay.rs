//! Members that keep values together, under kills, cuts and restarts.

use crate::nodes::Net;
use motet_dispatch::{Causality, Enqueue, QueueConfig};
use motet_mesh::{
    MAX_VALUE, Member, MemberChange, Node, Overlay, OverlayConfig, OverlayError, PeerName, Room,
};
use motet_testkit::{Log, Random};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// A network of members, by name.
struct Members {
    net: Net,
    live: Vec<(String, Overlay)>,
    incarnation: u64,
    /// What all nodes run on; `None`: each on a queue of its own. The order of a replay takes as
    /// long as there are queues.
    queue: Option<Arc<dyn Enqueue>>,
}

impl Members {
    fn new(seed: u64, count: usize) -> Members {
        let net = Net::new(seed);
        Members::on_queue(net, None, count)
    }

    fn on_queue(net: Net, queue: Option<Arc<dyn Enqueue>>, count: usize) -> Members {
        let mut members = Members {
            net,
            live: Vec::new(),
            incarnation: 0,
            queue,
        };
        for n in 0..count {
            members.start(&format!("m{n:03}"));
        }
        members.settle();
        members
    }

    fn start(&mut self, name: &str) {
        self.start_with(name, OverlayConfig::default());
    }

    fn start_with(&mut self, name: &str, config: OverlayConfig) {
        self.incarnation += 1;
        let carrier = self.net.network.carrier(name);
        let queue = self.queue.clone().unwrap_or_else(|| self.net.queue(name));
        let node = Node::join(&carrier, self.incarnation, queue);
        let overlay = Overlay::join(&node, "o", config).unwrap();
        self.live.push((name.to_owned(), overlay));
        self.live.sort_by(|a, b| a.0.cmp(&b.0));
    }

    /// The process of the member ends at once.
    fn kill(&mut self, at: usize) -> String {
        let (name, overlay) = self.live.remove(at);
        self.net.network.kill(&name);
        drop(overlay);
        name
    }

    fn settle(&self) {
        self.net.replay.run();
    }

    /// What a task of this member comes to.
    fn on<R: Send + 'static, F: Future<Output = R> + Send>(
        &self,
        at: usize,
        body: impl FnOnce(Overlay) -> F + Send + 'static,
    ) -> R {
        let (log, overlay) = (Log::new(), self.live[at].1.clone());
        let told = log.clone();
        let task = async move { told.push(body(overlay).await) };
        motet_dispatch::spawn(&self.net.queue("task"), task).unwrap();
        self.settle();
        log.take().pop().expect("the task comes to its end")
    }

    fn put(&self, at: usize, key: &str, value: u32) -> usize {
        let key = key.to_owned();
        let put = move |overlay: Overlay| async move { overlay.put(&key, &value).await };
        self.on(at, put).expect("the key has holders").copies
    }

    fn get(&self, at: usize, key: &str) -> Option<u32> {
        let key = key.to_owned();
        let get = move |overlay: Overlay| async move { overlay.get::<u32>(&key).await };
        self.on(at, get).expect("the key has holders")
    }

    fn names(&self) -> Vec<PeerName> {
        let names = self.live.iter().map(|(name, _)| PeerName::new(name));
        names.collect()
    }
}

#[test]
fn sem_g230_members_know_who_comes_says_something_and_goes() {
    let mut members = Members::new(1, 3);
    let all = members.names();
    assert!(
        members
            .live
            .iter()
            .all(|(_, overlay)| overlay.members() == all)
    );
    let changes = members.live[0].1.changes();
    members.live[1].1.say("away");
    members.settle();
    let said = Member {
        name: all[1].clone(),
        status: "away".to_owned(),
    };
    assert_eq!(members.live[0].1.presence()[0], said);
    members.start("m009");
    members.settle();
    members.kill(2);
    members.settle();
    // A member that leaves while its node stays, and a node that was started again.
    let (_, left) = members.live.remove(1);
    drop(left);
    members.settle();
    members.start("m002");
    members.settle();
    members.net.network.cut("m000", "m009");
    members.settle();
    members.net.network.mend("m000", "m009");
    members.settle();
    let told: Vec<MemberChange> = std::iter::from_fn(|| changes.test()).collect();
    let name = |text: &str| PeerName::new(text);
    let went = |who: &str, why: &str| MemberChange::Went(name(who), why.to_owned());
    assert_eq!(
        told,
        [
            MemberChange::Says(name("m001"), "away".to_owned()),
            MemberChange::Came(name("m009")),
            went("m002", "the node was killed"),
            went("m001", "it has left"),
            MemberChange::Came(name("m002")),
            went("m009", "the link was cut"),
            MemberChange::Came(name("m009")),
        ]
    );
}

#[test]
fn sem_g230_a_member_whose_node_leaves_is_gone_while_its_link_stays() {
    let members = Members::new(13, 2);
    let node = members.net.node("z", 50);
    let overlay = Overlay::join(&node, "o", OverlayConfig::default()).unwrap();
    members.settle();
    for n in 0..10 {
        members.put(0, &format!("key/{n}"), n);
    }
    let changes = members.live[0].1.changes();
    node.leave();
    members.settle();
    let gone = MemberChange::Went(PeerName::new("z"), "it has left".to_owned());
    assert_eq!(changes.test(), Some(gone));
    assert_eq!(members.live[0].1.members(), members.names());
    let kept: usize = members.live.iter().map(|(_, overlay)| overlay.kept()).sum();
    assert_eq!(kept, 20, "two copies of each");
    drop(overlay);
}

#[test]
fn sem_g231_a_value_that_was_put_is_found_by_every_member_until_it_is_replaced_or_removed() {
    let members = Members::new(2, 7);
    for n in 0..40 {
        let (key, by) = (format!("part/{n}"), n as usize % 7);
        assert_eq!(members.put(by, &key, n), 2);
        assert_eq!(members.put((by + 3) % 7, &key, n + 100), 2);
        let holders = members.live[0].1.lookup(&key).unwrap();
        for at in 0..7 {
            assert_eq!(members.get(at, &key), Some(n + 100), "{key} at {at}");
            assert_eq!(members.live[at].1.lookup(&key).unwrap(), holders);
        }
    }
    let kept: usize = members.live.iter().map(|(_, overlay)| overlay.kept()).sum();
    assert_eq!(kept, 80, "two copies of each");
    let removed = members.on(5, |overlay: Overlay| async move {
        overlay.remove("part/7").await
    });
    assert_eq!(removed.unwrap().version.counter, 3);
    assert!((0..7).all(|at| members.get(at, "part/7").is_none()));
    assert_eq!(members.get(3, "never/put"), None);
}

#[test]
fn members_on_a_queue_that_has_room_for_one_task_keep_values() {
    let net = Net::new(15);
    let narrow = net.replay.queue(QueueConfig::bounded("narrow", 1));
    let members = Members::on_queue(net, Some(Arc::new(narrow)), 3);
    assert_eq!(members.put(0, "key", 7), 2);
    for at in 0..3 {
        assert_eq!(members.get(at, "key"), Some(7), "at {at}");
    }
}

#[test]
fn sem_g231_a_value_whose_holders_do_not_answer_is_not_said_to_be_missing() {
    let members = Members::new(14, 6);
    members.put(0, "key", 7);
    let (names, holders) = (members.names(), members.live[0].1.lookup("key").unwrap());
    let reader = (0..6).find(|at| !holders.contains(&names[*at])).unwrap();
    // The others are still asked, and have never had it.
    for holder in &holders {
        let network = &members.net.network;
        network.cut(names[reader].as_str(), holder.as_str());
    }
    let found = members.on(reader, |overlay: Overlay| async move {
        overlay.get::<u32>("key").await
    });
    assert!(
        matches!(&found, Err(OverlayError::NoAnswer { .. })),
        "{found:?}"
    );
}

#[test]
fn sem_g232_a_value_survives_while_one_of_its_holders_does_whoever_comes_and_goes() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut members = Members::new(seed, 6);
        let mut values = Vec::new();
        for step in 0..60_u32 {
            let at = random.below(members.live.len());
            match random.below(6) {
                0 if members.live.len() > 3 => {
                    members.kill(at);
                    members.settle();
                }
                1 => {
                    members.start(&format!("n{step:03}"));
                    members.settle();
                }
                2 if !values.is_empty() => {
                    let which = random.below(values.len());
                    values[which] = step;
                    members.put(at, &format!("key/{which}"), step);
                }
                _ => {
                    members.put(at, &format!("key/{}", values.len()), step);
                    values.push(step);
                }
            }
        }
        for (which, value) in values.iter().enumerate() {
            let at = random.below(members.live.len());
            let found = members.get(at, &format!("key/{which}"));
            assert_eq!(found, Some(*value), "seed {seed}, key/{which}");
        }
        let kept: usize = members.live.iter().map(|(_, overlay)| overlay.kept()).sum();
        assert_eq!(kept, 2 * values.len(), "seed {seed}: two copies of each");
    }
}

#[test]
fn sem_g232_when_a_third_is_killed_at_once_only_values_without_a_holder_are_lost() {
    let mut members = Members::new(3, 12);
    let keys: Vec<String> = (0..100).map(|n| format!("key/{n}")).collect();
    for (n, key) in keys.iter().enumerate() {
        members.put(n % 12, key, n as u32);
    }
    let holders: Vec<_> = keys
        .iter()
        .map(|key| members.live[0].1.lookup(key).unwrap())
        .collect();
    let killed: Vec<String> = [9, 7, 4, 1].map(|at| members.kill(at)).into();
    members.settle();
    let mut lost = 0;
    for ((n, key), holders) in keys.iter().enumerate().zip(holders) {
        let is_lost = holders
            .iter()
            .all(|holder| killed.iter().any(|name| name == holder.as_str()));
        let found = members.get(n % 8, key);
        assert_eq!(found, (!is_lost).then_some(n as u32), "{key}");
        lost += usize::from(is_lost);
    }
    assert!(
        (1..30).contains(&lost),
        "{lost}: both holders were among the four"
    );
}

#[test]
fn sem_g232_a_member_that_does_not_answer_holds_up_no_copies_of_others() {
    let mut members = Members::new(9, 1);
    for n in 0..40 {
        members.put(0, &format!("key/{n}"), n);
    }
    let queue = members.net.replay.queue(QueueConfig::named("a"));
    let carrier = members.net.network.carrier("a");
    let silent = Node::join(&carrier, 99, Arc::new(queue.clone()));
    let silent = Overlay::join(&silent, "o", OverlayConfig::default()).unwrap();
    // It is known to be a member, and nothing has come to it yet of what it is to hold.
    while members.live[0].1.members().len() < 2 {
        members.net.replay.run_for(Duration::from_micros(10));
    }
    queue.suspend();
    members.start("m001");
    members.settle();
    assert_eq!(silent.kept(), 0);
    assert!(members.live[1].1.kept() > 0, "it has its copies");
    queue.resume();
    members.settle();
    let kept = members.live.iter().map(|(_, overlay)| overlay.kept());
    assert_eq!(kept.sum::<usize>() + silent.kept(), 80);
}

#[test]
fn sem_g232_copies_are_made_when_who_has_put_a_value_is_cancelled() {
    let mut members = Members::new(10, 1);
    let order = Causality::new("order");
    for n in 0..20_u32 {
        let overlay = members.live[0].1.clone();
        let put = order.wrap(async move {
            overlay.put(&format!("key/{n}"), &n).await.unwrap();
        });
        motet_dispatch::spawn(&members.net.queue("task"), put).unwrap();
        members.settle();
    }
    order.cancel("the customer has gone");
    members.start("m001");
    members.start("m002");
    members.net.replay.run_for(Duration::from_secs(5));
    let kept: usize = members.live.iter().map(|(_, overlay)| overlay.kept()).sum();
    assert_eq!(kept, 40, "two copies of each");
}

#[test]
fn sem_g232_a_member_that_leaves_and_joins_again_gets_its_copies_again() {
    let members = Members::new(12, 1);
    let node = members.net.node("z", 50);
    let join = || Overlay::join(&node, "o", OverlayConfig::default()).unwrap();
    let first = join();
    members.settle();
    for n in 0..10 {
        assert_eq!(members.put(0, &format!("key/{n}"), n), 2);
    }
    assert_eq!(first.kept(), 10);
    drop(first);
    members.settle();
    let again = join();
    members.settle();
    assert_eq!(again.kept(), 10);
}

#[test]
fn sem_g233_two_halves_that_were_cut_apart_become_one_with_the_newer_values() {
    let members = Members::new(4, 8);
    for n in 0..30 {
        members.put(0, &format!("key/{n}"), n);
    }
    let names = members.names();
    let (left, right) = names.split_at(4);
    let pairs = || {
        left.iter()
            .flat_map(|a| right.iter().map(move |b| (a.as_str(), b.as_str())))
    };
    pairs().for_each(|(a, b)| members.net.network.cut(a, b));
    members.settle();
    assert_eq!(members.live[0].1.members(), left);
    for n in 0..10 {
        members.put(1, &format!("key/{n}"), 100 + n);
    }
    // Ten more, each written twice: newer than what the left half wrote once.
    for n in 5..15 {
        members.put(6, &format!("key/{n}"), 200 + n);
        members.put(7, &format!("key/{n}"), 300 + n);
    }
    pairs().for_each(|(a, b)| members.net.network.mend(a, b));
    members.settle();
    for n in 0..30 {
        let newest = match n {
            5..15 => 300 + n,
            0..5 => 100 + n,
            _ => n,
        };
        for at in 0..8 {
            assert_eq!(
                members.get(at, &format!("key/{n}")),
                Some(newest),
                "key/{n} at {at}"
            );
        }
    }
    let kept: usize = members.live.iter().map(|(_, overlay)| overlay.kept()).sum();
    assert_eq!(kept, 60);
}

#[test]
fn sem_g234_what_is_said_in_a_room_comes_once_to_each_who_is_in_it() {
    let mut members = Members::new(5, 5);
    let rooms: Vec<Room<(usize, u32)>> = members
        .live
        .iter()
        .map(|(_, overlay)| overlay.room("hall", 64).unwrap())
        .collect();
    members.settle();
    assert_eq!(rooms[2].present(), members.names());
    for n in 0..20 {
        for (who, room) in rooms.iter().enumerate() {
            room.say((who, n)).unwrap();
        }
        // A listener that stays away for longer than 30 s is given up.
        match n {
            5 => members.net.network.cut("m000", "m001"),
            12 => members.net.network.mend("m000", "m001"),
            _ => {}
        }
        members.net.replay.run_for(Duration::from_millis(10));
    }
    members.settle();
    for room in &rooms {
        let heard: Vec<_> = std::iter::from_fn(|| room.port().test()).collect();
        for who in 0..5 {
            let of = heard.iter().filter(|sample| sample.value.0 == who);
            let numbers: Vec<u32> = of.map(|sample| sample.value.1).collect();
            assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        }
    }
    let gone = members.kill(3);
    members.settle();
    assert!(!rooms[0].present().iter().any(|name| name.as_str() == gone));
}

#[test]
fn sem_g235_a_holder_without_room_is_told_again_when_members_change() {
    let mut members = Members::new(8, 2);
    let config = OverlayConfig {
        most_bytes: 1000,
        ..OverlayConfig::default()
    };
    let name = members.kill(1);
    members.start_with(&name, config);
    members.settle();
    let value = vec![7_u8; 2000];
    let put = members.on(0, |overlay: Overlay| async move {
        overlay.put("a", &value).await
    });
    assert_eq!(put.unwrap().copies, 1, "the other holder has no room");
    assert_eq!(members.live[1].1.kept(), 0);
    members.kill(1);
    members.start(&name);
    members.settle();
    assert_eq!(members.live[1].1.kept(), 1, "the new holder has room");
}

#[test]
fn sem_g235_what_was_removed_long_ago_takes_no_room() {
    let mut members = Members::new(11, 0);
    let config = OverlayConfig {
        most_bytes: 1000,
        keep_removed: Duration::from_secs(60),
        ..OverlayConfig::default()
    };
    members.start_with("small", config);
    members.settle();
    let remove = |members: &Members, key: String| {
        members.on(0, move |overlay: Overlay| async move {
            overlay.remove(&key).await.is_ok()
        })
    };
    assert!(
        !(0..100).all(|n| remove(&members, format!("key/{n}"))),
        "it is full"
    );
    members.net.replay.run_for(Duration::from_secs(61));
    assert_eq!(members.put(0, "new", 1), 1);
}

#[test]
fn sem_g235_what_an_overlay_cannot_do_is_an_error_that_says_why() {
    let mut members = Members::new(6, 1);
    let put = |members: &Members, key: &'static str, value: Vec<u8>| {
        members.on(0, move |overlay: Overlay| async move {
            overlay.put(key, &value).await.map(|stored| stored.copies)
        })
    };
    let is_key = |error: OverlayError| matches!(error, OverlayError::Key(_));
    assert!(is_key(put(&members, "a/*", vec![1]).unwrap_err()));
    let error = put(&members, "a", vec![0; MAX_VALUE]).unwrap_err();
    assert!(matches!(error, OverlayError::TooLarge { .. }), "{error}");
    assert_eq!(
        put(&members, "a", vec![0xff; 3]),
        Ok(1),
        "it is the one member"
    );
    let wrong = members.on(0, |overlay: Overlay| async move {
        overlay.get::<String>("a").await
    });
    let error = wrong.unwrap_err();
    assert!(matches!(error, OverlayError::Unreadable(_)), "{error}");
    members.kill(0);
    let config = OverlayConfig {
        most_bytes: 1000,
        ..OverlayConfig::default()
    };
    members.start_with("small", config);
    members.settle();
    let error = put(&members, "a", vec![0; 2000]).unwrap_err();
    assert!(matches!(&error, OverlayError::Full { member } if member.as_str() == "small"));
    let node = members.net.node("other", 9);
    assert!(is_key(
        Overlay::join(&node, "a b", OverlayConfig::default()).unwrap_err()
    ));
    node.leave();
    assert!(Overlay::join(&node, "o", OverlayConfig::default()).is_err());
}

/// So many members, all linked: a message in a room, values, and a third of them killed at once.
fn many(count: usize) {
    let net = Net::new(7);
    let queue = net.queue("all");
    let mut members = Members::on_queue(net, Some(queue), count);
    let all = members.names();
    assert!(
        members
            .live
            .iter()
            .all(|(_, overlay)| overlay.members() == all)
    );
    let rooms: Vec<Room<u32>> = members
        .live
        .iter()
        .step_by(10)
        .map(|(_, overlay)| overlay.room("hall", 4).unwrap())
        .collect();
    members.settle();
    rooms[0].say(1).unwrap();
    members.settle();
    for room in &rooms {
        let heard: Vec<u32> = std::iter::from_fn(|| room.port().test().map(|s| *s.value)).collect();
        assert_eq!(heard, [1]);
    }
    drop(rooms);
    let keys: Vec<String> = (0..100).map(|n| format!("key/{n}")).collect();
    let holders: Vec<_> = (0_u32..)
        .zip(&keys)
        .map(|(n, key)| {
            members.put(n as usize * 7 % count, key, n);
            members.live[0].1.lookup(key).unwrap()
        })
        .collect();
    let killed: Vec<String> = (0..count / 3)
        .map(|n| members.kill(count - 1 - 3 * n))
        .collect();
    members.settle();
    for ((n, key), holders) in (0_u32..).zip(&keys).zip(holders) {
        let is_killed = |holder: &PeerName| killed.iter().any(|name| name == holder.as_str());
        let is_lost = holders.iter().all(is_killed);
        let found = members.get(n as usize % members.live.len(), key);
        assert_eq!(found, (!is_lost).then_some(n), "{key}");
    }
}

#[test]
fn an_overlay_of_forty_members_holds_what_it_promises() {
    many(40);
}

/// Half a million links, in one process.
#[test]
#[ignore = "takes minutes; `cargo xtask deep` runs it"]
fn deep_an_overlay_of_a_thousand_members_holds_what_it_promises() {
    many(1000);
}
