//! A message between ranks, and what a receive asks for.

mod numbers;
mod receipt;
pub(crate) use numbers::NotCopied;
pub(crate) use receipt::{Receipt, ReceiptSlots, Sender};

use crate::address::{Source, Status, TagMatch};
use crate::any_cell::AnyLetter;
use crate::rendezvous_copy::Borrowed;
use crate::report::Unmatched;
use crate::wire::{Of, Tail, Typed, decode, put_number, put_text};
use crate::{CallSite, Value};
use motet_trace::known;
use std::any::type_name;
use std::panic::Location;
use std::sync::Arc;

/// A message on its way: moved by ownership, never copied.
pub(crate) struct Envelope {
    pub(crate) context: Context,
    pub(crate) status: Status,
    pub(crate) label: OnMessage,
    /// What a synchronous send waits for.
    pub(crate) receipt: Option<Arc<Receipt>>,
    payload: Payload,
    /// How many messages had arrived before this one; set on arrival.
    pub(crate) place: u64,
}

/// The type of a value, and where it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) type_name: &'static str,
    pub(crate) site: CallSite,
}

/// An envelope that holds another type than was asked for, or cannot be read, and why.
pub(crate) type Unopened = Box<(Envelope, Option<String>)>;

/// What is written on a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnMessage {
    /// Where it was sent and what type it has; `None` when it came from another process.
    here: Option<(&'static Typed, &'static Location<'static>)>,
    /// The number of elements of a slice; 1 for a value.
    pub(crate) length: usize,
}

/// What is inside.
enum Payload {
    Here(AnyLetter),
    /// Numbers of a slice.
    SharedBuffer(Box<Borrowed>),
    Written(Box<Written>),
}

/// A value from another process, and what was written on it.
struct Written {
    value: Bytes,
    type_name: &'static str,
    site: CallSite,
}

/// The bytes of a value: where they came if they are many, else in place.
enum Bytes {
    Few([u8; FEW], u8),
    Many(Vec<u8>),
}

/// So many bytes are few: most numbers and small tuples.
const FEW: usize = 32;

/// What a message between processes has behind its value, by the bits above its label's number.
const WORDS: u64 = 1 << 32;
const LENGTH: u64 = 1 << 33;
const RECEIPT: u64 = 1 << 34;

/// Keeps apart what must never meet. The messages of one communicator do not meet those of the
/// others. Those of the runtime itself do not meet those of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) communicator: u32,
    pub(crate) kind: MessageKind,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MessageKind {
    User = 0,
    Shift = 1,
    /// Exchanges with the neighbours of a topology.
    Neighbourhood = 2,
    /// Steps of a ring or line, where the neighbour is in another process.
    Step = 3,
    /// The neighbour's end of such a ring or line is gone.
    StepsEnd = 4,
}

/// What a receive waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivePattern {
    pub(crate) context: Context,
    pub(crate) source: Source,
    pub(crate) tag: TagMatch,
    /// Whether a message that it gets is received by that; if not, whoever gets it signs for it
    /// later.
    pub(crate) signs: bool,
}

impl Envelope {
    #[inline]
    pub(crate) fn new<T: Value>(
        context: Context,
        status: Status,
        location: &'static Location<'static>,
        value: T,
    ) -> Self {
        Envelope::of::<T>(context, status, location, AnyLetter::new(value))
    }

    /// A message of a letter with a `T` in it.
    #[inline]
    pub(crate) fn of<T: Value>(
        context: Context,
        status: Status,
        location: &'static Location<'static>,
        letter: AnyLetter,
    ) -> Self {
        let label = OnMessage {
            here: Some((Of::<T>::TYPE, location)),
            length: 1,
        };
        Envelope {
            context,
            status,
            label,
            receipt: None,
            payload: Payload::Here(letter),
            place: 0,
        }
    }

    /// It has arrived after so many others.
    #[inline]
    pub(crate) fn arrived(self, place: u64) -> Self {
        Envelope { place, ..self }
    }

    /// What is to be said of it when rank `dest` of the world has not received it; the runtime's
    /// own messages are not spoken of.
    pub(crate) fn unmatched(&self, dest: usize) -> Option<Unmatched> {
        (self.context.kind == MessageKind::User).then(|| Unmatched {
            dest,
            source: self.status.source,
            tag: self.status.tag,
            communicator: self.context.communicator,
            type_name: self.type_name(),
            location: self.call_site(),
        })
    }

    /// Whether a `T` is inside.
    #[inline]
    pub(crate) fn holds<T: 'static>(&self) -> bool {
        match &self.payload {
            Payload::Here(value) => value.holds::<T>(),
            Payload::SharedBuffer(numbers) => numbers.holds::<T>(),
            Payload::Written(written) => written.type_name == type_name::<T>(),
        }
    }

    /// The value, if it is a `T` that lies in the envelope; then nothing is inside.
    #[inline]
    pub(crate) fn at_hand<T: Value>(&mut self) -> Option<T> {
        match &mut self.payload {
            Payload::Here(value) => value.take(),
            Payload::SharedBuffer(_) | Payload::Written(_) => None,
        }
    }

    /// The value, or the envelope again when it holds another type, or cannot be read: then with
    /// the reason.
    #[inline]
    pub(crate) fn open<T: Value>(mut self) -> Result<T, Unopened> {
        match self.at_hand() {
            Some(value) => Ok(value),
            None => self.open_other(),
        }
    }

    /// As [`Envelope::open`], of one that holds no `T` at hand.
    #[cold]
    fn open_other<T: Value>(self) -> Result<T, Unopened> {
        if !self.holds::<T>() {
            return Err(Box::new((self, None)));
        }
        match self.payload {
            Payload::Here(_) => unreachable!("it holds a T, which was not at hand"),
            Payload::SharedBuffer(numbers) => Ok(*numbers.open().downcast().expect("it holds a T")),
            Payload::Written(ref written) => match decode(written.value.all()) {
                Ok(value) => Ok(value),
                Err(reason) => Err(Box::new((self, Some(reason)))),
            },
        }
    }

    /// Appends the bytes of the value, for another process; its type, and where it was sent.
    ///
    /// # Errors
    /// Why the value cannot be written.
    pub(crate) fn encode(
        &self,
        to: &mut Vec<u8>,
    ) -> Result<(&'static Typed, &'static Location<'static>), String> {
        match (self.label.here, &self.payload) {
            (Some((typed, location)), Payload::Here(value)) => {
                (typed.encode)(value.any(), to)?;
                Ok((typed, location))
            }
            _ => Err("it is from another process".to_owned()),
        }
    }

    /// The process that has sent it keeps a receipt under this number.
    pub(crate) fn expects_receipt(&mut self, process: usize, number: u64) {
        self.receipt = Some(Arc::new(Receipt::of(Sender::There(process, number))));
    }

    /// The envelope of a value with what [`Behind`] has written behind it, and the number of the
    /// receipt if the sender keeps one. `None` if the bytes are not such. `label` gives the label
    /// of a number, with its words when they came.
    pub(crate) fn read(
        context: Context,
        status: Status,
        bytes: &mut Vec<u8>,
        label: impl FnOnce(u32, Option<Label>) -> Option<Label>,
    ) -> Option<(Self, Option<u64>)> {
        let mut tail = Tail(bytes);
        let last = tail.number()?;
        let mut number = |bit| {
            let there = last & bit != 0;
            there
                .then(|| tail.number())
                .map_or(Some(None), |it| it.map(Some))
        };
        let (receipt, length) = (number(RECEIPT)?, number(LENGTH)?);
        let words = match last & WORDS {
            0 => None,
            _ => {
                let (place, file) = (tail.number()?, known(tail.text()?));
                Some(Label {
                    type_name: known(tail.text()?),
                    site: CallSite::new(file, (place >> 32) as u32, place as u32),
                })
            }
        };
        let end = tail.0.len();
        let Label { type_name, site } = label(last as u32, words)?;
        let length = usize::try_from(length.unwrap_or(1)).ok()?;
        let written = Box::new(Written {
            value: Bytes::take(bytes, end),
            type_name,
            site,
        });
        let envelope = Envelope {
            context,
            status,
            label: OnMessage { here: None, length },
            receipt: None,
            payload: Payload::Written(written),
            place: 0,
        };
        Some((envelope, receipt))
    }
}

impl Envelope {
    /// The type of what is inside.
    pub(crate) fn type_name(&self) -> &'static str {
        match (&self.label.here, &self.payload) {
            (Some((typed, _)), _) => (typed.name)(),
            (None, Payload::Written(written)) => written.type_name,
            (None, _) => unreachable!("what is here has its label"),
        }
    }

    /// Where it was sent.
    fn call_site(&self) -> CallSite {
        match (&self.label.here, &self.payload) {
            (Some((_, location)), _) => (*location).into(),
            (None, Payload::Written(written)) => written.site,
            (None, _) => unreachable!("what is here has its label"),
        }
    }
}

impl Bytes {
    /// The first so many of these bytes; many are taken away.
    fn take(from: &mut Vec<u8>, length: usize) -> Self {
        if length <= FEW {
            let mut few = [0; FEW];
            few[..length].copy_from_slice(&from[..length]);
            return Bytes::Few(few, length as u8);
        }
        if from.capacity() > 4 * length {
            // It may stay for long in memory that was for more.
            return Bytes::Many(from[..length].to_vec());
        }
        from.truncate(length);
        Bytes::Many(std::mem::take(from))
    }

    fn all(&self) -> &[u8] {
        match self {
            Bytes::Few(bytes, length) => &bytes[..usize::from(*length)],
            Bytes::Many(bytes) => bytes,
        }
    }
}

/// What stands behind a value on its way to another process.
pub(crate) struct Behind {
    /// The number of its label there, if that is known.
    pub(crate) label: Option<u32>,
    pub(crate) typed: &'static Typed,
    pub(crate) location: &'static Location<'static>,
    /// The number of elements of a slice; 1 for a value.
    pub(crate) length: usize,
    /// The number under which the sender keeps the receipt, if there is one.
    pub(crate) receipt: Option<u64>,
}

impl Behind {
    /// Appends it. Its label has this number, and comes with its words if they are new there.
    pub(crate) fn write(&self, label: u32, with_words: bool, bytes: &mut Vec<u8>) {
        let mut last = u64::from(label);
        if with_words {
            put_text(bytes, (self.typed.name)());
            put_text(bytes, self.location.file());
            let place = u64::from(self.location.line()) << 32 | u64::from(self.location.column());
            put_number(bytes, place);
            last |= WORDS;
        }
        if self.length != 1 {
            put_number(bytes, self.length as u64);
            last |= LENGTH;
        }
        if let Some(receipt) = self.receipt {
            put_number(bytes, receipt);
            last |= RECEIPT;
        }
        put_number(bytes, last);
    }
}

impl MessageKind {
    /// The kind with this number.
    pub(crate) fn of(number: u8) -> Option<Self> {
        let all = [
            MessageKind::User,
            MessageKind::Shift,
            MessageKind::Neighbourhood,
            MessageKind::Step,
            MessageKind::StepsEnd,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

impl ReceivePattern {
    /// The receipt of a message that it gets, if the sender is to be told now.
    #[inline]
    pub(crate) fn receipt_of(&self, envelope: &mut Envelope) -> Option<Arc<Receipt>> {
        envelope.receipt.take_if(|_| self.signs)
    }

    #[inline]
    pub(crate) fn matches(&self, envelope: &Envelope) -> bool {
        let source = match self.source {
            Source::Any => true,
            Source::Rank(rank) => rank == envelope.status.source,
            Source::Null => false,
            Source::Outside => envelope.status.rank().is_none(),
        };
        let tag = match self.tag {
            TagMatch::Any => true,
            TagMatch::Only(tag) => tag == envelope.status.tag,
        };
        source && tag && self.context == envelope.context
    }
}
