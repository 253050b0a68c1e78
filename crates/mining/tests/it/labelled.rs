//! Quality on sets with known labels, against the best of ten K-means runs from random starts.

use crate::data::{Labelled, Numbers, annealed, kmeans, labelled, random_start};
use motet_mining::{Init, KMeans, Points, adjusted_rand};

/// Annealing must not be worse than the run of least inertia among ten, in inertia and in the
/// agreement with the labels. Gives back inertia and agreement of annealing.
fn assert_as_good(name: &str, set: &Labelled) -> (f64, f64) {
    let ours = annealed(set.classes, &set.points);
    let best = (0..10)
        .map(|seed| random_start(set.classes, seed, &set.points))
        .min_by(|a, b| a.inertia.total_cmp(&b.inertia))
        .unwrap();
    let agreement = |labels: &[u32]| adjusted_rand(&set.labels, labels);
    let (mine, theirs) = (agreement(&ours.labels), agreement(&best.labels));
    assert!(
        ours.inertia <= best.inertia * (1.0 + 1e-9),
        "{name}: inertia {} against {}",
        ours.inertia,
        best.inertia
    );
    assert!(
        mine >= theirs - 1e-9,
        "{name}: agreement {mine} against {theirs}"
    );
    (ours.inertia, mine)
}

#[test]
fn sem_g577_a_start_of_k_means_rarely_leaves_a_group_out() {
    // 25 heaps on a square grid, wide enough that two draws often fall into one.
    let mut numbers = Numbers(5);
    let mut values = Vec::new();
    for row in 0..500 {
        for corner in [row % 5, row / 5 % 5] {
            let wobble: f64 = (0..4).map(|_| numbers.uniform()).sum();
            values.push(corner as f64 * 10.0 + 2.0 * wobble);
        }
    }
    let points = Points::new(values, 2).unwrap();
    let heaps = (0..25).flat_map(|heap| [heap % 5, heap / 5].map(|at| f64::from(at) * 10.0 + 4.0));
    let inertia = |init: Init, seed: u64| {
        let method = KMeans {
            clusters: 25,
            init,
            seed,
            ..KMeans::default()
        };
        kmeans(1, &method, &points).inertia
    };
    let best = inertia(Init::Centres(heaps.collect()), 0);
    let all: f64 = (0..20).map(|seed| inertia(Init::PlusPlus, seed)).sum();
    // With one draw for each centre it is twice the best in the mean, with five 1.1 times.
    let ratio = all / 20.0 / best;
    assert!((0.95..1.5).contains(&ratio), "{ratio}");
}

fn check(name: &str) -> (f64, f64) {
    assert_as_good(name, &labelled(name))
}

fn check_standardised(name: &str) {
    let mut set = labelled(name);
    set.points = set.points.standardised();
    assert_as_good(name, &set);
}

#[test]
fn s1_and_s2_have_their_known_values_needs_data() {
    let (inertia, agreement) = check("s1");
    assert!((inertia / 8.9176e12 - 1.0).abs() < 1e-5, "{inertia}");
    assert!((agreement - 0.987).abs() < 5e-4, "{agreement}");
    let (inertia, agreement) = check("s2");
    assert!((inertia / 1.3279e13 - 1.0).abs() < 1e-5, "{inertia}");
    assert!((agreement - 0.937).abs() < 5e-4, "{agreement}");
}

#[test]
fn s3_and_s4_needs_data() {
    check("s3");
    check("s4");
}

#[test]
fn a1_a2_a3_have_no_stuck_centre_needs_data() {
    for (name, least) in [("a1", 0.96), ("a2", 0.96), ("a3", 0.97)] {
        let (_, agreement) = check(name);
        assert!(agreement > least, "{name}: {agreement}");
    }
}

#[test]
fn unbalance_is_exact_needs_data() {
    assert_eq!(check("unbalance").1, 1.0);
}

#[test]
fn d31_r15_and_aggregation_needs_data() {
    for name in ["d31", "r15", "aggregation"] {
        check(name);
    }
}

#[test]
fn birch1_has_all_hundred_needs_data() {
    let (_, agreement) = check("birch1");
    assert!(agreement > 0.98, "{agreement}");
}

#[test]
fn two_normals_in_2_16_and_64_columns_needs_data() {
    for name in ["g2mg_2_50", "g2mg_16_50", "g2mg_64_50"] {
        check(name);
    }
}

#[test]
fn iris_wine_breast_cancer_digits_needs_data() {
    for name in ["iris", "wine", "breast_cancer", "digits"] {
        check(name);
    }
}

#[test]
fn wine_and_breast_cancer_standardised_needs_data() {
    for name in ["wine", "breast_cancer"] {
        check_standardised(name);
    }
}
