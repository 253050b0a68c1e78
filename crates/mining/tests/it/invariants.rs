//! What must hold for every data set.

use crate::data::{Numbers, anneal, annealed, kmeans, random_start};
use motet_comm::World;
use motet_mining::{
    Annealing, Clustering, Clusters, Control, DataError, Init, KMeans, MiningError, Points,
    SoftStep, Steps, TraceStep, adjusted_rand,
};
use motet_testkit::{patience, within};
use proptest::prelude::*;

fn points(values: Vec<f64>, dim: usize) -> Points {
    Points::new(values, dim).unwrap()
}

/// The weighted mean of the rows with one label.
fn mean_of(points: &Points, found: &Clustering, cluster: usize) -> Vec<f64> {
    let (mut mass, mut mean) = (0.0, vec![0.0; points.dim()]);
    for row in (0..points.len()).filter(|&row| found.labels[row] as usize == cluster) {
        mass += points.weight(row);
        for (m, x) in mean.iter_mut().zip(points.row(row)) {
            *m += points.weight(row) * x;
        }
    }
    mean.iter().map(|m| m / mass).collect()
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Labels are nearest centres, centres are means of their points, and the sums agree.
fn assert_fixed_point(points: &Points, found: &Clustering, width: f64) {
    let slack = 1e-9 * width;
    let mut inertia = 0.0;
    for row in 0..points.len() {
        let own = square(points.row(row), found.centre(found.labels[row] as usize));
        inertia += points.weight(row) * own;
        for k in 0..found.clusters() {
            let other = square(points.row(row), found.centre(k));
            assert!(
                own <= other + slack * width,
                "row {row} is nearer to {k}: {own} {other}"
            );
        }
    }
    assert!((inertia - found.inertia).abs() <= 1e-9 * inertia + slack * width);
    for k in 0..found.clusters() {
        let apart = square(&mean_of(points, found, k), found.centre(k)).sqrt();
        assert!(
            apart <= slack,
            "centre {k} is {apart} from the mean of its points"
        );
        let size = found
            .labels
            .iter()
            .filter(|&&label| label as usize == k)
            .count();
        assert_eq!(size, found.sizes[k]);
    }
    assert!((found.masses.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let centres: Vec<&[f64]> = found.centres.chunks(found.dim).collect();
    assert!(centres.is_sorted_by(|a, b| a.partial_cmp(b).is_some_and(|o| o.is_lt())));
}

/// Annealing steps at one temperature.
fn soft_steps(points: &Points, temperature: f64, start: &[f64], steps: usize) -> Vec<SoftStep> {
    World::solo()
        .run(async |comm| {
            let mut pass = Steps::new(&comm, points).await?;
            let count = start.len() / points.dim();
            let (mut masses, mut centres) = (vec![1.0 / count as f64; count], start.to_vec());
            let mut all = Vec::new();
            for _ in 0..steps {
                let step = pass.soft(temperature, &masses, &centres).await?;
                (masses, centres) = (step.masses.clone(), step.centres.clone());
                all.push(step);
            }
            Ok::<_, MiningError>(all)
        })
        .unwrap()
        .remove(0)
}

#[test]
fn one_cluster_is_the_mean() {
    let mut numbers = Numbers(1);
    let (values, weights): (Vec<f64>, Vec<f64>) = (0..1000)
        .map(|_| (numbers.normal() + 100.0, numbers.uniform()))
        .unzip();
    let sum = |f: &dyn Fn(usize) -> f64| (0..1000).map(f).sum::<f64>();
    let mean = sum(&|i| values[i] * weights[i]) / sum(&|i| weights[i]);
    let points = points(values, 1).weighted(weights).unwrap();
    for found in [
        annealed(1, &points),
        kmeans(
            1,
            &KMeans {
                clusters: 1,
                ..KMeans::default()
            },
            &points,
        ),
    ] {
        assert!(
            (found.centres[0] - mean).abs() < 1e-12 * mean,
            "{} {mean}",
            found.centres[0]
        );
        assert_eq!((found.masses[0], found.sizes[0]), (1.0, 1000));
    }
}

#[test]
fn first_split_is_at_the_critical_temperature() {
    // A normal distribution with standard deviations 3 and 1, turned by 30 degrees.
    let (sin, cos) = 30_f64.to_radians().sin_cos();
    let mut numbers = Numbers(2);
    let values: Vec<f64> = (0..50_000)
        .flat_map(|_| {
            let (a, b) = (3.0 * numbers.normal(), numbers.normal());
            [cos * a - sin * b, sin * a + cos * b]
        })
        .collect();
    let points = points(values, 2);
    let found = annealed(2, &points);
    let split = found
        .trace
        .iter()
        .position(|step| step.clusters == 2)
        .unwrap();
    let (above, below) = (
        found.trace[split - 1].temperature,
        found.trace[split].temperature,
    );
    // The sample's own variance along the long axis, against the known one of 9.
    let along: f64 = (0..points.len())
        .map(|row| (cos * points.row(row)[0] + sin * points.row(row)[1]).powi(2))
        .sum::<f64>()
        / points.len() as f64;
    assert!(
        (along / 9.0 - 1.0).abs() < 0.02,
        "the sample has variance {along}"
    );
    assert!(
        above > 2.0 * along * 0.99,
        "one cluster until {above}, critical is {}",
        2.0 * along
    );
    assert!(
        (below / (2.0 * along) - 1.0).abs() < 0.01,
        "split at {below}, not {}",
        2.0 * along
    );
}

#[test]
fn centre_is_stable_above_and_unstable_below_the_critical_temperature() {
    let mut numbers = Numbers(3);
    let points = points((0..20_000).map(|_| numbers.normal()).collect(), 1);
    let variance = points.values().iter().map(|x| x * x).sum::<f64>() / 20_000.0
        - (points.values().iter().sum::<f64>() / 20_000.0).powi(2);
    let apart = |ratio: f64| {
        let steps = soft_steps(&points, 2.0 * variance * ratio, &[-0.05, 0.05], 400);
        let centres = &steps.last().unwrap().centres;
        centres[1] - centres[0]
    };
    assert!(
        apart(1.03) < 0.02,
        "above it two centres fall together: {}",
        apart(1.03)
    );
    assert!(
        apart(0.97) > 0.2,
        "below it two centres part: {}",
        apart(0.97)
    );
}

#[test]
fn two_copies_have_the_same_centres() {
    let mut numbers = Numbers(4);
    let once = numbers.heaps(3000, 2, 9, 0.05);
    let twice: Vec<f64> = once.chunks(2).flat_map(|row| [row, row].concat()).collect();
    let (one, two) = (
        annealed(9, &points(once, 2)),
        annealed(9, &points(twice, 2)),
    );
    assert_eq!(one.centres, two.centres);
    assert_eq!(one.masses, two.masses);
    assert_eq!(one.inertia * 2.0, two.inertia);
    assert!(
        one.sizes
            .iter()
            .zip(&two.sizes)
            .all(|(one, two)| one * 2 == *two)
    );
}

#[test]
fn sem_g118_weights_count_like_copies_and_zero_like_nothing() {
    let mut numbers = Numbers(5);
    let rows = numbers.heaps(500, 2, 5, 0.04);
    let weight = |i: usize| (i % 4) as f64;
    let copies: Vec<f64> = rows
        .chunks(2)
        .enumerate()
        .flat_map(|(i, row)| row.repeat(i % 4))
        .collect();
    let weighted = points(rows, 2)
        .weighted((0..500).map(weight).collect())
        .unwrap();
    let (weighted, copied) = (annealed(5, &weighted), annealed(5, &points(copies, 2)));
    assert_eq!(weighted.centres, copied.centres);
    assert_eq!(weighted.inertia, copied.inertia);
    assert_eq!(
        weighted.labels.len(),
        500,
        "rows of weight zero have labels too"
    );
}

#[test]
fn sem_g118_order_of_the_points_does_not_matter() {
    let mut numbers = Numbers(6);
    let rows = numbers.heaps(2000, 3, 7, 0.06);
    // 2000 = 2⁴ × 5³, so 7 steps through all rows.
    let place = |i: usize| i * 7 % 2000;
    let moved: Vec<f64> = (0..2000)
        .flat_map(|i| rows[place(i) * 3..][..3].to_vec())
        .collect();
    let (still, moved) = (
        annealed(7, &points(rows, 3)),
        annealed(7, &points(moved, 3)),
    );
    assert_eq!(still.centres, moved.centres);
    assert_eq!(still.trace, moved.trace);
    assert_eq!(still.inertia, moved.inertia);
    for i in 0..2000 {
        assert_eq!(moved.labels[i], still.labels[place(i)], "row {i}");
    }
}

#[test]
fn sem_g118_runs_repeat_whatever_happens_beside_them() {
    let mut numbers = Numbers(16);
    let points = points(numbers.heaps(3000, 2, 9, 0.1), 2);
    let alone = annealed(9, &points);
    // Random numbers are drawn beside and between the runs; the runs must not notice.
    let beside = World::threads(4)
        .run(async |comm| {
            let mut found = Vec::new();
            for seed in 0..3 {
                let drawing = KMeans {
                    clusters: 9,
                    seed: seed + comm.rank() as u64,
                    ..KMeans::default()
                };
                kmeans(1, &drawing, &points);
                found.push(annealed(9, &points));
            }
            Ok::<_, MiningError>(found)
        })
        .unwrap();
    for found in beside.into_iter().flatten() {
        assert_eq!(found, alone);
    }
}

#[test]
fn scale_of_the_data_scales_temperatures_by_its_square() {
    let mut numbers = Numbers(7);
    let rows = numbers.heaps(2000, 2, 6, 0.05);
    let scaled = |factor: f64| annealed(6, &points(rows.iter().map(|v| v * factor).collect(), 2));
    let one = scaled(1.0);
    // A power of two changes no bit; any other factor rounds.
    let (binary, decimal) = (scaled(1024.0), scaled(1000.0));
    assert_eq!(
        binary.centres,
        one.centres.iter().map(|y| y * 1024.0).collect::<Vec<_>>()
    );
    assert_eq!(binary.labels, one.labels);
    let squared = |step: &TraceStep, factor: f64| {
        (
            step.temperature * factor * factor,
            step.free_energy * factor * factor,
            step.clusters,
        )
    };
    assert_eq!(one.trace.len(), binary.trace.len());
    for (a, b) in one.trace.iter().zip(&binary.trace) {
        assert_eq!(squared(a, 1024.0), squared(b, 1.0));
    }
    assert_eq!(adjusted_rand(&decimal.labels, &one.labels), 1.0);
    let ratio = decimal.trace[0].temperature / one.trace[0].temperature;
    assert!((ratio / 1e6 - 1.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn sem_g120_constant_columns_are_reported_and_harmless() {
    let mut numbers = Numbers(8);
    let rows = numbers.heaps(900, 2, 3, 0.03);
    let with: Vec<f64> = rows
        .chunks(2)
        .flat_map(|row| [row[0], -17.5, row[1]])
        .collect();
    let found = annealed(3, &points(with, 3));
    let plain = annealed(3, &points(rows, 2));
    assert_eq!(found.constant_columns, [1]);
    assert_eq!(found.labels, plain.labels);
    assert!(found.centres.chunks(3).all(|centre| centre[1] == -17.5));
}

#[test]
fn as_many_clusters_as_points_leave_nothing_over() {
    // Distances from one to a million.
    let values: Vec<f64> = (0..14).map(|i| f64::from(1 << i) * 100.0).collect();
    let line = points(values.clone(), 1);
    let found = annealed(14, &line);
    assert_eq!((found.centres, found.inertia), (values, 0.0));
}

#[test]
fn annealing_without_search_is_a_fixed_point_too() {
    let mut numbers = Numbers(9);
    let points = points(numbers.heaps(4000, 2, 20, 0.08), 2);
    let plain = Annealing {
        clusters: Clusters::Exactly(12),
        search: 0,
        ..Annealing::default()
    };
    let (plain, searched) = (anneal(1, &plain, &points), annealed(12, &points));
    assert_fixed_point(&points, &plain, 1.0);
    assert_fixed_point(&points, &searched, 1.0);
    assert!(
        searched.inertia <= plain.inertia,
        "the search makes nothing worse"
    );
}

#[test]
fn many_columns() {
    let mut numbers = Numbers(10);
    let points = points(numbers.heaps(1200, 40, 6, 0.05), 40);
    let found = annealed(6, &points);
    assert_fixed_point(&points, &found, 1.0);
    assert_eq!(found.sizes, [200; 6]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn free_energy_never_rises_at_a_fixed_temperature(
        seed in any::<u64>(),
        dim in 1_usize..6,
        clusters in 1_usize..8,
        heat in -8.0_f64..2.0,
    ) {
        let mut numbers = Numbers(seed);
        let points = points(numbers.heaps(300, dim, 4, 0.2), dim);
        let start: Vec<f64> = (0..clusters * dim).map(|_| numbers.uniform()).collect();
        let steps = soft_steps(&points, heat.exp2(), &start, 30);
        for pair in steps.windows(2) {
            let (before, after) = (pair[0].free_energy, pair[1].free_energy);
            prop_assert!(after <= before + 1e-12 * before.abs(), "{before} rises to {after}");
        }
    }

    #[test]
    fn cold_shares_are_those_of_kmeans(seed in any::<u64>(), dim in 1_usize..6) {
        let mut numbers = Numbers(seed);
        let points = points(numbers.heaps(300, dim, 4, 0.2), dim);
        let start: Vec<f64> = (0..5 * dim).map(|_| numbers.uniform()).collect();
        let soft = soft_steps(&points, 1e-9, &start, 1).remove(0);
        let hard = World::solo()
            .run(async |comm| Steps::new(&comm, &points).await?.hard(&start).await)
            .unwrap()
            .remove(0);
        // A point on the border of two clusters may be shared.
        prop_assert!(soft.softness < 1e-2);
        if soft.softness < 1e-13 {
            for (a, b) in soft.centres.iter().zip(&hard.centres) {
                prop_assert!((a - b).abs() < 1e-9, "{a} {b}");
            }
            let energy = hard.inertia / 300.0;
            prop_assert!((soft.free_energy - energy).abs() < 1e-6, "{} {energy}", soft.free_energy);
        }
    }

    #[test]
    fn result_is_a_fixed_point(
        seed in any::<u64>(),
        dim in 1_usize..5,
        rows in 20_usize..400,
        clusters in 1_usize..12,
        weighted in any::<bool>(),
    ) {
        let mut numbers = Numbers(seed);
        let mut points = points(numbers.heaps(rows, dim, 6, 0.1), dim);
        if weighted {
            points = points.weighted((0..rows).map(|_| numbers.uniform()).collect()).unwrap();
        }
        let annealed = annealed(clusters, &points);
        prop_assert_eq!(annealed.clusters(), clusters);
        assert_fixed_point(&points, &annealed, 2.0);
        let method = KMeans { clusters, seed, ..KMeans::default() };
        assert_fixed_point(&points, &kmeans(1, &method, &points), 2.0);
    }
}

#[test]
fn sem_g442_rows_that_were_clustered_are_predicted_as_they_are_labelled() {
    for (dim, rows) in [(1, 70), (2, 5000), (5, 900)] {
        let wobble =
            |i: usize| ((i * 7919) % 1009) as f64 * if i.is_multiple_of(3) { 10.0 } else { 0.1 };
        let cloud = points((0..dim * rows).map(wobble).collect(), dim);
        for found in [annealed(7, &cloud), random_start(7, 3, &cloud)] {
            assert_eq!(found.predict(&cloud).unwrap(), found.labels);
            let distances = found.transform(&cloud).unwrap();
            for (row, all) in distances.chunks_exact(found.clusters()).enumerate() {
                let nearest = all.iter().copied().fold(f64::INFINITY, f64::min);
                let own = all[found.labels[row] as usize];
                assert!(
                    own <= nearest * (1.0 + 1e-12),
                    "row {row}: {own} and {nearest}"
                );
            }
        }
    }
    let line = points(vec![0.0, 1.0, 9.0, 10.0], 1);
    let found = annealed(2, &line);
    // The middle is nearest to both: the first counts. What is far away has a nearest centre, too.
    let others = points(vec![5.0, -1e6, 1e6], 1);
    assert_eq!(found.predict(&others).unwrap(), [0, 0, 1]);
    let wrong = found.predict(&points(vec![1.0, 2.0], 2)).unwrap_err();
    assert_eq!(
        wrong,
        DataError::Columns {
            columns: 2,
            fitted: 1
        }
    );
    assert!(wrong.to_string().contains("2 columns"));
}

#[test]
fn rows_that_arithmetic_hardly_tells_apart_come_to_an_end() {
    let near = |value: f64| f64::from_bits(value.to_bits() + 1);
    let rows: Vec<f64> = [
        (2.4, 6),
        (near(2.4), 11),
        (8.8, 20),
        (near(8.8), 4),
        (9.1, 12),
    ]
    .into_iter()
    .flat_map(|(value, count)| vec![value; count])
    .collect();
    for (rows, clusters) in [(rows, 3), (vec![0.6, near(0.6), 2.1], 3)] {
        let all = points(rows, 1);
        let found = within(patience(), move || {
            let method = Annealing {
                clusters: Clusters::Exactly(clusters),
                ..Annealing::default()
            };
            anneal(1, &method, &all)
        });
        assert_eq!(found.clusters(), clusters);
        assert!(found.spread.iter().all(|spread| spread.is_finite()));
    }
    // The squares of what lies between 0 and 1e-170 are 0.
    let told = within(patience(), || {
        let all = points(vec![-1.0, 0.0, 1e-170, 1.0], 1);
        let method = KMeans {
            clusters: 4,
            init: Init::Random,
            ..KMeans::default()
        };
        World::threads(1).run(async |comm| method.fit(&comm, &all, &Control::default()).await)
    });
    if let Err(told) = told {
        assert!(told.to_string().contains("different points"), "{told}");
    }
}

#[test]
fn a_run_that_is_ended_early_has_no_empty_cluster() {
    let all = points(vec![0.0, 8.0, 10.0, 11.0, 22.0, 24.0, 28.0], 1);
    let method = KMeans {
        clusters: 3,
        init: Init::Centres(vec![-4.0, 22.0, 30.0]),
        max_iterations: 2,
        ..KMeans::default()
    };
    let found = kmeans(1, &method, &all);
    assert!(
        found.sizes.iter().all(|&size| size > 0),
        "{:?}",
        found.sizes
    );
    assert!(found.spread.iter().all(|spread| spread.is_finite()));
}

#[test]
fn sem_g530_k_means_makes_no_more_steps_than_it_may() {
    let all = points(vec![0.0, 8.0, 10.0, 11.0, 22.0, 24.0, 28.0], 1);
    let method = |max_iterations, first: [f64; 3]| KMeans {
        clusters: 3,
        init: Init::Centres(first.to_vec()),
        max_iterations,
        ..KMeans::default()
    };
    let found = kmeans(2, &method(1, [-4.0, 22.0, 30.0]), &all);
    let mut pairs = found.centres.iter().zip([4.0, 16.75, 28.0]);
    assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-12));
    assert_eq!(found.labels, [0, 0, 0, 1, 1, 2, 2]);
    // Steps times clusters: one step, and the labels.
    assert_eq!((found.cluster_iterations, found.iterations), (6, 1));
    // Also when the only step finds an empty cluster.
    let found = kmeans(2, &method(1, [-4.0, 22.0, 1e9]), &all);
    assert!(found.sizes.iter().all(|&size| size > 0));
    // The limit changes nothing of a run that ends before it.
    let found = |most| kmeans(2, &method(most, [-4.0, 22.0, 30.0]), &all);
    assert_eq!(found(1_000), found(10_000));
}

#[test]
fn steps_are_those_of_the_start_that_counts() {
    let all = points(vec![0.0, 8.0, 10.0, 11.0, 22.0, 24.0, 28.0], 1);
    let found = |restarts| {
        let method = KMeans {
            clusters: 3,
            init: Init::Centres(vec![-4.0, 22.0, 30.0]),
            restarts,
            ..KMeans::default()
        };
        kmeans(2, &method, &all)
    };
    let (one, four) = (found(1), found(4));
    assert_eq!(one.iterations, four.iterations);
    assert!(one.iterations > 1, "{}", one.iterations);
    assert!(one.cluster_iterations < four.cluster_iterations);
}

#[test]
fn any_number_of_empty_clusters_is_filled() {
    let clusters = 300;
    let all = points((0..600).map(f64::from).collect(), 1);
    let method = KMeans {
        clusters,
        init: Init::Centres(vec![-1.0; clusters]),
        ..KMeans::default()
    };
    let found = kmeans(2, &method, &all);
    assert!(
        found.sizes.iter().all(|&size| size > 0),
        "{:?}",
        found.sizes
    );
    // Pairs are the best: 150 in all.
    assert!(found.inertia < 2.0 * 150.0, "{}", found.inertia);
}
