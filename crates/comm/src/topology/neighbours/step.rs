//! One step of messages with the neighbours, as a future.

use super::{Neighbours, Stage};
use crate::profile::Called;
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
    struct Step<'a, 'c, T: Value>(&'a mut Neighbours<'c, T>);
    impl<T: Value> Drop for Step<'_, '_, T> {
        #[inline]
        fn drop(&mut self) {
            if self.0.stage != Stage::Ended {
                self.0.end_wait();
                self.0.leave();
            }
        }
    }
    let (mut first, mut give, mut step) = (true, Some(give), Step(neighbours));
    poll_fn(move |cx| {
        let Step(neighbours) = &mut step;
        let came = neighbours.poll(cx, std::mem::replace(&mut first, false));
        came.map_ok(|came| give.take().expect("a future is not polled after its end")(came))
    })
}

impl<T: Value> Neighbours<'_, T> {
    /// The recorder is told of the step.
    #[cold]
    pub(super) fn enter(&mut self) {
        if let Some(recorder) = self.comm.recorder() {
            recorder.enter(Called::new(self.name(), self.location));
            self.entered = true;
        }
    }

    /// The step has ended, or is given up.
    #[cold]
    pub(super) fn leave(&mut self) {
        if std::mem::take(&mut self.entered)
            && let Some(recorder) = self.comm.recorder()
        {
            recorder.leave();
        }
    }
}
