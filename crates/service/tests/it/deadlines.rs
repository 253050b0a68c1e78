//! Calls end in time.

use crate::clerk::{self, ShopClerk};
use crate::each_way::each_way;
use crate::shop::{CornerShop, Line, ShopRequest, node, replay_with, replayed, shop};
use crate::ways;
use motet_dispatch::{Dispatcher, Replay, spawn};
use motet_ports::timer::sleep;
use motet_service::system::DebugClient;
use motet_service::{Create, Cx, Fault, FaultCode, Node, Service, State, contract, data};
use std::future::IntoFuture;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn dss_027_an_answer_that_does_not_come_in_time() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let clock = node.queue().clock();
        let begun = clock.now();
        let fault = shop
            .count_slowly(10_000)
            .within(100 * MS)
            .await
            .unwrap_err();
        assert_eq!(fault.code(), FaultCode::ResponseTimeout);
        let took = clock.now() - begun;
        assert!(took >= 100 * MS && took < 110 * MS, "{took:?}");
    });
    each_way(ways::an_answer_that_does_not_come_in_time);
}

#[test]
fn dss_028_a_late_answer_disturbs_nobody() {
    each_way(ways::a_late_answer_disturbs_nobody);
}

#[test]
fn sem_g520_what_is_posted_is_carried_out_however_long_it_waits() {
    replayed(async |node| {
        let shop = shop(&node).await;
        for _ in 0..3 {
            // The second and the third wait longer than a call may take.
            shop.post(ShopRequest::AddSlowly(40_000)).unwrap();
        }
        sleep(Duration::from_secs(130)).await;
        assert_eq!(shop.count("slow".into()).await, Ok(6));
    });
}

#[data]
#[derive(Default)]
struct Notes {
    notes: u64,
}

#[contract(uri = "test:ringer/1", state = Notes)]
trait Ringers {
    /// Posts `ask` to the other, and ends.
    #[update]
    fn ring(&mut self, other: String, cx: &Cx) -> Result<(), Fault>;
    /// Has the other note something, and waits for it.
    #[update]
    async fn ask(&mut self, other: String, cx: &Cx) -> Result<(), Fault>;
    #[update]
    fn note(&mut self);
}

#[derive(Service)]
#[service(contract = Ringers, name = "ringer")]
struct Ringer {
    #[state]
    notes: State<Notes>,
}

impl Ringers for Ringer {
    fn ring(&mut self, other: String, cx: &Cx) -> Result<(), Fault> {
        let other: RingersClient = cx.client(&other)?;
        other.post(RingersRequest::Ask(cx.path().to_owned()))
    }
    async fn ask(&mut self, other: String, cx: &Cx) -> Result<(), Fault> {
        let other: RingersClient = cx.client(&other)?;
        other.note().await
    }
    fn note(&mut self) {
        self.notes.notes += 1;
    }
}

#[test]
fn sem_g520_what_is_posted_may_call_whoever_has_posted_it() {
    let replay = Replay::new(1);
    let builder = Node::builder("ringers").register::<Ringer>();
    let node = builder.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let here = node.create(Create::<Ringer>::of().at("/here")).await;
        let here = here.unwrap();
        let there = node.create(Create::<Ringer>::of().at("/there")).await;
        there.unwrap();
        here.ring("/there".into()).await.unwrap();
        sleep(MS).await;
        assert_eq!(here.get().await.unwrap().notes, 1);
    });
}

#[test]
fn dss_029_without_a_limit_the_node_has_one() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let clock = node.queue().clock();
        let begun = clock.now();
        let fault = shop.compute(3_600_000).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::ResponseTimeout);
        let took = clock.now() - begun;
        assert!(
            took >= Duration::from_secs(30) && took < Duration::from_secs(31),
            "{took:?}"
        );
    });
}

#[test]
fn sem_g379_a_call_may_have_all_the_time_there_is() {
    replayed(async |node| {
        let shop = shop(&node).await;
        shop.upsert(Line::new("figs", 1))
            .within(Duration::MAX)
            .await
            .unwrap();
        assert_eq!(shop.count("figs".into()).within(Duration::MAX).await, Ok(1));
    });
}

#[test]
fn sem_g379_a_node_may_give_its_calls_all_the_time_there_is() {
    let replay = Replay::new(1);
    let builder = Node::builder("patient").register::<CornerShop>();
    let node = builder.limit(Duration::MAX).start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let shop = shop(&node).await;
        assert_eq!(shop.count("apples".into()).await, Ok(3));
    });
}

#[test]
fn sem_g379_a_call_in_the_line_that_is_over_never_runs() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let busy = shop.add_slowly(500).into_future();
        sleep(MS).await;
        let late = shop.upsert(Line::new("late", 1)).within(100 * MS).await;
        assert_eq!(late.unwrap_err().code(), FaultCode::ResponseTimeout);
        busy.await.unwrap();
        sleep(MS).await;
        assert!(shop.count("late".into()).await.is_err());
    });
}

#[test]
fn sem_g380_calls_with_deadlines_share_a_timer() {
    let replay = Replay::new(1);
    replay_with(&replay, &node(&replay), async |node| {
        let shop = shop(&node).await;
        for _ in 0..1000 {
            shop.add(1).within(Duration::from_secs(10)).await.unwrap();
        }
    });
    assert!(replay.timers() <= 2, "{} timers", replay.timers());
}

#[test]
fn sem_g380_short_waits_beside_a_long_one_leave_no_timers() {
    let replay = Replay::new(1);
    replay_with(&replay, &node(&replay), async |node| {
        let shop = shop(&node).await;
        let long = shop.count_slowly(10_000);
        let long = long.within(Duration::from_secs(1_000_000)).into_future();
        let long = async move { assert_eq!(long.await, Ok(7)) };
        spawn(&node.queue(), long).unwrap();
        for _ in 0..100 {
            let count = shop.count("apples".into()).within(10 * MS);
            assert_eq!(count.await, Ok(3));
            sleep(20 * MS).await;
        }
    });
    // Those of the long wait are left, though it was answered: they are for later.
    assert!(replay.timers() <= 4, "{} timers", replay.timers());
}

#[test]
fn dss_027_with_real_threads() {
    let dispatcher = Dispatcher::new(2);
    let node = node(&dispatcher);
    motet_ports::wait_blocking(async {
        let shop = shop(&node).await;
        let fault = shop.count_slowly(60_000).within(20 * MS).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::ResponseTimeout);
        let fault = shop.add_slowly(100).within(20 * MS).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::ResponseTimeout);
    })
    .unwrap();
}

#[test]
fn dss_034_to_036_sem_g366_reads_together_changes_alone() {
    each_way(ways::reads_together_changes_alone);
    replayed(async |node| {
        let shop = shop(&node).await;
        let clock = node.queue().clock();
        let begun = clock.now();
        let both = [shop.count_slowly(100), shop.count_slowly(100)].map(IntoFuture::into_future);
        for call in both {
            call.await.unwrap();
        }
        assert!(clock.now() - begun < 150 * MS, "two reads run together");
        let begun = clock.now();
        let both = [shop.add_slowly(100), shop.add_slowly(100)].map(IntoFuture::into_future);
        // An independent one runs beside them.
        assert_eq!(shop.compute(1).await, Ok(2));
        assert!(clock.now() - begun < 50 * MS);
        for call in both {
            call.await.unwrap();
        }
        assert!(clock.now() - begun >= 200 * MS, "two changes do not");
        let slow = shop.add_slowly(100).into_future();
        sleep(MS).await;
        let read = shop.get().await.unwrap();
        assert_eq!(read.items["slow"], 6, "nor does a read beside a change");
        slow.await.unwrap();
    });
}

#[test]
fn sem_g426_who_waits_for_whom_is_told() {
    clerk::replay(async |node| {
        let shop = shop(&node).await;
        let clerk = node.create(Create::<ShopClerk>::of()).await.unwrap();
        let debug: DebugClient = node.client("/sys/debug").unwrap();
        assert_eq!(debug.waiting().await.unwrap().len(), 0);
        let busy = shop.add_slowly(100).into_future();
        let apples = clerk.apples().within(2000 * MS).into_future();
        sleep(40 * MS).await;
        let waiting = debug.waiting().await.unwrap();
        let [wait] = waiting.as_slice() else {
            panic!("{waiting:?}")
        };
        assert_eq!((&*wait.from, &*wait.to), ("/shop-clerk", "/shop"));
        assert_eq!((wait.for_ms, wait.left_ms), (40, 1960));
        busy.await.unwrap();
        assert_eq!(apples.await, Ok(3));
        assert_eq!(debug.waiting().await.unwrap().len(), 0);
    });
}
