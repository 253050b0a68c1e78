//! Operations that the server's own thread carries out, and one that blocks there.

use crate::till::{Answer, Shop};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::{Create, Service, State, contract, data};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

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
}

#[derive(Service)]
#[service(contract = Gate, name = "gate")]
struct OneGate {
    #[state]
    passed: State<Passed>,
}

/// Whether the next call that the server's thread carries out blocks there.
static HOLDS: AtomicBool = AtomicBool::new(false);
/// The calls that have been carried out.
static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// Tells that it does, and until when.
static HELD: LazyLock<Mutex<Option<Held>>> = LazyLock::new(Mutex::default);
/// One test at a time.
static ALONE: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

type Held = (Sender<()>, Receiver<()>);

impl Gate for OneGate {
    fn pass(&mut self) -> bool {
        self.passed.count += 1;
        let own = thread::current().name() == Some("motet-http");
        if own && HOLDS.load(Ordering::Relaxed) && HOLDS.swap(false, Ordering::Relaxed) {
            let held = HELD.lock().take();
            let (begins, ends) = held.expect("somebody waits for it");
            begins.send(()).unwrap();
            ends.recv().unwrap();
        }
        HANDLED.fetch_add(1, Ordering::Relaxed);
        own
    }
}

const CLIENTS: usize = 8;

struct GatedShop {
    shop: Shop,
    clients: Vec<BufReader<TcpStream>>,
}

impl GatedShop {
    fn open(stop_time: Duration) -> GatedShop {
        let shop = Shop::open_on(
            Dispatcher::new(2),
            |builder| builder.register::<OneGate>(),
            |config| config.limits.stop_time = stop_time,
        );
        let gate = shop.node.create(Create::<OneGate>::of().at("/gate"));
        wait_blocking(gate).unwrap().unwrap();
        let clients = (0..CLIENTS).map(|_| BufReader::new(shop.connect()));
        let clients = clients.collect();
        GatedShop { shop, clients }
    }

    /// All clients ask at the same time.
    fn ask(&mut self) {
        let ask = "POST /gate/-/pass HTTP/1.1\r\nhost: localhost\r\n\
                   content-type: application/json\r\ncontent-length: 4\r\n\r\nnull";
        for client in &mut self.clients {
            client.get_mut().write_all(ask.as_bytes()).unwrap();
        }
    }

    /// How many of their calls the server's own thread has carried out.
    fn answers(&mut self) -> usize {
        self.clients.iter_mut().filter_map(answer).count()
    }

    /// Asks until a call blocks the server's own thread; what ends it.
    fn block(&mut self) -> Sender<()> {
        let (begins, begun) = channel();
        let (end, ends) = channel();
        *HELD.lock() = Some((begins, ends));
        HOLDS.store(true, Ordering::Relaxed);
        for _ in 0..100_000 {
            let all = HANDLED.load(Ordering::Relaxed) + CLIENTS;
            self.ask();
            while HANDLED.load(Ordering::Relaxed) < all {
                if begun.recv_timeout(Duration::from_micros(100)).is_ok() {
                    return end;
                }
            }
            self.answers();
        }
        panic!("brief operations are carried out by the server's own thread");
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

#[test]
fn sem_g560_who_comes_anew_does_not_wait_for_a_handler_that_blocks_the_server() {
    let _alone = ALONE.lock();
    let mut gated = GatedShop::open(Duration::from_secs(10));
    let end = gated.block();
    assert_eq!(gated.shop.get("/healthz").status, 200);
    assert_eq!(gated.shop.deposit("ann", 5).json(), 5);
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
    // It holds whoever calls no longer than the limits say; now it ends.
    end.send(()).unwrap();
}
