//! `motet watch`: what a service tells.

use std::time::Duration;

use clap::Args;
use motet_http::Watch;
use motet_ports::{BlockingError, wait_blocking_for};
use serde_json::json;

use crate::call::NodeArgs;
use crate::error::CliError;
use crate::serve::refused;
use crate::stderr::tell;
use crate::stdout::print;

/// Without news it is looked so often whether the connection has failed.
const LOOK: Duration = Duration::from_secs(1);

/// Options of `motet watch`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Print what a service tells, as it comes",
    long_about = "Print what a service tells, as it comes.\n\nOne line of JSON for each notification: \
                  event (the operation; first replace, with the state), version, body. When the \
                  connection fails, which is told on standard error, it is made again for a minute, \
                  and goes on behind the last version that came. \
                  Ends with the service.",
    after_long_help = "Examples:\n  motet watch /bumper\n  motet watch /world --only step --count 10\n  \
                       motet watch /world --only update\n  \
                       motet watch /clustering --changes | jq .body"
)]
pub struct WatchArgs {
    /// The service
    #[arg(value_name = "PATH")]
    pub path: String,

    /// Only notifications of this operation, or of all of a verb, such as update
    #[arg(long, value_name = "OPERATION")]
    pub only: Option<String>,

    /// Changes only, not the state at the begin
    #[arg(long)]
    pub changes: bool,

    /// So many lines, then it ends
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Prints until the service ends, or so many lines.
///
/// # Errors
/// The fault that ends the subscription.
pub(crate) fn run(args: &WatchArgs) -> Result<(), CliError> {
    let peer = args.node.peer()?;
    let watch = peer.watch(&args.path, args.only.as_deref(), !args.changes);
    let mut watch = watch.map_err(|fault| refused(&fault))?;
    let (mut lines, mut is_lost) = (0, false);
    while args.count.is_none_or(|most| lines < most) {
        let next = match wait_blocking_for(watch.next(), LOOK) {
            Err(BlockingError::Elapsed) => {
                is_lost = look(&watch, &args.node.url, is_lost);
                continue;
            }
            next => next,
        };
        let Some(told) = next.map_err(|error| CliError::Run(error.to_string()))? else {
            break;
        };
        let told = told.map_err(|fault| refused(&fault))?;
        let mut line = json!({"event": told.event, "version": told.version, "body": told.body});
        if told.reinstated {
            line["reinstated"] = true.into();
        }
        print(|to| writeln!(to, "{line}"))?;
        lines += 1;
        is_lost = false;
    }
    Ok(())
}

/// Tells once that the connection has failed; whether it has, and is not back.
fn look(watch: &Watch, url: &str, was_lost: bool) -> bool {
    let lost = watch.lost();
    if let (Some(why), false) = (&lost, was_lost) {
        tell(format_args!(
            "the connection with {url} is lost: {why}; trying again"
        ));
    }
    lost.is_some()
}
