//! Handlers, services, nodes of a tree, and requests with a port for their answer.

use super::trip::{Message, TripClient, Trips, both_sides, shared, timed};
use crate::said::Said;
use crate::suite::experiments::services::calls::{CallKind, timings_on_motet};
use motet_ports::{Port, Receive, Reply, ReplyPort, reply};
use std::collections::VecDeque;

/// Posts to a port, and awaits so many items of another for each message.
struct PortClient {
    there: Port<Message>,
    back: Port<Message>,
    answers: usize,
}

impl TripClient for PortClient {
    async fn send(&mut self, message: Message) -> Result<(), String> {
        self.there.post(message).said()
    }

    async fn answer(&mut self) -> Result<(), String> {
        for _ in 0..self.answers {
            self.back.recv().await;
        }
        Ok(())
    }
}

/// A handler answers.
pub(super) fn handlers(trips: Trips) -> Result<f64, String> {
    let (_dispatcher, queue) = both_sides();
    let (there, back) = (Port::<Message>::new(), Port::<Message>::new());
    let answers = back.clone();
    let answer = move |message| answers.post(message).expect("the port takes all");
    Receive::persistent(&there, answer)
        .activate(&queue)
        .said()?;
    let client = PortClient {
        there,
        back,
        answers: 1,
    };
    timed(&shared(&queue), trips, client)
}

/// What marks a leaf.
const LEAF: u64 = u64::MAX;
/// Children of a root.
const LEAVES: usize = 2;

/// The handler of a root posts its children to where it came from; the handler of each answers.
pub(super) fn search(trips: Trips) -> Result<f64, String> {
    let (_dispatcher, queue) = both_sides();
    let (nodes, back) = (Port::<Message>::new(), Port::<Message>::new());
    let (children, answers) = (nodes.clone(), back.clone());
    let visit = move |mut node: Message| {
        // The last word marks a leaf: a root has the number of its message there.
        if node[7] == LEAF {
            answers.post(node).expect("the port takes all");
            return;
        }
        node[7] = LEAF;
        for _ in 0..LEAVES {
            children.post(node).expect("the port takes all");
        }
    };
    Receive::persistent(&nodes, visit).activate(&queue).said()?;
    let client = PortClient {
        there: nodes,
        back,
        answers: LEAVES,
    };
    timed(&shared(&queue), trips, client)
}

/// A call of a service from a worker that is none of the service's.
pub(super) fn service(trips: Trips) -> Result<f64, String> {
    let messages = [trips.group, trips.groups, trips.first()];
    let times = timings_on_motet(CallKind::Posted, 1, messages)?;
    Ok(times[0])
}

/// Sends each message with a port for its answer.
struct RequestClient {
    there: Port<(Message, ReplyPort<Message>)>,
    awaited: VecDeque<Reply<Message>>,
}

impl TripClient for RequestClient {
    async fn send(&mut self, message: Message) -> Result<(), String> {
        let (to, answer) = reply();
        self.awaited.push_back(answer);
        self.there.post((message, to)).said()
    }

    async fn answer(&mut self) -> Result<(), String> {
        let next = self.awaited.pop_front();
        let answer = next.ok_or("nothing was asked")?;
        answer.await.map(drop).said()
    }
}

/// A handler for each request answers at the port that it brings.
pub(super) fn requests(trips: Trips) -> Result<f64, String> {
    let (_dispatcher, queue) = both_sides();
    let there = Port::<(Message, ReplyPort<Message>)>::new();
    let answer = |(message, to): (Message, ReplyPort<Message>)| drop(to.post(message));
    Receive::persistent(&there, answer)
        .activate(&queue)
        .said()?;
    let client = RequestClient {
        there,
        awaited: VecDeque::new(),
    };
    timed(&shared(&queue), trips, client)
}
