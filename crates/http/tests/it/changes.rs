//! Changes of many clients, and of clients that do not wait.

use crate::till::{Answer, Shop};
use motet_sync::thread;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

#[test]
fn sem_g414_a_change_ends_by_its_deadline_though_all_workers_are_busy() {
    let shop = Shop::open();
    let busy = shop.keep_busy();
    let entry = r#"{"name": "ann", "cents": 5}"#;
    let late = shop.send("POST", "/till/-/deposit", "motet-timeout: 50\r\n", entry);
    assert_eq!(late.status, 504, "{late:?}");
    drop(busy);
    let next = shop.send("POST", "/till/-/deposit", "", entry);
    assert_eq!(next.json(), 5, "{next:?}");
}

/// Sends a deposit over a connection that is kept, and reads the whole answer.
fn deposit(stream: &mut BufReader<TcpStream>) {
    let body = r#"{"name": "bob", "cents": 1}"#;
    let head = format!(
        "POST /till/-/deposit HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .get_mut()
        .write_all((head + body).as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        assert!(
            stream.read_until(b'\n', &mut answer).unwrap() > 0,
            "it is cut off"
        );
    }
    let head = Answer::of(&answer);
    assert_eq!(head.status, 200, "{head:?}");
    let length = head.header("content-length").unwrap().parse().unwrap();
    stream.read_exact(&mut vec![0; length]).unwrap();
}

#[test]
fn sem_g415_changes_that_come_together_are_each_carried_out_once() {
    let shop = Shop::open();
    let (clients, each) = (16, 100);
    let at_work: Vec<_> = (0..clients)
        .map(|_| {
            let mut stream = BufReader::new(shop.connect());
            thread::spawn(move || (0..each).for_each(|_| deposit(&mut stream)))
        })
        .collect();
    for client in at_work {
        client.join().unwrap();
    }
    assert_eq!(shop.get("/till/cents/bob").json(), clients * each);
}

#[test]
fn sem_g415_a_client_that_goes_before_its_answer_keeps_nobody_waiting() {
    let shop = Shop::open();
    for _ in 0..8 {
        let head = "POST /till/-/wait HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/\
                    json\r\ncontent-length: 3\r\n\r\n200";
        shop.connect().write_all(head.as_bytes()).unwrap();
    }
    // Those that have begun go on, and it is alone after them.
    assert_eq!(shop.deposit("ann", 1).json(), 1);
}
