//! What searches tell while they go on.

use crate::ends::{Fragile, count};
use crate::{RANKS, on};
use motet_search::{OnProgress, Order, Progress, Search};
use motet_sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// What is told no more often than `every`.
pub(crate) fn noted(every: Duration) -> (OnProgress, Arc<Mutex<Vec<Progress>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&told);
    let tell = Arc::new(move |progress| note.lock().push(progress));
    (OnProgress { every, tell }, told)
}

#[test]
fn sem_g204_progress_is_told() {
    let (progress, told) = noted(Duration::ZERO);
    let search = Search {
        progress: Some(progress),
        ..Search::default()
    };
    let nodes = on(2, async |comm| {
        Ok(count(&search, &comm, &Fragile(&[99])).await?.result)
    });
    let told = told.lock();
    assert!(told.is_sorted_by_key(|progress| progress.nodes));
    assert!(
        told.last()
            .is_some_and(|last| (1..=nodes).contains(&last.nodes))
    );
}

#[test]
fn sem_g204_progress_of_a_replicable_search_is_that_of_all_ranks() {
    for ranks in RANKS {
        let (progress, told) = noted(Duration::ZERO);
        let search = Search {
            order: Order::Replicable {
                window: 8,
                split: 1,
            },
            progress: Some(progress),
            ..Search::default()
        };
        let nodes = on(ranks, async |comm| {
            let found = search.maximise(&comm, &Fragile(&[99])).await?;
            Ok(found.report.nodes)
        });
        let told: Vec<u64> = told.lock().iter().map(|progress| progress.nodes).collect();
        assert!(told.is_sorted(), "on {ranks}: {told:?}");
        // The last subtree that is done is the last that is told of.
        assert_eq!(told.last(), Some(&nodes), "on {ranks}");
    }
}

#[test]
fn sem_g204_progress_of_a_replicable_search_is_not_told_too_often() {
    let (progress, told) = noted(Duration::MAX);
    let search = Search {
        order: Order::Replicable {
            window: 8,
            split: 1,
        },
        progress: Some(progress),
        ..Search::default()
    };
    on(2, async |comm| {
        search.maximise(&comm, &Fragile(&[99])).await?;
        Ok(())
    });
    assert!(told.lock().is_empty());
}
