//! The uniform operations and what isolates a service.

use crate::each_way::each_way_everywhere;
use crate::shop::{CornerShop, Line, ShopFault, Stock, everywhere, replayed, shop, threaded};
use crate::ways;
use motet_ports::timer::sleep;
use motet_service::{Create, EntryChange, FaultCode, Lifecycle, Options, Value};
use serde_json::json;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn code<T: std::fmt::Debug>(result: Result<T, motet_service::Fault>) -> FaultCode {
    result.unwrap_err().code()
}

#[test]
fn dss_004_lookup_tells_contract_path_and_partners() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        let info = shop.lookup().await.unwrap();
        assert_eq!(
            (info.path.as_str(), info.contract.as_str()),
            ("/shop", "test:shop/1")
        );
        assert!(info.partners.is_empty());
        assert_eq!(info.lifecycle, Lifecycle::Running);
        assert!(
            info.operations
                .iter()
                .any(|operation| operation.name == "count")
        );
    });
}

#[test]
fn dss_010_get_gives_the_state() {
    everywhere(async |node| {
        let state = shop(&node).await.get().await.unwrap();
        assert_eq!(state.items.len(), 2);
        assert_eq!(state.items["apples"], 3);
    });
}

#[test]
fn dss_011_get_sees_the_state_before_or_after_a_change() {
    each_way_everywhere(ways::get_sees_the_state_before_or_after_a_change);
}

#[test]
fn dss_012_update_of_what_is_not_there() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        let before = shop.get().await.unwrap();
        let fault = shop.update(Line::new("plums", 1)).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::UnknownEntry);
        assert_eq!(fault.domain(), Some(ShopFault::Unknown("plums".to_owned())));
        let after = shop.get().await.unwrap();
        assert_eq!(
            (after.version, &*after.state),
            (before.version, &*before.state)
        );
    });
}

#[test]
fn dss_013_insert_of_what_is_there() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        assert_eq!(
            code(shop.insert(Line::new("apples", 9)).await),
            FaultCode::DuplicateEntry
        );
        assert_eq!(shop.count("apples".into()).await, Ok(3));
    });
}

#[test]
fn dss_014_upsert_inserts_or_updates() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        shop.upsert(Line::new("plums", 1)).await.unwrap();
        shop.upsert(Line::new("plums", 2)).await.unwrap();
        assert_eq!(shop.count("plums".into()).await, Ok(2));
    });
}

#[test]
fn dss_015_delete_once() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        shop.delete("apples".into()).await.unwrap();
        assert_eq!(
            code(shop.delete("apples".into()).await),
            FaultCode::UnknownEntry
        );
    });
}

#[test]
fn dss_016_replace_leaves_nothing_of_before() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        let new = Stock {
            ticks: 7,
            ..Stock::default()
        };
        shop.replace(new.clone()).await.unwrap();
        assert_eq!(*shop.get().await.unwrap().state, new);
    });
}

#[test]
fn dss_017_query_of_what_is_not_there() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        assert_eq!(
            code(shop.count("plums".into()).await),
            FaultCode::UnknownEntry
        );
        assert_eq!(shop.query_pointer("/items/pears").await.unwrap(), 4);
        assert_eq!(
            code(shop.query_pointer("/items/plums").await),
            FaultCode::UnknownEntry
        );
    });
}

#[test]
fn dss_018_an_operation_that_is_not_there() {
    each_way_everywhere(ways::an_operation_that_is_not_there);
}

#[test]
fn dss_019_a_body_that_is_not_known() {
    each_way_everywhere(ways::a_body_that_is_not_known);
}

#[test]
fn dss_020_submit_changes_nothing_and_tells_nobody_unless_it_asks() {
    each_way_everywhere(ways::submit_changes_nothing_and_tells_nobody_unless_it_asks);
}

#[test]
fn dss_021_each_update_reaches_its_own_handler() {
    each_way_everywhere(ways::each_update_reaches_its_own_handler);
}

#[test]
fn dss_023_after_drop_everything_is_gone() {
    each_way_everywhere(ways::after_drop_everything_is_gone);
}

#[test]
fn sem_g368_the_teardown_operation_takes_the_service() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        assert_eq!(shop.close().await, Ok(7));
        assert_eq!(code(shop.get().await), FaultCode::Gone);
    });
}

#[test]
fn dss_024_drop_waits_for_what_runs() {
    each_way_everywhere(ways::drop_waits_for_what_runs);
    replayed(async |node| {
        let shop = shop(&node).await;
        let clock = node.queue().clock();
        let slow = shop.add_slowly(50).into_future();
        sleep(MS).await;
        let begun = clock.now();
        let dropped = shop.drop_service().into_future();
        sleep(MS).await;
        let late = [shop.add(1), shop.add(1)].map(IntoFuture::into_future);
        assert_eq!(dropped.await, Ok(()));
        assert!(clock.now() - begun >= 48 * MS, "it waits for what runs");
        assert_eq!(slow.await, Ok(()));
        for late in late {
            assert_eq!(code(late.await), FaultCode::Gone);
        }
    });
}

#[test]
fn dss_025_two_drops_at_once() {
    each_way_everywhere(ways::two_drops_at_once);
}

#[test]
fn dss_044_to_047_neither_side_sees_what_the_other_does_with_a_value() {
    threaded(async |node| {
        let shop = shop(&node).await;
        let mut mine = Stock {
            nested: vec![vec![1], vec![2]],
            ..Stock::default()
        };
        shop.replace(mine.clone()).await.unwrap();
        mine.nested[0][0] = 9;
        let seen = shop.get().await.unwrap();
        assert_eq!(seen.nested[0][0], 1);
        let mut own = (*seen.state).clone();
        own.nested[1].push(7);
        assert_eq!(shop.get().await.unwrap().nested[1], [2]);
        // A snapshot stays as it was while the service goes on.
        shop.upsert(Line::new("figs", 1)).await.unwrap();
        assert!(!seen.items.contains_key("figs"));
        assert!(seen.state.is_unique());
    });
}

#[test]
fn dss_104_what_no_handler_takes_is_refused_and_not_kept() {
    replayed(async |node| {
        shop(&node).await;
        let any = node.find("/shop").unwrap();
        for _ in 0..5_000 {
            let fault = any.call("steal", Value::from("all")).await.unwrap_err();
            assert_eq!(fault.code(), FaultCode::ActionNotSupported);
            assert!(fault.reason().contains("steal"), "{fault}");
        }
        let figures = any.figures();
        assert_eq!((figures.reads_waiting, figures.changes_waiting), (0, 0));
        assert_eq!(figures.calls, 2, "the two inserts of the begin");
    });
}

#[test]
fn sem_g369_a_version_counts_the_changes() {
    everywhere(async |node| {
        let shop = node
            .create(Create::<CornerShop>::of().at("/shop"))
            .await
            .unwrap();
        assert_eq!(shop.get().await.unwrap().version, 0);
        shop.upsert(Line::new("figs", 1)).await.unwrap();
        shop.update(Line::new("none", 1)).await.unwrap_err();
        assert_eq!(shop.get().await.unwrap().version, 1);
        shop.add(1).if_version(1).await.unwrap();
        let fault = shop.add(1).if_version(1).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::PreconditionFailed);
        assert_eq!(shop.count("figs".into()).await, Ok(2));
    });
}

#[test]
fn sem_g370_a_merge_patch_is_checked_and_atomic() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        shop.patch(serde_json::json!({"items": {"apples": null, "figs": 2}}))
            .await
            .unwrap();
        let state = shop.get().await.unwrap();
        assert_eq!(state.items.keys().collect::<Vec<_>>(), ["figs", "pears"]);
        let wrong = serde_json::json!({"items": {"figs": 3}, "ticks": "many"});
        assert_eq!(
            code(shop.patch(wrong).await),
            FaultCode::MessageNotSupported
        );
        assert_eq!(shop.count("figs".into()).await, Ok(2));
    });
}

#[test]
fn sem_g611_an_entry_is_changed_by_its_pointer_or_nothing_is() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        let any = node.find("/shop").unwrap();
        let change = |pointer: &'static str, change: EntryChange| {
            any.change_entry(pointer, change, Options::default())
        };
        let before = any.state_version();
        let added = change("/items/figs", EntryChange::Insert(json!(2))).await;
        let added = added.unwrap();
        assert_eq!((added.version, added.created), (Some(before + 1), true));
        change("/nested/0", EntryChange::Upsert(json!([1, 2])))
            .await
            .unwrap();
        change("/nested/0/0", EntryChange::Delete).await.unwrap();
        let set = change("/ticks", EntryChange::Replace(json!(7))).await;
        assert!(!set.unwrap().created);
        for (pointer, wrong, why) in [
            (
                "/items/figs",
                EntryChange::Insert(json!(3)),
                FaultCode::DuplicateEntry,
            ),
            (
                "/items/plums",
                EntryChange::Update(json!(3)),
                FaultCode::UnknownEntry,
            ),
            (
                "/items/figs",
                EntryChange::Upsert(json!("two")),
                FaultCode::MessageNotSupported,
            ),
            (
                "/ticks",
                EntryChange::Delete,
                FaultCode::MessageNotSupported,
            ),
            (
                "/tocks",
                EntryChange::Upsert(json!(1)),
                FaultCode::MessageNotSupported,
            ),
        ] {
            assert_eq!(code(change(pointer, wrong).await), why, "{pointer}");
        }
        let state = shop.get().await.unwrap();
        assert_eq!((state.version, state.items["figs"]), (before + 4, 2));
        assert_eq!((&*state.nested, state.ticks), (&[vec![2]][..], 7));
    });
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

    /// Any sequence of operations leaves what the same sequence leaves in a map, and answers as it
    /// does.
    #[test]
    fn prop_the_verbs_do_what_a_map_does(
        steps in proptest::collection::vec((0..5u8, 0..4u8, -9..9i64), 1..40),
        seed in 0..1000u64,
    ) {
        let replay = motet_dispatch::Replay::new(seed);
        crate::shop::replay_with(&replay, &crate::shop::node(&replay), move |node| {
            let steps = steps.clone();
            async move {
                let shop = node.create(Create::<CornerShop>::of()).await.unwrap();
                let mut twin = std::collections::BTreeMap::new();
                let mut changes = 0;
                for (verb, key, count) in steps {
                    let (name, line) = (key.to_string(), Line::new(&key.to_string(), count));
                    let there = twin.contains_key(&name);
                    let done = match verb {
                        0 => shop.insert(line).await.is_ok(),
                        1 => shop.update(line).await.is_ok(),
                        2 => shop.upsert(line).await.is_ok(),
                        3 => shop.delete(name.clone()).await.is_ok(),
                        _ => shop.count(name.clone()).await.ok() == twin.get(&name).copied(),
                    };
                    assert_eq!(done, match verb { 0 => !there, 1 | 3 => there, _ => true });
                    match verb {
                        3 => { twin.remove(&name); }
                        0..=2 if done => { twin.insert(name, count); }
                        _ => {}
                    }
                    changes += u64::from(done && verb < 4);
                }
                let state = shop.get().await.unwrap();
                assert_eq!(state.items, twin);
                assert_eq!(state.version, changes);
            }
        });
    }
}

#[test]
fn sem_g619_a_word_of_which_a_service_never_tells_is_refused() {
    everywhere(async |node| {
        shop(&node).await;
        let shop = node.find("/shop").unwrap();
        for word in [
            "add", "insert", "update", "upsert", "delete", "replace", "drop",
        ] {
            shop.tells_of(word).unwrap();
        }
        // They are not there, change no state, or are no words for verbs.
        for word in [
            "nope", "count", "query", "get", "compute", "submit", "close", "create", "notify",
            "Update", "gone", "",
        ] {
            let fault = shop.tells_of(word).unwrap_err();
            assert_eq!(fault.code(), FaultCode::ActionNotSupported, "{fault}");
            let words = [
                "/shop",
                &format!("{word:?}"),
                "add, ",
                "tear, ",
                "upsert, ",
                "replace, ",
            ];
            let reason = fault.reason();
            assert!(words.iter().all(|it| reason.contains(it)), "{fault}");
            assert_eq!(reason.matches("update").count(), 1, "{fault}");
        }
    });
}
