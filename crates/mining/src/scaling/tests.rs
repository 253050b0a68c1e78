//! Golden numbers, the same bits on any number of ranks, laws, bad input.

use super::*;
use crate::{DataError, Progress};
use motet_comm::World;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} and {b}");
}

/// Every third row of iris, its four columns: distances.
fn iris() -> Vec<f64> {
    let file = motet_testkit::data().join("labelled-sklearn/iris.csv");
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .step_by(3)
        .map(|line| {
            line.split(',')
                .take(4)
                .map(|v| v.parse().unwrap())
                .collect()
        })
        .collect();
    let apart = |a: &[f64], b: &[f64]| {
        let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        square.sqrt()
    };
    rows.iter()
        .flat_map(|a| rows.iter().map(|b| apart(a, b)).collect::<Vec<f64>>())
        .collect()
}

/// Points of two columns, and their distances.
fn plane(n: usize) -> (Vec<f64>, Vec<f64>) {
    let at = |i: usize| [(i * 37 % 101) as f64 / 10.0, (i * 59 % 103) as f64 / 20.0];
    let apart = |i: usize, j: usize| {
        let ([a, b], [c, d]) = (at(i), at(j));
        (a - c).hypot(b - d)
    };
    let pairs = (0..n).flat_map(|i| (0..n).map(move |j| apart(i, j)));
    ((0..n).flat_map(at).collect(), pairs.collect())
}

fn fit(ranks: usize, method: &Scaling, pairs: &Dissimilarities) -> Scaled {
    let mut parts = World::threads(ranks)
        .run(async |comm| method.fit(&comm, pairs, &Control::default()).await)
        .unwrap();
    let first = parts.remove(0);
    assert!(
        parts.iter().all(|part| *part == first),
        "all ranks know all"
    );
    first
}

fn method(method: ScalingMethod) -> Scaling {
    Scaling {
        method,
        ..Scaling::default()
    }
}

/// The stress before each of some steps, and the places after them.
fn steps(pairs: &Dissimilarities, count: usize) -> (Vec<f64>, Vec<f64>) {
    let run = World::threads(2).run(async |comm| {
        let control = Control::default();
        let team = RankView::new(&comm, &control);
        let field = Field::new(&team, pairs, 2)?;
        let rows = (0..pairs.len()).map(|i| i as f64);
        let mut places: Vec<f64> = rows.flat_map(|i| [i.sin(), (i * 1.3).cos()]).collect();
        let mut stress = Vec::new();
        for _ in 0..count {
            let image = field.image(&places, 0.0).await?;
            stress.push(image.stress);
            places = field.step(&places, &image).await?;
        }
        stress.push(field.stress(&places).await?);
        field.centre(&mut places);
        Ok::<_, MiningError>((stress, places))
    });
    run.unwrap().remove(0)
}

#[test]
fn sem_g141_golden_numbers_needs_data() {
    let values = iris();
    let pairs = Dissimilarities::new(values.clone(), 50).unwrap();
    let (stress, places) = steps(&pairs, 20);
    close(stress[0], 5767.352101808835);
    close(stress[1], 4189.076949636648);
    close(stress[20], 56.213039683800424);
    close(places[0], 2.508737232110533);
    close(places[1], -0.8734761680967267);
    let gaps = (0..2500).map(
        |at| match (at / 50 + at % 50) % 3 == 0 && at / 50 != at % 50 {
            true => f64::NAN,
            false => values[at],
        },
    );
    let gaps = Dissimilarities::new(gaps.collect(), 50).unwrap();
    let (stress, _) = steps(&gaps, 20);
    close(stress[0], 3862.340899031627);
    close(stress[1], 2740.651249320562);
    close(stress[20], 37.87393976349722);
    assert!(
        stress.windows(2).all(|pair| pair[1] <= pair[0]),
        "{stress:?}"
    );
    let found = fit(1, &method(ScalingMethod::Classical), &pairs);
    close(found.eigenvalues[0], 210.94910896925396);
    close(found.eigenvalues[1], 14.746489051561902);
    close(found.stress, 17.052219829479103);
    close(found.place(0)[0], -2.6408175557695897);
    close(found.place(0)[1], 0.327042518165764);
    // Row 0 among the places of rows 1 to 5.
    let mut line = vec![f64::NAN; 50];
    line[1..6].copy_from_slice(&values[1..6]);
    let new = found.interpolate(&line, 5).unwrap();
    close(new[0], -2.375114071958002);
    close(new[1], 0.2527624697852144);
    // The stress that the reference found: classical .00148, majorised .00087.
    assert!(found.relative_stress < 0.00149);
    assert!(fit(1, &method(ScalingMethod::Majorised), &pairs).relative_stress < 0.000_88);
}

#[test]
fn sem_g141_proteins_as_good_as_the_reference_needs_data() {
    let file = motet_testkit::data().join("dissim-protein/dissimilarity.csv");
    let text = std::fs::read_to_string(file).unwrap();
    let values: Vec<f64> = text
        .lines()
        .flat_map(|line| line.split(',').map(|v| v.parse::<f64>().unwrap()))
        .collect();
    let pairs = Dissimilarities::new(values, 213).unwrap();
    let found = fit(2, &method(ScalingMethod::Majorised), &pairs);
    close(found.eigenvalues[0], 2766.1235295702695);
    close(found.eigenvalues[1], 1819.8605828254085);
    assert!(found.relative_stress < 0.0896, "{}", found.relative_stress);
    let found = fit(2, &method(ScalingMethod::Annealed), &pairs);
    assert!(found.relative_stress < 0.0890, "{}", found.relative_stress);
}

#[test]
fn sem_g142_the_same_bits_on_any_number_of_ranks() {
    let (_, mut values) = plane(37);
    // Not Euclidean, and not symmetric.
    values
        .iter_mut()
        .enumerate()
        .for_each(|(at, v)| *v *= 1.0 + (at % 7) as f64 / 20.0);
    let whole = Dissimilarities::new(values.clone(), 37).unwrap();
    for i in 0..37 {
        for j in 0..37 {
            if i != j && (i + j) % 5 == 0 {
                values[i * 37 + j] = f64::NAN;
            }
        }
    }
    let gaps = Dissimilarities::new(values, 37).unwrap();
    for pairs in [&whole, &gaps] {
        for kind in [
            ScalingMethod::Classical,
            ScalingMethod::Majorised,
            ScalingMethod::Annealed,
        ] {
            let method = Scaling {
                iterations: 40,
                ..method(kind)
            };
            let first = fit(1, &method, pairs);
            for ranks in [2, 3, 8] {
                assert_eq!(fit(ranks, &method, pairs), first, "{kind:?}, {ranks} ranks");
            }
        }
    }
}

#[test]
fn sem_g143_points_of_a_plane_are_found_up_to_a_turn() {
    let (_, values) = plane(60);
    let pairs = Dissimilarities::new(values.clone(), 60).unwrap();
    for kind in [ScalingMethod::Classical, ScalingMethod::Majorised] {
        let found = fit(2, &method(kind), &pairs);
        for i in 0..60 {
            for j in 0..60 {
                let (a, b) = (found.place(i), found.place(j));
                let d = (a[0] - b[0]).hypot(a[1] - b[1]);
                assert!(
                    (d - values[i * 60 + j]).abs() < 1e-5,
                    "{kind:?}, {i}, {j}: {d}"
                );
            }
        }
        let line: Vec<f64> = values[..60].to_vec();
        let new = found.interpolate(&line, 60).unwrap();
        let own = found.place(0);
        assert!(
            (new[0] - own[0]).hypot(new[1] - own[1]) < 0.01,
            "{new:?}, {own:?}"
        );
    }
    // Another order of the rows: the same distances.
    let turned = (0..3600).map(|at| values[at / 60 * 7 % 60 * 60 + at % 60 * 7 % 60]);
    let turned = Dissimilarities::new(turned.collect(), 60).unwrap();
    let (one, other) = (
        fit(1, &Scaling::default(), &pairs),
        fit(1, &Scaling::default(), &turned),
    );
    assert!(one.stress < 1e-9 && other.stress < 1e-9);
}

#[test]
fn sem_g143_more_dimensions_than_rows_and_equal_rows() {
    let two = Dissimilarities::new(vec![0.0, 3.0, 3.0, 0.0], 2).unwrap();
    let found = fit(
        3,
        &Scaling {
            dim: 4,
            ..Scaling::default()
        },
        &two,
    );
    assert!(
        found.stress < 1e-12 && found.eigenvalues.len() == 4,
        "{found:?}"
    );
    let same = Dissimilarities::new(vec![0.0; 9], 3).unwrap();
    for kind in [
        ScalingMethod::Classical,
        ScalingMethod::Majorised,
        ScalingMethod::Annealed,
    ] {
        assert_eq!(fit(1, &method(kind), &same).stress, 0.0);
    }
    let one = Dissimilarities::new(vec![0.0], 1).unwrap();
    assert_eq!(fit(1, &Scaling::default(), &one).places, [0.0, 0.0]);
}

#[test]
fn sem_g524_distances_of_any_scale_have_the_same_places() {
    let (_, mut values) = plane(20);
    let bent = values.iter_mut().enumerate();
    bent.for_each(|(at, v)| *v *= 1.0 + (at % 7) as f64 / 20.0);
    // Without the unit the products of squares leave the range of numbers from 2^256 on.
    for scale in [2.0_f64.powi(-400), 2.0_f64.powi(400)] {
        let scaled = values.iter().map(|value| value * scale).collect();
        let scaled = Dissimilarities::new(scaled, 20).unwrap();
        let plain = Dissimilarities::new(values.clone(), 20).unwrap();
        for kind in [
            ScalingMethod::Classical,
            ScalingMethod::Majorised,
            ScalingMethod::Annealed,
        ] {
            let [one, other] = [&plain, &scaled].map(|pairs| fit(2, &method(kind), pairs));
            let places: Vec<f64> = one.places.iter().map(|place| place * scale).collect();
            assert_eq!(other.places, places, "{kind:?}, times {scale:e}");
            assert_eq!(other.stress, one.stress * scale * scale);
            assert_eq!(other.relative_stress, one.relative_stress);
            let first = |found: &Scaled| found.trace.first().map(|step| step.temperature);
            assert_eq!(first(&other), first(&one).map(|t| t * scale));
        }
    }
}

#[test]
fn sem_g533_rows_are_placed_among_others_at_any_scale() {
    let (_, values) = plane(20);
    let pairs = Dissimilarities::new(values.clone(), 20).unwrap();
    let found = fit(1, &Scaling::default(), &pairs);
    let line = &values[..20];
    let plain = found.interpolate(line, 7).unwrap();
    for scale in [2.0_f64.powi(-900), 2.0_f64.powi(900)] {
        let times = |values: &[f64]| values.iter().map(|v| v * scale).collect::<Vec<f64>>();
        let mut far = found.clone();
        far.places = times(&found.places);
        let new = far.interpolate(&times(line), 7).unwrap();
        assert_eq!(new, times(&plain), "times {scale:e}");
    }
}

#[test]
fn sem_g503_few_rows_are_annealed_as_well_as_majorised() {
    // Points of a plane, of which annealing alone often keeps a line only.
    let mut lower = 0;
    for (n, first) in [(4, 0), (5, 7), (5, 20), (6, 3), (8, 11), (10, 30)] {
        let at = |i: usize| [(i * 37 % 101) as f64, (i * 59 % 103) as f64];
        let apart = |i: usize, j: usize| {
            let ([a, b], [c, d]) = (at(first + i), at(first + j));
            (a - c).hypot(b - d)
        };
        let all = (0..n).flat_map(|i| (0..n).map(move |j| apart(i, j)));
        let pairs = Dissimilarities::new(all.collect(), n).unwrap();
        let [annealed, majorised] = [ScalingMethod::Annealed, ScalingMethod::Majorised]
            .map(|kind| fit(2, &method(kind), &pairs));
        assert!(
            annealed.stress <= majorised.stress,
            "{n} rows: {annealed:?}"
        );
        assert!(annealed.relative_stress < 1e-9, "{n} rows: {annealed:?}");
        let last = annealed.trace.last().unwrap();
        assert!(last.temperature == 0.0 && close_to(last.stress, annealed.stress));
        lower += usize::from(annealed.trace.len() > 1);
    }
    assert_eq!(lower, 6, "all were annealed");
}

/// But for rounding, where nearly nothing is left.
fn close_to(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9
}

#[test]
fn progress_is_told_after_each_step() {
    // Not of a plane: the places have stress.
    let apart = plane(50).1.into_iter().map(f64::sqrt).collect();
    let pairs = Dissimilarities::new(apart, 50).unwrap();
    for kind in [
        ScalingMethod::Classical,
        ScalingMethod::Majorised,
        ScalingMethod::Annealed,
    ] {
        let (method, told) = (method(kind), motet_sync::Mutex::new(Vec::new()));
        let show = |now: &Progress| told.lock().push(now.done);
        let control = Control {
            progress: Some(&show),
            cancel: None,
        };
        let found = World::threads(2)
            .run(async |comm| method.fit(&comm, &pairs, &control).await)
            .unwrap()
            .remove(0);
        let steps: usize = found.trace.iter().map(|step| step.iterations).sum();
        let told = std::mem::take(&mut *told.lock());
        assert!(told.len() > steps, "{kind:?}: {told:?} of {steps} steps");
        let ends = (told[0], told[told.len() - 1]);
        assert!(told.is_sorted() && ends.0 >= 0.0 && ends.1 <= 1.0);
        assert!(ends.1 > 0.5 || kind == ScalingMethod::Classical, "{ends:?}");
    }
}

#[test]
fn sem_g144_what_cannot_be_scaled_is_refused() {
    let nan = f64::NAN;
    let parts = vec![
        0.0, 1.0, nan, nan, 1.0, 0.0, nan, nan, nan, nan, 0.0, 1.0, nan, nan, 1.0, 0.0,
    ];
    let parts = Dissimilarities::new(parts, 4).unwrap();
    let refused = |method: Scaling, pairs: &Dissimilarities| {
        let run = World::threads(2).run(async |comm| {
            Ok::<_, MiningError>(
                method
                    .fit(&comm, pairs, &Control::default())
                    .await
                    .unwrap_err(),
            )
        });
        run.unwrap().remove(0)
    };
    let error = refused(Scaling::default(), &parts);
    assert!(
        matches!(error, MiningError::Data(DataError::NotLinked { row: 2 })),
        "{error}"
    );
    let two = Dissimilarities::new(vec![0.0, 3.0, 3.0, 0.0], 2).unwrap();
    for bad in [
        Scaling {
            dim: 0,
            ..Scaling::default()
        },
        Scaling {
            iterations: 0,
            ..Scaling::default()
        },
        Scaling {
            cooling: 1.0,
            ..Scaling::default()
        },
        Scaling {
            tolerance: -1.0,
            ..Scaling::default()
        },
    ] {
        assert!(matches!(refused(bad, &two), MiningError::Parameter(_)));
    }
    let found = fit(1, &Scaling::default(), &two);
    let bad = |line: &[f64]| found.interpolate(line, 2).unwrap_err();
    assert!(matches!(bad(&[1.0]), DataError::Ragged { .. }));
    assert!(matches!(
        bad(&[1.0, 2.0, 1.0, -1.0]),
        DataError::NegativePair {
            row: 1,
            column: 1,
            ..
        }
    ));
    assert!(matches!(
        bad(&[f64::INFINITY, 2.0]),
        DataError::NotFinite {
            row: 0,
            column: 0,
            ..
        }
    ));
    assert!(matches!(
        bad(&[nan, nan]),
        DataError::NoKnownPair { row: 0 }
    ));
}
