//! Arbiters of one's own, built on what the crate shows to everyone.

use crate::support::{dispatcher, here, port_with, post_all};
use motet_dispatch::{Awaited, Dispatcher, Enqueue, QueueConfig, Task, TaskBody, TaskBox, Waiter};
use motet_ports::{
    Active, Attach, Choice, Offer, Outlet, Port, Receive, Receiver, Verdict, WeakPort,
};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_testkit::{Drops, Log};
use std::sync::Weak;

/// Takes the first item that stands before another in its port: when a second is offered, the one
/// that waits is left and the second is logged.
struct Second<T: Send + 'static> {
    port: Port<T>,
    log: Log<T>,
}

struct Core<T: Send + 'static> {
    this: Weak<Self>,
    port: WeakPort<T>,
    outlet: Outlet,
    log: Log<T>,
    closed: AtomicBool,
}

struct Found<T: Send + 'static> {
    item: T,
    by: Arc<Core<T>>,
}

impl<T: Send + 'static> Second<T> {
    fn of(port: &Port<T>, log: &Log<T>) -> Self {
        Second {
            port: port.clone(),
            log: log.clone(),
        }
    }
}

impl<T: Send + 'static> Attach for Second<T> {
    type Ports = Port<T>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Port<T>) {
        let core = Arc::new_cyclic(|this| Core {
            this: Weak::clone(this),
            port: self.port.downgrade(),
            outlet,
            log: self.log,
            closed: AtomicBool::new(false),
        });
        (core, self.port)
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl<T: Send + 'static> Receiver<T> for Core<T> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if !self.is_active() {
            offer.leave_port();
            return Verdict::Reject;
        }
        let Some(by) = self.this.upgrade().filter(|_| offer.waiting_count() > 0) else {
            return Verdict::Reject;
        };
        if let Err(verdict) = offer.claim(&self.outlet) {
            return verdict;
        }
        self.closed.store(true, Ordering::Release);
        offer.leave_port();
        let item = offer.accept();
        offer.send(&self.outlet, TaskBox::new(Found { item, by }).into_task());
        Verdict::Accept
    }
}

impl<T: Send + 'static> TaskBody for Found<T> {
    fn run(task: TaskBox<Self>) {
        let Found { item, by } = task.into_inner();
        let held = |item| -> Task {
            let by = Arc::clone(&by);
            TaskBox::new(Found { item, by }).into_task()
        };
        if let Some((item, _pass)) = by.outlet.enter(item, held) {
            by.log.push(item);
        }
    }

    fn cleanup(task: TaskBox<Self>) {
        let Found { item, by } = task.into_inner();
        by.port.put_back(item);
    }
}

impl<T: Send + 'static> Waiter for Core<T> {
    fn awaits(&self) -> Option<Awaited> {
        None
    }
}

impl<T: Send + 'static> Active for Core<T> {
    fn register(&self) {
        if let (Some(port), Some(core)) = (self.port.upgrade(), self.this.upgrade()) {
            port.register(core);
        }
    }

    fn cleanup(&self) {
        self.closed.store(true, Ordering::Release);
        if let (Some(port), Some(core)) = (self.port.upgrade(), self.this.upgrade()) {
            port.unregister(&(core as Arc<dyn Receiver<T>>));
        }
    }

    fn is_active(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && self.outlet.is_open()
    }
}

#[test]
fn sem_g20_an_own_arbiter_is_activated_like_any() {
    let (port, log) = (port_with([1]), Log::new());
    let active = Second::of(&port, &log).activate(&here()).unwrap();
    assert!(active.is_active());
    post_all(&port, [2, 3]);
    assert_eq!((log.take(), port.items()), (vec![2], vec![1, 3]));
    assert!(!active.is_active());
    assert_eq!(port.receiver_count(), 0);
    let active = Second::of(&port, &log).activate(&here()).unwrap();
    assert_eq!(log.take(), [3], "found at its registration");
    assert!(!active.is_active());
}

#[test]
fn sem_g20_an_own_arbiter_is_cleaned_up_like_any() {
    let (port, log) = (port_with([1]), Log::new());
    let active = Second::of(&port, &log).activate(&here()).unwrap();
    active.cleanup();
    port.post(2).unwrap();
    assert_eq!((log.len(), port.items()), (0, vec![1, 2]));
    assert_eq!(port.receiver_count(), 0);
}

#[test]
fn sem_g20_an_own_arbiter_is_a_branch_of_a_choice() {
    for own_wins in [true, false] {
        let (port, other, log) = (port_with([1]), Port::new(), Log::new());
        let told = log.clone();
        Choice::new()
            .or(Second::of(&port, &log))
            .or(Receive::once(&other, move |n: u32| told.push(n)))
            .activate(&here())
            .unwrap();
        if own_wins {
            post_all(&port, [2]);
            post_all(&other, [9]);
            assert_eq!(
                (log.take(), port.items(), other.items()),
                (vec![2], vec![1], vec![9])
            );
        } else {
            post_all(&other, [9]);
            post_all(&port, [2]);
            assert_eq!((log.take(), port.items()), (vec![9], vec![1, 2]));
        }
        assert_eq!((port.receiver_count(), other.receiver_count()), (0, 0));
    }
}

#[test]
fn sem_g20_an_own_arbiter_that_finds_no_room_takes_nothing() {
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::bounded("narrow", 1));
    let (port, log) = (port_with([1]), Log::new());
    let active = Second::of(&port, &log).activate(&queue).unwrap();
    dispatcher.wait_idle();
    queue.suspend();
    queue.enqueue(Task::new(|| ())).unwrap();
    assert_eq!(port.post(2).unwrap_err().item, 2);
    assert!(active.is_active());
    queue.resume();
    dispatcher.wait_idle();
    port.post(3).unwrap();
    dispatcher.wait_idle();
    assert_eq!((log.take(), port.items()), (vec![3], vec![1]));
}

#[test]
fn sem_g20_what_an_own_arbiter_did_not_handle_goes_back() {
    let ((dispatcher, queue), port, log) = (dispatcher(1), port_with([1]), Log::new());
    Second::of(&port, &log).activate(&queue).unwrap();
    dispatcher.wait_idle();
    queue.suspend();
    post_all(&port, [2, 3]);
    drop(dispatcher);
    assert_eq!(
        (log.len(), port.items()),
        (0, vec![2, 1, 3]),
        "at the front"
    );
}

#[test]
fn sem_g20_an_own_arbiter_goes_with_its_port() {
    let drops = Drops::new();
    let (port, log) = (Port::new(), Log::new());
    port.post(drops.make()).unwrap();
    let active = Second::of(&port, &log).activate(&here()).unwrap();
    drop(port);
    assert_eq!(drops.dropped(), 1);
    assert!(active.is_active());
    active.cleanup();
    assert!(!active.is_active());
}

/// A receive that says when it goes to work.
struct Told {
    receive: Receive<u32>,
    made: Log<u32>,
    number: u32,
}

impl Attach for Told {
    type Ports = <Receive<u32> as Attach>::Ports;

    fn attach(self, outlet: Outlet) -> (std::sync::Arc<dyn Active>, Self::Ports) {
        self.made.push(self.number);
        self.receive.attach(outlet)
    }

    fn is_once(&self) -> bool {
        true
    }
}

#[test]
fn sem_g17_a_branch_behind_one_that_has_its_items_does_not_go_to_work() {
    let ports = [(); 4].map(|()| Port::new());
    let (made, log) = (Log::new(), Log::new());
    let choose = |numbers: std::ops::Range<u32>| {
        let branches = numbers.map(|number| {
            let port = &ports[number as usize];
            let (log, made) = (log.clone(), made.clone());
            let receive = Receive::once(port, move |item| log.push((number, item)));
            Told {
                receive,
                made,
                number,
            }
        });
        let branches: Vec<Told> = branches.collect();
        Choice::any(branches).activate(&here()).unwrap();
    };
    post_all(&ports[2], [7, 8]);
    choose(0..4);
    assert_eq!((made.take(), log.take()), (vec![0, 1, 2], vec![(2, 7)]));
    choose(2..3);
    assert_eq!((made.take(), log.take()), (vec![2], vec![(2, 8)]));
    assert!(ports.iter().all(|port| port.receiver_count() == 0));
    choose(0..4);
    assert_eq!((made.take().len(), log.take()), (4, Vec::new()));
    ports[3].post(9).unwrap();
    assert_eq!(log.take(), [(3, 9)]);
    assert!(ports.iter().all(|port| port.receiver_count() == 0));
}

#[test]
fn sem_g17_a_choice_as_a_branch_registers_its_own_branches_in_turn() {
    let ports = [(); 3].map(|()| Port::new());
    let log = Log::new();
    let receive = |number: usize| {
        let log = log.clone();
        Receive::once(&ports[number], move |item: u32| log.push((number, item)))
    };
    for winner in 0..3 {
        for posted_first in [false, true] {
            let choice = Choice::new()
                .or(Choice::new().or(receive(0)).or(receive(1)))
                .or(receive(2));
            if posted_first {
                ports[winner].post(5).unwrap();
            }
            let active = choice.activate(&here()).unwrap();
            if !posted_first {
                assert!(ports.iter().all(|port| port.receiver_count() == 1));
                ports[winner].post(5).unwrap();
            }
            assert_eq!(log.take(), [(winner, 5)]);
            assert!(!active.is_active());
            assert!(ports.iter().all(|port| port.receiver_count() == 0));
        }
    }
}

/// Counts the registrations of another arbiter, which does everything else.
struct Counting<A> {
    inner: A,
    registrations: Log<()>,
}

struct CountingCore {
    inner: Arc<dyn Active>,
    registrations: Log<()>,
}

impl<A: Attach> Attach for Counting<A> {
    type Ports = A::Ports;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, A::Ports) {
        let (inner, ports) = self.inner.attach(outlet);
        let registrations = self.registrations;
        let core = CountingCore {
            inner,
            registrations,
        };
        (Arc::new(core), ports)
    }

    fn is_once(&self) -> bool {
        self.inner.is_once()
    }
}

impl Waiter for CountingCore {
    fn awaits(&self) -> Option<Awaited> {
        self.inner.awaits()
    }
}

impl Active for CountingCore {
    fn register(&self) {
        self.registrations.push(());
        self.inner.register();
    }

    fn cleanup(&self) {
        self.inner.cleanup();
    }

    fn is_active(&self) -> bool {
        self.inner.is_active()
    }
}

#[test]
fn sem_g20_an_own_arbiter_may_be_made_of_a_choice() {
    let (a, b, log, registrations) = (Port::new(), Port::new(), Log::new(), Log::new());
    let logs = |port: &Port<u32>| {
        let log = log.clone();
        Receive::once(port, move |n| log.push(n))
    };
    for early in [true, false] {
        let choice = Choice::new().or(logs(&a)).or(logs(&b));
        let counting = Counting {
            inner: choice,
            registrations: registrations.clone(),
        };
        if early {
            b.post(1).unwrap();
        }
        let active = counting.activate(&here()).unwrap();
        if !early {
            assert!(active.is_active());
            assert_eq!((a.receiver_count(), b.receiver_count()), (1, 1));
            b.post(1).unwrap();
        }
        assert_eq!((log.take(), registrations.take().len()), (vec![1], 1));
        assert_eq!((a.receiver_count(), b.receiver_count()), (0, 0));
        assert!(!active.is_active());
    }
}

#[test]
fn sem_g20_what_is_never_registered_keeps_no_ports() {
    let (dispatcher, queue) = dispatcher(1);
    queue.suspend();
    let (drops, port) = (Drops::new(), Port::new());
    port.post(drops.make()).unwrap();
    let choice = Choice::new().or(Receive::once(&port, drop));
    let active = choice.activate(&queue).unwrap();
    drop((port, dispatcher));
    assert_eq!(drops.dropped(), 1, "with the registration");
    assert!(!active.is_active(), "nothing will register it");
}

/// Takes an item of either of two ports, once.
struct Either {
    ports: [Port<u32>; 2],
    log: Log<u32>,
}

struct EitherCore {
    this: Weak<Self>,
    ports: [WeakPort<u32>; 2],
    outlet: Outlet,
    log: Log<u32>,
    done: AtomicBool,
}

impl Attach for Either {
    type Ports = [Port<u32>; 2];

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Self::Ports) {
        let core = Arc::new_cyclic(|this| EitherCore {
            this: Weak::clone(this),
            ports: self.ports.each_ref().map(Port::downgrade),
            outlet,
            log: self.log,
            done: AtomicBool::new(false),
        });
        (core, self.ports)
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl Receiver<u32> for EitherCore {
    fn offer(&self, offer: &mut Offer<'_, u32>) -> Verdict {
        if !self.is_active() {
            return Verdict::Reject;
        }
        if let Err(verdict) = offer.claim(&self.outlet) {
            return verdict;
        }
        self.done.store(true, Ordering::Release);
        offer.leave_port();
        let (item, log) = (offer.accept(), self.log.clone());
        offer.send(&self.outlet, Task::new(move || log.push(item)));
        Verdict::Accept
    }
}

impl Waiter for EitherCore {
    fn awaits(&self) -> Option<Awaited> {
        None
    }
}

impl Active for EitherCore {
    fn register(&self) {
        for port in self.ports.iter().filter_map(WeakPort::upgrade) {
            port.register(self.this.upgrade().expect("it is being registered"));
        }
    }

    fn cleanup(&self) {
        self.done.store(true, Ordering::Release);
        let this = self.this.upgrade().expect("it is being cleaned up");
        let this: Arc<dyn Receiver<u32>> = this;
        for port in self.ports.iter().filter_map(WeakPort::upgrade) {
            port.unregister(&this);
        }
    }

    fn is_active(&self) -> bool {
        !self.done.load(Ordering::Acquire) && self.outlet.is_open()
    }
}

#[test]
fn sem_g21_a_branch_that_wins_leaves_all_its_ports() {
    let (ports, other) = ([Port::new(), Port::new()], Port::new());
    let log = Log::new();
    let either = || Either {
        ports: ports.clone(),
        log: log.clone(),
    };
    let told = log.clone();
    let silent = || {
        let told = told.clone();
        Receive::once(&other, move |n: u32| told.push(n))
    };
    let receivers = || ports.each_ref().map(Port::receiver_count);
    for (number, winner) in ports.iter().enumerate() {
        for early in [true, false] {
            for alone in [true, false] {
                if early {
                    winner.post(3).unwrap();
                }
                if alone {
                    Choice::new().or(either()).activate(&here()).unwrap();
                } else {
                    let choice = Choice::new().or(either()).or(silent());
                    choice.activate(&here()).unwrap();
                }
                if !early {
                    winner.post(3).unwrap();
                }
                assert_eq!(log.take(), [3]);
                assert_eq!(receivers(), [0, 0], "{number} {early} {alone}");
                assert_eq!(other.receiver_count(), 0);
            }
        }
    }
}
