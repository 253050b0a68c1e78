//! Operations that a thread carries out which calls for many others.

use motet_dispatch::Dispatcher;
use motet_ports::{wait_blocking, wait_blocking_for};
use motet_service::{
    AnyClient, Create, Fault, Node, Options, Service, State, Value, contract, data,
};
use serde_json::json;
use std::time::Duration;

#[data]
#[derive(Default)]
struct Handled {
    count: u64,
}

#[contract(uri = "test:brief/1", state = Handled)]
trait Brief {
    /// Holds its thread for so many milliseconds; which that is, and whether it might have waited.
    #[update]
    fn handle(&mut self, ms: u64) -> (String, bool);
    /// The same, and changes nothing.
    #[query]
    fn look(&self) -> String;
}

#[derive(Service)]
#[service(contract = Brief, name = "brief")]
struct OneBrief {
    #[state]
    handled: State<Handled>,
}

impl Brief for OneBrief {
    fn handle(&mut self, ms: u64) -> (String, bool) {
        if ms > 0 {
            motet_sync::spin_for(Duration::from_millis(ms));
        }
        self.handled.count += 1;
        let waited = wait_blocking_for(std::future::ready(()), Duration::ZERO);
        (here(), waited.is_ok())
    }

    fn look(&self) -> String {
        here()
    }
}

/// The calling thread.
fn here() -> String {
    format!("{:?}", std::thread::current().id())
}

fn open() -> (Dispatcher, Node, AnyClient) {
    let dispatcher = Dispatcher::new(1);
    let node = Node::builder("test").register::<OneBrief>();
    let node = node.start(&dispatcher).unwrap();
    let create = node.create(Create::<OneBrief>::of().at("/brief"));
    wait_blocking(create).unwrap().unwrap();
    let client = node.find("/brief").unwrap();
    (dispatcher, node, client)
}

/// Calls it from this thread, which is no worker, and may carry it out.
fn call(client: &AnyClient, name: &str, body: Value, within: Option<Duration>) -> Value {
    let mut options = Options::default();
    (options.at_once, options.within) = (true, within);
    let answer: Result<Value, Fault> =
        wait_blocking(client.call_with(name, body, options)).unwrap();
    answer.unwrap()
}

fn thread_of(answer: &Value) -> &str {
    answer.get(0).unwrap_or(answer).as_str().unwrap()
}

/// Calls it until this thread carries it out. One that was interrupted is not taken for brief.
fn until_here(client: &AnyClient, name: &str, body: &Value) -> Value {
    for _ in 0..1_000_000 {
        let answer = call(client, name, body.clone(), None);
        if thread_of(&answer) == here() {
            return answer;
        }
    }
    panic!("a brief handler is carried out where it is called")
}

#[test]
fn sem_g560_brief_handlers_are_carried_out_by_who_calls_for_many() {
    let (_dispatcher, _node, client) = open();
    let zero = json!(0);
    let first = call(&client, "handle", zero.clone(), None);
    assert_ne!(thread_of(&first), here(), "it was never measured");
    let answer = until_here(&client, "handle", &zero);
    assert_eq!(answer[1], false, "a wait would block the thread");
    until_here(&client, "look", &Value::Null);
    let limited = call(&client, "handle", zero, Some(Duration::from_secs(60)));
    assert_ne!(
        thread_of(&limited),
        here(),
        "who calls waits for only so long"
    );
}

#[test]
fn sem_g560_a_handler_that_has_blocked_is_never_carried_out_there_again() {
    let (_dispatcher, _node, client) = open();
    let zero = json!(0);
    until_here(&client, "handle", &zero);
    call(&client, "handle", json!(60), None);
    for _ in 0..1000 {
        let answer = call(&client, "handle", zero.clone(), None);
        assert_ne!(thread_of(&answer), here());
    }
    // Others are.
    until_here(&client, "look", &Value::Null);
}
