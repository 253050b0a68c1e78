//! E09: two-way messages between services, by the size of the group.

pub(super) mod calls;
pub(super) mod clients;

use crate::selection::Missing;
use crate::suite::{About, Axis, Case, Experiment, Picture, Point, Quantity, Setting};
use calls::{CallKind, on_motet, on_tokio};

/// Service messages by group size.
#[derive(Debug)]
pub(crate) struct Services;

const TIME: Quantity = Quantity::new("time of a two-way message", "us");

impl Experiment for Services {
    fn about(&self) -> About {
        About {
            key: "E09",
            name: "services",
            title: "Service messages by group size",
            question: "What does a request with its response take between two services of one machine?",
            definition: "Mean time of a two-way message against the number of messages in a group: all are sent, then all \
                         answers awaited. motet's changes the state (Update), or reads it (Get): short operations, which the caller's worker \
                         carries out itself when they need not wait. Posted: the method is async, so each goes by the service's \
                         port. motet's calls have deadlines, versions and faults; tokio's are an mpsc queue and a oneshot for each \
                         answer, and Go's a goroutine with channels, without them.",
            parameters: &[("messages", "messages in a group")],
            threats: "Small groups hold the start of both services.",
            sources: &["P0 Fig. 13"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let total = setting.by_effort(200, 20_000, 200_000);
        let case = |group: usize| {
            let groups = (total / group).max(1);
            let mut case = Case::new(Point::new().with("messages", group), &[TIME])
                .with("motet, Get", move || {
                    Ok(vec![on_motet(CallKind::Get, group, groups, 0)?])
                })
                .with("motet", move || {
                    Ok(vec![on_motet(CallKind::Update, group, groups, 0)?])
                });
            case = case.with("motet, posted", move || {
                Ok(vec![on_motet(CallKind::Posted, group, groups, 0)?])
            });
            if setting.wants("tokio") {
                case = case.with("tokio", move || Ok(vec![on_tokio(true, group, groups, 0)?]));
            }
            if setting.wants("Go") {
                let go = setting.go();
                case = case.with("Go", move || {
                    let go = go.as_ref().as_ref().map_err(String::clone)?;
                    Ok(vec![go.calls("group", 1, group, groups)?])
                });
            }
            case
        };
        Ok([1, 10, 200, 10_000].map(case).into())
    }

    fn pictures(&self) -> Vec<Picture> {
        let (x, y) = (Axis::log("messages", ""), Axis::log(TIME.name, "us"));
        vec![Picture::new(
            "e09-time",
            "Service messages by group size",
            x,
            y,
        )]
    }
}
