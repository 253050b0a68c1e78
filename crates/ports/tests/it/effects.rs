//! What is decided under a port's lock and done after it, when others' code gets in between.

use crate::support::{Bomb, dispatcher, here, post_all, take_all};
use motet_dispatch::{
    Dispatcher, Enqueue, Exception, ExecutionPolicy, QueueConfig, QueueError, RoomLine, Task, spawn,
};
use motet_ports::{Choice, Interleave, Port, Receive};
use motet_sync::{Arc, thread};
use motet_testkit::{Gate, Log, patience, within};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A queue that calls `reserved` when it has given room, and `admits` before it takes a task from
/// who may hold a lock.
struct Hooked<Q, R, A> {
    inner: Q,
    reserved: R,
    admits: A,
}

impl<Q, R, A> Enqueue for Hooked<Q, R, A>
where
    Q: Enqueue + Clone,
    R: Fn() + Clone + Send + Sync + 'static,
    A: Fn() + Clone + Send + Sync + 'static,
{
    fn reserve(&self) -> Result<(), QueueError> {
        self.inner.reserve()?;
        (self.reserved)();
        Ok(())
    }

    fn release(&self) {
        self.inner.release();
    }

    fn admit(&self, task: Task) {
        self.inner.admit(task);
    }

    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        (self.admits)();
        self.inner.admit_here(task)
    }

    fn readmit(&self, task: Task) {
        self.inner.readmit(task);
    }

    fn room(&self) -> Option<RoomLine> {
        self.inner.room()
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(Hooked {
            inner: self.inner.clone(),
            reserved: self.reserved.clone(),
            admits: self.admits.clone(),
        })
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn raise(&self, exception: Exception) {
        self.inner.raise(exception);
    }
}

#[test]
fn sem_g290_a_cleanup_waits_for_the_post_that_has_decided() {
    within(patience(), || {
        let (port, gate, log) = (Port::new(), Gate::new(), Log::new());
        let (pass, sent) = (gate.clone(), log.clone());
        let queue = Hooked {
            inner: here(),
            reserved: || (),
            admits: move || {
                pass.pass();
                sent.push("sent");
            },
        };
        let active = Receive::once(&port, |_: u32| ()).activate(&queue).unwrap();
        let posting = thread::spawn(move || port.post(1).unwrap());
        gate.wait_for(1);
        // The receive has taken the item and not sent it on yet.
        let (off, begun) = (log.clone(), Log::new());
        let begins = begun.clone();
        let cleaning = thread::spawn(move || {
            begins.push(());
            active.cleanup();
            off.push("off");
        });
        begun.wait_for(1);
        // Time to do it, if it does not wait.
        thread::park_timeout(Duration::from_millis(20));
        assert!(
            log.is_empty(),
            "the post has not sent it, and holds the cleanup up"
        );
        gate.open();
        cleaning.join().unwrap();
        posting.join().unwrap();
        assert_eq!(log.take(), ["sent", "off"]);
    });
}

#[test]
fn sem_g17_the_losers_of_a_choice_inside_a_choice_have_left_when_its_winner_is_queued() {
    let (loser, winner, other, seen) = (Port::new(), Port::new(), Port::new(), Log::new());
    let (looks_at, sees) = (loser.clone(), seen.clone());
    let queue = Hooked {
        inner: here(),
        reserved: || (),
        // From here on another worker may run it.
        admits: move || sees.push(looks_at.receiver_count()),
    };
    let (looks_at, sees) = (loser.clone(), seen.clone());
    winner.post(1).unwrap();
    let inner = Choice::new()
        .or(Receive::once(&loser, |_: u32| ()))
        .or(Receive::once(&winner, move |_: u32| {
            sees.push(looks_at.receiver_count());
        }));
    Choice::new()
        .or(inner)
        .or(Receive::once(&other, |_: u32| ()))
        .activate(&queue)
        .unwrap();
    let seen = seen.take();
    assert!(
        !seen.is_empty() && seen.iter().all(|&left| left == 0),
        "{seen:?}"
    );
}

#[test]
fn sem_g02_a_destructor_that_panics_after_a_post_loses_nothing_behind_it() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        for bombs in [1, 3] {
            let (port, handled) = (Port::new(), Log::new());
            (0..bombs).for_each(|_| port.register(Arc::new(Bomb)));
            let log = handled.clone();
            Receive::persistent(&port, move |n| log.push(n))
                .activate(&queue)
                .unwrap();
            dispatcher.wait_idle();
            catch_unwind(AssertUnwindSafe(|| port.post(1))).unwrap_err();
            dispatcher.wait_idle();
            port.post(2).unwrap();
            dispatcher.wait_idle();
            assert_eq!(handled.take(), [1, 2], "{bombs} panics");
            assert_eq!((port.receiver_count(), port.item_count()), (1, 0));
        }
        // The room has been used, and is there again.
        queue.suspend();
        queue.enqueue(Task::new(|| ())).unwrap();
        assert!(queue.enqueue(Task::new(|| ())).is_err());
        queue.resume();
    });
}

#[test]
fn sem_g03_room_that_is_given_back_serves_others_once_the_port_is_unlocked() {
    within(patience(), || {
        let (dispatcher, ends_on) = dispatcher(1);
        let narrow = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution {
                depth: NonZeroUsize::MIN,
            },
            ..QueueConfig::named("narrow")
        });
        let (port, ends, served) = (Port::<u32>::new(), Port::new(), Log::new());
        let armed = Log::new();
        let (fuse, waits_at, looks_at) = (armed.clone(), narrow.clone(), port.clone());
        let (end, saw) = (ends.clone(), served.clone());
        let queue = Hooked {
            inner: narrow,
            // The port is locked, there is room for the handler, and now the end comes.
            reserved: move || {
                if fuse.take().is_empty() {
                    return;
                }
                let (queue, port, saw) = (waits_at.clone(), looks_at.clone(), saw.clone());
                let waits = async move {
                    queue.enqueue_wait(Task::new(|| ())).await.unwrap();
                    saw.push(port.item_count());
                };
                spawn(&here().handle(), waits).unwrap();
                end.post(()).unwrap();
            },
            admits: || (),
        };
        let active = Interleave::new()
            .teardown(Receive::once(&ends, |()| ()))
            .activate(&ends_on)
            .unwrap();
        let member = Interleave::new().exclusive(Receive::persistent(&port, |_| ()));
        active.combine_with(member, &queue).unwrap();
        dispatcher.wait_idle();
        armed.push(());
        post_all(&port, [7]);
        assert_eq!(served.take(), [1], "by this thread, after the post");
        dispatcher.wait_idle();
        assert_eq!(take_all(&port), [7], "the end had come before");
    });
}
