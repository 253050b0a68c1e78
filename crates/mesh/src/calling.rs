//! How a node makes calls, and answers them.

use crate::caller::{Caller, names};
use crate::calls::{Answer, Bytes, Pending, Request, RequestHandler, Respond};
use crate::core::{Core, MAX_ENTRIES, NodeState};
use crate::flow::Hub;
use crate::frame::{Frame, MAX_ANSWER, decode, encode, max_request};
use crate::{CallError, Deed, Key, MeshError, PeerName};
use motet_dispatch::Causality;
use motet_ports::{Port, reply};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Arc, Weak};

/// Answers calls under a key, until it is dropped.
pub struct Server {
    id: u32,
    key: Key,
    core: Weak<Core>,
}

/// Takes a call back whose caller is gone.
struct Cancel {
    core: Arc<Core>,
    call: u64,
    /// Why; none: its future was dropped.
    why: Option<String>,
}

impl Core {
    pub(crate) fn serve<Q, A>(
        self: &Arc<Self>,
        key: Key,
        port: &Port<Request<Q, A>>,
    ) -> Result<Server, MeshError>
    where
        Q: DeserializeOwned + Send + 'static,
        A: Serialize + 'static,
    {
        self.may(Deed::Serve, &key)?;
        let port = port.clone();
        let deliver: RequestHandler = Arc::new(move |from, payload, caller, respond| {
            let value = match decode::<Q>(&payload) {
                Ok(value) => value,
                Err(why) => {
                    respond(Err(format!("the request cannot be read: {why}")));
                    return;
                }
            };
            let request = Request {
                value,
                from,
                respond: Some(respond),
                caller: Arc::clone(&caller),
                write: |answer| encode(answer).map_err(|why| why.to_string()),
            };
            if let Err(refused) = caller.run(|| port.post(request)) {
                refused.item.refuse(refused.reason.to_string());
            }
        });
        let id = self.change(|state| {
            let id = state.new_id("servers", state.calls.servers.len())?;
            state.calls.servers.insert(id, (key.clone(), deliver));
            state.tell_all(&Frame::Serve {
                server: id,
                key: key.to_string(),
            });
            Ok::<_, MeshError>(id)
        })?;
        Ok(Server {
            id,
            key,
            core: Arc::downgrade(self),
        })
    }

    /// `only`: no other node is asked.
    pub(crate) async fn call<Q: Serialize, A: DeserializeOwned>(
        self: Arc<Self>,
        (key, only): (Key, Option<&PeerName>),
        value: &Q,
    ) -> Result<A, CallError> {
        let payload = encode(value).map_err(|why| CallError::NotWritable(why.to_string()))?;
        let (to, answer) = reply();
        let call = self.begin_call((&key, only), payload, to)?;
        // While it is there, dropping this future takes the call back.
        let mut cancel = Cancel {
            core: Arc::clone(&self),
            call,
            why: None,
        };
        let answer = match Causality::unless_cancelled(answer).await {
            Ok(answer) => answer,
            Err(cancelled) => {
                cancel.why = Some(cancelled.to_string());
                return Err(CallError::Cancelled(cancelled.to_string()));
            }
        };
        match answer {
            Ok(Ok(bytes)) => decode(&bytes).map_err(|why| CallError::Unreadable(why.to_string())),
            Ok(Err(error)) => Err(error),
            // What would have answered was dropped with the node.
            Err(_) => Err(CallError::Left),
        }
    }

    fn begin_call(
        self: &Arc<Self>,
        (key, only): (&Key, Option<&PeerName>),
        payload: Vec<u8>,
        answer: Answer,
    ) -> Result<u64, CallError> {
        let me = self.name().clone();
        self.may(Deed::Call, key)?;
        let local = self.change(|state| {
            if state.has_left() {
                return Err(CallError::Left);
            }
            let (mut servers, none) = self.servers_of(state, key);
            servers.retain(|(name, _)| only.is_none_or(|only| only == name));
            let (peer, server) = state.calls.next_of(servers).ok_or(none)?;
            let call = state.calls.last;
            let causalities = if peer == me { Vec::new() } else { names() };
            let (length, most) = (payload.len(), max_request(&causalities));
            if peer != me && length > most {
                let why = format!("it has {length} bytes, at most {most} go over a link");
                return Err(CallError::NotWritable(why));
            }
            let pending = Pending {
                peer: peer.clone(),
                answer,
            };
            state.calls.pending.insert(call, pending);
            if peer == me {
                let deliver = state
                    .calls
                    .servers
                    .get(&server)
                    .map(|(_, deliver)| Arc::clone(deliver));
                return Ok((call, deliver));
            }
            state.tell(
                &peer,
                Frame::Call {
                    call,
                    server,
                    payload: payload.clone(),
                    causalities,
                },
            );
            Ok((call, None))
        })?;
        let (call, deliver) = local;
        if let Some(deliver) = deliver {
            // The caller's own causalities travel with what is posted.
            self.deliver((self.name().clone(), call), &deliver, payload, &[], true);
        }
        Ok(call)
    }

    /// Who may be asked under this key, and what it means if there is nobody.
    fn servers_of(&self, state: &NodeState, key: &Key) -> (Vec<(PeerName, u32)>, CallError) {
        let here = state.calls.servers.iter();
        let here = here.filter(|(_, (of, _))| of.matches(key));
        let mut servers: Vec<_> = here.map(|(id, _)| (self.name().clone(), *id)).collect();
        let mut none = CallError::NoResponder {
            key: key.to_string(),
        };
        for (name, peer) in state.peers.iter().filter(|(_, peer)| peer.greeted) {
            for (id, of) in peer.servers.iter().filter(|(_, of)| of.matches(key)) {
                // A server hears not under which of its keys it is asked.
                match self.may(Deed::Call, of) {
                    Ok(()) => servers.push((name.clone(), *id)),
                    Err(refused) => none = CallError::NotAllowed(refused),
                }
            }
        }
        (servers, none)
    }

    /// Gives a request to its server. `here`: the caller is of this node.
    fn deliver(
        self: &Arc<Self>,
        (from, call): (PeerName, u64),
        deliver: &RequestHandler,
        payload: Vec<u8>,
        causalities: &[String],
        here: bool,
    ) {
        let (core, asker) = (Arc::downgrade(self), from.clone());
        let caller = Arc::new(Caller::new(&format!("call of {from}"), causalities));
        let answered = Arc::downgrade(&caller);
        let respond: Respond = Box::new(move |answer| {
            answered
                .upgrade()
                .iter()
                .for_each(|caller| caller.has_answer());
            let Some(core) = core.upgrade() else { return };
            let own = core.change(|state| {
                // A later start of the asker may have made a call of this number.
                if !state.calls.is_taken(&(asker.clone(), call), &answered) {
                    return None;
                }
                if here {
                    return Some(answer);
                }
                let answer = fitting(answer);
                state.tell(&asker, Frame::Answer { call, answer });
                None
            });
            if let Some(answer) = own {
                core.answered(&asker, call, answer);
            }
        });
        // Before it is given away: it may be answered at once.
        self.change(|state| {
            let serving = &mut state.calls.serving;
            serving.insert((from.clone(), call), Arc::downgrade(&caller));
        });
        deliver(from, payload, caller, respond);
    }

    /// An answer of anybody else than the node that was asked is none.
    fn answered(&self, from: &PeerName, call: u64, answer: Bytes) {
        let pending = self.change(|state| {
            let pending = &mut state.calls.pending;
            let is_asked = pending.get(&call).is_some_and(|it| it.peer == *from);
            is_asked.then(|| pending.remove(&call)).flatten()
        });
        if let Some(pending) = pending {
            // An error: the caller waits no longer.
            let _ = pending.answer.post(answer.map_err(CallError::Failed));
        }
    }

    pub(crate) fn on_call_frame(self: &Arc<Self>, peer: &PeerName, frame: Frame) {
        match frame {
            Frame::Serve { server, key } => {
                if let Ok(key) = Key::new(&key) {
                    if let Err(refused) = self.peer_may(peer, Deed::Serve, &key) {
                        self.tell_refused(peer, (0, 0), refused);
                        return;
                    }
                    self.with_peer(peer, |_, entry| {
                        if entry.servers.len() < MAX_ENTRIES {
                            entry.servers.insert(server, key);
                        }
                    });
                }
            }
            Frame::Unserve { server } => {
                self.with_peer(peer, |state, entry| {
                    state.calls.turns.remove(&(peer.clone(), server));
                    entry.servers.remove(&server)
                });
            }
            Frame::Call {
                call,
                server,
                payload,
                causalities,
            } => {
                let deliver = self.change(|state| {
                    let found = state.calls.servers.get(&server).cloned();
                    if found.is_none() {
                        let answer = Err("the server has ended".to_owned());
                        state.tell(peer, Frame::Answer { call, answer });
                    }
                    found
                });
                let Some((key, deliver)) = deliver else {
                    return;
                };
                if let Err(refused) = self.peer_may(peer, Deed::Call, &key) {
                    let answer = Err(refused.to_string());
                    self.change(|state| state.tell(peer, Frame::Answer { call, answer }));
                    return;
                }
                self.deliver((peer.clone(), call), &deliver, payload, &causalities, false);
            }
            Frame::Cancel { call, why } => self.cancelled(peer, call, &why),
            Frame::Answer { call, answer } => self.answered(peer, call, answer),
            _ => {}
        }
    }

    fn cancelled(&self, from: &PeerName, call: u64, why: &str) {
        let caller = self.change(|state| state.calls.serving.remove(&(from.clone(), call)));
        if let Some(caller) = caller.and_then(|caller| caller.upgrade()) {
            caller.is_gone(why);
        }
    }
}

/// The answer, if it goes over a link; else why it does not.
fn fitting(answer: Bytes) -> Bytes {
    let length = match &answer {
        Ok(bytes) => bytes.len(),
        Err(why) => why.len(),
    };
    match length {
        0..=MAX_ANSWER => answer,
        _ => Err(format!(
            "the answer has {length} bytes, at most {MAX_ANSWER} go over a link"
        )),
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let call = self.call;
        let why = self.why.take();
        let why = why.unwrap_or_else(|| "the caller waits no more".to_owned());
        let taken = self.core.change(|state| {
            let pending = state.calls.pending.remove(&call)?;
            let why = why.clone();
            state.tell(&pending.peer, Frame::Cancel { call, why });
            Some(pending)
        });
        if let Some(pending) = taken
            && pending.peer == *self.core.name()
        {
            self.core.cancelled(&pending.peer, call, &why);
        }
    }
}

impl Server {
    /// The key, or the pattern, under which it answers.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            let gone = core.change(|state| {
                state.tell_all(&Frame::Unserve { server: self.id });
                let of_node = (core.name().clone(), self.id);
                state.calls.turns.remove(&of_node);
                state.calls.servers.remove(&self.id)
            });
            drop(gone);
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
