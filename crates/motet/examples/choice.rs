//! A reply, a failure or a timeout: whichever comes first, and nothing of the others is lost.
//!
//! ```text
//!  client ── question ──► server        Choice: (replies) │ (failures) │ 20 ms
//!         ◄── reply ─────               exactly one handler runs
//! ```

use motet::{Choice, Dispatcher, Enqueue, Port, QueueConfig, Receive, select, spawn};
use std::time::Duration;

/// What became of a question.
#[derive(Debug, PartialEq)]
enum Outcome {
    Reply(u64),
    Failure(&'static str),
    Timeout,
}

/// Where a question's outcome comes: one of the two, or never.
#[derive(Clone)]
struct Answer {
    replies: Port<u64>,
    failures: Port<&'static str>,
}

fn main() {
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("client"));
    let patience = Duration::from_millis(20);

    // With handlers: as a task of the queue.
    for (question, outcome) in [
        (6, Outcome::Reply(36)),
        (0, Outcome::Failure("nothing to square")),
        (13, Outcome::Timeout),
    ] {
        let (answer, outcomes) = (ask(question), Port::new());
        let (well, badly, never) = (outcomes.clone(), outcomes.clone(), outcomes.clone());
        Choice::new()
            .or(Receive::once(&answer.replies, move |n| {
                well.post(Outcome::Reply(n)).expect("nobody refuses");
            }))
            .or(Receive::once(&answer.failures, move |why| {
                badly.post(Outcome::Failure(why)).expect("nobody refuses");
            }))
            .after(patience, move || {
                never.post(Outcome::Timeout).expect("nobody refuses");
            })
            .activate(&queue)
            .expect("the queue is open");
        let came = block_on(&queue, &outcomes);
        println!("{question}: {came:?}");
        assert_eq!(came, outcome);
        // A reply that comes too late stays in its port.
        if came == Outcome::Timeout {
            answer.replies.post(169).expect("nobody refuses");
            dispatcher.wait_idle();
            assert_eq!(answer.replies.test(), Some(169));
        }
    }

    // The waiting form: in an async handler, as a value.
    let (answer, outcomes) = (ask(7), Port::new());
    let told = outcomes.clone();
    spawn(&queue.handle(), async move {
        let outcome = select()
            .recv(&answer.replies, Outcome::Reply)
            .recv(&answer.failures, Outcome::Failure)
            .after(patience, || Outcome::Timeout)
            .await;
        told.post(outcome).expect("nobody refuses");
    })
    .expect("the queue is open");
    assert_eq!(block_on(&queue, &outcomes), Outcome::Reply(49));
    println!("7: awaited");
}

/// Asks for a square. The server knows no 13.
fn ask(question: u64) -> Answer {
    let answer = Answer {
        replies: Port::new(),
        failures: Port::new(),
    };
    match question {
        0 => answer.failures.post("nothing to square"),
        13 => Ok(()),
        n => {
            answer.replies.post(n * n).expect("nobody refuses");
            Ok(())
        }
    }
    .expect("nobody refuses");
    answer
}

/// Waits on this thread, which belongs to no dispatcher, for what comes to `port`.
fn block_on<T: Send + 'static>(queue: &impl Enqueue, port: &Port<T>) -> T {
    let (tell, told) = std::sync::mpsc::channel();
    Receive::once(port, move |item| tell.send(item).expect("main waits"))
        .activate(queue)
        .expect("the queue is open");
    told.recv().expect("the handler runs")
}
