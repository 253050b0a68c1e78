//! How searches of games end that do not come to a value.

use crate::ends::Fragile;
use crate::progress::noted;
use crate::{RANKS, on};
use motet_search::{Game, Limits, OnProgress, Search, SearchError, SearchFault, Tree};
use std::sync::Arc;
use std::time::Duration;

/// Moves of a line that is longer than any stack has room for.
const LONG: u32 = 200_000;

impl Game for Fragile {
    fn leaf(&self, node: &Vec<u32>, _: u32) -> Option<i32> {
        (node.len() == 3).then_some(0)
    }

    fn key(&self, node: &Vec<u32>) -> u64 {
        node.iter()
            .fold(0, |key, child| key * 32 + u64::from(*child) + 1)
    }
}

#[test]
fn sem_g202_a_game_without_a_value_is_told() {
    let search = Search::default();
    for ranks in RANKS {
        let played = |depth, tree: Fragile| {
            on(ranks, async |comm| {
                match search.play(&comm, &tree, depth).await {
                    Err(SearchError::Fault(fault)) => Ok(fault),
                    other => panic!("no fault: {other:?}"),
                }
            })
        };
        assert!(matches!(
            played(2, Fragile(&[99])),
            SearchFault::NoLeaf { .. }
        ));
        let panicked = played(3, Fragile(&[17]));
        assert!(matches!(panicked, SearchFault::Panicked { path, .. } if path == [17]));
    }
}

/// A game in which the first move ends it, and others go on.
struct Lopsided;

impl Tree for Lopsided {
    type Node = Vec<u32>;

    fn root(&self) -> Vec<u32> {
        Vec::new()
    }

    fn children(&self, node: &Vec<u32>, out: &mut Vec<Vec<u32>>) {
        out.extend((0..2).map(|child| [&node[..], &[child]].concat()));
    }
}

impl Game for Lopsided {
    fn leaf(&self, node: &Vec<u32>, depth: u32) -> Option<i32> {
        (node.first() == Some(&0) || depth == 0).then_some(0)
    }

    fn key(&self, node: &Vec<u32>) -> u64 {
        node.iter()
            .fold(1, |key, child| key * 2 + u64::from(*child))
    }
}

#[test]
fn sem_g202_a_position_that_is_too_deep_is_told() {
    for ranks in RANKS {
        let played = |limit, at_first: bool| {
            let limits = Limits {
                depth: limit,
                ..Limits::default()
            };
            let search = Search {
                limits,
                ..Search::default()
            };
            on(ranks, async |comm| {
                let found = match at_first {
                    true => search.play(&comm, &Fragile(&[99]), 3).await,
                    false => search.play(&comm, &Lopsided, 3).await,
                };
                match found {
                    Ok(_) => Ok(None),
                    Err(SearchError::Fault(SearchFault::TooDeep { path, limit, .. })) => {
                        Ok(Some((path, limit)))
                    }
                    Err(other) => panic!("{other}"),
                }
            })
        };
        assert_eq!(played(3, true), None);
        assert_eq!(played(2, true), Some((vec![0, 0], 2)));
        assert_eq!(played(3, false), None);
        assert_eq!(played(2, false), Some((vec![1, 0], 2)));
    }
}

/// A game in which the first move ends it, and behind the other each position has one move.
struct LongLine;

/// The position behind the first move.
const OVER: u32 = u32::MAX;

impl Tree for LongLine {
    type Node = u32;

    fn root(&self) -> u32 {
        0
    }

    fn children(&self, node: &u32, out: &mut Vec<u32>) {
        out.extend((*node == 0).then_some(OVER));
        out.push(node + 1);
    }
}

impl Game for LongLine {
    fn leaf(&self, node: &u32, depth: u32) -> Option<i32> {
        match (*node, depth) {
            (OVER, _) => Some(0),
            (_, 0) => Some(1),
            _ => None,
        }
    }

    fn key(&self, node: &u32) -> u64 {
        u64::from(*node)
    }
}

#[test]
fn sem_g200_a_line_of_any_length_has_its_value() {
    for ranks in RANKS {
        let won = on(ranks, async |comm| {
            let played = Search::default().play(&comm, &LongLine, LONG).await?;
            Ok(played.result.map(|play| (play.value, play.child)))
        });
        // Who begins is to move again at the end of the line, and has won there.
        assert_eq!(won, Some((1, Some(1))));
    }
}

#[test]
fn a_table_that_no_rank_has_room_for_is_refused() {
    for ranks in RANKS {
        for table in [usize::MAX, usize::MAX >> 6] {
            let search = Search {
                table,
                ..Search::default()
            };
            let found = on(ranks, async |comm| {
                match search.play(&comm, &Fragile(&[99]), 3).await {
                    Err(SearchError::Fault(fault)) => Ok(fault),
                    other => panic!("no fault: {other:?}"),
                }
            });
            let SearchFault::Settings { problem } = &found else {
                panic!("{found:?}");
            };
            assert!(
                problem.contains("set `Search::table` to fewer"),
                "{problem}"
            );
        }
    }
}

#[test]
fn sem_g204_progress_of_a_game_is_that_of_all_ranks() {
    for ranks in RANKS {
        let (progress, told) = noted(Duration::ZERO);
        let search = Search {
            progress: Some(progress),
            ..Search::default()
        };
        let nodes = on(ranks, async |comm| {
            let played = search.play(&comm, &Fragile(&[99]), 3).await?;
            Ok(played.report.nodes)
        });
        let told: Vec<u64> = told.lock().iter().map(|progress| progress.nodes).collect();
        assert!(told.is_sorted(), "on {ranks}: {told:?}");
        // The last move that is done is the last that is told of.
        assert_eq!(told.last(), Some(&nodes), "on {ranks}");
    }
}

#[test]
fn sem_g202_a_panic_in_a_progress_call_of_a_game_is_told() {
    let progress = OnProgress {
        every: Duration::ZERO,
        tell: Arc::new(|_| panic!("nobody hears")),
    };
    let search = Search {
        progress: Some(progress),
        ..Search::default()
    };
    for ranks in RANKS {
        let (path, message) = on(ranks, async |comm| {
            match search.play(&comm, &Fragile(&[99]), 3).await {
                Err(SearchError::Fault(SearchFault::Panicked { path, message, .. })) => {
                    Ok((path, message))
                }
                other => panic!("no panic: {other:?}"),
            }
        });
        assert_eq!((path, &message[..]), (vec![], "nobody hears"), "on {ranks}");
    }
}
