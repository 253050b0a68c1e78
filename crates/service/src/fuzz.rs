//! Texts and bodies with a few changes, or anything: how much memory their readers take.

use crate::manifest::Manifest;
use crate::workflow::Flow;
use crate::{Fault, FaultCode, Rights, json};
use motet_testkit::{Corpus, Counting, fuzz, most_memory};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[global_allocator]
static MEMORY: Counting = Counting;

/// For each byte of a manifest or of a flow, as it is read and as it is kept: an object in an
/// object, of five bytes each, takes 140 bytes for each.
const VALUES: usize = 2 * 140;

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

fn manifests(inputs: usize) {
    fuzz(inputs, &MANIFESTS, VALUES, |bytes| {
        let read = str::from_utf8(bytes).map(Manifest::read);
        if let Ok(Err(fault)) = read {
            refused(&fault);
        }
    });
}

fn flows(inputs: usize) {
    fuzz(inputs, &FLOWS, VALUES, |bytes| {
        if let Ok(Err(fault)) = str::from_utf8(bytes).map(Flow::read) {
            refused(&fault);
        }
    });
}

fn rights(inputs: usize) {
    fuzz(inputs, &RIGHTS, 0, |bytes| {
        drop(str::from_utf8(bytes).map(|rule| Rights::parse([rule])));
    });
}

fn bodies(inputs: usize) {
    // The value is the sender's, or the server's: what is counted here is what reading adds.
    fuzz(inputs, &BODIES, usize::MAX, |bytes| {
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
