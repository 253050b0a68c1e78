//! The crossings of a process, by their sites.

use super::{Crossing, CrossingSite};
use motet_sync::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// Those that are under way here, or elsewhere already.
#[derive(Default)]
pub(crate) struct Crossings(Mutex<All>);

#[derive(Default)]
struct All {
    /// A list: mostly there is one.
    known: Vec<(CrossingSite, Arc<Crossing>)>,
    /// Those that are over, for sites to come: they keep their memory.
    spare: Vec<Arc<Crossing>>,
    /// Communicators that all ranks here have given up, one of them in a collective that had not
    /// ended: vectors may still come for it. Nobody knows when the last has, so each number, of 4
    /// bytes, is kept to the end of the world.
    left: HashSet<u32>,
}

/// So many crossings that are over are kept for others.
const SPARE: usize = 8;

impl Crossings {
    /// The crossing at this site.
    pub(crate) fn of(&self, site: CrossingSite) -> Arc<Crossing> {
        self.0.lock().of(site)
    }

    /// The same for a vector that has come; `None`: nobody here reads it.
    pub(in crate::fabric::processes) fn of_vector(
        &self,
        site: CrossingSite,
    ) -> Option<Arc<Crossing>> {
        let mut all = self.0.lock();
        let is_left = all.left.contains(&site.communicator);
        (!is_left).then(|| all.of(site))
    }

    /// Nobody here comes to this site any more, or wants to know the outcome of the collective that
    /// is under way. That collective goes on for the others.
    pub(crate) fn leave(&self, site: CrossingSite, crossing: Arc<Crossing>) {
        let mut state = crossing.0.lock();
        state.abandoned = true;
        if state.begun.is_none() {
            drop(state);
            drop(crossing);
            self.forget(site);
        }
    }

    /// The collectives of the site are over, and nobody here comes to it any more.
    pub(super) fn forget(&self, site: CrossingSite) {
        let mut all = self.0.lock();
        let mut known = all.known.iter();
        if let Some(at) = known.position(|(other, _)| *other == site) {
            let (_, mut over) = all.known.swap_remove(at);
            if over.state().pieces.are_left() {
                all.left.insert(site.communicator);
            }
            // Who still has it is done with it, and lets go of it.
            if all.spare.len() < SPARE
                && let Some(Crossing(state)) = Arc::get_mut(&mut over)
            {
                state.lock().clear();
                all.spare.push(over);
            }
        }
    }

    /// How many there are.
    #[cfg(all(test, not(motet_loom)))]
    pub(in crate::fabric::processes) fn count(&self) -> usize {
        self.0.lock().known.len()
    }
}

impl All {
    fn of(&mut self, site: CrossingSite) -> Arc<Crossing> {
        let mut known = self.known.iter();
        if let Some((_, known)) = known.find(|(other, _)| *other == site) {
            return Arc::clone(known);
        }
        let new = self.spare.pop().unwrap_or_default();
        self.known.push((site, Arc::clone(&new)));
        new
    }
}
