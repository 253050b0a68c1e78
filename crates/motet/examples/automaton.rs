//! A cellular automaton of one row: 64 cells in a word, the same instructions for all of them, and
//! ranks that step together.
//!
//! ```text
//!      rank 0              rank 1              rank 2
//!   [word │ word │ …]   [word │ word │ …]   [word │ word │ …]      a ring of cells
//!          last word ──►         ◄── first word                    to both neighbours, each step
//! ```
//!
//! A cell is alive or not. What becomes of it follows from itself and the cells to its left and
//! right. The rule has a number from 0 to 255 (S. Wolfram, Statistical mechanics of cellular
//! automata, 1983). A rule is a sum of products of bits, so a few operations on words give the next
//! 64 cells. The compiler makes vector instructions of them. No rank can take a step before its
//! neighbours have taken the one before: the exchange is all that keeps them together. With a
//! barrier in each step, all ranks are in the same one at any time.
//!
//! Rules 30 and 90 have known patterns, and a random row is compared with a program that goes cell
//! by cell. The line that is printed is the same for any number of ranks, on threads and on
//! processes (`motet run -t 2 -m 2 -- automaton`). `automaton speed` says how many cells in a
//! nanosecond one rank computes, and how many two do.

use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;
use std::ops::Range;
use std::time::Instant;

/// Words of the row, and generations.
const WORDS: usize = 64;
const GENERATIONS: usize = 256;
/// The same for `automaton speed`.
const LONG: usize = 1 << 14;
const MANY: usize = 1000;
const ROUNDS: usize = 15;

/// What keeps the ranks together.
#[derive(Clone, Copy, Debug)]
enum Together {
    /// Neighbours exchange: a rank may be a step ahead of another for each rank between them.
    Exchange,
    /// All ranks wait for all in each step.
    Barrier,
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("speed") {
        return measure();
    }
    let world = World::current().expect("an MPI library, if there are several processes");
    let random: Vec<u64> = (0..WORDS).map(|at| mark(at, 7)).collect();
    let known = slowly(30, &random, GENERATIONS);
    let results = world
        .run(async |comm| -> Result<_, CommError> {
            // Every rank has a word; more of them have nothing to do.
            let color = (comm.rank() < WORDS).then_some(0);
            let Some(comm) = comm.split(color, 0).await? else {
                return Ok(None);
            };
            let mine = share(&comm, WORDS);
            for together in [Together::Exchange, Together::Barrier] {
                let (cells, _) =
                    evolve(&comm, &Rule::new(30), &random, GENERATIONS, together).await?;
                assert!(
                    cells == known[mine.clone()],
                    "{together:?}: other cells than cell by cell"
                );
            }
            check_known(&comm).await?;
            let alive: u32 = known[mine.clone()]
                .iter()
                .map(|word| word.count_ones())
                .sum();
            let alive = comm.allreduce(alive, |a, b| a + b).await?;
            let marks = mine.map(|at| mark(at, known[at]));
            let sum = marks.fold(0, u64::wrapping_add);
            Ok(Some((alive, comm.allreduce(sum, u64::wrapping_add).await?)))
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        let (alive, sum) = results[0].expect("rank 0 has a word");
        let cells = WORDS * 64;
        println!("automaton: {alive} of {cells} cells live after {GENERATIONS} steps, {sum:016x}");
    }
}

/// A rule as a sum (without carry) of products of a cell and its neighbours.
struct Rule {
    /// Of each product, by which of left (4), middle (2) and right (1) are in it: all bits if it is
    /// in the sum.
    products: [u64; 8],
}

impl Rule {
    /// The rule of this number: bit `4·left + 2·middle + right` says whether the cell will live.
    fn new(number: u8) -> Rule {
        let mut products = [0; 8];
        for (pattern, product) in products.iter_mut().enumerate() {
            *product = if number >> pattern & 1 == 1 {
                u64::MAX
            } else {
                0
            };
        }
        // From the table of a function to its sum of products.
        for bit in [1, 2, 4] {
            for pattern in (0..8).filter(|pattern| pattern & bit != 0) {
                products[pattern] ^= products[pattern ^ bit];
            }
        }
        Rule { products }
    }

    /// The next 64 cells.
    #[inline(always)]
    fn next(&self, left: u64, middle: u64, right: u64) -> u64 {
        let [one, r, m, mr, l, lr, lm, lmr] = self.products;
        let none_left = one ^ (r & right) ^ (m & middle) ^ (mr & middle & right);
        none_left ^ (left & (l ^ (lr & right) ^ (lm & middle) ^ (lmr & middle & right)))
    }
}

/// The words of a rank.
fn share(comm: &Communicator, words: usize) -> Range<usize> {
    let begin = |rank: usize| words * rank / comm.size();
    begin(comm.rank())..begin(comm.rank() + 1)
}

/// The words of this rank after so many generations of a row, and how many nanoseconds they took.
async fn evolve(
    comm: &Communicator,
    rule: &Rule,
    row: &[u64],
    generations: usize,
    together: Together,
) -> Result<(Vec<u64>, f64), CommError> {
    let mine = share(comm, row.len());
    let count = mine.len();
    // In a frame of two words, the neighbours'.
    let mut cells = [&[0], &row[mine], &[0]].concat();
    let mut after = cells.clone();
    let mut ring = comm.ring::<u64>().await?;
    comm.barrier().await?;
    let begun = Instant::now();
    for _ in 0..generations {
        (cells[0], cells[count + 1]) = ring.exchange(cells[1], cells[count]).await?;
        step(rule, &cells, &mut after[1..=count]);
        std::mem::swap(&mut cells, &mut after);
        if let Together::Barrier = together {
            comm.barrier().await?;
        }
    }
    comm.barrier().await?;
    let took = begun.elapsed().as_nanos() as f64;
    Ok((cells[1..=count].to_vec(), took))
}

/// The next generation of all words inside the frame.
fn step(rule: &Rule, framed: &[u64], after: &mut [u64]) {
    for (after, three) in after.iter_mut().zip(framed.windows(3)) {
        // The first cell of a word is its lowest bit.
        let left = three[1] << 1 | three[0] >> 63;
        let right = three[1] >> 1 | three[2] << 63;
        *after = rule.next(left, three[1], right);
    }
}

/// The same cell by cell, without ranks.
fn slowly(rule: u8, row: &[u64], generations: usize) -> Vec<u64> {
    let size = row.len() * 64;
    let mut cells: Vec<bool> = (0..size)
        .map(|at| row[at / 64] >> (at % 64) & 1 == 1)
        .collect();
    for _ in 0..generations {
        let next = |at: usize| {
            let around = [(at + size - 1) % size, at, (at + 1) % size].map(|at| cells[at]);
            let pattern = around
                .iter()
                .fold(0, |all, &alive| 2 * all + u8::from(alive));
            rule >> pattern & 1 == 1
        };
        cells = (0..size).map(next).collect();
    }
    let words = cells.chunks(64);
    let word = |bits: &[bool]| {
        bits.iter()
            .rev()
            .fold(0, |word, &bit| word << 1 | u64::from(bit))
    };
    words.map(word).collect()
}

/// The first cells of the middle column of rule 30 from one cell (A051023 of the OEIS). Also the
/// two that rule 90 leaves of one cell after 2ⁿ generations, so far to its left and right.
async fn check_known(comm: &Communicator) -> Result<(), CommError> {
    let middle = WORDS / 2;
    let mut row = vec![0; WORDS];
    row[middle] = 1;
    let mine = share(comm, WORDS);
    let mut column = String::new();
    for generation in 0..16 {
        let (cells, _) = evolve(comm, &Rule::new(30), &row, generation, Together::Exchange).await?;
        let here = mine.contains(&middle) && cells[middle - mine.start] & 1 == 1;
        let alive = comm.allreduce(here, |a, b| a || b).await?;
        column.push(if alive { '1' } else { '0' });
    }
    assert_eq!(column, "1101110011000101");
    let (cells, _) = evolve(comm, &Rule::new(90), &row, GENERATIONS, Together::Exchange).await?;
    let far = GENERATIONS / 64;
    for (at, word) in mine.zip(cells) {
        let alive = at == middle - far || at == middle + far;
        assert_eq!(word, u64::from(alive), "word {at}");
    }
    Ok(())
}

/// Prints how many cells in a nanosecond one rank computes, and how many two do. Each is the best
/// of several rounds, as something else may run meanwhile.
fn measure() {
    let row: Vec<u64> = (0..LONG).map(|at| mark(at, 7)).collect();
    let forms = [1, 2].map(|ranks| [(ranks, Together::Exchange), (ranks, Together::Barrier)]);
    let mut best = [f64::INFINITY; 4];
    let mut first = None;
    for _ in 0..ROUNDS {
        for ((ranks, together), best) in forms.into_iter().flatten().zip(&mut best) {
            let parts = World::threads(ranks)
                .run(async |comm| evolve(&comm, &Rule::new(110), &row, MANY, together).await)
                .expect("no rank fails");
            let slowest = parts.iter().map(|(_, took)| *took).fold(0.0, f64::max);
            *best = best.min(slowest);
            let cells: Vec<u64> = parts.into_iter().flat_map(|(cells, _)| cells).collect();
            assert!(
                *first.get_or_insert_with(|| cells.clone()) == cells,
                "other cells"
            );
        }
    }
    for ((ranks, together), best) in forms.into_iter().flatten().zip(best) {
        let rate = (LONG * 64 * MANY) as f64 / best;
        let step = best / MANY as f64 / 1e3;
        println!("{ranks} ranks, {together:?}: {rate:.1} cells/ns, {step:.1} us a generation");
    }
}
