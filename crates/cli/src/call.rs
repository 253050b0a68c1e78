//! `motet call`: one call of a service of a node.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use motet_http::{Access, Peer};
use motet_ports::wait_blocking;
use motet_service::{Options, Value};
use serde_json::Map;

use crate::amount::{given, path};
use crate::error::{CliError, InputError, OptionError};
use crate::serve::refused;
use crate::stdout::print;

/// The node that is called unless another is named.
const HERE: &str = "http://127.0.0.1:50000";

/// Where a node is.
#[derive(Debug, Clone, Args)]
pub struct NodeArgs {
    /// The node
    #[arg(long, value_name = "URL", default_value = HERE, env = "MOTET_URL")]
    pub url: String,

    /// The certificate of the authority of a node that speaks TLS: its ca.pem
    #[arg(long, value_name = "FILE", env = "MOTET_CA", value_parser = path())]
    pub ca: Option<PathBuf>,

    /// The certificate with which to call (motet keys leaf); its key is beside it
    #[arg(long, value_name = "FILE", env = "MOTET_CERT", value_parser = path())]
    pub cert: Option<PathBuf>,

    /// The token with which to call, or the file that holds it
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MOTET_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
}

impl NodeArgs {
    /// The node.
    pub(crate) fn peer(&self) -> Result<Peer, CliError> {
        // A variable of the environment that is empty is none.
        let token = self.token.as_deref().filter(|token| !token.is_empty());
        let token = token.map(token_of).transpose()?;
        let file = |path: Option<&PathBuf>| given(path).map(Path::to_owned);
        let access =
            Access::new(token, file(self.ca.as_ref())).certificate(file(self.cert.as_ref()));
        let url = match self.url.as_str() {
            "" => HERE,
            url => url,
        };
        Peer::with(url, &access).map_err(|fault| refused(&fault))
    }
}

/// The token that is given, or that stands in the file of this name.
fn token_of(given: &str) -> Result<String, CliError> {
    if given.starts_with("motet_") {
        return Ok(given.to_owned());
    }
    let text = fs::read_to_string(given);
    let text = text.map_err(|source| InputError::opening(given.to_owned(), source))?;
    Ok(text.trim().to_owned())
}

/// Options of `motet call`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Call an operation of a service, or print its state",
    long_about = "Call an operation of a service, or print its state.\n\nArguments are NAME=VALUE, \
                  where a value is JSON, or a text if it is none; one argument without a name is \
                  the whole body, and - reads the body from standard input. Prints the answer as \
                  JSON.",
    after_long_help = "Examples:\n  motet call /drive\n  motet call /drive set_power left=0.5 \
                       right=0.5\n  motet call /clustering cluster clusters=4 ranks=2\n  motet call \
                       /drive lookup"
)]
pub struct CallArgs {
    /// The service
    #[arg(value_name = "PATH")]
    pub path: String,

    /// The operation [default: get]
    #[arg(value_name = "OPERATION")]
    pub operation: Option<String>,

    /// What it is called with
    #[arg(value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,

    /// Seconds that the answer may take
    #[arg(long, value_name = "SECONDS")]
    pub within: Option<f64>,

    /// What tells a repeated call from a new one: it is carried out once
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// The version that the state must have
    #[arg(long, value_name = "N")]
    pub if_version: Option<u64>,

    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Calls, and prints the answer.
///
/// # Errors
/// Arguments that make no body; the fault of the call.
pub(crate) fn run(args: CallArgs) -> Result<(), CliError> {
    let body = body(&args.arguments)?;
    let mut options = Options::default();
    options.within = args.within.map(seconds).transpose()?;
    options.key = args.key.map(Arc::from);
    options.if_version = args.if_version;
    let peer = args.node.peer()?;
    let operation = args.operation.as_deref().unwrap_or("get");
    let answer = wait_blocking(peer.call(&args.path, operation, body, options));
    let answer = answer.map_err(|error| CliError::Run(error.to_string()))?;
    let mut answer = answer.map_err(|fault| refused(&fault))?;
    if operation == "get" {
        answer = answer["state"].take();
    }
    print(|to| writeln!(to, "{answer:#}"))
}

fn seconds(seconds: f64) -> Result<Duration, OptionError> {
    let wrong = |_| OptionError::Value {
        option: "--within",
        // Not all the digits of a number that is far too large.
        value: match seconds.abs() < 1e15 {
            true => seconds.to_string(),
            false => format!("{seconds:e}"),
        },
        advice: "give seconds, such as 2.5",
    };
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// The body that arguments make: an object of those with names, or the one without.
fn body(arguments: &[String]) -> Result<Value, CliError> {
    let wrong = |value: &str, advice| OptionError::Value {
        option: "an argument",
        value: value.to_owned(),
        advice,
    };
    if let [argument] = arguments {
        if argument == "-" {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|_| wrong("-", "standard input cannot be read as text"))?;
            let body = serde_json::from_str(&text);
            return body.map_err(|_| wrong("-", "what standard input holds is no JSON").into());
        }
        if !is_named(argument) {
            return Ok(value(argument));
        }
    }
    let mut body = Map::new();
    for argument in arguments {
        let Some((name, text)) = argument.split_once('=').filter(|_| is_named(argument)) else {
            return Err(wrong(argument, "write NAME=VALUE").into());
        };
        if body.insert(name.to_owned(), value(text)).is_some() {
            return Err(wrong(argument, "the name stands twice").into());
        }
    }
    Ok(match body.is_empty() {
        true => Value::Null,
        false => Value::Object(body),
    })
}

/// Whether it begins with a name and `=`.
fn is_named(argument: &str) -> bool {
    let name = argument.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_make_a_body() {
        let made = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&a| a.to_owned()).collect();
            body(&arguments).map_err(|error| error.to_string())
        };
        assert_eq!(made(&[]), Ok(Value::Null));
        assert_eq!(made(&["40"]), Ok(json!(40)));
        assert_eq!(made(&["{\"a\": [1]}"]), Ok(json!({"a": [1]})));
        assert_eq!(
            made(&["left=0.5", "name=Ada"]),
            Ok(json!({"left": 0.5, "name": "Ada"}))
        );
        assert_eq!(made(&["text=a=b"]), Ok(json!({"text": "a=b"})));
        assert!(made(&["left=1", "40"]).unwrap_err().contains("NAME=VALUE"));
        assert!(made(&["left=1", "left=2"]).unwrap_err().contains("twice"));
    }
}
