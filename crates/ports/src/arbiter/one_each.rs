//! The quick way of a join that takes one item, whichever, of each of its ports.
//!
//! An item comes to one of its ports, and the others are likely to have theirs. A thread that
//! has the lock of the one may try those of the others without the domain's, since it does not
//! wait. If one is not free it lets all go and takes the ordinary way. While it has all ports of
//! the join locked, nobody else decides about the join, nor takes what it has seen.

use super::join_gate::JoinGate;
use super::join_input::{Input, Rule};
use super::missing_hint::MissingHint;
use crate::deferred::Deferred;
use crate::delivery::ItemBox;
use crate::port::PortState;
use motet_sync::TryMutexGuard;
use std::any::Any;

/// One try of a join to take an item of each of its ports.
pub(crate) struct OneEach<'a> {
    /// The input whose port the caller has locked; nothing waits there.
    pub(super) at: usize,
    /// The place of the parcel that has come there, an `Option` of one.
    pub(super) item: &'a mut dyn Any,
    pub(super) gate: &'a JoinGate,
    pub(super) missing_hint: &'a MissingHint,
    pub(super) deferred: &'a mut Deferred,
}

/// Another port, locked, with an item. None for the caller's.
pub(crate) type Reached<'a, T> = Option<TryMutexGuard<'a, PortState<T>>>;

impl OneEach<'_> {
    /// Whether the join may fire if all is there. It may when it ever might, if nothing but its
    /// queue has a say, and that takes whatever comes.
    #[inline]
    pub(crate) fn may_fire(&self) -> bool {
        self.gate.is_always_passed()
    }
}

impl<R: Rule> Input<R> {
    /// Whether one item will do, whichever.
    #[inline]
    pub(crate) fn takes_any_one(&self) -> bool {
        self.needed() == 1 && !self.is_guarded()
    }

    /// Locks the port, if it is not the caller's, and sees that an item is there. None if not, or
    /// if the lock is not free.
    // Always, as what takes. Each input of a tuple is a type of its own, and handing its guard over
    // in memory costs more than the rest.
    #[inline(always)]
    pub(crate) fn reach(&self, at: usize, one: &OneEach<'_>) -> Option<Reached<'_, R::Item>> {
        if at == one.at {
            return Some(None);
        }
        let mut state = self.inside.try_lock()?;
        if state.items_mut().is_empty() {
            // The ordinary way finds that a port is gone.
            if state.is_there() {
                one.missing_hint.at(at);
            }
            return None;
        }
        Some(Some(state))
    }

    /// Takes the oldest item of the port that was reached, or the one that has come to the
    /// caller's.
    #[inline(always)]
    pub(crate) fn take_one(
        &self,
        reached: Reached<'_, R::Item>,
        one: &mut OneEach<'_>,
    ) -> R::Taken {
        let parcel = match reached {
            Some(mut state) => {
                let oldest = state.items_mut().pop_front();
                state.let_in_later(one.deferred);
                oldest
            }
            None => {
                let item: Option<&mut Option<ItemBox<R::Item>>> = one.item.downcast_mut();
                item.and_then(Option::take)
            }
        };
        R::only(parcel.expect("seen under the lock that is held"))
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use crate::loom_ports::{Keeper, post_elsewhere};
    use crate::{Activation, JoinedReceive, Port};
    use motet_sync::thread;

    fn join(p: &Port<u32>, q: &Port<u32>, queue: &Keeper) -> Activation {
        let join = JoinedReceive::persistent((p, q), |_| ());
        let active = join.activate(queue).unwrap();
        queue.run();
        active
    }

    fn items(ports: [&Port<u32>; 3]) -> [usize; 3] {
        ports.map(|port| port.item_count())
    }

    /// Two joins miss one item each, and share the port that has one: each tries its lock, one gets
    /// it.
    #[test]
    fn loom_two_joins_are_completed_at_once_but_for_one_item_of_both() {
        loom::model(|| {
            let [p, q, r] = [(); 3].map(|()| Port::new());
            let queue = Keeper::default();
            join(&p, &q, &queue);
            join(&q, &r, &queue);
            q.post(1).unwrap();
            let poster = post_elsewhere(&r, 1);
            p.post(1).unwrap();
            poster.join().unwrap();
            assert_eq!(items([&p, &q, &r]).iter().sum::<usize>(), 1);
            assert_eq!(q.item_count(), 0);
            q.post(2).unwrap();
            assert_eq!(items([&p, &q, &r]), [0, 0, 0]);
            assert_eq!(queue.run(), 2);
        });
    }

    /// Both items of each of two pairs come at once, to a join that knows nothing of where it lacks
    /// something.
    #[test]
    fn loom_both_items_of_a_pair_try_for_each_other() {
        loom::model(|| {
            let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
            join(&p, &q, &queue);
            p.post(1).unwrap();
            q.post(1).unwrap();
            let poster = post_elsewhere(&q, 2);
            p.post(2).unwrap();
            poster.join().unwrap();
            assert_eq!((p.item_count(), q.item_count()), (0, 0));
            assert_eq!(queue.run(), 2);
        });
    }

    /// The item that is seen at another port is taken there by somebody else, or by the join.
    #[test]
    fn loom_a_pair_against_a_taker() {
        loom::model(|| {
            let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
            join(&p, &q, &queue);
            q.post(1).unwrap();
            let taker = thread::spawn({
                let q = q.clone();
                move || q.test().is_some()
            });
            p.post(1).unwrap();
            let taken = taker.join().unwrap();
            assert_eq!((p.item_count(), q.item_count()), (usize::from(taken), 0));
            q.post(2).unwrap();
            assert_eq!((p.item_count(), queue.run()), (0, 1));
        });
    }

    /// The join is cleaned up: it has fired, or takes nothing.
    #[test]
    fn loom_a_pair_against_a_cleanup() {
        loom::model(|| {
            let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
            let active = join(&p, &q, &queue);
            p.post(1).unwrap();
            let poster = post_elsewhere(&q, 1);
            active.cleanup();
            poster.join().unwrap();
            let sent = queue.take().len();
            assert_eq!((p.item_count(), q.item_count()), (1 - sent, 1 - sent));
            assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
        });
    }

    /// The last handle of a port goes while an item of the other looks for its fellow there.
    #[test]
    fn loom_a_pair_against_the_end_of_a_port() {
        loom::model(|| {
            let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
            join(&p, &q, &queue);
            p.post(1).unwrap();
            let end = thread::spawn(move || drop(p));
            q.post(1).unwrap();
            end.join().unwrap();
            assert_eq!(queue.run() + q.item_count(), 1);
        });
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use crate::port::PortCore;
    use crate::{JoinedReceive, Overflow, Port};
    use motet_dispatch::Inline;
    use motet_sync::thread;
    use std::pin::Pin;
    use std::sync::mpsc::{Receiver, channel};
    use std::task::{Context, Waker};
    use std::time::Duration;

    fn post_elsewhere(port: &Port<u32>, item: u32) -> Receiver<bool> {
        let (port, (tell, told)) = (port.clone(), channel());
        thread::spawn(move || tell.send(port.post(item).is_ok()).unwrap());
        told
    }

    fn sums(p: &Port<u32>, q: &Port<u32>) -> Port<u32> {
        let sums = Port::new();
        let out = sums.clone();
        JoinedReceive::persistent((p, q), move |(one, two)| out.post(one + two).unwrap())
            .activate(&Inline::new("here"))
            .unwrap();
        sums
    }

    #[test]
    fn a_pair_is_taken_without_the_domain() {
        let (p, q) = (Port::new(), Port::new());
        let sums = sums(&p, &q);
        p.post(1).unwrap();
        let locked = p.core().domain().lock();
        let told = post_elsewhere(&q, 2).recv_timeout(Duration::from_secs(20));
        drop(locked);
        assert_eq!((told, sums.test()), (Ok(true), Some(3)));
    }

    #[test]
    fn a_pair_whose_other_port_is_locked_is_taken_in_the_ordinary_way() {
        let (p, q) = (Port::new(), Port::new());
        let sums = sums(&p, &q);
        p.post(1).unwrap();
        let locked = PortCore::state(p.core());
        let told = post_elsewhere(&q, 2);
        assert!(told.recv_timeout(Duration::from_millis(20)).is_err());
        drop(locked);
        assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true));
        assert_eq!((sums.test(), p.item_count()), (Some(3), 0));
    }

    #[test]
    fn who_waits_for_room_at_the_other_port_is_let_in() {
        let (p, q) = (Port::bounded(1, Overflow::Wait), Port::new());
        let sums = sums(&p, &q);
        p.post(1).unwrap();
        let mut waits = p.post_wait(10);
        let mut let_in = || {
            let mut cx = Context::from_waker(Waker::noop());
            Pin::new(&mut waits).poll(&mut cx).is_ready()
        };
        assert!(!let_in());
        q.post(2).unwrap();
        assert!(let_in());
        q.post(20).unwrap();
        assert_eq!(sums.items(), [3, 30]);
    }
}
