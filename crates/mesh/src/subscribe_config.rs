//! How a subscription takes samples: its port, its window, and when a sample counts as accepted.

use crate::StartFrom;
use motet_ports::PortConfig;

/// When a sample counts as accepted: its publisher is told, and sends more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ack {
    /// The port has taken it.
    #[default]
    Accepted,
    /// Its handler has ended: all clones of the [`Sample`](crate::Sample) are dropped. What a
    /// process had not handled when it ended was not accepted.
    Handled,
}

/// How a subscription takes samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscribeConfig {
    /// The port. With [`Overflow::Wait`](motet_ports::Overflow::Wait) a full port holds its
    /// publishers back; the other policies drop samples here, which the port counts.
    pub port: PortConfig,
    /// How many samples of one publisher may be under way, or not accepted yet. At least 1; more
    /// than 65536 count as so many.
    pub window: u32,
    /// When they are accepted.
    pub ack: Ack,
    /// Which samples of durable topics come first.
    pub from: StartFrom,
    /// It looks on, and is no subscriber: publishers do not count it, wait for it or tell what it
    /// misses. It gets new samples alone, whatever `from` says. Where it is slow it misses the
    /// oldest, as of a topic that is [`Latest`](crate::Class::Latest); of one that is
    /// [`Durable`](crate::Class::Durable) it is behind. When a topic ends it may miss the last
    /// samples.
    pub observes: bool,
}

impl Default for SubscribeConfig {
    fn default() -> Self {
        SubscribeConfig {
            port: PortConfig::default(),
            window: 64,
            ack: Ack::Accepted,
            from: StartFrom::New,
            observes: false,
        }
    }
}
