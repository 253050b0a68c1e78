//! Calls that are parts of a trace, as W3C Trace Context says it.

use crate::till::{Entry, Shop, TillClient};
use motet_dispatch::Dispatcher;
use motet_http::Peer;
use motet_ports::wait_blocking;
use motet_service::{
    Create, Cx, Fault, NodeBuilder, Options, Service, State, TraceParent, Value, contract, data,
};
use motet_sync::thread::spawn_named;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const HEADER: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";

#[data]
#[derive(Default)]
struct Nothing {}

#[contract(uri = "test:desk/1", state = Nothing)]
trait Desk {
    /// Pays in at the till of the node at this address, by the client of its type.
    #[submit]
    async fn pay(cx: Cx, at: String) -> Result<i64, Fault>;
    /// As that, by the operation's name.
    #[submit]
    async fn pay_by_name(at: String) -> Result<i64, Fault>;
    /// The same as a job, and by a call inside the node before.
    #[submit(job)]
    async fn pay_later(cx: Cx, at: String) -> Result<i64, Fault>;
}

#[derive(Service)]
#[service(contract = Desk, name = "desk")]
struct FrontDesk {
    #[state]
    nothing: State<Nothing>,
}

fn entry() -> Entry {
    Entry {
        name: "ann".to_owned(),
        cents: 1,
    }
}

impl Desk for FrontDesk {
    async fn pay(cx: Cx, at: String) -> Result<i64, Fault> {
        cx.info("pays");
        let till: TillClient = Peer::at(&at)?.client("/till");
        till.deposit(entry()).capture().await
    }
    async fn pay_by_name(at: String) -> Result<i64, Fault> {
        let mut options = Options::default();
        options.capture = true;
        let entry = json!({"name": "ann", "cents": 1});
        let paid = Peer::at(&at)?.call("/till", "deposit", entry, options);
        Ok(paid.await?.as_i64().unwrap_or_default())
    }
    async fn pay_later(cx: Cx, at: String) -> Result<i64, Fault> {
        let desk: DeskClient = cx.client("/desk")?;
        desk.pay(at).await
    }
}

/// A node with `/desk`.
fn desk() -> Shop {
    let build = |builder: NodeBuilder| builder.register::<FrontDesk>();
    let shop = Shop::open_on(Dispatcher::new(2), build, |_| {});
    let desk = shop.node.create(Create::<FrontDesk>::of().at("/desk"));
    wait_blocking(desk).unwrap().unwrap();
    shop
}

/// The last call that a node has captured.
fn last(shop: &Shop) -> Value {
    let captured = shop.get("/sys/debug").json()["captured"].take();
    captured.as_array().unwrap().last().unwrap().clone()
}

/// The trace of a call that was captured, or of an entry of the log.
fn trace_of(told: &Value) -> TraceParent {
    let text = told["trace_parent"].as_str();
    TraceParent::parse(text.unwrap_or_else(|| panic!("{told}"))).unwrap()
}

#[test]
fn sem_g612_a_call_by_two_nodes_is_one_trace_with_a_new_parent() {
    let (desk, shop) = (desk(), Shop::open());
    let url = format!("\"http://{}\"", shop.at);
    let mut parents = vec!["00f067aa0ba902b7".to_owned()];
    let header = format!("motet-capture: 1\r\n{HEADER}");
    for (name, paid) in [("pay", 1), ("pay_by_name", 2)] {
        let place = format!("/desk/-/{name}");
        let answer = desk.send("POST", &place, &header, &url);
        assert_eq!(answer.json(), paid, "{answer:?}");
        // As it has come here, and as it has gone on.
        assert_eq!(trace_of(&last(&desk)).parent_id(), parents[0]);
        let there = trace_of(&last(&shop));
        assert_eq!(there.trace_id(), TRACE);
        assert!(there.to_string().ends_with("-01"), "{there}");
        parents.push(there.parent_id());
    }
    parents.sort();
    parents.dedup();
    assert_eq!(parents.len(), 3, "each has one of its own: {parents:?}");
}

#[test]
fn sem_g612_a_call_that_is_sent_again_has_a_parent_of_its_own() {
    const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
                        content-length: 0\r\nconnection: close\r\n\r\n";
    const STATE: &str = "HTTP/1.1 200 OK\r\netag: \"v3\"\r\ncontent-length: 2\r\n\
                         connection: close\r\n\r\n{}";
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let serve = move || {
        [BUSY, STATE].map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            stream.write_all(answer.as_bytes()).unwrap();
            let mut headers = head.iter();
            let trace = headers.find_map(|line| line.strip_prefix("traceparent: "));
            TraceParent::parse(trace.unwrap_or_default()).unwrap()
        })
    };
    let serving = spawn_named("answering", serve).unwrap();
    let told = HEADER.trim_start_matches("traceparent: ").trim();
    let told = TraceParent::parse(told).unwrap();
    let mut options = Options::default();
    options.trace_parent = Some(Arc::new(told));
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let state = wait_blocking(peer.call("/till", "get", Value::Null, options)).unwrap();
    assert_eq!(state.unwrap()["version"], 3);
    let [first, second] = serving.join().unwrap();
    for sent in [&first, &second] {
        assert_eq!(sent.trace_id(), TRACE);
        assert_ne!(sent.parent_id(), told.parent_id());
    }
    assert_ne!(first.parent_id(), second.parent_id());
}

#[test]
fn sem_g612_a_trace_goes_by_jobs_and_calls_inside_a_node_and_is_in_the_log() {
    let (desk, shop) = (desk(), Shop::open());
    let url = format!("\"http://{}\"", shop.at);
    let begun = desk.send("POST", "/desk/-/pay_later", HEADER, &url);
    let job = begun.header("location").unwrap().to_owned();
    while desk.get(&job).json()["status"] == "running" {
        std::thread::yield_now();
    }
    let job = desk.get(&job).json();
    assert_eq!(job["status"], "done", "{job}");
    assert_eq!(trace_of(&last(&shop)).trace_id(), TRACE);
    let said = desk.get("/sys/log/-/read?service=/desk").json();
    let said = said.as_array().unwrap().iter();
    let said: Vec<&Value> = said.filter(|entry| entry["text"] == "pays").collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(trace_of(said[0]).trace_id(), TRACE);
}

#[test]
fn sem_g612_a_header_that_is_wrong_is_none() {
    let (desk, shop) = (desk(), Shop::open());
    let url = format!("\"http://{}\"", shop.at);
    let twice = HEADER.repeat(2);
    let wrong = HEADER.replace("00-4", "ff-4");
    let zeros = HEADER.replace(TRACE, &"0".repeat(32));
    for (paid, header) in ["", twice.as_str(), wrong.as_str(), zeros.as_str()]
        .into_iter()
        .enumerate()
    {
        let header = format!("motet-capture: 1\r\n{header}");
        let answer = desk.send("POST", "/desk/-/pay", &header, &url);
        assert_eq!(answer.json(), paid + 1, "{answer:?}");
        for node in [&desk, &shop] {
            let told = last(node);
            assert_eq!(told["trace_parent"], Value::Null, "{told}");
        }
    }
}
