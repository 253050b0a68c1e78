//! What an arbiter that takes several items says of itself.

use super::any_input::AnyInput;
use super::join_core::{Inputs, JoinCore};
use motet_dispatch::{Awaited, WaitPart, Waiter};

impl<S: Inputs> JoinCore<S> {
    /// It, in a few words, as the receiver on the port of the input `at`.
    pub(super) fn described(&self, at: usize) -> String {
        let once = if self.gate.is_once() { "one-time " } else { "" };
        let others = (0..self.inputs.count()).filter(|other| *other != at);
        let others: Vec<String> = others
            .map(|other| self.inputs.input(other).label())
            .collect();
        let others = others.join(" and ");
        let what = match (self.total, others.is_empty()) {
            (0, true) => format!("receive of {}", self.inputs.input(at).takes()),
            (0, false) => format!("join with {others}"),
            (total, true) => format!("gather of {total}"),
            (total, false) => format!("gather of {total} with {others}"),
        };
        format!("{once}{what}")
    }
}

impl<S: Inputs> Waiter for JoinCore<S> {
    fn awaits(&self) -> Option<Awaited> {
        if !self.gate.is_open() {
            return None;
        }
        let inputs = (0..self.inputs.count()).map(|at| self.inputs.input(at));
        let mut parts: Vec<_> = inputs.map(AnyInput::awaits).collect();
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
