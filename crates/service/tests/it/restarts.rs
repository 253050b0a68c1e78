//! Services that are dropped, or whose node ends, while they start or are built anew.

use crate::shop::replay_with;
use motet_dispatch::{Causality, Replay, spawn};
use motet_ports::timer::sleep;
use motet_service::system::{DirectoriesClient, Filter};
use motet_service::{Create, Cx, Fault, FaultCode, Node, Service, State, Value, contract, data};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[data]
#[derive(Default)]
struct Falls {
    count: u64,
}

#[contract(uri = "test:unsteady/1", state = Falls)]
trait Unsteady {
    /// Panics.
    #[update]
    fn fall(&mut self) -> u64;
}

#[derive(Service)]
#[service(contract = Unsteady, name = "unsteady", start = begin)]
struct OneUnsteady {
    #[state]
    falls: State<Falls>,
}

/// How often it was started.
static STARTS: AtomicUsize = AtomicUsize::new(0);

impl OneUnsteady {
    /// Works once; later it takes a second and fails.
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        if STARTS.fetch_add(1, Ordering::Relaxed) == 0 {
            return Ok(());
        }
        sleep(Duration::from_secs(1)).await;
        Err(Fault::failed("it does not get up"))
    }
}

impl Unsteady for OneUnsteady {
    fn fall(&mut self) -> u64 {
        self.falls.count += 1;
        panic!("it falls")
    }
}

#[test]
fn a_service_that_is_dropped_while_it_is_built_anew_does_not_come_back() {
    let replay = Replay::new(1);
    let builder = Node::builder("steps").register::<OneUnsteady>();
    let node = builder.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let unsteady = node.create(Create::<OneUnsteady>::of()).await.unwrap();
        unsteady.fall().await.unwrap_err();
        sleep(Duration::from_millis(10)).await;
        assert_eq!(STARTS.load(Ordering::Relaxed), 2, "it is being built anew");
        unsteady.drop_service().await.unwrap();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(STARTS.load(Ordering::Relaxed), 2);
        let directory: DirectoriesClient = node.client("/sys/directory").unwrap();
        let records = directory.find(Filter::default()).await.unwrap();
        assert!(records.iter().all(|record| record.path != "/unsteady"));
        let fault = unsteady.get().await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone, "{fault}");
    });
}

#[contract(uri = "test:stumbler/1", state = Falls)]
trait Stumblers {
    /// Panics, after a while.
    #[update]
    async fn stumble(&mut self);
    #[update]
    fn count_up(&mut self) -> u64;
}

#[derive(Service)]
#[service(contract = Stumblers, name = "stumbler")]
struct Stumbler {
    #[state]
    falls: State<Falls>,
}

impl Stumblers for Stumbler {
    async fn stumble(&mut self) {
        sleep(Duration::from_millis(1)).await;
        panic!("over a stone")
    }
    fn count_up(&mut self) -> u64 {
        self.falls.count += 1;
        self.falls.count
    }
}

#[test]
fn sem_g371_a_service_is_built_anew_once_for_a_panic_that_nobody_awaits() {
    let replay = Replay::new(1);
    let builder = Node::builder("stumblers").register::<Stumbler>();
    let node = builder.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let stumbler = node.create(Create::<Stumbler>::of()).await.unwrap();
        stumbler.post(StumblersRequest::Stumble(())).unwrap();
        sleep(Duration::from_millis(5)).await;
        assert_eq!(stumbler.count_up().await, Ok(1), "it serves again");
        sleep(Duration::from_secs(1)).await;
        let kept = stumbler.get().await.unwrap().count;
        assert_eq!(kept, 1, "what was changed since is there");
        assert_eq!(node.find("/stumbler").unwrap().figures().restarts, 1);
    });
}

#[test]
fn sem_g371_a_service_is_built_anew_though_its_change_is_cancelled() {
    let replay = Replay::new(1);
    let builder = Node::builder("stumblers").register::<Stumbler>();
    let node = builder.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let stumbler = node.create(Create::<Stumbler>::of()).await.unwrap();
        let order = Causality::new("order").skipping_unstarted();
        order.run(|| stumbler.post(StumblersRequest::Stumble(())).unwrap());
        // It has begun, and goes on.
        sleep(Duration::from_micros(500)).await;
        order.cancel("nobody wants it");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(node.find("/stumbler").unwrap().figures().restarts, 1);
        assert_eq!(stumbler.count_up().await, Ok(1), "it serves again");
    });
}

#[contract(uri = "test:sleeper/1", state = Falls)]
trait Sleepers {}

/// Takes three seconds to start and five to end.
#[derive(Service)]
#[service(contract = Sleepers, name = "sleeper", start = begin, stop = end)]
struct Sleeper {
    #[state]
    falls: State<Falls>,
}

impl Sleeper {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        sleep(Duration::from_secs(3)).await;
        Ok(())
    }
    async fn end(self, _: &Cx) {
        sleep(Duration::from_secs(5)).await;
    }
}

impl Sleepers for Sleeper {}

#[test]
fn sem_g391_a_service_that_starts_when_its_node_has_ended_does_not_serve() {
    let replay = Replay::new(1);
    let builder = Node::builder("sleepers").register::<Sleeper>();
    let node = builder.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let first = node.create(Create::<Sleeper>::of().at("/first")).await;
        first.unwrap();
        let ends = node.clone();
        spawn(&node.queue(), async move { ends.shutdown().await }).unwrap();
        // The node waits for the end of the first, and then ends: the second starts after that.
        sleep(Duration::from_secs(4)).await;
        let second = node.create(Create::<Sleeper>::of().at("/second")).await;
        assert_eq!(second.unwrap_err().code(), FaultCode::Gone);
    });
}

#[test]
fn sem_g389_a_service_that_is_dropped_while_it_starts_is_not_in_the_directory() {
    for seed in 0..8 {
        let replay = Replay::new(seed);
        let builder = Node::builder("sleepers").register::<Sleeper>();
        let node = builder.start(&replay).unwrap();
        replay_with(&replay, &node, async |node| {
            let drops = node.clone();
            let dropping = async move {
                sleep(Duration::from_secs(1)).await;
                let sleeper = drops.find("/sleeper").unwrap();
                sleeper.call("drop", Value::Null).await.unwrap();
            };
            spawn(&node.queue(), dropping).unwrap();
            drop(node.create(Create::<Sleeper>::of()).await);
            sleep(Duration::from_secs(20)).await;
            let directory: DirectoriesClient = node.client("/sys/directory").unwrap();
            let records = directory.find(Filter::default()).await.unwrap();
            assert!(records.iter().all(|record| record.path != "/sleeper"));
            assert!(node.find("/sleeper").is_err());
        });
    }
}
