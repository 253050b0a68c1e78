//! The same bits for any number of ranks.

use crate::data::{Numbers, anneal, kmeans};
use motet_comm::World;
use motet_mining::{
    Annealing, Clustering, Clusters, Control, Init, KMeans, MiningError, Points, Steps,
};

const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

/// Sets that are small for eight ranks and sets that are large enough for summaries.
fn sets() -> Vec<Points> {
    let mut numbers = Numbers(11);
    let mut sets: Vec<Points> = [(5, 1, 2), (700, 2, 5), (3000, 3, 6), (900, 12, 4)]
        .map(|(rows, dim, heaps)| Points::new(numbers.heaps(rows, dim, heaps, 0.1), dim).unwrap())
        .into();
    let weights = (0..20_000)
        .map(|_| (numbers.uniform() * 5.0).floor())
        .collect();
    let large = Points::new(numbers.heaps(20_000, 2, 8, 0.1), 2).unwrap();
    sets.push(large.weighted(weights).unwrap());
    sets
}

/// Every number with all its bits.
fn bits(found: &Clustering) -> (Vec<u64>, Vec<u32>, Vec<usize>) {
    let trace = found
        .trace
        .iter()
        .flat_map(|step| [step.temperature, step.free_energy]);
    let numbers = found
        .centres
        .iter()
        .chain(&found.masses)
        .chain(&found.spread)
        .copied();
    let all = numbers
        .chain(trace)
        .chain([found.inertia])
        .map(f64::to_bits);
    (all.collect(), found.labels.clone(), found.sizes.clone())
}

fn assert_same(runs: impl Fn(usize) -> Clustering) {
    let one = runs(1);
    for ranks in RANKS {
        let here = runs(ranks);
        assert_eq!(bits(&here), bits(&one), "{ranks} ranks");
        assert_eq!(here, one, "{ranks} ranks");
    }
}

#[test]
fn sem_g117_annealing() {
    for points in sets() {
        let method = Annealing {
            clusters: Clusters::Exactly(4),
            ..Annealing::default()
        };
        assert_same(|ranks| anneal(ranks, &method, &points));
    }
}

#[test]
fn sem_g117_annealing_with_clusters_found() {
    for points in sets() {
        let clusters = Clusters::Found {
            t_min: 0.02,
            at_most: 9,
        };
        let method = Annealing {
            clusters,
            ..Annealing::default()
        };
        assert_same(|ranks| anneal(ranks, &method, &points));
    }
}

#[test]
fn sem_g117_kmeans_from_both_starts() {
    for points in sets() {
        for init in [Init::PlusPlus, Init::Random] {
            let method = KMeans {
                clusters: 4,
                init,
                seed: 3,
                restarts: 3,
                ..KMeans::default()
            };
            assert_same(|ranks| kmeans(ranks, &method, &points));
        }
    }
}

#[test]
fn sem_g514_kmeans_begins_with_the_centres_that_are_given() {
    for (scale, offset) in [(1.0, 0.0), (1e-200, 0.0), (1e9, -7e9)] {
        // Two rows of points: the best clusters are left and right, these lie above each other.
        let corners = [[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 1.0]];
        let to_data = |row: &[f64; 2]| row.map(|value| value * scale + offset);
        let values: Vec<f64> = corners.iter().flat_map(to_data).collect();
        let points = Points::new(values, 2).unwrap();
        let above = [[4.0, 0.9], [4.0, 0.2]].iter().flat_map(to_data).collect();
        let method = KMeans {
            init: Init::Centres(above),
            ..KMeans::default()
        };
        assert_same(|ranks| kmeans(ranks, &method, &points));
        let found = kmeans(2, &method, &points);
        let mut centres: Vec<f64> = [[5.0, 0.0], [5.0, 1.0]].iter().flat_map(to_data).collect();
        if found.centres[1] != centres[1] {
            centres.rotate_left(2);
        }
        assert_eq!(found.centres, centres);
        assert_eq!(found.labels[0], found.labels[2]);
        assert_ne!(found.labels[0], found.labels[1]);
    }
}

#[test]
fn sem_g514_centres_that_are_none_are_refused() {
    let points = sets().remove(0);
    let (dim, far) = (points.dim(), f64::MAX);
    for (centres, words) in [
        (vec![0.0; 2 * dim + 1], "one centre for each cluster"),
        (vec![0.0; dim], "one centre for each cluster"),
        (vec![f64::NAN; 2 * dim], "finite"),
        (vec![f64::INFINITY; 2 * dim], "finite"),
        (vec![far; 2 * dim], "so far"),
    ] {
        let method = KMeans {
            init: Init::Centres(centres),
            ..KMeans::default()
        };
        for ranks in RANKS {
            let results = World::threads(ranks)
                .run(async |comm| {
                    Ok::<_, MiningError>(method.fit(&comm, &points, &Control::default()).await)
                })
                .unwrap();
            for result in results {
                match result {
                    Err(MiningError::Parameter(fault)) => {
                        let said = fault.to_string();
                        assert!(
                            said.starts_with("`init`: ") && said.contains(words),
                            "{said}"
                        );
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn sem_g117_kmeans_stopped_early() {
    let points = sets().remove(2);
    let method = KMeans {
        clusters: 9,
        max_iterations: 2,
        ..KMeans::default()
    };
    assert_same(|ranks| kmeans(ranks, &method, &points));
}

#[test]
fn sem_g117_every_rank_knows_everything_but_the_labels_of_others() {
    let points = sets().remove(1);
    for ranks in RANKS {
        let method = Annealing {
            clusters: Clusters::Exactly(3),
            ..Annealing::default()
        };
        let parts = World::threads(ranks)
            .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
            .unwrap();
        let mut next = 0;
        for part in &parts {
            assert_eq!(part.rows.start, next);
            assert_eq!(part.labels.len(), part.rows.len());
            next = part.rows.end;
            let common = |part: &Clustering| {
                let mut common = part.clone();
                (common.rows, common.labels) = (0..0, Vec::new());
                common
            };
            assert_eq!(common(part), common(&parts[0]));
        }
        assert_eq!(next, points.len());
    }
}

#[test]
fn parts_join_in_order_only() {
    let points = sets().remove(2);
    let method = KMeans {
        clusters: 3,
        ..KMeans::default()
    };
    let whole = kmeans(1, &method, &points);
    let part = |rows: std::ops::Range<usize>| {
        let mut part = whole.clone();
        part.labels = part.labels[rows.clone()].to_vec();
        part.rows = rows;
        part
    };
    assert_eq!(
        Clustering::join([part(0..10), part(10..3000)]),
        Some(whole.clone())
    );
    assert_eq!(Clustering::join([part(10..3000), part(0..10)]), None);
    assert_eq!(Clustering::join([part(0..10), part(11..3000)]), None);
    assert_eq!(Clustering::join([]), None);
}

#[test]
fn sem_g117_steps() {
    for points in sets() {
        let centres: Vec<f64> = points.values()[..2 * points.dim()].to_vec();
        let run = |ranks: usize| {
            World::threads(ranks)
                .run(async |comm| {
                    let mut steps = Steps::new(&comm, &points).await?;
                    let soft = steps.soft(0.1, &[0.25, 0.75], &centres).await?;
                    Ok::<_, MiningError>((soft, steps.hard(&centres).await?))
                })
                .unwrap()
        };
        let one = run(1).remove(0);
        for ranks in RANKS {
            assert!(run(ranks).iter().all(|here| *here == one), "{ranks} ranks");
        }
    }
}

#[test]
fn blocks_computed_by_others_give_the_same_step() {
    for points in sets() {
        let (masses, centres) = ([0.25, 0.75], &points.values()[..2 * points.dim()]);
        for ranks in [1, 3, 8] {
            let steps = World::threads(ranks)
                .run(async |comm| {
                    let mut steps = Steps::new(&comm, &points).await?;
                    // The last block first, as a scheduler might.
                    let by = |blocks: usize, compute: &(dyn Fn(usize) -> Vec<f64> + Sync)| {
                        let sums = (0..blocks).rev().map(compute);
                        let add = |mut sum: Vec<f64>, block: Vec<f64>| {
                            sum.iter_mut().zip(&block).for_each(|(s, b)| *s += b);
                            sum
                        };
                        sums.reduce(add)
                            .expect("nobody asks for the sum of no blocks")
                    };
                    let others = steps.soft_by(0.5, &masses, centres, by).await?;
                    Ok::<_, MiningError>((others, steps.soft(0.5, &masses, centres).await?))
                })
                .unwrap();
            for (others, own) in steps {
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
                assert!(
                    near(others.free_energy, own.free_energy),
                    "{others:?}, {own:?}"
                );
                let numbers = others.centres.iter().zip(&own.centres);
                assert!(
                    numbers.clone().all(|(a, b)| near(*a, *b)),
                    "{others:?}, {own:?}"
                );
            }
        }
    }
}
