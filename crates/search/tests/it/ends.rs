//! How searches end that do not come to the end of their tree.

use crate::progress::noted;
use crate::{RANKS, on};
use motet_comm::{Communicator, World};
use motet_dispatch::Causality;
use motet_search::{
    Bounded, Limit, Limits, OnProgress, Order, Outcome, Progress, Search, SearchError, SearchFault,
    Tree,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Mutex, spin_for};
use motet_testkit::{patience, within};
use std::sync::Arc;
use std::time::Duration;

/// A tree of more nodes than anybody can visit: three children each, a thousand levels.
#[derive(Clone, Copy)]
pub(crate) struct Endless;

impl Tree for Endless {
    type Node = u32;

    fn root(&self) -> u32 {
        1
    }

    fn children(&self, node: &u32, out: &mut Vec<u32>) {
        if *node < 1_000 {
            out.extend([node + 1; 3]);
        }
    }
}

/// Nodes of one level are solutions, and the bound leaves nothing out.
impl Bounded for Endless {
    type Value = u32;

    fn value(&self, node: &u32) -> Option<u32> {
        (*node == 900).then_some(*node)
    }

    fn bound(&self, _: &u32) -> u32 {
        2_000
    }
}

/// A tree of three levels of thirty children each; the node of this path panics.
#[derive(Clone, Copy)]
pub(crate) struct Fragile(pub(crate) &'static [u32]);

impl Tree for Fragile {
    type Node = Vec<u32>;

    fn root(&self) -> Vec<u32> {
        Vec::new()
    }

    fn children(&self, node: &Vec<u32>, out: &mut Vec<Vec<u32>>) {
        assert!(node != self.0, "a fragile node");
        if node.len() < 3 {
            out.extend((0..30).map(|child| [&node[..], &[child]].concat()));
        }
    }
}

impl Bounded for Fragile {
    type Value = u32;

    fn value(&self, _: &Vec<u32>) -> Option<u32> {
        None
    }

    fn bound(&self, _: &Vec<u32>) -> u32 {
        0
    }
}

pub(crate) async fn count<T: Tree>(
    search: &Search,
    comm: &Communicator,
    tree: &T,
) -> Result<Outcome<u64>, SearchError> {
    let count = |sum: &mut u64, _: &T::Node| *sum += 1;
    search.fold(comm, tree, || 0, count, |a, b| a + b).await
}

/// The fault that all ranks get.
fn fault<T: Tree + Sync>(ranks: usize, limits: Limits, tree: &T) -> SearchFault {
    let search = Search {
        limits,
        ..Search::default()
    };
    on(ranks, async |comm| {
        match count(&search, &comm, tree).await {
            Err(SearchError::Fault(fault)) => Ok(fault),
            other => panic!("no fault: {other:?}"),
        }
    })
}

#[test]
fn sem_g201_a_limit_ends_a_search() {
    within(patience(), || {
        for ranks in RANKS {
            let limits = Limits {
                nodes: 100_000,
                ..Limits::default()
            };
            let search = Search {
                limits,
                ..Search::default()
            };
            let (stopped, nodes) = on(ranks, async |comm| {
                let found = count(&search, &comm, &Endless).await?;
                Ok((found.stopped, found.report.nodes))
            });
            assert_eq!(stopped, Some(Limit::Nodes));
            match ranks {
                1 => assert_eq!(nodes, 100_000),
                _ => assert!(nodes >= 100_000, "{nodes} on {ranks}"),
            }
        }
    });
}

/// A path without an end, whose bounds grow by one from node to node: a round of `deepen` for each.
#[derive(Clone, Copy)]
pub(crate) struct Chain;

impl Tree for Chain {
    type Node = u64;

    fn root(&self) -> u64 {
        0
    }

    fn children(&self, node: &u64, out: &mut Vec<u64>) {
        out.push(node + 1);
    }
}

impl Bounded for Chain {
    type Value = u64;

    fn value(&self, _: &u64) -> Option<u64> {
        None
    }

    fn bound(&self, node: &u64) -> u64 {
        *node
    }
}

/// A search for a thousand nodes, and what it tells of its progress.
pub(crate) fn a_thousand_nodes() -> (Search, Arc<Mutex<Vec<Progress>>>) {
    let (progress, told) = noted(Duration::ZERO);
    let limits = Limits {
        nodes: 1_000,
        ..Limits::default()
    };
    let search = Search {
        limits,
        progress: Some(progress),
        ..Search::default()
    };
    (search, told)
}

#[test]
fn sem_g201_a_limit_holds_for_all_rounds_together() {
    within(patience(), || {
        for ranks in RANKS {
            let (search, told) = a_thousand_nodes();
            let (stopped, nodes) = on(ranks, async |comm| {
                let found = search.deepen(&comm, &Chain).await?;
                assert!(found.result.is_none());
                Ok((found.stopped, found.report.nodes + found.report.pruned))
            });
            assert_eq!(stopped, Some(Limit::Nodes), "on {ranks}");
            match ranks {
                1 => assert_eq!(nodes, 1_000),
                // A round has 46 nodes at most until then.
                _ => assert!((1_000..1_050).contains(&nodes), "{nodes} on {ranks}"),
            }
            let told = told.lock();
            assert!(told.is_sorted_by_key(|progress| progress.nodes), "{told:?}");
            assert!(told.last().is_some_and(|last| last.nodes > 900), "{told:?}");
        }
    });
}

/// As [`Chain`], but each look at a node takes a while.
#[derive(Clone, Copy)]
pub(crate) struct SlowChain;

impl Tree for SlowChain {
    type Node = u64;

    fn root(&self) -> u64 {
        0
    }

    fn children(&self, node: &u64, out: &mut Vec<u64>) {
        Chain.children(node, out);
    }
}

impl Bounded for SlowChain {
    type Value = u64;

    fn value(&self, _: &u64) -> Option<u64> {
        None
    }

    fn bound(&self, node: &u64) -> u64 {
        spin_for(Duration::from_millis(20));
        *node
    }
}

/// A search for a tenth of a second.
pub(crate) fn a_short_time() -> Search {
    let limits = Limits {
        time: Duration::from_millis(100),
        ..Limits::default()
    };
    Search {
        limits,
        ..Search::default()
    }
}

#[test]
fn sem_g201_the_time_is_looked_at_however_long_a_node_takes() {
    within(patience(), || {
        for ranks in RANKS {
            let (stopped, nodes) = on(ranks, async |comm| {
                let found = a_short_time().deepen(&comm, &SlowChain).await?;
                Ok((found.stopped, found.report.nodes + found.report.pruned))
            });
            assert_eq!(stopped, Some(Limit::Time), "on {ranks}");
            // Five nodes or six take as long, and a slice has twice as many at most.
            assert!(nodes <= 16, "{nodes} on {ranks}");
        }
    });
}

/// Subtrees of which none comes to its end, and short ones.
const REPLICABLE: [Order; 2] = [
    Order::Replicable {
        window: 8,
        split: 2,
    },
    Order::Replicable {
        window: 8,
        split: 998,
    },
];

fn ends_at_100_000(ranks: usize, order: Order) {
    let limits = Limits {
        nodes: 100_000,
        ..Limits::default()
    };
    let search = Search {
        order,
        limits,
        ..Search::default()
    };
    let (stopped, best, nodes) = on(ranks, async |comm| {
        let found = search.maximise(&comm, &Endless).await?;
        let best = found.result.map(|best| best.value);
        Ok((found.stopped, best, found.report.nodes))
    });
    assert_eq!(stopped, Some(Limit::Nodes), "{order:?} on {ranks}");
    assert_eq!(best, Some(900), "{order:?} on {ranks}");
    match ranks {
        1 => assert_eq!(nodes, 100_000, "{order:?}"),
        _ => assert!(nodes >= 100_000, "{nodes} by {order:?} on {ranks}"),
    }
}

#[test]
fn sem_g201_a_limit_ends_a_replicable_search_with_what_it_has() {
    within(patience(), || {
        for ranks in [1, 2, 3, 8] {
            for order in REPLICABLE {
                ends_at_100_000(ranks, order);
            }
        }
    });
}

#[test]
fn a_window_without_end_is_one_of_all_subtrees() {
    let search = Search {
        order: Order::Replicable {
            window: usize::MAX,
            split: 1,
        },
        ..Search::default()
    };
    for ranks in RANKS {
        let (best, nodes) = on(ranks, async |comm| {
            let found = search.maximise(&comm, &Fragile(&[99])).await?;
            Ok((found.result, found.report.nodes))
        });
        assert_eq!((best, nodes), (None, 1 + 30 + 900 + 27_000), "on {ranks}");
    }
}

#[test]
fn sem_g201_time_ends_a_search() {
    let limits = Limits {
        time: Duration::from_millis(20),
        ..Limits::default()
    };
    let search = Search {
        limits,
        ..Search::default()
    };
    for ranks in RANKS {
        let stopped = on(ranks, async |comm| {
            Ok(count(&search, &comm, &Endless).await?.stopped)
        });
        assert_eq!(stopped, Some(Limit::Time));
    }
}

#[test]
fn sem_g202_a_panic_has_a_path_on_every_rank() {
    for ranks in RANKS {
        let found = fault(ranks, Limits::default(), &Fragile(&[17, 4]));
        let SearchFault::Panicked { path, message, .. } = &found else {
            panic!("{found:?}");
        };
        assert_eq!((&path[..], &message[..]), (&[17, 4][..], "a fragile node"));
        assert!(found.to_string().contains("node 17.4"), "{found}");
    }
    let search = Search {
        order: Order::Replicable {
            window: 4,
            split: 1,
        },
        ..Search::default()
    };
    for ranks in RANKS {
        for tree in [Fragile(&[]), Fragile(&[17, 4]), Fragile(&[3])] {
            let fault = on(ranks, async |comm| {
                match search.maximise(&comm, &tree).await {
                    Err(SearchError::Fault(SearchFault::Panicked { path, .. })) => Ok(path),
                    other => panic!("no panic: {other:?}"),
                }
            });
            assert_eq!(fault, tree.0, "on {ranks}");
        }
    }
}

/// A node that is its own child.
#[derive(Clone, Copy)]
pub(crate) struct Loop;

impl Tree for Loop {
    type Node = ();

    fn root(&self) {}

    fn children(&self, (): &(), out: &mut Vec<()>) {
        out.push(());
    }
}

#[test]
fn sem_g202_what_is_no_tree_is_told_by_the_limit() {
    for ranks in RANKS {
        let found = fault(ranks, Limits::default(), &Loop);
        let SearchFault::TooDeep { path, limit, .. } = &found else {
            panic!("{found:?}");
        };
        assert_eq!(path.len(), *limit as usize);
        assert!(found.to_string().contains("limits.depth"), "{found}");
    }
    let limits = Limits {
        depth: 3,
        ..Limits::default()
    };
    // Three levels below the root are as deep as three.
    let nodes = on(2, async |comm| {
        let search = Search {
            limits: limits.clone(),
            ..Search::default()
        };
        Ok(count(&search, &comm, &Fragile(&[99])).await?.result)
    });
    assert_eq!(nodes, 1 + 30 + 900 + 27_000);
}

#[test]
fn sem_g202_a_panic_beside_the_nodes_ends_the_search_on_every_rank() {
    fn said(found: Result<(), SearchError>) -> Result<String, SearchError> {
        match found {
            Err(SearchError::Fault(SearchFault::Panicked { message, .. })) => Ok(message),
            other => panic!("no panic: {other:?}"),
        }
    }
    let tree = Fragile(&[99]);
    let progress = OnProgress {
        every: Duration::ZERO,
        tell: Arc::new(|_| panic!("nobody hears")),
    };
    let orders = [
        Order::Any,
        Order::Replicable {
            window: 4,
            split: 1,
        },
    ];
    for ranks in RANKS {
        // The first zero is there before the search begins.
        let told = on(ranks, async |comm| {
            let asked = AtomicUsize::new(0);
            let zero = || {
                let before = asked.fetch_add(1, Ordering::Relaxed);
                assert!(before == 0, "no second zero");
                0_u64
            };
            let visit = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
            let search = Search::default();
            let found = search.fold(&comm, &tree, zero, visit, |a, b| a + b);
            said(found.await.map(drop))
        });
        assert_eq!(told, "no second zero", "on {ranks}");
        for order in orders {
            let search = Search {
                order,
                progress: Some(progress.clone()),
                ..Search::default()
            };
            let told = on(ranks, async |comm| {
                said(search.maximise(&comm, &tree).await.map(drop))
            });
            assert_eq!(told, "nobody hears", "on {ranks} by {order:?}");
        }
    }
}

#[test]
fn sem_g202_too_many_nodes_are_told() {
    let limits = Limits {
        held: 50,
        ..Limits::default()
    };
    for ranks in RANKS {
        let found = fault(ranks, limits.clone(), &Fragile(&[99]));
        assert!(
            matches!(
                found,
                SearchFault::TooManyHeld {
                    held: 51..,
                    limit: 50,
                    ..
                }
            ),
            "{found:?}"
        );
        assert!(found.to_string().contains("limits.held"), "{found}");
    }
}

#[test]
fn sem_g203_a_cancelled_search_ends_everywhere() {
    within(patience(), || {
        for ranks in RANKS {
            let causality = Causality::new("search");
            let cancel = causality.clone();
            let progress = OnProgress {
                every: Duration::ZERO,
                tell: Arc::new(move |_| {
                    cancel.cancel("enough");
                }),
            };
            let search = Search {
                progress: Some(progress),
                ..Search::default()
            };
            let run = || {
                on(ranks, async |comm| {
                    match count(&search, &comm, &Endless).await {
                        Err(SearchError::Fault(fault @ SearchFault::Cancelled { .. })) => Ok(fault),
                        other => panic!("not cancelled: {other:?}"),
                    }
                })
            };
            let told = causality.run(run).to_string();
            assert!(told.contains("enough"), "{told}");
        }
    });
}

#[test]
fn sem_g202_a_panic_of_the_operator_is_told_on_every_rank() {
    for ranks in RANKS {
        let fault = on(ranks, async |comm| {
            let count = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
            let join = |_, _| -> u64 { panic!("too much") };
            let search = Search::default();
            let folded = search.fold(&comm, &Fragile(&[99]), || 0, count, join);
            match folded.await {
                Err(SearchError::Fault(fault)) => Ok(fault),
                other => panic!("no fault: {other:?}"),
            }
        });
        let told = fault.to_string();
        assert!(told.contains("too much"), "{told}");
    }
}

#[test]
fn nothing_is_left_of_a_search() {
    let limits = Limits {
        nodes: 50_000,
        ..Limits::default()
    };
    let search = Search {
        limits,
        ..Search::default()
    };
    let ended = World::threads(8).run_outcome(async |comm| -> Result<_, SearchError> {
        count(&search, &comm, &Endless).await?;
        search.find(&comm, &Endless, |node| *node == 900).await?;
        Ok(())
    });
    assert!(ended.unwrap().unmatched.is_empty());
}

#[test]
fn a_window_of_nothing_is_refused() {
    let search = Search {
        order: Order::Replicable {
            window: 0,
            split: 1,
        },
        ..Search::default()
    };
    let told = on(2, async |comm| {
        let found = search.maximise(&comm, &Fragile(&[])).await;
        Ok(found.unwrap_err().to_string())
    });
    assert!(told.contains("window"), "{told}");
}
