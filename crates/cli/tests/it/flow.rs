//! `motet flow`: runs of workflows, watched and resumed.

use serde_json::{Value, json};

use crate::program::{ProgramFolder, Run};
use crate::serve::Serving;

const TOWNS: &str = r#"
[[step]]
name = "towns"
call = "/clustering:cluster"
with = { clusters = 4, ranks = 1 }
after = ["points"]

[[step]]
name = "points"
call = "/source:make"
with = 20

[[step]]
name = "no"
call = "/drive:get"
when = "${towns.out/nothing}"
"#;

#[test]
fn sem_g401_a_workflow_runs_to_its_end_with_its_steps_told() {
    let place = ProgramFolder::new();
    place.write("towns.toml", TOWNS);
    let serving = Serving::start(&place, "");
    let flow = |arguments: &str| place.run(&format!("flow {arguments} --url {}", serving.url));
    let told = flow("run towns.toml").quiet_success();
    let lines: Vec<&str> = told.lines().collect();
    for line in [
        "points: done",
        "towns: done",
        "no: left out",
        "towns: 3 of 3 steps have ended",
    ] {
        assert!(lines.contains(&line), "{line}: {told}");
    }
    let found = serving.answer(&place, "/clustering");
    assert_eq!(found["sizes"], json!([20, 20, 20, 20]));
    // It is there, and another has another name.
    flow("run towns.toml").refusal(&["\"towns\"", "resume", "--name"]);
    let lines = flow("run towns.toml --name again --json").quiet_success();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(
        last,
        json!({"run": "again", "status": "done", "steps": 3, "ended": 3})
    );
    let watched = flow("watch towns.toml").quiet_success();
    assert!(watched.contains("towns: done"), "{watched}");
    flow("watch nothing").refusal(&["\"nothing\"", "motet call /workflow"]);
    flow("run towns.toml --at /drive --name x").refusal(&["look"]);
    serving.interrupt();
}

#[test]
fn sem_g401_a_step_that_gives_nothing_has_ended() {
    let place = ProgramFolder::new();
    place.write(
        "stop.toml",
        "[[step]]\nname = 'stop'\ncall = '/drive:set_power'\nwith = { left = 0, right = 0 }\n",
    );
    let serving = Serving::start(&place, "");
    let run = place.run(&format!("flow run stop.toml --url {}", serving.url));
    let told = run.quiet_success();
    assert!(told.contains("stop: done"), "{told}");
    assert!(told.contains("stop: 1 of 1 steps have ended"), "{told}");
    serving.interrupt();
}

#[test]
fn sem_g614_lists_and_what_is_undone_are_told() {
    let place = ProgramFolder::new();
    place.write(
        "trip.toml",
        r#"
[[step]]
name = "towns"
call = "/source:make"
for_each = [1, 2]
at_once = 1
with = "${item}"

[[step]]
name = "go"
call = "/drive:set_power"
with = { left = 0.25, right = 0.25 }
after = ["towns"]
undo = { call = "/drive:set_power", with = { left = 0, right = 0 } }

[[step]]
name = "fly"
call = "/drive:fly"
after = ["go"]
"#,
    );
    let serving = Serving::start(&place, "");
    let run = place.run(&format!("flow run trip.toml --url {}", serving.url));
    assert_eq!(run.code, 1, "{run:?}");
    for line in ["towns: done", "go: undone"] {
        assert!(run.out.lines().any(|told| told == line), "{line}: {run:?}");
    }
    for words in ["trip was undone", "\"fly\"", "--name"] {
        assert!(run.err.contains(words), "{words}: {run:?}");
    }
    assert_eq!(serving.answer(&place, "/drive")["commands"], 2);
    assert_eq!(serving.answer(&place, "/world")["left"], 0.0);
    let runs = serving.answer(&place, "/workflow")["runs"].clone();
    assert_eq!(runs["trip"]["steps"]["towns"]["out"], json!([4, 8]));
    let again = place.run(&format!("flow resume trip --url {}", serving.url));
    assert!(
        again.code == 1 && again.err.contains("was undone"),
        "{again:?}"
    );
    serving.interrupt();
}

#[test]
fn sem_g614_the_workflow_of_the_guide_is_one() {
    const GUIDE: &str = include_str!("../../../../docs/guide/services.md");
    let mut blocks = GUIDE.split("```toml\n").skip(1);
    let flow = blocks.find(|block| block.starts_with("[[step]]")).unwrap();
    let place = ProgramFolder::new();
    place.write("trip.toml", flow.split("```").next().unwrap());
    // Nothing is wrong with it but that there is no node.
    let run = place.run("flow run trip.toml --url http://127.0.0.1:9");
    run.refusal(&["127.0.0.1:9", "whether the node runs"]);
}

#[test]
fn sem_g401_a_workflow_without_steps_and_a_run_without_a_name_are_refused() {
    let place = ProgramFolder::new();
    place.write("towns.toml", TOWNS);
    // What is wrong is told before any node is asked.
    for (name, text) in [("none.toml", ""), ("none.json", "{}")] {
        place.write(name, text);
        let run = place.run(&format!("flow run {name} --url http://127.0.0.1:1"));
        run.refusal(&[name, "no steps"]);
    }
    for name in ["", " "] {
        let mut run = place.command("flow run towns.toml --url http://127.0.0.1:1 --name");
        let run = run.arg(name).output().unwrap();
        Run::from(run).refusal(&["--name", "give the run a name"]);
    }
}

#[test]
fn sem_g401_a_run_that_was_interrupted_is_resumed() {
    let place = ProgramFolder::new();
    // The second step needs what is not there at first, and is tried again for a long time.
    place.write(
        "night.json",
        r#"{"step": [
            {"name": "points", "call": "/source:make", "with": 5},
            {"name": "count", "call": "/source:count", "after": ["points"],
                "retry": {"times": 1000, "backoff_ms": 50}}]}"#,
    );
    let arguments = "--store night.redb";
    let serving = Serving::start(&place, arguments);
    let mut running = place
        .command(&format!("flow run night.json --url {}", serving.url))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let run = |serving: &Serving| serving.answer(&place, "/workflow")["runs"]["night"].clone();
    while run(&serving)["steps"]["count"]["faults"].as_u64() < Some(1) {
        assert!(std::time::Instant::now() < until, "it does not begin");
    }
    // Killed, in the middle.
    drop(serving);
    running.kill().unwrap();
    running.wait().unwrap();
    let serving = Serving::start(&place, arguments);
    assert_eq!(run(&serving)["status"], "interrupted");
    let watched = place.run(&format!("flow watch night --url {}", serving.url));
    assert_eq!(watched.code, 1, "{watched:?}");
    assert!(watched.err.contains("1 of 2"), "{watched:?}");
    assert!(
        watched.err.contains("motet flow resume night"),
        "{watched:?}"
    );
    // Resumed it meets the fault again: what has ended is not repeated.
    let mut resumed = place
        .command(&format!("flow resume night --url {}", serving.url))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let faults = |serving: &Serving| run(serving)["steps"]["count"]["faults"].as_u64();
    let before = faults(&serving);
    while faults(&serving) <= before {
        assert!(std::time::Instant::now() < until, "it does not go on");
    }
    assert_eq!(run(&serving)["status"], "running");
    let source = serving.answer(&place, "/source lookup");
    assert_eq!(
        source["version"], 0,
        "the step that had ended was not repeated"
    );
    resumed.kill().unwrap();
    resumed.wait().unwrap();
    serving.interrupt();
}

#[test]
fn sem_g401_a_wrong_workflow_is_refused_with_file_step_and_field() {
    let place = ProgramFolder::new();
    place.run("flow run none.toml").refusal(&["none.toml"]);
    let cases = [
        ("[[step]]\nname = 'a'\ncal = '/x:y'\n", "cal"),
        ("[[step]]\nname = 'a'\ncall = 'x'\n", "call = "),
        (
            "[[step]]\nname = 'a'\ncall = '/x:y'\nafter = ['b']\n",
            "\"b\" by `after`",
        ),
        (
            "[[step]]\nname = 'a'\ncall = '/x:y'\nwhen = 'so'\n",
            "`when`",
        ),
    ];
    for (text, what) in cases {
        place.write("wrong.toml", text);
        // Nobody is asked: there is no node at all.
        let run = place.run("flow run wrong.toml --url http://127.0.0.1:9");
        run.refusal(&["wrong.toml", what]);
    }
    place.write("towns.toml", TOWNS);
    place
        .run("flow run towns.toml --url http://127.0.0.1:9")
        .refusal(&["127.0.0.1:9"]);
    let serving = Serving::start(&place, "");
    place.write(
        "fails.toml",
        "[[step]]\nname = 'fly'\ncall = '/drive:fly'\n",
    );
    let run = place.run(&format!("flow run fails.toml --url {}", serving.url));
    assert_eq!(run.code, 1, "{run:?}");
    for words in ["\"fly\"", "fly", "motet flow resume fails"] {
        assert!(run.err.contains(words), "{run:?}");
    }
    serving.interrupt();
}
