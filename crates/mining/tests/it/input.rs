//! Bad input is refused with an error that says what, where and what to do.

use crate::data::anneal;
use motet_comm::{CommError, Communicator, RunError, World};
use motet_mining::{
    Annealing, Clustering, Clusters, Control, DataError, Dissimilarities, Hmm, Init, KMeans,
    MiningError, Mixture, Observations, ParameterError, Points, Scaling,
};

const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

/// The error that every rank of every world ends with.
fn error_of<F: AsyncFn(&Communicator) -> Result<Clustering, MiningError> + Sync>(
    body: F,
) -> MiningError {
    let mut errors = Vec::new();
    for ranks in RANKS {
        let ends = World::threads(ranks)
            .run(async |comm| Ok::<_, RunError<CommError>>(body(&comm).await.map(|_| ())))
            .unwrap();
        assert_eq!(ends.len(), ranks);
        errors.extend(ends.into_iter().map(|end| end.expect_err("bad input")));
    }
    let first = errors.remove(0);
    for error in errors {
        assert_eq!(error.to_string_with_source(), first.to_string_with_source());
    }
    first
}

fn anneal_error(method: &Annealing, points: &Points) -> MiningError {
    error_of(async |comm| method.fit(comm, points, &Control::default()).await)
}

fn kmeans_error(method: &KMeans, points: &Points) -> MiningError {
    error_of(async |comm| method.fit(comm, points, &Control::default()).await)
}

fn four() -> Points {
    Points::new(vec![1.0, 2.0, 2.0, 4.0], 1).unwrap()
}

#[test]
fn sem_g120_points_that_are_no_points() {
    let new = |values: &[f64], dim| Points::new(values.to_vec(), dim).unwrap_err();
    assert_eq!(new(&[], 2), DataError::Empty);
    assert_eq!(new(&[1.0], 0), DataError::NoColumns);
    assert_eq!(new(&[1.0; 5], 2), DataError::Ragged { values: 5, dim: 2 });
    let infinite = DataError::NotFinite {
        row: 1,
        column: 0,
        value: f64::INFINITY,
    };
    assert_eq!(new(&[0.0, 0.0, f64::INFINITY, f64::NAN], 2), infinite);
    assert!(infinite.to_string().contains("row 1, column 0 holds inf"));
    let nan = new(&[0.0, 0.0, 0.0, f64::NAN], 2);
    assert!(
        matches!(
            nan,
            DataError::NotFinite {
                row: 1,
                column: 1,
                ..
            }
        ),
        "{nan:?}"
    );
}

#[test]
fn sem_g120_weights_that_are_no_weights() {
    let weighted = |weights: &[f64]| four().weighted(weights.to_vec()).unwrap_err();
    assert_eq!(
        weighted(&[1.0]),
        DataError::WeightCount {
            weights: 1,
            points: 4
        }
    );
    assert_eq!(
        weighted(&[1.0, 1.0, -0.5, 1.0]),
        DataError::BadWeight {
            row: 2,
            weight: -0.5
        }
    );
    assert!(matches!(
        weighted(&[1.0, f64::NAN, 1.0, 1.0]),
        DataError::BadWeight { row: 1, .. }
    ));
    assert_eq!(weighted(&[0.0; 4]), DataError::WeightSum { sum: 0.0 });
    assert_eq!(
        weighted(&[1e308; 4]),
        DataError::WeightSum { sum: f64::INFINITY }
    );
    // A cluster of the rows behind the first would have no mass.
    assert_eq!(
        weighted(&[1e300, 1e-300, 0.0, 0.0]),
        DataError::VanishingWeight {
            row: 1,
            weight: 1e-300,
            sum: 1e300
        }
    );
    assert!(four().weighted(vec![1e140, 1e-140, 0.0, 1.0]).is_ok());
}

#[test]
fn sem_g120_more_clusters_than_points() {
    let method = |clusters| Annealing {
        clusters: Clusters::Exactly(clusters),
        ..Annealing::default()
    };
    assert!(matches!(
        anneal_error(&method(5), &four()),
        MiningError::FewPoints {
            clusters: 5,
            points: 4
        }
    ));
    assert!(matches!(
        anneal_error(&method(4), &four()),
        MiningError::FewDistinctPoints {
            clusters: 4,
            distinct: 3
        }
    ));
    let light = four().weighted(vec![1.0, 1.0, 1.0, 0.0]).unwrap();
    assert!(matches!(
        kmeans_error(
            &KMeans {
                clusters: 3,
                ..KMeans::default()
            },
            &light
        ),
        MiningError::FewDistinctPoints {
            clusters: 3,
            distinct: 2
        }
    ));
}

#[test]
fn sem_g120_parameters_of_annealing() {
    let zero = |field| MiningError::Parameter(ParameterError::Zero { field });
    let bad = |method: Annealing| anneal_error(&method, &four()).to_string_with_source();
    let base = Annealing::default;
    let same = |error: MiningError| error.to_string_with_source();
    assert_eq!(
        bad(Annealing {
            clusters: Clusters::Exactly(0),
            ..base()
        }),
        same(zero("clusters"))
    );
    assert_eq!(
        bad(Annealing {
            iterations: 0,
            ..base()
        }),
        same(zero("iterations"))
    );
    let none = Clusters::Found {
        t_min: 1.0,
        at_most: 0,
    };
    assert_eq!(
        bad(Annealing {
            clusters: none,
            ..base()
        }),
        same(zero("clusters"))
    );
    for t_min in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let clusters = Clusters::Found { t_min, at_most: 3 };
        assert!(bad(Annealing { clusters, ..base() }).contains("`t_min` is"));
    }
    for cooling in [0.0, 1.0, 1.5, f64::NAN] {
        assert!(bad(Annealing { cooling, ..base() }).contains("`cooling` is"));
    }
    for tolerance in [0.0, f64::NAN] {
        assert!(
            bad(Annealing {
                tolerance,
                ..base()
            })
            .contains("`tolerance` is")
        );
    }
    for softness in [0.0, 1.0, f64::NAN] {
        assert!(bad(Annealing { softness, ..base() }).contains("`softness` is"));
    }
}

#[test]
fn sem_g120_parameters_of_kmeans() {
    let bad = |method: KMeans| kmeans_error(&method, &four()).to_string_with_source();
    let base = KMeans::default;
    assert!(
        bad(KMeans {
            clusters: 0,
            ..base()
        })
        .contains("`clusters` is 0")
    );
    assert!(
        bad(KMeans {
            restarts: 0,
            ..base()
        })
        .contains("`restarts` is 0")
    );
    assert!(
        bad(KMeans {
            max_iterations: 0,
            ..base()
        })
        .contains("`max_iterations` is 0")
    );
    for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(
            bad(KMeans {
                tolerance,
                ..base()
            })
            .contains("`tolerance` is")
        );
    }
}

/// Messages through the chain of sources, as a program prints them.
trait WithSource {
    fn to_string_with_source(&self) -> String;
}

impl WithSource for MiningError {
    fn to_string_with_source(&self) -> String {
        let source = std::error::Error::source(self).map(ToString::to_string);
        format!("{self}: {}", source.unwrap_or_default())
    }
}

#[test]
fn an_annealing_ends_where_rounding_hides_that_no_share_is_soft() {
    // Seventeen weights of a seventeenth add up to less than 1.
    let value = |i: i32| f64::from(i * i % 13 + i / 9 * 40) + f64::from(i) / 64.0;
    let points = Points::new((0..17).map(value).collect(), 1).unwrap();
    let method = Annealing {
        clusters: Clusters::Exactly(2),
        softness: 1e-17,
        ..Annealing::default()
    };
    let found = World::solo()
        .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
        .unwrap();
    assert_eq!(found[0].sizes, [9, 8]);
}

#[test]
fn sem_g576_one_row_far_away_takes_no_digits_from_the_others() {
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} and {b}");
    for (near, far) in [
        (vec![1.0, 2.0, 3.0], 1e17),
        (vec![1.0, 2.0, 11.0, 12.0], 1e20),
    ] {
        let clusters = near.len() / 2 + 1;
        let points = Points::new([near, vec![far]].concat(), 1).unwrap();
        let run = World::solo().run(async |comm| {
            let control = Control::default();
            let means = KMeans {
                clusters,
                ..KMeans::default()
            };
            let annealing = Annealing {
                clusters: Clusters::Exactly(clusters),
                ..Annealing::default()
            };
            let means = means.fit(&comm, &points, &control).await?;
            Ok::<_, MiningError>([means, annealing.fit(&comm, &points, &control).await?])
        });
        for found in run.unwrap().remove(0) {
            if clusters == 2 {
                close(found.centres[0], 2.0);
                close(found.spread[0], (2.0_f64 / 3.0).sqrt());
                close(found.inertia, 2.0);
            } else {
                close(found.centres[0], 1.5);
                close(found.centres[1], 11.5);
                close(found.spread[1], 0.5);
                close(found.inertia, 1.0);
            }
            close(found.centres[clusters - 1], far);
        }
    }
}

#[test]
fn a_row_without_weight_changes_nothing_however_far_away_it_is() {
    let near = vec![0.0, 1.0, 10.0, 11.0];
    let alone = anneal(
        1,
        &Annealing::default(),
        &Points::new(near.clone(), 1).unwrap(),
    );
    for far in [1e200, -1.7e308, 0.4] {
        let values = [near.clone(), vec![far]].concat();
        let points = Points::new(values, 1).unwrap();
        let points = points.weighted(vec![1.0, 1.0, 1.0, 1.0, 0.0]).unwrap();
        let found = anneal(2, &Annealing::default(), &points);
        assert_eq!(
            (&found.centres, &found.spread),
            (&alone.centres, &alone.spread)
        );
        assert_eq!(
            (found.inertia, &found.labels[..4]),
            (1.0, &[0, 0, 1, 1][..])
        );
    }
}

#[test]
fn a_row_without_weight_has_no_part_in_a_spread_that_is_next_to_nothing() {
    let points = Points::new(vec![-1.0, 0.0, 1e-200, 0.4, 1.0], 1).unwrap();
    let points = points.weighted(vec![1.0, 1.0, 1.0, 0.0, 1.0]).unwrap();
    let method = KMeans {
        clusters: 3,
        init: Init::Centres(vec![-1.0, 0.0, 1.0]),
        ..KMeans::default()
    };
    let found = World::threads(2)
        .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
        .unwrap();
    assert_eq!(found[0].sizes, [1, 3, 1]);
    // In units of the small number, from the centre that was found: sums have the digits of 1.
    let (spread, centre) = (found[0].spread[1] / 1e-200, found[0].centres[1] / 1e-200);
    let square = (centre * centre + (1.0 - centre) * (1.0 - centre)) / 2.0;
    assert!(
        (spread / square.sqrt() - 1.0).abs() < 1e-9,
        "{spread} from {centre}"
    );
}

#[test]
fn distances_are_right_where_their_squares_are_no_numbers() {
    let points = Points::new(vec![0.0, 1.0, 10.0, 11.0], 1).unwrap();
    let found = anneal(1, &Annealing::default(), &points);
    let far = Points::new(vec![1e200, -1.7e308], 1).unwrap();
    assert_eq!(
        found.transform(&far).unwrap(),
        [1e200, 1e200, 1.7e308, 1.7e308]
    );
    assert_eq!(found.predict(&far).unwrap().len(), 2);
    // In units of the points a number so far away is none.
    let tiny = Points::new(vec![0.0, 1e-300, 1e-299, 1.1e-299], 1).unwrap();
    let found = anneal(1, &Annealing::default(), &tiny);
    let far = Points::new(vec![1e50], 1).unwrap();
    assert_eq!(found.transform(&far).unwrap(), [1e50, 1e50]);
    assert_eq!(found.predict(&far).unwrap().len(), 1);
}

#[test]
fn sem_g617_what_no_memory_holds_is_told_on_all_ranks() {
    // The first of 2^49 bytes or more, which no process can have.
    const WIDE: usize = 1 << 22;
    let wide = Points::new(vec![1.0; WIDE], WIDE).unwrap();
    let mixture = Mixture {
        components: 1,
        ..Mixture::default()
    };
    let pairs = Dissimilarities::new(vec![0.0, 1.0, 1.0, 0.0], 2).unwrap();
    let scaling = Scaling {
        dim: usize::MAX,
        ..Scaling::default()
    };
    let letters = Observations::symbols(&[vec![0, 1, 0]], 1 << 47).unwrap();
    let told = World::threads(2)
        .run(async |comm| {
            let control = Control::default();
            let one = mixture.fit(&comm, &wide, &control).await.map(drop);
            let two = scaling.fit(&comm, &pairs, &control).await.map(drop);
            let hmm = Hmm::default();
            let three = hmm.start(&comm, &letters, 2, (0, 0), &control).await;
            let all = [one, two, three.map(drop)];
            Ok::<_, MiningError>(all.map(|end| end.unwrap_err().to_string_with_source()))
        })
        .unwrap();
    let bytes = [5 * 8 * (1_u64 << 44), u64::MAX, 6 * 8 * ((1_u64 << 47) + 2)];
    for rank in told {
        for (told, bytes) in rank.iter().zip(bytes) {
            assert!(
                told.contains(&format!("would take {bytes} bytes")),
                "{told}"
            );
        }
    }
    let error = pairs.among(&vec![0; 1 << 23]).unwrap_err();
    let bytes = 1_u64 << 49;
    assert!(matches!(error, DataError::Memory { bytes: asked, .. } if asked == bytes));
    assert!(error.to_string().contains("a smaller sample"), "{error}");
}
