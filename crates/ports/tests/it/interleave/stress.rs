//! Random mixes from many threads: nobody is where somebody is alone, and nothing is lost.

use crate::support::{in_parallel, take_all};
use motet_dispatch::{Dispatcher, QueueConfig};
use motet_ports::{Fairness, Interleave, Port, Receive};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{Log, patience, within};

const POSTERS: usize = 8;

/// A poster and the number of its item.
type Item = (usize, u32);

/// Who is inside: one for each concurrent handler, many for an exclusive one.
#[derive(Clone, Default)]
struct Inside(Arc<AtomicUsize>);

const ALONE: usize = 1 << 20;

impl Inside {
    fn together<R>(&self, body: impl FnOnce() -> R) -> R {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        assert!(before < ALONE, "beside an exclusive handler");
        let _left = Left(self, 1);
        body()
    }

    fn alone<R>(&self, body: impl FnOnce() -> R) -> R {
        let before = self.0.fetch_add(ALONE, Ordering::SeqCst);
        assert_eq!(before, 0, "beside others");
        let _left = Left(self, ALONE);
        body()
    }
}

/// Also when the body panics.
struct Left<'a>(&'a Inside, usize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(self.1, Ordering::SeqCst);
    }
}

/// A number from 0 to `below`, the same in each run.
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

fn seed(of: usize) -> u64 {
    0x9E37_79B9_7F4A_7C15 ^ (of as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03)
}

/// Gives way so many times.
async fn waits(mut turns: u32) {
    std::future::poll_fn(move |cx| {
        if turns == 0 {
            return std::task::Poll::Ready(());
        }
        turns -= 1;
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// Concurrent and exclusive members, plain and async in turn; some handlers panic.
fn mixed(ports: &[Port<Item>; 4], inside: &Inside, handled: &Log<(usize, Item)>) -> Interleave {
    let [one, two, three, four] = [(); 4].map(|()| (inside.clone(), handled.clone()));
    Interleave::new()
        .concurrent(Receive::persistent(&ports[0], move |item: Item| {
            one.0.together(|| one.1.push((0, item)));
        }))
        .exclusive(Receive::persistent(&ports[1], move |item: Item| {
            two.0.alone(|| {
                two.1.push((1, item));
                assert!(!item.1.is_multiple_of(7), "as it should");
            });
        }))
        .concurrent(Receive::persistent_async(&ports[2], move |item: Item| {
            let (inside, handled) = three.clone();
            async move {
                inside.0.fetch_add(1, Ordering::SeqCst);
                let _left = Left(&inside, 1);
                waits(item.1 % 3).await;
                assert!(inside.0.load(Ordering::SeqCst) < ALONE);
                handled.push((2, item));
                assert!(!item.1.is_multiple_of(7), "as it should");
            }
        }))
        .exclusive(Receive::persistent_async(&ports[3], move |item: Item| {
            let (inside, handled) = four.clone();
            async move {
                inside.0.fetch_add(ALONE, Ordering::SeqCst);
                let _left = Left(&inside, ALONE);
                waits(item.1 % 3).await;
                assert_eq!(inside.0.load(Ordering::SeqCst), ALONE);
                handled.push((3, item));
            }
        }))
}

#[test]
fn ccr_086_sem_g286_random_mixes_keep_exclusive_handlers_alone() {
    const ITEMS: u32 = 400;
    for (fairness, threads) in [
        (Fairness::ExclusiveFirst, 2),
        (Fairness::Alternate, 2),
        (Fairness::ExclusiveFirst, 8),
        (Fairness::Alternate, 8),
    ] {
        within(patience(), move || {
            let dispatcher = Dispatcher::new(threads);
            let queue = dispatcher.queue(QueueConfig::default());
            let ports: [Port<Item>; 4] = [(); 4].map(|()| Port::new());
            let (inside, handled, panics) = (Inside::default(), Log::new(), Log::new());
            let told = panics.clone();
            queue.on_exception(move |exception| told.push(exception.message().to_owned()));
            mixed(&ports, &inside, &handled)
                .fairness(fairness)
                .activate(&queue)
                .unwrap();
            // What waits when it begins is taken port by port.
            dispatcher.wait_idle();
            in_parallel(POSTERS, move |poster| {
                let mut seed = seed(poster);
                for n in 0..ITEMS {
                    let port = usize::try_from(random(&mut seed, 4)).unwrap();
                    ports[port].post((poster, n)).unwrap();
                }
            });
            dispatcher.wait_idle();
            assert!(
                panics
                    .take()
                    .iter()
                    .all(|message| message == "as it should")
            );
            let handled = handled.take();
            assert_eq!(handled.len(), POSTERS * ITEMS as usize);
            // One order over both exclusive ports: that of each poster.
            for poster in 0..POSTERS {
                let exclusive = handled.iter().filter(|(port, _)| port % 2 == 1);
                let own = exclusive
                    .filter(|(_, item)| item.0 == poster)
                    .map(|(_, item)| item.1);
                assert!(own.is_sorted(), "poster {poster}");
            }
        });
    }
}

#[test]
fn sem_g288_exclusive_items_of_many_posters_keep_their_order_and_leave_nothing() {
    const ITEMS: u32 = 5_000;
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let queue = dispatcher.queue(QueueConfig::default());
        let (port, inside, handled) = (Port::new(), Inside::default(), Log::new());
        let log = handled.clone();
        let active = Interleave::new()
            .exclusive(Receive::persistent(&port, move |item: Item| {
                inside.alone(|| log.push(item));
            }))
            .activate(&queue)
            .unwrap();
        let posting = port.clone();
        in_parallel(POSTERS, move |poster| {
            (0..ITEMS).for_each(|n| posting.post((poster, n)).unwrap());
        });
        dispatcher.wait_idle();
        let handled = handled.take();
        for poster in 0..POSTERS {
            let own = handled
                .iter()
                .filter(|item| item.0 == poster)
                .map(|item| item.1);
            assert!(own.eq(0..ITEMS));
        }
        assert_eq!((port.item_count(), active.exclusive_waiting()), (0, 0));
    });
}

#[test]
fn sem_g290_a_teardown_in_the_middle_of_everything_loses_and_doubles_nothing() {
    const ITEMS: u32 = 200;
    for round in 0..30 {
        within(patience(), move || {
            let dispatcher = Dispatcher::new(1 + round % 4);
            let queue = dispatcher.queue(QueueConfig::default());
            let (concurrent, exclusive, end) = (Port::new(), Port::new(), Port::<()>::new());
            let (inside, handled, ended) = (Inside::default(), Log::new(), Log::new());
            let [one, two] = [(); 2].map(|()| (inside.clone(), handled.clone()));
            let (alone, last, before) = (inside, ended.clone(), handled.clone());
            Interleave::new()
                .concurrent(Receive::persistent(&concurrent, move |item: Item| {
                    one.0.together(|| one.1.push(item));
                }))
                .exclusive(Receive::persistent(&exclusive, move |item: Item| {
                    two.0.alone(|| two.1.push(item));
                }))
                .teardown(Receive::once(&end, move |()| {
                    alone.alone(|| last.push(before.len()));
                }))
                .activate(&queue)
                .unwrap();
            let ports = [concurrent.clone(), exclusive.clone()];
            in_parallel(POSTERS, move |poster| {
                let mut seed = seed(poster + round * POSTERS);
                for n in 0..ITEMS {
                    let port = usize::try_from(random(&mut seed, 2)).unwrap();
                    ports[port].post((poster, n)).unwrap();
                    if random(&mut seed, 400) == 0 {
                        end.post(()).unwrap();
                    }
                }
                if poster == 0 {
                    end.post(()).unwrap();
                }
            });
            dispatcher.wait_idle();
            let mut all = handled.take();
            assert_eq!(
                ended.take(),
                [all.len()],
                "nothing ran after the end, which came once"
            );
            for port in [concurrent, exclusive] {
                let left = take_all(&port);
                // What stayed or came back is in the order of its posters.
                for poster in 0..POSTERS {
                    let own = left
                        .iter()
                        .filter(|item| item.0 == poster)
                        .map(|item| item.1);
                    assert!(own.is_sorted(), "{left:?}");
                }
                all.extend(left);
            }
            all.sort_unstable();
            let posted = (0..POSTERS).flat_map(|poster| (0..ITEMS).map(move |n| (poster, n)));
            assert!(all.into_iter().eq(posted));
        });
    }
}
