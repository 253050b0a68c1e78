//! The readers, each with the inputs that it is given.

use super::corpus::{CBOR, FORMS, HEADS, JSON, RESUMED, STREAMS, TARGETS, TOKENS};
use crate::caller::Caller;
use crate::resource::options;
use crate::site::{InFlight, ServerShared};
use crate::target::RequestTarget;
use crate::watch::Events;
use crate::{Limits, caller, cbor, connection, content, events, several, weight};
use hyper::Uri;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::{Create, Node, Service, State, Value, contract, data};
use motet_testkit::{Corpus, MemoryBound, fuzz as many};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::watch;
use tokio::time::timeout;

#[data]
#[derive(Default)]
struct Money {
    cents: i64,
    note: Option<String>,
}

#[contract(uri = "test:fuzz-till/1", state = Money, patch = true)]
trait Till {
    #[query]
    fn has(&self) -> i64;
    #[update]
    fn deposit(&mut self, cents: i64) -> i64;
}

#[derive(Service)]
#[service(contract = Till)]
struct OneTill {
    #[state]
    money: State<Money>,
}

impl Till for OneTill {
    fn has(&self) -> i64 {
        self.money.cents
    }

    fn deposit(&mut self, cents: i64) -> i64 {
        self.money.cents = self.money.cents.wrapping_add(cents);
        self.money.cents
    }
}

/// Limits at which the inputs arrive.
fn limits() -> Limits {
    Limits {
        head: Corpus::LONGEST,
        body: Corpus::LONGEST / 4,
        depth: 24,
        head_time: Duration::from_millis(1),
        body_time: Duration::from_millis(1),
        ..Limits::default()
    }
}

/// A node with `/till` until the site ends.
fn site() -> (Dispatcher, Arc<ServerShared>) {
    let dispatcher = Dispatcher::new(1);
    let node = Node::builder("fuzz").register::<OneTill>();
    let node = node.start(&dispatcher).unwrap();
    let created = wait_blocking(node.create(Create::<OneTill>::of().at("/till")));
    created.unwrap().unwrap();
    let (_, stop) = watch::channel(false);
    let site = ServerShared {
        node,
        hosts: Vec::new(),
        keys: None,
        mutual: false,
        limits: limits(),
        connections: Arc::default(),
        in_flight: Arc::new(InFlight::new(256)),
        #[cfg(feature = "dssp")]
        dssp: crate::told::DsspPlaces::new(Vec::new()),
        own_calls: None,
        anonymous: "anonymous".into(),
        wakes: Arc::default(),
        stop,
    };
    (dispatcher, Arc::new(site))
}

/// What a connection has with its answer, whatever was sent. The longest is the description of the
/// node: 60 KB as a text, and twelve times as much as a value, beside the schemas that it is put
/// together from. Beside them are the buffers of the connection, of 64 KiB and of 8 KiB, and the
/// value of a body ([`weight::most`]).
const CONNECTION: MemoryBound = MemoryBound {
    beside: 2 << 20,
    each: 64,
};

pub(super) fn heads(inputs: usize) {
    let (_dispatcher, site) = site();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    many(inputs, &HEADS, CONNECTION, |bytes| {
        let answer = runtime.block_on(async {
            let (mut here, there) = duplex(64 << 10);
            let served = tokio::spawn(connection::exchange(there, Arc::clone(&site), None));
            here.write_all(bytes).await.unwrap();
            let mut answer = [0; 13];
            // Who sends half a head, or half a body, is told nothing, or of it.
            let read = timeout(Duration::from_millis(100), here.read_exact(&mut answer)).await;
            drop(here);
            served.await.unwrap();
            matches!(read, Ok(Ok(_))).then_some(answer)
        });
        if let Some(answer) = answer {
            assert!(answer.starts_with(b"HTTP/1."), "{}", answer.escape_ascii());
            assert!(!answer.ends_with(b" 500 "), "{}", answer.escape_ascii());
        }
    });
    let figures = site.node.find("/till").unwrap().figures();
    assert!(figures.calls > 0 && figures.panics == 0, "{figures:?}");
}

const ANY: [&str; 4] = [
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/x-www-form-urlencoded",
];

/// Whether a value is as flat as it has to be.
fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// What reading a body takes at most, be it read or refused: 64 bytes for each that a body may
/// have (G440), however long this one is.
fn reading() -> MemoryBound {
    MemoryBound::fixed(weight::most(&limits()))
}

/// As much of an input as a body may have: a longer one is refused before it is read.
fn body_bytes(input: &[u8]) -> &[u8] {
    &input[..input.len().min(limits().body)]
}

/// Reads a body. Its value is flat.
fn body(kind: &str, bytes: &[u8]) -> Option<Value> {
    let limits = limits();
    let read = content::read(Some(kind), bytes, &ANY, &limits);
    if let Ok(value) = &read {
        assert!(depth(value) <= limits.depth, "{value}");
    }
    read.ok()
}

pub(super) fn texts(inputs: usize) {
    many(inputs, &JSON, reading(), |bytes| {
        drop(body("application/json", body_bytes(bytes)));
    });
    // The value is there twice.
    let twice = MemoryBound::fixed(2 * reading().beside);
    many(inputs / 8, &JSON, twice, |bytes| {
        let bytes = body_bytes(bytes);
        if let Some(value) = body("application/json", bytes) {
            let own: Value = serde_json::from_slice(bytes).unwrap_or_default();
            assert_eq!(value, own, "it is what is written");
        }
    });
}

pub(super) fn cbor(inputs: usize) {
    many(inputs, &CBOR, reading(), |bytes| {
        drop(body(cbor::KIND, bytes));
    });
    // What JSON can say, written, and then with bytes that are others. What reading these takes is
    // counted by itself.
    let most = reading().beside;
    many(inputs, &JSON, MemoryBound::NONE, |text| {
        let Some(value) = body("application/json", text) else {
            return;
        };
        let mut written = cbor::write(&value).unwrap();
        let read = cbor::read(&written, limits().depth + 1, usize::MAX);
        assert_eq!(read.as_ref(), Ok(&value));
        for at in 0..written.len().min(8) {
            let place = (text.len() * 7 + at * 31) % written.len();
            written[place] = written[place].wrapping_add((at * 37 + 1) as u8);
            let ((), taken) = motet_testkit::most_memory(|| drop(body(cbor::KIND, &written)));
            assert!(taken <= most, "{taken} for {}", written.escape_ascii());
        }
    });
}

pub(super) fn forms(inputs: usize) {
    many(inputs, &FORMS, reading(), |bytes| {
        drop(body("application/x-www-form-urlencoded", body_bytes(bytes)));
    });
}

pub(super) fn targets(inputs: usize) {
    many(inputs, &TARGETS, MemoryBound::default(), |bytes| {
        let Ok(uri) = Uri::try_from(bytes) else {
            return;
        };
        if let Ok(target) = RequestTarget::read(&uri) {
            let mut segments = target.path.split('/');
            assert!(segments.all(|segment| segment != "." && segment != ".."));
        }
    });
}

/// The headers of a call, each with the same text.
fn headers(names: &[HeaderName], text: &[u8]) -> Option<HeaderMap> {
    let value = HeaderValue::from_bytes(text).ok()?;
    Some(
        names
            .iter()
            .map(|name| (name.clone(), value.clone()))
            .collect(),
    )
}

pub(super) fn resumed(inputs: usize) {
    let names = [
        "last-event-id",
        "if-match",
        "idempotency-key",
        "motet-timeout",
        "motet-capture",
        "motet-body",
        "motet-chain",
        "traceparent",
    ];
    let names = names.map(HeaderName::from_static);
    let caller = Caller {
        role: "anonymous".into(),
    };
    many(inputs, &RESUMED, MemoryBound::default(), |bytes| {
        let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
        let query = parts.next().unwrap_or_default();
        let Some(headers) = headers(&names, parts.next().unwrap_or_default()) else {
            return;
        };
        let _options = options(&headers, &caller);
        let _seen = several::seen(&headers, 3);
        if let Ok(uri) = Uri::try_from([b"/till?", query].concat())
            && let Ok(target) = RequestTarget::read(&uri)
        {
            let _how = events::how(&target, &headers);
        }
    });
}

/// What two readings of a stream of events take, which are there at once. For each of its bytes
/// that is [`weight::LARGEST`] twice, since JSON is made a value of, and a share of the events: of
/// the 18 bytes of the shortest the readings make less than 500. A peer does not weigh what it is
/// told by the node that it has asked.
const TWO_STREAMS: MemoryBound = MemoryBound {
    beside: 16 << 10,
    each: 2 * weight::LARGEST + 64,
};

pub(super) fn streams(inputs: usize) {
    many(inputs, &STREAMS, TWO_STREAMS, |bytes| {
        let told = |size: usize| {
            let mut events = Events::default();
            let pieces = bytes.chunks(size).map(Bytes::copy_from_slice);
            let told: Vec<_> = pieces.flat_map(|piece| events.take(&piece)).collect();
            (told, events.last)
        };
        assert_eq!(
            told(1 + bytes.len() / 3),
            told(Corpus::LONGEST),
            "however it is cut"
        );
    });
}

pub(super) fn tokens(inputs: usize) {
    let folder = std::env::temp_dir().join(format!("motet-fuzz-{}-{inputs}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    #[cfg(feature = "tls")]
    let keys = {
        crate::Keys::make(&folder, &[], 1).unwrap();
        crate::Keys::read(&folder).unwrap()
    };
    many(inputs, &TOKENS, MemoryBound::default(), |bytes| {
        let Some(headers) = headers(&[AUTHORIZATION], bytes) else {
            return;
        };
        #[cfg_attr(not(feature = "tls"), allow(unused_variables))]
        if let Ok(Some(token)) = caller::bearer(&headers) {
            #[cfg(feature = "tls")]
            assert!(keys.role(token).is_err(), "nobody has it");
        }
    });
    drop(std::fs::remove_dir_all(&folder));
}

#[cfg(feature = "dssp")]
pub(super) fn envelopes(inputs: usize) {
    use crate::dssp;
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "at": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
            "cents": {"type": "object", "additionalProperties": {"type": "integer"}},
            "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        },
    });
    let (bound, corpus) = (reading(), &super::corpus::ENVELOPES);
    many(inputs, corpus, bound, |bytes| {
        if let Ok(message) = dssp::read(body_bytes(bytes), 24, bound.beside)
            && let Some(body) = &message.body
        {
            let value = dssp::state::value(body, &schema, &schema);
            assert!(depth(&value) <= 24, "{value}");
        }
    });
}
