//! Where the program has called what is made of calls of a communicator.

use crate::profile::Recorder;
use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::pin;
use std::rc::Rc;

/// Where a rank is in a call of a layer above, while that is polled.
pub(crate) type LayerPlace = Rc<Cell<Option<&'static Location<'static>>>>;

/// A call of a library that is made of calls of ranks. Made by
/// [`Communicator::called_from`](crate::Communicator::called_from).
pub struct LayerCall {
    place: LayerPlace,
    /// If the run is profiled.
    recorder: Option<Rc<Recorder>>,
    location: &'static Location<'static>,
}

/// Puts back what was there before.
struct PlaceBefore<'a> {
    place: &'a Cell<Option<&'static Location<'static>>>,
    before: Option<&'static Location<'static>>,
}

impl LayerCall {
    pub(crate) fn new(
        place: LayerPlace,
        recorder: Option<Rc<Recorder>>,
        location: &'static Location<'static>,
    ) -> Self {
        LayerCall {
            place,
            recorder,
            location,
        }
    }

    /// Runs the call. If it is a part of another such call, that one's place is named.
    pub async fn run<F: Future>(self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|cx| {
            let _before = PlaceBefore::new(&self.place, self.location);
            let profiled = self.recorder.as_deref().map(Recorder::layer);
            let _profiled = profiled.map(|place| PlaceBefore::new(place, self.location));
            call.as_mut().poll(cx)
        })
        .await
    }
}

impl<'a> PlaceBefore<'a> {
    /// From here on a call is in one of this place, if in none of another.
    fn new(
        place: &'a Cell<Option<&'static Location<'static>>>,
        location: &'static Location<'static>,
    ) -> Self {
        let before = place.get();
        place.set(before.or(Some(location)));
        PlaceBefore { place, before }
    }
}

impl Drop for PlaceBefore<'_> {
    fn drop(&mut self) {
        self.place.set(self.before);
    }
}

impl fmt::Debug for LayerCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerCall")
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    fn polled(call: Pin<&mut impl Future<Output = ()>>) -> Poll<()> {
        call.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn each_of_several_calls_has_its_place_while_it_is_polled() {
        let place = LayerPlace::default();
        let (here, there) = (Location::caller(), Location::caller());
        let call = |at: &'static Location<'static>| LayerCall::new(Rc::clone(&place), None, at);
        let looks = |at: &'static Location<'static>| {
            let place = Rc::clone(&place);
            poll_fn(move |_| -> Poll<()> {
                assert_eq!(place.get(), Some(at));
                Poll::Pending
            })
        };
        let mut one = Box::pin(call(here).run(looks(here)));
        let mut other = Box::pin(call(there).run(looks(there)));
        let mut within = Box::pin(call(here).run(call(there).run(looks(here))));
        for _ in 0..2 {
            assert!(polled(one.as_mut()).is_pending() && place.get().is_none());
            assert!(polled(other.as_mut()).is_pending() && place.get().is_none());
            assert!(polled(within.as_mut()).is_pending() && place.get().is_none());
        }
        drop((one, within));
        assert!(polled(other.as_mut()).is_pending() && place.get().is_none());
        let panics = poll_fn(|_| -> Poll<()> { panic!("as the test wants") });
        let mut panics = Box::pin(call(here).run(panics));
        assert!(catch_unwind(AssertUnwindSafe(|| polled(panics.as_mut()))).is_err());
        assert!(place.get().is_none());
    }
}
