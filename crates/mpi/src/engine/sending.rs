//! Messages on their way out.

use super::Engine;
use super::arrivals::TAG;
use super::envelope::{Kind, ReceivedMessage, TRAILER, pack};
use super::peer_states::PeerState;
use super::receiving::Receiving;
use super::shared::Load;
use super::under_way::Sent;
use crate::error::MpiError;
use motet_comm::{Gone, Header};

impl Engine {
    /// Sends a message. It goes on in the background; messages from here to one process come in the
    /// order in which they were sent. What `payload` holds afterwards means nothing; its memory may
    /// be used again. (One with room for 24 bytes more is taken away rather than copied where MPI
    /// carries it.)
    ///
    /// # Errors
    /// [`MpiError::NoSuchProcess`]; [`MpiError::Closed`] when this process has closed;
    /// [`MpiError::PeerLost`] when the other is gone; [`MpiError::Call`].
    pub fn send(
        &self,
        process: usize,
        header: Header,
        payload: &mut Vec<u8>,
    ) -> Result<(), MpiError> {
        self.send_load(process, header, Load::Whole(payload))
    }

    /// As [`Engine::send`], with a payload in several pieces, one behind the other: they are copied
    /// once.
    ///
    /// # Errors
    /// As [`Engine::send`].
    pub fn send_pieces(
        &self,
        process: usize,
        header: Header,
        pieces: &[&[u8]],
    ) -> Result<(), MpiError> {
        self.send_load(process, header, Load::Pieces(pieces))
    }

    /// Sends as much of these bytes as there is room for: as many messages with this header, cut at
    /// multiples of 64 bytes. Where MPI carries them, all go as one, or none: while 16 such
    /// messages are under way to the process, or 512 to all.
    ///
    /// # Errors
    /// As [`Engine::send`].
    pub fn send_some(
        &self,
        process: usize,
        header: Header,
        bytes: &[u8],
    ) -> Result<Gone, MpiError> {
        if process != self.process() && self.shared.reach(process) {
            self.peer_states.check(process)?;
            let gone = self.shared.send_some(process, &header, bytes);
            return gone.ok_or(MpiError::Closed);
        }
        let whole = Gone {
            bytes: bytes.len(),
            messages: 1,
        };
        if self.shared.reach(process) {
            return self.send_pieces(process, header, &[bytes]).map(|()| whole);
        }
        let _sender = self.peer_states.enter(process)?;
        if !self.sending.lock().reserve(process) {
            return Ok(Gone::default());
        }
        let sent = Sent {
            process,
            is_piece: true,
        };
        let begun = self.start_over_mpi(sent, Kind::Message, header, Load::Pieces(&[bytes]));
        if begun.is_err() {
            self.sending.lock().release(sent);
        }
        begun.map(|()| whole)
    }

    #[inline]
    fn send_load(&self, process: usize, header: Header, load: Load<'_>) -> Result<(), MpiError> {
        if process != self.process() && self.shared.reach(process) {
            // Nobody need count it: nothing goes into a ring behind the close message.
            self.peer_states.check(process)?;
            return self.start(process, Kind::Message, header, load);
        }
        let _sender = self.peer_states.enter(process)?;
        self.start(process, Kind::Message, header, load)
    }

    pub(super) fn start(
        &self,
        process: usize,
        kind: Kind,
        header: Header,
        load: Load<'_>,
    ) -> Result<(), MpiError> {
        if self.shared.reach(process) {
            let message = match kind {
                Kind::Message => Some((header, load)),
                Kind::Close => None,
            };
            let open = || self.peer_states.get(process) != PeerState::Lost;
            let sent = self.shared.send(process, message, open);
            if self.shared.waiting() > 0 {
                // Who makes room tells nobody: who sleeps is to look for it.
                self.bedroom.rouse();
            }
            return if sent { Ok(()) } else { Err(MpiError::Closed) };
        }
        let sent = Sent {
            process,
            is_piece: false,
        };
        self.start_over_mpi(sent, kind, header, load)
    }

    fn start_over_mpi(
        &self,
        sent: Sent,
        kind: Kind,
        header: Header,
        load: Load<'_>,
    ) -> Result<(), MpiError> {
        let process = sent.process;
        // There are libraries that break when they send to a process of another machine that has
        // gone.
        if let Some(reason) = self.peers.cut(process) {
            return Err(MpiError::PeerLost { process, reason });
        }
        let mut request = self
            .comm
            .isend(pack(kind, header, load.take(TRAILER)), process, TAG)?;
        // Most short messages are gone at once.
        if request.test()?.is_some() {
            if sent.is_piece {
                self.sending.lock().release(sent);
            }
            return Ok(());
        }
        let mut sending = self.sending.lock();
        sending.push(request, sent);
        if self.peer_states.get(process) == PeerState::Lost {
            // It was lost since the caller looked: nobody else gives this send up.
            sending.abandon(process);
        }
        Ok(())
    }

    /// Forgets sends that have ended, and loses who could not be sent to. Gives the number of these
    /// sends and of the parts of long messages that have gone through memory.
    pub(super) fn finish_sends(
        &self,
        receiving: &mut Receiving,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) -> Result<usize, MpiError> {
        let mut gone = self.shared.go_on();
        if !self.asks_mpi {
            return Ok(gone);
        }
        let mut failed = Vec::new();
        let mut sending = self.sending.lock();
        let tested = sending.test(|process, fine| {
            gone += 1;
            if !fine {
                failed.push(process);
            }
        });
        drop(sending);
        for process in failed {
            if self.is_lost(process) {
                continue;
            }
            let reason = "MPI could not send to it".to_owned();
            self.take_last(receiving, process, deliver);
            self.lose(receiving, process, reason);
        }
        tested.map(|_| gone)
    }
}
