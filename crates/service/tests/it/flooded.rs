//! Lookup of a service that is flooded with changes.

use motet_dispatch::{Dispatcher, spawn};
use motet_ports::{Port, reply, wait_blocking};
use motet_service::{Create, Node, Service, State, Value, contract, data};
use std::sync::LazyLock;
use std::time::Duration;

/// What lets the flood begin, and what lets it end.
static BEGIN: LazyLock<Port<()>> = LazyLock::new(Port::new);
static END: LazyLock<Port<()>> = LazyLock::new(Port::new);

/// So many changes are a flood.
const MANY: u64 = 30_000;

#[data]
#[derive(Default)]
struct FallenDrops {
    count: u64,
}

#[contract(uri = "test:flooded/1", state = FallenDrops)]
trait Flooded {
    #[update]
    fn fall(&mut self);
    /// Waits alone, and changes nothing.
    #[update]
    async fn hold(&mut self, at_end: bool);
}

#[derive(Service)]
#[service(contract = Flooded, name = "flooded")]
struct OneFlooded {
    #[state]
    drops: State<FallenDrops>,
}

impl Flooded for OneFlooded {
    fn fall(&mut self) {
        self.drops.count += 1;
    }
    async fn hold(&mut self, at_end: bool) {
        let gate = if at_end { &END } else { &BEGIN };
        gate.recv().await;
    }
}

#[test]
fn sem_g378_lookup_is_answered_amid_a_flood_of_changes() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(2);
        let builder = Node::builder("flood").register::<OneFlooded>();
        let node = builder.start(&dispatcher).unwrap();
        let asked = async {
            let create = Create::<OneFlooded>::of().depth(100_000);
            let flooded = node.create(create).await.unwrap();
            let any = node.find("/flooded").unwrap();
            flooded.post(FloodedRequest::Hold(false)).unwrap();
            for _ in 0..MANY {
                flooded.post(FloodedRequest::Fall(())).unwrap();
            }
            flooded.post(FloodedRequest::Hold(true)).unwrap();
            // All of them wait.
            assert_eq!(flooded.lookup().await.unwrap().version, 0);
            assert_eq!(any.call("lookup", Value::Null).await.unwrap()["version"], 0);
            let (to, ended) = reply();
            let client = flooded.clone();
            let on_workers = async move {
                for _ in 0..100 {
                    assert!(client.lookup().await.unwrap().version <= MANY);
                }
                to.post(()).unwrap();
            };
            BEGIN.post(()).unwrap();
            spawn(&node.queue(), on_workers).unwrap();
            let mut before = 0;
            // The flood has not ended at any answer: it ends below.
            for _ in 0..200 {
                let version = flooded.lookup().await.unwrap().version;
                assert!(
                    (before..=MANY).contains(&version),
                    "{version} after {before}"
                );
                before = version;
            }
            ended.await.unwrap();
            END.post(()).unwrap();
            assert_eq!(flooded.get().await.unwrap().count, MANY);
        };
        wait_blocking(asked).unwrap();
    });
}
