//! `motet mesh top`: how much is published.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use motet::mesh::{PeerChange, Sample, SubscribeConfig};
use motet_ports::{Overflow, PortConfig, select, wait_blocking};
use serde_json::json;

use super::args::MeshTopArgs;
use super::member::{Member, warn};
use crate::error::CliError;
use crate::stdout::print;

/// How many samples wait to be counted; then the oldest are dropped, and missed.
const WAITING: NonZeroUsize = NonZeroUsize::new(65_536).unwrap();

const EACH: Duration = Duration::from_secs(1);

enum Next {
    Sample(Sample<String>),
    Change(PeerChange),
    Time,
    Stop,
}

/// What a publisher has published under a key since the last lines.
#[derive(Default)]
struct Count {
    samples: u64,
    bytes: u64,
    missed: u64,
}

/// Prints each second, until it is interrupted or has done so often enough.
pub(super) fn run(args: &MeshTopArgs) -> Result<(), CliError> {
    let member = Member::join(&args.link)?;
    let changes = member.node.peer_changes();
    let config = SubscribeConfig {
        port: PortConfig {
            capacity: Some(WAITING),
            overflow: Overflow::DropOldest,
        },
        window: 1024,
        observes: true,
        ..SubscribeConfig::default()
    };
    let samples = member.node.subscribe::<String>(&args.pattern, &config);
    let samples = samples.map_err(|error| CliError::Service(error.to_string()))?;
    let (mut times, mut begin, mut counts) = (0, Instant::now(), BTreeMap::new());
    while args.count.is_none_or(|most| times < most) {
        let left = EACH.saturating_sub(begin.elapsed());
        if left.is_zero() {
            lines(args.json, &mut counts, begin.elapsed())?;
            times += 1;
            begin = Instant::now();
            continue;
        }
        let next = select()
            .recv(&member.stop, |()| Next::Stop)
            .recv(samples.port(), Next::Sample)
            .recv(&changes, Next::Change)
            .after(left, || Next::Time);
        match wait_blocking(next) {
            Ok(Next::Sample(sample)) => {
                let of = (sample.key().to_string(), sample.publisher().to_string());
                let count: &mut Count = counts.entry(of).or_default();
                count.samples += 1;
                count.bytes += sample.value.len() as u64;
                count.missed += sample.gap.map_or(0, |gap| gap.count());
            }
            Ok(Next::Change(change)) => warn(&change),
            Ok(Next::Time) => {}
            Ok(Next::Stop) | Err(_) => break,
        }
    }
    Ok(())
}

fn lines(
    as_json: bool,
    counts: &mut BTreeMap<(String, String), Count>,
    span: Duration,
) -> Result<(), CliError> {
    let rate = |count: u64| (count as f64 / span.as_secs_f64()).round();
    print(|to| {
        if !as_json {
            writeln!(
                to,
                "{:>10} {:>12} {:>8}  key, publisher",
                "samples/s", "bytes/s", "missed"
            )?;
        }
        for ((key, publisher), count) in counts.iter_mut() {
            let (samples, bytes) = (rate(count.samples), rate(count.bytes));
            if as_json {
                let line = json!({"key": key, "publisher": publisher, "samples_per_second": samples,
                    "bytes_per_second": bytes, "missed": count.missed});
                writeln!(to, "{line}")?;
            } else {
                let missed = count.missed;
                writeln!(
                    to,
                    "{samples:>10} {bytes:>12} {missed:>8}  {key}, {publisher}"
                )?;
            }
            *count = Count::default();
        }
        Ok(())
    })
}
