//! How many clusters there are, by the temperatures at which they appear.

use crate::TraceStep;
use serde::{Deserialize, Serialize};

/// A number of clusters counts if it lasts while the temperature falls by this factor.
const LASTING: f64 = 3.0;

/// A number of clusters that the data speak for.
///
/// The rule: annealing goes on until there is one cluster more than asked for. A number of clusters
/// lasts from the temperature at which they are first there to the one at which the next appears.
/// The number that lasts over the largest factor is chosen, the first of equals. If none lasts
/// over a factor of 3, as in one normal heap, it is 1. Clusters that come together again do not
/// count. Nor do temperatures at the end at which a cluster of pairs should split, and its halves
/// come together again.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Control, Dissimilarities, Pairwise};
///
/// // Three heaps on a line.
/// let at = (0..30).map(|i| f64::from(i % 3 * 50) + f64::from(i) * 0.1);
/// let at: Vec<f64> = at.collect();
/// let squares = at.iter().flat_map(|x| at.iter().map(move |y| (x - y) * (x - y)));
/// let pairs = Dissimilarities::new(squares.collect(), 30)?;
/// let choice = World::solo()
///     .run(async |comm| {
///         Pairwise::default().choose(&comm, &pairs, None, 10, &Control::default()).await
///     })
///     .unwrap()
///     .remove(0);
/// assert_eq!(choice.clusters, 3);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClusterChoice {
    /// The number of clusters.
    pub clusters: usize,
    /// The factor of the temperature over which it lasts; 1 if there is one cluster.
    pub lasts: f64,
    /// The temperature at which two clusters are first there, then three, and so on.
    pub appear: Vec<f64>,
}

impl ClusterChoice {
    /// The choice among 1 to `most` clusters.
    pub(crate) fn of(trace: &[TraceStep], most: usize) -> ClusterChoice {
        // Clusters that come together again at a lower temperature do not count.
        let mut lasting: Vec<(f64, usize)> = Vec::with_capacity(trace.len());
        let mut least = usize::MAX;
        for step in trace.iter().rev() {
            least = least.min(step.clusters);
            lasting.push((step.temperature, least));
        }
        let first = |clusters: usize| {
            let step = lasting.iter().rev().find(|step| step.1 >= clusters);
            step.map(|step| step.0)
        };
        let appear: Vec<f64> = (2..=most.saturating_add(1)).map_while(first).collect();
        let mut choice = ClusterChoice {
            clusters: 1,
            lasts: 1.0,
            appear,
        };
        for (at, pair) in choice.appear.windows(2).enumerate() {
            let lasts = pair[0] / pair[1];
            if lasts >= LASTING && lasts > choice.lasts {
                (choice.clusters, choice.lasts) = (at + 2, lasts);
            }
        }
        // What never splits again lasts longest of all, unless it is a single row per cluster.
        if let (Some(last), true) = (choice.appear.last(), choice.appear.len() < most) {
            let lowest = trace.last().map_or(*last, |step| step.temperature);
            if last / lowest >= LASTING && last / lowest > choice.lasts {
                (choice.clusters, choice.lasts) = (choice.appear.len() + 1, last / lowest);
            }
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Annealing, BitAnnealing, Bits, Control, Dissimilarities, MiningError, Pairwise, Points,
    };
    use motet_comm::World;

    fn steps(numbers: &[(f64, usize)]) -> Vec<TraceStep> {
        let step = |&(temperature, clusters): &(f64, usize)| TraceStep {
            temperature,
            clusters,
            free_energy: 0.0,
            iterations: 1,
        };
        numbers.iter().map(step).collect()
    }

    #[test]
    fn sem_g145_the_number_that_lasts_longest_is_chosen() {
        let choice =
            |numbers: &[(f64, usize)], most| ClusterChoice::of(&steps(numbers), most).clusters;
        assert_eq!(
            choice(&[(10.0, 1), (9.0, 2), (8.0, 3), (1.0, 4), (0.9, 5)], 4),
            3
        );
        assert_eq!(
            choice(&[(10.0, 1), (9.0, 3), (1.0, 4)], 3),
            3,
            "two at a time"
        );
        assert_eq!(
            choice(&[(10.0, 1), (9.0, 2), (4.0, 3), (2.0, 4)], 3),
            1,
            "none lasts"
        );
        assert_eq!(
            choice(&[(10.0, 1), (9.0, 2), (2.0, 3), (0.5, 4)], 3),
            2,
            "the first of equals"
        );
        assert_eq!(
            choice(&[(10.0, 1), (9.0, 2), (1.0, 2)], 5),
            2,
            "no more to split"
        );
        assert_eq!(
            choice(&[(10.0, 1), (9.0, 2), (1.0, 2)], usize::MAX),
            2,
            "as many as there are"
        );
        assert_eq!(
            choice(&[(9.0, 2), (8.0, 4), (7.0, 3), (1.0, 4), (0.9, 5)], 4),
            3,
            "one of four came together with another"
        );
        assert_eq!(choice(&[], 5), 1);
    }

    /// Heaps at the corners of a square, of some spread.
    fn heaps(rows: usize, spread: f64) -> Vec<[f64; 2]> {
        let wobble = |i: usize, by: usize| ((i * by % 1009) as f64 / 1009.0 - 0.5) * spread;
        let corner = |i: usize| [(i % 2) as f64 * 10.0, (i / 2 % 2) as f64 * 11.0];
        (0..rows)
            .map(|i| {
                let [x, y] = corner(i);
                [x + wobble(i, 37), y + wobble(i, 271)]
            })
            .collect()
    }

    #[test]
    fn sem_g145_sem_g149_four_heaps_are_four_on_any_number_of_ranks() {
        let rows = heaps(400, 2.0);
        let square = |a: &[f64; 2], b: &[f64; 2]| {
            (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
        };
        let few = &rows[..120];
        let pairs = few
            .iter()
            .flat_map(|a| few.iter().map(move |b| square(a, b)));
        let pairs = Dissimilarities::new(pairs.collect(), 120).unwrap();
        let words = (0..400_usize).map(|i| {
            let family = 0xFFFF_u64 << (16 * (i % 4));
            family ^ (1 << (i * 7 % 64)) ^ (1 << (i * 29 % 61))
        });
        let bits = Bits::new(words.collect(), 64).unwrap();
        let points = Points::new(rows.concat(), 2).unwrap();
        let mut first = None;
        for ranks in [1, 2, 3] {
            let control = Control::default();
            let run = World::threads(ranks).run(async |comm| {
                let pairs = Pairwise::default()
                    .choose(&comm, &pairs, None, 9, &control)
                    .await?;
                let bits = BitAnnealing::default()
                    .choose(&comm, &bits, 9, &control)
                    .await?;
                let points = Annealing::default()
                    .choose(&comm, &points, 9, &control)
                    .await?;
                Ok::<_, MiningError>([pairs, bits, points])
            });
            let found = run.unwrap().remove(0);
            assert_eq!(
                found.clone().map(|choice| choice.clusters),
                [4, 4, 4],
                "{found:?}"
            );
            assert_eq!(*first.get_or_insert(found.clone()), found, "{ranks} ranks");
        }
    }
}
