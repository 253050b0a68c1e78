//! The waiting list: who waits for what, since when, and where that was written.

mod here;
mod registry;

pub use here::watch_here;

pub(crate) use here::Here;
pub(crate) use registry::WaitRegistry;

use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Someone who can say what he waits for.
pub trait Waiter: Send + Sync {
    /// What is waited for; `None` when the wait is over. Ports may be locked for a moment to look.
    fn awaits(&self) -> Option<Awaited>;

    /// The dispatcher in whose list this stands has ended. A future wakes its task, which its queue
    /// then drops; a task of somebody else looks once more and goes on waiting. Called under no
    /// lock. (Does nothing, unless overridden.)
    fn dispatcher_ended(&self) {}
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
    /// When it began, to a millisecond; for a persistent arbiter, when it was activated.
    pub since: Instant,
    /// Where it was awaited or activated.
    pub created: &'static Location<'static>,
}

/// What is waited for at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitPart {
    /// The port, with its number and the type of its items; for who waits for room, the room in it
    /// or in a queue.
    pub port: String,
    /// The items that are there, wanted or not; the room that is there.
    pub there: usize,
    /// The items, or the room, that are needed.
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

#[cfg(test)]
mod tests {
    use super::*;

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
