//! The example `six_models` of the facade as four processes, linked by zenoh.
//!
//! ```text
//!   six_models_linked                          all roles on this machine, each a process
//!   six_models_linked ROLE --key FILE --listen HOST:PORT [--known HOST:PORT]      one role, on any machine
//! ```
//!
//! `ROLE` is `centre`, `viewer`, `sensor-0` or `sensor-1`; `motet mesh keys new FILE` makes the
//! key. The role that is known to the others has no `--known`.

#[path = "../../motet/examples/six_models/roles.rs"]
mod roles;

use motet::{Dispatcher, Enqueue, QueueConfig, wait_blocking};
use motet_mesh_zenoh::{RunKey, Zenoh, ZenohConfig};
use roles::{Outcome, SENSORS, centre, sensor, viewer};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

fn main() -> Outcome<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next() {
        None => all_roles(),
        Some(role) => {
            run(&config(role, arguments)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Starts each role as a process of its own; they meet in a folder.
fn all_roles() -> Outcome<ExitCode> {
    let (program, folder) = (std::env::current_exe()?, tempfile::tempdir()?);
    let roles = ["centre", "viewer", "sensor-0", "sensor-1"];
    let start = |role: &&str| {
        let mut command = Command::new(&program);
        command.arg(role).arg("--rendezvous").arg(folder.path());
        command.spawn()
    };
    let started = roles.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut all_well = true;
    for mut process in started {
        all_well &= process.wait()?.success();
    }
    Ok(if all_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What the command line says of a role.
fn config(role: String, mut rest: impl Iterator<Item = String>) -> Outcome<ZenohConfig> {
    let mut config = ZenohConfig::named(role);
    while let Some(option) = rest.next() {
        let value = rest
            .next()
            .ok_or_else(|| format!("{option} has no value"))?;
        match &option[..] {
            "--key" => config.key = Some(RunKey::read(Path::new(&value))?),
            "--listen" => config.listen.push(value),
            "--known" => config.known.push(value),
            "--rendezvous" => config.rendezvous = Some(value.into()),
            _ => {
                return Err(format!(
                    "{option} is no option: --key, --listen, --known, --rendezvous"
                )
                .into());
            }
        }
    }
    Ok(config)
}

fn run(config: &ZenohConfig) -> Outcome<()> {
    let role = config.name.clone();
    let dispatcher = Dispatcher::new(2);
    let queue: Arc<dyn Enqueue> = Arc::new(dispatcher.queue(QueueConfig::named("mesh")));
    let carrier = Zenoh::open(config)?;
    let node = carrier.join(queue);
    let number = role
        .strip_prefix("sensor-")
        .and_then(|number| number.parse().ok());
    match (&role[..], number) {
        ("centre", _) => {
            let plan = centre(&node, &dispatcher, SENSORS as usize + 1)?;
            println!(
                "six_models: {} stops, a round of {} km",
                plan.stops.len(),
                plan.kilometres
            );
        }
        ("viewer", _) => {
            let plan = wait_blocking(viewer(&node))??;
            println!("six_models: the viewer waits {:.1} minutes", plan.wait);
        }
        (_, Some(number)) if number < SENSORS => wait_blocking(sensor(&node, number))??,
        _ => return Err(format!("{role} is no role: centre, viewer, sensor-0, sensor-1").into()),
    }
    Ok(())
}
