//! How those who wait for the sake of a queue find the waiting list of its dispatcher.

use crate::pool::Pool;
use crate::waiting::Waiter;
use crate::worker;
use std::panic::Location;
use std::sync::Weak;

/// Enters a waiter into the waiting list of `pool`.
pub(crate) fn watch(pool: &Pool, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
    let index = worker::with_current(|worker| worker.belongs_to(pool).then_some(worker.index()));
    pool.registry.enter(index.flatten(), waiter, created);
}
