//! The spread of clusters that are so narrow beside all points that the squares of their distances
//! are 0. Below 10⁻¹⁵⁴ of the greatest coordinate a square is less than any number.

use crate::nearest::length;
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{Clustering, MiningError};

/// Where the spread of a cluster of several points came out as 0, takes it from distances that are
/// scaled by the greatest of them. `centres` are in inner coordinates.
pub(crate) async fn widen(
    team: &RankView<'_>,
    prepared: &Prepared<'_>,
    centres: &[f64],
    found: &mut Clustering,
) -> Result<(), MiningError> {
    let several = found.sizes.iter().zip(&found.spread);
    let narrow: Vec<usize> = several
        .enumerate()
        .filter(|(_, (size, spread))| **size > 1 && **spread == 0.0)
        .map(|(cluster, _)| cluster)
        .collect();
    if narrow.is_empty() {
        return Ok(());
    }
    let dim = found.dim;
    let weights = prepared.points.weights();
    let mut inner = Vec::with_capacity(dim);
    // This rank's points of narrow clusters: which one, the weight, and how far they are from its
    // centre.
    let mut distances = Vec::new();
    for (row, &label) in found.rows.clone().zip(&found.labels) {
        let Ok(place) = narrow.binary_search(&(label as usize)) else {
            continue;
        };
        let weight = weights.map_or(1.0, |weights| weights[row]);
        if weight == 0.0 {
            // It has no part in the spread, however far away it is.
            continue;
        }
        inner.clear();
        prepared.frame.enter(prepared.points.row(row), &mut inner);
        let centre = &centres[label as usize * dim..][..dim];
        let sides = inner.iter().zip(centre);
        distances.push((place, weight, length(sides.map(|(a, b)| a - b))));
    }
    let mut most = vec![0.0; narrow.len()];
    let mut farthest = most.clone();
    for &(place, _, distance) in &distances {
        farthest[place] = f64::max(farthest[place], distance);
    }
    // Any operation on such numbers by its address: one copy of the call for all of them.
    let max: fn(f64, f64) -> f64 = f64::max;
    team.comm.allreduce_into(&farthest, &mut most, max).await?;
    for (place, &cluster) in narrow.iter().enumerate() {
        if most[place] == 0.0 {
            continue;
        }
        let own = distances.iter().filter(|(of, ..)| *of == place);
        let squares = own.map(|(_, weight, distance)| weight * (distance / most[place]).powi(2));
        // The same bits however the rows are cut over ranks.
        let squares: Vec<f64> = squares.collect();
        let sum = team.comm.reproducible_sum(&squares).await?;
        let mass = found.masses[cluster] * prepared.total;
        let spread = prepared.frame.length(most[place] * (sum / mass).sqrt());
        found.spread[cluster] = spread;
        found.inertia += mass * spread * spread;
    }
    Ok(())
}
