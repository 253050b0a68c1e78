//! `motet watch`: what a service tells.

use clap::Args;
use motet_http::Peer;
use motet_ports::wait_blocking;
use motet_service::{Options, Value};
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
    if let Some(only) = &args.only {
        check_operation(&peer, &args.path, only)?;
    }
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

/// What services do that no contract names, and tell.
const UNIFORM: [&str; 4] = ["create", "update", "replace", "drop"];

/// An operation that there is not would be waited for without end.
fn check_operation(peer: &Peer, path: &str, only: &str) -> Result<(), CliError> {
    let asked = peer.call(path, "lookup", Value::Null, Options::default());
    let told = wait_blocking(asked).map_err(|error| CliError::Run(error.to_string()))?;
    let told = told.map_err(|fault| refused(&fault))?;
    let all = |field: &str| told[field].as_array().into_iter().flatten();
    let called = all("operations").filter_map(|one| one["name"].as_str());
    let names = called.chain(all("uncalled").filter_map(Value::as_str));
    let names: Vec<&str> = names.collect();
    if names.contains(&only) || UNIFORM.contains(&only) {
        return Ok(());
    }
    Err(CliError::Service(format!(
        "{path} has no operation {only}: give --only one of {}, {}",
        names.join(", "),
        UNIFORM.join(", ")
    )))
}
