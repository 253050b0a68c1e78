//! Who does not get in.

use crate::nodes::{Member, config, first, member, reaches, until};
use motet_mesh::{Qos, SubscribeConfig};
use motet_mesh_zenoh::{KeyFileError, MeshJoinError, NotReached, RunKey, Zenoh, ZenohConfig};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A member that has the key still gets in, and hears what is published.
fn still_works(a: &Member, key: &RunKey) {
    let b = member(&config("friend", key, a));
    let samples = b
        .node
        .subscribe::<u32>("n", &SubscribeConfig::default())
        .unwrap();
    let topic = a.node.topic::<u32>("n", Qos::reliable(4)).unwrap();
    until("a friend comes", || topic.subscribers().len() == 1);
    topic.publish(5).unwrap();
    assert_eq!(*samples.port().recv_blocking().unwrap().value, 5);
}

/// Tries for a while, and in vain.
fn stays_out(a: &Member, stranger: &Member) {
    let _ = motet_sync::Parker::new().park_timeout(Duration::from_secs(2));
    assert!(stranger.node.peers().is_empty());
    assert!(!reaches(a, stranger.node.name().as_str()));
}

#[test]
fn sem_g244_who_has_another_key_stays_out() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let stranger = member(&config("stranger", &RunKey::random().unwrap(), &a));
    stays_out(&a, &stranger);
    still_works(&a, &key);
}

#[test]
fn sem_g244_whose_certificate_has_ended_stays_out() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let stranger = member(&ZenohConfig {
        lasts: Some(Duration::ZERO),
        ..config("stranger", &key, &a)
    });
    stays_out(&a, &stranger);
    still_works(&a, &key);
}

#[test]
fn sem_g244_who_speaks_no_tls_stays_out() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let address = &a.carrier.addresses()[0];
    for said in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0; 70_000],
        &[22, 3, 3, 255, 255],
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        // It may hang up while this writes.
        let _ = stream.write_all(said);
        let mut answer = Vec::new();
        let _ = stream.take(4096).read_to_end(&mut answer);
        assert!(answer.len() < 64, "an alert at most: {answer:?}");
    }
    still_works(&a, &key);
}

#[test]
fn sem_g244_a_session_of_zenoh_without_a_certificate_stays_out() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let address = &a.carrier.addresses()[0];
    for protocol in ["tcp", "tls"] {
        let mut config = zenoh::Config::default();
        let entries = [
            ("mode", "\"client\"".to_owned()),
            ("connect/endpoints", format!("[\"{protocol}/{address}\"]")),
            ("connect/timeout_ms", "500".to_owned()),
            ("scouting/multicast/enabled", "false".to_owned()),
        ];
        for (entry, value) in entries {
            config.insert_json5(entry, &value).unwrap();
        }
        assert!(
            zenoh::Wait::wait(zenoh::open(config)).is_err(),
            "{protocol} gets in"
        );
    }
    still_works(&a, &key);
}

#[test]
fn sem_g593_an_address_where_no_member_answers_is_told_with_why() {
    let key = RunKey::random().unwrap();
    let a = first("a", &key);
    let lost = member(&config("lost", &RunKey::random().unwrap(), &a));
    let why = |of: &Member, address: &str| {
        let known = of.carrier.known_addresses(&[address.to_owned()]);
        known.not_reached().pop().map(|(named, why)| {
            assert_eq!(named, address);
            why
        })
    };
    let there = a.carrier.addresses()[0].as_str();
    let other_key = why(&lost, there);
    assert!(
        matches!(other_key, Some(NotReached::NoMember)),
        "{other_key:?}"
    );
    let friend = member(&config("friend", &key, &a));
    until("a friend is let in", || reaches(&friend, "a"));
    assert!(why(&friend, there).is_none());
    for of in [&lost, &friend] {
        let closed = why(of, "127.0.0.1:1");
        assert!(
            matches!(closed, Some(NotReached::NoConnection(_))),
            "{closed:?}"
        );
        let unknown = why(of, "no-such-host.invalid:7450");
        assert!(
            matches!(unknown, Some(NotReached::NoHost(_))),
            "{unknown:?}"
        );
        assert!(why(of, &of.carrier.addresses()[0]).is_none(), "its own");
    }
    let known = lost.carrier.known_addresses(&["127.0.0.1:1".to_owned()]);
    drop(lost);
    until("it has left", || known.not_reached().is_empty());
}

#[test]
fn sem_g245_what_is_not_safe_does_not_start_and_says_what_to_do() {
    let refused = |config: &ZenohConfig| Zenoh::open(config).unwrap_err();
    let at = |address: &str| ZenohConfig {
        listen: vec![address.to_owned()],
        ..ZenohConfig::named("a")
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7450"] {
        let error = refused(&at(address));
        assert!(matches!(error, MeshJoinError::OpenWithoutKey(_)), "{error}");
        assert!(error.to_string().contains("motet mesh keys new"), "{error}");
    }
    for config in [
        ZenohConfig {
            multicast: true,
            ..ZenohConfig::named("a")
        },
        ZenohConfig {
            known: vec!["127.0.0.1:7450".to_owned()],
            ..ZenohConfig::named("a")
        },
    ] {
        assert!(matches!(refused(&config), MeshJoinError::PeersWithoutKey));
    }
    for name in ["", "a/b", "a b", "*", &"x".repeat(65)] {
        assert!(matches!(
            refused(&ZenohConfig::named(name)),
            MeshJoinError::Name(_)
        ));
    }
    for address in ["here", "127.0.0.1:70000", ":1", "a\"b:1"] {
        let error = refused(&at(address));
        assert!(
            matches!(error, MeshJoinError::Address(..)),
            "{address}: {error}"
        );
    }
    let wide = ZenohConfig {
        key: Some(RunKey::random().unwrap()),
        rendezvous: Some(std::env::temp_dir()),
        ..at("0.0.0.0:0")
    };
    assert!(matches!(refused(&wide), MeshJoinError::NotForRendezvous(_)));
}

#[test]
fn sem_g245_an_address_that_cannot_be_had_is_named_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let not_here = "192.0.2.1:7450".to_owned();
    let unknown = "no-such-host.invalid:7450".to_owned();
    for (address, advice) in [
        (taken, "another port"),
        (not_here, "doctor"),
        (unknown, "doctor"),
    ] {
        let error = Zenoh::open(&ZenohConfig {
            key: Some(RunKey::random().unwrap()),
            listen: vec![address.clone()],
            ..ZenohConfig::named("a")
        });
        let error = error.unwrap_err();
        let is_named = matches!(&error, MeshJoinError::Listen(named, _) if *named == address);
        assert!(is_named, "{error}");
        let told = error.to_string();
        assert!(told.contains(&address) && told.contains(advice), "{told}");
        assert!(!told.contains("zenoh"), "{told}");
    }
}

#[test]
fn sem_g245_a_silence_that_no_link_can_keep_is_refused() {
    for silence in [Duration::ZERO, Duration::from_secs(90_000), Duration::MAX] {
        let error = Zenoh::open(&ZenohConfig {
            silence,
            ..ZenohConfig::named("a")
        });
        let error = error.unwrap_err();
        assert!(matches!(error, MeshJoinError::Silence(_)), "{error}");
        assert!(error.to_string().contains("from 10 ms"), "{error}");
    }
}

#[test]
fn a_certificate_may_last_for_ever() {
    let config = ZenohConfig {
        lasts: Some(Duration::MAX),
        ..ZenohConfig::named("a")
    };
    let carrier = Zenoh::open(&config).unwrap();
    assert_eq!(carrier.addresses().len(), 1);
}

#[cfg(unix)]
#[test]
fn sem_g246_a_key_file_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.key");
    let key = RunKey::make(&path).unwrap();
    let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(RunKey::read(&path).unwrap() == key);
    assert!(matches!(RunKey::make(&path), Err(KeyFileError::Exists(_))));
    for open in [0o640, 0o604, 0o620, 0o666] {
        mode(open);
        let error = RunKey::read(&path).unwrap_err();
        assert!(matches!(error, KeyFileError::Open(_, found) if found == open));
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    mode(0o600);
    for content in ["", "abc", &"g".repeat(64), &"0".repeat(65), "\u{fffd}\n"] {
        std::fs::write(&path, content).unwrap();
        assert!(
            matches!(RunKey::read(&path), Err(KeyFileError::Content(_))),
            "{content:?}"
        );
    }
    std::fs::write(&path, [0xff; 64]).unwrap();
    assert!(matches!(RunKey::read(&path), Err(KeyFileError::Content(_))));
    let missing = RunKey::read(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, KeyFileError::File(..)));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let error = RunKey::read(folder.path()).unwrap_err();
    assert!(matches!(error, KeyFileError::Folder(_)), "{error}");
    assert!(!error.to_string().contains("chmod"), "{error}");
}

#[cfg(unix)]
#[test]
fn sem_g246_a_folder_that_others_may_write_to_is_no_rendezvous() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let config = ZenohConfig {
        rendezvous: Some(folder.path().to_owned()),
        ..ZenohConfig::named("a")
    };
    let error = Zenoh::open(&config).unwrap_err();
    assert!(
        matches!(error, MeshJoinError::RendezvousOpen(_, 0o777)),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn sem_g246_a_folder_of_another_user_is_no_rendezvous() {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::path::Path;
    let folder = tempfile::tempdir().unwrap();
    let me = folder.path().metadata().unwrap().uid();
    // Who may not give a folder away is not root, to whom this one belongs.
    let given = chown(folder.path(), Some(me + 1), None);
    let theirs = match given {
        Ok(()) => folder.path(),
        Err(_) => Path::new("/usr"),
    };
    let owner = theirs.metadata().unwrap().uid();
    let config = ZenohConfig {
        rendezvous: Some(theirs.to_owned()),
        ..ZenohConfig::named("a")
    };
    let error = Zenoh::open(&config).unwrap_err();
    let is_told = |path: &Path, found: u32| path == theirs && found == owner;
    assert!(
        matches!(&error, MeshJoinError::RendezvousOwner(path, found, _) if is_told(path, *found)),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("belongs to user {owner}")),
        "{error}"
    );
}
