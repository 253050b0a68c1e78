//! An overlay of twelve machines that reach their neighbours alone: as a line, a ring, a star, and
//! at random; cut apart and joined, and with a third of them killed.
//!
//! Each machine is a namespace of the network, which lasts as long as its process, and each edge a
//! cable between two of them. That needs root, `unshare`, `nsenter` and `ip`: `needs_hosts`.

use crate::machines::{Machines, NODES};
use motet_mesh_zenoh::RunKey;
use motet_testkit::{Random, patience, within};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// So long, at the least, what is said is kept for those whose link is broken.
const KEPT: Duration = Duration::from_secs(25);

/// Which machines have a cable between them.
type Graph = BTreeSet<(usize, usize)>;

fn line() -> Graph {
    (1..NODES).map(|n| (n - 1, n)).collect()
}

fn ring() -> Graph {
    line().into_iter().chain([(0, NODES - 1)]).collect()
}

fn star() -> Graph {
    (1..NODES).map(|n| (0, n)).collect()
}

/// A tree, and six cables more.
fn random(seed: u64) -> Graph {
    let mut random = Random::new(seed);
    let mut graph: Graph = (1..NODES).map(|n| (random.below(n), n)).collect();
    while graph.len() < NODES + 5 {
        let (a, b) = (random.below(NODES), random.below(NODES));
        if a < b {
            graph.insert((a, b));
        }
    }
    graph
}

/// Parts of a third of the machines that are killed.
fn victims(seed: u64, of: std::ops::Range<usize>) -> BTreeSet<usize> {
    let mut random = Random::new(seed);
    let mut victims = BTreeSet::new();
    while victims.len() < NODES / 3 {
        victims.insert(of.start + random.below(of.len()));
    }
    victims
}

/// All laws for one graph: `cut` cables are out for a while, then `killed` machines go at once.
fn laws(name: &'static str, graph: Graph, cut: &[(usize, usize)], killed: BTreeSet<usize>) {
    let cut = cut.to_vec();
    within(patience(), move || {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        RunKey::make(&key).unwrap();
        let mut all = Machines::start(name, &graph, &key);
        all.know_each_other("all reach each other");
        for n in 0..NODES * 3 {
            assert_eq!(all.ask(n % NODES, &format!("put k{n} v{n}")), "2", "k{n}");
        }
        all.talk("whole");
        // Cut apart, each part goes on; joined, they are one.
        let apart = Instant::now();
        all.cut(&cut);
        all.know_each_other("cut apart");
        let parts = all.parts();
        assert!(parts.len() > 1);
        for (part, members) in parts.iter().enumerate() {
            let one = *members.first().unwrap();
            for key in ["both".to_owned(), format!("part{part}")] {
                let told = all.ask(one, &format!("put {key} by{part}"));
                assert!(["1", "2"].contains(&&told[..]), "{told}");
            }
        }
        all.talk("parts");
        all.mend();
        all.know_each_other("joined again");
        if apart.elapsed() < KEPT {
            // What was said in the other parts comes late, and once.
            let everyone = (0..NODES).collect();
            all.hear("parts", &everyone, &everyone);
        }
        for part in 0..parts.len() {
            all.all_get(&format!("part{part}"), &format!("by{part}"));
        }
        all.agree_on("both");
        // Values that a holder of the part has are there.
        let holders = all.holders((0..NODES * 3).map(|n| format!("k{n}")));
        all.kill(&killed);
        all.know_each_other("a third is killed");
        for (key, holders) in &holders {
            all.get_where_held(key, &key.replace('k', "v"), holders);
        }
        all.talk("left");
    });
}

#[test]
fn sem_g254_needs_hosts_a_line_of_machines_keeps_the_laws_of_an_overlay() {
    laws("line", line(), &[(5, 6)], victims(1, 0..NODES));
}

#[test]
fn sem_g254_needs_hosts_a_ring_of_machines_keeps_the_laws_of_an_overlay() {
    laws("ring", ring(), &[(2, 3), (8, 9)], victims(2, 0..NODES));
}

#[test]
fn sem_g254_needs_hosts_a_star_of_machines_keeps_the_laws_of_an_overlay() {
    laws("star", star(), &[(0, 5), (0, 9)], victims(3, 1..NODES));
}

#[test]
fn sem_g254_needs_hosts_without_its_hub_each_machine_of_a_star_is_alone() {
    let hub = [0, 3, 4, 7].into_iter().collect();
    laws("star without its hub", star(), &[(0, 1)], hub);
}

#[test]
fn sem_g254_needs_hosts_machines_at_random_keep_the_laws_of_an_overlay() {
    let graph = random(4);
    // All cables of the last machine.
    let last = |&&(a, b): &&(usize, usize)| a == NODES - 1 || b == NODES - 1;
    let cut: Vec<_> = graph.iter().filter(last).copied().collect();
    laws("random", graph, &cut, victims(4, 0..NODES));
}
