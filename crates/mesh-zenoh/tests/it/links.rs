//! What comes over links.

use crate::nodes::{Member, config, first, member, reaches, until};
use motet_dispatch::{Dispatcher, Inline, QueueConfig};
use motet_mesh::{CallError, PeerChange, Qos, Request, Sample, SubscribeConfig};
use motet_mesh_zenoh::{MeshJoinError, RunKey, Zenoh, ZenohConfig};
use motet_ports::{Overflow, Port, PortConfig, Receive, wait_blocking};
use motet_sync::Mutex;
use motet_testkit::Log;
use std::sync::Arc;
use std::time::Duration;
use zenoh::Wait;

#[test]
fn sem_g240_samples_of_any_size_come_whole_in_order_and_without_loss() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let b = member(&config("b", &key, &a));
    let port = PortConfig {
        capacity: 4.try_into().ok(),
        overflow: Overflow::Wait,
    };
    let samples = b
        .node
        .subscribe::<Vec<u8>>(
            "n/*",
            &SubscribeConfig {
                port,
                window: 8,
                ..SubscribeConfig::default()
            },
        )
        .unwrap();
    let changes = b.node.peer_changes();
    let topic = a.node.topic::<Vec<u8>>("n/1", Qos::reliable(16)).unwrap();
    until("the subscriber comes", || topic.subscribers().len() == 1);
    let sizes = [0, 1, 64, 40_000, 1 << 20];
    let publisher = motet_sync::thread::spawn_named("publisher", move || {
        for n in 0..50_usize {
            let value = vec![n as u8; sizes[n % sizes.len()]];
            wait_blocking(topic.publish_wait(value)).unwrap().unwrap();
        }
        topic
    })
    .unwrap();
    for n in 0..50_usize {
        let sample = samples.port().recv_blocking().unwrap();
        let told = changes.items();
        assert_eq!(
            (sample.number, sample.gap),
            (n as u64 + 1, None),
            "{told:?}"
        );
        assert_eq!(*sample.value, vec![n as u8; sizes[n % sizes.len()]]);
    }
    let topic = publisher.join().unwrap();
    until("all is accepted", || topic.subscribers()[0].in_flight == 0);
    assert_eq!(samples.missed(), 0);
}

#[test]
fn sem_g585_what_a_busy_node_does_not_take_waits_and_comes_when_it_goes_on() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let carrier = Zenoh::open(&config("b", &key, &a)).unwrap();
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("node"));
    let node = carrier.join(Arc::new(queue.clone()));
    let all = SubscribeConfig {
        window: 64,
        ..SubscribeConfig::default()
    };
    let samples = node.subscribe::<Vec<u8>>("n", &all).unwrap();
    let topic = a.node.topic::<Vec<u8>>("n", Qos::reliable(64)).unwrap();
    until("the subscriber comes", || topic.subscribers().len() == 1);
    let changes = a.node.peer_changes();
    topic.publish(Vec::new()).unwrap();
    assert_eq!(samples.port().recv_blocking().unwrap().number, 1);
    dispatcher.wait_idle();
    queue.suspend();
    // Several times what may wait.
    for n in 0..64_u8 {
        topic.publish(vec![n; 64 << 10]).unwrap();
    }
    assert_eq!(samples.port().item_count(), 0);
    queue.resume();
    for n in 0..64_u8 {
        let sample = samples.port().recv_blocking().unwrap();
        assert_eq!((sample.gap, sample.value[0]), (None, n));
    }
    let told: Vec<_> = std::iter::from_fn(|| changes.test()).collect();
    let broken = told.iter().find(|it| matches!(it, PeerChange::Down(..)));
    assert_eq!(broken, None);
}

#[test]
fn sem_g241_three_nodes_find_each_other_by_one_address_and_call() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let (b, c) = (
        member(&config("b", &key, &a)),
        member(&config("c", &key, &a)),
    );
    until("b and c meet", || reaches(&b, "c") && reaches(&c, "b"));
    let port = Port::<Request<u32, u32>>::new();
    let _server = c.node.serve("square", &port).unwrap();
    let answers = motet_sync::thread::spawn_named("server", move || {
        let request = port.recv_blocking().unwrap();
        let n = request.value;
        request.answer(&(n * n));
    })
    .unwrap();
    until("b knows the server", || {
        b.node.peers().iter().any(|peer| !peer.servers.is_empty())
    });
    let answer: Result<u32, CallError> = wait_blocking(b.node.call("square", &9_u32)).unwrap();
    assert_eq!(answer, Ok(81));
    answers.join().unwrap();
}

#[test]
fn sem_g241_nodes_meet_in_a_folder_without_addresses_or_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| ZenohConfig {
        rendezvous: Some(folder.path().join("meet")),
        ..ZenohConfig::named(name)
    };
    let (a, b) = (member(&at("a")), member(&at("b")));
    until("they meet", || reaches(&a, "b") && reaches(&b, "a"));
    let c = member(&at("c"));
    until("the third comes", || reaches(&c, "a") && reaches(&c, "b"));
    drop((a, b, c));
    let left: Vec<_> = std::fs::read_dir(folder.path().join("meet"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["mesh.key"]);
}

#[test]
fn sem_g242_who_leaves_is_missed_at_once_and_comes_back_as_another() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let changes = a.node.peer_changes();
    let next = || changes.recv_blocking().unwrap();
    let b = member(&config("b", &key, &a));
    assert!(matches!(next(), PeerChange::Up(_)));
    drop(b);
    assert!(matches!(next(), PeerChange::Down(..)));
    let _b = member(&config("b", &key, &a));
    assert!(matches!(next(), PeerChange::Restarted(_)));
    assert!(matches!(next(), PeerChange::Up(_)));
}

#[test]
fn sem_g494_who_leaves_says_what_it_has_accepted_though_that_waited_for_other_frames() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let changes = a.node.peer_changes();
    let topic = a.node.topic::<u32>("n", Qos::acknowledged(64)).unwrap();
    for round in 0..10 {
        let b = member(&config("b", &key, &a));
        let all = SubscribeConfig::default();
        let samples = b.node.subscribe::<u32>("n", &all).unwrap();
        until("the subscriber comes", || topic.subscribers().len() == 1);
        for n in 0..8 {
            topic.publish(n).unwrap();
        }
        for n in 0..8 {
            assert_eq!(*samples.port().recv_blocking().unwrap().value, n);
        }
        drop(samples);
        drop(b);
        while !matches!(changes.recv_blocking().unwrap(), PeerChange::Down(..)) {}
        assert!(topic.subscribers().is_empty(), "round {round}: it is kept");
        assert_eq!(topic.losses().test(), None, "round {round}");
    }
}

#[test]
fn sem_g242_a_name_that_somebody_else_shows_breaks_no_link_and_keeps_nobody_out() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let b = member(&config("b", &key, &a));
    let c = member(&config("c", &key, &a));
    until("all meet", || reaches(&a, "b") && reaches(&a, "c"));
    let changes = a.node.peer_changes();
    let token = token_of(&a, "b");
    let (of_b, proof) = token.rsplit_once('/').unwrap();
    let own = token_of(&a, "c");
    let (_, own_proof) = own.rsplit_once('/').unwrap();
    // As of other starts of b, and of this one with another proof: that one goes at once.
    let forged = format!("{of_b}/{own_proof}");
    let liveliness = c.carrier.session().liveliness();
    drop(liveliness.declare_token(forged).wait().unwrap());
    let shown = ["00000000000000aa", "ffffffffffffffaa"].map(|incarnation| {
        let token = format!("motet/4/node/b/{incarnation}/{proof}");
        let liveliness = c.carrier.session().liveliness();
        liveliness.declare_token(token).wait().unwrap()
    });
    // One who comes after them has seen them when it has seen what comes after them.
    let d = member(&config("d", &key, &a));
    until("one that comes later meets all", || {
        reaches(&d, "a") && reaches(&d, "b") && reaches(&d, "c") && reaches(&b, "d")
    });
    let told: Vec<_> = std::iter::from_fn(|| changes.test()).collect();
    let broken = told.iter().find(|it| matches!(it, PeerChange::Down(..)));
    assert_eq!(broken, None);
    drop(b);
    until("b is gone", || !reaches(&a, "b") && !reaches(&d, "b"));
    let b = member(&config("b", &key, &a));
    until("b is back", || reaches(&a, "b") && reaches(&d, "b"));
    drop((b, shown));
}

/// The token of a node, as this one sees it.
fn token_of(by: &Member, name: &str) -> String {
    let liveliness = by.carrier.session().liveliness();
    let tokens = liveliness.get(format!("motet/4/node/{name}/*/*"));
    let tokens = tokens.wait().unwrap();
    let token = tokens.iter().find_map(|reply| {
        let sample = reply.result().ok()?;
        Some(sample.key_expr().as_str().to_owned())
    });
    token.unwrap()
}

#[test]
fn sem_g586_what_an_earlier_start_has_shown_keeps_nobody_from_the_last_one() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let b = member(&config("b", &key, &a));
    let c = member(&config("c", &key, &a));
    until("all meet", || {
        reaches(&a, "b") && reaches(&c, "b") && reaches(&a, "c")
    });
    let earlier = token_of(&a, "b");
    drop(b);
    until("b is gone", || !reaches(&a, "b"));
    let b = member(&config("b", &key, &a));
    until("b is back", || reaches(&a, "b"));
    let liveliness = c.carrier.session().liveliness();
    let shown = liveliness.declare_token(earlier).wait().unwrap();
    let d = member(&config("d", &key, &a));
    until("one that comes later meets all", || {
        reaches(&d, "a") && reaches(&d, "b") && reaches(&d, "c") && reaches(&b, "d")
    });
    drop(shown);
}

#[test]
fn sem_g243_a_name_that_a_node_has_is_refused() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let b = member(&config("b", &key, &a));
    until("they meet", || reaches(&a, "b"));
    let again = ZenohConfig {
        silence: Duration::from_millis(500),
        ..config("b", &key, &a)
    };
    let refused = Zenoh::open(&again).unwrap_err();
    assert!(matches!(refused, MeshJoinError::Taken(name) if name == "b"));
    assert!(reaches(&a, "b"), "the first one stays");
    drop(b);
}

#[test]
fn sem_g243_a_token_with_a_pattern_in_place_of_a_name_keeps_nobody_out() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let liveliness = a.carrier.session().liveliness();
    let shown = liveliness
        .declare_token("motet/4/node/*/0/0")
        .wait()
        .unwrap();
    let b = member(&config("b", &key, &a));
    until("they meet", || reaches(&a, "b") && reaches(&b, "a"));
    drop(shown);
}

#[test]
fn sem_g569_a_node_that_comes_after_many_names_that_somebody_makes_up_meets_all() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let b = member(&config("b", &key, &a));
    until("they meet", || reaches(&a, "b"));
    let changes = a.node.peer_changes();
    let liveliness = b.carrier.session().liveliness();
    // More than are tried at once.
    let shown = (0..700).map(|n| {
        let token = format!("motet/4/node/x{n}/{n:016x}/AAAA");
        liveliness.declare_token(token).wait().unwrap()
    });
    let shown: Vec<_> = shown.collect();
    let d = member(&config("d", &key, &a));
    until("one that comes later meets all", || {
        reaches(&d, "a") && reaches(&d, "b") && reaches(&a, "d") && reaches(&b, "d")
    });
    let told: Vec<_> = std::iter::from_fn(|| changes.test()).collect();
    let broken = told.iter().find(|it| matches!(it, PeerChange::Down(..)));
    assert_eq!(broken, None);
    drop(shown);
}

/// Tells the name of the thread that drops it.
struct DroppedBy(Log<String>);

impl Drop for DroppedBy {
    fn drop(&mut self) {
        let thread = motet_sync::thread::current();
        self.0.push(thread.name().unwrap_or_default().to_owned());
    }
}

#[test]
fn a_handler_on_the_thread_that_brings_a_sample_may_drop_its_node() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let carrier = Zenoh::open(&config("b", &key, &a)).unwrap();
    let dispatcher = Dispatcher::new(1);
    let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::named("node"))));
    let samples = node
        .subscribe::<u32>("n", &SubscribeConfig::default())
        .unwrap();
    let (closed_by, port) = (Log::new(), samples.port().clone());
    let dropped = DroppedBy(closed_by.clone());
    let callback = move |_: zenoh::sample::Sample| {
        // It goes with the session.
        let _ = &dropped;
    };
    let session = carrier.session();
    session
        .declare_subscriber("other/key")
        .callback(callback)
        .background()
        .wait()
        .unwrap();
    let all = Mutex::new(Some((samples, node, carrier)));
    let drops = move |_: Sample<u32>| {
        let all = all.lock().take();
        drop(all);
    };
    Receive::persistent(&port, drops)
        .activate(&Inline::new("here"))
        .unwrap();
    let topic = a.node.topic::<u32>("n", Qos::reliable(4)).unwrap();
    until("the subscriber comes", || topic.subscribers().len() == 1);
    topic.publish(1).unwrap();
    until("the session ends", || !closed_by.is_empty());
    // zenoh would wait for its own thread.
    let closed_by = closed_by.take();
    assert!(!closed_by[0].contains("rx"), "{closed_by:?}");
    until("the other sees it go", || !reaches(&a, "b"));
}
