//! `motet mesh pub`: what it counts, whom it waits for, and where it ends.

use std::fs::File;
use std::io::{BufRead, Write};
use std::process::Stdio;
use std::time::Duration;

use motet::mesh::{Key, MeshRights};
use motet_mesh_zenoh::{MeshPass, MeshPassConfig, RunKey};
use motet_testkit::{patience, within};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mesh::Running;
use crate::program::ProgramFolder;

/// A publisher that reads a file.
fn publisher_of(place: &ProgramFolder, arguments: &str, lines: &[u8]) -> Running {
    place.write("lines", lines);
    let input = Stdio::from(File::open(place.path("lines")).unwrap());
    Running::start_with(place, &format!("{arguments} --rendezvous meet"), input)
}

/// Reads until a line has these words.
#[track_caller]
pub(crate) fn says(errors: &mut impl BufRead, words: &str) {
    let mut all = String::new();
    let mut begin = 0;
    while !all[begin..].contains(words) {
        begin = all.len();
        let count = errors.read_line(&mut all).unwrap();
        assert_ne!(count, 0, "{words:?} is not in {all}");
    }
}

#[test]
fn sem_g587_a_line_that_cannot_be_read_takes_none_before_it_away() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let mut lines = Vec::new();
        (1..=500).for_each(|n| writeln!(lines, "{n}").unwrap());
        lines.extend(b"\xff\nbehind it\n");
        let mut subscriber = Running::start(&place, "sub n --name s");
        let mut publisher = publisher_of(&place, "pub n --name p --linger 600", &lines);
        let mut errors = publisher.errors();
        for n in 1..=500 {
            let sample = subscriber.next();
            let told = (&sample["number"], &sample["value"]);
            assert_eq!(told, (&json!(n), &json!(n.to_string())));
        }
        let told = publisher.next();
        for (what, wanted) in [("published", 500), ("not_accepted", 0), ("next_line", 501)] {
            assert_eq!(told[what], json!(wanted), "{told}");
        }
        let why = "line 501 is not published: it is not UTF-8 (500 before it are)";
        assert_eq!(told["error"], json!(why));
        says(&mut errors, why);
        assert_eq!(publisher.end(), Some(2));
        subscriber.signal(Signal::INT);
        assert_eq!(subscriber.next_or_end(), None);
    });
}

#[test]
fn sem_g587_a_value_that_the_log_does_not_take_is_told_with_its_number() {
    let place = ProgramFolder::new();
    let publish = "mesh pub n a b c --subscribers 0 --class durable --log kept --rendezvous meet";
    let told = place.run(&format!("{publish} --log-limit 9 --json"));
    assert_eq!(told.code, 2, "{}", told.err);
    assert!(
        told.err.contains("value 1 is not published"),
        "{}",
        told.err
    );
    let object: Value = serde_json::from_str(&told.out).unwrap();
    let numbers = (&object["published"], &object["next_line"]);
    assert_eq!(numbers, (&json!(0), &json!(1)));
}

#[test]
fn sem_g247_lines_with_keys_go_to_the_topics_that_they_name() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let mut subscriber = Running::start(&place, "sub tank/** --name s --count 4");
        let lines = b"3/level\t2.5\n4/level\ta\tb\n3/level\t\nx\t1\n";
        let mut publisher = publisher_of(&place, "pub tank --keyed --name p", lines);
        let mut came: Vec<_> = (0..4)
            .map(|_| {
                let sample = subscriber.next();
                let text = |name: &str| sample[name].as_str().unwrap().to_owned();
                (text("key"), sample["number"].as_u64(), text("value"))
            })
            .collect();
        // Each topic keeps its order; between them there is none.
        came.sort();
        let wanted = [
            ("tank/3/level", 1, "2.5"),
            ("tank/3/level", 2, ""),
            ("tank/4/level", 1, "a\tb"),
            ("tank/x", 1, "1"),
        ];
        let told = |(key, number, value): (&str, u64, &str)| {
            (key.to_owned(), Some(number), value.to_owned())
        };
        assert_eq!(came, wanted.map(told));
        let told = publisher.next();
        assert_eq!((&told["published"], &told["lost"]), (&json!(4), &json!(0)));
        assert_eq!(publisher.end(), Some(0));
        assert_eq!(subscriber.end(), Some(0));
    });
}

#[test]
fn sem_g587_a_line_without_a_key_is_told_with_its_number() {
    within(patience(), || {
        let place = ProgramFolder::new();
        for (line, why) in [
            ("b 2", "it has no tab between a key and a value"),
            ("\t2", "it has no key before its tab"),
            ("b//c\t2", "n/b//c"),
            ("b/*\t2", "n/b/*"),
        ] {
            let lines = format!("a\t1\n{line}\nc\t3\n");
            let arguments = "pub n --keyed --subscribers 0";
            let mut publisher = publisher_of(&place, arguments, lines.as_bytes());
            let told = publisher.next();
            let numbers = (&told["published"], &told["next_line"]);
            assert_eq!(numbers, (&json!(1), &json!(2)), "{told}");
            let error = told["error"].as_str().unwrap();
            assert!(error.starts_with("line 2 is not published: "), "{error}");
            assert!(error.contains(why), "{error}");
            assert_eq!(publisher.end(), Some(2));
        }
        let keyed = "mesh pub n --keyed --rendezvous meet";
        place
            .run(&format!("{keyed} --class durable --log kept"))
            .refusal(&["--keyed", "--log", "one key"]);
        place
            .run("mesh pub n//m --keyed --rendezvous meet")
            .refusal(&["n//m"]);
    });
}

#[test]
fn sem_g587_a_key_more_than_a_node_has_topics_is_told_with_its_line() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let mut lines = Vec::new();
        (1..=1025).for_each(|n| writeln!(lines, "k{n}\t{n}").unwrap());
        let mut publisher = publisher_of(&place, "pub n --keyed --subscribers 0", &lines);
        let told = publisher.next();
        let numbers = (&told["published"], &told["next_line"]);
        assert_eq!(numbers, (&json!(1024), &json!(1025)), "{told}");
        let error = told["error"].as_str().unwrap();
        assert!(
            error.starts_with("line 1025 is not published: too many topics"),
            "{error}"
        );
        assert_eq!(publisher.end(), Some(2));
    });
}

#[test]
fn sem_g588_who_holds_a_publisher_back_is_named_and_an_interrupt_counts_what_was_taken() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let lines = format!("{}\n", "x".repeat(200)).repeat(4_000);
        // Nobody reads what it prints: it takes no more than it has room for.
        let mut subscriber = Running::start(&place, "sub n --name blocked");
        let arguments = "pub n --name p --linger 600";
        let mut publisher = publisher_of(&place, arguments, lines.as_bytes());
        let mut errors = publisher.errors();
        says(&mut errors, "held back by blocked (");
        publisher.signal(Signal::INT);
        // There is room for the rest then.
        for n in 1..=1_000 {
            assert_eq!(subscriber.next()["number"], n);
        }
        let told = publisher.next();
        assert_eq!(
            (&told["lost"], &told["not_accepted"]),
            (&json!(0), &json!(0))
        );
        let published = told["published"].as_u64().unwrap();
        assert!((1_000..4_000).contains(&published), "{told}");
        assert_eq!(publisher.end(), Some(0));
        for n in 1_001..=published {
            assert_eq!(subscriber.next()["number"], n);
        }
        subscriber.signal(Signal::INT);
        assert_eq!(subscriber.next_or_end(), None);
    });
}

#[test]
fn sem_g588_a_publisher_says_that_nobody_subscribes() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let mut publisher = Running::start(&place, "pub nobody x --name p");
        says(
            &mut publisher.errors(),
            "waiting for 1 subscriber of nobody",
        );
        publisher.signal(Signal::INT);
        assert_eq!(publisher.next()["published"], 0);
        assert_eq!(publisher.end(), Some(0));
    });
}

#[test]
fn sem_g588_a_publisher_says_who_has_gone() {
    within(patience(), || {
        let place = ProgramFolder::new();
        let mut subscriber = Running::start(&place, "sub n --name s");
        let mut publisher = Running::start(&place, "pub n --name p");
        let mut errors = publisher.errors();
        publisher.write("1");
        assert_eq!(subscriber.next()["number"], 1);
        subscriber.signal(Signal::KILL);
        says(&mut errors, "s down: ");
        assert_eq!(publisher.end(), Some(0));
    });
}

#[test]
fn sem_g588_a_publisher_whose_pass_has_ended_says_so_and_that_is_an_error() {
    within(patience(), || {
        let place = ProgramFolder::new();
        place.run("mesh keys new run.key --json").quiet_success();
        let key = RunKey::read(&place.path("run.key")).unwrap();
        // A machine that is busy may take longer to let it in than its pass lasts.
        for seconds in [3, 20, 80] {
            let config = MeshPassConfig {
                name: "b".to_owned(),
                rights: MeshRights::only(vec![Key::new("a").unwrap()], Vec::new()),
                lasts: Some(Duration::from_secs(seconds)),
            };
            let file = format!("b{seconds}.pass");
            MeshPass::make(&key, &config, &place.path(&file)).unwrap();
            let arguments = format!("pub a --pass {file} --subscribers 0");
            let mut publisher = Running::start(&place, &arguments);
            let told = publisher.next_or_end();
            // Its input is there until it has ended by itself.
            assert_eq!(publisher.end(), Some(2));
            let Some(told) = told else { continue };
            let why = told["error"].as_str().unwrap();
            assert!(why.starts_with("the pass of b has ended"), "{told}");
            return;
        }
        panic!("it does not come");
    });
}

#[test]
fn negative_values_are_published_and_options_stay_options() {
    let place = ProgramFolder::new();
    let publish = "mesh pub v -5 2 -1.5 --subscribers 0 --rendezvous meet";
    let told = place.run(&format!("{publish} --json")).quiet_success();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["published"], 3);
    place.run(&format!("{publish} -x")).refusal(&["-x"]);
}
