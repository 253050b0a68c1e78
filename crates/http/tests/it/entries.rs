//! Entries of a state by HTTP: parts of it that are added, set, patched and removed.

use crate::till::{Answer, OneTill, Shop};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::{Create, Service, State, contract, data};
use serde_json::{Value, json};
use std::io::Write;

const MERGE: &str = "content-type: application/merge-patch+json\r\n";

/// What may be nothing.
#[data]
#[derive(Default)]
struct Note {
    words: Option<String>,
}

#[contract(uri = "test:notes/1", state = Note, patch = true)]
trait Notes {
    #[query]
    fn length(&self) -> usize;
}

#[derive(Service)]
#[service(contract = Notes, name = "notes")]
struct OneNote {
    #[state]
    note: State<Note>,
}

impl Notes for OneNote {
    fn length(&self) -> usize {
        self.note.words.as_ref().map_or(0, String::len)
    }
}

/// The status, and the version that the answer tells.
fn told(answer: &Answer) -> (u16, Option<&str>) {
    (answer.status, answer.header("etag"))
}

#[test]
fn sem_g611_an_entry_is_added_set_patched_and_removed() {
    let shop = Shop::open();
    let ann = "/till/cents/ann";
    let added = shop.send("POST", ann, "", "1");
    assert_eq!(told(&added), (201, Some("\"v1\"")), "{added:?}");
    let set = shop.send("PUT", ann, "", "2");
    assert_eq!(told(&set), (200, Some("\"v2\"")), "{set:?}");
    let set = shop.send("PUT", "/till/cents/bob", "", "3");
    assert_eq!(told(&set), (201, Some("\"v3\"")), "{set:?}");
    let patched = shop.ask("PATCH", ann, MERGE, "4");
    assert_eq!(told(&patched), (200, Some("\"v4\"")), "{patched:?}");
    let got = shop.get(ann);
    assert_eq!((told(&got), got.json()), ((200, Some("\"v4\"")), json!(4)));
    let same = shop.ask("GET", ann, "if-none-match: \"v4\"\r\n", "");
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    let removed = shop.ask("DELETE", ann, "", "");
    assert_eq!(told(&removed), (200, Some("\"v5\"")), "{removed:?}");
    assert_eq!(shop.get(ann).status, 404);
    // A whole field is an entry of the state.
    let patched = shop.ask("PATCH", "/till/cents", MERGE, r#"{"bob":null,"eve":5}"#);
    assert_eq!(patched.status, 200, "{patched:?}");
    assert_eq!(shop.get("/till").json(), json!({"cents": {"eve": 5}}));
}

#[test]
fn sem_g611_a_name_with_a_slash_is_named_by_the_query() {
    let shop = Shop::open();
    let place = "/till?at=/cents/a~1b";
    assert_eq!(shop.send("POST", place, "", "1").status, 201);
    assert_eq!(shop.send("PUT", place, "", "2").status, 200);
    assert_eq!(shop.ask("PATCH", place, MERGE, "3").status, 200);
    assert_eq!(shop.get("/till").json(), json!({"cents": {"a/b": 3}}));
    assert_eq!(shop.ask("DELETE", place, "", "").status, 200);
    assert_eq!(shop.get("/till").json(), json!({"cents": {}}));
}

#[test]
fn sem_g611_what_an_entry_must_be_is_looked_at() {
    let shop = Shop::open();
    let put = |more: &str, body| shop.send("PUT", "/till/cents/ann", more, body).status;
    assert_eq!(put("if-match: *\r\n", "1"), 412, "there is none");
    assert_eq!(put("if-match: \"v1\"\r\n", "1"), 412, "the version is 0");
    assert_eq!(put("if-none-match: *\r\n", "1"), 201);
    assert_eq!(put("if-none-match: *\r\n", "2"), 412, "there is one");
    assert_eq!(put("if-match: *\r\n", "3"), 200);
    assert_eq!(put("if-match: \"v2\"\r\n", "4"), 200);
    let delete = |more: &str| shop.ask("DELETE", "/till/cents/ann", more, "").status;
    assert_eq!(delete("if-match: \"v2\"\r\n"), 412);
    assert_eq!(delete("if-none-match: *\r\n"), 412);
    assert_eq!(shop.get("/till/cents/ann").json(), 4);
    assert_eq!(delete("if-match: \"v3\"\r\n"), 200);
    assert_eq!(delete("if-match: *\r\n"), 412);
    assert_eq!(delete(""), 404);
}

#[test]
fn sem_g611_a_key_changes_an_entry_once() {
    let shop = Shop::open();
    let key = "idempotency-key: k17\r\n";
    let post = |body| shop.send("POST", "/till/cents/ann", key, body);
    assert_eq!(told(&post("1")), (201, Some("\"v1\"")));
    // Others may have changed the state since.
    assert_eq!(told(&post("1")), (201, None));
    assert_eq!(post("2").status, 422, "the key is another request's");
    let other = shop.send("PUT", "/till/cents/ann", key, "1");
    assert_eq!(other.status, 422, "{other:?}");
    assert_eq!(told(&shop.get("/till")), (200, Some("\"v1\"")));
    let key = "idempotency-key: k18\r\n";
    let put = || shop.send("PUT", "/till/cents/bob", key, "1");
    assert_eq!(told(&put()), (201, Some("\"v2\"")));
    assert_eq!(told(&put()), (200, None));
}

#[test]
fn sem_g611_what_is_refused_changes_nothing() {
    let shop = Shop::open();
    assert_eq!(shop.send("POST", "/till/cents/ann", "", "1").status, 201);
    let json = "content-type: application/json\r\n";
    let kind = |kind: &str| format!("content-type: {kind}\r\n");
    let with = |header: &str| format!("{json}{header}\r\n");
    let heads = [
        kind("text/csv"),
        kind("application/json-patch+json"),
        with("idempotency-key:"),
        with("if-none-match: \"v1\""),
        with("if-none-match: *"),
        with("if-match: *"),
    ];
    let [csv, patch, key, tag, none, any] = heads.each_ref().map(String::as_str);
    let ann = "/till/cents/ann";
    let before = calls(&shop);
    // What no service sees.
    for (method, path, headers, body, status) in [
        ("PUT", ann, csv, "1", 415),
        ("PUT", ann, "", "1", 415),
        ("PATCH", ann, patch, "[]", 415),
        ("PUT", ann, json, "{", 400),
        ("PUT", ann, key, "1", 400),
        ("PUT", ann, tag, "1", 400),
        ("PATCH", ann, none, "1", 412),
        ("DELETE", ann, none, "", 412),
        ("PUT", ann, json, "", 422),
        ("POST", "/till/cents/bob", any, "1", 412),
        ("TRACE", ann, "", "", 405),
        ("PUT", "/sys/log/entries/0", json, "1", 405),
        ("DELETE", "/sys/log/entries/0", "", "", 405),
    ] {
        refused(&shop, method, path, headers, body, status);
    }
    assert_eq!(calls(&shop), before, "no change was asked for");
    // What the state does not fit.
    for (method, path, headers, body, status) in [
        ("POST", ann, json, "1", 409),
        ("POST", "/till/cents/bob", json, "\"much\"", 422),
        ("PUT", ann, json, "1.5", 422),
        ("PATCH", ann, MERGE, "{\"a\": 1}", 422),
        ("PATCH", "/till/cents/bob", MERGE, "1", 404),
        ("DELETE", "/till/cents/bob", "", "", 404),
        ("PUT", "/till/cents/ann/deep", json, "1", 404),
        ("PUT", "/till/euros/ann", json, "1", 404),
        ("POST", "/till/euros", json, "1", 422),
        ("DELETE", "/till/cents", "", "", 422),
        ("DELETE", "/till?at=", "", "", 422),
    ] {
        refused(&shop, method, path, headers, body, status);
    }
    let state = shop.get("/till");
    assert_eq!(told(&state), (200, Some("\"v1\"")));
    assert_eq!(state.json(), json!({"cents": {"ann": 1}}));
}

/// How many operations the till has begun.
fn calls(shop: &Shop) -> u64 {
    shop.node.find("/till").unwrap().figures().calls
}

fn refused(shop: &Shop, method: &str, path: &str, headers: &str, body: &str, status: u16) {
    let refused = shop.ask(method, path, headers, body);
    assert_eq!(refused.status, status, "{method} {path}: {refused:?}");
    let kind = refused.header("content-type");
    assert_eq!(kind, Some("application/problem+json"));
    assert_eq!(refused.json()["status"], status);
    let allow = match path {
        "/till/cents/ann" => "GET, HEAD, POST, PUT, PATCH, DELETE",
        _ => "GET, HEAD",
    };
    let allow = (status == 405).then_some(allow);
    assert_eq!(refused.header("allow"), allow, "{method} {path}");
}

#[test]
fn sem_g611_a_path_with_a_slash_behind_it_changes_no_entry() {
    let shop = Shop::open();
    assert_eq!(shop.send("POST", "/till/cents/ann", "", "1").status, 201);
    let before = calls(&shop);
    // Who has left out a name does not mean what is above it.
    for path in [
        "/till/cents/ann/",
        "/till/cents/ann//",
        "/till/cents/ann%2f",
    ] {
        for (method, headers, body) in [
            ("DELETE", "", ""),
            ("PATCH", MERGE, "2"),
            ("PUT", "content-type: application/json\r\n", "2"),
            ("POST", "content-type: application/json\r\n", "2"),
        ] {
            refused(&shop, method, path, headers, body, 400);
        }
    }
    assert_eq!(calls(&shop), before, "no change was asked for");
    assert_eq!(shop.get("/till/cents/ann/").json(), 1, "it is read");
    // The path of the service itself may have one.
    let removed = shop.ask("DELETE", "/till/?at=/cents/ann", "", "");
    assert_eq!(told(&removed), (200, Some("\"v2\"")), "{removed:?}");
}

#[test]
fn sem_g611_an_empty_body_is_no_null() {
    let shop = Shop::open_on(
        Dispatcher::new(2),
        |builder| builder.register::<OneNote>(),
        |_| {},
    );
    let note = Create::<OneNote>::of().at("/note");
    wait_blocking(shop.node.create(note)).unwrap().unwrap();
    let words = "/note/words";
    assert_eq!(shop.send("PUT", words, "", "\"milk\"").status, 200);
    for (method, kind) in [
        ("PUT", "content-type: application/json\r\n"),
        ("PUT", ""),
        ("PATCH", MERGE),
    ] {
        refused(&shop, method, words, kind, "", 422);
        // One whose length is not told.
        let mut stream = shop.connect();
        let request = format!(
            "{method} {words} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{kind}\
             transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let answer = Answer::read(stream);
        assert_eq!(answer.status, 422, "{method}: {answer:?}");
    }
    assert_eq!(shop.get(words).json(), "milk");
    assert_eq!(shop.send("PUT", words, "", "null").status, 200);
    assert_eq!(shop.get(words).json(), Value::Null);
}

#[test]
fn sem_g611_rules_are_for_the_verb_of_the_change_and_for_update() {
    let shop = Shop::open();
    for (rule, put, post, patch, delete) in [
        // Rules for what the operations of the contract do.
        ("get insert delete", 403, 403, 403, 403),
        ("get insert update", 403, 201, 200, 403),
        ("get upsert delete update", 201, 403, 200, 200),
        ("get update", 403, 403, 404, 403),
    ] {
        let at = format!("/{}", rule.replace(' ', "-"));
        let rules = [format!("anonymous: {rule}")];
        let open = Create::<OneTill>::of().at(&at).allow(rules);
        wait_blocking(shop.node.create(open)).unwrap().unwrap();
        let ann = format!("{at}/cents/ann");
        assert_eq!(shop.send("PUT", &ann, "", "1").status, put, "{rule}");
        assert_eq!(shop.send("POST", &ann, "", "1").status, post, "{rule}");
        assert_eq!(shop.ask("PATCH", &ann, MERGE, "2").status, patch, "{rule}");
        assert_eq!(shop.ask("DELETE", &ann, "", "").status, delete, "{rule}");
    }
}

#[test]
fn sem_g611_the_description_has_the_entries_of_maps() {
    let shop = Shop::open();
    let document = shop.get("/openapi.json").json();
    let place = &document["paths"]["/till/cents/{key}"];
    assert_eq!(place["parameters"][0]["name"], "key");
    for (method, status) in [
        ("get", "200"),
        ("post", "201"),
        ("put", "201"),
        ("patch", "200"),
        ("delete", "200"),
    ] {
        let headers = &place[method]["responses"][status]["headers"];
        assert!(headers["ETag"].is_object(), "{method}");
    }
    let sent = &place["put"]["requestBody"]["content"]["application/json"];
    assert_eq!(sent["schema"]["type"], "integer");
    // The log is not patched.
    let paths = document["paths"].as_object().unwrap();
    assert!(
        !paths
            .keys()
            .any(|path| path.starts_with("/sys/log/entries"))
    );
}
