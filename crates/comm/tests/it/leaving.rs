//! When a process leaves a run that it has ended.

use motet_comm::{CommError, Communicator, Header, RunError, Transport, TransportError, World};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Mutex, thread};
use motet_testkit::{patience, within};
use std::collections::VecDeque;
use std::future;
use std::sync::Arc;
use std::time::Duration;

/// Process 0 of three. The others say what this one says to them, and nothing else. Process 2 is
/// lost when the rank here has begun. After that it takes long to send something.
#[derive(Default)]
struct FirstOfThree {
    said: Mutex<VecDeque<(usize, Header)>>,
    begun: AtomicBool,
    lost: AtomicBool,
    /// Somebody was told something after the loss.
    told: AtomicBool,
    /// This process looked before whether all has left that it has to say.
    hasty: AtomicBool,
}

impl Transport for FirstOfThree {
    fn process(&self) -> usize {
        0
    }

    fn processes(&self) -> usize {
        3
    }

    fn send(&self, process: usize, header: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
        if !self.lost.load(Ordering::SeqCst) {
            self.said.lock().push_back((process, header));
            return Ok(());
        }
        // Who does not wait for this goes on meanwhile. It is far less than who waits gives it.
        for _ in 0..10 {
            thread::park_timeout(Duration::from_millis(1));
        }
        self.told.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn progress(
        &self,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        let next = self.said.lock().pop_front();
        if let Some((process, header)) = next {
            deliver(process, header, &mut Vec::new());
            return Ok(1);
        }
        if self.begun.load(Ordering::SeqCst) && !self.lost.swap(true, Ordering::SeqCst) {
            let (process, reason) = (2, "killed by the test".to_owned());
            return Err(TransportError::Lost { process, reason });
        }
        Ok(0)
    }

    fn under_way(&self) -> usize {
        if self.lost.load(Ordering::SeqCst) && !self.told.load(Ordering::SeqCst) {
            self.hasty.store(true, Ordering::SeqCst);
        }
        0
    }

    /// So nobody has to say from time to time that it is there.
    fn sees(&self, _: usize) -> bool {
        true
    }
}

#[test]
fn sem_g311_who_ends_the_run_for_a_loss_leaves_when_the_others_have_been_told() {
    within(patience(), || {
        let first = Arc::<FirstOfThree>::default();
        let transport = Arc::clone(&first);
        let ended =
            World::over(transport, 1).run(async |_: Communicator| -> Result<(), CommError> {
                first.begun.store(true, Ordering::SeqCst);
                // It looks for no messages: another thread finds the loss, and tells it.
                future::pending::<()>().await;
                Ok(())
            });
        let lost = matches!(ended, Err(RunError::Lost { process: 2, .. }));
        assert!(lost, "{ended:?}");
        assert!(first.told.load(Ordering::SeqCst), "process 1 is told");
        let hasty = first.hasty.load(Ordering::SeqCst);
        assert!(!hasty, "it looks what is under way when all was said");
    });
}

/// Process 0 of two. The other says what this one says to it. One of the last sends of the first
/// run has failed, which is told to who looks for messages when the run is about to end.
#[derive(Default)]
struct LastSendFails {
    said: Mutex<VecDeque<(usize, Header)>>,
    /// The thread that looks for messages is to end.
    roused: AtomicBool,
    told: AtomicBool,
}

impl Transport for LastSendFails {
    fn process(&self) -> usize {
        0
    }

    fn processes(&self) -> usize {
        2
    }

    fn send(&self, process: usize, header: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
        self.said.lock().push_back((process, header));
        Ok(())
    }

    fn progress(
        &self,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        let next = self.said.lock().pop_front();
        if let Some((process, header)) = next {
            deliver(process, header, &mut Vec::new());
            return Ok(1);
        }
        if self.roused.load(Ordering::SeqCst) && !self.told.swap(true, Ordering::SeqCst) {
            let reason = "a message did not leave".to_owned();
            return Err(TransportError::Failed { reason });
        }
        Ok(0)
    }

    fn rouse(&self) {
        self.roused.store(true, Ordering::SeqCst);
    }

    /// So nobody has to say from time to time that it is there.
    fn sees(&self, _: usize) -> bool {
        true
    }
}

#[test]
fn what_the_last_send_of_a_run_has_met_ends_that_run_and_not_the_next() {
    within(patience(), || {
        let world = World::over(Arc::<LastSendFails>::default(), 1);
        let run = || world.run(async |_: Communicator| -> Result<(), CommError> { Ok(()) });
        let ended = run();
        let failed = matches!(ended, Err(RunError::Transport { .. }));
        assert!(failed, "{ended:?}");
        let next = run();
        assert!(next.is_ok(), "{next:?}");
    });
}
