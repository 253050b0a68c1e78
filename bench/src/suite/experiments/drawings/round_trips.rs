//! A round trip of 64 bytes in each model of messaging (P0 Table 4), one at a time and in groups.
//!
//! One form of client asks in all of them: a task of a dispatcher on which the other side is, too.
//! It sends a group of messages, then awaits all answers. That of services is the one of E09, on a
//! dispatcher of its own, since it would carry out the calls itself. Ranks and events have no such
//! place: there a rank and a process of the simulation do the same.

mod apart;
mod on_mesh;
mod on_ports;
mod trip;

pub(super) use trip::Trips;

/// A model of the papers, and how it is measured.
#[derive(Debug)]
pub(super) struct TripModel {
    pub(super) name: &'static str,
    /// Which threads the two sides have.
    pub(super) place: &'static str,
    /// Makes the trips; the time of one in microseconds.
    pub(super) measure: fn(Trips) -> Result<f64, String>,
}

const fn model(
    name: &'static str,
    place: &'static str,
    measure: fn(Trips) -> Result<f64, String>,
) -> TripModel {
    TripModel {
        name,
        place,
        measure,
    }
}

pub(super) const MODELS: &[TripModel] = &[
    model(
        "(a) spawned, dataflow",
        "2 workers: a client, a handler for each message",
        on_ports::handlers,
    ),
    model(
        "(a) spawned, services",
        "2 workers: a client, a service that is posted to; 8 bytes",
        on_ports::service,
    ),
    model(
        "(a) spawned, tree search",
        "2 workers: a client, a handler for each node; a trip is a root and two leaves",
        on_ports::search,
    ),
    model(
        "(b) queued",
        "the calling thread: two processes in virtual time; the time is that of the wall",
        apart::events,
    ),
    model(
        "(c) rendezvous, direct",
        "two ranks, up to a thread each; one that waits looks for messages before it sleeps",
        apart::ranks,
    ),
    model(
        "(d) rendezvous with handlers",
        "2 workers: a client, a handler for each request, which has a port for its answer",
        on_ports::requests,
    ),
    model(
        "(e) publish-subscribe",
        "2 workers: a client, a handler for each sample; one node",
        on_mesh::topics,
    ),
    model(
        "(f) overlay network",
        "2 workers: a client, a task that answers; two nodes, a simulated link without delay",
        on_mesh::overlay,
    ),
];
