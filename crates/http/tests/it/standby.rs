//! Operations that the server's own thread carries out, and one that blocks there.

use crate::till::{Answer, Shop};
use motet_dispatch::Dispatcher;
use motet_ports::{Port, wait_blocking};
use motet_service::{Create, Service, State, contract, data};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::{Mutex, thread};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

#[data]
#[derive(Default)]
struct Passed {
    count: u64,
}

#[contract(uri = "test:gate/1", state = Passed)]
trait Gate {
    /// Answers whether it is carried out by the server's own thread.
    #[update]
    fn pass(&mut self) -> bool;
    /// Waits until the test goes on.
    #[query]
    async fn stay(&self) -> bool;
}

#[derive(Service)]
#[service(contract = Gate, name = "gate")]
struct OneGate {
    #[state]
    passed: State<Passed>,
}

/// What the next call does that the server's thread carries out, and whether there is any.
static THERE: LazyLock<Mutex<Option<Action>>> = LazyLock::new(Mutex::default);
static IS_THERE: AtomicBool = AtomicBool::new(false);
/// The calls that have been carried out.
static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// Who stays: that he does, and until when.
static STAYS: LazyLock<Port<()>> = LazyLock::new(Port::new);
static GOES: LazyLock<Port<()>> = LazyLock::new(Port::new);
/// One test at a time.
static ALONE: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

type Action = Box<dyn FnOnce() + Send>;

impl Gate for OneGate {
    fn pass(&mut self) -> bool {
        self.passed.count += 1;
        let own = thread::current().name() == Some("motet-http");
        if own && IS_THERE.load(Ordering::Relaxed) && IS_THERE.swap(false, Ordering::Relaxed) {
            let action = THERE.lock().take();
            action.expect("there is one")();
        }
        HANDLED.fetch_add(1, Ordering::Relaxed);
        own
    }

    async fn stay(&self) -> bool {
        STAYS.post(()).unwrap();
        GOES.recv().await;
        true
    }
}

const CLIENTS: usize = 8;

/// Who has held the server's thread for as long is long not carried out there.
const BLOCKS: Duration = Duration::from_millis(60);

/// Only what never comes takes as long.
const LONG: Duration = Duration::from_secs(60);

struct GatedShop {
    shop: Shop,
    /// The path of the gate.
    gate: String,
    clients: Vec<BufReader<TcpStream>>,
}

impl GatedShop {
    fn open(stop_time: Duration) -> GatedShop {
        let shop = Shop::open_on(
            Dispatcher::new(2),
            |builder| builder.register::<OneGate>(),
            |config| config.limits.stop_time = stop_time,
        );
        let clients = (0..CLIENTS).map(|_| BufReader::new(shop.connect()));
        let clients = clients.collect();
        let gate = String::new();
        GatedShop {
            shop,
            gate,
            clients,
        }
    }

    /// All clients ask at the same time.
    fn ask(&mut self) {
        let ask = format!(
            "POST {}/-/pass HTTP/1.1\r\nhost: localhost\r\n\
             content-type: application/json\r\ncontent-length: 4\r\n\r\nnull",
            self.gate
        );
        for client in &mut self.clients {
            client.get_mut().write_all(ask.as_bytes()).unwrap();
        }
    }

    /// How many of their calls the server's own thread has carried out.
    fn answers(&mut self) -> usize {
        self.clients.iter_mut().filter_map(answer).count()
    }

    /// As [`GatedShop::answers`], until the server has ended: it owes no answer then.
    fn last_answers(&mut self) -> usize {
        let mut last = Vec::new();
        for client in &mut self.clients {
            let mut all = Vec::new();
            // A connection that is reset has told what it told.
            drop(client.read_to_end(&mut all));
            last.push(all);
        }
        last.iter().filter(|all| all.ends_with(b"true")).count()
    }

    /// Asks until the server's own thread does this, and tells so.
    fn have_done(&mut self, action: impl FnOnce(Sender<()>) + Send + 'static) {
        let (begins, begun) = channel();
        *THERE.lock() = Some(Box::new(move || action(begins)));
        IS_THERE.store(true, Ordering::Relaxed);
        for round in 0..50_000 {
            // One whose handler was interrupted for long enough is long not carried out there.
            if round % 500 == 0 {
                self.gate = format!("/gate{round}");
                let gate = Create::<OneGate>::of().at(&self.gate);
                wait_blocking(self.shop.node.create(gate)).unwrap().unwrap();
            }
            let (all, asked) = (HANDLED.load(Ordering::Relaxed) + CLIENTS, Instant::now());
            self.ask();
            while HANDLED.load(Ordering::Relaxed) < all {
                assert!(asked.elapsed() < LONG, "nobody goes on");
                if begun.recv_timeout(Duration::from_micros(100)).is_ok() {
                    return;
                }
            }
            // One that holds nobody may have told so with the last of them.
            if begun.try_recv().is_ok() {
                return;
            }
            self.answers();
        }
        panic!("brief operations are carried out by the server's own thread");
    }

    /// Asks until a call blocks the server's own thread; what ends it.
    fn block(&mut self) -> Sender<()> {
        let (end, ends) = channel();
        self.have_done(move |begins| {
            begins.send(()).unwrap();
            ends.recv().unwrap();
        });
        end
    }
}

/// Whether the server's own thread has answered.
fn answer(client: &mut BufReader<TcpStream>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert!(client.read_until(b'\n', &mut head).unwrap() > 0, "cut off");
    }
    let head = Answer::of(&head);
    assert_eq!(head.status, 200, "{head:?}");
    let length = head.header("content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    client.read_exact(&mut body).unwrap();
    (body == b"true").then_some(())
}

/// Waits until nobody listens there.
fn until_refused(at: SocketAddr) {
    let begun = Instant::now();
    let connect = || TcpStream::connect_timeout(&at, LONG);
    while !connect().is_err_and(|why| why.kind() == ErrorKind::ConnectionRefused) {
        assert!(begun.elapsed() < LONG, "a server that stops refuses others");
        thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn sem_g560_who_comes_anew_does_not_wait_for_a_handler_that_blocks_the_server() {
    let _alone = ALONE.lock();
    let mut gated = GatedShop::open(Duration::from_secs(10));
    let end = gated.block();
    assert_eq!(gated.shop.get("/healthz").status, 200);
    assert_eq!(gated.shop.deposit("ann", 5).json(), 5);
    // It has been there for long by then.
    let (_nobody, nothing) = channel::<()>();
    assert!(nothing.recv_timeout(BLOCKS).is_err());
    end.send(()).unwrap();
    assert!(
        gated.answers() > 0,
        "those who were there have their answers"
    );
    assert_eq!(gated.shop.deposit("ann", 5).json(), 10);
    for _ in 0..100 {
        gated.ask();
        assert_eq!(
            gated.answers(),
            0,
            "it has blocked, and goes to the workers"
        );
    }
}

#[test]
fn sem_g560_a_server_stops_while_a_handler_blocks_it() {
    let _alone = ALONE.lock();
    let mut gated = GatedShop::open(Duration::from_millis(100));
    let end = gated.block();
    gated.shop.server.take().unwrap().stop();
    until_refused(gated.shop.at);
    // It holds whoever calls no longer than the limits say; now it ends.
    end.send(()).unwrap();
    gated.last_answers();
}

#[test]
fn sem_g560_what_runs_beside_a_handler_that_blocks_is_finished_when_the_server_stops() {
    let _alone = ALONE.lock();
    let mut gated = GatedShop::open(LONG);
    let end = gated.block();
    let mut beside = gated.shop.connect();
    // The gate itself waits for the change that blocks.
    let other = gated.shop.node.create(Create::<OneGate>::of().at("/other"));
    wait_blocking(other).unwrap().unwrap();
    let ask = "GET /other/-/stay HTTP/1.1\r\nhost: localhost\r\n\r\n";
    beside.write_all(ask.as_bytes()).unwrap();
    STAYS.recv_blocking_for(LONG).unwrap();
    let server = gated.shop.server.take().unwrap();
    let stopping = thread::spawn(move || server.stop());
    until_refused(gated.shop.at);
    GOES.post(()).unwrap();
    let told = Answer::read(beside);
    assert_eq!((told.status, &*told.body), (200, "true"), "{told:?}");
    end.send(()).unwrap();
    stopping.join().unwrap();
    gated.last_answers();
}

#[test]
fn sem_g560_a_handler_on_the_servers_thread_stops_it_and_does_not_wait_for_itself() {
    let _alone = ALONE.lock();
    let mut gated = GatedShop::open(Duration::from_secs(3600));
    let server = gated.shop.server.take();
    gated.have_done(move |begins| {
        drop(server);
        begins.send(()).unwrap();
    });
    until_refused(gated.shop.at);
    assert!(gated.last_answers() > 0, "its own caller has the answer");
}
