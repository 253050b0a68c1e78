//! The log of a durable topic, and where its flows are in it.

use super::state::{Flow, Payload, State};
use crate::flow::{FlowTarget, Hub};
use crate::log::{LogRequest, LogSamples, LogWriter};
use crate::start_from::{LogId, LogPlace};
use crate::{Gap, LogError, LogInfo};
use motet_ports::{Reply, reply};
use motet_sync::Mutex;
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
    /// So many samples are on the disk now.
    count: u64,
    /// The last of them, in order, and their bytes.
    written: VecDeque<Arc<[u8]>>,
    bytes: usize,
    reads: Vec<ReadForFlow>,
    /// A task takes them.
    has_task: bool,
}

/// Samples that were read for a flow, which has asked for this number.
struct ReadForFlow {
    to: FlowTarget,
    from: u64,
    samples: Result<LogSamples, LogError>,
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
pub(super) type WantedRead = (FlowTarget, u64, usize);

/// Why a flow goes on behind the end of the log.
#[derive(Debug, Clone, Copy)]
pub(super) enum BeyondLog {
    /// The subscriber had these numbers before, which this log does not have.
    Had(Gap),
    /// The subscriber wants to begin with this number.
    Asked(u64),
}

/// What is to be done when flows have got what the log has told.
#[derive(Default)]
pub(super) struct FlowNews {
    pub(super) wanted: Vec<WantedRead>,
    /// Samples that cannot be read: for whom, and why.
    pub(super) unread: Vec<(FlowTarget, Gap, LogError)>,
    /// Samples that the log has dropped before they were read: for whom.
    pub(super) dropped: Vec<(FlowTarget, Gap)>,
}

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

    /// Whether who publishes hears at once what became of it.
    pub(super) fn is_at_once(&self) -> bool {
        self.writer.is_at_once()
    }

    /// Writes what waits, and lets the log go.
    pub(super) fn close(&self) {
        self.writer.close();
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

    /// The number that a subscription begins with. One that names a number that the log has dropped
    /// is told so.
    pub(super) fn first(&self, place: LogPlace, retain: u32) -> u64 {
        let oldest = self.writer.log().first();
        match place {
            LogPlace::New => oldest.max(self.last().saturating_sub(retain.into()) + 1),
            LogPlace::Observe => self.last() + 1,
            LogPlace::All => oldest,
            LogPlace::Number(number) => number.max(1),
            LogPlace::Time(time) => self.writer.log().first_since(time),
        }
    }

    /// Writes a sample: its number, when it is on the disk.
    pub(super) fn append(&self, bytes: Vec<u8>) -> Reply<Result<u64, LogError>> {
        let (to, answer) = reply();
        let (news, bytes) = (Arc::clone(&self.news), Arc::<[u8]>::from(bytes));
        let sample = Arc::clone(&bytes);
        let told = move |number: Result<u64, LogError>| {
            if number.is_ok() {
                news.tell(|told| told.wrote(sample));
            }
            // An error: the publisher has gone.
            let _ = to.post(number);
        };
        self.writer.ask(LogRequest::Append(bytes, Box::new(told)));
        answer
    }

    pub(super) fn read(&self, (to, from, most): WantedRead) {
        let news = Arc::clone(&self.news);
        let told = move |samples| {
            news.tell(|told| told.reads.push(ReadForFlow { to, from, samples }));
        };
        self.writer
            .ask(LogRequest::Read(from, most, Box::new(told)));
    }

    /// Where a flow is: the subscriber has not said it yet.
    pub(super) fn begins(&self, to: FlowTarget, next: u64) {
        let cursor = LogCursor {
            next,
            live: self.last() + 1,
            is_answered: false,
            is_reading: false,
        };
        self.flows.lock().at.insert(to, cursor);
    }

    /// This flow is gone.
    pub(super) fn end(&self, to: &FlowTarget) {
        self.flows.lock().at.remove(to);
    }

    /// The subscriber has accepted what is up to this number. Whether it goes on behind the end
    /// that the log had when the flow began: only its first answer tells.
    pub(super) fn is_at(&self, to: &FlowTarget, upto: u64) -> Option<BeyondLog> {
        let mut flows = self.flows.lock();
        let cursor = flows.at.get_mut(to)?;
        // What the log had when the flow began: nothing was sent since.
        let last = cursor.live - 1;
        let is_beyond = !cursor.is_answered && upto > last;
        let has_had = upto >= cursor.next;
        let next = upto.saturating_add(1);
        // The first answer says where the flow begins, also before where it would have.
        cursor.next = match cursor.is_answered {
            true => cursor.next.max(next),
            false => next,
        };
        cursor.is_answered = true;
        let (from, to) = (last + 1, upto);
        is_beyond.then_some(match has_had {
            true => BeyondLog::Had(Gap { from, to }),
            false => BeyondLog::Asked(next),
        })
    }

    /// Fills the queue of a flow. What it needs of the log.
    pub(super) fn fill<T: Send + Sync + 'static>(
        &self,
        to: &FlowTarget,
        flow: &mut Flow<T>,
    ) -> Option<WantedRead> {
        self.flows.lock().fill(to, flow)
    }

    /// Takes what the log has told, and fills the queues of all flows. What these need of the log,
    /// and what they do not get.
    pub(super) fn take_told<T: Send + Sync + 'static>(&self, state: &mut State<T>) -> FlowNews {
        let mut news = FlowNews::default();
        let mut at_log = self.flows.lock();
        let told = self.news.take();
        at_log.written(told.count, told.written);
        let State { flows, ready, .. } = state;
        at_log.at.retain(|to, _| flows.contains_key(to));
        for ReadForFlow { to, from, samples } in told.reads {
            let (last, oldest) = (at_log.last, at_log.oldest());
            let (Some(cursor), Some(flow)) = (at_log.at.get_mut(&to), flows.get_mut(&to)) else {
                continue;
            };
            cursor.is_reading = false;
            match samples {
                Ok(LogSamples {
                    mut first,
                    mut samples,
                }) if cursor.is_answered && cursor.next == from => {
                    // What the log has dropped may still be in memory, and comes from there.
                    if oldest < first {
                        first = oldest.max(from);
                        samples.clear();
                    }
                    if first > from {
                        let to_oldest = Gap {
                            from,
                            to: first - 1,
                        };
                        if !flow.observes {
                            news.dropped.push((to, to_oldest));
                        }
                        cursor.next = first;
                    }
                    samples.truncate(flow.out.room());
                    cursor.put(flow, samples);
                }
                Ok(_) => {}
                Err(why) => news.unread.push((to, Gap { from, to: last }, why)),
            }
        }
        for (to, flow) in flows {
            news.wanted.extend(at_log.fill(to, flow));
            flow.list(to, ready);
        }
        news
    }

    /// How many samples a flow has not got from the log yet.
    pub(super) fn waiting(&self, to: &FlowTarget) -> usize {
        let flows = self.flows.lock();
        let next = flows.at.get(to).map(|cursor| cursor.next);
        next.map_or(0, |next| (self.last() + 1).saturating_sub(next) as usize)
    }
}

impl ToldByLog {
    /// Keeps a sample that is on the disk now, and of those before it no more than flows keep.
    fn wrote(&mut self, sample: Arc<[u8]>) {
        self.count += 1;
        self.bytes += sample.len() + ENTRY;
        self.written.push_back(sample);
        while self.bytes > RECENT
            && let Some(oldest) = self.written.pop_front()
        {
            self.bytes -= oldest.len() + ENTRY;
        }
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

    /// The number of the oldest sample that is in memory: that of the next one, if none is.
    fn oldest(&self) -> u64 {
        (self.last + 1).saturating_sub(self.recent.len() as u64)
    }

    /// So many are on the disk, and these are the last of them.
    fn written(&mut self, count: u64, samples: VecDeque<Arc<[u8]>>) {
        if count > samples.len() as u64 {
            self.recent.clear();
            self.recent_bytes = 0;
        }
        self.last += count;
        for bytes in samples {
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
    fn fill<T: Send + Sync + 'static>(
        &mut self,
        to: &FlowTarget,
        flow: &mut Flow<T>,
    ) -> Option<WantedRead> {
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
    fn put<T: Send + Sync + 'static>(&mut self, flow: &mut Flow<T>, samples: Vec<Arc<[u8]>>) {
        for bytes in samples {
            let (number, bytes) = (self.next, Some(bytes));
            let payload = Payload {
                value: None,
                bytes,
                names: None,
            };
            match number < self.live {
                true => flow.out.push_retained(number, payload),
                // It has room.
                false => drop(flow.out.push(number, payload)),
            }
            self.next += 1;
        }
    }
}
