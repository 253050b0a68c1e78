//! `motet serve`: a node whose services answer by HTTP.

mod demo;
mod told_store;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use motet_dispatch::{Dispatcher, spawn};
use motet_http::{Config, Keys, Server};
use motet_ports::{Port, wait_blocking};
use motet_service::{Fault, FaultCode, Node, Redb, ServiceInfo};
use serde_json::json;

use crate::amount::{check_threads, count};
use crate::error::{CliError, InputError};
use crate::interrupt::on_interrupt;
use crate::stderr::tell;
use crate::stdout::print;
use told_store::ToldStore;

/// Options of `motet serve`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Serve services by HTTP",
    long_about = "Serve services by HTTP, until it is interrupted.\n\nA manifest (TOML or JSON) names \
                  the services, their paths and partners. Without one there is a demonstration: a \
                  robot in a room (/world, /drive, /bumper, /laser, and /explorer, which moves it when it \
                  is told to) and points that are clustered on ranks (/source, /clustering); /workflow \
                  runs what motet flow gives it. Other machines can reach it when it has keys.",
    after_long_help = "Types of services: sim-world, sim-drive, gentle-drive, sim-bumper, \
                       sim-laser, wanderer, four-towns, rank-clustering, workflow\n\nExamples:\n  motet serve\n  motet serve house.toml --listen \
                       127.0.0.1:8080 --store house.redb\n  motet call /drive set_power left=0.5 \
                       right=0.5\n  motet call /explorer explore true\n  motet watch /bumper"
)]
pub struct ServeArgs {
    /// The services [default: a demonstration]
    #[arg(value_name = "MANIFEST")]
    pub manifest: Option<PathBuf>,

    /// Where to listen; port 0 is any that is free
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:50000",
        value_parser = Config::address
    )]
    pub listen: SocketAddr,

    /// The keys of the node (motet keys new): then it speaks TLS and asks for tokens
    #[arg(long, value_name = "DIR")]
    pub keys: Option<PathBuf>,

    /// The certificate of the node, where it is not the first of its keys (motet keys leaf)
    #[arg(long, value_name = "NAME", requires = "keys")]
    pub leaf: Option<String>,

    /// Let only those connect who have a certificate (motet keys leaf)
    #[arg(long, requires = "keys")]
    pub mutual: bool,

    /// Connections that one other machine may have [default: 64]
    #[arg(long, value_name = "N", requires = "keys", value_parser = count())]
    pub per_address: Option<usize>,

    /// A name under which it may be asked for, beside localhost; may be given again
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,

    /// Where states last that a manifest wants to last
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,

    /// Threads of the services [default: the cores]
    #[arg(short = 't', long, value_name = "N", value_parser = count())]
    pub threads: Option<usize>,

    /// Print one JSON object when it serves, instead of lines
    #[arg(long)]
    pub json: bool,
}

/// Serves until it is interrupted.
///
/// # Errors
/// A manifest that cannot be read, or none of whose services serves; an address that cannot be
/// listened on.
pub(crate) fn run(args: &ServeArgs) -> Result<(), CliError> {
    let manifest = match &args.manifest {
        Some(path) => fs::read_to_string(path)
            .map_err(|source| InputError::opening(path.display().to_string(), source))?,
        None => demo::manifest(args.store.is_some()),
    };
    let stop = Port::new();
    let stopped = stop.clone();
    on_interrupt(move || drop(stopped.post(())));
    let mut config = Config::at(args.listen);
    config.hosts.clone_from(&args.host);
    if let Some(folder) = &args.keys {
        let keys = match &args.leaf {
            None => Keys::read(folder),
            Some(name) => Keys::read_as(folder, name),
        };
        config.keys = Some(keys.map_err(|error| CliError::Service(error.to_string()))?);
        config.mutual = args.mutual;
        let share = &mut config.limits.per_address;
        *share = args.per_address.unwrap_or(*share);
    }
    check_threads(args.threads)?;
    let threads = args.threads.unwrap_or_else(motet_sync::thread::cores);
    let dispatcher = Dispatcher::new(threads);
    let mut builder = demo::register(Node::builder("motet"));
    if let Some(store) = &args.store {
        let store = Redb::open(store).map_err(|fault| refused(&fault))?;
        builder = builder.store(ToldStore::new(store));
    }
    let node = builder
        .start(&dispatcher)
        .map_err(|fault| refused(&fault))?;
    let named = args.manifest.as_deref();
    let served = served(&node, (named, manifest.as_str()), args.store.is_some());
    let served = served.and_then(|services| {
        let server = Server::start(&node, config);
        let server = server.map_err(|error| CliError::Service(error.to_string()))?;
        tell_served(args.json, &server, &services)?;
        stop_with(&node, stop.clone());
        // The dispatcher ends behind this; nobody waits inside a task.
        let _ = wait_blocking(stop.recv());
        server.stop();
        node.failure().map_or(Ok(()), |fault| Err(refused(&fault)))
    });
    let _ = wait_blocking(node.shutdown());
    served
}

/// Has serving stop when the node ends because an essential service has failed.
fn stop_with(node: &Node, stop: Port<()>) {
    let ending = node.clone();
    let waiting = async move {
        ending.until_end().await;
        // Nobody waits any more, where the node ends in the end.
        drop(stop.post(()));
    };
    // A queue that takes no task has ended.
    drop(spawn(&node.queue(), waiting));
}

/// Loads the manifest of a file, or that of the demonstration: the services that serve. Those that
/// do not are told on standard error.
fn served(
    node: &Node,
    (file, manifest): (Option<&Path>, &str),
    has_store: bool,
) -> Result<Vec<ServiceInfo>, CliError> {
    // What a manifest names by a relative path is where the manifest is.
    let folder = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let loaded = wait_blocking(node.load_from([(manifest, folder)]));
    let loaded = loaded.map_err(|error| CliError::Run(error.to_string()))?;
    let loaded = loaded.map_err(|fault| match file {
        Some(file) => CliError::Service(format!("{}: {}", file.display(), fault.reason())),
        None => refused(&fault),
    })?;
    let mut services = Vec::new();
    for record in loaded {
        match (record.service, record.fault) {
            (Some(service), _) => services.push(service),
            (None, Some(fault)) => {
                let stores = fault.code() == FaultCode::InsufficientResources && !has_store;
                let advice = if stores { ", with --store FILE" } else { "" };
                tell(format_args!("{}: {fault}{advice}", record.name));
            }
            (None, None) => {}
        }
    }
    match services.is_empty() {
        true => Err(CliError::Service(
            "no service of the manifest serves".to_owned(),
        )),
        false => Ok(services),
    }
}

fn tell_served(as_json: bool, server: &Server, services: &[ServiceInfo]) -> Result<(), CliError> {
    let url = server.url();
    print(|to| {
        if as_json {
            let services: Vec<_> = services
                .iter()
                .map(|service| json!({"path": service.path, "type": service.kind, "contract": service.contract}))
                .collect();
            let told =
                json!({"url": url, "console": format!("{url}/console/"), "services": services});
            return writeln!(to, "{told}");
        }
        writeln!(to, "{} services at {url}", services.len())?;
        for service in services {
            let operations: Vec<&str> = service
                .operations
                .iter()
                .map(|operation| operation.name.as_str())
                .collect();
            writeln!(to, "  {:<14} {}", service.path, operations.join(", "))?;
        }
        writeln!(
            to,
            "The console is {url}/console/ and the description {url}/openapi.json. Ctrl-C ends them."
        )
    })
}

pub(crate) fn refused(fault: &Fault) -> CliError {
    CliError::Service(fault.to_string())
}
