//! One rank's part in a collective: it comes to the place with a value, and reads what the
//! ranks have made of all values.

use crate::collective_call::{Collective, CollectiveCall};
use crate::fabric::{CollectiveArrival, CollectiveOperators, MeetingPoint, RankCall};
use crate::pending::{PendingCall, PendingFuture, Whys};
use crate::profile::Called;
use crate::report::Why;
use crate::request::Request;
use crate::{CommError, Communicator, Value};
use std::sync::Arc;

/// A collective call of one rank.
pub(crate) struct CollectivePart<'c, V, C, F, R> {
    comm: &'c Communicator,
    arrival: CollectiveArrival,
    /// What is wrong with the arguments: the rank then does not come at all.
    refused: Option<Box<CommError>>,
    /// What this rank brings, until it has come.
    value: Option<V>,
    operators: CollectiveOperators<C, F>,
    read: Option<R>,
    place: At<'c>,
    came: bool,
}

/// Where the ranks meet.
enum At<'c> {
    /// The rank is alone.
    Nowhere,
    /// At the communicator's own place, one collective after the other.
    Own(&'c MeetingPoint),
    /// At a place for this one collective, which was started beside others.
    Started(Arc<MeetingPoint>),
}

impl<'c, V, S, T, C, F, R> CollectivePart<'c, V, C, F, R>
where
    V: Value,
    S: Send + Sync + 'static,
    C: Fn(V, V) -> V,
    F: FnOnce(V) -> S,
    R: FnOnce(&S) -> Result<T, CommError>,
{
    /// A call in which each rank brings a value. The values are combined in rank order, `finish`
    /// makes the total of the combined value on one rank, and each rank reads it.
    pub(crate) fn new(
        comm: &'c Communicator,
        call: RankCall,
        value: Result<V, CommError>,
        combine: C,
        finish: F,
        read: R,
    ) -> Self {
        let (value, refused) = match value {
            Ok(value) => (Some(value), None),
            Err(refused) => (None, Some(Box::new(refused))),
        };
        CollectivePart {
            comm,
            arrival: CollectiveArrival {
                rank: comm.rank(),
                number: 0,
                call,
            },
            refused,
            value,
            operators: CollectiveOperators {
                combine,
                finish: Some(finish),
            },
            read: Some(read),
            place: comm.team().place().map_or(At::Nowhere, At::Own),
            came: false,
        }
    }

    /// Comes to the collective, if it has not; its number, unless that is not possible.
    pub(crate) fn begin(&mut self) -> Option<u32> {
        self.begin_with(|value| value)
    }

    /// The same, with a value that is made of the one that was to be brought when it is certain
    /// that the rank comes.
    pub(crate) fn begin_with(&mut self, bring: impl FnOnce(V) -> V) -> Option<u32> {
        if !self.came {
            self.come(bring);
        }
        self.refused.is_none().then_some(self.arrival.number)
    }

    /// Comes to the collective, unless that is not possible.
    fn come(&mut self, bring: impl FnOnce(V) -> V) {
        self.came = true;
        if self.refused.is_some() {
            return;
        }
        match &self.place {
            At::Nowhere => return,
            At::Own(_) => match self.comm.enter_collective(self.arrival.call.name()) {
                Ok(number) => self.arrival.number = number,
                Err(refused) => {
                    self.refused = Some(Box::new(refused));
                    return;
                }
            },
            At::Started(_) => self.arrival.number = 1,
        }
        let (Some(place), Some(value)) = (self.place.get(), self.value.take()) else {
            return;
        };
        let value = bring(value);
        let (arrival, operators) = (&self.arrival, &mut self.operators);
        let sleepers = match place {
            MeetingPoint::ProcessLevel(process_level) => {
                // SAFETY: as below.
                unsafe { process_level.arrive(arrival, value, &operators.combine) };
                Vec::new()
            }
            // SAFETY: a rank comes to its communicator's place only when it has read the last
            // total, as `enter_collective` says. It comes once to the place of a started
            // collective.
            place => unsafe { place.arrive(arrival, value, operators) },
        };
        self.wake(sleepers);
    }

    /// Takes the collective further where it does not take place by itself.
    #[inline]
    fn go_on(&mut self) {
        if let Some(MeetingPoint::ProcessLevel(process_level)) = self.place.get() {
            let CollectiveOperators { combine, finish } = &mut self.operators;
            let mut finish = |value| {
                let finish = finish.take();
                finish.expect("a collective is published once")(value)
            };
            let sleepers = process_level.go_on(&*combine, &mut finish);
            self.wake(sleepers);
        }
    }

    fn wake(&self, sleepers: Vec<usize>) {
        let fabric = self.comm.fabric();
        for rank in sleepers {
            fabric.wake_if_sleeping(self.comm.team().world_rank(rank));
        }
    }
}

impl<'c, V, S, T, C, F, R> Collective<'c, T> for CollectivePart<'c, V, C, F, R>
where
    T: 'c,
    V: Value,
    S: Send + Sync + 'static,
    C: Fn(V, V) -> V + 'c,
    F: FnOnce(V) -> S + 'c,
    R: FnOnce(&S) -> Result<T, CommError> + 'c,
{
    #[inline]
    fn now(self) -> CollectiveCall<PendingFuture<'c, Self>> {
        CollectiveCall::new(PendingFuture::new(self.comm.wait_site(), self))
    }

    fn started(mut self) -> Request<'c, T> {
        assert!(!self.came, "a collective that was polled cannot be started");
        let comm = self.comm;
        if self.refused.is_none() && !matches!(self.place, At::Nowhere) {
            self.place = At::Started(comm.next_started_place());
        }
        {
            let _entered = comm.entered(self.arrival.call.name(), self.arrival.call.location());
            self.come(|value| value);
        }
        Request::new(comm.wait_site(), self)
    }
}

impl At<'_> {
    #[inline]
    fn get(&self) -> Option<&MeetingPoint> {
        match self {
            At::Nowhere => None,
            At::Own(place) => Some(place),
            At::Started(place) => Some(place),
        }
    }
}

impl<V, S, T, C, F, R> PendingCall for CollectivePart<'_, V, C, F, R>
where
    V: Value,
    S: Send + Sync + 'static,
    C: Fn(V, V) -> V,
    F: FnOnce(V) -> S,
    R: FnOnce(&S) -> Result<T, CommError>,
{
    type Output = Result<T, CommError>;

    #[inline]
    fn look(&mut self) -> Option<Result<T, CommError>> {
        self.begin();
        if let Some(refused) = self.refused.take() {
            return Some(Err(*refused));
        }
        let Some(place) = self.place.get() else {
            let (value, finish) = (self.value.take()?, self.operators.finish.take()?);
            return Some(self.read.take()?(&finish(value)));
        };
        if !place.has_taken_place(&self.arrival) {
            self.go_on();
            if !self.place.get()?.has_taken_place(&self.arrival) {
                return None;
            }
        }
        let place = self.place.get()?;
        let read = self.read.take()?;
        // SAFETY: the collective has taken place, and this rank comes again only after it has left
        // it.
        let total = unsafe { place.read(&self.arrival, &mut self.operators, read) };
        if let At::Own(_) = self.place {
            self.comm.leave_collective();
        }
        Some(total.and_then(|total| total))
    }

    fn why(&self) -> Whys {
        if let Some(place) = self.place.get() {
            place.add_sleeper(self.comm.rank());
        }
        let (call, started) = (&self.arrival.call, matches!(self.place, At::Started(_)));
        let operation = match started {
            true => call.started_operation(),
            false => call.operation(),
        };
        let why = self.comm.waits_in(operation, call.location());
        vec![Why { started, ..why }]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new(
            self.arrival.call.name(),
            self.arrival.call.location(),
        ))
    }
}
