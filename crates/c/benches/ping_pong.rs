//! What a round trip of two ranks takes in C, beside the same program in Rust, in one run.
//!
//! `cargo bench -p motet-c`

#[path = "../tests/it/cc.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod cc;

use cc::{Linked, compiled, done, folder};
use motet::{CommError, World};
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 7;
const PARTS: usize = 15;

fn main() {
    let Some(cc) = cc::cc() else { return };
    let program = compiled(&cc, &folder("examples/ping_pong.c"), Linked::Shared);
    for (size, trips) in [(8, 20_000), (1_000, 20_000), (100_000, 2_000)] {
        let (mut c, mut rust) = (Vec::new(), Vec::new());
        // In turns: what else the machine does meets both.
        for _ in 0..ROUNDS {
            let mut command = Command::new(&program);
            let said = done(command.args([trips.to_string(), size.to_string()]));
            let us = said.split(' ').nth(2).and_then(|us| us.parse().ok());
            c.push(us.unwrap_or_else(|| panic!("{said}")));
            rust.push(play(size, trips));
        }
        let (c, rust) = (median(c), median(rust));
        let ratio = c / rust;
        println!("{size} bytes: {c:.3} us in C, {rust:.3} us in Rust, ratio {ratio:.2}");
    }
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
            Ok(median(us))
        })
        .unwrap();
    us[0]
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}
