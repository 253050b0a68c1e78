//! What the ranks here have brought goes to the other processes.

use super::part;
use super::runs::WatchedRuns;
use super::{Between, ProcessLevel};
use crate::CommError;
use crate::fabric::call::RankCall;
use crate::fabric::operators::ValueKind;
use crate::fabric::processes::{Crossing, DirectCrossing, OwnPart};
use std::sync::Arc;

impl ProcessLevel {
    /// All ranks here have come to collective `number`, and this is what they bring, or why they
    /// cannot go on.
    pub(super) fn cross(
        &self,
        (call, kind): (RankCall, &ValueKind),
        mut mine: Result<WatchedRuns, Box<CommError>>,
        number: u32,
    ) {
        let mut bytes = self.spare_bytes();
        let called = (call, mine.is_ok());
        // Writing runs the program's code: under no lock.
        let begun = part::begin(&mut mine, kind, &mut bytes, !self.route.passes_on());
        let mut between = self.between.lock();
        let first = self.send_first(&mut between.calls, called, number, (begun, bytes));
        between.mine = Some(mine);
        self.begin_crossing(&mut between, number, first);
    }

    fn spare_bytes(&self) -> Vec<u8> {
        self.between.lock().spare.pop().unwrap_or_default()
    }

    /// The number by which a collective goes between processes: the one collective of a started
    /// place goes by the place's.
    pub(super) fn crossing_number(&self, number: u32) -> u32 {
        self.site.started.unwrap_or(number)
    }

    /// What the ranks here have brought is kept, and its part has been sent.
    #[inline(never)]
    fn begin_crossing(&self, between: &mut Between, number: u32, first: OwnPart) {
        let crossing = self.crossing();
        let at = (self.site, self.crossing_number(number));
        between.under_way = Some(at.1);
        if self.looks_itself() {
            between.direct = Some(DirectCrossing::new(first));
        } else {
            self.processes
                .begin_crossing(at, (crossing, &self.route), first, &mut between.spare);
        }
    }

    pub(super) fn crossing(&self) -> &Arc<Crossing> {
        let crossings = &self.processes.crossings;
        self.crossing.get_or_init(|| crossings.of(self.site))
    }

    /// The rank here looks no more, if it has: the crossing is to wait.
    pub(super) fn look_no_more(&self) {
        let mut between = self.between.lock();
        let Between {
            under_way,
            direct,
            spare,
            ..
        } = &mut *between;
        if let (Some(direct), Some(number), Some(crossing)) =
            (direct.take(), *under_way, self.crossing.get())
        {
            let at = (self.site, number);
            let first = direct.into_first();
            self.processes
                .begin_crossing(at, (crossing, &self.route), first, spare);
        }
    }
}
