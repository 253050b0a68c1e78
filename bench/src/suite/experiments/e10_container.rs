//! E10: services beside containers of Web services.

mod client;
mod servers;

use crate::peers::java::JavaServer as Server;
use crate::selection::Missing;
use crate::suite::{About, Axis, Case, Experiment, Picture, Point, Quantity, Setting};
use client::{Ask, Form, rate};
use servers::{Axum, Served};

/// A Web service container.
#[derive(Debug)]
pub(crate) struct WebContainer;

const RATE: Quantity = Quantity::new("two-way messages per second", "1/s");

/// Servers in Java, and how they are asked.
const IN_JAVA: [(&str, Server, Form); 3] = [
    ("Jetty", Server::Jetty, Form::Json),
    ("Java", Server::Kit, Form::Json),
    ("Axis2", Server::Axis2, Form::Soap),
];

impl Experiment for WebContainer {
    fn about(&self) -> About {
        About {
            key: "E10",
            name: "container",
            title: "A Web service container",
            question: "By what factor do services beat a container of Web services?",
            definition: "Two-way messages per second over HTTP/1.1 on this machine, from clients that are no part of the server and keep \
                         their connections: each sends, reads the whole answer and sends again. The read is GET of a state of one number, \
                         the change is POST of one number that is added. All servers have the same clients, the same load and the same two \
                         cores. motet's calls have deadlines, versions and checked bodies; axum is bare, with the number behind a lock; \
                         Java is the server that comes with its development kit, com.sun.net.httpserver, and Jetty is Jetty's core server, both with a virtual thread for each request. Axis2 \
                         is the papers' container, version 2.0.0, with its own server: it is read by GET too, and changed by an envelope of SOAP.",
            parameters: &[
                ("connections", "connections, each with a client of its own"),
                ("message", "whether it reads or changes the state"),
            ],
            threats: "Clients take a part of the two cores. A container does more than answer. The papers' container was asked over a \
                      network, their services were not: here both are asked alike.",
            sources: &["P0 Fig. 14", "R139", "R140", "R169"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let messages = setting.by_effort(64, 4_000, 40_000);
        let case = |connections: usize, ask: Ask| {
            let point = Point::new()
                .with("connections", connections)
                .with("message", ask.name());
            let mut case = Case::new(point, &[RATE]).with("motet", move || {
                let served = Served::start()?;
                Ok(vec![rate(
                    served.at(),
                    connections,
                    (ask, Form::Json),
                    messages,
                )?])
            });
            if setting.wants("axum") {
                case = case.with("axum", move || {
                    let axum = Axum::start()?;
                    Ok(vec![rate(
                        axum.at(),
                        connections,
                        (ask, Form::Json),
                        messages,
                    )?])
                });
            }
            for (name, server, form) in IN_JAVA {
                if !setting.wants(name) {
                    continue;
                }
                let java = setting.java();
                case = case.with(name, move || {
                    let java = java.as_ref().as_ref().map_err(String::clone)?;
                    let (at, _kept) = java.container(server)?;
                    // What runs first is interpreted.
                    rate(at, connections, (ask, form), messages)?;
                    Ok(vec![rate(at, connections, (ask, form), messages)?])
                });
            }
            case
        };
        let asks = [Ask::Read, Ask::Change];
        Ok([1, 64]
            .iter()
            .flat_map(|connections| asks.map(|ask| case(*connections, ask)))
            .collect())
    }

    fn pictures(&self) -> Vec<Picture> {
        let (x, y) = (Axis::log("connections", ""), Axis::log(RATE.name, "1/s"));
        vec![Picture::new("e10-rate", "A Web service container", x, y)]
    }
}
