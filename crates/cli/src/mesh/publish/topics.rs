//! The topics of `motet mesh pub`: one, with its log if it has one, or one for each key of lines.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use motet::mesh::{Key, LogConfig, Lost, PeerName, Qos, SubscriberInfo, Topic};
use motet_ports::Port;

use super::notices::not_accepted;
use crate::error::CliError;
use crate::mesh::args::{ClassOfTopic, MeshPubArgs};
use crate::mesh::member::Member;
use crate::stderr::tell;

/// What lines go to.
pub(super) struct Topics<'a> {
    args: &'a MeshPubArgs,
    /// By what lines call them: one alone by nothing.
    topics: BTreeMap<String, Topic<String>>,
    losses: Vec<Port<Lost>>,
}

impl<'a> Topics<'a> {
    /// The one topic. With `--keyed` there is none yet: each begins with its first line.
    pub(super) fn open(args: &'a MeshPubArgs, member: &Member) -> Result<Self, CliError> {
        let mut topics = Topics {
            args,
            topics: BTreeMap::new(),
            losses: Vec::new(),
        };
        if args.keyed {
            // No line would be right.
            Key::plain(&args.topic).map_err(|error| CliError::Service(error.to_string()))?;
        } else {
            topics.enter(String::new(), topic(args, member)?);
        }
        Ok(topics)
    }

    fn enter(&mut self, name: String, topic: Topic<String>) -> Topic<String> {
        self.losses.push(topic.losses().clone());
        self.topics.insert(name, topic.clone());
        topic
    }

    /// The topic that all lines go to. None: each line names its own.
    pub(super) fn only(&self) -> Option<&Topic<String>> {
        self.topics.get("")
    }

    /// What a line calls its topic, and what it publishes; or what is wrong with it.
    pub(super) fn split(&self, mut line: String) -> Result<(String, String), String> {
        if !self.args.keyed {
            return Ok((String::new(), line));
        }
        match line.split_once('\t') {
            Some(("", _)) => Err("it has no key before its tab".to_owned()),
            Some((name, _)) => {
                let name = name.to_owned();
                line.drain(..=name.len());
                Ok((name, line))
            }
            None => Err("it has no tab between a key and a value".to_owned()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Topic<String>> {
        self.topics.get(name)
    }

    /// A topic that a line is the first of; or why it cannot be.
    pub(super) fn begin(&mut self, name: String, member: &Member) -> Result<Topic<String>, String> {
        let key = format!("{}/{name}", self.args.topic);
        let topic = member.node.topic(&key, qos(self.args));
        let topic = topic.map_err(|error| error.to_string())?;
        Ok(self.enter(name, topic))
    }

    /// Where each topic tells what was lost.
    pub(super) fn losses(&self) -> &[Port<Lost>] {
        &self.losses
    }

    /// Which nodes have not accepted all: each once, with what it has not of all topics.
    pub(super) fn behind(&self) -> Vec<SubscriberInfo> {
        let mut behind = BTreeMap::<PeerName, SubscriberInfo>::new();
        let all = self.topics.values().flat_map(Topic::subscribers);
        for subscriber in all.filter(|one| not_accepted(one) > 0) {
            let (waiting, in_flight) = (subscriber.waiting, subscriber.in_flight);
            behind
                .entry(subscriber.node.clone())
                .and_modify(|all| {
                    all.waiting += waiting;
                    all.in_flight += in_flight;
                })
                .or_insert(subscriber);
        }
        behind.into_values().collect()
    }
}

/// How samples are delivered.
fn qos(args: &MeshPubArgs) -> Qos {
    let qos = match args.class {
        ClassOfTopic::Latest => Qos::latest(args.depth),
        ClassOfTopic::Reliable => Qos::reliable(args.depth),
        ClassOfTopic::Acknowledged => Qos::acknowledged(args.depth),
        ClassOfTopic::Durable => Qos::durable(args.depth),
    };
    qos.retaining(args.retain)
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
fn topic(args: &MeshPubArgs, member: &Member) -> Result<Topic<String>, CliError> {
    let Some(directory) = &args.log else {
        let topic = member.node.topic(&args.topic, qos(args));
        return topic.map_err(|error| CliError::Service(error.to_string()));
    };
    let log = log(args, directory);
    let topic = member.node.durable_topic(&args.topic, qos(args), &log);
    let topic: Topic<String> = topic.map_err(|error| CliError::Service(error.to_string()))?;
    if let Some(log) = topic.log().filter(|log| log.cut_off > 0) {
        let (bytes, file) = (log.cut_off, log.file.display());
        tell(format_args!(
            "{bytes} bytes were cut off {file}: a record that was not written to its end"
        ));
    }
    Ok(topic)
}
