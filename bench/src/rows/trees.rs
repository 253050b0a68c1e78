//! Trees that are searched: N queens and the unbalanced trees of UTS.
//!
//! Question: what does a node cost when ranks search a tree? Definition: time of the whole search
//! over the nodes. `plain` is a recursion without any library. The peer `rayon` has its best forms.
//! For UTS these are halves of a stack, given away after each thousand nodes. For queens it is a
//! task for each node down to a depth. Queens twice: every node by motet's walk, and as rayon does
//! it, by recursion from a row on. A chain with a leaf beside each node has nothing to share: it
//! shows what those who ask for work cost who has it. Threads are bound to cores on both sides.
//! Threats: the work of a node hides the rest; on two threads the system's balance shows.

use crate::contest::{Bar, Contest, ContestProgram};
use crate::measuring::Effort;
use crate::peers::rayon;
use crate::said::Said;
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use motet_comm::World;
use motet_problems::{QueenRows, Queens, Uts};
use motet_search::{Search, SearchError, Tree};
use motet_sync::thread;
use std::hint::black_box;
use std::time::Instant;

/// Nodes after which a task of rayon gives half of its stack away.
const SHARE: usize = 1000;
/// Tasks of rayon for queens down to this row, and subtrees that motet's visit takes in whole.
const ROWS: u32 = 4;

/// A chain of so many levels. Each of its nodes has a leaf beside it, which comes first.
#[derive(Clone, Copy)]
struct NarrowTree(u32);

impl Tree for NarrowTree {
    /// The level, and whether the chain goes on there.
    type Node = (u32, bool);

    fn root(&self) -> (u32, bool) {
        (0, true)
    }

    fn children(&self, (level, goes_on): &(u32, bool), out: &mut Vec<(u32, bool)>) {
        if *goes_on && *level < self.0 {
            out.extend([(level + 1, false), (level + 1, true)]);
        }
    }
}

impl NarrowTree {
    /// Its nodes, by a stack.
    fn plain(self) -> u64 {
        let (mut nodes, mut stack) = (0, vec![self.root()]);
        while let Some(node) = stack.pop() {
            nodes += 1;
            self.children(&node, &mut stack);
        }
        nodes
    }
}

/// The rows.
pub(crate) fn contests(effort: Effort) -> Vec<Contest> {
    let size = effort.pick(6, 12, 13);
    let queens = Queens { size };
    let trees = match effort {
        Effort::Trial => [("default", Uts::SMALL), ("default again", Uts::SMALL)],
        Effort::Quick | Effort::Full => [("T1", Uts::T1), ("T3", Uts::T3)],
    };
    let mut contests = Vec::new();
    for threads in [1, thread::cores().max(2)] {
        let on = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
        let of_queens = |name: String, motet: ContestProgram| {
            row(
                format!("{name}, {on}"),
                threads,
                1.1,
                motet,
                Box::new(move || timed(|| queens.plain(queens.root())[1])),
                Box::new(move || pooled(threads, || below(queens, queens.root(), 0))),
            )
        };
        contests.push(of_queens(
            format!("{size} queens"),
            Box::new(move || folded(&queens, threads)),
        ));
        contests.push(of_queens(
            format!("{size} queens, by recursion from row {ROWS} on"),
            Box::new(move || in_subtrees(queens, threads)),
        ));
        let narrow = NarrowTree(effort.pick(100, 100_000, 100_000));
        let of_narrow = move || folded(&narrow, threads);
        contests.push(
            Contest::new(format!("a narrow tree, {on}"), "ns per node", of_narrow)
                .beside("plain", move || timed(|| narrow.plain())),
        );
        for (name, tree) in trees {
            contests.push(row(
                format!("UTS {name}, {on}"),
                threads,
                1.05,
                Box::new(move || folded(&tree, threads)),
                Box::new(move || timed(|| tree.plain(&tree.root()))),
                Box::new(move || pooled(threads, || halves(&tree, vec![tree.root()]))),
            ));
        }
    }
    contests
}

/// On one thread the bar is the plain program; on more it is rayon, of whose speed-up 0.95 is to be
/// reached.
fn row(
    row: String,
    threads: usize,
    bar: f64,
    motet: ContestProgram,
    plain: ContestProgram,
    rayon: ContestProgram,
) -> Contest {
    let bar = match threads {
        1 => Bar::AtMostTimes(bar, "plain"),
        _ => Bar::AtMostTimes(1.0 / 0.95, "rayon"),
    };
    Contest::new(row, "ns per node", motet)
        .beside("plain", plain)
        .beside("rayon", rayon)
        .bar(bar)
}

/// Time for a node of what counts nodes.
fn timed(count: impl FnOnce() -> u64) -> Result<f64, String> {
    let begin = Instant::now();
    let nodes = black_box(count());
    Ok(begin.elapsed().as_nanos() as f64 / nodes as f64)
}

fn folded<T: Tree + Sync>(tree: &T, ranks: usize) -> Result<f64, String> {
    let world = World::threads(ranks).pin(true);
    let [taken, nodes] = counted(&world, tree, each, 1)?;
    Ok(taken * 1e9 / nodes)
}

/// Counts a node.
fn each<N>(sum: &mut u64, _: &N) -> bool {
    *sum += 1;
    true
}

/// A walk down to some row, and the plain program from there on.
fn in_subtrees(queens: Queens, ranks: usize) -> Result<f64, String> {
    let world = World::threads(ranks).pin(true);
    let count = |sum: &mut u64, rows: &QueenRows| {
        let whole = rows.count() == ROWS;
        *sum += if whole { queens.plain(*rows)[1] } else { 1 };
        !whole
    };
    let [taken, nodes] = counted(&world, &queens, count, 1)?;
    Ok(taken * 1e9 / nodes)
}

/// The time of one of so many counts of a tree's nodes by all ranks, in µs.
pub(crate) fn run_on<T: Tree + Sync>(world: &World, tree: &T, rounds: u64) -> Result<f64, String> {
    let [taken, _] = counted(world, tree, each, rounds)?;
    Ok(taken * 1e6 / rounds as f64)
}

/// All ranks count the nodes so often: the seconds that it took, and the nodes.
fn counted<T: Tree + Sync>(
    world: &World,
    tree: &T,
    count: impl Fn(&mut u64, &T::Node) -> bool + Sync,
    rounds: u64,
) -> Result<[f64; 2], String> {
    let search = Search::default();
    let counts = world.run(async |comm| -> Result<_, SearchError> {
        comm.barrier().await?;
        let begin = Instant::now();
        let mut nodes = 0;
        for _ in 0..rounds {
            let counted = search.fold_pruned(&comm, tree, || 0, &count, |a, b| a + b);
            let counted = counted.await?;
            nodes = counted.result;
        }
        Ok([begin.elapsed().as_secs_f64(), nodes as f64])
    });
    Ok(counts.said()?[0])
}

fn pooled(threads: usize, count: impl FnOnce() -> u64 + Send) -> Result<f64, String> {
    let pool = rayon::pool(threads, true)?;
    pool.install(|| timed(count))
}

/// A task for each node down to some row.
fn below(queens: Queens, rows: QueenRows, row: u32) -> u64 {
    if row == ROWS {
        return queens.plain(rows)[1];
    }
    let mut children = Vec::new();
    queens.children(&rows, &mut children);
    let children = children.into_par_iter();
    1 + children
        .map(|child| below(queens, child, row + 1))
        .sum::<u64>()
}

/// Half of the stack after each thousand nodes.
fn halves<T: Tree<Node: Send> + Sync>(tree: &T, mut stack: Vec<T::Node>) -> u64 {
    let (mut nodes, mut children) = (0, Vec::new());
    loop {
        for _ in 0..SHARE {
            let Some(node) = stack.pop() else {
                return nodes;
            };
            nodes += 1;
            tree.children(&node, &mut children);
            stack.append(&mut children);
        }
        if stack.len() > 1 {
            let others = stack.split_off(stack.len() / 2);
            let (own, theirs) = ::rayon::join(|| halves(tree, others), || halves(tree, stack));
            return nodes + own + theirs;
        }
    }
}
