//! Trees of as many nodes as the limit.

use crate::ends::{Fragile, count};
use crate::{RANKS, on};
use motet_dispatch::Dispatcher;
use motet_search::{Limit, Limits, Order, Search};
use motet_sync::block_on;

/// The nodes of a tree whose node of this path is not there.
const TREE: (Fragile, u64) = (Fragile(&[99]), 1 + 30 + 900 + 27_000);

fn up_to(nodes: u64, order: Order) -> Search {
    let limits = Limits {
        nodes,
        ..Limits::default()
    };
    Search {
        order,
        limits,
        ..Search::default()
    }
}

#[test]
fn sem_g201_a_tree_of_as_many_nodes_as_the_limit_is_searched_whole() {
    let (tree, size) = TREE;
    let replicable = [1, 2, 3, 4].map(|split| Order::Replicable { window: 8, split });
    for ranks in RANKS {
        let search = up_to(size, Order::Any);
        let counted = on(ranks, async |comm| {
            let counted = count(&search, &comm, &tree).await?;
            Ok((counted.stopped, counted.result))
        });
        assert_eq!(counted, (None, size), "on {ranks}");
        for order in [Order::Any, Order::First].into_iter().chain(replicable) {
            let search = up_to(size, order);
            let found = on(ranks, async |comm| {
                let found = search.maximise(&comm, &tree).await?;
                let deepened = search.deepen(&comm, &tree).await?;
                let nodes = [found.report.nodes, deepened.report.nodes];
                Ok((found.stopped, deepened.stopped, nodes))
            });
            assert_eq!(found, (None, None, [size; 2]), "{order:?} on {ranks}");
        }
    }
    let smaller = up_to(size - 1, Order::Any);
    let stopped = on(1, async |comm| {
        Ok(count(&smaller, &comm, &tree).await?.stopped)
    });
    assert_eq!(stopped, Some(Limit::Nodes));
}

#[test]
fn sem_g201_a_replicable_search_of_one_node_more_than_the_limit_says_so_on_any_ranks() {
    let (tree, size) = TREE;
    // No node is as deep as the last.
    for split in [1, 2, 3, 4] {
        let search = up_to(size - 1, Order::Replicable { window: 8, split });
        for ranks in RANKS {
            let stopped = on(ranks, async |comm| {
                Ok(search.maximise(&comm, &tree).await?.stopped)
            });
            assert_eq!(stopped, Some(Limit::Nodes), "{split} on {ranks}");
        }
    }
}

#[test]
fn sem_g206_a_dispatcher_searches_a_tree_of_as_many_nodes_as_the_limit_whole() {
    let (tree, size) = TREE;
    for workers in RANKS {
        let dispatcher = Dispatcher::new(workers);
        let search = up_to(size, Order::Any).on(&dispatcher);
        let visit = |sum: &mut u64, _: &Vec<u32>| *sum += 1;
        let counted = block_on(search.fold(tree, || 0, visit, |a, b| a + b)).unwrap();
        assert_eq!((counted.stopped, counted.result), (None, size));
    }
}
