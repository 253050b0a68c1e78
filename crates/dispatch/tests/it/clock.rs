//! Timers of the real clock, and what holds for both clocks.

use crate::support::{Traces, go, hold, until, with_queue};
use motet_dispatch::{
    Clock, Dispatcher, Enqueue, Inline, QueueConfig, Replay, Task, Timescale, spawn, timer,
};
use motet_sync::{Arc, Mutex, thread};
use motet_testkit::{Drops, Log, patience, within};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn sem_g51_a_timer_fires_once_and_never_early() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        let begun = Instant::now();
        for span in [3 * MS, MS, Duration::ZERO, 2 * MS] {
            let log = log.clone();
            let note = move || log.push((span, begun.elapsed()));
            timer::after(&queue, span, Task::new(note));
        }
        log.wait_for(4);
        dispatcher.wait_idle();
        let fired = log.take();
        assert_eq!(fired.len(), 4);
        assert!(fired.iter().all(|(span, at)| at >= span), "{fired:?}");
    });
}

#[test]
fn sem_g51_timers_fire_in_the_order_of_their_times_then_as_they_were_set() {
    let spans = [5, 1, 3, 1, 5, 0].map(|ms| ms * MS);
    let wanted = [5, 1, 3, 2, 0, 4];
    let replay = Replay::new(1);
    let log = Log::new();
    let now = replay.clock().now();
    for (number, span) in spans.into_iter().enumerate() {
        let log = log.clone();
        replay.clock().at(now + span, move |_| log.push(number));
    }
    replay.run();
    assert_eq!(log.take(), wanted);
    within(patience(), move || {
        let log = Log::new();
        loop {
            let first = Instant::now() + 20 * MS;
            for (number, span) in spans.into_iter().enumerate() {
                let log = log.clone();
                Clock::real().at(first + span, move |_| log.push(number));
            }
            let in_time = Instant::now() < first;
            log.wait_for(6);
            let order = log.take();
            if in_time {
                return assert_eq!(order, wanted);
            }
            // The machine was too busy: some were set when others had fired.
        }
    });
}

#[test]
fn sem_g51_an_earlier_timer_does_not_wait_for_a_later_one() {
    within(patience(), || {
        let late = Clock::real().after(HOUR, |_| ());
        let log = Log::new();
        let told = log.clone();
        Clock::real().after(MS, move |_| told.push(()));
        log.wait_for(1);
        assert!(late.cancel());
    });
}

#[test]
fn sem_g51_a_timer_on_a_full_queue_is_not_lost() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("small", 1));
        let (gate, log) = (hold(&queue), Log::new());
        go(&queue, || ());
        let told = log.clone();
        timer::after(&queue, MS, Task::new(move || told.push(())));
        until(|| queue.counters().pending() == 2);
        gate.open();
        log.wait_for(1);
    });
}

#[test]
fn a_timer_on_a_stopped_queue_brings_its_task_back() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        // It does not run either if its time comes before the end.
        queue.suspend();
        let traces = Traces::new();
        timer::after(&queue, 5 * MS, traces.task("late"));
        drop(dispatcher);
        traces.cleaned.wait_for(1);
        assert!(traces.ran.is_empty());
    });
}

#[test]
fn sem_g52_a_cancelled_timer_never_fires_and_holds_nothing() {
    for clock in [Clock::real(), Replay::new(1).clock()] {
        let (drops, traces) = (Drops::new(), Traces::new());
        let held = drops.make();
        let call = clock.after(HOUR, move |_| drop(held));
        assert!(call.cancel());
        assert_eq!(drops.dropped(), drops.made());
        let held = drops.make();
        let beat = clock.every(HOUR, move |_| drops_nothing(&held));
        assert!(beat.cancel() && !beat.cancel());
        assert_eq!(drops.dropped(), drops.made());
        let queue = Inline::new("here");
        let task = timer::after(&queue, HOUR, traces.task(1));
        assert!(task.cancel() && !task.clone().cancel());
        assert_eq!(
            (traces.ran.take(), traces.cleaned.take()),
            (vec![], vec![1])
        );
    }
}

fn drops_nothing<T>(_: &T) {}

#[test]
fn sem_g52_dropping_the_handle_changes_nothing() {
    let (replay, log) = (Replay::new(1), Log::new());
    let (once, every) = (log.clone(), log.clone());
    drop(replay.clock().after(MS, move |_| once.push("once")));
    drop(replay.clock().every(MS, move |_| every.push("every")));
    replay.run_for(2 * MS);
    assert_eq!(log.take_sorted(), ["every", "every", "once"]);
}

#[test]
fn sem_g52_of_firing_and_cancelling_exactly_one_happens() {
    const TIMERS: usize = 20_000;
    within(patience(), || {
        let fired = Log::new();
        let timers: Vec<_> = (0..TIMERS)
            .map(|number| {
                let fired = fired.clone();
                let span = Duration::from_micros(number as u64 % 500);
                Clock::real().after(span, move |_| fired.push(number))
            })
            .collect();
        let timers = Arc::new(timers);
        let cancellers = [0, 1].map(|_| {
            let timers = Arc::clone(&timers);
            thread::spawn(move || {
                let cancels = timers
                    .iter()
                    .enumerate()
                    .filter(|(_, timer)| timer.cancel());
                cancels.map(|(number, _)| number).collect::<Vec<_>>()
            })
        });
        let mut ended: Vec<usize> = cancellers
            .into_iter()
            .flat_map(|canceller| canceller.join().unwrap())
            .collect();
        fired.wait_for(TIMERS - ended.len());
        ended.extend(fired.take());
        ended.sort_unstable();
        assert_eq!(ended, (0..TIMERS).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g52_a_beat_may_cancel_itself() {
    let replay = Replay::new(1);
    let (timer, log) = (Arc::new(Mutex::new(None)), Log::new());
    let (own, told) = (Arc::clone(&timer), log.clone());
    let beat = replay.clock().every(MS, move |_| {
        let own: Option<motet_dispatch::Timer> = own.lock().clone();
        told.push(own.unwrap().cancel());
    });
    *timer.lock() = Some(beat);
    replay.run();
    assert_eq!(log.take(), [true]);
    assert_eq!((replay.elapsed(), replay.timers()), (MS, 0));
}

#[test]
fn sem_g53_beats_are_whole_periods_apart() {
    with_queue(1, |_, queue| {
        let log = Log::new();
        let told = log.clone();
        let begun = Instant::now();
        let beat = timer::every(&queue, MS, move |due| {
            told.push((due, Instant::now()));
        });
        log.wait_for(20);
        assert!(beat.cancel());
        let beats = log.take();
        let first = beats[0].0;
        assert!(first >= begun + MS);
        for (due, ran) in beats {
            assert!(ran >= due);
            assert_eq!((due - first).as_nanos() % MS.as_nanos(), 0);
        }
    });
}

#[test]
fn sem_g53_beats_that_have_passed_are_left_out() {
    within(patience(), || {
        let log = Log::new();
        let told = log.clone();
        let beat = Clock::real().every(MS, move |due| {
            if told.is_empty() {
                until(|| due.elapsed() >= 10 * MS);
            }
            told.push(due);
        });
        log.wait_for(3);
        beat.cancel();
        let beats = log.take();
        // The second may come late; the third is set when the first has ended.
        assert!(beats[2] - beats[0] >= 10 * MS, "{beats:?}");
        let periods = beats.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos());
        assert!(periods.into_iter().all(|gap| gap % MS.as_nanos() == 0));
    });
}

#[test]
fn sem_g53_a_stopped_queue_ends_its_beats() {
    let replay = Replay::new(1);
    let drops = Drops::new();
    let held = drops.make();
    let beat = {
        let other = Dispatcher::new(1);
        let queue = Relay {
            clock: replay.clock(),
            to: other.queue(QueueConfig::default()).handle(),
        };
        timer::every(&queue, MS, move |_| drops_nothing(&held))
    };
    replay.run();
    assert_eq!(
        replay.elapsed(),
        MS,
        "the first beat found the queue stopped"
    );
    assert!(!beat.cancel());
    assert_eq!(drops.dropped(), drops.made());
}

/// The queue of one dispatcher with another clock.
struct Relay {
    clock: Clock,
    to: Arc<dyn Enqueue>,
}

impl Enqueue for Relay {
    fn reserve(&self) -> Result<(), motet_dispatch::QueueError> {
        self.to.reserve()
    }
    fn release(&self) {
        self.to.release();
    }
    fn admit(&self, task: Task) {
        self.to.admit(task);
    }
    fn readmit(&self, task: Task) {
        self.to.readmit(task);
    }
    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::clone(&self.to)
    }
    fn name(&self) -> &str {
        self.to.name()
    }
    fn clock(&self) -> Clock {
        self.clock.clone()
    }
    fn raise(&self, exception: motet_dispatch::Exception) {
        self.to.raise(exception);
    }
}

#[test]
#[should_panic(expected = "the period of a timer is zero")]
fn a_period_of_nothing_is_refused() {
    Clock::real().every(Duration::ZERO, |_| ());
}

#[test]
fn a_call_that_panics_leaves_the_timers_working() {
    within(patience(), || {
        let log = Log::new();
        Clock::real().after(Duration::ZERO, |_| panic!("said on purpose"));
        let told = log.clone();
        Clock::real().after(MS, move |_| told.push(()));
        log.wait_for(1);
    });
}

#[test]
fn sem_g53_beats_go_on_after_a_call_that_panics() {
    within(patience(), || {
        let (log, mut beats) = (Log::new(), 0);
        let told = log.clone();
        let beat = Clock::real().every(MS, move |_| {
            beats += 1;
            assert!(beats > 1, "said on purpose");
            told.push(beats);
        });
        log.wait_for(2);
        assert!(beat.cancel());
        assert_eq!(log.take()[..2], [2, 3]);
    });
}

#[test]
fn ccr_105_sem_g54_a_timescale_of_2_doubles_the_span() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig {
            timescale: Timescale::new(2.0),
            ..QueueConfig::named("slow")
        });
        let (log, begun) = (Log::new(), Instant::now());
        let told = log.clone();
        timer::after(
            &queue,
            10 * MS,
            Task::new(move || told.push(begun.elapsed())),
        );
        log.wait_for(1);
        assert!(log.take()[0] >= 20 * MS);
        let home = queue.home(0);
        assert_eq!(home.clock().timescale(), queue.handle().clock().timescale());
    });
}

#[test]
fn sem_g54_tasks_find_the_clock_of_their_queue() {
    with_queue(1, |dispatcher, plain| {
        let slow = dispatcher.queue(QueueConfig {
            timescale: Timescale::new(3.0),
            ..QueueConfig::named("slow")
        });
        let log = Log::new();
        for queue in [plain.handle(), slow.handle(), slow.home(0).handle()] {
            let log = log.clone();
            let look = async move { log.push(Clock::current().timescale().factor()) };
            spawn(&queue, look).unwrap();
        }
        log.wait_for(3);
        let mut factors = log.take();
        factors.sort_by(f64::total_cmp);
        assert_eq!(factors, [1.0, 3.0, 3.0]);
        assert_eq!(Clock::current().timescale(), Timescale::default());
    });
}

#[test]
fn sem_g52_a_million_timers_are_set_and_cancelled() {
    const TIMERS: u64 = 1_000_000;
    within(patience(), || {
        let clock = Clock::real();
        let timers: Vec<_> = (0..TIMERS)
            .map(|n| clock.after(HOUR + Duration::from_micros(n * 7919 % TIMERS), |_| ()))
            .collect();
        assert!(timers.iter().all(motet_dispatch::Timer::cancel));
    });
}
