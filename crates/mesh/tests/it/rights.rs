//! Members that may do some things only.

use crate::nodes::{Net, WrappedCarrier};
use motet_mesh::{
    CallError, Carrier, Deed, Key, LogConfig, MeshError, MeshRights, Node, NotAllowed, Overlay,
    OverlayConfig, PeerChange, PeerInfo, Qos, Request, SubscribeConfig, Subscription,
};
use motet_ports::Port;
use motet_testkit::Log;
use std::sync::Arc;

fn rights(publish: &[&str], subscribe: &[&str]) -> MeshRights {
    let keys = |filters: &[&str]| filters.iter().map(|it| Key::new(it).unwrap()).collect();
    MeshRights::only(keys(publish), keys(subscribe))
}

/// A node that takes itself for one that may do all. The others know better.
fn liar(net: &Net, name: &str, rights: MeshRights) -> Node {
    let carrier = WrappedCarrier::new(net.network.carrier_with(name, rights));
    let carrier: Arc<dyn Carrier> = Arc::new(carrier);
    Node::join(&carrier, 1, net.queue(name))
}

fn honest(net: &Net, name: &str, rights: MeshRights) -> Node {
    let carrier = net.network.carrier_with(name, rights);
    Node::join(&carrier, 1, net.queue(name))
}

/// Publisher, key and value of all that has come.
fn came(samples: &Subscription<u32>) -> Vec<(String, String, u32)> {
    let next = || samples.port().test();
    let all = std::iter::from_fn(next).map(|sample| {
        let (publisher, key) = (sample.publisher().to_string(), sample.key().to_string());
        (publisher, key, *sample.value)
    });
    let mut all: Vec<_> = all.collect();
    all.sort();
    all
}

fn known(of: &Node, name: &str) -> PeerInfo {
    let mut peers = of.peers().into_iter();
    peers.find(|peer| peer.name.as_str() == name).unwrap()
}

#[test]
fn sem_g562_what_a_peer_may_not_publish_does_not_come_and_both_are_told() {
    for seed in 0..20 {
        let net = Net::new(seed);
        let (v, full) = (net.node("v", 1), net.node("full", 1));
        let all = v
            .subscribe::<u32>("**", &SubscribeConfig::default())
            .unwrap();
        let told = v.peer_changes();
        let m = liar(&net, "m", rights(&["a/**"], &[]));
        let told_there = m.peer_changes();
        let of_full = full.topic::<u32>("c/x", Qos::reliable(4)).unwrap();
        let allowed = m.topic::<u32>("a/x", Qos::reliable(4)).unwrap();
        let classes = [
            Qos::latest(4).retaining(2),
            Qos::reliable(1),
            Qos::acknowledged(1),
        ];
        let refused = classes.map(|qos| m.topic::<u32>("c/x", qos).unwrap());
        for topic in &refused {
            let _ = topic.publish(6);
        }
        net.replay.run();
        for n in 0..3 {
            allowed.publish(n).unwrap();
            of_full.publish(10 + n).unwrap();
            for topic in &refused {
                // Nobody has a queue there that could be full.
                assert_eq!(topic.publish(66).unwrap().subscribers, 0);
            }
            net.replay.run();
        }
        let of = |who: &str, key: &str, n| (who.to_owned(), key.to_owned(), n);
        let expected = [
            of("full", "c/x", 10),
            of("full", "c/x", 11),
            of("full", "c/x", 12),
            of("m", "a/x", 0),
            of("m", "a/x", 1),
            of("m", "a/x", 2),
        ];
        assert_eq!(came(&all), expected, "seed {seed}");
        let m_here = known(&v, "m");
        assert_eq!((m_here.refused, m_here.rights.is_all()), (3, false));
        let is_meant = |it: &NotAllowed| {
            (it.node.as_str(), it.deed, it.key.as_str()) == ("m", Deed::Publish, "c/x")
        };
        let is_told =
            |change: &PeerChange| matches!(change, PeerChange::NotAllowed(it) if is_meant(it));
        let changes: Vec<_> = std::iter::from_fn(|| told.test()).collect();
        assert_eq!(changes.iter().filter(|it| is_told(it)).count(), 3);
        let there: Vec<_> = std::iter::from_fn(|| told_there.test()).collect();
        let of_v = |change: &PeerChange| {
            matches!(change, PeerChange::Mismatch(by, key, why)
                if by.as_str() == "v" && key == "c/x" && why.contains("--publish c/x"))
        };
        assert_eq!(there.iter().filter(|it| of_v(it)).count(), 3, "{there:?}");
        assert_eq!(known(&v, "full").refused, 0);
    }
}

#[test]
fn sem_g562_what_a_peer_may_not_subscribe_to_does_not_go_there() {
    for seed in 0..20 {
        let net = Net::new(seed);
        let (v, m) = (
            net.node("v", 1),
            liar(&net, "m", rights(&["**"], &["b/*", "d/**"])),
        );
        let (told, told_there) = (v.peer_changes(), m.peer_changes());
        let secret = v.topic::<u32>("c/x", Qos::latest(4).retaining(4)).unwrap();
        let open = v.topic::<u32>("b/x", Qos::reliable(4)).unwrap();
        secret.publish(1).unwrap();
        net.replay.run();
        let quiet = SubscribeConfig::default();
        let patterns = ["**", "c/x", "b/**", "*/x", "b/*", "d/*/y/**"];
        let samples = patterns.map(|pattern| m.subscribe::<u32>(pattern, &quiet).unwrap());
        net.replay.run();
        secret.publish(2).unwrap();
        open.publish(3).unwrap();
        // A topic that begins later finds what peers have asked for before.
        let later = v.topic::<u32>("c/later", Qos::reliable(4)).unwrap();
        net.replay.run();
        assert_eq!(later.publish(4).unwrap().subscribers, 0);
        net.replay.run();
        let counts = samples.each_ref().map(|it| came(it).len());
        assert_eq!(counts, [0, 0, 0, 0, 1, 0], "seed {seed}");
        assert!(secret.subscribers().is_empty());
        let m_here = known(&v, "m");
        let wanted: Vec<_> = m_here.subscriptions.iter().map(Key::as_str).collect();
        assert_eq!((m_here.refused, wanted), (4, vec!["b/*", "d/*/y/**"]));
        let refused = std::iter::from_fn(|| told.test())
            .filter(|it| matches!(it, PeerChange::NotAllowed(no) if no.deed == Deed::Subscribe));
        assert_eq!(refused.count(), 4);
        let there = std::iter::from_fn(|| told_there.test()).filter(
            |it| matches!(it, PeerChange::Mismatch(_, _, why) if why.contains("--subscribe")),
        );
        assert_eq!(there.count(), 4);
    }
}

type Square = Request<u32, u32>;

fn ask(net: &Net, node: &Node, key: &'static str) -> Log<Result<u32, CallError>> {
    let (node, log) = (node.clone(), Log::new());
    let told = log.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        told.push(node.call(key, &3_u32).await);
    })
    .unwrap();
    net.replay.run();
    log
}

/// Answers all requests that are there.
fn answer(port: &Port<Square>) -> usize {
    let requests = std::iter::from_fn(|| port.test());
    let answered = requests.map(|request| {
        let n = request.value;
        request.answer(&(n * n));
    });
    answered.count()
}

#[test]
fn sem_g562_calls_need_both_rights_at_both_ends() {
    for seed in 0..10 {
        let net = Net::new(seed);
        let v = net.node("v", 1);
        // Only d/** is in both lists.
        let m = liar(&net, "m", rights(&["d/**", "p/**"], &["d/**", "s/**"]));
        let (here, there) = (Port::<Square>::new(), Port::<Square>::new());
        let servers = ["d/v", "p/v", "s/v", "*/w"].map(|key| v.serve(key, &here).unwrap());
        let offers = ["d/m", "p/m", "s/m", "*/q"].map(|key| m.serve(key, &there).unwrap());
        net.replay.run();
        for key in ["p/v", "s/v", "d/w"] {
            let told = ask(&net, &m, key).take();
            let Some(Err(CallError::Failed(why))) = told.first() else {
                panic!("{key}: {told:?}");
            };
            assert!(why.contains("m may not call"), "{why}");
            assert_eq!(answer(&here), 0, "{key}");
        }
        let allowed = ask(&net, &m, "d/v");
        assert_eq!(answer(&here), 1);
        net.replay.run();
        assert_eq!(allowed.take(), [Ok(9)]);
        for key in ["p/m", "s/m", "d/q"] {
            let told = ask(&net, &v, key).take();
            assert!(
                matches!(told[..], [Err(CallError::NoResponder { .. })]),
                "{told:?}"
            );
        }
        let allowed = ask(&net, &v, "d/m");
        assert_eq!(answer(&there), 1);
        net.replay.run();
        assert_eq!(allowed.take(), [Ok(9)]);
        assert_eq!(known(&v, "m").refused, 6, "three offers and three calls");
        drop((servers, offers));
    }
}

#[test]
fn sem_g563_a_node_is_told_at_once_what_it_may_not_do() {
    let net = Net::new(1);
    let (v, m) = (
        net.node("v", 1),
        honest(&net, "m", rights(&["a/**"], &["b/*", "a/both/**"])),
    );
    let quiet = SubscribeConfig::default();
    let refused = |error: MeshError, deed: Deed, advice: &str| {
        let told = error.to_string();
        assert!(
            told.contains("m may not") && told.contains(advice),
            "{told}"
        );
        assert!(matches!(error, MeshError::NotAllowed(no) if no.deed == deed));
    };
    let error = m.topic::<u32>("b/x", Qos::latest(1)).unwrap_err();
    refused(error, Deed::Publish, "--publish b/x");
    let directory = std::env::temp_dir().join(format!("motet-no-log-{}", std::process::id()));
    let log = LogConfig::in_directory(&directory);
    let error = m.durable_topic::<u32>("b/x", Qos::durable(4), &log);
    refused(error.unwrap_err(), Deed::Publish, "--publish b/x");
    assert!(!directory.exists(), "no log is made");
    let error = m.subscribe::<u32>("b/**", &quiet).unwrap_err();
    refused(error, Deed::Subscribe, "--subscribe b/**");
    let port = Port::<Square>::new();
    let error = m.serve("a/x", &port).unwrap_err();
    refused(error, Deed::Serve, "--publish and --subscribe a/x");
    let error = m.export("b/x", &Port::<u32>::new()).unwrap_err();
    refused(error, Deed::Serve, "b/x/.port");
    let error = m.remote_port::<u32>("b/x").unwrap_err();
    refused(error, Deed::Call, "b/x/.port");
    let told = ask(&net, &m, "b/x").take();
    assert!(matches!(&told[..], [Err(CallError::NotAllowed(no))] if no.key == "b/x"));
    // A server of more than it may ask is not asked, and that is told.
    let wide = v.serve("**", &port).unwrap();
    net.replay.run();
    let told = ask(&net, &m, "a/both/x").take();
    assert!(matches!(&told[..], [Err(CallError::NotAllowed(no))] if no.key == "**"));
    drop(wide);
    assert!(m.topic::<u32>("a/x", Qos::latest(1)).is_ok());
    assert!(m.subscribe::<u32>("b/*", &quiet).is_ok());
    assert!(m.serve("a/both/*", &port).is_ok());
    assert!(m.export("a/both/x", &Port::<u32>::new()).is_ok());
    net.replay.run();
    assert_eq!((known(&v, "m").refused, m.rights().is_all()), (0, false));
}

#[test]
fn sem_g562_members_with_rights_to_an_overlay_are_of_it_and_others_are_not() {
    let net = Net::new(3);
    let only = rights(&["overlay/o/**"], &["overlay/o/**"]);
    let a = Overlay::join(&net.node("a", 1), "o", OverlayConfig::default()).unwrap();
    let node = honest(&net, "b", only);
    let b = Overlay::join(&node, "o", OverlayConfig::default()).unwrap();
    assert!(Overlay::join(&node, "other", OverlayConfig::default()).is_err());
    let stranger = liar(&net, "c", rights(&["x"], &["x"]));
    let c = Overlay::join(&stranger, "o", OverlayConfig::default()).unwrap();
    net.replay.run();
    let put = b.clone();
    let done = Log::new();
    let told = done.clone();
    motet_dispatch::spawn(&net.queue("puts"), async move {
        let copies = put.put("best", &7_u32).await.map(|outcome| outcome.copies);
        told.push(copies.ok());
    })
    .unwrap();
    net.replay.run_for(std::time::Duration::from_secs(10));
    assert_eq!(done.take(), [Some(2)]);
    assert_eq!((a.members().len(), b.members().len()), (2, 2));
    assert_eq!((a.kept(), b.kept(), c.kept()), (1, 1, 0));
}

#[test]
fn sem_g562_who_answers_under_the_keys_of_other_members_of_an_overlay_is_not_asked_for_them() {
    let net = Net::new(4);
    let a = Overlay::join(&net.node("a", 1), "o", OverlayConfig::default()).unwrap();
    let b = Overlay::join(&net.node("b", 1), "o", OverlayConfig::default()).unwrap();
    let m = liar(&net, "m", rights(&["overlay/o/**"], &["overlay/o/**"]));
    // What it does not read is refused.
    let port = Port::<Square>::new();
    let _server = m.serve("overlay/o/store/*", &port).unwrap();
    net.replay.run();
    let done = Log::new();
    let told = done.clone();
    motet_dispatch::spawn(&net.queue("puts"), async move {
        for n in 0..10_u32 {
            let copies = a.put("best", &n).await.map(|outcome| outcome.copies);
            told.push((copies.ok(), a.get::<u32>("best").await.ok().flatten()));
        }
    })
    .unwrap();
    net.replay.run_for(std::time::Duration::from_secs(10));
    let right: Vec<_> = (0..10).map(|n| (Some(2), Some(n))).collect();
    assert_eq!(done.take(), right);
    assert_eq!(b.kept(), 1);
}
