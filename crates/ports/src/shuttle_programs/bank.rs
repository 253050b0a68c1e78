//! A bank behind an interleave: transfers alone, from two sides and in both directions; readers
//! together and beside nobody who writes; the audit last.

use super::check;
use crate::{Fairness, Interleave, Port, Receive};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;

/// From each side.
const TRANSFERS: usize = 3;

/// What one transfer takes from an account and brings to the other.
#[derive(Clone, Copy)]
struct Transfer {
    from: usize,
    to: usize,
    amount: usize,
}

/// Two accounts. Nothing here is one step but for the interleave.
#[derive(Default)]
struct Accounts([AtomicUsize; 2]);

impl Accounts {
    fn add(&self, account: usize, amount: usize) {
        let before = self.0[account].load(Ordering::SeqCst);
        self.0[account].store(before + amount, Ordering::SeqCst);
    }

    fn take(&self, account: usize, amount: usize) {
        let before = self.0[account].load(Ordering::SeqCst);
        self.0[account].store(before - amount, Ordering::SeqCst);
    }

    fn total(&self) -> usize {
        self.0
            .iter()
            .map(|account| account.load(Ordering::SeqCst))
            .sum()
    }
}

/// Posts transfers from an account to the other.
fn transfer_all(transfers: &Port<Transfer>, from: usize, to: usize) {
    for amount in 1..=TRANSFERS {
        let transfer = Transfer { from, to, amount };
        transfers.post(transfer).expect("a port without limit");
    }
}

#[test]
fn shuttle_sem_g286_sem_g290_a_bank() {
    check(|queue| {
        let accounts = Arc::new(Accounts::default());
        (0..2).for_each(|account| accounts.add(account, 50));
        let (transfers, asks, close) = (Port::new(), Port::new(), Port::new());
        let (answers, audits) = (Port::new(), Port::new());
        let [moves, reads, audited] = [(); 3].map(|()| Arc::clone(&accounts));
        let (answer, audit) = (answers.clone(), audits.clone());
        let bank = Interleave::new()
            .exclusive(Receive::persistent(
                &transfers,
                move |transfer: Transfer| {
                    moves.take(transfer.from, transfer.amount);
                    moves.add(transfer.to, transfer.amount);
                },
            ))
            .concurrent(Receive::persistent(&asks, move |()| {
                answer.post(reads.total()).expect("a port without limit");
            }))
            .teardown(Receive::once(&close, move |()| {
                audit.post(audited.total()).expect("a port without limit");
            }))
            .fairness(Fairness::Alternate)
            .activate(queue)
            .expect("the queue runs");
        let [there, back] = [(); 2].map(|()| transfers.clone());
        let asking = asks.clone();
        let posters = [
            thread::spawn(move || {
                transfer_all(&there, 0, 1);
                close.post(()).expect("a port without limit");
            }),
            thread::spawn(move || transfer_all(&back, 1, 0)),
            thread::spawn(move || {
                for _ in 0..TRANSFERS {
                    asking.post(()).expect("a port without limit");
                }
            }),
        ];
        for poster in posters {
            poster.join().expect("posting does not panic");
        }
        while audits.item_count() == 0 {
            thread::yield_now();
        }
        assert_eq!(audits.items(), [100]);
        assert!(answers.items().iter().all(|total| *total == 100));
        assert_eq!(answers.item_count() + asks.item_count(), TRANSFERS);
        // What came after the teardown has come back and was not done.
        let done = accounts
            .0
            .each_ref()
            .map(|account| account.load(Ordering::SeqCst));
        let undone = transfers.items();
        let back = undone.iter().filter(|transfer| transfer.from == 1);
        let back: usize = back.map(|transfer| transfer.amount).sum();
        let there: usize = undone.iter().map(|transfer| transfer.amount).sum::<usize>() - back;
        assert_eq!([done[0] + back, done[1] + there], [50 + there, 50 + back]);
        assert!(!bank.is_active());
    });
}
