//! The slow, obvious twin of a group of ports with arbiters: one list of items and one of receivers
//! for each port, everything done in sequence.

use std::collections::VecDeque;

/// Items are numbers; ports are told by their place.
#[derive(Default)]
pub(crate) struct Model {
    ports: Vec<ModelPort>,
    receivers: Vec<Wanting>,
    /// What handlers and awaited receives got: the receiver and its items.
    pub(crate) handled: Vec<(usize, Vec<u32>)>,
}

#[derive(Default, Clone)]
struct ModelPort {
    items: VecDeque<u32>,
    /// In the order in which they are asked; each an index into `receivers`.
    asked: Vec<usize>,
}

/// What a receiver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Items that the number divides.
    Multiples(u32),
    /// So many at a time.
    Batch(usize),
    /// One of its own port and one of this other.
    Join(usize),
    /// One, for a future that takes it when it is polled.
    Await,
}

#[derive(Clone, Copy)]
struct Wanting {
    port: usize,
    want: Want,
    once: bool,
    open: bool,
    /// The item that an awaited receive has been given and has not taken.
    given: Option<u32>,
}

impl Model {
    pub(crate) fn new(ports: usize) -> Self {
        Model {
            ports: vec![ModelPort::default(); ports],
            ..Model::default()
        }
    }

    pub(crate) fn items(&self, port: usize) -> Vec<u32> {
        self.ports[port].items.iter().copied().collect()
    }

    pub(crate) fn post(&mut self, port: usize, item: u32) {
        if !self.offer(port, item, false) {
            self.ports[port].items.push_back(item);
        }
    }

    pub(crate) fn put_back(&mut self, port: usize, item: u32) {
        if !self.offer(port, item, true) {
            self.ports[port].items.push_front(item);
        }
    }

    pub(crate) fn test(&mut self, port: usize) -> Option<u32> {
        self.ports[port].items.pop_front()
    }

    pub(crate) fn test_multiple(&mut self, port: usize, count: usize) -> Option<Vec<u32>> {
        let items = &mut self.ports[port].items;
        (items.len() >= count).then(|| items.drain(..count).collect())
    }

    /// Adds a receiver; returns its number.
    pub(crate) fn receive(&mut self, port: usize, want: Want, once: bool) -> usize {
        let number = self.receivers.len();
        self.receivers.push(Wanting {
            port,
            want,
            once,
            open: true,
            given: None,
        });
        self.register(port, number);
        if let Want::Join(other) = want
            && self.receivers[number].open
        {
            self.register(other, number);
        }
        number
    }

    /// Closes a receiver. An awaited receive that has been given an item gives it back.
    pub(crate) fn cleanup(&mut self, number: usize) {
        let receiver = &mut self.receivers[number];
        receiver.open = false;
        if let Some(item) = receiver.given.take() {
            let port = receiver.port;
            self.put_back(port, item);
        }
    }

    /// Polls an awaited receive that waits.
    pub(crate) fn poll(&mut self, number: usize) -> Option<u32> {
        self.receivers[number].given.take()
    }

    /// Offers what waits to a new receiver, oldest first.
    fn register(&mut self, port: usize, number: usize) {
        let waiting = std::mem::take(&mut self.ports[port].items);
        for item in waiting {
            if !self.ask(number, port, item, false) {
                self.ports[port].items.push_back(item);
            }
        }
        self.ports[port].asked.push(number);
    }

    fn offer(&mut self, port: usize, item: u32, in_front: bool) -> bool {
        let asked = self.ports[port].asked.clone();
        asked
            .into_iter()
            .any(|number| self.ask(number, port, item, in_front))
    }

    /// Whether the receiver takes the item.
    fn ask(&mut self, number: usize, port: usize, item: u32, in_front: bool) -> bool {
        let Wanting {
            port: own,
            want,
            once,
            open,
            ..
        } = self.receivers[number];
        if !open {
            return false;
        }
        let got = match want {
            Want::Multiples(divisor) => item.is_multiple_of(divisor).then(|| vec![item]),
            Want::Await => Some(vec![item]),
            Want::Batch(count) => self.ports[own].batch(count, item, in_front),
            Want::Join(other) => {
                let partner = if port == own { other } else { own };
                let theirs = self.ports[partner].items.pop_front();
                theirs.map(|theirs| {
                    if port == own {
                        vec![item, theirs]
                    } else {
                        vec![theirs, item]
                    }
                })
            }
        };
        let Some(got) = got else { return false };
        self.receivers[number].open = !once;
        if want == Want::Await {
            self.receivers[number].given = Some(item);
        } else {
            self.handled.push((number, got));
        }
        true
    }
}

impl ModelPort {
    /// `count` items with `item`, when there are enough.
    fn batch(&mut self, count: usize, item: u32, in_front: bool) -> Option<Vec<u32>> {
        if self.items.len() + 1 < count {
            return None;
        }
        let mut batch: Vec<u32> = self.items.drain(..count - 1).collect();
        batch.insert(if in_front { 0 } else { count - 1 }, item);
        Some(batch)
    }
}
