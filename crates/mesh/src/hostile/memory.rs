//! Small frames that a peer makes up take no memory that is large.

use crate::caller::MOST_CAUSALITIES;
use crate::flow::{AnySubscription, FlowSource};
use crate::frame::{Data, encode};
use crate::{Class, Key, Node, PeerName, SubscribeConfig};
use motet_dispatch::{QueueConfig, Replay};
use motet_testkit::{Counting, most_memory};
use std::sync::Arc;

#[global_allocator]
static MEMORY: Counting = Counting;

#[test]
fn sem_g217_the_names_of_samples_that_are_not_taken_have_no_memory() {
    let replay = Replay::new(1);
    let node = Node::alone("a", Arc::new(replay.queue(QueueConfig::named("a"))));
    let config = SubscribeConfig {
        window: 4,
        ..SubscribeConfig::default()
    };
    let samples = node.subscribe::<u32>("n", &config).expect("a pattern");
    let (shared, source) = (samples.shared(), FlowSource::There(PeerName::new("b"), 1));
    let key = Key::plain("n").expect("a key");
    let opened = shared.opened(source.clone(), 1, key, Class::Reliable, 1, None);
    assert_eq!(opened, Ok((0, 4)));
    let names = vec!["n"; MOST_CAUSALITIES];
    let names = encode(&names).expect("short names");
    let data = |number: u64, payload: &'static [u8]| Data {
        topic: 1,
        subscription: 1,
        number,
        retained: false,
        payload,
        names: &names,
    };
    Arc::clone(&shared).comes(&source, &[data(1, &[7])]);
    assert_eq!(samples.port().item_count(), 1);
    let lists: [Vec<Data<'_>>; 3] = [
        // They have come before.
        (0..1000).map(|_| data(1, &[7])).collect(),
        // They cannot be read.
        (0..1000).map(|_| data(1, &[])).collect(),
        // They are more than the window.
        (2..1002).map(|number| data(number, &[7])).collect(),
    ];
    for list in lists {
        let ((), taken) = most_memory(|| Arc::clone(&shared).comes(&source, &list));
        // The names of all would take some MB.
        assert!((1_000..1_000_000).contains(&taken), "{taken}");
    }
    assert_eq!(samples.port().item_count(), 1 + 4);
}
