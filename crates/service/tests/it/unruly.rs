//! Values whose destructors panic, and which a service drops together.

use crate::shop::replay_with;
use motet_dispatch::{Dispatcher, Replay};
use motet_ports::wait_blocking;
use motet_service::system::{DebugClient, DebuggedService};
use motet_service::{Create, FaultCode, Node, Service, State, Subscribe, contract, data};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether destructors panic. One test uses these.
static PANICS: AtomicBool = AtomicBool::new(false);
/// How many have.
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// The number of those whose destructors always panic. Another test uses these.
const ALWAYS: u32 = 1_000;
/// How many have.
static ALWAYS_DROPPED: AtomicUsize = AtomicUsize::new(0);
/// How many of these panics were heard of.
static HEARD: AtomicUsize = AtomicUsize::new(0);

/// Its destructor panics, from some time on.
#[data]
struct Unruly {
    number: u32,
}

impl Drop for Unruly {
    fn drop(&mut self) {
        if self.number == ALWAYS {
            ALWAYS_DROPPED.fetch_add(1, Ordering::Relaxed);
            panic!("a destructor that always panics");
        }
        if PANICS.load(Ordering::Relaxed) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            panic!("the destructor of number {}", self.number);
        }
    }
}

/// What was taken.
#[data]
#[derive(Default)]
struct Taken {
    sum: u32,
}

#[contract(uri = "test:unruly/1", state = Taken)]
trait Takers {
    /// Takes it.
    #[update]
    fn take(&mut self, one: Unruly);
}

#[derive(Service)]
#[service(contract = Takers, name = "taker")]
struct Taker {
    #[state]
    taken: State<Taken>,
}

impl Takers for Taker {
    fn take(&mut self, one: Unruly) {
        self.taken.sum += one.number;
    }
}

#[test]
fn sem_g618_notifications_whose_destructors_panic_are_all_dropped_with_their_service() {
    // Where a panic comes out depends on who has the service last: the process goes on.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let replay = Replay::new(1);
        let node = Node::builder("unruly").register::<Taker>();
        let node = node.start(&replay).unwrap();
        replay_with(&replay, &node, async |node| {
            let taker = node.create(Create::<Taker>::of()).await.unwrap();
            // From here on notifications are kept.
            let told = taker.subscribe(Subscribe::all()).await.unwrap();
            for number in 0..3 {
                taker.take(Unruly { number }).await.unwrap();
            }
            told.unsubscribe().await.unwrap();
            PANICS.store(true, Ordering::Relaxed);
        });
    }));
    drop(ended);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 3);
}

#[test]
fn sem_g618_operations_whose_destructors_panic_are_all_refused_at_the_end_of_their_node() {
    let dispatcher = Dispatcher::new(1);
    dispatcher.on_exception(|_| {
        HEARD.fetch_add(1, Ordering::Relaxed);
    });
    let node = Node::builder("unruly").register::<Taker>();
    let node = node.start(&dispatcher).unwrap();
    let holding = async {
        let debug: DebugClient = node.client("/sys/debug").unwrap();
        let mut held = Vec::new();
        for path in ["/first", "/second"] {
            let create = Create::<Taker>::of().at(path);
            let taker = node.create(create).await.unwrap();
            let path = path.to_owned();
            debug.suspend(DebuggedService { path }).await.unwrap();
            for _ in 0..2 {
                held.push(taker.take(Unruly { number: ALWAYS }).into_future());
            }
        }
        held
    };
    let held = wait_blocking(holding).unwrap();
    drop(node);
    assert_eq!(ALWAYS_DROPPED.load(Ordering::Relaxed), 4);
    assert_eq!(
        HEARD.load(Ordering::Relaxed),
        2,
        "the first of each service"
    );
    for answer in held {
        let fault = wait_blocking(answer).unwrap().unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone);
    }
}
