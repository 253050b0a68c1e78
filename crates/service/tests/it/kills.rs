//! Processes that are killed in the middle of their work, with `Persist::Each`.

use motet_dispatch::{Dispatcher, spawn};
use motet_ports::wait_blocking;
use motet_service::{Create, Folder, Node, Persist, Redb, Service, State, contract, data};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often each has counted.
#[data]
#[derive(Default)]
struct Counted {
    by: BTreeMap<String, u64>,
}

#[contract(uri = "test:tally/1", state = Counted)]
trait Tally {
    /// One more; how many there are then.
    #[update]
    fn count(&mut self, by: String) -> u64;
}

#[derive(Service)]
#[service(contract = Tally, name = "tally")]
struct OneTally {
    #[state]
    counted: State<Counted>,
}

impl Tally for OneTally {
    fn count(&mut self, by: String) -> u64 {
        let counted = self.counted.by.entry(by).or_default();
        *counted += 1;
        *counted
    }
}

/// Where the process that is going to be killed keeps its states; without it the test below does
/// nothing.
const FILE: &str = "MOTET_TEST_KILL_FILE";
/// So many count at the same time.
const WRITERS: usize = 3;

/// The process that is killed: says what is stored, then counts for ever and says each answer.
#[test]
fn counts_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let dispatcher = Dispatcher::new(2);
    let builder = Node::builder("tally").register::<OneTally>();
    let file = Path::new(&file);
    let builder = match file.extension() {
        Some(_) => builder.store(Redb::open(file).unwrap()),
        None => builder.store(Folder::open(file).unwrap()),
    };
    let node = builder.start(&dispatcher).unwrap();
    let create = Create::<OneTally>::of().persist(Persist::Each);
    let tally = wait_blocking(node.create(create)).unwrap().unwrap();
    let stored = wait_blocking(async { tally.get().await.unwrap().by.clone() }).unwrap();
    let begins: [u64; WRITERS] = std::array::from_fn(|writer| {
        let begin = stored.get(&format!("w{writer}")).copied().unwrap_or(0);
        say(&format!("stored {writer} {begin}"));
        begin
    });
    // From the first answer on it may be killed at any time.
    for (writer, begin) in begins.into_iter().enumerate() {
        let name = format!("w{writer}");
        let tally = tally.clone();
        let counting = async move {
            // The last may have been answered or not: with its key it is asked for again, and done
            // once.
            for number in begin.max(1).. {
                let key = format!("{name} {number}");
                let counted = tally.count(name.clone()).key(&key).await.unwrap();
                assert_eq!(counted, number);
                say(&format!("answered {writer} {number}"));
            }
        };
        spawn(&node.queue(), counting).unwrap();
    }
    let _ = motet_sync::Parker::new().park_timeout(Duration::from_secs(60));
}

/// One whole line.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listens may have gone.
    drop(writeln!(out, "\n{line}").and_then(|()| out.flush()));
}

fn started(file: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program)
        .args(["--exact", "kills::counts_until_it_is_killed", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A store in one file, and one in a folder.
const STORES: [&str; 2] = ["tally.redb", "tally"];

/// Kills so many processes one after the other, each at another time. What they store is in the
/// store of this name.
fn kill_and_look(kills: u32, store: &str) {
    let own = format!("motet-kills-{}-{kills}-{store}", std::process::id());
    let folder = std::env::temp_dir().join(own);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(store);
    let mut answered = [0; WRITERS];
    let begun = Instant::now();
    for kill in 0..kills {
        let mut child = started(&file);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = 1 + kill * 7 % 29;
        let mut stored = 0;
        for line in lines.map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, writer, number] = words[..] else {
                continue;
            };
            let (Ok(writer), Ok(number)) = (writer.parse::<usize>(), number.parse::<u64>()) else {
                continue;
            };
            match what {
                "stored" => {
                    let last = answered[writer];
                    // What was answered is there; what was not is there whole, or not at all.
                    assert!(
                        (last..=last + 1).contains(&number),
                        "after {kill} kills: {number} is stored, {last} was answered"
                    );
                    stored += 1;
                }
                "answered" => {
                    assert!(number == answered[writer] || number == answered[writer] + 1);
                    answered[writer] = number;
                    left = left.saturating_sub(1);
                    if left == 0 {
                        // What it has said meanwhile counts as well.
                        child.kill().unwrap();
                    }
                }
                _ => {}
            }
        }
        child.wait().unwrap();
        assert_eq!(stored, WRITERS, "it began to serve");
        assert!(begun.elapsed() < Duration::from_secs(3600));
    }
    assert!(
        answered.iter().sum::<u64>() >= u64::from(kills),
        "{answered:?}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sem_g392_what_was_answered_is_there_after_20_kills() {
    kill_and_look(20, STORES[0]);
}

#[test]
fn dss_087_sem_g392_a_kill_while_a_file_is_stored_leaves_the_old_one_or_the_new() {
    kill_and_look(20, STORES[1]);
}

#[test]
#[ignore = "takes minutes"]
fn deep_sem_g392_what_was_answered_is_there_after_1000_kills() {
    for store in STORES {
        kill_and_look(1000, store);
    }
}
