//! MPI on CCR ports, as the papers have it (P0, P1): posting is sending, a receive is a handler's
//! argument.
//!
//! ```text
//!   send(to, m)       ──► post m to the port of rank `to`
//!   recv(source, tag) ──► Receive::once(own port, keep it).when(source and tag fit)
//!   a collective      ──► post what I bring to the communicator's port;
//!                         MultipleItemReceive of one item per rank lays them in rank order
//! ```
//!
//! Everything that MPI asks of messages is a property of the port. Items wait in their order, and
//! receivers are asked in theirs. So the oldest message that fits goes to the oldest receive that
//! wants it. Handlers run where they are posted ([`Inline`]). They only keep what came, and the
//! rank, a task that waits, is woken (papers R029 to R033, R041). This fabric is to be read and to
//! be measured against; `threads` is the fast one.

use super::any_cell::AnyCell;
use super::call::{CollectiveArrival, RankCall, mismatch, other_type};
use super::operators::{Operators, ValueKind};
use super::order;
use super::port_mailbox::{PortMailbox, apart, keep};
use super::threads::Threads;
use crate::CommError;
use motet_dispatch::{Exception, Inline};
use motet_ports::{MultipleItemReceive, Port};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU32, Ordering, fence};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// One rank among others, each of which has a port, its [`PortMailbox`].
pub(crate) type Ports = Threads<PortMailbox>;

/// Where the ranks of a communicator meet: a port to which each posts one item per collective.
pub(crate) struct Gathering {
    port: Port<Brought>,
    table: Arc<PortStage>,
}

/// What a rank brings.
struct Brought {
    rank: usize,
    call: RankCall,
    kind: &'static ValueKind,
    value: AnyCell,
}

/// Where the items of a collective lie when all have come.
struct PortStage {
    /// Collectives that have taken place.
    collectives: AtomicU32,
    laid: Mutex<Laid>,
    sleepers: Mutex<Vec<usize>>,
}

enum Laid {
    /// In rank order; whoever reads first combines them.
    Items(Vec<Brought>),
    Total(AnyCell),
    Failed(CommError),
    /// The program's code has panicked with this where they were combined: it does so on every rank
    /// that reads.
    Panicked(String),
}

impl Gathering {
    pub(crate) fn new(ranks: usize) -> Self {
        let table = Arc::new(PortStage {
            collectives: AtomicU32::new(0),
            laid: Mutex::new(Laid::Items(Vec::new())),
            sleepers: Mutex::default(),
        });
        let (port, gathered) = (Port::new(), Arc::clone(&table));
        // No rank comes to the next collective before this one has taken place: every batch is a
        // collective.
        let gather =
            MultipleItemReceive::persistent(&port, ranks, move |mut items: Vec<Brought>| {
                items.sort_unstable_by_key(|item| item.rank);
                *gathered.laid.lock() = Laid::Items(items);
                gathered.collectives.fetch_add(1, Ordering::Release);
            });
        apart(|| gather.activate(&Inline::new("gathers")))
            .expect("an inline queue takes every task");
        Gathering { port, table }
    }

    /// A rank comes with a value; who is to be woken then.
    pub(crate) fn arrive(
        &self,
        &CollectiveArrival { rank, call, .. }: &CollectiveArrival,
        value: AnyCell,
        kind: &'static ValueKind,
    ) -> Vec<usize> {
        let brought = Brought {
            rank,
            call,
            kind,
            value,
        };
        let before = self.table.collectives.load(Ordering::Relaxed);
        apart(|| keep(&self.port.post(brought)));
        if self.table.collectives.load(Ordering::Relaxed) == before {
            return Vec::new();
        }
        fence(Ordering::SeqCst);
        std::mem::take(&mut *self.table.sleepers.lock())
    }

    pub(crate) fn has_taken_place(&self, number: u32) -> bool {
        self.table.collectives.load(Ordering::Acquire) == number
    }

    pub(crate) fn add_sleeper(&self, rank: usize) {
        let mut sleepers = self.table.sleepers.lock();
        if !sleepers.contains(&rank) {
            sleepers.push(rank);
        }
    }

    /// Shows the total of the last collective, which the first reader makes.
    pub(crate) fn read(
        &self,
        operators: &mut dyn Operators,
        read: &mut dyn FnMut(&AnyCell),
    ) -> Result<(), CommError> {
        let mut laid = self.table.laid.lock();
        if let Laid::Items(items) = &mut *laid {
            let items = std::mem::take(items);
            let total = || combine(items, operators);
            *laid = match catch_unwind(AssertUnwindSafe(total)) {
                Ok(Ok(total)) => Laid::Total(total),
                Ok(Err(failed)) => Laid::Failed(failed),
                Err(payload) => {
                    Laid::Panicked(Exception::new(payload, "ranks").message().to_owned())
                }
            };
        }
        match &*laid {
            Laid::Total(total) => {
                read(total);
                Ok(())
            }
            Laid::Failed(failed) => Err(failed.clone()),
            Laid::Panicked(message) => resume_unwind(Box::new(message.clone())),
            Laid::Items(_) => unreachable!("they have been combined"),
        }
    }
}

/// The total of what the ranks have brought, if all have called the same.
fn combine(items: Vec<Brought>, operators: &mut dyn Operators) -> Result<AnyCell, CommError> {
    check(&items)?;
    let values = items.into_iter().map(|item| item.value).collect();
    let combined = order::combined(values, |mut left, mut right| {
        operators.combine(&mut left, &mut right);
        left
    });
    Ok(operators.finish(combined.expect("a collective has a rank")))
}

/// Whether all have called the same.
fn check(items: &[Brought]) -> Result<(), CommError> {
    for other in &items[1..] {
        let (one, ranks) = (&items[0], [items[0].rank, other.rank]);
        if let Some(failed) = mismatch(ranks, &one.call, &other.call) {
            return Err(*failed);
        }
        if one.kind.id != other.kind.id {
            return Err(*other_type(ranks, &one.call, &other.call));
        }
    }
    Ok(())
}
