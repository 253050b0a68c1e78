//! Two codes that are one world: an ocean and the air above it. Each is on ranks of its own, and
//! they exchange the temperatures at the sea's surface in each step.
//!
//! ```text
//!        air     rank 0  │ rank 1 │ rank 2     columns of cells, cut over the ranks of the program
//!      ──────────────────┴──┬─────┴────────    at the surface: who has a column here asks who has
//!        ocean   rank 0     │    rank 1        it there
//! ```
//!
//! `motet run -m 1 ./coupled ocean : -t 2 -m 2 ./coupled air` starts it as two programs. By itself
//! it is one program whose first ranks are the ocean. Heat flows between cells that touch each
//! other and none is lost. The bits are those of one code that knows all cells, for any number of
//! ranks of either program. The line that is printed is the same, too.

use motet::{CommError, Communicator, Current, Program, Programs, World};
use motet_testkit::mark;
use std::env;
use std::ops::Range;

/// Cells along the coast, and steps.
const COLUMNS: usize = 60;
const STEPS: usize = 200;
/// How much heat flows through the surface for each degree between the cells at it.
const SURFACE: f64 = 0.05;

/// What one of the codes computes.
#[derive(PartialEq)]
struct Medium {
    name: &'static str,
    layers: usize,
    /// How much heat flows between two cells for each degree between them.
    conductivity: f64,
    /// How much heat a cell takes for a degree.
    capacity: f64,
}

const OCEAN: Medium = Medium {
    name: "ocean",
    layers: 12,
    conductivity: 0.4,
    capacity: 4.0,
};
const AIR: Medium = Medium {
    name: "air",
    layers: 20,
    conductivity: 0.2,
    capacity: 1.0,
};

/// Of each column its cells, the one at the surface first.
type Cells = Vec<Vec<f64>>;

fn main() {
    let role = env::args().nth(1);
    let world = match role {
        Some(_) => World::current().expect("an MPI library, if there are several processes"),
        None => World::threads(5),
    };
    let started = Program::current().expect("a launcher that numbers its programs");
    let results = world
        .run(async |comm| -> Result<_, CommError> {
            let medium = match role.as_deref() {
                Some(role) => medium(role),
                // In one program, two of five ranks are the ocean.
                None if comm.rank() < 2 => &OCEAN,
                None => &AIR,
            };
            // Both are one file: the role is the better name.
            let program = Program {
                name: medium.name.to_owned(),
                number: started.number,
            };
            let programs = program.split(&comm).await?;
            let cells = simulate(&comm, &programs, medium).await?;
            check(programs.own(), medium, &cells);
            told(&comm, &programs, medium, &cells).await
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        println!("coupled: {}", results[0]);
    }
}

fn medium(role: &str) -> &'static Medium {
    let names = |medium: &&&Medium| medium.name == role;
    let medium = [&OCEAN, &AIR].iter().find(names).copied();
    medium.expect("the role is ocean or air")
}

/// The columns of a rank of a program.
fn share(rank: usize, ranks: usize) -> Range<usize> {
    COLUMNS * rank / ranks..COLUMNS * (rank + 1) / ranks
}

/// The temperature of a cell before the first step.
fn start(medium: &Medium, column: usize, layer: usize) -> f64 {
    let along = column as f64 / COLUMNS as f64;
    match medium.name == OCEAN.name {
        true => 4.0 + 12.0 * along / (layer + 1) as f64,
        false => 25.0 - 20.0 * along - 0.5 * layer as f64,
    }
}

/// A column of this medium.
fn column_of(medium: &Medium, column: usize) -> Vec<f64> {
    let layers = 0..medium.layers;
    layers.map(|layer| start(medium, column, layer)).collect()
}

/// The columns of this rank after all steps.
async fn simulate(
    comm: &Communicator,
    programs: &Programs,
    medium: &Medium,
) -> Result<Cells, CommError> {
    let own = programs.own();
    let mine = share(own.rank(), own.size());
    let mut cells: Cells = mine.map(|column| column_of(medium, column)).collect();
    let mut line = own.line::<Vec<f64>>().await?;
    for _ in 0..STEPS {
        let over = surface(comm, programs, medium, &cells).await?;
        let last = cells[cells.len() - 1].clone();
        let (left, right) = line.exchange(cells[0].clone(), last).await?;
        // Nothing flows over an end: beyond it is the same again.
        let left = left.unwrap_or_else(|| cells[0].clone());
        let right = right.unwrap_or_else(|| cells[cells.len() - 1].clone());
        let framed: Vec<&Vec<f64>> = [&left].into_iter().chain(&cells).chain([&right]).collect();
        let columns = framed.windows(3).zip(over);
        cells = columns
            .map(|(three, over)| next(medium, three, over))
            .collect();
    }
    Ok(cells)
}

/// The temperatures of the other medium at the surface of this rank's columns.
async fn surface(
    comm: &Communicator,
    programs: &Programs,
    medium: &Medium,
    cells: &Cells,
) -> Result<Vec<f64>, CommError> {
    let other = if *medium == OCEAN {
        AIR.name
    } else {
        OCEAN.name
    };
    let other = programs.find(other).expect("both programs are there");
    let theirs = programs.ranks(other);
    let own = programs.own();
    let mine = share(own.rank(), own.size());
    let common = theirs.iter().enumerate().map(|(at, &rank)| {
        let there = share(at, theirs.len());
        (rank, mine.start.max(there.start)..mine.end.min(there.end))
    });
    let common: Vec<(usize, Range<usize>)> = common.filter(|(_, both)| !both.is_empty()).collect();
    for (rank, both) in &common {
        let here = both.start - mine.start..both.end - mine.start;
        let temperatures: Vec<f64> = cells[here].iter().map(|column| column[0]).collect();
        comm.send(*rank, 0, temperatures).await?;
    }
    let mut over = Vec::new();
    for (rank, _) in &common {
        over.extend(comm.recv::<Vec<f64>>(*rank, 0).await?);
    }
    Ok(over)
}

/// The middle one of three columns after a step.
fn next(medium: &Medium, three: &[&Vec<f64>], over: f64) -> Vec<f64> {
    let [left, own, right] = three else {
        unreachable!("a window of three")
    };
    let layer = |at: usize| {
        let cell = own[at];
        let deeper = own.get(at + 1).map_or(cell, |deeper| *deeper);
        let mut flow = medium.conductivity * (left[at] - cell);
        flow += medium.conductivity * (right[at] - cell);
        flow += medium.conductivity * (deeper - cell);
        flow += match at {
            0 => SURFACE * (over - cell),
            _ => medium.conductivity * (own[at - 1] - cell),
        };
        cell + flow / medium.capacity
    };
    (0..medium.layers).map(layer).collect()
}

/// The cells are those of one code, and all heat is still there.
fn check(own: &Communicator, medium: &Medium, cells: &Cells) {
    let [ocean, air] = alone();
    let heat = |[ocean, air]: [&Cells; 2]| -> f64 {
        let sum = |cells: &Cells| cells.iter().flatten().sum::<f64>();
        OCEAN.capacity * sum(ocean) + AIR.capacity * sum(air)
    };
    let begun = [&OCEAN, &AIR].map(|of| (0..COLUMNS).map(|at| column_of(of, at)).collect());
    let lost = heat(begun.each_ref()) / heat([&ocean, &air]) - 1.0;
    assert!(lost.abs() < 1e-12, "heat is lost: {lost}");
    let known = if *medium == OCEAN { ocean } else { air };
    let mine = share(own.rank(), own.size());
    assert!(cells[..] == known[mine], "other bits than in one code");
}

/// The ocean and the air after all steps, in one code. There is a table of cells from the top of
/// the air to the bottom of the ocean. Flows are between those that touch each other.
fn alone() -> [Cells; 2] {
    let rows = AIR.layers + OCEAN.layers;
    let is_air = |row: usize| row < AIR.layers;
    let medium = |row: usize| if is_air(row) { &AIR } else { &OCEAN };
    let layer = |row: usize| match is_air(row) {
        true => AIR.layers - 1 - row,
        false => row - AIR.layers,
    };
    let begun = |row: usize| (0..COLUMNS).map(move |column| start(medium(row), column, layer(row)));
    let mut table: Vec<Vec<f64>> = (0..rows).map(|row| begun(row).collect()).collect();
    for _ in 0..STEPS {
        let mut after = table.clone();
        for row in 0..rows {
            // Away from the surface first, then towards it, as the codes add.
            let vertical = match is_air(row) {
                true => [row.checked_sub(1), Some(row + 1)],
                false => [Some(row + 1).filter(|&below| below < rows), Some(row - 1)],
            };
            for column in 0..COLUMNS {
                let beside = [
                    column.checked_sub(1),
                    Some(column + 1).filter(|&at| at < COLUMNS),
                ];
                let beside = beside.into_iter().flatten().map(|at| (row, at));
                let around = beside.chain(vertical.into_iter().flatten().map(|at| (at, column)));
                let mut flow = 0.0;
                for (other, at) in around {
                    let conductivity = match is_air(row) == is_air(other) {
                        true => medium(row).conductivity,
                        false => SURFACE,
                    };
                    flow += conductivity * (table[other][at] - table[row][column]);
                }
                after[row][column] = table[row][column] + flow / medium(row).capacity;
            }
        }
        table = after;
    }
    let columns = |rows: Vec<usize>| -> Cells {
        let column = |at: usize| rows.iter().map(|&row| table[row][at]).collect();
        (0..COLUMNS).map(column).collect()
    };
    [
        columns((AIR.layers..rows).collect()),
        columns((0..AIR.layers).rev().collect()),
    ]
}

/// What both programs have to say together: mean temperatures, and a checksum of all bits.
async fn told(
    comm: &Communicator,
    programs: &Programs,
    medium: &Medium,
    cells: &Cells,
) -> Result<String, CommError> {
    let own = programs.own();
    let all: Vec<f64> = cells.iter().flatten().copied().collect();
    let sum = own.reproducible_sum(&all).await?;
    let mean = sum / (COLUMNS * medium.layers) as f64;
    let first = share(own.rank(), own.size()).start * medium.layers;
    let marks = (first..)
        .zip(&all)
        .map(|(at, cell)| mark(at, cell.to_bits()));
    let marks = marks.fold(0, u64::wrapping_add);
    let marks = comm.allreduce(marks, u64::wrapping_add).await?;
    let means = comm.allgather((*medium == OCEAN, mean)).await?;
    let of = |ocean: bool| means.iter().find(|(is_ocean, _)| *is_ocean == ocean);
    let [(_, ocean), (_, air)] = [true, false].map(|ocean| of(ocean).expect("it has ranks"));
    Ok(format!(
        "{ocean:.6} degrees in the ocean, {air:.6} in the air, {marks:016x}"
    ))
}
