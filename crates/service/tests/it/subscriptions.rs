//! Who is told of changes.

use crate::shop::{CornerShop, Line, ShopRequest, replay_with, replayed, shop, threaded};
use motet_dispatch::{Replay, spawn};
use motet_ports::timer::sleep;
use motet_service::system::LogsClient;
use motet_service::{
    Create, Event, FaultCode, Node, Options, Restart, Service, Slow, State, Subscribe, Supervise,
    contract, data,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::future::{Future, poll_fn};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

#[test]
fn dss_050_without_a_filter_all_changes_come() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        shop.add(1).await.unwrap();
        let state = (*shop.get().await.unwrap().state).clone();
        shop.replace(state.clone()).await.unwrap();
        let first = told.recv().await;
        assert!(
            matches!(first.operation(), Some(ShopRequest::Add(1))),
            "{first:?}"
        );
        assert_eq!(**told.recv().await.state().unwrap(), state);
    });
}

#[test]
fn dss_051_a_filter_by_operation_or_by_verb() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let of = |word: &str| shop.subscribe(Subscribe::all().operation(word));
        let adds = of("add").await.unwrap();
        // An operation of this name, and the verb of others.
        let updates = of("update").await.unwrap();
        let states = of("replace").await.unwrap();
        shop.upsert(Line::new("figs", 1)).await.unwrap();
        shop.add(1).await.unwrap();
        shop.update(Line::new("figs", 5)).await.unwrap();
        let state = (*shop.get().await.unwrap().state).clone();
        shop.replace(state).await.unwrap();
        shop.delete("figs".to_owned()).await.unwrap();
        assert_eq!(adds.recv().await.name(), "add");
        let updated = [updates.recv().await, updates.recv().await].map(|told| told.name());
        assert_eq!(updated, ["add", "update"]);
        assert!(states.recv().await.state().is_some());
        let more = [&adds, &updates, &states].map(|told| told.item_count());
        assert_eq!(more, [0; 3]);
    });
}

#[test]
fn dss_052_a_filter_by_keys() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let how = Subscribe::all()
            .keys([Some("apples"), None])
            .keys([Some("pears"), Some("true")]);
        let told = shop.subscribe(how).await.unwrap();
        shop.update(Line::new("apples", 0)).await.unwrap();
        shop.update(Line::new("pears", 0)).await.unwrap();
        shop.update(Line::new("pears", 1)).await.unwrap();
        let keys = [told.recv().await, told.recv().await].map(|n| n.keys().join(" "));
        assert_eq!(keys, ["apples false", "pears true"]);
        assert_eq!(told.item_count(), 0);
    });
}

#[test]
fn dss_053_054_064_a_count_an_expiry_and_the_list() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let three = Subscribe::all().operation("add").count(3).named("three");
        let three = shop.subscribe(three).await.unwrap();
        let short = Subscribe::all().expires(Duration::from_secs(1));
        let short = shop.subscribe(short).await.unwrap();
        // One that has expired when it begins.
        let past = Subscribe::all().expires(Duration::ZERO);
        let past = shop.subscribe(past).await.unwrap();
        let keyed = Subscribe::all().keys([Some("apples"), None]);
        let keyed = shop.subscribe(keyed).await.unwrap();
        let list = shop.lookup().await.unwrap().subscriptions;
        assert_eq!(list.len(), 3);
        assert_eq!(list[0].name.as_deref(), Some("three"));
        assert_eq!(list[0].operations, ["add"]);
        assert!(list[0].keys.is_empty());
        assert!(list[1].operations.is_empty() && list[1].keys.is_empty());
        assert!(list[2].operations.is_empty());
        assert_eq!(list[2].keys, [[Some("apples".to_owned()), None]]);
        let left: Vec<_> = list.iter().map(|one| one.left).collect();
        assert_eq!(left, [Some(3), None, None]);
        shop.add(1).await.unwrap();
        let list = shop.lookup().await.unwrap().subscriptions;
        assert_eq!(list[0].left, Some(2));
        assert_eq!((short.item_count(), past.item_count()), (1, 0));
        sleep(Duration::from_secs(2)).await;
        for _ in 0..5 {
            shop.add(1).await.unwrap();
        }
        assert_eq!((three.item_count(), short.item_count()), (3, 1));
        assert_eq!(past.item_count(), 0);
        let list = shop.lookup().await.unwrap().subscriptions;
        let ids: Vec<u64> = list.iter().map(|one| one.id).collect();
        assert_eq!(ids, [keyed.id()]);
    });
}

#[test]
fn dss_055_the_state_first_and_to_the_new_one_only() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let old = shop.subscribe(Subscribe::all()).await.unwrap();
        let new = shop.subscribe(Subscribe::all().sync()).await.unwrap();
        assert_eq!(new.recv().await.state().unwrap().items["apples"], 3);
        assert_eq!(old.item_count(), 0);
    });
}

#[test]
fn sem_g382_no_gap_and_no_doubling_on_entering() {
    replayed(async |node| {
        let shop = node
            .create(Create::<CornerShop>::of().at("/shop"))
            .await
            .unwrap();
        shop.upsert(Line::new("n", 0)).await.unwrap();
        let writer = shop.clone();
        spawn(&node.queue(), async move {
            for _ in 0..50 {
                writer.add(1).await.unwrap();
            }
        })
        .unwrap();
        let told = shop.subscribe(Subscribe::all().sync()).await.unwrap();
        let mut version = told.recv().await.version;
        while version < 51 {
            let next = told.recv().await;
            assert_eq!(next.version, version + 1);
            version = next.version;
        }
    });
}

#[test]
fn dss_056_sem_g383_in_order_for_each_subscriber() {
    threaded(async |node| {
        let shop = node
            .create(Create::<CornerShop>::of().at("/shop"))
            .await
            .unwrap();
        shop.upsert(Line::new("n", 0)).await.unwrap();
        let told = shop
            .subscribe(Subscribe::all().limit(2000, Slow::End))
            .await
            .unwrap();
        for _ in 0..500 {
            shop.add(1).await.unwrap();
        }
        for n in 2..=501 {
            assert_eq!(told.recv().await.version, n);
        }
    });
}

#[test]
fn dss_057_a_slow_subscriber_delays_nobody() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let oldest = shop
            .subscribe(Subscribe::all().limit(4, Slow::DropOldest))
            .await
            .unwrap();
        let whole = shop
            .subscribe(Subscribe::all().limit(4, Slow::Coalesce))
            .await
            .unwrap();
        let end = shop
            .subscribe(Subscribe::all().limit(4, Slow::End))
            .await
            .unwrap();
        for _ in 0..10 {
            shop.add(1).await.unwrap();
        }
        let first = oldest.recv().await;
        assert!(matches!(first.event, Event::Lost(7)), "{first:?}");
        assert_eq!(oldest.items_left(), [10, 11, 12]);
        let last = std::iter::from_fn(|| whole.test()).last().unwrap();
        assert_eq!(last.version, 12);
        let seen: Vec<_> = std::iter::from_fn(|| end.test())
            .map(|n| n.name())
            .collect();
        assert_eq!(seen, ["add", "add", "add", "add", "gone"]);
    });
}

trait ItemsLeft {
    fn items_left(&self) -> Vec<u64>;
}

impl<C: motet_service::Contract> ItemsLeft for motet_service::Subscription<C> {
    fn items_left(&self) -> Vec<u64> {
        std::iter::from_fn(|| self.test())
            .map(|n| n.version)
            .collect()
    }
}

#[test]
fn sem_g384_since_replays_what_was_missed() {
    replayed(async |node| {
        let shop = shop(&node).await;
        drop(shop.subscribe(Subscribe::all()).await.unwrap());
        for _ in 0..5 {
            shop.add(1).await.unwrap();
        }
        let told = shop.subscribe(Subscribe::all().since(4)).await.unwrap();
        assert_eq!(told.items_left(), [5, 6, 7]);
    });
}

#[test]
fn sem_g384_missed_changes_beyond_the_limit_end_the_subscription_or_are_one_state() {
    replayed(async |node| {
        let shop = node
            .create(Create::<CornerShop>::of().at("/shop"))
            .await
            .unwrap();
        drop(shop.subscribe(Subscribe::all()).await.unwrap());
        for n in 1..=10 {
            shop.upsert(Line::new("n", n)).await.unwrap();
        }
        let since = |slow| Subscribe::all().since(0).limit(2, slow);
        let end = shop.subscribe(since(Slow::End)).await.unwrap();
        let seen: Vec<_> = std::iter::from_fn(|| end.test())
            .map(|n| n.name())
            .collect();
        assert_eq!(seen, ["upsert", "upsert", "gone"]);
        let any = node.find("/shop").unwrap();
        let (_, told) = any.subscribe(since(Slow::End)).await.unwrap();
        let seen: Vec<_> = std::iter::from_fn(|| told.test())
            .map(|n| n.event.clone())
            .collect();
        assert_eq!(seen, ["upsert", "upsert", "gone"]);
        assert!(shop.lookup().await.unwrap().subscriptions.is_empty());
        let whole = shop.subscribe(since(Slow::Coalesce)).await.unwrap();
        let first = whole.recv().await;
        assert_eq!((first.version, first.state().unwrap().items["n"]), (10, 10));
        assert_eq!(whole.item_count(), 0);
        // Of so many that fit nothing is said in one.
        let two = since(Slow::Coalesce).count(2);
        let two = shop.subscribe(two).await.unwrap();
        assert_eq!(two.items_left(), [1, 2]);
    });
}

#[test]
fn a_state_that_stands_for_what_a_slow_subscriber_has_lost_is_counted() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let three = Subscribe::all().count(3).limit(2, Slow::Coalesce);
        let three = shop.subscribe(three).await.unwrap();
        for _ in 0..5 {
            shop.add(1).await.unwrap();
        }
        assert!(shop.lookup().await.unwrap().subscriptions.is_empty());
        let last = three.recv().await;
        assert_eq!((last.version, last.name()), (5, "replace"));
        assert_eq!(three.item_count(), 0);
    });
}

#[test]
fn a_state_that_stands_for_what_came_before_is_counted() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let all = shop.subscribe(Subscribe::all()).await.unwrap();
        let first = shop.get().await.unwrap().version;
        for _ in 0..5 {
            shop.add(1).await.unwrap();
        }
        let three = Subscribe::all().since(first).count(3);
        let three = three.limit(2, Slow::Coalesce);
        let three = shop.subscribe(three).await.unwrap();
        shop.add(1).await.unwrap();
        // The two that there was room for, and the state in their place.
        let told: Vec<_> = std::iter::from_fn(|| three.test())
            .map(|n| n.name())
            .collect();
        assert_eq!(told, ["replace"]);
        assert_eq!(all.item_count(), 6);
    });
}

/// A request with its own destructor.
#[data]
struct Nosy {
    text: String,
}

/// The node whose service they ask, and how often they did.
static ASKED: OnceLock<Node> = OnceLock::new();
static ASKS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some(node) = ASKED.get() {
            let found = node.find("/noses").map(|noses| noses.lookup());
            ASKS.fetch_add(usize::from(found.is_ok()), Ordering::Relaxed);
        }
    }
}

#[data]
#[derive(Default)]
struct Sniffs {
    count: u64,
}

#[contract(uri = "test:noses/1", state = Sniffs)]
trait Noses {
    #[update]
    fn sniff(&mut self, nosy: Nosy);
}

#[derive(Service)]
#[service(contract = Noses)]
struct Nose {
    #[state]
    sniffs: State<Sniffs>,
}

impl Noses for Nose {
    fn sniff(&mut self, _: Nosy) {
        self.sniffs.count += 1;
    }
}

#[test]
fn a_destructor_of_what_is_not_kept_any_more_may_ask_the_service() {
    motet_testkit::within(Duration::from_secs(60), || {
        let replay = Replay::new(1);
        let node = Node::builder("noses").start(&replay).unwrap();
        replay_with(&replay, &node, async |node| {
            let noses = node.create(Create::<Nose>::of().at("/noses"));
            let noses = noses.await.unwrap();
            // Notifications are kept, and nobody has them but the service.
            let others = Subscribe::all().operation("get");
            let told = noses.subscribe(others).await.unwrap();
            let sniff = async |bytes: usize| {
                let text = "x".repeat(bytes);
                noses.sniff(Nosy { text }).await.unwrap();
            };
            sniff(1).await;
            assert!(ASKED.set(node.clone()).is_ok());
            let before = ASKS.load(Ordering::Relaxed);
            // Nothing is kept beside one that is so large.
            sniff(5 << 20).await;
            assert!(ASKS.load(Ordering::Relaxed) > before);
            assert_eq!(told.item_count(), 0);
        });
    });
}

#[test]
fn a_subscription_may_ask_for_all_the_time_and_for_any_version() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let ever = Subscribe::all().expires(Duration::MAX);
        let ever = shop.subscribe(ever).await.unwrap();
        let later = Subscribe::all().since(u64::MAX);
        let later = shop.subscribe(later).await.unwrap();
        assert!(later.recv().await.reinstated);
        shop.add(1).await.unwrap();
        assert_eq!(ever.recv().await.name(), "add");
    });
}

#[test]
fn dss_059_060_what_is_not_known_any_more_comes_as_the_state() {
    replayed(async |node| {
        let shop = shop(&node).await;
        drop(shop.subscribe(Subscribe::all()).await.unwrap());
        for _ in 0..1100 {
            shop.add(1).await.unwrap();
        }
        let told = shop.subscribe(Subscribe::all().since(4)).await.unwrap();
        let first = told.recv().await;
        assert!(first.reinstated);
        assert_eq!(first.version, 1102);
        assert!(first.state().is_some());
    });
}

#[test]
fn sem_g502_what_is_kept_has_a_bound_of_bytes() {
    replayed(async |node| {
        let shop = shop(&node).await;
        drop(shop.subscribe(Subscribe::all()).await.unwrap());
        let is_known = async |since| {
            let told = shop.subscribe(Subscribe::all().since(since)).await.unwrap();
            let is_known = told.recv().await.operation().is_some();
            (is_known, 1 + told.item_count())
        };
        let upsert = async |bytes: usize, times| {
            for _ in 0..times {
                let line = Line::new(&"n".repeat(bytes), 1);
                shop.upsert(line).await.unwrap();
            }
            shop.lookup().await.unwrap().version
        };
        // Of nine and a half each seven fit, and a larger one alone drives out all.
        let version = upsert(600 << 10, 20).await;
        assert_eq!(is_known(version - 6).await, (true, 6));
        assert_eq!(is_known(version - 7).await, (false, 1));
        let version = upsert(4 << 20, 1).await;
        assert_eq!(is_known(version - 1).await, (false, 1));
        let version = upsert(8, 3).await;
        assert_eq!(is_known(version - 3).await, (true, 3));
        assert_eq!(is_known(version - 4).await, (false, 1));
    });
}

#[test]
fn dss_061_of_one_name_there_is_one_subscription() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let first = shop.subscribe(Subscribe::all().named("ann")).await.unwrap();
        let again = Subscribe::all().named("ann").operation("upsert");
        let second = shop.subscribe(again).await.unwrap();
        shop.add(1).await.unwrap();
        shop.upsert(Line::new("figs", 1)).await.unwrap();
        assert_eq!((first.item_count(), second.item_count()), (0, 1));
        assert_eq!(shop.lookup().await.unwrap().subscriptions.len(), 1);
    });
}

#[test]
fn dss_062_nothing_after_the_acknowledged_end() {
    threaded(async |node| {
        let shop = shop(&node).await;
        let writer = shop.clone();
        spawn(&node.queue(), async move {
            // Until the shop is dropped.
            while writer.add(1).await.is_ok() {}
        })
        .unwrap();
        for _ in 0..20 {
            let told = shop.subscribe(Subscribe::all()).await.unwrap();
            let port = told.port().clone();
            told.recv().await;
            told.unsubscribe().await.unwrap();
            let count = port.item_count();
            shop.add(0).await.unwrap();
            assert_eq!(port.item_count(), count);
        }
        shop.drop_service().await.unwrap();
    });
}

#[test]
fn dss_063_a_subscription_that_is_refused() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of().at("/shop");
        let shop = node.create(create.allow(["viewer: get"])).await.unwrap();
        let mut options = Options::default();
        options.principal = Some("viewer".into());
        let any = node.find("/shop").unwrap();
        let refused = any.subscribe_with(Subscribe::all(), options).await;
        let why = refused.err().map(|fault| fault.code());
        assert_eq!(why, Some(FaultCode::PermissionDenied));
        assert!(shop.lookup().await.unwrap().subscriptions.is_empty());
        shop.drop_service().await.unwrap();
        assert!(shop.subscribe(Subscribe::all()).await.is_err());
    });
}

#[test]
fn dss_065_sem_g385_a_fault_is_no_change() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        shop.update(Line::new("none", 1)).await.unwrap_err();
        shop.insert(Line::new("apples", 1)).await.unwrap_err();
        assert_eq!(told.item_count(), 0);
    });
}

#[test]
fn sem_g386_gone_at_the_end() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        shop.drop_service().await.unwrap();
        assert!(matches!(told.recv().await.event, Event::Gone));
    });
}

#[test]
fn sem_g387_a_subscriber_without_a_contract() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let any = node.find("/shop").unwrap();
        let (id, told) = any.subscribe(Subscribe::all().sync()).await.unwrap();
        assert_eq!(told.recv().await.body["items"]["apples"], 3);
        shop.add(2).await.unwrap();
        let next = told.recv().await;
        assert_eq!(
            (next.event.as_str(), &next.body),
            ("add", &serde_json::json!(2))
        );
        any.call("unsubscribe", id).await.unwrap();
        shop.add(2).await.unwrap();
        assert_eq!(told.item_count(), 0);
    });
}

#[test]
fn sem_g388_all_who_are_told_the_same_as_json_share_it() {
    threaded(async |node| {
        let shop = shop(&node).await;
        let any = node.find("/shop").unwrap();
        let own = shop.subscribe(Subscribe::all()).await.unwrap();
        let mut others = Vec::new();
        for _ in 0..20 {
            others.push(any.subscribe(Subscribe::all()).await.unwrap().1);
        }
        let before = shop.get().await.unwrap().version;
        for n in 1..=50 {
            shop.add(1).await.unwrap();
            let version = before + n;
            assert_eq!(own.recv().await.version, version);
            let first = others[0].recv().await;
            assert_eq!((first.version, &first.body), (version, &1.into()));
            assert_eq!(first.made(|it| it.version), version);
            for other in &others[1..] {
                // Not only equal: it was written once.
                let same = other.recv().await;
                assert!(Arc::ptr_eq(&same, &first));
                assert_eq!(same.made(|_| 0u64), version, "it was made once");
            }
        }
    });
}

#[test]
fn sem_g386_a_subscription_ends_though_its_service_does_not_answer() {
    replayed(async |node| {
        let once = Supervise {
            restart: Restart::Temporary,
            ..Supervise::default()
        };
        let create = Create::<CornerShop>::of().at("/shop").supervise(once);
        let shop = node.create(create).await.unwrap();
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        shop.tear(Line::new("torn", 1)).await.unwrap_err();
        told.unsubscribe().await.unwrap_err();
        assert!(shop.lookup().await.unwrap().subscriptions.is_empty());
    });
}

#[test]
fn sem_g386_the_end_of_a_node_is_told_by_its_own_services() {
    replayed(async |node| {
        let logs: LogsClient = node.client("/sys/log").unwrap();
        let told = logs.subscribe(Subscribe::all()).await.unwrap();
        node.shutdown().await;
        let mut last = None;
        while let Some(next) = told.test() {
            last = Some(next.event);
        }
        assert!(matches!(last, Some(Event::Gone)), "{last:?}");
    });
}

#[test]
fn sem_g386_a_subscription_that_is_given_up_on_its_way_has_ended() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let mut entering = Box::pin(shop.subscribe(Subscribe::all()));
        poll_fn(|cx| {
            assert!(entering.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        // The service has answered, and nobody has taken the answer.
        sleep(Duration::from_millis(1)).await;
        assert_eq!(shop.lookup().await.unwrap().subscriptions.len(), 1);
        drop(entering);
        assert!(shop.lookup().await.unwrap().subscriptions.is_empty());
    });
}
