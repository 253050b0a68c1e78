//! How those who wait find the waiting list of their dispatcher.

use crate::pool::Pool;
use crate::replay;
use crate::waiting::Waiter;
use crate::worker;
use std::sync::Weak;

/// Enters someone who waits in a task of this thread into the waiting list of the thread's
/// dispatcher, or of the replay that runs here. Elsewhere it does nothing.
pub fn watch_here(waiter: Weak<dyn Waiter>) {
    if let Err(waiter) = replay::watch_here(waiter) {
        worker::with_current(|worker| worker.pool().roll.enter(Some(worker.index()), waiter));
    }
}

/// Enters a waiter into the waiting list of `pool`.
pub(crate) fn watch(pool: &Pool, waiter: Weak<dyn Waiter>) {
    let index = worker::with_current(|worker| worker.belongs_to(pool).then_some(worker.index()));
    pool.roll.enter(index.flatten(), waiter);
}
