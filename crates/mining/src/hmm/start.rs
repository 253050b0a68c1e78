//! Models that a fit may start from.

use super::model::{Emissions, HmmModel, Observations, Seen};
use super::{Hmm, all_finite};
use crate::boxed::LocalBoxFuture;
use crate::memory_request::MemoryRequest;
use crate::rank_view::RankView;
use crate::{Annealing, Clusters, Control, Init, KMeans, MiningError, ParameterError, Points};
use motet_comm::Communicator;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

impl Hmm {
    /// A model of `states` states to start a fit from; all ranks of `comm` call it with the same
    /// input and get the same.
    ///
    /// Numbers: the states are clusters of all places, by annealing for start 0 and by K-means
    /// from other random numbers for each other start. Symbols: probabilities around those of all
    /// places, at random.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::FewPoints`] and
    /// [`MiningError::FewDistinctPoints`] for more states than there are places, or than the
    /// numbers have clusters, [`MiningError::Degenerate`] with the state whose variance no number
    /// holds, [`MiningError::Data`] if there is not the memory for so many states and symbols,
    /// [`MiningError::Cancelled`], [`MiningError::Comm`].
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Control, Hmm, Observations};
    ///
    /// let seen = Observations::numbers(&[vec![0.0, 0.1, 9.0, 9.1]], 1)?;
    /// let starts = World::threads(2)
    ///     .run(async |comm| {
    ///         Hmm::default().start(&comm, &seen, 2, (0, 1), &Control::default()).await
    ///     })
    ///     .unwrap();
    /// assert_eq!((starts[0].states(), &starts[0]), (2, &starts[1]));
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn start<'a>(
        &'a self,
        comm: &'a Communicator,
        seen: &'a Observations,
        states: usize,
        (start, seed): (usize, u64),
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<HmmModel, MiningError>> {
        Box::pin(async move {
            self.check()?;
            if states == 0 {
                return Err(ParameterError::Zero { field: "states" }.into());
            }
            match &seen.values {
                Seen::Symbols { values, .. } if values.len() < states => {
                    Err(MiningError::FewPoints {
                        clusters: states,
                        points: values.len(),
                    })
                }
                Seen::Symbols { symbols, values } => {
                    let team = RankView::new(comm, control);
                    team.ask_for(memory(states, *symbols)).await?;
                    let mut draws = ChaCha8Rng::seed_from_u64(seed);
                    draws.set_stream(start as u64);
                    by_chance(states, *symbols, values, &mut draws).map_err(MiningError::Data)
                }
                Seen::Numbers { dim, values } => {
                    let points = Points::new(values.clone(), *dim).map_err(MiningError::Data)?;
                    let control = Control {
                        progress: None,
                        cancel: control.cancel,
                    };
                    let found = if start == 0 {
                        let method = Annealing {
                            clusters: Clusters::Exactly(states),
                            ..Annealing::default()
                        };
                        method.fit(comm, &points, &control).await?
                    } else {
                        let method = KMeans {
                            clusters: states,
                            init: Init::PlusPlus,
                            seed: seed.wrapping_add(start as u64),
                            ..KMeans::default()
                        };
                        method.fit(comm, &points, &control).await?
                    };
                    let team = RankView::new(comm, &control);
                    team.ask_for(memory(states, *dim)).await?;
                    let labels = comm.allgather(found.labels).await?.concat();
                    self.of_labels(seen, states, (&points, &labels))
                }
            }
        })
    }

    /// The model of states that are known at all places. Each step counts once more than seen.
    fn of_labels(
        &self,
        seen: &Observations,
        states: usize,
        (points, labels): (&Points, &[u32]),
    ) -> Result<HmmModel, MiningError> {
        let (mut first, mut steps) = (vec![1.0; states], vec![1.0; states * states]);
        for sequence in 0..seen.len() {
            let labels = &labels[seen.range(sequence)];
            first[labels[0] as usize] += 1.0;
            for pair in labels.windows(2) {
                steps[pair[0] as usize * states + pair[1] as usize] += 1.0;
            }
        }
        let dim = points.dim();
        let (mut counts, mut means) = (vec![0.0; states], vec![0.0; states * dim]);
        for (row, label) in labels.iter().enumerate() {
            counts[*label as usize] += 1.0;
            let mean = &mut means[*label as usize * dim..][..dim];
            mean.iter_mut()
                .zip(points.row(row))
                .for_each(|(m, x)| *m += x);
        }
        (0..means.len()).for_each(|at| means[at] /= f64::max(counts[at / dim], 1.0));
        let mut variances = vec![0.0; states * dim];
        for (row, label) in labels.iter().enumerate() {
            for (column, x) in points.row(row).iter().enumerate() {
                let at = *label as usize * dim + column;
                variances[at] += (x - means[at]) * (x - means[at]) / counts[at / dim];
            }
        }
        all_finite(dim, &variances)?;
        variances.iter_mut().for_each(|v| *v = v.max(self.floor));
        shares(&mut first, states);
        shares(&mut steps, states);
        let shown = Emissions::Gaussian {
            dim,
            means,
            variances,
        };
        HmmModel::new(first, steps, shown).map_err(MiningError::Data)
    }
}

/// What a model needs, and its fit beside it: probabilities of steps, and of what states show.
fn memory(states: usize, shown: usize) -> MemoryRequest {
    let (states, shown) = (states as u128, shown as u128);
    let numbers = states.saturating_mul(3 * (states + shown));
    MemoryRequest::new(
        "a model of so many states and symbols",
        numbers,
        "ask for fewer of them",
    )
}

fn by_chance(
    states: usize,
    symbols: usize,
    values: &[u32],
    draws: &mut ChaCha8Rng,
) -> Result<HmmModel, crate::DataError> {
    let mut draw = || ((draws.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64;
    let mut counts = vec![0.0; symbols];
    values
        .iter()
        .for_each(|symbol| counts[*symbol as usize] += 1.0);
    let mut first: Vec<f64> = (0..states).map(|_| 0.5 + draw()).collect();
    let stay = |at: usize| {
        if at / states == at % states {
            states as f64
        } else {
            0.0
        }
    };
    let mut steps: Vec<f64> = (0..states * states).map(|at| stay(at) + draw()).collect();
    let shown = (0..states * symbols).map(|at| counts[at % symbols] * (0.05 + draw()));
    let mut probabilities: Vec<f64> = shown.collect();
    shares(&mut first, states);
    shares(&mut steps, states);
    shares(&mut probabilities, symbols);
    let shown = Emissions::Discrete {
        symbols,
        probabilities,
    };
    HmmModel::new(first, steps, shown)
}

/// Brings the sum of each row to 1.
fn shares(values: &mut [f64], columns: usize) {
    for row in values.chunks_exact_mut(columns) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;

    #[test]
    fn sem_g152_a_start_is_the_same_on_all_ranks_and_in_all_layouts() {
        let value = |s: usize, i: usize| ((i / 10 + s) % 3 * 5) as f64 + (i * 7 % 5) as f64 / 9.0;
        let run = |s: usize| (0..50).map(|i| value(s, i)).collect::<Vec<f64>>();
        let numbers = Observations::numbers(&[run(0), run(1), run(2)], 1).unwrap();
        let letters = |s: u32| (0..40).map(|i: u32| (i * i + s) % 4).collect::<Vec<u32>>();
        let symbols = Observations::symbols(&[letters(0), letters(1)], 4).unwrap();
        for seen in [&numbers, &symbols] {
            for start in 0..2 {
                let on = |ranks: usize| {
                    World::threads(ranks)
                        .run(async |comm| {
                            let (method, control) = (Hmm::default(), Control::default());
                            method.start(&comm, seen, 3, (start, 7), &control).await
                        })
                        .unwrap()
                };
                let one = on(1).remove(0);
                assert!(on(3).iter().all(|model| *model == one));
                // All states differ, else no step would tell them apart.
                let fitted = World::threads(2)
                    .run(async |comm| {
                        Hmm::default()
                            .fit(&comm, &one, seen, &Control::default())
                            .await
                    })
                    .unwrap()
                    .remove(0);
                assert!(fitted.trace.last() > fitted.trace.first());
            }
        }
    }
}
