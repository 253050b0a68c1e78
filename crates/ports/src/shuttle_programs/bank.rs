//! A bank behind an interleave: writers alone, readers together, the audit last.

use super::check;
use crate::{Fairness, Interleave, Port, Receive};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;

const TRANSFERS: usize = 3;

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

#[test]
fn shuttle_sem_g83_sem_g87_a_bank() {
    check(|queue| {
        let accounts = Arc::new(Accounts::default());
        accounts.add(0, 100);
        let (transfers, asks, close) = (Port::new(), Port::new(), Port::new());
        let (answers, audits) = (Port::new(), Port::new());
        let [moves, reads, audited] = [(); 3].map(|()| Arc::clone(&accounts));
        let (answer, audit) = (answers.clone(), audits.clone());
        let bank = Interleave::new()
            .exclusive(Receive::persistent(&transfers, move |amount: usize| {
                moves.take(0, amount);
                moves.add(1, amount);
            }))
            .concurrent(Receive::persistent(&asks, move |()| {
                answer.post(reads.total()).expect("a port without limit");
            }))
            .teardown(Receive::once(&close, move |()| {
                audit.post(audited.total()).expect("a port without limit");
            }))
            .fairness(Fairness::Alternate)
            .activate(queue)
            .expect("the queue runs");
        let (transferring, asking) = (transfers.clone(), asks.clone());
        let posters = [
            thread::spawn(move || {
                for amount in 0..TRANSFERS {
                    transferring.post(amount).expect("a port without limit");
                }
                close.post(()).expect("a port without limit");
            }),
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
        assert!(!bank.is_active());
    });
}
