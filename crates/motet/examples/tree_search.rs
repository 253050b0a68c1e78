//! Problems of tree search with known answers: folds, best nodes, iterative deepening and games, by
//! all ranks together.
//!
//! ```text
//!   a rank walks its piece of the tree, depth first ── gives half of what it has not begun to a rank that asks
//!                                                   └─ tells the others of a better value, which cuts their trees
//! ```
//!
//! The answers are the same on any number of ranks, on threads and on processes
//! (`motet run -t 2 -m 2 -- tree_search`). How each problem is written stands in `crates/problems`.

use motet::search::{Bounded, Game, Order, Search, SearchError, Tree};
use motet::{Communicator, Current, World};
use motet_problems::{ConnectFour, Fifteen, Golomb, Graph, Knapsack, Queens, TicTacToe, Tour, Uts};

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let results = world.run(answers).expect("every search comes to its end");
    let answers = &results[0];
    assert!(results.iter().all(|result| result == answers));
    for (name, found, known) in answers {
        assert_eq!(found, known, "{name}");
    }
    if world.process().0 == 0 {
        let told = answers
            .iter()
            .map(|(name, found, _)| format!("{name} {found}"));
        println!("tree_search: {}", told.collect::<Vec<_>>().join(", "));
    }
}

/// Name, answer, known answer.
type Answers = Vec<(&'static str, i64, i64)>;

async fn answers(comm: Communicator) -> Result<Answers, SearchError> {
    let comm = &comm;
    let replicable = Order::Replicable {
        window: 16,
        split: 1,
    };
    Ok(vec![
        ("queens", nodes(comm, &Queens { size: 10 }).await?, 35_539),
        ("uts", nodes(comm, &Uts::SMALL).await?, 1_732),
        ("unbalanced", nodes(comm, &Uts::T3).await?, 4_112_897),
        (
            "clique",
            most(comm, Order::First, &Graph::hamming(6, 4)).await?,
            4,
        ),
        (
            "colours",
            most(comm, replicable, &Graph::johnson(8, 4, 4)).await?,
            14,
        ),
        (
            "knapsack",
            most(comm, Order::Any, &Knapsack::p08()).await?,
            13_549_094,
        ),
        ("tour", least(comm, &Tour::burma14()).await?, 3_323),
        ("ruler", least(comm, &Golomb { marks: 8 }).await?, 34),
        ("fifteen", moves(comm, &Fifteen::KORF_79).await?, 42),
        ("tic-tac-toe", worth(comm, &TicTacToe, 9).await?, 0),
        (
            "connect four",
            worth(
                comm,
                &ConnectFour {
                    width: 4,
                    height: 4,
                },
                16,
            )
            .await?,
            0,
        ),
    ])
}

async fn nodes<T: Tree>(comm: &Communicator, tree: &T) -> Result<i64, SearchError> {
    let count = |sum: &mut i64, _: &T::Node| *sum += 1;
    let search = Search::default();
    let counted = search.fold(comm, tree, || 0, count, |a, b| a + b);
    Ok(counted.await?.result)
}

async fn most<P: Bounded<Value: Into<u64>>>(
    comm: &Communicator,
    order: Order,
    problem: &P,
) -> Result<i64, SearchError> {
    let search = Search {
        order,
        ..Search::default()
    };
    let best = search.maximise(comm, problem).await?.result;
    Ok(best.map_or(-1, |best| best.value.into() as i64))
}

async fn least<P: Bounded<Value: Into<i64>>>(
    comm: &Communicator,
    problem: &P,
) -> Result<i64, SearchError> {
    let best = Search::default().minimise(comm, problem).await?.result;
    Ok(best.map_or(-1, |best| best.value.into()))
}

async fn moves(comm: &Communicator, puzzle: &Fifteen) -> Result<i64, SearchError> {
    let best = Search::default().deepen(comm, puzzle).await?.result;
    Ok(best.map_or(-1, |best| best.value.into()))
}

async fn worth<G: Game>(comm: &Communicator, game: &G, depth: u32) -> Result<i64, SearchError> {
    let search = Search {
        table: 1 << 16,
        ..Search::default()
    };
    let play = search.play(comm, game, depth).await?.result;
    Ok(play.map_or(i64::MIN, |play| play.value.into()))
}
