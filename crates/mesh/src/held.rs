//! Items that are out of their port and may come back: a step on its way has them, or they are
//! reserved. As long as there are any, a port that is closed has not ended for those who wait.

use motet_ports::Port;
use motet_sync::{FirstPanic, Mutex, Serial};
use std::collections::BTreeMap;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

/// Ports of this process by their numbers, as long as items of them are held. Lock order: this,
/// then a port's.
static HELD: LazyLock<Mutex<BTreeMap<u64, HeldOfPort>>> = LazyLock::new(Mutex::default);

/// Of those who wait.
static NUMBERS: Serial = Serial::new();

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
        HELD.lock().entry(port).or_default().count += count;
        HeldCount { port, count }
    }
}

impl Drop for HeldCount {
    fn drop(&mut self) {
        let waits = {
            let mut held = HELD.lock();
            let Some(of_port) = held.get_mut(&self.port) else {
                return;
            };
            of_port.count -= self.count;
            let waits = mem::take(&mut of_port.waits);
            if of_port.count == 0 {
                held.remove(&self.port);
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

/// Waits until so many items are in a closed port again. `false`: even with all that are held there
/// are fewer.
pub(crate) fn come_back<T: Send + 'static>(port: &Port<T>, count: usize) -> ComeBack<'_, T> {
    let number = None;
    ComeBack {
        port,
        count,
        number,
    }
}

/// The future of [`come_back`].
pub(crate) struct ComeBack<'a, T: Send + 'static> {
    port: &'a Port<T>,
    count: usize,
    /// Under which it waits.
    number: Option<u64>,
}

impl<T: Send + 'static> Future for ComeBack<'_, T> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let (this, waker) = (self.get_mut(), cx.waker().clone());
        let mut held = HELD.lock();
        // Under the lock: what leaves the port meanwhile is counted before it does.
        let there = this.port.item_count();
        let is_there = there >= this.count;
        let of_port = held.get_mut(&this.port.id()).filter(|of_port| {
            let may_be = there.saturating_add(of_port.count);
            !is_there && may_be >= this.count
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
        let mut held = HELD.lock();
        let of_port = held.get_mut(&self.port.id());
        let waker = of_port.and_then(|of_port| of_port.waits.remove(&number));
        drop(held);
        // Outside of the lock: it is the user's.
        drop(waker);
    }
}
