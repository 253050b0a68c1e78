//! Columns at the end of the range of numbers.

use super::*;

/// What a fit on two ranks is refused with.
fn refusal(method: &Mixture, points: &Points) -> String {
    let done = World::threads(2).run(async |comm| {
        let refused = method.fit(&comm, points, &Control::default()).await;
        Ok::<String, MiningError>(match refused.unwrap_err() {
            MiningError::Data(error) => error.to_string(),
            other => other.to_string(),
        })
    });
    done.unwrap().remove(0)
}

#[test]
fn sem_g132_a_column_beyond_all_numbers_is_named() {
    // No floor would help. One component has its mean between numbers whose squares are beyond all
    // numbers; with two already the sums of the column are.
    let one = MixtureStart::Labels(vec![0; 30]);
    let several = Mixture::default().start;
    for (far, components, start) in [(1e160, 1, one), (1.7e308, 2, several)] {
        let row = |i: i32| {
            [
                f64::from(i),
                f64::from(i % 3),
                f64::from(i % 2 * 2 - 1) * far,
            ]
        };
        let huge = Points::new((0..30).flat_map(row).collect(), 3).unwrap();
        for covariance in [Covariance::Full, Covariance::Diagonal] {
            let method = Mixture {
                components,
                covariance,
                start: start.clone(),
                ..Mixture::default()
            };
            let told = refusal(&method, &huge);
            let words = format!(", column 2 holds {far:e}");
            assert!(told.contains(&words), "{told}");
            assert!(told.contains("divide the column"), "{told}");
        }
    }
    // All on one side, where their sum is beyond all numbers.
    let heavy = Points::new((0..30).flat_map(|i| [f64::from(i), 1e308]).collect(), 2).unwrap();
    let told = refusal(&Mixture::default(), &heavy);
    assert!(told.contains(", column 1 holds 1e308"), "{told}");
}

#[test]
fn sem_g132_a_column_that_one_start_cannot_sum_ends_no_other_start() {
    let huge = Points::new(vec![1.0, 1e200, -1e200], 1).unwrap();
    assert!(is_of_one_start(&MiningError::Data(huge.too_large(0))));
    let component = 0;
    let problem = "it has no rows";
    assert!(is_of_one_start(&MiningError::Degenerate {
        component,
        problem
    }));
    assert!(!is_of_one_start(&MiningError::Data(DataError::Empty)));
    assert!(!is_of_one_start(&MiningError::Cancelled));
}

#[test]
fn groups_whose_squares_are_numbers_around_their_means_only_are_fitted() {
    let row = |i: usize| {
        let far = 1e160 + (i * 7 % 5) as f64 * 1e150;
        [
            (i / 2 * 3 % 7) as f64,
            if i.is_multiple_of(2) { -far } else { far },
        ]
    };
    let points = Points::new((0..30).flat_map(row).collect(), 2).unwrap();
    let labels: Vec<u32> = (0..30).map(|i| i % 2).collect();
    for covariance in KINDS {
        let method = Mixture {
            covariance,
            start: MixtureStart::Labels(labels.clone()),
            ..Mixture::default()
        };
        let found = fit(2, &method, &points);
        assert_eq!(found.labels, labels, "{covariance:?}");
        for (mean, far) in [(found.means[1], -1e160), (found.means[3], 1e160)] {
            assert!((mean / far - 1.0).abs() < 1e-6, "{covariance:?}: {mean:e}");
        }
        assert!(found.covariances.iter().all(|value| value.is_finite()));
    }
}
