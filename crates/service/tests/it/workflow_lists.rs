//! Workflows whose steps are called for the values of a list, and are undone.

use crate::shop::{CornerShop, Line, ShopRequest, replay_with};
use crate::workflows::{begin, ended, ended_amid, node, run, services, with_flows};
use motet_dispatch::{Replay, spawn};
use motet_ports::Port;
use motet_ports::timer::sleep;
use motet_service::system::JobStatus;
use motet_service::workflow::{Run, RunStatus, Workflow};
use motet_service::{Create, FaultCode, Memory, Subscribe};
use serde_json::json;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn sem_g614_a_step_is_called_for_each_value_of_a_list() {
    with_flows(async |node, shop, flows| {
        let flow = r#"
            [[step]]
            name = "lines"
            call = "/shop:insert"
            for_each = [{ name = "pears", count = 2 }, { name = "apples", count = 1 }]
            with = { name = "${item/name}", count = "${item/count}" }

            [[step]]
            name = "twice"
            call = "/shop:compute"
            for_each = [30, 10, 20]
            with = "${item}"
            after = ["lines"]

            [[step]]
            name = "sums"
            call = "/shop:sum"
            for_each = "${twice.out}"
            with = "${item}"
            at_once = 1

            [[step]]
            name = "none"
            call = "/shop:break_down"
            for_each = []
        "#;
        let ended = run(&node, &flows, begin("one", flow)).await;
        assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
        assert_eq!(shop.count("pears".into()).await, Ok(2));
        let run = flows.look("one".into()).await.unwrap();
        let out = |step: &str| run.steps[step].out.clone().unwrap();
        assert_eq!(out("lines"), json!([null, null]));
        assert_eq!(
            out("twice"),
            json!([60, 20, 40]),
            "in the order of the list"
        );
        assert_eq!(out("sums"), json!([1830, 210, 820]), "the ends of jobs");
        assert_eq!(out("none"), json!([]));
        assert!(run.steps["twice"].items.is_empty(), "they are in the list");
        // What is no list fails its step.
        let flow = r#"{"step": [{"name": "sum", "call": "/shop:compute", "with": 1},
            {"name": "each", "call": "/shop:compute", "for_each": "${sum.out}"}]}"#;
        let fault = self::run(&node, &flows, begin("two", flow)).await.fault;
        assert!(fault.unwrap().reason().contains("no list"));
    });
}

#[test]
fn sem_g614_so_many_calls_of_a_list_run_at_once_as_the_step_says() {
    with_flows(async |node, _, flows| {
        let clock = node.queue().clock();
        for (at_once, tens) in [(1, 6), (2, 3), (3, 2), (6, 1)] {
            let flow = format!(
                r#"{{"step": [{{"name": "each", "call": "/shop:compute", "with": "${{item}}",
                    "for_each": [10, 10, 10, 10, 10, 10], "at_once": {at_once}}}]}}"#
            );
            let begun = clock.now();
            let name = format!("{at_once} at once");
            let ended = run(&node, &flows, begin(&name, &flow)).await;
            assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
            // In virtual time nothing takes time but to wait.
            let took = Duration::from_millis(10 * tens);
            assert_eq!(clock.now() - begun, took, "{name}");
        }
    });
}

#[test]
fn sem_g614_more_calls_of_a_list_run_at_once_than_may_wait_at_a_service() {
    let replay = Replay::new(1);
    replay_with(&replay, &node(&replay, Memory::default()), async |node| {
        let shop = Create::<CornerShop>::of().at("/shop").depth(8);
        let shop = node.create(shop).await.unwrap();
        let flows = Create::<Workflow>::of().at("/flows").depth(8);
        let flows = node.create(flows).await.unwrap();
        // All are called for at once, and all are answered at the same time.
        let values: Vec<u64> = vec![10; 100];
        let step = json!({"name": "each", "call": "/shop:compute", "with": "${item}",
            "for_each": values, "at_once": 100});
        let flow = json!({"step": [step]}).to_string();
        let ended = run(&node, &flows, begin("one", &flow)).await;
        assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.steps["each"].out, Some(json!(vec![20; 100])));
        assert_eq!(known.steps["each"].faults, 0);
        assert!(shop.get().await.unwrap().items.is_empty());
    });
}

#[test]
fn sem_g614_one_item_of_a_list_is_tried_again_as_its_retry_says() {
    with_flows(async |node, shop, flows| {
        shop.insert(Line::new("apples", 1)).await.unwrap();
        shop.insert(Line::new("pears", 2)).await.unwrap();
        let flow = r#"{"step": [{"name": "counts", "call": "/shop:count", "with": "${item}",
            "for_each": ["apples", "figs", "pears"],
            "retry": {"times": 5, "backoff_ms": 10, "on": ["UnknownEntry"]}}]}"#;
        let later = shop.clone();
        let filling = async move {
            sleep(50 * MS).await;
            later.upsert(Line::new("figs", 5)).await.unwrap();
        };
        spawn(&node.queue(), filling).unwrap();
        let job = flows.run(begin("one", flow)).await.unwrap();
        sleep(45 * MS).await;
        let known = flows.look("one".into()).await.unwrap();
        let counts = &known.steps["counts"];
        // At 0, 10 and 30 ms; the next try is at 70.
        let faults: Vec<u32> = counts.items.iter().map(|item| item.faults).collect();
        assert_eq!((counts.faults, faults), (3, vec![0, 3, 0]));
        assert_eq!(counts.items[2].out, Some(json!(2)), "others go on");
        assert_eq!(self::ended(&node, &job.path).await.status, JobStatus::Done);
        let known = flows.look("one".into()).await.unwrap();
        let counts = &known.steps["counts"];
        assert_eq!(counts.out, Some(json!([1, 5, 2])));
        assert_eq!(counts.faults, 3);
    });
}

#[test]
fn sem_g614_a_list_goes_on_behind_the_call_that_has_failed() {
    with_flows(async |node, shop, flows| {
        shop.insert(Line::new("apples", 1)).await.unwrap();
        shop.insert(Line::new("pears", 2)).await.unwrap();
        let flow = r#"{"step": [{"name": "counts", "call": "/shop:count", "with": "${item}",
            "for_each": ["apples", "figs", "pears"], "at_once": 1}]}"#;
        let ended = run(&node, &flows, begin("one", flow)).await;
        let fault = ended.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::UnknownEntry);
        assert!(
            fault.reason().contains("\"counts\" failed at item 1"),
            "{fault}"
        );
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.status, RunStatus::Failed);
        let counts = &known.steps["counts"];
        assert_eq!((counts.items.len(), counts.faults), (2, 1));
        assert_eq!(counts.items[0].out, Some(json!(1)));
        // What was answered is not asked for again.
        shop.upsert(Line::new("apples", 100)).await.unwrap();
        shop.upsert(Line::new("figs", 3)).await.unwrap();
        let job = flows.resume("one".into()).await.unwrap();
        assert_eq!(self::ended(&node, &job.path).await.status, JobStatus::Done);
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.steps["counts"].out, Some(json!([1, 3, 2])));
    });
}

/// Its last step fails for good at its second value.
const UNDONE: &str = r#"
[[step]]
name = "first"
call = "/shop:insert"
with = { name = "first", count = 1 }

[[step]]
name = "twice"
call = "/shop:compute"
with = 5
after = ["first"]
undo = { call = "/shop:add", with = "${twice.out}" }

[[step]]
name = "many"
call = "/shop:insert"
for_each = ["x", "y"]
with = { name = "${item}", count = 1 }
after = ["twice"]
undo = { call = "/shop:delete", with = "${item}" }

[[step]]
name = "no"
call = "/shop:insert"
with = { name = "no", count = 1 }
after = ["many"]
when = "${first.out}"
undo = { call = "/shop:delete", with = "no" }

[[step]]
name = "some"
call = "/shop:update"
for_each = ["x", "figs"]
at_once = 1
with = { name = "${item}", count = 7 }
after = ["many"]
undo = { call = "/shop:update", with = { name = "${item}", count = 1 } }
"#;

#[test]
fn sem_g614_what_was_done_is_undone_the_last_first() {
    with_flows(async |node, shop, flows| {
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        let fault = run(&node, &flows, begin("one", UNDONE))
            .await
            .fault
            .unwrap();
        assert_eq!(fault.code(), FaultCode::UnknownEntry);
        assert!(fault.reason().contains("\"some\" failed"), "{fault}");
        assert!(fault.reason().contains("was undone"), "{fault}");
        sleep(20 * MS).await;
        let mut undone = Vec::new();
        while let Some(told) = told.test() {
            match told.operation() {
                Some(ShopRequest::Delete(name)) => undone.push(name.clone()),
                Some(ShopRequest::Update(line)) if line.count == 1 => {
                    undone.push(format!("update {}", line.name));
                }
                Some(ShopRequest::Add(count)) => undone.push(format!("add {count}")),
                _ => {}
            }
        }
        assert_eq!(undone, ["update x", "y", "x", "add 10"]);
        assert_eq!(shop.get().await.unwrap().items.len(), 1);
        assert_eq!(shop.count("first".into()).await, Ok(11));
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.status, RunStatus::Undone);
        assert!(known.fault.unwrap().reason().contains("\"some\" failed"));
        assert!(!known.steps["first"].undo.all && known.steps["many"].undo.all);
        // It has ended.
        let job = flows.resume("one".into()).await.unwrap();
        let fault = ended(&node, &job.path).await.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::PreconditionFailed, "{fault}");
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.status, RunStatus::Undone);
    });
}

#[test]
fn sem_g614_an_undo_that_has_failed_is_tried_again() {
    with_flows(async |node, shop, flows| {
        let flow = r#"{"step": [
            {"name": "a", "call": "/shop:upsert", "with": {"name": "a", "count": 1},
                "undo": {"call": "/shop:delete", "with": "b", "retry": {"times": 1}}},
            {"name": "c", "call": "/shop:count", "with": "c", "after": ["a"]}]}"#;
        let fault = run(&node, &flows, begin("one", flow)).await.fault.unwrap();
        assert!(
            fault.reason().contains("the undo of the step \"a\" failed"),
            "{fault}"
        );
        assert!(fault.reason().contains("the step \"c\" failed"), "{fault}");
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.status, RunStatus::Failed);
        assert_eq!(
            (known.steps["a"].undo.faults, known.steps["c"].faults),
            (2, 1)
        );
        // The step that has failed is not tried any more.
        shop.upsert(Line::new("b", 1)).await.unwrap();
        shop.upsert(Line::new("c", 1)).await.unwrap();
        let job = flows.resume("one".into()).await.unwrap();
        assert_eq!(ended(&node, &job.path).await.status, JobStatus::Failed);
        let known = flows.look("one".into()).await.unwrap();
        assert_eq!(known.status, RunStatus::Undone);
        assert!(shop.count("b".into()).await.is_err());
    });
}

/// Ends a node after so many steps of its schedule, in the middle of a run, and goes on with what
/// was committed on another: what the run was then, and how many apples there are at the end.
fn interrupted(flow: &'static str, stop: u64) -> Option<(Run, i64)> {
    let store = ended_amid(flow, stop);
    let (second, found) = (Replay::new(stop), Port::new());
    let tell = found.clone();
    replay_with(&second, &node(&second, store), move |node| {
        let tell = tell.clone();
        async move {
            let (shop, flows) = services(&node).await;
            let Ok(run) = flows.look("night".into()).await else {
                return;
            };
            let job = flows.resume("night".into()).await.unwrap();
            ended(&node, &job.path).await;
            let apples = shop.count("apples".into()).await.unwrap();
            tell.post((run, apples)).unwrap();
        }
    });
    found.test()
}

#[test]
fn sem_g614_a_list_that_is_resumed_repeats_nothing_that_was_answered() {
    let flow = r#"
        [[step]]
        name = "stock"
        call = "/shop:insert"
        with = { name = "apples", count = 0 }

        [[step]]
        name = "adds"
        call = "/shop:add"
        for_each = [1, 2, 3, 4]
        at_once = 2
        with = "${item}"
        after = ["stock"]

        [[step]]
        name = "last"
        call = "/shop:add"
        with = 10
        after = ["adds"]
    "#;
    let mut in_the_list = 0;
    for stop in 0..60 {
        let Some((run, apples)) = interrupted(flow, stop) else {
            continue;
        };
        assert_eq!(apples, 20, "{run:?}");
        let items = run.steps.get("adds").map_or(0, |done| done.items.len());
        in_the_list += usize::from(items > 0);
    }
    assert!(in_the_list > 0);
}

#[test]
fn sem_g614_an_undo_that_is_resumed_repeats_nothing_that_was_answered() {
    let flow = r#"
        [[step]]
        name = "stock"
        call = "/shop:insert"
        with = { name = "apples", count = 100 }

        [[step]]
        name = "adds"
        call = "/shop:add"
        for_each = [1, 2, 3]
        with = "${item}"
        after = ["stock"]
        undo = { call = "/shop:add", with = -2 }

        [[step]]
        name = "one"
        call = "/shop:add"
        with = 1
        after = ["adds"]
        undo = { call = "/shop:add", with = -1 }

        [[step]]
        name = "figs"
        call = "/shop:count"
        with = "figs"
        after = ["one"]
    "#;
    let mut undoing = 0;
    for stop in 0..80 {
        let Some((run, apples)) = interrupted(flow, stop) else {
            continue;
        };
        assert_eq!(apples, 100, "{run:?}");
        let is_undoing = run.status == RunStatus::Interrupted && run.fault.is_some();
        undoing += usize::from(is_undoing);
    }
    assert!(undoing > 0);
}
