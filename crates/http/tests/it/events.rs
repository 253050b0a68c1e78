//! Notifications as server-sent events.

use crate::till::{Answer, OneTill, Shop};
use motet_ports::wait_blocking;
use motet_service::{Create, Value};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The next event: its fields that are not the data, and the data.
fn next(reader: &mut BufReader<TcpStream>) -> (String, String) {
    let (mut fields, mut data) = (String::new(), String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return ("end".to_owned(), data);
        }
        let line = line.trim_end();
        if line.is_empty() {
            if !fields.is_empty() && !data.is_empty() {
                return (fields, data);
            }
            // A number without an event.
            fields.clear();
        }
        if line.starts_with("id: ") || line.starts_with("event: ") {
            fields = format!("{fields}{line};");
        } else if let Some(line) = line.strip_prefix("data: ") {
            data = line.to_owned();
        }
    }
}

fn watch(shop: &Shop, path: &str, headers: &str) -> BufReader<TcpStream> {
    let mut stream = shop.connect();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.contains("200"), "{line}");
    reader
}

#[test]
fn sem_g417_changes_are_events_with_the_version_as_number() {
    let shop = Shop::open();
    shop.deposit("ann", 1);
    let mut events = watch(&shop, "/till/-/events?sync=1", "");
    let (fields, data) = next(&mut events);
    assert_eq!(fields, "id: 1;event: replace;");
    assert!(data.contains(r#""ann":1"#), "{data}");
    shop.deposit("ann", 2);
    let (fields, data) = next(&mut events);
    assert_eq!(fields, "id: 2;event: deposit;");
    assert!(data.contains(r#""cents":2"#), "{data}");
}

#[test]
fn sem_g417_a_stream_resumes_where_it_was_cut() {
    let shop = Shop::open();
    let mut events = watch(&shop, "/till/-/events", "");
    shop.deposit("ann", 1);
    assert_eq!(next(&mut events).0, "id: 1;event: deposit;");
    drop(events);
    shop.deposit("ann", 2);
    shop.deposit("ann", 3);
    let mut events = watch(&shop, "/till/-/events", "last-event-id: 1\r\n");
    assert_eq!(next(&mut events).0, "id: 2;event: deposit;");
    assert_eq!(next(&mut events).0, "id: 3;event: deposit;");
}

#[test]
fn sem_g417_a_stream_begins_with_the_number_behind_which_it_resumes() {
    let shop = Shop::open();
    shop.deposit("ann", 1);
    let mut events = watch(&shop, "/till/-/events", "");
    let mut line = String::new();
    while !line.starts_with("id: ") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    assert_eq!(line, "id: 1\n");
    drop(events);
    shop.deposit("ann", 2);
    let mut events = watch(&shop, "/till/-/events", "last-event-id: 1\r\n");
    assert_eq!(next(&mut events).0, "id: 2;event: deposit;");
}

#[test]
fn sem_g417_a_stream_that_nobody_reads_leaves_no_subscription() {
    let shop = Shop::open();
    let events = watch(&shop, "/till/-/events", "");
    let till = shop.node.find("/till").unwrap();
    assert_eq!(till.lookup().subscriptions.len(), 1);
    drop(events);
    let begun = Instant::now();
    while !till.lookup().subscriptions.is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is still there"
        );
        std::thread::yield_now();
    }
}

#[test]
fn sem_g619_a_type_is_an_operation_or_a_verb() {
    let shop = Shop::open();
    let mut updates = watch(&shop, "/till/-/events?type=update", "");
    let mut states = watch(&shop, "/till/-/events?type=replace", "");
    shop.deposit("ann", 3);
    // A patch is told as the state that it makes.
    let merge = "content-type: application/merge-patch+json\r\n";
    let patched = shop.ask("PATCH", "/till", merge, r#"{"cents":{"bob":5}}"#);
    assert_eq!(patched.status, 200, "{patched:?}");
    let body = r#"{"name":"ann","cents":1}"#;
    let withdrawn = shop.send("POST", "/till/-/withdraw", "", body);
    assert_eq!(withdrawn.status, 200, "{withdrawn:?}");
    assert_eq!(next(&mut updates).0, "id: 1;event: deposit;");
    assert_eq!(next(&mut updates).0, "id: 3;event: withdraw;");
    // So it is with those that were missed.
    let mut missed = watch(&shop, "/till/-/events?type=update", "last-event-id: 1\r\n");
    assert_eq!(next(&mut missed).0, "id: 3;event: withdraw;");
    assert_eq!(shop.send("POST", "/till/-/drop", "", "").status, 200);
    assert_eq!(next(&mut states).0, "id: 2;event: replace;");
    for events in [&mut updates, &mut missed, &mut states] {
        assert_eq!(next(events).0, "event: gone;");
    }
}

/// A shop with a second till, `/box`.
fn two_tills() -> Shop {
    let shop = Shop::open();
    let second = shop.node.create(Create::<OneTill>::of().at("/box"));
    wait_blocking(second).unwrap().unwrap();
    shop
}

/// The next event of several services: its fields, and which service tells it.
fn next_of(reader: &mut BufReader<TcpStream>) -> (String, String) {
    let (fields, data) = next(reader);
    let data: Value = serde_json::from_str(&data).unwrap();
    (fields, data["service"].as_str().unwrap().to_owned())
}

fn add(shop: &Shop, path: &str, cents: i64) {
    let body = format!(r#"{{"name":"ann","cents":{cents}}}"#);
    let added = shop.send("POST", &format!("{path}/-/deposit"), "", &body);
    assert_eq!(added.status, 200, "{added:?}");
}

#[test]
fn sem_g600_several_services_have_one_stream() {
    let shop = two_tills();
    add(&shop, "/till", 1);
    let mut events = watch(&shop, "/events?of=/till,/box&sync=1", "");
    // Which of them comes first is a matter of chance.
    let first = [next_of(&mut events), next_of(&mut events)];
    let mut told = first.clone().map(|(_, service)| service);
    told.sort();
    assert_eq!(told, ["/box", "/till"]);
    assert_eq!(first[1].0, "id: 1,0;event: replace;");
    add(&shop, "/box", 2);
    let of_box = ("id: 1,1;event: deposit;".to_owned(), "/box".to_owned());
    assert_eq!(next_of(&mut events), of_box);
    // One that ends does not end the others.
    assert_eq!(shop.send("POST", "/box/-/drop", "", "").status, 200);
    let ended = ("event: gone;".to_owned(), "/box".to_owned());
    assert_eq!(next_of(&mut events), ended);
    add(&shop, "/till", 3);
    let of_till = ("id: 2,1;event: deposit;".to_owned(), "/till".to_owned());
    assert_eq!(next_of(&mut events), of_till);
}

#[test]
fn sem_g600_a_stream_of_several_resumes_behind_the_last_version_of_each() {
    let shop = two_tills();
    add(&shop, "/box", 1);
    let path = "/events?of=/till,/box&type=deposit";
    let mut events = watch(&shop, path, "");
    let mut line = String::new();
    while !line.starts_with("id: ") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    assert_eq!(line, "id: 0,1\n");
    add(&shop, "/till", 1);
    assert_eq!(next_of(&mut events).0, "id: 1,1;event: deposit;");
    drop(events);
    add(&shop, "/till", 2);
    add(&shop, "/box", 2);
    let mut events = watch(&shop, path, "last-event-id: 1,1\r\n");
    let missed = [next_of(&mut events), next_of(&mut events)];
    assert_eq!(missed[1].0, "id: 2,2;event: deposit;");
    let mut told = missed.map(|(_, service)| service);
    told.sort();
    assert_eq!(told, ["/box", "/till"]);
    drop(events);
    // One that has ended meanwhile does not end the other.
    assert_eq!(shop.send("POST", "/box/-/drop", "", "").status, 200);
    add(&shop, "/till", 3);
    let mut events = watch(&shop, path, "last-event-id: 2,2\r\n");
    let gone = ("event: gone;".to_owned(), "/box".to_owned());
    assert_eq!(next_of(&mut events), gone);
    let of_till = ("id: 3,2;event: deposit;".to_owned(), "/till".to_owned());
    assert_eq!(next_of(&mut events), of_till);
    assert_eq!(shop.get(path).status, 404);
    // Also beside one that never tells of what is asked for.
    let path = "/events?of=/box,/sys/debug&type=deposit";
    let mut events = watch(&shop, path, "last-event-id: 2,0\r\n");
    assert_eq!(next_of(&mut events), gone);
}

#[test]
fn sem_g600_a_stream_of_several_that_nobody_reads_leaves_no_subscription() {
    let shop = two_tills();
    let events = watch(&shop, "/events?of=/till,/box", "");
    let tills = ["/till", "/box"].map(|path| shop.node.find(path).unwrap());
    assert!(
        tills
            .iter()
            .all(|till| till.lookup().subscriptions.len() == 1)
    );
    drop(events);
    let begun = Instant::now();
    while tills
        .iter()
        .any(|till| !till.lookup().subscriptions.is_empty())
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is still there"
        );
        std::thread::yield_now();
    }
}

#[test]
fn sem_g419_a_server_that_stops_ends_streams_and_finishes_what_runs() {
    let mut shop = Shop::open();
    let mut slow = shop.connect();
    slow.write_all(
        b"GET /till/-/wait?body=300 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    )
    .unwrap();
    let till = shop.node.find("/till").unwrap();
    // A request that the server has not read is not carried out.
    while till.figures().calls == 0 {
        std::thread::yield_now();
    }
    let mut events = watch(&shop, "/till/-/events", "");
    shop.server.take().unwrap().stop();
    assert_eq!(Answer::read(slow).body, "300");
    while next(&mut events).0 != "end" {}
}

#[test]
fn sem_g419_who_reads_events_hears_that_a_service_has_ended_before_its_server_stops() {
    // Which of the two the server sees first is a matter of chance.
    for _ in 0..30 {
        let mut shop = Shop::open();
        let mut events = watch(&shop, "/till/-/events?sync=1", "");
        assert!(next(&mut events).0.ends_with("event: replace;"));
        wait_blocking(shop.node.shutdown()).unwrap();
        shop.server.take().unwrap().stop();
        assert_eq!(next(&mut events).0, "event: gone;");
        assert_eq!(next(&mut events).0, "end");
    }
}
