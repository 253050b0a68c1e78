//! Nodes: creation, partners, the directory, manifests, ends.

use crate::clerk::{
    BadClerk, ClerkClient, Doll, Left, OwnClerk, Right, SharedClerk, ShopClerk, node, replay,
};
use crate::shop::{Chain, CornerShop, Line, ShopClient, ShopContract, replay_with, replayed, shop};
use motet_dispatch::{Dispatcher, Replay, Timescale, spawn};
use motet_ports::timer::sleep;
use motet_service::system::{
    CataloguesClient, ConstructorsClient, DiagnosticsClient, DirectoriesClient, Filter, Level,
    LogFilter, LogsClient, ManifestsClient, Spec,
};
use motet_service::{Contract, Create, Event, FaultCode, Lifecycle, Node, Subscribe};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

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
        for wrong in [
            "no path", "", "/", "/a b", "/a/../b", "/.", "/a/-/b", "/a/", "//a", "/a%20b", "/a?b",
            "/a#b", "/a\\b", "/a\0b",
        ] {
            let created = node.create(Create::<CornerShop>::of().at(wrong)).await;
            let fault = created.expect_err(wrong);
            assert_eq!(fault.code(), FaultCode::MessageNotSupported, "{wrong:?}");
            assert!(fault.reason().contains(&format!("{wrong:?}")), "{fault}");
        }
    });
}

#[test]
fn dss_005_007_the_directory() {
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
fn sem_g526_a_service_that_is_made_anew_has_other_versions() {
    replay(async |node| {
        let mut seen = 0;
        for _ in 0..3 {
            let shop = shop(&node).await;
            let version = shop.get().await.unwrap().version;
            assert!(version > seen, "{version} after {seen}");
            // Whoever knows the shop before does not change this one.
            let outdated = shop.add(1).if_version(seen).await;
            assert_eq!(outdated.unwrap_err().code(), FaultCode::PreconditionFailed);
            let told = shop.subscribe(Subscribe::all().since(seen)).await.unwrap();
            assert!(matches!(told.recv().await.event, Event::Replace(_)));
            seen = version;
            shop.drop_service().await.unwrap();
        }
    });
}

#[test]
fn sem_g528_services_without_an_end_are_not_made() {
    replay(async |node| {
        let before = node.services().len();
        let fault = node.create(Create::<Doll>::of()).await.unwrap_err();
        assert!(fault.reason().contains("without an end"), "{fault}");
        assert_eq!(node.services().len(), before, "nothing is left");
    });
}

#[test]
fn a_service_of_the_least_depth_answers_and_beats() {
    replay(async |node| {
        shop(&node).await;
        let clerk = node.create(Create::<ShopClerk>::of().depth(1)).await;
        let clerk = clerk.unwrap();
        sleep(3500 * MS).await;
        assert_eq!(clerk.get().await.unwrap().beats, 3);
        let spec = serde_json::json!({"kind": "corner-shop", "at": "/narrow", "depth": 0});
        let spec: Spec = serde_json::from_value(spec).unwrap();
        let narrow = node.create_kind(spec).await.unwrap();
        narrow.query("/ticks").await.unwrap();
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
    });
}

#[test]
fn sem_g403_any_number_of_threads_is_taken_or_refused() {
    let dispatcher = Dispatcher::new(1);
    let node = node(&dispatcher);
    let create = |threads: u64| {
        let spec = serde_json::json!({"kind": "chain", "at": "/own", "threads": threads});
        let spec: Spec = serde_json::from_value(spec).unwrap();
        motet_ports::wait_blocking(node.create_kind(spec)).unwrap()
    };
    let fault = create(u64::MAX).unwrap_err();
    assert_eq!(fault.code(), FaultCode::MessageNotSupported, "{fault}");
    assert_eq!(create(0).unwrap().path(), "/own");
}

#[test]
fn sem_g389_the_directory_has_all_services_that_are_made_at_once() {
    let replay = Replay::new(1);
    replay_with(&replay, &node(&replay), async |node| {
        for n in 0..1100 {
            let chain = Create::<Chain>::of().at(&format!("/x/{n}"));
            node.create(chain).await.unwrap();
        }
        sleep(MS).await;
        let directory: DirectoriesClient = node.client("/sys/directory").unwrap();
        let kind = Some("chain".to_owned());
        let contract = None;
        let found = directory.find(Filter { contract, kind }).await.unwrap();
        assert_eq!(found.len(), 1100);
    });
}

#[test]
fn services_whose_paths_are_numbered_are_all_made_at_once() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(1);
        let node = node(&dispatcher);
        let makers: Vec<_> = (0..4)
            .map(|maker| {
                let node = node.clone();
                motet_sync::thread::spawn(move || {
                    for n in 0..8 {
                        let chain = Create::<Chain>::of().at("/x").threads(1);
                        motet_ports::wait_blocking(node.create(chain))
                            .unwrap()
                            .unwrap();
                        // Its shop is another one each time.
                        let clerk = Create::<OwnClerk>::of().at(&format!("/clerk/{maker}/{n}"));
                        motet_ports::wait_blocking(node.create(clerk))
                            .unwrap()
                            .unwrap();
                    }
                })
            })
            .collect();
        for maker in makers {
            maker.join().unwrap();
        }
        let services = node.services().into_iter();
        let chains = services.filter(|service| service.path.starts_with("/x"));
        assert_eq!(chains.count(), 32);
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
        let clock = node.queue().clock();
        let begun = clock.now();
        // It would not start with an `absent` partner, and does not wait for one.
        let clerk = node.create(soon()).await.unwrap();
        assert!(clock.now() - begun < 100 * MS, "it waited");
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
        let clock = node.queue().clock();
        let begun = clock.now();
        let fault = node.create(Create::<Right>::of()).await.unwrap_err();
        assert!(fault.reason().contains("wait for each other"), "{fault}");
        // Of virtual time: partners may take much longer.
        assert!(clock.now() - begun < Duration::from_secs(1), "it waited");
    });
}

#[test]
fn dss_081_sem_g389_a_start_that_fails_leaves_nothing() {
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
fn sem_g390_a_text_that_is_no_manifest_is_refused_with_its_place() {
    replay(async |node| {
        let fault = node.load(["[[service]]\ntypo = 3\n"]).await.unwrap_err();
        assert!(fault.reason().contains("typo"), "{fault}");
        assert!(fault.reason().contains("at line 2 column 1"), "{fault}");
        for (wrong, advice) in [
            ("state = {}", "{ value = ... }"),
            ("state = 3", "{ value = ... }"),
            (
                "state = { file = \"a\", value = 1 }",
                "one of { value = ... }",
            ),
            ("state = { file = \"a\", requird = false }", "requird"),
            (
                "state = { value = 1, required = false }",
                "leave required out",
            ),
            (
                "state = { required = false, value = {} }",
                "leave required out",
            ),
            ("persist = true", "\"on-save\" or { interval_ms"),
            ("persist = \"always\"", "\"on-save\" or { interval_ms"),
            ("partners = { other = 1 }", "{ link = \"...\" }"),
            (
                "partners = { other = { link = \"right\", optional = true } }",
                "{ link = \"...\" }",
            ),
        ] {
            let record = format!("[[service]]\ntype = \"left\"\n{wrong}\n");
            let fault = node.load([record.as_str()]).await.unwrap_err();
            assert!(fault.reason().contains(advice), "{fault}");
            assert!(fault.reason().contains("at line 3"), "{fault}");
            assert!(!fault.reason().contains('\n'), "{fault}");
        }
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
fn dss_098_sem_g391_nothing_answers_behind_the_end_of_a_node() {
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
fn sem_g391_a_service_that_waits_for_a_partner_ends_at_once_with_its_node() {
    replay(async |node| {
        let (to, made) = motet_ports::reply();
        let other = node.clone();
        spawn(&node.queue(), async move {
            let made = other.create(Create::<ShopClerk>::of()).await;
            drop(to.post(made.map(drop)));
        })
        .unwrap();
        sleep(MS).await;
        let clock = node.queue().clock();
        let began = clock.now();
        node.shutdown().await;
        let fault = made.await.unwrap().unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone, "{fault}");
        // Of virtual time.
        assert!(clock.now() - began < Duration::from_secs(1), "it waited");
        assert!(node.services().is_empty(), "nothing is left");
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
fn diagnostics_show_a_change_that_waits() {
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
        .register::<ShopClerk>()
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
        // It beats each second, of the node's.
        let clerk = node.create(Create::<ShopClerk>::of()).await.unwrap();
        let begun = clock.now();
        sleep(Duration::from_millis(3500)).await;
        assert_eq!((clock.now() - begun).as_secs(), 7);
        assert_eq!(clerk.get().await.unwrap().beats, 3);
    });
}
