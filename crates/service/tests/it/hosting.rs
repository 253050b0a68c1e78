//! What a node is to its services: threads of their own, who is shown, in which order they end.

use crate::shop::replay_with;
use motet_dispatch::{Dispatcher, Replay};
use motet_ports::timer::sleep;
use motet_ports::wait_blocking;
use motet_service::system::{DirectoriesClient, Filter, ManifestsClient};
use motet_service::{
    Create, Cx, Fault, FaultCode, Group, Node, Notification, Operation, Service, State, Subscribe,
    Value, Verb, contract, data,
};
use motet_testkit::{Gate, within};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// How many have come by.
#[data]
#[derive(Default)]
struct Passed {
    passed: u64,
}

#[contract(uri = "test:lodge/1", state = Passed)]
trait Lodges {
    #[query]
    fn passed(&self) -> u64;
    /// Keeps its thread until the gate of the caller is open.
    #[update]
    async fn pass(&mut self, cx: &Cx);
    #[update]
    fn leave(&mut self);
}

#[derive(Service)]
#[service(contract = Lodges, name = "lodge")]
struct Lodge {
    #[state]
    passed: State<Passed>,
}

/// The same, which the directory does not show.
#[derive(Service)]
#[service(contract = Lodges, name = "back-door", unlisted)]
struct BackDoor {
    #[state]
    passed: State<Passed>,
}

/// The same, which says when it begins that it has an operation more.
#[derive(Service)]
#[service(contract = Lodges, name = "annex", start = opens)]
struct Annex {
    #[state]
    passed: State<Passed>,
}

static PAINT: Operation = Operation {
    name: "paint",
    verb: Verb::Submit,
    group: Group::Concurrent,
    about: "Gives it another colour.",
    body: || Value::Bool(true),
    answer: || Value::Bool(true),
    job: false,
    rollback: false,
    is_async: true,
    number: 0,
    called: true,
};

impl Annex {
    async fn opens(&mut self, cx: &Cx) -> Result<(), Fault> {
        cx.lists(vec![&PAINT]);
        Ok(())
    }
}

macro_rules! lodges {
    ($lodge:ty) => {
        impl Lodges for $lodge {
            fn passed(&self) -> u64 {
                self.passed.passed
            }
            async fn pass(&mut self, cx: &Cx) {
                if let Some(gate) = cx.header::<Gate>() {
                    gate.pass();
                }
                self.passed.passed += 1;
            }
            fn leave(&mut self) {
                self.passed.passed += 1;
            }
        }
    };
}

lodges!(Lodge);
lodges!(BackDoor);
lodges!(Annex);

/// What has happened, in this order.
#[data]
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
}

/// Hears of its partner, comes by each second, and when it ends.
#[contract(uri = "test:visitor/1", state = Lines)]
trait Visitors {
    #[update]
    async fn work(&mut self);
    #[notified]
    fn hear(&mut self, by: Notification<LodgesContract>);
    #[every(seconds = 1.0)]
    fn knock(&mut self);
}

#[derive(Service)]
#[service(contract = Visitors, name = "visitor", start = come, stop = go)]
struct Visitor {
    #[state]
    seen: State<Lines>,
    #[partner(policy = UseExisting)]
    lodge: LodgesClient,
}

impl Visitors for Visitor {
    async fn work(&mut self) {
        self.seen.lines.push("begins".to_owned());
        sleep(100 * MS).await;
        self.seen.lines.push("ends".to_owned());
    }
    fn hear(&mut self, _: Notification<LodgesContract>) {
        self.seen.lines.push("hears".to_owned());
    }
    fn knock(&mut self) {
        self.lodge.post(LodgesRequest::Leave(())).unwrap();
    }
}

impl Visitor {
    async fn come(&mut self, cx: &Cx) -> Result<(), Fault> {
        cx.subscribe::<VisitorsClient, _>(&self.lodge, Subscribe::all(), VisitorsRequest::Hear)
            .await
    }

    async fn go(self, _: &Cx) {
        self.lodge.leave().await.unwrap();
    }
}

fn node(host: &impl motet_service::Host) -> Node {
    let node = Node::builder("host").register::<Lodge>();
    let node = node.register::<BackDoor>().register::<Visitor>();
    let node = node.register::<Annex>();
    node.start(host).unwrap()
}

fn replay<F>(test: impl Fn(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..4 {
        let replay = Replay::new(seed);
        replay_with(&replay, &node(&replay), &test);
    }
}

#[test]
fn dss_004_lookup_tells_operations_that_the_service_has_said() {
    replay(async |node| {
        let annex = node.create(Create::<Annex>::of()).await.unwrap();
        let told = annex.lookup().await.unwrap().operations;
        let names: Vec<&str> = told.iter().map(|told| told.name.as_str()).collect();
        assert_eq!(names, ["passed", "pass", "leave", "paint"]);
        assert_eq!(
            (told[3].verb, told[3].about.as_str()),
            (PAINT.verb, PAINT.about)
        );
        let any = node.find(annex.path()).unwrap();
        let names: Vec<&str> = any.operations().map(|own| own.name).collect();
        assert_eq!(names, ["passed", "pass", "leave", "paint"]);
        assert!(any.operation("paint").is_some() && any.operation("serve").is_none());
    });
}

#[test]
fn dss_006_a_service_that_the_directory_does_not_show() {
    replay(async |node| {
        let directory: DirectoriesClient = node.client("/sys/directory").unwrap();
        for _ in 0..2 {
            let hidden = node.create(Create::<BackDoor>::of()).await.unwrap();
            let shown = node.create(Create::<Lodge>::of()).await.unwrap();
            sleep(MS).await;
            let wanted = Filter {
                contract: Some("test:lodge/1".to_owned()),
                kind: None,
            };
            let found = directory.find(wanted).await.unwrap();
            let paths: Vec<_> = found.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(paths, ["/lodge"]);
            // Whoever knows its path calls it.
            let known: LodgesClient = node.client("/back-door").unwrap();
            known.leave().await.unwrap();
            assert_eq!(hidden.passed().await, Ok(1));
            for lodge in [hidden, shown] {
                lodge.drop_service().await.unwrap();
            }
        }
    });
}

/// A lodge and its visitor, whose path comes after that of its partner.
async fn lodge_and_visitor(node: &Node) -> (LodgesClient, VisitorsClient) {
    let lodge = node.create(Create::<Lodge>::of().at("/a")).await.unwrap();
    let visitor = node.create(Create::<Visitor>::of().at("/b")).await;
    (lodge, visitor.unwrap())
}

#[test]
fn dss_037_a_notification_comes_between_changes() {
    replay(async |node| {
        let (lodge, visitor) = lodge_and_visitor(&node).await;
        let work = [visitor.work(), visitor.work()].map(IntoFuture::into_future);
        for _ in 0..3 {
            lodge.leave().await.unwrap();
            sleep(30 * MS).await;
        }
        for work in work {
            work.await.unwrap();
        }
        sleep(MS).await;
        let lines = visitor.get().await.unwrap().lines.clone();
        let is_alone = |two: &[String]| (two[0] == "begins") == (two[1] == "ends");
        assert!(lines.windows(2).all(is_alone), "{lines:?}");
        let heard = lines.iter().filter(|line| *line == "hears").count();
        assert_eq!((lines.len(), heard), (7, 3));
    });
}

#[test]
fn dss_041_what_comes_each_second_ends_with_its_service() {
    replay(async |node| {
        let (lodge, visitor) = lodge_and_visitor(&node).await;
        sleep(3500 * MS).await;
        assert_eq!(lodge.passed().await, Ok(3));
        visitor.drop_service().await.unwrap();
        sleep(10_000 * MS).await;
        assert_eq!(lodge.passed().await, Ok(4), "it has left, and no more");
    });
}

#[test]
fn dss_042_a_service_that_blocks_its_own_thread_keeps_no_other() {
    within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(1);
        let node = node(&dispatcher);
        let create = |create: Create<Lodge>| wait_blocking(node.create(create)).unwrap().unwrap();
        let own = create(Create::of().at("/own").threads(1));
        let other = create(Create::of().at("/other"));
        let gate = Gate::new();
        let blocked = own.pass().header(gate.clone()).into_future();
        gate.wait_for(1);
        // Its only thread waits at the gate, and that of the node is free.
        for _ in 0..10 {
            let answered = wait_blocking(other.pass().into_future());
            assert_eq!(answered.unwrap(), Ok(()));
        }
        assert_eq!(wait_blocking(other.passed().into_future()).unwrap(), Ok(10));
        gate.open();
        assert_eq!(wait_blocking(blocked).unwrap(), Ok(()));
        wait_blocking(node.shutdown()).unwrap();
        let gone = wait_blocking(own.passed().into_future()).unwrap();
        assert_eq!(gone.unwrap_err().code(), FaultCode::Gone);
    });
}

#[test]
fn dss_043_who_starves_beside_a_service_that_blocks_is_seen_from_outside() {
    within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(1);
        let node = node(&dispatcher);
        let create = |path: &str| {
            let create = Create::<Lodge>::of().at(path);
            wait_blocking(node.create(create)).unwrap().unwrap()
        };
        let (blocking, other) = (create("/blocking"), create("/other"));
        // Reading them takes no worker.
        let waiting = || {
            let figures = node.find("/other").unwrap().figures();
            (figures.reads_waiting, figures.changes_waiting)
        };
        assert_eq!(waiting(), (0, 0));
        let gate = Gate::new();
        let blocked = blocking.pass().header(gate.clone()).into_future();
        gate.wait_for(1);
        // The only thread of the node waits at the gate.
        let read = other.passed().into_future();
        let changes = [other.leave(), other.leave()].map(IntoFuture::into_future);
        assert_eq!(waiting(), (1, 2));
        gate.open();
        assert_eq!(wait_blocking(blocked).unwrap(), Ok(()));
        assert!(wait_blocking(read).unwrap().is_ok());
        for change in changes {
            assert_eq!(wait_blocking(change).unwrap(), Ok(()));
        }
        assert_eq!(waiting(), (0, 0));
        wait_blocking(node.shutdown()).unwrap();
    });
}

#[test]
fn dss_098_sem_g391_a_service_ends_before_its_partner() {
    replay(async |node| {
        // By the order of their paths the partner would end first.
        let (lodge, _visitor) = lodge_and_visitor(&node).await;
        let told = lodge.subscribe(Subscribe::all()).await.unwrap();
        node.shutdown().await;
        let names: Vec<_> = std::iter::from_fn(|| told.test())
            .map(|one| one.name())
            .collect();
        assert_eq!(names, ["leave", "gone"]);
    });
}

#[test]
fn sem_g390_the_schema_of_manifests_is_told() {
    replay(async |node| {
        let manifests: ManifestsClient = node.client("/sys/manifests").unwrap();
        let schema = manifests.schema().await.unwrap();
        let record = &schema["$defs"]["Record"];
        assert_eq!(record["required"], serde_json::json!(["type"]));
        assert_eq!(record["additionalProperties"], false);
        for field in [
            "type",
            "name",
            "at",
            "state",
            "partners",
            "persist",
            "supervise",
            "allow",
            "network",
            "threads",
            "depth",
            "key_bytes",
            "partners_within_ms",
        ] {
            assert!(!record["properties"][field].is_null(), "{field}: {schema}");
        }
    });
}
