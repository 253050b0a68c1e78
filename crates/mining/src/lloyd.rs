//! Lloyd's iteration to its fixed point.
//!
//! Source: S. P. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory
//! 28 (1982).

use crate::MiningError;
use crate::blocks::Blocks;
use crate::hard::{Assignment, Centres, HardScratch};
use crate::rank_view::RankView;
use serde::{Deserialize, Serialize};

/// Lloyd's iteration on some rows.
#[derive(Debug)]
pub(crate) struct Lloyd<'a> {
    pub(crate) team: &'a RankView<'a>,
    pub(crate) blocks: &'a Blocks,
    pub(crate) dim: usize,
    pub(crate) scratch: HardScratch,
    /// Steps times clusters since the start.
    pub(crate) cluster_iterations: u64,
}

/// Where a run is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LloydState {
    pub(crate) centres: Vec<f64>,
    least: f64,
    /// The least inertia since the start.
    lowest: f64,
    /// Empty clusters filled since then.
    refills: usize,
    stalled: usize,
    pub(crate) steps: usize,
}

impl LloydState {
    /// The start of a run.
    pub(crate) fn new(centres: Vec<f64>) -> LloydState {
        LloydState {
            centres,
            least: f64::INFINITY,
            lowest: f64::INFINITY,
            refills: 0,
            stalled: 0,
            steps: 0,
        }
    }
}

/// Empty clusters that may be filled without a fall of the inertia below all before, beside as many
/// as there are clusters. Points that arithmetic cannot tell apart make them empty again.
const REFILLS: usize = 100;
/// Steps that may pass without a fall of the inertia.
const STALLED: usize = 20;
/// Steps at the present pace after which a run gives up. The pace falls from step to step, on the
/// whole, so that it hardly ever gives up too early.
const HOPELESS: f64 = 30.0;

/// When to stop before the fixed point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LloydLimit {
    pub(crate) iterations: usize,
    /// Stop when no coordinate of a centre moves further than this, in inner units.
    pub(crate) movement: f64,
    /// An inertia to get below: stop when that would take [`HOPELESS`] steps at the pace of the
    /// last one.
    pub(crate) target: f64,
}

impl LloydLimit {
    /// The fixed point itself.
    pub(crate) const FIXED_POINT: LloydLimit = LloydLimit {
        iterations: usize::MAX,
        movement: 0.0,
        target: f64::INFINITY,
    };

    /// The fixed point, or what is left of the way when it cannot lie below `target`.
    pub(crate) fn below(target: f64) -> LloydLimit {
        LloydLimit {
            target,
            ..LloydLimit::FIXED_POINT
        }
    }

    /// Whether to give up at `inertia`, `gain` below the step before.
    fn is_hopeless(&self, inertia: f64, gain: f64) -> bool {
        inertia - self.target > gain * HOPELESS
    }
}

impl<'a> Lloyd<'a> {
    pub(crate) fn new(team: &'a RankView<'a>, blocks: &'a Blocks, dim: usize) -> Lloyd<'a> {
        Lloyd {
            team,
            blocks,
            dim,
            scratch: HardScratch::default(),
            cluster_iterations: 0,
        }
    }

    /// Assigns all points to their nearest centres; with `SECOND` finds the losses too.
    pub(crate) async fn assign<const SECOND: bool>(
        &mut self,
        centres: &[f64],
    ) -> Result<Assignment, MiningError> {
        self.cluster_iterations += (centres.len() / self.dim) as u64;
        let centres = Centres::new(self.dim, centres);
        centres
            .assign::<SECOND>(self.team, self.blocks, &mut self.scratch)
            .await
    }

    /// Moves centres to the means of their points until nothing moves; gives back the last
    /// assignment and the number of steps. A centre without points goes to the point that is
    /// farthest from its own centre.
    ///
    /// There must be at least as many different points of positive weight as centres. Points so
    /// near to each other that their squares are 0 are not told apart.
    ///
    /// # Errors
    /// [`MiningError::FewDistinctPoints`] where arithmetic cannot tell enough points apart.
    ///
    /// Unless the limit ends it first, the centres are then a fixed point: the means of the points
    /// that are nearest to them. Inertia falls with every step that moves a centre, so there is an
    /// end. Where only rounding moves them on, [`STALLED`] steps without a fall are the end.
    pub(crate) async fn run(
        &mut self,
        centres: &mut [f64],
        limit: LloydLimit,
    ) -> Result<(Assignment, usize), MiningError> {
        let mut walk = LloydState::new(centres.to_vec());
        loop {
            if let Some(assignment) = self.step(&mut walk, limit).await? {
                centres.copy_from_slice(&walk.centres);
                return Ok((assignment, walk.steps));
            }
        }
    }

    /// One step of a run; the assignment if it was the last.
    pub(crate) async fn step(
        &mut self,
        walk: &mut LloydState,
        limit: LloydLimit,
    ) -> Result<Option<Assignment>, MiningError> {
        walk.steps += 1;
        let assignment = self.assign::<false>(&walk.centres).await?;
        if let Some(empty) = assignment.masses.iter().position(|&mass| mass == 0.0) {
            let (square, far) = self.farthest(&walk.centres).await?;
            walk.refills += 1;
            if square == 0.0 || walk.refills > REFILLS + assignment.masses.len() {
                let filled = assignment.masses.iter().filter(|&&mass| mass > 0.0);
                return Err(MiningError::FewDistinctPoints {
                    clusters: assignment.masses.len(),
                    distinct: filled.count(),
                });
            }
            walk.centres[empty * self.dim..][..self.dim].copy_from_slice(&far);
            (walk.least, walk.stalled) = (f64::INFINITY, 0);
            return Ok((walk.steps >= limit.iterations).then_some(assignment));
        }
        let inertia = assignment.inertia();
        if inertia < walk.lowest {
            (walk.lowest, walk.refills) = (inertia, 0);
        }
        let moved = self.move_to_means(&mut walk.centres, &assignment);
        let hopeless = limit.is_hopeless(inertia, walk.least - inertia);
        let lower = inertia < walk.least;
        walk.stalled = if lower { 0 } else { walk.stalled + 1 };
        walk.least = walk.least.min(inertia);
        let still = moved <= limit.movement || walk.stalled >= STALLED;
        let end = still || hopeless || walk.steps >= limit.iterations;
        Ok(end.then_some(assignment))
    }

    /// Moves every centre to the mean of its points; gives back the largest change of a
    /// coordinate.
    fn move_to_means(&self, centres: &mut [f64], assignment: &Assignment) -> f64 {
        let mut moved = 0.0_f64;
        let moments = assignment.moments.chunks_exact(self.dim);
        let centres = centres.chunks_exact_mut(self.dim).zip(moments);
        for (cluster, (centre, moments)) in centres.enumerate() {
            // All of its points lie there: the quotient may be rounded on to another point.
            if assignment.squares[cluster] == 0.0 {
                continue;
            }
            for (y, moment) in centre.iter_mut().zip(moments) {
                let new = moment / assignment.masses[cluster];
                moved = moved.max((new - *y).abs());
                *y = new;
            }
        }
        moved
    }

    /// The point that is farthest from its centre, the first of equals, behind its square.
    pub(crate) async fn farthest(
        &mut self,
        centres: &[f64],
    ) -> Result<(f64, Vec<f64>), MiningError> {
        let table = Centres::new(self.dim, centres);
        let (team, scratch) = (self.team, &mut self.scratch);
        let far = self
            .blocks
            .reduce(
                team,
                |tiles, range| {
                    let first = range.start;
                    let squares = table
                        .label::<false>(team.instructions, tiles, range, scratch)
                        .squares;
                    let mut best = (0, f64::NEG_INFINITY);
                    for (row, &square) in squares.iter().enumerate() {
                        if square > best.1 {
                            best = (row, square);
                        }
                    }
                    (best.1, tiles.row(first, best.0))
                },
                |a, b| if b.0 > a.0 { b } else { a },
            )
            .await?;
        Ok(far.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::LloydLimit;

    #[test]
    fn runs_give_up_when_the_target_is_out_of_reach() {
        let limit = LloydLimit::below(10.0);
        assert!(limit.is_hopeless(20.0, 0.1), "100 steps away");
        assert!(!limit.is_hopeless(20.0, 1.0), "10 steps away");
        assert!(!limit.is_hopeless(9.0, 0.0), "there already");
        assert!(!limit.is_hopeless(20.0, f64::INFINITY), "the first step");
        assert!(!LloydLimit::FIXED_POINT.is_hopeless(20.0, 0.0), "no target");
    }
}
