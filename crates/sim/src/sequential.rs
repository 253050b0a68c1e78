//! One rank handles all events, one after the other.

use crate::event::KeyedEvent;
use crate::ladder_queue::LadderQueue;
use crate::outcome::Report;
use crate::rules::Rules;
use crate::saved::{RankEnd, RankStart};
use crate::share::Share;
use crate::{Logical, ModelError, Reversible, SimError, Time};
use motet_comm::Communicator;

/// What waits on a rank, the processes that handle it, and what they have done.
pub(crate) struct Handling<'r, P: Logical> {
    pub(crate) rules: &'r Rules,
    pub(crate) share: Share<P>,
    pub(crate) pending: LadderQueue<KeyedEvent<P::Event>>,
    pub(crate) report: Report,
    pub(crate) trace: Vec<crate::EventKey>,
    /// What the last handler has scheduled.
    pub(crate) sent: Vec<KeyedEvent<P::Event>>,
}

pub(crate) async fn run<P: Logical>(
    comm: &Communicator,
    rules: &Rules,
    begin: RankStart<P>,
) -> Result<RankEnd<P>, SimError> {
    let mut handling = Handling::new(rules, begin.share);
    handling.pending.extend(begin.sent);
    let handle_all = |()| handling.before(rules.stop, |pending, event| pending.push(event));
    let done = begin.done.and_then(handle_all);
    // Rank 0 has all that can fail.
    comm.broadcast(0, (comm.rank() == 0).then_some(done))
        .await??;
    handling.ended(comm).await
}

impl<'r, P: Logical> Handling<'r, P> {
    pub(crate) fn new(rules: &'r Rules, share: Share<P>) -> Self {
        Handling {
            rules,
            share,
            pending: LadderQueue::default(),
            report: Report::default(),
            trace: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Handles what waits and takes place before `end`; `keep` gets what is scheduled.
    pub(crate) fn before(
        &mut self,
        end: Time,
        mut keep: impl FnMut(&mut LadderQueue<KeyedEvent<P::Event>>, KeyedEvent<P::Event>),
    ) -> Result<(), ModelError> {
        while let Some(event) = self.pending.pop_before(end) {
            let key = event.key;
            self.share.handle(self.rules, event, &mut self.sent)?;
            self.report.committed += 1;
            if self.rules.trace {
                self.trace.push(key);
            }
            for event in self.sent.drain(..) {
                keep(&mut self.pending, event);
            }
            self.check(key.time)?;
        }
        Ok(())
    }

    #[inline]
    fn check(&self, time: Time) -> Result<(), ModelError> {
        if self.report.committed > self.rules.most_events {
            let most = self.rules.most_events;
            return Err(ModelError::TooManyEvents { most, time });
        }
        let pending = self.pending.len();
        if pending > self.rules.most_pending {
            return Err(ModelError::TooManyPending { pending, time });
        }
        Ok(())
    }

    pub(crate) async fn ended(self, comm: &Communicator) -> Result<RankEnd<P>, SimError> {
        Ok(RankEnd {
            report: self.report.of_all(comm).await?,
            share: self.share,
            pending: self.pending.into_vec(),
            trace: self.trace,
        })
    }
}

/// Handles all events; each handler is undone once, and its process compared.
///
/// # Errors
/// The first process that differs.
pub(crate) fn check_undo<P: Reversible + Clone + PartialEq>(
    rules: &Rules,
    make: impl Fn(usize) -> P,
) -> Result<(), ModelError> {
    let mut handling = Handling::new(rules, Share::new(0..rules.processes, make));
    handling.share.start(rules, &mut handling.sent)?;
    handling.pending.extend(handling.sent.drain(..));
    while let Some(event) = handling.pending.pop() {
        let (key, number) = (event.key, event.key.to as usize);
        let process = &mut handling.share.processes[number];
        let before = process.clone();
        let body = event.body.clone();
        let (undo, _) = process.act(rules, &key, &mut handling.sent, |state, out| {
            state.handle_reversibly(key.time, body, out)
        });
        process.state.undo(undo);
        if process.state != before.state {
            return Err(ModelError::NotUndone {
                process: number,
                time: key.time,
            });
        }
        *process = before;
        handling.sent.clear();
        handling.pending.push(event);
        // The event that was just undone is the next again; what it schedules comes after it.
        let again = handling.pending.pop();
        if let Some(event) = again {
            handling.share.handle(rules, event, &mut handling.sent)?;
            handling.pending.extend(handling.sent.drain(..));
            handling.report.committed += 1;
            handling.check(key.time)?;
        }
    }
    Ok(())
}
