//! Replies: one answer, or the news that there is none.

use crate::support::{Wakes, dispatcher, here, in_parallel, on_dispatchers, poll, take_all};
use allocation_counter::measure;
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, Task};
use motet_ports::{
    ExceptionPort, FromHandler, JoinedReceive, Port, Receive, Reply, ReplyError, ReplyPort, reply,
    wait_blocking,
};
use motet_testkit::{Dropped, Drops, Gate, Log, patience, within};
use proptest::prelude::*;
use std::task::Poll;

/// A request of the sort that programs make.
struct Get {
    key: u64,
    reply: ReplyPort<u64>,
}

#[test]
fn sem_g260_an_answer_reaches_the_asker() {
    let (_, waker) = Wakes::new();
    let (to, mut answer) = reply();
    assert!(poll(&mut answer, &waker).is_pending());
    to.post(7).unwrap();
    assert_eq!(poll(&mut answer, &waker), Poll::Ready(Ok(7)));
}

#[test]
fn sem_g260_only_the_last_waker_is_woken_and_once() {
    let ((old, old_waker), (new, new_waker)) = (Wakes::new(), Wakes::new());
    let (to, mut answer) = reply();
    assert!(poll(&mut answer, &old_waker).is_pending());
    assert!(poll(&mut answer, &new_waker).is_pending());
    to.post(7).unwrap();
    assert_eq!((old.count(), new.count()), (0, 1));
}

#[test]
fn sem_g260_a_reply_port_dropped_without_an_answer_says_so_and_where_it_was_asked() {
    let (wakes, waker) = Wakes::new();
    let line = line!() + 1;
    let (to, mut answer) = reply::<u32>();
    assert!(poll(&mut answer, &waker).is_pending());
    drop(to);
    assert_eq!(wakes.count(), 1);
    let Poll::Ready(Err(none)) = poll(&mut answer, &waker) else {
        panic!("there is no answer")
    };
    assert_eq!(
        (none.asked_at.file(), none.asked_at.line()),
        (file!(), line)
    );
    assert_eq!(
        none.to_string(),
        format!(
            "no reply to the request made at {}: its reply port was dropped without an answer",
            none.asked_at
        )
    );
}

#[test]
fn sem_g260_a_handler_that_panics_leaves_no_asker_waiting() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let exceptions = dispatcher.exception_port();
        let requests = Port::new();
        Receive::persistent(&requests, |Get { key, reply }| {
            assert!(key < 10, "no such key");
            reply.post(key * key).unwrap();
        })
        .activate(&queue)
        .unwrap();
        let ask = |key| {
            let (reply, answer) = reply();
            requests.post(Get { key, reply }).unwrap();
            wait_blocking(answer).unwrap()
        };
        assert_eq!(ask(9), Ok(81));
        assert!(ask(10).is_err());
        assert_eq!(ask(3), Ok(9), "the handler goes on");
        dispatcher.wait_idle();
        assert_eq!(exceptions.item_count(), 1);
    });
}

#[test]
fn sem_g260_requests_that_nobody_handles_any_more_are_answered_so() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let requests = Port::new();
        Receive::persistent(&requests, |Get { reply, .. }| reply.post(1).unwrap())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        let (to, answer) = reply();
        requests.post(Get { key: 1, reply: to }).unwrap();
        // The item goes back to its port, and with it.
        drop(dispatcher);
        assert_eq!(requests.item_count(), 1);
        drop(requests);
        assert!(wait_blocking(answer).unwrap().is_err());
    });
}

#[test]
fn sem_g260_an_answer_that_nobody_wants_comes_back() {
    let (to, answer) = reply();
    assert!(to.is_wanted());
    drop(answer);
    assert!(!to.is_wanted());
    let error = to.post("late".to_owned()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "answer not given: nobody waits for it any more"
    );
    assert!(matches!(error, ReplyError::Unwanted(_)));
    assert_eq!(error.into_item(), "late");
}

#[test]
fn sem_g260_both_ends_take_one_allocation() {
    let (_, waker) = Wakes::new();
    let mut ends = None;
    assert_eq!(measure(|| ends = Some(reply::<u64>())).count_total, 1);
    let (to, mut answer) = ends.unwrap();
    let using = measure(|| {
        assert!(poll(&mut answer, &waker).is_pending());
        to.post(7).unwrap();
        assert_eq!(poll(&mut answer, &waker), Poll::Ready(Ok(7)));
    });
    assert_eq!(using.count_total, 0, "waiting and answering take none");
}

#[test]
fn sem_g260_answers_may_come_to_a_port_for_joins_to_wait_for() {
    let (names, ages) = (Port::new(), Port::new());
    let log = Log::new();
    let told = log.clone();
    JoinedReceive::persistent((&names, &ages), move |pair| told.push(pair))
        .activate(&here())
        .unwrap();
    ReplyPort::to(&names).post("Ada").unwrap();
    ReplyPort::to(&ages).post(36).unwrap();
    ReplyPort::to(&names).post("Bob").unwrap();
    let line = line!() + 1;
    drop(ReplyPort::to(&ages));
    let (said, none) = {
        let said = log.take();
        let none = said[1].1.unwrap_err();
        (said, none)
    };
    assert_eq!(said, [(Ok("Ada"), Ok(36)), (Ok("Bob"), Err(none))]);
    assert_eq!(none.asked_at.line(), line);
}

#[test]
fn sem_g260_a_port_without_room_gives_the_answer_back_and_still_learns_that_there_is_none() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        let answers = Port::new();
        let log = Log::new();
        let told = log.clone();
        Receive::persistent(&answers, move |answer| told.push(answer))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        let (held, gate) = (Gate::new(), Gate::new());
        let (holds, waits) = (held.clone(), gate.clone());
        let holding = Task::new(move || {
            holds.open();
            waits.pass();
        });
        queue.enqueue(holding).unwrap();
        held.pass();
        queue.enqueue(Task::new(|| ())).unwrap();
        let ReplyError::Refused(refused, to) = ReplyPort::to(&answers).post(7).unwrap_err() else {
            panic!("the queue is full")
        };
        assert_eq!(refused.item, 7);
        drop(to);
        assert!(answers.test().expect("kept without room").is_err());
        let ReplyError::Refused(refused, to) = ReplyPort::to(&answers).post(8).unwrap_err() else {
            panic!("the queue is full")
        };
        gate.open();
        dispatcher.wait_idle();
        to.post(refused.item).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [Ok(8)]);
    });
}

#[test]
fn sem_g260_ten_thousand_askers_wait_on_one_thread() {
    const ASKERS: u64 = 10_000;
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (requests, sum) = (Port::new(), Port::new());
        for key in 0..ASKERS {
            let (requests, sum) = (requests.clone(), sum.clone());
            FromHandler::new_async(move || async move {
                let (reply, answer) = reply();
                requests.post(Get { key, reply }).unwrap();
                sum.post(answer.await.expect("it is answered")).unwrap();
            })
            .activate(&queue)
            .unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(requests.item_count() as u64, ASKERS);
        Receive::persistent(&requests, |Get { key, reply }| reply.post(key).unwrap())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        let total: u64 = take_all(&sum).into_iter().sum();
        assert_eq!(total, ASKERS * (ASKERS - 1) / 2);
    });
}

#[test]
fn sem_g260_answers_race_with_askers_that_give_up_and_none_is_lost_or_doubled() {
    on_dispatchers(5, |dispatcher, queue| {
        const EACH: usize = 300;
        let (drops, back) = (Drops::new(), Log::new());
        let requests = Port::<ReplyPort<Dropped>>::new();
        let (made, returned) = (drops.clone(), back.clone());
        Receive::persistent(&requests, move |reply: ReplyPort<Dropped>| {
            if let Err(unwanted) = reply.post(made.make()) {
                drop(unwanted.into_item());
                returned.push(());
            }
        })
        .activate(queue)
        .unwrap();
        let got = in_parallel(2, move |number| {
            let mut got = 0;
            for round in 0..EACH {
                let (to, answer) = reply();
                requests.post(to).unwrap();
                if (round + number).is_multiple_of(2) {
                    drop(answer);
                } else {
                    got += usize::from(wait_blocking(answer).unwrap().is_ok());
                }
            }
            got
        });
        dispatcher.wait_idle();
        assert_eq!(got.into_iter().sum::<usize>(), EACH);
        assert_eq!((drops.made(), drops.dropped()), (2 * EACH, 2 * EACH));
        assert!(back.take().len() <= EACH);
    });
}

/// What may happen to the two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Answer,
    DropPort,
    Poll,
    DropReply,
}

proptest! {
    #[test]
    fn prop_sem_g260_ends_used_and_dropped_in_any_order_leak_nothing(
        acts in proptest::collection::vec(
            prop_oneof![
                Just(Act::Answer),
                Just(Act::DropPort),
                Just(Act::Poll),
                Just(Act::DropReply)
            ],
            0..8,
        )
    ) {
        let drops = Drops::new();
        let (wakes, waker) = Wakes::new();
        let (to, answer) = reply::<Dropped>();
        let (mut to, mut answer): (Option<ReplyPort<_>>, Option<Reply<_>>) =
            (Some(to), Some(answer));
        let (mut answered, mut waited) = (false, false);
        for act in acts {
            match act {
                Act::Answer => if let Some(to) = to.take() {
                    let given = to.post(drops.make());
                    prop_assert_eq!(given.is_ok(), answer.is_some());
                    answered = given.is_ok();
                },
                Act::DropPort => drop(to.take()),
                Act::Poll => if let Some(asker) = &mut answer {
                    match poll(asker, &waker) {
                        Poll::Pending => {
                            prop_assert!(to.is_some());
                            waited = true;
                        }
                        Poll::Ready(result) => {
                            prop_assert_eq!(result.is_ok(), answered);
                            answer = None;
                        }
                    }
                },
                Act::DropReply => drop(answer.take()),
            }
        }
        let news = to.is_none() && waited && wakes.count() > 0;
        prop_assert!(wakes.count() <= 1);
        prop_assert!(news || wakes.count() == 0);
        drop((to, answer));
        prop_assert_eq!(drops.made(), drops.dropped());
    }
}
