//! The slow, obvious twin of a group of ports with arbiters: one list of items and one of receivers
//! for each port, everything done in sequence.
//!
//! An arbiter is asked with the offered item put into its port: what it wants is then there or not.

use std::collections::VecDeque;

/// Items are numbers, each posted once; ports are told by their place.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// An item that the number divides.
    Multiple(Part),
    /// All of these, of different ports.
    All(Vec<Part>),
    /// So many from these ports, any mix.
    Total(usize, Vec<usize>),
    /// One of this port, for a future that takes it when it is polled.
    Await(usize),
}

/// Some items of a port that the number divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) port: usize,
    pub(crate) count: usize,
    pub(crate) divisor: u32,
}

struct Wanting {
    want: Want,
    once: bool,
    open: bool,
    /// The item that an awaited receive has been given and has not taken.
    given: Option<u32>,
}

impl Want {
    /// Its ports, in order.
    pub(crate) fn ports(&self) -> Vec<usize> {
        match self {
            Want::Multiple(part) => vec![part.port],
            Want::All(parts) => parts.iter().map(|part| part.port).collect(),
            Want::Total(_, ports) => ports.clone(),
            Want::Await(port) => vec![*port],
        }
    }
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
        self.ports[port].items.push_back(item);
        self.offer(port, item);
    }

    pub(crate) fn put_back(&mut self, port: usize, item: u32) {
        self.ports[port].items.push_front(item);
        self.offer(port, item);
    }

    pub(crate) fn test(&mut self, port: usize) -> Option<u32> {
        self.ports[port].items.pop_front()
    }

    pub(crate) fn test_multiple(&mut self, port: usize, count: usize) -> Option<Vec<u32>> {
        let items = &mut self.ports[port].items;
        (items.len() >= count).then(|| items.drain(..count).collect())
    }

    /// Adds a receiver; returns its number.
    pub(crate) fn receive(&mut self, want: Want, once: bool) -> usize {
        let number = self.receivers.len();
        let ports = want.ports();
        self.receivers.push(Wanting {
            want,
            once,
            open: true,
            given: None,
        });
        while self.fire(number) {}
        for port in ports {
            self.ports[port].asked.push(number);
        }
        number
    }

    /// Closes a receiver. An awaited receive that has been given an item gives it back.
    pub(crate) fn cleanup(&mut self, number: usize) {
        let receiver = &mut self.receivers[number];
        receiver.open = false;
        let (given, ports) = (receiver.given.take(), receiver.want.ports());
        if let Some(item) = given {
            self.put_back(ports[0], item);
        }
    }

    /// Polls an awaited receive that waits.
    pub(crate) fn poll(&mut self, number: usize) -> Option<u32> {
        self.receivers[number].given.take()
    }

    /// The receivers that could take something that waits, and have not.
    pub(crate) fn asleep(&self) -> Vec<usize> {
        let numbers = 0..self.receivers.len();
        numbers
            .filter(|number| self.receivers[*number].open && self.select(*number).is_some())
            .collect()
    }

    /// Asks the receivers of the port one after the other, until the item is gone.
    fn offer(&mut self, port: usize, item: u32) {
        for number in self.ports[port].asked.clone() {
            if !self.ports[port].items.contains(&item) {
                return;
            }
            self.fire(number);
        }
    }

    /// Whether the receiver takes something.
    fn fire(&mut self, number: usize) -> bool {
        let Some(taken) = self.select(number).filter(|_| self.receivers[number].open) else {
            return false;
        };
        for (port, item) in &taken {
            self.ports[*port].items.retain(|other| other != item);
        }
        let items: Vec<u32> = taken.into_iter().map(|(_, item)| item).collect();
        let receiver = &mut self.receivers[number];
        receiver.open = !receiver.once;
        if let Want::Await(_) = receiver.want {
            receiver.given = Some(items[0]);
        } else {
            self.handled.push((number, items));
        }
        true
    }

    /// What the receiver would take now, with the ports, if all is there.
    fn select(&self, number: usize) -> Option<Vec<(usize, u32)>> {
        match &self.receivers[number].want {
            Want::Multiple(part) => self.part(*part),
            Want::All(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|part| self.part(*part)).collect();
                Some(parts?.concat())
            }
            Want::Total(total, ports) => {
                let there = ports
                    .iter()
                    .flat_map(|port| self.ports[*port].items.iter().map(|item| (*port, *item)));
                let taken: Vec<_> = there.take(*total).collect();
                (taken.len() == *total).then_some(taken)
            }
            Want::Await(port) => {
                let item = self.ports[*port].items.front()?;
                Some(vec![(*port, *item)])
            }
        }
    }

    fn part(&self, part: Part) -> Option<Vec<(usize, u32)>> {
        let items = self.ports[part.port].items.iter();
        let wanted = items.filter(|item| item.is_multiple_of(part.divisor));
        let taken: Vec<_> = wanted
            .take(part.count)
            .map(|item| (part.port, *item))
            .collect();
        (taken.len() == part.count).then_some(taken)
    }
}
