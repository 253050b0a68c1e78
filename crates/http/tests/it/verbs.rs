//! The uniform operations by HTTP.

use crate::till::{OneTill, Shop};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::schemars::{JsonSchema, Schema, SchemaGenerator};
use motet_service::{
    Create, Fault, NodeBuilder, Persist, Service, State, Store, Value, contract, data,
};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn sem_g409_a_state_is_a_resource() {
    let shop = Shop::open();
    assert_eq!(shop.deposit("ann", 40).json(), 40);
    let got = shop.get("/till");
    assert_eq!(
        (got.status, got.json()),
        (200, json!({"cents": {"ann": 40}}))
    );
    assert_eq!(got.header("etag"), Some("\"v1\""));
    for tags in ["\"v0\", \"v1\"", "W/\"v1\"", "*"] {
        let same = shop.ask("GET", "/till", &format!("if-none-match: {tags}\r\n"), "");
        assert_eq!((same.status, same.body.as_str()), (304, ""), "{tags}");
    }
    let other = shop.ask("GET", "/till", "if-none-match: W/\"v0\"\r\n", "");
    assert_eq!(other.status, 200);
    assert_eq!(shop.get("/till?at=/cents/ann").json(), 40);
    assert_eq!(shop.get("/till/cents/ann").json(), 40);
    assert_eq!(shop.get("/till/cents/bob").status, 404);
    assert_eq!(shop.ask("HEAD", "/till", "", "").body, "");
}

#[test]
fn sem_g409_a_state_is_set_and_patched_at_a_version() {
    let shop = Shop::open();
    let set = |tag: &str| {
        let tag = format!("if-match: {tag}\r\n");
        shop.send("PUT", "/till", &tag, r#"{"cents":{"bob":7}}"#)
            .status
    };
    assert_eq!(set("\"v3\""), 412, "the version is 0");
    assert_eq!(set("\"v0\""), 200);
    let kind = "content-type: application/merge-patch+json\r\n";
    let patch = |body| shop.ask("PATCH", "/till", kind, body).status;
    assert_eq!(patch(r#"{"cents":{"bob":null,"ann":1}}"#), 200);
    assert_eq!(patch(r#"{"cents":{"ann":"much"}}"#), 422);
    assert_eq!(shop.get("/till").json(), json!({"cents": {"ann": 1}}));
    assert_eq!(shop.get("/till").header("etag"), Some("\"v2\""));
}

#[test]
fn sem_g409_a_change_tells_the_version_that_it_has_made() {
    let shop = Shop::open();
    let put = |more: &str, body| {
        let answer = shop.send("PUT", "/till", more, body);
        (answer.status, answer.header("etag").map(str::to_owned))
    };
    let patch = |kind: &str, more: &str, body| {
        let kind = format!("content-type: application/{kind}\r\n{more}");
        let answer = shop.ask("PATCH", "/till", &kind, body);
        (answer.status, answer.header("etag").map(str::to_owned))
    };
    let made = |tag: &str| (200, Some(format!("\"{tag}\"")));
    assert_eq!(put("", r#"{"cents":{"bob":7}}"#), made("v1"));
    let behind = |tag: &str| format!("if-match: \"{tag}\"\r\n");
    let bob = r#"{"cents":{"bob":8}}"#;
    assert_eq!(patch("merge-patch+json", &behind("v1"), bob), made("v2"));
    let removed = r#"[{"op":"remove","path":"/cents/bob"}]"#;
    let removed = patch("json-patch+json", &behind("v2"), removed);
    assert_eq!(removed, made("v3"));
    // What is refused makes none.
    assert_eq!(put(&behind("v2"), bob), (412, None));
    assert_eq!(patch("merge-patch+json", "", r#"{"cents":1}"#), (422, None));
    // What the state is now is not what was sent.
    assert_eq!(put("", r#"{"cents":{"bob":7},"note":1}"#), (200, None));
    // Others may have changed it since the key was used.
    let key = "idempotency-key: k17\r\n";
    assert_eq!(put(key, bob), made("v5"));
    assert_eq!(put(key, bob), (200, None));
    assert_eq!(shop.get("/till").header("etag"), Some("\"v5\""));
}

#[test]
fn sem_g436_a_json_patch_is_carried_out_whole_or_not_at_all() {
    let shop = Shop::open();
    shop.deposit("ann", 40);
    let kind = "content-type: application/json-patch+json\r\n";
    let patch = |more: &str, body| shop.ask("PATCH", "/till", &format!("{kind}{more}"), body);
    let moved = r#"[{"op":"test","path":"/cents/ann","value":40},
        {"op":"move","from":"/cents/ann","path":"/cents/bob"}]"#;
    assert_eq!(patch("if-match: \"v7\"\r\n", moved).status, 412);
    assert_eq!(patch("if-match: \"v1\"\r\n", moved).status, 200);
    assert_eq!(patch("", moved).status, 422, "ann has nothing to test");
    let untrue = r#"[{"op":"remove","path":"/cents/bob"},{"op":"test","path":"/cents","value":1}]"#;
    assert_eq!(patch("", untrue).status, 412);
    let unfit = r#"[{"op":"replace","path":"/cents/bob","value":"much"}]"#;
    assert_eq!(patch("", unfit).status, 422);
    assert_eq!(patch("", r#"{"cents":{}}"#).status, 422);
    assert_eq!(shop.get("/till").json(), json!({"cents": {"bob": 40}}));
    assert_eq!(shop.get("/till").header("etag"), Some("\"v2\""));
}

#[test]
fn sem_g437_bodies_may_be_cbor() {
    let shop = Shop::open();
    // {"name": "ann", "cents": 40}, and the answer 40.
    let entry = b"\xa2\x64name\x63ann\x65cents\x18\x28";
    let kind = "content-type: application/cbor\r\naccept: application/cbor\r\n";
    let (head, body) = shop.bytes("POST", "/till/-/deposit", kind, entry);
    assert!(head.contains("content-type: application/cbor"), "{head}");
    assert_eq!(body, [0x18, 40]);
    let (_, state) = shop.bytes(
        "GET",
        "/till",
        "accept: text/html, application/cbor;q=1\r\n",
        b"",
    );
    assert_eq!(state, b"\xa1\x65cents\xa1\x63ann\x18\x28");
    for wrong in [
        &b"\xa2\x64name"[..],
        b"\xa1\x65cents\xf9\x7e\x00",
        &[0x81; 100_000],
    ] {
        let (head, _) = shop.bytes("POST", "/till/-/deposit", kind, wrong);
        assert!(head.starts_with("HTTP/1.1 400"), "{head}");
        assert!(head.contains("application/problem+json"), "{head}");
    }
    assert_eq!(shop.get("/till").json(), json!({"cents": {"ann": 40}}));
}

#[test]
fn sem_g409_operations_are_called_by_name() {
    let shop = Shop::open();
    shop.deposit("ann", 40);
    assert_eq!(shop.get("/till/-/balance?body=ann").json(), 40);
    assert_eq!(
        shop.send("POST", "/till/-/balance", "", "\"ann\"").json(),
        40
    );
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let posted = shop.ask("POST", "/till/-/deposit", form, "name=ann&cents=2");
    assert_eq!(posted.json(), 42);
    let changes = shop.get("/till/-/deposit?name=ann&cents=2");
    assert_eq!(
        (changes.status, changes.header("allow")),
        (405, Some("POST"))
    );
    assert_eq!(shop.get("/till/-/lookup").json()["contract"], "test:till/1");
    assert_eq!(shop.ask("OPTIONS", "/till", "", "").json()["kind"], "till");
}

#[test]
fn sem_g409_a_job_is_accepted_and_has_a_place() {
    let shop = Shop::open();
    let accepted = shop.send("POST", "/till/-/audit", "", "10");
    assert_eq!(accepted.status, 202);
    let place = accepted.header("location").unwrap();
    assert_eq!(accepted.json()["path"], place);
    assert_eq!(shop.get(place).json()["operation"], "audit");
}

#[test]
fn sem_g410_a_key_makes_a_change_once() {
    let shop = Shop::open();
    let deposit = |cents: i64| {
        let body = format!(r#"{{"name":"ann","cents":{cents}}}"#);
        shop.send("POST", "/till/-/deposit", "idempotency-key: k17\r\n", &body)
    };
    assert_eq!(deposit(2).json(), 2);
    assert_eq!(deposit(2).json(), 2);
    assert_eq!(deposit(3).status, 422, "the key is another request's");
    assert_eq!(shop.get("/till/cents/ann").json(), 2);
}

#[test]
fn sem_g410_a_call_ends_by_its_deadline() {
    let shop = Shop::open();
    let late = shop.send("POST", "/till/-/wait", "motet-timeout: 30\r\n", "60000");
    assert_eq!(late.status, 504);
    assert_eq!(late.json()["title"], "ResponseTimeout");
}

#[test]
fn sem_g410_drop_is_an_operation_of_its_own() {
    let shop = Shop::open();
    assert_eq!(shop.ask("DELETE", "/till", "", "").status, 405);
    assert_eq!(shop.send("POST", "/till/-/drop", "", "").status, 200);
    assert_eq!(shop.get("/till").status, 404);
}

#[test]
fn sem_g418_the_node_describes_itself() {
    let shop = Shop::open();
    shop.deposit("ann", 1);
    assert_eq!(shop.get("/healthz").status, 200);
    assert_eq!(shop.get("/readyz").status, 200);
    let listed = shop.get("/").json();
    let mut services = listed["services"].as_array().unwrap().iter();
    assert!(
        services.any(|service| service["path"] == "/till"),
        "{listed}"
    );
    let figures = shop.get("/metrics").body;
    assert!(
        figures.contains("motet_calls_total{service=\"/till\"} 1"),
        "{figures}"
    );
    // Who asks has one; those that asked before may not have ended.
    let open = figures
        .lines()
        .find_map(|line| line.strip_prefix("motet_connections "));
    let open = open.and_then(|open| open.parse().ok());
    assert!(open.is_some_and(|open: usize| open > 0), "{figures}");
    assert!(figures.contains("motet_connections_refused_total{of=\"address\"} 0\n"));
}

/// A store whose disk is full.
struct FullDisk;

impl Store for FullDisk {
    fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }

    fn commit(&self, _: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        Err(Fault::failed("the disk is full"))
    }
}

#[test]
fn sem_g418_a_store_that_cannot_be_written_is_told() {
    let store = |builder: NodeBuilder| builder.store(FullDisk);
    let shop = Shop::open_on(Dispatcher::new(2), store, |_| {});
    let kept = Create::<OneTill>::of().at("/kept").persist(Persist::Each);
    wait_blocking(shop.node.create(kept)).unwrap().unwrap();
    assert_eq!(shop.get("/readyz").json()["store"], Value::Null);
    let entry = r#"{"name":"ann","cents":1}"#;
    let refused = shop.send("POST", "/kept/-/deposit", "", entry);
    assert!(refused.body.contains("the disk is full"), "{refused:?}");
    assert_eq!(shop.get("/readyz").json()["store"], "the disk is full");
}

#[test]
fn an_answer_has_no_header_of_its_request() {
    let shop = Shop::open();
    let own = "x-first: opal\r\nx-first: onyx\r\ncookie: opal\r\nlocation: /onyx\r\n";
    let state = r#"{"cents":{"ann":1}}"#;
    for (method, path, body) in [
        ("POST", "/till/-/deposit", r#"{"name":"ann","cents":1}"#),
        ("PUT", "/till", state),
        ("PATCH", "/till", state),
    ] {
        let answer = shop.send(method, path, own, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let names = answer.head.lines().skip(1);
        let mut names: Vec<&str> = names.filter_map(|line| line.split(':').next()).collect();
        names.sort_unstable();
        let mut expected = vec!["connection", "content-length", "content-type", "date"];
        // Its own.
        expected.extend((method != "POST").then_some("etag"));
        assert_eq!(names, expected, "{method}");
    }
}

/// How often the schema of a state was written.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

fn counted(generator: &mut SchemaGenerator) -> Schema {
    WRITTEN.fetch_add(1, Ordering::Relaxed);
    u64::json_schema(generator)
}

#[data]
#[derive(Default)]
struct WeighedGrams {
    #[schemars(schema_with = "counted")]
    grams: u64,
}

#[contract(uri = "test:scales/1", state = WeighedGrams)]
trait Scales {
    #[update]
    fn weigh(&mut self, grams: u64);
}

#[derive(Service)]
#[service(contract = Scales)]
struct KitchenScales {
    #[state]
    load: State<WeighedGrams>,
}

impl Scales for KitchenScales {
    fn weigh(&mut self, grams: u64) {
        self.load.grams = grams;
    }
}

#[test]
fn sem_g418_only_the_description_of_a_node_has_schemas_written() {
    let shop = Shop::open();
    let scales = shop
        .node
        .create(Create::<KitchenScales>::of().at("/scales"));
    let scales = wait_blocking(scales).unwrap().unwrap();
    wait_blocking(async { scales.weigh(40).await })
        .unwrap()
        .unwrap();
    let written = || WRITTEN.load(Ordering::Relaxed);
    let before = written();
    let directory = shop.get("/").json();
    let mut services = directory["services"].as_array().unwrap().iter();
    let listed = services.find(|service| service["path"] == "/scales");
    let expected = json!({
        "path": "/scales",
        "kind": "kitchen-scales",
        "contract": "test:scales/1",
        "lifecycle": "running",
        "version": 1,
        "partners": {},
    });
    assert_eq!(listed, Some(&expected));
    assert_eq!(
        shop.get("/readyz").json(),
        json!({"ready": true, "waiting": []})
    );
    assert!(shop.get("/metrics").body.contains("service=\"/scales\""));
    assert_eq!(written(), before, "no schema was asked for");
    assert_eq!(shop.get("/openapi.json").status, 200);
    assert!(written() > before, "the count counts");
}

#[test]
fn sem_g529_a_method_that_is_refused_names_those_that_are_taken() {
    let shop = Shop::open();
    // The log is neither replaced nor patched.
    let methods = "GET, HEAD, OPTIONS";
    for (method, path, body, allow) in [
        ("PUT", "/sys/log", "{\"entries\": []}", methods),
        ("PATCH", "/sys/log", "{}", methods),
        ("DELETE", "/sys/log", "", methods),
        ("POST", "/sys/log/-/burn", "1", ""),
        ("GET", "/sys/log/-/burn", "", ""),
        // It is not stored.
        ("POST", "/till/-/save", "", ""),
        ("GET", "/till/-/save", "", ""),
        ("GET", "/sys/log/-/replace", "", ""),
        ("GET", "/till/-/replace", "", "POST"),
        ("GET", "/till/-/drop", "", "POST"),
        ("PUT", "/till/-/balance", "", "GET, HEAD, POST"),
        ("DELETE", "/till/-/lookup", "", "GET, HEAD, POST"),
    ] {
        let refused = shop.send(method, path, "", body);
        let told = (refused.status, refused.header("allow"));
        assert_eq!(told, (405, Some(allow)), "{method} {path}");
    }
    let document = shop.get("/openapi.json").json();
    let (log, till) = (&document["paths"]["/sys/log"], &document["paths"]["/till"]);
    assert!(log["get"].is_object() && log["put"].is_null() && log["patch"].is_null());
    assert!(till["put"].is_object() && till["patch"].is_object());
    for method in ["get", "put", "patch"] {
        let headers = &till[method]["responses"]["200"]["headers"];
        assert!(headers["ETag"].is_object(), "{method}");
    }
}

#[test]
fn sem_g418_references_of_the_description_lead_somewhere() {
    let shop = Shop::open();
    let document = shop.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/till/-/deposit"]["post"].is_object());
    let text = document.to_string();
    let places = text.split("\"$ref\":\"#").skip(1);
    for place in places.map(|rest| rest.split('"').next().unwrap()) {
        assert!(document.pointer(place).is_some(), "{place}");
    }
}
