//! Behaviours of DSS around answers, notifications, partners and stored states.

use crate::clerk::{Beats, ClerkClient, ShopClerk, node_with, replay};
use crate::shop::{self, CornerShop, Line, ShopRequest, everywhere, replay_with, replayed, shop};
use motet_dispatch::{Causality, QueueConfig, Replay};
use motet_ports::timer::sleep;
use motet_ports::{Port, Receive};
use motet_service::system::{DebugClient, LogFilter, LogsClient};
use motet_service::{
    Create, Cx, Event, Fault, FaultCode, Folder, Persist, Service, Slow, State, Subscribe,
    contract, data,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn dss_026_a_call_has_one_answer() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        let before = node.find("/shop").unwrap().figures();
        for n in 1..=300 {
            let answer = shop.upsert(Line::new("figs", n)).await;
            assert_eq!(answer, Ok(()));
            assert_eq!(shop.count("figs".into()).await, Ok(n));
        }
        let after = node.find("/shop").unwrap().figures();
        assert_eq!((after.calls - before.calls, after.late), (600, 0));
    });
}

#[test]
fn operations_that_are_skipped_give_their_room_back() {
    replayed(async |node| {
        let create = Create::<CornerShop>::of().at("/shop").depth(2);
        let shop = node.create(create).await.unwrap();
        let busy = std::future::IntoFuture::into_future(shop.add_slowly(10));
        sleep(MS).await;
        let order = Causality::new("order").skipping_unstarted();
        for n in 0..2 {
            order.run(|| shop.post(ShopRequest::AddSlowly(n)).unwrap());
            order.run(|| shop.post(ShopRequest::CountSlowly(n)).unwrap());
        }
        order.cancel("nobody wants them");
        busy.await.unwrap();
        sleep(20 * MS).await;
        let figures = node.find("/shop").unwrap().figures();
        assert_eq!((figures.changes_waiting, figures.reads_waiting), (0, 0));
        shop.upsert(Line::new("figs", 1)).await.unwrap();
        assert_eq!(shop.count("slow".into()).await, Ok(2), "they did not run");
    });
}

#[test]
fn what_ends_a_service_is_not_skipped() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let busy = std::future::IntoFuture::into_future(shop.add_slowly(10));
        sleep(MS).await;
        let order = Causality::new("order").skipping_unstarted();
        let ends = order.run(|| std::future::IntoFuture::into_future(shop.drop_service()));
        // The end is claimed, and waits for the change.
        sleep(MS).await;
        order.cancel("nobody wants it");
        busy.await.unwrap();
        assert_eq!(ends.await, Ok(()));
        let fault = shop.get().within(100 * MS).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Gone, "{fault}");
    });
}

#[data]
#[derive(Default)]
struct Powder {}

#[contract(uri = "test:bombs/1", state = Powder)]
trait Bombs {
    async fn explode(self);
}

#[derive(Service)]
#[service(contract = Bombs, stop = fizzle)]
struct Bomb {
    #[state]
    powder: State<Powder>,
}

impl Bomb {
    async fn fizzle(self, _: &Cx) {
        panic!("it fizzles")
    }
}

impl Bombs for Bomb {
    async fn explode(self) {
        panic!("it explodes")
    }
}

#[test]
fn sem_g377_a_panic_at_the_end_of_a_service_is_told() {
    replay(async |node| {
        let heard = Port::new();
        let hears = heard.clone();
        let order = Causality::new("order").on_exception(move |exception| {
            hears.post(exception.message().to_owned()).unwrap();
            Ok(())
        });
        let bomb = node.create(Create::<Bomb>::of()).await.unwrap();
        order.run(|| bomb.post(BombsRequest::Explode(())).unwrap());
        assert_eq!(heard.recv().await, "it explodes");
        let bomb = node.create(Create::<Bomb>::of()).await.unwrap();
        let exploded = bomb.explode().capture().await.unwrap_err();
        assert!(exploded.reason().contains("it explodes"), "{exploded}");
        let bomb = node.create(Create::<Bomb>::of()).await.unwrap();
        let fizzled = bomb.drop_service().await.unwrap_err();
        assert!(fizzled.reason().contains("it fizzles"), "{fizzled}");
        sleep(MS).await;
        let log: LogsClient = node.client("/sys/log").unwrap();
        let filter = LogFilter {
            category: Some("panic".to_owned()),
            ..LogFilter::default()
        };
        let texts: Vec<String> = log
            .read(filter)
            .await
            .unwrap()
            .into_iter()
            .map(|entry| entry.text)
            .collect();
        let twice = "the handler panicked: it explodes";
        assert_eq!(texts, [twice, twice, "the stop panicked: it fizzles"]);
        let debug: DebugClient = node.client("/sys/debug").unwrap();
        let kept = debug.get().await.unwrap();
        assert_eq!(kept.captured.len(), 1);
        assert_eq!(kept.captured[0].fault, Some(exploded.to_string()));
    });
}

#[test]
fn dss_032_nothing_is_kept_of_a_one_way_operation() {
    everywhere(async |node| {
        let shop = shop(&node).await;
        let kept = Arc::new(());
        let hears = Arc::clone(&kept);
        let order = Causality::new("order").on_exception(move |_| {
            let _held = &hears;
            Ok(())
        });
        for n in 0..10 {
            let line = Line::new("figs", n);
            order.run(|| shop.post(ShopRequest::Upsert(line)).unwrap());
        }
        drop(order);
        // A read comes after the changes of its client.
        assert_eq!(shop.count("figs".into()).await, Ok(9));
        while Arc::strong_count(&kept) > 1 {
            sleep(MS).await;
        }
        let figures = node.find("/shop").unwrap().figures();
        assert_eq!((figures.changes_waiting, figures.late), (0, 0));
    });
}

#[test]
fn dss_038_handlers_of_a_subscription_of_ones_own_may_overlap() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("beside"));
    replay_with(&replay, &shop::node(&replay), move |node| {
        let queue = queue.clone();
        async move {
            let shop = shop(&node).await;
            let told = shop.subscribe(Subscribe::all()).await.unwrap();
            let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let seen = Arc::clone(&most);
            let handler = move |_| {
                let (running, seen) = (Arc::clone(&running), Arc::clone(&seen));
                async move {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    seen.fetch_max(now, Ordering::SeqCst);
                    sleep(10 * MS).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                }
            };
            let receive = Receive::persistent_async(told.port(), handler);
            let receive = receive.activate(&queue).unwrap();
            shop.add(1).await.unwrap();
            shop.add(1).await.unwrap();
            sleep(50 * MS).await;
            assert_eq!(most.load(Ordering::SeqCst), 2, "they are in no interleave");
            receive.cleanup();
        }
    });
}

#[test]
fn dss_049_what_does_not_fit_json_is_a_fault_of_the_sender() {
    #[motet_service::data]
    struct Board {
        fields: std::collections::BTreeMap<(u8, u8), u8>,
    }
    let board = Board {
        fields: [((1, 2), 3)].into(),
    };
    let fault = motet_service::macros::to_value(&(1, f64::NAN)).unwrap_err();
    assert!(fault.reason().contains("1 is NaN"), "{fault}");
    let fault: Fault = motet_service::macros::to_value(&board).unwrap_err();
    assert!(fault.reason().contains("Board"), "{fault}");
    assert!(fault.reason().contains("JSON"), "{fault}");
}

#[test]
fn dss_058_a_subscriber_that_is_gone_is_forgotten() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let stays = shop.subscribe(Subscribe::all()).await.unwrap();
        // One that goes without a word, one whose queue is full and ends.
        drop(shop.subscribe(Subscribe::all()).await.unwrap());
        let full = Subscribe::all().limit(1, Slow::End);
        let full = shop.subscribe(full).await.unwrap();
        for _ in 0..3 {
            shop.add(1).await.unwrap();
        }
        let left = shop.lookup().await.unwrap().subscriptions;
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(stays.item_count(), 3);
        drop(full);
    });
}

#[test]
fn dss_066_a_notification_says_what_it_is_and_wants_no_answer() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let told = shop.subscribe(Subscribe::all()).await.unwrap();
        let version = shop.get().await.unwrap().version;
        shop.add(1).await.unwrap();
        let first = told.recv().await;
        assert_eq!((first.name(), first.version), ("add", version + 1));
        assert!(matches!(first.event, Event::Operation(_)));
    });
}

#[test]
fn dss_074_partners_and_state_are_there_when_the_start_runs() {
    replay(async |node| {
        // The start of the clerk subscribes to its partner, which is created later.
        let (to, created) = motet_ports::reply();
        let later = node.clone();
        let creating = async move {
            let state = Beats { beats: 40, seen: 2 };
            let clerk = Create::<ShopClerk>::of().at("/clerk").state(&state);
            to.post(later.create(clerk).await.map(drop)).unwrap();
        };
        motet_dispatch::spawn(&node.queue(), creating).unwrap();
        sleep(50 * MS).await;
        let shop = node
            .create(Create::<CornerShop>::of().at("/shop"))
            .await
            .unwrap();
        created.await.unwrap().unwrap();
        shop.upsert(Line::new("apples", 1)).await.unwrap();
        sleep(MS).await;
        let clerk: ClerkClient = node.client("/clerk").unwrap();
        let state = clerk.get().await.unwrap();
        assert_eq!((state.beats, state.seen), (40, 3));
    });
}

fn stored() -> Create<CornerShop> {
    Create::of().at("/shop").persist(Persist::Each)
}

#[test]
fn dss_087_a_crash_while_the_state_is_stored_leaves_the_old_one() {
    let folder = std::env::temp_dir().join(format!("motet-torn-{}", std::process::id()));
    let run = |test: fn(motet_service::Node) -> _| {
        let replay = Replay::new(1);
        let node = node_with(&replay, Folder::open(&folder).unwrap());
        replay_with(&replay, &node, test);
    };
    run(move |node| {
        Box::pin(async move {
            let shop = node.create(stored()).await.unwrap();
            shop.upsert(Line::new("figs", 7)).await.unwrap();
        }) as std::pin::Pin<Box<dyn Future<Output = ()> + Send>>
    });
    // What a crash leaves: half of the next state, which had not taken the place of the old one.
    std::fs::write(folder.join("shop.new"), b"{\"contract\": \"test:sh").unwrap();
    run(move |node| {
        Box::pin(async move {
            let shop = node.create(stored()).await.unwrap();
            assert_eq!(shop.count("figs".into()).await, Ok(7));
            shop.upsert(Line::new("figs", 8)).await.unwrap();
        })
    });
    std::fs::remove_dir_all(&folder).unwrap();
}
