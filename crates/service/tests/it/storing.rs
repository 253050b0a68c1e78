//! States that are stored once in a period, and files that manifests name.

use crate::clerk::{node_with, replay};
use crate::shop::{CornerShop, Line, ShopClient, replay_with};
use motet_dispatch::Replay;
use motet_ports::timer::sleep;
use motet_service::robot::{self, ExplorerClient, SensorClient};
use motet_service::{
    Create, EntryChange, Fault, Node, Options, Persist, Service, State, Store, Supervise, Value,
    contract, data,
};
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A store that refuses a number of commits, and then keeps all of them.
#[derive(Clone, Default)]
struct Noted {
    refuses: Arc<motet_sync::Mutex<u32>>,
    commits: Arc<motet_sync::Mutex<Vec<String>>>,
}

impl Noted {
    fn count(&self) -> usize {
        self.commits.lock().len()
    }
}

impl Store for Noted {
    fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        let last = self.commits.lock().last().cloned();
        Ok(last.map(String::into_bytes))
    }
    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        let mut refuses = self.refuses.lock();
        if *refuses > 0 {
            *refuses -= 1;
            return Err(Fault::failed("the disk is full"));
        }
        for (_, state) in entries {
            let text = String::from_utf8(state.clone()).unwrap();
            self.commits.lock().push(text);
        }
        Ok(())
    }
}

/// A shop that is stored each second.
async fn by_the_second(node: &Node) -> ShopClient {
    let create = Create::<CornerShop>::of().at("/shop");
    let create = create.persist(Persist::IntervalMs(1000));
    node.create(create).await.unwrap()
}

#[test]
fn sem_g609_the_changes_of_a_period_are_stored_once_and_the_last_at_the_end() {
    let store = Noted::default();
    let replay = Replay::new(1);
    let node = node_with(&replay, store.clone());
    let kept = store.clone();
    replay_with(&replay, &node, move |node| {
        let kept = kept.clone();
        async move {
            let shop = by_the_second(&node).await;
            for count in 0..5 {
                shop.upsert(Line::new("apples", count)).await.unwrap();
                sleep(100 * MS).await;
            }
            assert_eq!(kept.count(), 0, "the period is not over");
            sleep(1000 * MS).await;
            assert_eq!(kept.count(), 1);
            sleep(Duration::from_secs(60)).await;
            assert_eq!(kept.count(), 1, "nothing has changed since");
            // What is built anew is what was stored.
            shop.upsert(Line::new("apples", 9)).await.unwrap();
            shop.tear(Line::new("torn", 1)).await.unwrap_err();
            sleep(5000 * MS).await;
            assert_eq!(shop.count("apples".into()).await, Ok(4));
            let before = kept.count();
            shop.upsert(Line::new("pears", 7)).await.unwrap();
            assert_eq!(kept.count(), before);
        }
    });
    let last = store.commits.lock().last().cloned().unwrap();
    assert!(last.contains("pears"), "{last}");
}

#[test]
fn sem_g611_an_entry_that_was_changed_is_stored_with_its_state() {
    let store = Noted::default();
    let replay = Replay::new(1);
    let node = node_with(&replay, store.clone());
    replay_with(&replay, &node, async |node| {
        let create = Create::<CornerShop>::of().at("/shop");
        let shop = node.create(create.persist(Persist::Each)).await.unwrap();
        shop.upsert(Line::new("pears", 3)).await.unwrap();
        let any = node.find("/shop").unwrap();
        let figs = EntryChange::Upsert(Value::from(2));
        let changed = any.change_entry("/items/figs", figs, Options::default());
        assert!(changed.await.unwrap().created);
    });
    let last = store.commits.lock().last().cloned().unwrap();
    assert!(last.contains("\"figs\":2"), "{last}");
    assert!(last.contains("\"pears\":3"), "{last}");
}

#[test]
fn sem_g609_what_cannot_be_stored_is_served_and_tried_again() {
    let store = Noted::default();
    *store.refuses.lock() = 2;
    let replay = Replay::new(1);
    let node = node_with(&replay, store.clone());
    replay_with(&replay, &node, move |node| {
        let kept = store.clone();
        async move {
            let shop = by_the_second(&node).await;
            shop.upsert(Line::new("apples", 3)).await.unwrap();
            sleep(2500 * MS).await;
            assert_eq!(kept.count(), 0);
            assert!(node.store_fault().is_some());
            assert_eq!(shop.count("apples".into()).await, Ok(3));
            sleep(1000 * MS).await;
            assert_eq!(kept.count(), 1);
        }
    });
}

#[test]
fn sem_g609_what_could_not_be_stored_is_not_tried_again_with_each_short_period() {
    let store = Noted::default();
    *store.refuses.lock() = 1000;
    let replay = Replay::new(1);
    let node = node_with(&replay, store.clone());
    replay_with(&replay, &node, move |node| {
        let kept = store.clone();
        async move {
            let create = Create::<CornerShop>::of().at("/shop");
            let create = create.persist(Persist::IntervalMs(1));
            let shop: ShopClient = node.create(create).await.unwrap();
            shop.upsert(Line::new("apples", 3)).await.unwrap();
            sleep(2500 * MS).await;
            let left = *kept.refuses.lock();
            assert!((990..1000).contains(&left), "{left}");
            *kept.refuses.lock() = 0;
            sleep(1000 * MS).await;
            assert_eq!(kept.count(), 1);
        }
    });
}

#[data]
#[derive(Default)]
struct Sum {
    sum: u64,
}

#[contract(uri = "test:chief/1", state = Sum)]
trait Chiefs {
    #[update]
    fn fall(&mut self) -> u64;
}

#[contract(uri = "test:ledger/1", state = Sum)]
trait Ledgers {
    #[update]
    fn add(&mut self, n: u64);
}

#[derive(Service)]
#[service(contract = Chiefs, name = "chief")]
struct Chief {
    #[state]
    sum: State<Sum>,
}

#[derive(Service)]
#[service(contract = Ledgers, name = "ledger")]
struct Ledger {
    #[state]
    sum: State<Sum>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UsePartnerListEntry)]
    chief: ChiefsClient,
}

impl Chiefs for Chief {
    fn fall(&mut self) -> u64 {
        self.sum.sum = 0;
        panic!("it falls")
    }
}

impl Ledgers for Ledger {
    fn add(&mut self, n: u64) {
        self.sum.sum += n;
    }
}

#[test]
fn sem_g609_a_change_that_waits_is_stored_before_it_is_built_anew_for_a_partner() {
    let store = Noted::default();
    let replay = Replay::new(1);
    let node = node_with(&replay, store.clone());
    replay_with(&replay, &node, move |node| {
        let kept = store.clone();
        async move {
            let how = Supervise {
                with_dependents: true,
                ..Supervise::default()
            };
            let chief = Create::<Chief>::of().supervise(how);
            let chief: ChiefsClient = node.create(chief).await.unwrap();
            let ledger = Create::<Ledger>::of().partner("chief", "/chief");
            let ledger = ledger.persist(Persist::IntervalMs(60_000));
            let ledger: LedgersClient = node.create(ledger).await.unwrap();
            ledger.add(7).await.unwrap();
            let figures = || node.find("/ledger").unwrap().figures();
            let before = figures();
            assert_eq!(kept.count(), 0, "the period is not over");
            chief.fall().await.unwrap_err();
            sleep(1000 * MS).await;
            assert_eq!(figures().restarts, before.restarts + 1);
            assert_eq!(figures().calls, before.calls, "that is no call");
            assert_eq!(kept.count(), 1);
            assert_eq!(ledger.get().await.unwrap().sum, 7);
        }
    });
}

#[test]
fn a_robot_that_is_built_anew_is_told_once_of_what_it_senses() {
    let store = Noted::default();
    *store.refuses.lock() = 1;
    let replay = Replay::new(1);
    let node = robot::register(Node::builder("robot")).store(store);
    replay_with(&replay, &node.start(&replay).unwrap(), async |node| {
        let explorer = "at = \"/explorer\"\n";
        let stored = format!("{explorer}persist = \"each\"\n");
        let manifest = robot::MANIFEST.replace(explorer, &stored);
        let loaded = node.load([manifest.as_str()]).await.unwrap();
        assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
        let explorer: ExplorerClient = node.client("/explorer").unwrap();
        // What cannot be stored is not served: it is built anew.
        explorer.explore(true).await.unwrap_err();
        sleep(1000 * MS).await;
        assert!(node.find("/explorer").unwrap().figures().restarts > 0);
        for path in ["/bumper", "/laser"] {
            let sensor: SensorClient = node.client(path).unwrap();
            let info = sensor.lookup().await.unwrap();
            assert_eq!(info.subscriptions.len(), 1, "{:?}", info.subscriptions);
        }
    });
}

#[test]
fn sem_g610_a_file_that_a_manifest_names_is_sought_where_the_manifest_is() {
    let folder = std::env::temp_dir().join(format!("motet-relative-{}", std::process::id()));
    let record = |at: &str| {
        format!("[[service]]\ntype = \"chain\"\nat = \"{at}\"\nstate = {{ file = \"own.json\" }}\n")
    };
    let mut manifests = Vec::new();
    for (at, apples) in [("/one", 1), ("/two", 2)] {
        let own = folder.join(&at[1..]);
        std::fs::create_dir_all(&own).unwrap();
        let state = serde_json::json!({"items": {"apples": apples}, "nested": [], "ticks": 0});
        std::fs::write(own.join("own.json"), state.to_string()).unwrap();
        manifests.push((record(at), own));
    }
    let whole =
        record("/three").replace("own.json", &folder.join("one/own.json").to_string_lossy());
    manifests.push((whole, folder.join("two")));
    replay(move |node| {
        let manifests = manifests.clone();
        async move {
            let loaded = node.load_from(manifests).await.unwrap();
            assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
            for (at, apples) in [("/one", 1), ("/two", 2), ("/three", 1)] {
                let shop: ShopClient = node.client(at).unwrap();
                assert_eq!(shop.count("apples".into()).await, Ok(apples), "{at}");
            }
            // A text that has no file has no folder.
            let loaded = node.load([record_without_folder()]).await.unwrap();
            let fault = loaded[0].fault.clone().unwrap();
            assert!(fault.reason().contains("from own.json"), "{fault}");
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

fn record_without_folder() -> &'static str {
    "[[service]]\ntype = \"chain\"\nat = \"/four\"\nstate = { file = \"own.json\" }\n"
}
