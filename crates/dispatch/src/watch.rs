//! How those who wait find the waiting list of their dispatcher.

use crate::pool::Pool;
use crate::replay;
use crate::waiting::Waiter;
use crate::worker;
use std::panic::Location;
use std::sync::Weak;

/// Enters someone who waits in a task of this thread into the waiting list of the thread's
/// dispatcher, or of the replay that runs here. Elsewhere it does nothing. `created` is where the wait was
/// written.
pub fn watch_here(waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
    if let Err(waiter) = replay::watch_here(waiter, created) {
        worker::with_current(|worker| {
            let roll = &worker.pool().roll;
            roll.enter(Some(worker.index()), waiter, created);
        });
    }
}

/// Enters a waiter into the waiting list of `pool`.
pub(crate) fn watch(pool: &Pool, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
    let index = worker::with_current(|worker| worker.belongs_to(pool).then_some(worker.index()));
    pool.roll.enter(index.flatten(), waiter, created);
}
