//! A process that is killed while ranks hold locks: the others end with an error.

use crate::network::{Endpoint, processes, sharing};
use motet_comm::{Communicator, RunError, World};
use motet_testkit::{patience, within};
use motet_window::{Lock, Window, WindowError};
use std::sync::Arc;

/// All want the lock of rank 1 again and again; rank 2 is killed when it has it for the third time,
/// and `die` does it.
async fn fight(comm: Communicator, die: impl Fn()) -> Result<(), WindowError> {
    let window = Window::create(&comm, vec![0_u64]).await?;
    for round in 0.. {
        let lock = window.lock(1, Lock::Exclusive).await?;
        window.put(1, 0, &[round]).await?;
        if comm.rank() == 2 && round == 3 {
            die();
        }
        lock.unlock().await?;
    }
    Ok(())
}

fn check(ended: Result<Vec<()>, RunError<WindowError>>) {
    match ended.unwrap_err() {
        RunError::Lost { process: 2, .. } => {}
        RunError::Elsewhere { message, .. } => assert!(message.contains("process 2"), "{message}"),
        other => panic!("{other}"),
    }
}

#[test]
fn sem_g352_a_process_that_is_lost_with_a_lock_ends_the_run() {
    within(patience(), || {
        let life = |end: Arc<Endpoint>| {
            let dying = Arc::clone(&end);
            let is_victim = World::over(end.clone(), 1).process().0 == 2;
            let ended = World::over(end, 1).run(async |comm| fight(comm, || dying.kill()).await);
            if !is_victim {
                check(ended);
            }
        };
        processes(3, life);
        sharing(3, life);
    });
}
