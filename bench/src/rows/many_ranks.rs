//! Far more ranks than cores: ten thousand and a million on the machine's threads (papers R017).
//!
//! Question: what do a rank and its stage cost when there are very many? Definition: time of an
//! exchange on a ring over stages and ranks. Growth of the process's own resident memory (no
//! file's) over the ranks, when all have met and exchanged once. Threats: memory that the allocator
//! has kept is not seen as growth, so the memory rows come first and run once in a process.

use crate::contest::{Bar, Contest};
use crate::program::{Pattern, WorkProgram};
use crate::rows::handlers::own_bytes;
use crate::said::Said;
use crate::unit::{Unit, Units};
use motet_comm::{CommError, World};
use motet_patterns::rendezvous;
use motet_sync::thread;

/// At most so many bytes for a rank.
const BYTES: f64 = 1024.0;
/// At most so many µs for a rank and a stage.
const STAGE_US: f64 = 0.1;

/// The rows of memory: they come first.
pub(crate) fn memory(ranks: [usize; 2]) -> Vec<Contest> {
    let row = |ranks| {
        let name = format!("memory of {ranks} ranks");
        Contest::new(name, "bytes a rank", move || bytes(ranks))
            .bar(Bar::AtMost(BYTES))
            .cold()
    };
    ranks.map(row).into()
}

/// The rows of time; `steps` is about how many times a rank runs.
pub(crate) fn stages(ranks: [usize; 2], steps: usize) -> Vec<Contest> {
    let unit = Unit::calibrate();
    ranks
        .map(|ranks| {
            let program = WorkProgram {
                pattern: Pattern::Exchange,
                parallel: ranks,
                stages: (steps / ranks).max(2) as u64,
                threads: thread::cores(),
                pin: true,
                work: Units { unit, count: 0 },
            };
            let times = (program.stages * ranks as u64) as f64;
            let motet = move || Ok(rendezvous::run(&program).as_secs_f64() * 1e6 / times);
            let name = format!("exchange of {ranks} ranks");
            Contest::new(name, "µs a rank and stage", motet).bar(Bar::AtMost(STAGE_US))
        })
        .into()
}

fn bytes(ranks: usize) -> Result<f64, String> {
    let before = own_bytes()?;
    let after = World::threads(ranks)
        .workers(thread::cores())
        .run(async |comm| -> Result<_, CommError> {
            let mut ring = comm.ring::<f64>().await?;
            let here = comm.rank() as f64;
            ring.exchange(here, here).await?;
            comm.barrier().await?;
            let now = (comm.rank() == 0).then(own_bytes);
            // Nobody ends before it is known.
            comm.barrier().await?;
            Ok(now)
        })
        .said()?;
    let after = after.into_iter().flatten().next();
    let after = after.unwrap_or_else(|| Err("nobody has looked".to_owned()))?;
    Ok((after - before) / ranks as f64)
}
