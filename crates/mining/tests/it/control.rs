//! Progress and cancellation.

use crate::data::Numbers;
use motet_comm::{CommError, RunError, World};
use motet_mining::{
    Annealing, CancelToken, Clusters, Control, Init, KMeans, MiningError, Points, Progress,
};
use motet_testkit::Log;

const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

fn points() -> Points {
    Points::new(Numbers(13).heaps(4000, 2, 9, 0.05), 2).unwrap()
}

fn nine() -> Annealing {
    Annealing {
        clusters: Clusters::Exactly(9),
        ..Annealing::default()
    }
}

#[test]
fn progress_is_told_once_per_temperature_and_never_falls() {
    let points = points();
    for ranks in [1, 3] {
        let seen = Log::new();
        let note = |now: &Progress| seen.push(now.clone());
        let control = Control {
            progress: Some(&note),
            ..Control::default()
        };
        let found = World::threads(ranks)
            .run(async |comm| nine().fit(&comm, &points, &control).await)
            .unwrap()
            .remove(0);
        let seen = seen.take();
        let hot = seen.iter().filter(|now| now.temperature > 0.0).count();
        assert_eq!(hot, found.trace.len(), "every temperature");
        assert!(seen.len() > hot, "the search and the end");
        for (now, step) in seen.iter().zip(&found.trace) {
            assert_eq!(now.temperature, step.temperature);
            assert_eq!((now.clusters, now.target), (step.clusters, 9));
            assert_eq!(now.free_energy, step.free_energy);
        }
        assert!(seen.is_sorted_by(|before, after| before.done <= after.done));
        let last = seen.last().unwrap();
        assert_eq!((last.temperature, last.done), (0.0, 1.0));
        assert!((last.free_energy * 4000.0 / found.inertia - 1.0).abs() < 1e-12);
    }
}

#[test]
fn progress_of_kmeans_is_told_once_per_restart() {
    let (points, seen) = (points(), Log::new());
    let note = |now: &Progress| seen.push(now.done);
    let control = Control {
        progress: Some(&note),
        ..Control::default()
    };
    let method = KMeans {
        clusters: 4,
        restarts: 4,
        ..KMeans::default()
    };
    World::threads(2)
        .run(async |comm| method.fit(&comm, &points, &control).await)
        .unwrap();
    assert_eq!(seen.take(), [0.25, 0.5, 0.75, 1.0]);
}

/// The error that a run with a thrown switch ends with, on every rank.
fn stops<F: AsyncFn(&motet_comm::Communicator, &Control<'_>) -> Option<MiningError> + Sync>(
    ranks: usize,
    control: &Control<'_>,
    body: F,
) {
    let ends = World::threads(ranks)
        .run(async |comm| Ok::<_, RunError<CommError>>(body(&comm, control).await))
        .unwrap();
    for end in ends {
        assert!(matches!(end, Some(MiningError::Cancelled)), "{end:?}");
    }
}

#[test]
fn sem_g119_switch_thrown_before_the_run_stops_it_on_all_ranks() {
    let (points, token) = (points(), CancelToken::new());
    token.cancel();
    let control = Control {
        cancel: Some(&token),
        ..Control::default()
    };
    for ranks in RANKS {
        stops(ranks, &control, async |comm, control| {
            nine().fit(comm, &points, control).await.err()
        });
        for init in [Init::PlusPlus, Init::Random] {
            let method = KMeans {
                clusters: 4,
                init,
                ..KMeans::default()
            };
            stops(ranks, &control, async |comm, control| {
                method.fit(comm, &points, control).await.err()
            });
        }
    }
}

#[test]
fn sem_g119_switch_thrown_during_the_run_stops_it_on_all_ranks() {
    let points = points();
    for ranks in RANKS {
        let token = CancelToken::new();
        let temperatures = Log::new();
        let throw_at_the_fifth = |now: &Progress| {
            temperatures.push(now.temperature);
            if temperatures.len() == 5 {
                token.cancel();
            }
        };
        let control = Control {
            progress: Some(&throw_at_the_fifth),
            cancel: Some(&token),
        };
        stops(ranks, &control, async |comm, control| {
            nine().fit(comm, &points, control).await.err()
        });
        assert_eq!(temperatures.len(), 5, "no temperature is begun after that");
    }
}

#[test]
fn sem_g119_switch_thrown_between_restarts_stops_kmeans_on_all_ranks() {
    let points = points();
    for ranks in RANKS {
        let (token, restarts) = (CancelToken::new(), Log::new());
        let throw_at_the_second = |now: &Progress| {
            restarts.push(now.done);
            if restarts.len() == 2 {
                token.cancel();
            }
        };
        let control = Control {
            progress: Some(&throw_at_the_second),
            cancel: Some(&token),
        };
        let method = KMeans {
            clusters: 4,
            restarts: 10,
            ..KMeans::default()
        };
        stops(ranks, &control, async |comm, control| {
            method.fit(comm, &points, control).await.err()
        });
        assert_eq!(
            restarts.take(),
            [0.1, 0.2],
            "no restart is ended after that"
        );
    }
}

#[test]
fn sem_g119_one_rank_is_enough_to_stop_all() {
    let points = points();
    let token = CancelToken::new();
    token.cancel();
    for ranks in RANKS {
        World::threads(ranks)
            .run(async |comm| {
                let thrown = comm.rank() == comm.size() - 1;
                let control = Control {
                    cancel: thrown.then_some(&token),
                    ..Control::default()
                };
                let end = nine().fit(&comm, &points, &control).await;
                assert!(
                    matches!(end, Err(MiningError::Cancelled)),
                    "rank {}: {end:?}",
                    comm.rank()
                );
                Ok::<_, RunError<CommError>>(())
            })
            .unwrap();
    }
}
