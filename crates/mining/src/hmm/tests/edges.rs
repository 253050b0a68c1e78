//! Numbers at the edges of what is allowed.

use super::*;

/// What the fit of one state, from a mean of 0 and this variance, ends with.
fn told(variance: f64, numbers: Vec<f64>) -> Result<HmmFitted, String> {
    let shown = Emissions::Gaussian {
        dim: 1,
        means: vec![0.0],
        variances: vec![variance],
    };
    let start = HmmModel::new(vec![1.0], vec![1.0], shown).unwrap();
    let seen = Observations::numbers(&[numbers], 1).unwrap();
    on_ranks(2, async |comm, control| {
        let fitted = Hmm::default().fit(comm, &start, &seen, control).await;
        Ok(fitted.map_err(|error| error.to_string()))
    })
    .remove(0)
}

#[test]
fn sem_g152_more_states_than_places_are_refused() {
    let letters = Observations::symbols(&[vec![0, 1], vec![1]], 2).unwrap();
    let numbers = Observations::numbers(&[vec![0.0, 1.0], vec![2.0]], 1).unwrap();
    for seen in [&letters, &numbers] {
        // So many states would take more memory than there is.
        for states in [4, 1_000_000_000] {
            let told = on_ranks(2, async |comm, control| {
                let start = Hmm::default()
                    .start(comm, seen, states, (0, 0), control)
                    .await;
                Ok(matches!(
                    start,
                    Err(MiningError::FewPoints { points: 3, .. })
                ))
            });
            assert_eq!(told, [true, true], "{states}");
        }
        let found = on_ranks(1, async |comm, control| {
            Hmm::default().start(comm, seen, 3, (0, 0), control).await
        });
        assert_eq!(found[0].states(), 3);
    }
}

#[test]
fn sem_g133_variances_that_no_number_holds_are_told() {
    // A square of 1.4e308 is a number, and the sum of three is none.
    let numbers = vec![1.2e154, -1.2e154, 1.2e154];
    let error = told(1e307, numbers).unwrap_err();
    assert!(
        error.contains("component 0 has a variance beyond"),
        "{error}"
    );
    // All on one side there is hardly a variance, and its sums are none.
    let error = told(1e307, vec![1.3e154; 3]).unwrap_err();
    assert!(
        error.contains("component 0 has a variance beyond"),
        "{error}"
    );
    // A number, but one that no model may have.
    let error = told(1e307, vec![9e153, -9e153]).unwrap_err();
    assert!(
        error.contains("component 0 has a variance beyond"),
        "{error}"
    );
    let found = told(1e300, vec![1e149, -1e149, 1e149]).unwrap();
    assert!(found.trace.iter().all(|value| value.is_finite()));
    // A state that is so far from a place that no number holds the distance.
    let far = vec![1.7e308, -1.7e308];
    let shown = Emissions::Gaussian {
        dim: 1,
        means: far.clone(),
        variances: vec![1.0; 2],
    };
    let start = HmmModel::new(vec![0.5; 2], vec![0.5; 4], shown).unwrap();
    let seen = Observations::numbers(&[far], 1).unwrap();
    let error = on_ranks(1, async |comm, control| {
        let fitted = Hmm::default().fit(comm, &start, &seen, control).await;
        Ok(fitted.map_err(|error| error.to_string()))
    })
    .remove(0)
    .unwrap_err();
    assert!(
        error.contains("component 0 has a variance beyond"),
        "{error}"
    );
    // From a start that is found.
    let seen = Observations::numbers(&[vec![1e160, -1e160, 2e160, -2e160]], 1).unwrap();
    let error = on_ranks(1, async |comm, control| {
        let start = Hmm::default().start(comm, &seen, 2, (0, 0), control).await;
        Ok(start.unwrap_err().to_string())
    });
    assert!(error[0].contains("has a variance beyond"), "{}", error[0]);
}
