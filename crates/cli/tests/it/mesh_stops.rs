//! Members of a mesh that are stopped for long.

use std::time::{Duration, Instant};

use motet_sync::Parker;
use rustix::process::Signal;
use serde_json::Value;

use crate::mesh::{Running, watcher_sees};
use crate::program::ProgramFolder;

/// For so long a process is stopped: three times as long as one may be silent.
const LONG: Duration = Duration::from_secs(10);

/// Who was stopped then is told as down, and is stopped for so long.
#[track_caller]
fn is_down(watcher: &mut Running, name: &str, stopped: Instant) {
    watcher_sees(watcher, "down", name);
    while stopped.elapsed() < LONG {
        let _ = Parker::new().park_timeout(LONG.saturating_sub(stopped.elapsed()));
    }
}

/// These come, in order and without a gap.
#[track_caller]
fn come(subscriber: &mut Running, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let sample = subscriber.next();
        let told = (&sample["number"], &sample["gap"]);
        assert_eq!(told, (&number.into(), &Value::Null));
    }
}

#[test]
#[ignore = "takes half a minute; `cargo xtask deep` runs it"]
fn deep_sem_g249_who_is_stopped_for_10_s_gets_or_brings_the_rest() {
    let place = ProgramFolder::new();
    let mut watcher = Running::start(&place, "join --name watcher");
    assert_eq!(watcher.next()["change"], "joined");
    let mut subscriber = Running::start(&place, "sub n --name s --count 60");
    let mut publisher = Running::start(&place, "pub n --name p --class acknowledged --linger 60");
    publisher.write("1");
    come(&mut subscriber, 1..=1);
    subscriber.signal(Signal::STOP);
    let stopped = Instant::now();
    (2..=30).for_each(|n| publisher.write(&n.to_string()));
    is_down(&mut watcher, "s", stopped);
    subscriber.signal(Signal::CONT);
    come(&mut subscriber, 2..=30);
    publisher.signal(Signal::STOP);
    let stopped = Instant::now();
    (31..=60).for_each(|n| publisher.write(&n.to_string()));
    is_down(&mut watcher, "p", stopped);
    publisher.signal(Signal::CONT);
    come(&mut subscriber, 31..=60);
    assert_eq!(subscriber.end(), Some(0));
    assert_eq!(publisher.end(), Some(0));
}
