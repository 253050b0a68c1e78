//! The record of the machine.

use super::html::{self, cell, heading};
use crate::results::Results;
use crate::suite::Machine;
use crate::text::number;
use maud::{Markup, html};

pub(super) fn section(results: &Results) -> Markup {
    let beside = results.beside.as_ref();
    let beside = beside.and_then(|other| other.machine.as_ref());
    html! {
        section {
            (heading("machine", "The machine and the versions"))
            @match &results.machine {
                None => p { "The folder has no record of the machine." },
                Some(machine) => (table(machine)),
            }
            @if let Some(machine) = beside {
                p { "The other machine, of whose rows only those stand here that claims about two machines ask for:" }
                (table(machine))
            }
        }
    }
}

fn table(machine: &Machine) -> Markup {
    let rows = lines(machine).into_iter();
    let rows = rows.map(|(name, value)| html! { (cell(name)) (cell(value)) });
    html::table(&["what", "value"], rows)
}

/// A line that names the machine.
pub(super) fn line(machine: Option<&Machine>) -> String {
    machine.map_or("a machine without a record".to_owned(), |machine| {
        machine.machine.to_string()
    })
}

fn lines(machine: &Machine) -> Vec<(String, String)> {
    let Machine {
        machine: identity,
        memory_bytes,
        limits,
        versions,
        ..
    } = machine;
    let line = |name: &str, value: String| (name.to_owned(), value);
    let us = |name: &str, value: Option<f64>| {
        let text = value.map_or("not there: one core".to_owned(), |value| {
            format!("{} µs", number(value))
        });
        line(name, text)
    };
    let caches = identity.caches.iter().map(|cache| {
        let kib = cache.bytes / 1024;
        format!(
            "level {} {}: {kib} KiB for {}",
            cache.level, cache.kind, cache.shared_by
        )
    });
    let model = identity.model.clone().unwrap_or("not told".to_owned());
    let mut lines = vec![
        line("processor", model),
        line("architecture", identity.architecture.clone()),
        line("cores that the program may use", identity.cores.to_string()),
        line(
            "caches of the first core",
            caches.collect::<Vec<_>>().join("; "),
        ),
        line("system", identity.system.clone()),
    ];
    lines.extend(memory_bytes.map(|bytes| {
        let gib = bytes as f64 / f64::from(1 << 30);
        line("memory", format!("{} GiB", number(gib)))
    }));
    lines.extend([
        us("unit of work", Some(limits.unit_us)),
        us(
            "a cache line to another core and back",
            limits.cache_line_us,
        ),
        us("wake-up of a thread", Some(limits.wakeup_us)),
        us("allocation, push and pop", Some(limits.allocation_us)),
        line(
            "copy in memory",
            format!("{} GB/s", number(limits.copy_gb_per_s)),
        ),
        line("effort", machine.effort.clone()),
        line(
            "threads that fill the machine",
            if machine.pinned {
                "bound to their cores"
            } else {
                "not bound"
            }
            .to_owned(),
        ),
    ]);
    let versions = versions.iter();
    lines.extend(
        versions.map(|(name, version)| line(&format!("version of {name}"), version.clone())),
    );
    lines
}
