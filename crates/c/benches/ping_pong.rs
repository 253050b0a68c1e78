//! What a round trip of two ranks takes in C, beside the same program in Rust, in one run.
//!
//! `cargo bench -p motet-c`

#[path = "../tests/it/cc.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod cc;

use cc::{Linked, compiled, done, folder};
use motet::{CommError, World};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 21;
const PARTS: usize = 15;

fn main() {
    let Some(cc) = cc::cc() else { return };
    let [shared, linked] = [Linked::Shared, Linked::Static]
        .map(|linked| compiled(&cc, &folder("examples/ping_pong.c"), linked));
    println!("microseconds for a round trip: median (least) of {ROUNDS} runs in turns");
    println!("  bytes              Rust   C, libmotet.so  ratio    C, libmotet.a  ratio");
    for (size, trips) in [(8, 500), (1_000, 500), (100_000, 50)] {
        let mut all = [const { Vec::new() }; 3];
        // In turns: what else the machine does meets all.
        for _ in 0..ROUNDS {
            all[0].push(play(size, trips));
            all[1].push(said(&shared, size, trips));
            all[2].push(said(&linked, size, trips));
        }
        let [rust, shared, linked] = all.map(|mut us| (median(&mut us), us[0]));
        let shown = |(median, least): (f64, f64)| format!("{median:.3} ({least:.3})");
        let ratio = |of: (f64, f64)| of.0 / rust.0;
        println!(
            "{size:>7}  {:>16} {:>16}   {:.2} {:>16}   {:.2}",
            shown(rust),
            shown(shared),
            ratio(shared),
            shown(linked),
            ratio(linked)
        );
    }
}

/// What the program in C says.
fn said(program: &Path, size: usize, trips: usize) -> f64 {
    let mut command = Command::new(program);
    let said = done(command.args([trips.to_string(), size.to_string()]));
    let us = said.split(' ').nth(2).and_then(|us| us.parse().ok());
    us.unwrap_or_else(|| panic!("{said}"))
}

/// As `play` of the program in C: the median of parts, in microseconds.
fn play(size: usize, trips: usize) -> f64 {
    let us = World::threads(2)
        .workers(2)
        .pin(false)
        .run(async |comm| -> Result<_, CommError> {
            let (mut ball, mut us) = (vec![0_u8; size], Vec::new());
            for part in 0..=PARTS {
                comm.barrier().await?;
                let begin = Instant::now();
                for _ in 0..trips {
                    if comm.rank() == 0 {
                        comm.send_slice(1, 0, &ball).await?;
                        comm.recv_into(&mut ball, 1, 0).await?;
                    } else {
                        comm.recv_into(&mut ball, 0, 0).await?;
                        ball[0] = ball[0].wrapping_add(1);
                        comm.send_slice(0, 0, &ball).await?;
                    }
                }
                // The first part warms up.
                if part > 0 {
                    us.push(begin.elapsed().as_secs_f64() * 1e6 / trips as f64);
                }
            }
            Ok(median(&mut us))
        })
        .unwrap();
    us[0]
}

/// The median; they are in order then.
fn median(of: &mut [f64]) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}
