//! The papers' exchange thread: computations on a ring that post to both neighbours and wait for
//! both, stage after stage.
//!
//! ```text
//!  ──► (from left) ─┐                     ┌─► (from left) of the right neighbour
//!                   ├─ join: both ─► [i] ─┤
//!  ─► (from right) ─┘                     └─► (from right) of the left neighbour
//!
//!  after the last stage: [i] ──► (end), and the first computation waits for one item of each
//! ```
//!
//! A port for each side, joined, so that a neighbour who is a stage ahead is not taken for the
//! other one. The papers had one port and counted two items. The waits hold no thread, so there may
//! be more computations than cores.

use motet::dispatch::spawn;
use motet::ports::select;
use motet::{Dispatcher, Enqueue, Port, QueueConfig, join};

const STAGES: u32 = 50;

/// What a computation has of its place on the ring.
struct RingMember {
    number: usize,
    from_left: Port<u64>,
    from_right: Port<u64>,
    /// The neighbours' ports.
    left: Port<u64>,
    right: Port<u64>,
    end: Port<(usize, u64)>,
}

fn main() {
    for computations in [2, 3, 8] {
        let ways = exchange(computations);
        println!("{computations} computations, {STAGES} stages: {ways:?}");
        assert_eq!(ways, alone(computations));
        // Each stage a walker has two ways to go.
        assert_eq!(ways.iter().sum::<u64>(), 1 << STAGES);
    }
}

/// How many ways of all stages lead from the first place to each: every value becomes the sum of
/// its neighbours'.
fn exchange(computations: usize) -> Vec<u64> {
    // As many threads as cores, however many computations there are.
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("exchange"));
    let ports = || -> Vec<Port<u64>> { (0..computations).map(|_| Port::new()).collect() };
    let (from_left, from_right) = (ports(), ports());
    let (end, all) = (Port::new(), Port::new());
    for number in 0..computations {
        let (before, behind) = (
            (number + computations - 1) % computations,
            (number + 1) % computations,
        );
        let place = RingMember {
            number,
            from_left: from_left[number].clone(),
            from_right: from_right[number].clone(),
            left: from_right[before].clone(),
            right: from_left[behind].clone(),
            end: end.clone(),
        };
        let all = all.clone();
        spawn(&queue.handle(), async move {
            run(&place).await;
            if place.number == 0 {
                let ends = select().recv_multiple(&place.end, computations, |ends| ends);
                all.post(ends.await).expect("nobody refuses");
            }
        })
        .expect("the queue is open");
    }
    let mut ways = all.recv_blocking().expect("this is no handler");
    // They end in any order.
    ways.sort_unstable();
    ways.into_iter().map(|(_, ways)| ways).collect()
}

/// All stages of one computation.
async fn run(place: &RingMember) {
    let mut value = u64::from(place.number == 0);
    for _ in 0..STAGES {
        place.left.post(value).expect("nobody refuses");
        place.right.post(value).expect("nobody refuses");
        let (before, behind) = join((&place.from_left, &place.from_right)).await;
        value = before + behind;
    }
    place
        .end
        .post((place.number, value))
        .expect("nobody refuses");
}

/// The same without messages.
fn alone(computations: usize) -> Vec<u64> {
    let mut values = vec![0; computations];
    values[0] = 1;
    for _ in 0..STAGES {
        let at = |place: usize| values[place % computations];
        values = (0..computations)
            .map(|i| at(i + computations - 1) + at(i + 1))
            .collect();
    }
    values
}
