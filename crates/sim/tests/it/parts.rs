//! Runs in parts: each goes on from what the one before has saved.

use crate::random::Any;
use motet_comm::World;
use motet_sim::{EventKey, Mode, Model, ModelError, Options, Saved, SimError, Tie, Time};

const MODES: [Mode; 4] = [
    Mode::Sequential,
    Mode::Windows,
    Mode::NullMessages,
    Mode::TimeWarp,
];
const PROCESSES: usize = 7;
const END: Time = 120;

fn model(seed: u64, end: Time) -> Model<impl Fn(usize) -> Any + Sync> {
    let options = Options {
        seed,
        end,
        tie: Tie::Hash,
        trace: true,
        ..Options::default()
    };
    let to = |process: usize| [(process + 1) % PROCESSES, (process + 3) % PROCESSES];
    let links = (0..PROCESSES).flat_map(move |from| to(from).map(|to| (from, to, 3)));
    let own = move |process| to(process).map(|to| (to, 3)).to_vec();
    Model::new(PROCESSES, move |process| Any::new(own(process)), options).linked(links)
}

/// What a run or a part of one has handled, and its processes' sums.
type Found = (Vec<EventKey>, Vec<u64>);

/// Runs until a time, from parts as bytes; what was found, and the parts that this leaves.
///
/// The parts are dealt out to the ranks from the last to the first.
fn part(
    model: &Model<impl Fn(usize) -> Any + Sync>,
    (mode, ranks): (Mode, usize),
    saved: &[Vec<u8>],
    until: Time,
) -> Result<(Found, Vec<Vec<u8>>), SimError> {
    let ended = World::threads(ranks).run(async |comm| -> Result<_, SimError> {
        let mine = saved.iter().rev().skip(comm.rank()).step_by(comm.size());
        let mine = mine.map(|bytes| postcard::from_bytes(bytes).unwrap());
        let (outcome, saved) = model.run_part(&comm, mode, mine.collect(), until).await?;
        let states = saved.processes().map(|(_, process)| process.sum());
        assert!(states.eq(outcome.processes.iter().map(Any::sum)));
        assert_eq!(saved.time(), until.min(END));
        let sums: Vec<_> = outcome.processes.iter().map(Any::sum).collect();
        let bytes = postcard::to_stdvec(&saved).unwrap();
        Ok((outcome.trace, sums, bytes))
    });
    let (mut keys, mut sums, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (trace, own, bytes) in ended.map_err(|error| match error {
        motet_comm::RunError::Rank { error, .. } => error,
        other => panic!("{other}"),
    })? {
        keys.extend(trace);
        sums.extend(own);
        left.push(bytes);
    }
    keys.sort_unstable();
    Ok(((keys, sums), left))
}

#[test]
fn sem_g194_a_run_in_parts_is_the_run() {
    let whole = model(5, END);
    let (all, _) = part(&whole, (Mode::Sequential, 1), &[], END).unwrap();
    assert!(all.0.len() > 500, "{} events", all.0.len());
    for (turn, first) in MODES.into_iter().enumerate() {
        // Each part runs in another mode, on another number of ranks; one handles nothing.
        let (mut keys, mut sums, mut saved) = (Vec::new(), Vec::new(), Vec::new());
        for (at, until) in [31, 31, 64, 100, Time::MAX].into_iter().enumerate() {
            let mode = if at == 0 {
                first
            } else {
                MODES[(turn + at) % 4]
            };
            let how = (mode, [3, 1, 8, 2, 5][(turn + at) % 5]);
            let (found, left) = part(&whole, how, &saved, until).unwrap();
            assert!(found.0.iter().all(|key| key.time < until));
            keys.extend(found.0);
            (sums, saved) = (found.1, left);
        }
        assert!((keys, sums) == all, "beginning with {first:?}");
    }
}

#[test]
fn sem_g194_parts_of_another_run_are_refused() {
    let (own, how) = (model(5, END), (Mode::Windows, 2));
    let (_, saved) = part(&own, how, &[], 40).unwrap();
    let refused = |model: &Model<_>, saved: &[Vec<u8>]| match part(model, how, saved, END) {
        Err(SimError::Model(error @ ModelError::NotSaved { .. })) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("went on"),
    };
    let begins = "the run cannot go on from these saved parts: ";
    for (model, said) in [
        (
            model(6, END),
            "the part is of a run with another seed: 5, here 6",
        ),
        (
            model(5, END + 1),
            "the part is of a run with another end: 120, here 121",
        ),
    ] {
        assert_eq!(refused(&model, &saved), format!("{begins}{said}"));
    }
    let said = refused(&own, &saved[..1]);
    assert_eq!(said, format!("{begins}no rank has the part with process 4"));
    let twice = [saved[0].clone(), saved[1].clone(), saved[0].clone()];
    let said = refused(&own, &twice);
    assert_eq!(said, format!("{begins}process 0 was saved in two parts"));
    let (_, later) = part(&own, how, &saved, 50).unwrap();
    let said = refused(&own, &[saved[0].clone(), later[1].clone()]);
    assert_eq!(
        said,
        format!("{begins}parts were saved at time 40 and at time 50")
    );
}

#[test]
fn sem_g194_a_time_that_has_passed_changes_nothing() {
    let own = model(5, END);
    let times = World::threads(1).run(async |comm| -> Result<_, SimError> {
        let (_, saved) = own.run_part(&comm, Mode::Sequential, vec![], 40).await?;
        let pending = saved.pending();
        let part = own.run_part(&comm, Mode::Sequential, vec![saved], 30);
        let (outcome, saved) = part.await?;
        assert_eq!((outcome.report.committed, saved.pending()), (0, pending));
        Ok(saved.time())
    });
    assert_eq!(times.unwrap(), [40]);
}

#[test]
fn a_part_is_what_its_processes_wait_for() {
    let own = model(5, END);
    let (_, left) = part(&own, (Mode::Sequential, 1), &[], 40).unwrap();
    let one: Saved<Any> = postcard::from_bytes(&left[0]).unwrap();
    let pending = one.pending();
    for mode in [Mode::Windows, Mode::NullMessages, Mode::TimeWarp] {
        let (_, left) = part(&own, (mode, 3), &[], 40).unwrap();
        let parts = left
            .iter()
            .map(|bytes| postcard::from_bytes::<Saved<Any>>(bytes).unwrap());
        assert_eq!(
            parts.map(|part| part.pending()).sum::<usize>(),
            pending,
            "{mode:?}"
        );
    }
}
