//! Runs that are stopped and go on.

use crate::data::{Numbers, anneal, kmeans};
use motet_comm::{Communicator, World};
use motet_mining::{
    Annealing, CancelToken, Checkpoints, Clustering, Clusters, Control, KMeans, MiningError,
    Points, Progress,
};
use motet_sync::Mutex;
use std::time::Duration;

fn points() -> Points {
    let mut numbers = Numbers(5);
    let weights = (0..400).map(|_| 1.0 + (numbers.uniform() * 5.0).floor());
    let weights = weights.collect();
    // As wide as they are apart: the search has something to do.
    let values = numbers.heaps(400, 2, 12, 0.12);
    Points::new(values, 2).unwrap().weighted(weights).unwrap()
}

/// Runs again and again, each time on another number of ranks, and stops when the caller has been
/// told of one step more than the last time; gives back the last run and how often it was stopped.
fn stopped(
    fit: impl AsyncFn(&Communicator, &Control<'_>) -> Result<Clustering, MiningError> + Sync,
) -> (Clustering, usize) {
    for stops in 0.. {
        let cancel = CancelToken::new();
        let told = Mutex::new(0);
        let progress = |_: &Progress| {
            let mut told = told.lock();
            *told += 1;
            if *told == 2 {
                cancel.cancel();
            }
        };
        let control = Control {
            progress: Some(&progress),
            cancel: Some(&cancel),
        };
        let fit = &fit;
        let parts =
            World::threads(1 + stops % 3).run(async |comm| match fit(&comm, &control).await {
                Err(MiningError::Cancelled) => Ok(None),
                part => part.map(Some),
            });
        let parts = parts.unwrap().into_iter().collect::<Option<Vec<_>>>();
        if let Some(found) = parts.and_then(Clustering::join) {
            return (found, stops);
        }
        assert!(stops < 1000, "no run comes any further");
    }
    unreachable!("the runs are endless")
}

#[test]
fn sem_g961_an_annealing_that_was_stopped_anywhere_goes_on_to_the_same_bits() {
    let points = points();
    let folder = tempfile::tempdir().unwrap();
    for (name, clusters, most) in [
        ("exactly", Clusters::Exactly(11), 11),
        (
            "found",
            Clusters::Found {
                t_min: 0.03,
                at_most: 20,
            },
            20,
        ),
    ] {
        let method = Annealing {
            clusters,
            ..Annealing::default()
        };
        let whole = anneal(2, &method, &points);
        assert!(whole.clusters() > 3 && whole.clusters() <= most);
        let kept = Checkpoints::new(folder.path(), name).every(Duration::ZERO);
        let (found, stops) =
            stopped(async |comm, control| method.fit_kept(comm, &points, control, &kept).await);
        assert_eq!(found, whole, "{name}");
        // At every second temperature, and in the search.
        assert!(stops > whole.trace.len() / 2, "{name}: {stops} stops");
        refuses_others(&method, &points, &kept);
    }
}

/// Other data and other options are told.
fn refuses_others(method: &Annealing, points: &Points, kept: &Checkpoints) {
    let fit = |method: &Annealing, points: &Points| {
        let run = World::threads(2).run(async |comm| {
            let control = Control::default();
            let run = method.fit_kept(&comm, points, &control, kept).await;
            Ok::<_, MiningError>(run.map_err(|error| error.to_string()))
        });
        run.unwrap().remove(0).unwrap_err()
    };
    let other = Annealing {
        cooling: 0.8,
        ..method.clone()
    };
    let told = fit(&other, points);
    assert!(
        told.contains(".checkpoint") && told.contains("other options"),
        "{told}"
    );
    let fewer = Points::new(points.values()[2..].to_vec(), 2).unwrap();
    assert!(fit(method, &fewer).contains("other data"));
}

#[test]
fn sem_g962_k_means_that_was_stopped_goes_on_to_the_same_bits() {
    let points = points();
    let folder = tempfile::tempdir().unwrap();
    for (number, (max_iterations, restarts)) in [(10_000, 12), (3, 5)].into_iter().enumerate() {
        let method = KMeans {
            clusters: 9,
            seed: 4,
            restarts,
            max_iterations,
            ..KMeans::default()
        };
        let whole = kmeans(1, &method, &points);
        let name = format!("kmeans-{number}");
        let kept = Checkpoints::new(folder.path(), &name).every(Duration::ZERO);
        let (found, stops) =
            stopped(async |comm, control| method.fit_kept(comm, &points, control, &kept).await);
        assert_eq!(found, whole, "{name}");
        assert!(stops >= restarts / 2, "{stops} stops");
    }
}
