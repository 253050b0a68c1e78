//! Values whose destructors panic, and which a service drops together.

use crate::shop::replay_with;
use motet_dispatch::Replay;
use motet_service::{Create, Node, Service, State, Subscribe, contract, data};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether destructors panic. One test uses these.
static PANICS: AtomicBool = AtomicBool::new(false);
/// How many have.
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Its destructor panics, from some time on.
#[data]
struct Unruly {
    number: u32,
}

impl Drop for Unruly {
    fn drop(&mut self) {
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
