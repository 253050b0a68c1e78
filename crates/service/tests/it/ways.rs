//! DSS's behaviours of calls, whatever the way to the service. The tests of this crate run them in
//! the process and by names and JSON, those of `motet-http` by HTTP.

use crate::shop::{Line, ShopClient, ShopContract};
use motet_dispatch::spawn;
use motet_ports::Port;
use motet_ports::timer::sleep;
use motet_service::{
    Answering, Call, Fault, FaultCode, Node, Options, Remote, ServiceFigures, Subscribe, Value,
};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Where the shop is.
pub(crate) const PATH: &str = "/shop";

/// So many milliseconds a handler takes beside which others are looked at.
const LONG_MS: u64 = 1000;

/// A way to the shop of a node, which has had its two inserts.
pub(crate) struct ShopWay {
    /// The node of the shop, which is in this process.
    pub(crate) node: Node,
    pub(crate) shop: ShopClient,
    /// The same, by the names of operations.
    pub(crate) by_name: Arc<dyn Remote>,
    /// Whether whoever calls is of another node.
    pub(crate) is_elsewhere: bool,
}

impl ShopWay {
    fn call(&self, operation: &str, body: Value) -> Answering {
        self.by_name.call(operation, body, Options::default())
    }

    /// The shop in the process, whatever the way.
    fn near(&self) -> ShopClient {
        self.node.client(PATH).unwrap()
    }

    fn figures(&self) -> ServiceFigures {
        self.node.find(PATH).unwrap().figures()
    }

    /// Whether that is told of a shop that has ended. For another node nobody has its path then.
    fn is_gone(&self, code: FaultCode) -> bool {
        code == FaultCode::Gone || (self.is_elsewhere && code == FaultCode::UnknownService)
    }

    /// Makes a call in a task of its own, and waits until its handler has begun. Its answer.
    async fn begin<T>(&self, call: Call<ShopContract, T>) -> Port<Result<T, Fault>>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let calls = self.figures().calls;
        let answer = Port::new();
        let (to, calling) = (answer.clone(), call.into_future());
        let task = async move { drop(to.post(calling.await)) };
        spawn(&self.node.queue(), task).unwrap();
        while self.figures().calls == calls {
            sleep(MS).await;
        }
        answer
    }

    /// Whether `short` is answered while `long` goes on, which has begun before. On a machine that
    /// stands still `long` may end first all the same, so there are several tries.
    async fn is_beside<L, S>(
        &self,
        long: fn(&ShopClient) -> Call<ShopContract, L>,
        short: fn(&ShopClient) -> Call<ShopContract, S>,
    ) -> bool
    where
        L: DeserializeOwned + Debug + Send + 'static,
        S: DeserializeOwned + Debug + Send + 'static,
    {
        for _ in 0..20 {
            let goes_on = self.begin(long(&self.shop)).await;
            short(&self.shop).await.unwrap();
            let is_beside = goes_on.item_count() == 0;
            goes_on.recv().await.unwrap();
            if is_beside {
                return true;
            }
        }
        false
    }
}

fn code<T: Debug>(result: Result<T, Fault>) -> FaultCode {
    result.unwrap_err().code()
}

/// Both at once.
async fn both<A: IntoFuture, B: IntoFuture>(a: A, b: B) -> (A::Output, B::Output)
where
    A::IntoFuture: Unpin,
    B::IntoFuture: Unpin,
{
    let (mut a, mut b) = (a.into_future(), b.into_future());
    let (mut one, mut two) = (None, None);
    poll_fn(|cx| {
        if one.is_none()
            && let Poll::Ready(output) = Pin::new(&mut a).poll(cx)
        {
            one = Some(output);
        }
        if two.is_none()
            && let Poll::Ready(output) = Pin::new(&mut b).poll(cx)
        {
            two = Some(output);
        }
        if one.is_some() && two.is_some() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    (one.unwrap(), two.unwrap())
}

/// 11.
pub(crate) async fn get_sees_the_state_before_or_after_a_change(way: ShopWay) {
    let (change, seen) = both(way.shop.add_slowly(50), way.shop.get()).await;
    change.unwrap();
    let slow = seen.unwrap().items.get("slow").copied();
    assert!(slow.is_none() || slow == Some(2), "{slow:?}");
}

/// 18.
pub(crate) async fn an_operation_that_is_not_there(way: ShopWay) {
    let fault = way.call("steal", Value::Null).await.unwrap_err();
    assert_eq!(fault.code(), FaultCode::ActionNotSupported);
    assert!(fault.reason().contains("steal"), "{fault}");
    assert_eq!(way.figures().calls, 2, "the two inserts of the begin");
}

/// 19.
pub(crate) async fn a_body_that_is_not_known(way: ShopWay) {
    let fault = way.call("insert", json!({"name": 7})).await.unwrap_err();
    assert_eq!(fault.code(), FaultCode::MessageNotSupported);
    assert!(
        fault.reason().contains("name") || fault.reason().contains("string"),
        "{fault}"
    );
    assert_eq!(way.shop.get().await.unwrap().version, 2);
}

/// 20. A handler of Submit asks by an operation of its own service.
pub(crate) async fn submit_changes_nothing_and_tells_nobody_unless_it_asks(way: ShopWay) {
    let (shop, near) = (&way.shop, way.near());
    let told = near.subscribe(Subscribe::all()).await.unwrap();
    let before = shop.get().await.unwrap();
    assert_eq!(shop.compute(5).await, Ok(10));
    let after = shop.get().await.unwrap();
    assert_eq!(
        (after.version, &*after.state),
        (before.version, &*before.state)
    );
    assert_eq!(told.item_count(), 0);
    assert_eq!(shop.have_added(1).await, Ok(9));
    assert_eq!(told.recv().await.name(), "add");
    assert_eq!(told.item_count(), 0);
    assert_eq!(shop.get().await.unwrap().version, before.version + 1);
}

/// 21.
pub(crate) async fn each_update_reaches_its_own_handler(way: ShopWay) {
    assert_eq!(way.shop.add(10).await, Ok(27));
    assert_eq!(way.shop.update(Line::new("pears", 1)).await, Ok(1));
}

/// 23.
pub(crate) async fn after_drop_everything_is_gone(way: ShopWay) {
    let shop = &way.shop;
    shop.drop_service().await.unwrap();
    let codes = [
        code(shop.get().await),
        code(shop.add(1).await),
        code(shop.compute(1).await),
        code(shop.drop_service().await),
    ];
    assert!(codes.iter().all(|code| way.is_gone(*code)), "{codes:?}");
    assert!(way.node.find(PATH).is_err());
}

/// 24.
pub(crate) async fn drop_waits_for_what_runs(way: ShopWay) {
    let (shop, near) = (&way.shop, way.near());
    let told = near.subscribe(Subscribe::all()).await.unwrap();
    let slow = way.begin(shop.add_slowly(50)).await;
    shop.drop_service().await.unwrap();
    // The end of the change is told before that of the service.
    let first = told.test().map(|one| one.name());
    assert_eq!(first, Some("add_slowly"), "Drop waits for it");
    assert_eq!(slow.recv().await, Ok(()));
    let late = code(shop.add(1).await);
    assert!(way.is_gone(late), "{late:?}");
}

/// 25.
pub(crate) async fn two_drops_at_once(way: ShopWay) {
    let (one, two) = both(way.shop.drop_service(), way.shop.drop_service()).await;
    let codes = [one, two].map(|answer| answer.map_err(|fault| fault.code()));
    assert!(codes.contains(&Ok(())), "{codes:?}");
    let mut refused = codes.iter().filter_map(|answer| answer.err());
    assert!(refused.all(|code| way.is_gone(code)), "{codes:?}");
}

/// 27.
pub(crate) async fn an_answer_that_does_not_come_in_time(way: ShopWay) {
    let clock = way.node.queue().clock();
    let begun = clock.now();
    let late = way.shop.count_slowly(20_000).within(100 * MS).await;
    assert_eq!(code(late), FaultCode::ResponseTimeout);
    // What is left of it goes to another node in whole milliseconds.
    assert!(clock.now() - begun >= 90 * MS);
}

/// 28.
pub(crate) async fn a_late_answer_disturbs_nobody(way: ShopWay) {
    let (shop, before) = (&way.shop, way.figures().calls);
    // On a machine that stands still the time may be over before it begins.
    while way.figures().calls == before {
        let late = shop.add_slowly(LONG_MS).within(100 * MS).await;
        assert_eq!(code(late), FaultCode::ResponseTimeout);
    }
    // The exclusive handler ends all the same: a read comes behind it.
    let slow = shop.count("slow".into()).await.unwrap();
    let figures = way.figures();
    let begun = figures.calls - before - 1;
    assert_eq!((u64::try_from(slow), figures.late), (Ok(2 * begun), begun));
}

/// 34 to 36.
pub(crate) async fn reads_together_changes_alone(way: ShopWay) {
    let (shop, near) = (&way.shop, way.near());
    let beside = way.is_beside(
        |shop| shop.count_slowly(LONG_MS),
        |shop| shop.count_slowly(1),
    );
    assert!(beside.await, "two reads run together");
    let beside = way.is_beside(|shop| shop.add_slowly(LONG_MS), |shop| shop.compute(1));
    assert!(beside.await, "an independent one runs beside a change");
    let told = near.subscribe(Subscribe::all()).await.unwrap();
    let slow = way.begin(shop.add_slowly(100)).await;
    let (added, seen) = both(shop.add(1), shop.get()).await;
    added.unwrap();
    let seen = seen.unwrap();
    // Adding has made each of them one more, and each slow change two.
    let (apples, slowly) = (seen.items["apples"], seen.items["slow"]);
    let changed = slowly - (apples - 3);
    assert_eq!(changed % 2, 0, "no read beside a change: {changed}");
    assert_eq!(slow.recv().await, Ok(()));
    let names = [told.recv().await, told.recv().await].map(|one| one.name());
    assert_eq!(
        names,
        ["add_slowly", "add"],
        "nor does a change begin there"
    );
}

/// 40.
pub(crate) async fn a_service_that_waits_for_itself(way: ShopWay) {
    assert_eq!(code(way.shop.call_self().await), FaultCode::SelfCall);
    assert_eq!(way.shop.add(0).await, Ok(7), "it goes on");
}
