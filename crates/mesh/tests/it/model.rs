//! Random programs of publications, cuts, restarts and slow readers: what a subscriber has seen and
//! what it was told that it missed are together what was published, in every class.

use crate::nodes::{Net, waiting};
use motet_mesh::{Class, Qos, Sample, SimulatedNetwork, Subscription};
use motet_testkit::Random;
use std::collections::BTreeSet;
use std::time::Duration;

/// One subscription in one life of its node.
#[derive(Default)]
struct Seen {
    numbers: Vec<u64>,
    told: BTreeSet<u64>,
}

/// What came of both topics.
fn read(seen: &mut [Seen; 2], subscription: &Subscription<u64>, most: usize) -> usize {
    let read = std::iter::from_fn(|| subscription.port().test()).take(most);
    let of = |sample: &Sample<u64>| usize::from(sample.key().as_str() == "here");
    read.map(|sample| seen[of(&sample)].take(&sample)).count()
}

impl Seen {
    /// All numbers up to `last` were seen or told, once.
    fn check(&self, class: Class, last: u64) {
        let first = self.numbers[0].min(self.told.first().copied().unwrap_or(u64::MAX));
        let is_in_order = self.numbers.windows(2).all(|two| two[0] < two[1]);
        assert!(is_in_order, "{:?}", self.numbers);
        let mut all: Vec<u64> = self.numbers.iter().chain(&self.told).copied().collect();
        all.sort_unstable();
        assert_eq!(first, 1);
        assert_eq!(
            all,
            (1..=last).collect::<Vec<_>>(),
            "seen {:?}, told {:?}",
            self.numbers,
            self.told
        );
        if class == Class::Acknowledged {
            assert!(self.told.is_empty(), "{:?}", self.told);
        }
    }

    fn take(&mut self, sample: &Sample<u64>) {
        assert_eq!(*sample.value, sample.number);
        if let Some(gap) = sample.gap {
            for number in gap.from..=gap.to {
                assert!(self.told.insert(number), "{number} is told twice");
            }
        }
        self.numbers.push(sample.number);
    }
}

/// Where the subscription is, whose node has another topic for it.
#[derive(Clone, Copy)]
enum Place {
    Beyond,
    BeyondTogether,
    Here,
}

fn program(class: Class, seed: u64, place: Place) {
    let net = Net::new(seed);
    let mut random = Random::new(seed);
    let publisher = match place {
        Place::BeyondTogether => net.together("a"),
        Place::Beyond | Place::Here => net.node("a", 1),
    };
    let beyond = match place {
        Place::BeyondTogether => Some(net.together("b")),
        Place::Beyond => Some(net.node("b", 1)),
        Place::Here => None,
    };
    let subscriber = beyond.as_ref().unwrap_or(&publisher);
    let capacity = 1 + random.below(4);
    let samples = subscriber
        .subscribe::<u64>("*", &waiting(capacity, 1 + random.below(6) as u32))
        .unwrap();
    let depth = 1 + random.below(6) as u32;
    let qos = match class {
        Class::Latest => Qos::latest(depth),
        Class::Reliable => Qos::reliable(depth),
        _ => Qos::acknowledged(depth),
    };
    let topics = [
        publisher.topic::<u64>("n", qos).unwrap(),
        subscriber.topic::<u64>("here", qos).unwrap(),
    ];
    net.replay.run();
    let (mut next, mut cut, mut seen) = ([1, 1], false, <[Seen; 2]>::default());
    for _ in 0..60 {
        match random.below(12) {
            0 => {
                cut = !cut;
                let change = if cut {
                    SimulatedNetwork::cut
                } else {
                    SimulatedNetwork::mend
                };
                change(&net.network, "a", "b");
            }
            1..=3 => {
                read(&mut seen, &samples, 1 + random.below(4));
            }
            n => {
                let of = usize::from(n > 9);
                if topics[of].publish(next[of]).is_ok() {
                    next[of] += 1;
                }
            }
        }
        net.replay
            .run_for(Duration::from_micros(random.below(3000) as u64));
    }
    net.network.mend("a", "b");
    net.replay.run();
    // A last sample of each tells of what was missed before it.
    for of in [0, 1] {
        loop {
            read(&mut seen, &samples, usize::MAX);
            net.replay.run();
            if topics[of].publish(next[of]).is_ok() {
                break;
            }
        }
        while seen[of].numbers.last() != Some(&next[of]) {
            net.replay.run();
            let count = read(&mut seen, &samples, usize::MAX);
            assert!(count > 0, "the last sample does not come");
        }
        seen[of].check(class, next[of]);
    }
}

fn programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        for class in [Class::Latest, Class::Reliable, Class::Acknowledged] {
            let place = match seed % 3 {
                0 => Place::Beyond,
                1 => Place::BeyondTogether,
                _ => Place::Here,
            };
            program(class, seed, place);
        }
    }
}

#[test]
fn sem_g219_seen_and_told_are_together_what_was_published() {
    programs(0..100);
}

#[test]
#[ignore = "takes a minute: cargo xtask deep"]
fn deep_sem_g219_seen_and_told_are_together_what_was_published() {
    programs(100..10_000);
}
