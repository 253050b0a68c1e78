//! A tree search as the papers draw it: each node is a message that starts a handler, which posts
//! the children.
//!
//! ```text
//!   port ─► handler: count, post children ─► port ─► handler …       workers steal handlers from each other
//! ```
//!
//! It shows what dynamic threads do; a search that is to be fast visits many nodes in a handler
//! (`tree_search`).

use motet::search::Tree;
use motet::{Dispatcher, Port, QueueConfig, Receive};
use motet_problems::Uts;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

fn main() {
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("nodes"));
    let (nodes, visited) = (Port::new(), Arc::new(AtomicU64::new(0)));
    let (children, count) = (nodes.clone(), Arc::clone(&visited));
    let visit = move |node| {
        // Relaxed: it is read when all handlers have ended.
        count.fetch_add(1, Ordering::Relaxed);
        let mut below = Vec::new();
        Uts::SMALL.children(&node, &mut below);
        for child in below {
            children.post(child).expect("the port is open");
        }
    };
    Receive::persistent(&nodes, visit)
        .activate(&queue)
        .expect("the queue is open");
    nodes.post(Uts::SMALL.root()).expect("the port is open");
    dispatcher.wait_idle();
    let visited = visited.load(Ordering::Relaxed);
    assert_eq!(visited, 1_732);
    println!("handler_per_node: {visited} nodes, a handler each");
}
