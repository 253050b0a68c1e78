//! `motet watch`: what a service tells.

use clap::Args;
use motet_ports::wait_blocking;
use serde_json::json;

use crate::call::NodeArgs;
use crate::error::CliError;
use crate::serve::refused;
use crate::stdout::print;

/// Options of `motet watch`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Print what a service tells, as it comes",
    long_about = "Print what a service tells, as it comes.\n\nOne line of JSON for each notification: \
                  event (the operation; first replace, with the state), version, body. When the \
                  connection fails it is made again, and goes on behind the last version that came. \
                  Ends with the service.",
    after_long_help = "Examples:\n  motet watch /bumper\n  motet watch /world --only step --count 10\n  \
                       motet watch /clustering --changes | jq .body"
)]
pub struct WatchArgs {
    /// The service
    #[arg(value_name = "PATH")]
    pub path: String,

    /// Only notifications of this operation
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
    let mut lines = 0;
    while args.count.is_none_or(|most| lines < most) {
        let next = wait_blocking(watch.next());
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
    }
    Ok(())
}
