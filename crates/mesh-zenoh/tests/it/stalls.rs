//! A node with a pass that subscribes to what goes between others, and reads none of it.

use crate::nodes::{config, first, member, until};
use motet_mesh::{MeshRights, PeerChange, Qos, SubscribeConfig};
use motet_mesh_zenoh::{MeshPass, MeshPassConfig, RunKey, Zenoh, ZenohConfig};
use motet_ports::wait_blocking;
use motet_testkit::{patience, within};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use zenoh::Wait;

const PASS: &str = "MOTET_TEST_STALLS_PASS";
const KNOWN: &str = "MOTET_TEST_STALLS_KNOWN";

#[test]
fn sem_g569_a_member_that_reads_none_of_what_it_subscribes_to_delays_no_others() {
    if let Some(pass) = env::var_os(PASS) {
        reads_nothing(&MeshPass::read(pass.as_ref()).unwrap());
    }
    within(patience(), others_go_on);
}

fn others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.pass");
    let key = RunKey::random().unwrap();
    let pass = MeshPassConfig {
        name: "c".to_owned(),
        rights: MeshRights::only(Vec::new(), Vec::new()),
        lasts: None,
    };
    MeshPass::make(&key, &pass, &path).unwrap();
    let a = first("a", &key);
    let b = member(&config("b", &key, &a));
    let quiet = SubscribeConfig::default();
    let samples = b.node.subscribe::<Vec<u8>>("n", &quiet).unwrap();
    let topic = a.node.topic::<Vec<u8>>("n", Qos::reliable(16)).unwrap();
    until("they meet", || topic.subscribers().len() == 1);
    let changes = [a.node.peer_changes(), b.node.peer_changes()];
    // A process of its own: it stops the threads by which zenoh reads.
    let test = "sem_g569_a_member_that_reads_none_of_what_it_subscribes_to_delays_no_others";
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("stalls::{test}"), "--nocapture"])
        .env(PASS, &path)
        .env(KNOWN, &a.carrier.addresses()[0])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(
        lines
            .map_while(Result::ok)
            .any(|line| line.contains("stalls")),
        "it comes, and reads no more"
    );
    for n in 0..512_usize {
        wait_blocking(topic.publish_wait(vec![n as u8; 64 << 10]))
            .unwrap()
            .unwrap();
        assert_eq!(samples.port().recv_blocking().unwrap().gap, None);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    for change in changes.iter().flat_map(|changes| changes.items()) {
        let is_of_others = matches!(&change, PeerChange::Down(name, _) if name.as_str() != "c");
        assert!(!is_of_others, "{change:?}");
    }
}

/// Until its standard input ends.
fn reads_nothing(pass: &MeshPass) -> ! {
    let carrier = Zenoh::open(&ZenohConfig {
        known: vec![env::var(KNOWN).unwrap()],
        ..ZenohConfig::with_pass(pass.clone())
    })
    .unwrap();
    carrier
        .session()
        .declare_subscriber("motet/4/to/**")
        .callback(|_| {
            // With an end of line: the test program has said something before.
            let _ = writeln!(std::io::stdout(), "\nstalls");
            loop {
                motet_sync::Parker::new().park();
            }
        })
        .background()
        .wait()
        .unwrap();
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    std::process::exit(0)
}
