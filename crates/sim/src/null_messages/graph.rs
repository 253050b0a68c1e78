//! The links of one rank, and how soon something can come along them.
//!
//! A model without declared links has a link from each process to each. They are kept as a way of
//! three links. The first goes from each process of a rank to the vertex of what leaves, with the
//! lookahead. The next go from there to each rank's vertex of what comes, and on to each process
//! there.

use crate::Time;
use crate::rules::Rules;
use crate::share::ProcessLayout;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) struct Graph {
    rank: usize,
    end: Time,
    processes: usize,
    /// For each vertex, the processes first: the vertices of this rank behind it, and with which
    /// least delay.
    links: Vec<Vec<(u32, Time)>>,
    /// For each rank the vertices with links to it, and with which least delay; what was promised
    /// last.
    outward: Vec<Outward>,
    /// For each rank the vertices to which it has links, and what it has promised.
    inward: Vec<Vec<(u32, Time)>>,
    /// For each vertex the least time at which something can come to it from others.
    comes: Vec<Time>,
    /// For each vertex the least time of what it may do next.
    acts: Vec<Time>,
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

#[derive(Default)]
struct Outward {
    links: Vec<(u32, Time)>,
    promised: Vec<Time>,
}

impl Graph {
    pub(super) fn new(rules: &Rules, layout: ProcessLayout, rank: usize, ranks: usize) -> Self {
        let own = layout.of(rank);
        let mut graph = Graph {
            rank,
            end: rules.stop,
            processes: own.len(),
            links: vec![Vec::new(); own.len() + 2],
            outward: (0..ranks).map(|_| Outward::default()).collect(),
            inward: vec![Vec::new(); ranks],
            comes: vec![rules.stop; own.len() + 2],
            acts: vec![rules.stop; own.len() + 2],
            heap: BinaryHeap::new(),
        };
        match rules.all_links() {
            Some(links) => {
                for (from, to, lookahead) in links {
                    let ranks = [from, to].map(|process| layout.rank_of(process));
                    graph.link(ranks, [from, to], lookahead, own.start);
                }
            }
            None => graph.link_all(rules.least_lookahead().0, ranks),
        }
        for outward in &mut graph.outward {
            outward.promised = vec![0; outward.links.len()];
        }
        graph
    }

    fn link(&mut self, ranks: [usize; 2], [from, to]: [usize; 2], lookahead: Time, first: usize) {
        match ranks.map(|rank| rank == self.rank) {
            [true, true] => self.links[from - first].push(((to - first) as u32, lookahead)),
            [true, false] => {
                let outward = &mut self.outward[ranks[1]];
                outward.links.push(((from - first) as u32, lookahead));
            }
            [false, true] => self.inward[ranks[0]].push(((to - first) as u32, 0)),
            [false, false] => {}
        }
    }

    /// See the module doc.
    fn link_all(&mut self, lookahead: Time, ranks: usize) {
        let (leaves, comes) = (self.processes as u32, self.processes as u32 + 1);
        for process in 0..leaves {
            self.links[process as usize].push((leaves, lookahead));
            self.links[comes as usize].push((process, 0));
        }
        self.links[leaves as usize].push((comes, 0));
        for rank in (0..ranks).filter(|&rank| rank != self.rank) {
            self.outward[rank].links.push((leaves, 0));
            self.inward[rank].push((comes, 0));
        }
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Another rank has promised this for each of its links.
    pub(super) fn promised(&mut self, rank: usize, promises: &[Time]) {
        for ((_, promised), promise) in self.inward[rank].iter_mut().zip(promises) {
            *promised = (*promised).max(*promise);
        }
    }

    /// Finds out anew how soon something can come to each process; `next` is when a process's next
    /// event takes place.
    pub(super) fn look_ahead(&mut self, next: impl Fn(usize) -> Option<Time>) {
        self.comes.fill(self.end);
        for &(vertex, promised) in self.inward.iter().flatten() {
            let comes = &mut self.comes[vertex as usize];
            *comes = promised.min(*comes);
        }
        for (vertex, acts) in self.acts.iter_mut().enumerate() {
            let waits = (vertex < self.processes).then(|| next(vertex)).flatten();
            *acts = waits.unwrap_or(self.end).min(self.comes[vertex]);
            if *acts < self.end {
                self.heap.push(Reverse((*acts, vertex as u32)));
            }
        }
        // E. Dijkstra, A note on two problems in connexion with graphs, 1959.
        while let Some(Reverse((time, vertex))) = self.heap.pop() {
            if time > self.acts[vertex as usize] {
                continue;
            }
            for &(to, lookahead) in &self.links[vertex as usize] {
                let comes = time.saturating_add(lookahead).min(self.end);
                let to_comes = &mut self.comes[to as usize];
                *to_comes = comes.min(*to_comes);
                if comes < self.acts[to as usize] {
                    self.acts[to as usize] = comes;
                    self.heap.push(Reverse((comes, to)));
                }
            }
        }
    }

    /// When something can come to a process from others.
    pub(super) fn comes(&self, process: usize) -> Time {
        self.comes[process]
    }

    /// Whether nothing can come before the end.
    pub(super) fn is_at_the_end(&self) -> bool {
        self.acts.iter().all(|&acts| acts >= self.end)
    }

    /// What is promised to a rank for each link, if that is later than before, or `always` if there
    /// are links.
    pub(super) fn promises(&mut self, rank: usize, always: bool) -> Option<&[Time]> {
        let Outward { links, promised } = &mut self.outward[rank];
        let mut later = always;
        for (&(vertex, lookahead), promised) in links.iter().zip(&mut *promised) {
            let acts = self.acts[vertex as usize];
            let promise = acts.saturating_add(lookahead).min(self.end);
            if promise > *promised {
                *promised = promise;
                later = true;
            }
        }
        (later && !links.is_empty()).then_some(&**promised)
    }
}
