//! The waiting list: who waits for what, since when, and where that was written.
//!
//! Whoever waits (an arbiter on its ports, an async receive) enters itself when it begins to wait, and
//! nothing when it ends: an entry is a weak pointer, and dead ones are swept out when a shard has
//! doubled. So the list costs a waiter one push into the shard of its own worker, and whoever reads
//! it pays for the rest.

use motet_sync::{CachePadded, Mutex};
use std::fmt;
use std::panic::Location;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// Someone who can say what he waits for.
pub trait Waiter: Send + Sync {
    /// What is waited for; `None` when the wait is over. Ports may be locked for a moment to look.
    fn awaits(&self) -> Option<Awaited>;
}

/// What someone waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    /// Who waits, by the name of its type or function: `Receive`, `recv`.
    pub who: &'static str,
    /// The queue on which the handlers run, if the waiter knows.
    pub queue: Option<String>,
    /// What must come together for the wait to end; of a choice, what may.
    pub parts: Vec<WaitPart>,
}

/// One wait, as it was when the list was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Who waits, and for what.
    pub awaited: Awaited,
    /// When it began; for a persistent arbiter, when it was activated.
    pub since: Instant,
    /// Where it was awaited or activated.
    pub created: &'static Location<'static>,
}

/// What is waited for at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitPart {
    /// The port, with its number and the type of its items.
    pub port: String,
    /// The items that are there, wanted or not.
    pub there: usize,
    /// The items that are needed.
    pub needed: usize,
}

/// Everyone who waits on a dispatcher: [`Dispatcher::waiting`](crate::Dispatcher::waiting). The
/// longest wait comes first. `Display` is for people:
///
/// ```text
/// 2 wait
/// JoinedReceive on queue 'kitchen' for 3.2 s, at src/main.rs:17:5
///     port 4 of Fork: 1 there, 1 needed
///     port 5 of Fork: 0 there, 1 needed, missing
/// recv for 0.1 s, at src/main.rs:40:31
///     port 9 of Order: 0 there, 1 needed, missing
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting(Vec<Wait>);

impl Waiting {
    /// The waits, the longest first.
    #[must_use]
    pub fn waits(&self) -> &[Wait] {
        &self.0
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl WaitPart {
    /// Whether items are missing here.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.there < self.needed
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            0 => return f.write_str("nobody waits"),
            1 => f.write_str("1 waits")?,
            count => write!(f, "{count} wait")?,
        }
        self.0.iter().try_for_each(|wait| write!(f, "\n{wait}"))
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Awaited { who, queue, parts } = &self.awaited;
        f.write_str(who)?;
        if let Some(queue) = queue {
            write!(f, " on queue '{queue}'")?;
        }
        let waited = self.since.elapsed();
        write!(f, " for {}, at {}", seconds(waited), self.created)?;
        parts.iter().try_for_each(|part| write!(f, "\n    {part}"))
    }
}

impl fmt::Display for WaitPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitPart {
            port,
            there,
            needed,
        } = self;
        write!(f, "{port}: {there} there, {needed} needed")?;
        if self.is_missing() {
            f.write_str(", missing")?;
        }
        Ok(())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Where a dispatcher keeps its waiters.
#[derive(Default)]
pub(crate) struct Roll {
    /// One per worker, and the last for everyone else.
    shards: Box<[CachePadded<Mutex<Shard>>]>,
}

#[derive(Default)]
struct Shard {
    entries: Vec<Entry>,
    /// At so many entries the dead are swept out.
    sweep_at: usize,
}

#[derive(Clone)]
struct Entry {
    waiter: Weak<dyn Waiter>,
    since: Instant,
    created: &'static Location<'static>,
}

impl Roll {
    pub(crate) fn new(workers: usize) -> Self {
        Roll {
            shards: (0..=workers).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Enters a waiter, from worker `index` or, with `None`, from another thread.
    pub(crate) fn enter(
        &self,
        index: Option<usize>,
        waiter: Weak<dyn Waiter>,
        created: &'static Location<'static>,
    ) {
        let entry = Entry {
            waiter,
            since: Instant::now(),
            created,
        };
        let last = self.shards.len() - 1;
        self.shards[index.unwrap_or(last)].lock().enter(entry);
    }

    /// Everyone who waits now.
    pub(crate) fn read(&self) -> Waiting {
        // No lock is held while a waiter looks at its ports, or while the last handle of one goes.
        let entries = self
            .shards
            .iter()
            .flat_map(|shard| shard.lock().entries.clone());
        let entries: Vec<_> = entries.collect();
        let mut waits: Vec<_> = entries.iter().filter_map(Entry::look).collect();
        waits.sort_by_key(|wait| wait.since);
        Waiting(waits)
    }
}

impl Shard {
    const LEAST: usize = 64;

    fn enter(&mut self, entry: Entry) {
        if self.entries.len() >= self.sweep_at.max(Self::LEAST) {
            self.entries.retain(|entry| entry.waiter.strong_count() > 0);
            self.sweep_at = 2 * self.entries.len();
        }
        self.entries.push(entry);
    }
}

impl Entry {
    fn look(&self) -> Option<Wait> {
        Some(Wait {
            awaited: self.waiter.upgrade()?.awaits()?,
            since: self.since,
            created: self.created,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct One;

    impl Waiter for One {
        fn awaits(&self) -> Option<Awaited> {
            None
        }
    }

    #[test]
    fn dead_entries_do_not_pile_up() {
        let mut shard = Shard::default();
        let living: Vec<Arc<dyn Waiter>> = (0..100).map(|_| Arc::new(One) as _).collect();
        let mut enter = |one: &Arc<dyn Waiter>| {
            shard.enter(Entry {
                waiter: Arc::downgrade(one),
                since: Instant::now(),
                created: Location::caller(),
            });
        };
        living.iter().for_each(&mut enter);
        for _ in 0..10_000 {
            enter(&(Arc::new(One) as Arc<dyn Waiter>));
        }
        let is_living = |entry: &&Entry| entry.waiter.strong_count() > 0;
        assert_eq!(shard.entries.iter().filter(is_living).count(), 100);
        assert!(shard.entries.len() <= 4 * 100, "{}", shard.entries.len());
    }

    #[test]
    fn the_list_reads_well() {
        let created = Location::caller();
        let part = |port: &str, there, needed| WaitPart {
            port: port.to_owned(),
            there,
            needed,
        };
        let wait = Wait {
            awaited: Awaited {
                who: "JoinedReceive",
                queue: Some("kitchen".to_owned()),
                parts: vec![part("port 4 of Fork", 1, 1), part("port 5 of Fork", 0, 1)],
            },
            since: Instant::now(),
            created,
        };
        let lines = Waiting(vec![wait]).to_string();
        let expected = format!(
            "1 waits\nJoinedReceive on queue 'kitchen' for 0.0 s, at {created}\n    \
             port 4 of Fork: 1 there, 1 needed\n    port 5 of Fork: 0 there, 1 needed, missing"
        );
        assert_eq!(lines, expected);
        assert_eq!(Waiting::default().to_string(), "nobody waits");
    }
}
