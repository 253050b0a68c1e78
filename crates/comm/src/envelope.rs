//! A message between ranks, and what a receive asks for.

use std::any::{Any, type_name};
use std::collections::VecDeque;

/// What a message is about; chosen by the program.
pub type Tag = u32;

/// From whom a receive takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From any rank.
    Any,
    /// From this rank only.
    Rank(usize),
}

/// Messages with which tag a receive takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagMatch {
    /// Any tag.
    Any,
    /// This tag only.
    Only(Tag),
}

/// Takes messages from any rank (MPI_ANY_SOURCE).
pub const ANY_SOURCE: Source = Source::Any;

/// Takes messages with any tag (MPI_ANY_TAG).
pub const ANY_TAG: TagMatch = TagMatch::Any;

/// Who sent a message, and with which tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sender.
    pub source: usize,
    /// The tag it was sent with.
    pub tag: Tag,
}

/// A message on its way: moved by ownership, never copied.
pub(crate) struct Envelope {
    pub(crate) context: Context,
    pub(crate) status: Status,
    pub(crate) type_name: &'static str,
    payload: Box<dyn Any + Send>,
    /// How many messages had arrived before this one; set on arrival.
    place: u64,
}

/// Keeps the messages of the runtime itself apart from those of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    User,
    Shift,
    /// Lanes for the side of the sender (0 left, 1 right).
    Topology(usize),
}

/// What a receive waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) context: Context,
    pub(crate) source: Source,
    pub(crate) tag: TagMatch,
}

/// Messages that have arrived and were not received yet, oldest first.
#[derive(Default)]
pub(crate) struct Arrived {
    waiting: VecDeque<Envelope>,
    /// Messages that have arrived so far.
    count: u64,
}

impl Envelope {
    pub(crate) fn new<T: Send + 'static>(context: Context, status: Status, value: T) -> Self {
        Envelope {
            context,
            status,
            type_name: type_name::<T>(),
            payload: Box::new(value),
            place: 0,
        }
    }

    /// The value, or the envelope again when it holds another type.
    pub(crate) fn open<T: 'static>(self) -> Result<T, Self> {
        let Envelope {
            context,
            status,
            type_name,
            payload,
            place,
        } = self;
        match payload.downcast() {
            Ok(value) => Ok(*value),
            Err(payload) => Err(Envelope {
                context,
                status,
                type_name,
                payload,
                place,
            }),
        }
    }
}

impl Wanted {
    fn matches(&self, envelope: &Envelope) -> bool {
        let source = match self.source {
            Source::Any => true,
            Source::Rank(rank) => rank == envelope.status.source,
        };
        let tag = match self.tag {
            TagMatch::Any => true,
            TagMatch::Only(tag) => tag == envelope.status.tag,
        };
        source && tag && self.context == envelope.context
    }
}

impl Arrived {
    pub(crate) fn push(&mut self, mut envelope: Envelope) {
        envelope.place = self.count;
        self.count += 1;
        self.waiting.push_back(envelope);
    }

    /// Takes the oldest message that is wanted: so the messages of one sender that match the same
    /// receives are taken in the order they were sent.
    pub(crate) fn take(&mut self, wanted: &Wanted) -> Option<Envelope> {
        let at = self
            .waiting
            .iter()
            .position(|envelope| wanted.matches(envelope))?;
        self.waiting.remove(at)
    }

    /// Brings a message back that nobody could use, to its old place: a receive with a narrower tag may
    /// have taken it past older ones.
    pub(crate) fn put_back(&mut self, envelope: Envelope) {
        let older = |other: &Envelope| other.place < envelope.place;
        let at = self.waiting.partition_point(older);
        self.waiting.insert(at, envelope);
    }
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Source::Rank(rank)
    }
}

impl From<Tag> for TagMatch {
    fn from(tag: Tag) -> Self {
        TagMatch::Only(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(source: usize, tag: Tag, value: u32) -> Envelope {
        Envelope::new(Context::User, Status { source, tag }, value)
    }

    fn take(
        arrived: &mut Arrived,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Option<u32> {
        let wanted = Wanted {
            context: Context::User,
            source: source.into(),
            tag: tag.into(),
        };
        arrived
            .take(&wanted)
            .map(|envelope| envelope.open().ok().unwrap())
    }

    #[test]
    fn the_oldest_match_is_taken_and_the_rest_stays() {
        let mut arrived = Arrived::default();
        for (i, (source, tag)) in [(0, 1), (1, 1), (0, 2), (1, 1)].into_iter().enumerate() {
            arrived.push(envelope(source, tag, u32::try_from(i).unwrap()));
        }
        assert_eq!(take(&mut arrived, 2, ANY_TAG), None);
        assert_eq!(take(&mut arrived, ANY_SOURCE, 2), Some(2));
        assert_eq!(take(&mut arrived, 1, 1), Some(1));
        assert_eq!(take(&mut arrived, ANY_SOURCE, ANY_TAG), Some(0));
        assert_eq!(take(&mut arrived, 1, 1), Some(3));
        assert_eq!(take(&mut arrived, ANY_SOURCE, ANY_TAG), None);
    }

    #[test]
    fn what_is_put_back_takes_its_old_place() {
        let mut arrived = Arrived::default();
        for tag in 0..3 {
            arrived.push(envelope(0, tag, tag));
        }
        let wanted = Wanted {
            context: Context::User,
            source: ANY_SOURCE,
            tag: 1.into(),
        };
        let taken = arrived.take(&wanted).unwrap();
        arrived.put_back(taken);
        assert_eq!(
            [(); 3].map(|()| take(&mut arrived, ANY_SOURCE, ANY_TAG)),
            [Some(0), Some(1), Some(2)]
        );
    }

    #[test]
    fn another_type_is_handed_back_whole() {
        let wrong = envelope(3, 4, 5).open::<String>().unwrap_err();
        assert_eq!((wrong.status.source, wrong.type_name), (3, "u32"));
        assert_eq!(wrong.open::<u32>().ok(), Some(5));
    }
}
