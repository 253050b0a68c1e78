//! The known answers on two processes of one rank and of two.

use crate::network::processes;
use motet_comm::{Communicator, World};
use motet_problems::{Fifteen, Golomb, Graph, Knapsack, Queens, TicTacToe, Tour, Uts};
use motet_search::{Bounded, Order, Report, Search, SearchError, Tree};
use motet_testkit::{patience, within};

/// What the ranks of two processes agree on.
fn on_two<R: Send + PartialEq + std::fmt::Debug + 'static>(
    ranks: usize,
    body: impl AsyncFn(Communicator) -> Result<R, SearchError> + Sync + Send + Copy + 'static,
) -> R {
    let found = within(patience(), move || {
        processes(2, move |end| World::over(end, ranks).run(body).unwrap())
    });
    let mut found: Vec<R> = found.into_iter().flatten().collect();
    let last = found.pop().unwrap();
    assert!(found.iter().all(|other| *other == last), "ranks differ");
    last
}

async fn nodes<T: Tree>(comm: &Communicator, tree: &T) -> Result<u64, SearchError> {
    let count = |sum: &mut u64, _: &T::Node| *sum += 1;
    let search = Search::default();
    let all = search.fold(comm, tree, || 0, count, |a, b| a + b).await?;
    Ok(all.result)
}

async fn best<P: Bounded>(
    comm: &Communicator,
    order: Order,
    problem: &P,
) -> Result<(P::Value, Report), SearchError> {
    let search = Search {
        order,
        ..Search::default()
    };
    let found = search.maximise(comm, problem).await?;
    Ok((found.result.unwrap().value, found.report))
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
fn sem_g207_processes_find_the_known_answers() {
    for ranks in [1, 2] {
        let counts = on_two(ranks, async |comm| {
            let queens = nodes(&comm, &Queens { size: 10 }).await?;
            Ok([queens, nodes(&comm, &Uts::SMALL).await?])
        });
        assert_eq!(counts, [35_539, 1_732], "2 × {ranks}");
        for order in ORDERS {
            let values = on_two(ranks, async move |comm| {
                let (clique, _) = best(&comm, order, &Graph::johnson(8, 4, 4)).await?;
                let (packed, _) = best(&comm, order, &Knapsack::p08()).await?;
                let search = Search {
                    order,
                    ..Search::default()
                };
                let ruler = search.minimise(&comm, &Golomb { marks: 8 }).await?;
                Ok((clique, packed, ruler.result.unwrap().value))
            });
            assert_eq!(values, (14, 13_549_094, 34), "{order:?}, 2 × {ranks}");
        }
        let others = on_two(ranks, async |comm| {
            let search = Search {
                table: 1 << 12,
                ..Search::default()
            };
            let tour = search.minimise(&comm, &Tour::burma14()).await?;
            let found = search.deepen(&comm, &Fifteen::KORF_79).await?;
            let before = found.report.before_last_round - u64::from(found.report.rounds - 1);
            let play = search.play(&comm, &TicTacToe, 9).await?;
            let (tour, moves) = (tour.result.unwrap().value, found.result.unwrap().value);
            Ok((tour, moves, before, play.result.unwrap().value))
        });
        assert_eq!(others, (3_323, 42, 216_571, 0), "2 × {ranks}");
    }
}

#[test]
fn sem_g207_a_replicable_search_visits_the_same_nodes_on_processes() {
    let order = Order::Replicable {
        window: 16,
        split: 1,
    };
    let visits = |report: Report| [report.nodes, report.pruned];
    let alone = World::threads(1).run(async |comm| {
        let (_, report) = best(&comm, order, &Graph::hamming(8, 4)).await?;
        Ok::<_, SearchError>(visits(report))
    });
    let alone = alone.unwrap()[0];
    for ranks in [1, 2] {
        let found = on_two(ranks, async move |comm| {
            let (value, report) = best(&comm, order, &Graph::hamming(8, 4)).await?;
            Ok((value, visits(report)))
        });
        assert_eq!(found, (16, alone), "2 × {ranks}");
    }
}

#[test]
fn sem_g208_a_better_value_goes_to_other_processes() {
    // Whatever is found first, the other process hears of it before the end.
    let (sent, used) = on_two(1, async |comm| {
        let (_, report) = best(&comm, Order::Any, &Knapsack::p08()).await?;
        Ok((report.bounds_sent, report.bounds_used))
    });
    assert!(sent > 0 && used > 0, "{sent} sent, {used} used");
}
