//! Handlers that begin at once on the thread that asks, or not at all: no task waits for them.

use super::Floor;
use crate::arbiter::interleave::next::Next;
use crate::arbiter::interleave::state::Phase;
use crate::crowd::Begun;
use motet_sync::atomic::Ordering;
use motet_sync::spin_loop;

/// So often a caller looks again while another handler that began at once is alone: it ends soon.
const LOOKS: u32 = if cfg!(motet_loom) { 1 } else { 64 };

impl<N> Floor<N> {
    /// A concurrent handler begins, if nobody is alone or wants to be. It ends with
    /// [`Floor::leave`].
    pub(in crate::arbiter::interleave) fn try_enter(&self) -> Result<(), Next<N>> {
        // Counted as sent off, too: the end waits until as many have begun as were sent.
        if self.crowd.is_raised() || !self.crowd.lets_off() {
            return Err(Next::Nothing);
        }
        let counted = match self.crowd.begin_calmly() {
            Begun::Calm(_) => return Ok(()),
            Begun::Counted => true,
            Begun::Not => false,
        };
        if !counted && self.crowd.begin() {
            self.look_whether_calm();
        }
        if !self.crowd.is_raised() {
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.phase == Phase::Open {
            // Whoever takes the floor next sees that this one has begun.
            return Ok(());
        }
        self.crowd.take_back();
        self.crowd.take_back_sent();
        // Someone may have counted this one, and waits for it.
        Err(self.hand_over(&mut state))
    }

    /// An exclusive handler begins, if nothing runs and nothing waits. It ends with
    /// [`Floor::end_brief`].
    pub(in crate::arbiter::interleave) fn try_take(&self) -> bool {
        for _ in 0..LOOKS {
            if !self.crowd.is_raised() && self.try_take_open() {
                return true;
            }
            if !self.brief.load(Ordering::Relaxed) {
                break;
            }
            spin_loop();
        }
        false
    }

    fn try_take_open(&self) -> bool {
        let mut state = self.state.lock();
        if state.phase != Phase::Open || self.crowd.is_closing() {
            return false;
        }
        state.stirred = true;
        // Relaxed, here and elsewhere: it decides only how long a caller looks. It is set before
        // the word is raised and reset after it is lowered, so that those who look stay.
        self.brief.store(true, Ordering::Relaxed);
        self.crowd.raise();
        if self.anyone_runs() {
            // Who has begun meanwhile waits for the lock, and finds the floor open.
            self.crowd.lower();
            self.brief.store(false, Ordering::Relaxed);
            return false;
        }
        state.phase = Phase::Taken;
        true
    }

    /// An exclusive handler that began at once has ended.
    pub(in crate::arbiter::interleave) fn end_brief(&self) -> Next<N> {
        let mut state = self.state.lock();
        let nobody_waits = state.exclusive.is_empty() && state.held.is_empty();
        let next = if !nobody_waits || state.teardown.is_some() || state.off {
            self.decide(&mut state)
        } else {
            state.phase = Phase::Open;
            self.crowd.lower();
            Next::Nothing
        };
        self.brief.store(false, Ordering::Relaxed);
        next
    }
}
