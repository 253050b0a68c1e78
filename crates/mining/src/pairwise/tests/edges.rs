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
