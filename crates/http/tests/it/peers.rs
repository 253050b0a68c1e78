//! The typed client, here and by HTTP.

use crate::till::{Entry, Shop, TillClient, TillFault};
use motet_dispatch::Dispatcher;
use motet_http::{Config, Peer, Server};
use motet_ports::{wait_blocking, wait_blocking_for};
use motet_service::{
    Create, Fault, FaultCode, Node, Options, Service, State, Value, contract, data,
};
use motet_sync::thread::{JoinHandle, spawn_named};
use std::future::IntoFuture;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

fn entry(cents: i64) -> Entry {
    let name = "ann".to_owned();
    Entry { name, cents }
}

/// What a node answers that has no room for a connection.
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\
                    connection: close\r\n\r\n";

/// A place where each connection gets one of these answers, and then ends.
fn answering(answers: Vec<String>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let serve = move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&stream).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            stream.write_all(answer.as_bytes()).unwrap();
        }
    };
    (at, spawn_named("answering", serve).unwrap())
}

/// The same calls with the same answers, whatever the way.
async fn works(till: &TillClient) {
    assert_eq!(till.deposit(entry(40)).await.unwrap(), 40);
    assert_eq!(till.balance("ann".to_owned()).await.unwrap(), Some(40));
    assert_eq!(till.balance("bob".to_owned()).await.unwrap(), None);
    let lacks = till.withdraw(entry(41)).await.unwrap_err();
    assert_eq!(lacks.code(), FaultCode::PreconditionFailed);
    assert_eq!(lacks.domain(), Some(TillFault::Lacks(1)));
    let got = till.get().await.unwrap();
    assert_eq!((got.version, got.cents["ann"]), (1, 40));
    let outdated = till.deposit(entry(1)).if_version(0).await.unwrap_err();
    assert_eq!(outdated.code(), FaultCode::PreconditionFailed);
    for _ in 0..2 {
        assert_eq!(till.deposit(entry(2)).key("once").await.unwrap(), 42);
    }
    let late = till.wait(60_000).within(Duration::from_millis(30)).await;
    assert_eq!(late.unwrap_err().code(), FaultCode::ResponseTimeout);
    let patient = till.balance("ann".to_owned()).within(Duration::MAX).await;
    assert_eq!(patient.unwrap(), Some(42));
    assert_eq!(till.lookup().await.unwrap().kind, "till");
    till.drop_service().await.unwrap();
    let gone = till.balance("ann".to_owned()).await.unwrap_err();
    let codes = [FaultCode::Gone, FaultCode::UnknownService];
    assert!(codes.contains(&gone.code()), "{gone}");
}

#[test]
fn dss_095_the_same_here_and_by_http() {
    let shop = Shop::open();
    wait_blocking(works(&shop.node.client("/till").unwrap())).unwrap();
    let shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    wait_blocking(works(&peer.client("/till"))).unwrap();
}

#[test]
fn sem_g420_calls_at_the_same_time_are_all_carried_out() {
    let shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let till: TillClient = peer.client("/till");
    wait_blocking(async {
        let calls: Vec<_> = (0..100)
            .map(|_| till.deposit(entry(1)).into_future())
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(till.get().await.unwrap().cents["ann"], 100);
    })
    .unwrap();
}

#[test]
fn sem_g420_an_absent_node_is_a_fault_by_the_deadline() {
    let mut shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    shop.server.take().unwrap().stop();
    let mut options = Options::default();
    options.within = Some(Duration::from_millis(100));
    let get = wait_blocking(peer.call("/till", "get", Value::Null, options)).unwrap();
    let code = get.unwrap_err().code();
    let codes = [FaultCode::Unavailable, FaultCode::ResponseTimeout];
    assert!(codes.contains(&code), "{code:?}");
    for wrong in [
        "",
        "localhost",
        "https://localhost",
        "http://localhost/till",
        "http://127.0.0.1:999999",
    ] {
        assert!(Peer::at(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn sem_g420_a_node_that_was_never_reached_is_a_fault_at_once() {
    // Nobody listens there any more.
    let at = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr();
    let peer = Peer::at(&format!("http://{}", at.unwrap())).unwrap();
    let mut options = Options::default();
    // Tried again within its time, it would not end.
    options.within = Some(Duration::MAX);
    let get = wait_blocking(peer.call("/till", "get", Value::Null, options)).unwrap();
    assert_eq!(get.unwrap_err().code(), FaultCode::Unavailable);
}

#[test]
fn sem_g421_a_watch_of_what_is_no_node_ends_with_its_fault() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines();
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi";
        stream.write_all(page).unwrap();
    };
    let serving = motet_sync::thread::spawn_named("page", serve).unwrap();
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let mut watch = peer.watch("/till", None, true).unwrap();
    let fault = wait_blocking(watch.next()).unwrap().unwrap().unwrap_err();
    assert_eq!(fault.code(), FaultCode::UnknownService, "{fault}");
    assert!(fault.to_string().contains("text/html"), "{fault}");
    assert!(wait_blocking(watch.next()).unwrap().is_none());
    serving.join().unwrap();
}

#[test]
fn sem_g421_a_watch_goes_on_behind_what_came_last() {
    let mut shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let mut watch = peer.watch("/till", None, true).unwrap();
    let mut next = || wait_blocking(watch.next()).unwrap();
    let state = next().unwrap().unwrap();
    assert_eq!((state.event.as_str(), state.version), ("replace", 0));
    shop.deposit("ann", 1);
    let first = next().unwrap().unwrap();
    assert_eq!((first.event.as_str(), first.version), ("deposit", 1));
    // The connection fails, and there are changes before the next.
    shop.server.take().unwrap().stop();
    let till: TillClient = shop.node.client("/till").unwrap();
    for cents in [2, 3] {
        wait_blocking(till.deposit(entry(cents)).into_future())
            .unwrap()
            .unwrap();
    }
    shop.server = Some(Server::start(&shop.node, Config::at(shop.at)).unwrap());
    for (version, cents) in [(2, 2), (3, 3)] {
        let told = next().unwrap().unwrap();
        assert_eq!(
            (told.version, &told.body["cents"]),
            (version, &cents.into())
        );
        assert!(!told.reinstated);
    }
    wait_blocking(till.drop_service().into_future())
        .unwrap()
        .unwrap();
    let told = std::iter::from_fn(next).last().unwrap().unwrap();
    assert_eq!(told.event, "gone");
}

#[test]
fn sem_g421_a_watch_whose_connection_has_failed_says_so_until_it_is_back() {
    let mut shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let mut watch = peer.watch("/till", None, true).unwrap();
    assert!(wait_blocking(watch.next()).unwrap().unwrap().is_ok());
    assert_eq!(watch.lost(), None);
    shop.server.take().unwrap().stop();
    while watch.lost().is_none() {
        std::thread::yield_now();
    }
    shop.server = Some(Server::start(&shop.node, Config::at(shop.at)).unwrap());
    shop.deposit("ann", 1);
    let told = wait_blocking(watch.next()).unwrap().unwrap().unwrap();
    assert_eq!((told.event.as_str(), watch.lost()), ("deposit", None));
}

#[test]
fn sem_g421_a_watch_that_has_seen_nothing_yet_misses_nothing() {
    let mut shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let mut watch = peer.watch("/till", None, false).unwrap();
    let any = shop.node.find("/till").unwrap();
    while any.lookup().subscriptions.is_empty() {
        std::thread::yield_now();
    }
    shop.server.take().unwrap().stop();
    let till: TillClient = shop.node.client("/till").unwrap();
    for cents in [1, 2] {
        wait_blocking(till.deposit(entry(cents)).into_future())
            .unwrap()
            .unwrap();
    }
    shop.server = Some(Server::start(&shop.node, Config::at(shop.at)).unwrap());
    for version in [1, 2] {
        let told = wait_blocking_for(watch.next(), Duration::from_secs(60));
        let told = told.expect("it is told").unwrap().unwrap();
        assert_eq!((told.event.as_str(), told.version), ("deposit", version));
        assert!(!told.reinstated);
    }
}

#[test]
fn sem_g421_a_watch_that_comes_back_waits_for_room() {
    let told = |version: u64| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
             id: {version}\nevent: deposit\ndata: {{\"version\":{version}}}\n\n"
        )
    };
    let (at, serving) = answering(vec![told(1), BUSY.to_owned(), told(2)]);
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let mut watch = peer.watch("/till", None, true).unwrap();
    for version in [1, 2] {
        let told = wait_blocking_for(watch.next(), Duration::from_secs(60));
        let told = told.expect("it is told").unwrap().unwrap();
        assert_eq!(told.version, version);
    }
    serving.join().unwrap();
}

#[test]
fn sem_g521_a_state_has_the_version_of_its_tag_or_is_a_fault() {
    let answer = |tag: &str| {
        let head = format!("HTTP/1.1 200 OK\r\n{tag}connection: close\r\ncontent-length: 12");
        head + "\r\n\r\n{\"cents\":{}}"
    };
    // As a proxy that compresses leaves the tag, and as one does that knows no tags.
    let (at, serving) = answering(vec![answer("etag: W/\"v17\"\r\n"), answer("")]);
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let till: TillClient = peer.client("/till");
    let got = wait_blocking(till.get().into_future()).unwrap();
    assert_eq!(got.unwrap().version, 17);
    let fault = wait_blocking(till.get().into_future())
        .unwrap()
        .unwrap_err();
    serving.join().unwrap();
    assert_eq!(fault.code(), FaultCode::UnknownService, "{fault}");
    assert!(fault.reason().contains("ETag"), "{fault}");
}

#[test]
fn sem_g572_an_answer_that_is_no_json_is_a_fault_at_once() {
    let page = |status: &str| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/html\r\nconnection: close");
        head + "\r\ncontent-length: 2\r\n\r\nhi"
    };
    let state = "HTTP/1.1 200 OK\r\netag: \"v3\"\r\nconnection: close\r\ncontent-length: 12\r\n\r\n\
                 {\"cents\":{}}";
    for status in ["200 OK", "404 Not Found", "500 Internal Server Error"] {
        let (at, serving) = answering(vec![page(status)]);
        let peer = Peer::at(&format!("http://{at}")).unwrap();
        let till: TillClient = peer.client("/till");
        let fault = wait_blocking(till.get().into_future()).unwrap();
        let fault = fault.unwrap_err();
        assert_eq!(fault.code(), FaultCode::UnknownService, "{fault}");
        assert!(fault.reason().contains("no node of motet"), "{fault}");
        serving.join().unwrap();
    }
    // Whoever stands between may reach the node later.
    let answers = vec![page("502 Bad Gateway"), state.to_owned()];
    let (at, serving) = answering(answers);
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let till: TillClient = peer.client("/till");
    let got = wait_blocking(till.get().within(Duration::MAX).into_future()).unwrap();
    assert_eq!(got.unwrap().version, 3);
    serving.join().unwrap();
}

#[test]
fn sem_g572_a_path_without_its_slash_is_refused_and_one_behind_it_is_left_out() {
    let shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    for wrong in ["till", "", "/"] {
        let call = peer.call(wrong, "get", Value::Null, Options::default());
        let fault = wait_blocking(call).unwrap().unwrap_err();
        assert_eq!(fault.code(), FaultCode::UnknownService, "{fault}");
        assert!(fault.reason().contains(&format!("{wrong:?}")), "{fault}");
        assert_eq!(peer.watch(wrong, None, true).unwrap_err(), fault);
    }
    let till: TillClient = peer.client("/till/");
    assert_eq!(
        wait_blocking(till.deposit(entry(40)).into_future()).unwrap(),
        Ok(40)
    );
    let mut watch = peer.watch("/till/", None, true).unwrap();
    let first = wait_blocking(watch.next()).unwrap().unwrap().unwrap();
    assert_eq!((first.event.as_str(), first.version), ("replace", 1));
}

#[test]
fn sem_g421_a_watch_of_an_operation_that_there_is_not_is_its_fault() {
    let shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    for unknown in ["rob", "insert"] {
        let mut watch = peer.watch("/till", Some(unknown), true).unwrap();
        let fault = wait_blocking(watch.next()).unwrap().unwrap().unwrap_err();
        assert_eq!(fault.code(), FaultCode::ActionNotSupported, "{fault}");
        assert!(fault.reason().contains("deposit"), "{fault}");
    }
    for known in ["deposit", "update", "replace"] {
        let mut watch = peer.watch("/till", Some(known), true).unwrap();
        let first = wait_blocking(watch.next()).unwrap().unwrap().unwrap();
        assert_eq!(first.event, "replace", "the state comes first");
    }
}

#[test]
fn sem_g573_who_sends_a_body_that_is_too_large_is_told_so() {
    let shop = Shop::open_with(|config| {
        let hour = Duration::from_secs(3600);
        (config.limits.head_time, config.limits.body_time) = (hour, hour);
    });
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let till: TillClient = peer.client("/till");
    // Each time the answer may come while the body is still written.
    for _ in 0..32 {
        let name = "x".repeat(8 << 20);
        let deposit = till.deposit(Entry { name, cents: 1 });
        let fault = wait_blocking(deposit.within(Duration::MAX).into_future()).unwrap();
        let fault = fault.unwrap_err();
        assert_eq!(fault.code(), FaultCode::MessageNotSupported, "{fault}");
        assert!(fault.reason().contains("1048576"), "{fault}");
    }
    let balance = till.balance("ann".to_owned()).within(Duration::MAX);
    assert_eq!(wait_blocking(balance.into_future()).unwrap(), Ok(None));
}

#[test]
fn sem_g420_a_node_without_room_for_a_connection_says_when_to_try_again() {
    let (at, serving) = answering(vec![BUSY.to_owned()]);
    let peer = Peer::at(&format!("http://{at}")).unwrap();
    let call = peer.call("/till", "deposit", Value::Null, Options::default());
    let fault = wait_blocking(call).unwrap().unwrap_err();
    serving.join().unwrap();
    assert_eq!(fault.code(), FaultCode::QueuingLimitExceeded, "{fault}");
    assert_eq!(fault.retry_in(), Some(Duration::from_secs(1)));
}

#[data]
#[derive(Default)]
struct Taken {
    turns: u64,
}

#[contract(uri = "test:turns/1", state = Taken)]
trait Turns {
    /// Has the first of these nodes take a turn with the others, and takes one.
    #[update]
    async fn turn(&mut self, way: Vec<String>) -> Result<u64, Fault>;
    /// As that, by its name.
    #[update]
    async fn turn_by_name(&mut self, way: Vec<String>) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Turns, name = "turn")]
struct OneTurn {
    #[state]
    taken: State<Taken>,
}

impl Turns for OneTurn {
    async fn turn(&mut self, way: Vec<String>) -> Result<u64, Fault> {
        let mut way = way.into_iter();
        if let Some(next) = way.next() {
            let next: TurnsClient = Peer::at(&next)?.client("/turn");
            next.turn(way.collect()).await?;
        }
        self.taken.turns += 1;
        Ok(self.taken.turns)
    }
    async fn turn_by_name(&mut self, way: Vec<String>) -> Result<u64, Fault> {
        let mut way = way.into_iter();
        if let Some(next) = way.next() {
            let (peer, rest) = (Peer::at(&next)?, way.collect::<Vec<_>>());
            let options = Options::default();
            peer.call("/turn", "turn_by_name", rest.into(), options)
                .await?;
        }
        self.taken.turns += 1;
        Ok(self.taken.turns)
    }
}

#[test]
fn sem_g381_a_call_that_comes_back_by_other_processes_is_a_self_call() {
    let dispatcher = Dispatcher::new(2);
    let open = |name: &str| {
        let builder = Node::builder(name).register::<OneTurn>();
        let node = builder.start(&dispatcher).unwrap();
        let made = wait_blocking(node.create(Create::<OneTurn>::of().at("/turn")));
        let client: TurnsClient = made.unwrap().unwrap();
        let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
        (client, server.url(), server, node)
    };
    // The same path and the same number, in nodes that know nothing of each other.
    let (one, other) = (open("one"), open("other"));
    let turn = |way: &[&String]| {
        let way = way.iter().map(|url| (*url).clone()).collect();
        wait_blocking(one.0.turn(way).into_future()).unwrap()
    };
    assert_eq!(turn(&[&other.1]), Ok(1));
    for back in [&one.1, &other.1] {
        let fault = turn(&[&other.1, back]).unwrap_err();
        assert_eq!(fault.code(), FaultCode::SelfCall, "{fault}");
        let way = vec![other.1.clone(), back.clone()];
        let called = wait_blocking(one.0.turn_by_name(way).into_future());
        let fault = called.unwrap().unwrap_err();
        assert_eq!(fault.code(), FaultCode::SelfCall, "{fault}");
    }
    assert_eq!(turn(&[&other.1]), Ok(2));
}

#[test]
fn sem_g421_a_watch_of_nothing_ends_with_its_fault() {
    let mut shop = Shop::open();
    let peer = Peer::at(&format!("http://{}", shop.at)).unwrap();
    let fault_of = |path| {
        let mut watch = peer.watch(path, Some("deposit"), false).unwrap();
        let fault = wait_blocking(watch.next()).unwrap().unwrap().unwrap_err();
        assert!(wait_blocking(watch.next()).unwrap().is_none());
        fault.code()
    };
    assert_eq!(fault_of("/nowhere"), FaultCode::UnknownService);
    shop.server.take().unwrap().stop();
    assert_eq!(fault_of("/till"), FaultCode::Unavailable);
}
