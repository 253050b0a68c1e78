//! DSS's behaviours that are about HTTP and about other nodes.

use crate::till::{Accounts, Answer, Entry, Shop, TillClient};
use motet_dispatch::Dispatcher;
use motet_http::{Config, Peer, Server};
use motet_ports::wait_blocking;
use motet_service::system::{ConstructorsClient, Level, LogEntry, LogsClient, Spec};
use motet_service::{
    Create, FaultCode, IntoFault, Node, Options, Persist, Redb, Service, State, Value, contract,
    data,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Words and what they mean.
#[data]
#[derive(Default, PartialEq)]
struct Words {
    words: BTreeMap<String, String>,
}

#[data]
struct Meaning {
    word: String,
    means: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, IntoFault)]
enum WordFault {
    #[fault(UnknownEntry)]
    Unknown(String),
    #[fault(DuplicateEntry)]
    Known(String),
}

#[contract(uri = "test:words/1", state = Words)]
trait Dictionary {
    #[query]
    fn look_up(&self, word: String) -> Result<String, WordFault>;
    #[insert]
    fn insert(&mut self, meaning: Meaning) -> Result<(), WordFault>;
    #[update]
    fn change(&mut self, meaning: Meaning) -> Result<(), WordFault>;
    #[upsert]
    fn put(&mut self, meaning: Meaning);
    #[delete]
    fn remove(&mut self, word: String) -> Result<(), WordFault>;
}

#[derive(Service)]
#[service(contract = Dictionary)]
struct Pocket {
    #[state]
    words: State<Words>,
}

impl Dictionary for Pocket {
    fn look_up(&self, word: String) -> Result<String, WordFault> {
        let means = self.words.words.get(&word).cloned();
        means.ok_or(WordFault::Unknown(word))
    }
    fn insert(&mut self, meaning: Meaning) -> Result<(), WordFault> {
        if self.words.words.contains_key(&meaning.word) {
            return Err(WordFault::Known(meaning.word));
        }
        self.put(meaning);
        Ok(())
    }
    fn change(&mut self, meaning: Meaning) -> Result<(), WordFault> {
        self.look_up(meaning.word.clone())?;
        self.put(meaning);
        Ok(())
    }
    fn put(&mut self, meaning: Meaning) {
        self.words.words.insert(meaning.word, meaning.means);
    }
    fn remove(&mut self, word: String) -> Result<(), WordFault> {
        self.look_up(word.clone())?;
        self.words.words.remove(&word);
        Ok(())
    }
}

fn meaning(word: &str, means: &str) -> Meaning {
    Meaning {
        word: word.to_owned(),
        means: means.to_owned(),
    }
}

/// The verbs with their faults, whatever the way.
async fn look_at_verbs(words: DictionaryClient) {
    let unknown = |word: &str| Some(WordFault::Unknown(word.to_owned()));
    let known = |word: &str| Some(WordFault::Known(word.to_owned()));
    let absent = words.change(meaning("ant", "insect")).await.unwrap_err();
    assert_eq!(absent.code(), FaultCode::UnknownEntry);
    assert_eq!(absent.domain(), unknown("ant"));
    assert_eq!(words.get().await.unwrap().version, 0);
    words.insert(meaning("ant", "insect")).await.unwrap();
    let twice = words.insert(meaning("ant", "aunt")).await.unwrap_err();
    assert_eq!(twice.code(), FaultCode::DuplicateEntry);
    assert_eq!(twice.domain(), known("ant"));
    words.change(meaning("ant", "six legs")).await.unwrap();
    assert_eq!(words.look_up("ant".into()).await.unwrap(), "six legs");
    for means in ["mammal", "stick"] {
        words.put(meaning("bat", means)).await.unwrap();
    }
    assert_eq!(words.look_up("bat".into()).await.unwrap(), "stick");
    words.remove("ant".into()).await.unwrap();
    let gone = words.remove("ant".into()).await.unwrap_err();
    assert_eq!(gone.code(), FaultCode::UnknownEntry);
    let query = words.look_up("ant".into()).await.unwrap_err();
    assert_eq!(query.code(), FaultCode::UnknownEntry);
    let other = Words {
        words: [("cow".to_owned(), "moo".to_owned())].into(),
    };
    words.replace(other.clone()).await.unwrap();
    let state = words.get().await.unwrap();
    assert_eq!((state.version, &*state.state), (6, &other));
    assert_eq!(words.lookup().await.unwrap().contract, "test:words/1");
}

#[test]
fn dss_010_012_to_017_the_verbs_here_and_by_http() {
    let dispatcher = Dispatcher::new(2);
    let builder = Node::builder("words").register::<Pocket>();
    let node = builder.start(&dispatcher).unwrap();
    let at = |path| wait_blocking(node.create(Create::<Pocket>::of().at(path))).unwrap();
    wait_blocking(look_at_verbs(at("/here").unwrap())).unwrap();
    at("/there").unwrap();
    let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
    let peer = Peer::at(&format!("http://{}", server.address())).unwrap();
    wait_blocking(look_at_verbs(peer.client("/there"))).unwrap();
}

/// What lies on a scale.
#[data]
#[derive(Default)]
struct Scale {
    grams: f64,
}

#[contract(uri = "test:scale/1", state = Scale)]
trait Scales {
    #[query]
    fn needle(&self) -> f64;
    #[update]
    fn weigh(&mut self, grams: f64);
}

/// Its needle is stuck.
#[derive(Service)]
#[service(contract = Scales)]
struct KitchenScale {
    #[state]
    scale: State<Scale>,
}

impl Scales for KitchenScale {
    fn needle(&self) -> f64 {
        panic!("it is stuck at {}", self.scale.grams)
    }
    fn weigh(&mut self, grams: f64) {
        self.scale.grams = grams;
    }
}

#[test]
fn dss_030_049_what_goes_wrong_elsewhere_is_a_fault_here() {
    let dispatcher = Dispatcher::new(2);
    let builder = Node::builder("kitchen").register::<KitchenScale>();
    let node = builder.start(&dispatcher).unwrap();
    let create = Create::<KitchenScale>::of().at("/scale");
    wait_blocking(node.create(create)).unwrap().unwrap();
    let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
    let peer = Peer::at(&server.url()).unwrap();
    let scale: ScalesClient = peer.client("/scale");
    let weigh = |grams: f64| wait_blocking(async { scale.weigh(grams).await }).unwrap();
    let fault = weigh(f64::NAN).unwrap_err();
    assert!(fault.reason().contains("NaN"), "{fault}");
    let calls = node.find("/scale").unwrap().figures().calls;
    assert_eq!(calls, 0, "it was not sent");
    weigh(2.5).unwrap();
    let fault = wait_blocking(async { scale.needle().await }).unwrap();
    let fault = fault.unwrap_err();
    assert_eq!(fault.code(), FaultCode::OperationFailed);
    assert!(fault.reason().contains("it is stuck at 2.5"), "{fault}");
    let state = wait_blocking(async { scale.get().await }).unwrap().unwrap();
    assert_eq!((state.version, state.grams), (1, 2.5), "it goes on");
}

#[test]
fn dss_080_what_the_constructor_of_another_node_makes_is_called_from_here() {
    let shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let constructor: ConstructorsClient = peer.client("/sys/constructor");
    let mut spec = Spec::of_kind("till");
    spec.at = Some("/second".to_owned());
    let made = wait_blocking(async { constructor.create(spec).await }).unwrap();
    let second: TillClient = peer.client(&made.unwrap().path);
    let entry = Entry {
        name: "ann".to_owned(),
        cents: 3,
    };
    let paid = wait_blocking(async { second.deposit(entry).await }).unwrap();
    assert_eq!(paid.unwrap(), 3);
    // It runs there.
    let there: TillClient = shop.node.client("/second").unwrap();
    let balance = wait_blocking(async { there.balance("ann".to_owned()).await });
    assert_eq!(balance.unwrap().unwrap(), Some(3));
    let again = wait_blocking(async { constructor.create(Spec::of_kind("castle")).await });
    let fault = again.unwrap().unwrap_err();
    assert_eq!(fault.code(), FaultCode::UnknownService);
}

#[test]
fn dss_088_093_get_gives_the_state_and_a_query_a_part() {
    let shop = Shop::open();
    shop.deposit("ann", 40);
    assert_eq!(shop.get("/till").json(), json!({"cents": {"ann": 40}}));
    assert_eq!(shop.get("/till?at=/cents/ann").json(), 40);
    assert_eq!(shop.get("/till/-/balance?body=ann").json(), 40);
    // What stands behind the path of the service is a pointer into its state.
    assert_eq!(shop.get("/till/cents").json(), json!({"ann": 40}));
    assert_eq!(shop.get("/till/cents/eve").status, 404);
}

#[test]
fn dss_090_options_is_lookup() {
    let shop = Shop::open();
    let told = shop.ask("OPTIONS", "/till", "", "").json();
    let till: TillClient = shop.node.client("/till").unwrap();
    let info = wait_blocking(till.lookup()).unwrap().unwrap();
    assert_eq!(told, serde_json::to_value(info).unwrap());
}

#[test]
fn dss_091_put_replaces_and_delete_is_for_those_that_have_one() {
    let shop = Shop::open();
    shop.deposit("ann", 40);
    let put = |body| shop.send("PUT", "/till", "", body).status;
    assert_eq!(put(r#"{"cents":{"bob":1}}"#), 200);
    assert_eq!(put(r#"{"cents":{"bob":"one"}}"#), 422);
    assert_eq!(shop.get("/till").json(), json!({"cents": {"bob": 1}}));
    // DELETE is Delete, never Drop.
    let refused = shop.ask("DELETE", "/till", "", "");
    assert_eq!(refused.status, 405, "{refused:?}");
    let job = shop.send("POST", "/till/-/audit", "", "10").json();
    let job = job["path"].as_str().unwrap();
    let mut status = shop.ask("DELETE", job, "", "").status;
    // The job may have ended before.
    if status != 200 {
        status = shop.get(job).status;
    }
    assert_eq!(status, 200);
}

#[test]
fn dss_091_delete_is_the_delete_of_the_contract() {
    let dispatcher = Dispatcher::new(2);
    let builder = Node::builder("words").register::<Pocket>();
    let node = builder.start(&dispatcher).unwrap();
    let create = Create::<Pocket>::of().at("/words");
    let words = wait_blocking(node.create(create)).unwrap().unwrap();
    let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
    let ask = |method: &str, path: &str, headers: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}");
        let request = format!("{head}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(stream)
    };
    let put = async { words.put(meaning("ant", "insect")).await };
    wait_blocking(put).unwrap().unwrap();
    let outdated = ask("DELETE", "/words?body=ant", "if-match: \"v0\"\r\n");
    assert_eq!(outdated.status, 412, "{outdated:?}");
    assert_eq!(ask("DELETE", "/words?body=ant", "").status, 200);
    assert_eq!(ask("GET", "/words", "").json(), json!({"words": {}}));
    let again = ask("DELETE", "/words?body=ant", "");
    assert_eq!(again.status, 404, "{again:?}");
    assert_eq!(again.json()["title"], "UnknownEntry");
    assert_eq!(ask("DELETE", "/words?body=7", "").status, 422);
    let refused = ask("POST", "/words", "");
    let allow = "GET, HEAD, PUT, DELETE, OPTIONS";
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some(allow))
    );
    let document = ask("GET", "/openapi.json", "").json();
    let described = &document["paths"]["/words"]["delete"];
    assert_eq!(described["parameters"][2]["name"], "body");
    assert_eq!(described["responses"]["200"]["description"], "done");
}

#[test]
fn dss_092_fields_of_a_form_reach_the_handler() {
    let shop = Shop::open();
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let posted = shop.ask("POST", "/till/-/deposit", form, "name=Ann+%26+Bob&cents=42");
    assert_eq!(posted.json(), 42);
    assert_eq!(shop.get("/till").json()["cents"]["Ann & Bob"], 42);
    let wrong = shop.ask("POST", "/till/-/deposit", form, "name=ann&cents=much");
    assert_eq!(
        (wrong.status, &wrong.json()["title"]),
        (422, &json!("MessageNotSupported"))
    );
    assert!(wrong.json()["detail"].as_str().unwrap().contains("cents"));
}

#[test]
fn dss_094_a_fault_has_a_status_a_code_and_a_reason() {
    let shop = Shop::open();
    let body = r#"{"name":"ann","cents":5}"#;
    let lacks = shop.send("POST", "/till/-/withdraw", "", body);
    assert_eq!(lacks.status, 412);
    assert_eq!(
        lacks.header("content-type"),
        Some("application/problem+json")
    );
    let told = lacks.json();
    assert_eq!(told["title"], "PreconditionFailed");
    assert_eq!(told["type"], "urn:motet:fault:PreconditionFailed");
    assert!(told["detail"].as_str().unwrap().contains('5'), "{told}");
    let absent = shop.get("/nowhere").json();
    assert_eq!(absent["title"], "UnknownService");
}

/// A peer that reads a request and then cuts the connection, so many times.
fn cutting(times: usize) -> std::net::SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let cut = move || {
        for _ in 0..times {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&stream).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            // A part of an answer, and no more.
            let mut stream = &stream;
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n4"));
        }
    };
    // The thread ends with its last connection.
    drop(motet_sync::thread::spawn_named("cutting", cut).unwrap());
    at
}

#[test]
fn dss_096_a_connection_that_is_cut_is_a_fault_at_once() {
    let peer = Peer::at(&format!("http://{}", cutting(1))).unwrap();
    let till: TillClient = peer.client("/till");
    let entry = Entry {
        name: "ann".to_owned(),
        cents: 1,
    };
    let begun = Instant::now();
    let cut = async { till.deposit(entry).within(Duration::from_secs(20)).await };
    let fault = wait_blocking(cut).unwrap().unwrap_err();
    let codes = [FaultCode::NoAnswer, FaultCode::Unavailable];
    assert!(codes.contains(&fault.code()), "{fault}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    // A request of which the server has half a body has no effect there.
    let shop = Shop::open();
    let mut stream = shop.connect();
    let head = "POST /till/-/deposit HTTP/1.1\r\nhost: localhost\r\ncontent-length: 90\r\n\
                content-type: application/json\r\n\r\n{\"name\":\"ann\",";
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!([0, 400].contains(&Answer::read(stream).status));
    assert_eq!(shop.get("/till").json(), json!({"cents": {}}));
}

/// A node whose states last.
fn lasting(file: &std::path::Path, dispatcher: &Dispatcher) -> Node {
    let builder = Node::builder("words").register::<Pocket>();
    let node = builder.store(Redb::open(file).unwrap());
    let node = node.start(dispatcher).unwrap();
    let create = Create::<Pocket>::of().at("/words").persist(Persist::Each);
    wait_blocking(node.create(create)).unwrap().unwrap();
    node
}

#[test]
fn dss_097_notifications_come_from_node_to_node_and_a_loss_is_seen() {
    let file = std::env::temp_dir().join(format!("motet-dss-097-{}.redb", std::process::id()));
    drop(std::fs::remove_file(&file));
    let dispatcher = Dispatcher::new(2);
    let node = lasting(&file, &dispatcher);
    let anywhere = Config::at(([127, 0, 0, 1], 0).into());
    let server = Server::start(&node, anywhere).unwrap();
    let at = server.address();
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let mut watch = peer.watch("/words", None, true).unwrap();
    let mut next = || wait_blocking(watch.next()).unwrap().unwrap().unwrap();
    assert_eq!(next().event, "replace");
    let put = |node: &Node, word: &str| {
        let words: DictionaryClient = node.client("/words").unwrap();
        let put = async { words.put(meaning(word, "a word")).await };
        wait_blocking(put).unwrap().unwrap();
    };
    put(&node, "ant");
    let told = next();
    assert_eq!((told.event.as_str(), told.version), ("put", 1));
    assert_eq!(told.body["word"], "ant");
    // The node ends with its process; another is there with what was stored.
    server.stop();
    drop(node);
    let node = lasting(&file, &dispatcher);
    // A change of which nobody can be told: no server is there.
    put(&node, "bat");
    let server = Server::start(&node, Config::at(at)).unwrap();
    // The second node does not know what followed the first: the state comes, and says so.
    let told = next();
    assert_eq!((told.event.as_str(), told.version), ("replace", 2));
    assert!(told.reinstated, "{told:?}");
    let words: Words = serde_json::from_value(told.body).unwrap();
    assert_eq!(words.words.keys().collect::<Vec<_>>(), ["ant", "bat"]);
    put(&node, "cow");
    let told = next();
    assert_eq!((told.event.as_str(), told.version), ("put", 3));
    assert!(!told.reinstated, "{told:?}");
    server.stop();
    drop(node);
    drop(std::fs::remove_file(&file));
}

#[test]
fn dss_058_a_subscriber_whose_process_has_ended_is_forgotten_and_the_publisher_goes_on() {
    let shop = Shop::open();
    let till = shop.node.find("/till").unwrap();
    let mut streams: Vec<_> = (0..2).map(|_| BufReader::new(shop.connect())).collect();
    let mut line = String::new();
    for stream in &mut streams {
        let ask = b"GET /till/-/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.get_mut().write_all(ask).unwrap();
        stream.read_line(&mut line).unwrap();
    }
    assert_eq!(till.lookup().subscriptions.len(), 2);
    // The system closes what a process had when that ends.
    drop(streams.pop());
    let begun = Instant::now();
    let mut deposits: i32 = 0;
    while till.lookup().subscriptions.len() != 1 {
        assert_eq!(shop.deposit("ann", 1).status, 200);
        deposits += 1;
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(20), "it is still there");
    }
    assert_eq!(shop.deposit("ann", 1).json(), deposits + 1);
    // The other is told of the last as well.
    let last = format!("id: {}", deposits + 1);
    while line.trim_end() != last {
        line.clear();
        assert_ne!(streams[0].read_line(&mut line).unwrap(), 0, "it has ended");
    }
}

#[test]
fn dss_098_another_node_has_the_ports_of_one_that_has_ended_at_once() {
    let mut shop = Shop::open();
    let at = shop.at;
    // Connections that are open keep it from nothing: one that waits, and one that is told.
    let waits = shop.connect();
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let mut watch = peer.watch("/till", None, true).unwrap();
    wait_blocking(watch.next()).unwrap().unwrap().unwrap();
    shop.server.take().unwrap().stop();
    wait_blocking(shop.node.shutdown()).unwrap();
    let next = Shop::open_with(|config| config.listen = at);
    assert_eq!(next.at, at);
    assert_eq!(next.deposit("ann", 7).json(), 7, "the second node answers");
    assert!(
        shop.node.services().is_empty(),
        "all of the first has ended"
    );
    drop((watch, waits));
}

#[test]
fn dss_106_the_log_is_read_by_http_and_filtered() {
    let shop = Shop::open();
    let log: LogsClient = shop.node.client("/sys/log").unwrap();
    for (level, category, text) in [
        (Level::Info, "oil", "enough"),
        (Level::Warning, "oil", "little"),
        (Level::Error, "oil", "none"),
        (Level::Error, "tyres", "flat"),
    ] {
        let entry = LogEntry {
            at_ms: 0,
            level,
            category: category.to_owned(),
            service: "/car".to_owned(),
            text: text.to_owned(),
            trace_parent: None,
        };
        wait_blocking(async { log.write(entry).await })
            .unwrap()
            .unwrap();
    }
    let texts = |answer: Answer| -> Vec<String> {
        let entries: Vec<LogEntry> = serde_json::from_value(answer.json()).unwrap();
        entries.into_iter().map(|entry| entry.text).collect()
    };
    let read = |filter: &str| texts(shop.get(&format!("/sys/log/-/read?service=/car{filter}")));
    assert_eq!(read(""), ["enough", "little", "none", "flat"]);
    assert_eq!(read("&level=warning"), ["little", "none", "flat"]);
    assert_eq!(read("&level=warning&category=oil"), ["little", "none"]);
    let filter = r#"{"category": "tyres"}"#;
    let posted = shop.send("POST", "/sys/log/-/read", "", filter);
    assert_eq!(texts(posted), ["flat"]);
}

#[test]
fn what_the_rules_of_a_service_refuse_reaches_no_handler() {
    let shop = Shop::open();
    let mut options = Options::default();
    options.principal = Some("nobody".into());
    let create = Create::<crate::till::OneTill>::of().at("/guarded");
    let create = create.allow(["teller: get deposit"]);
    // A rule that names no verb is refused with the rule.
    let fault = wait_blocking(shop.node.create(create))
        .unwrap()
        .unwrap_err();
    assert!(fault.reason().contains("deposit"), "{fault}");
    let create = Create::<crate::till::OneTill>::of().at("/guarded");
    let create = create.allow(["teller: get update"]);
    wait_blocking(shop.node.create(create)).unwrap().unwrap();
    let guarded = shop.node.find("/guarded").unwrap();
    let entry = json!({"name": "ann", "cents": 1});
    let call = guarded.call_with("deposit", entry, options);
    let fault = wait_blocking(call).unwrap().unwrap_err();
    assert_eq!(fault.code(), FaultCode::PermissionDenied);
    assert_eq!(guarded.figures().calls, 0, "no handler ran");
    let state = wait_blocking(guarded.call("get", Value::Null))
        .unwrap()
        .unwrap();
    assert_eq!(
        state["state"],
        serde_json::to_value(Accounts::default()).unwrap()
    );
}
