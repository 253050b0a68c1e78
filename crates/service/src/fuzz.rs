//! Texts and bodies with a few changes, or anything: how much memory their readers take.

use crate::manifest::Manifest;
use crate::workflow::Flow;
use crate::{Fault, FaultCode, Rights, json, texts};
use motet_testkit::{Corpus, Counting, MemoryBound, fuzz, most_memory};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[global_allocator]
static MEMORY: Counting = Counting;

const PIECES: &[&str] = &[
    "[[service]]\ntype = 'chain'\n",
    "[[step]]\nname = 'a'\ncall = '/x:y'\n",
    "{\"type\": \"\"},",
    "{\"name\": \"c\", \"call\": \"/x:z\"},",
    "partners = { ",
    "{\"\":0},",
    "{\"\":",
    "[],",
    "[0],",
    "0,",
    "a.b.c = 1\n",
    "[a.b.c]\n",
    "{a=0},",
    "[[0]],",
    "1.5,",
    "a = ",
    "\"${a.out/0}\",",
    "\"undo\": {},",
    "\"for_each\": [",
    "*",
    ": ",
    " get",
    " query",
    "'''",
    "\"",
    "\\u0000",
    "1e999",
    "null",
    "\n",
    "\u{0}",
    "\u{1F980}",
];

const MANIFESTS: Corpus = Corpus {
    whole: &[
        "[[service]]\ntype = \"chain\"\nat = \"/branch\"\npartners = { shop = { link = \"main\" } }\n\
         state = { value = { items = { apples = 5 }, nested = [], ticks = 0 } }\n\
         allow = [\"viewer: get query\"]\ndepth = 7\nsupervise = { restart = \"permanent\" }\n",
        "{\"service\": [{\"type\": \"shop\", \"name\": \"main\", \"network\": false}, \
         {\"type\": \"chain\", \"state\": {\"value\": {\"nested\": [[1], [2]]}}}]}",
    ],
    pieces: PIECES,
};

const FLOWS: Corpus = Corpus {
    whole: &[
        "[[step]]\nname = \"a\"\ncall = \"/shop:count\"\nwith = { of = [\"x\", \"${b.out/0}\"] }\n\
         after = [\"b\"]\nretry = { times = 3, backoff_ms = 5, on = [\"Gone\"] }\n\
         [[step]]\nname = \"b\"\ncall = \"/x:y\"\n",
        "{\"step\": [{\"name\": \"b\", \"call\": \"/x:y\", \"when\": \"${a.out}\"}, \
         {\"name\": \"a\", \"call\": \"/x:z\"}]}",
        "{\"step\": [{\"name\": \"a\", \"call\": \"/x:y\", \"for_each\": [1], \"with\": \"${item}\", \
         \"undo\": {\"call\": \"/x:z\", \"with\": \"${a.out}\"}}]}",
    ],
    pieces: PIECES,
};

const RIGHTS: Corpus = Corpus {
    whole: &["viewer: get query subscribe", "admin: *", "*: lookup"],
    pieces: PIECES,
};

const BODIES: Corpus = Corpus {
    whole: &[
        r#"{"items": {"apples": 3, "pears": -1}, "nested": [[1, 2], []], "note": "two"}"#,
        r#"{"items": {}, "nested": [], "note": null}"#,
    ],
    pieces: PIECES,
};

/// A body.
#[derive(Deserialize)]
struct Body {
    items: BTreeMap<String, i64>,
    nested: Vec<Vec<i64>>,
    note: Option<String>,
}

/// Whether a text was refused as one that is not understood.
fn refused(fault: &Fault) {
    assert_eq!(fault.code(), FaultCode::MessageNotSupported, "{fault}");
    assert!(!fault.reason().is_empty());
}

/// Reads a text: it takes no more memory than is promised.
fn read<T>(text: &str, read: fn(&str) -> Result<T, Fault>) -> Result<(), Fault> {
    let (read, taken) = most_memory(|| read(text));
    let most = texts::BESIDE + texts::EACH * text.len();
    assert!(taken <= most, "{taken} bytes for {}", text.len());
    read.map(drop)
}

fn manifests(inputs: usize) {
    fuzz(inputs, &MANIFESTS, MemoryBound::NONE, |bytes| {
        let text = str::from_utf8(bytes);
        if let Ok(Err(fault)) = text.map(|text| read(text, Manifest::read)) {
            refused(&fault);
        }
    });
}

fn flows(inputs: usize) {
    fuzz(inputs, &FLOWS, MemoryBound::NONE, |bytes| {
        let text = str::from_utf8(bytes);
        if let Ok(Err(fault)) = text.map(|text| read(text, Flow::read)) {
            refused(&fault);
        }
    });
}

fn rights(inputs: usize) {
    fuzz(inputs, &RIGHTS, MemoryBound::default(), |bytes| {
        drop(str::from_utf8(bytes).map(|rule| Rights::parse([rule])));
    });
}

fn bodies(inputs: usize) {
    // The value is the sender's, or the server's: what is counted here is what reading adds.
    fuzz(inputs, &BODIES, MemoryBound::NONE, |bytes| {
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return;
        };
        let (read, taken) = most_memory(|| json::read::<Body>(value).ok());
        let most = (16 << 10) + 64 * bytes.len();
        assert!(taken <= most, "{taken} bytes for {}", bytes.len());
        if let Some(body) = read {
            let parts = body.items.len() + body.nested.len() + usize::from(body.note.is_some());
            assert!(parts <= bytes.len());
        }
    });
}

/// About 1 MiB of this.
fn many(head: &str, piece: &str, tail: &str) -> String {
    head.to_owned() + &piece.repeat((1 << 20) / piece.len()) + tail
}

/// Whether a text can be read.
type TextReader = fn(&str) -> Result<(), Fault>;

#[test]
fn sem_g403_a_text_whose_values_would_take_too_much_is_not_read() {
    let json = "{\"service\": [{\"type\": \"a\", \"state\": {\"value\": [";
    let toml = "[[service]]\ntype = 'a'\nstate = { value = [";
    let readers: [TextReader; 2] = [
        |text| Manifest::read(text).map(drop),
        |text| Flow::read(text).map(drop),
    ];
    for text in [
        many(json, "{\"\":0},", "0]}}]}"),
        many(toml, "{a=0},", "] }"),
        many(toml, "0,", "] }"),
        many("", "[[service]]\na.b.c.d = 1\n", ""),
        many("a = ", "{a=", ""),
        many("", "[a]", ""),
        many("", "a = ]\n0.0.0.0 = 1\n", ""),
    ] {
        for reader in readers {
            let (read, taken) = most_memory(|| reader(&text));
            let reason = read.unwrap_err().reason().to_owned();
            assert!(reason.contains("bytes of memory"), "{reason}");
            // What is open is counted, and no value.
            assert!(taken <= 4 * text.len(), "{taken} for {}", text.len());
        }
    }
}

#[test]
fn sem_g403_long_manifests_are_read() {
    let record = "[[service]]\ntype = \"sim-drive\"\nat = \"/drive/1\"\n\
                  partners = { world = \"/world\" }\n";
    let toml = record.repeat(1_000);
    read(&toml, Manifest::read).unwrap();
    let record = r#"{"type": "sim-drive", "at": "/drive/1", "partners": {"world": "/world"}}"#;
    let json = format!("{{\"service\": [{}]}}", vec![record; 10_000].join(", "));
    read(&json, Manifest::read).unwrap();
    let numbers = vec!["0.25"; 50_000].join(", ");
    let state =
        format!("{{\"service\": [{{\"type\": \"a\", \"state\": {{\"value\": [{numbers}]}}}}]}}");
    read(&state, Manifest::read).unwrap();
}

#[test]
fn memory_is_counted() {
    let (text, taken) = most_memory(|| vec![0u8; 100_000]);
    assert!((100_000..110_000).contains(&taken), "{taken}");
    drop(text);
}

/// The gate's share of the inputs, and all.
const FEW: usize = 2_000;
const ALL: usize = 1_000_000;

macro_rules! promises {
    ($($few:ident $all:ident $target:ident,)*) => { $(
        #[test]
        fn $few() {
            $target(FEW);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $all() {
            $target(ALL);
        }
    )* };
}

promises! {
    prop_sem_g403_a_manifest_takes_little_memory deep_sem_g403_a_million_manifests manifests,
    prop_sem_g403_a_flow_takes_little_memory deep_sem_g403_a_million_flows flows,
    prop_sem_g403_a_rule_takes_little_memory deep_sem_g403_a_million_rules rights,
    prop_sem_g403_a_body_takes_little_memory deep_sem_g403_a_million_bodies bodies,
}
