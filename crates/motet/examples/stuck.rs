//! A program with a mistake: every rank receives before it sends. It does not hang; it says who
//! waits for what, and where.
//!
//! ```text
//!  rank 0 ── waits for ──► rank 2 ── waits for ──► rank 1 ── waits for ──► rank 0
//! ```

use motet::comm::{CommError, RankState, WaitOperation};
use motet::{RunError, World};

fn main() {
    let outcome = World::threads(3).run(async |comm| -> Result<u32, CommError> {
        let (rank, size) = (comm.rank(), comm.size());
        let from_left: u32 = comm.recv((rank + size - 1) % size, 5).await?;
        comm.send((rank + 1) % size, 5, from_left + 1).await?;
        Ok(from_left)
    });
    let Err(RunError::Stuck(report)) = outcome else {
        panic!("stuck, but not {outcome:?}")
    };
    println!("{report}");
    let RankState::Waiting(waits) = &report.ranks[1] else {
        panic!("rank 1 waits")
    };
    assert!(matches!(waits[0].operation, WaitOperation::Recv { .. }));
    assert!(waits[0].location.file().ends_with("stuck.rs"));
}
