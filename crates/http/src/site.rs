//! What all requests of a server share.

use crate::Limits;
use crate::counts::ConnectionCounts;
use crate::keys::Keys;
use crate::standby::OwnCalls;
#[cfg(feature = "dssp")]
use crate::told::DsspPlaces;
use crate::wakes::Wakes;
use motet_service::{AnyClient, Fault, Node, Options, Value};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::future::poll_fn;
use std::sync::Arc;
use tokio::sync::watch;

/// What all requests share that a thread answers.
#[derive(Clone)]
pub(crate) struct ServerShared {
    pub(crate) node: Node,
    pub(crate) hosts: Vec<String>,
    pub(crate) keys: Option<Keys>,
    /// Whether only those may connect who have a certificate.
    pub(crate) mutual: bool,
    pub(crate) limits: Limits,
    pub(crate) connections: Arc<ConnectionCounts>,
    pub(crate) in_flight: Arc<InFlight>,
    #[cfg(feature = "dssp")]
    pub(crate) dssp: DsspPlaces,
    pub(crate) wakes: Arc<Wakes>,
    /// The calls that this thread carries out itself, if it may.
    pub(crate) own_calls: Option<Arc<OwnCalls>>,
    /// The role of those who need none.
    pub(crate) anonymous: Arc<str>,
    pub(crate) stop: watch::Receiver<bool>,
}

impl ServerShared {
    /// The same for another thread, which carries out no calls.
    pub(crate) fn for_another(&self) -> ServerShared {
        ServerShared {
            wakes: Arc::default(),
            own_calls: None,
            ..self.clone()
        }
    }

    /// Waits until the server stops.
    pub(crate) async fn stopped(&self) {
        let mut stop = self.stop.clone();
        // Its sender is there until then.
        drop(stop.wait_for(|stop| *stop).await);
    }

    /// Waits until nobody is told by envelopes any more, as long as the end of the server may take.
    pub(crate) async fn until_told(&self) {
        #[cfg(feature = "dssp")]
        self.dssp.until_empty(self.limits.stop_time).await;
        #[cfg(not(feature = "dssp"))]
        std::future::ready(()).await;
    }

    /// Calls an operation, which this thread may carry out itself if it is brief.
    pub(crate) async fn call(
        &self,
        service: &AnyClient,
        name: &str,
        body: Value,
        mut options: Options,
    ) -> Result<Value, Fault> {
        let mut own = self.own_calls.as_ref();
        options.at_once = own.is_some();
        let mut answering = service.call_with(name, body, options);
        let looked = poll_fn(|cx| match own.take() {
            // The first look makes the call.
            Some(calls) => calls.run(|| answering.as_mut().poll(cx)),
            None => answering.as_mut().poll(cx),
        });
        self.wakes.wait(looked).await
    }
}

/// How many requests are answered now, and may be.
pub(crate) struct InFlight {
    most: usize,
    now: AtomicUsize,
}

/// A request that is answered until this is dropped.
pub(crate) struct InFlightPlace<'a>(&'a InFlight);

impl InFlight {
    pub(crate) fn new(most: usize) -> Self {
        InFlight {
            most,
            now: AtomicUsize::new(0),
        }
    }

    /// One more, if there is room. Nobody waits for it.
    pub(crate) fn enter(&self) -> Option<InFlightPlace<'_>> {
        let place = InFlightPlace(self);
        // Relaxed, here and below: it is a number, and nobody concludes anything else from it.
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        (before < self.most).then_some(place)
    }
}

impl Drop for InFlightPlace<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many() {
        let in_flight = InFlight::new(2);
        let [one, two] = [(); 2].map(|()| in_flight.enter());
        assert!(one.is_some() && two.is_some());
        assert!(in_flight.enter().is_none() && in_flight.enter().is_none());
        drop(one);
        let three = in_flight.enter();
        assert!(three.is_some() && in_flight.enter().is_none());
        drop((two, three));
        assert_eq!(in_flight.now.load(Ordering::Relaxed), 0);
        assert!(InFlight::new(0).enter().is_none());
    }
}
