//! Tables at the edges of what is allowed.

use super::*;

#[test]
fn numbers_that_are_larger_than_any_half_as_long_stay_as_they_are() {
    let pairs = |most: f64| Dissimilarities::new(vec![0.0, most, most, 0.0], 2).unwrap();
    assert_eq!(pairs(1e100).single().get(0, 1), 1e100);
    assert_eq!(pairs(0.1).single().get(0, 1), f64::from(0.1_f32));
}

#[test]
fn no_columns_are_nothing_to_write() {
    let pairs = Dissimilarities::new(vec![0.0, 1.0, 1.0, 0.0], 2).unwrap();
    pairs.between(&[0, 1], &[], &mut []);
}

#[test]
fn fast_cooling_without_a_further_split_ends_before_temperatures_are_nothing() {
    // Three places of three rows each, and a row between them that weighs nothing.
    let at = |i: usize| if i < 9 { [0.0, 10.0, 30.0][i / 3] } else { 4.0 };
    let square = |i, j| (at(i) - at(j)) * (at(i) - at(j));
    let pairs = (0..100).map(|place| square(place / 10, place % 10));
    let data = Dissimilarities::new(pairs.collect(), 10).unwrap();
    let weights: Vec<f64> = (0..10).map(|i| f64::from(u8::from(i < 9))).collect();
    let method = Pairwise {
        clusters: Clusters::Found {
            t_min: 0.0,
            at_most: 5,
        },
        cooling: 0.01,
        ..Pairwise::default()
    };
    let found = fit(1, &method, &data, Some(&weights));
    assert_eq!(found.labels, [0, 0, 0, 1, 1, 1, 2, 2, 2, 0]);
    assert!(found.trace.iter().all(|step| step.free_energy.is_finite()));
    assert!(
        found.trace.len() < 200,
        "{} temperatures",
        found.trace.len()
    );
}

#[test]
fn dissimilarities_whose_squares_are_no_numbers_are_told_apart_as_all_others() {
    // Four heaps of six rows each, in the unit 1 and in one of about 1e-180.
    let at = |i: usize| [0.0, 10.0, 30.0, 33.0][i % 4] + (i / 4) as f64 / 8.0;
    let found = |ranks: usize, unit: f64| {
        let square = |i, j| (at(i) - at(j)) * (at(i) - at(j)) * unit;
        let pairs = (0..24 * 24).map(|place| square(place / 24, place % 24));
        let data = Dissimilarities::new(pairs.collect(), 24).unwrap();
        let method = Pairwise {
            clusters: Clusters::Exactly(4),
            ..Pairwise::default()
        };
        fit(ranks, &method, &data, None)
    };
    let unit = 2.0_f64.powi(-600);
    let (one, small) = (found(1, 1.0), found(2, unit));
    let four: Vec<u32> = (0..24).map(|row| row % 4).collect();
    assert_eq!((&one.labels, &small.labels), (&four, &four));
    assert_eq!(one.trace.len(), small.trace.len());
    assert_eq!(one.splits.len(), small.splits.len());
    for (one, small) in one.trace.iter().zip(&small.trace) {
        let ratio = small.temperature / unit / one.temperature;
        assert!((ratio - 1.0).abs() < 1e-9 && one.clusters == small.clusters);
    }
}

/// Squared distances of three heaps of twenty rows each in three dimensions. Twelve uniform numbers
/// are added to each coordinate.
fn three_heaps(seed: u64) -> Dissimilarities {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let heaps = [[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 9.0, 0.0]];
    let place = |i: usize| heaps[i / 20].map(|at| at + (0..12).map(|_| uniform()).sum::<f64>());
    let rows: Vec<[f64; 3]> = (0..60).map(place).collect();
    let square = |i: usize, j: usize| {
        let pairs = rows[i].iter().zip(&rows[j]);
        pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
    };
    let pairs = (0..60 * 60).map(|at| square(at / 60, at % 60));
    Dissimilarities::new(pairs.collect(), 60).unwrap()
}

#[test]
fn sem_g575_three_heaps_are_three_at_any_cooling() {
    for seed in [2, 4] {
        let data = three_heaps(seed);
        for cooling in [0.8, 0.85, 0.9, 0.92, 0.95, 0.97] {
            let method = Pairwise {
                cooling,
                ..Pairwise::default()
            };
            let choice = World::solo()
                .run(async |comm| {
                    method
                        .choose(&comm, &data, None, 8, &Control::default())
                        .await
                })
                .unwrap()
                .remove(0);
            assert_eq!(choice.clusters, 3, "{seed}, {cooling}: {choice:?}");
        }
    }
}

#[test]
fn sem_g575_a_cluster_that_joins_another_leaves_out_its_split() {
    // 0 splits off 1, that splits off 2, 0 splits off 3, and 2 splits off 4.
    let split = |cluster| PairwiseSplit {
        cluster,
        critical: 1.0,
        temperature: 1.0,
    };
    let mut fall = Fall {
        splits: [0, 1, 0, 2].map(split).to_vec(),
        ..Fall::default()
    };
    fall.forget(1, 2);
    let left: Vec<usize> = fall.splits.iter().map(|split| split.cluster).collect();
    // What was 3 is 2, and what was 4 is 3 and came from what is now a part of 1.
    assert_eq!(left, [0, 0, 1]);
}
