//! Figures of all services, as Prometheus reads them.

use crate::counts::ConnectionCounts;
use motet_service::{Node, OperationLatency, ServiceFigures};
use std::fmt::Write;

type Read = fn(&ServiceFigures) -> u64;

/// Name, kind, what it is, and where it comes from.
const FIGURES: [(&str, &str, &str, Read); 8] = [
    (
        "calls_total",
        "counter",
        "Operations that were started.",
        |f| f.calls,
    ),
    (
        "faults_total",
        "counter",
        "Operations that ended in a fault.",
        |f| f.faults,
    ),
    ("panics_total", "counter", "Handlers that panicked.", |f| {
        f.panics
    }),
    (
        "late_answers_total",
        "counter",
        "Answers that nobody waited for.",
        |f| f.late,
    ),
    (
        "restarts_total",
        "counter",
        "How often a service was built anew.",
        |f| f.restarts,
    ),
    (
        "refused_total",
        "counter",
        "Operations for which there was no room.",
        |f| f.refused,
    ),
    (
        "reads_waiting",
        "gauge",
        "Reading operations that wait.",
        |f| f.reads_waiting as u64,
    ),
    (
        "changes_waiting",
        "gauge",
        "Exclusive operations that wait.",
        |f| f.changes_waiting as u64,
    ),
];

/// The text of `/metrics`.
pub(crate) fn text(node: &Node, connections: &ConnectionCounts) -> String {
    let services = node.clients().into_iter().map(|service| {
        let path = service.path().replace('\\', "\\\\");
        let path = path.replace('"', "\\\"").replace('\n', "\\n");
        (path, service.figures(), service.latencies())
    });
    let services: Vec<(String, ServiceFigures, Vec<OperationLatency>)> = services.collect();
    let mut text = String::new();
    for (name, kind, about, read) in FIGURES {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "# HELP motet_{name} {about}\n# TYPE motet_{name} {kind}\n"
        );
        for (path, figures, _) in &services {
            let _ = writeln!(text, "motet_{name}{{service=\"{path}\"}} {}", read(figures));
        }
    }
    latencies(&services, &mut text);
    connection_figures(connections, &mut text);
    text
}

/// How many connections there are, and were refused.
fn connection_figures(counts: &ConnectionCounts, text: &mut String) {
    let (open, [without_room, beyond_share]) = (counts.open(), counts.refused());
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "# HELP motet_connections Connections that are open.\n\
         # TYPE motet_connections gauge\n\
         motet_connections {open}\n\
         # HELP motet_connections_refused_total Connections for which there was no room.\n\
         # TYPE motet_connections_refused_total counter\n\
         motet_connections_refused_total{{of=\"all\"}} {without_room}\n\
         motet_connections_refused_total{{of=\"address\"}} {beyond_share}\n"
    );
}

/// How long operations take.
fn latencies(services: &[(String, ServiceFigures, Vec<OperationLatency>)], text: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "# HELP motet_operation_seconds From an operation's being posted until its handler's end.\n\
         # TYPE motet_operation_seconds summary\n"
    );
    for (path, _, latencies) in services {
        for one in latencies.iter().filter(|one| !one.operation.is_empty()) {
            let name = format!("service=\"{path}\",operation=\"{}\"", one.operation);
            for (quantile, us) in [("0.5", one.p50_us), ("0.99", one.p99_us)] {
                let seconds = us / 1e6;
                let _ = writeln!(
                    text,
                    "motet_operation_seconds{{{name},quantile=\"{quantile}\"}} {seconds:e}"
                );
            }
            let (sum, count) = (one.total_us / 1e6, one.count);
            let _ = writeln!(text, "motet_operation_seconds_sum{{{name}}} {sum:e}");
            let _ = writeln!(text, "motet_operation_seconds_count{{{name}}} {count}");
        }
    }
}
