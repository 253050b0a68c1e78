//! Why a simulation cannot go on.

use super::Core;
use super::process::Number;
use crate::Time;
use std::collections::HashMap;
use std::fmt;

/// The processes that a text shows.
const SHOWN: usize = 8;

/// Processes wait, and nothing is scheduled that could give them what they wait for.
///
/// `Display` and `Debug` show the first of many processes, and how many more there are.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stuck {
    /// When nothing was left to do.
    pub time: Time,
    /// Who waits, in the order in which they were started.
    pub processes: Vec<StuckProcess>,
}

/// A process that waits for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckProcess {
    /// Its name and number.
    pub name: String,
    /// What it waits for.
    pub waits_for: String,
}

/// What processes wait for.
pub(super) trait Facility {
    /// Who waits for it, and what for, in words.
    fn waiting(&self, core: &Core) -> Vec<(Number, String)>;
}

impl Core {
    pub(super) fn stuck(&self) -> Stuck {
        let facilities = self.facilities.borrow();
        let mut waiting: HashMap<u32, Vec<String>> = HashMap::new();
        for facility in facilities.iter().filter_map(std::rc::Weak::upgrade) {
            for (number, what) in facility.waiting(self) {
                waiting.entry(number.slot).or_default().push(what);
            }
        }
        let slots = self.slots.borrow();
        let alive = slots
            .iter()
            .zip(0_u32..)
            .filter(|(slot, _)| slot.alive && !slot.background);
        let mut alive: Vec<_> = alive.map(|(slot, at)| (slot.serial, at)).collect();
        alive.sort_unstable();
        let mut processes = Vec::new();
        for (serial, at) in alive {
            let waits_for = match waiting.get(&at) {
                Some(for_what) => for_what.join(" or "),
                None => "another process, or something outside of the simulation".to_owned(),
            };
            processes.push(StuckProcess {
                name: format!("{} {serial}", slots[at as usize].name),
                waits_for,
            });
        }
        Stuck {
            time: self.now.get(),
            processes,
        }
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the simulation is stuck at time {}: nothing is scheduled",
            self.time
        )?;
        for process in self.processes.iter().take(SHOWN) {
            write!(f, "; {} waits for {}", process.name, process.waits_for)?;
        }
        match self.processes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more wait"),
        }
    }
}

impl fmt::Debug for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stuck")
            .field("time", &self.time)
            .field("processes", &FirstOf(&self.processes))
            .finish()
    }
}

/// The first of many processes.
struct FirstOf<'a>(&'a [StuckProcess]);

impl fmt::Debug for FirstOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.0.iter().take(SHOWN));
        if let Some(more @ 1..) = self.0.len().checked_sub(SHOWN) {
            list.entry(&format_args!("and {more} more"));
        }
        list.finish()
    }
}

impl std::error::Error for Stuck {}
