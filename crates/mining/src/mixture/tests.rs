//! Golden numbers, a slow twin, laws, the same bits on any number of ranks, bad input.

use super::*;
use motet_comm::World;
use motet_testkit::data;
use std::fs;

mod edges;

const KINDS: [Covariance; 4] = [
    Covariance::Full,
    Covariance::Tied,
    Covariance::Diagonal,
    Covariance::Spherical,
];

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{a} and {b}");
}

fn fit(ranks: usize, method: &Mixture, points: &Points) -> MixtureModel {
    let parts = World::threads(ranks)
        .run(async |comm| method.fit(&comm, points, &Control::default()).await)
        .unwrap();
    MixtureModel::join(parts).unwrap()
}

/// Points in three heaps of different shapes, with weights.
fn heaps(rows: usize, dim: usize) -> Points {
    let value = |i: usize, j: usize| {
        let wobble = ((i * (37 + 4 * j) + j * 11) % 211) as f64 / 211.0 - 0.5;
        let other = ((i * (59 + 6 * j) + j * 7) % 199) as f64 / 199.0 - 0.5;
        let at = ((i % 3 * (j + 2)) % 5) as f64;
        3.0 * at + (1.0 + (i % 3) as f64) * (wobble + 0.5 * other)
    };
    let values = (0..rows).flat_map(|i| (0..dim).map(move |j| value(i, j)));
    let weights = (0..rows).map(|i| (i * 7 % 4) as f64);
    Points::new(values.collect(), dim)
        .unwrap()
        .weighted(weights.collect())
        .unwrap()
}

/// Three round heaps in the plane, far apart. Each coordinate is a sum of twelve uniform numbers,
/// which is nearly normal with variance 1.
fn normal_heaps(rows: usize) -> Points {
    let mut state = 650_u64;
    let mut uniform = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let centres = [[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]];
    let row = |i: usize| centres[i % 3].map(|at| at + normal());
    Points::new((0..rows).flat_map(row).collect(), 2).unwrap()
}

#[test]
fn sem_g130_iris_has_the_golden_numbers_needs_data() {
    let text = fs::read_to_string(data().join("labelled-sklearn/iris.csv")).unwrap();
    let rows = text
        .lines()
        .skip(1)
        .flat_map(|line| line.split(',').take(4));
    let points = Points::new(rows.map(|cell| cell.parse().unwrap()).collect(), 4).unwrap();
    let golden = [
        (
            [
                -1.2194724083348911,
                -1.2148129338017197,
                -1.2012365172331552,
            ],
            0.2991950921842242,
            5.9149720094250835,
            580.8389081101818,
            448.3709551699466,
        ),
        (
            [
                -1.7109746687182545,
                -1.7092645531941124,
                -1.7090269548584864,
            ],
            0.32960713765593996,
            5.942320039443114,
            632.9633335158559,
            560.7080864575457,
        ),
        (
            [-2.062418781941413, -2.0478068628819766, -2.0457366997855297],
            0.30550320931962316,
            5.83525444427514,
            743.9975126632827,
            665.7209950167801,
        ),
        (
            [-2.6166563888209504, -2.582186807811978, -2.562093967156705],
            0.41393979045400536,
            5.905212982572771,
            853.8089901466453,
            802.628190147009,
        ),
    ];
    for (covariance, (bounds, weight, mean, bic, aic)) in KINDS.into_iter().zip(golden) {
        let method = Mixture {
            components: 3,
            covariance,
            tolerance: 0.0,
            iterations: 50,
            start: MixtureStart::Labels((0..150).map(|i| i / 50).collect()),
            ..Mixture::default()
        };
        let found = fit(2, &method, &points);
        // At a tolerance of 0 a run may end where ln p stands still bit for bit.
        let last = found.trace.len() - 1;
        for (step, bound) in [0, 1, last].into_iter().zip(bounds) {
            close(found.trace[step], bound);
        }
        close(found.weights[1], weight);
        close(found.means[4], mean);
        close(found.bic, bic);
        close(found.aic, aic);
    }
}

/// One step of the slow twin for full covariances without a floor: ln p and the parameters.
fn twin(points: &Points, model: &Parameters) -> (f64, Parameters) {
    let (dim, k) = (points.dim(), model.weights.len());
    let total: f64 = (0..points.len()).map(|row| points.weight(row)).sum();
    let (mut sum, mut masses, mut means) = (0.0, vec![0.0; k], vec![0.0; k * dim]);
    let mut squares = vec![0.0; k * dim * dim];
    for row in 0..points.len() {
        let densities: Vec<f64> = (0..k)
            .map(|k| {
                let covariance = &model.covariances[k * dim * dim..][..dim * dim];
                let mean = &model.means[k * dim..][..dim];
                let z: Vec<f64> = points
                    .row(row)
                    .iter()
                    .zip(mean)
                    .map(|(x, m)| x - m)
                    .collect();
                // Gauss elimination: the square z' C^-1 z and the determinant.
                let (mut matrix, mut right) = (covariance.to_vec(), z.clone());
                let mut det = 1.0;
                for i in 0..dim {
                    det *= matrix[i * dim + i];
                    for j in i + 1..dim {
                        let factor = matrix[j * dim + i] / matrix[i * dim + i];
                        (i..dim).for_each(|c| matrix[j * dim + c] -= factor * matrix[i * dim + c]);
                        right[j] -= factor * right[i];
                    }
                }
                let mut solved = vec![0.0; dim];
                for i in (0..dim).rev() {
                    let known: f64 = (i + 1..dim).map(|c| matrix[i * dim + c] * solved[c]).sum();
                    solved[i] = (right[i] - known) / matrix[i * dim + i];
                }
                let square: f64 = solved.iter().zip(&z).map(|(a, b)| a * b).sum();
                let norm = (std::f64::consts::TAU.powi(dim as i32) * det).sqrt();
                model.weights[k] * (-0.5 * square).exp() / norm
            })
            .collect();
        let p: f64 = densities.iter().sum();
        let weight = points.weight(row) / total;
        sum += weight * p.ln();
        for k in 0..k {
            let share = weight * densities[k] / p;
            masses[k] += share;
            let x = points.row(row);
            for i in 0..dim {
                means[k * dim + i] += share * x[i];
                for j in 0..dim {
                    squares[(k * dim + i) * dim + j] += share * x[i] * x[j];
                }
            }
        }
    }
    (0..k * dim).for_each(|at| means[at] /= masses[at / dim]);
    let covariance = |at: usize| {
        let (row, j) = (at / dim, at % dim);
        let k = row / dim;
        squares[at] / masses[k] - means[row] * means[k * dim + j]
    };
    let next = Parameters {
        covariances: (0..squares.len()).map(covariance).collect(),
        weights: masses,
        means,
    };
    (sum, next)
}

/// Columns of every remainder by the two and the four that the kernel takes together.
#[test]
fn sem_g130_a_step_is_that_of_the_twin() {
    for dim in [1, 3, 6, 8, 9] {
        a_step_is_that_of_the_twin(dim);
    }
}

fn a_step_is_that_of_the_twin(dim: usize) {
    let points = heaps(700, dim);
    let method = |iterations| Mixture {
        components: 3,
        floor: 0.0,
        tolerance: 0.0,
        iterations,
        start: MixtureStart::Labels((0..700).map(|i| i % 5 % 3).collect()),
        ..Mixture::default()
    };
    let (one, two) = (fit(1, &method(1), &points), fit(1, &method(2), &points));
    let model = Parameters {
        weights: one.weights.clone(),
        means: one.means.clone(),
        covariances: one.covariances.clone(),
    };
    let (bound, next) = twin(&points, &model);
    close(one.log_likelihood, bound);
    close(two.trace[1], bound);
    for (twin, found) in [
        (&next.weights, &two.weights),
        (&next.means, &two.means),
        (&next.covariances, &two.covariances),
    ] {
        assert_eq!(twin.len(), found.len());
        twin.iter().zip(found).for_each(|(a, b)| close(*a, *b));
    }
}

#[test]
fn sem_g131_the_likelihood_never_falls_and_ranks_change_no_bit() {
    let points = heaps(1700, 4);
    for covariance in KINDS {
        let method = Mixture {
            components: 4,
            covariance,
            tolerance: 1e-9,
            start: MixtureStart::Several { count: 2, seed: 3 },
            ..Mixture::default()
        };
        let one = fit(1, &method, &points);
        assert!(
            one.trace.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12),
            "{covariance:?}"
        );
        for ranks in [2, 3, 8] {
            assert_eq!(fit(ranks, &method, &points), one, "{covariance:?} {ranks}");
        }
    }
}

#[test]
fn sem_g130_one_component_is_mean_and_covariance() {
    let points = heaps(300, 2);
    let method = |covariance| Mixture {
        components: 1,
        covariance,
        ..Mixture::default()
    };
    let total: f64 = (0..300).map(|row| points.weight(row)).sum();
    let mean_of = |f: &dyn Fn(&[f64]) -> f64| {
        let terms = (0..300).map(|row| points.weight(row) / total * f(points.row(row)));
        terms.sum::<f64>()
    };
    let (x, y) = (mean_of(&|p| p[0]), mean_of(&|p| p[1]));
    let variance = mean_of(&|p| (p[0] - x) * (p[0] - x)) + 1e-6;
    let across = mean_of(&|p| (p[0] - x) * (p[1] - y));
    let found = fit(2, &method(Covariance::Full), &points);
    close(found.means[0], x);
    close(found.means[1], y);
    close(found.covariances[0], variance);
    close(found.covariances[1], across);
    close(
        fit(2, &method(Covariance::Tied), &points).covariances[2],
        across,
    );
    close(
        fit(1, &method(Covariance::Diagonal), &points).covariances[0],
        variance,
    );
}

#[test]
fn sem_g130_an_affine_map_changes_no_label() {
    let points = heaps(600, 2);
    let map = |row: &[f64]| [3.0 * row[0] - row[1] + 7.0, row[0] + 2.0 * row[1] - 100.0];
    let mapped = (0..600).flat_map(|row| map(points.row(row)));
    let weights = points.weights().unwrap().to_vec();
    let mapped = Points::new(mapped.collect(), 2)
        .unwrap()
        .weighted(weights)
        .unwrap();
    let method = Mixture {
        components: 3,
        floor: 0.0,
        start: MixtureStart::Labels((0..600).map(|i| i % 3).collect()),
        ..Mixture::default()
    };
    let (one, other) = (fit(1, &method, &points), fit(1, &method, &mapped));
    assert_eq!(one.labels, other.labels);
    close(one.log_likelihood - 7_f64.ln(), other.log_likelihood);
}

/// Mixtures that cannot be, and what is said of them.
fn bad() -> Vec<(Mixture, &'static str)> {
    let method = Mixture::default();
    let labels = |labels: Vec<u32>| MixtureStart::Labels(labels);
    vec![
        (
            Mixture {
                components: 0,
                ..method.clone()
            },
            "`components` is 0",
        ),
        (
            Mixture {
                components: 31,
                ..method.clone()
            },
            "31 clusters",
        ),
        (
            Mixture {
                floor: -1.0,
                ..method.clone()
            },
            "`floor` is -1",
        ),
        (
            Mixture {
                tolerance: f64::NAN,
                ..method.clone()
            },
            "`tolerance` is NaN",
        ),
        (
            Mixture {
                start: labels(vec![0; 29]),
                ..method
            },
            "one label per row",
        ),
        (
            Mixture {
                start: labels(vec![2; 30]),
                ..method
            },
            "one label per row",
        ),
        (
            Mixture {
                start: labels(vec![0; 30]),
                ..method
            },
            "component 1 has no rows",
        ),
        (
            Mixture {
                start: MixtureStart::Several { count: 0, seed: 0 },
                ..Mixture::default()
            },
            "`count` is 0",
        ),
    ]
}

#[test]
fn sem_g132_bad_mixtures_are_told() {
    let points = heaps(30, 2);
    let run = |method: Mixture, points: &Points| {
        let done = World::threads(2).run(async |comm| {
            let error = method
                .fit(&comm, points, &Control::default())
                .await
                .unwrap_err();
            Ok::<String, MiningError>(match error {
                MiningError::Parameter(error) => error.to_string(),
                MiningError::Data(error) => error.to_string(),
                other => other.to_string(),
            })
        });
        done.unwrap().remove(0)
    };
    for (method, words) in bad() {
        let told = run(method, &points);
        assert!(told.contains(words), "{words}: {told}");
    }
    let flat = Points::new((0..30).flat_map(|i| [f64::from(i), 1.0]).collect(), 2).unwrap();
    let told = run(
        Mixture {
            floor: 0.0,
            ..Mixture::default()
        },
        &flat,
    );
    assert!(told.contains("component 0 has a covariance"), "{told}");
}

#[test]
fn sem_g151_a_criterion_chooses_the_number_and_its_model_predicts_the_rows_of_the_fit() {
    let points = normal_heaps(300);
    let method = Mixture {
        tolerance: 1e-6,
        ..Mixture::default()
    };
    let on = |ranks: usize| {
        let parts = World::threads(ranks).run(async |comm| {
            let control = Control::default();
            let found = method.choose(&comm, &points, 5, Criterion::Bic, &control);
            let (model, tried) = found.await?;
            let whole = comm.allgather(model.clone()).await?;
            let whole = MixtureModel::join(whole).unwrap();
            let labels = whole.predict(&comm, &points, &control).await?;
            Ok::<_, MiningError>((whole, tried, labels))
        });
        parts.unwrap()
    };
    let one = on(1);
    let (model, tried, _) = &one[0];
    let numbers: Vec<usize> = tried.iter().map(|tried| tried.components).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let least = tried.iter().map(|t| t.bic).fold(f64::INFINITY, f64::min);
    assert_eq!(model.bic, least);
    assert_eq!(model.components(), 3);
    for ranks in [2, 3] {
        let parts = on(ranks);
        assert_eq!((&parts[0].0, &parts[0].1), (model, tried));
        let labels = MixtureLabels::join(parts.into_iter().map(|part| part.2)).unwrap();
        assert_eq!(labels.labels, model.labels);
        close(labels.log_likelihood, model.log_likelihood);
    }
    let broken = |change: fn(&mut MixtureModel)| {
        let mut other = model.clone();
        change(&mut other);
        other.check().unwrap_err().to_string()
    };
    for (told, words) in [
        (broken(|model| model.weights[0] = 0.9), "weights"),
        (broken(|model| model.means.truncate(3)), "means"),
        (broken(|model| model.covariances[7] = -1.0), "variance"),
        (broken(|model| model.means[1] = f64::NAN), "NaN"),
        (broken(|model| model.covariances[9] = f64::NAN), "row 2"),
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn weights_may_be_in_any_unit_and_rows_without_any_anywhere() {
    let method = Mixture {
        components: 3,
        ..Mixture::default()
    };
    let same = |points: &Points, other: &Points| {
        let (one, two) = (fit(2, &method, points), fit(2, &method, other));
        close(one.log_likelihood, two.log_likelihood);
        let means = one.means.iter().zip(&two.means);
        means.for_each(|(one, two)| close(*one, *two));
        let rows = one.labels.len().min(two.labels.len());
        assert_eq!(one.labels[..rows], two.labels[..rows]);
    };
    let points = heaps(300, 2);
    let (values, weights) = (points.values().to_vec(), points.weights().unwrap().to_vec());
    // The product of a weight and a number is none.
    let large: Vec<f64> = values
        .iter()
        .map(|value| value * 2.0_f64.powi(40))
        .collect();
    let unit = 2.0_f64.powi(1000);
    let heavy = weights.iter().map(|weight| weight * unit).collect();
    let weighted = |values: &[f64], weights: Vec<f64>| {
        let points = Points::new(values.to_vec(), 2).unwrap();
        points.weighted(weights).unwrap()
    };
    same(&weighted(&large, weights.clone()), &weighted(&large, heavy));
    let (mut more, mut none) = (values, weights);
    more.extend([1e200, -1e200]);
    none.push(0.0);
    same(&points, &weighted(&more, none));
}

#[test]
fn a_row_whose_distance_no_number_holds_is_told() {
    let model = fit(1, &Mixture::default(), &heaps(120, 2));
    let far = Points::new(vec![0.0, 0.0, 1e200, 0.0], 2).unwrap();
    let told = World::threads(2).run(async |comm| {
        let found = model.predict(&comm, &far, &Control::default()).await;
        Ok::<_, MiningError>(match found {
            Err(MiningError::Parameter(ParameterError::Unfit { field, .. })) => field,
            _ => "",
        })
    });
    assert_eq!(told.unwrap(), ["points"; 2]);
}

#[test]
fn sem_g159_a_mixture_that_was_stopped_goes_on_to_the_same_bits() {
    let points = heaps(300, 2);
    let method = Mixture {
        components: 4,
        tolerance: 1e-7,
        start: MixtureStart::Several { count: 3, seed: 5 },
        ..Mixture::default()
    };
    let whole = fit(2, &method, &points);
    let folder = tempfile::tempdir().unwrap();
    let kept = Checkpoints::new(folder.path(), "mixture").every(std::time::Duration::ZERO);
    for (ranks, steps) in [(1, 2), (3, 9), (2, 30)] {
        let token = crate::CancelToken::new();
        let seen = motet_sync::Mutex::new(0);
        let show = |_: &Progress| {
            let mut seen = seen.lock();
            *seen += 1;
            if *seen > steps {
                token.cancel();
            }
        };
        let control = Control {
            progress: Some(&show),
            cancel: Some(&token),
        };
        let stopped = World::threads(ranks).run(async |comm| {
            let run = method.fit_kept(&comm, &points, &control, &kept).await;
            Ok::<_, MiningError>(matches!(run, Err(MiningError::Cancelled)))
        });
        assert!(stopped.unwrap().into_iter().all(|stopped| stopped));
    }
    let resume = |points: &Points| {
        let run = World::threads(3).run(async |comm| {
            let run = method
                .fit_kept(&comm, points, &Control::default(), &kept)
                .await;
            Ok::<_, MiningError>(run.map_err(|error| error.to_string()))
        });
        run.unwrap().into_iter().collect::<Result<Vec<_>, _>>()
    };
    let told = resume(&heaps(299, 2)).unwrap_err();
    assert!(told.contains("other data"), "{told}");
    // Once to the end, and once from the end.
    for _ in 0..2 {
        assert_eq!(MixtureModel::join(resume(&points).unwrap()).unwrap(), whole);
    }
}

#[test]
fn a_covariance_that_is_none_is_told_without_the_name_of_a_field() {
    let points = Points::new(vec![0.0, 5.0, 1.0, 5.0, 2.0, 5.0], 2).unwrap();
    let method = Mixture {
        components: 1,
        floor: 0.0,
        ..Mixture::default()
    };
    let run = World::solo().run(async |comm| {
        let found = method.fit(&comm, &points, &Control::default()).await;
        Ok::<_, MiningError>(found.unwrap_err().to_string())
    });
    // It is a floor in the program, and reg_covar in Python.
    let told = run.unwrap().remove(0);
    assert!(told.contains("add more to each variance"), "{told}");
}
