//! Random programs of publications, cuts, restarts and slow readers: what a subscriber has seen and
//! what it was told that it missed are together what was published, in every class.

use crate::durable::Folder;
use crate::nodes::{Net, waiting};
use motet_mesh::{
    Class, Node, Qos, Sample, SimulatedNetwork, StartFrom, SubscribeConfig, Subscription, Topic,
};
use motet_testkit::Random;
use std::collections::BTreeSet;
use std::time::Duration;

/// One subscription in one life of its node.
#[derive(Default)]
struct Seen {
    numbers: Vec<u64>,
    told: BTreeSet<u64>,
}

impl Seen {
    fn read(&mut self, subscription: &Subscription<u64>, most: usize) {
        for _ in 0..most {
            let Some(sample) = subscription.port().test() else {
                return;
            };
            self.take(&sample);
        }
    }

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
        if matches!(class, Class::Acknowledged | Class::Durable) {
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

fn topic(node: &Node, class: Class, depth: u32, folder: &Folder) -> Topic<u64> {
    let qos = match class {
        Class::Latest => Qos::latest(depth),
        Class::Reliable => Qos::reliable(depth),
        Class::Durable => {
            let log = folder.log();
            return node.durable_topic("n", Qos::durable(depth), &log).unwrap();
        }
        _ => Qos::acknowledged(depth),
    };
    node.topic("n", qos).unwrap()
}

fn program(class: Class, seed: u64, together: bool) {
    let net = Net::new(seed);
    let mut random = Random::new(seed);
    let node = |name| match together {
        true => net.together(name),
        false => net.node(name, 1),
    };
    let (mut publisher, subscriber) = (node("a"), node("b"));
    let capacity = 1 + random.below(4);
    let places = [StartFrom::New, StartFrom::All, StartFrom::Number(1)];
    let config = SubscribeConfig {
        from: places[random.below(3)],
        ..waiting(capacity, 1 + random.below(6) as u32)
    };
    let samples = subscriber.subscribe::<u64>("n", &config).unwrap();
    let depth = 1 + random.below(6) as u32;
    let folder = Folder::new();
    let mut topic = topic(&publisher, class, depth, &folder);
    net.replay.run();
    let (mut next, mut cut, mut seen, mut life) = (1, false, Seen::default(), 1);
    for _ in 0..60 {
        match random.below(10) {
            0 => {
                cut = !cut;
                let change = if cut {
                    SimulatedNetwork::cut
                } else {
                    SimulatedNetwork::mend
                };
                change(&net.network, "a", "b");
            }
            // Who publishes is killed, and started again.
            4 if class == Class::Durable => {
                net.network.kill("a");
                drop((topic, publisher));
                life += 1;
                publisher = net.node("a", life);
                topic = self::topic(&publisher, class, depth, &folder);
            }
            1..=3 => seen.read(&samples, 1 + random.below(4)),
            _ => {
                if topic.publish(next).is_ok() {
                    next += 1;
                }
            }
        }
        net.replay
            .run_for(Duration::from_micros(random.below(3000) as u64));
    }
    net.network.mend("a", "b");
    net.replay.run();
    // A last sample tells of what was missed before it.
    loop {
        seen.read(&samples, usize::MAX);
        net.replay.run();
        if topic.publish(next).is_ok() {
            break;
        }
    }
    while seen.numbers.last() != Some(&next) {
        net.replay.run();
        let before = seen.numbers.len();
        seen.read(&samples, usize::MAX);
        assert!(seen.numbers.len() > before, "the last sample does not come");
    }
    seen.check(class, next);
}

const CLASSES: [Class; 4] = [
    Class::Latest,
    Class::Reliable,
    Class::Acknowledged,
    Class::Durable,
];

fn programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        for class in CLASSES {
            program(class, seed, seed % 2 == 1);
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
