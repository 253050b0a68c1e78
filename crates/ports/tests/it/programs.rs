//! Random programs of posts and receivers: the same results as the model, and on a dispatcher
//! nothing lost and nothing doubled.

use crate::model::{Model, Part, Want};
use crate::support::{Wakes, dispatcher, here, in_parallel, poll, take_all};
use motet_dispatch::{Enqueue, spawn};
use motet_ports::{
    Activation, Batch, JoinedReceive, MultipleItemGather, MultipleItemReceive, MultiplePortReceive,
    Port, Receive, Recv,
};
use motet_testkit::{Log, patience, within};
use proptest::prelude::*;
use std::task::Poll;

const PORTS: usize = 4;

/// One step of a program. Items are numbered by the runner, so each is posted once.
#[derive(Clone, Debug)]
enum Step {
    Post(usize),
    Test(usize),
    TestMultiple(usize, usize),
    /// Puts the item taken last back, to this port.
    PutBack(usize),
    Receive(Want, bool),
    /// Closes the receiver with this number, modulo how many there are.
    Cleanup(usize),
    /// Polls the awaited receive with this number, modulo how many there are.
    Poll(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let port = 0..PORTS;
    prop_oneof![
        8 => port.clone().prop_map(Step::Post),
        2 => port.clone().prop_map(Step::Test),
        1 => (port.clone(), 0..4_usize).prop_map(|(port, count)| Step::TestMultiple(port, count)),
        2 => port.prop_map(Step::PutBack),
        4 => receive(),
        1 => (0..64_usize).prop_map(Step::Cleanup),
        2 => (0..64_usize).prop_map(Step::Poll),
    ]
}

fn receive() -> impl Strategy<Value = Step> {
    // Ports in any order, each at most once.
    let ports = || Just((0..PORTS).collect::<Vec<_>>()).prop_shuffle();
    let part = (1..4_usize, 1..4_u32);
    let parts = (ports(), prop::collection::vec(part, 1..=PORTS)).prop_map(|(ports, parts)| {
        let parts = ports.into_iter().zip(parts);
        let part = |(port, (count, divisor))| Part {
            port,
            count,
            divisor,
        };
        parts.map(part).collect::<Vec<_>>()
    });
    let single = (0..PORTS, 1..4_u32).prop_map(|(port, divisor)| {
        let count = 1;
        Want::Multiple(Part {
            port,
            count,
            divisor,
        })
    });
    let total = (ports(), 1..6_usize).prop_map(|(ports, total)| Want::Total(total, ports));
    let want = prop_oneof![
        2 => single,
        5 => parts.prop_map(Want::All),
        1 => total.prop_map(|want| want),
        1 => (0..PORTS).prop_map(Want::Await),
    ];
    // Persistent receivers that take everything make a program dull: mostly one-time ones.
    let once = prop_oneof![3 => Just(true), 1 => Just(false)];
    (want, once).prop_map(|(want, once)| {
        let once = once || matches!(want, Want::Await(_));
        Step::Receive(want, once)
    })
}

type Handled = Log<(usize, Vec<u32>)>;

/// The kind of arbiter, once or persistent.
macro_rules! either {
    ($once:expr, $Kind:ident($($arg:expr),+)) => {
        if $once { $Kind::once($($arg),+) } else { $Kind::persistent($($arg),+) }
    };
}

/// Activates what the model calls `want`.
fn activate(
    ports: &[Port<u32>],
    want: &Want,
    once: bool,
    (number, log): (usize, &Handled),
    queue: &impl Enqueue,
) -> Option<Activation> {
    let log = log.clone();
    let handler = move |items: Vec<u32>| log.push((number, items));
    let activation = match want {
        Want::Multiple(part) => {
            let divisor = part.divisor;
            either!(
                once,
                Receive(&ports[part.port], move |item| handler(vec![item]))
            )
            .when(move |n| n.is_multiple_of(divisor))
            .activate(queue)
        }
        Want::All(parts) => return Some(join(ports, parts, once, handler, queue)),
        Want::Total(total, of) => {
            let parts = (&ports[of[0]], &ports[of[1]], &ports[of[2]], &ports[of[3]]);
            let handler = move |(a, b, c, d)| handler([a, b, c, d].concat());
            either!(once, MultipleItemGather(*total, parts, handler)).activate(queue)
        }
        Want::Await(_) => return None,
    };
    Some(activation.expect("the queue is open and has room"))
}

fn batch(ports: &[Port<u32>], part: Part) -> Batch<u32> {
    let Part {
        port,
        count,
        divisor,
    } = part;
    if divisor == 1 {
        ports[port].times(count)
    } else {
        let wanted = ports[port].when(move |n| n.is_multiple_of(divisor));
        wanted.times(count)
    }
}

/// Activates the arbiter for so many parts: each number of them another.
fn join(
    ports: &[Port<u32>],
    parts: &[Part],
    once: bool,
    handler: impl Fn(Vec<u32>) + Send + Sync + 'static,
    queue: &impl Enqueue,
) -> Activation {
    let batch = |part: &Part| batch(ports, *part);
    let activation = match parts {
        [one] => {
            let divisor = one.divisor;
            either!(
                once,
                MultipleItemReceive(&ports[one.port], one.count, handler)
            )
            .when(move |n| n.is_multiple_of(divisor))
            .activate(queue)
        }
        [one, other] if one.count == 1 => {
            let divisor = one.divisor;
            let one = ports[one.port].when(move |n| n.is_multiple_of(divisor));
            let handler = move |(a, b)| handler([vec![a], b].concat());
            either!(once, JoinedReceive((one, batch(other)), handler)).activate(queue)
        }
        [one, other] => {
            let handler = move |(a, b)| handler([a, b].concat());
            either!(once, JoinedReceive((batch(one), batch(other)), handler)).activate(queue)
        }
        [a, b, c] => {
            let handler = move |(a, b, c)| handler([a, b, c].concat());
            let parts = (batch(a), batch(b), batch(c));
            either!(once, JoinedReceive(parts, handler)).activate(queue)
        }
        row => {
            let handler = move |row: Vec<Vec<u32>>| handler(row.concat());
            let row = row.iter().map(batch);
            either!(once, MultiplePortReceive(row, handler)).activate(queue)
        }
    };
    activation.expect("the queue is open and has room")
}

/// A receiver of the real thing, by the model's number.
enum Real {
    Active(Activation),
    /// `None` when it has ended.
    Waiting(Option<Recv<u32>>),
}

/// Runs a program on real ports and on the model, step by step.
struct Twins {
    model: Model,
    ports: Vec<Port<u32>>,
    receivers: Vec<Real>,
    handled: Handled,
    posted: u32,
    /// Items that the program has taken out and not put back.
    out: Vec<u32>,
    waker: std::task::Waker,
}

impl Twins {
    fn new() -> Self {
        Twins {
            model: Model::new(PORTS),
            ports: (0..PORTS).map(|_| Port::new()).collect(),
            receivers: Vec::new(),
            handled: Log::new(),
            posted: 0,
            out: Vec::new(),
            waker: Wakes::new().1,
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post(port) => {
                self.posted += 1;
                self.ports[port].post(self.posted).unwrap();
                self.model.post(port, self.posted);
            }
            Step::Test(port) => {
                let item = self.ports[port].test();
                assert_eq!(item, self.model.test(port));
                self.out.extend(item);
            }
            Step::TestMultiple(port, count) => {
                let items = self.ports[port].test_multiple(count);
                assert_eq!(items, self.model.test_multiple(port, count));
                self.out.extend(items.unwrap_or_default());
            }
            Step::PutBack(port) => {
                if let Some(item) = self.out.pop() {
                    self.ports[port].put_back(item).unwrap();
                    self.model.put_back(port, item);
                }
            }
            Step::Receive(ref want, once) => self.receive(want, once, want.clone()),
            Step::Cleanup(number) if !self.receivers.is_empty() => {
                let number = number % self.receivers.len();
                match &mut self.receivers[number] {
                    Real::Active(activation) => activation.cleanup(),
                    Real::Waiting(recv) => *recv = None,
                }
                self.model.cleanup(number);
            }
            Step::Poll(number) if !self.receivers.is_empty() => {
                self.poll(number % self.receivers.len());
            }
            Step::Cleanup(_) | Step::Poll(_) => {}
        }
    }

    /// Activates `want`; the model is told `told`, which is the same in all tests but one.
    fn receive(&mut self, want: &Want, once: bool, told: Want) {
        let number = self.receivers.len();
        let active = activate(&self.ports, want, once, (number, &self.handled), &here());
        let real = active.map_or_else(
            || Real::Waiting(Some(self.ports[want.ports()[0]].recv())),
            Real::Active,
        );
        self.receivers.push(real);
        assert_eq!(self.model.receive(told, once), number);
        self.poll(number);
    }

    fn poll(&mut self, number: usize) {
        if let Real::Waiting(waiting) = &mut self.receivers[number]
            && let Some(recv) = waiting
        {
            let item = match poll(recv, &self.waker) {
                Poll::Ready(item) => Some(item),
                Poll::Pending => None,
            };
            assert_eq!(item, self.model.poll(number));
            if let Some(item) = item {
                self.out.push(item);
                *waiting = None;
            }
        }
    }

    /// Both are alike, and every item is somewhere, once.
    fn check(&self) {
        assert_eq!(self.handled.entries(), self.model.handled);
        for (number, port) in self.ports.iter().enumerate() {
            assert_eq!(port.items(), self.model.items(number), "port {number}");
        }
        assert_eq!(
            self.model.asleep(),
            [],
            "who can take something has taken it"
        );
    }

    /// Ends every receive that waits; then counts.
    fn end(mut self) {
        for (number, receiver) in self.receivers.iter_mut().enumerate() {
            if let Real::Waiting(recv) = receiver {
                *recv = None;
                self.model.cleanup(number);
            }
        }
        self.check();
        let handled = self.handled.take().into_iter().flat_map(|(_, items)| items);
        let waiting = self.ports.iter().flat_map(take_all);
        let mut all: Vec<u32> = handled.chain(waiting).chain(self.out).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=self.posted));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prop_sem_g02_sem_g76_programs_do_what_the_model_does(
        program in prop::collection::vec(step(), 1..80),
    ) {
        let mut twins = Twins::new();
        for step in &program {
            twins.step(step);
            twins.check();
        }
        twins.end();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prop_sem_g02_on_four_threads_nothing_is_lost_or_doubled(
        programs in prop::collection::vec(prop::collection::vec(step(), 40..120), 3),
    ) {
        within(patience(), move || conserve(&programs));
    }
}

/// The model says so when an arbiter does something else than it should.
#[test]
#[should_panic(expected = "left == right")]
fn the_model_can_fail() {
    let part = |count| Part {
        port: 0,
        count,
        divisor: 1,
    };
    let mut twins = Twins::new();
    twins.receive(&Want::All(vec![part(2)]), false, Want::All(vec![part(3)]));
    for _ in 0..2 {
        twins.step(&Step::Post(0));
    }
    twins.check();
}

/// Runs the programs side by side on one set of ports and a dispatcher of four threads.
fn conserve(programs: &[Vec<Step>]) {
    let (dispatcher, queue) = dispatcher(4);
    let ports: Vec<Port<u32>> = (0..PORTS).map(|_| Port::new()).collect();
    let handled = Handled::new();
    let shared = (programs.to_vec(), ports.clone(), handled.clone(), queue);
    let left = in_parallel(programs.len(), move |number| {
        let (programs, ports, handled, queue) = &shared;
        let base = u32::try_from(number).unwrap() * 1_000;
        let (mut posted, mut out, mut active) = (Vec::new(), Vec::new(), Vec::new());
        for step in &programs[number] {
            match *step {
                Step::Post(port) => {
                    let item = base + u32::try_from(posted.len()).unwrap();
                    posted.push(item);
                    ports[port].post(item).unwrap();
                }
                Step::Test(port) => out.extend(ports[port].test()),
                Step::TestMultiple(port, count) => {
                    out.extend(ports[port].test_multiple(count).unwrap_or_default());
                }
                Step::PutBack(port) => {
                    if let Some(item) = out.pop() {
                        ports[port].put_back(item).unwrap();
                    }
                }
                Step::Receive(ref want, once) => {
                    match activate(ports, want, once, (number, handled), queue) {
                        Some(activation) => active.push(activation),
                        None => await_one(&ports[want.ports()[0]], handled, number, queue),
                    }
                }
                Step::Cleanup(which) if !active.is_empty() => {
                    active[which % active.len()].cleanup();
                }
                // A receive that is dropped with its item, or before it gets one.
                Step::Poll(which) => {
                    let mut recv = ports[which % PORTS].recv();
                    if let Poll::Ready(item) = poll(&mut recv, &Wakes::new().1) {
                        out.push(item);
                    }
                }
                Step::Cleanup(_) => {}
            }
        }
        (posted, out)
    });
    dispatcher.wait_idle();
    let (posted, out): (Vec<_>, Vec<_>) = left.into_iter().unzip();
    let handled = handled.take().into_iter().flat_map(|(_, items)| items);
    let waiting = ports.iter().flat_map(take_all);
    let mut all: Vec<u32> = handled.chain(waiting).chain(out.concat()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(posted.concat()));
}

/// A task that awaits one item and logs it.
fn await_one(port: &Port<u32>, handled: &Handled, number: usize, queue: &impl Enqueue) {
    let (port, log) = (port.clone(), handled.clone());
    spawn(&queue.handle(), async move {
        let item = port.recv().await;
        log.push((number, vec![item]));
    })
    .expect("the queue is open and has room");
}
