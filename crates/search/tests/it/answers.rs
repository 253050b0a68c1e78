//! Known answers, on any number of ranks.

use crate::{RANKS, on};
use motet_problems::{
    Clique, ConnectFour, Fifteen, Golomb, Graph, Knapsack, QueenRows, Queens, TicTacToe, Tour, Uts,
};
use motet_search::{Bounded, Game, Order, Search, Tree};
use motet_sync::atomic::{AtomicU64, Ordering};

/// The nodes of a tree, twice counted.
pub(crate) fn nodes<T: Tree + Sync>(ranks: usize, tree: &T) -> u64 {
    on(ranks, async |comm| {
        let count = |sum: &mut u64, _: &T::Node| *sum += 1;
        let search = Search::default();
        let counted = search.fold(&comm, tree, || 0, count, |a, b| a + b).await?;
        assert_eq!(counted.result, counted.report.nodes);
        assert_eq!(counted.report.ranks.len(), ranks);
        Ok(counted.result)
    })
}

/// The best value, and the nodes visited.
fn best<P: Bounded + Sync>(ranks: usize, order: Order, problem: &P) -> (Option<P::Value>, u64) {
    let search = Search {
        order,
        ..Search::default()
    };
    on(ranks, async |comm| {
        let found = search.maximise(&comm, problem).await?;
        Ok((found.result.map(|best| best.value), found.report.nodes))
    })
}

fn least<P: Bounded + Sync>(ranks: usize, order: Order, problem: &P) -> Option<P::Value> {
    let search = Search {
        order,
        ..Search::default()
    };
    on(ranks, async |comm| {
        let found = search.minimise(&comm, problem).await?.result;
        Ok(found.map(|best| best.value))
    })
}

const ORDERS: [Order; 3] = [
    Order::Any,
    Order::First,
    Order::Replicable {
        window: 8,
        split: 2,
    },
];

#[test]
fn sem_g195_queens() {
    for ranks in RANKS {
        for (size, solutions, all) in [(8, 92, 2_057), (10, 724, 35_539)] {
            let queens = Queens { size };
            let found = on(ranks, async |comm| {
                let count = |sum: &mut u64, rows: &_| *sum += u64::from(queens.is_solution(rows));
                let search = Search::default();
                let found = search
                    .fold(&comm, &queens, || 0, count, |a, b| a + b)
                    .await?;
                Ok([found.result, found.report.nodes])
            });
            assert_eq!(found, [solutions, all], "{size} on {ranks}");
        }
    }
    let queens = Queens { size: 12 };
    assert_eq!(queens.plain(queens.root()), [14_200, 856_189]);
    assert_eq!(nodes(2, &queens), 856_189);
}

#[test]
fn sem_g195_subtrees_that_are_taken_in_whole() {
    let queens = Queens { size: 10 };
    for ranks in RANKS {
        for last in [0, 1, 3, 10, 11] {
            let [solutions, all, whole] = on(ranks, async |comm| {
                let take = |sum: &mut [u64; 3], rows: &QueenRows| {
                    let whole = rows.count() == last;
                    let below = match whole {
                        true => queens.plain(*rows),
                        false => [queens.is_solution(rows).into(), 1],
                    };
                    *sum = [
                        sum[0] + below[0],
                        sum[1] + below[1],
                        sum[2] + u64::from(whole),
                    ];
                    !whole
                };
                let add = |a: [u64; 3], b: [u64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
                let search = Search::default();
                let found = search.fold_pruned(&comm, &queens, || [0; 3], take, add);
                let found = found.await?;
                let visited = found.report.nodes;
                let [solutions, all, whole] = found.result;
                assert_eq!(visited < all, last < 9, "{visited} of {all}");
                Ok([solutions, all, whole])
            });
            assert_eq!([solutions, all], [724, 35_539], "row {last} on {ranks}");
            assert_eq!(whole == 0, last == 11);
        }
    }
}

#[test]
fn sem_g195_unbalanced_trees() {
    for ranks in RANKS {
        assert_eq!(nodes(ranks, &Uts::SMALL), 1_732, "{ranks}");
    }
    assert_eq!(nodes(8, &Uts::T3), 4_112_897);
    assert_eq!(nodes(2, &Uts::T1), 4_130_071);
}

/// A chain of so many levels with a leaf beside each node, which comes first or last.
struct NarrowChain {
    levels: u32,
    leaf_first: bool,
}

impl Tree for NarrowChain {
    /// The level, and whether it is a leaf.
    type Node = (u32, bool);

    fn root(&self) -> (u32, bool) {
        (0, false)
    }

    fn children(&self, (level, is_leaf): &(u32, bool), out: &mut Vec<(u32, bool)>) {
        if !is_leaf && *level < self.levels {
            out.extend([self.leaf_first, !self.leaf_first].map(|is_leaf| (level + 1, is_leaf)));
        }
    }
}

#[test]
fn sem_g195_deep_narrow_trees() {
    for ranks in RANKS {
        for leaf_first in [false, true] {
            let chain = NarrowChain {
                levels: 30_000,
                leaf_first,
            };
            assert_eq!(nodes(ranks, &chain), 60_001, "{leaf_first} on {ranks}");
        }
    }
}

#[test]
#[ignore = "takes long"]
fn deep_sem_g195_more_trees() {
    for ranks in RANKS {
        assert_eq!(nodes(ranks, &Uts::T1), 4_130_071, "{ranks}");
        assert_eq!(nodes(ranks, &Uts::T2), 4_117_769, "{ranks}");
        assert_eq!(nodes(ranks, &Uts::T3), 4_112_897, "{ranks}");
        assert_eq!(nodes(ranks, &Uts::T4), 4_132_453, "{ranks}");
        assert_eq!(nodes(ranks, &Uts::T5), 4_147_582, "{ranks}");
        let queens = Queens { size: 13 };
        assert_eq!(nodes(ranks, &queens), 4_674_890, "{ranks}");
        assert_eq!(nodes(ranks, &TicTacToe), 549_946, "{ranks}");
    }
}

#[test]
fn sem_g196_cliques() {
    for ranks in RANKS {
        for order in ORDERS {
            for (graph, known) in [
                (Graph::hamming(6, 2), 32),
                (Graph::hamming(6, 4), 4),
                (Graph::hamming(8, 2), 128),
                (Graph::johnson(8, 2, 4), 4),
                (Graph::johnson(8, 4, 4), 14),
            ] {
                assert_eq!(best(ranks, order, &graph).0, Some(known), "{order:?}");
            }
        }
    }
    assert_eq!(best(2, Order::Any, &Graph::hamming(8, 4)).0, Some(16));
}

#[test]
fn sem_g196_knapsacks_tours_and_rulers() {
    for ranks in RANKS {
        for order in ORDERS {
            let label = format!("{order:?} on {ranks}");
            assert_eq!(
                best(ranks, order, &Knapsack::p07()).0,
                Some(1_458),
                "{label}"
            );
            let profit = best(ranks, order, &Knapsack::p08()).0;
            assert_eq!(profit, Some(13_549_094), "{label}");
            assert_eq!(
                least(ranks, order, &Golomb { marks: 8 }),
                Some(34),
                "{label}"
            );
        }
        assert_eq!(least(ranks, Order::First, &Tour::burma14()), Some(3_323));
    }
    assert_eq!(least(2, Order::Any, &Golomb { marks: 9 }), Some(44));
}

#[test]
#[ignore = "takes long"]
fn deep_sem_g196_longer_ones() {
    for ranks in RANKS {
        assert_eq!(least(ranks, Order::Any, &Golomb { marks: 10 }), Some(55));
        assert_eq!(least(ranks, Order::Any, &Golomb { marks: 11 }), Some(72));
        for order in ORDERS {
            let (value, _) = best(ranks, order, &Graph::johnson(16, 2, 4));
            assert_eq!(value, Some(8), "{order:?} on {ranks}");
        }
    }
}

/// Counts cliques that cannot grow; the known counts leave them out.
struct Counted<'g> {
    graph: &'g Graph,
    leaves: AtomicU64,
}

impl Tree for Counted<'_> {
    type Node = Clique;

    fn root(&self) -> Clique {
        self.graph.root()
    }

    fn children(&self, clique: &Clique, out: &mut Vec<Clique>) {
        self.graph.children(clique, out);
        if out.is_empty() {
            // Only the sum is looked at, when all ranks have ended.
            self.leaves.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Bounded for Counted<'_> {
    type Value = u32;

    fn value(&self, clique: &Clique) -> Option<u32> {
        self.graph.value(clique)
    }

    fn bound(&self, clique: &Clique) -> u32 {
        self.graph.bound(clique)
    }
}

/// Nodes of a replicable search with split depth 1, without the cliques that cannot grow.
fn replicable(graph: &Graph, window: usize, ranks: usize) -> u64 {
    let counted = Counted {
        graph,
        leaves: AtomicU64::new(0),
    };
    let order = Order::Replicable { window, split: 1 };
    best(ranks, order, &counted).1 - counted.leaves.into_inner()
}

#[test]
fn sem_g198_the_nodes_are_the_known_ones() {
    let graph = Graph::hamming(8, 4);
    for (window, known) in [(1, 36_452), (16, 36_617), (64, 78_883)] {
        for ranks in [1, 2] {
            assert_eq!(
                replicable(&graph, window, ranks),
                known,
                "{window}, {ranks}"
            );
        }
    }
    assert_eq!(replicable(&graph, 16, 8), 36_617);
}

#[test]
#[ignore = "takes long"]
fn deep_sem_g198_the_nodes_are_the_known_ones() {
    let graph = Graph::johnson(16, 2, 4);
    for (window, known) in [(1, 256_100), (16, 256_115), (64, 256_314)] {
        for ranks in RANKS {
            assert_eq!(
                replicable(&graph, window, ranks),
                known,
                "{window}, {ranks}"
            );
        }
    }
}

#[test]
fn sem_g199_fifteen() {
    for ranks in RANKS {
        for (puzzle, moves, before) in [
            (Fifteen::KORF_12, 45, 105_189),
            (Fifteen::KORF_79, 42, 216_571),
        ] {
            for order in [Order::Any, Order::First] {
                let search = Search {
                    order,
                    ..Search::default()
                };
                let found = on(ranks, async |comm| {
                    let found = search.deepen(&comm, &puzzle).await?;
                    let best = found.result.unwrap();
                    // The known numbers leave out the root, which each round visits.
                    let roots = u64::from(found.report.rounds - 1);
                    let before = found.report.before_last_round - roots;
                    Ok((best.value, best.path.len(), before))
                });
                assert_eq!(found, (moves, usize::from(moves), before), "{ranks}");
            }
        }
    }
}

/// The value of a game.
fn value<G: Game + Sync>(ranks: usize, game: &G, depth: u32, table: usize) -> i32 {
    let search = Search {
        table,
        ..Search::default()
    };
    on(ranks, async |comm| {
        let found = search.play(&comm, game, depth).await?;
        Ok(found.result.unwrap().value)
    })
}

#[test]
fn sem_g200_games() {
    for ranks in RANKS {
        for table in [0, 1 << 12] {
            assert_eq!(value(ranks, &TicTacToe, 9, table), 0);
        }
        for (width, height, known) in [(4, 4, 0), (5, 4, 0), (4, 5, 0)] {
            let game = ConnectFour { width, height };
            let found = value(ranks, &game, width * height, 1 << 18);
            assert_eq!(found, known, "{width} × {height} on {ranks}");
        }
    }
}

/// A game of four moves of three kinds, whose ends have the greatest and least values there are.
#[derive(Clone, Copy)]
struct Extremes(u64);

impl Extremes {
    /// Plain minimax.
    fn plain(self, moves: &[u64]) -> i32 {
        let moves = moves.to_vec();
        if let Some(value) = self.leaf(&moves, 0) {
            return value.max(-i32::MAX);
        }
        let mut below = Vec::new();
        self.children(&moves, &mut below);
        let values = below.iter().map(|moves| -self.plain(moves));
        values.max().unwrap()
    }
}

impl Tree for Extremes {
    type Node = Vec<u64>;

    fn root(&self) -> Vec<u64> {
        Vec::new()
    }

    fn children(&self, moves: &Vec<u64>, out: &mut Vec<Vec<u64>>) {
        out.extend((1..=3).map(|next| [&moves[..], &[next]].concat()));
    }
}

impl Game for Extremes {
    fn leaf(&self, moves: &Vec<u64>, _: u32) -> Option<i32> {
        const VALUES: [i32; 6] = [i32::MIN, -i32::MAX, -1, 0, 1, i32::MAX];
        let random = (self.key(moves) ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (moves.len() == 4).then(|| VALUES[(random >> 40) as usize % VALUES.len()])
    }

    fn key(&self, moves: &Vec<u64>) -> u64 {
        moves.iter().fold(0, |key, next| key * 4 + next)
    }
}

#[test]
fn sem_g200_values_at_the_ends_of_their_range() {
    for seed in 0..50 {
        let game = Extremes(seed);
        for (ranks, table) in RANKS
            .into_iter()
            .flat_map(|ranks| [(ranks, 0), (ranks, 64)])
        {
            let found = value(ranks, &game, 4, table);
            assert_eq!(found, game.plain(&[]), "{seed} on {ranks}");
        }
    }
}

#[test]
#[ignore = "takes long"]
fn deep_sem_g200_larger_games() {
    for (width, height, known) in [(5, 5, 0), (6, 4, -1)] {
        let game = ConnectFour { width, height };
        let found = value(2, &game, width * height, 1 << 22);
        assert_eq!(found, known, "{width} × {height}");
    }
}
