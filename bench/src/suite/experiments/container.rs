//! E10: services beside containers of Web services.

mod client;
mod servers;

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::peers::java::JavaServer as Server;
use client::{Ask, Form, rate};
use servers::{Axum, Served};
use std::rc::Rc;

/// Servers in Java, and how they are asked.
const IN_JAVA: [(&str, Server, Form); 3] = [
    ("Jetty", Server::Jetty, Form::Json),
    ("Java", Server::Kit, Form::Json),
    ("Axis2", Server::Axis2, Form::Soap),
];

/// So many connections only servers of this process have.
const MANY: usize = 1_000;

/// E10: a Web service container.
pub(crate) fn e10(setting: &Setting) -> Cases {
    let messages = setting.by_effort(64, 4_000, 40_000);
    let case = |connections: usize, ask: Ask| {
        let point = Point::new()
            .with("connections", connections)
            .with("message", ask.name());
        let asked = (ask, Form::Json);
        let case = Case::new(
            point,
            &[Quantity::new("two-way messages per second", "1/s")],
        )
        .with("motet", move || {
            rate(Served::start()?.at(), connections, asked, messages)
        })
        .beside(setting, "axum", move || {
            rate(Axum::start()?.at(), connections, asked, messages)
        });
        // Some of them keep a thread for each connection, and let the others wait.
        let in_java = IN_JAVA.into_iter().filter(|_| connections < MANY);
        in_java.fold(case, |case, (name, server, form)| {
            let java = Rc::clone(&setting.java);
            case.beside(setting, name, move || {
                let (at, _kept) = java.get()?.container(server)?;
                // What runs first is interpreted.
                rate(at, connections, (ask, form), messages)?;
                rate(at, connections, (ask, form), messages)
            })
        })
    };
    let few: &[usize] = &[1, 64];
    let counts = setting.by_effort(few, few, &[1, 64, MANY]);
    let cases = counts.iter().flat_map(|connections| {
        let case = |ask| case(*connections, ask);
        [Ask::Read, Ask::Change].map(case)
    });
    Ok(cases.collect())
}
