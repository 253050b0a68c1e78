//! Known values, the same bits on any number of ranks, bad input.

mod edges;

use super::cool::{Fall, State};
use super::critical::LloydLimit;
use super::*;
use crate::{CancelToken, Progress, adjusted_rand};
use motet_comm::World;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} and {b}");
}

/// The 60 points of the golden file: squared distances and weights.
fn sixty() -> (Vec<f64>, Vec<f64>) {
    let corners = [[0.0, 0.0], [8.0, 0.0], [3.0, 7.0]];
    let place = |i: usize| {
        let [x, y] = corners[i % 3];
        let (dx, dy) = (i * 37 % 101, i * 59 % 103);
        [x + dx as f64 / 101.0 * 4.0, y + dy as f64 / 103.0 * 2.0]
    };
    let square = |i, j| {
        let ([a, b], [c, d]): ([f64; 2], [f64; 2]) = (place(i), place(j));
        (a - c) * (a - c) + (b - d) * (b - d)
    };
    let pairs = (0..60).flat_map(|i| (0..60).map(move |j| square(i, j)));
    (
        pairs.collect(),
        (0..60).map(|i| (1 + i % 4) as f64).collect(),
    )
}

/// Runs on one rank what needs a field.
fn on_field<R: Send + 'static>(
    data: &Dissimilarities,
    weights: &[f64],
    job: impl AsyncFn(&Field<'_>) -> R + Sync,
) -> R {
    let weights = &normalised(Some(weights), data.len()).unwrap();
    let job = &job;
    let mut all = World::solo()
        .run(async |comm| {
            let control = Control::default();
            let team = RankView::new(&comm, &control);
            let field = Field::new(&team, data, weights);
            Ok::<R, MiningError>(job(&field).await)
        })
        .unwrap();
    all.remove(0)
}

fn three_shares() -> Vec<f64> {
    let rows = (0..60).flat_map(|i| {
        let row = [1 + i % 5, 1 + i % 3, 2 + i % 2].map(|v| v as f64);
        row.map(|v| v / row.iter().sum::<f64>())
    });
    rows.collect()
}

fn assert_energies(data: &Dissimilarities, weights: &[f64], inside: [f64; 5], outside: f64) {
    let shares = three_shares();
    let (sums, out) = on_field(data, weights, async |field| {
        let shares = three_shares();
        let sums = field.sums(3, &shares).await.unwrap();
        let out = (0..180).map(|at| {
            let (row, k) = (at / 3, at % 3);
            sums.rise(row, k, field.weights[row], shares[at]) / field.weights[row]
        });
        let out: f64 = out.sum();
        (sums, out)
    });
    assert_eq!(shares.len(), 180);
    let energies = sums.energies();
    close(energies[0], inside[0]);
    close(energies[179], inside[1]);
    close(energies.iter().sum(), inside[2]);
    close(sums.mean_cost(0), inside[3]);
    close(sums.masses[1], inside[4]);
    close(out, outside);
}

#[test]
fn sem_g123_energies_have_the_known_values() {
    let (pairs, weights) = sixty();
    let inside = [
        39.41459112637234,
        31.77449701468882,
        4338.09567211626,
        23.88689600829061,
        0.26486676286676286,
    ];
    let data = Dissimilarities::new(pairs.clone(), 60).unwrap();
    assert_energies(&data, &weights, inside, 4261.025111938148);
    let gap = |at: usize| at / 60 != at % 60 && (at / 60 + at % 60) % 7 == 3;
    let gaps = pairs.iter().enumerate();
    let gaps = gaps
        .map(|(at, d)| if gap(at) { f64::NAN } else { *d })
        .collect();
    let data = Dissimilarities::new(gaps, 60).unwrap();
    let inside = [
        38.15926818606179,
        30.60211868586679,
        4328.593577070433,
        23.744338302596823,
        0.26486676286676286,
    ];
    assert_energies(&data, &weights, inside, 4240.106538795639);
}

#[test]
fn sem_g123_critical_temperature_and_free_energies() {
    let (pairs, weights) = sixty();
    let data = Dissimilarities::new(pairs, 60).unwrap();
    let (first, free, last) = on_field(&data, &weights, async |field| {
        let one = vec![1.0; 60];
        let sums = field.sums(1, &one).await.unwrap();
        let limit = LloydLimit {
            steps: 3000,
            tolerance: 1e-15,
        };
        let first = field.critical(&one, &sums, limit).await.unwrap().remove(0);
        let t = 0.8 * first.temperature;
        let most = first.direction.iter().fold(0.0_f64, |m, u| m.max(u.abs()));
        let push = first.direction.iter().map(|u| 0.05 * u / most);
        let mut shares: Vec<f64> = push.flat_map(|p| [0.5 + p, 0.5 - p]).collect();
        let mut free = Vec::new();
        for _ in 0..10 {
            let sums = field.sums(2, &shares).await.unwrap();
            free.push(sums.free_energy(t, 1.0));
            shares = field.shares(&sums, t, 1.0);
        }
        (first, free, shares[0])
    });
    close(first.temperature, 27.49829319146509);
    assert!((first.direction[0] + 0.6854386222022357).abs() < 1e-6);
    assert!((free[0] - 23.692067799171117).abs() < 1e-7, "{free:?}");
    assert!((free[9] - 23.435398815110513).abs() < 1e-6, "{free:?}");
    assert!((last - 0.35444303514053965).abs() < 1e-5, "{last}");
    assert!(free.windows(2).all(|pair| pair[1] <= pair[0]), "{free:?}");
}

fn fit(
    ranks: usize,
    method: &Pairwise,
    pairs: &Dissimilarities,
    weights: Option<&[f64]>,
) -> PairwiseClustering {
    let parts = World::threads(ranks)
        .run(async |comm| method.fit(&comm, pairs, weights, &Control::default()).await)
        .unwrap();
    PairwiseClustering::join(parts).unwrap()
}

fn exactly(clusters: usize) -> Pairwise {
    Pairwise {
        clusters: Clusters::Exactly(clusters),
        ..Pairwise::default()
    }
}

#[test]
fn sem_g124_three_groups_by_both_powers_and_all_storages() {
    let (pairs, weights) = sixty();
    let data = Dissimilarities::new(pairs.clone(), 60).unwrap();
    let as_vector = Pairwise {
        mass_power: 1.0,
        last_mass_power: 1.0,
        ..exactly(3)
    };
    let rows = pairs;
    let make = move |row: usize, to: &mut [f64]| to.copy_from_slice(&rows[row * 60..][..60]);
    let computed = Dissimilarities::computed(60, make).unwrap();
    for method in [exactly(3), as_vector] {
        let found = fit(1, &method, &data, Some(&weights));
        assert!((0..60).all(|i| found.labels[i] as usize == i % 3));
        assert_eq!(found.medoids, [15, 34, 53]);
        close(found.cost, 1.649654862249463);
        assert!((found.trace[0].temperature / 27.52579146835186 - 1.0).abs() < 1e-8);
        assert_eq!(fit(1, &method, &computed, Some(&weights)), found);
        let single = fit(1, &method, &data.clone().single(), Some(&weights));
        assert_eq!(single.labels, found.labels);
    }
}

#[test]
fn sem_g121_the_same_for_any_number_of_ranks() {
    let (mut pairs, weights) = sixty();
    for at in (5..3600).step_by(11).filter(|at| at / 60 != at % 60) {
        pairs[at] = if at % 2 == 0 {
            f64::NAN
        } else {
            pairs[at] * 1.5
        };
    }
    let data = Dissimilarities::new(pairs, 60).unwrap();
    let one = fit(1, &exactly(5), &data, Some(&weights));
    assert_eq!(one.sizes.len(), 5);
    assert!(one.asymmetry > 0.0);
    for ranks in [2, 3, 8] {
        assert_eq!(
            fit(ranks, &exactly(5), &data, Some(&weights)),
            one,
            "{ranks}"
        );
    }
}

#[test]
fn sem_g121_ranks_without_rows_end_with_the_others() {
    let at = [0.0_f64, 1.0, 10.0, 11.0, 30.0];
    let squares = at
        .iter()
        .flat_map(|x| at.iter().map(move |y| (x - y) * (x - y)));
    let data = Dissimilarities::new(squares.collect(), 5).unwrap();
    let alone = fit(1, &exactly(3), &data, None);
    assert_eq!(alone.labels, [0, 0, 1, 1, 2]);
    for ranks in [5, 8, 64] {
        assert_eq!(fit(ranks, &exactly(3), &data, None), alone);
    }
}

#[test]
fn sem_g122_equal_rows_and_single_rows() {
    let same = Dissimilarities::new(vec![0.0; 9], 3).unwrap();
    assert_eq!(fit(1, &exactly(2), &same, None).sizes, [3]);
    let one = Dissimilarities::new(vec![0.0], 1).unwrap();
    assert_eq!(fit(2, &exactly(1), &one, None).labels, [0]);
    let apart = Dissimilarities::new(vec![0.0, 2.0, 2.0, 0.0], 2).unwrap();
    assert_eq!(fit(1, &exactly(2), &apart, None).labels, [0, 1]);
}

#[test]
fn sem_g125_bad_input_names_its_place() {
    let text = |values: Vec<f64>, rows| {
        let error = Dissimilarities::new(values, rows).unwrap_err();
        error.to_string()
    };
    let nan = f64::NAN;
    assert!(text(vec![0.0; 5], 2).contains("5 values"));
    assert!(text(vec![0.0, 1.0, -1.0, 0.0], 2).contains("row 1, column 0"));
    assert!(text(vec![0.0, f64::INFINITY, 1.0, 0.0], 2).contains("row 0, column 1"));
    assert!(text(vec![0.0, 1.0, 1.0, 3.0], 2).contains("row 1"));
    assert!(text(vec![0.0, nan, nan, 0.0], 2).contains("row 0"));
    assert!(text(vec![], 0).contains("no points"));
    let pairs = &Dissimilarities::new(vec![0.0, 1.0, 1.0, 0.0], 2).unwrap();
    let run = |method: Pairwise, weights: Option<&'static [f64]>, control: Control<'_>| {
        let (method, control) = (&method, &control);
        let run = World::solo().run(async |comm| {
            let result = method.fit(&comm, pairs, weights, control).await;
            Ok::<_, MiningError>(format!("{:?}", result.unwrap_err()))
        });
        run.unwrap().remove(0)
    };
    assert!(run(exactly(3), None, Control::default()).contains("FewPoints"));
    assert!(run(exactly(0), None, Control::default()).contains("clusters"));
    assert!(run(exactly(1), Some(&[1.0]), Control::default()).contains("WeightCount"));
    let hot = Pairwise {
        cooling: 1.0,
        ..exactly(1)
    };
    assert!(run(hot, None, Control::default()).contains("cooling"));
    let token = CancelToken::new();
    token.cancel();
    let control = Control {
        cancel: Some(&token),
        ..Control::default()
    };
    assert!(run(exactly(1), None, control).contains("Cancelled"));
}

#[test]
fn single_moves_agree_on_cancellation() {
    let (values, weights) = sixty();
    let data = Dissimilarities::new(values, 60).unwrap();
    let weights = &normalised(Some(&weights), 60).unwrap();
    let run = World::threads(2).run(async |comm| {
        let token = CancelToken::new();
        if comm.rank() == 1 {
            token.cancel();
        }
        let control = Control {
            cancel: Some(&token),
            ..Control::default()
        };
        let team = RankView::new(&comm, &control);
        let field = Field::new(&team, &data, weights);
        let best = field.best(vec![(1.0, 7_usize)]).await;
        Ok::<_, MiningError>(matches!(best, Err(MiningError::Cancelled)))
    });
    assert_eq!(run.unwrap(), [true, true]);
}

#[test]
fn a_cluster_whose_rows_weigh_nothing_draws_no_row() {
    let at = [0.0, 1.0, 10.0, 11.0, 20.0];
    let square = |i: usize, j: usize| (at[i] - at[j]) * (at[i] - at[j]);
    let pairs = (0..25).map(|pair| square(pair / 5, pair % 5));
    let data = Dissimilarities::new(pairs.collect(), 5).unwrap();
    let labels = on_field(&data, &[1.0, 1.0, 1.0, 1.0, 0.0], async |field| {
        field.least(vec![0, 0, 1, 1, 2]).await.unwrap()
    });
    assert_eq!(labels, [0, 0, 1, 1, 1]);
}

#[test]
fn protein_families_needs_data() {
    let folder = motet_testkit::data().join("dissim-protein");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let table = read("dissimilarity.csv");
    let values: Vec<f64> = table
        .lines()
        .flat_map(|line| line.split(',').map(|value| value.parse::<f64>().unwrap()))
        .collect();
    let labels = read("labels.csv");
    let classes = labels.lines().skip(1);
    let classes: Vec<u32> = classes
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    let plain = Dissimilarities::new(values.clone(), 213).unwrap();
    let found = fit(2, &exactly(4), &plain, None);
    close(found.cost, 3.7291451637963);
    let mut medoids = found.medoids.clone();
    medoids.sort_unstable();
    assert_eq!(medoids, [32, 95, 140, 191]);
    assert!(adjusted_rand(&classes, &found.labels) > 0.966);
    let squares = values.iter().map(|value| value * value).collect();
    let squares = Dissimilarities::new(squares, 213).unwrap();
    let found = fit(2, &exactly(4), &squares, None);
    close(found.cost, 31.893346797061096);
    assert!(adjusted_rand(&classes, &found.labels) > 0.988);
}

#[test]
fn sem_g123_a_step_that_would_raise_the_free_energy_is_halved() {
    // Negative eigenvalues of the centred matrix reach far: pairs at 0 or 1 by a fixed rule.
    let odd = |i: usize, j: usize| ((i * j + i + j) * 7 % 11 % 2) as f64;
    let pairs = (0..24).flat_map(|i| (0..24).map(move |j| if i == j { 0.0 } else { odd(i, j) }));
    let data = Dissimilarities::new(pairs.collect(), 24).unwrap();
    let (plain, halved) = on_field(&data, &[1.0; 24], async |field| {
        let t = 0.01;
        let start: Vec<f64> = (0..24)
            .flat_map(|i| [0.5 + 0.01 * (i % 5) as f64, 0.5 - 0.01 * (i % 5) as f64])
            .collect();
        let (mut plain, mut shares) = (Vec::new(), start.clone());
        for _ in 0..20 {
            let sums = field.sums(2, &shares).await.unwrap();
            plain.push(sums.free_energy(t, 0.0));
            shares = field.shares(&sums, t, 0.0);
        }
        let sums = field.sums(2, &start).await.unwrap();
        let fall = Fall {
            temperature: t,
            ..Fall::default()
        };
        let mut state = State {
            shares: start,
            sums,
            fall,
        };
        // A tolerance that every step meets: one step per call.
        let method = Pairwise {
            tolerance: 1e9,
            ..Pairwise::default()
        };
        let mut halved = Vec::new();
        for _ in 0..20 {
            method.converge(field, &mut state).await.unwrap();
            halved.push(state.fall.free_energy);
        }
        (plain, halved)
    });
    let rises = |free: &[f64]| free.windows(2).any(|pair| pair[1] > pair[0] + 1e-11);
    assert!(rises(&plain), "{plain:?}");
    assert!(!rises(&halved), "{halved:?}");
}

#[test]
fn sem_g155_codes_of_whole_numbers_give_the_bits_of_the_numbers() {
    let at = |i: usize| (i % 3 * 40 + i * 37 % 19) as f64;
    let value = |at_: usize| (at(at_ / 50) - at(at_ % 50)).powi(2);
    let mut values: Vec<f64> = (0..2500).map(value).collect();
    // A pair, both ways.
    for gap in [3, 150] {
        values[gap] = f64::NAN;
    }
    let whole = |value: &f64| match value.is_nan() {
        true => Dissimilarities::UNKNOWN,
        false => *value as u16,
    };
    let codes = values.iter().map(whole).collect();
    let codes = Dissimilarities::from_codes(codes, 1.0, 50).unwrap();
    let numbers = Dissimilarities::new(values, 50).unwrap();
    assert!(codes.has_gaps());
    let method = Pairwise {
        clusters: Clusters::Exactly(3),
        ..Pairwise::default()
    };
    let fit = |pairs: &Dissimilarities, ranks: usize| {
        let run = World::threads(ranks)
            .run(async |comm| method.fit(&comm, pairs, None, &Control::default()).await);
        PairwiseClustering::join(run.unwrap())
    };
    assert_eq!(fit(&codes, 2), fit(&numbers.clone().single(), 1));
    // Rounding to steps of the largest keeps each value within half a step.
    let rounded = numbers.clone().coded();
    let step = 96.0 * 96.0 / 65_534.0;
    for (row, column) in [(0, 1), (7, 31), (49, 2)] {
        let difference = rounded.get(row, column) - numbers.get(row, column);
        assert!(difference.abs() <= step, "{difference}");
    }
    for (codes, scale, words) in [
        (vec![0, 1, 2, 0], 1.0, "(1, 0)"),
        (vec![1, 1, 1, 0], 1.0, "row 0"),
        (vec![0, u16::MAX, u16::MAX, 0], 1.0, "row 0"),
        (vec![0, 1, 1], 1.0, "3 values"),
        (vec![0, 1, 1, 0], -1.0, "-1"),
        (vec![0, 1, 1, 0], 1e136, "1e135"),
    ] {
        let told = Dissimilarities::from_codes(codes, scale, 2)
            .unwrap_err()
            .to_string();
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn dissimilarities_whose_squares_are_not_finite_are_refused() {
    let told = Dissimilarities::new(vec![0.0, 1e200, 1e200, 0.0], 2).unwrap_err();
    assert!(
        told.to_string().contains("row 0, column 1 holds 1e200"),
        "{told}"
    );
    let largest = Dissimilarities::new(vec![0.0, 1e140, 1e140, 0.0], 2).unwrap();
    assert_eq!(largest.get(0, 1), 1e140);
}

/// Each run is stopped after some temperatures, on another number of ranks.
fn stop_often(method: &Pairwise, pairs: &Dissimilarities, weights: &[f64], kept: &Checkpoints) {
    for (ranks, temperatures) in [(1, 1), (3, 2), (2, 5), (1, 7)] {
        let token = CancelToken::new();
        let seen = motet_sync::Mutex::new(0);
        let show = |_: &Progress| {
            let mut seen = seen.lock();
            *seen += 1;
            if *seen > temperatures {
                token.cancel();
            }
        };
        let control = Control {
            progress: Some(&show),
            cancel: Some(&token),
        };
        let stopped = World::threads(ranks).run(async |comm| {
            let run = method.fit_kept(&comm, pairs, Some(weights), &control, kept);
            Ok::<_, MiningError>(matches!(run.await, Err(MiningError::Cancelled)))
        });
        assert!(stopped.unwrap().into_iter().all(|stopped| stopped));
        assert!(kept.path().is_file());
    }
}

#[test]
fn sem_g158_a_run_that_was_stopped_anywhere_goes_on_to_the_same_bits() {
    let (pairs, weights) = sixty();
    let pairs = Dissimilarities::new(pairs, 60).unwrap();
    let method = Pairwise {
        clusters: Clusters::Exactly(5),
        ..Pairwise::default()
    };
    let whole = World::threads(2)
        .run(async |comm| {
            method
                .fit(&comm, &pairs, Some(&weights), &Control::default())
                .await
        })
        .map(PairwiseClustering::join)
        .unwrap();
    assert_eq!(whole.as_ref().unwrap().splits.len(), 4);
    let folder = tempfile::tempdir().unwrap();
    let kept = Checkpoints::new(folder.path(), "pairs").every(std::time::Duration::ZERO);
    stop_often(&method, &pairs, &weights, &kept);
    let resume = |method: &Pairwise, weights: Option<&[f64]>| {
        let run = World::threads(3).run(async |comm| {
            let control = Control::default();
            let run = method.fit_kept(&comm, &pairs, weights, &control, &kept);
            Ok::<_, MiningError>(run.await.map_err(|error| error.to_string()))
        });
        run.unwrap().into_iter().collect::<Result<Vec<_>, _>>()
    };
    let other = Pairwise {
        cooling: 0.8,
        ..method
    };
    let told = resume(&other, Some(&weights)).unwrap_err();
    assert!(
        told.contains("pairs.checkpoint") && told.contains("other options"),
        "{told}"
    );
    assert!(resume(&method, None).unwrap_err().contains("other data"));
    let found = resume(&method, Some(&weights)).unwrap();
    assert_eq!(PairwiseClustering::join(found), whole);
    // What is cut or changed is refused, and nothing is made of it.
    let mut bytes = std::fs::read(kept.path()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(kept.path(), &bytes).unwrap();
    assert!(
        resume(&method, Some(&weights))
            .unwrap_err()
            .contains("damaged")
    );
    std::fs::write(kept.path(), &bytes[..20]).unwrap();
    assert!(
        resume(&method, Some(&weights))
            .unwrap_err()
            .contains("damaged")
    );
    kept.clear().unwrap();
    assert!(!kept.path().exists());
    kept.clear().unwrap();
}

#[test]
fn sem_g167_the_lowest_temperature_of_splitting_is_reached_whatever_the_cooling() {
    let (pairs, weights) = sixty();
    let data = Dissimilarities::new(pairs, 60).unwrap();
    // The whole splits below 27.5, each group below 2.7; between there are three clusters.
    for (t_min, clusters) in [(28.0, 1), (26.0, 3), (3.0, 3)] {
        for cooling in [0.5, 0.9] {
            let method = Pairwise {
                clusters: Clusters::Found { t_min, at_most: 20 },
                cooling,
                ..Pairwise::default()
            };
            let found = fit(1, &method, &data, Some(&weights));
            assert_eq!(
                found.sizes.len(),
                clusters,
                "{t_min}, {cooling}: {:?}",
                found.trace
            );
        }
    }
}

#[test]
fn sem_g168_three_groups_are_chosen_with_and_without_weights() {
    let (pairs, weights) = sixty();
    let data = Dissimilarities::new(pairs, 60).unwrap();
    for weights in [None, Some(weights.as_slice())] {
        let choice = World::solo().run(async |comm| {
            let method = Pairwise::default();
            method
                .choose(&comm, &data, weights, 20, &Control::default())
                .await
        });
        let choice = choice.unwrap().remove(0);
        assert_eq!(choice.clusters, 3, "{choice:?}");
    }
}

#[test]
fn sem_g174_the_search_never_raises_the_cost_and_ranks_agree() {
    // Seven groups on a line, wider than they are apart.
    let at = |i: usize| (i % 7 * 20 + i * 37 % 31) as f64;
    let square = |i, j| (at(i) - at(j)) * (at(i) - at(j));
    let pairs = (0..140).flat_map(|i| (0..140).map(move |j| square(i, j)));
    let data = Dissimilarities::new(pairs.collect(), 140).unwrap();
    let cost = |ranks: usize, search: usize, labels: &[u32]| {
        let method = Pairwise {
            search,
            ..Pairwise::default()
        };
        let settle = async |comm: Communicator| {
            let control = Control::default();
            method.settle(&comm, &data, None, labels, &control).await
        };
        PairwiseClustering::join(World::threads(ranks).run(settle).unwrap()).unwrap()
    };
    // Neighbours in the input are neighbours in no other way.
    let labels: Vec<u32> = (0..140).map(|i| i / 20).collect();
    let (without, with) = (cost(1, 0, &labels), cost(1, 20, &labels));
    assert!(with.cost <= without.cost && with.sizes.len() == 7);
    assert_eq!(cost(3, 20, &labels), with);
    let few = World::solo().run(async |comm| {
        let (method, control) = (Pairwise::default(), Control::default());
        let run = method.settle(&comm, &data, None, &[1, 2], &control).await;
        Ok::<_, MiningError>(run.unwrap_err())
    });
    let few = few.unwrap().remove(0);
    let what = matches!(
        &few,
        MiningError::Data(DataError::Shape { what: "labels", .. })
    );
    assert!(what, "{few:?}");
}
