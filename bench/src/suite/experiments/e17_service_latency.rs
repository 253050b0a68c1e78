//! E17: the latency of services again, start-up left out, one-way too, and between processes.

mod two_processes;

use super::e09_services::calls::{CallKind, on_motet, on_tokio};
use super::e09_services::clients;
use crate::selection::Missing;
use crate::suite::{About, Axis, Case, Experiment, Picture, Point, Quantity, Setting};

/// Service latency.
#[derive(Debug)]
pub(crate) struct ServiceLatency;

const TIME: Quantity = Quantity::new("time of a message", "us");

impl Experiment for ServiceLatency {
    fn about(&self) -> About {
        About {
            key: "E17",
            name: "service-latency",
            title: "Service latency",
            question: "What does a message take between services of one machine, once they have started?",
            definition: "As E09, but the first messages, as many again, are not counted. One-way: nothing is awaited but one answer \
                         behind each group, since changes of one client are carried out in order. In two processes a client calls an \
                         Update of a service of a node that `motet serve` has started, over HTTP/1.1 and one address of this machine. Clients: tasks that \
                         call at the same time, each one call after the other, on so many workers.",
            parameters: &[
                (
                    "where",
                    "client and service in one process, or in two; or how many clients, on how many workers",
                ),
                ("way", "with an answer for each message, or without"),
                ("messages", "messages in a group"),
            ],
            threats: "As E09. Between processes the operating system's scheduling of two cores counts as well.",
            sources: &["P1 section 5.2", "P3 section I", "R139", "R169"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let total = setting.by_effort(200, 20_000, 200_000);
        let point = |place: &str, way: &str, group: usize| {
            Point::new()
                .with("where", place)
                .with("way", way)
                .with("messages", group)
        };
        let inside = |way: &'static str, group: usize| {
            let groups = (total / group).max(1);
            let one_way = way == "one-way";
            let kind = if one_way {
                CallKind::OneWay
            } else {
                CallKind::Update
            };
            let mut case = Case::new(point("one process", way, group), &[TIME])
                .with("motet", move || {
                    Ok(vec![on_motet(kind, group, groups, groups)?])
                });
            if setting.wants("tokio") {
                case = case.with("tokio", move || {
                    Ok(vec![on_tokio(!one_way, group, groups, groups)?])
                });
            }
            case
        };
        let program = setting.config().motet.clone();
        let between = |group: usize| {
            let program = program.clone();
            let groups = (total / 10 / group).max(1);
            Case::new(point("two processes", "two-way", group), &[TIME]).with("motet", move || {
                let program = program.as_deref();
                let program = program.ok_or("the program motet is not known here")?;
                Ok(vec![two_processes::measure(program, group, groups)?])
            })
        };
        let crowd = |workers: usize| {
            let (clients, each) = (64, (total / 64).max(1));
            let place = format!("{clients} clients, {workers} workers");
            let mut case = Case::new(point(&place, "two-way", 1), &[TIME])
                .with("motet", move || {
                    Ok(vec![clients::on_motet(workers, clients, each)?])
                });
            if setting.wants("tokio") {
                case = case.with("tokio", move || {
                    Ok(vec![clients::on_tokio(workers, clients, each)?])
                });
            }
            if setting.wants("Go") {
                let go = setting.go();
                case = case.with("Go", move || {
                    let go = go.as_ref().as_ref().map_err(String::clone)?;
                    Ok(vec![go.calls("clients", workers, clients, each)?])
                });
            }
            case
        };
        Ok(vec![
            crowd(1),
            crowd(2),
            inside("two-way", 1),
            inside("two-way", 200),
            inside("one-way", 200),
            between(1),
            between(64),
        ])
    }

    fn pictures(&self) -> Vec<Picture> {
        let (x, y) = (Axis::log("messages", ""), Axis::log(TIME.name, "us"));
        vec![Picture::new("e17-time", "Service latency", x, y)]
    }
}
