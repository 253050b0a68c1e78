//! Reference PHOLD: processes that hand events on at random, with counts and checksums that
//! independent programs agree on.

use motet_sim::{Logical, Model, Options, Out, Reversible, Time, mix};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a run of PHOLD is made of. Everything is computed in integers, modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phold {
    /// Logical processes.
    pub processes: u64,
    /// Events that each of them begins with.
    pub each: u64,
    /// Of a thousand events so many are for a process that is drawn; the others stay where they
    /// are.
    pub remote: u64,
    /// The least delay of an event.
    pub lookahead: Time,
    /// What the delays lie above it on average.
    pub mean: u64,
    /// The end of virtual time.
    pub end: Time,
    /// What everything is drawn from.
    pub seed: u64,
}

/// What a run comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PholdSum {
    /// Events that were handled.
    pub events: u64,
    /// Those among them that scheduled one for another process.
    pub away: u64,
    /// Over the order in which each process has handled its events.
    pub checksum: u64,
}

/// One process of PHOLD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PholdProcess {
    given: Phold,
    hash: u64,
    away: u64,
}

impl Phold {
    /// Runs with known sums: of one process, with many events at one time, with little lookahead,
    /// with events that all go away, with many events.
    pub const KNOWN: [(Phold, PholdSum); 5] = [
        known([1, 1, 0, 1, 1, 100, 0], [68, 0, 0x16d3_5fd3_19b3_4214]),
        known(
            [16, 4, 500, 1, 3, 1000, 7],
            [18_342, 8_470, 0xe5d9_ed0d_2139_5828],
        ),
        known(
            [64, 4, 900, 1, 50, 5000, 3],
            [25_291, 22_388, 0xb372_fee7_1afb_f90a],
        ),
        known(
            [256, 1, 1000, 20, 10, 20_000, 42],
            [173_480, 172_829, 0x83b8_10e8_825a_0565],
        ),
        known(
            [1024, 16, 100, 10, 90, 10_000, 1],
            [1_640_464, 163_679, 0xec49_f306_8ea6_2598],
        ),
    ];

    /// The model.
    #[must_use]
    pub fn model(self) -> Model<impl Fn(usize) -> PholdProcess + Sync> {
        self.model_of(|process| process)
    }

    /// The model, each of whose processes is wrapped in one that hands everything on to it.
    #[must_use]
    pub fn model_of<P: Logical>(
        self,
        wrap: impl Fn(PholdProcess) -> P + Sync,
    ) -> Model<impl Fn(usize) -> P + Sync> {
        let make = move |_| {
            wrap(PholdProcess {
                given: self,
                hash: 0,
                away: 0,
            })
        };
        let options = Options {
            seed: self.seed,
            end: self.end,
            lookahead: self.lookahead,
            ..Options::default()
        };
        Model::new(self.processes as usize, make, options)
    }

    /// The same by one heap and one loop, without a library.
    #[must_use]
    pub fn plain(self) -> PholdSum {
        let mut states = vec![Plain::default(); self.processes as usize];
        let mut pending = BinaryHeap::new();
        for (at, state) in (0..).zip(&mut states) {
            for _ in 0..self.each {
                let time = state.delay(&self, at);
                state.schedule(&self, &mut pending, (time, at, at));
            }
        }
        let mut sum = PholdSum {
            events: 0,
            away: 0,
            checksum: 0,
        };
        while let Some(Reverse((now, at, from, number))) = pending.pop() {
            let state = &mut states[at as usize];
            sum.events += 1;
            let sender = (u64::from(from) << 32).wrapping_add(number);
            state.hash = mix(state.hash ^ mix(now) ^ mix(sender));
            let mut to = at;
            if state.draw(&self, at) % 1000 < self.remote {
                to = (state.draw(&self, at) % self.processes) as u32;
            }
            sum.away += u64::from(to != at);
            let time = now + state.delay(&self, at);
            state.schedule(&self, &mut pending, (time, to, at));
        }
        for (at, state) in (0_u64..).zip(&states) {
            sum.checksum ^= mix(state.hash.wrapping_add(at));
        }
        sum
    }
}

const fn known(given: [u64; 7], sum: [u64; 3]) -> (Phold, PholdSum) {
    let [processes, each, remote, lookahead, mean, end, seed] = given;
    let [events, away, checksum] = sum;
    let given = Phold {
        processes,
        each,
        remote,
        lookahead,
        mean,
        end,
        seed,
    };
    let sum = PholdSum {
        events,
        away,
        checksum,
    };
    (given, sum)
}

impl PholdProcess {
    /// What so many processes, of which the first has this number, have come to. Sums of parts are
    /// joined by adding `away` and by exclusive or of the checksums; `events` stays 0.
    #[must_use]
    pub fn sum(processes: &[PholdProcess], first: usize) -> PholdSum {
        let mut sum = PholdSum {
            events: 0,
            away: 0,
            checksum: 0,
        };
        for (number, process) in (first as u64..).zip(processes) {
            sum.away += process.away;
            sum.checksum ^= mix(process.hash.wrapping_add(number));
        }
        sum
    }

    fn delay(&self, out: &mut Out<'_, ()>) -> Time {
        self.given.lookahead + out.draw() % (2 * self.given.mean)
    }
}

impl Logical for PholdProcess {
    type Event = ();

    fn start(&mut self, out: &mut Out<'_, ()>) {
        for _ in 0..self.given.each {
            let delay = self.delay(out);
            out.schedule(out.process(), delay, ());
        }
    }

    fn handle(&mut self, now: Time, (): (), out: &mut Out<'_, ()>) {
        let cause = out.cause();
        let sender = (u64::from(cause.from) << 32).wrapping_add(cause.number);
        self.hash = mix(self.hash ^ mix(now) ^ mix(sender));
        let mut to = out.process();
        if out.draw() % 1000 < self.given.remote {
            to = (out.draw() % self.given.processes) as usize;
        }
        let delay = self.delay(out);
        self.away += u64::from(to != out.process());
        out.schedule(to, delay, ());
    }
}

impl Reversible for PholdProcess {
    type Undo = [u64; 2];

    fn handle_reversibly(&mut self, now: Time, (): (), out: &mut Out<'_, ()>) -> [u64; 2] {
        let before = [self.hash, self.away];
        self.handle(now, (), out);
        before
    }

    fn undo(&mut self, undo: [u64; 2]) {
        [self.hash, self.away] = undo;
    }
}

/// A process of the plain loop.
#[derive(Debug, Clone, Copy, Default)]
struct Plain {
    hash: u64,
    drawn: u64,
    sent: u64,
}

/// Time, the process that it is for, the one that has scheduled it, and how many that had scheduled
/// before.
type Pending = BinaryHeap<Reverse<(Time, u32, u32, u64)>>;

impl Plain {
    #[inline]
    fn draw(&mut self, given: &Phold, own: u32) -> u64 {
        let stream = mix(given.seed ^ u64::from(own).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let drawn = mix(stream.wrapping_add(self.drawn.wrapping_mul(0xd1b5_4a32_d192_ed03)));
        self.drawn += 1;
        drawn
    }

    #[inline]
    fn delay(&mut self, given: &Phold, own: u32) -> Time {
        given.lookahead + self.draw(given, own) % (2 * given.mean)
    }

    #[inline]
    fn schedule(&mut self, given: &Phold, pending: &mut Pending, event: (Time, u32, u32)) {
        let (time, to, from) = event;
        let number = self.sent;
        self.sent += 1;
        if time < given.end {
            pending.push(Reverse((time, to, from, number)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loop_knows_the_sums() {
        for (given, sum) in &Phold::KNOWN[..4] {
            assert_eq!(given.plain(), *sum, "{given:?}");
        }
    }
}
