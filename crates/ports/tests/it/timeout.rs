//! Timeouts as branches: behaviour 50.

use crate::support::{dispatcher, port_with, post_all};
use motet_dispatch::{Enqueue, QueueConfig, Replay, ReplayQueue, Task, spawn};
use motet_ports::{After, Attach, Choice, Port, Receive, join, select};
use motet_testkit::{Drops, Log, patience, within};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn replay() -> (Replay, ReplayQueue) {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("test"));
    (replay, queue)
}

/// A choice between an item and a second, logged as `Some` and `None`.
fn reply_or_timeout(replies: &Port<u32>, log: &Log<Option<u32>>) -> impl Attach {
    let (told, missed) = (log.clone(), log.clone());
    Choice::new()
        .or(Receive::once(replies, move |reply| told.push(Some(reply))))
        .after(SECOND, move || missed.push(None))
}

#[test]
fn ccr_050_sem_g18_a_reply_that_comes_late_stays_in_its_port() {
    let ((replay, queue), replies, log) = (replay(), Port::new(), Log::new());
    let active = reply_or_timeout(&replies, &log).activate(&queue).unwrap();
    replay.run_for(SECOND / 2);
    assert!(log.is_empty() && active.is_active());
    assert_eq!(replies.receiver_count(), 1);
    replay.run_for(SECOND);
    assert_eq!(log.take(), [None]);
    assert_eq!(replies.receiver_count(), 0);
    assert!(!active.is_active());
    replies.post(7).unwrap();
    replay.run();
    assert_eq!((log.len(), replies.items()), (0, vec![7]));
}

#[test]
fn ccr_050_sem_g18_the_timer_is_cancelled_when_another_wins() {
    let ((replay, queue), replies, log) = (replay(), Port::new(), Log::new());
    let drops = Drops::new();
    let value = drops.make();
    let told = log.clone();
    Choice::new()
        .or(Receive::once(&replies, move |reply: u32| told.push(reply)))
        .after(SECOND, move || drop(value))
        .activate(&queue)
        .unwrap();
    replay.run_for(SECOND / 2);
    assert_eq!(drops.dropped(), 0);
    replies.post(7).unwrap();
    assert_eq!(
        drops.dropped(),
        1,
        "the timer is gone with its handler, at once"
    );
    replay.run();
    assert_eq!(log.take(), [7]);
    assert_eq!(
        replay.elapsed(),
        SECOND / 2,
        "nobody waits for the timer any more"
    );
}

#[test]
fn sem_g18_a_choice_that_is_cleaned_up_cancels_its_timer() {
    let ((replay, queue), replies, log) = (replay(), Port::new(), Log::new());
    let active = reply_or_timeout(&replies, &log).activate(&queue).unwrap();
    replay.run_for(SECOND / 2);
    active.cleanup();
    replay.run();
    assert_eq!((log.len(), replay.elapsed()), (0, SECOND / 2));
}

#[test]
fn sem_g18_a_timeout_that_lost_at_the_activation_is_cancelled() {
    let ((replay, queue), replies, log) = (replay(), port_with([7]), Log::new());
    reply_or_timeout(&replies, &log).activate(&queue).unwrap();
    let (told, missed) = (log.clone(), log.clone());
    Choice::new()
        .after(SECOND, move || missed.push(None))
        .or(Receive::once(&replies, move |reply| told.push(Some(reply))))
        .activate(&queue)
        .unwrap();
    replies.post(8).unwrap();
    replay.run();
    assert_eq!(log.take_sorted(), [Some(7), Some(8)]);
    assert_eq!(replay.elapsed(), Duration::ZERO);
}

#[test]
fn sem_g18_a_timeout_needs_no_room_in_the_queue() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::bounded("small", 1));
    let (replies, log) = (Port::new(), Log::new());
    let active = reply_or_timeout(&replies, &log).activate(&queue).unwrap();
    replay.run_for(SECOND / 2);
    queue.suspend();
    queue.enqueue(Task::new(|| ())).unwrap();
    assert_eq!(replies.post(1).unwrap_err().item, 1, "the queue is full");
    replay.run_for(SECOND);
    assert!(!active.is_active(), "decided when the time came");
    assert!(log.is_empty(), "nothing runs yet");
    replies.post(2).unwrap();
    queue.resume();
    replay.run();
    assert_eq!((log.take(), replies.items()), (vec![None], vec![2]));
}

#[test]
fn sem_g18_replies_race_with_the_real_clock_and_one_branch_runs() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (log, mut ports) = (Log::new(), Vec::new());
        for n in 0..300u32 {
            let port = Port::new();
            let (told, missed) = (log.clone(), log.clone());
            Choice::new()
                .or(Receive::once(&port, move |reply: u32| {
                    told.push((reply, true))
                }))
                .after(Duration::from_micros(200), move || missed.push((n, false)))
                .activate(&queue)
                .unwrap();
            ports.push(port);
            if n % 3 == 0 {
                motet_sync::thread::yield_now();
            }
            if let Some(earlier) = n.checked_sub(3) {
                ports[earlier as usize].post(earlier).unwrap();
            }
        }
        log.wait_for(300);
        dispatcher.wait_idle();
        let ran = log.take_sorted();
        assert!(ran.iter().map(|(n, _)| *n).eq(0..300), "each once");
        for (n, replied) in ran {
            let port = &ports[n as usize];
            let stays = usize::from(!replied && n < 297);
            assert_eq!((port.item_count(), port.receiver_count()), (stays, 0));
        }
    });
}

#[test]
fn sem_g18_after_stands_alone() {
    let ((replay, queue), log) = (replay(), Log::new());
    let told = log.clone();
    let active = After::new(SECOND, move || told.push(()))
        .activate(&queue)
        .unwrap();
    let told = log.clone();
    let cancelled = After::new(SECOND, move || told.push(()))
        .activate(&queue)
        .unwrap();
    replay.run_for(SECOND / 2);
    cancelled.cleanup();
    replay.run();
    assert_eq!((log.len(), active.is_active()), (1, false));
}

#[test]
fn sem_g18_after_drives_an_async_handler() {
    let ((replay, queue), port, log) = (replay(), Port::new(), Log::new());
    let (asked, told) = (port.clone(), log.clone());
    After::new_async(SECOND, move || async move {
        told.push(asked.recv().await);
    })
    .activate(&queue)
    .unwrap();
    replay.run();
    assert!(log.is_empty(), "it waits");
    port.post(7).unwrap();
    replay.run();
    assert_eq!(log.take(), [7]);
}

#[test]
fn sem_g19_a_select_gives_up_in_time_and_leaves_late_items() {
    let ((replay, queue), replies, log) = (replay(), Port::new(), Log::new());
    let (port, told) = (replies.clone(), log.clone());
    spawn(&queue.handle(), async move {
        for _ in 0..2 {
            let reply = select()
                .recv(&port, Some)
                .after(SECOND, || None::<u32>)
                .await;
            told.push(reply);
        }
    })
    .unwrap();
    replay.run();
    assert_eq!(
        (log.take(), replay.elapsed()),
        (vec![None, None], 2 * SECOND)
    );
    assert_eq!(replies.receiver_count(), 0);
    post_all(&replies, [7]);
    assert_eq!(replies.items(), [7]);
}

#[test]
fn sem_g19_the_timer_of_a_select_is_cancelled_when_another_is_there() {
    let ((replay, queue), replies, log) = (replay(), Port::new(), Log::new());
    let (port, told) = (replies.clone(), log.clone());
    spawn(&queue.handle(), async move {
        let wait = select().recv(&port, Some).after(SECOND, || None::<u32>);
        told.push(wait.await);
    })
    .unwrap();
    replay.run_for(SECOND / 2);
    replies.post(7).unwrap();
    replay.run();
    assert_eq!((log.take(), replay.elapsed()), (vec![Some(7)], SECOND / 2));
}

#[test]
fn sem_g19_a_join_may_be_given_up_in_time() {
    let ((replay, queue), log) = (replay(), Log::new());
    let (p, q) = (port_with([1u32]), Port::<u32>::new());
    let (ports, told) = ((p.clone(), q.clone()), log.clone());
    spawn(&queue.handle(), async move {
        let both = select()
            .join((&ports.0, &ports.1), Some)
            .after(SECOND, || None);
        told.push(both.await);
        told.push(Some(join((&ports.1, &ports.0)).await));
    })
    .unwrap();
    replay.run();
    assert_eq!((log.take(), p.items()), (vec![None], vec![1]));
    q.post(2).unwrap();
    replay.run();
    assert_eq!((log.take(), p.item_count()), (vec![Some((2, 1))], 0));
}
