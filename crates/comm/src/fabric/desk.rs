//! A rank's port, its receives, and messages that come back.
//!
//! Receives are registered at the port and messages are posted to it, in the order of both. A receive stays in a
//! list here until its outcome is seen, so that all can be registered anew when a message comes back.

use super::{Posted, Ticket};
use crate::envelope::{Envelope, Wanted};
use crate::mailbox::Signed;
use crate::report::Unmatched;
use motet_dispatch::{Causalities, Inline};
use motet_ports::{Activation, Port, Receive};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// A rank's port.
pub(crate) struct Desk {
    port: Port<Envelope>,
    /// Runs the handlers of receives.
    inline: Inline,
    /// Held while the port is used: a message that is put back goes to its old place, for which others must
    /// be taken out for a moment.
    order: Mutex<Order>,
    /// Receipts of messages that receives have got, until their senders are told.
    signed: Arc<Mutex<Signed>>,
    /// Goes up with each message, so that a waiting rank need not take the lock to look.
    pub(super) arrivals: AtomicU32,
}

/// What came in which order.
#[derive(Default)]
struct Order {
    /// Messages that have arrived so far.
    arrived: u64,
    /// The receives whose outcome nobody has seen, oldest first.
    posted: Vec<Registered>,
}

/// A receive at a rank's port.
struct Registered {
    wanted: Wanted,
    came: Came,
    receive: Activation,
}

/// Where a handler keeps what its receive has got.
type Came = Arc<Mutex<Option<Envelope>>>;

/// A receive that is registered at a rank's port.
pub(crate) struct PortTicket {
    came: Came,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Desk {
            port: Port::new(),
            inline: Inline::new("receives"),
            order: Mutex::default(),
            signed: Arc::default(),
            arrivals: AtomicU32::new(0),
        }
    }

    /// The receipts of messages that receives have got since this was last asked. Asked after every call that may let a
    /// receive get one.
    pub(super) fn take_signed(&self) -> Signed {
        std::mem::take(&mut *self.signed.lock())
    }

    /// A message comes.
    pub(super) fn post(&self, mut envelope: Envelope) {
        {
            let mut order = self.order.lock();
            envelope.place = order.arrived;
            order.arrived += 1;
            apart(|| keep(&self.port.post(envelope)));
        }
        self.arrivals.fetch_add(1, Ordering::Release);
    }

    /// Takes the oldest message that is wanted, or posts a receive for it.
    pub(super) fn receive(&self, wanted: Wanted) -> Posted {
        let ticket = self.request(wanted);
        let there = self.collect(&ticket);
        there.ok_or_else(|| Ticket::Port(Box::new(ticket)))
    }

    /// Posts a receive.
    pub(super) fn request(&self, wanted: Wanted) -> PortTicket {
        let mut order = self.order.lock();
        let came = Came::default();
        let receive = self.register(wanted, &came);
        order.posted.push(Registered {
            wanted,
            came: Arc::clone(&came),
            receive,
        });
        PortTicket { came }
    }

    /// Has the port keep the next message that is wanted in `came`.
    fn register(&self, wanted: Wanted, came: &Came) -> Activation {
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

    /// What the receive has got; it is then over.
    pub(super) fn collect(&self, ticket: &PortTicket) -> Option<Envelope> {
        let came = ticket.came.lock().take()?;
        self.order.lock().remove(ticket);
        Some(came)
    }

    pub(super) fn withdraw(&self, ticket: &PortTicket) -> bool {
        let came = {
            let mut order = self.order.lock();
            if let Some(registered) = order.remove(ticket) {
                registered.receive.cleanup();
            }
            ticket.came.lock().take()
        };
        match came {
            None => true,
            Some(envelope) => {
                self.put_back(envelope);
                false
            }
        }
    }

    /// Brings a message back, as if it had not been taken. Receives may have got younger messages that another
    /// of them would have had, or none, with this one there: all are registered anew, in their order, and choose
    /// again among all messages, in theirs.
    pub(super) fn put_back(&self, envelope: Envelope) {
        {
            let mut order = self.order.lock();
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
        }
        self.arrivals.fetch_add(1, Ordering::Release);
    }

    /// Looks at all messages that wait, the oldest first.
    pub(super) fn all<R>(&self, look: impl FnOnce(&[Envelope]) -> R) -> R {
        let _order = self.order.lock();
        let items = self.take_all();
        let result = look(&items);
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

    /// The program's messages to rank `dest` that nobody has received, also those that wait in a posted receive; at most so
    /// many.
    pub(crate) fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched> {
        let unmatched = |envelope: &Envelope| envelope.unmatched(dest);
        let came = |registered: &Registered| registered.came.lock().as_ref().and_then(unmatched);
        let mut all: Vec<_> = self.order.lock().posted.iter().filter_map(came).collect();
        all.extend(self.all(|items| items.iter().filter_map(unmatched).collect::<Vec<_>>()));
        all.truncate(most);
        all
    }
}

impl Order {
    /// The receive is over.
    fn remove(&mut self, ticket: &PortTicket) -> Option<Registered> {
        let is_it = |registered: &Registered| Arc::ptr_eq(&registered.came, &ticket.came);
        let at = self.posted.iter().position(is_it)?;
        Some(self.posted.remove(at))
    }
}

/// Posts and registers outside of the caller's causalities: what carries messages is nobody's work, and is not to be
/// skipped when somebody's is cancelled.
pub(super) fn apart<R>(work: impl FnOnce() -> R) -> R {
    Causalities::none().run(work)
}

/// A port without a bound, whose receivers' queues have none, takes every item.
pub(super) fn keep<E>(posted: &Result<(), E>) {
    debug_assert!(posted.is_ok(), "a port without a bound refuses nothing");
}
