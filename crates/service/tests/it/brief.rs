//! Operations that a thread carries out which calls for many others.

use motet_dispatch::{Dispatcher, spawn};
use motet_ports::{Port, reply, wait_blocking, wait_blocking_for};
use motet_service::{
    AnyClient, Create, Fault, FaultCode, Node, Options, Service, State, Value, contract, data,
};
use motet_sync::thread_number;
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
    fn handle(&mut self, ms: u64) -> (usize, bool);
    /// The same, and changes nothing.
    #[query]
    fn look(&self) -> usize;
}

#[derive(Service)]
#[service(contract = Brief, name = "brief")]
struct OneBrief {
    #[state]
    handled: State<Handled>,
}

impl Brief for OneBrief {
    fn handle(&mut self, ms: u64) -> (usize, bool) {
        if ms > 0 {
            motet_sync::spin_for(Duration::from_millis(ms));
        }
        self.handled.count += 1;
        let waited = wait_blocking_for(std::future::ready(()), Duration::ZERO);
        (thread_number(), waited.is_ok())
    }

    fn look(&self) -> usize {
        thread_number()
    }
}

/// A node, and how many services it has.
struct Briefs {
    node: Node,
    services: u32,
    dispatcher: Dispatcher,
}

impl Briefs {
    fn open() -> Briefs {
        let dispatcher = Dispatcher::new(1);
        let node = Node::builder("test").register::<OneBrief>();
        Briefs {
            node: node.start(&dispatcher).unwrap(),
            services: 0,
            dispatcher,
        }
    }

    /// A service whose handlers were never measured.
    fn service(&mut self) -> AnyClient {
        self.services += 1;
        let path = format!("/brief{}", self.services);
        let create = self.node.create(Create::<OneBrief>::of().at(&path));
        wait_blocking(create).unwrap().unwrap();
        self.node.find(&path).unwrap()
    }

    /// Calls an operation until this thread carries it out: the service, and the answer. One that
    /// was interrupted is not taken for brief, if for long enough never again.
    fn until_here(&mut self, name: &str, body: &Value) -> (AnyClient, Value) {
        for _ in 0..100 {
            let client = self.service();
            if let Some(answer) = here(&client, name, body) {
                return (client, answer);
            }
        }
        panic!("a brief handler is carried out where it is called")
    }
}

/// Calls it from this thread, which is no worker, and may carry it out.
fn call(client: &AnyClient, name: &str, body: Value, within: Option<Duration>) -> Value {
    let mut options = Options::default();
    (options.at_once, options.within) = (true, within);
    let answer: Result<Value, Fault> =
        wait_blocking(client.call_with(name, body, options)).unwrap();
    answer.unwrap()
}

/// Calls it until this thread carries it out; not for ever.
fn here(client: &AnyClient, name: &str, body: &Value) -> Option<Value> {
    (0..1000)
        .map(|_| call(client, name, body.clone(), None))
        .find(is_here)
}

/// Whether this thread has given the answer.
fn is_here(answer: &Value) -> bool {
    *answer.get(0).unwrap_or(answer) == json!(thread_number())
}

#[test]
fn sem_g560_brief_handlers_are_carried_out_by_who_calls_for_many() {
    let mut briefs = Briefs::open();
    let zero = json!(0);
    let first = call(&briefs.service(), "handle", zero.clone(), None);
    assert!(!is_here(&first), "it was never measured");
    let (client, answer) = briefs.until_here("handle", &zero);
    assert_eq!(answer[1], false, "a wait would block the thread");
    briefs.until_here("look", &Value::Null);
    let limited = call(&client, "handle", zero, Some(Duration::from_secs(60)));
    assert!(!is_here(&limited), "who calls waits for only so long");
}

#[test]
fn sem_g560_a_handler_that_has_blocked_is_never_carried_out_there_again() {
    let mut briefs = Briefs::open();
    let zero = json!(0);
    let (client, _) = briefs.until_here("handle", &zero);
    call(&client, "handle", json!(60), None);
    assert_eq!(here(&client, "handle", &zero), None);
    let other = here(&client, "look", &Value::Null);
    assert!(other.is_some(), "others are");
}

#[test]
fn sem_g560_a_service_with_threads_of_its_own_runs_nowhere_else() {
    let briefs = Briefs::open();
    let apart = Create::<OneBrief>::of().at("/apart").threads(1);
    wait_blocking(briefs.node.create(apart)).unwrap().unwrap();
    let client = briefs.node.find("/apart").unwrap();
    assert_eq!(here(&client, "handle", &json!(0)), None);
    assert_eq!(here(&client, "look", &Value::Null), None);
}

/// Calls it for a version that the state has not.
async fn refused(client: AnyClient) -> FaultCode {
    let mut options = Options::default();
    options.if_version = Some(u64::MAX);
    let answer = client.call_with("handle", json!(0), options).await;
    answer.unwrap_err().code()
}

#[test]
fn sem_g560_a_call_that_is_refused_makes_no_handler_brief() {
    let mut briefs = Briefs::open();
    let zero = json!(0);
    let (client, _) = briefs.until_here("handle", &zero);
    call(&client, "handle", json!(1), None);
    let posted = wait_blocking(refused(client.clone())).unwrap();
    assert_eq!(posted, FaultCode::PreconditionFailed);
    let next = call(&client, "handle", zero.clone(), None);
    assert!(!is_here(&next), "it took a millisecond when it ran");
    // And where it is refused on a worker, at once.
    let client = briefs.service();
    let (to, answer) = reply();
    let there = client.clone();
    let calling = async move { to.post(refused(there).await).unwrap() };
    spawn(&briefs.node.queue(), calling).unwrap();
    let at_once = wait_blocking(answer).unwrap().unwrap();
    assert_eq!(at_once, FaultCode::PreconditionFailed);
    let next = call(&client, "handle", zero, None);
    assert!(!is_here(&next), "it has never run");
}

/// Panics when it is dropped: when its call has ended.
struct Breaks;

impl Drop for Breaks {
    fn drop(&mut self) {
        panic!("a header breaks");
    }
}

#[test]
fn sem_g560_a_panic_beside_a_handler_goes_to_who_hears_of_the_services() {
    let mut briefs = Briefs::open();
    let told = Port::new();
    let heard = told.clone();
    briefs.dispatcher.on_exception(move |exception| {
        heard.post(exception.message().to_owned()).unwrap();
    });
    let (client, _) = briefs.until_here("handle", &json!(0));
    let typed = briefs.node.client::<BriefClient>(client.path()).unwrap();
    let mut options = Options::default();
    options.at_once = true;
    let call = typed.handle(0).with(options).header(Breaks);
    // Should it have been posted, it is answered before.
    let answer = wait_blocking(call.into_future()).unwrap();
    let is_given = answer.is_ok_and(|(thread, _)| thread == thread_number());
    assert!(!is_given, "there is none after a panic");
    let said = told.recv_blocking_for(Duration::from_secs(60)).unwrap();
    assert_eq!(said, "a header breaks");
}
