//! Reference PHOLD: a model whose counts and checksums two other programs agree on.

use motet_comm::World;
use motet_sim::{Logical, Mode, Model, Options, Out, Report, Reversible, SimError, Time, mix};

/// Processes, events of each at the start, remote events in a thousand, lookahead, mean delay, end, seed; the number of
/// events, of those for another process, and the checksum.
struct Row {
    given: [u64; 7],
    known: [u64; 3],
}

const ROWS: [Row; 5] = [
    Row {
        given: [1, 1, 0, 1, 1, 100, 0],
        known: [68, 0, 0x16d3_5fd3_19b3_4214],
    },
    Row {
        given: [16, 4, 500, 1, 3, 1000, 7],
        known: [18_342, 8_470, 0xe5d9_ed0d_2139_5828],
    },
    Row {
        given: [64, 4, 900, 1, 50, 5000, 3],
        known: [25_291, 22_388, 0xb372_fee7_1afb_f90a],
    },
    Row {
        given: [256, 1, 1000, 20, 10, 20_000, 42],
        known: [173_480, 172_829, 0x83b8_10e8_825a_0565],
    },
    Row {
        given: [1024, 16, 100, 10, 90, 10_000, 1],
        known: [1_640_464, 163_679, 0xec49_f306_8ea6_2598],
    },
];

/// One process of a row.
#[derive(Clone, PartialEq)]
pub(crate) struct Phold {
    given: [u64; 7],
    hash: u64,
    away: u64,
}

impl Phold {
    fn delay(&self, out: &mut Out<'_, ()>) -> Time {
        let [_, _, _, lookahead, mean, _, _] = self.given;
        lookahead + out.draw() % (2 * mean)
    }
}

impl Logical for Phold {
    type Event = ();

    fn start(&mut self, out: &mut Out<'_, ()>) {
        for _ in 0..self.given[1] {
            let delay = self.delay(out);
            out.schedule(out.process(), delay, ());
        }
    }

    fn handle(&mut self, now: Time, (): (), out: &mut Out<'_, ()>) {
        let cause = out.cause();
        let sender = (u64::from(cause.from) << 32).wrapping_add(cause.number);
        self.hash = mix(self.hash ^ mix(now) ^ mix(sender));
        let [processes, _, remote, ..] = self.given;
        let mut to = out.process();
        if out.draw() % 1000 < remote {
            to = (out.draw() % processes) as usize;
        }
        let delay = self.delay(out);
        self.away += u64::from(to != out.process());
        out.schedule(to, delay, ());
    }
}

impl Reversible for Phold {
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

pub(crate) fn model(given: [u64; 7]) -> Model<impl Fn(usize) -> Phold + Sync> {
    let [processes, _, _, lookahead, _, end, seed] = given;
    let make = move |_| Phold {
        given,
        hash: 0,
        away: 0,
    };
    let options = Options {
        seed,
        end,
        lookahead,
        ..Options::default()
    };
    Model::new(processes as usize, make, options)
}

/// A mode, or Time Warp by undoing.
#[derive(Debug, Clone, Copy)]
enum Way {
    In(Mode),
    Reversibly,
}

const WAYS: [Way; 5] = [
    Way::In(Mode::Sequential),
    Way::In(Mode::Windows),
    Way::In(Mode::NullMessages),
    Way::In(Mode::TimeWarp),
    Way::Reversibly,
];

/// What all ranks have found: events, those for another process, and the checksum.
fn run(given: [u64; 7], way: Way, ranks: usize) -> ([u64; 3], Report) {
    let model = model(given);
    let results = World::threads(ranks).run(async |comm| -> Result<_, SimError> {
        let outcome = match way {
            Way::In(mode) => model.run(&comm, mode).await?,
            Way::Reversibly => model.run_reversibly(&comm).await?,
        };
        let numbered = outcome.processes.iter().zip(outcome.first as u64..);
        let mine = numbered.fold([0, 0], |[away, sum], (process, number)| {
            [
                away + process.away,
                sum ^ mix(process.hash.wrapping_add(number)),
            ]
        });
        let [away, sum] = comm
            .allreduce(mine, |a, b| [a[0] + b[0], a[1] ^ b[1]])
            .await?;
        Ok(([outcome.report.committed, away, sum], outcome.report))
    });
    let results = results.unwrap();
    assert!(
        results.iter().all(|result| *result == results[0]),
        "ranks differ"
    );
    results[0]
}

fn agrees(row: usize, ranks: &[usize]) {
    let Row { given, known } = ROWS[row];
    for way in WAYS {
        for &ranks in ranks {
            let (found, report) = run(given, way, ranks);
            assert_eq!(
                found, known,
                "row {row}, {way:?} on {ranks} ranks: {report:?}"
            );
        }
    }
}

#[test]
fn sem_g700_one_process() {
    agrees(0, &[1, 2, 3]);
}

#[test]
fn sem_g700_many_events_at_one_time() {
    agrees(1, &[1, 2, 3, 8]);
}

#[test]
fn sem_g700_little_lookahead() {
    agrees(2, &[1, 2, 3, 8]);
}

#[test]
fn sem_g700_all_events_go_away() {
    agrees(3, &[2]);
}

#[test]
fn sem_g700_many_events() {
    let Row { given, known } = ROWS[4];
    for (way, ranks) in WAYS.into_iter().zip([1, 3, 2, 2, 2]) {
        assert_eq!(run(given, way, ranks).0, known, "{way:?} on {ranks} ranks");
    }
}

#[test]
fn sem_g702_time_warp_takes_back_and_says_so() {
    let (_, report) = run(ROWS[2].given, Way::In(Mode::TimeWarp), 3);
    assert!(
        report.rolled_back > 0 && report.efficiency() < 1.0,
        "{report:?}"
    );
    assert!(
        report.sent > report.unsent && report.unsent > 0,
        "{report:?}"
    );
    // Repeated, it takes back the same.
    assert_eq!(run(ROWS[2].given, Way::In(Mode::TimeWarp), 3).1, report);
    let (_, alone) = run(ROWS[2].given, Way::In(Mode::TimeWarp), 1);
    assert_eq!((alone.rolled_back, alone.sent), (0, 0));
}

#[test]
fn handlers_are_undone() {
    model(ROWS[1].given).check_undo().unwrap();
}
