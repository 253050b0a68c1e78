//! The spawned programs: each stage is a handler that messages start (papers R052).
//!
//! A computation counts its own stages. The messages could not tell. On a ring of three and more,
//! two stages of one computation may overlap (the second needs messages of the neighbours only).
//! Then their messages may overtake each other.

use crate::program::{Pattern, PatternProgram, Work};
use motet_dispatch::{Dispatcher, DispatcherConfig, DispatcherQueue, Exception, QueueConfig};
use motet_ports::{JoinedReceive, MultipleItemReceive, Port, Receive};
use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Messages carry nothing: latency is measured, not bandwidth.
type Message = ();

/// How a program ends: so many computations have, or a handler has panicked.
type End = Result<usize, Exception>;

/// What each handler of a computation needs.
#[derive(Clone)]
struct Computation<W> {
    number: usize,
    stages: u64,
    work: W,
    /// Stages begun.
    begun: Arc<CachePadded<AtomicU64>>,
    end: Port<usize>,
}

impl<W: Work> Computation<W> {
    /// The computations of a program.
    fn all(program: &PatternProgram<W>, end: &Port<usize>) -> Vec<Computation<W>> {
        let new = |number| Computation {
            number,
            stages: program.stages,
            work: program.work.clone(),
            begun: Arc::default(),
            end: end.clone(),
        };
        (0..program.parallel).map(new).collect()
    }

    /// One stage: computes, then posts on, or to the end after the last stage.
    #[inline]
    fn stage(&self, post_on: impl FnOnce()) {
        match self.computes() {
            true => post(&self.end, self.number),
            false => post_on(),
        }
    }

    /// Computes one stage, and says whether it was the last.
    #[inline]
    fn computes(&self) -> bool {
        let stage = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        self.work.stage();
        stage == self.stages
    }
}

/// Runs the program; the time from the first post to the end of the final reduction.
///
/// # Panics
/// For [`Pattern::ExchangeTwoShifts`]: a handler has no second half of a stage to wait in. When the
/// threads do not start, and when a stage panics.
pub fn run<W: Work>(program: &PatternProgram<W>) -> Duration {
    on_dispatcher(program, |queue, end, told| match program.pattern {
        Pattern::Pipeline | Pattern::Shift => {
            single(program, (queue, end, told), &|_| (), |_, ()| ())
        }
        Pattern::TwoShifts => double(program, queue, end, told),
        Pattern::Exchange => joined(program, queue, end, told),
        Pattern::ExchangeTwoShifts => panic!("an exchange as two shifts is no spawned pattern"),
    })
}

/// As [`run`], for patterns of one message per stage, with messages that carry something.
/// Computation `i` begins with `first(i)`. Each of its stages makes the message that it posts of
/// the one that it has received. What the last stages have made is dropped when the time has been
/// taken.
///
/// # Panics
/// For patterns of several messages per stage. When the threads do not start, and when a stage or
/// `on_message` panics.
pub fn run_carrying<W: Work, M: Send + 'static>(
    program: &PatternProgram<W>,
    first: &dyn Fn(usize) -> M,
    on_message: impl Fn(usize, M) -> M + Clone + Send + Sync + 'static,
) -> Duration {
    assert!(
        matches!(program.pattern, Pattern::Pipeline | Pattern::Shift),
        "only patterns of one message per stage carry something"
    );
    on_dispatcher(program, |queue, end, told| {
        single(program, (queue, end, told), first, on_message)
    })
}

/// A dispatcher with the final reduction, and what `run` does there.
fn on_dispatcher<W>(
    program: &PatternProgram<W>,
    run: impl FnOnce(&DispatcherQueue, &Port<usize>, &mpsc::Receiver<End>) -> Duration,
) -> Duration {
    if program.stages == 0 {
        // No handler would be that of the last stage.
        return Duration::ZERO;
    }
    let config = DispatcherConfig {
        threads: program.threads,
        pin: program.pin,
        ..DispatcherConfig::default()
    };
    let dispatcher = Dispatcher::with(config).expect("the threads start");
    let queue = dispatcher.queue(QueueConfig::named("stages"));
    let (tell, told) = mpsc::channel();
    // What it would have posted is missing: the others come to no end.
    let failed = tell.clone();
    dispatcher.on_exception(move |exception| {
        let _ = failed.send(Err(exception));
    });
    let end = Port::new();
    // The final reduction (papers R041): one handler gathers one message per computation.
    MultipleItemReceive::once(&end, program.parallel, move |done: Vec<usize>| {
        let _ = tell.send(Ok(done.len()));
    })
    .activate(&queue)
    .expect("the queue is open");
    let time = run(&queue, &end, &told);
    drop(dispatcher);
    time
}

/// One message per stage, to the own port or the next one: Pipeline and Shift.
fn single<W: Work, M: Send + 'static>(
    program: &PatternProgram<W>,
    (queue, end, told): (&DispatcherQueue, &Port<usize>, &mpsc::Receiver<End>),
    first: &dyn Fn(usize) -> M,
    on_message: impl Fn(usize, M) -> M + Clone + Send + Sync + 'static,
) -> Duration {
    let by = usize::from(program.pattern == Pattern::Shift);
    let ports: Vec<Port<M>> = (0..program.parallel).map(|_| Port::new()).collect();
    // A large message takes milliseconds to drop.
    let last = Port::new();
    for (i, computation) in Computation::all(program, end).into_iter().enumerate() {
        let next = ports[(i + by) % ports.len()].clone();
        let (last, on_message) = (last.clone(), on_message.clone());
        Receive::persistent(&ports[i], move |message| {
            let message = on_message(computation.number, message);
            match computation.computes() {
                true => {
                    post(&last, message);
                    post(&computation.end, computation.number);
                }
                false => post(&next, message),
            }
        })
        .activate(queue)
        .expect("the queue is open");
    }
    let messages: Vec<M> = (0..program.parallel).map(first).collect();
    let time = start(program.parallel, told, || {
        for (port, message) in ports.iter().zip(messages) {
            post(port, message);
        }
    });
    while last.test().is_some() {}
    time
}

/// Two messages per stage to the same neighbour, who takes them together: Two Shifts.
fn double<W: Work>(
    program: &PatternProgram<W>,
    queue: &DispatcherQueue,
    end: &Port<usize>,
    told: &mpsc::Receiver<End>,
) -> Duration {
    let ports = ports(program.parallel);
    for (i, computation) in Computation::all(program, end).into_iter().enumerate() {
        let next = ports[(i + 1) % ports.len()].clone();
        MultipleItemReceive::persistent(&ports[i], 2, move |_| {
            computation.stage(|| {
                post(&next, ());
                post(&next, ());
            });
        })
        .activate(queue)
        .expect("the queue is open");
    }
    start(program.parallel, told, || {
        for port in &ports {
            post(port, ());
            post(port, ());
        }
    })
}

/// One message to each neighbour, one from each, joined: Exchange.
fn joined<W: Work>(
    program: &PatternProgram<W>,
    queue: &DispatcherQueue,
    end: &Port<usize>,
    told: &mpsc::Receiver<End>,
) -> Duration {
    let count = program.parallel;
    let (from_left, from_right) = (ports(program.parallel), ports(program.parallel));
    for (i, computation) in Computation::all(program, end).into_iter().enumerate() {
        // What goes to the right comes there from the left.
        let right = from_left[(i + 1) % count].clone();
        let left = from_right[(i + count - 1) % count].clone();
        let handler = move |((), ())| {
            computation.stage(|| {
                post(&left, ());
                post(&right, ());
            });
        };
        JoinedReceive::persistent((&from_left[i], &from_right[i]), handler)
            .activate(queue)
            .expect("the queue is open");
    }
    start(program.parallel, told, || {
        from_left
            .iter()
            .chain(&from_right)
            .for_each(|port| post(port, ()));
    })
}

fn ports(count: usize) -> Vec<Port<Message>> {
    (0..count).map(|_| Port::new()).collect()
}

#[inline]
fn post<T: Send>(port: &Port<T>, item: T) {
    port.post(item).expect("the queue is open");
}

fn start(parallel: usize, told: &mpsc::Receiver<End>, post: impl FnOnce()) -> Duration {
    let started = Instant::now();
    post();
    let end = told.recv().expect("the final handler tells");
    let time = started.elapsed();
    let done = end.unwrap_or_else(|exception| panic!("{exception}"));
    assert_eq!(done, parallel, "every computation has come to its end");
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_sync::atomic::AtomicU64;
    use motet_sync::thread;

    /// Counts the stages that were computed.
    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicU64>);

    impl Work for Counted {
        fn stage(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn program(pattern: Pattern, parallel: usize) -> PatternProgram<Counted> {
        PatternProgram {
            pattern,
            parallel,
            stages: 50,
            threads: 2,
            pin: false,
            work: Counted::default(),
        }
    }

    #[test]
    fn every_stage_of_every_computation_is_computed_once() {
        let spawned = [
            Pattern::Pipeline,
            Pattern::Shift,
            Pattern::TwoShifts,
            Pattern::Exchange,
        ];
        for pattern in spawned {
            for parallel in [1, 2, 3, 8] {
                let program = program(pattern, parallel);
                run(&program);
                let computed = program.work.0.load(Ordering::Relaxed);
                assert_eq!(computed, 50 * parallel as u64, "{pattern}, {parallel}");
            }
        }
    }

    #[test]
    fn a_program_without_stages_ends_at_once() {
        let program = PatternProgram {
            stages: 0,
            ..program(Pattern::Shift, 3)
        };
        assert_eq!(run(&program), Duration::ZERO);
        assert_eq!(run_carrying(&program, &|i| i, |_, n| n), Duration::ZERO);
        assert_eq!(program.work.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn messages_carry_what_the_stages_make() {
        let ends = Arc::new(AtomicU64::new(0));
        let program = program(Pattern::Pipeline, 3);
        let last = Arc::clone(&ends);
        run_carrying(&program, &|i| i as u64, move |_, n| {
            last.fetch_max(n + 1, Ordering::Relaxed);
            n + 1
        });
        // The third begins with 2 and adds one in each of its stages.
        assert_eq!(ends.load(Ordering::Relaxed), 52);
    }

    #[test]
    fn no_handler_drops_what_the_last_stages_have_made() {
        struct Large(thread::ThreadId, Arc<AtomicU64>);
        impl Drop for Large {
            fn drop(&mut self) {
                // A panic here would be a handler's.
                let here = u64::from(thread::current().id() == self.0);
                self.1.fetch_add(here, Ordering::Relaxed);
            }
        }
        let here = Arc::new(AtomicU64::new(0));
        let caller = thread::current().id();
        let first = |_| Large(caller, Arc::clone(&here));
        run_carrying(&program(Pattern::Shift, 3), &first, |_, large| large);
        assert_eq!(here.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_stage_that_panics_ends_the_program_with_its_panic() {
        #[derive(Clone)]
        struct Fails;
        impl Work for Fails {
            fn stage(&self) {
                panic!("no stage");
            }
        }
        for pattern in [Pattern::Pipeline, Pattern::TwoShifts, Pattern::Exchange] {
            let program = PatternProgram {
                pattern,
                parallel: 3,
                stages: 5,
                threads: 2,
                pin: false,
                work: Fails,
            };
            let ended = std::panic::catch_unwind(|| run(&program));
            let payload = ended.unwrap_err();
            let message = payload.downcast_ref::<String>().unwrap();
            assert_eq!(message, "a handler of queue 'stages' panicked: no stage");
        }
    }
}
