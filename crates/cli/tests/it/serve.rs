//! `motet serve`, `call` and `watch`: a node, and who calls it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use motet_http::Keys;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{ProgramFolder, Run, by_shell};

/// A node that runs until it is interrupted.
pub(crate) struct Serving {
    child: Child,
    /// Kept open as long as it serves.
    out: BufReader<ChildStdout>,
    pub(crate) url: String,
    /// Where its console is.
    console: String,
}

impl Serving {
    pub(crate) fn start(place: &ProgramFolder, arguments: &str) -> Serving {
        Serving::of(place.command(&format!("serve --json --listen 127.0.0.1:0 {arguments}")))
    }

    /// A node that this command starts, and that says in JSON where it is.
    fn of(command: Command) -> Serving {
        let mut serving = Serving::begin(command);
        let told: Value = serde_json::from_str(&serving.line()).unwrap();
        let field = |name: &str| told[name].as_str().unwrap().to_owned();
        (serving.url, serving.console) = (field("url"), field("console"));
        serving
    }

    /// A node that this command starts, and that has said nothing yet.
    fn begin(mut command: Command) -> Serving {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Serving {
            child,
            out,
            url: String::new(),
            console: String::new(),
        }
    }

    /// The next line that it prints; empty when it has ended.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    /// What is at the address of its console.
    fn console_page(&self) -> String {
        let address = self.console.strip_prefix("http://").unwrap();
        let (host, path) = address.split_at(address.find('/').unwrap());
        let mut stream = TcpStream::connect(host).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    fn call(&self, place: &ProgramFolder, arguments: &str) -> Run {
        place.run(&format!("call --url {} {arguments}", self.url))
    }

    /// The answer of a call.
    #[track_caller]
    pub(crate) fn answer(&self, place: &ProgramFolder, arguments: &str) -> Value {
        serde_json::from_str(&self.call(place, arguments).quiet_success()).unwrap()
    }

    /// The status with which it ends.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }

    /// The status with which it ends by itself.
    fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    /// A test that has failed leaves no node behind.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn sem_g422_a_demonstration_serves_is_called_and_ends() {
    let place = ProgramFolder::new();
    let begin = Instant::now();
    let serving = Serving::start(&place, "");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(serving.answer(&place, "/drive"), json!({"commands": 0}));
    serving
        .call(&place, "/drive set_power left=1 right=1")
        .quiet_success();
    assert_eq!(serving.answer(&place, "/drive")["commands"], 1);
    // A motor that is not named stands still.
    serving
        .call(&place, "/drive set_power left=0.5")
        .quiet_success();
    // One that there is not is no motor.
    serving
        .call(&place, "/drive set_power lft=1")
        .refusal(&["\"lft\"", "left, right"]);
    let world = serving.answer(&place, "/world");
    assert_eq!(
        (&world["left"], &world["right"]),
        (&json!(0.5), &json!(0.0))
    );
    assert_eq!(serving.answer(&place, "/source make 50"), 200);
    let job = serving.answer(&place, "/clustering cluster clusters=4 ranks=2");
    let path = job["path"].as_str().unwrap().to_owned();
    let until = Instant::now() + Duration::from_secs(30);
    let found = loop {
        let found = serving.answer(&place, "/clustering");
        if found["sizes"] != json!([]) {
            break found;
        }
        assert!(Instant::now() < until, "{path} does not end");
    };
    assert_eq!(found["sizes"], json!([50, 50, 50, 50]));
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn sem_g422_it_prints_where_its_services_and_its_console_are() {
    let place = ProgramFolder::new();
    let is_console = |page: &str| page.starts_with("HTTP/1.1 200") && page.contains("app.js");
    let serving = Serving::start(&place, "");
    assert_eq!(serving.console, format!("{}/console/", serving.url));
    let page = serving.console_page();
    assert!(is_console(&page), "{page}");
    assert_eq!(serving.interrupt(), Some(0));

    let mut serving = Serving::begin(place.command("serve --listen 127.0.0.1:0"));
    let first = serving.line();
    let (services, url) = first.trim_end().split_once(" services at ").unwrap();
    let services: usize = services.parse().unwrap();
    serving.url = url.to_owned();
    serving.console = format!("{url}/console/");
    for _ in 0..services {
        let line = serving.line();
        assert!(line.starts_with("  /"), "{line}");
    }
    let last = serving.line();
    let told = format!("The console is {url}/console/ and the description {url}/openapi.json.");
    assert!(last.starts_with(&told), "{last}");
    let page = serving.console_page();
    assert!(is_console(&page), "{page}");
    let pid = Pid::from_child(&serving.child);
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(serving.line(), "", "that was the last line");
    assert_eq!(serving.end(), Some(0));
}

#[test]
fn sem_g422_the_robot_of_the_demonstration_explores_when_it_is_told_to() {
    let place = ProgramFolder::new();
    let serving = Serving::start(&place, "");
    let explorer = || serving.answer(&place, "/explorer");
    assert_eq!(
        explorer(),
        json!({"explores": false, "sensed": 0, "turns": 0})
    );
    serving
        .call(&place, "/explorer explore true")
        .quiet_success();
    let until = Instant::now() + Duration::from_secs(30);
    while explorer()["sensed"].as_u64() < Some(3) {
        assert!(Instant::now() < until, "{}", explorer());
    }
    let seen = serving.answer(&place, "/laser");
    assert_eq!(seen["beams"].as_array().map(Vec::len), Some(360));
    assert!(serving.answer(&place, "/bumper")["step"].as_u64() > Some(0));
    let commands = serving.answer(&place, "/drive")["commands"].as_u64();
    assert!(commands > Some(1), "{commands:?}");
    serving
        .call(&place, "/explorer explore false")
        .quiet_success();
    let world = serving.answer(&place, "/world");
    assert_eq!(
        (&world["left"], &world["right"]),
        (&json!(0.0), &json!(0.0))
    );
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn sem_g423_what_a_service_tells_is_printed_line_by_line() {
    let place = ProgramFolder::new();
    let serving = Serving::start(&place, "");
    let watched = format!(
        "watch /world --only set_power --count 3 --url {}",
        serving.url
    );
    let mut watch = place
        .command(&watched)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    // The state, then what changes it.
    let first = next();
    assert_eq!(
        (&first["event"], &first["body"]["step"]),
        (&json!("replace"), &json!(0))
    );
    for power in [0.5, -0.5] {
        let told = format!("/drive set_power left={power} right=0.5");
        serving.call(&place, &told).quiet_success();
    }
    let (second, third) = (next(), next());
    assert_eq!(second["event"], "set_power");
    assert_eq!(second["body"], json!({"left": 0.5, "right": 0.5}));
    assert_eq!(third["body"], json!({"left": -0.5, "right": 0.5}));
    assert!(third["version"].as_u64() > second["version"].as_u64());
    assert!(lines.next().is_none() && watch.wait().unwrap().success());
    place
        .run(&format!("watch /nowhere --url {}", serving.url))
        .refusal(&["/nowhere"]);
    serving.interrupt();
}

#[test]
fn sem_g423_a_watch_whose_node_has_gone_says_so() {
    let place = ProgramFolder::new();
    let mut serving = Serving::start(&place, "");
    let mut watch = place
        .command(&format!("watch /bumper --url {}", serving.url))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(line.contains("replace"), "{line}");
    // It has no time to say that it ends.
    serving.child.kill().unwrap();
    let mut told = String::new();
    let mut err = BufReader::new(watch.stderr.take().unwrap());
    err.read_line(&mut told).unwrap();
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(
        told.starts_with("motet: ") && told.contains("is lost"),
        "{told}"
    );
    assert!(told.contains(&serving.url), "{told}");
}

#[test]
fn sem_g424_states_last_where_a_manifest_wants_it() {
    let place = ProgramFolder::new();
    place.write(
        "house.toml",
        "[[service]]\ntype = 'four-towns'\nat = '/source'\npersist = 'each'\n",
    );
    let arguments = "house.toml --store house.redb";
    let serving = Serving::start(&place, arguments);
    assert_eq!(serving.answer(&place, "/source make 2"), 8);
    serving.interrupt();
    let again = Serving::start(&place, arguments);
    let points = again.answer(&place, "/source")["points"].clone();
    assert_eq!(points.as_array().map(Vec::len), Some(8));
    again.interrupt();
}

#[test]
fn sem_g424_the_manifest_of_the_guide_serves_where_there_is_a_store() {
    const GUIDE: &str = include_str!("../../../../docs/guide/services.md");
    let mut blocks = GUIDE.split("```toml\n").skip(1);
    let manifest = blocks.find(|block| block.contains("drive.json")).unwrap();
    let place = ProgramFolder::new();
    place.write("house.toml", manifest.split("```").next().unwrap());
    let stored = "house.toml --store house.redb";
    let serving = Serving::start(&place, stored);
    let power = "/drive set_power left=1 right=1";
    serving.call(&place, power).quiet_success();
    assert_eq!(serving.interrupt(), Some(0));
    let serving = Serving::start(&place, stored);
    assert_eq!(serving.answer(&place, "/drive"), json!({"commands": 1}));
    serving.interrupt();
    let serving = Serving::start(&place, "house.toml");
    serving.call(&place, "/drive").refusal(&["/drive"]);
    assert_eq!(serving.answer(&place, "/world")["step"], 0);
    serving.interrupt();
}

#[test]
fn sem_g602_it_ends_with_status_2_when_an_essential_service_has_failed_for_good() {
    let place = ProgramFolder::new();
    place.write(
        "house.toml",
        "[[service]]\ntype = 'four-towns'\nat = '/source'\npersist = 'each'\n\
         supervise = { restart = 'temporary', essential = true }\n",
    );
    // Its store has no room for the state that is made below.
    let arguments = "serve house.toml --json --listen 127.0.0.1:0 --store house.redb";
    let serving = Serving::of(by_shell(&place, "ulimit -f 6000", arguments));
    assert_eq!(serving.answer(&place, "/source make 5"), json!(20));
    let made = serving.call(&place, "/source make 60000");
    assert_ne!(made.code, 0, "{made:?}");
    assert_eq!(serving.end(), Some(2));
}

#[test]
fn sem_g610_a_file_that_a_manifest_names_is_where_the_manifest_is() {
    let place = ProgramFolder::new();
    std::fs::create_dir(place.path("house")).unwrap();
    place.write("house/towns.json", r#"{"points": [[1.5, 2.5]]}"#);
    place.write(
        "house/house.toml",
        "[[service]]\ntype = 'four-towns'\nat = '/source'\nstate = { file = 'towns.json' }\n",
    );
    let serving = Serving::start(&place, "house/house.toml");
    let points = serving.answer(&place, "/source")["points"].clone();
    assert_eq!(points, json!([[1.5, 2.5]]));
    serving.interrupt();
}

#[test]
fn sem_g422_a_manifest_that_cannot_be_read_is_named_with_the_place() {
    let place = ProgramFolder::new();
    let record = "[[service]]\ntype = 'four-towns'\n";
    let wrongs = [
        ("persist = true", "on-save"),
        ("state = { points = [] }", "`value`"),
        ("sate = 1", "sate"),
    ];
    for (wrong, word) in wrongs {
        place.write("house.toml", format!("{record}{wrong}\n"));
        place
            .run("serve house.toml --listen 127.0.0.1:0")
            .refusal(&["house.toml: ", "line 3", word]);
    }
}

#[test]
fn sem_g433_a_node_with_keys_is_called_with_a_token() {
    let place = ProgramFolder::new();
    let made = place.run("keys new keys --host robot.example");
    assert!(made.quiet_success().contains("keys/ca.pem"));
    place.run("keys new keys").refusal(&["keys is there"]);
    let wide = "serve --listen 0.0.0.0:0";
    place.run(wide).refusal(&["motet keys new", "--keys"]);
    let none = format!("{wide} --keys none");
    place
        .run(&none)
        .refusal(&["none/server.pem", "motet keys new"]);
    let added = place.run("keys token keys arm --role operator --days 30");
    assert!(added.quiet_success().contains("keys/arm.token"));
    let serving = Serving::start(&place, "--keys keys");
    assert!(serving.url.starts_with("https://"), "{}", serving.url);
    let call =
        |token: &str, what: &str| serving.call(&place, &format!("{what} --ca keys/ca.pem {token}"));
    let power = "/drive set_power left=1 right=1";
    call("--token keys/arm.token", power).quiet_success();
    call("--token keys/viewer.token", "/drive").quiet_success();
    call("--token keys/viewer.token", power).refusal(&["a viewer changes nothing"]);
    call("", power).refusal(&["asks for a token"]);
    call("--token motet_0", power).refusal(&["nobody has this token"]);
    call("--token none.token", power).refusal(&["none.token"]);
    serving.call(&place, power).refusal(&["https needs"]);
    let watch = format!(
        "watch /drive --count 1 --url {} --ca keys/ca.pem --token keys/arm.token",
        serving.url
    );
    let line: Value = serde_json::from_str(&place.run(&watch).quiet_success()).unwrap();
    assert_eq!(line["body"]["commands"], 1);
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn sem_g433_a_variable_that_is_empty_is_none() {
    let place = ProgramFolder::new();
    let serving = Serving::start(&place, "");
    let mut call = place.command(&format!("call --url {} /drive", serving.url));
    for name in ["MOTET_TOKEN", "MOTET_CA", "MOTET_CERT"] {
        call.env(name, "");
    }
    Run::from(call.output().unwrap()).quiet_success();
}

#[test]
fn sem_g433_a_folder_with_blanks_is_quoted_in_the_lines_to_type() {
    let place = ProgramFolder::new();
    let made = Run::from(place.command("keys new").arg("my keys").output().unwrap());
    let told = made.quiet_success();
    assert!(told.contains("motet serve --keys 'my keys'\n"), "{told}");
    let mut leaf = place.command("keys leaf");
    let made = Run::from(leaf.args(["my keys", "hub"]).output().unwrap());
    let told = made.quiet_success();
    let client = "--ca 'my keys/ca.pem' --cert 'my keys/hub.pem'\n";
    assert!(told.contains(client), "{told}");
    let server = "motet serve --keys 'my keys' --leaf hub\n";
    assert!(told.contains(server), "{told}");
}

#[test]
fn sem_g435_a_node_is_called_with_a_certificate() {
    let place = ProgramFolder::new();
    place.run("keys new keys").quiet_success();
    let made = place.run("keys leaf keys hub --role operator --host hub.example");
    assert!(made.quiet_success().contains("--cert keys/hub.pem"));
    let again = place.run("keys leaf keys hub");
    again.refusal(&["keys/hub.pem", "another name"]);
    place.run("keys new others").quiet_success();
    place.run("keys leaf others hub").quiet_success();
    place
        .run("keys leaf keys old --days 0")
        .refusal(&["--days"]);
    Keys::add_leaf(&place.path("keys"), "old", "operator", &[], 0).unwrap();
    place.run("serve --mutual").refusal(&["--keys"]);
    let serving = Serving::start(&place, "--keys keys --leaf hub --mutual");
    let call = |with: &str| {
        let power = "/drive set_power left=1 right=1 --ca keys/ca.pem";
        serving.call(&place, &format!("{power} {with}"))
    };
    call("--cert keys/hub.pem").quiet_success();
    call("").refusal(&["asks for a certificate", "motet keys leaf"]);
    call("--cert keys/old.pem").refusal(&["is over", "motet keys leaf"]);
    call("--cert others/hub.pem").refusal(&["has not signed", "motet keys leaf"]);
    call("--cert none.pem").refusal(&["none.pem"]);
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn what_cannot_be_served_or_called_is_refused_in_one_line() {
    let place = ProgramFolder::new();
    place.write("wrong.toml", "[[service]]\ntype = 7\n");
    place.write(
        "unknown.toml",
        "[[service]]\ntype = 'teapot'\nat = '/pot'\n",
    );
    place.run("serve none.toml").refusal(&["none.toml"]);
    place
        .run("serve wrong.toml --listen 127.0.0.1:0")
        .refusal(&["type"]);
    let unknown = place.run("serve unknown.toml --listen 127.0.0.1:0");
    assert!(
        unknown.code == 2 && unknown.err.contains("teapot"),
        "{}",
        unknown.err
    );
    place
        .run("serve --listen 0.0.0.0:0")
        .refusal(&["0.0.0.0:0", "127.0.0.1"]);
    place
        .run("call /drive --url http://127.0.0.1:9 --within 0.2")
        .refusal(&["127.0.0.1:9", "whether the node runs"]);
    let serving = Serving::start(&place, "");
    serving.call(&place, "/teapot").refusal(&["/teapot"]);
    serving.call(&place, "/drive fly").refusal(&["fly"]);
    serving
        .call(&place, "/drive set_power left=2 right=0")
        .refusal(&["left is 2"]);
    serving
        .call(&place, "/drive set_power left=up right=0")
        .refusal(&["left"]);
    serving
        .call(&place, "/drive set_power left=1 7")
        .refusal(&["NAME=VALUE"]);
    serving.interrupt();
}

#[test]
fn what_is_told_where_nobody_reads_is_no_fault() {
    let place = ProgramFolder::new();
    place.write(
        "unknown.toml",
        "[[service]]\ntype = 'teapot'\nat = '/pot'\n",
    );
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let mut command = place.command("serve unknown.toml --listen 127.0.0.1:0");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let ended = command.stderr(write).status().unwrap();
    assert_eq!(ended.code(), Some(2));
}

#[test]
fn sem_g513_the_demonstration_refuses_what_cannot_be() {
    let place = ProgramFolder::new();
    let serving = Serving::start(&place, "");
    let run = serving.call(&place, "/source make 4000000000");
    run.refusal(&["4000000000", "250000 at most"]);
    assert_eq!(serving.answer(&place, "/source make 5"), json!(20));
    for (arguments, field) in [
        ("clusters=0 ranks=1", "clusters"),
        ("clusters=2 ranks=0", "ranks"),
        ("clusters=2 ranks=100000", "ranks"),
    ] {
        let run = serving.call(&place, &format!("/clustering cluster {arguments}"));
        run.refusal(&["does not fit", field]);
    }
    // The node is there, and does what it did.
    assert_eq!(
        serving.answer(&place, "/source")["points"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn sem_g513_what_a_service_never_tells_of_is_not_watched() {
    let place = ProgramFolder::new();
    let serving = Serving::start(&place, "");
    let watch = |only: &str| {
        let line = format!(
            "watch --url {} --only {only} /bumper --count 1",
            serving.url
        );
        place.run(&line)
    };
    // A bumper has no operation that is an update.
    for never in ["nope", "update"] {
        watch(never).refusal(&["/bumper never tells of", never, "changed", "replace"]);
    }
    for told in ["changed", "notify", "replace"] {
        // The state comes first.
        let line: Value = serde_json::from_str(&watch(told).quiet_success()).unwrap();
        assert_eq!(line["event"], "replace", "{told}");
    }
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn sem_g619_a_watch_of_a_verb_tells_of_its_operations() {
    let place = ProgramFolder::new();
    let serving = Serving::start(&place, "");
    let watched = format!("watch /world --only update --count 4 --url {}", serving.url);
    let mut watch = place
        .command(&watched)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut events = lines.map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["event"].as_str().unwrap().to_owned()
    });
    assert_eq!(events.next().unwrap(), "replace", "the state comes first");
    // While it moves there are steps, which are no updates.
    for power in [0.5, -0.5, 0.25] {
        let told = format!("/drive set_power left={power} right=0.5");
        serving.call(&place, &told).quiet_success();
    }
    assert_eq!(events.collect::<Vec<_>>(), ["set_power"; 3]);
    assert!(watch.wait().unwrap().success());
    serving.interrupt();
}

#[test]
fn sem_g513_a_state_that_is_to_last_asks_for_a_store() {
    let place = ProgramFolder::with(
        "m.toml",
        "[[service]]\ntype = \"four-towns\"\nat = \"/source\"\npersist = \"each\"\n",
    );
    let run = place.run("serve m.toml --listen 127.0.0.1:0");
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(
        run.err
            .contains("the node has no store: give it one, with --store FILE"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("NodeBuilder"), "{}", run.err);
}
