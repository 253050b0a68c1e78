//! Requests that are answered by one of the nodes that serve their key.

use crate::caller::Caller;
use crate::frame::Frame;
use crate::{CallError, Key, PeerName};
use motet_ports::ReplyPort;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

pub(crate) type Bytes = Result<Vec<u8>, String>;
pub(crate) type Respond = Box<dyn FnOnce(Bytes) + Send>;
pub(crate) type RequestHandler = Arc<dyn Fn(PeerName, Vec<u8>, Arc<Caller>, Respond) + Send + Sync>;

/// Where the answer to a call goes.
pub(crate) type Answer = ReplyPort<Result<Vec<u8>, CallError>>;

/// Why calls end with their node.
pub(crate) const HAS_LEFT: &str = "the node has left";

/// The calls of a node: those that it makes, and those that it answers.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) servers: BTreeMap<u32, (Key, RequestHandler)>,
    pub(crate) last: u64,
    /// The last call that went to each server: they take turns.
    pub(crate) turns: BTreeMap<(PeerName, u32), u64>,
    pub(crate) pending: BTreeMap<u64, Pending>,
    /// Who waits for the answer to a request.
    pub(crate) serving: BTreeMap<(PeerName, u64), Weak<Caller>>,
}

pub(crate) struct Pending {
    pub(crate) peer: PeerName,
    pub(crate) answer: Answer,
}

/// A request that a server got. Its handler runs under causalities with the names of those that the
/// caller was under; they are cancelled when the caller waits no more.
pub struct Request<Q, A> {
    /// What is asked.
    pub value: Q,
    /// The node that asks.
    pub from: PeerName,
    pub(crate) respond: Option<Respond>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) write: fn(&A) -> Bytes,
}

impl<Q, A> Request<Q, A> {
    /// Answers the request.
    pub fn answer(mut self, answer: &A) {
        let bytes = (self.write)(answer);
        self.respond
            .take()
            .into_iter()
            .for_each(|respond| respond(bytes.clone()));
    }

    /// Refuses the request, and says why.
    pub fn refuse(mut self, why: impl Into<String>) {
        let why = why.into();
        self.respond
            .take()
            .into_iter()
            .for_each(|respond| respond(Err(why.clone())));
    }

    /// Whether the caller still waits.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.caller.waits()
    }
}

impl<Q, A> Drop for Request<Q, A> {
    fn drop(&mut self) {
        let why = "the server dropped the request";
        self.respond
            .take()
            .into_iter()
            .for_each(|respond| respond(Err(why.to_owned())));
    }
}

impl Calls {
    /// What a new peer is told.
    pub(crate) fn offers(&self) -> Vec<Frame> {
        let offer = |(id, (key, _)): (&u32, &(Key, RequestHandler))| Frame::Serve {
            server: *id,
            key: key.to_string(),
        };
        self.servers.iter().map(offer).collect()
    }

    /// Of these servers the one that was asked the longest ago, or never. It is asked now.
    pub(crate) fn next_of(&mut self, servers: Vec<(PeerName, u32)>) -> Option<(PeerName, u32)> {
        let turn = |server: &(PeerName, u32)| self.turns.get(server).copied().unwrap_or(0);
        let next = servers.into_iter().min_by_key(turn)?;
        self.last += 1;
        self.turns.insert(next.clone(), self.last);
        Some(next)
    }

    /// Calls that nobody will answer, and callers that wait no more, since the peer is gone.
    pub(crate) fn lose(&mut self, peer: &PeerName) -> (Vec<Answer>, Vec<Arc<Caller>>) {
        self.turns.retain(|(of, _), _| of != peer);
        let pending = &mut self.pending;
        let of_peer = pending.extract_if(.., |_, pending| pending.peer == *peer);
        let lost: Vec<_> = of_peer.map(|(_, pending)| pending.answer).collect();
        let served = self.serving.extract_if(.., |(from, _), _| from == peer);
        let gone = served.filter_map(|(_, caller)| caller.upgrade()).collect();
        (lost, gone)
    }

    /// Takes a request out that is answered now: whether this caller still waits for it.
    pub(crate) fn is_taken(&mut self, request: &(PeerName, u64), caller: &Weak<Caller>) -> bool {
        let waiting = self.serving.get(request);
        let waits = waiting.is_some_and(|waiting| Weak::ptr_eq(waiting, caller));
        if waits {
            self.serving.remove(request);
        }
        waits
    }

    /// Those whose requests are not answered are told why: the node has left.
    pub(crate) fn are_over(&self) {
        let callers = self.serving.values().filter_map(Weak::upgrade);
        callers.for_each(|caller| caller.is_gone(HAS_LEFT));
    }
}

impl<Q: fmt::Debug, A> fmt::Debug for Request<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("value", &self.value)
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}
