//! To whom a message goes, from whom it is wanted, and what it is about.

/// What a message is about; chosen by the program.
pub type Tag = u32;

/// From whom a receive takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// From any rank.
    Any,
    /// From this rank only.
    Rank(usize),
    /// From nobody (MPI_PROC_NULL): the receive ends at once and brings nothing.
    Null,
    /// From no rank: what comes through entrances.
    Outside,
}

/// To whom a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dest {
    /// To this rank.
    Rank(usize),
    /// To nobody (MPI_PROC_NULL): the message is dropped.
    Null,
}

/// Messages with which tag a receive takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagMatch {
    /// Any tag.
    Any,
    /// This tag only.
    Only(Tag),
}

/// Takes messages from any rank (MPI_ANY_SOURCE).
pub const ANY_SOURCE: Source = Source::Any;

/// Takes messages that no rank has sent, and no others.
pub const OUTSIDE: Source = Source::Outside;

/// Takes messages with any tag (MPI_ANY_TAG).
pub const ANY_TAG: TagMatch = TagMatch::Any;

/// Who sent a message, and with which tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sender, as the communicator numbers its ranks.
    /// [`Status::NO_RANK`] when no rank has sent the message.
    pub source: usize,
    /// The tag it was sent with.
    pub tag: Tag,
}

impl Status {
    /// The source of a message that came through an entrance.
    pub const NO_RANK: usize = usize::MAX;

    /// The rank that sent the message; `None` when it came through an entrance.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        (self.source != Status::NO_RANK).then_some(self.source)
    }
}

/// The sender of a message in words, given its [`Status::source`].
#[must_use]
pub fn sender(source: usize) -> String {
    match source {
        Status::NO_RANK => "outside".to_owned(),
        rank => format!("rank {rank}"),
    }
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Source::Rank(rank)
    }
}

impl From<Option<usize>> for Source {
    fn from(rank: Option<usize>) -> Self {
        rank.map_or(Source::Null, Source::Rank)
    }
}

impl From<usize> for Dest {
    fn from(rank: usize) -> Self {
        Dest::Rank(rank)
    }
}

impl From<Option<usize>> for Dest {
    fn from(rank: Option<usize>) -> Self {
        rank.map_or(Dest::Null, Dest::Rank)
    }
}

impl From<Tag> for TagMatch {
    fn from(tag: Tag) -> Self {
        TagMatch::Only(tag)
    }
}
