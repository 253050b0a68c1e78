//! Stores: items that processes put in and get out.

use super::process::Number;
use super::report::Facility;
use super::{Core, Sim};
use std::borrow::Cow;
use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Items in the order in which they came. Who gets one waits for it, and who puts one waits for
/// room; each in line.
pub struct Store<T> {
    sim: Sim,
    state: Rc<State<T>>,
}

struct State<T> {
    name: Cow<'static, str>,
    capacity: usize,
    inside: RefCell<Inside<T>>,
    /// Waits that were given up while what chooses looked at it.
    given_up: RefCell<Vec<(u64, Hand<T>)>>,
}

struct Inside<T> {
    items: VecDeque<T>,
    /// Who waits, by the numbers of the waits, which are in their order.
    getters: BTreeMap<u64, Getter<T>>,
    putters: BTreeMap<u64, Putter<T>>,
}

/// Which item is wanted: its place among those that are there.
type Choose<T> = Rc<dyn Fn(&VecDeque<T>) -> Option<usize>>;
/// Where an item is handed over.
type Hand<T> = Rc<RefCell<Option<T>>>;

struct Getter<T> {
    process: Number,
    choose: Option<Choose<T>>,
    hand: Hand<T>,
}

struct Putter<T> {
    process: Number,
    hand: Hand<T>,
}

/// Waits for an item. Made by [`Store::get`], [`Store::get_where`] and [`Store::get_least`].
#[must_use = "it waits when it is awaited"]
pub struct Get<T> {
    store: Store<T>,
    /// `None`: the oldest.
    choose: Option<Choose<T>>,
    /// The number of the wait.
    waits: Option<(u64, Hand<T>)>,
}

/// Waits for room for an item. Made by [`Store::put`].
#[must_use = "it waits when it is awaited"]
pub struct Put<T> {
    store: Store<T>,
    hand: Hand<T>,
    /// The number of the wait.
    waits: Option<u64>,
}

impl<T: 'static> Store<T> {
    pub(super) fn new(sim: &Sim, name: Cow<'static, str>, capacity: usize) -> Self {
        let inside = RefCell::new(Inside {
            items: VecDeque::new(),
            getters: BTreeMap::new(),
            putters: BTreeMap::new(),
        });
        let state = Rc::new(State {
            name,
            capacity,
            inside,
            given_up: RefCell::default(),
        });
        sim.0.list(&state);
        Store {
            sim: sim.clone(),
            state,
        }
    }

    /// The items that are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.inside.borrow().items.len()
    }

    /// Whether there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for room, and puts an item there.
    pub fn put(&self, item: T) -> Put<T> {
        Put {
            store: self.clone(),
            hand: Rc::new(RefCell::new(Some(item))),
            waits: None,
        }
    }

    /// Waits for an item, and takes the oldest.
    pub fn get(&self) -> Get<T> {
        self.get_as(None)
    }

    /// Waits for an item that `wanted` accepts, and takes the oldest of these.
    ///
    /// # Panics
    /// When `wanted` changes this store. It may look at it, and drop what waits for it.
    pub fn get_where(&self, wanted: impl Fn(&T) -> bool + 'static) -> Get<T> {
        self.get_as(Some(Rc::new(move |items| items.iter().position(&wanted))))
    }

    /// Waits for an item, and takes the least by its key; of equals the oldest.
    ///
    /// # Panics
    /// When `key` changes this store. It may look at it, and drop what waits for it.
    pub fn get_least<K: Ord>(&self, key: impl Fn(&T) -> K + 'static) -> Get<T> {
        self.get_as(Some(Rc::new(move |items: &VecDeque<T>| {
            let keyed = items.iter().enumerate();
            keyed.min_by_key(|(_, item)| key(item)).map(|(at, _)| at)
        })))
    }

    fn get_as(&self, choose: Option<Choose<T>>) -> Get<T> {
        Get {
            store: self.clone(),
            choose,
            waits: None,
        }
    }
}

impl<T> Store<T> {
    /// Serves those who wait, as long as one of them can be.
    fn serve(&self) {
        loop {
            self.let_in();
            let served = self.first_served();
            if self.state.take_leave().is_some() {
                // The places are no longer those that were seen.
                continue;
            }
            let Some((getter, item)) = served else {
                return;
            };
            let mut inside = self.state.change();
            if let Some(getter) = inside.getters.remove(&getter) {
                *getter.hand.borrow_mut() = inside.items.remove(item);
                self.sim.0.wake(getter.process);
            }
        }
    }

    /// Takes the items of those who wait for room, as long as there is some.
    fn let_in(&self) {
        let mut inside = self.state.change();
        while inside.items.len() < self.state.capacity
            && let Some((_, putter)) = inside.putters.pop_first()
        {
            inside.items.extend(putter.hand.borrow_mut().take());
            self.sim.0.wake(putter.process);
        }
    }

    /// The place of the item that is wanted, if it is there. What chooses may look at the store.
    fn wanted(&self, choose: Option<&Choose<T>>) -> Option<usize> {
        loop {
            let at = chosen(&self.state.inside.borrow().items, choose);
            if self.state.take_leave().is_none() {
                return at;
            }
            self.serve();
        }
    }

    /// Has somebody wait no longer. What was handed over is put back, as the oldest.
    fn give_up(&self, number: u64, hand: Hand<T>) {
        self.state.given_up.borrow_mut().push((number, hand));
        if self.state.take_leave() == Some(true) {
            self.serve();
        }
    }

    /// The first of those who wait that gets an item, and which. What chooses may look at it.
    fn first_served(&self) -> Option<(u64, usize)> {
        let inside = self.state.inside.borrow();
        let mut getters = inside.getters.iter();
        getters.find_map(|(number, getter)| {
            let item = chosen(&inside.items, getter.choose.as_ref())?;
            Some((*number, item))
        })
    }
}

impl<T> State<T> {
    /// Takes those out of line who were given up, unless what chooses looks at it, after which it
    /// is done. Whether there were any, and whether they have put an item back.
    fn take_leave(&self) -> Option<bool> {
        let mut inside = self.inside.try_borrow_mut().ok()?;
        let given_up = self.given_up.take();
        let (mut getters, mut putters) = (Vec::new(), Vec::new());
        let mut is_back = false;
        for (number, hand) in &given_up {
            let item = hand.borrow_mut().take();
            if let Some(item) = item {
                inside.items.push_front(item);
                is_back = true;
            }
            getters.extend(inside.getters.remove(number));
            putters.extend(inside.putters.remove(number));
        }
        // What is dropped of them may come back to the store.
        drop(inside);
        (!given_up.is_empty()).then_some(is_back)
    }

    /// What is inside, to be changed.
    fn change(&self) -> RefMut<'_, Inside<T>> {
        self.inside.try_borrow_mut().unwrap_or_else(|_| {
            panic!(
                "what chooses an item of {} changes it: it may only look at it; change it before \
                 or after the `await` of `get_where` or `get_least`",
                self.name
            )
        })
    }
}

fn chosen<T>(items: &VecDeque<T>, choose: Option<&Choose<T>>) -> Option<usize> {
    match choose {
        Some(choose) => choose(items),
        None => (!items.is_empty()).then_some(0),
    }
}

impl<T: 'static> Future for Get<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        if let Some((_, hand)) = &self.waits {
            let item = hand.borrow_mut().take();
            return match item {
                Some(item) => {
                    self.waits = None;
                    Poll::Ready(item)
                }
                None => Poll::Pending,
            };
        }
        let store = self.store.clone();
        let at = store.wanted(self.choose.as_ref());
        let item = at.and_then(|at| store.state.change().items.remove(at));
        if let Some(item) = item {
            store.serve();
            return Poll::Ready(item);
        }
        let (hand, process) = (Hand::default(), store.sim.0.current.get());
        let (number, choose) = (store.sim.0.number(), self.choose.clone());
        let getter = Getter {
            process,
            choose,
            hand: Rc::clone(&hand),
        };
        store.state.change().getters.insert(number, getter);
        self.waits = Some((number, hand));
        store
            .sim
            .0
            .tell(process, || format!("waits for {}", store.state.name));
        Poll::Pending
    }
}

impl<T: 'static> Future for Put<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.hand.borrow().is_none() {
            return Poll::Ready(());
        }
        if self.waits.is_some() {
            return Poll::Pending;
        }
        let store = self.store.clone();
        let process = store.sim.0.current.get();
        let hand = Rc::clone(&self.hand);
        let putter = Putter { process, hand };
        let number = store.sim.0.number();
        store.state.change().putters.insert(number, putter);
        self.waits = Some(number);
        store.serve();
        match self.hand.borrow().is_none() {
            true => Poll::Ready(()),
            false => {
                store.sim.0.tell(process, || {
                    format!("waits for room in {}", store.state.name)
                });
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Get<T> {
    /// An item that was handed over and not looked at is put back, as the oldest.
    fn drop(&mut self) {
        if let Some((number, hand)) = self.waits.take() {
            self.store.give_up(number, hand);
        }
    }
}

impl<T> Drop for Put<T> {
    fn drop(&mut self) {
        let item = self.hand.borrow_mut().take();
        // Only who waits is in line.
        if let Some(number) = self.waits
            && item.is_some()
        {
            self.store.give_up(number, Rc::clone(&self.hand));
        }
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Store {
            sim: self.sim.clone(),
            state: Rc::clone(&self.state),
        }
    }
}

impl<T> Facility for State<T> {
    fn waiting(&self, _: &Core) -> Vec<(Number, String)> {
        let inside = self.inside.borrow();
        let (name, items, capacity) = (&self.name, inside.items.len(), self.capacity);
        let getters = inside.getters.values().map(|getter| getter.process);
        let getters =
            getters.map(|process| (process, format!("an item of {name}, which has {items}")));
        let putters = inside.putters.values().map(|putter| putter.process);
        let room = format!("room in {name}, which has {items} items of {capacity}");
        getters
            .chain(putters.map(|process| (process, room.clone())))
            .collect()
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.state.inside.borrow().items.len();
        write!(f, "Store({}, {items} items)", self.state.name)
    }
}

impl<T> fmt::Debug for Get<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Get({})", self.store.state.name)
    }
}

impl<T> fmt::Debug for Put<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Put({})", self.store.state.name)
    }
}
