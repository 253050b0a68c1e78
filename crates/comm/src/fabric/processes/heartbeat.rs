//! Whether processes are still there of which the transport sees nothing.
//!
//! The processes stand in a ring, by number. Each tells its neighbours from time to time that it is
//! there, unless the transport sees their end by itself. When a machine goes down, or is cut off,
//! one of its processes is next to one elsewhere. That one notices the silence, and all are told.
//! Where processes are numbered machine by machine it takes two messages a second for each machine,
//! however many processes are on it. In another order it takes two for each process.

use super::control::ALIVE;
use super::{RunProcesses, Transport};
use motet_sync::Mutex;
use std::time::{Duration, Instant};

pub(super) struct Heartbeat {
    /// Who has said nothing for so long is taken for gone.
    limit: Duration,
    every: Duration,
    state: Mutex<State>,
}

struct State {
    neighbours: Vec<Neighbour>,
    /// When this process last told the neighbours.
    told: Instant,
}

struct Neighbour {
    process: usize,
    heard: Instant,
}

/// How often neighbours tell each other that they are there.
const EVERY: Duration = Duration::from_secs(1);

impl Heartbeat {
    pub(super) fn new(transport: &dyn Transport, limit: Duration) -> Self {
        let (own, processes) = (transport.process(), transport.processes());
        let mut beside = vec![(own + 1) % processes, (own + processes - 1) % processes];
        beside.dedup();
        let begun = Instant::now();
        let neighbours = beside
            .into_iter()
            .filter(|&process| process != own && !transport.sees(process))
            .map(|process| Neighbour {
                process,
                heard: begun,
            });
        Heartbeat {
            limit,
            every: EVERY.min(limit / 4),
            state: Mutex::new(State {
                neighbours: neighbours.collect(),
                told: begun,
            }),
        }
    }

    /// A neighbour says that it is there.
    pub(super) fn heard(&self, process: usize) {
        let mut state = self.state.lock();
        if let Some(neighbour) = state.beside(process) {
            neighbour.heard = Instant::now();
        }
    }

    /// The neighbours, if it is time to tell them, and how long each has said nothing.
    fn due(&self, now: Instant) -> Vec<(usize, Duration)> {
        let mut state = self.state.lock();
        let Some(late) = now.duration_since(state.told).checked_sub(self.every) else {
            return Vec::new();
        };
        state.told = now;
        let silences = state.neighbours.iter_mut().map(|neighbour| {
            // While this process did not look, because it was stopped, say, it could not hear
            // either.
            neighbour.heard += late;
            let silence = now.saturating_duration_since(neighbour.heard);
            (neighbour.process, silence)
        });
        silences.collect()
    }
}

impl State {
    fn beside(&mut self, process: usize) -> Option<&mut Neighbour> {
        let mut neighbours = self.neighbours.iter_mut();
        neighbours.find(|neighbour| neighbour.process == process)
    }
}

impl RunProcesses {
    /// Tells the neighbours that this process is there, and ends the run if one has said nothing
    /// for too long. Called from time to time.
    pub(crate) fn beat(&self) {
        for (process, silence) in self.heartbeat.due(Instant::now()) {
            if self.control.is_gone(process) {
                continue;
            }
            if silence >= self.heartbeat.limit {
                self.lost(process, format!("it has said nothing for {silence:.1?}"));
            } else {
                self.tell(process, ALIVE, 0, Vec::new());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Header, TransportError};

    /// Process `own` of several, which sees those of its half.
    struct Half {
        own: usize,
        processes: usize,
    }

    impl Transport for Half {
        fn process(&self) -> usize {
            self.own
        }

        fn processes(&self) -> usize {
            self.processes
        }

        fn send(&self, _: usize, _: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
            Ok(())
        }

        fn progress(
            &self,
            _: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
        ) -> Result<usize, TransportError> {
            Ok(0)
        }

        fn sees(&self, process: usize) -> bool {
            let half = self.processes / 2;
            (process < half) == (self.own < half)
        }
    }

    fn heartbeat(own: usize, processes: usize) -> Heartbeat {
        Heartbeat::new(&Half { own, processes }, Duration::from_secs(60))
    }

    fn beside(heartbeat: &Heartbeat) -> Vec<usize> {
        let state = heartbeat.state.lock();
        state.neighbours.iter().map(|one| one.process).collect()
    }

    #[test]
    fn only_neighbours_that_are_not_seen_are_told() {
        let of = |processes: usize| -> Vec<Vec<usize>> {
            (0..processes)
                .map(|own| beside(&heartbeat(own, processes)))
                .collect()
        };
        assert_eq!(of(1), [vec![]]);
        assert_eq!(of(2), [[1], [0]]);
        assert_eq!(of(6), [vec![5], vec![], vec![3], vec![2], vec![], vec![0]]);
    }

    #[test]
    fn a_silence_is_the_time_in_which_this_process_looked() {
        let heartbeat = heartbeat(0, 2);
        let begun = heartbeat.state.lock().told;
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(heartbeat.due(at(0)), []);
        let seconds = Duration::from_secs;
        assert_eq!(heartbeat.due(at(1)), [(1, seconds(1))]);
        assert_eq!(heartbeat.due(at(2)), [(1, seconds(2))]);
        // Stopped for a minute and more.
        assert_eq!(heartbeat.due(at(102)), [(1, seconds(3))]);
        heartbeat.heard(1);
        assert!(heartbeat.due(at(103))[0].1 <= seconds(103));
        heartbeat.heard(7);
    }
}
