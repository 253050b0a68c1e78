//! Services that `/sys/debug` suspends.

use crate::shop::{CornerShop, Line, ShopClient, everywhere, replayed, shop};
use motet_dispatch::{Dispatcher, spawn};
use motet_ports::timer::sleep;
use motet_ports::{reply, wait_blocking, wait_blocking_for};
use motet_service::system::{DebugClient, DebugSteps, DebuggedService};
use motet_service::{Create, Cx, Fault, FaultCode, Node, Service, State, contract, data};
use std::fmt;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn debug(node: &Node) -> DebugClient {
    node.client("/sys/debug").unwrap()
}

fn at(path: &str) -> DebuggedService {
    DebuggedService {
        path: path.to_owned(),
    }
}

fn steps(path: &str, n: usize) -> DebugSteps {
    DebugSteps {
        path: path.to_owned(),
        n,
    }
}

fn code<T: fmt::Debug>(answer: Result<T, Fault>) -> FaultCode {
    answer.unwrap_err().code()
}

#[test]
fn sem_g622_operations_of_a_suspended_service_wait_for_their_steps() {
    everywhere(async |node| {
        let (shop, debug) = (shop(&node).await, debug(&node));
        // From here on they may be carried out where they are called.
        for _ in 0..3 {
            shop.upsert(Line::new("n", 0)).await.unwrap();
            assert_eq!(shop.count("n".into()).await, Ok(0));
            shop.get().await.unwrap();
        }
        let any = node.find("/shop").unwrap();
        let version = any.lookup().version;
        debug.suspend(at("/shop")).await.unwrap();
        let first = shop.upsert(Line::new("n", 1)).into_future();
        let second = shop.add_slowly(1).into_future();
        let third = shop.upsert(Line::new("n", 3)).into_future();
        let count = shop.count("n".into()).into_future();
        let state = shop.get().into_future();
        let apart = shop.compute(1).into_future();
        sleep(2 * MS).await;
        // Whoever debugs is answered meanwhile.
        assert_eq!(shop.lookup().await.unwrap().version, version);
        let figures = any.figures();
        assert_eq!((figures.changes_waiting, figures.reads_waiting), (3, 3));
        let suspended = debug.suspended().await.unwrap();
        assert_eq!((&*suspended[0].path, suspended[0].held), ("/shop", 6));
        assert_eq!(debug.step(steps("/shop", 2)).await, Ok(2));
        first.await.unwrap();
        second.await.unwrap();
        sleep(2 * MS).await;
        let figures = any.figures();
        assert_eq!((figures.changes_waiting, figures.reads_waiting), (1, 3));
        assert_eq!(any.lookup().version, version + 2);
        assert_eq!(debug.resume(at("/shop")).await, Ok(4));
        third.await.unwrap();
        assert_eq!(count.await, Ok(3), "a client reads what it has written");
        assert_eq!(state.await.unwrap().items["n"], 3);
        assert_eq!(apart.await, Ok(2));
        assert!(debug.suspended().await.unwrap().is_empty());
        assert_eq!(shop.count("n".into()).await, Ok(3));
    });
}

#[test]
fn sem_g622_calls_of_a_suspended_service_keep_their_deadlines_and_its_depth() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of().at("/shop").depth(2);
        let (shop, debug) = (node.create(create).await.unwrap(), debug(&node));
        debug.suspend(at("/shop")).await.unwrap();
        let late = shop.upsert(Line::new("late", 1)).within(10 * MS);
        assert_eq!(code(late.await), FaultCode::ResponseTimeout);
        sleep(MS).await;
        let kept = shop.upsert(Line::new("kept", 2)).into_future();
        let more = shop.upsert(Line::new("more", 3)).await;
        assert_eq!(code(more), FaultCode::QueuingLimitExceeded);
        // The one whose caller has gone is no step, and is not carried out.
        assert_eq!(debug.step(steps("/shop", 1)).await, Ok(1));
        kept.await.unwrap();
        assert_eq!(debug.step(steps("/shop", 1)).await, Ok(0));
        assert_eq!(debug.resume(at("/shop")).await, Ok(0));
        let state = shop.get().await.unwrap();
        let names: Vec<&String> = state.items.keys().collect();
        assert_eq!(names, ["kept"]);
    });
}

#[test]
fn sem_g622_what_cannot_be_suspended_is_a_fault() {
    replayed(async |node| {
        let (_shop, debug) = (shop(&node).await, debug(&node));
        for path in ["/sys/log", "/sys/debug", "/sys/directory"] {
            let own = debug.suspend(at(path)).await;
            assert_eq!(code(own), FaultCode::MessageNotSupported);
        }
        let missing = debug.suspend(at("/shopp")).await;
        assert_eq!(code(missing), FaultCode::UnknownService);
        let not_yet = debug.step(steps("/shop", 1)).await;
        assert_eq!(code(not_yet), FaultCode::UnknownEntry);
        assert_eq!(
            code(debug.resume(at("/shop")).await),
            FaultCode::UnknownEntry
        );
        debug.suspend(at("/shop")).await.unwrap();
        let twice = debug.suspend(at("/shop")).await.unwrap_err();
        assert_eq!(twice.code(), FaultCode::DuplicateEntry);
        assert!(twice.reason().contains("`resume`"), "{twice}");
        // By names and JSON one step is one operation.
        let any = node.find("/sys/debug").unwrap();
        let path = motet_service::Value::from_iter([("path", "/shop")]);
        assert_eq!(any.call("step", path).await.unwrap(), 0);
    });
}

#[test]
fn sem_g622_a_suspended_service_that_is_dropped_leaves_nobody_waiting() {
    everywhere(async |node| {
        let (shop, debug) = (shop(&node).await, debug(&node));
        debug.suspend(at("/shop")).await.unwrap();
        let held = shop.upsert(Line::new("n", 1)).into_future();
        let read = shop.count("n".into()).into_future();
        shop.drop_service().await.unwrap();
        assert_eq!(code(held.await), FaultCode::Gone);
        assert_eq!(code(read.await), FaultCode::Gone);
        assert_eq!(code(shop.add(1).await), FaultCode::Gone);
        assert!(debug.suspended().await.unwrap().is_empty());
        let missing = debug.resume(at("/shop")).await;
        assert_eq!(code(missing), FaultCode::UnknownService);
        // The next one at its path is not suspended, and the node ends with one that is.
        let next: ShopClient = crate::shop::shop(&node).await;
        assert_eq!(next.count("apples".into()).await, Ok(3));
        debug.suspend(at("/shop")).await.unwrap();
    });
}

#[test]
fn sem_g622_what_is_independent_goes_on_beside_a_handler_that_has_begun() {
    replayed(async |node| {
        let (shop, debug) = (shop(&node).await, debug(&node));
        let long = shop.add_slowly(50).into_future();
        sleep(MS).await;
        debug.suspend(at("/shop")).await.unwrap();
        let read = shop.count("apples".into()).into_future();
        let apart = shop.compute(1).within(10 * MS).into_future();
        sleep(MS).await;
        assert_eq!(debug.resume(at("/shop")).await, Ok(2));
        let next = shop.compute(2).within(10 * MS).into_future();
        assert_eq!(apart.await, Ok(2));
        assert_eq!(next.await, Ok(4));
        long.await.unwrap();
        assert_eq!(read.await, Ok(3));
    });
}

#[test]
fn sem_g622_nothing_waits_where_the_dispatcher_has_been_stopped() {
    let dispatcher = Dispatcher::new(1);
    let node = crate::shop::node(&dispatcher);
    let suspending = async {
        let shop = shop(&node).await;
        debug(&node).suspend(at("/shop")).await.unwrap();
        shop
    };
    let shop = wait_blocking(suspending).unwrap();
    drop(dispatcher);
    let call = shop.upsert(Line::new("n", 1)).into_future();
    let answer = wait_blocking_for(call, Duration::from_secs(60)).unwrap();
    assert_eq!(code(answer), FaultCode::InsufficientResources);
}

/// What was written down, in its order.
#[data]
#[derive(Default)]
struct WrittenNumbers {
    numbers: Vec<u64>,
}

#[contract(uri = "test:written-numbers/1", state = WrittenNumbers)]
trait Scribe {
    #[update]
    fn write_down(&mut self, number: u64);
}

#[derive(Service)]
#[service(contract = Scribe, name = "scribe")]
struct OneScribe {
    #[state]
    written: State<WrittenNumbers>,
}

impl Scribe for OneScribe {
    fn write_down(&mut self, number: u64) {
        self.written.numbers.push(number);
    }
}

#[derive(Service)]
#[service(contract = Scribe, name = "slow-scribe", start = begin)]
struct SlowScribe {
    #[state]
    written: State<WrittenNumbers>,
}

impl SlowScribe {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        sleep(20 * MS).await;
        Ok(())
    }
}

impl Scribe for SlowScribe {
    fn write_down(&mut self, number: u64) {
        self.written.numbers.push(number);
    }
}

/// Begins to create one at `/slow`, which starts when this ends.
async fn begin_slow_scribe(node: &Node) -> ScribeClient {
    let (there, create) = (node.clone(), Create::<SlowScribe>::of().at("/slow"));
    let creating = async move { drop(there.create(create).await.unwrap()) };
    spawn(&node.queue(), creating).unwrap();
    sleep(MS).await;
    node.client("/slow").unwrap()
}

#[test]
fn sem_g622_a_service_that_is_suspended_while_it_starts_has_all_wait_in_their_order() {
    replayed(async |node| {
        let (scribe, debug) = (begin_slow_scribe(&node).await, debug(&node));
        let first = scribe.write_down(1).into_future();
        debug.suspend(at("/slow")).await.unwrap();
        let second = scribe.write_down(2).into_future();
        assert_eq!(debug.step(steps("/slow", 1)).await, Ok(0), "it starts");
        sleep(50 * MS).await;
        let third = scribe.write_down(3).into_future();
        assert_eq!(debug.suspended().await.unwrap()[0].held, 3);
        assert_eq!(debug.step(steps("/slow", 1)).await, Ok(1));
        first.await.unwrap();
        assert_eq!(debug.resume(at("/slow")).await, Ok(2));
        second.await.unwrap();
        third.await.unwrap();
        assert_eq!(scribe.get().await.unwrap().numbers, [1, 2, 3]);
    });
}

#[test]
fn sem_g622_what_a_service_that_starts_is_asked_for_goes_on_when_it_serves() {
    replayed(async |node| {
        let (scribe, debug) = (begin_slow_scribe(&node).await, debug(&node));
        debug.suspend(at("/slow")).await.unwrap();
        let first = scribe.write_down(1).into_future();
        assert_eq!(debug.resume(at("/slow")).await, Ok(1));
        let second = scribe.write_down(2).into_future();
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(scribe.get().await.unwrap().numbers, [1, 2]);
    });
}

#[test]
fn sem_g622_suspending_and_resuming_loses_nothing_and_keeps_the_order() {
    const MANY: u64 = 20_000;
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = motet_dispatch::Dispatcher::new(2);
        let builder = Node::builder("scribes").register::<OneScribe>();
        let node = builder.start(&dispatcher).unwrap();
        let ended = motet_ports::wait_blocking(async {
            let create = Create::<OneScribe>::of().depth(2 * MANY as usize);
            let scribe = node.create(create).await.unwrap();
            let debug = debug(&node);
            let (to, ended) = reply();
            let poster = scribe.clone();
            let posting = async move {
                for number in 0..MANY {
                    let request = ScribeRequest::WriteDown(number);
                    poster.post(request).unwrap();
                }
                to.post(()).unwrap();
            };
            spawn(&node.queue(), posting).unwrap();
            for n in 0..200 {
                debug.suspend(at("/scribe")).await.unwrap();
                debug.step(steps("/scribe", n % 7)).await.unwrap();
                debug.resume(at("/scribe")).await.unwrap();
            }
            ended.await.unwrap();
            scribe.get().await.unwrap().numbers.clone()
        });
        let numbers = ended.unwrap();
        assert!(numbers.into_iter().eq(0..MANY));
    });
}
