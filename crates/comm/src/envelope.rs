//! A message between ranks, and what a receive asks for.

use crate::address::{Source, Status, TagMatch};
use crate::report::Unmatched;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::any::{Any, type_name};
use std::panic::Location;
use std::sync::Arc;

/// A message on its way: moved by ownership, never copied.
pub(crate) struct Envelope {
    pub(crate) context: Context,
    pub(crate) status: Status,
    pub(crate) label: Label,
    /// What a synchronous send waits for.
    pub(crate) receipt: Option<Arc<Receipt>>,
    payload: Box<dyn Any + Send>,
    /// How many messages had arrived before this one; set on arrival.
    pub(crate) place: u64,
}

/// What is written on a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    pub(crate) type_name: fn() -> &'static str,
    /// The number of elements of a slice; 1 for a value.
    pub(crate) length: usize,
    /// Where it was sent.
    pub(crate) location: &'static Location<'static>,
}

/// Says that a message has been received.
#[derive(Debug)]
pub(crate) struct Receipt {
    /// The sender's rank in the world.
    sender: usize,
    received: AtomicBool,
}

/// Keeps apart what must never meet: the messages of one communicator from those of the others, and those
/// of the runtime itself from those of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) communicator: u32,
    pub(crate) kind: Kind,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Shift,
    /// Exchanges with the neighbours of a topology.
    Neighbourhood,
}

/// What a receive waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) context: Context,
    pub(crate) source: Source,
    pub(crate) tag: TagMatch,
}

impl Envelope {
    pub(crate) fn new<T: Send + 'static>(
        context: Context,
        status: Status,
        location: &'static Location<'static>,
        value: T,
    ) -> Self {
        let label = Label {
            type_name: type_name::<T>,
            length: 1,
            location,
        };
        Envelope {
            context,
            status,
            label,
            receipt: None,
            payload: Box::new(value),
            place: 0,
        }
    }

    /// What is to be said of it when rank `dest` of the world has not received it; the runtime's own
    /// messages are not spoken of.
    pub(crate) fn unmatched(&self, dest: usize) -> Option<Unmatched> {
        (self.context.kind == Kind::User).then(|| Unmatched {
            dest,
            source: self.status.source,
            tag: self.status.tag,
            communicator: self.context.communicator,
            type_name: (self.label.type_name)(),
            location: self.label.location,
        })
    }

    /// Looks at the value, if it is a `T`.
    pub(crate) fn peek<T: 'static>(&self) -> Option<&T> {
        self.payload.downcast_ref()
    }

    /// The value, or the envelope again when it holds another type.
    pub(crate) fn open<T: 'static>(mut self) -> Result<T, Self> {
        match self.payload.downcast() {
            Ok(value) => Ok(*value),
            Err(payload) => {
                self.payload = payload;
                Err(self)
            }
        }
    }
}

impl Receipt {
    pub(crate) fn new(sender: usize) -> Self {
        Receipt {
            sender,
            received: AtomicBool::new(false),
        }
    }

    /// The message has been received; returns who waits for it, to be woken after a fence.
    pub(crate) fn sign(&self) -> usize {
        self.received.store(true, Ordering::Release);
        self.sender
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.received.load(Ordering::Acquire)
    }
}

impl Wanted {
    pub(crate) fn matches(&self, envelope: &Envelope) -> bool {
        let source = match self.source {
            Source::Any => true,
            Source::Rank(rank) => rank == envelope.status.source,
            Source::Null => false,
        };
        let tag = match self.tag {
            TagMatch::Any => true,
            TagMatch::Only(tag) => tag == envelope.status.tag,
        };
        source && tag && self.context == envelope.context
    }
}
