//! Clusters that are found, not asked for.

use crate::data::{Numbers, anneal};
use motet_mining::{Annealing, Clusters, Points, adjusted_rand};

fn find(t_min: f64, at_most: usize, points: &Points) -> motet_mining::Clustering {
    let clusters = Clusters::Found { t_min, at_most };
    anneal(
        1,
        &Annealing {
            clusters,
            ..Annealing::default()
        },
        points,
    )
}

/// Sixteen heaps of width 0.1 on a grid of step 2.
fn grid() -> (Points, Vec<u32>) {
    let mut numbers = Numbers(12);
    let labels: Vec<u32> = (0..4000).map(|i| i % 16).collect();
    let values = labels.iter().flat_map(|&label| {
        [f64::from(label / 4), f64::from(label % 4)].map(|v| 2.0 * v + 0.1 * numbers.normal())
    });
    (Points::new(values.collect(), 2).unwrap(), labels)
}

#[test]
fn scale_between_the_heaps_and_their_distance_finds_the_heaps() {
    let (points, labels) = grid();
    // Heaps split at 2 × 0.1² = 0.02; pairs of heaps at 2 × 1².
    for t_min in [0.04, 0.2, 0.8] {
        let found = find(t_min, 100, &points);
        assert_eq!(found.clusters(), 16, "t_min {t_min}");
        assert_eq!(adjusted_rand(&found.labels, &labels), 1.0);
        let below = found.trace.iter().filter(|step| step.temperature <= t_min);
        assert!(below.clone().count() > 0, "it cools down to t_min");
        assert!(
            below.clone().all(|step| step.clusters == 16),
            "and does not split below"
        );
    }
}

#[test]
fn scale_above_the_first_critical_temperature_finds_one() {
    let (points, _) = grid();
    // The whole has variance 5 along a line: four rows at 0, 2, 4 and 6.
    let found = find(10.5, 100, &points);
    assert_eq!(found.clusters(), 1);
    assert_eq!(
        find(9.5, 100, &points).trace.last().unwrap().clusters,
        found.clusters() + 3
    );
}

#[test]
fn limit_on_their_number_holds() {
    let (points, _) = grid();
    for at_most in [1, 2, 7] {
        assert_eq!(find(0.04, at_most, &points).clusters(), at_most);
    }
}

#[test]
fn scale_below_everything_finds_every_distinct_point() {
    let values = vec![0.0, 0.0, 1.0, 5.0, 5.0, 5.0, 9.0, 11.0];
    let found = find(1e-6, 100, &Points::new(values, 1).unwrap());
    assert_eq!(found.centres, [0.0, 1.0, 5.0, 9.0, 11.0]);
    assert_eq!(found.sizes, [2, 1, 3, 1, 1]);
    assert_eq!(found.inertia, 0.0);
}

#[test]
fn equal_points_are_one_cluster() {
    let found = find(1e-6, 100, &Points::new(vec![3.5; 60], 2).unwrap());
    assert_eq!(
        (found.clusters(), found.sizes[0], found.inertia),
        (1, 30, 0.0)
    );
    assert_eq!(found.centres, [3.5, 3.5]);
    assert_eq!(found.constant_columns, [0, 1]);
    assert!(found.trace.is_empty());
}
