//! Workflows: operations in an order.

use crate::shop::{CornerShop, Line, ShopClient, replay_with};
use motet_dispatch::{Causality, Replay, spawn};
use motet_ports::timer::sleep;
use motet_service::system::{JobClient, JobState, JobStatus};
use motet_service::workflow::{Begin, Flow, RunEnded, RunStatus, Workflow, WorkflowsClient};
use motet_service::{Create, FaultCode, Memory, Node, Persist, Store, Subscribe};
use serde_json::json;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

pub(crate) fn node(host: &impl motet_service::Host, store: impl Store) -> Node {
    let node = Node::builder("flows")
        .register::<CornerShop>()
        .register::<Workflow>();
    node.store(store).start(host).unwrap()
}

/// Runs a test with a shop and a workflow service, for several seeds.
pub(crate) fn with_flows<F>(
    test: impl Fn(Node, ShopClient, WorkflowsClient) -> F + Clone + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..8 {
        let replay = Replay::new(seed);
        let test = test.clone();
        replay_with(&replay, &node(&replay, Memory::default()), move |node| {
            let test = test.clone();
            async move {
                let (shop, flows) = services(&node).await;
                test(node, shop, flows).await;
            }
        });
    }
}

pub(crate) async fn services(node: &Node) -> (ShopClient, WorkflowsClient) {
    let shop = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let flows = Create::<Workflow>::of().at("/flows").persist(Persist::Each);
    let shop = node.create(shop).await.unwrap();
    (shop, node.create(flows).await.unwrap())
}

pub(crate) fn begin(name: &str, flow: &str) -> Begin {
    Begin {
        name: name.to_owned(),
        flow: Flow::read(flow).unwrap(),
    }
}

/// How a job has ended.
pub(crate) async fn ended(node: &Node, path: &str) -> JobState {
    let job: JobClient = node.client(path).unwrap();
    let told = job.subscribe(Subscribe::all().sync()).await.unwrap();
    loop {
        told.recv().await;
        let state = job.get().await.unwrap();
        if state.status != JobStatus::Running {
            return (*state.state).clone();
        }
    }
}

pub(crate) async fn run(node: &Node, flows: &WorkflowsClient, begin: Begin) -> JobState {
    let job = flows.run(begin).await.unwrap();
    ended(node, &job.path).await
}

/// Begins the run `night`, and ends its node after so many steps of its schedule, without a word:
/// what was committed.
pub(crate) fn ended_amid(flow: &'static str, stop: u64) -> Memory {
    let store = Memory::default();
    let replay = Replay::new(stop);
    let node = node(&replay, store.clone());
    let one = node.clone();
    let running = async move {
        let (_, flows) = services(&one).await;
        flows.run(begin("night", flow)).await.unwrap();
    };
    spawn(&node.queue(), running).unwrap();
    for _ in 0..(stop * 4) {
        replay.step();
    }
    store
}

#[test]
fn sem_g405_a_step_begins_when_those_have_ended_that_it_needs() {
    with_flows(async |node, shop, flows| {
        let flow = r#"
            [[step]]
            name = "copy"
            call = "/shop:insert"
            with = { name = "copy", count = "${apples.out}" }

            [[step]]
            name = "apples"
            call = "/shop:count"
            with = "apples"
            after = ["stock"]

            [[step]]
            name = "stock"
            call = "/shop:insert"
            with = { name = "apples", count = 42 }

            [[step]]
            name = "sum"
            call = "/shop:sum"
            with = 3

            [[step]]
            name = "state"
            call = "/shop:get"
            after = ["copy", "sum"]
        "#;
        let ended = run(&node, &flows, begin("one", flow)).await;
        assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
        assert_eq!(shop.count("copy".into()).await, Ok(42));
        let run = flows.look("one".into()).await.unwrap();
        assert_eq!(run.status, RunStatus::Done);
        let out = |step: &str| run.steps[step].out.clone().unwrap();
        assert_eq!(out("sum"), json!(6), "it waits for the end of a job");
        assert_eq!(out("state")["state"]["items"]["copy"], json!(42));
        let again = flows.run(begin("one", flow)).await.unwrap();
        let fault = self::ended(&node, &again.path).await.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::DuplicateEntry);
    });
}

#[test]
fn sem_g405_a_step_waits_for_a_job_no_longer_than_its_time() {
    with_flows(async |node, _, flows| {
        let flow = r#"{"step": [
            {"name": "sum", "call": "/shop:sum", "with": 1000, "timeout_ms": 100}]}"#;
        let ended = run(&node, &flows, begin("one", flow)).await;
        assert_eq!(ended.status, JobStatus::Failed);
        let fault = ended.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::ResponseTimeout, "{fault}");
        let mut statuses = Vec::new();
        for service in node.services() {
            if service.path.starts_with("/jobs/") {
                let job: JobClient = node.client(&service.path).unwrap();
                statuses.push(job.get().await.unwrap().status);
            }
        }
        // That of the run, and that of its step.
        assert!(statuses.contains(&JobStatus::Cancelled), "{statuses:?}");
    });
}

#[test]
fn sem_g405_a_step_is_left_out_with_those_that_need_it() {
    with_flows(async |node, shop, flows| {
        let flow = r#"{"step": [
            {"name": "state", "call": "/shop:get"},
            {"name": "no", "call": "/shop:add", "with": 1, "when": "${state.out/state/items/pears}"},
            {"name": "nor", "call": "/shop:add", "with": "${no.out}"},
            {"name": "yes", "call": "/shop:upsert", "with": {"name": "figs", "count": 1},
                "when": "${state.out/state/items/apples}"}]}"#;
        shop.upsert(Line::new("apples", 3)).await.unwrap();
        let ended = run(&node, &flows, begin("one", flow)).await;
        assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
        let run = flows.look("one".into()).await.unwrap();
        assert!(run.steps["no"].left_out && run.steps["nor"].left_out);
        assert_eq!(shop.count("apples".into()).await, Ok(3));
        assert_eq!(shop.count("figs".into()).await, Ok(1));
    });
}

#[test]
fn sem_g406_a_step_is_tried_again_as_its_retry_says() {
    with_flows(async |node, shop, flows| {
        let flow = |times: u32, on: &str| {
            let flow = format!(
                r#"{{"step": [{{"name": "wait", "call": "/shop:count", "with": "figs",
                    "retry": {{"times": {times}, "backoff_ms": 10, "on": ["{on}"]}}}}]}}"#
            );
            begin(&format!("{on} {times}"), &flow)
        };
        for (times, on) in [(9, "Gone"), (2, "UnknownEntry")] {
            let ended = run(&node, &flows, flow(times, on)).await;
            assert_eq!(ended.status, JobStatus::Failed);
            let fault = ended.fault.unwrap();
            assert_eq!(fault.code(), FaultCode::UnknownEntry);
            assert!(fault.reason().contains("\"wait\""), "{fault}");
        }
        let run_of = async |name: &str| flows.look(name.to_owned()).await.unwrap();
        assert_eq!(run_of("Gone 9").await.steps["wait"].faults, 1);
        assert_eq!(run_of("UnknownEntry 2").await.steps["wait"].faults, 3);
        let later = shop.clone();
        let filling = async move {
            sleep(50 * MS).await;
            later.upsert(Line::new("figs", 5)).await.unwrap();
        };
        spawn(&node.queue(), filling).unwrap();
        let ended = run(&node, &flows, flow(5, "UnknownEntry")).await;
        assert_eq!(ended.status, JobStatus::Done, "10, 20, 40 ms later");
        // One that has failed is tried again when its run is resumed.
        let job = flows.resume("Gone 9".into()).await.unwrap();
        assert_eq!(self::ended(&node, &job.path).await.status, JobStatus::Done);
        assert_eq!(run_of("Gone 9").await.status, RunStatus::Done);
    });
}

#[test]
fn sem_g407_sem_g408_a_run_that_is_resumed_repeats_nothing_that_was_answered() {
    let flow = r#"
        [[step]]
        name = "stock"
        call = "/shop:insert"
        with = { name = "apples", count = 40 }

        [[step]]
        name = "one"
        call = "/shop:add"
        with = 1
        after = ["stock"]

        [[step]]
        name = "slow"
        call = "/shop:compute"
        with = 10
        after = ["one"]

        [[step]]
        name = "two"
        call = "/shop:add"
        with = 1
        after = ["slow"]
    "#;
    // The node ends at any time, without a word; the next one goes on with what was committed.
    static IN_THE_MIDDLE: AtomicUsize = AtomicUsize::new(0);
    for stop in 0..30 {
        let store = ended_amid(flow, stop);
        let second = Replay::new(stop);
        replay_with(&second, &node(&second, store), async |node| {
            let (shop, flows) = services(&node).await;
            let Ok(run) = flows.look("night".into()).await else {
                // It had not been entered.
                assert!(shop.get().await.unwrap().items.is_empty());
                return;
            };
            assert_ne!(run.status, RunStatus::Running, "nobody runs it");
            let is_interrupted = usize::from(run.status == RunStatus::Interrupted);
            IN_THE_MIDDLE.fetch_add(is_interrupted, Ordering::Relaxed);
            // The job that goes on with it has another number than the one that has begun it.
            shop.sum(1).await.unwrap();
            let job = flows.resume("night".into()).await.unwrap();
            let ended = ended(&node, &job.path).await;
            assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
            assert_eq!(shop.count("apples".into()).await, Ok(42));
        });
    }
    let in_the_middle = IN_THE_MIDDLE.load(Ordering::Relaxed);
    assert!(in_the_middle > 4, "{in_the_middle}");
}

#[test]
fn sem_g408_a_run_whose_job_is_cancelled_is_interrupted() {
    with_flows(async |node, _, flows| {
        let flow = r#"{"step": [{"name": "sum", "call": "/shop:sum", "with": 100}]}"#;
        let job = flows.run(begin("one", flow)).await.unwrap();
        let job: JobClient = node.client(&job.path).unwrap();
        let status = async || flows.look("one".into()).await.unwrap().status;
        sleep(20 * MS).await;
        assert_eq!(status().await, RunStatus::Running);
        job.cancel().await.unwrap();
        sleep(20 * MS).await;
        assert_eq!(status().await, RunStatus::Interrupted);
        let job = flows.resume("one".into()).await.unwrap();
        assert_eq!(ended(&node, &job.path).await.status, JobStatus::Done);
        assert_eq!(status().await, RunStatus::Done);
        // One that is cancelled as it begins may have noted its run, and no more.
        let job = flows.run(begin("two", flow)).await.unwrap();
        let job: JobClient = node.client(&job.path).unwrap();
        job.cancel().await.unwrap();
        sleep(20 * MS).await;
        if let Ok(run) = flows.look("two".into()).await {
            assert_eq!(run.status, RunStatus::Interrupted);
        }
    });
}

#[test]
fn sem_g408_a_run_whose_caller_is_cancelled_is_interrupted() {
    with_flows(async |node, _, flows| {
        let flow = r#"{"step": [{"name": "sum", "call": "/shop:sum", "with": 100}]}"#;
        let order = Causality::new("order").skipping_unstarted();
        let run = order.wrap(async { flows.run(begin("one", flow)).await });
        let job = run.await.unwrap();
        sleep(20 * MS).await;
        order.cancel("nobody wants it");
        let fault = ended(&node, &job.path).await.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::OperationCanceled, "{fault}");
        sleep(20 * MS).await;
        let run = flows.look("one".into()).await.unwrap();
        assert_eq!(run.status, RunStatus::Interrupted);
    });
}

/// A shop, and a workflow service at which one read and one change may wait.
async fn narrow_services(node: &Node) -> (ShopClient, WorkflowsClient) {
    let shop = Create::<CornerShop>::of().at("/shop");
    let flows = Create::<Workflow>::of().at("/flows").depth(1);
    let shop = node.create(shop).await.unwrap();
    (shop, node.create(flows).await.unwrap())
}

#[test]
fn sem_g408_a_run_whose_job_is_cancelled_is_interrupted_though_many_changes_wait() {
    for seed in 0..8 {
        let replay = Replay::new(seed);
        replay_with(&replay, &node(&replay, Memory::default()), async |node| {
            let (_, flows) = narrow_services(&node).await;
            let flow = r#"{"step": [{"name": "sum", "call": "/shop:sum", "with": 100}]}"#;
            let job = flows.run(begin("one", flow)).await.unwrap();
            let job: JobClient = node.client(&job.path).unwrap();
            sleep(20 * MS).await;
            // There is room for one of them at a time, until all are done.
            for _ in 0..8 {
                let flows = flows.clone();
                let changing = async move {
                    for _ in 0..100 {
                        let of_another = RunEnded {
                            run: "another".to_owned(),
                            status: RunStatus::Running,
                            fault: None,
                        };
                        let fault = flows.set_status(of_another).wait_for_room().await;
                        assert_eq!(fault.unwrap_err().code(), FaultCode::UnknownEntry);
                    }
                };
                spawn(&node.queue(), changing).unwrap();
            }
            job.cancel().await.unwrap();
            sleep(20 * MS).await;
            let run = flows.look("one".into()).await.unwrap();
            assert_eq!(run.status, RunStatus::Interrupted);
            let job = flows.resume("one".into()).await.unwrap();
            let ended = ended(&node, &job.path).await;
            assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
        });
    }
}

#[test]
fn sem_g614_a_run_waits_for_room_to_look_how_it_stands() {
    let flow = r#"{"step": [
        {"name": "each", "call": "/shop:upsert", "with": {"name": "figs", "count": "${item}"},
            "for_each": [1, 2]},
        {"name": "state", "call": "/shop:get", "after": ["each"]}]}"#;
    for seed in 0..8 {
        let replay = Replay::new(seed);
        let test = move |node: Node| async move {
            let (_, flows) = narrow_services(&node).await;
            let job = flows.run(begin("one", flow)).await.unwrap();
            // There is room for one of them at a time, until all are done.
            for _ in 0..8 {
                let flows = flows.clone();
                let looking = async move {
                    for _ in 0..200 {
                        // It may not have been entered yet.
                        drop(flows.look("one".into()).wait_for_room().await);
                    }
                };
                spawn(&node.queue(), looking).unwrap();
            }
            let state = ended(&node, &job.path).await;
            assert_eq!(state.status, JobStatus::Done, "{:?}", state.fault);
            // As does one that is resumed.
            let again = flows.resume("one".into()).wait_for_room();
            let job = again.await.unwrap();
            let state = ended(&node, &job.path).await;
            assert_eq!(state.status, JobStatus::Done, "{:?}", state.fault);
        };
        replay_with(&replay, &node(&replay, Memory::default()), test);
    }
}

#[test]
fn sem_g408_a_run_is_carried_out_by_one_job_at_a_time() {
    with_flows(async |node, _, flows| {
        let flow = r#"{"step": [{"name": "sum", "call": "/shop:sum", "with": 100}]}"#;
        let first = flows.run(begin("one", flow)).await.unwrap();
        sleep(20 * MS).await;
        let status = async || flows.look("one".into()).await.unwrap().status;
        for again in [
            flows.resume("one".into()).await.unwrap(),
            flows.run(begin("one", flow)).await.unwrap(),
        ] {
            let fault = ended(&node, &again.path).await.fault.unwrap();
            assert_eq!(fault.code(), FaultCode::DuplicateEntry, "{fault}");
            assert_eq!(fault.service(), Some("/flows"));
            let names_it = fault.reason().contains(&format!("{} carries", first.path));
            assert!(names_it && fault.reason().contains("\"one\""), "{fault}");
        }
        assert_eq!(status().await, RunStatus::Running, "they change nothing");
        // A job that was cancelled leaves the run to the first that goes on with it.
        let job: JobClient = node.client(&first.path).unwrap();
        job.cancel().await.unwrap();
        sleep(20 * MS).await;
        let one = flows.resume("one".into()).await.unwrap();
        let two = flows.resume("one".into()).await.unwrap();
        let states = [ended(&node, &one.path).await, ended(&node, &two.path).await];
        let done = states.iter().filter(|job| job.status == JobStatus::Done);
        assert_eq!(done.count(), 1, "{states:?}");
        let refused = states.iter().find_map(|job| job.fault.as_ref()).unwrap();
        assert_eq!(refused.code(), FaultCode::DuplicateEntry, "{refused}");
        assert_eq!(status().await, RunStatus::Done);
        // One that has ended in whatever way may be resumed.
        let job = flows.resume("one".into()).await.unwrap();
        assert_eq!(ended(&node, &job.path).await.status, JobStatus::Done);
    });
}

#[test]
fn sem_g527_the_rules_of_a_workflow_service_are_not_for_its_own_jobs() {
    let replay = Replay::new(1);
    replay_with(&replay, &node(&replay, Memory::default()), async |node| {
        let shop = Create::<CornerShop>::of().at("/shop");
        let shop = node.create(shop).await.unwrap();
        let flows = Create::<Workflow>::of().at("/flows").allow(["ann: submit"]);
        let flows = node.create(flows).await.unwrap();
        let flow = r#"{"step": [{"name": "sum", "call": "/shop:add", "with": 3}]}"#;
        let refused = flows.run(begin("one", flow)).principal("bob").await;
        assert_eq!(refused.unwrap_err().code(), FaultCode::PermissionDenied);
        shop.insert(Line::new("apples", 1)).await.unwrap();
        let job = flows
            .run(begin("one", flow))
            .principal("ann")
            .await
            .unwrap();
        let ended = ended(&node, &job.path).await;
        assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
        // Whoever may begin a run may not write what has become of it.
        let entered = flows.enter(begin("two", flow)).principal("ann").await;
        assert_eq!(entered.unwrap_err().code(), FaultCode::PermissionDenied);
    });
}

#[test]
fn sem_g404_an_unknown_service_fails_its_step() {
    with_flows(async |node, _, flows| {
        let flow = r#"{"step": [{"name": "a", "call": "/nowhere:get"}]}"#;
        let fault = run(&node, &flows, begin("one", flow)).await.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::UnknownService);
        let fault = flows.look("two".into()).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::UnknownEntry);
    });
}
