//! The maximum clique of a graph: vertices that are all neighbours of each other.
//!
//! E. Tomita and T. Seki, An efficient branch-and-bound algorithm for finding a maximum clique,
//! 2003: a greedy colouring bounds each branch.

use motet_search::{Bounded, Tree};
use serde::{Deserialize, Serialize};

/// The most vertices.
const MOST: usize = 256;

/// Some vertices.
type Set = [u64; MOST / 64];

/// A graph of at most 256 vertices.
#[derive(Debug, Clone)]
pub struct Graph {
    neighbours: Vec<Set>,
}

/// A clique, and the vertices that it may grow by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clique {
    /// Its vertices.
    pub members: Set,
    candidates: Set,
    size: u32,
    /// No clique below is larger.
    bound: u32,
}

impl Graph {
    /// Vertices numbered from 0, and who are neighbours.
    ///
    /// # Panics
    /// With more than 256 vertices.
    #[must_use]
    pub fn new(vertices: usize, edge: impl Fn(usize, usize) -> bool) -> Self {
        assert!(vertices <= MOST, "{vertices} vertices: 256 is the most");
        let neighbours = |one| {
            (0..vertices)
                .filter(|other| *other != one && edge(one, *other))
                .fold([0; 4], with)
        };
        Graph {
            neighbours: (0..vertices).map(neighbours).collect(),
        }
    }

    /// Words of `bits` bits, with an edge between those that differ in `distance` bits or more.
    #[must_use]
    pub fn hamming(bits: u32, distance: u32) -> Self {
        Graph::new(1 << bits, |one, other| {
            (one ^ other).count_ones() >= distance
        })
    }

    /// The same of the words with `weight` bits set, in the order of their values.
    #[must_use]
    pub fn johnson(bits: u32, weight: u32, distance: u32) -> Self {
        let words: Vec<u32> = (0..1u32 << bits)
            .filter(|word| word.count_ones() == weight)
            .collect();
        Graph::new(words.len(), |one, other| {
            (words[one] ^ words[other]).count_ones() >= distance
        })
    }
}

impl Tree for Graph {
    type Node = Clique;

    fn root(&self) -> Clique {
        let vertices = self.neighbours.len();
        Clique {
            members: [0; 4],
            candidates: (0..vertices).fold([0; 4], with),
            size: 0,
            bound: vertices as u32,
        }
    }

    fn children(&self, clique: &Clique, out: &mut Vec<Clique>) {
        let mut candidates = clique.candidates;
        // A clique has one vertex of each colour at most; the last colours promise most.
        let (mut uncoloured, mut colour, mut coloured) = (candidates, 0, Vec::new());
        while uncoloured != [0; 4] {
            colour += 1;
            let mut free = uncoloured;
            while let Some(vertex) = first(&free) {
                uncoloured = without(uncoloured, vertex);
                free = without(free, vertex);
                free = meet(free, self.neighbours[vertex].map(|word| !word));
                coloured.push((vertex, colour));
            }
        }
        for (vertex, colour) in coloured.into_iter().rev() {
            out.push(Clique {
                members: with(clique.members, vertex),
                candidates: meet(candidates, self.neighbours[vertex]),
                size: clique.size + 1,
                bound: clique.size + colour,
            });
            candidates = without(candidates, vertex);
        }
    }
}

impl Bounded for Graph {
    type Value = u32;

    fn value(&self, clique: &Clique) -> Option<u32> {
        Some(clique.size)
    }

    fn bound(&self, clique: &Clique) -> u32 {
        clique.bound
    }
}

fn first(set: &Set) -> Option<usize> {
    let word = set.iter().position(|word| *word != 0)?;
    Some(word * 64 + set[word].trailing_zeros() as usize)
}

fn with(mut set: Set, vertex: usize) -> Set {
    set[vertex / 64] |= 1 << (vertex % 64);
    set
}

fn without(mut set: Set, vertex: usize) -> Set {
    set[vertex / 64] &= !(1 << (vertex % 64));
    set
}

fn meet(one: Set, other: Set) -> Set {
    std::array::from_fn(|word| one[word] & other[word])
}
