//! Random models: every mode commits the same events, in the same order, with the same states.

use motet_comm::World;
use motet_sim::{EventKey, Logical, Mode, Model, Options, Out, SimError, Tie, Time, mix};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// A process that schedules by what it draws: none to three events, soon or late, for itself or a
/// neighbour.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Any {
    links: Vec<(usize, Time)>,
    sum: u64,
    /// Events at the same time, by delay 0, end after so many.
    left: u32,
}

impl Any {
    fn scatter(&mut self, out: &mut Out<'_, u64>, most: u64) {
        for _ in 0..out.draw() % most {
            let body = out.draw();
            let which = (out.draw() % (self.links.len() as u64 + 1)) as usize;
            let more = [0, 0, 1, 5, 40][(out.draw() % 5) as usize];
            match self.links.get(which) {
                Some(&(to, least)) => out.schedule(to, least + more, body),
                None if more > 0 || self.left > 0 => {
                    self.left = self.left.saturating_sub(u32::from(more == 0));
                    out.schedule(out.process(), more, body);
                }
                None => {}
            }
        }
    }
}

impl Logical for Any {
    type Event = u64;

    fn start(&mut self, out: &mut Out<'_, u64>) {
        out.schedule(out.process(), 1 + out.process() as u64 % 3, 1);
        self.scatter(out, 4);
    }

    fn handle(&mut self, now: Time, event: u64, out: &mut Out<'_, u64>) {
        self.sum = mix(self.sum ^ event).wrapping_add(now);
        self.scatter(out, 3);
        if out.draw().is_multiple_of(4) {
            out.schedule(out.process(), 7, event);
        }
    }
}

impl Any {
    pub(crate) fn new(links: Vec<(usize, Time)>) -> Self {
        Any {
            links,
            sum: 0,
            left: 3,
        }
    }

    /// A number that depends on all that it has handled, in its order.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }
}

type Found = (Vec<EventKey>, Vec<u64>);

fn run(model: &Model<impl Fn(usize) -> Any + Sync>, mode: Mode, ranks: usize) -> Found {
    let parts = World::threads(ranks).run(async |comm| -> Result<_, SimError> {
        let outcome = model.run(&comm, mode).await?;
        let sums: Vec<u64> = outcome
            .processes
            .iter()
            .map(|process| process.sum)
            .collect();
        Ok((outcome.trace, sums))
    });
    let (mut keys, mut sums) = (Vec::new(), Vec::new());
    for (mut trace, mut part) in parts.unwrap() {
        assert!(trace.is_sorted());
        keys.append(&mut trace);
        sums.append(&mut part);
    }
    keys.sort_unstable();
    (keys, sums)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn prop_sem_g178_every_mode_commits_the_same(
        seed: u64,
        processes in 1_usize..9,
        links in prop::collection::vec((0_usize..9, 0_usize..9, 1_u64..6), 0..20),
        hash: bool,
        ranks in 1_usize..5,
    ) {
        let links: Vec<_> = links
            .into_iter()
            .filter(|&(from, to, _)| from < processes && to < processes && from != to)
            .collect();
        let options = Options {
            seed,
            end: 60,
            tie: if hash { Tie::Hash } else { Tie::Order },
            trace: true,
            most_events: 20_000,
            ..Options::default()
        };
        let given = links.clone();
        let make = move |process| {
            let own = given.iter().filter(|link| link.0 == process);
            Any::new(own.map(|&(_, to, least)| (to, least)).collect())
        };
        // Of two links between the same processes the sooner counts.
        let model = Model::new(processes, make, options).linked(links);
        let first = run(&model, Mode::Sequential, 1);
        for mode in [Mode::Sequential, Mode::Windows, Mode::NullMessages, Mode::TimeWarp] {
            prop_assert_eq!(&run(&model, mode, ranks), &first, "{:?} on {} ranks", mode, ranks);
        }
    }
}
