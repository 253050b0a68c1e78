//! Services of other processes: who may call them.

use crate::shop::{CornerShop, ShopClient, replay_with, shop};
use motet_dispatch::Replay;
use motet_service::{
    Answering, Client, Create, Cx, Fault, FaultCode, Node, Options, Remote, Service, State, Value,
    contract, data,
};
use std::sync::Arc;

/// A shop of another process, which answers everything with 7.
struct Far;

impl Remote for Far {
    fn path(&self) -> &str {
        "/far"
    }
    fn call(&self, _: &str, _: Value, _: Options) -> Answering {
        Box::pin(async { Ok(Value::from(7)) })
    }
}

fn far() -> ShopClient {
    Client::elsewhere(Arc::new(Far)).into()
}

/// Another one, which answers with how many services it has been told that wait.
struct CountingFar;

impl Remote for CountingFar {
    fn path(&self) -> &str {
        "/far"
    }
    fn call(&self, _: &str, _: Value, options: Options) -> Answering {
        let waiting = options.chain.map_or(0, |told| told.split(',').count());
        Box::pin(async move { Ok(Value::from(waiting)) })
    }
}

#[data]
#[derive(Default)]
struct Nothing {}

#[contract(uri = "test:agent/1", state = Nothing)]
trait Agent {
    /// Of a shop elsewhere, in each group.
    #[query]
    async fn read_far(&self) -> Result<i64, Fault>;
    #[update]
    async fn change_far(&mut self) -> Result<i64, Fault>;
    /// For one that another process has told of.
    #[update]
    async fn relay_far(&mut self) -> Result<i64, Fault>;
    #[submit]
    async fn ask_far(cx: Cx) -> Result<i64, Fault>;
    #[submit(job)]
    async fn work_far(cx: Cx) -> Result<i64, Fault>;
    /// Of a shop here.
    #[query]
    async fn read_near(&self, cx: &Cx) -> Result<i64, Fault>;
}

#[derive(Service)]
#[service(contract = Agent, many)]
struct Buyer {
    #[state]
    nothing: State<Nothing>,
}

impl Agent for Buyer {
    async fn read_far(&self) -> Result<i64, Fault> {
        far().count("apples".to_owned()).await
    }
    async fn change_far(&mut self) -> Result<i64, Fault> {
        far().add(1).await
    }
    async fn relay_far(&mut self) -> Result<i64, Fault> {
        let far: ShopClient = Client::elsewhere(Arc::new(CountingFar)).into();
        let mut options = Options::default();
        options.chain = Some("1.2".into());
        far.add(1).with(options).await
    }
    async fn ask_far(_: Cx) -> Result<i64, Fault> {
        far().count("apples".to_owned()).await
    }
    async fn work_far(_: Cx) -> Result<i64, Fault> {
        far().count("apples".to_owned()).await
    }
    async fn read_near(&self, cx: &Cx) -> Result<i64, Fault> {
        let shop: ShopClient = cx.client("/shop")?;
        shop.count("apples".to_owned()).await
    }
}

const MANIFEST: &str = r#"
[[service]]
type = "buyer"
at = "/home"
network = false

[[service]]
type = "buyer"
at = "/abroad"
"#;

#[test]
fn dss_102_sem_g400_a_service_without_the_network_calls_here_only() {
    for seed in 0..4 {
        let replay = Replay::new(seed);
        let builder = Node::builder("agents").register::<CornerShop>();
        let node = builder.register::<Buyer>().start(&replay).unwrap();
        replay_with(&replay, &node, async |node| {
            shop(&node).await;
            node.load([MANIFEST]).await.unwrap();
            let agent = |path| node.client::<AgentClient>(path).unwrap();
            let (home, abroad) = (agent("/home"), agent("/abroad"));
            assert_eq!(abroad.read_far().await, Ok(7));
            assert_eq!(abroad.change_far().await, Ok(7));
            assert_eq!(abroad.relay_far().await, Ok(2));
            for refused in [
                home.read_far().await,
                home.change_far().await,
                home.ask_far().await,
            ] {
                let fault = refused.unwrap_err();
                assert_eq!(fault.code(), FaultCode::PermissionDenied);
                assert!(fault.reason().contains("/home"), "{fault}");
            }
            let job = home.work_far().await.unwrap();
            let job = node.find(&job.path).unwrap();
            motet_ports::timer::sleep(std::time::Duration::from_secs(1)).await;
            let state = job.call("get", Value::Null).await.unwrap();
            assert_eq!(
                state["state"]["fault"]["code"], "PermissionDenied",
                "{state}"
            );
            for near in [home.read_near().await, abroad.read_near().await] {
                assert_eq!(near, Ok(3));
            }
            let last = Create::<Buyer>::of().at("/last").network(false);
            let fault = node.create(last).await.unwrap().read_far().await;
            assert_eq!(fault.unwrap_err().code(), FaultCode::PermissionDenied);
            assert_eq!(far().add(1).await, Ok(7), "the program itself may");
        });
    }
}
