//! Models of an interleave without ports: who holds the exclusion, and that what one wrote the next
//! one sees.
//!
//! Tasks go to a queue that keeps them; every thread runs what it finds there. Handlers write what
//! they are at, and look what the others wrote, without any order of their own. The model checker
//! shows them old values too, unless the interleave orders one handler before the other.

use super::ActiveInterleave;
use super::group::{Group, Kind};
use super::shared::Shared;
use super::state::Fairness;
use crate::activation::Attach;
use crate::deferred::Deferred;
use crate::loom_ports::Keeper;
use crate::outlet::Outlet;
use crate::parent::LongPass;
use crate::{Port, Receive};
use motet_dispatch::{Enqueue, Task, TaskBody, TaskBox};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Mutex, set_thread_number, thread};
use std::sync::Arc;

/// An interleave with a member in each group.
struct Stage {
    shared: Arc<Shared>,
    concurrent: Outlet,
    exclusive: Outlet,
    teardown: Outlet,
    queue: Keeper,
    readers: AtomicUsize,
    writers: AtomicUsize,
    taken: AtomicUsize,
    ran: AtomicUsize,
    back: AtomicUsize,
    refused: AtomicUsize,
    ended: AtomicUsize,
    /// How often a thread may try to begin at once. Written before there are others.
    tries: AtomicUsize,
    /// An async handler's.
    pass: Mutex<Option<LongPass>>,
}

/// A task of a member.
struct Work {
    stage: Arc<Stage>,
    kind: Kind,
    is_async: bool,
}

impl Stage {
    fn new(fairness: Fairness) -> Arc<Self> {
        let shared = Shared::with_places(fairness, 2);
        let queue = Keeper::default();
        let member = |kind: Kind| {
            let group = Group::new(&shared, kind, "a member");
            Outlet::by_way_of(group.above(), &queue.handle())
        };
        let stage = Arc::new(Stage {
            concurrent: member(Kind::Concurrent),
            exclusive: member(Kind::Exclusive),
            teardown: member(Kind::Teardown),
            shared,
            queue,
            readers: AtomicUsize::new(0),
            writers: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            ran: AtomicUsize::new(0),
            back: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            tries: AtomicUsize::new(0),
            pass: Mutex::new(None),
        });
        let next = stage.shared.exclusion.pass_on();
        stage.shared.carry_out(next);
        stage
    }

    fn member(&self, kind: Kind) -> &Outlet {
        match kind {
            Kind::Concurrent => &self.concurrent,
            Kind::Exclusive => &self.exclusive,
            Kind::Teardown => &self.teardown,
        }
    }

    /// What a post to a member's port does.
    fn post(self: &Arc<Self>, kind: Kind) {
        self.post_work(kind, false);
    }

    fn post_work(self: &Arc<Self>, kind: Kind, is_async: bool) {
        let member = self.member(kind);
        if !member.is_granted() {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return;
        }
        self.taken.fetch_add(1, Ordering::SeqCst);
        let stage = Arc::clone(self);
        let work = Work {
            stage,
            kind,
            is_async,
        };
        let mut deferred = Deferred::default();
        member.send(TaskBox::new(work).into_task(), &mut deferred);
        deferred.carry_out();
    }

    /// The last that an async handler does, if there is one.
    fn end_async(&self) {
        let pass = self.pass.lock().take();
        if pass.is_some() {
            self.writers.store(1, Ordering::Relaxed);
            self.writers.store(0, Ordering::Relaxed);
        }
    }

    /// Runs what is queued, and what that queues.
    fn work(&self) {
        while self.queue.run() > 0 {}
    }

    /// Another thread, with this number, that posts and works.
    fn thread(self: &Arc<Self>, number: usize, kinds: &'static [Kind]) -> thread::JoinHandle<()> {
        let stage = Arc::clone(self);
        thread::spawn(move || {
            set_thread_number(number);
            kinds.iter().for_each(|kind| stage.post(*kind));
            stage.work();
        })
    }

    /// How many handlers ran, and how many tasks came back, when all is done.
    fn outcome(&self) -> (usize, usize) {
        self.work();
        let ran = self.ran.load(Ordering::SeqCst);
        (ran, self.back.load(Ordering::SeqCst))
    }
}

impl Stage {
    /// Runs a handler here, if it need not wait.
    fn at_once(&self, kind: Kind) {
        let interleave = ActiveInterleave(Arc::clone(&self.shared));
        let entered = match kind {
            Kind::Concurrent => interleave.try_concurrent(),
            _ => interleave.try_exclusive(),
        };
        if let Some(entered) = entered {
            self.taken.fetch_add(1, Ordering::SeqCst);
            self.handle(kind);
            drop(entered);
        }
    }

    fn handle(&self, kind: Kind) {
        let stage = self;
        assert_eq!(
            stage.ended.load(Ordering::SeqCst),
            0,
            "the teardown is last"
        );
        assert_eq!(stage.writers.load(Ordering::Relaxed), 0);
        if kind == Kind::Concurrent {
            stage.readers.fetch_add(1, Ordering::Relaxed);
            assert_eq!(stage.writers.load(Ordering::Relaxed), 0);
            stage.readers.fetch_sub(1, Ordering::Relaxed);
        } else {
            assert_eq!(stage.readers.load(Ordering::Relaxed), 0);
            stage.writers.store(1, Ordering::Relaxed);
            assert_eq!(stage.readers.load(Ordering::Relaxed), 0);
            stage.writers.store(0, Ordering::Relaxed);
        }
        if kind == Kind::Teardown {
            let before = stage.ran.load(Ordering::SeqCst) + stage.back.load(Ordering::SeqCst);
            assert_eq!(before + 1, stage.taken.load(Ordering::SeqCst));
            // One that tries to begin at once counts itself before it looks, and takes that back.
            let on_their_way = stage.shared.exclusion.readers().on_their_way() as isize;
            assert!(on_their_way <= stage.tries.load(Ordering::SeqCst) as isize);
            stage.ended.fetch_add(1, Ordering::SeqCst);
        }
        stage.ran.fetch_add(1, Ordering::SeqCst);
    }
}

impl TaskBody for Work {
    fn run(task: TaskBox<Self>) {
        let work = task.into_inner();
        let (stage, kind, is_async) = (Arc::clone(&work.stage), work.kind, work.is_async);
        let into_task = |work: Work| TaskBox::new(work).into_task();
        let entered = stage.member(kind).enter(work, into_task);
        if let Some((work, Some(pass))) = entered {
            stage.handle(kind);
            drop(work);
            if is_async {
                *stage.pass.lock() = Some(pass.into_long());
            }
        }
    }

    fn cleanup(task: TaskBox<Self>) {
        let work = task.into_inner();
        work.stage.back.fetch_add(1, Ordering::SeqCst);
        work.stage.member(work.kind).lose();
    }
}

/// One exclusive handler, and concurrent ones on two other threads.
#[test]
fn loom_exclusive_against_concurrent() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        let others = [
            stage.thread(0, &[Kind::Concurrent]),
            stage.thread(1, &[Kind::Exclusive]),
        ];
        stage.post(Kind::Concurrent);
        stage.work();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(stage.outcome(), (3, 0));
    });
}

/// A bias, under which concurrent handlers are counted, is revoked.
#[test]
fn loom_exclusive_against_concurrent_in_a_calm() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        set_thread_number(0);
        stage.post(Kind::Concurrent);
        stage.work();
        let other = stage.thread(1, &[Kind::Exclusive]);
        stage.post(Kind::Concurrent);
        stage.work();
        stage.post(Kind::Concurrent);
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (4, 0));
    });
}

/// A bias is revoked in the end: what was counted under it is waited for.
#[test]
fn loom_teardown_against_concurrent_in_a_calm() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        set_thread_number(0);
        stage.post(Kind::Concurrent);
        stage.work();
        stage.post(Kind::Concurrent);
        let other = stage.thread(1, &[Kind::Teardown]);
        stage.work();
        other.join().unwrap();
        let (ran, back) = stage.outcome();
        assert_eq!(ran + back, 3);
        assert_eq!(stage.ended.load(Ordering::SeqCst), 1);
    });
}

/// Who begins under a bias sees what those have done who were alone before it.
#[test]
fn loom_a_calm_comes_after_an_exclusive_handler() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        set_thread_number(0);
        let other = stage.thread(1, &[Kind::Exclusive, Kind::Concurrent, Kind::Concurrent]);
        stage.post(Kind::Concurrent);
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (4, 0));
    });
}

/// Two exclusive posters: none is forgotten when the exclusion is passed on.
#[test]
fn loom_exclusive_against_exclusive() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        let other = stage.thread(0, &[Kind::Exclusive, Kind::Exclusive]);
        stage.post(Kind::Exclusive);
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (3, 0));
    });
}

/// In turns: those that are held are let in while exclusive work waits.
#[test]
fn loom_in_turns() {
    loom::model(|| {
        let stage = Stage::new(Fairness::Alternate);
        let other = stage.thread(0, &[Kind::Concurrent, Kind::Exclusive]);
        stage.post(Kind::Exclusive);
        stage.post(Kind::Concurrent);
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (4, 0));
    });
}

/// The end against both others: each has run before, or is back; the end comes once, and last.
#[test]
fn loom_teardown_against_exclusive_and_concurrent() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        // Posted under the locks of ports from which the teardown takes the members: here they are
        // in before it begins, and run at any time.
        stage.post(Kind::Concurrent);
        stage.post(Kind::Exclusive);
        let others = [stage.thread(0, &[]), stage.thread(1, &[Kind::Teardown])];
        stage.work();
        others.into_iter().for_each(|other| other.join().unwrap());
        let (ran, back) = stage.outcome();
        assert_eq!(ran + back, 3);
        assert_eq!(stage.ended.load(Ordering::SeqCst), 1);
    });
}

/// Two teardown items: one is taken.
#[test]
fn loom_teardown_against_teardown() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        let other = stage.thread(0, &[Kind::Teardown]);
        stage.post(Kind::Teardown);
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (1, 0));
        assert_eq!(stage.refused.load(Ordering::SeqCst), 1);
    });
}

/// An async exclusive handler ends while the turn that began it is still at it: the exclusion goes
/// on, once.
#[test]
fn loom_an_async_handler_ends_against_its_turn() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        stage.post_work(Kind::Exclusive, true);
        stage.post(Kind::Exclusive);
        let ends = Arc::clone(&stage);
        let other = thread::spawn(move || {
            ends.end_async();
            ends.work();
        });
        stage.work();
        other.join().unwrap();
        stage.end_async();
        assert_eq!(stage.outcome(), (2, 0));
    });
}

/// A task that is on its way is given up while the teardown waits for it.
#[test]
fn loom_a_task_is_lost_against_the_teardown() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        stage.post(Kind::Concurrent);
        let on_its_way: Vec<Task> = stage.queue.take();
        let other = stage.thread(0, &[Kind::Teardown]);
        on_its_way.into_iter().for_each(Task::cleanup);
        other.join().unwrap();
        assert_eq!(stage.outcome(), (1, 1));
    });
}

/// Handlers that begin at once against tasks of both groups: alone is alone, and nothing is
/// forgotten.
#[test]
fn loom_at_once_against_tasks() {
    for kind in [Kind::Concurrent, Kind::Exclusive] {
        loom::model(move || {
            let stage = Stage::new(Fairness::default());
            let other = stage.thread(0, &[Kind::Exclusive, Kind::Concurrent]);
            stage.at_once(kind);
            stage.work();
            stage.at_once(kind);
            stage.work();
            other.join().unwrap();
            let (ran, back) = stage.outcome();
            assert_eq!((ran, back), (stage.taken.load(Ordering::SeqCst), 0));
        });
    }
}

/// Two threads whose handlers begin at once: one that cannot is not counted.
#[test]
fn loom_at_once_against_at_once() {
    for kinds in [
        [Kind::Exclusive, Kind::Exclusive],
        [Kind::Concurrent, Kind::Exclusive],
    ] {
        loom::model(move || {
            let stage = Stage::new(Fairness::default());
            let here = Arc::clone(&stage);
            let other = thread::spawn(move || {
                set_thread_number(0);
                here.at_once(kinds[0]);
                here.at_once(kinds[0]);
            });
            stage.at_once(kinds[1]);
            other.join().unwrap();
            stage.at_once(kinds[1]);
            stage.post(Kind::Exclusive);
            let (ran, back) = stage.outcome();
            assert_eq!((ran, back), (stage.taken.load(Ordering::SeqCst), 0));
        });
    }
}

/// Beside a concurrent handler somebody tries to be alone at once, and a task is posted that wants
/// to be, too, or the end is: neither runs before the handler has ended.
#[test]
fn loom_a_try_to_be_alone_that_fails_lets_nobody_in() {
    for fairness in [Fairness::ExclusiveFirst, Fairness::Alternate] {
        for posted in [Kind::Exclusive, Kind::Teardown] {
            loom::model(move || {
                let stage = Stage::new(fairness);
                let interleave = ActiveInterleave(Arc::clone(&stage.shared));
                let reader = interleave.try_concurrent().expect("nobody else is here");
                stage.taken.fetch_add(1, Ordering::SeqCst);
                stage.readers.fetch_add(1, Ordering::Relaxed);
                let here = Arc::clone(&stage);
                let other = thread::spawn(move || {
                    set_thread_number(0);
                    here.post(posted);
                });
                stage.at_once(Kind::Exclusive);
                stage.work();
                stage.readers.fetch_sub(1, Ordering::Relaxed);
                stage.ran.fetch_add(1, Ordering::SeqCst);
                drop(reader);
                other.join().unwrap();
                let (ran, back) = stage.outcome();
                assert_eq!((ran, back), (stage.taken.load(Ordering::SeqCst), 0));
            });
        }
    }
}

/// An exclusive handler that began at once goes on, and ends on another thread: nobody runs before
/// that, and who came meanwhile does then.
#[test]
fn loom_a_handler_that_began_at_once_ends_elsewhere() {
    const KINDS: [&[Kind]; 3] = [&[Kind::Concurrent], &[Kind::Exclusive], &[Kind::Teardown]];
    for kinds in KINDS {
        loom::model(move || {
            let stage = Stage::new(Fairness::default());
            let interleave = ActiveInterleave(Arc::clone(&stage.shared));
            let entered = interleave.try_exclusive().expect("nobody else is here");
            stage.taken.fetch_add(1, Ordering::SeqCst);
            stage.writers.store(1, Ordering::Relaxed);
            let mut alone = entered.into_sent();
            let other = stage.thread(0, kinds);
            alone.stay("goes on");
            let here = Arc::clone(&stage);
            let ends = thread::spawn(move || {
                here.writers.store(0, Ordering::Relaxed);
                here.ran.fetch_add(1, Ordering::SeqCst);
                drop(alone);
            });
            stage.at_once(Kind::Exclusive);
            for thread in [other, ends] {
                thread.join().unwrap();
            }
            let (ran, back) = stage.outcome();
            assert_eq!((ran, back), (stage.taken.load(Ordering::SeqCst), 0));
        });
    }
}

/// A handler that began at once is sent to another thread and ends there, an exclusive one before
/// it has said that it stays: somebody who wants to be alone begins behind that, or not at once.
#[test]
fn loom_a_sent_handler_ends_elsewhere_against_at_once() {
    for kind in [Kind::Concurrent, Kind::Exclusive] {
        loom::model(move || {
            let stage = Stage::new(Fairness::default());
            let interleave = ActiveInterleave(Arc::clone(&stage.shared));
            let entered = match kind {
                Kind::Concurrent => interleave.try_concurrent(),
                _ => interleave.try_exclusive(),
            };
            let sent = entered.expect("nobody else is here").into_sent();
            stage.taken.fetch_add(1, Ordering::SeqCst);
            let here_are = move |stage: &Stage, count| {
                let at = match kind {
                    Kind::Concurrent => &stage.readers,
                    _ => &stage.writers,
                };
                at.store(count, Ordering::Relaxed);
            };
            here_are(&stage, 1);
            let here = Arc::clone(&stage);
            let ends = thread::spawn(move || {
                set_thread_number(0);
                here_are(&here, 0);
                here.ran.fetch_add(1, Ordering::SeqCst);
                drop(sent);
            });
            stage.at_once(Kind::Exclusive);
            ends.join().unwrap();
            stage.post(Kind::Exclusive);
            let (ran, back) = stage.outcome();
            assert_eq!((ran, back), (stage.taken.load(Ordering::SeqCst), 0));
        });
    }
}

/// A handler that begins at once against the end: it ends before, or does not begin.
#[test]
fn loom_at_once_against_teardown() {
    for kind in [Kind::Concurrent, Kind::Exclusive] {
        loom::model(move || {
            let stage = Stage::new(Fairness::default());
            stage.tries.store(1, Ordering::SeqCst);
            let other = stage.thread(0, &[Kind::Teardown]);
            stage.at_once(kind);
            stage.work();
            other.join().unwrap();
            let (ran, back) = stage.outcome();
            assert_eq!((ran, back), (stage.taken.load(Ordering::SeqCst), 0));
            assert_eq!(stage.ended.load(Ordering::SeqCst), 1);
        });
    }
}

/// A port with a receive among the concurrent members, and the number of items it has handled.
fn with_port(stage: &Arc<Stage>) -> (Port<u32>, Arc<AtomicUsize>) {
    let (port, handled) = (Port::new(), Arc::new(AtomicUsize::new(0)));
    let (here, count) = (Arc::downgrade(stage), Arc::clone(&handled));
    let receive = Receive::persistent(&port, move |_| {
        let stage = here.upgrade().expect("the model holds it");
        assert_eq!(stage.ended.load(Ordering::SeqCst), 0);
        assert_eq!(stage.writers.load(Ordering::Relaxed), 0);
        stage.readers.fetch_add(1, Ordering::Relaxed);
        assert_eq!(stage.writers.load(Ordering::Relaxed), 0);
        stage.readers.fetch_sub(1, Ordering::Relaxed);
        count.fetch_add(1, Ordering::SeqCst);
    });
    let (active, _port) = receive.attach(stage.concurrent.clone());
    stage.shared.join([Arc::downgrade(&active)].into_iter());
    active.register();
    (port, handled)
}

/// An item that is delivered directly meets one who wants to be alone, under a bias and after it.
#[test]
fn loom_direct_delivery_against_exclusive() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        set_thread_number(0);
        let (port, handled) = with_port(&stage);
        port.post(1).unwrap();
        stage.work();
        let other = stage.thread(1, &[Kind::Exclusive]);
        port.post(2).unwrap();
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (1, 0));
        assert_eq!(handled.load(Ordering::SeqCst), 2);
        assert_eq!((port.item_count(), port.receiver_count()), (0, 1));
    });
}

/// An item that is delivered directly meets the end: it is handled before, or back when the end is
/// handled.
#[test]
fn loom_direct_delivery_against_teardown() {
    loom::model(|| {
        let stage = Stage::new(Fairness::default());
        set_thread_number(0);
        let (port, handled) = with_port(&stage);
        port.post(1).unwrap();
        stage.work();
        let other = stage.thread(1, &[Kind::Teardown]);
        port.post(2).unwrap();
        stage.work();
        other.join().unwrap();
        assert_eq!(stage.outcome(), (1, 0));
        assert_eq!(stage.ended.load(Ordering::SeqCst), 1);
        assert_eq!(handled.load(Ordering::SeqCst) + port.item_count(), 2);
        assert_eq!(port.receiver_count(), 0);
    });
}
