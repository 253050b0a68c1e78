//! What a model must not do, and what is said of it: on every rank the same.

use crate::outside::pause;
use motet_comm::{RunError, SendOverflow, World};
use motet_sim::{Logical, Mode, Model, ModelError, Options, Out, Reversible, SimError, Time};
use motet_testkit::{patience, within};
use std::time::Duration;

const MODES: [Mode; 4] = [
    Mode::Sequential,
    Mode::Windows,
    Mode::NullMessages,
    Mode::TimeWarp,
];

/// Each process counts to ten in steps of ten ticks; at 50 process 2 does something.
#[derive(Clone)]
struct Counting {
    at_50: fn(&mut Out<'_, ()>),
}

impl Logical for Counting {
    type Event = ();

    fn start(&mut self, out: &mut Out<'_, ()>) {
        out.schedule(out.process(), 10, ());
    }

    fn handle(&mut self, now: Time, (): (), out: &mut Out<'_, ()>) {
        if now == 50 && out.process() == 2 {
            (self.at_50)(out);
        }
        out.schedule(out.process(), 10, ());
    }
}

const OPTIONS: Options = Options {
    seed: 0,
    end: 100,
    lookahead: 5,
    tie: motet_sim::Tie::Order,
    trace: false,
    most_events: u64::MAX,
    most_pending: usize::MAX,
};

fn outcome(at_50: fn(&mut Out<'_, ()>), options: Options, mode: Mode) -> Result<u64, SimError> {
    outcome_on(3, at_50, options, mode)
}

fn outcome_on(
    ranks: usize,
    at_50: fn(&mut Out<'_, ()>),
    options: Options,
    mode: Mode,
) -> Result<u64, SimError> {
    let model = Model::new(4, |_| Counting { at_50 }, options);
    let results = World::threads(ranks).run(async |comm| -> Result<_, SimError> {
        // The error is kept: every rank has it.
        Ok(model
            .run(&comm, mode)
            .await
            .map(|outcome| outcome.report.committed))
    });
    let results = results.unwrap();
    assert!(
        results.iter().all(|result| *result == results[0]),
        "{results:?}"
    );
    results[0].clone()
}

fn refused(at_50: fn(&mut Out<'_, ()>)) -> [ModelError; 4] {
    MODES.map(|mode| match outcome(at_50, OPTIONS, mode) {
        Err(SimError::Model(error)) => error,
        other => panic!("{mode:?}: {other:?}"),
    })
}

#[test]
fn sem_g180_every_rank_gets_the_same_error() {
    let nobody = ModelError::NoSuchProcess {
        from: 2,
        to: 4,
        processes: 4,
        time: 50,
    };
    assert!(
        nobody
            .to_string()
            .contains("process 4 at time 50, and there are 4")
    );
    assert_eq!(
        refused(|out| out.schedule(4, 5, ())),
        [(); 4].map(|()| nobody.clone())
    );
    let soon = ModelError::TooSoon {
        from: 2,
        to: 0,
        time: 50,
        delay: 4,
        lookahead: 5,
    };
    assert_eq!(
        refused(|out| out.schedule(0, 4, ())),
        [(); 4].map(|()| soon.clone())
    );
    let late = ModelError::TimeOverflow {
        from: 2,
        time: 50,
        delay: Time::MAX,
    };
    assert_eq!(
        refused(|out| out.schedule(2, Time::MAX, ())),
        [(); 4].map(|()| late.clone())
    );
}

/// Processes 1 and 2 throw a ball to each other, and 1 tells 0 of it. That takes long over its
/// first event, and then does what it must not.
#[derive(Clone)]
struct Listening;

impl Logical for Listening {
    type Event = ();

    fn start(&mut self, out: &mut Out<'_, ()>) {
        if out.process() < 2 {
            out.schedule(out.process(), 1, ());
        }
    }

    fn handle(&mut self, _: Time, (): (), out: &mut Out<'_, ()>) {
        match out.process() {
            0 => {
                pause(Duration::from_millis(200));
                out.schedule(3, 10, ());
            }
            1 => [0, 2].into_iter().for_each(|to| out.schedule(to, 10, ())),
            _ => out.schedule(1, 10, ()),
        }
    }
}

#[test]
fn sem_g180_who_waits_for_room_hears_of_an_error() {
    let nobody = ModelError::NoSuchProcess {
        from: 0,
        to: 3,
        processes: 3,
        time: 1,
    };
    for messages in [1, 2] {
        let found = within(patience(), move || {
            let options = Options {
                end: 1_000_000,
                lookahead: 10,
                ..OPTIONS
            };
            let links = [(1, 0, 10), (1, 2, 10), (2, 1, 10)];
            let model = Model::new(3, |_| Listening, options).linked(links);
            let world = World::threads(3).workers(3);
            let run = world
                .limit(messages, SendOverflow::Wait)
                .run(async |comm| Ok(model.run(&comm, Mode::NullMessages).await.err()));
            let found: Result<Vec<Option<SimError>>, RunError<SimError>> = run;
            found.unwrap()
        });
        let all = [(); 3].map(|()| Some(SimError::from(nobody.clone())));
        assert_eq!(found, all, "{messages}");
    }
}

#[test]
fn sem_g180_events_of_all_ranks_count() {
    for (ranks, mode) in MODES.into_iter().flat_map(|mode| [(1, mode), (3, mode)]) {
        // No rank of three handles as many, and all together handle 36.
        let limited = |most_events| {
            let options = Options {
                most_events,
                ..OPTIONS
            };
            outcome_on(ranks, |_| (), options, mode)
        };
        let found = limited(35);
        let too_many = SimError::Model(ModelError::TooManyEvents {
            most: 35,
            time: 100,
        });
        match found {
            Err(found) if ranks == 3 && mode != Mode::Sequential => assert_eq!(found, too_many),
            Err(SimError::Model(ModelError::TooManyEvents { most: 35, .. })) => {}
            other => panic!("{mode:?} on {ranks}: {other:?}"),
        }
        assert_eq!(limited(36), Ok(36), "{mode:?} on {ranks}");
    }
}

#[test]
fn limits_end_a_run() {
    for (ranks, mode) in MODES.into_iter().flat_map(|mode| [(1, mode), (3, mode)]) {
        let few = Options {
            most_events: 7,
            ..OPTIONS
        };
        let found = outcome_on(ranks, |_| (), few, mode);
        let Err(SimError::Model(ModelError::TooManyEvents { most: 7, time })) = found else {
            panic!("{mode:?} on {ranks}: {found:?}");
        };
        assert!((10..=100).contains(&time), "{mode:?} on {ranks}: {time}");
        let crowd: fn(&mut Out<'_, ()>) = |out| (0..50).for_each(|_| out.schedule(2, 1, ()));
        let small = Options {
            most_pending: 40,
            ..OPTIONS
        };
        let found = outcome_on(ranks, crowd, small, mode);
        match found {
            Err(SimError::Model(ModelError::TooManyPending { pending, .. })) => {
                assert!(pending > 40, "{mode:?} on {ranks}: {pending}");
            }
            // It looks between rounds, and there is one.
            Ok(_) if ranks == 1 && matches!(mode, Mode::TimeWarp) => {}
            found => panic!("{mode:?} on {ranks}: {found:?}"),
        }
        let all = outcome_on(ranks, |_| (), OPTIONS, mode);
        assert_eq!(all, Ok(36), "{mode:?} on {ranks}");
    }
}

#[test]
fn modes_say_what_they_need() {
    let none = Options {
        lookahead: 0,
        ..OPTIONS
    };
    let found = outcome(|_| (), none.clone(), Mode::Windows);
    assert_eq!(found, Err(ModelError::NoLookahead { link: None }.into()));
    let found = outcome(|_| (), none.clone(), Mode::NullMessages);
    let processes = vec![0, 1, 0];
    assert_eq!(found, Err(ModelError::Cycle { processes }.into()));
    assert_eq!(outcome(|_| (), none, Mode::TimeWarp), Ok(36));
    let endless = Options {
        end: Time::MAX,
        ..OPTIONS
    };
    let found = outcome(|_| (), endless, Mode::NullMessages);
    assert_eq!(found, Err(ModelError::NoEnd.into()));

    let linked = |links: Vec<(usize, usize, Time)>, mode| {
        let at_50 = |out: &mut Out<'_, ()>| out.schedule(1, 3, ());
        let model = Model::new(4, |_| Counting { at_50 }, OPTIONS).linked(links);
        let run = World::threads(2).run(async |comm| Ok(model.run(&comm, mode).await.err()));
        let errors: Result<Vec<Option<SimError>>, RunError<SimError>> = run;
        errors.unwrap()[0].clone()
    };
    let loop_of_three = vec![(0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 1, 3)];
    let cycle = linked(loop_of_three, Mode::NullMessages).unwrap();
    assert!(cycle.to_string().contains("0 → 1 → 2 → 0"), "{cycle}");
    let found = linked(vec![(2, 0, 9)], Mode::Sequential);
    let unlinked = ModelError::NotLinked {
        from: 2,
        to: 1,
        time: 50,
    };
    assert_eq!(found, Some(unlinked.into()));
    let link = Some((2, 1));
    let found = linked(vec![(2, 1, 0)], Mode::Windows);
    assert_eq!(found, Some(ModelError::NoLookahead { link }.into()));
    for mode in MODES {
        assert_eq!(linked(vec![(2, 1, 3), (1, 2, 1)], mode), None, "{mode:?}");
    }
}

#[test]
fn sem_g181_a_panic_of_a_handler_ends_the_run() {
    for mode in MODES {
        let model = Model::new(
            4,
            |_| Counting {
                at_50: |_| panic!("at fifty"),
            },
            OPTIONS,
        );
        let run = World::threads(2).run(async |comm| model.run(&comm, mode).await.map(|_| ()));
        let error = run.unwrap_err();
        assert!(error.to_string().contains("at fifty"), "{mode:?}: {error}");
    }
}

/// Process 0 takes long in real time and sends late in virtual time; process 1 runs ahead of it and
/// would divide by zero, if what came to it first were all there is.
#[derive(Clone)]
struct Divider {
    by: u64,
}

impl Logical for Divider {
    type Event = u64;

    fn start(&mut self, out: &mut Out<'_, u64>) {
        match out.process() {
            0 => out.schedule(0, 10, 0),
            _ => (1..40).for_each(|n| out.schedule(1, n * 10 + 5, 100)),
        }
    }

    fn handle(&mut self, now: Time, event: u64, out: &mut Out<'_, u64>) {
        if out.process() == 0 {
            out.schedule(1, 1, 1);
            out.schedule(0, 10, 0);
        } else if event == 1 {
            self.by = 1;
        } else {
            // At 15 the event of time 11 has made it 1, and so on.
            assert!(self.by == 1, "divided by {} at {now}", self.by);
            self.by = 0;
        }
    }
}

#[test]
fn sem_g181_what_is_taken_back_does_not_panic() {
    let options = Options {
        end: 400,
        lookahead: 1,
        ..Options::default()
    };
    let model = Model::new(2, |_| Divider { by: 0 }, options);
    let run = World::threads(2).run(async |comm| model.run(&comm, Mode::TimeWarp).await);
    let report = run.unwrap()[0].report;
    assert_eq!(report.committed, 39 + 39 + 39, "{report:?}");
}

#[derive(Clone, PartialEq)]
struct Forgetful(u32);

impl Logical for Forgetful {
    type Event = ();
    fn start(&mut self, out: &mut Out<'_, ()>) {
        out.schedule(0, 7, ());
    }
    fn handle(&mut self, _: Time, (): (), _: &mut Out<'_, ()>) {
        self.0 += 1;
    }
}

impl Reversible for Forgetful {
    type Undo = ();
    fn handle_reversibly(&mut self, now: Time, (): (), out: &mut Out<'_, ()>) {
        self.handle(now, (), out);
    }
    fn undo(&mut self, (): ()) {}
}

#[test]
fn a_handler_that_is_not_undone_is_found() {
    let found = Model::new(1, |_| Forgetful(0), Options::default()).check_undo();
    let (process, time) = (0, 7);
    assert_eq!(found, Err(ModelError::NotUndone { process, time }.into()));
}
