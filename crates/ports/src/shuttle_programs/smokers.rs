//! Cigarette smokers: three smokers each have one ingredient and need the two others, which an
//! agent puts on the table pair by pair. Each pair of ports is a join of one smoker; a smoker who
//! took one of two ingredients for himself would stop the program.

use super::check;
use crate::{JoinedReceive, Port};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const ROUNDS: usize = 4;

#[test]
fn shuttle_sem_g07_cigarette_smokers() {
    check(|queue| {
        // Tobacco, paper, matches; smoker i has ingredient i.
        let table: [Port<usize>; 3] = std::array::from_fn(|_| Port::new());
        let smoked: Arc<[AtomicUsize; 3]> = Arc::default();
        let done: Port<usize> = Port::new();
        let smokers: Vec<_> = (0..3)
            .map(|smoker| {
                let (smoked, done) = (Arc::clone(&smoked), done.clone());
                let (one, other) = (&table[(smoker + 1) % 3], &table[(smoker + 2) % 3]);
                JoinedReceive::persistent((one, other), move |(first, second)| {
                    assert_eq!(first, second, "both of one round");
                    smoked[smoker].fetch_add(1, Ordering::SeqCst);
                    done.post(smoker).expect("a port without limit");
                })
                .activate(queue)
                .expect("the queue runs")
            })
            .collect();
        for round in 0..ROUNDS {
            let chosen = round % 3;
            for ingredient in [(chosen + 2) % 3, (chosen + 1) % 3] {
                table[ingredient].post(round).expect("a port without limit");
            }
            let smoker = loop {
                if let Some(smoker) = done.test() {
                    break smoker;
                }
                motet_sync::thread::yield_now();
            };
            assert_eq!(smoker, chosen, "nobody else has the third ingredient");
        }
        smokers.iter().for_each(|smoker| smoker.cleanup());
        let smoked: usize = smoked.iter().map(|n| n.load(Ordering::SeqCst)).sum();
        assert_eq!(smoked, ROUNDS);
    });
}
