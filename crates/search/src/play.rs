//! The value of a game at a fixed depth.
//!
//! All ranks walk down the first moves. On the way back the other moves of each position are
//! searched by whoever is free, after the first has set a bound. Young brothers wait (R. Feldmann
//! and others, 1986), along the principal variation (T. Marsland and M. Campbell, Parallel search
//! of strongly ordered game trees, 1982). Each of these is a principal variation search on one
//! rank. Rank 0 hands out the moves, in their order, and tells those at work of better bounds.
//!
//! ```text
//!   root ─ a ─ b ─ leaf        1. value of the leaf
//!     │    │   └─ b' b''       2. b' and b'' by any ranks, with the bound of the leaf
//!     │    └─ c' c'' c'''      3. then these, and so on
//! ```

mod brother;

use crate::link::SearchLink;
use crate::outcome::{RankReport, Report};
use crate::table::TranspositionTable;
use crate::tally::NodeTally;
use crate::worker::{SearchStop, caught, sum_up};
use crate::{Game, Outcome, Search, SearchError, SearchFault};
use motet_comm::{CommError, Communicator};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What a game is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Play {
    /// The value for the one who is to move at the root.
    pub value: i32,
    /// The number of a move that has it; `None` if the game is over at the root.
    pub child: Option<u32>,
}

/// No value is less.
const LOWEST: i32 = -i32::MAX;

/// No value is greater.
const HIGHEST: i32 = i32::MAX;

/// What a leaf is worth: each value has its opposite.
fn in_range(value: i32) -> i32 {
    value.max(LOWEST)
}

#[derive(Serialize, Deserialize)]
enum Message {
    /// To rank 0: the sender is free, and what its last move was worth for the one who makes it.
    Free(Option<(u32, i32)>),
    /// From rank 0: search this move; another is worth so much.
    Take {
        child: u32,
        alpha: i32,
    },
    /// From rank 0: another move is worth so much.
    Better(i32),
    /// From rank 0: all moves of this position are searched.
    Worth(Play),
    Stop(SearchStop),
    /// To rank 0: the sender has visited so many nodes more.
    Tally(u64),
}

/// One rank.
struct Player<'s, 'c, 'g, G: Game> {
    game: &'g G,
    link: SearchLink<'c, Message>,
    search: &'s Search,
    began: Instant,
    table: TranspositionTable,
    /// Children of the positions on the path, to be used again.
    spare: Vec<Vec<G::Node>>,
    path: Vec<u32>,
    /// Of the moves of the position in hand: what the best is worth, and which it is.
    best: Play,
    /// On rank 0: the next move, how many there are, and who waits for one.
    next: u32,
    count: u32,
    free: Vec<usize>,
    at_work: Vec<usize>,
    /// The move in hand is to be searched again, with a better bound.
    given_up: bool,
    done: RankReport,
    tally: NodeTally<'s>,
    report: Report,
    stop: Option<SearchStop>,
}

/// Searches the game together with the other ranks of `comm`, which is the search's own.
pub(crate) async fn run<G: Game>(
    comm: &Communicator,
    search: &Search,
    game: &G,
    depth: u32,
) -> Result<Outcome<Option<Play>>, SearchError> {
    let table = TranspositionTable::new(search.table);
    let refused = || SearchStop::Fault(no_room(comm.rank(), search.table));
    let stop = table.is_none().then(refused);
    let mut player = Player {
        game,
        link: SearchLink::new(comm),
        search,
        began: Instant::now(),
        table: table.unwrap_or_default(),
        spare: Vec::new(),
        path: Vec::new(),
        best: Play {
            value: LOWEST,
            child: None,
        },
        next: 0,
        count: 0,
        free: Vec::new(),
        at_work: Vec::new(),
        given_up: false,
        done: RankReport::default(),
        tally: NodeTally::new(search, comm.size()),
        report: Report::default(),
        stop,
    };
    player.all(depth).await?;
    let Player {
        link,
        best,
        done,
        report,
        stop,
        ..
    } = player;
    link.drain().await?;
    let (report, stopped) = sum_up(comm, report, done, stop).await?;
    Ok(Outcome {
        result: stopped.is_none().then_some(best),
        stopped,
        report,
    })
}

fn no_room(rank: usize, table: usize) -> SearchFault {
    let problem = format!(
        "rank {rank} has no room for a table of {table} positions: set `Search::table` to fewer, or \
         to 0 for none"
    );
    SearchFault::Settings { problem }
}

impl<G: Game> Player<'_, '_, '_, G> {
    async fn all(&mut self, depth: u32) -> Result<(), CommError> {
        if self.stop.is_some() {
            return self.tell_stop();
        }
        let game = self.game;
        // Every rank does this itself, and finds the same.
        let Some((mut line, value)) = self.guarded(|player| player.first_line(game.root(), depth))
        else {
            return self.tell_stop();
        };
        self.best.value = value;
        if self.link.rank() > 0 {
            self.link.send(0, Message::Free(None))?;
        } else {
            self.done.nodes += line.len() as u64 + 1;
            self.tell_nodes()?;
        }
        while let Some(moves) = line.pop() {
            let left = depth - line.len() as u32 - 1;
            self.path = vec![0; line.len()];
            self.best = Play {
                value: -self.best.value,
                child: Some(0),
            };
            match self.link.rank() {
                0 => self.hand_out(&moves, left).await?,
                _ => self.help(&moves, left).await?,
            }
            if self.stop.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// This rank has no table, or no line of first moves: nobody is to wait for what rank 0 hands
    /// out, nor to search what is of no use.
    fn tell_stop(&mut self) -> Result<(), CommError> {
        let Some(stop) = self.stop.clone() else {
            return Ok(());
        };
        let others = match self.link.rank() {
            0 => 1..self.link.size(),
            _ => 0..1,
        };
        for rank in others {
            self.link.send(rank, Message::Stop(stop.clone()))?;
        }
        Ok(())
    }

    /// The moves of all positions on the line of first moves, and the value at its end.
    fn first_line(&mut self, root: G::Node, depth: u32) -> Option<(Vec<Vec<G::Node>>, i32)> {
        let (mut line, mut node) = (Vec::new(), root);
        for left in (0..=depth).rev() {
            if let Some(value) = self.game.leaf(&node, left) {
                return Some((line, in_range(value)));
            }
            let mut moves = Vec::new();
            if left > 0 {
                self.game.children(&node, &mut moves);
            }
            let Some(first) = moves.first() else {
                break;
            };
            if self.is_deepest(line.len()) {
                return None;
            }
            node = first.clone();
            line.push(moves);
            self.path.push(0);
        }
        let path = vec![0; line.len()];
        self.stop = Some(SearchStop::Fault(SearchFault::NoLeaf { path }));
        None
    }

    /// Rank 0: all moves but the first, by all ranks.
    async fn hand_out(&mut self, moves: &[G::Node], depth: u32) -> Result<(), CommError> {
        (self.next, self.count) = (1, moves.len() as u32);
        self.give()?;
        while self.stop.is_none() {
            if let Some(child) = self.take() {
                let value = self.search(&moves[child as usize], child, depth);
                self.learn(child, value)?;
                self.tell_nodes()?;
                self.look()?;
            } else if self.at_work.is_empty() {
                break;
            } else {
                let (from, message) = self.link.wait().await?;
                self.hear(from, message)?;
            }
        }
        for rank in 1..self.link.size() {
            let message = match &self.stop {
                Some(stop) => Message::Stop(stop.clone()),
                None => Message::Worth(self.best),
            };
            self.link.send(rank, message)?;
        }
        Ok(())
    }

    /// Any other rank: moves that rank 0 hands out.
    async fn help(&mut self, moves: &[G::Node], depth: u32) -> Result<(), CommError> {
        loop {
            let (_, message) = self.link.wait().await?;
            match message {
                Message::Take { child, alpha } => {
                    self.best.value = alpha;
                    let value = self.search(&moves[child as usize], child, depth);
                    self.tell_nodes()?;
                    match &self.stop {
                        Some(stop) => {
                            let stop = stop.clone();
                            return self.link.send(0, Message::Stop(stop));
                        }
                        None => self.link.send(0, Message::Free(Some((child, value))))?,
                    }
                }
                Message::Worth(best) => {
                    self.best = best;
                    return Ok(());
                }
                Message::Stop(stop) => {
                    self.stop = Some(stop);
                    return Ok(());
                }
                // The last move is done.
                Message::Better(_) | Message::Free(_) | Message::Tally(_) => {}
            }
        }
    }

    fn take(&mut self) -> Option<u32> {
        let child = self.next;
        self.next = (child + 1).min(self.count);
        (child < self.count).then_some(child)
    }

    /// Rank 0: moves for those who are free.
    fn give(&mut self) -> Result<(), CommError> {
        while let Some(rank) = self.free.pop() {
            let Some(child) = self.take() else {
                self.free.push(rank);
                break;
            };
            self.at_work.push(rank);
            self.report.steals += 1;
            let alpha = self.best.value;
            self.link.send(rank, Message::Take { child, alpha })?;
        }
        Ok(())
    }

    /// Rank 0: a move is worth so much, or at most so much.
    fn learn(&mut self, child: u32, value: i32) -> Result<(), CommError> {
        if value <= self.best.value || self.stop.is_some() {
            return Ok(());
        }
        self.best = Play {
            value,
            child: Some(child),
        };
        for rank in self.at_work.clone() {
            self.report.bounds_sent += 1;
            self.link.send(rank, Message::Better(value))?;
        }
        Ok(())
    }

    /// Takes in what has come, without waiting.
    fn look(&mut self) -> Result<(), CommError> {
        while self.stop.is_none()
            && let Some((from, message)) = self.link.next()?
        {
            self.hear(from, message)?;
        }
        Ok(())
    }

    fn hear(&mut self, from: usize, message: Message) -> Result<(), CommError> {
        match message {
            Message::Free(result) => {
                self.at_work.retain(|rank| *rank != from);
                self.free.push(from);
                if let Some((child, value)) = result {
                    self.learn(child, value)?;
                }
                self.give()?;
            }
            Message::Better(value) if value > self.best.value => {
                self.best.value = value;
                self.report.bounds_used += 1;
            }
            Message::Stop(stop) => self.stop = Some(stop),
            Message::Tally(nodes) => self.count(nodes),
            Message::Better(_) | Message::Take { .. } | Message::Worth(_) => {}
        }
        Ok(())
    }

    /// What a move is worth for the one who makes it, or at most worth if it is not better than the
    /// best.
    fn search(&mut self, node: &G::Node, child: u32, depth: u32) -> i32 {
        let begin = Instant::now();
        let line = self.path.len();
        self.path.push(child);
        let value = self.guarded(|player| Some(-player.brother(node, depth)));
        self.path.truncate(line);
        self.done.busy += begin.elapsed();
        value.unwrap_or(LOWEST)
    }

    /// Calls the program's code; its panic ends the search.
    fn guarded<R>(&mut self, call: impl FnOnce(&mut Self) -> Option<R>) -> Option<R> {
        match caught(|| call(self)) {
            Ok(result) => result,
            Err(message) => {
                let (rank, path) = (self.link.rank(), self.path.clone());
                self.stop = Some(SearchStop::Fault(SearchFault::Panicked {
                    rank,
                    path,
                    call: None,
                    message,
                }));
                None
            }
        }
    }
}
