//! Searches by the workers of a dispatcher: the same answers as by ranks, and how they end.

use crate::ends::{Chain, Endless, Fragile, Loop, SlowChain, a_short_time, a_thousand_nodes};
use motet_dispatch::{Causality, Dispatcher};
use motet_problems::{Fifteen, Golomb, Graph, Knapsack, QueenRows, Queens, Tour, Uts};
use motet_search::{
    Limit, Limits, OnDispatcher, OnProgress, Order, Outcome, Search, SearchError, SearchFault, Tree,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Mutex, block_on, block_on_for};
use motet_testkit::{patience, within};
use std::sync::Arc;
use std::time::Duration;

const WORKERS: [usize; 3] = [1, 2, 8];

async fn count<T: Tree + Clone + Send + 'static>(
    search: &OnDispatcher,
    tree: T,
) -> Result<Outcome<u64>, SearchError> {
    let count = |sum: &mut u64, _: &T::Node| *sum += 1;
    search.fold(tree, || 0, count, |a, b| a + b).await
}

fn on(workers: usize, search: &Search) -> (Dispatcher, OnDispatcher) {
    let dispatcher = Dispatcher::new(workers);
    let search = search.on(&dispatcher);
    (dispatcher, search)
}

fn fault<T: Tree + Clone + Send + 'static>(workers: usize, limits: Limits, tree: T) -> SearchFault {
    let search = Search {
        limits,
        ..Search::default()
    };
    let (_dispatcher, search) = on(workers, &search);
    match block_on(count(&search, tree)) {
        Err(SearchError::Fault(fault)) => fault,
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn sem_g205_a_dispatcher_folds_in_the_order_of_the_tree() {
    within(patience(), || {
        for workers in WORKERS {
            let (_dispatcher, search) = on(workers, &Search::default());
            let queens = Queens { size: 8 };
            let push = |all: &mut Vec<_>, rows: &_| all.push(*rows);
            let append = |mut one: Vec<_>, mut other| {
                one.append(&mut other);
                one
            };
            let all = block_on(search.fold(queens, Vec::new, push, append)).unwrap();
            let mut known = Vec::new();
            below(queens, queens.root(), &mut known);
            assert_eq!(all.result, known, "{workers} workers");
            assert_eq!(all.report.nodes, 2_057);
            assert_eq!(all.report.ranks.len(), workers);
            let unbalanced = block_on(count(&search, Arc::new(Uts::SMALL))).unwrap();
            assert_eq!(unbalanced.result, 1_732);
        }
        let (_dispatcher, search) = on(2, &Search::default());
        let queens = Queens { size: 10 };
        let take = move |sum: &mut u64, rows: &QueenRows| {
            let whole = rows.count() == 3;
            *sum += if whole { queens.plain(*rows)[1] } else { 1 };
            !whole
        };
        let pruned = block_on(search.fold_pruned(queens, || 0, take, |a, b| a + b)).unwrap();
        assert_eq!(pruned.result, 35_539);
        let large = block_on(count(&search, Queens { size: 12 })).unwrap();
        assert_eq!(large.result, 856_189);
        assert!(
            large.report.steals > 0,
            "both take part: {:?}",
            large.report
        );
    });
}

fn below(queens: Queens, rows: QueenRows, all: &mut Vec<QueenRows>) {
    all.push(rows);
    let mut children = Vec::new();
    queens.children(&rows, &mut children);
    children
        .into_iter()
        .for_each(|child| below(queens, child, all));
}

#[test]
fn sem_g205_a_dispatcher_finds_the_known_answers() {
    within(patience(), || {
        for workers in WORKERS {
            for order in [Order::Any, Order::First] {
                let search = Search {
                    order,
                    ..Search::default()
                };
                let (_dispatcher, search) = on(workers, &search);
                let label = format!("{order:?}, {workers} workers");
                for (graph, known) in [
                    (Graph::hamming(6, 2), 32),
                    (Graph::johnson(8, 4, 4), 14),
                    (Graph::hamming(8, 4), 16),
                ] {
                    let best = block_on(search.maximise(Arc::new(graph))).unwrap().result;
                    assert_eq!(best.map(|best| best.value), Some(known), "{label}");
                }
                let best = block_on(search.maximise(Arc::new(Knapsack::p08()))).unwrap();
                let profit = best.result.map(|best| best.value);
                assert_eq!(profit, Some(13_549_094), "{label}");
                let ruler = block_on(search.minimise(Golomb { marks: 8 })).unwrap();
                assert_eq!(ruler.result.map(|best| best.value), Some(34), "{label}");
                let tour = block_on(search.minimise(Arc::new(Tour::burma14()))).unwrap();
                assert_eq!(tour.result.map(|best| best.value), Some(3_323), "{label}");
                let found = block_on(search.deepen(Fifteen::KORF_79)).unwrap();
                assert_eq!(found.result.map(|best| best.value), Some(42), "{label}");
                let roots = u64::from(found.report.rounds - 1);
                assert_eq!(found.report.before_last_round - roots, 216_571, "{label}");
            }
        }
    });
}

#[test]
fn sem_g205_first_is_the_first_also_on_a_dispatcher() {
    let search = Search {
        order: Order::First,
        ..Search::default()
    };
    let queens = Queens { size: 8 };
    for workers in WORKERS {
        let (_dispatcher, search) = on(workers, &search);
        let wanted = move |rows: &_| queens.is_solution(rows);
        let best = block_on(search.find(queens, wanted)).unwrap().result;
        // Queens in columns 0 4 7 5 2 6 1 3, by the free columns of each row.
        assert_eq!(best.unwrap().path, [0, 2, 2, 1, 0, 0, 0, 0], "{workers}");
    }
}

#[test]
fn sem_g206_a_limit_holds_for_all_rounds_together() {
    within(patience(), || {
        for workers in WORKERS {
            let (search, told) = a_thousand_nodes();
            let (_dispatcher, search) = on(workers, &search);
            let found = block_on(search.deepen(Chain)).unwrap();
            assert_eq!(found.stopped, Some(Limit::Nodes));
            let nodes = found.report.nodes + found.report.pruned;
            assert!((1_000..1_050).contains(&nodes), "{nodes} by {workers}");
            let told = told.lock();
            assert!(told.is_sorted_by_key(|progress| progress.nodes), "{told:?}");
        }
    });
}

#[test]
fn sem_g206_the_time_is_looked_at_however_long_a_node_takes() {
    within(patience(), || {
        let (_dispatcher, search) = on(2, &a_short_time());
        let found = block_on(search.deepen(SlowChain)).unwrap();
        assert_eq!(found.stopped, Some(Limit::Time));
        let nodes = found.report.nodes + found.report.pruned;
        assert!(nodes <= 16, "{nodes}");
    });
}

#[test]
fn sem_g206_a_panic_of_the_operator_is_told() {
    let (_dispatcher, search) = on(2, &Search::default());
    let count = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
    let join = |_, _| -> u64 { panic!("too much") };
    let folded = block_on(search.fold(Fragile(&[99]), || 0, count, join));
    let told = folded.unwrap_err().to_string();
    assert!(told.contains("too much"), "{told}");
}

#[test]
fn sem_g206_a_panic_of_a_zero_is_told_whichever_it_is() {
    within(patience(), || {
        for allowed in [0, 1] {
            let (_dispatcher, search) = on(1, &Search::default());
            let asked = Arc::new(AtomicUsize::new(0));
            let zero = move || {
                assert!(asked.fetch_add(1, Ordering::Relaxed) < allowed, "no zero");
                0_u64
            };
            let count = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
            let folded = block_on(search.fold(Fragile(&[99]), zero, count, |a, b| a + b));
            let told = folded.unwrap_err().to_string();
            assert!(told.contains("no zero"), "{allowed}: {told}");
        }
    });
}

#[test]
fn sem_g206_a_search_on_a_dispatcher_ends_with_what_ends_it() {
    within(patience(), || {
        for workers in WORKERS {
            let limits = Limits {
                nodes: 100_000,
                ..Limits::default()
            };
            let search = Search {
                limits,
                ..Search::default()
            };
            let (_dispatcher, search) = on(workers, &search);
            let found = block_on(count(&search, Endless)).unwrap();
            assert_eq!(found.stopped, Some(Limit::Nodes));
            let slices = 4096 * workers as u64;
            assert!((100_000..100_000 + slices).contains(&found.report.nodes));
            let limits = Limits {
                time: Duration::from_millis(20),
                ..Limits::default()
            };
            let search = Search {
                limits,
                ..Search::default()
            };
            let found = block_on(count(&search.on(&_dispatcher), Endless)).unwrap();
            assert_eq!(found.stopped, Some(Limit::Time));
            let found = fault(workers, Limits::default(), Fragile(&[17, 4]));
            assert!(matches!(&found, SearchFault::Panicked { path, .. } if path == &[17, 4]));
            let found = fault(workers, Limits::default(), Fragile(&[]));
            assert!(matches!(&found, SearchFault::Panicked { path, .. } if path.is_empty()));
            let found = fault(workers, Limits::default(), Loop);
            assert!(matches!(found, SearchFault::TooDeep { .. }), "{found}");
            let held = Limits {
                held: 50,
                ..Limits::default()
            };
            let found = fault(workers, held, Fragile(&[99]));
            assert!(matches!(found, SearchFault::TooManyHeld { .. }), "{found}");
        }
    });
}

#[test]
fn sem_g206_a_search_on_a_dispatcher_is_cancelled_told_of_and_dropped() {
    within(patience(), || {
        let causality = Causality::new("search");
        let cancel = causality.clone();
        let told = Arc::new(Mutex::new(Vec::new()));
        let progress = OnProgress {
            every: Duration::ZERO,
            tell: Arc::new({
                let told = Arc::clone(&told);
                move |progress| {
                    told.lock().push(progress.nodes);
                    cancel.cancel("enough");
                }
            }),
        };
        let search = Search {
            progress: Some(progress),
            ..Search::default()
        };
        let (dispatcher, watched) = on(2, &search);
        let ended = causality.run(|| block_on(count(&watched, Endless)));
        let told_why = ended.unwrap_err().to_string();
        assert!(told_why.contains("enough"), "{told_why}");
        assert!(told.lock().is_sorted() && !told.lock().is_empty());

        // A search that its caller drops lets the workers go.
        let search = Search::default().on(&dispatcher);
        let dropped = block_on_for(count(&search, Endless), Duration::from_millis(5));
        assert!(dropped.is_none());
        dispatcher.wait_idle();

        let replicable = Order::Replicable {
            window: 1,
            split: 1,
        };
        let search = Search {
            order: replicable,
            ..Search::default()
        };
        let refused = block_on(search.on(&dispatcher).maximise(Golomb { marks: 4 }));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("needs ranks"), "{refused}");
        let stopped = Search::default().on(&dispatcher);
        drop(dispatcher);
        let refused = block_on(count(&stopped, Endless)).unwrap_err();
        assert!(
            matches!(refused, SearchError::Fault(SearchFault::Dispatcher { .. })),
            "{refused}"
        );
    });
}
