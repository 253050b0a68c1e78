//! A subscriber in a process of its own, which is killed while it accepts samples.

use crate::nodes::{Member, first, member_of, until};
use motet_mesh::{Ack, Gap, Qos, SubscribeConfig};
use motet_mesh_zenoh::{RunKey, Zenoh, ZenohConfig};
use motet_sync::Parker;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the key of the mesh is; without it the process does nothing.
const KEY: &str = "MOTET_TEST_KILLED_KEY";
/// The address of the publisher.
const KNOWN: &str = "MOTET_TEST_KILLED_KNOWN";
/// So many samples it accepts at most.
const MOST: &str = "MOTET_TEST_KILLED_MOST";

/// So many are published to each process: all that may wait.
const ALL: u64 = 64;

/// The process that is killed: says each number, and then accepts it.
#[test]
fn accepts_until_it_is_killed() {
    let Some(key) = env::var_os(KEY) else {
        return;
    };
    let config = ZenohConfig {
        key: Some(RunKey::read(Path::new(&key)).unwrap()),
        known: vec![env::var(KNOWN).unwrap()],
        ..ZenohConfig::named("s")
    };
    let carrier = loop {
        if let Ok(carrier) = Zenoh::open(&config) {
            break carrier;
        }
        // The one before may not be missed yet.
        let _ = Parker::new().park_timeout(Duration::from_millis(100));
    };
    let subscriber = member_of(carrier);
    let handled = SubscribeConfig {
        ack: Ack::Handled,
        window: 16,
        ..SubscribeConfig::default()
    };
    let samples = subscriber.node.subscribe::<u64>("n", &handled).unwrap();
    let most: u64 = env::var(MOST).unwrap().parse().unwrap();
    for _ in 0..most {
        let sample = samples.port().recv_blocking().unwrap();
        say(&format!("has {} {}", sample.number, sample.gap.is_some()));
        drop(sample);
    }
    let _ = Parker::new().park_timeout(Duration::from_secs(60));
}

/// One whole line.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listens may have gone.
    drop(writeln!(out, "\n{line}").and_then(|()| out.flush()));
}

/// A process that ends with its test.
struct KilledChild(Child);

impl KilledChild {
    /// It accepts some more than it is to be killed after, and never all.
    fn start(key: &Path, publisher: &Member, after: usize) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kills::accepts_until_it_is_killed"])
            .arg("--nocapture")
            .env(KEY, key)
            .env(KNOWN, &publisher.carrier.addresses()[0])
            .env(MOST, (after + 8).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        KilledChild(child.unwrap())
    }

    /// Kills it when it has said so many numbers: those that it has said, of which none was missed.
    fn kill(mut self, after: usize) -> Vec<u64> {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let mut seen = Vec::new();
        for line in lines.map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["has", number, "false"] => seen.push(number.parse().unwrap()),
                ["has", _, "true"] => panic!("a gap: {line}"),
                _ => continue,
            }
            if seen.len() == after {
                // What it has said meanwhile counts as well.
                self.0.kill().unwrap();
            }
        }
        assert!(seen.len() >= after, "it ended by itself: {seen:?}");
        seen
    }
}

impl Drop for KilledChild {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
#[ignore = "takes half a minute; `cargo xtask deep` runs it"]
fn deep_sem_g219_who_is_killed_while_it_accepts_has_seen_a_run_and_the_rest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.key");
    let key = RunKey::make(&path).unwrap();
    let publisher = first("p", &key);
    let topic = publisher.node.topic::<u64>("n", Qos::acknowledged(64));
    let topic = topic.unwrap();
    // At half of the window the publisher is told, and then again.
    let counts = [1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 48];
    let mut child = KilledChild::start(&path, &publisher, counts[0]);
    for (round, after) in counts.into_iter().enumerate() {
        until("the subscriber comes", || topic.subscribers().len() == 1);
        let base = round as u64 * ALL;
        for n in 1..=ALL {
            assert_eq!(topic.publish(n).unwrap().number, base + n);
        }
        let seen = child.kill(after);
        let last = base + seen.len() as u64;
        assert!(seen.iter().copied().eq(base + 1..=last), "{seen:?}");
        // Another start of the node: the one before does not come back.
        let next = counts.get(round + 1).copied().unwrap_or(1);
        child = KilledChild::start(&path, &publisher, next);
        let lost = topic.losses().recv_blocking().unwrap();
        let Gap { from, to } = lost.gap;
        let is_told = base < from && from <= last + 1 && to == base + ALL;
        assert!(is_told, "killed behind {last}: {lost:?}");
        assert_eq!(lost.subscriber.as_str(), "s");
        assert_eq!(topic.losses().test(), None, "it is told once");
    }
}
