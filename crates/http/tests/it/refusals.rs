//! What is refused, and that it reached no handler.

use crate::till::{Accounts, Answer, OneTill, Shop, TillClient};
use motet_dispatch::Dispatcher;
use motet_http::{Config, Server, StartError};
use motet_ports::wait_blocking;
use motet_service::{Create, Node};
use motet_testkit::patience;
use serde_json::json;
use std::future::IntoFuture;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

#[test]
fn sem_g411_bad_requests_reach_no_handler() {
    let shop = Shop::open();
    let lines = "x-line: 1\r\n".repeat(70);
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    let deep = format!("{}1{}", "[".repeat(80), "]".repeat(80));
    let kind = "content-type: application/json\r\n";
    let with = |header: &str| format!("{kind}{header}\r\n");
    let (tag, span, key) = (
        with("if-match: v1"),
        with("motet-timeout: soon"),
        with("idempotency-key:"),
    );
    let (none, other, compressed) = (
        with("if-none-match: *"),
        with("if-none-match: \"v1\""),
        with("content-encoding: gzip"),
    );
    let cases: &[(&str, &str, &str, &str, u16)] = &[
        ("POST", "/nowhere/-/deposit", kind, "1", 404),
        ("POST", "/till/-/rob", kind, "1", 405),
        ("POST", "/till/-/deposit", kind, "{\"name\":1}", 422),
        ("POST", "/till/-/deposit", kind, "{\"name\":", 400),
        (
            "POST",
            "/till/-/deposit",
            "content-type: text/csv\r\n",
            "a,1",
            415,
        ),
        ("POST", "/till/-/deposit", "", "{}", 415),
        ("POST", "/till/-/deposit", kind, &large, 413),
        ("POST", "/till/-/deposit", kind, &deep, 400),
        ("POST", "/till/../till/-/deposit", kind, "{}", 400),
        ("POST", "/till/%zz", kind, "{}", 400),
        ("POST", "/till", kind, "{}", 405),
        ("PUT", "/sys/log/entries/0", kind, "1", 405),
        ("PUT", "/till", &tag, "{}", 400),
        ("PUT", "/till", &span, "{}", 400),
        ("PUT", "/till", &key, "{}", 400),
        ("PUT", "/till", &none, "{\"cents\": {\"ann\": 1}}", 412),
        ("PATCH", "/till", &none, "{\"cents\": {\"ann\": 1}}", 412),
        ("PATCH", "/till", &other, "{\"cents\": {\"ann\": 1}}", 400),
        ("POST", "/till/-/deposit", &compressed, "{}", 415),
        ("GET", "/till/-/events?sinse=1", "", "", 400),
        ("GET", "/till/-/events?sync=no", "", "", 400),
        ("GET", "/till/-/events?type=rob", "", "", 400),
        // No operation has this verb, and this one changes nothing.
        ("GET", "/till/-/events?type=insert", "", "", 400),
        ("GET", "/till/-/events?type=balance", "", "", 400),
        ("POST", "/healthz", kind, "1", 405),
        ("GET", "/till", &lines, "", 431),
    ];
    are_refused(&shop, cases);
    assert_eq!(shop.get("/till").header("etag"), Some("\"v0\""));
}

/// Each of these requests, a method, path, headers and body, gets this status with a problem.
fn are_refused(shop: &Shop, cases: &[(&str, &str, &str, &str, u16)]) {
    for (method, path, headers, body, status) in cases {
        let refused = shop.ask(method, path, headers, body);
        assert_eq!(refused.status, *status, "{method} {path}: {refused:?}");
        assert_eq!(
            refused.header("content-type"),
            Some("application/problem+json")
        );
        let problem = refused.json();
        assert_eq!(problem["status"], *status);
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|text| text.len() > 10),
            "{problem}"
        );
    }
}

#[test]
fn sem_g600_bad_requests_for_several_services_are_refused() {
    let kind = "content-type: application/json\r\n";
    let cases: &[(&str, &str, &str, &str, u16)] = &[
        ("GET", "/events", "", "", 400),
        ("GET", "/events?of=/till,/till", "", "", 400),
        ("GET", "/events?of=/till/cents", "", "", 404),
        ("GET", "/events?of=/till,/nowhere", "", "", 404),
        ("GET", "/events?of=/till&since=1", "", "", 400),
        ("GET", "/events?of=/till&type=rob", "", "", 400),
        ("GET", "/events?of=/till&type=insert", "", "", 400),
        ("GET", "/events?of=/till", "last-event-id: 1,2\r\n", "", 400),
        ("GET", "/events?of=/till", "last-event-id: x\r\n", "", 400),
        ("POST", "/events?of=/till", kind, "1", 405),
    ];
    are_refused(&Shop::open(), cases);
}

#[test]
fn sem_g571_names_that_an_operation_does_not_take_reach_no_handler() {
    let shop = Shop::open();
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let own = r#"{"name":"ann","cents":1}"#;
    let more = r#"{"name":"ann","cents":1,"cent":2}"#;
    let deposit = "/till/-/deposit";
    let refused = shop.send("POST", deposit, "", more);
    assert_eq!(refused.status, 422, "{refused:?}");
    let why = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        why.contains("\"cent\"") && why.contains("name, cents"),
        "{why}"
    );
    let refused = shop.ask("POST", deposit, form, "name=ann&cents=1&cent=2");
    assert_eq!(refused.status, 422, "{refused:?}");
    for json in [own, "[\"ann\", 1]", " \"ann\""] {
        let refused = shop.ask("POST", deposit, form, json);
        assert_eq!(refused.status, 415, "{refused:?}");
        assert!(refused.body.contains("application/json"), "{refused:?}");
    }
    assert_eq!(shop.get("/till").header("etag"), Some("\"v0\""));
    assert_eq!(shop.send("POST", deposit, "", own).json(), 1);
    let lookup = shop.get("/till/-/lookup").json();
    let operations = lookup["operations"].as_array().unwrap();
    let taken = operations.iter().find(|own| own["name"] == "deposit");
    assert_eq!(taken.unwrap()["body"]["additionalProperties"], false);
}

#[test]
fn sem_g412_other_names_and_other_pages_are_refused() {
    let shop = Shop::open();
    let ask = |head: &str| {
        let mut stream = shop.connect();
        let request = format!("{head}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(stream).status
    };
    for method in ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] {
        let head = format!("{method} /till HTTP/1.1\r\n");
        assert_eq!(
            ask(&format!("{head}host: evil.example\r\n")),
            421,
            "{method}"
        );
        assert_eq!(
            ask(&format!("{head}host: localhost.evil.example:80\r\n")),
            421
        );
        assert_eq!(
            ask(&format!("{head}host: localhost\r\nhost: evil.example\r\n")),
            400
        );
    }
    let absolute = "GET http://evil.example/till HTTP/1.1\r\nhost: localhost\r\n";
    assert_eq!(ask(absolute), 421);
    let post = "POST /till/-/drop HTTP/1.1\r\nhost: localhost:80\r\n";
    assert_eq!(ask(&format!("{post}origin: http://evil.example\r\n")), 403);
    assert_eq!(ask(&format!("{post}origin: null\r\n")), 403);
    assert_eq!(ask(&format!("{post}sec-fetch-site: cross-site\r\n")), 403);
    assert_eq!(ask("GET /till HTTP/1.1\r\nhost: 127.0.0.1:80\r\n"), 200);
    assert_eq!(ask(&format!("{post}origin: http://localhost:80\r\n")), 200);
}

#[test]
fn a_server_without_limits_answers() {
    let mut shop = Shop::open_with(|config| {
        let limits = &mut config.limits;
        (limits.connections, limits.in_flight) = (usize::MAX, usize::MAX);
        (limits.head, limits.headers, limits.body) = (usize::MAX, usize::MAX, usize::MAX);
        (limits.head_time, limits.body_time) = (Duration::MAX, Duration::MAX);
        (limits.write_time, limits.stop_time) = (Duration::MAX, Duration::MAX);
        limits.depth = usize::MAX;
    });
    let lines = "x-line: 1\r\n".repeat(200);
    let kind = "content-type: application/json\r\n";
    let posted = shop.ask("POST", "/till/-/balance", &(lines + kind), "\"ann\"");
    assert_eq!(posted.status, 200, "{posted:?}");
    // Lists in lists.
    let (kind, lists) = ("content-type: application/cbor\r\n", vec![0x81; 1 << 18]);
    let (head, _) = shop.bytes("POST", "/till/-/balance", kind, &lists);
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    shop.server.take().unwrap().stop();
}

#[test]
fn dss_100_only_loopback_is_listened_on() {
    let shop = Shop::open();
    let everywhere = Config::at(([0, 0, 0, 0], 0).into());
    let refused = Server::start(&shop.node, everywhere).unwrap_err();
    assert!(matches!(refused, StartError::Exposed(_)));
    assert!(refused.to_string().contains("127.0.0.1"), "{refused}");
    let taken = Server::start(&shop.node, Config::at(shop.at)).unwrap_err();
    assert!(matches!(taken, StartError::Listen(at, _) if at == shop.at));
}

/// Where a server answers itself.
const OWN: [&str; 7] = [
    "/events",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/console",
    "/console/till",
];

#[test]
fn sem_g574_no_service_is_made_where_the_server_of_its_node_answers() {
    let shop = Shop::open();
    let load = |path: &str| {
        let manifest = format!("[[service]]\ntype = \"till\"\nat = \"{path}\"\n");
        let texts = json!([manifest]).to_string();
        let loaded = shop.send("POST", "/sys/manifests/-/load", "", &texts);
        assert_eq!(loaded.status, 200, "{loaded:?}");
        loaded.json()[0].clone()
    };
    for path in OWN {
        let loaded = load(path);
        let reason = loaded["fault"]["reason"].as_str().unwrap();
        let advice = format!("answers at {path} itself; give the service another path");
        assert!(reason.contains(&advice), "{reason}");
        assert!(loaded["service"].is_null() && shop.node.find(path).is_err());
    }
    let loaded = load("/metrics/till");
    assert!(loaded["fault"].is_null(), "{loaded}");
    assert_eq!(shop.get("/metrics/till").json(), json!({"cents": {}}));
}

#[test]
fn sem_g574_no_service_is_where_the_server_answers_itself() {
    for path in OWN {
        let dispatcher = Dispatcher::new(1);
        let node = Node::builder("own").register::<OneTill>();
        let node = node.start(&dispatcher).unwrap();
        let created = node.create(Create::<OneTill>::of().at(path));
        wait_blocking(created).unwrap().unwrap();
        let refused = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into()));
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, StartError::OwnPath(own) if own == path));
        assert!(refused.to_string().contains(path), "{refused}");
    }
}

#[test]
fn sem_g413_a_server_that_takes_short_heads_only_answers() {
    let shop = Shop::open_with(|config| config.limits.head = 1024);
    assert_eq!(shop.get("/till").status, 200);
}

#[test]
fn sem_g522_who_takes_nothing_of_an_answer_keeps_no_connection() {
    let shop = Shop::open_with(|config| {
        config.limits.connections = 1;
        config.limits.write_time = Duration::from_millis(100);
    });
    // More than all buffers on the way take.
    let cents = [("x".repeat(32 << 20), 1)].into();
    let till: TillClient = shop.node.client("/till").unwrap();
    let replaced = till.replace(Accounts { cents }).into_future();
    wait_blocking(replaced).unwrap().unwrap();
    let mut deaf = shop.connect();
    deaf.write_all(b"GET /till HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let begun = Instant::now();
    while shop.get("/healthz").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it has the room");
    }
    drop(deaf);
}

#[test]
fn sem_g413_without_room_a_request_is_answered_503() {
    let shop = Shop::open_with(|config| config.limits.in_flight = 1);
    let mut slow = shop.connect();
    slow.write_all(b"GET /till/-/wait?body=60000 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut refused = shop.get("/till");
    let begun = Instant::now();
    while refused.status == 200 && begun.elapsed() < Duration::from_secs(10) {
        refused = shop.get("/till");
    }
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
    assert_eq!(refused.json()["title"], json!("QueuingLimitExceeded"));
    assert_eq!(shop.get("/healthz").status, 200);
}

#[test]
fn sem_g413_without_room_for_a_connection_it_is_answered_503() {
    let shop = Shop::open_with(|config| config.limits.connections = 1);
    let _first = shop.connect();
    let refused = shop.get("/till");
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
}

#[test]
fn sem_g413_a_connection_without_room_is_answered_when_it_has_asked() {
    let shop = Shop::open_with(|config| config.limits.connections = 1);
    let _first = shop.connect();
    let mut refused = shop.connect();
    let (head, rest) = (
        "POST /till/-/deposit HTTP/1.1\r\nhost: localhost\r\n",
        "content-length: 600000\r\n\r\n",
    );
    refused.write_all(head.as_bytes()).unwrap();
    let while_it_asks = Some(Duration::from_millis(200));
    refused.set_read_timeout(while_it_asks).unwrap();
    assert!(refused.peek(&mut [0]).is_err(), "nothing was asked yet");
    refused.set_read_timeout(Some(patience())).unwrap();
    refused.write_all(rest.as_bytes()).unwrap();
    // The answer is there long before the end of the body.
    for piece in vec![b'1'; 600_000].chunks(60_000) {
        refused.write_all(piece).unwrap();
        std::thread::yield_now();
    }
    assert_eq!(Answer::read(refused).status, 503);
}

#[test]
fn sem_g413_slow_heads_and_bodies_are_cut_off() {
    let shop = Shop::open_with(|config| {
        config.limits.head_time = Duration::from_millis(50);
        config.limits.body_time = Duration::from_millis(50);
    });
    let mut stream = shop.connect();
    stream.write_all(b"GET /till HTTP/1.1\r\nhost:").unwrap();
    let cut = Answer::read(stream);
    assert!([0, 408].contains(&cut.status), "{cut:?}");
    let head = "POST /till/-/deposit HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\
                content-type: application/json\r\n\r\n{";
    let slow = once_more(|| {
        let mut stream = shop.connect();
        drop(stream.write_all(head.as_bytes()));
        Answer::read(stream)
    });
    assert_eq!(slow.status, 408);
    assert_eq!(once_more(|| shop.get("/healthz")).status, 200);
}

/// An answer. Who asks by a slow machine may be cut off before it has asked, and asks once more.
fn once_more(mut ask: impl FnMut() -> Answer) -> Answer {
    let mut answers = (0..20).map(|_| ask());
    let answer = answers.find(|answer| answer.status != 0);
    answer.expect("it is cut off each time")
}

#[test]
fn sem_g413_only_who_waits_for_a_head_is_cut_off() {
    let shop = Shop::open_with(|config| config.limits.head_time = Duration::from_millis(500));
    // A head behind another may take as long.
    for rest in ["", "GET /till HTTP/1.1\r\nhost:"] {
        let heads = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n{rest}");
        let answered = once_more(|| {
            let mut stream = shop.connect();
            drop(stream.write_all(heads.as_bytes()));
            let mut answer = Vec::new();
            let ended = stream.read_to_end(&mut answer).map_err(|why| why.kind());
            let waits_still = [ErrorKind::WouldBlock, ErrorKind::TimedOut].map(Err);
            assert!(!waits_still.contains(&ended), "{ended:?}");
            Answer::of(&answer)
        });
        assert_eq!(answered.status, 200);
    }
    // Who reads events does not wait for a head, nor does who is answered late.
    let head = "GET /till/-/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (mut events, mut piece) = (shop.connect(), [0; 256]);
    let begun = once_more(|| {
        events = shop.connect();
        drop(events.write_all(head.as_bytes()));
        let bytes = events.read(&mut piece).unwrap_or(0);
        Answer::of(&piece[..bytes])
    });
    assert_eq!(begun.status, 200);
    let mut read = begun.body;
    let mut read_to = |part: &str| {
        while !read.contains(part) {
            let bytes = events.read(&mut piece).unwrap();
            assert_ne!(bytes, 0, "it was cut off: {read}");
            read.push_str(std::str::from_utf8(&piece[..bytes]).unwrap());
        }
    };
    read_to("id: 0");
    let late = once_more(|| shop.send("POST", "/till/-/wait", "", "1200"));
    assert_eq!(late.status, 200);
    assert_eq!(once_more(|| shop.deposit("ann", 1)).status, 200);
    read_to("ann");
}

/// Sends this, and byte after byte of a head that has no end, until the connection ends: what has
/// come.
fn dripped(shop: &Shop, before: &str) -> String {
    let mut stream = shop.connect();
    let head = format!("{before}GET /till HTTP/1.1\r\nhost: localhost\r\nx-slow: ");
    // A slow machine is cut off before it has sent all.
    drop(stream.write_all(head.as_bytes()));
    let pause = Some(Duration::from_millis(10));
    stream.set_read_timeout(pause).unwrap();
    let (mut came, mut piece) = (Vec::new(), [0; 4096]);
    let mut goes_on = true;
    while goes_on {
        drop(stream.write_all(b"x"));
        goes_on = match stream.read(&mut piece) {
            Ok(bytes) => {
                came.extend_from_slice(&piece[..bytes]);
                bytes > 0
            }
            Err(why) => [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&why.kind()),
        };
    }
    String::from_utf8(came).unwrap()
}

#[test]
fn sem_g413_a_head_that_comes_byte_by_byte_is_cut_off() {
    let shop = Shop::open_with(|config| config.limits.head_time = Duration::from_millis(500));
    let get = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let refused = "PATCH /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nall";
    let body = r#"{"name":"ann","cents":1}"#;
    let long = format!(
        "POST /till/-/deposit HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{}{body}",
        300_000 + body.len(),
        " ".repeat(300_000)
    );
    for before in ["", get, &get.repeat(40), refused, &long] {
        let came = dripped(&shop, before);
        // One that goes on ends as well: when the head is larger than one may be.
        assert!(!came.contains(" 431 "), "{came}");
    }
}
