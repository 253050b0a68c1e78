//! What threads see of one port could have happened one call after the other.

use motet_ports::Port;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{spin_loop, thread};
use motet_testkit::{History, Random, Sequential, patience, stress, within};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a port is to one thread.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Queue(VecDeque<usize>);

#[derive(Debug, Clone)]
enum Call {
    Post(usize),
    PutBack(usize),
    Test,
    TestMultiple(usize),
    Count,
    Items,
    Clear,
}

#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Item(Option<usize>),
    Items(Option<Vec<usize>>),
    Count(usize),
}

impl Answer {
    fn done(self) {
        assert_eq!(self, Answer::Done);
    }
}

impl Sequential for Queue {
    type Call = Call;
    type Answer = Answer;

    fn answer(&mut self, call: &Call) -> Answer {
        match *call {
            Call::Post(item) => self.0.push_back(item),
            Call::PutBack(item) => self.0.push_front(item),
            Call::Test => return Answer::Item(self.0.pop_front()),
            Call::TestMultiple(count) => {
                let enough = self.0.len() >= count;
                return Answer::Items(enough.then(|| self.0.drain(..count).collect()));
            }
            Call::Count => return Answer::Count(self.0.len()),
            Call::Items => return Answer::Items(Some(self.0.iter().copied().collect())),
            Call::Clear => return Answer::Count(std::mem::take(&mut self.0).len()),
        }
        Answer::Done
    }
}

/// The same asked of the port.
fn ask(port: &Port<usize>, call: &Call) -> Answer {
    match *call {
        Call::Post(item) => port.post(item).expect("a port without limit"),
        Call::PutBack(item) => port.put_back(item).expect("a port without limit"),
        Call::Test => return Answer::Item(port.test()),
        Call::TestMultiple(count) => return Answer::Items(port.test_multiple(count)),
        Call::Count => return Answer::Count(port.item_count()),
        Call::Items => return Answer::Items(Some(port.items())),
        Call::Clear => return Answer::Count(port.clear()),
    }
    Answer::Done
}

fn some_call(random: &mut Random, item: usize) -> Call {
    match random.below(12) {
        0..=3 => Call::Post(item),
        4 => Call::PutBack(item),
        5..=7 => Call::Test,
        8 => Call::TestMultiple(1 + random.below(3)),
        9 => Call::Count,
        10 => Call::Items,
        _ => Call::Clear,
    }
}

const THREADS: usize = 3;
const CALLS: usize = 8;

#[test]
fn lin_stress_sem_g01_a_port() {
    check(|_| 0);
}

/// Around the number from which on items lie on a pile.
#[test]
fn lin_stress_sem_g26_a_port_in_which_many_wait() {
    check(|seed| 60 + seed as usize % 10);
}

/// Random calls of a port in which so many items wait.
fn check(before: fn(u64) -> usize) {
    within(patience(), move || {
        stress(60, |seed| {
            let (port, history) = (Port::new(), Arc::new(History::<Queue>::new()));
            let waiting = (0..before(seed)).map(|n| THREADS * CALLS + n);
            let begin = Queue(waiting.collect());
            begin
                .0
                .iter()
                .for_each(|&item| ask(&port, &Call::Post(item)).done());
            let together = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..THREADS)
                .map(|name| {
                    let (port, history) = (port.clone(), Arc::clone(&history));
                    let together = Arc::clone(&together);
                    thread::spawn(move || {
                        let mut random = Random::new(seed * THREADS as u64 + name as u64);
                        together.fetch_add(1, Ordering::SeqCst);
                        while together.load(Ordering::SeqCst) < THREADS {
                            spin_loop();
                        }
                        for n in 0..CALLS {
                            let call = some_call(&mut random, name * CALLS + n);
                            history.call(call, |call| ask(&port, call));
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("asking does not panic");
            }
            if let Err(history) = history.check(&begin) {
                panic!("seed {seed}: {history}");
            }
        });
    });
}
