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
