//! One exchange of one rank with its neighbours.

use super::Neighbourhood;
use crate::collective_call::{Collective, CollectiveCall};
use crate::envelope::MessageKind;
use crate::fabric::PostedReceive;
use crate::pending::{PendingCall, PendingFuture, ReadyOutcome, Whys};
use crate::point_to_point::{Receiving, Use};
use crate::profile::Called;
use crate::report::{WaitOperation, Why};
use crate::request::Request;
use crate::{CommError, Value};
use std::panic::Location;

/// One exchange of one rank.
pub(super) struct SliceExchange<'c, T, P: Receive<T>, G> {
    of: &'c Neighbourhood,
    name: &'static str,
    location: &'static Location<'static>,
    /// Until they are sent.
    values: Option<Result<Vec<T>, CommError>>,
    /// One per source; `None` when it has ended, or nobody is there.
    receives: Vec<Option<P>>,
    came: Vec<Option<T>>,
    give: Option<G>,
    /// The values have been sent, and not all have come.
    begun: bool,
    /// Takes place also if nobody waits for it.
    started: bool,
}

impl<'c, T, P, G> SliceExchange<'c, T, P, G>
where
    T: Value,
    P: Receive<T>,
{
    /// Not begun yet. `call` is the name of the call and where it was made; `give` makes its
    /// result.
    pub(super) fn new(
        of: &'c Neighbourhood,
        call: (&'static str, &'static Location<'static>),
        values: Result<Vec<T>, CommError>,
        receives: Vec<Option<P>>,
        give: G,
    ) -> Self {
        SliceExchange {
            of,
            name: call.0,
            location: call.1,
            values: Some(values),
            came: receives.iter().map(|_| None).collect(),
            receives,
            give: Some(give),
            begun: false,
            started: false,
        }
    }

    /// Sends the values.
    fn begin(&mut self, values: Result<Vec<T>, CommError>) -> Result<(), CommError> {
        let Neighbourhood { comm, edges, .. } = self.of;
        if self.of.out_of_step.get() {
            let operation = self.name;
            return Err(CommError::OutOfStep { operation });
        }
        let values = values?;
        let waits = |ticket: &mut PostedReceive| comm.fabric().collect(ticket).is_none();
        self.of.left.borrow_mut().retain_mut(waits);
        if values.len() != edges.destinations.len() {
            let (name, given, asked) = (self.name, values.len(), edges.destinations.len());
            let problem = format!("{name} of {given} values among {asked} neighbours");
            return Err(CommError::Arguments { problem });
        }
        self.begun = true;
        for (&(dest, tag), value) in edges.destinations.iter().zip(values) {
            let kind = MessageKind::Neighbourhood;
            comm.send_in(kind, dest.into(), tag, value, self.location)?;
        }
        Ok(())
    }
}

impl<T, P: Receive<T>, G> SliceExchange<'_, T, P, G> {
    /// An exchange that has sent something and fails leaves this rank out of step. What it has not
    /// received would be taken for values of the next one.
    #[cold]
    fn fail(&mut self, error: CommError) -> CommError {
        if std::mem::take(&mut self.begun) {
            self.of.out_of_step.set(true);
            self.leave();
        }
        error
    }

    /// What the neighbours send in this exchange comes all the same.
    fn leave(&mut self) {
        let receives = self.receives.iter_mut().flatten();
        let tickets = receives.filter_map(Receive::leave);
        self.of.left.borrow_mut().extend(tickets);
    }
}

impl<T, P, G, R> PendingCall for SliceExchange<'_, T, P, G>
where
    T: Value,
    P: Receive<T>,
    G: FnOnce(Vec<Option<T>>) -> Result<R, CommError>,
{
    type Output = Result<R, CommError>;

    fn look(&mut self) -> Option<Result<R, CommError>> {
        if let Some(values) = self.values.take()
            && let Err(refused) = self.begin(values)
        {
            return Some(Err(self.fail(refused)));
        }
        let mut all = true;
        for (place, came) in self.receives.iter_mut().zip(&mut self.came) {
            let Some(receive) = place else { continue };
            match receive.look() {
                None => all = false,
                Some(Err(error)) => return Some(Err(self.fail(error))),
                Some(Ok(value)) => {
                    *came = Some(value);
                    *place = None;
                }
            }
        }
        if !all {
            return None;
        }
        self.begun = false;
        Some(self.give.take()?(std::mem::take(&mut self.came)))
    }

    fn why(&self) -> Whys {
        let (name, root) = (self.name, None);
        let why = self
            .of
            .waits_in(WaitOperation::Collective { name, root }, self.location);
        let missing = self.receives.iter().flatten();
        vec![Why {
            peers: Some(missing.filter_map(Receive::source).collect()),
            ..why
        }]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new(self.name, self.location))
    }
}

impl<'c, T, P, G, R: 'c> Collective<'c, R> for SliceExchange<'c, T, P, G>
where
    T: Value,
    P: Receive<T> + 'c,
    G: FnOnce(Vec<Option<T>>) -> Result<R, CommError> + 'c,
{
    fn now(self) -> CollectiveCall<PendingFuture<'c, Self>> {
        CollectiveCall::new(PendingFuture::new(self.of.comm.wait_site(), self))
    }

    fn started(mut self) -> Request<'c, R> {
        let comm = &self.of.comm;
        self.started = true;
        let looked = {
            let _entered = comm.entered(self.name, self.location);
            self.look()
        };
        match looked {
            Some(outcome) => Request::new(comm.wait_site(), ReadyOutcome(Some(outcome))),
            None => Request::new(comm.wait_site(), self),
        }
    }
}

impl<T, P: Receive<T>, G> Drop for SliceExchange<'_, T, P, G> {
    fn drop(&mut self) {
        if self.begun {
            self.leave();
            if !self.started {
                self.of.out_of_step.set(true);
            }
        }
    }
}

/// A receive of a `T`.
pub(super) trait Receive<T>: PendingCall<Output = Result<T, CommError>> {
    /// Nobody waits for it any more; what has been posted.
    fn leave(&mut self) -> Option<PostedReceive>;

    /// Who is to send.
    fn source(&self) -> Option<usize>;
}

impl<T, U> Receive<T> for Receiving<'_, U>
where
    U: Use<Output = T>,
{
    fn leave(&mut self) -> Option<PostedReceive> {
        Receiving::leave(self)
    }

    fn source(&self) -> Option<usize> {
        Receiving::source(self)
    }
}
