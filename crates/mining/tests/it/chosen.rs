//! The number of clusters that points speak for.

use crate::data::{Numbers, labelled};
use motet_comm::World;
use motet_mining::{Annealing, ClusterChoice, Control, MiningError, ParameterError, Points};

fn chosen(ranks: usize, points: &Points, at_most: usize) -> ClusterChoice {
    let method = Annealing::default();
    let found = World::threads(ranks)
        .run(async |comm| {
            let control = Control::default();
            method.choose(&comm, points, at_most, &control).await
        })
        .unwrap();
    assert!(found.iter().all(|other| *other == found[0]));
    found[0].clone()
}

#[test]
fn sem_g149_needs_data_the_groups_of_known_sets_are_counted() {
    // Iris: two of its three species are one heap.
    for (name, groups) in [("s1", 15), ("r15", 15), ("unbalance", 8), ("iris", 2)] {
        let choice = chosen(2, &labelled(name).points, 20);
        assert_eq!(choice.clusters, groups, "{name}: {choice:?}");
        assert!(choice.lasts >= 3.0 && choice.appear.len() >= groups);
        assert!(choice.appear.is_sorted_by(|before, after| before >= after));
    }
}

#[test]
fn sem_g149_one_heap_is_one_cluster_and_equal_rows_are_too() {
    let mut numbers = Numbers(2);
    let values = (0..1500).map(|_| numbers.normal()).collect();
    assert_eq!(chosen(3, &Points::new(values, 3).unwrap(), 12).clusters, 1);
    let equal = Points::new(vec![7.0; 40], 2).unwrap();
    let choice = chosen(2, &equal, 5);
    assert_eq!((choice.clusters, choice.appear.len()), (1, 0));
    // Three different rows, which are as far apart as can be.
    let three = (0..30).map(|i| f64::from(i % 3)).collect();
    assert_eq!(
        chosen(2, &Points::new(three, 1).unwrap(), 9).appear.len(),
        2
    );
}

#[test]
fn sem_g149_a_choice_among_no_numbers_is_refused() {
    let points = Points::new(vec![1.0, 2.0], 1).unwrap();
    let found = World::solo().run(async |comm| {
        let control = Control::default();
        let method = Annealing::default();
        let choice = method.choose(&comm, &points, 0, &control).await;
        Ok::<_, MiningError>(choice.unwrap_err())
    });
    let error = found.unwrap().remove(0);
    let zero = ParameterError::Zero { field: "clusters" };
    assert!(matches!(error, MiningError::Parameter(found) if found == zero));
}

#[test]
fn sem_g169_a_choice_among_many_clusters_of_few_rows_ends() {
    let mut numbers = Numbers(5);
    let values = (0..900).map(|_| numbers.normal()).collect();
    let points = Points::new(values, 3).unwrap();
    let choice = chosen(1, &points, 100);
    assert_eq!(choice.clusters, 1, "{choice:?}");
}
