//! DSS's behaviours of calls by HTTP: their bodies are those that the tests of `motet-service` run
//! in the process.

use crate::shop::{node, on_worker, shop};
use crate::ways::{self, PATH, ShopWay};
use motet_dispatch::Dispatcher;
use motet_http::{Config, Peer, Server};
use motet_ports::wait_blocking;
use motet_service::{Answering, Options, Remote, Value};
use std::sync::Arc;

/// The shop of another node, by the names of operations.
struct ShopOfPeer(Peer);

impl Remote for ShopOfPeer {
    fn path(&self) -> &str {
        PATH
    }

    fn call(&self, operation: &str, body: Value, options: Options) -> Answering {
        self.0.call(PATH, operation, body, options)
    }
}

fn by_http<F>(test: fn(ShopWay) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let dispatcher = Dispatcher::new(2);
    let node = node(&dispatcher);
    wait_blocking(shop(&node)).unwrap();
    let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
    let peer = Peer::at(&server.url()).unwrap();
    let way = ShopWay {
        node: node.clone(),
        shop: peer.client(PATH),
        by_name: Arc::new(ShopOfPeer(peer)),
        is_elsewhere: true,
    };
    on_worker(&node, test(way));
}

#[test]
fn dss_011_get_sees_the_state_before_or_after_a_change() {
    by_http(ways::get_sees_the_state_before_or_after_a_change);
}

#[test]
fn dss_018_an_operation_that_is_not_there() {
    by_http(ways::an_operation_that_is_not_there);
}

#[test]
fn dss_019_a_body_that_is_not_known() {
    by_http(ways::a_body_that_is_not_known);
}

#[test]
fn dss_020_submit_changes_nothing_and_tells_nobody_unless_it_asks() {
    by_http(ways::submit_changes_nothing_and_tells_nobody_unless_it_asks);
}

#[test]
fn dss_021_each_update_reaches_its_own_handler() {
    by_http(ways::each_update_reaches_its_own_handler);
}

#[test]
fn dss_023_after_drop_everything_is_gone() {
    by_http(ways::after_drop_everything_is_gone);
}

#[test]
fn dss_024_drop_waits_for_what_runs() {
    by_http(ways::drop_waits_for_what_runs);
}

#[test]
fn dss_025_two_drops_at_once() {
    by_http(ways::two_drops_at_once);
}

#[test]
fn dss_027_an_answer_that_does_not_come_in_time() {
    by_http(ways::an_answer_that_does_not_come_in_time);
}

#[test]
fn dss_028_a_late_answer_disturbs_nobody() {
    by_http(ways::a_late_answer_disturbs_nobody);
}

#[test]
fn dss_034_to_036_reads_together_changes_alone() {
    by_http(ways::reads_together_changes_alone);
}

#[test]
fn dss_040_a_service_that_waits_for_itself() {
    by_http(ways::a_service_that_waits_for_itself);
}

/// Calls of a node that asks who calls.
#[cfg(feature = "tls")]
#[test]
fn dss_101_without_a_token_no_handler_runs() {
    use crate::keys::Folder;
    use crate::till::{Entry, TillClient};
    use motet_http::Access;
    use motet_service::FaultCode;

    let folder = Folder::new("keys-dss-101");
    let shop = folder.shop();
    let url = shop.server.as_ref().unwrap().url();
    let at_till = shop.node.find("/till").unwrap();
    let till =
        |access: &Access| -> TillClient { Peer::with(&url, access).unwrap().client("/till") };
    let entry = || Entry {
        name: "ann".to_owned(),
        cents: 1,
    };
    let nobody = till(&Access::new(None, Some(folder.0.join("ca.pem"))));
    let (viewer, clerk) = (
        till(&folder.access("viewer")),
        till(&folder.access("clerk")),
    );
    wait_blocking(async {
        // DSS says PermissionDenied of both.
        for unknown in [
            nobody.deposit(entry()).await.unwrap_err(),
            nobody.get().await.unwrap_err(),
        ] {
            assert_eq!(unknown.code(), FaultCode::Unauthenticated, "{unknown}");
        }
        let denied = viewer.deposit(entry()).await.unwrap_err();
        assert_eq!(denied.code(), FaultCode::PermissionDenied, "{denied}");
        assert_eq!(at_till.figures().calls, 0, "no handler ran");
        assert_eq!(clerk.deposit(entry()).await, Ok(1));
        assert_eq!(at_till.figures().calls, 1);
    })
    .unwrap();
}
