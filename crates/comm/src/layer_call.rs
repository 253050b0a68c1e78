//! Where the program has called what is made of calls of a communicator.

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
    location: &'static Location<'static>,
}

/// Puts back what was there before.
struct PlaceBefore<'a> {
    place: &'a Cell<Option<&'static Location<'static>>>,
    before: Option<&'static Location<'static>>,
}

impl LayerCall {
    pub(crate) fn new(place: LayerPlace, location: &'static Location<'static>) -> Self {
        LayerCall { place, location }
    }

    /// Runs the call. If it is a part of another such call, that one's place is named.
    pub async fn run<F: Future>(self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|cx| {
            let before = self.place.get();
            self.place.set(before.or(Some(self.location)));
            let place = &*self.place;
            let _before = PlaceBefore { place, before };
            call.as_mut().poll(cx)
        })
        .await
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
        let call = |at: &'static Location<'static>| LayerCall::new(Rc::clone(&place), at);
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
