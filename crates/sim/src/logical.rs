//! What a model is made of: logical processes.

use crate::{Out, Time};
use motet_comm::Value;

/// A logical process. It handles events one after the other, in the order of their keys. It knows
/// nothing of the others but what their events tell it.
///
/// What it does must depend on its state, the event and what it draws alone: then every mode gives
/// the same run.
pub trait Logical {
    /// What events carry.
    type Event: Value + Clone;

    /// Schedules the first events, at time 0.
    fn start(&mut self, out: &mut Out<'_, Self::Event>);

    /// Handles an event that takes place now.
    fn handle(&mut self, now: Time, event: Self::Event, out: &mut Out<'_, Self::Event>);
}

/// A logical process that can take back what a handler has done to it, so that Time Warp need not
/// copy its state.
pub trait Reversible: Logical {
    /// What a handler leaves for that.
    type Undo;

    /// As [`Logical::handle`]; says what [`Reversible::undo`] needs.
    fn handle_reversibly(
        &mut self,
        now: Time,
        event: Self::Event,
        out: &mut Out<'_, Self::Event>,
    ) -> Self::Undo;

    /// Makes the process what it was before the handler that has left this. What the handler
    /// scheduled and drew is taken back without it.
    fn undo(&mut self, undo: Self::Undo);
}
