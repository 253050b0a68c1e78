//! `motet mesh pub`: lines as samples.

use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

use motet::mesh::{LogConfig, Lost, Published, Qos, Topic};
use motet_dispatch::spawn;
use motet_ports::{Overflow, Port, select, wait_blocking};
use motet_sync::thread::spawn_named;
use serde_json::json;

use super::args::{ClassOfTopic, MeshPubArgs};
use super::member::Member;
use crate::error::{CliError, OptionError};
use crate::stderr::tell;
use crate::stdout::print;

/// How often it is looked whether subscribers are there, or have accepted.
const LOOK: Duration = Duration::from_millis(10);

/// What the lines come to: one after the other, and why there are no more.
type Lines = Port<Result<Option<String>, String>>;

enum Next {
    Line(Result<Option<String>, String>),
    Published(Result<Published, String>),
    Lost(Lost),
    Time,
    Stop,
}

struct Publisher<'a> {
    args: &'a MeshPubArgs,
    member: Member,
    topic: Topic<String>,
    published: u64,
    dropped: u64,
    lost: u64,
}

/// Publishes until the input ends and all is accepted, or until it is interrupted.
pub(super) fn run(args: &MeshPubArgs) -> Result<(), CliError> {
    let is_durable = args.class == ClassOfTopic::Durable;
    if args.log.is_some() && !is_durable {
        return Err(CliError::Options(OptionError::Conflict {
            option: "--log",
            other: "--class",
            advice: "only --class durable has a log",
        }));
    }
    let member = Member::join(&args.link)?;
    let qos = match args.class {
        ClassOfTopic::Latest => Qos::latest(args.depth),
        ClassOfTopic::Reliable => Qos::reliable(args.depth),
        ClassOfTopic::Acknowledged => Qos::acknowledged(args.depth),
        ClassOfTopic::Durable => Qos::durable(args.depth),
    };
    let topic = topic(args, &member, qos.retaining(args.retain))?;
    let mut publisher = Publisher {
        args,
        member,
        topic,
        published: 0,
        dropped: 0,
        lost: 0,
    };
    if publisher.wait_for_subscribers() {
        publisher.publish_all()?;
    }
    publisher.finish()
}

/// Where its log lies, and what of it is kept.
fn log(args: &MeshPubArgs, directory: &Path) -> LogConfig {
    let mut log = LogConfig::in_directory(directory);
    if args.keep_bytes.is_some() {
        // What is kept is a limit.
        log.limit = u64::MAX;
    }
    log.limit = args.log_limit.unwrap_or(log.limit);
    log.keep_bytes = args.keep_bytes;
    log.keep_age = args.keep_seconds.map(Duration::from_secs);
    log
}

/// The topic, with its log if it has one.
fn topic(args: &MeshPubArgs, member: &Member, qos: Qos) -> Result<Topic<String>, CliError> {
    let Some(directory) = &args.log else {
        let topic = member.node.topic(&args.topic, qos);
        return topic.map_err(|error| CliError::Service(error.to_string()));
    };
    let log = log(args, directory);
    let topic = member.node.durable_topic(&args.topic, qos, &log);
    let topic: Topic<String> = topic.map_err(|error| CliError::Service(error.to_string()))?;
    if let Some(log) = topic.log().filter(|log| log.cut_off > 0) {
        let (bytes, file) = (log.cut_off, log.file.display());
        tell(format_args!(
            "{bytes} bytes were cut off {file}: a record that was not written to its end"
        ));
    }
    Ok(topic)
}

impl Publisher<'_> {
    /// The next thing that happens. `lines`: those that are to be published now.
    fn next(&mut self, lines: Option<&Lines>, done: &Port<Result<Published, String>>) -> Next {
        let mut next = select()
            .recv(&self.member.stop, |()| Next::Stop)
            .recv(self.topic.losses(), Next::Lost)
            .recv(done, Next::Published);
        next = match lines {
            Some(lines) => next.recv(lines, Next::Line),
            None => next.after(LOOK, || Next::Time),
        };
        match wait_blocking(next) {
            Ok(Next::Lost(lost)) => {
                let (gap, why) = (lost.gap, &lost.why);
                let count = gap.count();
                tell(format_args!(
                    "{count} samples did not reach {}: {why}",
                    lost.subscriber
                ));
                self.lost = self.lost.saturating_add(gap.count());
                Next::Lost(lost)
            }
            Ok(next) => next,
            Err(_) => Next::Stop,
        }
    }

    /// `false`: it was interrupted.
    fn wait_for_subscribers(&mut self) -> bool {
        let done = Port::new();
        while self.topic.subscribers().len() < self.args.subscribers {
            if matches!(self.next(None, &done), Next::Stop) {
                return false;
            }
        }
        true
    }

    fn publish_all(&mut self) -> Result<(), CliError> {
        let (lines, done) = (lines(&self.args.values)?, Port::new());
        let mut is_free = true;
        loop {
            match self.next(is_free.then_some(&lines), &done) {
                Next::Line(Ok(Some(line))) => {
                    let (topic, done) = (self.topic.clone(), done.clone());
                    let task = spawn(&self.member.queue, async move {
                        let published = topic.publish_wait(line).await;
                        // It is read below.
                        let _ = done.post(published.map_err(|error| error.reason.to_string()));
                    });
                    task.map_err(|error| CliError::Run(error.to_string()))?;
                    is_free = false;
                }
                Next::Line(Ok(None)) | Next::Stop => return Ok(()),
                Next::Line(Err(why)) => return Err(CliError::Service(why)),
                Next::Published(Ok(published)) => {
                    self.published += 1;
                    self.dropped += published.dropped as u64;
                    is_free = true;
                }
                Next::Published(Err(why)) => return Err(CliError::Service(why)),
                Next::Lost(_) | Next::Time => {}
            }
        }
    }

    /// Waits until all is accepted, and says what was.
    fn finish(mut self) -> Result<(), CliError> {
        // None: a time that nobody lives to see.
        let until = Instant::now().checked_add(Duration::from_secs(self.args.linger));
        let done = Port::new();
        let mut left = self.left();
        while left > 0 && until.is_none_or(|until| Instant::now() < until) {
            if matches!(self.next(None, &done), Next::Stop) {
                break;
            }
            left = self.left();
        }
        if self.args.json {
            let line = json!({
                "key": self.args.topic,
                "published": self.published,
                "dropped": self.dropped,
                "lost": self.lost,
                "not_accepted": left,
            });
            print(|to| writeln!(to, "{line}"))?;
        }
        match left {
            0 => Ok(()),
            _ => Err(CliError::Service(format!(
                "{left} samples were not accepted: subscribers are slow or gone; give more time with --linger"
            ))),
        }
    }

    /// How many samples wait or are under way, over all subscribers.
    fn left(&self) -> usize {
        let subscribers = self.topic.subscribers();
        subscribers.iter().map(|s| s.waiting + s.in_flight).sum()
    }
}

/// The values, or the lines of standard input, which a thread of its own reads.
fn lines(values: &[String]) -> Result<Lines, CliError> {
    if !values.is_empty() {
        let lines = Port::new();
        for value in values {
            let _ = lines.post(Ok(Some(value.clone())));
        }
        let _ = lines.post(Ok(None));
        return Ok(lines);
    }
    let lines = Port::bounded(1024, Overflow::Wait);
    let to: Lines = lines.clone();
    let read = move || {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|error| format!("standard input: {error}"));
            let is_last = line.is_err();
            if to.post_blocking(line.map(Some)).is_err() || is_last {
                return;
            }
        }
        let _ = to.post_blocking(Ok(None));
    };
    // It ends with the input, or with the process.
    drop(spawn_named("motet-mesh-input", read).map_err(|error| CliError::Run(error.to_string()))?);
    Ok(lines)
}
