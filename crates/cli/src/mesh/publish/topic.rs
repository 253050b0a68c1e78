//! The topic of `motet mesh pub`, with its log if it has one.

use std::path::Path;
use std::time::Duration;

use motet::mesh::{LogConfig, Qos, Topic};

use crate::error::CliError;
use crate::mesh::args::{ClassOfTopic, MeshPubArgs};
use crate::mesh::member::Member;
use crate::stderr::tell;

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
pub(super) fn topic(args: &MeshPubArgs, member: &Member) -> Result<Topic<String>, CliError> {
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
