//! `motet mesh sub`: samples as lines.

use std::num::NonZeroUsize;

use motet::mesh::{PeerChange, Sample, SubscribeConfig};
use motet_ports::{Overflow, PortConfig, select, wait_blocking};
use serde_json::json;

use super::args::MeshSubArgs;
use super::member::{Member, warn};
use crate::error::CliError;
use crate::stderr::tell;
use crate::stdout::print;

/// How many samples wait to be printed; then publishers are held back.
const WAITING: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

enum Next {
    Sample(Sample<String>),
    Change(PeerChange),
    Stop,
}

/// Prints samples until it is interrupted, or so many have come.
pub(super) fn run(args: &MeshSubArgs) -> Result<(), CliError> {
    let member = Member::join(&args.link)?;
    let changes = member.node.peer_changes();
    let config = SubscribeConfig {
        port: PortConfig {
            capacity: Some(WAITING),
            overflow: Overflow::Wait,
        },
        window: args.window,
        from: args.from,
        ..SubscribeConfig::default()
    };
    let samples = member.node.subscribe::<String>(&args.pattern, &config);
    let samples = samples.map_err(|error| CliError::Service(error.to_string()))?;
    let mut printed = 0;
    while args.count.is_none_or(|most| printed < most) {
        let next = select()
            .recv(samples.port(), Next::Sample)
            .recv(&changes, Next::Change)
            .recv(&member.stop, |()| Next::Stop);
        match wait_blocking(next) {
            Ok(Next::Sample(sample)) => {
                line(args.json, &sample)?;
                printed += 1;
            }
            Ok(Next::Change(change)) => warn(&change),
            Ok(Next::Stop) | Err(_) => break,
        }
    }
    Ok(())
}

fn line(as_json: bool, sample: &Sample<String>) -> Result<(), CliError> {
    if let Some(gap) = sample.gap
        && !as_json
    {
        let (publisher, key) = (sample.publisher(), sample.key());
        let count = gap.count();
        tell(format_args!(
            "{key} of {publisher}: {count} samples did not come"
        ));
    }
    print(|to| {
        if as_json {
            let line = json!({
                "key": sample.key().as_str(),
                "publisher": sample.publisher().as_str(),
                "number": sample.number,
                "retained": sample.retained,
                "gap": sample.gap.map(|gap| [gap.from, gap.to]),
                "value": *sample.value,
            });
            return writeln!(to, "{line}");
        }
        writeln!(to, "{}\t{}", sample.key(), sample.value)
    })
}
