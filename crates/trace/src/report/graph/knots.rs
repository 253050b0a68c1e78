//! What follows from who waits for whom: who cannot go on, and round which cycles.
//!
//! Ranks, and what they wait for where that is several ranks, are nodes. A rank can go on when all
//! its calls can. A call that takes one of several things can when one can, a collective when all
//! that have not come can. Who runs can go on, who has finished sends nothing more. What can go on
//! is found from those who run, backwards; the rest is stuck. (Deadlock in systems of and-or
//! requests: E. Knapp, Deadlock detection in distributed databases, ACM Computing Surveys 19(4),
//! 1987.)

use super::{Collective, CollectiveNow, RankNow, WaitGraph, WaitNow};
use crate::address::Source;
use crate::report::WaitOperation;
use std::collections::BTreeMap;

/// Who can go on, and what keeps the others.
struct Knots {
    nodes: Vec<Node>,
    /// The nodes that can go on.
    free: Vec<bool>,
}

#[derive(Default)]
struct Node {
    /// What it waits for.
    children: Vec<usize>,
    /// Whether all of that must come, or one will do.
    all: bool,
}

/// Sets of ranks that several waits are for: one node each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    /// Those that have not come to a collective.
    Missing(Collective),
    /// All members of a communicator.
    Members(u32),
}

impl WaitGraph {
    /// The ranks that cannot go on: whatever those do that run, they wait for each other, or for
    /// some that have finished. This does not hold if a message to one of them is on its way. Nor
    /// does it if a rank that runs sends one to a rank that does not wait for it.
    #[must_use]
    pub fn stuck(&self) -> Vec<usize> {
        let knots = Knots::of(self);
        let waiting = (0..self.ranks.len()).filter(|&rank| !self.ranks[rank].waits().is_empty());
        waiting.filter(|&rank| !knots.free[rank]).collect()
    }

    /// Cycles of ranks that cannot go on, each waiting for the next and the last for the first.
    /// Every rank that cannot go on leads to one of them, or to a rank that has finished.
    #[must_use]
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        Knots::of(self).cycles(self.ranks.len())
    }

    /// The ranks that have not finished and that no other rank waits for.
    #[must_use]
    pub fn unawaited(&self) -> Vec<usize> {
        let awaited = self.awaited();
        let there = |rank: &usize| !matches!(self.ranks[*rank], RankNow::Finished);
        (0..self.ranks.len())
            .filter(|&rank| !awaited[rank])
            .filter(there)
            .collect()
    }

    /// The ranks that run, or wait for something else, and that others wait for.
    #[must_use]
    pub fn holding_up(&self) -> Vec<usize> {
        let awaited = self.awaited();
        let runs = |rank: &usize| {
            let now = &self.ranks[*rank];
            matches!(now, RankNow::Running { .. } | RankNow::Elsewhere { .. })
        };
        (0..self.ranks.len())
            .filter(|&rank| awaited[rank])
            .filter(runs)
            .collect()
    }

    /// Whether another rank waits for it, by rank.
    fn awaited(&self) -> Vec<bool> {
        let mut awaited = vec![false; self.ranks.len()];
        // Who waits for any member of a communicator: one rank, or several.
        let mut asks: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for (rank, wait) in self.waits() {
            match self.target(wait) {
                Target::Ranks(peers) => {
                    let others = peers.into_iter().filter(|&peer| peer != rank);
                    others.for_each(|peer| mark(&mut awaited, peer));
                }
                Target::Shared(Shared::Members(communicator)) => {
                    let (first, several) = asks.entry(communicator).or_insert((rank, false));
                    *several |= *first != rank;
                }
                Target::Shared(Shared::Missing(_)) => {}
            }
        }
        for (communicator, (first, several)) in asks {
            let members = self.members(communicator).into_iter();
            let others = members.filter(|&member| several || member != first);
            others.for_each(|member| mark(&mut awaited, member));
        }
        for collective in self.collectives() {
            let missing = collective.missing.into_iter();
            missing.for_each(|rank| mark(&mut awaited, rank));
        }
        awaited
    }

    /// What a wait is for.
    fn target(&self, wait: &WaitNow) -> Target {
        let communicator = wait.wait.communicator;
        let world = |rank| self.world(communicator, rank);
        if let Some(peers) = &wait.peers {
            return Target::Ranks(peers.iter().copied().map(world).collect());
        }
        if let Some(collective) = wait.collective() {
            return Target::Shared(Shared::Missing(collective));
        }
        match wait.wait.operation {
            WaitOperation::Recv { source, .. } | WaitOperation::Probe { source, .. } => {
                match source {
                    Source::Rank(rank) => Target::Ranks(vec![world(rank)]),
                    Source::Any | Source::Null => Target::Shared(Shared::Members(communicator)),
                    Source::Outside => Target::Ranks(Vec::new()),
                }
            }
            WaitOperation::Ssend { dest: peer, .. }
            | WaitOperation::Send { dest: peer, .. }
            | WaitOperation::NeighbourRoom { peer }
            | WaitOperation::Neighbour { peer, .. } => Target::Ranks(vec![world(peer)]),
            WaitOperation::Collective { .. } => Target::Ranks(Vec::new()),
        }
    }
}

/// What a wait is for.
enum Target {
    /// All of these.
    Ranks(Vec<usize>),
    Shared(Shared),
}

/// A rank of the world; others are numbers of a communicator that nobody knows any more.
fn mark(ranks: &mut [bool], rank: usize) {
    if let Some(marked) = ranks.get_mut(rank) {
        *marked = true;
    }
}

impl Knots {
    fn of(graph: &WaitGraph) -> Knots {
        let size = graph.ranks.len();
        let node = || Node {
            children: Vec::new(),
            all: true,
        };
        let mut nodes: Vec<Node> = (0..size).map(|_| node()).collect();
        let mut shared: BTreeMap<Shared, usize> = BTreeMap::new();
        for (rank, now) in graph.ranks.iter().enumerate() {
            for call in now.waits().chunk_by(|one, other| one.call == other.call) {
                let mut things = Vec::with_capacity(call.len());
                for wait in call {
                    things.push(match graph.target(wait) {
                        // A message may come from outside: nobody need go on for that.
                        _ if !wait.entrances.is_empty() => {
                            nodes.push(node());
                            nodes.len() - 1
                        }
                        Target::Ranks(peers) if peers.len() == 1 && peers[0] < size => peers[0],
                        Target::Ranks(mut children) => {
                            children.retain(|&peer| peer < size);
                            nodes.push(Node {
                                children,
                                all: true,
                            });
                            nodes.len() - 1
                        }
                        Target::Shared(set) => *shared.entry(set).or_insert_with(|| {
                            nodes.push(node());
                            nodes.len() - 1
                        }),
                    });
                }
                let thing = match things[..] {
                    [thing] => thing,
                    _ => {
                        nodes.push(Node {
                            children: things,
                            all: false,
                        });
                        nodes.len() - 1
                    }
                };
                nodes[rank].children.push(thing);
            }
        }
        Knots::fill(graph, &mut nodes, &shared);
        let free = Knots::free(graph, &nodes);
        Knots { nodes, free }
    }

    /// Gives the shared nodes their ranks.
    fn fill(graph: &WaitGraph, nodes: &mut [Node], shared: &BTreeMap<Shared, usize>) {
        let collectives = graph.collectives();
        for (set, &at) in shared {
            let (children, all) = match set {
                Shared::Members(communicator) => (graph.members(*communicator), false),
                Shared::Missing(key) => {
                    let is_it = |now: &&CollectiveNow| now.key() == Some(*key);
                    let missing = collectives.iter().find(is_it);
                    let missing = missing.map_or_else(Vec::new, |now| now.missing.clone());
                    // Of a started one somebody has not come, but it is not known who.
                    let all = !key.started || missing.is_empty();
                    (missing, all)
                }
            };
            nodes[at].children = children;
            nodes[at].children.retain(|&rank| rank < graph.ranks.len());
            nodes[at].all = all;
        }
    }

    /// Which nodes can go on: backwards from those that wait for nothing.
    fn free(graph: &WaitGraph, nodes: &[Node]) -> Vec<bool> {
        let mut parents: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        // How many children each waits for.
        let mut lacks = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            lacks.push(if node.all { node.children.len() } else { 1 });
            node.children
                .iter()
                .for_each(|&child| parents[child].push(at));
        }
        let finished = |at: usize| matches!(graph.ranks.get(at), Some(RankNow::Finished));
        let mut ready: Vec<usize> = (0..nodes.len())
            .filter(|&at| lacks[at] == 0 && !finished(at))
            .collect();
        let mut free = vec![false; nodes.len()];
        while let Some(at) = ready.pop() {
            if std::mem::replace(&mut free[at], true) {
                continue;
            }
            for &parent in &parents[at] {
                lacks[parent] = lacks[parent].saturating_sub(1);
                if lacks[parent] == 0 {
                    ready.push(parent);
                }
            }
        }
        free
    }

    /// From each rank that is stuck to one that keeps it: where that comes round, it is a cycle.
    fn cycles(&self, size: usize) -> Vec<Vec<usize>> {
        // The first two things that keep each node: a rank that waits for anybody is kept by
        // somebody else.
        let keeps = |node: &Node| {
            let leads_on =
                |&child: &usize| !self.free[child] && !self.nodes[child].children.is_empty();
            let mut keeps = node.children.iter().copied().filter(leads_on);
            [keeps.next(), keeps.next()]
        };
        let keeps: Vec<[Option<usize>; 2]> = self.nodes.iter().map(keeps).collect();
        let next = |rank: usize| keeps[rank][0].and_then(|thing| leads(&keeps, size, thing, rank));
        // The walk on which each rank was met first.
        let mut walks = vec![usize::MAX; size];
        let mut cycles = Vec::new();
        for start in (0..size).filter(|&rank| !self.free[rank]) {
            let mut at = Some(start);
            while let Some(here) = at.filter(|&here| walks[here] == usize::MAX) {
                walks[here] = start;
                at = next(here);
            }
            let Some(met) = at.filter(|&met| walks[met] == start) else {
                continue;
            };
            let mut round = vec![met];
            while let Some(here) = next(round[round.len() - 1]).filter(|&here| here != met) {
                round.push(here);
            }
            let smallest = round.iter().enumerate().min_by_key(|(_, rank)| **rank);
            if let Some((smallest, _)) = smallest {
                round.rotate_left(smallest);
            }
            cycles.push(round);
        }
        cycles
    }
}

/// The rank to which a thing leads that keeps rank `from`: another one, if there is one.
fn leads(keeps: &[[Option<usize>; 2]], size: usize, thing: usize, from: usize) -> Option<usize> {
    if thing < size {
        return Some(thing);
    }
    let ranks = keeps[thing].map(|next| leads(keeps, size, next?, from));
    let other = ranks.into_iter().flatten().find(|&rank| rank != from);
    other.or_else(|| ranks.into_iter().flatten().next())
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::CallSite;
    use crate::address::TagMatch;
    use crate::report::{Wait, Why};
    use std::panic::Location;
    use std::sync::Arc;
    use std::time::Duration;

    fn running() -> RankNow {
        let (lasted, after) = (Duration::ZERO, None);
        RankNow::Running { lasted, after }
    }

    /// Each entry is one call with its alternatives.
    fn waiting(calls: &[&[WaitOperation]]) -> RankNow {
        in_communicator(0, calls)
    }

    fn in_communicator(communicator: u32, calls: &[&[WaitOperation]]) -> RankNow {
        let location = CallSite::from(Location::caller());
        let waits = calls.iter().zip(1..).flat_map(|(call, number)| {
            call.iter().map(move |&operation| {
                let wait = Wait {
                    operation,
                    location,
                    communicator,
                };
                let why = Why {
                    wait,
                    members: None,
                    peers: None,
                    started: false,
                };
                WaitNow::new(number, &why, Duration::ZERO)
            })
        });
        RankNow::Waiting {
            waits: waits.collect(),
            woken: false,
        }
    }

    fn recv(source: impl Into<Source>) -> WaitOperation {
        WaitOperation::Recv {
            source: source.into(),
            tag: TagMatch::Any,
        }
    }

    const BARRIER: WaitOperation = WaitOperation::Collective {
        name: "barrier",
        root: None,
    };

    fn graph(ranks: Vec<RankNow>) -> WaitGraph {
        WaitGraph::of(Duration::ZERO, ranks, Vec::new())
    }

    #[test]
    fn a_ring_of_receives_is_a_cycle_and_who_hangs_on_it_is_stuck_too() {
        let ring = graph(vec![
            waiting(&[&[recv(2)]]),
            waiting(&[&[recv(0)]]),
            waiting(&[&[recv(1)]]),
            waiting(&[&[recv(1)]]),
            running(),
        ]);
        assert_eq!(ring.cycles(), [[0, 2, 1]]);
        assert_eq!(ring.stuck(), [0, 1, 2, 3]);
        assert_eq!(ring.unawaited(), [3, 4]);
        assert_eq!(ring.holding_up(), [0_usize; 0]);
    }

    #[test]
    fn who_waits_for_one_that_runs_goes_on() {
        let chain = graph(vec![
            running(),
            waiting(&[&[recv(0)]]),
            waiting(&[&[recv(1)]]),
            RankNow::Finished,
            waiting(&[&[recv(3)]]),
        ]);
        assert_eq!(chain.stuck(), [4], "nobody sends to it any more");
        assert_eq!(chain.cycles(), Vec::<Vec<usize>>::new());
        assert_eq!(chain.unawaited(), [2, 4]);
        assert_eq!(chain.holding_up(), [0]);
    }

    #[test]
    fn a_collective_waits_for_all_and_a_wait_for_any_of_several_for_one() {
        let barrier = graph(vec![
            waiting(&[&[BARRIER]]),
            waiting(&[&[BARRIER]]),
            waiting(&[&[recv(0), recv(3)]]),
            running(),
        ]);
        assert_eq!(barrier.stuck(), [0_usize; 0], "rank 3 may send to rank 2");
        let both = graph(vec![
            waiting(&[&[BARRIER]]),
            waiting(&[&[BARRIER]]),
            waiting(&[&[recv(0)], &[recv(3)]]),
            running(),
        ]);
        assert_eq!(both.stuck(), [0, 1, 2], "rank 2 needs rank 0 as well");
        assert_eq!(both.cycles(), [[0, 2]]);
        let [collective] = &both.collectives()[..] else {
            panic!("there is one");
        };
        assert_eq!(
            (&collective.come[..], &collective.missing[..]),
            (&[0, 1][..], &[2, 3][..])
        );
    }

    #[test]
    fn who_waits_for_anybody_is_kept_by_all_others() {
        let any = || waiting(&[&[recv(Source::Any)]]);
        let deaf = graph(vec![any(), any(), RankNow::Finished]);
        assert_eq!(deaf.stuck(), [0, 1]);
        assert_eq!(deaf.cycles(), [[0, 1]]);
        let one = graph(vec![any(), running()]);
        assert_eq!(one.stuck(), [0_usize; 0]);
        assert_eq!(one.unawaited(), [0]);
        assert_eq!(graph(vec![any()]).cycles(), [[0]], "nobody but itself");
        assert_eq!(graph(vec![waiting(&[&[recv(0)]])]).cycles(), [[0]]);
    }

    #[test]
    fn communicators_number_their_ranks_by_themselves() {
        let mut part = graph(vec![
            running(),
            in_communicator(5, &[&[recv(1)]]),
            running(),
            in_communicator(5, &[&[BARRIER]]),
        ]);
        part.note(5, &Some(Arc::from([3, 1])));
        // Rank 3 waits for rank 1 to come, which waits for its rank 1: itself.
        assert_eq!(part.stuck(), [1, 3]);
        assert_eq!(part.cycles(), [[1]]);
        assert_eq!(part.collectives()[0].missing, [1]);
        assert_eq!(part.holding_up(), [0_usize; 0]);
    }

    #[test]
    fn a_long_chain_is_followed_to_its_end() {
        let ranks = 50_000;
        let mut chain: Vec<RankNow> = (1..ranks).map(|next| waiting(&[&[recv(next)]])).collect();
        chain.push(waiting(&[&[recv(Source::Any)]]));
        let chain = graph(chain);
        assert_eq!(chain.stuck().len(), ranks);
        assert_eq!(chain.cycles().len(), 1);
    }
}
