//! One rank's part in a collective: it comes to the place with a value, and reads what the
//! ranks have made of all values.

use crate::any_cell::AnyCell;
use crate::collective_call::{Collective, CollectiveCall};
use crate::fabric::{CollectiveArrival, MeetingPoint, Operators, RankCall, TypedOperators};
use crate::pending::{PendingCall, PendingFuture, Whys};
use crate::profile::Called;
use crate::report::Why;
use crate::request::Request;
use crate::{CommError, Communicator, Value};
use std::sync::Arc;

/// A collective call of one rank.
pub(crate) struct CollectivePart<'c, V, C, F, R> {
    at: PartAtPlace<'c>,
    /// What this rank brings, until it has come.
    value: Option<V>,
    operators: TypedOperators<V, C, F>,
    read: Option<R>,
}

/// What of it is the same for all types.
struct PartAtPlace<'c> {
    comm: &'c Communicator,
    arrival: CollectiveArrival,
    /// What is wrong with the arguments: the rank then does not come at all.
    refused: Option<Box<CommError>>,
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
            at: PartAtPlace {
                comm,
                arrival: CollectiveArrival {
                    rank: comm.rank(),
                    number: 0,
                    call,
                },
                refused,
                place: comm.team().place().map_or(At::Nowhere, At::Own),
                came: false,
            },
            value,
            operators: TypedOperators::new(combine, finish),
            read: Some(read),
        }
    }

    /// Comes to the collective, if it has not; its number, unless that is not possible.
    pub(crate) fn begin(&mut self) -> Option<u32> {
        if !self.at.came
            && self.at.may_come()
            && let Some(value) = self.value.take()
        {
            self.at.come(AnyCell::with(value), &mut self.operators);
        }
        self.at.refused.is_none().then_some(self.at.arrival.number)
    }
}

impl PartAtPlace<'_> {
    /// Whether the rank is to come now, which it does once: not if that is not possible.
    fn may_come(&mut self) -> bool {
        self.came = true;
        if self.refused.is_some() {
            return false;
        }
        match &self.place {
            At::Nowhere => return false,
            At::Own(_) => match self.comm.enter_collective(self.arrival.call.name()) {
                Ok(number) => self.arrival.number = number,
                Err(refused) => {
                    self.refused = Some(Box::new(refused));
                    return false;
                }
            },
            At::Started(_) => self.arrival.number = 1,
        }
        true
    }

    /// Comes to the collective, with this.
    fn come(&self, value: AnyCell, operators: &mut dyn Operators) {
        if let Some(place) = self.place.get() {
            // SAFETY: a rank comes to its communicator's place only when it has read the last
            // total, as `enter_collective` says. It comes once to the place of a started
            // collective.
            self.wake(unsafe { place.arrive(&self.arrival, value, operators) });
        }
    }

    /// Whether the collective has taken place. It is taken further where it does not take place by
    /// itself.
    #[inline]
    fn has_taken_place(&self, operators: &mut dyn Operators) -> bool {
        let Some(place) = self.place.get() else {
            return false;
        };
        place.has_taken_place(&self.arrival)
            || match place {
                MeetingPoint::ProcessLevel(process_level) => {
                    self.wake(process_level.go_on(operators));
                    place.has_taken_place(&self.arrival)
                }
                MeetingPoint::Tree(_) | MeetingPoint::Port(_) => false,
            }
    }

    /// Shows the total of the collective, which has taken place.
    fn read(
        &self,
        operators: &mut dyn Operators,
        read: &mut dyn FnMut(&AnyCell),
    ) -> Option<Result<(), CommError>> {
        let place = self.place.get()?;
        // SAFETY: the collective has taken place, and this rank comes again only after it has left
        // it.
        let total = unsafe { place.read(&self.arrival, operators, read) };
        if let At::Own(_) = self.place {
            self.comm.leave_collective();
        }
        Some(total)
    }

    fn wake(&self, sleepers: Vec<usize>) {
        let fabric = self.comm.fabric();
        for rank in sleepers {
            fabric.wake_if_sleeping(self.comm.team().world_rank(rank));
        }
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

    /// The rank is to come to a place for this one collective, beside others.
    fn start(&mut self) {
        assert!(!self.came, "a collective that was polled cannot be started");
        if self.refused.is_none() && !matches!(self.place, At::Nowhere) {
            self.place = At::Started(self.comm.next_started_place());
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
        CollectiveCall::new(PendingFuture::new(self.at.comm.wait_site(), self))
    }

    fn started(mut self) -> Request<'c, T> {
        self.at.start();
        let (comm, call) = (self.at.comm, self.at.arrival.call);
        {
            let _entered = comm.entered(call.name(), call.location());
            self.begin();
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
        if let Some(refused) = self.at.refused.take() {
            return Some(Err(*refused));
        }
        if let At::Nowhere = self.at.place {
            let total = self.operators.alone(self.value.take()?);
            return Some(self.read.take()?(&total));
        }
        if !self.at.has_taken_place(&mut self.operators) {
            return None;
        }
        let (read, mut given) = (&mut self.read, None);
        let mut show = |total: &AnyCell| {
            let total = total.get().expect("all ranks read the same total");
            given = read.take().map(|read| read(total));
        };
        match self.at.read(&mut self.operators, &mut show)? {
            Ok(()) => given,
            Err(failed) => Some(Err(failed)),
        }
    }

    fn why(&self) -> Whys {
        self.at.why()
    }

    fn called(&self) -> Option<Called> {
        let call = &self.at.arrival.call;
        Some(Called::new(call.name(), call.location()))
    }
}
