//! The short way of a process that exchanges once with another in a crossing, where one rank waits
//! for it. That rank reads what the other process brings where it lies.
//!
//! ```text
//!  transport ── read_next ──► the rank that waits
//!      └─────── progress ───► crossing ──► the same, if somebody else has taken it in before
//! ```
//!
//! Where the rank goes to sleep, or leaves, the crossing waits for it, as it does for several.

use super::{
    Crossing, CrossingSite, OwnPart, ProcessPart, ProcessParts, Route, RunProcesses, read_parts,
    take_early,
};
use motet_sync::atomic::Ordering;

/// What a rank has brought to a collective, and how often it has looked for what the other process
/// brings.
pub(crate) struct DirectCrossing {
    first: OwnPart,
    looks: u32,
}

/// In so many looks, of which the first is one, everything else is looked for once.
const LOOKS: u32 = 4;

impl DirectCrossing {
    pub(crate) fn new(first: OwnPart) -> Self {
        DirectCrossing { first, looks: 0 }
    }

    /// Whether after this look everything else is to be looked for.
    pub(crate) fn is_due(&self) -> bool {
        self.looks % LOOKS == 1
    }

    /// For a crossing that is to wait.
    pub(crate) fn into_first(self) -> OwnPart {
        self.first
    }
}

impl RunProcesses {
    /// The parts of all processes that come to collective `number` of a site, in their order, once
    /// they are here. `spare` has memory for what comes.
    #[inline]
    pub(crate) fn look_for_parts(
        &self,
        (site, number): (CrossingSite, u32),
        (crossing, route): (&Crossing, &Route),
        direct: &mut DirectCrossing,
        spare: &mut Vec<Vec<u8>>,
    ) -> Option<ProcessParts> {
        let step = route.exchange()?;
        let header = self.crossing_header(site, (number, step.tag));
        let mut came = spare.pop().unwrap_or_default();
        // It comes once: no other message has this header.
        let mut read = |block: &[u8], _| came.extend_from_slice(block);
        let parts = if self
            .transport
            .read_next(step.process, &header, &mut || true, &mut read)
        {
            self.received.fetch_add(1, Ordering::Release);
            let parts = read_parts(came);
            if parts.is_none() {
                self.strange(step.process);
            }
            parts
        } else {
            spare.push(came);
            let looks = direct.looks;
            direct.looks = looks.wrapping_add(1);
            // Before everything else is looked for, and after.
            if looks % LOOKS > 1 {
                return None;
            }
            take_early(&mut crossing.state().early, number, step)
        };
        let mut parts = parts?;
        let bytes = std::mem::take(&mut direct.first.part.bytes);
        let process = self.own();
        parts.push(ProcessPart { process, bytes });
        parts.sort_unstable_by_key(|part| part.process);
        Some(parts)
    }
}
