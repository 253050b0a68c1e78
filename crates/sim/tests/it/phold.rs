//! Reference PHOLD: a model whose counts and checksums two other programs agree on.

use crate::network::processes;
use motet_comm::World;
use motet_problems::{Phold, PholdProcess, PholdSum};
use motet_sim::{Mode, Report, SimError};
use motet_testkit::{patience, within};

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

/// What all ranks have found.
fn run(given: Phold, way: Way, ranks: usize) -> (PholdSum, Report) {
    found(&World::threads(ranks), given, way)
}

/// What all ranks of the world have found, as those of this process say.
fn found(world: &World, given: Phold, way: Way) -> (PholdSum, Report) {
    let model = given.model();
    let results = world.run(async |comm| -> Result<_, SimError> {
        let outcome = match way {
            Way::In(mode) => model.run(&comm, mode).await?,
            Way::Reversibly => model.run_reversibly(&comm).await?,
        };
        let mine = PholdProcess::sum(&outcome.processes, outcome.first);
        let (away, checksum) = comm
            .allreduce((mine.away, mine.checksum), |a, b| (a.0 + b.0, a.1 ^ b.1))
            .await?;
        let events = outcome.report.committed;
        let sum = PholdSum {
            events,
            away,
            checksum,
        };
        Ok((sum, outcome.report))
    });
    let results = results.unwrap();
    assert!(
        results.iter().all(|result| *result == results[0]),
        "ranks differ"
    );
    results[0]
}

fn agrees(row: usize, ranks: &[usize]) {
    let (given, known) = Phold::KNOWN[row];
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
fn sem_g177_one_process() {
    agrees(0, &[1, 2, 3]);
}

#[test]
fn sem_g177_many_events_at_one_time() {
    agrees(1, &[1, 2, 3, 8]);
}

#[test]
fn sem_g177_little_lookahead() {
    agrees(2, &[1, 2, 3, 8]);
}

#[test]
fn sem_g177_all_events_go_away() {
    agrees(3, &[2]);
}

#[test]
fn sem_g177_many_events() {
    let (given, known) = Phold::KNOWN[4];
    let ways = [Way::In(Mode::Windows), Way::In(Mode::TimeWarp)];
    for (way, ranks) in ways.into_iter().zip([3, 2]) {
        assert_eq!(run(given, way, ranks).0, known, "{way:?} on {ranks} ranks");
    }
}

/// Two processes of so many ranks each.
fn agrees_on_processes(row: usize, ways: &[Way], ranks: &[usize]) {
    let (given, known) = Phold::KNOWN[row];
    for &way in ways {
        for &ranks in ranks {
            let sums = within(patience(), move || {
                processes(2, move |end| found(&World::over(end, ranks), given, way).0)
            });
            assert_eq!(sums, [known; 2], "row {row}, {way:?} on 2 × {ranks} ranks");
        }
    }
}

#[test]
fn sem_g182_two_processes_commit_the_same() {
    agrees_on_processes(0, &WAYS, &[1]);
    agrees_on_processes(1, &WAYS, &[1]);
    agrees_on_processes(2, &WAYS[2..], &[2]);
}

#[test]
#[ignore = "takes long"]
fn deep_sem_g182_every_mode_on_ranks_and_processes() {
    for row in 0..Phold::KNOWN.len() {
        agrees(row, &[1, 2, 3, 8]);
        agrees_on_processes(row, &WAYS, &[1, 2, 3, 8]);
    }
}

#[test]
fn sem_g179_time_warp_takes_back_and_says_so() {
    let (_, report) = run(Phold::KNOWN[2].0, Way::In(Mode::TimeWarp), 3);
    assert!(
        report.rolled_back > 0 && report.efficiency() < 1.0,
        "{report:?}"
    );
    assert!(
        report.sent > report.unsent && report.unsent > 0,
        "{report:?}"
    );
    // Repeated, it takes back the same.
    assert_eq!(run(Phold::KNOWN[2].0, Way::In(Mode::TimeWarp), 3).1, report);
    let (_, alone) = run(Phold::KNOWN[2].0, Way::In(Mode::TimeWarp), 1);
    assert_eq!((alone.rolled_back, alone.sent), (0, 0));
}

#[test]
fn handlers_are_undone() {
    Phold::KNOWN[1].0.model().check_undo().unwrap();
}
