//! Reductions give the same bits as in Rust.

use crate::cc::{Linked, cc, compiled, done, folder};
use motet::{CommError, World};
use motet_testkit::{patience, within};
use std::fmt::Write;
use std::process::Command;

/// So many numbers, which no order of adding gives alike.
const COUNT: usize = 50;

fn number(rank: usize, place: usize) -> f64 {
    (rank as f64 + 1.0) * 0.1 + place as f64 / 3.0
}

#[test]
fn sem_g490_reductions_fold_as_in_rust_needs_cc() {
    let Some(cc) = cc() else { return };
    let program = compiled(&cc, &folder("tests/c/folds.c"), Linked::Shared);
    for ranks in [1, 2, 3, 7] {
        let totals = World::threads(ranks)
            .run(async |comm| -> Result<_, CommError> {
                let mine: Vec<f64> = (0..COUNT).map(|place| number(comm.rank(), place)).collect();
                let (mut all, mut one) = ([0.0; COUNT], [0.0; COUNT]);
                comm.allreduce_into(&mine, &mut all, |a, b| a + b).await?;
                comm.reduce_into(0, &mine, &mut one, |a, b| a * b).await?;
                Ok((all, one))
            })
            .unwrap();
        let (all, one) = totals[0];
        let mut wanted = String::new();
        for total in all.iter().chain(&one) {
            writeln!(wanted, "{:016x}", total.to_bits()).unwrap();
        }
        let (program, ranks) = (program.clone(), ranks.to_string());
        let said = within(patience(), move || done(Command::new(program).arg(ranks)));
        assert_eq!(said, wanted);
    }
}
