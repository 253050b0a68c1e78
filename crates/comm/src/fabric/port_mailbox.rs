//! A rank's port, its receives, and messages that come back.
//!
//! Receives are registered at the port and messages are posted to it, in the order of both. A
//! receive stays in a list here until its outcome is seen, so that all can be registered anew when
//! a message comes back.

use super::{Mail, Posted, PostedReceive, Signed};
use crate::envelope::{Envelope, ReceivePattern};
use crate::report::Unmatched;
use motet_dispatch::{Causalities, Inline};
use motet_ports::{Activation, Port, Receive};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// A rank's port.
pub(crate) struct PortMailbox {
    port: Port<Envelope>,
    /// Runs the handlers of receives.
    inline: Inline,
    /// Held while the port is used. A message that is put back goes to its old place, for which
    /// others must be taken out for a moment.
    order: Mutex<Order>,
    /// Receipts of messages that receives have got, until their senders are told.
    signed: Arc<Mutex<Signed>>,
    /// Goes up with each message, so that a waiting rank need not take the lock to look.
    arrivals: AtomicU32,
}

/// What came in which order.
#[derive(Default)]
struct Order {
    /// Messages that have arrived so far.
    arrived: u64,
    /// The receives whose outcome nobody has seen, oldest first.
    posted: Vec<Registered>,
    /// How many of them nobody waits for.
    left: usize,
}

/// A receive at a rank's port.
struct Registered {
    wanted: ReceivePattern,
    came: ReceivedSlot,
    receive: Activation,
    /// Nobody waits for it any more: what it gets is dropped.
    left: bool,
}

/// Where a handler keeps what its receive has got.
type ReceivedSlot = Arc<Mutex<Option<Envelope>>>;

/// A receive that is registered at a rank's port.
pub(crate) struct PortTicket {
    came: ReceivedSlot,
}

impl PortMailbox {
    pub(crate) fn new() -> Self {
        PortMailbox {
            port: Port::new(),
            inline: Inline::new("receives"),
            order: Mutex::default(),
            signed: Arc::default(),
            arrivals: AtomicU32::new(0),
        }
    }

    /// Uses the port; receipts of messages that receives get by it are `signed`.
    fn signing<R>(&self, signed: &mut Signed, act: impl FnOnce(&mut Order) -> R) -> R {
        let (result, left) = {
            let mut order = self.order.lock();
            (act(&mut order), order.take_left())
        };
        signed.append(&mut self.signed.lock());
        // Under no lock: values may be anything.
        drop(left);
        result
    }

    /// Has the port keep the next message that is wanted in `came`.
    fn register(&self, wanted: ReceivePattern, came: &ReceivedSlot) -> Activation {
        let (came, signed) = (Arc::clone(came), Arc::clone(&self.signed));
        let keep_it = move |mut envelope: Envelope| {
            signed.lock().extend(wanted.receipt_of(&mut envelope));
            *came.lock() = Some(envelope);
        };
        let receive =
            Receive::once(&self.port, keep_it).when(move |envelope| wanted.matches(envelope));
        let receive = apart(|| receive.activate(&self.inline));
        receive.expect("an inline queue takes every task")
    }

    fn post_receive(&self, wanted: &ReceivePattern, signed: &mut Signed) -> PortTicket {
        self.signing(signed, |order| {
            let came = ReceivedSlot::default();
            let receive = self.register(*wanted, &came);
            order.posted.push(Registered {
                wanted: *wanted,
                came: Arc::clone(&came),
                receive,
                left: false,
            });
            PortTicket { came }
        })
    }

    fn collect_of(&self, ticket: &PortTicket) -> Option<Envelope> {
        let came = ticket.came.lock().take()?;
        self.order.lock().remove(ticket);
        Some(came)
    }

    /// Shows `look` all messages that wait, the oldest first, and leaves there what it leaves.
    fn all<R>(&self, look: impl FnOnce(&mut Vec<Envelope>) -> R) -> R {
        let _order = self.order.lock();
        let mut items = self.take_all();
        let result = look(&mut items);
        self.lay_back(items);
        result
    }

    /// Takes the messages that wait out of the port, the oldest first.
    fn take_all(&self) -> Vec<Envelope> {
        std::iter::from_fn(|| self.port.test()).collect()
    }

    fn lay_back(&self, items: Vec<Envelope>) {
        for envelope in items.into_iter().rev() {
            apart(|| keep(&self.port.put_back(envelope)));
        }
    }
}

impl Mail for PortMailbox {
    fn push(&self, message: impl FnOnce() -> Envelope, signed: &mut Signed) {
        let mut envelope = message();
        self.signing(signed, |order| {
            envelope.place = order.arrived;
            order.arrived += 1;
            apart(|| keep(&self.port.post(envelope)));
        });
        self.arrivals.fetch_add(1, Ordering::Release);
    }

    fn arrivals(&self) -> u32 {
        self.arrivals.load(Ordering::Acquire)
    }

    fn post(&self, wanted: &ReceivePattern, signed: &mut Signed) -> Posted {
        let ticket = self.post_receive(wanted, signed);
        let there = self.collect_of(&ticket);
        there.ok_or_else(|| PostedReceive::Port(Box::new(ticket)))
    }

    fn request(&self, wanted: &ReceivePattern, signed: &mut Signed) -> PostedReceive {
        PostedReceive::Port(Box::new(self.post_receive(wanted, signed)))
    }

    fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope> {
        self.collect_of(ticket.at_port())
    }

    fn withdraw(&self, mut ticket: PostedReceive, signed: &mut Signed) -> bool {
        let ticket = ticket.at_port();
        let came = {
            let mut order = self.order.lock();
            if let Some(registered) = order.remove(ticket) {
                registered.receive.cleanup();
            }
            ticket.came.lock().take()
        };
        let was_free = came.is_none();
        if let Some(envelope) = came {
            self.put_back(envelope, signed);
        }
        was_free
    }

    fn leave(&self, mut ticket: PostedReceive) {
        let ticket = ticket.at_port();
        let came = {
            let mut order = self.order.lock();
            // It keeps its place among the others until it has got its message.
            if let Some(at) = order.find(ticket) {
                order.posted[at].left = true;
                order.left += 1;
            }
            order.take_left()
        };
        drop(came);
    }

    /// Without this message, receives may have got younger messages that another of them would have
    /// had, or none. So all are registered anew, in their order, and choose again among all
    /// messages, in theirs.
    fn put_back(&self, envelope: Envelope, signed: &mut Signed) {
        self.signing(signed, |order| {
            let mut items = self.take_all();
            items.push(envelope);
            for registered in &order.posted {
                registered.receive.cleanup();
                items.extend(registered.came.lock().take());
            }
            items.sort_unstable_by_key(|item| item.place);
            self.lay_back(items);
            for registered in &mut order.posted {
                registered.receive = self.register(registered.wanted, &registered.came);
            }
        });
        self.arrivals.fetch_add(1, Ordering::Release);
    }

    fn peek<R>(&self, wanted: &ReceivePattern, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.all(|items| {
            let found = items.iter().find(|envelope| wanted.matches(envelope));
            found.map(look)
        })
    }

    fn clear(&self, wanted: &ReceivePattern) {
        // What is taken out is dropped under no lock.
        let _taken: Vec<Envelope> = self.all(|items| {
            let wants = |envelope: &mut Envelope| wanted.matches(envelope);
            items.extract_if(.., wants).collect()
        });
    }

    fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched> {
        let unmatched = |envelope: &Envelope| envelope.unmatched(dest);
        let came = |registered: &Registered| registered.came.lock().as_ref().and_then(unmatched);
        let mut all: Vec<_> = self.order.lock().posted.iter().filter_map(came).collect();
        all.extend(self.all(|items| items.iter().filter_map(unmatched).collect::<Vec<_>>()));
        all.truncate(most);
        all
    }
}

impl PostedReceive {
    fn at_port(&mut self) -> &mut PortTicket {
        match self {
            PostedReceive::Port(ticket) => ticket,
            PostedReceive::Mail(_) => unreachable!("the receive was posted at a port"),
        }
    }
}

impl Order {
    /// The receive is over.
    fn remove(&mut self, ticket: &PortTicket) -> Option<Registered> {
        let at = self.find(ticket)?;
        Some(self.posted.remove(at))
    }

    fn find(&self, ticket: &PortTicket) -> Option<usize> {
        let is_it = |registered: &Registered| Arc::ptr_eq(&registered.came, &ticket.came);
        self.posted.iter().position(is_it)
    }

    /// What receives have got that nobody waits for; they are over.
    fn take_left(&mut self) -> Vec<Envelope> {
        let mut came = Vec::new();
        if self.left == 0 {
            return came;
        }
        self.posted.retain(|registered| {
            let got = registered.left.then(|| registered.came.lock().take());
            let got = got.flatten();
            let is_over = got.is_some();
            came.extend(got);
            !is_over
        });
        self.left -= came.len();
        came
    }
}

/// Posts and registers outside of the caller's causalities: what carries messages is nobody's work,
/// and is not to be skipped when somebody's is cancelled.
pub(super) fn apart<R>(work: impl FnOnce() -> R) -> R {
    Causalities::none().run(work)
}

/// A port without a bound, whose receivers' queues have none, takes every item.
pub(super) fn keep<E>(posted: &Result<(), E>) {
    debug_assert!(posted.is_ok(), "a port without a bound refuses nothing");
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::{Source, Status, TagMatch};
    use crate::envelope::{Context, MessageKind};
    use std::panic::Location;

    const CONTEXT: Context = Context {
        communicator: 0,
        kind: MessageKind::User,
    };

    fn push(mail: &PortMailbox, tag: u32, value: u32) {
        let status = Status { source: 0, tag };
        let message = || Envelope::new(CONTEXT, status, Location::caller(), value);
        mail.push(message, &mut Signed::new());
    }

    fn posted(mail: &PortMailbox, tag: u32) -> PostedReceive {
        let wanted = ReceivePattern {
            context: CONTEXT,
            source: Source::Rank(0),
            tag: TagMatch::Only(tag),
            signs: true,
        };
        mail.request(&wanted, &mut Signed::new())
    }

    fn value(mail: &PortMailbox, ticket: &mut PostedReceive) -> Option<u32> {
        mail.collect(ticket)?.open().ok()
    }

    #[test]
    fn a_receive_that_nobody_waits_for_keeps_its_place_when_a_message_comes_back() {
        let mail = PortMailbox::new();
        let (mut first, left) = (posted(&mail, 1), posted(&mail, 1));
        let (mut last, given_up) = (posted(&mail, 1), posted(&mail, 2));
        mail.leave(left);
        push(&mail, 2, 9);
        let was_free = mail.withdraw(given_up, &mut Signed::new());
        assert!(!was_free, "it had got its message");
        for value in [1, 2, 3] {
            push(&mail, 1, value);
        }
        assert_eq!(value(&mail, &mut first), Some(1));
        assert_eq!(value(&mail, &mut last), Some(3), "the second is dropped");
        assert_eq!(mail.order.lock().posted.len(), 0);
        assert_eq!(mail.unmatched(0, 9).len(), 1, "the one that has come back");
    }

    #[test]
    fn what_a_receive_has_got_when_it_is_left_is_dropped() {
        let mail = PortMailbox::new();
        let left = posted(&mail, 1);
        push(&mail, 1, 1);
        push(&mail, 1, 2);
        mail.leave(left);
        assert_eq!(value(&mail, &mut posted(&mail, 1)), Some(2));
        let order = mail.order.lock();
        assert_eq!((order.posted.len(), order.left), (0, 0));
    }
}
