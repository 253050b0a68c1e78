//! Single passes over the data.

use crate::hard::{Centres, HardScratch};
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::soft::{Expectation, SoftModel, SoftScratch};
use crate::{Control, MiningError, Points};
use motet_comm::Communicator;

/// The steps that the methods are made of, one at a time: to measure them, or to write another
/// schedule. All points take part, never a summary.
///
/// All ranks make the same calls with the same arguments and get the same results.
///
/// # Examples
///
/// The free energy never rises at a fixed temperature.
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{MiningError, Points, Steps};
///
/// let points = Points::new((0..1000).map(|i| f64::from(i * i % 317)).collect(), 1)?;
/// let energies = World::solo()
///     .run(async |comm| {
///         let mut steps = Steps::new(&comm, &points).await?;
///         let (mut masses, mut centres) = (vec![0.5, 0.5], vec![100.0, 101.0]);
///         let mut energies = Vec::new();
///         for _ in 0..20 {
///             let step = steps.soft(3000.0, &masses, &centres).await?;
///             energies.push(step.free_energy);
///             (masses, centres) = (step.masses, step.centres);
///         }
///         Ok::<_, MiningError>(energies)
///     })
///     .unwrap()
///     .remove(0);
/// assert!(energies.is_sorted_by(|before, after| after <= before));
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug)]
pub struct Steps<'a> {
    comm: &'a Communicator,
    control: Control<'a>,
    prepared: Prepared<'a>,
    soft: SoftScratch,
    hard: HardScratch,
}

/// The result of one step of annealing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SoftStep {
    /// -T Σ w ln Z of the centres that went in, with weights that add up to 1, in the units of the
    /// data squared.
    pub free_energy: f64,
    /// The share of the weight that is not with one centre.
    pub softness: f64,
    /// The new masses; they add up to 1.
    pub masses: Vec<f64>,
    /// The new centres. A centre without any share of a point stays where it is.
    pub centres: Vec<f64>,
}

/// The result of one step of K-means.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HardStep {
    /// The sum over all points of weight times squared distance from the centre that went in.
    pub inertia: f64,
    /// The share of the whole weight in each cluster.
    pub masses: Vec<f64>,
    /// The new centres. A centre without points stays where it is.
    pub centres: Vec<f64>,
}

impl<'a> Steps<'a> {
    /// Prepares the points; all ranks of `comm` call it with the same ones.
    ///
    /// # Errors
    ///
    /// [`MiningError::Comm`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future on one rank leaves the others waiting.
    pub async fn new(comm: &'a Communicator, points: &'a Points) -> Result<Steps<'a>, MiningError> {
        let control = Control::default();
        let prepared = Prepared::new(&RankView::new(comm, &control), points, 1).await?;
        let (soft, hard) = (SoftScratch::default(), HardScratch::default());
        Ok(Steps {
            comm,
            control,
            prepared,
            soft,
            hard,
        })
    }

    /// One step of annealing at a temperature, in the units of the data squared: shares, then
    /// masses and means.
    ///
    /// # Errors
    ///
    /// [`MiningError::Comm`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future on one rank leaves the others waiting.
    ///
    /// # Panics
    ///
    /// If there are no masses, or a mass or the temperature is not positive. Also if `centres` does
    /// not have the columns of the data for each mass.
    pub async fn soft(
        &mut self,
        temperature: f64,
        masses: &[f64],
        centres: &[f64],
    ) -> Result<SoftStep, MiningError> {
        let model = self.model(temperature, masses, centres);
        let team = RankView::new(self.comm, &self.control);
        let found = model
            .expect(&team, &self.prepared.blocks, &mut self.soft)
            .await?;
        Ok(self.soft_step(&found, centres))
    }

    /// As [`soft`](Steps::soft), with this rank's blocks of points computed by whom `by` asks. It
    /// gets their number and what computes one of them, from 0, which any thread may call. It gives
    /// back the sum of all, element by element. For schedulers of other kinds beside ranks; the
    /// last bits depend on the order in which `by` adds.
    ///
    /// # Errors
    ///
    /// [`MiningError::Comm`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future on one rank leaves the others waiting.
    ///
    /// # Panics
    ///
    /// As [`soft`](Steps::soft), with what `by` panics with, and when it gives back something else
    /// than a sum of blocks.
    ///
    /// # Examples
    ///
    /// Two threads compute every other block each.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{MiningError, Points, Steps};
    /// use std::thread;
    ///
    /// let points = Points::new((0..1000).map(|i| f64::from(i * i % 317)).collect(), 1)?;
    /// World::solo()
    ///     .run(async |comm| {
    ///         let mut steps = Steps::new(&comm, &points).await?;
    ///         let (masses, centres) = ([0.5, 0.5], [100.0, 101.0]);
    ///         let add = |mut sum: Vec<f64>, block: Vec<f64>| {
    ///             sum.iter_mut().zip(&block).for_each(|(sum, block)| *sum += block);
    ///             sum
    ///         };
    ///         let by_threads = steps.soft_by(3000.0, &masses, &centres, |blocks, compute| {
    ///             let half = |from| (from..blocks).step_by(2).map(compute).reduce(add).unwrap();
    ///             thread::scope(|scope| {
    ///                 let other = scope.spawn(|| half(1));
    ///                 add(half(0), other.join().unwrap())
    ///             })
    ///         });
    ///         let (by_threads, alone) = (by_threads.await?, steps.soft(3000.0, &masses, &centres).await?);
    ///         assert!((by_threads.centres[0] - alone.centres[0]).abs() < 1e-9);
    ///         Ok::<_, MiningError>(())
    ///     })
    ///     .unwrap();
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub async fn soft_by(
        &mut self,
        temperature: f64,
        masses: &[f64],
        centres: &[f64],
        by: impl FnOnce(usize, &(dyn Fn(usize) -> Vec<f64> + Sync)) -> Vec<f64>,
    ) -> Result<SoftStep, MiningError> {
        let model = self.model(temperature, masses, centres);
        let instructions = RankView::new(self.comm, &self.control).instructions;
        let blocks = &self.prepared.blocks;
        let compute = |at: usize| {
            let (tiles, range) = blocks.block(at);
            let mut sums = Vec::new();
            let scratch = &mut SoftScratch::default();
            model.sums(instructions, tiles, range, scratch, &mut sums);
            sums
        };
        let mut mine = vec![0.0; model.sums_len()];
        if blocks.own() > 0 {
            mine = by(blocks.own(), &compute);
            assert_eq!(
                mine.len(),
                model.sums_len(),
                "a sum of blocks has the numbers of one"
            );
        }
        let add = |mut left: Vec<f64>, right: Vec<f64>| {
            left.iter_mut().zip(&right).for_each(|(l, r)| *l += r);
            left
        };
        let sums = self.comm.allreduce(mine, add).await?;
        Ok(self.soft_step(&model.expectation(sums), centres))
    }

    /// One step of K-means: nearest centres, then means.
    ///
    /// # Errors
    ///
    /// [`MiningError::Comm`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future on one rank leaves the others waiting.
    ///
    /// # Panics
    ///
    /// If there are no centres or `centres` is not a whole number of rows.
    pub async fn hard(&mut self, centres: &[f64]) -> Result<HardStep, MiningError> {
        let dim = self.prepared.tree.dim;
        assert!(
            !centres.is_empty(),
            "there are no centres: give at least one"
        );
        assert_eq!(
            centres.len() % dim,
            0,
            "centres must be whole rows of {dim} columns"
        );
        let team = RankView::new(self.comm, &self.control);
        let inner = self.enter(centres);
        let table = Centres::new(dim, &inner);
        let found = table
            .assign::<false>(&team, &self.prepared.blocks, &mut self.hard)
            .await?;
        Ok(HardStep {
            inertia: self.prepared.frame.square(found.inertia()) * self.prepared.total,
            centres: self.means(&found.masses, &found.moments, centres),
            masses: found.masses,
        })
    }

    fn model(&self, temperature: f64, masses: &[f64], centres: &[f64]) -> SoftModel {
        let dim = self.prepared.tree.dim;
        assert!(
            temperature > 0.0,
            "the temperature is {temperature}: it must be positive"
        );
        assert!(!masses.is_empty(), "there are no masses: give at least one");
        assert!(
            masses.iter().all(|&m| m >= f64::MIN_POSITIVE),
            "masses must be positive"
        );
        assert_eq!(
            centres.len(),
            masses.len() * dim,
            "one centre of {dim} columns per mass"
        );
        let inner = self.enter(centres);
        let rows = masses.iter().copied().zip(inner.chunks_exact(dim));
        SoftModel::new(dim, self.prepared.frame.inner_square(temperature), rows)
    }

    fn soft_step(&self, found: &Expectation, centres: &[f64]) -> SoftStep {
        let masses: Vec<f64> = found.rows().map(|(mass, _)| mass).collect();
        let moments: Vec<f64> = found.rows().flat_map(|row| row.1).copied().collect();
        SoftStep {
            free_energy: self.prepared.frame.square(found.free_energy),
            softness: found.softness,
            centres: self.means(&masses, &moments, centres),
            masses,
        }
    }

    fn enter(&self, centres: &[f64]) -> Vec<f64> {
        let mut inner = Vec::with_capacity(centres.len());
        let rows = centres.chunks_exact(self.prepared.tree.dim);
        rows.for_each(|row| self.prepared.frame.enter(row, &mut inner));
        inner
    }

    fn means(&self, masses: &[f64], moments: &[f64], old: &[f64]) -> Vec<f64> {
        let dim = self.prepared.tree.dim;
        let rows = masses
            .iter()
            .zip(moments.chunks_exact(dim))
            .zip(old.chunks_exact(dim));
        rows.flat_map(|((mass, moment), old)| {
            if *mass > 0.0 {
                let mean: Vec<f64> = moment.iter().map(|m| m / mass).collect();
                self.prepared.frame.leave(&mean)
            } else {
                old.to_vec()
            }
        })
        .collect()
    }
}
