//! What every method does before it begins: check the sizes, put the points in order.

use crate::blocks::Blocks;
use crate::coordinate_map::CoordinateMap;
use crate::distinct::Distinct;
use crate::rank_view::RankView;
use crate::row_tree::RowTree;
use crate::{MiningError, Points};

/// Points ready for passes.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) points: &'a Points,
    pub(crate) frame: CoordinateMap,
    /// All distinct points, in tree order, in inner coordinates.
    pub(crate) tree: RowTree,
    /// This rank's share of them.
    pub(crate) blocks: Blocks,
    /// The sum of the weights.
    pub(crate) total: f64,
}

impl<'a> Prepared<'a> {
    /// Fails if there are fewer points, or distinct points, than `clusters`.
    pub(crate) async fn new(
        team: &RankView<'_>,
        points: &'a Points,
        clusters: usize,
    ) -> Result<Prepared<'a>, MiningError> {
        if clusters > points.len() {
            return Err(MiningError::FewPoints {
                clusters,
                points: points.len(),
            });
        }
        let frame = CoordinateMap::new(points);
        let distinct = Distinct::new(points, &frame);
        if clusters > distinct.len() {
            return Err(MiningError::FewDistinctPoints {
                clusters,
                distinct: distinct.len(),
            });
        }
        let total = distinct.total;
        let tree = RowTree::new(team, &distinct).await?;
        let blocks = Blocks::new(team, tree.dim, tree.len(), |row| tree.row(row));
        Ok(Prepared {
            points,
            frame,
            tree,
            blocks,
            total,
        })
    }
}
