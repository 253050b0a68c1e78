//! Operations of which no answer is wanted, carried out where they are posted.

use crate::direct::{answer, on_workers};
use motet_ports::timer::sleep;
use motet_service::{Create, Cx, Fault, FaultCode, Node, Service, State, contract, data};
use motet_service::{Notification, Subscribe};
use std::thread;
use std::time::Duration;

/// What has come, in order, and on which thread last.
#[data]
#[derive(Default)]
struct Came {
    all: Vec<u32>,
    thread: String,
    by: Option<String>,
}

/// To whom, and what.
#[data]
struct PassOn {
    to: String,
    n: u32,
}

impl PassOn {
    fn new(to: &str, n: u32) -> Self {
        PassOn {
            to: to.to_owned(),
            n,
        }
    }
}

#[contract(uri = "test:inbox/1", state = Came)]
trait Inboxes {
    /// Keeps a number.
    #[update]
    fn keep(&mut self, cx: &Cx, n: u32);
    /// Posts smaller numbers to the service at the path, and keeps this one after that.
    #[update]
    fn pass(&mut self, cx: &Cx, on: PassOn) -> Result<(), Fault>;
    /// Keeps what another one has kept.
    #[notified]
    fn hear(&mut self, by: Notification<InboxesContract>);
}

#[derive(Service)]
#[service(contract = Inboxes, many)]
struct Inbox {
    #[state]
    came: State<Came>,
}

fn here() -> String {
    format!("{:?}", thread::current().id())
}

impl Inboxes for Inbox {
    fn keep(&mut self, cx: &Cx, n: u32) {
        self.came.all.push(n);
        self.came.thread = here();
        self.came.by = cx.principal().map(str::to_owned);
    }

    fn pass(&mut self, cx: &Cx, on: PassOn) -> Result<(), Fault> {
        if on.n > 0 {
            let next: InboxesClient = cx.client(&on.to)?;
            next.post(InboxesRequest::Pass(PassOn::new(cx.path(), on.n - 1)))?;
        }
        self.keep(cx, on.n);
        Ok(())
    }

    fn hear(&mut self, by: Notification<InboxesContract>) {
        if let Some(InboxesRequest::Keep(n)) = by.operation() {
            self.came.all.push(*n);
        }
    }
}

async fn inbox(node: &Node, path: &str) -> InboxesClient {
    node.create(Create::<Inbox>::of().at(path)).await.unwrap()
}

/// An inbox that is known to be brief. One whose measured handler was interrupted is taken for one
/// that blocks, and another is made.
async fn brief_inbox(node: &Node, path: &str) -> InboxesClient {
    brief_inbox_for(node, path, &[]).await
}

/// As [`brief_inbox`], with rules.
async fn brief_inbox_for(node: &Node, path: &str, rules: &[&str]) -> InboxesClient {
    let request = || InboxesRequest::Pass(PassOn::new("/nobody", 0));
    for number in 0..100 {
        let create = Create::<Inbox>::of().at(&format!("{path}-{number}"));
        let create = create.allow(rules.iter().copied());
        let inbox = node.create(create).await.unwrap();
        for _ in 0..10 {
            // Its length is known when it has run.
            inbox.pass(PassOn::new("/nobody", 0)).await.unwrap();
            inbox.keep(0).await.unwrap();
            let before = inbox.get().await.unwrap().all.len();
            inbox.post(request()).unwrap();
            inbox.post(InboxesRequest::Keep(0)).unwrap();
            // No other has run: there is one worker, and this task has kept it.
            let state = answer(inbox.get()).and_then(Result::ok);
            if state.is_some_and(|state| state.all.len() == before + 2) {
                return inbox;
            }
        }
    }
    panic!("a brief handler is carried out where it is posted");
}

#[test]
fn sem_g398_a_brief_one_is_carried_out_before_its_post_returns() {
    on_workers(1, async |node| {
        for turn in 0.. {
            let inbox = brief_inbox(&node, &format!("/inbox-{turn}")).await;
            let before = inbox.get().await.unwrap().all.len();
            for n in 1..=100 {
                inbox.post(InboxesRequest::Keep(n)).unwrap();
            }
            let at_once = answer(inbox.get()).and_then(Result::ok);
            let state = inbox.get().await.unwrap();
            assert!(state.all[before..].iter().copied().eq(1..=100), "in order");
            assert_eq!(state.thread, here());
            // Unless one that was measured was interrupted.
            if at_once.is_some_and(|at_once| at_once.version == state.version) {
                break;
            }
            assert!(turn < 100, "some of them were always posted");
        }
    });
}

#[test]
fn sem_g398_what_a_handler_posts_to_one_that_waits_for_it_runs_later() {
    on_workers(1, async |node| {
        let (one, other) = (inbox(&node, "/one").await, inbox(&node, "/other").await);
        let lengths = async || {
            let (one, other) = (one.get().await.unwrap(), other.get().await.unwrap());
            (one.all.len(), other.all.len())
        };
        let before = lengths().await;
        // Each posts to the other while that one is at it: neither waits for the other.
        one.pass(PassOn::new("/other", 9)).await.unwrap();
        while lengths().await != (before.0 + 5, before.1 + 5) {
            sleep(Duration::from_millis(1)).await;
        }
        let by = other.get().await.unwrap().by.clone();
        assert_eq!(by.as_deref(), Some("/one"), "who has posted it");
    });
}

#[test]
fn sem_g398_services_that_post_on_do_not_use_up_the_stack() {
    const INBOXES: u32 = 2_000;
    on_workers(1, async |node| {
        let first = inbox(&node, "/relay-0").await;
        for number in 1..INBOXES {
            let relay = Create::<Relay>::of().at(&format!("/relay-{number}"));
            let _: RelaysClient = node.create(relay).await.unwrap();
        }
        let second: RelaysClient = node.client("/relay-1").unwrap();
        for _ in 0..3 {
            let before = first.get().await.unwrap().all.len();
            second.post(RelaysRequest::On(INBOXES)).unwrap();
            while first.get().await.unwrap().all.len() == before {
                sleep(Duration::from_millis(1)).await;
            }
        }
    });
}

#[contract(uri = "test:relay/1", state = Came)]
trait Relays {
    /// Posts it to the next of so many; the last one to the first.
    #[update]
    fn on(&mut self, cx: &Cx, of: u32) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Relays, many)]
struct Relay {
    #[state]
    came: State<Came>,
}

impl Relays for Relay {
    fn on(&mut self, cx: &Cx, of: u32) -> Result<(), Fault> {
        self.came.all.push(of);
        let own = cx.path().rsplit('-').next().and_then(|n| n.parse().ok());
        let next = own.map_or(0, |own: u32| own + 1);
        match next < of {
            true => {
                let next: RelaysClient = cx.client(&format!("/relay-{next}"))?;
                next.post(RelaysRequest::On(of))
            }
            false => {
                let first: InboxesClient = cx.client("/relay-0")?;
                first.post(InboxesRequest::Keep(of))
            }
        }
    }
}

#[test]
fn sem_g398_subscribers_do_not_hold_up_who_tells_them() {
    on_workers(1, async |node| {
        let one = brief_inbox(&node, "/one").await;
        let other = inbox(&node, "/other").await;
        let told = one.subscribe_to(Subscribe::all(), &other, InboxesRequest::Hear);
        let _told = told.await.unwrap();
        let before = other.get().await.unwrap().all.len();
        one.post(InboxesRequest::Keep(7)).unwrap();
        let at_once = answer(other.get()).map(|state| state.unwrap().all.len());
        assert!(
            at_once.is_none_or(|count| count == before),
            "it is posted there"
        );
        let after = other.get().await.unwrap();
        assert_eq!(after.all[before..], [7]);
    });
}

#[test]
fn sem_g398_a_refusal_is_the_posters_fault() {
    on_workers(1, async |node| {
        let one = inbox(&node, "/one").await;
        // What is posted there is carried out at once, unless it is refused.
        let next = brief_inbox_for(&node, "/next", &["friend: *"]).await;
        let before = next.get().await.unwrap().all.len();
        for _ in 0..3 {
            let on = PassOn::new(next.path(), 1);
            let fault = one.pass(on).await.unwrap_err();
            assert_eq!(fault.code(), FaultCode::PermissionDenied);
        }
        let state = next.get().principal("friend").await.unwrap();
        assert_eq!(state.all.len(), before, "nothing was carried out");
    });
}

#[test]
fn sem_g377_what_panics_beside_the_handler_is_not_the_posters() {
    on_workers(1, async |node| {
        let (one, other) = (
            brief_inbox(&node, "/one").await,
            inbox(&node, "/other").await,
        );
        let poster = inbox(&node, "/poster").await;
        let told = one.subscribe_to(Subscribe::all(), &other, |_| panic!("no request of it"));
        let _told = told.await.unwrap();
        let before = poster.get().await.unwrap().all.len();
        // It posts to the one, whose subscriber cannot be told.
        poster.pass(PassOn::new(one.path(), 1)).await.unwrap();
        let after = poster.get().await.unwrap();
        assert_eq!(after.all[before..], [1]);
        assert_eq!(node.find("/poster").unwrap().figures().restarts, 0);
    });
}
