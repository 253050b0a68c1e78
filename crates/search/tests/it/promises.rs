//! What is promised, on generated trees.

use crate::{RANKS, on};
use motet_search::{Best, Bounded, Order, Search, Tree};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// A tree that a seed decides.
#[derive(Debug, Clone, Copy)]
struct Grown {
    seed: u64,
    depth: u32,
    most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    hash: u64,
    depth: u32,
    /// No value below is greater.
    cap: u32,
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Tree for Grown {
    type Node = Node;

    fn root(&self) -> Node {
        Node {
            hash: mix(self.seed),
            depth: 0,
            cap: 40,
        }
    }

    fn children(&self, node: &Node, out: &mut Vec<Node>) {
        if node.depth == self.depth {
            return;
        }
        out.extend((0..node.hash % (self.most + 1)).map(|child| {
            let hash = mix(node.hash ^ mix(child + 1));
            Node {
                hash,
                depth: node.depth + 1,
                cap: node.cap - ((hash >> 8) % 3) as u32,
            }
        }));
    }
}

impl Bounded for Grown {
    type Value = u32;

    fn value(&self, node: &Node) -> Option<u32> {
        let wanted = (node.hash >> 16).is_multiple_of(4);
        wanted.then(|| node.cap - ((node.hash >> 24) % 4) as u32)
    }

    fn bound(&self, node: &Node) -> u32 {
        node.cap
    }
}

fn grown() -> impl Strategy<Value = Grown> {
    (any::<u64>(), 1..12u32, 1..6u64).prop_map(|(seed, depth, most)| Grown { seed, depth, most })
}

/// All nodes in their order, with their paths.
fn all(tree: &Grown) -> Vec<(Vec<u32>, Node)> {
    fn below(tree: &Grown, node: Node, path: &mut Vec<u32>, all: &mut Vec<(Vec<u32>, Node)>) {
        all.push((path.clone(), node));
        let mut children = Vec::new();
        tree.children(&node, &mut children);
        for (number, child) in (0..).zip(children) {
            path.push(number);
            below(tree, child, path, all);
            path.pop();
        }
    }
    let mut nodes = Vec::new();
    below(tree, tree.root(), &mut Vec::new(), &mut nodes);
    nodes
}

/// The first node of the greatest value.
fn first_best(nodes: &[(Vec<u32>, Node)], tree: &Grown) -> Option<Best<u32, Node>> {
    let solutions = nodes
        .iter()
        .filter_map(|(path, node)| Some((tree.value(node)?, path, node)));
    let first = solutions.rev().max_by_key(|(value, ..)| *value)?;
    Some(Best {
        value: first.0,
        path: first.1.clone(),
        node: *first.2,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn prop_sem_g195_a_fold_is_in_the_order_of_the_tree(tree in grown()) {
        let known: Vec<u64> = all(&tree).iter().map(|(_, node)| node.hash).collect();
        for ranks in RANKS {
            let search = Search { seed: tree.seed, ..Search::default() };
            let found = on(ranks, async |comm| {
                let push = |hashes: &mut Vec<u64>, node: &Node| hashes.push(node.hash);
                let append = |mut one: Vec<u64>, mut other| {
                    one.append(&mut other);
                    one
                };
                Ok(search.fold(&comm, &tree, Vec::new, push, append).await?.result)
            });
            prop_assert_eq!(&found, &known, "{} ranks", ranks);
        }
    }

    #[test]
    fn prop_sem_g196_the_best_is_found(tree in grown()) {
        let nodes = all(&tree);
        let known = first_best(&nodes, &tree);
        let replicable = Order::Replicable { window: 3, split: 2 };
        for order in [Order::Any, Order::First, replicable] {
            for ranks in RANKS {
                let search = Search { order, ..Search::default() };
                let found = on(ranks, async |comm| Ok(search.maximise(&comm, &tree).await?.result));
                if order != Order::Any {
                    prop_assert_eq!(&found, &known, "{:?} on {}", order, ranks);
                }
                let value = found.as_ref().map(|best| best.value);
                prop_assert_eq!(value, known.as_ref().map(|best| best.value));
                if let Some(best) = found {
                    prop_assert!(nodes.contains(&(best.path, best.node)));
                }
            }
        }
    }

    #[test]
    fn prop_sem_g197_the_first_is_found(tree in grown(), number in 0..7u64) {
        let wanted = |node: &Node| (node.hash >> 40) % 7 == number;
        let nodes = all(&tree);
        let known = nodes.iter().find(|(_, node)| wanted(node));
        for ranks in RANKS {
            let search = Search { order: Order::First, ..Search::default() };
            let found = on(ranks, async |comm| Ok(search.find(&comm, &tree, wanted).await?.result));
            let found = found.map(|best| (best.path, best.node));
            prop_assert_eq!(found.as_ref(), known, "{} ranks", ranks);
        }
    }

    #[test]
    fn prop_sem_g198_replicable_visits_the_same(
        tree in grown(),
        window in 1..9usize,
        split in 1..4u32,
    ) {
        let order = Order::Replicable { window, split };
        let search = Search { order, ..Search::default() };
        let visits = |ranks| on(ranks, async |comm| {
            let found = search.maximise(&comm, &tree).await?;
            Ok([found.report.nodes, found.report.pruned])
        });
        let one = visits(1);
        prop_assert_eq!(visits(2), one);
        prop_assert_eq!(visits(8), one);
        if window == 1 {
            let first = Search { order: Order::First, ..Search::default() };
            let sequential = on(1, async |comm| {
                let found = first.maximise(&comm, &tree).await?;
                Ok([found.report.nodes, found.report.pruned])
            });
            prop_assert_eq!(one, sequential, "a window of one is the sequential search");
        }
    }
}
