//! What follows when a service is built anew, or has failed for good.

use crate::shop::replay_with;
use motet_dispatch::Replay;
use motet_ports::timer::sleep;
use motet_service::{
    Create, Cx, Fault, FaultCode, Lifecycle, Node, Restart, Service, State, Supervise, contract,
    data,
};
use motet_sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[data]
#[derive(Default)]
struct Built {
    /// Which of all starts was the last one here.
    start: u64,
}

/// The number of starts.
static STARTS: AtomicU64 = AtomicU64::new(0);

fn next_start() -> u64 {
    STARTS.fetch_add(1, Ordering::Relaxed) + 1
}

#[contract(uri = "test:base/1", state = Built)]
trait Bases {
    #[update]
    fn fall(&mut self) -> u64;
    #[update]
    async fn hold(&mut self, ms: u64);
}

#[contract(uri = "test:floor/1", state = Built)]
trait Floors {
    #[update]
    fn fall(&mut self) -> u64;
}

#[contract(uri = "test:roof/1", state = Built)]
trait Roofs {}

#[derive(Service)]
#[service(contract = Bases, name = "base", start = begin)]
struct Base {
    #[state]
    built: State<Built>,
}

#[derive(Service)]
#[service(contract = Floors, name = "floor", start = begin)]
struct Floor {
    #[state]
    built: State<Built>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UsePartnerListEntry)]
    base: BasesClient,
}

#[derive(Service)]
#[service(contract = Roofs, name = "roof", start = begin)]
struct Roof {
    #[state]
    built: State<Built>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UsePartnerListEntry)]
    floor: FloorsClient,
}

/// Built beside the base, of which it keeps the start.
#[derive(Service)]
#[service(contract = Floors, name = "annex", start = begin)]
struct Annex {
    #[state]
    built: State<Built>,
    #[partner(policy = UsePartnerListEntry)]
    base: BasesClient,
}

impl Annex {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        self.built.start = self.base.get().await?.start;
        sleep(Duration::from_millis(100)).await;
        Ok(())
    }
}

impl Floors for Annex {
    fn fall(&mut self) -> u64 {
        self.built.start = 0;
        panic!("it falls, too")
    }
}

macro_rules! begins {
    ($($service:ty),*) => { $(
        impl $service {
            async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
                self.built.start = next_start();
                Ok(())
            }
        }
    )* };
}
begins!(Base, Floor, Roof);

impl Bases for Base {
    fn fall(&mut self) -> u64 {
        self.built.start = 0;
        panic!("it falls")
    }
    async fn hold(&mut self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }
}

impl Floors for Floor {
    fn fall(&mut self) -> u64 {
        self.built.start = 0;
        panic!("it falls in")
    }
}

impl Roofs for Roof {}

struct House {
    base: BasesClient,
    floor: FloorsClient,
    roof: RoofsClient,
}

impl House {
    /// A house whose base is supervised in this way.
    async fn build(node: &Node, how: Supervise) -> House {
        let base = Create::<Base>::of().supervise(how);
        let base = node.create(base).await.unwrap();
        let floor = Create::<Floor>::of().partner("base", "/base");
        let floor = node.create(floor).await.unwrap();
        let roof = Create::<Roof>::of().partner("floor", "/floor");
        let roof = node.create(roof).await.unwrap();
        House { base, floor, roof }
    }

    async fn starts(&self) -> [u64; 3] {
        let base = self.base.get().await.unwrap().start;
        let floor = self.floor.get().await.unwrap().start;
        [base, floor, self.roof.get().await.unwrap().start]
    }
}

/// Runs a test on nodes in virtual time.
fn replayed<F>(test: impl Fn(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..8 {
        let replay = Replay::new(seed);
        let builder = Node::builder("house")
            .register::<Base>()
            .register::<Floor>()
            .register::<Roof>()
            .register::<Annex>();
        replay_with(&replay, &builder.start(&replay).unwrap(), &test);
    }
}

fn with_dependents() -> Supervise {
    Supervise {
        with_dependents: true,
        ..Supervise::default()
    }
}

#[test]
fn sem_g602_those_who_have_it_as_a_partner_are_built_anew_after_it_in_order() {
    replayed(async |node| {
        let house = House::build(&node, with_dependents()).await;
        let before = house.starts().await;
        house.base.fall().await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
        let after = house.starts().await;
        assert!(after[0] > before[2] && after.is_sorted(), "{after:?}");
        for path in ["/base", "/floor", "/roof"] {
            assert_eq!(node.find(path).unwrap().figures().restarts, 1, "{path}");
        }
        // That of a service in between concerns those above it, if it says so: it does not.
        house.floor.fall().await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
        let last = house.starts().await;
        assert_eq!((last[0], last[2]), (after[0], after[2]));
        assert!(last[1] > after[1]);
    });
}

#[test]
fn sem_g602_one_that_is_being_built_meets_no_partner_of_before() {
    replayed(async |node| {
        let base = Create::<Base>::of().supervise(with_dependents());
        let base: BasesClient = node.create(base).await.unwrap();
        let annex = Create::<Annex>::of().partner("base", "/base");
        let annex: FloorsClient = node.create(annex).await.unwrap();
        annex.fall().await.unwrap_err();
        // It has asked the base by now, and is not there yet.
        sleep(Duration::from_millis(50)).await;
        base.fall().await.unwrap_err();
        sleep(Duration::from_secs(2)).await;
        let (base, annex) = (base.get().await.unwrap(), annex.get().await.unwrap());
        assert_eq!(annex.start, base.start);
    });
}

#[test]
fn sem_g602_restarts_for_a_partner_are_not_counted() {
    replayed(async |node| {
        let base = Supervise {
            times: 9,
            ..with_dependents()
        };
        let house = House::build(&node, base).await;
        // More often than the floor may be built anew for itself.
        for _ in 0..5 {
            house.base.fall().await.unwrap_err();
            sleep(Duration::from_millis(900)).await;
        }
        let info = house.floor.lookup().await.unwrap();
        assert_eq!(info.lifecycle, Lifecycle::Running);
        assert_eq!(node.find("/floor").unwrap().figures().restarts, 5);
        house.floor.fall().await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
        house.starts().await;
    });
}

#[test]
fn sem_g602_unless_it_is_said_partners_are_left_as_they_are() {
    replayed(async |node| {
        let house = House::build(&node, Supervise::default()).await;
        let before = house.starts().await;
        house.base.fall().await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
        let after = house.starts().await;
        assert_eq!(after[1..], before[1..]);
        assert!(after[0] > before[2]);
    });
}

#[test]
fn sem_g602_a_node_ends_when_an_essential_service_has_failed_for_good() {
    replayed(async |node| {
        let how = Supervise {
            restart: Restart::Temporary,
            essential: true,
            ..Supervise::default()
        };
        let house = House::build(&node, how).await;
        house.floor.fall().await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(node.failure(), None);
        house.roof.get().await.unwrap();
        house.base.fall().await.unwrap_err();
        node.until_end().await;
        let failure = node.failure().unwrap();
        assert!(failure.reason().contains("it falls"), "{failure}");
        assert_eq!(failure.service(), Some("/base"));
        sleep(Duration::from_secs(60)).await;
        let fault = house.roof.get().await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone, "{fault}");
    });
}

#[test]
fn sem_g602_a_transient_service_comes_back_after_a_fault_and_not_after_its_end() {
    replayed(async |node| {
        let manifest = "[[service]]\ntype = \"base\"\n\
                        supervise = { restart = \"transient\", with_dependents = true, \
                        essential = false }\n";
        let loaded = node.load([manifest]).await.unwrap();
        assert!(loaded[0].fault.is_none(), "{loaded:?}");
        let base: BasesClient = node.client("/base").unwrap();
        base.fall().await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
        assert!(base.get().await.unwrap().start > 0);
        base.hold(1).await.unwrap();
        base.drop_service().await.unwrap();
        sleep(Duration::from_secs(60)).await;
        let fault = base.get().await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone, "{fault}");
        assert!(node.find("/base").is_err());
    });
}
