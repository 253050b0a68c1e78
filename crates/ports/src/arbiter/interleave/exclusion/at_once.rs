//! Handlers that begin at once on the thread that asks, or not at all: no task waits for them.

use super::Exclusion;
use crate::arbiter::interleave::next::Next;
use crate::arbiter::interleave::state::Phase;
use crate::readers::Begun;
use motet_sync::spin_for;
use std::time::Duration;

/// So often a caller looks while another handler that began at once is alone: it ends soon. Each
/// look finds another one alone about every second time, and to be posted takes longer.
const LOOKS: u32 = if cfg!(motet_loom) { 1 } else { 8 };

/// Between two looks. Threads that take turns with every handler spend their time on bringing cache
/// lines; who waits so long lets the other run a dozen.
const PAUSE: Duration = Duration::from_micros(2);

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
        if self.is_open(&mut state) {
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
    ///
    /// # Errors
    /// It does not begin; who else may.
    #[inline]
    pub(in crate::arbiter::interleave) fn try_take(&self) -> Result<(), Next<N>> {
        match self.readers.try_alone() {
            Ok(()) => self.take_alone(),
            Err(true) => self.try_take_soon(),
            Err(false) => Err(Next::Nothing),
        }
    }

    /// Another one that began at once is alone.
    #[cold]
    fn try_take_soon(&self) -> Result<(), Next<N>> {
        for _ in 1..LOOKS {
            spin_for(PAUSE);
            match self.readers.try_alone() {
                Ok(()) => return self.take_alone(),
                Err(true) => {}
                Err(false) => break,
            }
        }
        Err(Next::Nothing)
    }

    /// Nobody may begin any more: whether nothing runs, and the end has not been claimed.
    #[inline]
    fn take_alone(&self) -> Result<(), Next<N>> {
        self.note_writer();
        match self.readers.is_closing() || self.anyone_runs() {
            // Who has begun meanwhile waits for the lock.
            true => Err(self.end_at_once()),
            false => Ok(()),
        }
    }

    /// An exclusive handler that began at once has ended.
    #[inline]
    pub(in crate::arbiter::interleave) fn end_at_once(&self) -> Next<N> {
        match self.readers.end_alone() {
            true => Next::Nothing,
            false => self.pass_on_alone(),
        }
    }

    /// An exclusive handler that began at once goes on elsewhere: it holds the exclusion from here
    /// on as an async one does, and ends with [`Exclusion::pass_on`].
    pub(in crate::arbiter::interleave) fn stay_alone(&self, name: &'static str) {
        let mut state = self.state.lock();
        // It is, already, if somebody has come meanwhile.
        state.phase = Phase::Taken;
        state.async_holder = Some(name);
        self.readers.ended_alone();
    }

    /// Somebody has come meanwhile, and has made the exclusion taken.
    #[cold]
    fn pass_on_alone(&self) -> Next<N> {
        let mut state = self.state.lock();
        self.readers.ended_alone();
        let waits = !state.exclusive.is_empty() && state.teardown.is_none();
        if waits && self.anyone_runs() {
            // The handler has not begun, or a reader is about to take back that it has: the last
            // one passes the exclusion on. The end waits for all by itself.
            state.phase = Phase::Draining;
            return Next::Nothing;
        }
        self.decide(&mut state)
    }
}
