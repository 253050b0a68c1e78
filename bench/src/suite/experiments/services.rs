//! E09, E17: messages between services, by the size of the group; and again with start-up left out,
//! one-way too, from many clients, and between processes.

pub(super) mod calls;
mod clients;
mod timings;
mod two_processes;

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use calls::{CallKind, on_motet, on_tokio};
use std::rc::Rc;

/// E09: service messages by group size.
pub(crate) fn e09(setting: &Setting) -> Cases {
    let total = setting.by_effort(200, 20_000, 200_000);
    let case = |group: usize| {
        let groups = (total / group).max(1);
        let motet = |kind| move || on_motet(kind, group, groups, 0);
        let go = Rc::clone(&setting.go);
        let time = Quantity::new("time of a two-way message", "us");
        Case::new(Point::new().with("messages", group), &[time])
            .with("motet, Get", motet(CallKind::Get))
            .with("motet", motet(CallKind::Update))
            .with("motet, whole", motet(CallKind::Whole))
            .with("motet, async", motet(CallKind::Async))
            .with("motet, posted", motet(CallKind::Posted))
            .beside(setting, "tokio", move || on_tokio(true, group, groups, 0))
            .beside(setting, "Go", move || {
                go.get()?.calls("group", 1, group, groups)
            })
    };
    let mut cases: Vec<Case> = [1, 10, 200, 10_000].map(case).into();
    cases.push(timings::histogram(setting));
    Ok(cases)
}

/// E17: service latency.
pub(crate) fn e17(setting: &Setting) -> Cases {
    let total = setting.by_effort(200, 20_000, 200_000);
    let case = |place: &str, way: &str, group: usize| {
        let point = Point::new().with("where", place).with("way", way);
        let time = Quantity::new("time of a message", "us");
        Case::new(point.with("messages", group), &[time])
    };
    let inside = |way: &'static str, group: usize| {
        let groups = (total / group).max(1);
        let (kind, answers) = match way {
            "one-way" => (CallKind::OneWay, false),
            _ => (CallKind::Update, true),
        };
        case("one process", way, group)
            .with("motet", move || on_motet(kind, group, groups, groups))
            .beside(setting, "tokio", move || {
                on_tokio(answers, group, groups, groups)
            })
    };
    let between = |group: usize| {
        let program = setting.config().motet.clone();
        let groups = (total / 10 / group).max(1);
        case("two processes", "two-way", group).with("motet", move || {
            let program = program.as_deref();
            let program = program.ok_or("the program motet is not known here")?;
            two_processes::measure(program, group, groups)
        })
    };
    let crowd = |workers: usize| {
        let (clients, each) = (64, (total / 64).max(1));
        let place = format!("{clients} clients, {workers} workers");
        let go = Rc::clone(&setting.go);
        case(&place, "two-way", 1)
            .with("motet", move || clients::on_motet(workers, clients, each))
            .beside(setting, "tokio", move || {
                clients::on_tokio(workers, clients, each)
            })
            .beside(setting, "Go", move || {
                go.get()?.calls("clients", workers, clients, each)
            })
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
