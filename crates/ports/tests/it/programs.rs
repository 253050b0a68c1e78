//! Random programs of posts and receivers: the same results as the model, and on a dispatcher
//! nothing lost and nothing doubled.

use crate::model::{Model, Want};
use crate::support::{Wakes, dispatcher, here, in_parallel, poll, take_all};
use motet_dispatch::{Enqueue, spawn};
use motet_ports::{Activation, JoinedReceive, MultipleItemReceive, Port, Receive, Recv};
use motet_testkit::{Log, patience, within};
use proptest::prelude::*;
use std::task::Poll;

const PORTS: usize = 3;

/// One step of a program. Items are numbered by the runner, so each is posted once.
#[derive(Clone, Debug)]
enum Step {
    Post(usize),
    Test(usize),
    TestMultiple(usize, usize),
    /// Puts the item taken last back, to this port.
    PutBack(usize),
    Receive(usize, Want, bool),
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
    let want = |port: usize| {
        prop_oneof![
            (1..4_u32).prop_map(Want::Multiples),
            (1..4_usize).prop_map(Want::Batch),
            (1..PORTS).prop_map(move |step| Want::Join((port + step) % PORTS)),
            Just(Want::Await),
        ]
    };
    // Persistent receivers that take everything make a program dull: mostly one-time ones.
    let once = prop_oneof![3 => Just(true), 1 => Just(false)];
    (0..PORTS)
        .prop_flat_map(move |port| (Just(port), want(port), once.clone()))
        .prop_map(|(port, want, once)| Step::Receive(port, want, once || want == Want::Await))
}

type Handled = Log<(usize, Vec<u32>)>;

/// Activates what the model calls `want`.
fn activate(
    ports: &[Port<u32>],
    (port, want, once): (usize, Want, bool),
    (number, log): (usize, &Handled),
    queue: &impl Enqueue,
) -> Option<Activation> {
    let (port, log) = (&ports[port], log.clone());
    let activation = match (want, once) {
        (Want::Multiples(divisor), true) => {
            Receive::once(port, move |n| log.push((number, vec![n])))
                .when(move |n| n.is_multiple_of(divisor))
                .activate(queue)
        }
        (Want::Multiples(divisor), false) => {
            Receive::persistent(port, move |n| log.push((number, vec![n])))
                .when(move |n| n.is_multiple_of(divisor))
                .activate(queue)
        }
        (Want::Batch(count), true) => {
            MultipleItemReceive::once(port, count, move |batch| log.push((number, batch)))
                .activate(queue)
        }
        (Want::Batch(count), false) => {
            MultipleItemReceive::persistent(port, count, move |batch| log.push((number, batch)))
                .activate(queue)
        }
        (Want::Join(other), true) => JoinedReceive::once((port, &ports[other]), move |(a, b)| {
            log.push((number, vec![a, b]))
        })
        .activate(queue),
        (Want::Join(other), false) => {
            let handler = move |(a, b)| log.push((number, vec![a, b]));
            JoinedReceive::persistent((port, &ports[other]), handler).activate(queue)
        }
        (Want::Await, _) => return None,
    };
    Some(activation.expect("the queue is open and has room"))
}

/// A receiver of the real thing, by the model's number.
enum Real<'a> {
    Active(Activation),
    /// `None` when it has ended.
    Waiting(Option<Recv<'a, u32>>),
}

/// Runs a program on real ports and on the model, step by step.
struct Twins<'a> {
    model: Model,
    ports: &'a [Port<u32>],
    receivers: Vec<Real<'a>>,
    handled: Handled,
    posted: u32,
    /// Items that the program has taken out and not put back.
    out: Vec<u32>,
    waker: std::task::Waker,
}

impl<'a> Twins<'a> {
    fn new(ports: &'a [Port<u32>]) -> Self {
        Twins {
            model: Model::new(PORTS),
            ports,
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
            Step::Receive(port, want, once) => self.receive(port, want, once),
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

    fn receive(&mut self, port: usize, want: Want, once: bool) {
        let number = self.receivers.len();
        let active = activate(
            self.ports,
            (port, want, once),
            (number, &self.handled),
            &here(),
        );
        let real = active.map_or_else(
            || Real::Waiting(Some(self.ports[port].recv())),
            Real::Active,
        );
        self.receivers.push(real);
        assert_eq!(self.model.receive(port, want, once), number);
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
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn prop_sem_g02_programs_do_what_the_model_does(
        program in prop::collection::vec(step(), 1..80),
    ) {
        let ports = ports();
        let mut twins = Twins::new(&ports);
        for step in &program {
            twins.step(step);
            twins.check();
        }
        twins.end();
    }

    /// Where so many wait that most lie on a pile. A look at them makes nodes of all: it is rare.
    #[test]
    fn prop_sem_g26_programs_do_what_the_model_does_where_many_wait(
        many in 62_u32..600,
        program in prop::collection::vec((step(), 0..8), 1..80),
    ) {
        let ports = ports();
        let mut twins = Twins::new(&ports);
        (0..many * PORTS as u32).for_each(|n| twins.step(&Step::Post(n as usize % PORTS)));
        for (step, look) in &program {
            twins.step(step);
            if *look == 0 {
                twins.check();
            }
        }
        twins.end();
    }
}

fn ports() -> Vec<Port<u32>> {
    (0..PORTS).map(|_| Port::new()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn prop_sem_g02_on_four_threads_nothing_is_lost_or_doubled(
        programs in prop::collection::vec(prop::collection::vec(step(), 40..120), 3),
    ) {
        within(patience(), move || conserve(&programs));
    }
}

/// Runs the programs side by side on one set of ports and a dispatcher of four threads.
fn conserve(programs: &[Vec<Step>]) {
    let (dispatcher, queue) = dispatcher(4);
    let ports = ports();
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
                Step::Receive(port, want, once) => {
                    let kind = (port, want, once);
                    match activate(ports, kind, (number, handled), queue) {
                        Some(activation) => active.push(activation),
                        None => await_one(&ports[port], handled, number, queue),
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
