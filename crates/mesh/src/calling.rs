//! How a node makes calls, and answers them.

use crate::calls::{Bytes, Deliver, Pending, Request, Respond};
use crate::core::{Core, MAX_ENTRIES};
use crate::flow::Hub;
use crate::frame::{Frame, decode, encode};
use crate::{CallError, Key, MeshError, PeerName};
use motet_ports::{Port, ReplyPort, reply};
use motet_sync::Mutex;
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
        let port = port.clone();
        let deliver: Deliver = Arc::new(move |from, payload, respond| {
            let wanted = Arc::new(Mutex::new(true));
            let value = match decode::<Q>(&payload) {
                Ok(value) => value,
                Err(why) => {
                    respond(Err(format!("the request cannot be read: {why}")));
                    return wanted;
                }
            };
            let request = Request {
                value,
                from,
                respond: Some(respond),
                wanted: Arc::clone(&wanted),
                write: |answer| encode(answer).map_err(|why| why.to_string()),
            };
            if let Err(refused) = port.post(request) {
                refused.item.refuse(refused.reason.to_string());
            }
            wanted
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

    pub(crate) async fn call<Q: Serialize, A: DeserializeOwned>(
        self: Arc<Self>,
        key: Key,
        value: &Q,
    ) -> Result<A, CallError> {
        let payload = encode(value).map_err(|why| CallError::NotWritable(why.to_string()))?;
        let (to, answer) = reply();
        let call = self.begin_call(&key, payload, to)?;
        // While it is there, dropping this future takes the call back.
        let _cancel = Cancel {
            core: Arc::clone(&self),
            call,
        };
        match answer.await {
            Ok(Ok(bytes)) => decode(&bytes).map_err(|why| CallError::Unreadable(why.to_string())),
            Ok(Err(error)) => Err(error),
            // What would have answered was dropped with the node.
            Err(_) => Err(CallError::Left),
        }
    }

    fn begin_call(
        self: &Arc<Self>,
        key: &Key,
        payload: Vec<u8>,
        answer: ReplyPort<Result<Vec<u8>, CallError>>,
    ) -> Result<u64, CallError> {
        let me = self.name().clone();
        let local = self.change(|state| {
            if state.has_left() {
                return Err(CallError::Left);
            }
            let here = state
                .calls
                .servers
                .iter()
                .filter(|(_, (of, _))| of.matches(key));
            let mut servers: Vec<(PeerName, u32)> = here.map(|(id, _)| (me.clone(), *id)).collect();
            for (name, peer) in state.peers.iter().filter(|(_, peer)| peer.greeted) {
                let there = peer.servers.iter().filter(|(_, of)| of.matches(key));
                servers.extend(there.map(|(id, _)| (name.clone(), *id)));
            }
            if servers.is_empty() {
                return Err(CallError::NoResponder {
                    key: key.to_string(),
                });
            }
            state.calls.last += 1;
            let call = state.calls.last;
            // In turn: each call goes to the next of those that serve the key.
            let (peer, server) = servers.swap_remove((call % servers.len() as u64) as usize);
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
                },
            );
            Ok((call, None))
        })?;
        let (call, deliver) = local;
        if let Some(deliver) = deliver {
            self.deliver(me_caller(self), call, &deliver, payload, true);
        }
        Ok(call)
    }

    /// Gives a request to its server. `here`: the caller is of this node.
    fn deliver(
        self: &Arc<Self>,
        from: PeerName,
        call: u64,
        deliver: &Deliver,
        payload: Vec<u8>,
        here: bool,
    ) {
        let (core, caller) = (Arc::downgrade(self), from.clone());
        let respond: Respond = Box::new(move |answer| {
            let Some(core) = core.upgrade() else { return };
            if here {
                core.answered(call, answer);
            } else {
                core.change(|state| {
                    state.calls.serving.remove(&(caller.clone(), call));
                    state.tell(&caller, Frame::Answer { call, answer });
                });
            }
        });
        let wanted = deliver(from.clone(), payload, respond);
        self.change(|state| {
            state
                .calls
                .serving
                .retain(|_, wanted| wanted.strong_count() > 0);
            state
                .calls
                .serving
                .insert((from, call), Arc::downgrade(&wanted));
        });
    }

    fn answered(&self, call: u64, answer: Bytes) {
        let pending = self.change(|state| state.calls.pending.remove(&call));
        if let Some(pending) = pending {
            // An error: the caller waits no longer.
            let _ = pending.answer.post(answer.map_err(CallError::Failed));
        }
    }

    pub(crate) fn on_call_frame(self: &Arc<Self>, peer: &PeerName, frame: Frame) {
        match frame {
            Frame::Serve { server, key } => {
                if let Ok(key) = Key::new(&key) {
                    self.with_peer(peer, |_, entry| {
                        if entry.servers.len() < MAX_ENTRIES {
                            entry.servers.insert(server, key);
                        }
                    });
                }
            }
            Frame::Unserve { server } => {
                self.with_peer(peer, |_, entry| entry.servers.remove(&server));
            }
            Frame::Call {
                call,
                server,
                payload,
            } => {
                let deliver = self.change(|state| {
                    let found = state
                        .calls
                        .servers
                        .get(&server)
                        .map(|(_, deliver)| Arc::clone(deliver));
                    if found.is_none() {
                        let answer = Err("the server has ended".to_owned());
                        state.tell(peer, Frame::Answer { call, answer });
                    }
                    found
                });
                if let Some(deliver) = deliver {
                    self.deliver(peer.clone(), call, &deliver, payload, false);
                }
            }
            Frame::Cancel { call } => self.cancelled(peer, call),
            Frame::Answer { call, answer } => self.answered(call, answer),
            _ => {}
        }
    }

    fn cancelled(&self, from: &PeerName, call: u64) {
        let wanted = self.change(|state| state.calls.serving.remove(&(from.clone(), call)));
        if let Some(wanted) = wanted.and_then(|wanted| wanted.upgrade()) {
            *wanted.lock() = false;
        }
    }
}

/// The name under which a node's own calls are served.
fn me_caller(core: &Arc<Core>) -> PeerName {
    core.name().clone()
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let call = self.call;
        let taken = self.core.change(|state| {
            let pending = state.calls.pending.remove(&call)?;
            state.tell(&pending.peer, Frame::Cancel { call });
            Some(pending)
        });
        if let Some(pending) = taken
            && pending.peer == *self.core.name()
        {
            self.core.cancelled(&pending.peer, call);
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
