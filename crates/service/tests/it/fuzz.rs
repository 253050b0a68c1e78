//! Texts and bodies that nobody has foreseen: a fault or an answer, never a panic, and no memory
//! that grows.

use crate::clerk::node;
use crate::shop::{replay_with, shop};
use motet_dispatch::Replay;
use motet_service::workflow::Flow;
use motet_service::{Fault, FaultCode, Node, Rights, Value};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::future::Future;
use std::sync::Arc;

const PIECES: &[&str] = &[
    "[[service]]",
    "[[step]]",
    "${a.out}",
    "${a.out/0}",
    "${item}",
    "for_each = ",
    "type = 'chain'",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "=",
    ":",
    ",",
    "*",
    "/",
    "~1",
    "\\u0000",
    "1e999",
    "-0",
    "null",
    "true",
    "\n",
    "\u{0}",
    "\u{1F980}",
];

const MANIFESTS: &[&str] = &[
    r#"[[service]]
type = "chain"
at = "/branch"
partners = { shop = { link = "main" } }
state = { value = { items = { apples = 5 }, nested = [], ticks = 0 } }
allow = ["viewer: get query"]
depth = 7
key_bytes = 1000
supervise = { restart = "permanent" }
"#,
    r#"{"service": [{"type": "corner-shop", "name": "main", "network": false, "partners_within_ms": 3}]}"#,
];

const FLOWS: &[&str] = &[
    r#"[[step]]
name = "a"
call = "/shop:count"
with = { of = ["x", "${b.out/0}"] }
after = ["b"]
retry = { times = 3, backoff_ms = 5, on = ["Gone"] }
"#,
    r#"{"step": [{"name": "a", "call": "/x:y", "for_each": [1, "${b.out}"], "at_once": 2, "with": "${item/0}",
        "undo": {"call": "/x:z", "with": ["${a.out}", "${item}"]}}, {"name": "b", "call": "/x:y"}]}"#,
    r#"{"step": [{"name": "b", "call": "/x:y", "when": "${a.out}"}, {"name": "a", "call": "/x:z"}]}"#,
];

/// One of the texts with a few changes, or any text.
fn texts(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    let change = (any::<usize>(), 0..4usize, 0..PIECES.len(), 0..20usize);
    let changed = (0..of.len(), vec(change, 0..6)).prop_map(move |(base, changes)| {
        let mut text: Vec<char> = of[base].chars().collect();
        for (at, what, piece, length) in changes {
            let from = at % (text.len() + 1);
            let to = (from + length).min(text.len());
            match what {
                0 => drop(text.drain(from..to)),
                1 => drop(text.splice(from..from, PIECES[piece].chars())),
                2 => drop(text.splice(from..to, PIECES[piece].chars())),
                _ => {
                    let twice: Vec<char> = text[from..to].to_vec();
                    drop(text.splice(from..from, twice));
                }
            }
        }
        text.into_iter().collect()
    });
    prop_oneof![8 => changed, 1 => any::<String>(), 1 => "[\\[\\]{}\"=,:]{0,200}"]
}

/// Any value that JSON has.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c/~]{0,3}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let names = || prop_oneof!["name|count|items|nested|ticks", any::<String>()];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(names(), inner, 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Memory of the process in MiB, where the system tells.
fn memory() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = told
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    (pages.unwrap_or(0) * 4096) >> 20
}

/// Runs a test for many inputs, on a new node in virtual time for each two hundred.
fn many<T, F>(
    inputs: u32,
    strategy: &impl Strategy<Value = T>,
    test: impl Fn(Node, Arc<Vec<T>>) -> F + Copy + Send + 'static,
) where
    T: Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut runner = TestRunner::deterministic();
    let mut next = || strategy.new_tree(&mut runner).unwrap().current();
    let mut before = 0;
    for batch in 0..inputs.div_ceil(200) {
        let inputs: Arc<Vec<T>> = Arc::new((0..200).map(|_| next()).collect());
        let replay = Replay::new(batch.into());
        let given = inputs.clone();
        replay_with(&replay, &node(&replay), move |node| {
            test(node, Arc::clone(&given))
        });
        match batch {
            9 => before = memory(),
            10.. => assert!(memory() < before + 64, "{} MiB, {before} before", memory()),
            _ => {}
        }
    }
}

/// A fault that is as it should be: it tells what is wrong, in few words, and is no panic.
fn is_right(fault: &Fault) {
    let reason = fault.reason();
    assert!(
        !reason.is_empty() && !reason.contains("panicked"),
        "{fault}"
    );
    assert!(reason.len() < 100_000, "{} bytes", reason.len());
}

fn manifests(inputs: u32) {
    many(
        inputs,
        &texts(MANIFESTS),
        async |node: Node, texts: Arc<Vec<String>>| {
            shop(&node).await;
            for text in texts.iter() {
                match node.load([text]).await {
                    Err(fault) => {
                        assert_eq!(fault.code(), FaultCode::MessageNotSupported);
                        is_right(&fault);
                    }
                    Ok(loaded) => {
                        for one in loaded {
                            one.fault.iter().for_each(is_right);
                            if let Some(service) = one.service {
                                let made = node.find(&service.path).unwrap();
                                made.call("drop", Value::Null).await.unwrap();
                            }
                        }
                    }
                }
            }
        },
    );
}

fn flows(inputs: u32) {
    let (strategy, mut runner) = (texts(FLOWS), TestRunner::deterministic());
    for _ in 0..inputs {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        if let Err(fault) = Flow::read(&text) {
            assert_eq!(fault.code(), FaultCode::MessageNotSupported, "{text:?}");
            is_right(&fault);
        }
        if let Err(fault) = Rights::parse([&text]) {
            is_right(&fault);
        }
    }
}

/// Operations whose handlers answer at once, whatever they are called with.
const OPERATIONS: &[&str] = &[
    "count", "colour", "insert", "update", "upsert", "delete", "patch", "replace", "get", "lookup",
    "steal", "",
];

fn bodies(inputs: u32) {
    let calls = (0..OPERATIONS.len(), values());
    many(
        inputs,
        &calls,
        async |node: Node, calls: Arc<Vec<(usize, Value)>>| {
            let shop = shop(&node).await;
            let any = node.find("/shop").unwrap();
            for (operation, body) in calls.iter() {
                let before = shop.get().await.unwrap();
                let answer = any.call(OPERATIONS[*operation], body.clone()).await;
                let after = shop.get().await.unwrap();
                if let Err(fault) = answer {
                    is_right(&fault);
                    assert_eq!(before.version, after.version, "a fault changes nothing");
                    assert_eq!(*before.state, *after.state);
                }
            }
            assert_eq!(any.figures().panics, 0);
            assert_eq!(any.figures().restarts, 0);
        },
    );
}

fn pointers(inputs: u32) {
    let pointers = prop_oneof![
        "(/(items|nested|ticks|apples|~[01]|[0-9]{1,3}|-)){0,4}",
        any::<String>()
    ];
    many(
        inputs,
        &pointers,
        async |node: Node, pointers: Arc<Vec<String>>| {
            let shop = shop(&node).await;
            let state = serde_json::to_value(&*shop.get().await.unwrap().state).unwrap();
            for pointer in pointers.iter() {
                match (shop.query_pointer(pointer).await, state.pointer(pointer)) {
                    (Ok(found), expected) => assert_eq!(Some(&found), expected),
                    (Err(fault), expected) => {
                        assert!(expected.is_none(), "{pointer:?}");
                        assert_eq!(fault.code(), FaultCode::UnknownEntry);
                        is_right(&fault);
                    }
                }
            }
        },
    );
}

#[test]
fn prop_sem_g403_any_manifest_is_loaded_or_refused() {
    manifests(1_000);
}

#[test]
fn prop_sem_g403_any_flow_is_read_or_refused() {
    flows(2_000);
}

#[test]
fn prop_sem_g403_any_body_is_answered_or_refused() {
    bodies(1_000);
}

#[test]
fn prop_sem_g403_any_pointer_finds_what_is_there() {
    pointers(1_000);
}

#[test]
#[ignore = "takes minutes"]
fn deep_sem_g403_a_million_of_each() {
    manifests(1_000_000);
    flows(1_000_000);
    bodies(1_000_000);
    pointers(1_000_000);
}

#[test]
fn sem_g403_records_that_all_need_each_other_are_refused_in_time() {
    let records: Vec<Value> = (0..60)
        .map(|own| {
            let others = (0..60).filter(|other| *other != own);
            let partners: serde_json::Map<String, Value> = others
                .map(|other| (format!("p{other}"), format!("/r{other}").into()))
                .collect();
            serde_json::json!({"type": "chain", "at": format!("/r{own}"), "partners": partners})
        })
        .collect();
    let text = serde_json::json!({ "service": records }).to_string();
    let replay = Replay::new(1);
    replay_with(&replay, &node(&replay), move |node| {
        let text = text.clone();
        async move {
            let loaded = node.load([text]).await.unwrap();
            assert_eq!(loaded.len(), 60);
            for one in loaded {
                assert!(one.fault.unwrap().reason().contains("need each other"));
            }
        }
    });
}
