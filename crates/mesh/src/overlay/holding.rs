//! What a member does for the keys that it holds: it answers for them, and copies them to holders
//! that lack them. Causalities of those who ask it for something end with that.

use super::store::{Entry, Pass, Version, ranked};
use super::{OverlayError, Shared};
use crate::flow::BeforeLeaving;
use crate::subscription::Subscription;
use crate::{CallError, PeerChange, PeerName, Request};
use motet_dispatch::{Causality, beyond_depth, spawn_with_handle};
use motet_ports::{Port, Subscription as Changes, timer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

/// How long until a holder that did not answer, or not what was asked, is told again.
const AGAIN: Duration = Duration::from_millis(50);

/// A holder that drops again and again what it is told waits so often twice as long.
const DOUBLINGS: u32 = 6;

/// How many bytes a holder is told at a time.
const BATCH: usize = 256 << 10;

/// What a member asks another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum HolderRequest {
    /// Which version of this key is there?
    Version(String),
    /// Which entry of this key is there?
    Get(String),
    /// Keep these entries, where they are newer.
    Keep(Vec<(String, Entry)>),
    /// The asking member does not have these keys any more.
    Dropped(Vec<String>),
}

/// What it is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum HolderAnswer {
    Version(Option<Version>),
    Entry(Option<Entry>),
    /// The versions that are there now; `None` where there is no room.
    Kept(Vec<Option<Version>>),
}

/// A holder is being told something.
type Telling = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) type HolderCall = Request<HolderRequest, HolderAnswer>;

impl HolderRequest {
    /// Whether a holder says of each entry that it was to keep that it has it, or has no room.
    fn is_answered_by(&self, told: &HolderAnswer) -> bool {
        let (HolderRequest::Keep(entries), HolderAnswer::Kept(versions)) = (self, told) else {
            return false;
        };
        let has = |((_, entry), version): (&(String, Entry), &Option<Version>)| {
            version
                .as_ref()
                .is_none_or(|version| *version >= entry.version)
        };
        entries.len() == versions.len() && entries.iter().zip(versions).all(has)
    }
}

impl HolderAnswer {
    pub(super) fn version(&self) -> Option<&Version> {
        match self {
            HolderAnswer::Version(version) => version.as_ref(),
            HolderAnswer::Entry(entry) => entry.as_ref().map(|entry| &entry.version),
            HolderAnswer::Kept(versions) => versions.first()?.as_ref(),
        }
    }

    pub(super) fn entry(self) -> Option<Entry> {
        match self {
            HolderAnswer::Entry(entry) => entry,
            HolderAnswer::Version(_) | HolderAnswer::Kept(_) => None,
        }
    }
}

impl Shared {
    fn now_told(&self, from: &PeerName, ask: HolderRequest) -> HolderAnswer {
        let now = self.node.queue().clock().now();
        let forgets = now.checked_sub(self.config.keep_removed);
        let mut store = self.store.lock();
        match ask {
            HolderRequest::Version(key) => {
                HolderAnswer::Version(store.get(&key).map(|entry| entry.version.clone()))
            }
            HolderRequest::Get(key) => HolderAnswer::Entry(store.get(&key).cloned()),
            HolderRequest::Keep(entries) => {
                let kept = entries.into_iter().map(|(key, entry)| {
                    store.make_room(&key, &entry, forgets);
                    store.put(&key, entry, now).ok()
                });
                HolderAnswer::Kept(kept.collect())
            }
            HolderRequest::Dropped(keys) => {
                store.dropped(from, keys);
                HolderAnswer::Kept(Vec::new())
            }
        }
    }

    async fn ask(&self, member: &PeerName, ask: &HolderRequest) -> Result<HolderAnswer, CallError> {
        if member == self.node.name() {
            return Ok(self.now_told(member, ask.clone()));
        }
        // Others may serve keys that match.
        let asked = (&*self.store_of(member), member);
        self.node.call_only(asked, ask).await
    }

    /// Asks the members that hold the key, all at the same time; to read also as many that may have
    /// held it before. What they tell, and the last that did not. That there is nothing only those
    /// know that hold the key.
    pub(super) async fn ask_holders(
        self: &Arc<Self>,
        key: &str,
        ask: &HolderRequest,
    ) -> (Vec<HolderAnswer>, Option<OverlayError>) {
        let replicas = self.config.replicas;
        let count = match ask {
            HolderRequest::Keep(_) | HolderRequest::Dropped(_) => replicas,
            HolderRequest::Version(_) | HolderRequest::Get(_) => replicas.saturating_mul(2),
        };
        let (holders, queue) = (self.holders(key, count), beyond_depth(self.node.queue()));
        let asked: Vec<_> = holders
            .into_iter()
            .map(|member| {
                let losses = self.store.lock().losses(&member);
                let (shared, ask, to) = (Arc::clone(self), ask.clone(), member.clone());
                let call = async move { shared.ask(&to, &ask).await };
                (member, losses, spawn_with_handle(&queue, call))
            })
            .collect();
        let (mut told, mut failed, mut is_known) = (Vec::new(), None, false);
        for (place, (member, losses, call)) in asked.into_iter().enumerate() {
            let answer = match call {
                Ok(call) => call.await.unwrap_or(Err(CallError::Left)),
                Err(_) => Err(CallError::Left),
            };
            match answer {
                Ok(answer) => {
                    is_known |= place < replicas || answer.version().is_some();
                    self.note_kept((&member, losses), ask, &answer);
                    match answer {
                        HolderAnswer::Kept(versions) if versions.iter().any(Option::is_none) => {
                            failed = Some(OverlayError::Full { member });
                        }
                        answer => told.push(answer),
                    }
                }
                Err(why) => {
                    let why = why.to_string();
                    failed = Some(OverlayError::NoAnswer { member, why });
                }
            }
        }
        if !is_known {
            told.clear();
        }
        (told, failed)
    }

    /// Remembers what the member has now, for keys that are kept here too.
    fn note_kept(
        &self,
        (member, losses): (&PeerName, u64),
        ask: &HolderRequest,
        told: &HolderAnswer,
    ) {
        if let (HolderRequest::Keep(entries), HolderAnswer::Kept(versions)) = (ask, told) {
            let mut store = self.store.lock();
            for ((key, entry), version) in entries.iter().zip(versions) {
                match version {
                    Some(version) => store.has(key, version, member, losses),
                    None => store.has_no_room(key, &entry.version, member),
                }
            }
        }
    }

    /// Begins to tell holders what they lack, and what this member does not have any more. One that
    /// is being told already comes later: it may be slow.
    fn tell_once(self: &Arc<Self>) -> Vec<Telling> {
        let now = self.node.queue().clock().now();
        let Pass {
            mut missing,
            mut dropped,
        } = {
            let members = self.members.lock().names();
            let holders = |key: &str| ranked(key, &members, self.config.replicas);
            let mut store = self.store.lock();
            if let Some(before) = now.checked_sub(self.config.keep_removed) {
                store.forget_removed(before);
            }
            store.pass(self.node.name(), holders, BATCH)
        };
        let members: BTreeSet<PeerName> = missing.keys().chain(dropped.keys()).cloned().collect();
        let tell = |member: PeerName| -> Telling {
            let keys = dropped.remove(&member).unwrap_or_default();
            let entries = missing.remove(&member).unwrap_or_default();
            Box::pin(Arc::clone(self).tell(member, keys, entries))
        };
        members.into_iter().map(tell).collect()
    }

    /// Tells a holder what it lacks, once it knows what this member does not have any more.
    async fn tell(
        self: Arc<Self>,
        member: PeerName,
        dropped: Vec<String>,
        missing: Vec<(String, Entry)>,
    ) {
        if !dropped.is_empty() {
            // An error: the member is gone, and forgets what this one had.
            let _ = self.ask(&member, &HolderRequest::Dropped(dropped)).await;
        }
        if !missing.is_empty() {
            // Where not all members see the same ones, each may name others as the holders.
            let drops = self.store.lock().drops(&member, &missing);
            if let Some(more) = drops.checked_sub(2) {
                timer::sleep(AGAIN * (1 << more.min(DOUBLINGS))).await;
            }
            let losses = self.store.lock().losses(&member);
            let ask = HolderRequest::Keep(missing);
            match self.ask(&member, &ask).await {
                Ok(told) => {
                    self.note_kept((&member, losses), &ask, &told);
                    if !ask.is_answered_by(&told) {
                        timer::sleep(AGAIN).await;
                    }
                }
                // This node has left: it stays busy, and nobody is told anything more.
                Err(CallError::Left) => return,
                // It is gone, or does not serve its key yet.
                Err(_) => timer::sleep(AGAIN).await,
            }
        }
        self.store.lock().is_told(&member);
    }

    fn changed(&self, change: super::MemberChange) {
        self.store.lock().unsettle();
        // Errors: those who watch drop the oldest; a pass over the store waits to begin already.
        let _ = self.changes.post(change);
        let _ = self.unrest.post(());
    }
}

/// The others hear that it is no member any more.
impl BeforeLeaving for Shared {
    fn node_leaves(&self) {
        // An error: the node has left before.
        let _ = self.own.publish(None);
    }
}

/// Answers other members until the member has left.
pub(super) async fn answer(shared: Weak<Shared>, asked: Port<HolderCall>) {
    loop {
        let request = asked.recv().await;
        Causality::clear();
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let told = shared.now_told(&request.from, request.value.clone());
        let is_new = matches!(
            request.value,
            HolderRequest::Keep(_) | HolderRequest::Dropped(_)
        );
        request.answer(&told);
        if is_new {
            let _ = shared.unrest.post(());
        }
    }
}

/// Hears which nodes come and go.
pub(super) async fn hear_changes(shared: Weak<Shared>, changes: Changes<PeerChange>) {
    loop {
        let change = changes.recv().await;
        Causality::clear();
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if let PeerChange::Down(peer, _) | PeerChange::Restarted(peer) = &change {
            shared.store.lock().lost_all(peer);
        }
        let changed = shared.members.lock().change(&change);
        changed
            .into_iter()
            .for_each(|change| shared.changed(change));
    }
}

/// Hears which nodes are members, and what they say of themselves.
pub(super) async fn hear_members(shared: Weak<Shared>, said: Subscription<Option<String>>) {
    loop {
        let sample = said.port().recv().await;
        Causality::clear();
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if sample.value.is_none() {
            // If it becomes a member again it keeps nothing yet.
            shared.store.lock().lost_all(sample.publisher());
        }
        let changed = shared
            .members
            .lock()
            .says(sample.publisher(), sample.value.as_deref());
        changed
            .into_iter()
            .for_each(|change| shared.changed(change));
    }
}

/// Copies what holders lack, each time that something has changed, or that a holder has been told.
pub(super) async fn tell_holders(shared: Weak<Shared>, unrest: Port<()>) {
    let mut telling: Vec<Telling> = Vec::new();
    loop {
        let mut something = pin!(unrest.recv());
        poll_fn(|context| {
            let before = telling.len();
            telling.retain_mut(|one| one.as_mut().poll(context).is_pending());
            if telling.len() < before {
                return Poll::Ready(());
            }
            something.as_mut().poll(context)
        })
        .await;
        // Somebody's put has said so. What is told goes on when that is cancelled.
        Causality::clear();
        let Some(shared) = shared.upgrade() else {
            return;
        };
        telling.append(&mut shared.tell_once());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkConfig, Node, Overlay, OverlayConfig, Qos, SimulatedNetwork};
    use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
    use motet_testkit::Log;

    #[test]
    fn sem_g534_a_put_that_cannot_be_newer_is_an_error() {
        let replay = Replay::new(4);
        let queue = |name| -> Arc<dyn Enqueue> { Arc::new(replay.queue(QueueConfig::named(name))) };
        let node = Node::alone("a", queue("a"));
        let member = Overlay::join(&node, "o", OverlayConfig::default()).expect("a name");
        // Of this member, and of one whose name is behind.
        for writer in ["a", "z"] {
            let (counter, writer) = (u64::MAX, writer.to_owned());
            let largest = Entry {
                version: Version { counter, writer },
                value: None,
            };
            let now = replay.clock().now();
            let kept = member.shared().store.lock().put("key", largest, now);
            kept.expect("there is room");
            let told = Log::new();
            let (log, puts) = (told.clone(), member.clone());
            let put = async move { log.push(puts.put("key", &1_u32).await) };
            spawn(&queue("task"), put).expect("the queue is open");
            replay.run();
            let key = "key".to_owned();
            assert_eq!(told.take(), [Err(OverlayError::Last { key })]);
        }
    }

    #[test]
    fn every_member_holds_every_key_where_that_is_asked_for() {
        let replay = Replay::new(6);
        let network = SimulatedNetwork::new(6, LinkConfig::default(), replay.clock());
        let members = ["a", "b", "c"].map(|name| {
            let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named(name)));
            let config = OverlayConfig {
                replicas: usize::MAX,
                ..OverlayConfig::default()
            };
            let node = Node::join(&network.carrier(name), 1, queue);
            Overlay::join(&node, "o", config).expect("a name")
        });
        replay.run_for(Duration::from_secs(1));
        let told = Log::new();
        let (log, puts, gets) = (told.clone(), members[0].clone(), members[2].clone());
        let task = async move {
            let copies = puts.put("key", &7_u32).await.map(|put| put.copies);
            log.push((copies, gets.get::<u32>("key").await));
        };
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
        spawn(&queue, task).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        assert_eq!(told.take(), [(Ok(3), Ok(Some(7)))]);
        assert!(members.iter().all(|member| member.kept() == 1));
    }

    #[test]
    fn sem_g531_a_key_that_a_member_drops_again_and_again_goes_there_less_and_less_often() {
        let replay = Replay::new(5);
        let network = SimulatedNetwork::new(5, LinkConfig::default(), replay.clock());
        let names = ["a", "b", "c"];
        let members = names.map(|name| {
            let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named(name)));
            let node = Node::join(&network.carrier(name), 1, queue);
            Overlay::join(&node, "o", OverlayConfig::default()).expect("a name")
        });
        replay.run_for(Duration::from_secs(1));
        network.cut("a", "c");
        replay.run_for(Duration::from_secs(1));
        // By the order of b, which sees both, b holds nothing of it; a and c see only b.
        let all = names.map(PeerName::new);
        let mut keys = (0..100).map(|n| format!("key{n}"));
        let key = keys.find(|key| !ranked(key, &all, 2).contains(&all[1]));
        let key = key.expect("one of three");
        let (puts, of) = (members[0].clone(), key.clone());
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("task")));
        let put = async move { drop(puts.put(&of, &1_u32).await) };
        spawn(&queue, put).expect("the queue is open");
        replay.run_for(Duration::from_secs(10));
        let store = members[0].shared().store.lock();
        let entry = store.get(&key).expect("a holds it").clone();
        let drops = store.drops(&all[1], &[(key, entry)]);
        assert!((3..=20).contains(&drops), "{drops}");
    }

    #[test]
    fn sem_g217_a_holder_whose_answers_say_nothing_is_told_again_after_a_while() {
        let replay = Replay::new(3);
        let network = SimulatedNetwork::new(3, LinkConfig::default(), replay.clock());
        let queue = |name| -> Arc<dyn Enqueue> { Arc::new(replay.queue(QueueConfig::named(name))) };
        let node = |name| Node::join(&network.carrier(name), 1, queue(name));
        let member = Overlay::join(&node("a"), "o", OverlayConfig::default()).expect("a name");
        let puts = member.clone();
        let put = async move { drop(puts.put("key", &1_u32).await) };
        spawn(&queue("task"), put).expect("the queue is open");
        replay.run();
        assert_eq!(member.kept(), 1);
        let odd = node("z");
        let asked: Port<HolderCall> = Port::new();
        let _server = odd.serve("overlay/o/store/z", &asked).expect("a key");
        let presence = odd
            .topic::<Option<String>>("overlay/o/presence/z", Qos::latest(1).retaining(1))
            .expect("a key");
        presence.publish(Some(String::new())).expect("it is open");
        let told = Log::new();
        let keeps = told.clone();
        let answers = async move {
            while let Ok(request) = asked.recv().or_closed().await {
                if matches!(request.value, HolderRequest::Keep(_)) {
                    keeps.push(());
                }
                request.answer(&HolderAnswer::Kept(Vec::new()));
            }
        };
        spawn(&queue("answers"), answers).expect("the queue is open");
        replay.run_for(Duration::from_secs(1));
        let times = told.take().len();
        assert!((2..=20).contains(&times), "{times}");
    }
}
