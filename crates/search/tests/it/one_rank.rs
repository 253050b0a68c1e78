//! Code of the program that panics on one rank and nowhere else.

use crate::on;
use motet_comm::World;
use motet_search::{Bounded, Game, Search, SearchError, SearchFault, Tree};
use motet_testkit::{patience, within};
use std::fmt::Debug;

/// Numbers up to seven; whether whoever asks is out of luck.
struct Unlucky(bool);

impl Tree for Unlucky {
    type Node = u32;

    fn root(&self) -> u32 {
        0
    }

    fn children(&self, node: &u32, out: &mut Vec<u32>) {
        if *node < 7 {
            out.extend([node + 1; 2]);
        }
    }
}

impl Bounded for Unlucky {
    type Value = u32;

    fn value(&self, node: &u32) -> Option<u32> {
        (*node == 7).then_some(*node)
    }

    fn bound(&self, node: &u32) -> u32 {
        assert!(!self.0, "out of luck");
        *node
    }
}

impl Game for Unlucky {
    fn leaf(&self, node: &u32, depth: u32) -> Option<i32> {
        assert!(!self.0, "out of luck");
        (*node == 7 || depth == 0).then_some(1)
    }

    fn key(&self, node: &u32) -> u64 {
        u64::from(*node)
    }
}

/// A game that no search gets through; whether whoever asks is out of luck.
struct WideGame(bool);

impl Tree for WideGame {
    type Node = u64;

    fn root(&self) -> u64 {
        1
    }

    fn children(&self, node: &u64, out: &mut Vec<u64>) {
        out.extend([2 * node, 2 * node + 1]);
    }
}

impl Game for WideGame {
    fn leaf(&self, node: &u64, depth: u32) -> Option<i32> {
        assert!(!self.0, "out of luck");
        (depth == 0).then_some((node.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i32)
    }

    fn key(&self, node: &u64) -> u64 {
        *node
    }
}

/// What a search has come to that ends on the rank which is out of luck.
fn told<R: Debug>(found: Result<R, SearchError>, unlucky: usize) -> Result<String, SearchError> {
    match found {
        Err(SearchError::Fault(SearchFault::Panicked { rank, message, .. })) => {
            assert_eq!(rank, unlucky);
            Ok(message)
        }
        other => panic!("no panic: {other:?}"),
    }
}

#[test]
fn sem_g202_a_panic_before_the_first_node_on_one_rank_ends_the_search_on_every_rank() {
    within(patience(), || {
        let search = Search::default();
        for (ranks, unlucky) in [(1, 0), (2, 0), (2, 1), (8, 0), (8, 5)] {
            let zero = on(ranks, async |comm| {
                let fails = comm.rank() == unlucky;
                let zero = || {
                    assert!(!fails, "out of luck");
                    0_u64
                };
                let visit = |sum: &mut u64, _: &u32| *sum += 1;
                let found = search.fold(&comm, &Unlucky(false), zero, visit, |a, b| a + b);
                told(found.await, unlucky)
            });
            let bound = on(ranks, async |comm| {
                let tree = Unlucky(comm.rank() == unlucky);
                told(search.deepen(&comm, &tree).await, unlucky)
            });
            let leaf = on(ranks, async |comm| {
                let game = Unlucky(comm.rank() == unlucky);
                told(search.play(&comm, &game, 7).await, unlucky)
            });
            assert_eq!([zero, bound, leaf], ["out of luck"; 3], "on {ranks}");
        }
    });
}

#[test]
fn sem_g202_nobody_searches_on_for_a_rank_whose_first_move_panics() {
    within(patience(), || {
        for unlucky in [0, 1] {
            // A rank that searches gives its thread to no other.
            let world = World::threads(2).workers(2);
            let messages = world.run(async |comm| {
                let game = WideGame(comm.rank() == unlucky);
                told(Search::default().play(&comm, &game, 60).await, unlucky)
            });
            assert_eq!(messages.unwrap(), ["out of luck"; 2]);
        }
    });
}
