//! What a mesh owes under load: heartbeats in a flood, and readers beside one that has stopped.
//!
//! `cargo bench -p motet-mesh-zenoh --bench bars`

mod member;

use member::{Fallible, Member, member};
use motet_dispatch::QueueConfig;
use motet_mesh::{PeerChange, Qos, Sample, SubscribeConfig, Topic};
use motet_mesh_zenoh::{RunKey, ZenohConfig};
use motet_ports::{Overflow, Port, PortConfig, Receive};
use motet_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use motet_sync::{Parker, thread};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BYTES: usize = 64;
/// The rate of the flood, messages each second, and how long it lasts.
const FLOOD: u64 = 200_000;
const LASTS: Duration = Duration::from_secs(10);
const BEAT: Duration = Duration::from_millis(100);
/// The rate beside a reader that stops, how long it reads and does not, and how often.
const RATE: u64 = 20_000;
const TURN: Duration = Duration::from_secs(1);
const TURNS: usize = 7;
const DEPTH: u32 = 64;

/// A publisher, and readers that know its address.
fn members(readers: usize) -> Fallible<(Member, Vec<Member>)> {
    let key = Some(RunKey::random()?);
    let publisher = member(&ZenohConfig {
        key: key.clone(),
        ..ZenohConfig::named("publisher")
    })?;
    let readers = (0..readers).map(|n| {
        member(&ZenohConfig {
            key: key.clone(),
            known: publisher.carrier.addresses().to_vec(),
            ..ZenohConfig::named(format!("reader-{n}"))
        })
    });
    let readers = readers.collect::<Fallible<Vec<_>>>()?;
    Ok((publisher, readers))
}

fn wait(time: Duration) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let _ = Parker::new().park_timeout(left);
    }
}

fn until(mut holds: impl FnMut() -> bool) -> Fallible<()> {
    for _ in 0..6_000 {
        if holds() {
            return Ok(());
        }
        wait(Duration::from_millis(10));
    }
    Err("the nodes do not meet".into())
}

/// Calls `each` so many times a second, a millisecond's worth at once. How often.
fn paced(rate: u64, time: Duration, mut each: impl FnMut() -> Fallible<()>) -> Fallible<u64> {
    let (begin, mut count) = (Instant::now(), 0);
    while begin.elapsed() < time {
        let due = begin.elapsed().as_millis() as u64 * rate / 1000;
        while count < due {
            each()?;
            count += 1;
        }
        wait(Duration::from_micros(300));
    }
    Ok(count)
}

/// Counts what comes.
fn count<T: Send + Sync>(reader: &Member, port: &Port<Sample<T>>) -> Fallible<Arc<AtomicU64>> {
    let came = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&came);
    let queue = reader.dispatcher.queue(QueueConfig::named("reads"));
    Receive::persistent(port, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    })
    .activate(&queue)?;
    Ok(came)
}

/// A flood, and beats beside it.
fn flood() -> Fallible<()> {
    let (publisher, readers) = members(1)?;
    let reader = &readers[0];
    let changes = publisher.node.peer_changes();
    let wide = SubscribeConfig {
        window: 4096,
        ..SubscribeConfig::default()
    };
    let samples = reader.node.subscribe::<Vec<u8>>("flood", &wide)?;
    let came = count(reader, samples.port())?;
    let beats = reader
        .node
        .subscribe::<u64>("beat", &SubscribeConfig::default())?;
    let topic = publisher
        .node
        .topic::<Vec<u8>>("flood", Qos::reliable(4096))?;
    let beat = publisher.node.topic::<u64>("beat", Qos::latest(4))?;
    until(|| topic.subscribers().len() + beat.subscribers().len() == 2)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let beating = thread::spawn_named("beats", move || {
        for number in 0.. {
            if stopped.load(Ordering::Relaxed) || beat.publish(number).is_err() {
                return;
            }
            wait(BEAT);
        }
    })?;
    let hears = thread::spawn_named("hears", move || {
        let (mut longest, mut last, mut heard) = (Duration::ZERO, None::<Instant>, 0);
        let waits = 20 * BEAT;
        while let Ok(_beat) = motet_ports::wait_blocking_for(beats.port().recv(), waits) {
            let now = Instant::now();
            longest = longest.max(last.map_or(Duration::ZERO, |last| now - last));
            last = Some(now);
            heard += 1;
        }
        (heard, longest)
    })?;
    let mut refused = 0_u64;
    let begin = Instant::now();
    let sent = paced(FLOOD, LASTS, || {
        while topic.publish(vec![7; BYTES]).is_err() {
            refused += 1;
            wait(Duration::from_micros(100));
        }
        Ok(())
    })?;
    let took = begin.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    until(|| came.load(Ordering::Relaxed) == sent)?;
    beating.join().map_err(|_| "the beats have ended")?;
    let (heard, longest) = hears.join().map_err(|_| "nobody hears")?;
    let mut broken = 0;
    while let Some(change) = changes.test() {
        broken += usize::from(matches!(change, PeerChange::Down(..)));
    }
    println!(
        "flood: {:.0} messages of {BYTES} bytes a second for {took:.0} s ({refused} waits for room), {heard} beats of \
         {} ms, the longest after {:.0} ms; {broken} links broken",
        sent as f64 / took,
        BEAT.as_millis(),
        longest.as_secs_f64() * 1e3,
    );
    assert!(longest < 2 * BEAT, "a beat is late by more than a period");
    assert_eq!(broken, 0);
    Ok(())
}

/// Bytes that this process has in memory.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1);
    pages
        .and_then(|pages| pages.parse::<f64>().ok())
        .unwrap_or(0.0)
        * 4096.0
}

/// Publishes for a turn; when the first drop was told, and the most that waited for one.
fn turn(topic: &Topic<Vec<u8>>) -> Fallible<(u64, Option<Duration>, usize)> {
    let (begin, mut told, mut most) = (Instant::now(), None, 0);
    let sent = paced(RATE, TURN, || {
        let published = topic.publish(vec![7; BYTES])?;
        if published.dropped > 0 && told.is_none() {
            told = Some(begin.elapsed());
        }
        if published.number.is_multiple_of(64) {
            let waiting = topic.subscribers().into_iter().map(|one| one.waiting);
            most = most.max(waiting.max().unwrap_or(0));
        }
        Ok(())
    })?;
    Ok((sent, told, most))
}

/// Reads from a port until `go` says no.
fn read_while(port: &Port<Sample<Vec<u8>>>, go: &AtomicBool) {
    while go.load(Ordering::Relaxed) {
        let wait = Duration::from_millis(5);
        let _ = motet_ports::wait_blocking_for(port.recv(), wait);
    }
}

/// A reader that a few samples fill.
fn small() -> SubscribeConfig {
    SubscribeConfig {
        port: PortConfig {
            capacity: NonZeroUsize::new(16),
            overflow: Overflow::Wait,
        },
        ..SubscribeConfig::default()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Three readers, beside a fourth that reads in one turn and does not in the next.
fn one_stops() -> Fallible<()> {
    let (publisher, readers) = members(4)?;
    let topic = publisher.node.topic::<Vec<u8>>("n", Qos::latest(DEPTH))?;
    let (last, others) = readers.split_last().ok_or("there are four")?;
    let mut came = Vec::new();
    let mut subscriptions = Vec::new();
    for reader in others {
        let samples = reader
            .node
            .subscribe::<Vec<u8>>("n", &SubscribeConfig::default())?;
        came.push(count(reader, samples.port())?);
        subscriptions.push(samples);
    }
    let samples = last.node.subscribe::<Vec<u8>>("n", &small())?;
    until(|| topic.subscribers().len() == 4)?;
    let total = || {
        came.iter()
            .map(|came| came.load(Ordering::Relaxed))
            .sum::<u64>()
    };
    let (mut rates, mut told, mut most) = ([Vec::new(), Vec::new()], Vec::new(), 0);
    turn(&topic)?;
    let before = resident();
    for number in 0..2 * TURNS {
        let reads = number.is_multiple_of(2);
        let go = Arc::new(AtomicBool::new(true));
        let (port, goes) = (samples.port().clone(), Arc::clone(&go));
        let reading = reads.then(|| thread::spawn_named("reads", move || read_while(&port, &goes)));
        let begin = total();
        let (sent, dropped, waited) = turn(&topic)?;
        go.store(false, Ordering::Relaxed);
        if let Some(reading) = reading {
            reading?.join().map_err(|_| "the reader has ended")?;
        } else {
            told.extend(dropped);
            most = most.max(waited);
        }
        // What is under way.
        wait(Duration::from_millis(20));
        rates[usize::from(!reads)].push((total() - begin) as f64 / (3 * sent) as f64);
    }
    let [reads, stopped] = rates.map(median);
    let latest = told.iter().max().copied().unwrap_or(TURN);
    println!(
        "one of four readers stops, {RATE} messages a second: the others get {:.2} % of all while it reads, {:.2} % \
         while it does not; the publisher is told after {:.0} ms at most; {most} samples wait at most; memory grows \
         by {:.1} MiB",
        reads * 100.0,
        stopped * 100.0,
        latest.as_secs_f64() * 1e3,
        (resident() - before) / f64::from(1 << 20),
    );
    assert!(stopped > 0.95 * reads, "the others are held back");
    assert!(told.len() == TURNS && latest < Duration::from_millis(100));
    assert!(most <= DEPTH as usize);
    Ok(())
}

fn main() -> Fallible<()> {
    flood()?;
    one_stops()
}
