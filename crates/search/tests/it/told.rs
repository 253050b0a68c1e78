//! What errors and reports of searches say.

use crate::ends::{Fragile, Loop, count};
use crate::{RANKS, on};
use motet_dispatch::Dispatcher;
use motet_problems::{Golomb, Knapsack};
use motet_search::{Limit, Limits, OnProgress, Order, Outcome, Search, SearchError, SearchFault};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::block_on;
use motet_testkit::{patience, within};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

fn fault<R: Debug>(found: Result<Outcome<R>, SearchError>) -> Result<String, SearchError> {
    match found {
        Err(error @ SearchError::Fault(_)) => Ok(error.to_string()),
        other => panic!("no fault: {other:?}"),
    }
}

/// A search whose progress call panics.
fn nobody_hears() -> Search {
    let progress = OnProgress {
        every: Duration::ZERO,
        tell: Arc::new(|_| panic!("nobody hears")),
    };
    Search {
        progress: Some(progress),
        ..Search::default()
    }
}

#[test]
fn sem_g202_a_panic_at_no_node_names_the_call() {
    let tree = Fragile(&[99]);
    let add = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
    within(patience(), move || {
        for ranks in RANKS {
            let search = Search::default();
            let told = on(ranks, async |comm| {
                let zeros = AtomicUsize::new(0);
                let zero = || -> u64 {
                    assert!(zeros.fetch_add(1, Ordering::Relaxed) == 0, "no second");
                    0
                };
                let no_zero = || -> u64 { panic!("no first") };
                let join = |_, _| -> u64 { panic!("too much") };
                let first = search.fold(&comm, &tree, no_zero, add, |a, b| a + b);
                let first = fault(first.await)?;
                let second = search.fold(&comm, &tree, zero, add, |a, b| a + b);
                let second = fault(second.await)?;
                let joined = fault(search.fold(&comm, &tree, || 0, add, join).await)?;
                let shown = fault(count(&nobody_hears(), &comm, &tree).await)?;
                Ok([first, second, joined, shown])
            });
            let calls = [
                "in `zero`: no first",
                "in `zero`: no second",
                "in `join`: too much",
                "in `progress.tell`: nobody hears",
            ];
            for (told, call) in told.iter().zip(calls) {
                assert!(told.ends_with(call), "on {ranks}: {told}");
            }
        }
        // A node keeps its path, also the root.
        let at_root = on(2, async |comm| {
            fault(count(&Search::default(), &comm, &Fragile(&[])).await)
        });
        assert!(at_root.contains("at the root: a fragile node"), "{at_root}");
    });
}

#[test]
fn sem_g202_a_panic_that_comes_after_a_limit_is_told() {
    let limits = Limits {
        nodes: 1,
        ..Limits::default()
    };
    let search = Search {
        limits,
        ..nobody_hears()
    };
    within(patience(), move || {
        let told = on(1, async |comm| {
            fault(count(&search, &comm, &Fragile(&[99])).await)
        });
        assert!(told.ends_with("nobody hears"), "{told}");
    });
}

#[test]
fn sem_g206_a_panic_at_no_node_names_the_call_also_on_a_dispatcher() {
    let tree = Fragile(&[99]);
    let add = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
    within(patience(), move || {
        let dispatcher = Dispatcher::new(2);
        let search = nobody_hears().on(&dispatcher);
        let shown = fault(block_on(search.fold(tree, || 0, add, |a, b| a + b))).unwrap();
        assert!(
            shown.ends_with("in `progress.tell`: nobody hears"),
            "{shown}"
        );
        let search = Search::default().on(&dispatcher);
        let join = |_, _| -> u64 { panic!("too much") };
        let joined = fault(block_on(search.fold(tree, || 0, add, join))).unwrap();
        assert!(joined.ends_with("in `join`: too much"), "{joined}");
        let asked = Arc::new(AtomicUsize::new(0));
        let zero = move || -> u64 {
            // One for each task.
            assert!(asked.fetch_add(1, Ordering::Relaxed) < 2, "no third");
            0
        };
        let third = fault(block_on(search.fold(tree, zero, add, |a, b| a + b))).unwrap();
        // It may be that of a part of the first task, or that of the second task.
        assert!(
            third.contains("in `zero`") && third.ends_with("no third"),
            "{third}"
        );
    });
}

#[test]
fn debug_of_a_deep_path_is_short() {
    let deep = on(2, async |comm| {
        match count(&Search::default(), &comm, &Loop).await {
            Err(SearchError::Fault(fault)) => Ok(fault),
            other => panic!("no fault: {other:?}"),
        }
    });
    assert!(matches!(&deep, SearchFault::TooDeep { path, .. } if path.len() == 1 << 18));
    for shown in [format!("{deep:?}"), format!("{deep:#?}")] {
        assert!(shown.len() < 1_000, "{} characters", shown.len());
        assert!(
            shown.contains("TooDeep") && shown.contains("262144 in all"),
            "{shown}"
        );
    }
    // A short one is whole.
    let limits = Limits {
        depth: 2,
        ..Limits::default()
    };
    let search = Search {
        limits,
        ..Search::default()
    };
    let short = on(1, async |comm| match count(&search, &comm, &Loop).await {
        Err(SearchError::Fault(fault)) => Ok(format!("{fault:?}")),
        other => panic!("no fault: {other:?}"),
    });
    assert_eq!(short, "TooDeep { rank: 0, path: [0, 0], limit: 2 }");
}

#[test]
fn sem_g594_the_nodes_of_the_ranks_are_those_that_were_visited() {
    fn agree<R>(found: &Outcome<R>) -> [u64; 2] {
        let report = &found.report;
        let of_ranks: u64 = report.ranks.iter().map(|rank| rank.nodes).sum();
        assert_eq!(of_ranks, report.nodes, "{report:?}");
        assert!(report.pruned > 0, "{report:?}");
        [report.nodes, report.pruned]
    }
    let replicable = Order::Replicable {
        window: 4,
        split: 2,
    };
    within(patience(), move || {
        let (sack, ruler) = (Knapsack::p08(), Golomb { marks: 6 });
        for ranks in RANKS {
            for order in [Order::Any, Order::First, replicable] {
                let search = Search {
                    order,
                    ..Search::default()
                };
                on(ranks, async |comm| {
                    agree(&search.maximise(&comm, &sack).await?);
                    agree(&search.deepen(&comm, &ruler).await?);
                    Ok(())
                });
            }
            let dispatcher = Dispatcher::new(ranks);
            let search = Search::default().on(&dispatcher);
            agree(&block_on(search.maximise(Arc::new(sack.clone()))).unwrap());
            agree(&block_on(search.deepen(ruler)).unwrap());
        }
    });
}

#[test]
fn sem_g594_the_limit_of_nodes_counts_those_that_are_left_out_too() {
    let sack = Knapsack::p08();
    let search = |nodes| {
        let limits = Limits {
            nodes,
            ..Limits::default()
        };
        Search {
            limits,
            ..Search::default()
        }
    };
    let looked = |nodes| {
        on(1, async |comm| {
            let found = search(nodes).maximise(&comm, &sack).await?;
            Ok((found.report.nodes, found.report.pruned, found.stopped))
        })
    };
    let (nodes, pruned, stopped) = looked(u64::MAX);
    assert!(pruned > 0 && stopped.is_none());
    assert_eq!(looked(nodes + pruned), (nodes, pruned, None));
    let (fewer, left_out, stopped) = looked(nodes + pruned - 1);
    assert_eq!(fewer + left_out, nodes + pruned - 1);
    assert_eq!(stopped, Some(Limit::Nodes));
}
