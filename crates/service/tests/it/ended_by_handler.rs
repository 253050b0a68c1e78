//! A handler that ends its node: what it has is dropped, though clients remain.

use motet_dispatch::{Dispatcher, spawn};
use motet_ports::{reply, wait_blocking_for};
use motet_service::{Create, Node, Service, State, contract, data};
use motet_sync::Mutex;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static NODE: LazyLock<Mutex<Option<Node>>> = LazyLock::new(Mutex::default);

/// How many services there are.
static LIVING: AtomicUsize = AtomicUsize::new(0);

/// Counts the service that has it.
struct CountedService;

impl Default for CountedService {
    fn default() -> Self {
        LIVING.fetch_add(1, Ordering::Relaxed);
        CountedService
    }
}

impl Drop for CountedService {
    fn drop(&mut self) {
        LIVING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How often the node was to be ended.
#[data]
#[derive(Default)]
pub(crate) struct Ends {
    ends: u32,
}

#[contract(uri = "test:ender/1", state = Ends)]
pub(crate) trait Enders {
    /// Ends the node, if it is there.
    #[update]
    fn end(&mut self) -> u32;
}

#[derive(Service)]
#[service(contract = Enders)]
struct Ender {
    #[state]
    state: State<Ends>,
    _counted: CountedService,
}

impl Enders for Ender {
    fn end(&mut self) -> u32 {
        let node = NODE.lock().take();
        // Nothing is locked.
        drop(node);
        self.state.ends += 1;
        self.state.ends
    }
}

#[test]
fn a_service_that_ends_its_node_is_dropped_while_a_client_is_there() {
    let dispatcher = Dispatcher::new(1);
    let node = Node::builder("ended").register::<Ender>();
    let node = node.start(&dispatcher).unwrap();
    let (to, created) = reply();
    let (queue, creating) = (node.queue(), node.clone());
    let work = async move {
        let ender = creating.create(Create::<Ender>::of()).await.unwrap();
        // From here on it is short, and is carried out where it is called.
        assert_eq!(ender.end().await.unwrap(), 1);
        *NODE.lock() = Some(creating);
        to.post(ender).unwrap();
    };
    spawn(&queue, work).unwrap();
    let ender = wait_blocking_for(created, Duration::from_secs(60));
    let ender = ender.expect("it is made in time").expect("it is made");
    drop(node);
    assert_eq!(LIVING.load(Ordering::Relaxed), 1);
    let (to, ended) = reply();
    let calls = ender.clone();
    let work = async move { to.post(calls.end().await.map_err(drop)).unwrap() };
    spawn(&queue, work).unwrap();
    let ended = wait_blocking_for(ended, Duration::from_secs(60));
    // Its answer may be lost, or not.
    let _answer = ended.expect("it ends in time");
    assert!(NODE.lock().is_none(), "it was carried out");
    while LIVING.load(Ordering::Relaxed) > 0 {
        motet_sync::thread::yield_now();
    }
    drop(ender);
}
