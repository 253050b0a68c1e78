//! A bank without locks: accounts behind an interleave.
//!
//! ```text
//!   deposits  ──► exclusive  ┐
//!   transfers ──► exclusive  ├──► accounts       one at a time, in the order in which they came
//!   balances  ──► concurrent ┘                   together: they only look
//!   closing   ──► teardown ─────► audit          last, when all others have ended
//! ```

use motet::{Dispatcher, Interleave, Port, QueueConfig, StatefulInterleave};

const ACCOUNTS: usize = 16;

/// The money in each account: plain numbers, for the interleave keeps writers apart.
type Accounts = [i64; ACCOUNTS];

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
    fn open(&self, audits: &Port<i64>) -> StatefulInterleave<Accounts> {
        let audit = audits.clone();
        let total = |accounts: &Accounts| accounts.iter().sum::<i64>();
        Interleave::with_state([0; ACCOUNTS])
            .exclusive(&self.deposits, |accounts, (account, amount)| {
                accounts[account] += amount;
            })
            .exclusive(&self.transfers, |accounts, transfer| {
                let Transfer { from, to, amount } = transfer;
                accounts[from] -= amount;
                accounts[to] += amount;
            })
            .concurrent(&self.balances, move |accounts, reply| {
                reply.post(total(accounts)).expect("nobody refuses");
            })
            .teardown(&self.closing, move |accounts, ()| {
                audit.post(total(&accounts)).expect("nobody refuses");
            })
    }
}

fn main() {
    const DEPOSITS: usize = 4_000;
    let dispatcher = Dispatcher::new(4);
    let queue = dispatcher.queue(QueueConfig::named("bank"));
    let (counters, audits, totals) = (Counters::default(), Port::new(), Port::new());
    let interleave = counters.open(&audits);
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
