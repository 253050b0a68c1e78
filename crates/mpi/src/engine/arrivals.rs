//! Messages that are matched, and come to be here in the order in which they were matched.

use crate::binding::{Comm, Matched, Request};
use crate::error::MpiError;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// All messages have one tag of MPI: only so does it keep their order.
pub(super) const TAG: i32 = 1;

/// So many looks in a row find nothing before all is taken in that a process has sent which is
/// gone: a library moves a part of what has come at each call, also what others have sent.
const LAST_LOOKS: u32 = 200;
/// For so long at most: one that is only taken for gone may go on sending.
const LAST_TIME: Duration = Duration::from_millis(500);

/// What has been matched and is not all here.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// By process: in order.
    arriving: Vec<VecDeque<Request>>,
    /// The processes whose messages are arriving.
    busy: Vec<usize>,
}

impl Arrivals {
    pub(super) fn new(processes: usize) -> Arrivals {
        Arrivals {
            arriving: (0..processes).map(|_| VecDeque::new()).collect(),
            busy: Vec::new(),
        }
    }

    /// Matches what has come and hands over what is here, about so much at most; how much it was.
    pub(super) fn take_in(
        &mut self,
        comm: &Comm,
        at_once: usize,
        mut hand: impl FnMut(usize, Request) -> Result<(), MpiError>,
    ) -> Result<usize, MpiError> {
        let (mut at, mut taken) = (0, 0);
        while let Some(&process) = self.busy.get(at) {
            taken += self.take_arrived(process, &mut hand)?;
            if self.arriving[process].is_empty() {
                self.busy.swap_remove(at);
            } else {
                at += 1;
            }
        }
        while taken < at_once {
            let Some(matched) = comm.improbe(TAG)? else {
                break;
            };
            taken += self.take(matched, &mut hand)?;
        }
        Ok(taken)
    }

    /// Hands over what is here from a process that will send nothing more: all, unless it takes
    /// longer than half a second. What cannot be received of it is lost with it.
    pub(super) fn take_last(
        &mut self,
        comm: &Comm,
        process: usize,
        mut hand: impl FnMut(usize, Request) -> Result<(), MpiError>,
    ) {
        let (begun, mut fruitless) = (Instant::now(), 0);
        while fruitless < LAST_LOOKS && begun.elapsed() < LAST_TIME {
            // An error may come from the loss of another one: what follows may be here all the
            // same.
            let found = self.take_next(comm, process, &mut hand).unwrap_or(false);
            fruitless = if found { 0 } else { fruitless + 1 };
        }
    }

    /// Hands over what is here from a process, up to the next message that is matched; whether
    /// there was something.
    fn take_next(
        &mut self,
        comm: &Comm,
        process: usize,
        hand: &mut impl FnMut(usize, Request) -> Result<(), MpiError>,
    ) -> Result<bool, MpiError> {
        let taken = self.take_arrived(process, hand)?;
        let Some(matched) = comm.improbe_from(process, TAG)? else {
            return Ok(taken > 0);
        };
        self.take(matched, hand)?;
        Ok(true)
    }

    /// What is arriving from a process that is gone never will.
    pub(super) fn forget(&mut self, process: usize) {
        self.arriving[process].clear();
        self.busy.retain(|&from| from != process);
    }

    /// Whether something is arriving.
    pub(super) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Begins to receive a message, and hands it over when it is here.
    fn take(
        &mut self,
        matched: Matched,
        hand: &mut impl FnMut(usize, Request) -> Result<(), MpiError>,
    ) -> Result<usize, MpiError> {
        let process = matched.source();
        let mut request = matched.receive()?;
        let first = self.arriving[process].is_empty();
        if first && request.test()?.is_some() {
            hand(process, request)?;
            return Ok(1);
        }
        if first {
            self.busy.push(process);
        }
        self.arriving[process].push_back(request);
        Ok(0)
    }

    /// Hands over the oldest messages of a process as far as they are here.
    fn take_arrived(
        &mut self,
        process: usize,
        hand: &mut impl FnMut(usize, Request) -> Result<(), MpiError>,
    ) -> Result<usize, MpiError> {
        let arriving = &mut self.arriving[process];
        let mut taken = 0;
        while let Some(mut first) = arriving.pop_front() {
            match first.test() {
                Ok(Some(_)) => hand(process, first)?,
                // One that has failed has ended: it holds nothing, and those behind it come next.
                Err(error) if !matches!(error, MpiError::WrongThread { .. }) => return Err(error),
                waits => {
                    arriving.push_front(first);
                    return waits.map(|_| taken);
                }
            }
            taken += 1;
        }
        Ok(taken)
    }
}
