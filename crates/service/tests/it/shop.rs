//! A service that the tests share, and how they run it.

use motet_dispatch::{Dispatcher, Replay, spawn};
use motet_ports::Port;
use motet_ports::timer::sleep;
use motet_service::{Create, Cx, Fault, IntoFault, Node, Service, State, contract, data};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

/// What is in stock.
#[data]
#[derive(Default, PartialEq)]
pub(crate) struct Stock {
    pub items: BTreeMap<String, i64>,
    pub nested: Vec<Vec<i64>>,
    pub ticks: u64,
}

#[data]
pub(crate) struct Line {
    pub name: String,
    pub count: i64,
}

impl Line {
    pub(crate) fn new(name: &str, count: i64) -> Self {
        Line {
            name: name.to_owned(),
            count,
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, IntoFault)]
pub enum ShopFault {
    #[fault(UnknownEntry)]
    Unknown(String),
    #[fault(DuplicateEntry)]
    There(String),
}

/// A header.
#[derive(Debug, PartialEq)]
pub(crate) struct Colour(pub(crate) &'static str);

#[contract(uri = "test:shop/1", state = Stock, patch = true)]
pub(crate) trait Shop {
    /// How many there are.
    #[query]
    fn count(&self, name: String) -> Result<i64, ShopFault>;
    /// As count, after a time.
    #[query]
    async fn count_slowly(&self, ms: u64) -> i64;
    #[query]
    fn colour(&self, cx: &Cx) -> Option<String>;
    #[query]
    fn break_down(&self) -> i64;
    #[insert]
    fn insert(&mut self, line: Line) -> Result<(), ShopFault>;
    #[update]
    fn update(&mut self, line: Line, cx: &Cx) -> Result<i64, ShopFault>;
    /// Another update, with another body.
    #[update]
    fn add(&mut self, count: i64) -> i64;
    #[update]
    async fn add_slowly(&mut self, ms: u64);
    #[upsert]
    fn upsert(&mut self, line: Line);
    #[delete]
    fn delete(&mut self, name: String) -> Result<(), ShopFault>;
    #[update]
    fn tear(&mut self, line: Line) -> Result<(), Fault>;
    #[update(rollback)]
    fn tear_and_undo(&mut self, panics: bool) -> Result<(), Fault>;
    #[update]
    async fn call_self(&mut self, cx: &Cx) -> Result<i64, Fault>;
    #[submit]
    async fn compute(cx: Cx, ms: u64) -> Result<u64, Fault>;
    /// Has the shop's own operation add.
    #[submit]
    async fn have_added(cx: Cx, count: i64) -> Result<i64, Fault>;
    #[submit]
    async fn shout(cx: Cx, text: String);
    #[submit(job)]
    async fn sum(cx: Cx, upto: u64) -> Result<u64, Fault>;
    /// Ends the shop and says what is left.
    async fn close(self, cx: &Cx) -> i64;
}

#[derive(Service)]
#[service(contract = Shop, name = "corner-shop")]
pub(crate) struct CornerShop {
    #[state]
    stock: State<Stock>,
}

/// The same, of which there may be several.
#[derive(Service)]
#[service(contract = Shop, name = "chain", many)]
pub(crate) struct Chain {
    #[state]
    stock: State<Stock>,
}

macro_rules! shop {
    ($shop:ty) => {
        impl Shop for $shop {
            fn count(&self, name: String) -> Result<i64, ShopFault> {
                self.stock
                    .items
                    .get(&name)
                    .copied()
                    .ok_or(ShopFault::Unknown(name))
            }
            async fn count_slowly(&self, ms: u64) -> i64 {
                sleep(Duration::from_millis(ms)).await;
                self.stock.items.values().sum()
            }
            fn colour(&self, cx: &Cx) -> Option<String> {
                cx.header::<Colour>().map(|colour| colour.0.to_owned())
            }
            fn break_down(&self) -> i64 {
                panic!("out of order")
            }
            fn insert(&mut self, line: Line) -> Result<(), ShopFault> {
                if self.stock.items.contains_key(&line.name) {
                    return Err(ShopFault::There(line.name));
                }
                self.stock.items.insert(line.name, line.count);
                Ok(())
            }
            fn update(&mut self, line: Line, cx: &Cx) -> Result<i64, ShopFault> {
                if !self.stock.items.contains_key(&line.name) {
                    return Err(ShopFault::Unknown(line.name));
                }
                cx.notify_keys([line.name.clone(), (line.count > 0).to_string()]);
                *self
                    .stock
                    .items
                    .get_mut(&line.name)
                    .expect("it was looked up") = line.count;
                Ok(line.count)
            }
            fn add(&mut self, count: i64) -> i64 {
                for item in self.stock.items.values_mut() {
                    *item += count;
                }
                self.stock.items.values().sum()
            }
            async fn add_slowly(&mut self, ms: u64) {
                *self.stock.items.entry("slow".to_owned()).or_default() += 1;
                sleep(Duration::from_millis(ms)).await;
                *self.stock.items.entry("slow".to_owned()).or_default() += 1;
            }
            fn upsert(&mut self, line: Line) {
                self.stock.items.insert(line.name, line.count);
            }
            fn delete(&mut self, name: String) -> Result<(), ShopFault> {
                if !self.stock.items.contains_key(&name) {
                    return Err(ShopFault::Unknown(name));
                }
                self.stock.items.remove(&name);
                Ok(())
            }
            fn tear(&mut self, line: Line) -> Result<(), Fault> {
                self.stock.items.insert(line.name, line.count);
                panic!("in the middle")
            }
            fn tear_and_undo(&mut self, panics: bool) -> Result<(), Fault> {
                self.stock.items.clear();
                match panics {
                    true => panic!("in the middle"),
                    false => Err(Fault::failed("not today")),
                }
            }
            async fn call_self(&mut self, cx: &Cx) -> Result<i64, Fault> {
                cx.own::<ShopClient>()?.add(1).await
            }
            async fn compute(_: Cx, ms: u64) -> Result<u64, Fault> {
                sleep(Duration::from_millis(ms)).await;
                Ok(ms * 2)
            }
            async fn have_added(cx: Cx, count: i64) -> Result<i64, Fault> {
                cx.own::<ShopClient>()?.add(count).await
            }
            async fn shout(_: Cx, text: String) {
                panic!("{text}")
            }
            async fn sum(cx: Cx, upto: u64) -> Result<u64, Fault> {
                let mut sum = 0;
                for n in 1..=upto {
                    sleep(Duration::from_millis(10)).await;
                    sum += n;
                    cx.progress(n as f64 / upto as f64, "adding");
                }
                Ok(sum)
            }
            async fn close(self, _: &Cx) -> i64 {
                self.stock.items.values().sum()
            }
        }
    };
}

shop!(CornerShop);
shop!(Chain);

/// A node with the shop's types.
pub(crate) fn node(host: &impl motet_service::Host) -> Node {
    let node = Node::builder("test")
        .register::<CornerShop>()
        .register::<Chain>();
    node.start(host).unwrap()
}

/// Runs `test` in a task of a replay, in virtual time, for several seeds.
pub(crate) fn replayed<F>(test: impl Fn(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..8 {
        let replay = Replay::new(seed);
        replay_with(&replay, &node(&replay), &test);
    }
}

/// As [`replayed`], and on a worker of a dispatcher, where operations are carried out where they
/// are called. For tests that sleep for milliseconds at most.
pub(crate) fn everywhere<F>(test: impl Fn(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    replayed(&test);
    for threads in [1, 2] {
        let dispatcher = Dispatcher::new(threads);
        let node = node(&dispatcher);
        let (work, ends) = (test(node.clone()), node.clone());
        on_worker(&node, async move {
            work.await;
            ends.shutdown().await;
        });
    }
}

/// Runs `work` in a task of the node, and waits for its end.
pub(crate) fn on_worker(node: &Node, work: impl Future<Output = ()> + Send + 'static) {
    let (to, ended) = motet_ports::reply();
    let running = async move {
        work.await;
        to.post(()).unwrap();
    };
    spawn(&node.queue(), running).unwrap();
    let ended = motet_ports::wait_blocking_for(ended, Duration::from_secs(60));
    ended.expect("it ends in time").expect("it does not panic");
}

/// The same on a node of one's own.
pub(crate) fn replay_with<F>(replay: &Replay, node: &Node, test: impl Fn(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let ended = Port::new();
    let tell = ended.clone();
    let (work, ends) = (test(node.clone()), node.clone());
    spawn(&node.queue(), async move {
        work.await;
        ends.shutdown().await;
        tell.post(()).unwrap();
    })
    .unwrap();
    let panic = Port::new();
    let told = panic.clone();
    replay.on_exception(move |exception| told.post(exception.message().to_owned()).unwrap());
    replay.run_for(Duration::from_secs(100_000));
    let said = panic.items();
    assert_eq!(
        ended.test(),
        Some(()),
        "the test has not ended: {said:?}, {:?}",
        replay.waiting()
    );
}

/// Runs `test` with real threads.
pub(crate) fn threaded<F>(test: impl FnOnce(Node) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    motet_testkit::within(Duration::from_secs(60), move || {
        let dispatcher = Dispatcher::new(2);
        let node = node(&dispatcher);
        motet_ports::wait_blocking(test(node)).unwrap();
    });
}

/// A shop with apples and pears.
pub(crate) async fn shop(node: &Node) -> ShopClient {
    let shop = node
        .create(Create::<CornerShop>::of().at("/shop"))
        .await
        .unwrap();
    shop.insert(Line::new("apples", 3)).await.unwrap();
    shop.insert(Line::new("pears", 4)).await.unwrap();
    shop
}
