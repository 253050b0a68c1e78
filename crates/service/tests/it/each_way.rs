//! Runs DSS's behaviours of calls in the process, and by names and JSON, as a wire has them.

use crate::shop::{ShopClient, everywhere, replayed, shop};
use crate::ways::{PATH, ShopWay};
use motet_service::{Answering, AnyClient, Client, Node, Options, Remote, Value};
use std::sync::Arc;

/// The way to a service as of another node: by names and JSON.
pub(crate) struct JsonWire {
    service: AnyClient,
    path: String,
}

impl JsonWire {
    /// To the service at `path`.
    pub(crate) fn to(node: &Node, path: &str) -> Arc<dyn Remote> {
        Arc::new(JsonWire {
            service: node.find(path).unwrap(),
            path: path.to_owned(),
        })
    }
}

impl Remote for JsonWire {
    fn path(&self) -> &str {
        &self.path
    }

    fn call(&self, operation: &str, body: Value, options: Options) -> Answering {
        let (written, name) = (serde_json::to_string(&body).unwrap(), operation.to_owned());
        let service = self.service.clone();
        Box::pin(async move {
            let body = serde_json::from_str(&written).unwrap();
            service.call_with(&name, body, options).await
        })
    }
}

/// Runs `test` by both ways, in virtual time.
pub(crate) fn each_way<F>(test: fn(ShopWay) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for by_wire in [false, true] {
        replayed(|node| run(test, node, by_wire));
    }
}

/// As [`each_way`], and on workers of a dispatcher. For tests that sleep for milliseconds at most.
pub(crate) fn each_way_everywhere<F>(test: fn(ShopWay) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for by_wire in [false, true] {
        everywhere(|node| run(test, node, by_wire));
    }
}

async fn run<F: Future<Output = ()>>(test: fn(ShopWay) -> F, node: Node, by_wire: bool) {
    let near = shop(&node).await;
    let by_name = JsonWire::to(&node, PATH);
    let shop = match by_wire {
        true => ShopClient::from(Client::elsewhere(Arc::clone(&by_name))),
        false => near,
    };
    let way = ShopWay {
        node,
        shop,
        by_name,
        is_elsewhere: false,
    };
    test(way).await;
}
