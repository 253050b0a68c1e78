//! Handlers that begin at once on the thread that asks, or not at all: no task waits for them.

use super::Exclusion;
use crate::arbiter::interleave::next::Next;
use crate::arbiter::interleave::state::Phase;
use crate::readers::Begun;
use motet_sync::atomic::Ordering;
use motet_sync::spin_for;
use std::time::Duration;

/// So often a caller looks while another handler that began at once is alone: it ends soon. Each
/// look finds another one alone about every second time, and to be posted takes longer.
const LOOKS: u32 = if cfg!(motet_loom) { 1 } else { 8 };

/// Between two looks. Threads that take turns with every handler spend their time on bringing cache
/// lines; who waits so long lets the other run a dozen.
const PAUSE: Duration = Duration::from_micros(2);

/// What has come of a caller that wants to be alone.
enum Taken {
    Yes,
    /// Another one is alone.
    Held,
    /// Concurrent handlers run, or the end has been claimed.
    No,
}

impl<N> Exclusion<N> {
    /// A concurrent handler begins, if nobody is alone or wants to be. It ends with
    /// [`Exclusion::leave`].
    pub(in crate::arbiter::interleave) fn try_enter(&self) -> Result<(), Next<N>> {
        // Counted as sent off, too: the end waits until as many have begun as were sent.
        if self.readers.writer_waits() || !self.readers.send_if_open() {
            return Err(Next::Nothing);
        }
        let counted = match self.readers.begin_biased() {
            Begun::Biased(_) => return Ok(()),
            Begun::Counted => true,
            Begun::Not => false,
        };
        if !counted && self.readers.begin() {
            self.look_whether_to_bias();
        }
        if !self.readers.writer_waits() {
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.phase == Phase::Open {
            // Whoever takes the exclusion next sees that this one has begun.
            return Ok(());
        }
        self.readers.take_back();
        self.readers.take_back_sent();
        // Someone may have counted this one, and waits for it.
        Err(self.pass_to_turn(&mut state))
    }

    /// An exclusive handler begins, if nothing runs and nothing waits. It ends with
    /// [`Exclusion::end_at_once`].
    pub(in crate::arbiter::interleave) fn try_take(&self) -> bool {
        for look in 0..LOOKS {
            if !self.readers.writer_waits() {
                match self.try_take_open() {
                    Taken::Yes => return true,
                    Taken::Held => {}
                    Taken::No => return false,
                }
            } else if !self.at_once.load(Ordering::Relaxed) && self.readers.writer_waits() {
                // It has not ended between the two looks: it was posted.
                return false;
            }
            if look + 1 < LOOKS {
                spin_for(PAUSE);
            }
        }
        false
    }

    fn try_take_open(&self) -> Taken {
        let mut state = self.state.lock();
        if self.readers.is_closing() {
            return Taken::No;
        }
        if state.phase != Phase::Open {
            return Taken::Held;
        }
        state.had_writer = true;
        // Relaxed, here and elsewhere: it decides only how long a caller looks. It is set before
        // readers are stopped and reset after they are admitted, so that those who look stay.
        self.at_once.store(true, Ordering::Relaxed);
        self.readers.stop_readers();
        if self.anyone_runs() {
            // Who has begun meanwhile waits for the lock, and finds the exclusion open.
            self.readers.admit_readers();
            self.at_once.store(false, Ordering::Relaxed);
            return Taken::No;
        }
        state.phase = Phase::Taken;
        Taken::Yes
    }

    /// An exclusive handler that began at once has ended.
    pub(in crate::arbiter::interleave) fn end_at_once(&self) -> Next<N> {
        let mut state = self.state.lock();
        let nobody_waits = state.exclusive.is_empty() && state.held.is_empty();
        let next = if !nobody_waits || state.teardown.is_some() || state.off {
            self.decide(&mut state)
        } else {
            state.phase = Phase::Open;
            self.readers.admit_readers();
            Next::Nothing
        };
        self.at_once.store(false, Ordering::Relaxed);
        next
    }
}
