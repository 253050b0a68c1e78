//! Answers, faults, keys, limits, panics.

use crate::each_way::{JsonWire, each_way};
use crate::shop::{Colour, CornerShop, Line, ShopRequest, node, replayed, shop, threaded};
use crate::ways;
use motet_dispatch::{Causality, Dispatcher, spawn};
use motet_ports::timer::sleep;
use motet_ports::{Port, wait_blocking};
use motet_service::{Create, Fault, FaultCode, Lifecycle, Options, Restart, Subscribe, Supervise};
use serde_json::json;
use std::future::IntoFuture;
use std::time::Duration;

fn code<T: std::fmt::Debug>(result: Result<T, Fault>) -> FaultCode {
    result.unwrap_err().code()
}

#[test]
fn dss_030_a_handler_that_panics_fails_its_call() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let fault = shop.break_down().await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::OperationFailed);
        assert!(fault.reason().contains("out of order"), "{fault}");
        assert_eq!(
            shop.count("pears".into()).await,
            Ok(4),
            "a read cannot tear the state"
        );
    });
}

#[test]
fn dss_031_a_one_way_panic_goes_to_the_poster() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let heard = Port::new();
        let hears = heard.clone();
        let order = Causality::new("order").on_exception(move |exception| {
            hears.post(exception.message().to_owned()).unwrap();
            Ok(())
        });
        order.run(|| shop.post(ShopRequest::Shout("help".to_owned())).unwrap());
        assert_eq!(heard.recv().await, "help");
    });
}

#[test]
fn sem_g377_each_panic_of_one_way_operations_is_told_and_keeps_no_other() {
    let dispatcher = Dispatcher::new(1);
    let heard = Port::new();
    let hears = heard.clone();
    dispatcher.on_exception(move |exception| {
        hears.post(exception.message().to_owned()).unwrap();
    });
    let told = wait_blocking(async {
        let node = node(&dispatcher);
        let shop = shop(&node).await;
        let (to, done) = motet_ports::reply();
        // On the only worker: none of them begins before all are posted, behind a change that
        // waits, so they are one batch. Then each is carried out where it is posted.
        let posting = async move {
            let before = shop.count("pears".into()).await.unwrap();
            let slow = shop.add_slowly(2).into_future();
            for _ in 0..3 {
                shop.post(ShopRequest::Add(1)).unwrap();
                shop.post(ShopRequest::TearAndUndo(true)).unwrap();
            }
            shop.add(1).await.unwrap();
            slow.await.unwrap();
            let behind = shop.count("pears".into()).await.unwrap();
            shop.post(ShopRequest::TearAndUndo(true)).unwrap();
            assert_eq!(shop.count("pears".into()).await, Ok(behind));
            drop(to.post(behind - before));
        };
        spawn(&node.queue(), posting).unwrap();
        assert_eq!(
            done.await,
            Ok(4),
            "nobody is kept, and what panics is undone"
        );
        for _ in 0..4 {
            assert_eq!(heard.recv().await, "in the middle");
        }
        node.shutdown().await;
    });
    told.unwrap();
}

#[test]
fn dss_033_headers_are_found_by_their_type() {
    replayed(async |node| {
        let shop = shop(&node).await;
        assert_eq!(
            shop.colour().header(Colour("red")).header(7u8).await,
            Ok(Some("red".into()))
        );
        assert_eq!(shop.colour().header(7u8).await, Ok(None));
    });
}

#[test]
fn dss_040_sem_g381_a_service_that_waits_for_itself() {
    each_way(ways::a_service_that_waits_for_itself);
}

#[test]
fn dss_048_a_panic_stays_in_its_service() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let other = node
            .create(Create::<CornerShop>::of().at("/other"))
            .await
            .unwrap();
        other.upsert(Line::new("figs", 1)).await.unwrap();
        let fault = shop.tear(Line::new("torn", 1)).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::OperationFailed);
        assert_eq!(other.count("figs".into()).await, Ok(1));
    });
}

#[test]
fn sem_g371_torn_state_is_never_served() {
    replayed(async |node| {
        let shop = shop(&node).await;
        shop.tear(Line::new("torn", 1)).await.unwrap_err();
        // Built anew of its initial state, the default; until then it is not there.
        let state = loop {
            match shop.get().await {
                Ok(state) => break state,
                Err(fault) => assert_eq!(fault.code(), FaultCode::Unavailable),
            }
            sleep(Duration::from_millis(1)).await;
        };
        assert!(state.items.is_empty(), "{state:?}");
        assert_eq!(node.find("/shop").unwrap().figures().restarts, 1);
    });
}

#[test]
fn sem_g372_a_rollback_undoes_panics_and_faults() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let version = shop.get().await.unwrap().version;
        assert_eq!(
            code(shop.tear_and_undo(true).await),
            FaultCode::OperationFailed
        );
        shop.tear_and_undo(false).await.unwrap_err();
        let state = shop.get().await.unwrap();
        assert_eq!((state.version, state.items.len()), (version, 2));
    });
}

#[test]
fn sem_g373_a_service_that_fails_too_often_has_failed() {
    replayed(async |node| {
        let how = Supervise {
            times: 2,
            ..Supervise::default()
        };
        let create = Create::<CornerShop>::of().at("/shop").supervise(how);
        let shop = node.create(create).await.unwrap();
        for _ in 0..3 {
            while code(shop.tear(Line::new("torn", 1)).await) == FaultCode::Unavailable {
                sleep(Duration::from_millis(5)).await;
            }
        }
        let info = shop.lookup().await.unwrap();
        assert!(
            matches!(info.lifecycle, Lifecycle::Failed { .. }),
            "{info:?}"
        );
        let fault = shop.get().await.unwrap_err();
        assert!(fault.reason().contains("for good"), "{fault}");
        let never = Supervise {
            restart: Restart::Temporary,
            ..Supervise::default()
        };
        let create = Create::<CornerShop>::of().at("/once").supervise(never);
        let once = node.create(create).await.unwrap();
        once.tear(Line::new("torn", 1)).await.unwrap_err();
        assert!(matches!(
            once.lookup().await.unwrap().lifecycle,
            Lifecycle::Failed { .. }
        ));
        once.drop_service().await.unwrap();
    });
}

#[test]
fn sem_g374_a_key_is_carried_out_once() {
    replayed(async |node| {
        let shop = shop(&node).await;
        assert_eq!(shop.add(1).key("k").await, Ok(9));
        assert_eq!(shop.add(1).key("k").await, Ok(9));
        assert_eq!(
            code(shop.add(2).key("k").await),
            FaultCode::MessageNotSupported
        );
        assert_eq!(
            shop.add(1).key("k").principal("ann").await,
            Ok(11),
            "another's key"
        );
        // A fault is an answer too.
        let first = shop.delete("plums".into()).key("d").await.unwrap_err();
        shop.upsert(Line::new("plums", 1)).await.unwrap();
        assert_eq!(
            shop.delete("plums".into()).key("d").await.unwrap_err(),
            first
        );
        assert_eq!(shop.count("plums".into()).await, Ok(1));
    });
}

#[test]
fn a_version_is_looked_at_by_whatever_it_is_given_to() {
    replayed(async |node| {
        let shop = shop(&node).await;
        assert_eq!(
            code(shop.compute(1).if_version(7).await),
            FaultCode::PreconditionFailed
        );
        assert_eq!(shop.compute(1).if_version(2).await, Ok(2));
        for version in [2, 7] {
            assert_eq!(
                code(shop.drop_service().if_version(version).await),
                FaultCode::MessageNotSupported
            );
        }
        assert_eq!(shop.count("pears".into()).await, Ok(4), "it is there");
    });
}

#[test]
fn sem_g374_a_replace_or_a_patch_with_a_key_is_carried_out_once() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let more = json!([{"op": "add", "path": "/nested/-", "value": [1]}]);
        for _ in 0..2 {
            let patched = shop.patch_json(more.clone()).key("p").if_version(2);
            patched.await.unwrap();
        }
        let mut state = (*shop.get().await.unwrap().state).clone();
        assert_eq!(state.nested, [[1]]);
        assert_eq!(
            code(shop.patch(json!({"ticks": 1})).key("p").await),
            FaultCode::MessageNotSupported
        );
        state.ticks = 7;
        shop.replace(state.clone()).key("r").await.unwrap();
        shop.patch(json!({"ticks": 8})).await.unwrap();
        shop.replace(state).key("r").await.unwrap();
        assert_eq!(shop.get().await.unwrap().ticks, 8);
    });
}

#[test]
fn sem_g375_a_key_is_forgotten_after_a_day() {
    replayed(async |node| {
        let shop = shop(&node).await;
        shop.add(1).key("k").await.unwrap();
        sleep(Duration::from_secs(24 * 3600 + 1)).await;
        assert_eq!(shop.add(1).key("k").await, Ok(11));
    });
}

#[test]
fn sem_g376_keys_take_at_most_so_many_bytes() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of().at("/shop").key_bytes(100_000);
        let shop = node.create(create).await.unwrap();
        let apples = |text: &str| Line::new(text, 1);
        let long = |letter: char| letter.to_string().repeat(30_000);
        for letter in ['a', 'b', 'c'] {
            let line = apples(&long(letter));
            shop.upsert(line).key(&letter.to_string()).await.unwrap();
        }
        let version = shop.get().await.unwrap().version;
        // All of them are kept: an answer is given again, and nothing is carried out.
        shop.upsert(apples(&long('a'))).key("a").await.unwrap();
        assert_eq!(shop.get().await.unwrap().version, version);
        // The oldest goes for a fourth; the others stay.
        shop.upsert(apples(&long('d'))).key("d").await.unwrap();
        shop.upsert(apples(&long('b'))).key("b").await.unwrap();
        assert_eq!(shop.get().await.unwrap().version, version + 1);
        shop.upsert(apples(&long('a'))).key("a").await.unwrap();
        assert_eq!(shop.get().await.unwrap().version, version + 2);
        // One that takes more than all may is kept, alone.
        let huge = apples(&long('h').repeat(10));
        shop.upsert(huge.clone()).key("h").await.unwrap();
        shop.upsert(huge).key("h").await.unwrap();
        assert_eq!(shop.get().await.unwrap().version, version + 3);
        shop.upsert(apples(&long('a'))).key("a").await.unwrap();
        assert_eq!(shop.get().await.unwrap().version, version + 4);
    });
}

#[test]
fn dss_103_more_operations_than_may_wait() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of().at("/shop").depth(10);
        let shop = node.create(create).await.unwrap();
        let busy = shop.add_slowly(100).into_future();
        sleep(Duration::from_millis(1)).await;
        let waiting: Vec<_> = (0..10).map(|_| shop.add(1).into_future()).collect();
        let fault = shop.add(1).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::QueuingLimitExceeded);
        assert!(fault.retry_in().is_some());
        assert!(shop.lookup().await.is_ok(), "Lookup has a way of its own");
        // Who waits for room gets it.
        shop.add(1).wait_for_room().await.unwrap();
        busy.await.unwrap();
        for call in waiting {
            call.await.unwrap();
        }
        assert_eq!(shop.count("slow".into()).await, Ok(13));
    });
}

#[test]
fn sem_g378_who_waits_for_room_waits_no_longer_than_it_may() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of().at("/shop").depth(1);
        let shop = node.create(create).await.unwrap();
        let busy = shop.add_slowly(1000).into_future();
        sleep(Duration::from_millis(1)).await;
        let waiting = shop.add(1).into_future();
        let late = shop
            .add(1)
            .wait_for_room()
            .within(Duration::from_millis(50));
        assert_eq!(code(late.await), FaultCode::QueuingLimitExceeded);
        busy.await.unwrap();
        waiting.await.unwrap();
    });
}

#[test]
fn dss_101_rights_are_checked_before_the_port() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of()
            .at("/shop")
            .allow(["viewer: get query", "owner: *"]);
        let shop = node.create(create).await.unwrap();
        assert_eq!(
            code(shop.add(1).principal("viewer").await),
            FaultCode::PermissionDenied
        );
        assert_eq!(
            code(shop.get().principal("stranger").await),
            FaultCode::PermissionDenied
        );
        shop.get().principal("viewer").await.unwrap();
        shop.add(1).principal("owner").await.unwrap();
        assert_eq!(
            node.find("/shop").unwrap().figures().calls,
            2,
            "no handler ran for the others"
        );
        // Nor may a stranger end the subscription of another.
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        let mut options = Options::default();
        options.principal = Some("viewer".into());
        let shop = node.find("/shop").unwrap();
        let ended = shop.call_with("unsubscribe", told.id().into(), options);
        assert_eq!(code(ended.await), FaultCode::PermissionDenied);
        assert_eq!(shop.lookup().subscriptions.len(), 1);
    });
}

#[test]
fn sem_g367_changes_of_one_client_are_in_order() {
    threaded(async |node| {
        let shop = node
            .create(Create::<CornerShop>::of().at("/shop").depth(5000))
            .await
            .unwrap();
        let mut calls = Vec::new();
        for n in 0..1000 {
            calls.push(shop.upsert(Line::new("n", n)).into_future());
            if n % 7 == 0 {
                let seen = shop.count("n".into()).await.unwrap();
                assert!(seen >= n, "a client reads what it wrote: {seen} after {n}");
            }
        }
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(shop.count("n".into()).await, Ok(999));
    });
}

#[test]
fn dss_105_a_call_that_is_captured() {
    replayed(async |node| {
        let shop = shop(&node).await;
        shop.add(1).await.unwrap();
        shop.add(5).capture().await.unwrap();
        let debug: motet_service::system::DebugClient = node.client("/sys/debug").unwrap();
        sleep(Duration::from_millis(1)).await;
        let captured = debug.get().await.unwrap();
        assert_eq!(captured.captured.len(), 1);
        assert_eq!(captured.captured[0].body, 5);
        assert_eq!(captured.captured[0].operation, "add");
        shop.break_down().capture().await.unwrap_err();
        sleep(Duration::from_millis(1)).await;
        let captured = debug.get().await.unwrap();
        let fault = captured.captured[1].fault.as_deref().unwrap();
        assert!(fault.contains("out of order"), "sem_g949: {fault}");
        // However many somebody has put there, the last 256 are kept.
        let mut many = (*captured.state).clone();
        many.captured = std::iter::repeat_n(many.captured[0].clone(), 300).collect();
        debug.replace(many).await.unwrap();
        shop.add(6).capture().await.unwrap();
        sleep(Duration::from_millis(1)).await;
        let captured = debug.get().await.unwrap();
        assert_eq!(captured.captured.len(), 256);
        assert_eq!(captured.captured[255].body, 6);
    });
}

#[test]
fn sem_g428_a_captured_change_that_no_handler_answers_is_kept() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let first = shop.add(1).key("k").await.unwrap();
        assert_eq!(shop.add(1).key("k").capture().await, Ok(first));
        let outdated = shop.add(1).if_version(99).capture().await.unwrap_err();
        shop.add_slowly(1)
            .if_version(99)
            .capture()
            .await
            .unwrap_err();
        let patch = json!({"ticks": 8});
        shop.patch(patch.clone()).capture().await.unwrap();
        sleep(Duration::from_millis(1)).await;
        let debug: motet_service::system::DebugClient = node.client("/sys/debug").unwrap();
        let kept = debug.get().await.unwrap();
        let answers: Vec<_> = kept.captured.iter().map(|one| one.answer.clone()).collect();
        let first = Some(motet_service::Value::from(first));
        assert_eq!(answers, [first, None, None, Some(json!(null))]);
        assert_eq!(kept.captured[1].fault, Some(outdated.to_string()));
        assert_eq!(kept.captured[2].operation, "add_slowly");
        assert_eq!(kept.captured[3].operation, "patch");
        assert_eq!(kept.captured[3].body, patch);
        // Nor is one forgotten that only reads.
        let outdated = shop.count("pears".into()).if_version(99).capture();
        let outdated = outdated.await.unwrap_err();
        sleep(Duration::from_millis(1)).await;
        let kept = debug.get().await.unwrap();
        assert_eq!(kept.captured[4].operation, "count");
        assert_eq!(kept.captured[4].fault, Some(outdated.to_string()));
    });
}

#[test]
fn dss_095_the_same_from_here_and_from_elsewhere() {
    replayed(async |node| {
        let near = shop(&node).await;
        let other = node
            .create(Create::<CornerShop>::of().at("/far"))
            .await
            .unwrap();
        other
            .replace((*near.get().await.unwrap().state).clone())
            .await
            .unwrap();
        let wire = JsonWire::to(&node, "/far");
        let far = crate::shop::ShopClient::from(motet_service::Client::elsewhere(wire));
        let mut said = Vec::new();
        for shop in [&near, &far] {
            let version = shop.get().await.unwrap().version;
            let fault = shop.insert(Line::new("apples", 1)).await.unwrap_err();
            said.push((
                shop.add(1).key("k").await,
                shop.add(1).key("k").await,
                shop.add(1)
                    .if_version(version)
                    .await
                    .map_err(|fault| fault.code()),
                fault.code(),
                fault.domain::<crate::shop::ShopFault>(),
                shop.compute(3).await,
                shop.patch(serde_json::json!({"ticks": 4})).await,
                shop.get().await.unwrap().state,
            ));
            let slow = shop
                .count_slowly(1000)
                .within(Duration::from_millis(10))
                .await;
            assert_eq!(slow.unwrap_err().code(), FaultCode::ResponseTimeout);
            assert_eq!(shop.lookup().await.unwrap().kind, "corner-shop");
            shop.drop_service().await.unwrap();
            assert_eq!(code(shop.get().await), FaultCode::Gone);
        }
        assert_eq!(said[0], said[1]);
    });
}

#[motet_service::data]
#[derive(Default)]
struct Road {
    at: u64,
}

/// Its operation has a name that Rust has for itself.
#[motet_service::contract(uri = "test:road/1", state = Road)]
trait Roads {
    #[update]
    fn r#move(&mut self, steps: u64) -> u64;
}

#[derive(motet_service::Service)]
#[service(contract = Roads, name = "road")]
struct OneRoad {
    #[state]
    road: motet_service::State<Road>,
}

impl Roads for OneRoad {
    fn r#move(&mut self, steps: u64) -> u64 {
        self.road.at += steps;
        self.road.at
    }
}

#[test]
fn an_operation_may_have_a_name_that_rust_has_for_itself() {
    let replay = motet_dispatch::Replay::new(1);
    let builder = motet_service::Node::builder("roads").register::<OneRoad>();
    let node = builder.start(&replay).unwrap();
    crate::shop::replay_with(&replay, &node, async |node| {
        let road = node.create(Create::<OneRoad>::of()).await.unwrap();
        assert_eq!(road.r#move(2).await, Ok(2));
        let any = node.find("/road").unwrap();
        assert_eq!(any.call("move", 3.into()).await.unwrap(), 5);
    });
}
