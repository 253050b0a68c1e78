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

use super::topic_log::{BeyondLog, TopicLog};
use super::{Flow, Lost, Published, Publishing, State};
use crate::flow::{FlowSource, FlowTarget};
use crate::frame::{Frame, MAX_PAYLOAD};
use crate::start_from::{LogOfKey, LogPlace};
use crate::subscribed::{FlowEnd, Subscribed};
use crate::{Gap, LogError, LogInfo, PeerName, PublishError, PublishRefusal};
use motet_dispatch::inside_task;
use motet_ports::Reply;
use motet_sync::block_on;
use std::cell::Cell;
use std::sync::Arc;

/// Why a subscriber does not get numbers that it has already.
const AHEAD: &str = "it has samples with these numbers, of another copy of the log";

/// Why a subscriber does not get numbers that it has asked for, or that were to come.
const DROPPED: &str = "the log has dropped them";

/// A value that is on its way to the disk, and its number when it is there.
type HandedToLog<T> = (T, Reply<Result<u64, LogError>>);

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
        if inside_task() && !log.is_at_once() {
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

    fn hand_to_log(&self, log: &TopicLog, value: T) -> Result<HandedToLog<T>, PublishError<T>> {
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
                subscribers: self.state.lock().subscriber_count(),
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

    /// A subscription of this node. It gets nothing as long as another topic of the node has the
    /// log.
    pub(super) fn attach_to_log(&self, log: &TopicLog, typed: Arc<Subscribed<T>>, id: u32) {
        let place = typed.start();
        let first = log.first(place, self.qos.retain);
        let to = FlowTarget::Here(id);
        let mut state = self.state.lock();
        let mut flow = self.flow(&state, place);
        let observes = flow.observes;
        let opened = (&self.key, self.qos.class);
        let log_of_key = || LogOfKey {
            id: log.id(),
            key: self.key.clone(),
            of: None,
        };
        let opened = FlowEnd::open(typed, self.id, opened, (first, Some(log_of_key())));
        let Some((end, upto, before)) = opened else {
            drop(state);
            if let Some(core) = self.core.upgrade() {
                core.waits_for_log(self.id, (id, log_of_key()));
            }
            return;
        };
        log.begins(to.clone(), first);
        flow.out.accepted(upto, end.window(), drop);
        flow.end = Some(end);
        state.insert(to.clone(), flow);
        let beyond = log.is_at(&to, upto);
        drop(state);
        if let Some(beyond) = beyond.filter(|_| !observes) {
            self.tell_beyond(log, &to, beyond);
        }
        if let Some(FlowSource::There(peer, _)) = before
            && let Some(core) = self.core.upgrade()
        {
            core.takes_log(&peer, (id, log_of_key()));
        }
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
        let mut flow = self.flow(&state, place);
        flow.link = link;
        log.begins(to.clone(), first);
        state.insert(to, flow);
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
        let beyond = log.is_at(to, upto).filter(|_| !flow.observes);
        let read = log.fill(to, flow);
        flow.list(to, ready);
        drop(state);
        if let Some(read) = read {
            log.read(read);
        }
        if let Some(beyond) = beyond {
            self.tell_beyond(log, to, beyond);
        }
        self.send();
    }

    /// Takes what the log has told, and sends what may be sent.
    pub(super) fn go_on_with_log(&self, log: &TopicLog) {
        let news = {
            let mut state = self.state.lock();
            log.take_told(&mut state)
        };
        news.wanted.into_iter().for_each(|wanted| log.read(wanted));
        for (to, gap) in news.dropped {
            self.tell_not_got(&to, gap, DROPPED);
        }
        for (to, gap, why) in news.unread {
            self.cannot_read(&to, gap, &why);
        }
        self.send();
    }

    /// What a subscriber wants cannot be read: it gets nothing more, and is told so. What waits for
    /// it does not come, either.
    fn cannot_read(&self, to: &FlowTarget, gap: Gap, why: &LogError) {
        let (why, found) = (why.to_string(), Cell::new(None));
        let is_it = |of: &FlowTarget, flow: &Flow<T>| {
            let is_it = of == to;
            if is_it {
                let from = flow.out.first_waiting().unwrap_or(gap.from);
                found.set(Some((from, flow.observes)));
            }
            is_it
        };
        self.remove(is_it, &why);
        // None: it has gone meanwhile.
        let Some((from, observes)) = found.get() else {
            return;
        };
        if !observes {
            self.tell_not_got(to, Gap { from, ..gap }, &why);
        }
        if let Some(core) = self.core.upgrade() {
            core.flow_ends((self.id, &self.key), to, &why);
        }
    }

    /// A flow goes on behind the end of the log. Who has had what is missing is told to the
    /// publisher; who has asked for what is not there yet hears what is.
    fn tell_beyond(&self, log: &TopicLog, to: &FlowTarget, beyond: BeyondLog) {
        let asked = match beyond {
            BeyondLog::Had(gap) => return self.tell_not_got(to, gap, AHEAD),
            BeyondLog::Asked(number) => number,
        };
        let LogInfo { first, last, .. } = log.info();
        let next = last + 1;
        // It may have come meanwhile, or come next.
        if asked <= next {
            return;
        }
        let has = match first <= last {
            true => format!("the samples {first} to {last}"),
            false => "no samples".to_owned(),
        };
        let why = format!(
            "its log has {has}, and a subscription begins with number {asked}: nothing comes \
             before that is published. Begin with new, all, or a number up to {next}"
        );
        if let Some(core) = self.core.upgrade() {
            core.tell_subscriber(&self.key, to, why);
        }
    }

    fn tell_not_got(&self, to: &FlowTarget, gap: Gap, why: &str) {
        let why = why.to_owned();
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
            let waits = || self.log.as_ref().map_or(0, |log| log.waiting(to));
            flow.observes || waits() == 0 && flow.out.first().is_none()
        })
    }
}
