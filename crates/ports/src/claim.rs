//! The claim: one decision that many may try to make and exactly one makes.
//!
//! A one-time receiver, an awaited receive, a join, and every branch of a choice hold (or share)
//! one claim. Whoever turns it from `Open` to `Claimed` has won and takes the items; everyone else
//! leaves them where they are. Closing it from outside (a receiver that is cleaned up, a future
//! that is dropped) competes in the same way.
//!
//! ```text
//!           take
//!   Open ─────────> Claimed
//!     └── close ──> Closed
//! ```
//!
//! A claim that several may come to hold knows whether it is *shared*. Who wins a claim that is not
//! shared is the only one who could, and leaves no losers.
//!
//! All that must be true for the items to be taken is established *before* the claim, under the
//! locks of the ports concerned. So a claim needs no third, tentative state. (Hopac's `Pick` and
//! the operations of Concurrent ML need one because there both sides of a meeting may be choices.)

use motet_sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const CLAIMED: u8 = 1;
const CLOSED: u8 = 2;
/// Beside one of the three.
const SHARED: u8 = 4;

/// The decision. See the [module](self).
#[derive(Debug)]
pub(crate) struct Claim(AtomicU8);

impl Claim {
    pub(crate) fn new() -> Self {
        Claim(AtomicU8::new(OPEN))
    }

    /// Makes the decision. `true` for exactly one caller.
    #[must_use]
    pub(crate) fn take(&self) -> bool {
        self.change(CLAIMED)
    }

    /// Sees to it that nobody wins any more. `false` when somebody has won already.
    pub(crate) fn close(&self) -> bool {
        self.change(CLOSED) || self.state() == CLOSED
    }

    /// Before another one comes to hold the claim. `false` when the decision has been made.
    #[must_use]
    pub(crate) fn share(&self) -> bool {
        // AcqRel: in one order with the decision, so whoever decides sees it, or is seen.
        self.0.fetch_or(SHARED, Ordering::AcqRel) & !SHARED == OPEN
    }

    /// Whether another one held the claim when it was taken. Asked by the winner.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Acquire) & SHARED != 0
    }

    /// Whether somebody has won.
    #[inline]
    pub(crate) fn is_taken(&self) -> bool {
        self.state() == CLAIMED
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.state() == OPEN
    }

    #[inline]
    fn state(&self) -> u8 {
        self.0.load(Ordering::Acquire) & !SHARED
    }

    // AcqRel: the winner sees what the loser of an earlier round did. What the winner did before is
    // seen by whoever finds the claim taken.
    fn change(&self, to: u8) -> bool {
        let change = |from| {
            self.0
                .compare_exchange(from, from | to, Ordering::AcqRel, Ordering::Acquire)
        };
        match change(OPEN) {
            // It is not taken back.
            Err(SHARED) => change(SHARED).is_ok(),
            changed => changed.is_ok(),
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn is_won_once() {
        let claim = Claim::new();
        assert!(claim.take());
        assert!(!claim.take());
        assert!(!claim.close(), "won before");
        assert!(!claim.is_open());
    }

    #[test]
    fn a_shared_claim_is_decided_as_any_other() {
        let claim = Claim::new();
        assert!(claim.share() && claim.is_shared() && claim.is_open());
        assert!(claim.take());
        assert!(!claim.share(), "decided");
        assert!(!claim.take() && claim.is_taken() && !claim.is_open());
        let closed = Claim::new();
        assert!(closed.share() && closed.close() && !closed.take());
        assert!(!closed.is_taken());
    }

    #[test]
    fn closed_is_never_won() {
        let claim = Claim::new();
        assert!(claim.close());
        assert!(claim.close(), "closing twice is closed");
        assert!(!claim.take());
        assert!(!claim.is_open());
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{Arc, thread};

    /// A taker and one that shares the claim: the sharer learns of the decision, or the winner of
    /// the sharer.
    #[test]
    fn loom_a_claim_is_shared_against_its_winner() {
        loom::model(|| {
            let claim = Arc::new(Claim::new());
            let sharer = thread::spawn({
                let claim = Arc::clone(&claim);
                move || claim.share()
            });
            assert!(claim.take(), "nobody else does");
            let seen = claim.is_shared();
            let open = sharer.join().unwrap();
            assert!(seen || !open);
            assert!(claim.is_taken() && !claim.take());
        });
    }

    /// Two takers and a closer: at most one wins, and if nobody wins it is closed.
    #[test]
    fn loom_claim_has_one_winner() {
        loom::model(|| {
            let claim = Arc::new(Claim::new());
            let takers = [(); 2].map(|()| {
                let claim = Arc::clone(&claim);
                thread::spawn(move || u32::from(claim.take()))
            });
            let closed = claim.close();
            let winners: u32 = takers.map(|taker| taker.join().unwrap()).into_iter().sum();
            assert!(winners <= 1);
            assert_eq!(winners == 0, closed);
        });
    }
}
