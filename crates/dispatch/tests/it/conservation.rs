//! Whatever is done with queues in whatever order: every task ends once.

use crate::support::{Bell, go, until};
use motet_dispatch::{
    Dispatcher, DispatcherQueue, Enqueue, ExecutionPolicy, QueueConfig, Rate, Task, TaskBody,
    TaskBox, spawn,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Arc, thread};
use motet_testkit::{Drops, patience, stress, within};
use proptest::prelude::*;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// One thing that a thread does with one of the queues.
#[derive(Debug, Clone)]
enum Act {
    /// Queues a task that queues `children` more.
    Post {
        queue: usize,
        children: usize,
    },
    /// The same for one worker alone.
    PostHome {
        queue: usize,
        worker: usize,
    },
    /// Starts an async task that waits for room for a task.
    PostWait {
        queue: usize,
    },
    /// Starts an async task that waits for the bell.
    Spawn {
        queue: usize,
        at_home: bool,
    },
    Panic {
        queue: usize,
    },
    Suspend {
        queue: usize,
    },
    Resume {
        queue: usize,
    },
    /// Wakes the async tasks, for nothing.
    Wake,
    /// The async tasks may end.
    Ring,
    /// Nobody can wake the async tasks any more.
    Abandon,
}

fn act() -> impl Strategy<Value = Act> {
    let queue = 0..2_usize;
    prop_oneof![
        6 => (queue.clone(), 0..4_usize)
            .prop_map(|(queue, children)| Act::Post { queue, children }),
        4 => (queue.clone(), 0..3_usize)
            .prop_map(|(queue, worker)| Act::PostHome { queue, worker }),
        3 => queue.clone().prop_map(|queue| Act::PostWait { queue }),
        3 => (queue.clone(), any::<bool>())
            .prop_map(|(queue, at_home)| Act::Spawn { queue, at_home }),
        1 => queue.clone().prop_map(|queue| Act::Panic { queue }),
        1 => queue.clone().prop_map(|queue| Act::Suspend { queue }),
        2 => queue.prop_map(|queue| Act::Resume { queue }),
        1 => Just(Act::Wake),
        1 => Just(Act::Ring),
        1 => Just(Act::Abandon),
    ]
}

/// How the dispatcher ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Stop,
    Drain,
    Drop,
    /// Stops while the threads still act.
    StopAtOnce,
}

/// How tasks ended.
#[derive(Default)]
struct Ends {
    ran: AtomicUsize,
    cleaned: AtomicUsize,
    refused: AtomicUsize,
}

/// A task that queues others and counts how it ends.
struct Parent {
    stage: Arc<Stage>,
    queue: usize,
    children: usize,
    _value: motet_testkit::Dropped,
}

impl TaskBody for Parent {
    fn run(task: TaskBox<Self>) {
        let Parent {
            stage,
            queue,
            children,
            ..
        } = task.into_inner();
        stage.ends.ran.fetch_add(1, Ordering::Relaxed);
        (0..children).for_each(|_| stage.post(queue, 0));
    }

    fn cleanup(task: TaskBox<Self>) {
        task.stage.ends.cleaned.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the threads act on.
struct Stage {
    queues: Vec<DispatcherQueue>,
    workers: usize,
    bell: Bell,
    drops: Drops,
    ends: Ends,
}

impl Stage {
    fn parent(self: &Arc<Self>, queue: usize, children: usize) -> Task {
        TaskBox::new(Parent {
            stage: Arc::clone(self),
            queue,
            children,
            _value: self.drops.make(),
        })
        .into_task()
    }

    fn post(self: &Arc<Self>, queue: usize, children: usize) {
        let task = self.parent(queue, children);
        self.count(self.queues[queue].enqueue(task).is_ok());
    }

    fn count(&self, taken: bool) {
        if !taken {
            self.ends.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn spawn(&self, queue: usize, at_home: bool) {
        let place = if at_home {
            self.queues[queue].home(0).handle()
        } else {
            self.queues[queue].handle()
        };
        let (rung, value) = (self.bell.rung(), self.drops.make());
        // Refused or not, the value is dropped once.
        let _ = spawn(&place, async move {
            rung.await;
            drop(value);
        });
    }

    /// Whether every task has ended and gone.
    fn has_ended(self: &Arc<Self>) -> bool {
        let nothing_waits = |queue: &DispatcherQueue| queue.counters().pending() == 0;
        self.queues.iter().all(nothing_waits)
            && self.drops.made() == self.drops.dropped()
            && Arc::strong_count(self) == 1
    }

    fn act(self: &Arc<Self>, act: &Act) {
        match *act {
            Act::Post { queue, children } => self.post(queue, children),
            Act::PostHome { queue, worker } => {
                let task = self.parent(queue, 0);
                let home = self.queues[queue].home(worker % self.workers);
                self.count(home.enqueue(task).is_ok());
            }
            Act::PostWait { queue } => {
                let waits = self.queues[queue].enqueue_wait(self.parent(queue, 1));
                let _ = spawn(&self.queues[1 - queue].handle(), async move {
                    drop(waits.await);
                });
            }
            Act::Spawn { queue, at_home } => self.spawn(queue, at_home),
            Act::Panic { queue } => {
                let value = self.drops.make();
                let _ = self.queues[queue].enqueue(Task::new(move || {
                    let _value = value;
                    panic!("a task of the test");
                }));
            }
            Act::Suspend { queue } => self.queues[queue].suspend(),
            Act::Resume { queue } => self.queues[queue].resume(),
            Act::Wake => self.bell.wake_in_vain(),
            Act::Ring => self.bell.ring(),
            Act::Abandon => self.bell.abandon(),
        }
    }
}

/// Plays the acts, each list on a thread of its own, ends the dispatcher, and counts.
fn play(workers: usize, policy: ExecutionPolicy, acts: Vec<Vec<Act>>, end: End) {
    let dispatcher = Dispatcher::new(workers);
    dispatcher.on_exception(drop);
    let config = |name| QueueConfig {
        policy,
        ..QueueConfig::named(name)
    };
    let stage = Arc::new(Stage {
        queues: ["first", "second"]
            .map(|name| dispatcher.queue(config(name)))
            .to_vec(),
        workers,
        bell: Bell::default(),
        drops: Drops::new(),
        ends: Ends::default(),
    });
    let threads: Vec<_> = acts
        .into_iter()
        .map(|acts| {
            let stage = Arc::clone(&stage);
            thread::spawn(move || acts.iter().for_each(|act| stage.act(act)))
        })
        .collect();
    let join = || {
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap())
    };
    let rest = match end {
        End::StopAtOnce => {
            let rest = dispatcher.stop();
            join();
            rest
        }
        End::Stop | End::Drain | End::Drop => {
            join();
            match end {
                End::Drain => dispatcher.drain(),
                End::Drop => {
                    drop(dispatcher);
                    Vec::new()
                }
                End::Stop | End::StopAtOnce => dispatcher.stop(),
            }
        }
    };
    rest.into_iter().for_each(Task::cleanup);
    // What still waits for the bell ends now; the queues refuse it, and it is dropped.
    stage.bell.ring();
    // The timers' thread may still hold a task to which it has just granted room.
    let begun = Instant::now();
    until(|| stage.has_ended() || begun.elapsed() > Duration::from_secs(20));
    let counted: Vec<_> = stage.queues.iter().map(DispatcherQueue::counters).collect();
    for counters in &counted {
        assert_eq!(counters.pending(), 0, "{counters:?}");
    }
    assert_eq!(
        stage.drops.made(),
        stage.drops.dropped(),
        "every value is dropped once"
    );
    let ends = &stage.ends;
    let refused: u64 = counted.iter().map(|counters| counters.refused).sum();
    assert!(refused >= ends.refused.load(Ordering::Relaxed) as u64);
    assert_eq!(Arc::strong_count(&stage), 1, "no task is left");
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Stop),
        Just(End::Drain),
        Just(End::Drop),
        Just(End::StopAtOnce)
    ]
}

fn policy() -> impl Strategy<Value = ExecutionPolicy> {
    let depth = || (1..20_usize).prop_map(|depth| NonZeroUsize::new(depth).unwrap());
    let rate = || (100.0..100_000.0).prop_map(|rate| Rate::per_second(rate).unwrap());
    prop_oneof![
        3 => Just(ExecutionPolicy::Unconstrained),
        1 => (0..20_usize).prop_map(|depth| ExecutionPolicy::RejectTasks { depth }),
        1 => depth()
            .prop_map(|depth| ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth }),
        2 => depth().prop_map(|depth| ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth }),
        1 => rate().prop_map(|rate| ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate }),
        1 => rate()
            .prop_map(|rate| ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn prop_every_task_ends_once(
        workers in 1..4_usize,
        policy in policy(),
        acts in prop::collection::vec(prop::collection::vec(act(), 0..40), 1..4),
        end in end(),
    ) {
        within(patience(), move || play(workers, policy, acts, end));
    }
}

/// The same at length, for the sanitizers and for luck: everything at once on few threads.
#[test]
fn stress_of_everything_at_once() {
    within(patience(), || {
        stress(20, |round| {
            let round = round as usize;
            let acts = (0..3_usize)
                .map(|thread| (0..300).map(|n| nth_act(round + 7 * thread + n)).collect())
                .collect();
            let end = [End::Stop, End::Drain, End::Drop, End::StopAtOnce][round % 4];
            play(1 + round % 3, ExecutionPolicy::Unconstrained, acts, end);
        });
    });
}

/// Some mixture that needs no generator.
fn nth_act(n: usize) -> Act {
    let queue = n / 3 % 2;
    match n * 7 % 23 {
        0..=8 => Act::Post {
            queue,
            children: n % 4,
        },
        9..=13 => Act::PostHome { queue, worker: n },
        14..=17 => Act::Spawn {
            queue,
            at_home: n.is_multiple_of(2),
        },
        18 => Act::Suspend { queue },
        19 | 20 => Act::Resume { queue },
        21 => Act::Wake,
        _ if n.is_multiple_of(2) => Act::Ring,
        _ => Act::Abandon,
    }
}

/// Tasks that cross from dispatcher to dispatcher, each with its own queues and workers.
#[test]
fn stress_of_tasks_that_cross_dispatchers() {
    fn hop(queues: &Arc<Vec<DispatcherQueue>>, at: usize, left: usize, ended: Arc<AtomicUsize>) {
        if left == 0 {
            ended.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let next = (at * 5 + left) % queues.len();
        let (all, worker) = (Arc::clone(queues), left % queues[next].workers());
        let work = move || hop(&all, next, left - 1, ended);
        if left.is_multiple_of(3) {
            go(&queues[next].home(worker), work);
        } else {
            go(&queues[next], work);
        }
    }
    within(patience(), || {
        let dispatchers = [1, 2, 3].map(Dispatcher::new);
        let two_each = |d: &Dispatcher| [0, 1].map(|_| d.queue(QueueConfig::default()));
        let queues = Arc::new(dispatchers.iter().flat_map(two_each).collect::<Vec<_>>());
        let ended = Arc::new(AtomicUsize::new(0));
        for start in 0..50 {
            hop(&queues, start, 200, Arc::clone(&ended));
        }
        until(|| ended.load(Ordering::Relaxed) == 50);
        dispatchers.iter().for_each(Dispatcher::wait_idle);
        assert!(queues.iter().all(|queue| queue.counters().pending() == 0));
    });
}
