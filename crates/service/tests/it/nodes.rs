//! Nodes: creation, partners, the directory, manifests, stores, ends.

use crate::shop::{Chain, CornerShop, Line, ShopClient, ShopContract, replay_with, replayed, shop};
use motet_dispatch::{Dispatcher, Replay, Timescale, spawn};
use motet_ports::timer::sleep;
use motet_service::system::{
    CataloguesClient, ConstructorsClient, DiagnosticsClient, DirectoriesClient, Filter, Level,
    LogFilter, LogsClient, ManifestsClient, Spec,
};
use motet_service::{
    Contract, Create, Cx, Fault, FaultCode, Folder, Lifecycle, Memory, Node, Persist, Redb,
    Service, State, Store, Subscribe, contract, data,
};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[data]
#[derive(Default)]
pub(crate) struct Beats {
    pub(crate) beats: u64,
    pub(crate) seen: u64,
}

/// Has partners, beats, and takes notifications.
#[contract(uri = "test:clerk/1", state = Beats)]
pub(crate) trait Clerk {
    #[query]
    async fn apples(&self) -> Result<i64, Fault>;
    #[notified]
    fn changed(&mut self, by: motet_service::Notification<ShopContract>);
    #[every(seconds = 1.0)]
    fn beat(&mut self);
}

#[derive(Service)]
#[service(contract = Clerk, start = begin)]
pub(crate) struct ShopClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = UseExisting)]
    shop: ShopClient,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner]
    spare: Option<ShopClient>,
}

impl ShopClerk {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        cx.subscribe::<ClerkClient, _>(&self.shop, Subscribe::all(), ClerkRequest::Changed)
            .await
    }
}

macro_rules! clerk {
    ($clerk:ty) => {
        impl Clerk for $clerk {
            async fn apples(&self) -> Result<i64, Fault> {
                self.shop.count("apples".to_owned()).await
            }
            fn changed(&mut self, _: motet_service::Notification<ShopContract>) {
                self.beats.seen += 1;
            }
            fn beat(&mut self) {
                self.beats.beats += 1;
            }
        }
    };
}
clerk!(ShopClerk);

#[derive(Service)]
#[service(contract = Clerk)]
pub(crate) struct SharedClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = UseExistingOrCreate)]
    shop: ShopClient,
}
clerk!(SharedClerk);

#[derive(Service)]
#[service(contract = Clerk)]
pub(crate) struct OwnClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = CreateAlways)]
    shop: ShopClient,
}
clerk!(OwnClerk);

/// Fails to start.
#[derive(Service)]
#[service(contract = Clerk, start = begin, unlisted)]
pub(crate) struct BadClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = UseExisting)]
    shop: ShopClient,
}
clerk!(BadClerk);

impl BadClerk {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        Err(Fault::failed("it overslept"))
    }
}

/// Two that need each other.
#[contract(uri = "test:left/1", state = Beats)]
pub(crate) trait LeftHand {}
#[contract(uri = "test:right/1", state = Beats)]
pub(crate) trait RightHand {}

#[derive(Service)]
#[service(contract = LeftHand)]
pub(crate) struct Left {
    #[state]
    beats: State<Beats>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UseExisting)]
    other: RightHandClient,
}
#[derive(Service)]
#[service(contract = RightHand)]
pub(crate) struct Right {
    #[state]
    beats: State<Beats>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UseExisting)]
    other: LeftHandClient,
}
impl LeftHand for Left {}
impl RightHand for Right {}

fn node(host: &impl motet_service::Host) -> Node {
    node_with(host, Memory::default())
}

fn node_with(host: &impl motet_service::Host, store: impl Store) -> Node {
    Node::builder("test")
        .register::<CornerShop>()
        .register::<Chain>()
        .register::<ShopClerk>()
        .register::<SharedClerk>()
        .register::<OwnClerk>()
        .register::<BadClerk>()
        .register::<Left>()
        .register::<Right>()
        .store(store)
        .start(host)
        .unwrap()
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
fn dss_001_to_003_the_path_of_a_service() {
    replay(async |node| {
        let shop = node.create(Create::<CornerShop>::of()).await.unwrap();
        assert_eq!(shop.path(), "/corner-shop");
        let one = node.create(Create::<Chain>::of().at("/x")).await.unwrap();
        let two = node.create(Create::<Chain>::of().at("/x")).await.unwrap();
        assert_eq!((one.path(), two.path()), ("/x", "/x/2"));
        shop.upsert(Line::new("figs", 1)).await.unwrap();
        let fault = node.create(Create::<CornerShop>::of()).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::DuplicateEntry);
        assert_eq!(
            shop.count("figs".into()).await,
            Ok(1),
            "the first is untouched"
        );
        let fault = node
            .create(Create::<CornerShop>::of().at("no path"))
            .await
            .unwrap_err();
        assert_eq!(fault.code(), FaultCode::MessageNotSupported);
    });
}

#[test]
fn dss_005_to_007_the_directory() {
    replay(async |node| {
        let directory: DirectoriesClient = node.client("/sys/directory").unwrap();
        let shops = || {
            directory.find(Filter {
                contract: Some("test:shop/1".into()),
                kind: None,
            })
        };
        let told = directory
            .subscribe(Subscribe::all().keys([Some("test:shop/1")]))
            .await
            .unwrap();
        let shop = shop(&node).await;
        assert_eq!(shops().await.unwrap()[0].path, "/shop");
        shop.drop_service().await.unwrap();
        assert!(shops().await.unwrap().is_empty());
        let names = [told.recv().await, told.recv().await, told.recv().await].map(|n| n.name());
        assert_eq!(names, ["record", "record", "remove"]);
    });
}

#[test]
fn dss_008_an_unknown_path() {
    replay(async |node| {
        assert_eq!(
            node.find("/nowhere").unwrap_err().code(),
            FaultCode::UnknownService
        );
        let wrong = node.client::<ShopClient>("/sys/log").unwrap_err();
        assert_eq!(wrong.code(), FaultCode::MessageNotSupported);
    });
}

#[test]
fn dss_009_what_could_be_there() {
    replay(async |node| {
        let contracts: CataloguesClient = node.client("/sys/contracts").unwrap();
        let kinds = contracts.having("test:shop/1".into()).await.unwrap();
        assert_eq!(kinds, ["chain", "corner-shop"]);
    });
}

#[test]
fn dss_037_041_notifications_and_beats_are_inside_the_interleave() {
    replay(async |node| {
        let shop = shop(&node).await;
        let clerk = node.create(Create::<ShopClerk>::of()).await.unwrap();
        shop.add(1).await.unwrap();
        sleep(Duration::from_millis(10_500)).await;
        let state = clerk.get().await.unwrap();
        assert_eq!((state.beats, state.seen), (10, 1));
        clerk.drop_service().await.unwrap();
        let calls = || node.find("/sys/log").unwrap().figures().calls;
        let before = calls();
        sleep(Duration::from_secs(10)).await;
        assert_eq!(calls(), before, "nothing beats any more");
    });
}

#[test]
fn dss_042_a_service_with_a_thread_of_its_own() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(1);
        let node = node(&dispatcher);
        motet_ports::wait_blocking(async {
            let own = node
                .create(Create::<Chain>::of().at("/own").threads(1))
                .await
                .unwrap();
            let other = node
                .create(Create::<Chain>::of().at("/other"))
                .await
                .unwrap();
            assert_eq!(own.compute(1).await, Ok(2));
            assert_eq!(other.compute(1).await, Ok(2));
            node.shutdown().await;
            assert_eq!(own.get().await.unwrap_err().code(), FaultCode::Gone);
        })
        .unwrap();
    });
}

#[test]
fn dss_067_to_069_a_partner_that_is_there_or_not() {
    replay(async |node| {
        let soon = || Create::<ShopClerk>::of().partners_within(100 * MS);
        let fault = node.create(soon()).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::UnknownService);
        assert!(node.find("/shop-clerk").is_err(), "nothing is left");
        shop(&node).await;
        let clerk = node.create(soon()).await.unwrap();
        assert_eq!(clerk.apples().await, Ok(3));
        let partners = clerk.lookup().await.unwrap().partners;
        assert_eq!(
            partners.into_iter().collect::<Vec<_>>(),
            [("shop".into(), "/shop".into())]
        );
    });
}

#[test]
fn dss_070_two_share_one() {
    replay(async |node| {
        let other = node.clone();
        let (to, made) = motet_ports::reply();
        spawn(&node.queue(), async move {
            to.post(
                other
                    .create(Create::<SharedClerk>::of().at("/a"))
                    .await
                    .is_ok(),
            )
            .unwrap();
        })
        .unwrap();
        let clerk = node
            .create(Create::<SharedClerk>::of().at("/b"))
            .await
            .unwrap();
        assert_eq!(made.await, Ok(true));
        let shops = node
            .services()
            .into_iter()
            .filter(|s| s.contract == ShopContract::URI);
        assert_eq!(shops.count(), 1);
        drop(clerk);
    });
}

#[test]
fn dss_071_072_one_of_its_own_and_a_list_that_wins() {
    replay(async |node| {
        shop(&node).await;
        let one = node
            .create(Create::<OwnClerk>::of().at("/a"))
            .await
            .unwrap();
        let two = node
            .create(Create::<OwnClerk>::of().at("/b"))
            .await
            .unwrap();
        let paths =
            [one.lookup().await, two.lookup().await].map(|i| i.unwrap().partners["shop"].clone());
        assert_ne!(paths[0], paths[1]);
        let listed = Create::<OwnClerk>::of().at("/c").partner("shop", "/shop");
        let listed = node.create(listed).await.unwrap();
        assert_eq!(listed.apples().await, Ok(3));
    });
}

#[test]
fn dss_073_a_partner_that_comes_in_time() {
    replay(async |node| {
        let late = node.clone();
        spawn(&node.queue(), async move {
            sleep(Duration::from_secs(3)).await;
            shop(&late).await;
        })
        .unwrap();
        let soon = Create::<ShopClerk>::of().partners_within(Duration::from_secs(1));
        assert!(node.create(soon).await.is_err());
        let later = Create::<ShopClerk>::of().partners_within(Duration::from_secs(5));
        node.create(later).await.unwrap();
    });
}

#[test]
fn dss_077_two_that_wait_for_each_other() {
    replay(async |node| {
        let other = node.clone();
        spawn(&node.queue(), async move {
            drop(other.create(Create::<Left>::of()).await);
        })
        .unwrap();
        let fault = node.create(Create::<Right>::of()).await.unwrap_err();
        assert!(fault.reason().contains("wait for each other"), "{fault}");
        assert!(node.queue().clock().now().elapsed() < Duration::from_secs(1));
    });
}

#[test]
fn dss_081_sem_g530_a_start_that_fails_leaves_nothing() {
    replay(async |node| {
        shop(&node).await;
        let fault = node.create(Create::<BadClerk>::of()).await.unwrap_err();
        assert!(fault.reason().contains("overslept"), "{fault}");
        assert!(node.find("/bad-clerk").is_err());
    });
}

const MANIFEST: &str = r#"
[[service]]
type = "shop-clerk"
at = "/clerk"
partners = { shop = { link = "main shop" } }

[[service]]
type = "no-such-type"

[[service]]
name = "main shop"
type = "corner-shop"
at = "/main"
state = { value = { items = { apples = 5 }, nested = [], ticks = 0 } }
allow = ["*: *"]
"#;

#[test]
fn dss_075_076_078_079_manifests() {
    replay(async |node| {
        let manifests: ManifestsClient = node.client("/sys/manifests").unwrap();
        let more = r#"{"service": [{"type": "chain", "at": "/branch"}]}"#;
        let loaded = manifests
            .load(vec![MANIFEST.into(), more.into()])
            .await
            .unwrap();
        let ok: Vec<_> = loaded.iter().map(|one| one.fault.is_none()).collect();
        assert_eq!(ok, [true, false, true, true]);
        let clerk: ClerkClient = node.client("/clerk").unwrap();
        assert_eq!(clerk.apples().await, Ok(5));
        let log: LogsClient = node.client("/sys/log").unwrap();
        let errors = log
            .read(LogFilter {
                level: Level::Error,
                ..LogFilter::default()
            })
            .await
            .unwrap();
        assert!(
            errors
                .iter()
                .any(|entry| entry.text.contains("no-such-type")),
            "{errors:?}"
        );
    });
}

#[test]
fn sem_g531_a_text_that_is_no_manifest_is_refused_with_its_place() {
    replay(async |node| {
        let fault = node.load(["[[service]]\ntypo = 3\n"]).await.unwrap_err();
        assert!(fault.reason().contains("typo"), "{fault}");
        let cyclic = r#"
[[service]]
type = "left"
partners = { other = "/right" }
[[service]]
type = "right"
partners = { other = "/left" }
"#;
        let loaded = node.load([cyclic]).await.unwrap();
        let fault = loaded[0].fault.clone().unwrap();
        assert!(
            fault.reason().contains("/left -> /right -> /left"),
            "{fault}"
        );
    });
}

#[test]
fn dss_080_the_constructor_makes_by_name() {
    replay(async |node| {
        let constructor: ConstructorsClient = node.client("/sys/constructor").unwrap();
        let mut spec = Spec::of_kind("chain");
        spec.at = Some("/made".to_owned());
        assert_eq!(constructor.create(spec).await.unwrap().path, "/made");
        let fault = constructor
            .create(Spec::of_kind("castle"))
            .await
            .unwrap_err();
        assert_eq!(fault.code(), FaultCode::UnknownService);
    });
}

#[test]
fn dss_082_084_086_initial_states_of_files() {
    let folder = std::env::temp_dir().join(format!("motet-service-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let good = write(
        "good.json",
        r#"{"items": {"apples": 8}, "nested": [], "ticks": 1}"#,
    );
    let bad = write("bad.json", "{\"items\":\n {\"apples\": }");
    let missing = folder.join("missing.json").display().to_string();
    let record = |at: &str, file: &str, required: bool| {
        format!(
            "[[service]]\ntype = \"chain\"\nat = \"{at}\"\nstate = {{ file = \"{file}\", required = {required} }}\n"
        )
    };
    let manifest = record("/good", &good, true)
        + &record("/bad", &bad, true)
        + &record("/none", &missing, true)
        + &record("/default", &missing, false);
    replay(move |node| {
        let manifest = manifest.clone();
        async move {
            let loaded = node.load([manifest]).await.unwrap();
            let shop: ShopClient = node.client("/good").unwrap();
            assert_eq!(shop.count("apples".into()).await, Ok(8));
            let why = |at: usize| loaded[at].fault.clone().unwrap().reason().to_owned();
            assert!(
                why(1).contains("bad.json") && why(1).contains("line 2"),
                "{}",
                why(1)
            );
            assert!(why(2).contains("missing.json"), "{}", why(2));
            let shop: ShopClient = node.client("/default").unwrap();
            assert!(shop.get().await.unwrap().items.is_empty());
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn fill(node: &Node) {
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let shop = node.create(create).await.unwrap();
    shop.upsert(Line::new("apples", 3)).await.unwrap();
    assert_eq!(shop.add(1).key("k").await, Ok(4));
}

async fn refill(node: &Node) {
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let shop = node.create(create).await.unwrap();
    assert_eq!(
        shop.count("apples".into()).await,
        Ok(4),
        "the stored state wins"
    );
    assert_eq!(shop.get().await.unwrap().version, 2, "versions go on");
    assert_eq!(
        shop.add(1).key("k").await,
        Ok(4),
        "the key is stored with the state"
    );
    // A torn state is read again.
    shop.tear(Line::new("torn", 1)).await.unwrap_err();
    loop {
        match shop.count("apples".into()).await {
            Ok(count) => break assert_eq!(count, 4),
            Err(fault) => assert_eq!(fault.code(), FaultCode::Unavailable),
        }
        sleep(MS).await;
    }
    assert!(shop.count("torn".into()).await.is_err());
}

#[test]
fn dss_085_sem_g535_what_was_answered_is_there_after_a_restart() {
    let folder = std::env::temp_dir().join(format!("motet-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let memory = Memory::default();
    for store in ["memory", "folder", "redb"] {
        let file = folder.join("states.redb");
        for life in 0..2 {
            let dispatcher = Dispatcher::new(2);
            let node = match store {
                "memory" => node_with(&dispatcher, memory.clone()),
                "folder" => node_with(&dispatcher, Folder::open(&folder).unwrap()),
                _ => node_with(&dispatcher, Redb::open(&file).unwrap()),
            };
            motet_ports::wait_blocking(async {
                match life {
                    0 => fill(&node).await,
                    _ => refill(&node).await,
                }
                node.shutdown().await;
            })
            .unwrap();
        }
    }
    // A file that was damaged is named.
    std::fs::write(folder.join("shop.json"), "{\"contract\":\n 7").unwrap();
    let dispatcher = Dispatcher::new(1);
    let node = node_with(&dispatcher, Folder::open(&folder).unwrap());
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let fault = motet_ports::wait_blocking(node.create(create))
        .unwrap()
        .unwrap_err();
    assert!(fault.reason().contains("line 2"), "{fault}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A store that takes so many commits.
struct Full(motet_sync::Mutex<u32>);

impl Store for Full {
    fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }
    fn commit(&self, _: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        let mut left = self.0.lock();
        *left = left
            .checked_sub(1)
            .ok_or_else(|| Fault::failed("the disk is full"))?;
        Ok(())
    }
}

#[test]
fn sem_g536_what_cannot_be_stored_is_not_answered() {
    let replay = Replay::new(1);
    let node = node_with(&replay, Full(motet_sync::Mutex::new(1)));
    replay_with(&replay, &node, async |node| {
        let create = Create::<CornerShop>::of()
            .at("/shop")
            .persist(Persist::Each);
        let shop = node.create(create).await.unwrap();
        shop.upsert(Line::new("apples", 3)).await.unwrap();
        let fault = shop.upsert(Line::new("pears", 3)).await.unwrap_err();
        assert!(fault.reason().contains("disk is full"), "{fault}");
        sleep(Duration::from_secs(1)).await;
        assert!(shop.count("pears".into()).await.is_err());
    });
}

#[test]
fn dss_098_sem_g532_a_node_ends_in_the_order_of_its_partners() {
    replay(async |node| {
        let shop = shop(&node).await;
        let clerk = node.create(Create::<ShopClerk>::of()).await.unwrap();
        let log = node.client::<LogsClient>("/sys/log").unwrap();
        node.shutdown().await;
        for fault in [
            shop.get().await.unwrap_err(),
            clerk.get().await.unwrap_err(),
        ] {
            assert_eq!(fault.code(), FaultCode::Gone);
        }
        drop(log);
        assert!(node.services().is_empty());
        let fault = node.create(Create::<CornerShop>::of()).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone);
    });
}

#[test]
fn dss_099_a_program_has_a_node_inside() {
    let dispatcher = Dispatcher::new(1);
    let node = node(&dispatcher);
    let shop = motet_ports::wait_blocking(shop(&node)).unwrap();
    drop(node);
    let fault = motet_ports::wait_blocking(async { shop.get().within(100 * MS).await });
    assert!(
        fault.unwrap().is_err(),
        "the node went with its last handle"
    );
}

#[test]
fn dss_043_diagnostics_show_who_waits() {
    replay(async |node| {
        let shop = shop(&node).await;
        let busy = std::future::IntoFuture::into_future(shop.add_slowly(100));
        sleep(MS).await;
        let waits = std::future::IntoFuture::into_future(shop.add(1));
        let diagnostics: DiagnosticsClient = node.client("/sys/diagnostics").unwrap();
        sleep(MS).await;
        let figures = diagnostics.figures().await.unwrap();
        let figure = figures
            .iter()
            .find(|figure| figure.path == "/shop")
            .unwrap();
        assert_eq!(figure.figures.changes_waiting, 1);
        assert_eq!(figure.lifecycle, Lifecycle::Running);
        busy.await.unwrap();
        waits.await.unwrap();
    });
}

#[test]
fn dss_106_the_log_is_read_and_subscribed_to() {
    replayed(async |node| {
        let log: LogsClient = node.client("/sys/log").unwrap();
        let told = log
            .subscribe(Subscribe::all().keys([Some("error")]))
            .await
            .unwrap();
        let shop = shop(&node).await;
        shop.break_down().await.unwrap_err();
        let said = told.recv().await;
        assert_eq!(said.keys(), ["error", "panic", "/shop"]);
        let only = LogFilter {
            service: Some("/shop".into()),
            ..LogFilter::default()
        };
        assert_eq!(log.read(only).await.unwrap().len(), 1);
    });
}

#[test]
fn dss_107_the_timescale_of_a_node() {
    let replay = Replay::new(1);
    let node = Node::builder("slow")
        .register::<CornerShop>()
        .timescale(Timescale::new(2.0));
    let node = node.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let shop = node.create(Create::<CornerShop>::of()).await.unwrap();
        let clock = node.queue().clock();
        let begun = clock.now();
        shop.count_slowly(60_000)
            .within(Duration::from_secs(1))
            .await
            .unwrap_err();
        assert_eq!((clock.now() - begun).as_secs(), 2);
    });
}
