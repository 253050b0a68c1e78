//! A bank like that of the example `service_bank`, asked for what its description says it takes: by
//! schemathesis, which makes requests of the description, right ones and wrong ones.

use crate::till::Shop;
use motet_dispatch::Dispatcher;
use motet_http::{Config, Server};
use motet_ports::wait_blocking;
use motet_service::{Create, Fault, IntoFault, Node, Service, State, Value, contract, data};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// The accounts, in cents.
#[data]
#[derive(Default)]
struct Accounts {
    cents: BTreeMap<String, u64>,
}

#[data]
struct Transfer {
    from: String,
    to: String,
    cents: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, IntoFault)]
enum BankFault {
    #[fault(UnknownEntry)]
    NoAccount(String),
    #[fault(PreconditionFailed)]
    TooPoor { has: u64 },
    #[fault(InsufficientResources)]
    Full,
}

#[contract(uri = "test:bank/1", state = Accounts, patch = true)]
trait Bank {
    /// How much an account has.
    #[query]
    fn balance(&self, account: String) -> Result<u64, BankFault>;
    /// Opens an account.
    #[insert]
    fn open(&mut self, account: String);
    /// Moves money; answers with what is left.
    #[update(rollback)]
    fn transfer(&mut self, transfer: Transfer) -> Result<u64, BankFault>;
    /// Adds up what there is.
    #[submit(job)]
    async fn audit(upto: u64) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Bank)]
struct SavingsBank {
    #[state]
    accounts: State<Accounts>,
}

impl Bank for SavingsBank {
    fn balance(&self, account: String) -> Result<u64, BankFault> {
        let cents = self.accounts.cents.get(&account);
        cents.copied().ok_or(BankFault::NoAccount(account))
    }

    fn open(&mut self, account: String) {
        self.accounts.cents.entry(account).or_insert(1000);
    }

    fn transfer(&mut self, transfer: Transfer) -> Result<u64, BankFault> {
        let Transfer { from, to, cents } = transfer;
        let has = self.balance(from.clone())?;
        let left = has.checked_sub(cents).ok_or(BankFault::TooPoor { has })?;
        self.accounts.cents.insert(from, left);
        let more = self.balance(to.clone())?.checked_add(cents);
        self.accounts.cents.insert(to, more.ok_or(BankFault::Full)?);
        Ok(left)
    }

    async fn audit(upto: u64) -> Result<u64, Fault> {
        Ok((0..upto.min(1000)).sum())
    }
}

/// All places to which a description refers, and the names of its operations.
fn named(value: &Value, places: &mut Vec<String>, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| named(item, places, names)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("$ref", Value::String(to)) => places.push(to.clone()),
                    ("operationId", Value::String(own)) => names.push(own.clone()),
                    _ => named(field, places, names),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn sem_g441_a_description_is_whole_and_other_methods_are_refused() {
    let shop = Shop::open();
    let document = shop.get("/openapi.json").json();
    let (mut places, mut names) = (Vec::new(), Vec::new());
    named(&document, &mut places, &mut names);
    assert!(places.len() > 10, "{places:?}");
    for place in places {
        let found = document.pointer(place.strip_prefix('#').unwrap());
        assert!(found.is_some(), "{place}");
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert!(all == names.len() && all > 10, "each has a name of its own");
    for (path, methods) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/till") {
            continue;
        }
        for method in ["get", "put", "post", "patch", "delete", "trace"] {
            let wrong = "idempotency-key: \r\n";
            let answer = shop.ask(&method.to_uppercase(), path, wrong, "");
            let expected = if methods[method].is_null() { 405 } else { 400 };
            assert_eq!(answer.status, expected, "{method} {path}: {answer:?}");
        }
    }
    assert_eq!(
        shop.get("/till/-/balance?body=%22ann%22").json(),
        Value::Null
    );
}

/// The environment with schemathesis and a validator of descriptions; without one the test is left
/// out.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("MOTET_SCHEMATHESIS").filter(|path| !path.is_empty());
    if python.is_none() {
        eprintln!(
            "left out: MOTET_SCHEMATHESIS names no Python; `cargo xtask deep http` makes one"
        );
    }
    python.map(PathBuf::from)
}

#[test]
#[ignore = "takes a minute"]
fn deep_sem_g441_a_bank_does_what_its_description_says_by_schemathesis() {
    let Some(python) = python() else { return };
    let dispatcher = Dispatcher::new(2);
    let node = Node::builder("bank").register::<SavingsBank>();
    let node = node.start(&dispatcher).unwrap();
    let created = wait_blocking(node.create(Create::<SavingsBank>::of().at("/bank")));
    created.unwrap().unwrap();
    let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
    let description = format!("{}/openapi.json", server.url());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        let told = command.args(arguments).arg(&description).output().unwrap();
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        let more = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.success(), "{text}\n{more}");
    };
    let valid = "import json, sys, urllib.request, openapi_spec_validator as v\n\
                 v.validate(json.load(urllib.request.urlopen(sys.argv[1])))";
    run(&["-c", valid]);
    // The version that a change is for is looked at before its body.
    let config = std::env::temp_dir().join(format!("motet-bank-{}.toml", std::process::id()));
    std::fs::write(
        &config,
        "checks.negative_data_rejection.expected-statuses = [\"4xx\"]\n",
    )
    .unwrap();
    run(&[
        "-m",
        "schemathesis.cli",
        "--config-file",
        config.to_str().unwrap(),
        "run",
        "--checks",
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,\
         unsupported_method,negative_data_rejection",
        "--include-path-regex",
        "^/bank",
        "--max-examples",
        "100",
        "--seed",
        "1",
        "--suppress-health-check",
        "all",
    ]);
    drop(std::fs::remove_file(&config));
    let figures = node.find("/bank").unwrap().figures();
    assert!(figures.calls > 100 && figures.panics == 0, "{figures:?}");
}
