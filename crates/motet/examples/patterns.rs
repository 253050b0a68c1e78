//! The patterns of the papers (R034 to R041), each with a known answer: cells in a row, a share of
//! them on each rank.
//!
//! ```text
//!   pipeline          shift             two shifts         exchange          … with fixed ends
//!   ┌─►●  ┌─►●      ●──►●──►●──►       ●══►●══►●══►      ●◄─►●◄─►●◄─►       ║ ●◄─►●◄─►● ║
//!   └──┘  └──┘      to the right       two messages      both ways          nobody beyond
//! ```
//!
//! - **Pipeline**: each rank sends its cells to itself. They count the stages.
//! - **Shift**, **two shifts**: each stage moves all cells by one place, or by two. So they end
//!   somewhere else.
//! - **Exchange**: each cell becomes the sum of its neighbours. From a single 1 that gives
//!   binomials, as each cell counts the ways of a walker. Written in three ways: two messages, two
//!   shifts one after the other, and the exchange that the ring has.
//! - **Fixed ends**: walkers who step over the end are gone; how many are left says the principle
//!   of reflection.
//! - **Final reduction**: every rank sends one item to the first, which gathers them.
//!
//! The answers are the same for any number of ranks, on threads and on processes
//! (`motet run -t 2 -m 2 -- patterns`).

use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;
use std::ops::Range;

const CELLS: usize = 180;
const STAGES: usize = 60;
/// Where the walkers begin: on the ring too far from the ends to get there; near the left end on
/// the line.
const MIDDLE: usize = CELLS / 2;
const NEAR: usize = 7;

type Cells = Vec<u64>;

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let results = world
        .run(async |comm| -> Result<_, CommError> {
            // Two cells for each rank at least; more of them have nothing to do.
            let color = (comm.rank() < CELLS / 2).then_some(0);
            match comm.split(color, 0).await? {
                Some(comm) => all(&comm).await,
                None => Ok(None),
            }
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        let (ways, sum) = results[0].expect("rank 0 gathers");
        assert_eq!(ways, 1 << STAGES, "a walker can go two ways each time");
        println!("patterns: {ways} ways of {STAGES} steps, {sum:016x}");
    }
}

/// Every pattern on this rank; on the first the number of ways of the walkers and the sum of all
/// marks.
async fn all(comm: &Communicator) -> Result<Option<(u64, u64)>, CommError> {
    let begin = |rank: usize| CELLS * rank / comm.size();
    let mine = begin(comm.rank())..begin(comm.rank() + 1);
    let expect = |known: fn(usize) -> u64| mine.clone().map(known).collect::<Cells>();
    let numbered = || expect(|at| at as u64);
    let walker = |from| {
        mine.clone()
            .map(|at| u64::from(at == from))
            .collect::<Cells>()
    };

    let piped = pipeline(comm, numbered()).await?;
    assert_eq!(piped, expect(|at| (at + STAGES) as u64));
    let shifted = shift(comm, numbered()).await?;
    assert_eq!(shifted, expect(|at| ((at + CELLS - STAGES) % CELLS) as u64));
    let shifted = two_shifts(comm, numbered()).await?;
    assert_eq!(
        shifted,
        expect(|at| ((at + CELLS - 2 * STAGES) % CELLS) as u64)
    );

    let known = expect(|at| ways(at.abs_diff(MIDDLE)));
    let walked = exchange(comm, walker(MIDDLE)).await?;
    assert_eq!(walked, known);
    assert_eq!(exchange_as_two_shifts(comm, walker(MIDDLE)).await?, known);
    assert_eq!(custom_exchange(comm, walker(MIDDLE)).await?, known);

    let left = fixed_ends(comm, walker(NEAR)).await?;
    // Each way over the end has a reflected one, which begins at the other side of the place beyond
    // it.
    let known = expect(|at| ways(at.abs_diff(NEAR)) - ways(at + NEAR + 2));
    assert_eq!(left, known);

    final_reduction(comm, mine, [&piped, &shifted, &walked, &left]).await
}

/// How many ways of all stages end so many places from where they began.
fn ways(distance: usize) -> u64 {
    if distance > STAGES || !(STAGES - distance).is_multiple_of(2) {
        return 0;
    }
    let right = (STAGES - distance) as u128 / 2;
    let binomial = |sum: u128, i: u128| sum * (STAGES as u128 - i) / (i + 1);
    let ways = (0..right).fold(1, binomial);
    u64::try_from(ways).expect("there are 2 to the power of STAGES")
}

/// R034: one message per stage, to oneself.
async fn pipeline(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let me = comm.rank();
    for _ in 0..STAGES {
        let next = cells.iter().map(|cell| cell + 1).collect();
        cells = comm.sendrecv(me, next, me, 0).await?;
    }
    Ok(cells)
}

/// R035: one message per stage, to the right.
async fn shift(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let mut ring = comm.ring().await?;
    for _ in 0..STAGES {
        let last = cells.pop().expect("there are two at least");
        cells.insert(0, ring.shift_right(last).await?);
    }
    Ok(cells)
}

/// R036: two messages per stage to the same neighbour.
async fn two_shifts(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for _ in 0..STAGES {
        let two = cells.split_off(cells.len() - 2);
        for &cell in &two {
            comm.send(right, 0, cell).await?;
        }
        for at in 0..two.len() {
            cells.insert(at, comm.recv(left, 0).await?);
        }
    }
    Ok(cells)
}

/// R037: two messages per stage, one to each neighbour, and a wait for both.
async fn exchange(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for _ in 0..STAGES {
        let (before, behind) = (comm.irecv(left, 0), comm.irecv(right, 1));
        comm.send(left, 1, cells[0]).await?;
        comm.send(right, 0, cells[cells.len() - 1]).await?;
        cells = sums(&cells, before.wait().await?, behind.wait().await?);
    }
    Ok(cells)
}

/// R038: the same as a shift to the left and one to the right, with two waits per stage.
async fn exchange_as_two_shifts(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let mut ring = comm.ring().await?;
    for _ in 0..STAGES {
        let behind = ring.shift_left(cells[0]).await?;
        let before = ring.shift_right(cells[cells.len() - 1]).await?;
        cells = sums(&cells, before, behind);
    }
    Ok(cells)
}

/// R039: the same as one call.
async fn custom_exchange(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let mut ring = comm.ring().await?;
    for _ in 0..STAGES {
        let (before, behind) = ring.exchange(cells[0], cells[cells.len() - 1]).await?;
        cells = sums(&cells, before, behind);
    }
    Ok(cells)
}

/// R040: the exchange on a line; its ends have one neighbour.
async fn fixed_ends(comm: &Communicator, mut cells: Cells) -> Result<Cells, CommError> {
    let mut line = comm.line().await?;
    for _ in 0..STAGES {
        let (before, behind) = line.exchange(cells[0], cells[cells.len() - 1]).await?;
        cells = sums(&cells, before.unwrap_or(0), behind.unwrap_or(0));
    }
    Ok(cells)
}

/// The sum of its neighbours for each cell.
fn sums(cells: &Cells, before: u64, behind: u64) -> Cells {
    let framed = [&[before], &cells[..], &[behind]].concat();
    framed.windows(3).map(|three| three[0] + three[2]).collect()
}

/// R041: one item of every rank, gathered by the first.
async fn final_reduction(
    comm: &Communicator,
    mine: Range<usize>,
    results: [&Cells; 4],
) -> Result<Option<(u64, u64)>, CommError> {
    let ways: u64 = results[2].iter().sum();
    let marks = results.iter().enumerate().flat_map(|(pattern, cells)| {
        let places = mine.clone().map(move |at| CELLS * pattern + at);
        places.zip(*cells).map(|(place, &cell)| mark(place, cell))
    });
    let item = (ways, marks.fold(0, u64::wrapping_add));
    let items = comm.gather(0, item).await?;
    let both = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1.wrapping_add(b.1));
    Ok(items.map(|items| items.into_iter().fold((0, 0), both)))
}
