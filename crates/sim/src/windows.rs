//! Windows: all ranks handle what cannot be disturbed any more, exchange what they have scheduled,
//! and go on.
//!
//! Nothing that is scheduled from now on takes place before the least next event of all ranks plus
//! the lookahead. What lies before that is handled by each rank on its own. One exchange brings the
//! events, and each rank's next time.

use crate::event::KeyedEvent;
use crate::ladder_queue::LadderQueue;
use crate::rules::Rules;
use crate::saved::{RankEnd, RankStart};
use crate::sequential::Handling;
use crate::share::ProcessLayout;
use crate::{Logical, ModelError, SimError, Time};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};

/// What a rank has for another at the end of a window.
#[derive(Serialize, Deserialize)]
struct WindowMessage<E> {
    /// When the next event of the sender takes place, here or there.
    next: Option<Time>,
    events: Vec<KeyedEvent<E>>,
    failed: Option<ModelError>,
}

pub(crate) async fn run<P: Logical>(
    comm: &Communicator,
    rules: &Rules,
    begin: RankStart<P>,
) -> Result<RankEnd<P>, SimError> {
    let (lookahead, link) = rules.least_lookahead();
    if lookahead == 0 {
        return Err(ModelError::NoLookahead { link }.into());
    }
    let layout = ProcessLayout::new(rules.processes, comm.size());
    let (mut handling, mut done) = (Handling::new(rules, begin.share), begin.done);
    let mut outbox = Outbox::new(comm, layout);
    for event in begin.sent {
        outbox.keep(&mut handling.pending, event);
    }
    loop {
        let own = handling.pending.peek().map(|event| event.key.time);
        let Some(next) = outbox.exchange(&mut handling, own, done).await? else {
            break;
        };
        if next >= rules.stop {
            break;
        }
        // A rank alone is disturbed by nobody.
        let end = match comm.size() {
            1 => rules.stop,
            _ => next.saturating_add(lookahead).min(rules.stop),
        };
        done = handling.before(end, |pending, event| outbox.keep(pending, event));
    }
    handling.ended(comm).await
}

/// What a rank has scheduled for each rank.
struct Outbox<'c, E> {
    comm: &'c Communicator,
    layout: ProcessLayout,
    events: Vec<Vec<KeyedEvent<E>>>,
    /// When the first of them takes place.
    next: Option<Time>,
}

impl<'c, E: motet_comm::Value> Outbox<'c, E> {
    fn new(comm: &'c Communicator, layout: ProcessLayout) -> Self {
        let mut events = Vec::new();
        events.resize_with(comm.size(), Vec::new);
        Outbox {
            comm,
            layout,
            events,
            next: None,
        }
    }

    #[inline]
    fn keep(&mut self, pending: &mut LadderQueue<KeyedEvent<E>>, event: KeyedEvent<E>) {
        let rank = self.layout.rank_of(event.key.to as usize);
        if rank == self.comm.rank() {
            pending.push(event);
        } else {
            let time = event.key.time;
            self.next = Some(self.next.map_or(time, |next| next.min(time)));
            self.events[rank].push(event);
        }
    }

    /// Gives each rank what it is to handle; when the next event of all takes place, if there is
    /// one.
    async fn exchange<P: Logical<Event = E>>(
        &mut self,
        handling: &mut Handling<'_, P>,
        own: Option<Time>,
        done: Result<(), ModelError>,
    ) -> Result<Option<Time>, SimError> {
        let next = self.next.take().into_iter().chain(own).min();
        let failed = done.err();
        let parcel = |events| WindowMessage {
            next,
            events,
            failed: failed.clone(),
        };
        let parcels: Vec<WindowMessage<E>> = self
            .events
            .iter_mut()
            .map(std::mem::take)
            .map(parcel)
            .collect();
        handling.report.sent += parcels
            .iter()
            .map(|parcel| parcel.events.len() as u64)
            .sum::<u64>();
        handling.report.rounds += 1;
        let mut least = None;
        for parcel in self.comm.alltoall(parcels).await? {
            // The first rank's failure is everybody's.
            if let Some(failed) = parcel.failed {
                return Err(failed.into());
            }
            least = least.into_iter().chain(parcel.next).min();
            handling.pending.extend(parcel.events);
        }
        Ok(least)
    }
}
