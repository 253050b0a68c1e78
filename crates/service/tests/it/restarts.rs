//! Services that are dropped while they are built anew.

use crate::shop::replay_with;
use motet_dispatch::Replay;
use motet_ports::timer::sleep;
use motet_service::system::{DirectoriesClient, Filter};
use motet_service::{Create, Cx, Fault, FaultCode, Node, Service, State, contract, data};
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
