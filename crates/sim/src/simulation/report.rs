//! Why a simulation cannot go on.

use super::Core;
use super::process::Number;
use crate::Time;
use std::fmt;

/// Processes wait, and nothing is scheduled that could give them what they wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let waiting: Vec<(Number, String)> = facilities
            .iter()
            .filter_map(std::rc::Weak::upgrade)
            .flat_map(|facility| facility.waiting(self))
            .collect();
        let slots = self.slots.borrow();
        let alive = slots
            .iter()
            .zip(0..)
            .filter(|(slot, _)| slot.alive && !slot.background);
        let mut alive: Vec<_> = alive.map(|(slot, at)| (slot.serial, at)).collect();
        alive.sort_unstable();
        let mut processes = Vec::new();
        for (serial, at) in alive {
            let mine = waiting.iter().filter(|(number, _)| number.slot == at);
            let mut for_what: Vec<&str> = mine.map(|(_, what)| what.as_str()).collect();
            if for_what.is_empty() {
                for_what.push("another process, or something outside of the simulation");
            }
            processes.push(StuckProcess {
                name: format!("{} {serial}", slots[at as usize].name),
                waits_for: for_what.join(" or "),
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
        const SHOWN: usize = 8;
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

impl std::error::Error for Stuck {}
