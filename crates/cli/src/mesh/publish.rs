//! `motet mesh pub`: lines as samples.

mod input;
mod notices;
mod topics;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use motet::mesh::{
    Lost, PeerChange, PublishError, PublishRefusal, Published, SubscriberInfo, Topic,
};
use motet_mesh_zenoh::MeshPass;
use motet_ports::{Port, Select, Subscription, select, wait_blocking};
use serde_json::json;

use self::input::{PubInput, input};
use self::notices::{Notices, names, not_accepted};
use self::topics::Topics;
use super::args::{ClassOfTopic, MeshLinkArgs, MeshPubArgs};
use super::member::{Member, warn};
use crate::error::{CliError, OptionError};
use crate::stderr::tell;
use crate::stdout::print;

/// How often it is looked whether subscribers are there, or have accepted.
const LOOK: Duration = Duration::from_millis(10);

/// After so many lines it is looked what else has happened.
const LINES: usize = 64;

enum Next {
    Input(PubInput),
    Published(Result<Published, PublishError<String>>),
    Lost(Lost),
    Change(PeerChange),
    Time,
    Stop,
}

/// Why nothing more is published before the end of the input.
enum PubEnd {
    /// It was interrupted.
    Stop,
    /// The pass of this node has ended.
    Pass,
    /// The next line is not published: why.
    Refused(String),
}

struct Publisher<'a> {
    args: &'a MeshPubArgs,
    /// When the pass of this node ends.
    until: Option<Instant>,
    member: Member,
    changes: Subscription<PeerChange>,
    topics: Topics<'a>,
    notices: Notices,
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
    if args.keyed && is_durable {
        return Err(CliError::Options(OptionError::Conflict {
            option: "--keyed",
            other: "--log",
            advice: "a log has one key",
        }));
    }
    let until = end_of_pass(&args.link);
    let member = Member::join(&args.link)?;
    let changes = member.node.peer_changes();
    let topics = Topics::open(args, &member)?;
    let mut publisher = Publisher {
        args,
        until,
        member,
        changes,
        topics,
        notices: Notices::new(),
        published: 0,
        dropped: 0,
        lost: 0,
    };
    let mut done = match publisher.topics.only().cloned() {
        Some(topic) => publisher.wait_for_subscribers(&topic),
        None => Ok(()),
    };
    if done.is_ok() {
        done = publisher.publish_all();
    }
    publisher.finish(done)
}

/// When the pass of this node ends. A file that is no pass is told by who joins with it.
fn end_of_pass(args: &MeshLinkArgs) -> Option<Instant> {
    let file = args.pass.as_deref()?;
    // A pipe gives its text once: to who joins.
    if !std::fs::metadata(file).is_ok_and(|it| it.is_file()) {
        return None;
    }
    let until = Duration::from_secs(MeshPass::read(file).ok()?.until()?);
    #[expect(
        clippy::disallowed_methods,
        reason = "passes end by the clock of the wall"
    )]
    let now = SystemTime::now();
    let left = until.saturating_sub(now.duration_since(UNIX_EPOCH).ok()?);
    Instant::now().checked_add(left)
}

impl Publisher<'_> {
    /// What may happen next, within `span` if there is one, and beside `input`.
    fn next(&self, input: Option<&Port<PubInput>>, span: Option<Duration>) -> Select<Next> {
        let mut next = select()
            .recv(&self.member.stop, |()| Next::Stop)
            .recv_any(self.topics.losses(), |_, lost| Next::Lost(lost))
            .recv(&self.changes, Next::Change);
        if let Some(input) = input {
            next = next.recv(input, Next::Input);
        }
        match span {
            Some(span) => next.after(span, || Next::Time),
            None => next,
        }
    }

    /// Waits for one of these, and tells what is to be told.
    fn wait(&mut self, next: impl Future<Output = Next>) -> Result<Next, PubEnd> {
        let next = wait_blocking(next).unwrap_or(Next::Stop);
        match &next {
            Next::Stop => return Err(PubEnd::Stop),
            Next::Lost(lost) => self.has_lost(lost),
            Next::Change(change) => warn(change),
            Next::Input(_) | Next::Published(_) | Next::Time => {}
        }
        Ok(next)
    }

    fn has_lost(&mut self, lost: &Lost) {
        let (count, subscriber, why) = (lost.gap.count(), &lost.subscriber, &lost.why);
        tell(format_args!(
            "{count} samples did not reach {subscriber}: {why}"
        ));
        self.lost = self.lost.saturating_add(count);
    }

    /// The shorter one of `span` and what is left of the pass.
    fn within_pass(&self, span: Option<Duration>) -> Option<Duration> {
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        [span, self.until.map(left)].into_iter().flatten().min()
    }

    fn has_pass(&self) -> Result<(), PubEnd> {
        match self.until {
            Some(until) if until <= Instant::now() => Err(PubEnd::Pass),
            _ => Ok(()),
        }
    }

    /// What has happened meanwhile, without a wait.
    fn look(&mut self) -> Result<(), PubEnd> {
        if self.member.stop.test().is_some() {
            return Err(PubEnd::Stop);
        }
        self.hear();
        self.has_pass()
    }

    /// Tells what was lost and which peers have changed since it was told last.
    fn hear(&mut self) {
        while let Some(lost) = self.topics.losses().iter().find_map(Port::test) {
            self.has_lost(&lost);
        }
        while let Some(change) = self.changes.test() {
            warn(&change);
        }
    }

    fn wait_for_subscribers(&mut self, topic: &Topic<String>) -> Result<(), PubEnd> {
        self.notices.begin();
        loop {
            let there = topic.subscribers().len();
            let lacking = self.args.subscribers.saturating_sub(there);
            if lacking == 0 {
                return Ok(());
            }
            if self.notices.is_due() {
                let (s, key) = (if lacking > 1 { "s" } else { "" }, topic.key());
                tell(format_args!("waiting for {lacking} subscriber{s} of {key}"));
            }
            let next = self.next(None, self.within_pass(Some(LOOK)));
            self.wait(next)?;
            self.has_pass()?;
        }
    }

    fn publish_all(&mut self) -> Result<(), PubEnd> {
        let input = input(&self.args.values).map_err(|why| PubEnd::Refused(why.to_string()))?;
        loop {
            let next = self.next(Some(&input), self.within_pass(None));
            match self.wait(next)? {
                Next::Input(PubInput::Lines(lines)) => {
                    for (at, line) in lines.into_iter().enumerate() {
                        if at % LINES == 0 {
                            self.look()?;
                        }
                        self.publish(line)?;
                    }
                }
                Next::Input(PubInput::End) => return Ok(()),
                Next::Input(PubInput::Unreadable(why)) => return Err(PubEnd::Refused(why)),
                _ => self.has_pass()?,
            }
        }
    }

    /// The topic that a line goes to, and what of it is published there. A topic that begins with
    /// the line waits for its subscribers first.
    fn topic_of(&mut self, line: String) -> Result<(Topic<String>, String), PubEnd> {
        let (name, value) = self.topics.split(line).map_err(PubEnd::Refused)?;
        if let Some(topic) = self.topics.get(&name) {
            return Ok((topic.clone(), value));
        }
        let begun = self.topics.begin(name, &self.member);
        let topic = begun.map_err(PubEnd::Refused)?;
        self.wait_for_subscribers(&topic)?;
        Ok((topic, value))
    }

    /// Publishes a line, once all have room for it. A line of a durable topic is on the disk then.
    fn publish(&mut self, line: String) -> Result<(), PubEnd> {
        let (topic, line) = self.topic_of(line)?;
        let is_durable = self.args.class == ClassOfTopic::Durable;
        let line = match is_durable {
            true => line,
            false => match topic.publish(line) {
                Err(PublishError {
                    value,
                    reason: PublishRefusal::Full { .. },
                }) => value,
                done => return self.count(done),
            },
        };
        self.notices.begin();
        let mut publication = pin!(topic.publish_wait(line));
        let end = loop {
            if self.notices.is_due() {
                self.tell_slow(&topic);
            }
            let mut next = pin!(self.next(None, self.within_pass(Some(self.notices.left()))));
            let either = poll_fn(|cx| match publication.as_mut().poll(cx) {
                Poll::Ready(done) => Poll::Ready(Next::Published(done)),
                Poll::Pending => next.as_mut().poll(cx),
            });
            match self.wait(either) {
                Ok(Next::Published(done)) => return self.count(done),
                Ok(_) => {}
                Err(end) => break end,
            }
            if let Err(end) = self.has_pass() {
                break end;
            }
        };
        // What is on its way to the disk cannot be taken back; anything else is not published.
        if is_durable && let Ok(done) = wait_blocking(publication) {
            self.count(done)?;
        }
        Err(end)
    }

    /// Counts what the node has taken.
    fn count(&mut self, done: Result<Published, PublishError<String>>) -> Result<(), PubEnd> {
        let published = done.map_err(|error| PubEnd::Refused(error.reason.to_string()))?;
        self.published += 1;
        self.dropped += published.dropped as u64;
        Ok(())
    }

    /// Tells who has no room for the next line.
    fn tell_slow(&self, topic: &Topic<String>) {
        let waits = |subscriber: &&SubscriberInfo| match self.args.class {
            ClassOfTopic::Reliable => subscriber.waiting,
            _ => not_accepted(subscriber),
        };
        let depth = self.args.depth as usize;
        let subscribers = topic.subscribers();
        let full = subscribers.iter().filter(|it| waits(it) >= depth);
        match (self.args.class, names(full)) {
            (ClassOfTopic::Durable, _) => tell(format_args!("held back by the disk of its log")),
            // It has room now.
            (_, names) if names.is_empty() => {}
            (_, names) => tell(format_args!(
                "held back by {names}: so many samples are not accepted"
            )),
        }
    }

    /// Waits until all is accepted, and says what was, and why that is not all.
    fn finish(mut self, done: Result<(), PubEnd>) -> Result<(), CliError> {
        // None: a time that nobody lives to see.
        let until = Instant::now().checked_add(Duration::from_secs(self.args.linger));
        self.notices.begin();
        let mut behind = self.topics.behind();
        while !behind.is_empty() && until.is_none_or(|until| Instant::now() < until) {
            if self.notices.is_due() {
                let names = names(behind.iter());
                tell(format_args!("waiting for {names} to accept samples"));
            }
            let next = self.next(None, Some(LOOK));
            if self.wait(next).is_err() {
                break;
            }
            behind = self.topics.behind();
        }
        self.hear();
        let left: usize = behind.iter().map(not_accepted).sum();
        let slow = (left > 0).then(|| {
            let names = names(behind.iter());
            format!(
                "{left} samples were not accepted by {names}: slow or gone; give more time \
                 with --linger"
            )
        });
        let why = done.err().and_then(|end| self.why(end));
        let line = why.is_some().then(|| self.published + 1);
        let mut printed = Ok(());
        if self.args.json {
            let object = json!({
                "key": self.args.topic,
                "published": self.published,
                "dropped": self.dropped,
                "lost": self.lost,
                "not_accepted": left,
                "error": why.as_ref().or(slow.as_ref()),
                "next_line": line,
            });
            printed = print(|to| writeln!(to, "{object}"));
        }
        match (why, slow) {
            (Some(why), slow) => {
                if let Some(slow) = slow {
                    tell(format_args!("{slow}"));
                }
                Err(CliError::Service(why))
            }
            (None, Some(slow)) => Err(CliError::Service(slow)),
            (None, None) => printed,
        }
    }

    /// Why not all was published, and where that ended. None: it was asked for.
    fn why(&self, end: PubEnd) -> Option<String> {
        let (published, next) = (self.published, self.published + 1);
        match end {
            PubEnd::Stop => None,
            PubEnd::Pass => Some(format!(
                "the pass of {} has ended: make another with motet mesh keys pass ({published} \
                 samples are published)",
                self.member.node.name()
            )),
            PubEnd::Refused(why) => {
                let what = if self.args.values.is_empty() {
                    "line"
                } else {
                    "value"
                };
                Some(format!(
                    "{what} {next} is not published: {why} ({published} before it are)"
                ))
            }
        }
    }
}
