//! `motet mesh` in several processes: who publishes, who subscribes, and who is killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::ProgramFolder;

/// A process that tells lines.
pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(place: &ProgramFolder, arguments: &str) -> Running {
        Running::start_in(place, arguments, "meet")
    }

    fn start_in(place: &ProgramFolder, arguments: &str, folder: &str) -> Running {
        let arguments = format!("{arguments} --rendezvous {folder}");
        Running::start_with(place, &arguments, Stdio::piped())
    }

    /// Starts it with this standard input.
    pub(crate) fn start_with(place: &ProgramFolder, arguments: &str, input: Stdio) -> Running {
        let mut child = place
            .command(&format!("mesh {arguments} --json"))
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Running {
            input: child.stdin.take(),
            out: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    pub(crate) fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        self.next_or_end().expect("it has ended")
    }

    /// The next line. None: there are no more.
    pub(crate) fn next_or_end(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// What it says on standard error.
    pub(crate) fn errors(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.child.stderr.take().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end: the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    /// A test that has failed leaves no process behind.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn sem_g247_lines_that_are_published_are_printed_by_all_who_subscribe() {
    let place = ProgramFolder::new();
    let mut subscribers = [
        Running::start(&place, "sub tank/*/level --name one --count 3"),
        Running::start(&place, "sub tank/** --name two --count 3"),
    ];
    let mut publisher = Running::start(&place, "pub tank/3/level --name p --subscribers 2");
    for line in ["a", "b \"quoted\"", "c"] {
        publisher.write(line);
    }
    for subscriber in &mut subscribers {
        for (number, value) in [(1, "a"), (2, "b \"quoted\""), (3, "c")] {
            let wanted = json!({"key": "tank/3/level", "publisher": "p", "number": number,
                "retained": false, "gap": null, "value": value});
            assert_eq!(subscriber.next(), wanted);
        }
    }
    drop(publisher.input.take());
    let told = publisher.next();
    assert_eq!((&told["published"], &told["lost"]), (&3.into(), &0.into()));
    assert_eq!(publisher.end(), Some(0));
    for subscriber in subscribers {
        assert_eq!(subscriber.end(), Some(0));
    }
}

#[test]
fn sem_g248_a_subscriber_that_is_killed_is_missed_at_once_and_its_samples_are_told() {
    let place = ProgramFolder::new();
    let mut watcher = Running::start(&place, "join --name watcher");
    assert_eq!(watcher.next()["change"], "joined");
    let mut publisher = Running::start(&place, "pub n --name p --subscribers 1 --retain 1");
    let mut subscriber = Running::start(&place, "sub n --name s");
    publisher.write("1");
    assert_eq!(subscriber.next()["value"], "1");
    subscriber.signal(Signal::KILL);
    let killed = Instant::now();
    let down = loop {
        let told = watcher.next();
        if told["change"] == "down" && told["peer"] == "s" {
            break told;
        }
    };
    let after = killed.elapsed();
    assert!(after < Duration::from_secs(30), "{after:?}: {down}");
    // Nobody subscribes: what is published goes to nobody, and the publisher does not hang. Who
    // comes back may be seen here before the publisher sees it, which keeps its last sample.
    publisher.write("2");
    let mut again = Running::start(&place, "sub n --name s --count 1");
    watcher_sees(&mut watcher, "up", "s");
    publisher.write("3");
    let last = again.next();
    assert!(last["retained"] == true || last["value"] == "3", "{last}");
    assert_eq!(again.end(), Some(0));
    assert_eq!(publisher.end(), Some(0));
}

#[track_caller]
pub(crate) fn watcher_sees(watcher: &mut Running, change: &str, peer: &str) {
    loop {
        let told = watcher.next();
        if told["change"] == change && told["peer"] == peer {
            return;
        }
    }
}

#[test]
fn sem_g248_a_publisher_that_is_killed_is_missed_and_comes_back_as_another() {
    let place = ProgramFolder::new();
    let mut subscriber = Running::start(&place, "sub n --name s --count 2");
    let mut publisher = Running::start(&place, "pub n --name p");
    publisher.write("1");
    assert_eq!(subscriber.next()["number"], 1);
    publisher.signal(Signal::KILL);
    drop(publisher);
    let mut publisher = Running::start(&place, "pub n --name p");
    publisher.write("again");
    let sample = subscriber.next();
    assert_eq!(
        (&sample["number"], &sample["value"]),
        (&1.into(), &"again".into())
    );
    assert_eq!(subscriber.end(), Some(0));
    assert_eq!(publisher.end(), Some(0));
}

#[test]
fn sem_g249_a_process_that_is_stopped_is_missed_and_gets_the_rest_when_it_goes_on() {
    let place = ProgramFolder::new();
    let mut watcher = Running::start(&place, "join --name watcher");
    assert_eq!(watcher.next()["change"], "joined");
    let mut subscriber = Running::start(&place, "sub n --name s --count 40");
    let mut publisher = Running::start(&place, "pub n --name p --class acknowledged --linger 60");
    publisher.write("1");
    assert_eq!(subscriber.next()["number"], 1);
    subscriber.signal(Signal::STOP);
    for n in 2..=40 {
        publisher.write(&n.to_string());
    }
    watcher_sees(&mut watcher, "down", "s");
    subscriber.signal(Signal::CONT);
    for n in 2..=40 {
        let sample = subscriber.next();
        assert_eq!(
            (&sample["number"], &sample["gap"]),
            (&n.into(), &Value::Null)
        );
    }
    assert_eq!(subscriber.end(), Some(0));
    assert_eq!(publisher.end(), Some(0));
}

#[test]
fn sem_g247_an_interrupt_ends_each_command_in_order() {
    let place = ProgramFolder::new();
    let mut joined = Running::start(&place, "join --name j");
    assert_eq!(joined.next()["change"], "joined");
    let subscriber = Running::start(&place, "sub ** --name s");
    watcher_sees(&mut joined, "up", "s");
    let top = Running::start(&place, "top --name t");
    watcher_sees(&mut joined, "up", "t");
    for running in [subscriber, top, joined] {
        running.signal(Signal::INT);
        assert_eq!(running.end(), Some(0));
    }
    assert_eq!(place.names("meet"), ["mesh.key"]);
}

#[test]
fn sem_g247_peers_and_top_say_who_is_there_and_how_much_comes() {
    let place = ProgramFolder::new();
    let mut joined = Running::start(&place, "join --name j");
    assert_eq!(joined.next()["change"], "joined");
    let subscriber = Running::start(&place, "sub a/** --name s");
    watcher_sees(&mut joined, "up", "s");
    let out = place
        .run("mesh peers --name p --within 2 --rendezvous meet --json")
        .quiet_success();
    let mut lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.sort_by_key(|line| line["peer"].to_string());
    assert_eq!(
        lines,
        [
            json!({"peer": "j", "subscriptions": [], "servers": []}),
            json!({"peer": "s", "subscriptions": ["a/**"], "servers": []}),
        ]
    );
    let mut top = Running::start(&place, "top a/* --name t");
    watcher_sees(&mut joined, "up", "t");
    // It does not count for --subscribers: lines come until it has met the publisher.
    let mut lines = Command::new("sh")
        .args(["-c", "while echo 12345; do sleep 0.1; done"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = Stdio::from(lines.stdout.take().unwrap());
    let publisher = Running::start_with(&place, "pub a/b --name q --rendezvous meet", input);
    let line = top.next();
    assert_eq!(
        (&line["key"], &line["publisher"]),
        (&"a/b".into(), &"q".into())
    );
    drop((top, publisher, subscriber));
    // Nobody reads what it writes any more.
    lines.wait().unwrap();
}

#[test]
fn a_publisher_may_give_subscribers_all_the_time_there_is() {
    let place = ProgramFolder::new();
    let forever = u64::MAX;
    let arguments = "pub n a --subscribers 0 --rendezvous meet --json";
    let told = place.run(&format!("mesh {arguments} --linger {forever}"));
    assert_eq!(told.code, 0, "{}", told.err);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["published"], json!(1));
}

#[test]
fn sem_g253_doctor_says_what_listens_where_and_whether_there_is_a_key() {
    let place = ProgramFolder::new();
    let doctor = |more: &str| {
        let mut command = place.command(&format!("doctor --python no-python --go no-go {more}"));
        let folder = place.path("");
        let output = command.env("XDG_RUNTIME_DIR", folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mesh = || -> Value {
        let all: Value = serde_json::from_str(&doctor("--json")).unwrap();
        all["mesh"].clone()
    };
    let before = mesh();
    assert_eq!(
        (&before["listen"], &before["key_state"]),
        (&"127.0.0.1:0".into(), &"none yet".into())
    );
    assert!(
        before["rendezvous"]
            .as_str()
            .unwrap()
            .ends_with("/motet-mesh")
    );
    let listening: Vec<_> = before["interfaces"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["listens"] == true)
        .collect();
    assert_eq!(listening.len(), 1, "{before}");
    assert_eq!(
        (&listening[0]["address"], &listening[0]["up"]),
        (&"127.0.0.1".into(), &true.into())
    );
    assert_eq!(before["nodes"], json!([]));

    let mut joined = Running::start_in(&place, "join --name j", "motet-mesh");
    let address = joined.next()["addresses"][0].clone();
    let node = json!({"node": "j", "address": address, "open": true});
    let now = mesh();
    assert_eq!(
        (&now["nodes"], &now["key_state"]),
        (&json!([node]), &"there".into())
    );
    joined.signal(Signal::KILL);
    drop(joined);
    assert_eq!(mesh()["nodes"][0]["open"], false);
    let said = doctor("");
    for words in [
        "listens on 127.0.0.1:0",
        "node j at 127.0.0.1:",
        "has ended without leaving",
        "motet-mesh/mesh.key",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let key = place.path("motet-mesh/mesh.key");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(key, open).unwrap();
    assert!(mesh()["key_state"].as_str().unwrap().contains("chmod 600"));
}

#[test]
fn sem_g253_an_empty_folder_of_the_user_is_none() {
    let place = ProgramFolder::new();
    let mut command = place.command("doctor --python no-python --go no-go --json");
    let command = command.env("XDG_RUNTIME_DIR", "");
    let output = command.env("TMPDIR", place.path("")).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let folder = told["mesh"]["rendezvous"].as_str().unwrap();
    let usual = place.path("motet-mesh-");
    assert!(folder.starts_with(usual.to_str().unwrap()), "{folder}");
}

#[test]
fn sem_g250_keys_are_made_and_what_is_not_safe_is_refused_in_one_line() {
    let place = ProgramFolder::new();
    let told = place.run("mesh keys new run.key --json").quiet_success();
    assert_eq!(
        serde_json::from_str::<Value>(&told).unwrap()["file"],
        "run.key"
    );
    assert_eq!(place.read("run.key").trim().len(), 64);
    place
        .run("mesh keys new run.key")
        .refusal(&["run.key", "is there already"]);
    place
        .run("mesh join --listen 0.0.0.0:0")
        .refusal(&["0.0.0.0:0", "motet mesh keys new"]);
    place
        .run("mesh join --peer 127.0.0.1:1")
        .refusal(&["--key"]);
    place.write("open.key", "00");
    place
        .run("mesh join --key open.key")
        .refusal(&["open.key", "chmod 600"]);
    place
        .run("mesh sub a//b --rendezvous meet")
        .refusal(&["part 2"]);
}

#[test]
fn sem_g565_a_pass_is_made_and_what_it_cannot_be_is_refused_in_one_line() {
    let place = ProgramFolder::new();
    place.run("mesh keys new run.key --json").quiet_success();
    let make = "mesh keys pass b.pass --key run.key --name b --publish a/** --publish c/* --days 2";
    let told = place.run(&format!("{make} --json")).quiet_success();
    let told: Value = serde_json::from_str(&told).unwrap();
    let said = (
        &told["file"],
        &told["name"],
        &told["publish"],
        &told["subscribe"],
    );
    assert_eq!(
        said,
        (
            &json!("b.pass"),
            &json!("b"),
            &json!(["a/**", "c/*"]),
            &json!([])
        )
    );
    assert!(
        told["until"]
            .as_u64()
            .is_some_and(|until| until > 1_700_000_000)
    );
    let text = place.read("b.pass");
    assert!(
        text.starts_with("motet mesh grant 1\nname b\nuntil "),
        "{text}"
    );
    assert!(!text.contains(place.read("run.key").trim()));

    let made = std::fs::metadata(place.path("b.pass")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&made.permissions());
    assert_eq!(mode & 0o777, 0o600);
    place.run(make).refusal(&["b.pass", "is there already"]);
    let other = "mesh keys pass c.pass --key run.key";
    for (rest, words) in [
        ("--name c --publish a//b", &["--publish", "part 2"][..]),
        ("--name c --subscribe a/b*", &["--subscribe", "'*'"]),
        ("--name a/b --publish x", &["1 to 64 letters"]),
        ("--name c", &["--publish", "--subscribe"]),
        ("--name c --publish x --days 0", &["--days"]),
    ] {
        place.run(&format!("{other} {rest}")).refusal(words);
    }
    assert!(!place.path("c.pass").exists());
    place
        .run("mesh join --key run.key --pass b.pass")
        .refusal(&["--pass"]);
    place
        .run("mesh join --pass run.key")
        .refusal(&["run.key", "holds no pass"]);
    place
        .run("mesh join --pass b.pass --name c --rendezvous meet")
        .refusal(&["\"b\"", "\"c\""]);
}

#[test]
fn sem_g565_a_node_with_a_pass_publishes_what_it_may_and_is_told_what_it_may_not() {
    let place = ProgramFolder::new();
    place.run("mesh keys new run.key --json").quiet_success();
    let make = "mesh keys pass b.pass --key run.key --name b --publish a/**";
    place.run(make).quiet_success();
    let mut subscriber = Running::start(&place, "sub a/** --name s --key run.key");
    let publisher = Running::start(&place, "pub a/x 5 --pass b.pass");
    let sample = subscriber.next();
    let told = (&sample["publisher"], &sample["key"], &sample["value"]);
    assert_eq!(told, (&json!("b"), &json!("a/x"), &json!("5")));
    assert_eq!(publisher.end(), Some(0));
    subscriber.signal(Signal::INT);
    assert_eq!(subscriber.end(), Some(0));
    place
        .run("mesh pub d/x 1 --pass b.pass --subscribers 0 --rendezvous meet")
        .refusal(&["b may not publish", "--publish d/x"]);
    place
        .run("mesh sub a/x --pass b.pass --rendezvous meet")
        .refusal(&["b may not subscribe", "--subscribe a/x"]);
}

#[test]
fn sem_g557_a_durable_topic_goes_on_with_its_numbers_when_its_publisher_was_killed() {
    let place = ProgramFolder::new();
    let publish = "pub n --name p --class durable --log kept";
    let mut subscriber = Running::start(&place, "sub n --name s --from all");
    for life in 0..3 {
        let mut publisher = Running::start(&place, publish);
        for n in 3 * life + 1..=3 * life + 3 {
            publisher.write(&n.to_string());
            let sample = subscriber.next();
            let told = (&sample["number"], &sample["value"], &sample["gap"]);
            assert_eq!(told, (&n.into(), &n.to_string().into(), &Value::Null));
        }
        publisher.signal(Signal::KILL);
    }
    let mut publisher = Running::start(&place, publish);
    let mut late = Running::start(&place, "sub n --name t --from 8 --count 3");
    publisher.write("10");
    for n in 8..=10 {
        assert_eq!(late.next()["number"], n);
    }
    assert_eq!(subscriber.next()["number"], 10);
    assert_eq!(late.end(), Some(0));
    assert_eq!(publisher.end(), Some(0));
}

#[test]
fn sem_g557_a_log_that_cannot_be_written_and_options_that_do_nothing_are_refused() {
    let place = ProgramFolder::new();
    let publish = "mesh pub n a --subscribers 0 --rendezvous meet";
    place
        .run(&format!("{publish} --class durable"))
        .refusal(&["--log"]);
    place
        .run(&format!("{publish} --log kept"))
        .refusal(&["--class durable"]);
    place
        .run(&format!("{publish} --log-limit 9"))
        .refusal(&["--log"]);
    for kept in ["--keep-bytes 9", "--keep-seconds 9"] {
        place.run(&format!("{publish} {kept}")).refusal(&["--log"]);
        let nothing = kept.replace('9', "0");
        place
            .run(&format!("{publish} --class durable --log kept {nothing}"))
            .refusal(&["--keep-"]);
    }
    let beyond = place.run(&format!(
        "{publish} --class durable --log kept --log-limit 300 --keep-bytes 200"
    ));
    beyond.refusal(&["limit of 300 bytes", "600"]);
    place
        .run("mesh sub n --from old")
        .refusal(&["--from", "UTC"]);
    let full = place.run(&format!(
        "{publish} --class durable --log kept --log-limit 9"
    ));
    full.refusal(&["samples.log", "limit of 9 bytes"]);
    let other = "mesh pub m a --subscribers 0 --rendezvous meet --class durable --log kept";
    place
        .run(other)
        .refusal(&["samples.log", "another directory"]);
}

#[test]
fn sem_g558_a_log_keeps_as_much_as_is_said_and_who_wants_more_is_told_the_gap() {
    let place = ProgramFolder::new();
    let publish = "pub n --name p --class durable --log kept --keep-bytes 200";
    let values: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    let all = format!("{publish} --subscribers 0 {}", values.join(" "));
    let mut first = Running::start(&place, &all);
    assert_eq!(first.next()["published"], 40);
    assert_eq!(first.end(), Some(0));
    let names = place.names("kept");
    let has_first = names.iter().any(|name| name == "samples.log");
    assert!(names.len() < 5 && !has_first, "{names:?}");
    // Nothing of it is in memory.
    let mut publisher = Running::start(&place, publish);
    let mut subscriber = Running::start(&place, "sub n --name s --from 1");
    publisher.write("41");
    let sample = subscriber.next();
    let number = sample["number"].as_u64().unwrap();
    assert!(number > 20, "{sample}");
    assert_eq!(sample["gap"], json!([1, number - 1]));
    assert_eq!(sample["value"], number.to_string());
    for next in number + 1..=41 {
        assert_eq!(subscriber.next()["number"], next);
    }
    assert_eq!(publisher.end(), Some(0));
}
