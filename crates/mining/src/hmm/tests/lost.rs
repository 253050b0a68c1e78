//! States whose scaled numbers become 0 beside those of others, and count all the same.

use super::*;

/// Numbers of variance 1 around these means.
fn around(means: Vec<f64>) -> Emissions {
    let variances = vec![1.0; means.len()];
    Emissions::Gaussian {
        dim: 1,
        means,
        variances,
    }
}

/// ln p and the posteriors of the only sequence.
fn told(model: &HmmModel, seen: &Observations) -> (f64, Vec<f64>) {
    let score = on_ranks(1, async |comm, control| {
        model.score(comm, seen, control).await
    });
    let mut found = on_ranks(1, async |comm, control| {
        model.posteriors(comm, seen, control).await
    })
    .remove(0);
    assert_eq!(score[0], found.log_p);
    (found.log_p[0], found.shares.remove(0))
}

#[test]
fn sem_g133_the_only_way_to_a_state_leads_through_one_that_seemed_lost() {
    // The first place is 50 deviations from the first state and shows the second, which is behind
    // by 250 at each place after it: 1250 in all, on both sides.
    let steps = vec![0.5, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let shown = around(vec![0.0, 50.0, 100.0]);
    let model = HmmModel::new(vec![0.5, 0.5, 0.0], steps, shown).unwrap();
    is_that_of_all_paths(&model, &[50.0, 80.0, 80.0, 80.0, 80.0, 80.0]);
    let all = -1250.0 - 5.0 * 200.0 + (0.25_f64 + 0.5).ln() - 3.0 * std::f64::consts::TAU.ln();
    let seen = Observations::numbers(&[vec![50.0, 80.0, 80.0, 80.0, 80.0, 80.0]], 1).unwrap();
    let (log_p, shares) = told(&model, &seen);
    close(log_p, all);
    close(shares[0], 1.0 / 3.0);
    close(shares[5], 1.0 / 3.0);
}

#[test]
fn sem_g133_a_state_may_be_far_behind_at_both_ends_and_count() {
    // Two states that are never left. Each place is worth 50 to the one or the other.
    let shown = around(vec![0.0, 10.0]);
    let model = HmmModel::new(vec![0.25, 0.75], vec![1.0, 0.0, 0.0, 1.0], shown).unwrap();
    let (near, far) = (vec![0.0; 20], vec![10.0; 40]);
    let numbers = [near.clone(), far, near].concat();
    let seen = Observations::numbers(&[numbers], 1).unwrap();
    let (log_p, shares) = told(&model, &seen);
    close(log_p, -40.0 * 50.0 - 40.0 * std::f64::consts::TAU.ln());
    for pair in shares.chunks_exact(2) {
        close(pair[0], 0.25);
        close(pair[1], 0.75);
    }
    // At first all at once: 70 deviations and 80.
    let numbers = [vec![-70.0], vec![10.0; 40], vec![0.0; 20]].concat();
    let (log_p, shares) = told(&model, &Observations::numbers(&[numbers], 1).unwrap());
    let (one, two): (f64, f64) = (2450.0 + 40.0 * 50.0, 3200.0 + 20.0 * 50.0);
    assert!(two + 100.0 < one, "the second counts alone");
    let root = std::f64::consts::TAU.ln() / 2.0;
    close(log_p, 0.75_f64.ln() - two - 61.0 * root);
    close(shares[1], 1.0);
}

#[test]
fn sem_g133_symbols_that_are_next_to_impossible_may_come_twice() {
    let shown = Emissions::Discrete {
        symbols: 2,
        probabilities: vec![1e-200, 1.0, 1.0, 1e-100],
    };
    let model = HmmModel::new(vec![0.5, 0.5], vec![1.0, 0.0, 0.0, 1.0], shown).unwrap();
    let seen = Observations::symbols(&[vec![0, 0, 1, 1, 1, 1]], 2).unwrap();
    let (log_p, shares) = told(&model, &seen);
    close(log_p, 2.0 * 1e-200_f64.ln());
    shares.iter().for_each(|share| close(*share, 0.5));
}

#[test]
fn sem_g133_steps_that_are_next_to_impossible_may_come_twice() {
    // The third state is reached by 1e-200 twice, and alone shows the last symbol.
    let shown = Emissions::Discrete {
        symbols: 2,
        probabilities: vec![1.0, 1e-150, 1.0, 1e-150, 0.0, 1.0],
    };
    let steps = vec![1.0, 1e-200, 0.0, 0.0, 1.0, 1e-200, 0.0, 0.0, 1.0];
    let model = HmmModel::new(vec![1.0, 0.0, 0.0], steps, shown).unwrap();
    let seen = Observations::symbols(&[vec![0, 0, 1, 1, 1]], 2).unwrap();
    // 1e-450 by the first state alone; 1e-400 by the third from the third place on.
    let (log_p, shares) = told(&model, &seen);
    close(log_p, 2.0 * 1e-200_f64.ln());
    for (share, right) in shares[3 * 2..].iter().zip([0.0, 0.0, 1.0].iter().cycle()) {
        close(*share, *right);
    }
    // The smallest numbers are probabilities, too.
    let shown = Emissions::Discrete {
        symbols: 2,
        probabilities: vec![1.0, 0.0, 1.0, 5e-324],
    };
    let model = HmmModel::new(vec![1.0, 0.0], vec![1.0, 5e-324, 0.0, 1.0], shown).unwrap();
    let seen = Observations::symbols(&[vec![0, 1]], 2).unwrap();
    close(told(&model, &seen).0, 2.0 * 5e-324_f64.ln());
    let found = on_ranks(1, async |comm, control| {
        model.decode(comm, &seen, control).await
    });
    assert_eq!(found[0].paths[0], [0, 1]);
}

#[test]
fn sem_g133_states_that_are_far_apart_and_follow_each_other_are_as_before() {
    // What is lost here counts nowhere: the states are found at once, one after the other.
    let (model, _) = chain();
    let seen = Observations::numbers(&[vec![0.0, 0.0, 50.0, 50.0, 100.0, 100.0]], 1).unwrap();
    let (log_p, shares) = told(&model, &seen);
    // The steps have 0.5, 0.5, 0.75, 0.25 and 1.
    let steps: f64 = 0.5 * 0.5 * 0.75 * 0.25;
    close(log_p, steps.ln() - 3.0 * std::f64::consts::TAU.ln());
    for (place, found) in shares.chunks_exact(3).enumerate() {
        let state = place / 2;
        (0..3).for_each(|s| close(found[s], if s == state { 1.0 } else { 0.0 }));
    }
}

#[test]
fn sem_g134_ranks_change_no_bit_where_states_seem_lost() {
    let shown = around(vec![0.0, 50.0, 100.0]);
    let steps = vec![0.5, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let model = HmmModel::new(vec![0.5, 0.5, 0.0], steps, shown).unwrap();
    let sequence = |s: usize| -> Vec<f64> {
        let far = if s.is_multiple_of(3) { 50.0 } else { 2.0 };
        let rest = (0..99).map(|i| 79.0 + ((s + i) % 5) as f64 / 2.0);
        [far].into_iter().chain(rest).collect()
    };
    let seen = Observations::numbers(&(0..90).map(sequence).collect::<Vec<_>>(), 1).unwrap();
    assert!(seen.blocks() > 1);
    let method = Hmm {
        iterations: 3,
        ..Hmm::default()
    };
    let one = fit(1, method, &model, &seen);
    for ranks in [2, 3] {
        assert_eq!(fit(ranks, method, &model, &seen), one, "{ranks}");
    }
}
