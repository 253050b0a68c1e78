//! Fork and join: trees of tasks, regular (Fibonacci numbers) and not (UTS).
//!
//! Question: what does it cost to make tasks of a tree, beside rayon's parallel iterators and
//! `join`? Definition: time of the whole tree. Fibonacci: a call below the cut-off is one leaf.
//! Each call above it hands one half to a task and takes the other itself, and their results meet
//! in a frame. UTS: a handler walks depth-first through so many nodes and hands what is left over
//! to others; rayon maps over the children of each node. Threads are bound to cores on both sides.
//! Threats: the leaf's own work hides the rest.

use crate::contest::{Bar, Contest};
use crate::peers::rayon;
use crate::said::Said;
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use motet_dispatch::{Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, QueueConfig, Task};
use motet_problems::{Uts, UtsNode};
use motet_search::Tree;
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::thread;
use std::hint::black_box;
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// A call of fewer is one leaf: some microseconds.
const CUT_OFF: u32 = 15;
/// What is called first, for nothing: a thread that has just been made may wait for its first
/// slice.
const FIRST: u32 = 25;
/// Nodes that a handler visits before it shares: some tens of microseconds.
const BUDGET: u64 = 256;

/// The rows; `tree` is the unbalanced one with its name and number of nodes, when there is data.
pub(crate) fn contests(fibonacci: u32, tree: Option<(&str, Uts, u64)>) -> Vec<Contest> {
    let row = format!("fork-join, fib {fibonacci}, cut-off {CUT_OFF}");
    let fibonacci = Contest::new(row, "ms", move || fork_fibonacci(fibonacci))
        .beside("rayon", move || join_fibonacci(fibonacci));
    let tree = tree.map(|(name, tree, nodes)| {
        let row = format!("fork-join, UTS {name}");
        Contest::new(row, "ms", move || share_tree(tree, nodes))
            .beside("rayon", move || map_tree(&tree, nodes))
    });
    let contests = [fibonacci].into_iter().chain(tree);
    contests
        .map(|contest| contest.bar(Bar::AtMostTimes(1.2, "rayon")))
        .collect()
}

/// Where the two halves of a call meet.
struct Frame {
    /// Results that have come; the second takes the sum on.
    came: AtomicU64,
    sum: AtomicU64,
    above: Above,
}

/// Who gets the sum.
enum Above {
    Frame(Arc<Frame>),
    Caller(mpsc::Sender<u64>),
}

impl Frame {
    /// One half's result; the later half goes on upwards.
    fn give(self: Arc<Self>, mut result: u64) {
        let mut frame = self;
        loop {
            frame.sum.fetch_add(result, Ordering::Relaxed);
            if frame.came.fetch_add(1, Ordering::AcqRel) == 0 {
                return;
            }
            result = frame.sum.load(Ordering::Relaxed);
            match &frame.above {
                Above::Caller(caller) => {
                    let _ = caller.send(result);
                    return;
                }
                Above::Frame(above) => {
                    let above = Arc::clone(above);
                    frame = above;
                }
            }
        }
    }
}

fn fork(queue: &DispatcherQueue, mut n: u32, mut frame: Arc<Frame>) {
    while n >= CUT_OFF {
        let joined = Arc::new(Frame {
            came: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            above: Above::Frame(frame),
        });
        let (others, half) = (queue.clone(), Arc::clone(&joined));
        let task = Task::new(move || fork(&others, n - 1, half));
        queue.enqueue(task).expect("the queue is open");
        n -= 2;
        frame = joined;
    }
    frame.give(fibonacci(n));
}

/// A thread on each core, as rayon's here: two on one would be seen for what the system's balance
/// takes.
fn bound() -> Result<Dispatcher, String> {
    let config = DispatcherConfig {
        threads: thread::cores(),
        pin: true,
        ..DispatcherConfig::default()
    };
    Dispatcher::with(config).said()
}

fn fork_fibonacci(n: u32) -> Result<f64, String> {
    let dispatcher = bound()?;
    let queue = dispatcher.queue(QueueConfig::named("fibonacci"));
    let whole = |n| {
        let (caller, answer) = mpsc::channel();
        let root = Arc::new(Frame {
            // The only half there is comes second.
            came: AtomicU64::new(1),
            sum: AtomicU64::new(0),
            above: Above::Caller(caller),
        });
        let others = queue.clone();
        let task = Task::new(move || fork(&others, n, root));
        queue.enqueue(task).said()?;
        answer.recv().map_err(|_| "no answer".to_owned())
    };
    whole(FIRST)?;
    let started = Instant::now();
    checked(started, whole(n)?, right(n))
}

fn join_fibonacci(n: u32) -> Result<f64, String> {
    fn join(n: u32) -> u64 {
        if n < CUT_OFF {
            return fibonacci(n);
        }
        let (a, b) = ::rayon::join(|| join(n - 1), || join(n - 2));
        a + b
    }
    let pool = rayon::pool(thread::cores(), true)?;
    pool.install(|| join(FIRST));
    let started = Instant::now();
    checked(started, pool.install(|| join(n)), right(n))
}

/// The naive way, which is the work.
fn fibonacci(n: u32) -> u64 {
    match black_box(n) {
        0 | 1 => u64::from(n),
        n => fibonacci(n - 1) + fibonacci(n - 2),
    }
}

/// The same in a few steps.
fn right(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// The tree that all handlers walk, and how many nodes they have seen.
struct Walk {
    tree: Uts,
    queue: DispatcherQueue,
    seen: AtomicU64,
}

impl Walk {
    /// Visits nodes depth-first, at most [`BUDGET`] before it hands over the older half of what is
    /// left.
    fn visit(self: &Arc<Self>, mut stack: Vec<UtsNode>) {
        let mut seen = 0;
        while let Some(node) = stack.pop() {
            seen += 1;
            self.tree.children(&node, &mut stack);
            if seen % BUDGET == 0 && stack.len() > 1 {
                let rest = stack.split_off(stack.len() / 2);
                let (here, share) = (Arc::clone(self), std::mem::replace(&mut stack, rest));
                let task = Task::new(move || here.visit(share));
                self.queue.enqueue(task).expect("the queue is open");
            }
        }
        self.seen.fetch_add(seen, Ordering::Relaxed);
    }
}

fn share_tree(tree: Uts, nodes: u64) -> Result<f64, String> {
    let dispatcher = bound()?;
    let queue = dispatcher.queue(QueueConfig::named("tree"));
    let started = Instant::now();
    let walk = Arc::new(Walk {
        tree,
        queue: queue.clone(),
        seen: AtomicU64::new(0),
    });
    let root = Arc::clone(&walk);
    let task = Task::new(move || root.visit(vec![root.tree.root()]));
    queue.enqueue(task).said()?;
    // Nothing is queued and nothing runs: the tree has been walked.
    dispatcher.wait_idle();
    checked(started, walk.seen.load(Ordering::Relaxed), nodes)
}

fn map_tree(tree: &Uts, nodes: u64) -> Result<f64, String> {
    fn count(tree: &Uts, node: &UtsNode) -> u64 {
        let children = 0..tree.count(node);
        let below = children
            .into_par_iter()
            .map(|child| count(tree, &node.child(child)));
        1 + below.sum::<u64>()
    }
    let pool = rayon::pool(thread::cores(), true)?;
    let started = Instant::now();
    let seen = pool.install(|| count(tree, &tree.root()));
    checked(started, seen, nodes)
}

/// The time in ms since `started`, if the answer is right.
fn checked(started: Instant, answer: u64, right: u64) -> Result<f64, String> {
    let time = started.elapsed().as_secs_f64() * 1e3;
    if answer == right {
        Ok(time)
    } else {
        Err(format!("the answer is {answer}, not {right}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_answer() {
        for n in [0, CUT_OFF - 1, CUT_OFF, CUT_OFF + 5] {
            assert!(
                fork_fibonacci(n).is_ok() && join_fibonacci(n).is_ok(),
                "{n}"
            );
        }
    }

    #[test]
    fn a_wrong_answer_is_told() {
        assert!(checked(Instant::now(), 1, 2).is_err());
    }
}
