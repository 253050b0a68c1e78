//! Golden numbers, a slow twin, the same bits on any number of ranks, bad input.

use super::*;
use crate::DataError;
use crate::lanes::Instructions;
use motet_comm::World;

mod edges;
mod lost;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{a} and {b}");
}

/// The discrete model and the two sequences of the golden file.
fn golden() -> (HmmModel, Observations) {
    let shown = Emissions::Discrete {
        symbols: 3,
        probabilities: vec![0.5, 0.4, 0.1, 0.1, 0.3, 0.6],
    };
    let model = HmmModel::new(vec![0.6, 0.4], vec![0.7, 0.3, 0.2, 0.8], shown).unwrap();
    let first = (0..40).map(|i: u32| (i * i + 3 * i) / 2 % 7 % 3).collect();
    let second = (0..25).map(|i: u32| (5 * i + i / 4) % 3).collect();
    (model, Observations::symbols(&[first, second], 3).unwrap())
}

fn on_ranks<R: Send>(
    ranks: usize,
    job: impl AsyncFn(&Communicator, &Control<'_>) -> Result<R, MiningError> + Sync,
) -> Vec<R> {
    let job = &job;
    let run = World::threads(ranks).run(async |comm| job(&comm, &Control::default()).await);
    run.unwrap()
}

fn fit(ranks: usize, method: Hmm, start: &HmmModel, seen: &Observations) -> HmmFitted {
    on_ranks(ranks, async |comm, control| {
        method.fit(comm, start, seen, control).await
    })
    .remove(0)
}

#[test]
fn ranks_share_whole_sequences_of_some_thousand_places_together() {
    let blocks = |lengths: &[usize]| {
        let sequences: Vec<_> = lengths.iter().map(|&places| vec![0; places]).collect();
        Observations::symbols(&sequences, 1).unwrap().blocks()
    };
    assert_eq!(blocks(&[1_000_000]), 1);
    assert_eq!(blocks(&[5000; 7]), 7);
    assert_eq!(blocks(&[1000; 7]), 2);
}

#[test]
fn sem_g133_a_step_to_next_to_nothing_is_possible_behind_a_small_number() {
    // 1e-17 is not divided out yet when 1e-300 comes; together they are below all numbers.
    let shown = Emissions::Discrete {
        symbols: 3,
        probabilities: vec![1e-17, 1e-300, 1.0, 0.5, 0.5, 0.0],
    };
    let model = HmmModel::new(vec![1.0, 0.0], vec![1.0, 0.0, 0.0, 1.0], shown).unwrap();
    let seen = Observations::symbols(&[vec![0, 1, 0, 2]], 3).unwrap();
    let score = on_ranks(1, async |comm, control| {
        model.score(comm, &seen, control).await
    });
    close(score[0][0], (1e-17_f64).ln() * 2.0 + (1e-300_f64).ln());
}

#[test]
fn sem_g133_a_state_that_cannot_be_reached_may_show_all_best() {
    // Without a way there, the second state would show 1000 places by 99 to 1 each.
    let shown = Emissions::Discrete {
        symbols: 2,
        probabilities: vec![0.99, 0.01, 0.01, 0.99],
    };
    let model = HmmModel::new(vec![1.0, 0.0], vec![1.0, 0.0, 0.0, 1.0], shown).unwrap();
    let seen = Observations::symbols(&[vec![1; 1000]], 2).unwrap();
    let shares = on_ranks(1, async |comm, control| {
        model.posteriors(comm, &seen, control).await
    });
    close(shares[0].log_p[0], 1000.0 * 0.01_f64.ln());
    for pair in shares[0].shares[0].chunks_exact(2) {
        close(pair[0], 1.0);
        close(pair[1], 0.0);
    }
    let found = fit(1, Hmm::default(), &model, &seen).model;
    assert_eq!(found.start(), [1.0, 0.0]);
    assert_eq!(found.transitions(), [1.0, 0.0, 0.0, 1.0]);
    let Emissions::Discrete { probabilities, .. } = found.emissions() else {
        panic!("symbols stay symbols");
    };
    close(probabilities[1], 1.0);
    assert_eq!(probabilities[2..], [0.01, 0.99]);
}

#[test]
fn sem_g133_probability_path_and_posteriors_have_the_golden_numbers() {
    let (model, seen) = golden();
    let scores = on_ranks(2, async |comm, control| {
        model.score(comm, &seen, control).await
    });
    close(scores[0][0], -44.563510509877574);
    close(scores[1].iter().sum(), -74.67732770609288);
    let paths = on_ranks(1, async |comm, control| {
        model.decode(comm, &seen, control).await
    });
    let golden = [
        0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1,
        1, 1, 0, 0, 0, 0, 1, 1, 1, 0,
    ];
    assert_eq!(paths[0].paths[0], golden);
    close(paths[0].log_p[0], -49.86323589928435);
    let shares = on_ranks(1, async |comm, control| {
        model.posteriors(comm, &seen, control).await
    });
    close(shares[0].shares[0][0], 0.7650743691008137);
    close(shares[0].shares[0][1], 0.23492563089918625);
    for pair in shares[0].shares[1].chunks_exact(2) {
        close(pair[0] + pair[1], 1.0);
    }
}

#[test]
fn sem_g133_a_fit_has_the_golden_numbers() {
    let (model, seen) = golden();
    let method = Hmm {
        tolerance: 0.0,
        iterations: 10,
        ..Hmm::default()
    };
    let found = fit(2, method, &model, &seen);
    close(found.trace[0], -74.67732770609288);
    close(found.trace[5], -58.10965715764374);
    close(found.trace[9], -57.72353686046339);
    close(found.model.start[1], 1.4035447091452173e-6);
    close(found.model.transitions[2], 0.4309679876010909);
    let Emissions::Discrete { probabilities, .. } = &found.model.emissions else {
        panic!("symbols stay symbols");
    };
    close(probabilities[1], 0.06794568507526592);
    close(probabilities[5], 0.7986572332677954);
}

#[test]
fn sem_g133_normal_emissions_have_the_golden_numbers() {
    let row = |j: usize| {
        let (x, other) = (j as f64, (j / 23 % 2) as f64);
        [(x * x * 0.37).sin() + 2.0 * other, (x * 1.7).cos() + other]
    };
    let seen = Observations::numbers(&[(0..200).flat_map(row).collect()], 2).unwrap();
    let shown = Emissions::Gaussian {
        dim: 2,
        means: vec![0.0, 0.0, 2.0, 1.0],
        variances: vec![1.0; 4],
    };
    let start = HmmModel::new(vec![0.6, 0.4], vec![0.7, 0.3, 0.2, 0.8], shown).unwrap();
    let method = Hmm {
        tolerance: 0.0,
        iterations: 8,
        ..Hmm::default()
    };
    let found = fit(1, method, &start, &seen);
    close(found.trace[0], -526.0841491259845);
    close(found.trace[7], -458.339392058378);
    close(found.model.transitions[1], 0.038072338365912194);
    let Emissions::Gaussian {
        means, variances, ..
    } = &found.model.emissions
    else {
        panic!("numbers stay numbers");
    };
    close(means[1], 0.006125480915379834);
    close(means[2], 2.018023203349848);
    close(variances[0], 0.5109287504198975);
    close(variances[3], 0.5011625761245809);
}

/// A model of many states, and sequences of several lengths.
fn many(states: usize, symbols: usize) -> (HmmModel, Observations) {
    let rows = |count: usize, columns: usize, seed: usize| -> Vec<f64> {
        let rows = (0..count).flat_map(|i| {
            let row: Vec<f64> = (0..columns)
                .map(|j| (1 + (i * 7 + j * 13 + seed) % 11) as f64)
                .collect();
            let sum: f64 = row.iter().sum();
            row.into_iter().map(move |value| value / sum)
        });
        rows.collect()
    };
    let shown = Emissions::Discrete {
        symbols,
        probabilities: rows(states, symbols, 5),
    };
    let model = HmmModel::new(rows(1, states, 1), rows(states, states, 3), shown).unwrap();
    let sequence = |s: usize| {
        let length = 200 + s * 37 % 301;
        (0..length)
            .map(move |i| ((i * i + s * 3 + i / 5) % symbols) as u32)
            .collect()
    };
    let seen = Observations::symbols(&(0..70).map(sequence).collect::<Vec<_>>(), symbols).unwrap();
    (model, seen)
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    // One lane, two of them, and three.
    for states in [5, 12, 20] {
        let (model, seen) = many(states, 6);
        let packed = Packed::new(&model);
        let sums = |instructions| {
            let mut scratch = Scratch::default();
            scratch.begin(&packed);
            let pass = Pass {
                packed: &packed,
                seen: &seen,
                sequence: 3,
                want: Want::Sums,
                scratch: &mut scratch,
            };
            let log = passed(instructions, pass).unwrap();
            let Scratch {
                first,
                steps,
                visits,
                sums,
                ..
            } = scratch;
            (log, [first, steps, visits, sums])
        };
        let expected = sums(Instructions::Plain);
        for instructions in Instructions::available() {
            assert_eq!(
                sums(instructions),
                expected,
                "{instructions:?}, {states} states"
            );
        }
    }
}

#[test]
fn sem_g134_ranks_change_no_bit_and_ln_p_never_falls() {
    let (model, seen) = many(11, 6);
    let method = Hmm {
        tolerance: 0.0,
        iterations: 6,
        ..Hmm::default()
    };
    let one = fit(1, method, &model, &seen);
    assert!(
        one.trace.windows(2).all(|pair| pair[1] >= pair[0]),
        "{:?}",
        one.trace
    );
    let scores = on_ranks(1, async |comm, control| {
        model.score(comm, &seen, control).await
    });
    for ranks in [2, 3, 8] {
        assert_eq!(fit(ranks, method, &model, &seen), one, "{ranks}");
        let all = on_ranks(ranks, async |comm, control| {
            model.score(comm, &seen, control).await
        });
        assert_eq!(all[ranks - 1], scores[0], "{ranks}");
        let paths = on_ranks(ranks, async |comm, control| {
            model.decode(comm, &seen, control).await
        });
        let ends = paths.iter().fold(0, |end, part| {
            assert_eq!(
                (part.sequences.start, part.paths.len()),
                (end, part.sequences.len())
            );
            part.sequences.end
        });
        assert_eq!(ends, 70);
    }
}

/// ln p and the best path by trying all paths.
fn all_paths(model: &HmmModel, symbols: &[u32]) -> (f64, Vec<u32>) {
    let Emissions::Discrete {
        symbols: count,
        probabilities,
    } = &model.emissions
    else {
        panic!("the twin knows symbols");
    };
    let states = model.states();
    let (mut sum, mut best, mut path) = (0.0, -1.0, Vec::new());
    for number in 0..states.pow(symbols.len() as u32) {
        let at = |t: usize| number / states.pow(t as u32) % states;
        let p: f64 = (0..symbols.len())
            .map(|t| {
                let step = match t {
                    0 => model.start[at(0)],
                    _ => model.transitions[at(t - 1) * states + at(t)],
                };
                step * probabilities[at(t) * count + symbols[t] as usize]
            })
            .product();
        sum += p;
        if p > best {
            best = p;
            path = (0..symbols.len()).map(|t| at(t) as u32).collect();
        }
    }
    (sum.ln(), path)
}

#[test]
fn sem_g133_a_short_sequence_is_the_sum_over_all_paths() {
    let (model, _) = many(3, 4);
    let short = vec![2, 0, 3, 1, 1, 2, 0];
    let (log_p, path) = all_paths(&model, &short);
    let seen = Observations::symbols(&[short], 4).unwrap();
    let scores = on_ranks(1, async |comm, control| {
        model.score(comm, &seen, control).await
    });
    close(scores[0][0], log_p);
    let paths = on_ranks(1, async |comm, control| {
        model.decode(comm, &seen, control).await
    });
    assert_eq!(paths[0].paths[0], path);
}

/// A chain of three states that starts in the first, and numbers that are far from it.
fn chain() -> (HmmModel, Vec<f64>) {
    let shown = Emissions::Gaussian {
        dim: 1,
        means: vec![0.0, 50.0, 100.0],
        variances: vec![1.0; 3],
    };
    let steps = vec![0.5, 0.5, 0.0, 0.0, 0.75, 0.25, 0.0, 0.0, 1.0];
    let model = HmmModel::new(vec![1.0, 0.0, 0.0], steps, shown).unwrap();
    // Between two states, so that several paths count.
    (model, vec![100.0, 0.0, 25.0, 75.01, 100.0, 99.0])
}

/// Each path of the chain that is possible, with its ln p.
fn paths_in_logs(model: &HmmModel, numbers: &[f64]) -> Vec<(Vec<usize>, f64)> {
    let states = model.states();
    let path = |number: usize| -> Vec<usize> {
        (0..numbers.len())
            .map(|t| number / states.pow(t as u32) % states)
            .collect()
    };
    let log_p = |path: &[usize]| -> f64 {
        let shown = numbers.iter().zip(path).map(|(x, state)| {
            let z = x - 50.0 * *state as f64;
            -0.5 * (z * z + std::f64::consts::TAU.ln())
        });
        let steps = path
            .windows(2)
            .map(|pair| model.transitions[pair[0] * states + pair[1]].ln());
        model.start[path[0]].ln() + shown.sum::<f64>() + steps.sum::<f64>()
    };
    let paths = (0..states.pow(numbers.len() as u32)).map(path);
    let paths = paths.map(|path| (log_p(&path), path));
    let possible = paths.filter(|(log, _)| log.is_finite());
    possible.map(|(log, path)| (path, log)).collect()
}

/// How likely each state is at each place, and how often each step is taken, by paths with their
/// ln p; and the ln p of all of them.
fn visits_and_steps(paths: &[(Vec<usize>, f64)], all: f64, states: usize) -> (Vec<f64>, Vec<f64>) {
    let places = paths[0].0.len();
    let (mut visits, mut steps) = (vec![0.0; places * states], vec![0.0; states * states]);
    for (path, log) in paths {
        let share = (log - all).exp();
        for (place, state) in path.iter().enumerate() {
            visits[place * states + state] += share;
        }
        for pair in path.windows(2) {
            steps[pair[0] * states + pair[1]] += share;
        }
    }
    (visits, steps)
}

/// Each state has the mean and the variance of the numbers, weighted by its visits.
fn are_moments(model: &HmmModel, visits: &[f64], numbers: &[f64], floor: f64) {
    let Emissions::Gaussian {
        means, variances, ..
    } = &model.emissions
    else {
        panic!("numbers stay numbers");
    };
    for state in 0..model.states() {
        let shares = || visits.iter().skip(state).step_by(model.states());
        let moment = |of: &dyn Fn(f64) -> f64| {
            let sums = shares().zip(numbers).map(|(share, x)| share * of(*x));
            sums.sum::<f64>() / shares().sum::<f64>()
        };
        let mean = moment(&|x| x);
        close(means[state], mean);
        close(
            variances[state],
            moment(&|x| (x - mean) * (x - mean)).max(floor),
        );
    }
}

#[test]
fn sem_g133_a_chain_that_is_far_from_what_is_seen_is_possible() {
    let (model, numbers) = chain();
    is_that_of_all_paths(&model, &numbers);
}

/// Probability, path, posteriors and the first step of a fit are those of all paths, several of
/// which count.
fn is_that_of_all_paths(model: &HmmModel, numbers: &[f64]) {
    let (states, paths) = (model.states(), paths_in_logs(model, numbers));
    let (path, best) = paths.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let sum: f64 = paths.iter().map(|(_, log)| (log - best).exp()).sum();
    let all = best + sum.ln();
    let seen = Observations::numbers(&[numbers.to_vec()], 1).unwrap();
    let scores = on_ranks(1, async |comm, control| {
        model.score(comm, &seen, control).await
    });
    close(scores[0][0], all);
    let found = on_ranks(1, async |comm, control| {
        model.decode(comm, &seen, control).await
    });
    let found_path: Vec<usize> = found[0].paths[0].iter().map(|s| *s as usize).collect();
    assert_eq!(&found_path, path);
    close(found[0].log_p[0], *best);
    let found = on_ranks(1, async |comm, control| {
        model.posteriors(comm, &seen, control).await
    });
    let (visits, steps) = visits_and_steps(&paths, all, states);
    assert!(
        visits
            .iter()
            .filter(|share| (0.1..0.9).contains(*share))
            .count()
            > 2
    );
    assert_eq!(found[0].shares[0].len(), visits.len());
    for (found, visits) in found[0].shares[0].iter().zip(&visits) {
        close(*found, *visits);
    }
    let method = Hmm {
        iterations: 1,
        ..Hmm::default()
    };
    let found = fit(1, method, model, &seen);
    close(found.trace[0], all);
    let rows = found.model.transitions.chunks_exact(states);
    for (found, steps) in rows.zip(steps.chunks_exact(states)) {
        let all: f64 = steps.iter().sum();
        found
            .iter()
            .zip(steps)
            .for_each(|(found, step)| close(*found, step / all));
    }
    are_moments(&found.model, &visits, numbers, method.floor);
}

#[test]
fn sem_g133_a_state_that_is_far_at_first_counts_later() {
    // Beside the second state the first is 0 at the first place; the second cannot go on.
    let shown = Emissions::Discrete {
        symbols: 3,
        probabilities: vec![1e-300, 0.5, 0.5, 1.0, 0.0, 0.0],
    };
    let model = HmmModel::new(vec![1e-200, 1.0], vec![1.0, 0.0, 0.0, 1.0], shown).unwrap();
    let seen = Observations::symbols(&[vec![0, 1, 2]], 3).unwrap();
    let right = 1e-200_f64.ln() + 1e-300_f64.ln() + 0.25_f64.ln();
    let scores = on_ranks(1, async |comm, control| {
        model.score(comm, &seen, control).await
    });
    close(scores[0][0], right);
    let found = on_ranks(1, async |comm, control| {
        model.decode(comm, &seen, control).await
    });
    assert_eq!(found[0].paths[0], [0, 0, 0]);
    close(found[0].log_p[0], right);
}

#[test]
fn sem_g135_bad_models_and_sequences_name_their_place() {
    let shown = |probabilities: Vec<f64>| Emissions::Discrete {
        symbols: 2,
        probabilities,
    };
    let half = vec![0.5; 4];
    let text = |start: Vec<f64>, steps: Vec<f64>, shown: Emissions| {
        HmmModel::new(start, steps, shown).unwrap_err().to_string()
    };
    let good = vec![0.5, 0.5];
    assert!(text(good.clone(), half.clone(), shown(vec![0.5, 0.5, 0.5, 0.6])).contains("row 1"));
    assert!(text(good.clone(), vec![0.5; 3], shown(half.clone())).contains("3 numbers"));
    assert!(text(vec![0.5, 0.6], half.clone(), shown(half.clone())).contains("start"));
    assert!(text(vec![], vec![], shown(vec![])).contains("no columns"));
    let flat = Emissions::Gaussian {
        dim: 1,
        means: good.clone(),
        variances: vec![1.0, 0.0],
    };
    assert!(text(good.clone(), half.clone(), flat).contains("row 1, column 0"));
    let seen =
        |sequences: &[Vec<u32>]| Observations::symbols(sequences, 2).unwrap_err().to_string();
    assert!(seen(&[vec![0], vec![]]).contains("sequence 1"));
    assert!(seen(&[vec![0], vec![1, 2]]).contains("sequence 1, position 1"));
    assert!(seen(&[]).contains("no points"));
    let nan = Observations::numbers(&[vec![0.0, f64::NAN]], 2).unwrap_err();
    assert!(matches!(
        nan,
        DataError::NotFinite {
            row: 0,
            column: 1,
            ..
        }
    ));
    let model = HmmModel::new(good, half, shown(vec![1.0, 0.0, 1.0, 0.0])).unwrap();
    let numbers = Observations::numbers(&[vec![0.0]], 1).unwrap();
    let some = Observations::symbols(&[vec![0, 0], vec![0, 1]], 2).unwrap();
    let fails = |seen: &Observations| {
        let told = on_ranks(2, async |comm, control| {
            let one = model.score(comm, seen, control).await.unwrap_err();
            let two = model.decode(comm, seen, control).await.unwrap_err();
            let three = Hmm::default()
                .fit(comm, &model, seen, control)
                .await
                .unwrap_err();
            Ok([one, two, three].map(|error| format!("{error:?}")))
        });
        told.concat()
    };
    assert!(
        fails(&numbers)
            .iter()
            .all(|error| error.contains("emissions"))
    );
    let impossible = "Impossible { sequence: 1, position: 1 }";
    assert!(
        fails(&some).iter().all(|error| error == impossible),
        "{:?}",
        fails(&some)
    );
}

#[test]
fn sem_g160_a_fit_that_was_stopped_goes_on_to_the_same_bits() {
    let (start, seen) = golden();
    let method = Hmm {
        tolerance: 1e-6,
        iterations: 40,
        ..Hmm::default()
    };
    let whole = fit(2, method, &start, &seen);
    let folder = tempfile::tempdir().unwrap();
    let kept = Checkpoints::new(folder.path(), "hmm").every(std::time::Duration::ZERO);
    for (ranks, steps) in [(1, 3), (2, 8)] {
        let token = crate::CancelToken::new();
        let count = motet_sync::Mutex::new(0);
        let show = |_: &Progress| {
            let mut count = count.lock();
            *count += 1;
            if *count > steps {
                token.cancel();
            }
        };
        let control = Control {
            progress: Some(&show),
            cancel: Some(&token),
        };
        let stopped = World::threads(ranks).run(async |comm| {
            let run = method.fit_kept(&comm, &start, &seen, &control, &kept).await;
            Ok::<_, MiningError>(matches!(run, Err(MiningError::Cancelled)))
        });
        assert!(stopped.unwrap().into_iter().all(|stopped| stopped));
    }
    let resume = |method: Hmm| {
        let run = World::threads(3).run(async |comm| {
            let control = Control::default();
            let run = method.fit_kept(&comm, &start, &seen, &control, &kept);
            Ok::<_, MiningError>(run.await.map_err(|error| error.to_string()))
        });
        run.unwrap().remove(0)
    };
    let other = Hmm {
        floor: 0.5,
        ..method
    };
    assert!(resume(other).unwrap_err().contains("other options"));
    assert_eq!(resume(method).unwrap(), whole);
}
