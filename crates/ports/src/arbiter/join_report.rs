//! What an arbiter that takes several items says of itself.

use super::any_seat::AnySeat;
use super::join_core::{JoinCore, Seats};
use motet_dispatch::{Awaited, WaitPart, Waiter};

impl<S: Seats> JoinCore<S> {
    /// It, in a few words, as the receiver on the port of the seat `at`.
    pub(super) fn described(&self, at: usize) -> String {
        let once = if self.gate.is_once() { "one-time " } else { "" };
        let others = (0..self.seats.count()).filter(|other| *other != at);
        let others: Vec<String> = others.map(|other| self.seats.seat(other).label()).collect();
        let others = others.join(" and ");
        let what = match (self.total, others.is_empty()) {
            (0, true) => format!("receive of {}", self.seats.seat(at).takes()),
            (0, false) => format!("join with {others}"),
            (total, true) => format!("gather of {total}"),
            (total, false) => format!("gather of {total} with {others}"),
        };
        format!("{once}{what}")
    }
}

impl<S: Seats> Waiter for JoinCore<S> {
    fn awaits(&self) -> Option<Awaited> {
        if !self.gate.is_open() {
            return None;
        }
        let seats = (0..self.seats.count()).map(|at| self.seats.seat(at));
        let mut parts: Vec<_> = seats.map(AnySeat::awaits).collect();
        let who = match (self.total, parts.len()) {
            (0, 1) => "MultipleItemReceive",
            (0, _) => "JoinedReceive",
            _ => "MultipleItemGather",
        };
        if self.total > 0 {
            parts.push(WaitPart {
                port: "all together".to_owned(),
                there: parts.iter().map(|part| part.there).sum(),
                needed: self.total,
            });
        }
        let queue = Some(self.outlet().queue().name().to_owned());
        Some(Awaited { who, queue, parts })
    }
}
