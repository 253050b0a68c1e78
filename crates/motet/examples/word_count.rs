//! A dataflow: lines are cut into words by many handlers, counted, and joined at the end.
//!
//! ```text
//!             ┌─► split ─┐
//!  (lines) ───┼─► split ─┼──► (counts) ── MultipleItemReceive: all of them ──► (total)
//!             └─► split ─┘
//! ```

use motet::{Dispatcher, MultipleItemReceive, Port, QueueConfig, Receive};
use std::collections::BTreeMap;

type Counts = BTreeMap<String, usize>;

const TEXT: &str = "kyrie eleison
christe eleison
kyrie eleison
gloria in excelsis deo
et in terra pax hominibus";

fn main() {
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("words"));
    let (lines, counts, total) = (Port::new(), Port::new(), Port::new());

    let out = counts.clone();
    Receive::persistent(&lines, move |line: &str| {
        let mut words = Counts::new();
        for word in line.split_whitespace() {
            *words.entry(word.to_owned()).or_default() += 1;
        }
        out.post(words).expect("the queue is open");
    })
    .activate(&queue)
    .expect("the queue is open");

    let out = total.clone();
    MultipleItemReceive::once(&counts, TEXT.lines().count(), move |parts: Vec<Counts>| {
        let mut sum = Counts::new();
        for (word, count) in parts.into_iter().flatten() {
            *sum.entry(word).or_default() += count;
        }
        out.post(sum).expect("nobody refuses");
    })
    .activate(&queue)
    .expect("the queue is open");

    for line in TEXT.lines() {
        lines.post(line).expect("the queue is open");
    }
    dispatcher.wait_idle();
    let total = total.test().expect("all parts have come");
    println!("{total:?}");
    assert_eq!(
        (total["eleison"], total["kyrie"], total["in"], total.len()),
        (3, 2, 2, 11)
    );
}
