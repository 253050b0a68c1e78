//! The profiles of the ranks of a run.

use crate::profile::{ProfileClock, Recorder};
use crate::{Profile, RankProfile};
use motet_sync::Mutex;
use std::rc::Rc;

pub(super) struct Profiling {
    clock: ProfileClock,
    /// By place: the ranks that have ended.
    ended: Box<[Mutex<Option<RunEnd>>]>,
}

/// The profile of a rank, and when it began and ended, in seconds.
type RunEnd = (RankProfile, [f64; 2]);

impl Profiling {
    pub(super) fn new(clock: ProfileClock, ranks: usize) -> Self {
        Profiling {
            clock,
            ended: (0..ranks).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// A rank begins.
    pub(super) fn begin(&self) -> Rc<Recorder> {
        Rc::new(Recorder::new(self.clock))
    }

    /// The rank at this place has ended.
    pub(super) fn end(&self, place: usize, rank: usize, thread: usize, recorder: &Recorder) {
        *self.ended[place].lock() = Some(recorder.finish(rank, thread));
    }

    /// The profile of all ranks here, which have ended, on so many threads.
    pub(super) fn profile(&self, threads: usize) -> Profile {
        let (mut begun, mut over) = (f64::INFINITY, 0.0_f64);
        let mut ranks = Vec::with_capacity(self.ended.len());
        for place in &self.ended {
            if let Some((rank, [begin, end])) = &*place.lock() {
                (begun, over) = (begun.min(*begin), over.max(*end));
                ranks.push(rank.clone());
            }
        }
        Profile::new((over - begun).max(0.0), threads, ranks)
    }
}
