//! From centres to a [`Clustering`].

use crate::distinct::compare;
use crate::lloyd::{Lloyd, LloydLimit};
use crate::narrow;
use crate::nearest::InnerCentres;
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{Clustering, MiningError, TraceStep};

/// Rows per block of the labels.
const BLOCK: usize = 512;

/// Brings centres (in inner coordinates) into their final order and on to the fixed point, by as
/// many steps as the limit allows. Labels this rank's rows, and adds up the sizes.
pub(crate) async fn finish(
    team: &RankView<'_>,
    prepared: &Prepared<'_>,
    centres: &[f64],
    mut limit: LloydLimit,
) -> Result<Clustering, MiningError> {
    let (points, frame) = (prepared.points, &prepared.frame);
    let dim = points.dim();
    let mut centres = sorted(dim, centres);
    let mut lloyd = Lloyd::new(team, &prepared.blocks, dim);
    // Moving to the fixed point may change the order: go on until it does not.
    while limit.iterations > 0 {
        let (_, steps) = lloyd.run(&mut centres, limit).await?;
        limit.iterations = limit.iterations.saturating_sub(steps);
        let rows = centres.chunks_exact(dim);
        if rows.is_sorted_by(|a, b| compare(a, b).is_le()) {
            break;
        }
        centres = sorted(dim, &centres);
    }
    let mut assignment = lloyd.assign::<false>(&centres).await?;
    // A run that a limit has ended may leave a centre without points.
    for _ in 0..assignment.masses.len() {
        let Some(empty) = assignment.masses.iter().position(|&mass| mass == 0.0) else {
            break;
        };
        let (_, far) = lloyd.farthest(&centres).await?;
        centres[empty * dim..][..dim].copy_from_slice(&far);
        centres = sorted(dim, &centres);
        assignment = lloyd.assign::<false>(&centres).await?;
    }
    let inner = InnerCentres::new(frame.clone(), centres.clone());
    let share = team.share(points.len().div_ceil(BLOCK));
    let end = points.len().min(share.end * BLOCK);
    let rows = end.min(share.start * BLOCK)..end;
    let labels = inner.label(points, rows.clone(), team.instructions, &mut lloyd.scratch);
    let mut sizes = vec![0_i64; centres.len() / dim];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    let sizes = team.sum_whole(false, sizes).await?;
    let spread = assignment.squares.iter().zip(&assignment.masses);
    let mut found = Clustering {
        dim,
        rows,
        labels,
        centres: frame.leave(&centres),
        spread: spread
            .map(|(square, &mass)| match mass > 0.0 {
                true => frame.length((square / mass).sqrt()),
                false => 0.0,
            })
            .collect(),
        inertia: frame.square(assignment.inertia()) * prepared.total,
        masses: assignment.masses,
        sizes: sizes.iter().map(|&size| size as usize).collect(),
        trace: Vec::<TraceStep>::new(),
        cluster_iterations: lloyd.cluster_iterations,
        iterations: 0,
        constant_columns: points.constant_columns().to_vec(),
        inner,
    };
    narrow::widen(team, prepared, &centres, &mut found).await?;
    Ok(found)
}

fn sorted(dim: usize, centres: &[f64]) -> Vec<f64> {
    let mut rows: Vec<&[f64]> = centres.chunks_exact(dim).collect();
    rows.sort_by(|a, b| compare(a, b));
    rows.concat()
}
