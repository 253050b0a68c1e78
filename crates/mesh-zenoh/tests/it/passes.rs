//! Nodes that have a pass in place of the key.

use crate::nodes::{Member, config, first, member, reaches, until};
use motet_mesh::{Deed, Key, MeshError, MeshRights, PeerChange, Qos, SubscribeConfig};
use motet_mesh_zenoh::{
    KeyFileError, MeshJoinError, MeshPass, MeshPassConfig, RunKey, Zenoh, ZenohConfig,
};
use std::time::{Duration, Instant};

fn rights(publish: &[&str], subscribe: &[&str]) -> MeshRights {
    let keys = |filters: &[&str]| filters.iter().map(|it| Key::new(it).unwrap()).collect();
    MeshRights::only(keys(publish), keys(subscribe))
}

fn pass(key: &RunKey, name: &str, rights: MeshRights, lasts: Option<Duration>) -> MeshPass {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pass");
    let name = name.to_owned();
    let config = MeshPassConfig {
        name,
        rights,
        lasts,
    };
    MeshPass::make(key, &config, &path).unwrap();
    // As another machine gets it.
    MeshPass::read(&path).unwrap()
}

fn by_pass(pass: MeshPass, to: &Member) -> ZenohConfig {
    ZenohConfig {
        known: to.carrier.addresses().to_vec(),
        ..ZenohConfig::with_pass(pass)
    }
}

#[test]
fn sem_g561_a_node_joins_by_a_pass_and_does_what_it_says() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let may = rights(&["camera/**"], &["steer/*"]);
    let b = member(&by_pass(pass(&key, "b", may.clone(), None), &a));
    let quiet = SubscribeConfig::default();
    let pictures = a.node.subscribe::<u32>("camera/*", &quiet).unwrap();
    let steered = b.node.subscribe::<u32>("steer/*", &quiet).unwrap();
    let camera = b
        .node
        .topic::<u32>("camera/left", Qos::reliable(4))
        .unwrap();
    let steer = a.node.topic::<u32>("steer/b", Qos::reliable(4)).unwrap();
    until("both have met", || {
        camera.subscribers().len() == 1 && steer.subscribers().len() == 1
    });
    camera.publish(5).unwrap();
    steer.publish(6).unwrap();
    assert_eq!(*pictures.port().recv_blocking().unwrap().value, 5);
    assert_eq!(*steered.port().recv_blocking().unwrap().value, 6);
    let here = a.node.peers().remove(0);
    assert_eq!(
        (here.name.as_str(), here.rights, here.refused),
        ("b", may, 0)
    );
    assert!(b.node.peers()[0].rights.is_all());
    let error = b
        .node
        .topic::<u32>("steer/b", Qos::reliable(4))
        .unwrap_err();
    assert!(matches!(error, MeshError::NotAllowed(no) if no.deed == Deed::Publish));
    // Two that have passes meet, too, and one that has the key comes by one of them.
    let viewer = pass(&key, "c", rights(&[], &["camera/left"]), None);
    let c = member(&by_pass(viewer, &a));
    let seen = c.node.subscribe::<u32>("camera/left", &quiet).unwrap();
    until("passes meet", || camera.subscribers().len() == 2);
    camera.publish(7).unwrap();
    assert_eq!(*seen.port().recv_blocking().unwrap().value, 7);
    let d = member(&config("d", &key, &b));
    until("it meets all", || reaches(&d, "a") && reaches(&d, "c"));
}

#[test]
fn sem_g561_a_pass_of_another_mesh_or_one_that_has_ended_lets_nobody_in() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let all = || rights(&["**"], &["**"]);
    let other = RunKey::random().unwrap();
    let stranger = member(&by_pass(pass(&other, "b", all(), None), &a));
    let ended = pass(&key, "c", all(), Some(Duration::ZERO));
    let error = Zenoh::open(&by_pass(ended, &a)).unwrap_err();
    assert!(
        matches!(&error, MeshJoinError::PassEnded(name) if name == "c"),
        "{error}"
    );
    let _ = motet_sync::Parker::new().park_timeout(Duration::from_secs(1));
    assert!(stranger.node.peers().is_empty() && a.node.peers().is_empty());
    let friend = member(&by_pass(pass(&key, "b", all(), None), &a));
    until("the right one comes", || reaches(&friend, "a"));
}

#[test]
fn sem_g564_a_node_whose_pass_ends_while_it_is_there_is_told_as_down() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let told = a.node.peer_changes();
    // A machine that is busy may take longer to let it in than its pass lasts.
    for lasts in [5, 20, 80].map(Duration::from_secs) {
        let (may, begin) = (rights(&["x"], &["x"]), Instant::now());
        let b = member(&by_pass(pass(&key, "b", may, Some(lasts)), &a));
        let told_itself = b.node.peer_changes();
        let is_up = |change: PeerChange| matches!(change, PeerChange::Up(_));
        let mut came = false;
        while !came && begin.elapsed() < lasts {
            let _ = motet_sync::Parker::new().park_timeout(Duration::from_millis(5));
            came = told.test().is_some_and(is_up);
        }
        if came {
            let is_down = |change: PeerChange| matches!(change, PeerChange::Down(..));
            until("it goes by itself", || told.test().is_some_and(is_down));
            until("it knows, too", || !reaches(&b, "a"));
            until("it is told why", || {
                told_itself.test().is_some_and(|change| {
                    let PeerChange::Down(name, why) = change else {
                        return false;
                    };
                    name.as_str() == "b" && why.contains("needs a new pass")
                })
            });
            assert!(!reaches(&a, "b"));
            return;
        }
    }
    panic!("it does not come");
}

#[test]
fn sem_g561_a_node_has_one_way_in_and_the_name_of_its_pass() {
    let key = RunKey::random().unwrap();
    let pass = pass(&key, "b", rights(&["x"], &[]), None);
    let opened = |config: ZenohConfig| Zenoh::open(&config).unwrap_err();
    let both = ZenohConfig {
        key: Some(key),
        ..ZenohConfig::with_pass(pass.clone())
    };
    assert!(matches!(opened(both), MeshJoinError::KeyAndPass));
    let other = ZenohConfig {
        name: "c".to_owned(),
        ..ZenohConfig::with_pass(pass)
    };
    let error = opened(other);
    assert!(matches!(error, MeshJoinError::PassOfAnother(..)), "{error}");
}

#[cfg(unix)]
#[test]
fn sem_g565_a_pass_file_is_the_owners_alone_and_none_is_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.pass");
    let key = RunKey::random().unwrap();
    let config = |name: &str, filters: usize| MeshPassConfig {
        name: name.to_owned(),
        rights: MeshRights::only(
            vec![Key::new(&"a".repeat(1_000)).unwrap(); filters],
            Vec::new(),
        ),
        lasts: None,
    };
    MeshPass::make(&key, &config("b", 1), &path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = MeshPass::make(&key, &config("b", 1), &path).unwrap_err();
    assert!(matches!(error, KeyFileError::Exists(_)), "{error}");
    for (name, filters) in [("a/b", 1), ("", 1), ("b", 9)] {
        let other = folder.path().join("other.pass");
        let error = MeshPass::make(&key, &config(name, filters), &other).unwrap_err();
        assert!(matches!(error, KeyFileError::Grant(_)), "{error}");
        assert!(!other.exists());
    }
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let error = MeshPass::read(&path).unwrap_err();
    assert!(matches!(error, KeyFileError::Open(_, 0o640)), "{error}");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::write(&path, "no pass").unwrap();
    let error = MeshPass::read(&path).unwrap_err();
    assert!(
        error.to_string().contains("motet mesh keys pass"),
        "{error}"
    );
}
