//! Links of a node to its peers, on a session of zenoh.
//!
//! | key expression | is |
//! |---|---|
//! | `motet/4/node/NAME/INCARNATION/PROOF` | the liveliness token of a node: `token.rs` |
//! | `motet/4/claim/NAME/INCARNATION/PROOF` | the same of a start that is about to join: `claim.rs` |
//! | `motet/4/to/NAME/INCARNATION/LANE/FROM/INCARNATION` | messages to a node |
//!
//! zenoh's threads bring messages and tokens. One thread takes tokens, sends frames that were put
//! together, and keeps links alive.

mod acting;
mod leaving;
mod shown;

use self::shown::ShownTurns;
use crate::identity::MemberIdentity;
use crate::key::wall;
use crate::link::{Effect, Ends, Link, Untaken};
use crate::token::{ROOT, TokenKind, sender, shown_by, token};
use motet_mesh::{CarrierEvent, FramePriority, MeshRights, PeerName};
use motet_ports::Port;
use motet_sync::{Mutex, thread};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::sample::{Locality, Sample, SampleKind};

/// What a node on zenoh has of its peers.
pub(crate) struct Links {
    name: PeerName,
    incarnation: u64,
    session: zenoh::Session,
    identity: Arc<MemberIdentity>,
    silence: Duration,
    /// What is done with a message for which a connection has no room.
    congestion: CongestionControl,
    events: Port<CarrierEvent>,
    peers: Mutex<BTreeMap<PeerName, Arc<Peer>>>,
    /// Tokens that came and went, for the carrier's thread.
    tokens: Mutex<VecDeque<(SampleKind, PeerName, u64)>>,
    /// Peers with frames to flush, for the carrier's thread.
    flushes: Mutex<Vec<Arc<Peer>>>,
    upkeep: OnceLock<thread::Thread>,
    /// Shows the node to the others.
    token: OnceLock<LivelinessToken>,
}

#[derive(Default)]
struct Peer {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// The incarnations whose tokens are there, in order; the last one is the present one.
    shown: Vec<u64>,
    /// What the link wants done, in order.
    effects: VecDeque<Effect>,
    /// While there is no link: what the node has not taken yet.
    untaken: Untaken,
    /// Some thread does it.
    acting: bool,
    /// It has shaken hands: it is no name that somebody makes up.
    is_met: bool,
    /// Heartbeats since it is tried.
    tried: u32,
}

/// A peer in its present incarnation.
struct Current {
    incarnation: u64,
    link: Link,
    frame_priorities: Arc<[Publisher<'static>; 2]>,
}

motet_sync::thread_local! {
    /// This thread brings a message: it is one of zenoh's.
    static BRINGS: Cell<bool> = const { Cell::new(false) };
}

/// Takes tokens, flushes frames, and keeps links alive, for as long as the carrier is there.
fn keep_up(carrier: &Weak<Links>, beat: Duration) {
    let mut next = Instant::now() + beat;
    let mut flush = None::<Instant>;
    let (mut turns, mut has_ended) = (ShownTurns::default(), false);
    loop {
        let due = flush.map_or(next, |flush| flush.min(next));
        thread::park_timeout(due.saturating_duration_since(Instant::now()));
        let Some(shared) = carrier.upgrade() else {
            return;
        };
        if shared.session.is_closed() {
            return;
        }
        shared.take_tokens(&mut turns);
        flush = shared.flush();
        let now = Instant::now();
        if now >= next {
            next = now + beat;
            let mut peers: Vec<_> = shared.peers.lock().clone().into_iter().collect();
            // What somebody makes up waits for heartbeats.
            peers.sort_by_cached_key(|(_, peer)| !peer.state.lock().is_met);
            for (name, peer) in peers {
                shared.act(&peer, |_, link, out| link.tick(now, out));
                shared.tries_another(&peer, &name);
            }
            shared.give_turns(&mut turns);
            has_ended = has_ended || shared.tells_its_end();
        }
    }
}

impl Links {
    /// Takes part, until it is closed.
    pub(crate) fn start(
        name: PeerName,
        incarnation: u64,
        session: zenoh::Session,
        identity: MemberIdentity,
        (silence, routes): (Duration, bool),
    ) -> zenoh::Result<Arc<Self>> {
        let links = Arc::new(Links {
            name,
            incarnation,
            session,
            identity: Arc::new(identity),
            silence,
            congestion: congestion(routes),
            events: Port::new(),
            peers: Mutex::default(),
            tokens: Mutex::default(),
            flushes: Mutex::default(),
            upkeep: OnceLock::new(),
            token: OnceLock::new(),
        });
        let weak = Arc::downgrade(&links);
        let upkeep = move || keep_up(&weak, silence / 3);
        let upkeep = thread::spawn_named("motet-mesh-links", upkeep)?;
        let _ = links.upkeep.set(upkeep.thread().clone());
        links.listen()?;
        Ok(links)
    }

    pub(crate) fn name(&self) -> &PeerName {
        &self.name
    }

    pub(crate) fn rights(&self) -> &MeshRights {
        &self.identity.grant().rights
    }

    pub(crate) fn session(&self) -> &zenoh::Session {
        &self.session
    }

    pub(crate) fn events(&self) -> &Port<CarrierEvent> {
        &self.events
    }

    /// Sends a frame, if there is a link to the peer.
    pub(crate) fn send(
        &self,
        to: &PeerName,
        frame: Vec<u8>,
        frame_priority: FramePriority,
    ) -> bool {
        self.by_link(to, |link, out| {
            let takes = link.takes_frames();
            if takes {
                link.send_owned(frame, frame_priority, Instant::now(), out);
            }
            takes
        })
    }

    /// Sends frames, if there is a link to the peer, and it is the one with this number.
    pub(crate) fn send_all(
        &self,
        to: &PeerName,
        number: u64,
        frames: &mut dyn Iterator<Item = &[u8]>,
        frame_priority: FramePriority,
    ) -> bool {
        self.by_link(to, |link, out| {
            let (takes, now) = (
                link.takes_frames() && number == link.number(),
                Instant::now(),
            );
            for frame in frames {
                // It may break meanwhile, which is told.
                if !takes || !link.takes_frames() {
                    break;
                }
                link.send(frame, frame_priority, now, out);
            }
            takes
        })
    }

    fn wake(&self) {
        let upkeep = self.upkeep.get();
        upkeep.into_iter().for_each(thread::Thread::unpark);
    }

    /// Subscribes to messages and tokens, and then shows the node to the others.
    fn listen(self: &Arc<Self>) -> zenoh::Result<()> {
        let (name, incarnation) = (&self.name, self.incarnation);
        let this = Arc::downgrade(self);
        self.session
            .declare_subscriber(format!("{ROOT}/to/{name}/{incarnation:016x}/**"))
            .allowed_origin(Locality::Remote)
            .callback(move |sample| {
                if let Some(this) = this.upgrade() {
                    this.on_message(&sample);
                }
            })
            .background()
            .wait()?;
        let this = Arc::downgrade(self);
        self.session
            .liveliness()
            .declare_subscriber(format!("{ROOT}/node/*/*/*"))
            .history(true)
            .callback(move |sample| {
                if let Some(this) = this.upgrade() {
                    this.on_token(&sample);
                }
            })
            .background()
            .wait()?;
        let token = token(&self.identity, TokenKind::Node, incarnation);
        let token = self.session.liveliness().declare_token(token).wait()?;
        let _ = self.token.set(token);
        Ok(())
    }

    /// A token has come or gone. It is looked at here, and not by the carrier's thread: who
    /// declares many waits for himself.
    fn on_token(&self, sample: &Sample) {
        // That it goes counts also when the time of its member is over.
        let now = match sample.kind() {
            SampleKind::Put => wall(),
            SampleKind::Delete => 0,
        };
        let key = sample.key_expr().as_str();
        let shown = shown_by(&self.identity, TokenKind::Node, key, now);
        if let Some((peer, incarnation)) = shown.filter(|(peer, _)| *peer != self.name) {
            let token = (sample.kind(), peer, incarnation);
            self.tokens.lock().push_back(token);
            self.wake();
        }
    }

    /// A start of a node shows itself, or somebody repeats what it has shown. Another one of the
    /// same name is gone, unless there is a link to it: that goes first.
    fn comes(self: &Arc<Self>, peer: &Arc<Peer>, name: &PeerName, incarnation: u64) {
        match peer.current() {
            Some((known, is_up)) if known == incarnation || is_up => return,
            Some((known, _)) => self.goes(peer, known, Some("another start of it is tried")),
            None => {}
        }
        let Ok(frame_priorities) = self.publishers(name, incarnation) else {
            // Only a session that is closed declares no publishers: the node is leaving.
            return;
        };
        let ends = Ends {
            me: self.name.clone(),
            peer: name.clone(),
            starts: (self.incarnation, incarnation),
            identity: Arc::clone(&self.identity),
            silence: self.silence,
            wall,
        };
        {
            let mut state = peer.state.lock();
            let State {
                effects, untaken, ..
            } = &mut *state;
            let mut out = |effect| effects.push_back(effect);
            let link = Link::new(ends, std::mem::take(untaken), Instant::now(), &mut out);
            state.current = Some(Current {
                incarnation,
                link,
                frame_priorities: Arc::new(frame_priorities),
            });
        }
        // The handshake.
        self.act(peer, |_, _, _| {});
    }

    fn publishers(
        &self,
        to: &PeerName,
        incarnation: u64,
    ) -> zenoh::Result<[Publisher<'static>; 2]> {
        let publisher = |frame_priority: &str, priority| {
            let key = format!(
                "{ROOT}/to/{to}/{incarnation:016x}/{frame_priority}/{me}/{mine:016x}",
                me = self.name,
                mine = self.incarnation
            );
            let key = self.session.declare_keyexpr(key).wait()?;
            self.session
                .declare_publisher(key)
                .congestion_control(self.congestion)
                .priority(priority)
                .allowed_destination(Locality::Remote)
                .wait()
        };
        Ok([
            publisher("urgent", Priority::RealTime)?,
            publisher("ordered", Priority::DataHigh)?,
        ])
    }

    /// There is no link to this start of a peer any more; `why`, or what the link knows of it.
    fn goes(&self, peer: &Arc<Peer>, incarnation: u64, why: Option<&str>) {
        let mut state = peer.state.lock();
        let State {
            current,
            effects,
            untaken,
            ..
        } = &mut *state;
        // Under one lock: a message that comes meanwhile begins no link that nobody ends.
        let mut gone = current.take_if(|current| current.incarnation == incarnation);
        if let Some(Current { link, .. }) = &mut gone {
            let mut out = |effect| effects.push_back(effect);
            match why {
                Some(why) => link.end(why, &mut out),
                None => link.gone(&mut out),
            }
            *untaken = link.hands_over();
        }
        self.carry_out_all(peer, state);
        // Outside of the lock: it undeclares publishers.
        drop(gone);
    }

    fn on_message(&self, sample: &Sample) {
        let Some((name, incarnation)) = sender(sample.key_expr().as_str()) else {
            return;
        };
        let Some(peer) = self.peers.lock().get(&name).cloned() else {
            // Its token comes, and then its handshake comes again.
            return;
        };
        let bytes = sample.payload().to_bytes();
        let before = BRINGS.with(|brings| brings.replace(true));
        self.act(&peer, |current, link, out| {
            if current == incarnation {
                link.comes(&bytes, Instant::now(), out);
            }
        });
        BRINGS.with(|brings| brings.set(before));
    }
}

/// Messages go to all who subscribe to their keys, also to one that should not and that reads none.
/// Where nodes do not route, each has a connection of its own, whose queue holds what may be under
/// way to it: only that one lacks something. Where they do, links share connections.
fn congestion(routes: bool) -> CongestionControl {
    match routes {
        true => CongestionControl::Block,
        false => CongestionControl::Drop,
    }
}
