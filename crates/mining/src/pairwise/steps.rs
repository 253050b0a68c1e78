//! Single steps of pairwise annealing, for measurement and other schedules. `fit` does not use
//! them.

use super::Dissimilarities;
use super::field::{Field, rows_of};
use super::kernel::Product;
use crate::lanes::{Instructions, run};
use crate::rank_view::RankView;
use crate::{Control, MiningError};
use motet_comm::Communicator;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a block that one thread takes at a time.
const BLOCK: usize = 64;

/// The step that pairwise annealing is made of, one at a time: to measure it, or to write another
/// schedule. All rows weigh the same, and masses do not count (power 0).
///
/// A step is one product of this rank's rows with the shares of all, a reduction, and an allgather
/// of the new shares. All ranks of the communicator make the same calls.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Dissimilarities, MiningError, PairSteps};
/// use std::sync::Arc;
///
/// let at = (0..60).map(|i| f64::from(i % 3 * 50 + i)).collect::<Vec<_>>();
/// let squares = at.iter().flat_map(|x| at.iter().map(move |y| (x - y) * (x - y)));
/// let pairs = Arc::new(Dissimilarities::new(squares.collect(), 60)?);
/// let free = World::threads(2)
///     .run(async |comm| {
///         let mut steps = PairSteps::new(&comm, Arc::clone(&pairs), 3);
///         let first = steps.step(500.0).await?;
///         // By blocks of rows, as a scheduler of another kind takes them.
///         let work = steps.work();
///         let blocks = (0..work.blocks()).map(|block| work.block(block));
///         let second = steps.end(blocks.collect::<Vec<_>>().concat(), 500.0).await?;
///         Ok::<_, MiningError>((first, second))
///     })
///     .unwrap();
/// assert!(free[0].1 <= free[0].0 && free[0] == free[1]);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug)]
pub struct PairSteps<'a> {
    comm: &'a Communicator,
    control: Control<'a>,
    pairs: Arc<Dissimilarities>,
    weights: Vec<f64>,
    /// The weighted shares of all rows.
    right: Arc<[f64]>,
    clusters: usize,
    rows: Range<usize>,
}

/// The product of a step: this rank's rows, in blocks, which any thread may compute.
#[derive(Debug, Clone)]
pub struct PairWork {
    pairs: Arc<Dissimilarities>,
    right: Arc<[f64]>,
    clusters: usize,
    rows: Range<usize>,
    instructions: Instructions,
}

impl<'a> PairSteps<'a> {
    /// Begins with shares that are nearly the same in all clusters.
    ///
    /// # Panics
    ///
    /// If there are no clusters, or pairs are not known.
    pub fn new(
        comm: &'a Communicator,
        pairs: Arc<Dissimilarities>,
        clusters: usize,
    ) -> PairSteps<'a> {
        assert!(clusters > 0, "there are no clusters: ask for one at least");
        assert!(!pairs.has_gaps(), "all pairs must be known");
        let control = Control::default();
        let rows = rows_of(&RankView::new(comm, &control), pairs.len());
        let weight = 1.0 / pairs.len() as f64;
        let share = |at: usize| match at / clusters % clusters == at % clusters {
            true => weight * 2.0 / (clusters + 1) as f64,
            false => weight / (clusters + 1) as f64,
        };
        PairSteps {
            comm,
            control,
            weights: vec![weight; pairs.len()],
            right: (0..pairs.len() * clusters).map(share).collect(),
            clusters,
            rows,
            pairs,
        }
    }

    /// One step at a temperature; the free energy of the shares that went in.
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
    /// If the temperature is not positive.
    pub async fn step(&mut self, temperature: f64) -> Result<f64, MiningError> {
        let work = self.work();
        self.end(work.rows(work.rows.clone()), temperature).await
    }

    /// The work of the next step, for a scheduler of another kind.
    pub fn work(&self) -> PairWork {
        let control = Control::default();
        let team = RankView::new(self.comm, &control);
        PairWork {
            pairs: Arc::clone(&self.pairs),
            right: Arc::clone(&self.right),
            clusters: self.clusters,
            rows: self.rows.clone(),
            instructions: team.instructions,
        }
    }

    /// Ends a step whose work gave `product`: its blocks, one after the other.
    ///
    /// # Errors
    ///
    /// As [`step`](PairSteps::step).
    ///
    /// # Panics
    ///
    /// As [`step`](PairSteps::step), and if `product` is not that of all blocks.
    pub async fn end(&mut self, product: Vec<f64>, temperature: f64) -> Result<f64, MiningError> {
        assert!(
            temperature > 0.0,
            "the temperature is {temperature}: it must be positive"
        );
        assert_eq!(
            product.len(),
            self.rows.len() * self.clusters,
            "numbers of all blocks"
        );
        let team = RankView::new(self.comm, &self.control);
        let field = Field::new(&team, &self.pairs, &self.weights);
        let sums = field.sums_with(self.clusters, &self.right, product, None);
        let sums = sums.await?;
        let mut right = field.shares(&sums, temperature, 0.0);
        let weight = self.weights[0];
        right.iter_mut().for_each(|share| *share *= weight);
        self.right = field.gather(self.clusters, &right).await?.into();
        Ok(sums.free_energy(temperature, 0.0))
    }
}

impl PairWork {
    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.rows.len().div_ceil(BLOCK)
    }

    /// The product of one block, from 0.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn block(&self, block: usize) -> Vec<f64> {
        let start = self.rows.start + block * BLOCK;
        assert!(start < self.rows.end, "block {block} of {}", self.blocks());
        self.rows(start..self.rows.end.min(start + BLOCK))
    }

    fn rows(&self, rows: Range<usize>) -> Vec<f64> {
        let task = Product {
            data: &self.pairs,
            known: false,
            rows,
            right: &self.right,
            columns: self.clusters,
        };
        run(self.instructions, task)
    }
}
