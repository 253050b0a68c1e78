//! One step of messages with the neighbours, as a future.

use super::{Neighbours, Stage};
use crate::profile::{Called, Entered};
use crate::{CommError, Value};
use std::future::{Future, poll_fn};

/// The future of the step that [`Neighbours::begin`] has prepared; `give` makes its result of what
/// came from both sides.
#[inline]
pub(in crate::topology) fn step<T: Value, R>(
    neighbours: &mut Neighbours<'_, T>,
    give: impl FnOnce([Option<T>; 2]) -> R,
) -> impl Future<Output = Result<R, CommError>> {
    /// Takes the wait off the slot's list also when the step is dropped.
    struct Step<'a, 'c, T: Value>(&'a mut Neighbours<'c, T>, Option<Entered<'c>>);
    impl<T: Value> Drop for Step<'_, '_, T> {
        #[inline]
        fn drop(&mut self) {
            if self.0.stage != Stage::Ended {
                self.0.wait.end(self.0.slot);
            }
        }
    }
    let (mut first, mut give, mut step) = (true, Some(give), Step(neighbours, None));
    poll_fn(move |cx| {
        let Step(neighbours, entered) = &mut step;
        let first = std::mem::replace(&mut first, false);
        if let Some(recorder) = neighbours.recorder.filter(|_| first) {
            let (name, location) = (neighbours.name(), neighbours.location);
            *entered = Some(recorder.entered(Called { name, location }));
        }
        let came = neighbours.poll(cx, first);
        if came.is_ready() {
            *entered = None;
        }
        came.map_ok(|came| give.take().expect("a future is not polled after its end")(came))
    })
}
