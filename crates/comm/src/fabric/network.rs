//! The messages of one rank of a replay. Each is on its way for a while: the replay brings it as a
//! task. So a message of one sender may be overtaken by those of others, as on a network.
//!
//! ```text
//!   push ──► under way, behind those of its sender ──► task of the replay ──► mailbox ──► wake
//! ```

use super::local_ranks::LocalRanks;
use super::mailbox::Mailbox;
use super::threads::Threads;
use super::{Mail, Posted, PostedReceive, ReceivedValue, Signed};
use crate::envelope::{Envelope, ReceivePattern, Sender};
use crate::report::Unmatched;
use motet_dispatch::{Causalities, Enqueue, ReplayQueue, Task};
use motet_sync::Mutex;
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::{Arc, Weak};

/// One rank among others of a replay.
pub(crate) type InReplay = Threads<Network>;

/// The messages to one rank, those on their way included.
pub(crate) struct Network {
    arrivals: Arc<Arrivals>,
    queue: ReplayQueue,
}

/// Where messages arrive.
struct Arrivals {
    mailbox: Mailbox,
    under_way: Mutex<BTreeMap<Stream, VecDeque<Envelope>>>,
    local: Weak<LocalRanks>,
    /// The rank's place here.
    place: usize,
}

/// Messages that arrive in the order in which they were sent: those of a communicator, and the rank
/// there that sends them.
type Stream = (u32, usize);

impl Network {
    pub(super) fn new(local: &Weak<LocalRanks>, place: usize, queue: &ReplayQueue) -> Self {
        let arrivals = Arrivals {
            mailbox: Mailbox::new(),
            under_way: Mutex::default(),
            local: Weak::clone(local),
            place,
        };
        Network {
            arrivals: Arc::new(arrivals),
            queue: queue.clone(),
        }
    }

    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.arrivals.mailbox
    }
}

impl Arrivals {
    /// The next message of a stream arrives.
    fn bring(&self, stream: Stream) {
        let Some(local) = self.local.upgrade() else {
            return;
        };
        let next = {
            let mut under_way = self.under_way.lock();
            let Entry::Occupied(mut line) = under_way.entry(stream) else {
                unreachable!("there is a task for each message")
            };
            let next = line.get_mut().pop_front();
            if line.get().is_empty() {
                line.remove();
            }
            next.expect("a line without messages is gone")
        };
        let mut signed = Signed::new();
        self.mailbox.push(|| next, &mut signed);
        local.slot(self.place).wake_if_sleeping();
        for receipt in signed {
            if let Sender::Here(rank) = receipt.sign() {
                local.slot(rank).wake_if_sleeping();
            }
        }
    }
}

impl Mail for Network {
    fn push(&self, message: impl FnOnce() -> Envelope, _: &mut Signed) {
        let message = message();
        let stream = (message.context.communicator, message.status.source);
        let mut under_way = self.arrivals.under_way.lock();
        under_way.entry(stream).or_default().push_back(message);
        drop(under_way);
        let arrivals = Arc::clone(&self.arrivals);
        // It arrives also when what sends it is cancelled.
        Causalities::none().run(|| {
            self.queue.admit(Task::new(move || arrivals.bring(stream)));
        });
    }

    fn arrivals(&self) -> u32 {
        self.mailbox().arrivals()
    }

    fn post(&self, wanted: &ReceivePattern, signed: &mut Signed) -> Posted {
        self.mailbox().post(wanted, signed)
    }

    fn post_at_hand<V>(
        &self,
        wanted: &ReceivePattern,
        signed: &mut Signed,
        at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Result<ReceivedValue<V>, PostedReceive> {
        self.mailbox().post_at_hand(wanted, signed, at_hand)
    }

    fn request(&self, wanted: &ReceivePattern, signed: &mut Signed) -> PostedReceive {
        self.mailbox().request(wanted, signed)
    }

    fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope> {
        self.mailbox().collect(ticket)
    }

    fn withdraw(&self, ticket: PostedReceive, signed: &mut Signed) -> bool {
        self.mailbox().withdraw(ticket, signed)
    }

    fn leave(&self, ticket: PostedReceive) {
        self.mailbox().leave(ticket);
    }

    fn put_back(&self, envelope: Envelope, signed: &mut Signed) {
        self.mailbox().put_back(envelope, signed);
    }

    fn peek<R>(&self, wanted: &ReceivePattern, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.mailbox().peek(wanted, look)
    }

    fn clear(&self, wanted: &ReceivePattern) {
        self.mailbox().clear(wanted);
    }

    fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched> {
        let mut unmatched = self.mailbox().unmatched(dest, most);
        let under_way = self.arrivals.under_way.lock();
        let under_way = under_way.values().flatten();
        let under_way = under_way.filter_map(|envelope| envelope.unmatched(dest));
        unmatched.extend(under_way.take(most - unmatched.len()));
        unmatched
    }
}
