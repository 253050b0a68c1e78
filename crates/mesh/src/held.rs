//! Items that are out of their port and may come back: a step on its way has them, or they are
//! reserved. As long as there are any, a port that is closed has not ended for those who wait.

use motet_ports::Port;
use motet_sync::{CachePadded, FirstPanic, Mutex, MutexGuard, Serial};
use std::collections::BTreeMap;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

/// How many tables there are: ports mostly do not wait for each other.
const TABLES: usize = 64;

/// What is held in this process, by the numbers of ports. Nothing else is locked under a table: a
/// predicate, which runs under the lock of its port, may drop what waits here.
static HELD: LazyLock<[CachePadded<Mutex<HeldTable>>; TABLES]> =
    LazyLock::new(|| std::array::from_fn(|_| CachePadded::default()));

/// Of those who wait.
static NUMBERS: Serial = Serial::new();

#[derive(Default)]
struct HeldTable {
    /// By the numbers of ports, as long as items of them are held.
    ports: BTreeMap<u64, HeldOfPort>,
    /// How often items of these ports have been held that are not any more.
    ends: u64,
}

#[derive(Default)]
struct HeldOfPort {
    count: usize,
    /// Those who wait for what becomes of the items, each under a number.
    waits: BTreeMap<u64, Waker>,
}

/// Items that are out of their port. Dropped, they go back to its front.
pub(crate) struct HeldItems<T: Send + 'static> {
    port: Port<T>,
    items: Vec<T>,
    /// Goes when they are back, or taken.
    _count: HeldCount,
}

/// That so many items of a port are held.
struct HeldCount {
    port: u64,
    count: usize,
}

impl<T: Send + 'static> HeldItems<T> {
    /// Takes so many items out of the port, if there are.
    pub(crate) fn take_out(port: &Port<T>, count: usize) -> Option<Self> {
        // A number that somebody makes up is not counted.
        if port.item_count() < count {
            return None;
        }
        // Before they leave the port: each is found there or here.
        let held = HeldCount::new(port.id(), count);
        let items = port.test_multiple(count)?;
        Some(HeldItems {
            port: port.clone(),
            items,
            _count: held,
        })
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// They are taken, and do not come back.
    pub(crate) fn into_items(mut self) -> Vec<T> {
        mem::take(&mut self.items)
    }

    /// Puts all back to the front of their port, the first of them first.
    pub(crate) fn put_all_back(port: &Port<T>, mut all: Vec<Self>) {
        if all.is_empty() {
            return;
        }
        let each = all.iter_mut().map(|held| mem::take(&mut held.items));
        port.bring_to_front(each.flatten().collect());
        // They are back.
        drop(all);
    }
}

impl<T: Send + 'static> Drop for HeldItems<T> {
    fn drop(&mut self) {
        let items = mem::take(&mut self.items);
        if !items.is_empty() {
            self.port.bring_to_front(items);
        }
    }
}

impl HeldCount {
    fn new(port: u64, count: usize) -> Self {
        held_of(port).lock().ports.entry(port).or_default().count += count;
        HeldCount { port, count }
    }
}

impl Drop for HeldCount {
    fn drop(&mut self) {
        let waits = {
            let mut held = held_of(self.port).lock();
            held.ends += 1;
            let Some(of_port) = held.ports.get_mut(&self.port) else {
                return;
            };
            of_port.count -= self.count;
            let waits = mem::take(&mut of_port.waits);
            if of_port.count == 0 {
                held.ports.remove(&self.port);
            }
            waits
        };
        // Outside of the lock: they are the users'.
        let mut panics = FirstPanic::default();
        for waker in waits.into_values() {
            panics.catch(|| waker.wake());
        }
        panics.resume();
    }
}

/// The table of a port.
fn held_of(port: u64) -> &'static Mutex<HeldTable> {
    let at = usize::try_from(port % TABLES as u64).unwrap_or_default();
    &HELD[at]
}

impl HeldTable {
    /// How many items of the port are held.
    fn count(&self, port: u64) -> usize {
        self.ports.get(&port).map_or(0, |of_port| of_port.count)
    }
}

/// How many items are in the port, and what is held. An item that comes back, or leaves the port
/// to be held, meanwhile is in one of them at least.
fn look<T: Send + 'static>(port: &Port<T>) -> (usize, MutexGuard<'static, HeldTable>) {
    let table = held_of(port.id());
    loop {
        let ends = table.lock().ends;
        let there = port.item_count();
        let held = table.lock();
        // What had left the port by then was held before, and still is.
        if held.ends == ends {
            return (there, held);
        }
    }
}

/// How many items a closed port has, with those that are held and may come back.
pub(crate) fn count_with_held<T: Send + 'static>(port: &Port<T>) -> usize {
    let (there, held) = look(port);
    there.saturating_add(held.count(port.id()))
}

/// Waits until `least` items are in a closed port again. `false`: even with all that are held there
/// are fewer than `most`, which is not less than `least`.
pub(crate) fn come_back<T: Send + 'static>(
    port: &Port<T>,
    least: usize,
    most: usize,
) -> ComeBack<'_, T> {
    ComeBack {
        port,
        least,
        most,
        number: None,
    }
}

/// The future of [`come_back`].
pub(crate) struct ComeBack<'a, T: Send + 'static> {
    port: &'a Port<T>,
    least: usize,
    most: usize,
    /// Under which it waits.
    number: Option<u64>,
}

impl<T: Send + 'static> Future for ComeBack<'_, T> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let (this, waker) = (self.get_mut(), cx.waker().clone());
        let (there, mut held) = look(this.port);
        let is_there = there >= this.least;
        let of_port = held.ports.get_mut(&this.port.id()).filter(|of_port| {
            let may_be = there.saturating_add(of_port.count);
            !is_there && may_be >= this.most
        });
        let Some(of_port) = of_port else {
            return Poll::Ready(is_there);
        };
        let number = *this.number.get_or_insert_with(|| NUMBERS.next());
        let before = of_port.waits.insert(number, waker);
        drop(held);
        // Outside of the lock: it is the user's.
        drop(before);
        Poll::Pending
    }
}

impl<T: Send + 'static> Drop for ComeBack<'_, T> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut held = held_of(self.port.id()).lock();
        let of_port = held.ports.get_mut(&self.port.id());
        let waker = of_port.and_then(|of_port| of_port.waits.remove(&number));
        drop(held);
        // Outside of the lock: it is the user's.
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_dispatch::Inline;
    use motet_ports::Receive;
    use motet_sync::{Parker, block_on_for, thread};
    use motet_testkit::{Gate, patience, within};
    use std::time::Duration;

    #[test]
    fn a_port_does_not_wait_for_what_is_held_of_another_one() {
        within(patience(), || {
            let one = Port::<u32>::new();
            // Numbers are given in order.
            let ports: Vec<Port<u32>> = (0..TABLES).map(|_| Port::new()).collect();
            let has_other =
                |port: &&Port<u32>| !std::ptr::eq(held_of(port.id()), held_of(one.id()));
            let other = ports.iter().find(has_other).expect("another table");
            let (_, held) = look(&one);
            assert_eq!(count_with_held(other), 0);
            drop(held);
        });
    }

    #[test]
    fn sem_g14_a_predicate_may_drop_a_wait_for_held_items_while_another_one_looks() {
        within(patience(), || {
            let port = Port::new();
            port.post(1_u32).expect("it is open");
            let held = HeldItems::take_out(&port, 1).expect("there is one");
            let own = port.clone();
            let mut waits: Pin<Box<dyn Future<Output = bool> + Send>> =
                Box::pin(async move { come_back(&own, 1, 1).await });
            let mut context = Context::from_waker(Waker::noop());
            assert!(waits.as_mut().poll(&mut context).is_pending());
            let (waits, gate) = (Mutex::new(Some(waits)), Gate::new());
            let opened = gate.clone();
            Receive::persistent(&port, |_| ())
                .when(move |_| {
                    opened.pass();
                    drop(waits.lock().take());
                    true
                })
                .activate(&Inline::new("here"))
                .expect("the queue is open");
            let poster = port.clone();
            let posts = thread::spawn(move || poster.post(2).is_ok());
            gate.wait_for(1);
            let closed = port;
            let looks =
                thread::spawn(move || block_on_for(come_back(&closed, 1, 1), Duration::ZERO));
            // Mostly it waits for the port by then.
            let _ = Parker::new().park_timeout(Duration::from_millis(20));
            gate.open();
            assert!(posts.join().expect("it posts"));
            assert_eq!(looks.join().expect("it looks"), None);
            drop(held);
        });
    }
}
