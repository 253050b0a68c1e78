//! A bank without locks: accounts behind an interleave.
//!
//! ```text
//!   deposits  ──► exclusive  ┐
//!   transfers ──► exclusive  ├──► accounts       one at a time, in the order in which they came
//!   balances  ──► concurrent ┘                   together: they only look
//!   closing   ──► teardown ─────► audit          last, when all others have ended
//! ```

use motet::{Dispatcher, Interleave, Port, QueueConfig, Receive};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const ACCOUNTS: usize = 16;

/// The money in each account. The interleave keeps writers apart, so each handler may read and write as
/// if it were alone; that the values are atomic only spares the example `unsafe`.
#[derive(Default)]
struct Accounts([AtomicI64; ACCOUNTS]);

impl Accounts {
    fn balance(&self, account: usize) -> i64 {
        self.0[account].load(Ordering::Relaxed)
    }

    /// Two steps, with room for others in between if the interleave let them.
    fn add(&self, account: usize, amount: i64) {
        let before = self.balance(account);
        self.0[account].store(before + amount, Ordering::Relaxed);
    }

    fn total(&self) -> i64 {
        (0..ACCOUNTS).map(|account| self.balance(account)).sum()
    }
}

struct Transfer {
    from: usize,
    to: usize,
    amount: i64,
}

/// Where the bank takes what it is asked.
#[derive(Default)]
struct Counters {
    deposits: Port<(usize, i64)>,
    transfers: Port<Transfer>,
    balances: Port<Port<i64>>,
    closing: Port<()>,
}

impl Counters {
    /// Opens the bank; it posts its last total to `audits`.
    fn open(&self, accounts: &Arc<Accounts>, audits: &Port<i64>) -> Interleave {
        let [paid_in, moved, seen, audited] = [(); 4].map(|()| Arc::clone(accounts));
        let audit = audits.clone();
        let deposit = move |(account, amount)| paid_in.add(account, amount);
        let transfer = move |transfer: Transfer| {
            moved.add(transfer.from, -transfer.amount);
            moved.add(transfer.to, transfer.amount);
        };
        let balance = move |reply: Port<i64>| reply.post(seen.total()).expect("nobody refuses");
        let close = move |()| audit.post(audited.total()).expect("nobody refuses");
        Interleave::new()
            .exclusive(Receive::persistent(&self.deposits, deposit))
            .exclusive(Receive::persistent(&self.transfers, transfer))
            .concurrent(Receive::persistent(&self.balances, balance))
            .teardown(Receive::once(&self.closing, close))
    }
}

fn main() {
    const DEPOSITS: usize = 4_000;
    let dispatcher = Dispatcher::new(4);
    let queue = dispatcher.queue(QueueConfig::named("bank"));
    let (counters, audits, totals) = (Counters::default(), Port::new(), Port::new());
    let interleave = counters.open(&Arc::default(), &audits);
    let bank = interleave.activate(&queue).expect("the queue is open");
    for n in 0..DEPOSITS {
        let (from, to) = (n % ACCOUNTS, (n * 7 + 3) % ACCOUNTS);
        counters.deposits.post((from, 10)).expect("it is open");
        let transfer = Transfer {
            from,
            to,
            amount: 3,
        };
        counters.transfers.post(transfer).expect("it is open");
        counters.balances.post(totals.clone()).expect("it is open");
    }
    dispatcher.wait_idle();
    counters.closing.post(()).expect("it is open");
    dispatcher.wait_idle();

    // The bank has closed: this stays in its port.
    counters
        .deposits
        .post((0, 1_000_000))
        .expect("nobody refuses");
    let (asked, said) = (totals.item_count(), audits.items());
    println!("{bank:?}\n{asked} balances asked; the audit says {said:?}");
    assert_eq!(asked, DEPOSITS);
    assert_eq!(said, [40_000], "nothing was lost between two steps");
    assert_eq!(counters.deposits.item_count(), 1);
    while let Some(total) = totals.test() {
        assert_eq!(total % 10, 0, "a balance saw half a transfer");
    }
}
