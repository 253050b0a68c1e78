//! Many connections that do nothing, or little: the others are answered as before.

use crate::till::{Answer, Shop};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Set in the process that serves; without it the test below does nothing.
const SERVES: &str = "MOTET_TEST_SERVES";

/// The process that serves: it has descriptors of its own. It ends with its input.
#[test]
fn serves_until_its_input_ends() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    let shop = Shop::open_with(|config| config.limits.connections = 16_384);
    println!("\nserves {}", shop.at);
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
}

struct Serving {
    child: Child,
    _out: BufReader<ChildStdout>,
    at: SocketAddr,
}

impl Serving {
    fn start() -> Serving {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "load::serves_until_its_input_ends",
                "--nocapture",
            ])
            .env(SERVES, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let at = loop {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "it has ended");
            if let Some(at) = line.strip_prefix("serves ") {
                break at.trim().parse().unwrap();
            }
        };
        Serving {
            child,
            _out: out,
            at,
        }
    }

    /// A connection over which this was sent.
    fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// How long an answer of the node takes, in the middle of 21.
    fn health(&self) -> Duration {
        let mut took: Vec<Duration> = (0..21)
            .map(|_| {
                let begun = Instant::now();
                let ask = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
                let answer = Answer::read(self.send(ask));
                assert_eq!(answer.status, 200, "{answer:?}");
                begun.elapsed()
            })
            .collect();
        took.sort();
        took[10]
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What the health of a node may take: promised on a machine that has nothing else to do.
const SOON: Duration = Duration::from_millis(50);

fn slow_heads(count: usize) {
    let serving = Serving::start();
    let half = "GET /till HTTP/1.1\r\nhost: loc";
    let slow: Vec<TcpStream> = (0..count).map(|_| serving.send(half)).collect();
    let took = serving.health();
    println!("beside {count} slow heads: {took:?}");
    assert!(took < SOON, "{took:?}");
    // They were there all the time, and are cut off.
    for mut stream in slow {
        let mut told = Vec::new();
        drop(stream.read_to_end(&mut told));
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(!told.contains(" 200 "), "{told}");
    }
}

fn streams(count: usize) {
    let serving = Serving::start();
    let ask = "GET /till/-/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut open: Vec<_> = (0..count)
        .map(|_| {
            let mut reader = BufReader::new(serving.send(ask));
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert!(line.contains(" 200 "), "{line}");
            reader
        })
        .collect();
    let took = serving.health();
    println!("beside {count} streams: {took:?}");
    assert!(took < SOON, "{took:?}");
    let body = r#"{"name":"ann","cents":1}"#;
    let deposit = format!(
        "POST /till/-/deposit HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let begun = Instant::now();
    let answer = Answer::read(serving.send(&deposit));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answered = begun.elapsed();
    open.iter_mut().for_each(|reader| next_deposit(reader, 1));
    let told = begun.elapsed();
    println!("a change was answered after {answered:?}, and told to all {count} after {told:?}");
    // Nor is one of several lost that come while they read others.
    for _ in 0..4 {
        assert_eq!(Answer::read(serving.send(&deposit)).status, 200);
    }
    for mut reader in open {
        (2..=5).for_each(|version| next_deposit(&mut reader, version));
    }
}

/// The next event of a stream is the change that led to this version.
fn next_deposit(reader: &mut impl BufRead, version: u64) {
    let (mut line, mut id) = (String::new(), String::new());
    while !line.starts_with("event: deposit") {
        if let Some(number) = line.strip_prefix("id: ") {
            number.trim().clone_into(&mut id);
        }
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    assert_eq!(id, version.to_string());
}

#[test]
fn sem_g416_slow_heads_keep_nobody_waiting() {
    slow_heads(200);
}

#[test]
fn sem_g416_streams_are_all_told_and_keep_nobody_waiting() {
    streams(200);
}

#[test]
#[ignore = "takes thousands of descriptors"]
fn deep_sem_g416_two_thousand_slow_heads() {
    slow_heads(2_000);
}

#[test]
#[ignore = "takes thousands of descriptors"]
fn deep_sem_g416_ten_thousand_streams() {
    streams(10_000);
}
