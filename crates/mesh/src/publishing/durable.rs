//! A durable topic: samples go to its log, and flows take them from there.
//!
//! ```text
//!   publish ──► LogWriter ──► disk ──► the publisher hears it
//!                               └────► news ─ a task of the node ─► flows: Outgoing, filled from
//!   flow behind what is in memory ─► LogWriter reads ─► news ─┘     where each of them is
//! ```
//!
//! Lock order: the topic's state, then `flows`, then what is below. Nothing is asked of the log
//! under them.

use super::{Lost, Published, Publishing, State};
use crate::flow::{FlowTarget, Hub};
use crate::frame::{Frame, MAX_PAYLOAD};
use crate::log::{LogId, LogPlace, LogRequest, LogWriter};
use crate::publishing::state::{Flow, Payload};
use crate::subscribed::Subscribed;
use crate::{Gap, LogError, LogInfo, PeerName, PublishError, PublishRefusal};
use motet_dispatch::inside_task;
use motet_ports::{Reply, reply};
use motet_sync::{Mutex, block_on};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

/// So many bytes of the last samples are kept in memory.
const RECENT: usize = 1 << 20;
/// What a sample in memory takes beside its bytes, about.
const ENTRY: usize = 64;

/// The log of a topic, and where its flows are.
pub(crate) struct TopicLog {
    writer: LogWriter,
    news: Arc<LogNews>,
    flows: Mutex<LogFlows>,
}

/// What the log has told, for the topic.
struct LogNews {
    hub: Weak<dyn Hub>,
    topic: u32,
    told: Mutex<ToldByLog>,
}

#[derive(Default)]
struct ToldByLog {
    /// Samples that are on the disk now, in order.
    written: Vec<Arc<[u8]>>,
    reads: Vec<ReadForFlow>,
    /// A task takes them.
    has_task: bool,
}

/// Samples that were read for a flow, from this number on.
struct ReadForFlow {
    to: FlowTarget,
    from: u64,
    samples: Result<Vec<Arc<[u8]>>, LogError>,
}

struct LogFlows {
    /// The last number that flows may take.
    last: u64,
    /// The last samples, up to that number.
    recent: VecDeque<Arc<[u8]>>,
    recent_bytes: usize,
    at: BTreeMap<FlowTarget, LogCursor>,
}

/// Where a flow is.
struct LogCursor {
    /// The next sample for its queue.
    next: u64,
    /// The first one that was published after the subscription came.
    live: u64,
    /// The subscriber has said where it goes on.
    is_answered: bool,
    /// The log reads for it.
    is_reading: bool,
}

/// What a flow needs of the log: for whom, from which number, and how many.
type WantedRead = (FlowTarget, u64, usize);

impl TopicLog {
    pub(super) fn new(writer: LogWriter, hub: Weak<dyn Hub>, topic: u32) -> Self {
        let flows = Mutex::new(LogFlows {
            last: writer.log().last(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            at: BTreeMap::new(),
        });
        let told = Mutex::default();
        let news = Arc::new(LogNews { hub, topic, told });
        TopicLog {
            writer,
            news,
            flows,
        }
    }

    pub(super) fn id(&self) -> LogId {
        self.writer.log().id()
    }

    pub(super) fn last(&self) -> u64 {
        self.writer.log().last()
    }

    pub(crate) fn info(&self) -> LogInfo {
        self.writer.log().info()
    }

    /// The number that a subscription begins with.
    fn first(&self, place: LogPlace, retain: u32) -> u64 {
        match place {
            LogPlace::New => self.last().saturating_sub(retain.into()) + 1,
            LogPlace::All => 1,
            LogPlace::Number(number) => number.max(1),
            LogPlace::Time(time) => self.writer.log().first_since(time),
        }
    }

    /// Writes a sample: its number, when it is on the disk.
    fn append(&self, bytes: Vec<u8>) -> Reply<Result<u64, LogError>> {
        let (to, answer) = reply();
        let (news, bytes) = (Arc::clone(&self.news), Arc::<[u8]>::from(bytes));
        let sample = Arc::clone(&bytes);
        let told = move |number: Result<u64, LogError>| {
            if number.is_ok() {
                news.tell(|told| told.written.push(sample));
            }
            // An error: the publisher has gone.
            let _ = to.post(number);
        };
        self.writer.ask(LogRequest::Append(bytes, Box::new(told)));
        answer
    }

    fn read(&self, (to, from, most): WantedRead) {
        let news = Arc::clone(&self.news);
        let told = move |samples| {
            news.tell(|told| told.reads.push(ReadForFlow { to, from, samples }));
        };
        self.writer
            .ask(LogRequest::Read(from, most, Box::new(told)));
    }

    /// Where a flow is: the subscriber has not said it yet.
    fn begins(&self, to: FlowTarget, next: u64) {
        let cursor = LogCursor {
            next,
            live: self.last() + 1,
            is_answered: false,
            is_reading: false,
        };
        self.flows.lock().at.insert(to, cursor);
    }

    /// How many samples a flow has not got from the log yet.
    pub(super) fn waiting(&self, to: &FlowTarget) -> usize {
        let flows = self.flows.lock();
        let next = flows.at.get(to).map(|cursor| cursor.next);
        next.map_or(0, |next| (self.last() + 1).saturating_sub(next) as usize)
    }
}

impl LogNews {
    /// A task of the node takes what `put` has put.
    fn tell(&self, put: impl FnOnce(&mut ToldByLog)) {
        let had_task = {
            let mut told = self.told.lock();
            put(&mut told);
            std::mem::replace(&mut told.has_task, true)
        };
        if !had_task && let Some(hub) = self.hub.upgrade() {
            let (node, topic) = (Weak::clone(&self.hub), self.topic);
            hub.spawn(Box::pin(async move {
                if let Some(hub) = node.upgrade() {
                    hub.go_on(topic);
                }
            }));
        }
    }

    fn take(&self) -> ToldByLog {
        std::mem::take(&mut *self.told.lock())
    }
}

impl LogFlows {
    /// The bytes of a sample, if they are in memory.
    fn recent(&self, number: u64) -> Option<Arc<[u8]>> {
        let back = usize::try_from(self.last.checked_sub(number)?).ok()?;
        let at = self.recent.len().checked_sub(back + 1)?;
        self.recent.get(at).cloned()
    }

    fn written(&mut self, samples: Vec<Arc<[u8]>>) {
        for bytes in samples {
            self.last += 1;
            self.recent_bytes += bytes.len() + ENTRY;
            self.recent.push_back(bytes);
        }
        while self.recent_bytes > RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.recent_bytes -= oldest.len() + ENTRY;
        }
    }

    /// Fills the queue of a flow with what is in memory. What it needs of the log.
    fn fill<T: Send + Sync>(&mut self, to: &FlowTarget, flow: &mut Flow<T>) -> Option<WantedRead> {
        let mut number = self.at.get(to).filter(|at| at.is_answered)?.next;
        let mut found = Vec::new();
        while number + found.len() as u64 <= self.last && flow.out.room() > found.len() {
            let Some(bytes) = self.recent(number + found.len() as u64) else {
                break;
            };
            found.push(bytes);
        }
        let cursor = self.at.get_mut(to)?;
        cursor.put(flow, found);
        number = cursor.next;
        let room = flow.out.room();
        let is_behind = number <= self.last && room > 0;
        let reads = is_behind && !std::mem::replace(&mut cursor.is_reading, is_behind);
        reads.then(|| (to.clone(), number, room))
    }
}

impl LogCursor {
    /// The next samples of a flow.
    fn put<T: Send + Sync>(&mut self, flow: &mut Flow<T>, samples: Vec<Arc<[u8]>>) {
        for bytes in samples {
            let (number, bytes) = (self.next, Some(bytes));
            let payload = Payload { value: None, bytes };
            match number < self.live {
                true => flow.out.push_retained(number, payload),
                // It has room.
                false => drop(flow.out.push(number, payload)),
            }
            self.next += 1;
        }
    }
}

impl<T: Send + Sync + 'static> Publishing<T> {
    pub(crate) fn log(&self) -> Option<&TopicLog> {
        self.log.as_ref()
    }

    /// Publishes a value, and waits until it is on the disk.
    pub(crate) fn publish_to_log(
        &self,
        log: &TopicLog,
        value: T,
    ) -> Result<Published, PublishError<T>> {
        if inside_task() && !log.writer.is_at_once() {
            let reason = PublishRefusal::WouldWait;
            return Err(PublishError { value, reason });
        }
        let (value, number) = self.hand_to_log(log, value)?;
        self.is_written(value, block_on(number).unwrap_or(Err(LogError::Closed)))
    }

    /// Publishes a value. Ends when it is on the disk.
    pub(crate) async fn publish_to_log_wait(
        &self,
        log: &TopicLog,
        value: T,
    ) -> Result<Published, PublishError<T>> {
        let (value, number) = self.hand_to_log(log, value)?;
        let number = number.await.unwrap_or(Err(LogError::Closed));
        self.is_written(value, number)
    }

    /// Nothing is published any more. Another publisher may have the log then.
    pub(super) fn close_log(&self) {
        if let Some(log) = &self.log {
            log.writer.close();
        }
    }

    #[expect(
        clippy::type_complexity,
        reason = "the value, and its number when that is known"
    )]
    fn hand_to_log(
        &self,
        log: &TopicLog,
        value: T,
    ) -> Result<(T, Reply<Result<u64, LogError>>), PublishError<T>> {
        let refused = |value, reason| Err(PublishError { value, reason });
        if self.state.lock().ended || self.core.strong_count() == 0 {
            return refused(value, PublishRefusal::Left);
        }
        let mut bytes = Vec::new();
        if let Err(why) = (self.write)(&value, &mut bytes) {
            return refused(value, PublishRefusal::NotWritable(why));
        }
        if bytes.len() > MAX_PAYLOAD {
            let length = bytes.len();
            let why = format!("{length} bytes are too many: at most {MAX_PAYLOAD}");
            return refused(value, PublishRefusal::NotWritable(why));
        }
        Ok((value, log.append(bytes)))
    }

    fn is_written(
        &self,
        value: T,
        number: Result<u64, LogError>,
    ) -> Result<Published, PublishError<T>> {
        match number {
            Ok(number) => Ok(Published {
                number,
                subscribers: self.state.lock().flows.len(),
                dropped: 0,
            }),
            Err(LogError::Closed) => Err(PublishError {
                value,
                reason: PublishRefusal::Left,
            }),
            Err(why) => Err(PublishError {
                value,
                reason: PublishRefusal::Log(why),
            }),
        }
    }

    /// A subscription of this node.
    pub(super) fn attach_to_log(&self, log: &TopicLog, typed: Arc<Subscribed<T>>, id: u32) {
        let first = log.first(typed.start(), self.qos.retain);
        let to = FlowTarget::Here(id);
        let mut state = self.state.lock();
        let mut flow = self.flow(&state);
        log.begins(to.clone(), first);
        let (key, class) = (&self.key, self.qos.class);
        let (upto, window) = typed.opened_here(self.id, (key, class), first, Some(log.id()));
        flow.out.accepted(upto, window, drop);
        flow.subscription = Some(typed);
        state.flows.insert(to.clone(), flow);
        log.is_at(&to, upto);
        drop(state);
        self.go_on_with_log(log);
    }

    /// A subscription of a peer. It says then what it has accepted, of this flow or of an earlier
    /// one.
    pub(super) fn open_from_log(
        &self,
        log: &TopicLog,
        to: FlowTarget,
        (link, subscription): (u64, u32),
        place: LogPlace,
    ) -> Frame {
        let first = log.first(place, self.qos.retain);
        let mut state = self.state.lock();
        let mut flow = self.flow(&state);
        flow.link = link;
        log.begins(to.clone(), first);
        state.flows.insert(to, flow);
        Frame::Open {
            topic: self.id,
            subscription,
            key: self.key.to_string(),
            qos: self.qos,
            first,
            log: Some(log.id()),
        }
    }

    /// A subscriber has accepted what is up to this number.
    pub(super) fn accepted_of_log(
        &self,
        log: &TopicLog,
        to: &FlowTarget,
        (upto, window): (u64, usize),
    ) {
        let mut state = self.state.lock();
        let State { flows, ready, .. } = &mut *state;
        let Some(flow) = flows.get_mut(to) else {
            return;
        };
        // There are no values.
        flow.out.accepted(upto, window, drop);
        log.is_at(to, upto);
        let read = log.flows.lock().fill(to, flow);
        flow.list(to, ready);
        drop(state);
        if let Some(read) = read {
            log.read(read);
        }
        self.send();
    }

    /// Takes what the log has told, and sends what may be sent.
    pub(super) fn go_on_with_log(&self, log: &TopicLog) {
        let (mut reads, mut failed) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        let mut at_log = log.flows.lock();
        let told = log.news.take();
        at_log.written(told.written);
        let State { flows, ready, .. } = &mut *state;
        at_log.at.retain(|to, _| flows.contains_key(to));
        for ReadForFlow { to, from, samples } in told.reads {
            let (Some(cursor), Some(flow)) = (at_log.at.get_mut(&to), flows.get_mut(&to)) else {
                continue;
            };
            cursor.is_reading = false;
            match samples {
                Ok(mut samples) if cursor.next == from => {
                    samples.truncate(flow.out.room());
                    cursor.put(flow, samples);
                }
                Ok(_) => {}
                Err(why) => failed.push((to, from, why)),
            }
        }
        for (to, flow) in flows {
            reads.extend(at_log.fill(to, flow));
            flow.list(to, ready);
        }
        let last = at_log.last;
        drop(at_log);
        drop(state);
        reads.into_iter().for_each(|read| log.read(read));
        for (to, from, why) in failed {
            self.cannot_read(&to, Gap { from, to: last }, &why);
        }
        self.send();
    }

    /// What a subscriber wants cannot be read: it gets nothing more.
    fn cannot_read(&self, to: &FlowTarget, gap: Gap, why: &LogError) {
        let why = why.to_string();
        self.remove(|flow, _| flow == to, &why);
        let subscriber = match to {
            FlowTarget::Here(_) => self.me.clone(),
            FlowTarget::There(peer, _) => PeerName::clone(peer),
        };
        // A port that drops its oldest refuses nothing.
        let _ = self.losses.post(Lost {
            subscriber,
            gap,
            why,
        });
    }

    /// Whether subscribers have accepted all.
    pub(super) fn is_all_accepted(&self, state: &State<T>) -> bool {
        let mut flows = state.flows.iter();
        flows.all(|(to, flow)| {
            let waits = self.log.as_ref().map_or(0, |log| log.waiting(to));
            waits == 0 && flow.out.first().is_none()
        })
    }
}

impl TopicLog {
    /// The subscriber has accepted what is up to this number.
    fn is_at(&self, to: &FlowTarget, upto: u64) {
        if let Some(cursor) = self.flows.lock().at.get_mut(to) {
            let next = upto.saturating_add(1);
            // The first answer says where the flow begins, also before where it would have.
            cursor.next = match cursor.is_answered {
                true => cursor.next.max(next),
                false => next,
            };
            cursor.is_answered = true;
        }
    }
}
