//! Random programs of publications, cuts, kills and slow readers: what a subscriber has seen and
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
        if matches!(class, Class::Acknowledged | Class::Durable) {
            assert!(self.told.is_empty(), "{:?}", self.told);
        }
    }

    /// The publisher was told all that the subscriber was, each number once.
    fn check_told(&self, topic: &Topic<u64>) {
        let mut known = BTreeSet::new();
        while let Some(lost) = topic.losses().test() {
            for number in lost.gap.from..=lost.gap.to {
                assert!(known.insert(number), "{number} is told twice");
            }
        }
        let missing: Vec<_> = self.told.difference(&known).collect();
        assert!(missing.is_empty(), "{missing:?} are not told");
    }

    /// The numbers that were seen or told in a life: a run without a gap, each of them once.
    fn run(self) -> BTreeSet<u64> {
        let Seen { numbers, told } = self;
        let is_in_order = numbers.windows(2).all(|two| two[0] < two[1]);
        assert!(is_in_order, "{numbers:?}");
        let mut all = told;
        for number in numbers {
            assert!(all.insert(number), "{number} is seen and told");
        }
        let ends = all.first().zip(all.last());
        let length = ends.map_or(0, |(first, last)| last - first + 1);
        assert_eq!(all.len() as u64, length, "{all:?}");
        all
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

/// How a topic is made, and made again where it has a log.
struct TopicPlan {
    key: &'static str,
    class: Class,
    depth: u32,
    folder: Folder,
}

impl TopicPlan {
    fn new(key: &'static str, class: Class, depth: u32) -> Self {
        let folder = Folder::in_memory();
        TopicPlan {
            key,
            class,
            depth,
            folder,
        }
    }

    fn topic(&self, node: &Node) -> Topic<u64> {
        let qos = match self.class {
            Class::Latest => Qos::latest(self.depth),
            Class::Reliable => Qos::reliable(self.depth),
            Class::Durable => {
                let (qos, log) = (Qos::durable(self.depth), self.folder.log());
                return node.durable_topic(self.key, qos, &log).unwrap();
            }
            _ => Qos::acknowledged(self.depth),
        };
        node.topic(self.key, qos).unwrap()
    }
}

/// Who publishes is killed, and started again with its log.
fn restarted(
    net: &Net,
    (topic, node): (Topic<u64>, Node),
    life: &mut u64,
    plan: &TopicPlan,
) -> (Topic<u64>, Node) {
    net.network.kill("a");
    drop((topic, node));
    *life += 1;
    let node = net.node("a", *life);
    (plan.topic(&node), node)
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
    let mut publisher = match place {
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
    let places = [StartFrom::New, StartFrom::All, StartFrom::Number(1)];
    let config = SubscribeConfig {
        from: places[random.below(3)],
        ..waiting(capacity, 1 + random.below(6) as u32)
    };
    let samples = subscriber.subscribe::<u64>("*", &config).unwrap();
    let depth = 1 + random.below(6) as u32;
    let plans = ["n", "here"].map(|key| TopicPlan::new(key, class, depth));
    let mut topics = [plans[0].topic(&publisher), plans[1].topic(subscriber)];
    net.replay.run();
    let (mut next, mut cut, mut seen) = ([1, 1], false, <[Seen; 2]>::default());
    let mut life = 1;
    for _ in 0..60 {
        match random.below(12) {
            0 => cut_or_mend(&net, &mut cut),
            1..=3 => {
                read(&mut seen, &samples, 1 + random.below(4));
            }
            4 if class == Class::Durable && beyond.is_some() => {
                let [topic, here] = topics;
                let (topic, node) = restarted(&net, (topic, publisher), &mut life, &plans[0]);
                (topics, publisher) = ([topic, here], node);
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
        if class == Class::Reliable {
            seen[of].check_told(&topics[of]);
        }
    }
}

/// Breaks the link, or joins it again.
fn cut_or_mend(net: &Net, cut: &mut bool) {
    *cut = !*cut;
    let change = if *cut {
        SimulatedNetwork::cut
    } else {
        SimulatedNetwork::mend
    };
    change(&net.network, "a", "b");
}

/// A subscriber from the start of its node until that is killed.
struct Life {
    samples: Subscription<u64>,
    seen: Seen,
    _node: Node,
}

impl Life {
    fn begin(net: &Net, incarnation: u64, config: &SubscribeConfig) -> Self {
        let node = net.node("b", incarnation);
        Life {
            samples: node.subscribe::<u64>("n", config).unwrap(),
            seen: Seen::default(),
            _node: node,
        }
    }

    fn read(&mut self, most: usize) {
        let read = std::iter::from_fn(|| self.samples.port().test()).take(most);
        read.for_each(|sample| self.seen.take(&sample));
    }

    /// The node is killed. What it had accepted is read still; then it is gone.
    fn end(mut self, net: &Net) -> Seen {
        net.network.kill("b");
        for _ in 0..10 {
            self.read(usize::MAX);
            net.replay.run_for(Duration::from_millis(1));
        }
        self.read(usize::MAX);
        self.seen
    }
}

/// As a program, with a subscriber that is killed and comes back. What was published to it, and no
/// life of it has seen or was told, the publisher was told. Of the latest it knows the count only.
/// Of a durable topic each life goes on behind the one before, and nothing is lost.
fn program_with_kills(class: Class, seed: u64) {
    let (net, mut random) = (Net::new(seed), Random::new(seed));
    let mut publisher = net.node("a", 1);
    let mut config = waiting(1 + random.below(4), 1 + random.below(6) as u32);
    let plan = TopicPlan::new("n", class, 1 + random.below(6) as u32);
    let mut topic = plan.topic(&publisher);
    let mut life = Life::begin(&net, 1, &config);
    net.replay.run();
    let (mut next, mut cut, mut lives, mut starts) = (1, false, 1, 1);
    let (mut known, mut owed) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..60 {
        match random.below(12) {
            0 => cut_or_mend(&net, &mut cut),
            1 => {
                know(&mut known, class, life.end(&net));
                lives += 1;
                config.from = StartFrom::Number(known.last().map_or(1, |last| last + 1));
                life = Life::begin(&net, lives, &config);
            }
            2..=4 => life.read(1 + random.below(4)),
            5 if class == Class::Durable => {
                (topic, publisher) = restarted(&net, (topic, publisher), &mut starts, &plan);
            }
            _ => {
                if let Ok(published) = topic.publish(next) {
                    owed.extend((published.subscribers > 0).then_some(next));
                    next += 1;
                }
            }
        }
        net.replay
            .run_for(Duration::from_micros(random.below(3000) as u64));
    }
    net.network.mend("a", "b");
    net.replay.run();
    while topic.publish(next).is_err() {
        life.read(usize::MAX);
        net.replay.run();
    }
    while life.seen.numbers.last() != Some(&next) {
        net.replay.run();
        let before = life.seen.numbers.len();
        life.read(usize::MAX);
        let comes = life.seen.numbers.len() > before;
        assert!(comes, "seed {seed}: the last sample does not come");
    }
    know(&mut known, class, life.seen);
    if class == Class::Durable {
        owed.extend(1..=next);
        assert!(topic.losses().test().is_none(), "seed {seed}");
    }
    let told = std::iter::from_fn(|| topic.losses().test());
    known.extend(told.flat_map(|lost| lost.gap.from..=lost.gap.to));
    let nobody_was_told: Vec<_> = owed.difference(&known).collect();
    assert!(
        class == Class::Latest || nobody_was_told.is_empty(),
        "seed {seed}, {class}: {nobody_was_told:?}"
    );
}

/// A life has ended. Of a durable topic it was told nothing, and has seen what none before it has.
fn know(known: &mut BTreeSet<u64>, class: Class, seen: Seen) {
    let is_whole = seen.told.is_empty();
    let run = seen.run();
    let is_new = known.is_disjoint(&run);
    assert!(
        class != Class::Durable || (is_whole && is_new),
        "{known:?} {run:?}"
    );
    known.extend(run);
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
            let place = match seed % 3 {
                0 => Place::Beyond,
                1 => Place::BeyondTogether,
                _ => Place::Here,
            };
            program(class, seed, place);
            program_with_kills(class, seed);
        }
    }
}

#[test]
fn sem_g219_seen_and_told_are_together_what_was_published() {
    programs(0..100);
}

#[test]
#[ignore = "takes minutes: cargo xtask deep"]
fn deep_sem_g219_seen_and_told_are_together_what_was_published() {
    programs(100..10_000);
}
