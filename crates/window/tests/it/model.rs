//! Random operations between fences, against windows that one thread keeps.

use crate::worlds::everywhere;
use motet_comm::Communicator;
use motet_testkit::Random;
use motet_window::{Op, Window, WindowError};

const OPS: [Op; 5] = [Op::Sum, Op::Product, Op::Min, Op::Max, Op::Xor];

/// What a rank does to another one in an epoch.
struct Step {
    from: usize,
    to: usize,
    offset: usize,
    numbers: Vec<u64>,
}

/// How long the window of a rank is.
fn length(rank: usize, size: usize) -> usize {
    6 * size + rank
}

/// An epoch: puts into places that only their origin uses, or accumulates of one operation, which
/// commute.
fn epoch(random: &mut Random, size: usize) -> (Option<Op>, Vec<Step>) {
    let op = (random.below(2) == 0).then(|| OPS[random.below(OPS.len())]);
    let steps = (0..random.below(20)).map(|_| {
        let (from, to) = (random.below(size), random.below(size));
        let (offset, room) = match op {
            Some(_) => (0, length(to, size)),
            None => (6 * from, 6),
        };
        let offset = offset + random.below(room);
        let left = match op {
            Some(_) => length(to, size) - offset,
            None => 6 * (from + 1) - offset,
        };
        let numbers = (0..=random.below(left)).map(|_| random.below(1000) as u64);
        Step {
            from,
            to,
            offset,
            numbers: numbers.take(left).collect(),
        }
    });
    (op, steps.collect())
}

/// The slow way.
fn apply(model: &mut [Vec<u64>], op: Option<Op>, step: &Step) {
    for (at, &brought) in step.numbers.iter().enumerate() {
        let there = &mut model[step.to][step.offset + at];
        *there = match op {
            None => brought,
            Some(Op::Sum) => there.wrapping_add(brought),
            Some(Op::Product) => there.wrapping_mul(brought),
            Some(Op::Min) => brought.min(*there),
            Some(Op::Max) => brought.max(*there),
            Some(Op::Xor) => brought ^ *there,
            Some(other) => panic!("{other:?}"),
        };
    }
}

async fn round(comm: &Communicator, seed: u64) -> Result<(), WindowError> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut model: Vec<Vec<u64>> = (0..size)
        .map(|rank| (0..length(rank, size) as u64).collect())
        .collect();
    let window = Window::create(comm, model[rank].clone()).await?;
    // All ranks draw the same.
    let mut random = Random::new(seed);
    for _ in 0..8 {
        let (op, steps) = epoch(&mut random, size);
        for step in &steps {
            apply(&mut model, op, step);
            if step.from == rank {
                match op {
                    None => window.put(step.to, step.offset, &step.numbers).await?,
                    Some(op) => {
                        window
                            .accumulate(step.to, step.offset, &step.numbers, op)
                            .await?;
                    }
                }
            }
        }
        window.fence().await?;
        window.with(|numbers| assert_eq!(numbers, model[rank], "seed {seed}"));
        let other = random.below(size);
        let got = window.get(other, 1, length(other, size) - 1).await?;
        assert_eq!(got, model[other][1..], "seed {seed}");
        let mut room = [0; 2];
        window.get_into(other, 3, &mut room).await?;
        assert_eq!(room, model[other][3..5], "seed {seed}");
        window.fence().await?;
    }
    assert_eq!(window.free().await?, model[rank]);
    Ok(())
}

#[test]
fn sem_g345_windows_hold_what_was_put_and_combined_before_the_fence() {
    everywhere(async |comm| {
        for seed in 0..6 {
            round(&comm, seed).await?;
        }
        Ok(())
    });
}
