//! Jobs, and ranks behind them.

use crate::shop::{replay_with, replayed, shop};
use motet_comm::{CommError, ExactSum, World};
use motet_dispatch::{
    Causality, Dispatcher, DispatcherQueue, Enqueue, ExecutionPolicy, QueueConfig, Replay, spawn,
};
use motet_ports::timer::sleep;
use motet_ports::{ReplyPort, reply};
use motet_service::system::{JobClient, JobStatus};
use motet_service::{
    Create, Cx, Event, Fault, FaultCode, Host, Node, Service, State, Subscribe, contract, data,
};
use std::collections::HashSet;
use std::future::{Future, IntoFuture};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[test]
fn sem_g394_a_job_goes_on_after_its_caller_was_answered() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let job: JobClient = node.client(&shop.sum(10).await.unwrap().path).unwrap();
        let begun = job.get().await.unwrap();
        assert_eq!((begun.operation.as_str(), &begun.goal), ("sum", &10.into()));
        assert_eq!(begun.status, JobStatus::Running);
        let told = job
            .subscribe(Subscribe::all().operation("finish"))
            .await
            .unwrap();
        sleep(Duration::from_millis(55)).await;
        assert_eq!(job.get().await.unwrap().progress, 0.5);
        assert!(matches!(told.recv().await.event, Event::Operation(_)));
        let ended = job.get().await.unwrap();
        assert_eq!(
            (ended.status, ended.result.clone()),
            (JobStatus::Done, Some(55.into()))
        );
    });
}

#[test]
fn sem_g395_a_job_that_is_cancelled_ends_where_it_waits() {
    replayed(async |node| {
        let shop = shop(&node).await;
        let job: JobClient = node.client(&shop.sum(1000).await.unwrap().path).unwrap();
        sleep(Duration::from_millis(55)).await;
        job.cancel().await.unwrap();
        let progress = job.get().await.unwrap().progress;
        sleep(Duration::from_secs(20)).await;
        let ended = job.get().await.unwrap();
        assert_eq!(
            (ended.status, ended.progress),
            (JobStatus::Cancelled, progress)
        );
        assert_eq!(
            job.cancel().await.unwrap_err().code(),
            FaultCode::UnknownEntry
        );
    });
}

#[test]
fn sem_g395_a_job_whose_caller_is_cancelled_ends() {
    replayed(async |node| {
        let shop = shop(&node).await;
        // At once, it may be before the job has begun; and later.
        for later in [0, 15] {
            let order = Causality::new("order").skipping_unstarted();
            let job = order.wrap(async { shop.sum(3).await }).await.unwrap();
            if later > 0 {
                sleep(Duration::from_millis(later)).await;
            }
            order.cancel("nobody wants it");
            sleep(Duration::from_millis(100)).await;
            let job: JobClient = node.client(&job.path).unwrap();
            let ended = job.get().await.unwrap();
            assert_eq!(ended.status, JobStatus::Failed);
            let fault = ended.fault.as_ref().unwrap();
            assert_eq!(fault.code(), FaultCode::OperationCanceled, "{fault}");
        }
    });
}

#[data]
#[derive(Default)]
pub(crate) struct Nothing {}

#[contract(uri = "test:sums/1", state = Nothing)]
pub(crate) trait Sums {
    /// The sum of the numbers below, by ranks.
    #[submit(job)]
    async fn below(cx: Cx, limit: u64) -> Result<u64, Fault>;
    #[submit(job)]
    async fn fails(cx: Cx) -> Result<u64, Fault>;
    /// Reports so often, and never waits.
    #[submit(job)]
    async fn chatters(cx: Cx, times: u64) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Sums)]
pub(crate) struct RankSums {
    #[state]
    nothing: State<Nothing>,
}

impl Sums for RankSums {
    async fn below(cx: Cx, limit: u64) -> Result<u64, Fault> {
        let sums = cx
            .ranks(World::threads(2))
            .profile()
            .run(async move |comm| {
                let mine: u64 = (0..limit).filter(|n| n % 2 == comm.rank() as u64).sum();
                comm.allreduce(mine, |a, b| a + b).await
            });
        Ok(sums.await?[0])
    }
    async fn fails(cx: Cx) -> Result<u64, Fault> {
        let sums = cx
            .ranks(World::threads(2))
            .run(async |comm| -> Result<u64, CommError> {
                // Nobody sends.
                comm.recv(1 - comm.rank(), 7).await
            });
        Ok(sums.await?[0])
    }
    async fn chatters(cx: Cx, times: u64) -> Result<u64, Fault> {
        for n in 0..times {
            cx.progress(n as f64 / times as f64, "talking");
        }
        Ok(times)
    }
}

#[test]
fn sem_g394_a_job_that_reports_more_than_may_wait_ends_all_the_same() {
    let replay = Replay::new(1);
    let builder = Node::builder("chatter").register::<RankSums>();
    let node = builder.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let sums = node.create(Create::<RankSums>::of()).await.unwrap();
        let path = sums.chatters(3000).await.unwrap().path;
        let job: JobClient = node.client(&path).unwrap();
        sleep(Duration::from_secs(1)).await;
        let ended = job.get().await.unwrap();
        assert_eq!(ended.status, JobStatus::Done);
        assert_eq!(ended.result, Some(3000.into()));
    });
}

#[test]
fn sem_g396_ranks_behind_an_operation() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(2);
        let node = Node::builder("ranks")
            .register::<RankSums>()
            .cores(2)
            .start(&dispatcher)
            .unwrap();
        motet_ports::wait_blocking(async {
            let sums = node.create(Create::<RankSums>::of()).await.unwrap();
            // More worlds than there are cores for wait in line.
            let mut jobs = Vec::new();
            for limit in [10, 100, 1000] {
                jobs.push(sums.below(limit).await.unwrap().path);
            }
            for (path, sum) in jobs.into_iter().zip([45, 4950, 499_500]) {
                let state = ended(&node, &path).await;
                assert_eq!(state.result, Some(sum.into()));
                assert_eq!(state.profile.unwrap()["ranks"].as_array().unwrap().len(), 2);
            }
            let failed = ended(&node, &sums.fails().await.unwrap().path).await;
            assert_eq!(failed.status, JobStatus::Failed);
            let reason = failed.fault.unwrap().reason().to_owned();
            assert!(reason.contains("ranks failed"), "{reason}");
            node.shutdown().await;
        })
        .unwrap();
    });
}

const PAGES: usize = 60;

/// The links of a page: to the first page, and to two that its number decides.
fn links(page: usize) -> [usize; 3] {
    [0, page * page % PAGES, (7 * page + 1) % PAGES]
}

#[contract(uri = "test:pages/1", state = Nothing)]
trait Pages {
    /// How often each page is come to in the end, by so many ranks.
    #[submit(job)]
    async fn rank(cx: Cx, ranks: usize) -> Result<Vec<f64>, Fault>;
    /// Counts its steps, of which there are many.
    #[submit(job)]
    async fn count(cx: Cx, ranks: usize) -> Result<u64, Fault>;
    /// On how many threads so many ranks run.
    #[submit(job)]
    async fn threads(cx: Cx, ranks: usize) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Pages)]
struct RankPages {
    #[state]
    nothing: State<Nothing>,
}

impl Pages for RankPages {
    async fn rank(cx: Cx, ranks: usize) -> Result<Vec<f64>, Fault> {
        let ranks = cx.ranks(World::threads(ranks));
        let begin = vec![1.0 / PAGES as f64; PAGES];
        let found = ranks.map_reduce(
            (begin, 40),
            |comm, ranks: &Vec<f64>| {
                let mut given = vec![ExactSum::new(); PAGES];
                for page in (comm.rank()..PAGES).step_by(comm.size()) {
                    for to in links(page) {
                        given[to].add(ranks[page] / 3.0);
                    }
                }
                given
            },
            |mut a: Vec<ExactSum>, b| {
                a.iter_mut().zip(&b).for_each(|(a, b)| a.join(b));
                a
            },
            |_, given| {
                let next = given.iter();
                let next = next.map(|sum| 0.15 / PAGES as f64 + 0.85 * sum.value());
                ControlFlow::Continue(next.collect())
            },
        );
        found.await
    }
    async fn count(cx: Cx, ranks: usize) -> Result<u64, Fault> {
        let ranks = cx.ranks(World::threads(ranks));
        let found = ranks.map_reduce(
            (0, u32::MAX),
            |_, count: &u64| *count,
            u64::max,
            |count, _| ControlFlow::Continue(count + 1),
        );
        found.await
    }
    async fn threads(cx: Cx, ranks: usize) -> Result<u64, Fault> {
        let ranks = cx.ranks(World::threads(ranks));
        let seen = ranks.run(async |comm| -> Result<_, CommError> {
            comm.barrier().await?;
            Ok(std::thread::current().id())
        });
        let seen: HashSet<_> = seen.await?.into_iter().collect();
        Ok(seen.len() as u64)
    }
}

#[test]
fn sem_g395_sem_g396_an_iterative_map_reduce_tells_its_steps_and_ends_with_its_job() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(2);
        let node = Node::builder("pages").register::<RankPages>().cores(2);
        let node = node.start(&dispatcher).unwrap();
        motet_ports::wait_blocking(async {
            let pages = node.create(Create::<RankPages>::of()).await.unwrap();
            // It has the cores until it is cancelled, and then no more.
            let job = pages.count(2).await.unwrap();
            let job: JobClient = node.client(&job.path).unwrap();
            let told = job.subscribe(Subscribe::all().sync()).await.unwrap();
            while job.get().await.unwrap().note.is_empty() {
                told.recv().await;
            }
            // Others wait in line, and say so, until then.
            let mut others = Vec::new();
            for ranks in [1, 2, 3] {
                let path = pages.rank(ranks).await.unwrap().path;
                let other: JobClient = node.client(&path).unwrap();
                let told = other.subscribe(Subscribe::all().sync()).await.unwrap();
                while other.get().await.unwrap().status != JobStatus::WaitsForCores {
                    told.recv().await;
                }
                others.push(other);
            }
            for other in &others {
                let state = other.get().await.unwrap();
                assert_eq!(state.status, JobStatus::WaitsForCores);
            }
            assert_eq!(job.get().await.unwrap().status, JobStatus::Running);
            job.cancel().await.unwrap();
            let mut found = Vec::new();
            for other in others {
                let state = ended(&node, other.path()).await;
                assert_eq!(state.status, JobStatus::Done, "{:?}", state.fault);
                assert_eq!(state.note, "step 40, 40 at most");
                found.push(state.result.unwrap());
            }
            assert_eq!(found[0].as_array().map(Vec::len), Some(PAGES));
            assert!(found[0][0].as_f64() > found[0][2].as_f64());
            assert_eq!((&found[1], &found[2]), (&found[0], &found[0]));
            node.shutdown().await;
        })
        .unwrap();
    });
}

#[test]
fn sem_g620_worlds_share_the_cores_that_threads_of_services_leave() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(2);
        let node = Node::builder("shared").register::<RankPages>();
        let node = node.register::<RankSums>().cores(2);
        let node = node.start(&dispatcher).unwrap();
        motet_ports::wait_blocking(async {
            let pages = node.create(Create::<RankPages>::of()).await.unwrap();
            let threads = async || {
                let path = pages.threads(2).await.unwrap().path;
                ended(&node, &path).await.result.unwrap()
            };
            let all = motet_sync::thread::cores().min(2);
            assert_eq!(threads().await, all);
            for count in [1, 3] {
                let own = Create::<RankSums>::of().threads(count);
                let own = node.create(own).await.unwrap();
                assert_eq!(threads().await, 1, "one in any case");
                own.drop_service().await.unwrap();
                // The threads end after the service, and give the cores back then.
                while threads().await != all {}
            }
            node.shutdown().await;
        })
        .unwrap();
    });
}

/// What a handler takes with it, so that its end is seen.
struct CarriedPort(motet_sync::Mutex<Option<ReplyPort<()>>>);

impl CarriedPort {
    fn new(port: ReplyPort<()>) -> Self {
        CarriedPort(motet_sync::Mutex::new(Some(port)))
    }

    fn of(cx: &Cx) -> ReplyPort<()> {
        let taken = cx.header::<CarriedPort>().expect("the test sends it");
        let port = taken.0.lock().take();
        port.expect("it is taken once")
    }
}

#[contract(uri = "test:apart/1", state = Nothing)]
trait Aparts {
    /// Has something run on the queue of the service that does not end.
    #[query]
    fn begin(&self, cx: &Cx) -> u64;
    /// Tells when it runs.
    #[query]
    async fn stay(cx: Cx, times: u64) -> u64;
    #[submit(job)]
    async fn work(cx: Cx, times: u64) -> Result<u64, Fault>;
    /// Asks its own service then.
    #[submit(job)]
    async fn ask(cx: Cx, times: u64) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Aparts)]
struct Apart {
    #[state]
    nothing: State<Nothing>,
}

async fn naps(times: u64) -> u64 {
    for _ in 0..times {
        sleep(Duration::from_millis(1)).await;
    }
    times
}

impl Aparts for Apart {
    fn begin(&self, cx: &Cx) -> u64 {
        let port = CarriedPort::of(cx);
        let endless = async move {
            naps(u64::MAX).await;
            drop(port);
        };
        spawn(&cx.queue().handle(), endless).unwrap();
        0
    }
    async fn stay(cx: Cx, times: u64) -> u64 {
        CarriedPort::of(&cx).post(()).unwrap();
        naps(times).await
    }
    async fn work(_: Cx, times: u64) -> Result<u64, Fault> {
        Ok(naps(times).await)
    }
    async fn ask(cx: Cx, times: u64) -> Result<u64, Fault> {
        naps(times).await;
        Ok(cx.own::<ApartsClient>()?.get().await?.version)
    }
}

#[test]
fn a_job_whose_service_has_ended_does_not_take_another_for_it() {
    let replay = Replay::new(1);
    let node = Node::builder("apart").register::<Apart>();
    let node = node.start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let one = node.create(Create::<Apart>::of()).await.unwrap();
        let path = one.ask(10).await.unwrap().path;
        one.drop_service().await.unwrap();
        node.create(Create::<Apart>::of()).await.unwrap();
        let fault = ended(&node, &path).await.fault.unwrap();
        assert_eq!(fault.code(), FaultCode::Gone, "{fault}");
    });
}

#[test]
fn sem_g391_threads_of_a_service_end_with_it_and_with_what_still_runs_on_them() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(1);
        let builder = Node::builder("apart").register::<Apart>();
        let node = builder.start(&dispatcher).unwrap();
        motet_ports::wait_blocking(async {
            let apart = node.create(Create::<Apart>::of().threads(2)).await.unwrap();
            let (port, endless) = reply();
            apart.begin().header(CarriedPort::new(port)).await.unwrap();
            let (port, begun) = reply();
            let staying = apart.stay(50).header(CarriedPort::new(port)).into_future();
            begun.await.unwrap();
            let path = apart.work(100).await.unwrap().path;
            apart.drop_service().await.unwrap();
            assert_eq!(staying.await, Ok(50));
            assert_eq!(ended(&node, &path).await.result, Some(100.into()));
            assert!(endless.await.is_err(), "it ends with the threads");
            // The node has others.
            let again = node.create(Create::<Apart>::of().threads(1)).await.unwrap();
            let path = again.work(1).await.unwrap().path;
            assert_eq!(ended(&node, &path).await.result, Some(1.into()));
        })
        .unwrap();
    });
}

/// A host whose queue for services takes no task while one waits.
struct NarrowHost(Replay);

impl Host for NarrowHost {
    fn queue(&self, mut config: QueueConfig) -> Arc<dyn Enqueue> {
        if config.name.ends_with("services") {
            config.policy = ExecutionPolicy::RejectTasks { depth: 1 };
        }
        Host::queue(&self.0, config)
    }

    fn blocking(&self) -> Option<DispatcherQueue> {
        None
    }
}

#[contract(uri = "test:bare/1", state = Nothing)]
trait Bares {}

static BARE: AtomicUsize = AtomicUsize::new(0);

/// How many services there are.
struct LivingCount;

impl Default for LivingCount {
    fn default() -> Self {
        BARE.fetch_add(1, Ordering::Relaxed);
        LivingCount
    }
}

impl Drop for LivingCount {
    fn drop(&mut self) {
        BARE.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Service)]
#[service(contract = Bares, name = "bare")]
struct OneBare {
    #[state]
    state: State<Nothing>,
    _count: LivingCount,
}

impl Bares for OneBare {}

#[test]
fn a_service_for_which_the_queue_has_no_room_is_not_kept() {
    let host = NarrowHost(Replay::new(1));
    let node = Node::builder("narrow").register::<OneBare>();
    let node = node.start(&host).unwrap();
    host.0.run_for(Duration::from_millis(1));
    spawn(&node.queue(), async {}).unwrap();
    let created = pin!(node.create(Create::<OneBare>::of()));
    let Poll::Ready(Err(fault)) = created.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it is refused at once");
    };
    assert_eq!(fault.code(), FaultCode::InsufficientResources, "{fault}");
    host.0.run_for(Duration::from_millis(1));
    assert_eq!(BARE.load(Ordering::Relaxed), 0);
}

async fn ended(node: &Node, path: &str) -> motet_service::system::JobState {
    let job: JobClient = node.client(path).unwrap();
    let told = job.subscribe(Subscribe::all().sync()).await.unwrap();
    loop {
        told.recv().await;
        let state = job.get().await.unwrap();
        if !matches!(state.status, JobStatus::Running | JobStatus::WaitsForCores) {
            return (*state.state).clone();
        }
    }
}
