//! On how many threads the ranks of a world run.

use super::{World, WorldKind};
use motet_sync::thread;

impl World {
    /// The number of threads for the ranks of [`World::threads`]; at most one per rank is used.
    pub fn workers(mut self, count: usize) -> Self {
        if let WorldKind::Threads { workers, .. } = &mut self.place {
            *workers = Some(count.max(1));
        }
        self
    }

    /// The most threads for the ranks of [`World::threads`], 1 at least: for whoever runs a world
    /// that somebody else has made, and has so many cores for it. Where [`World::workers`] or
    /// [`World::cores`] says how many threads there are, it changes nothing. Of several the least
    /// counts.
    ///
    /// ```
    /// use motet_comm::World;
    ///
    /// assert_eq!(World::threads(4).workers_at_most(1).thread_count(), 1);
    /// assert_eq!(World::threads(4).workers(3).workers_at_most(1).thread_count(), 3);
    /// ```
    pub fn workers_at_most(mut self, count: usize) -> Self {
        if let WorldKind::Threads { most, .. } = &mut self.place {
            *most = (*most).min(count.max(1));
        }
        self
    }

    /// The number of threads on which the ranks of this process run.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        match &self.place {
            WorldKind::Solo => 1,
            WorldKind::Threads {
                ranks,
                workers,
                most,
                cores,
                ..
            } => {
                let each = match cores.len() {
                    0 => thread::cores().min(*most),
                    stated => stated,
                };
                workers.unwrap_or(each).min(*ranks)
            }
        }
    }
}
