//! A service that the tests share, and a client that writes bytes.

use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
use motet_http::{Config, Server};
use motet_mesh::{Ack, LinkConfig, Node as Member, Qos, SimulatedNetwork, SubscribeConfig};
use motet_ports::timer::sleep;
use motet_ports::wait_blocking;
use motet_service::{
    Create, Cx, Fault, IntoFault, Node, NodeBuilder, Service, State, Value, contract, data,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// What is on the accounts.
#[data]
#[derive(Default, PartialEq)]
pub(crate) struct Accounts {
    pub cents: BTreeMap<String, i64>,
}

#[data]
pub(crate) struct Entry {
    pub name: String,
    pub cents: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, IntoFault)]
pub enum TillFault {
    #[fault(PreconditionFailed)]
    Lacks(i64),
}

#[contract(uri = "test:till/1", state = Accounts, patch = true)]
pub(crate) trait Till {
    /// What is on one of them.
    #[query]
    fn balance(&self, name: String) -> Option<i64>;
    #[query]
    async fn wait(&self, ms: u64) -> u64;
    /// Adds to one of them.
    #[update]
    fn deposit(&mut self, entry: Entry) -> i64;
    #[update]
    fn withdraw(&mut self, entry: Entry) -> Result<i64, TillFault>;
    #[submit(job)]
    async fn audit(cx: Cx, upto: u64) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Till, name = "till")]
pub(crate) struct OneTill {
    #[state]
    accounts: State<Accounts>,
}

impl Till for OneTill {
    fn balance(&self, name: String) -> Option<i64> {
        self.accounts.cents.get(&name).copied()
    }
    async fn wait(&self, ms: u64) -> u64 {
        sleep(Duration::from_millis(ms)).await;
        ms
    }
    fn deposit(&mut self, entry: Entry) -> i64 {
        let account = self.accounts.cents.entry(entry.name).or_default();
        *account += entry.cents;
        *account
    }
    fn withdraw(&mut self, entry: Entry) -> Result<i64, TillFault> {
        let has = self.accounts.cents.get(&entry.name).copied().unwrap_or(0);
        if has < entry.cents {
            return Err(TillFault::Lacks(entry.cents - has));
        }
        self.accounts.cents.insert(entry.name, has - entry.cents);
        Ok(has - entry.cents)
    }
    async fn audit(cx: Cx, upto: u64) -> Result<u64, Fault> {
        cx.progress(0.5, "half");
        let till: TillClient = cx.client(cx.path())?;
        till.balance("ann".to_owned()).await?;
        Ok((0..upto).sum())
    }
}

/// A node with `/till`, and its server.
pub(crate) struct Shop {
    pub(crate) server: Option<Server>,
    pub(crate) node: Node,
    pub(crate) at: SocketAddr,
    _dispatcher: Dispatcher,
}

impl Shop {
    pub(crate) fn open() -> Shop {
        Shop::open_with(|_| {})
    }

    pub(crate) fn open_with(configure: impl FnOnce(&mut Config)) -> Shop {
        Shop::open_on(Dispatcher::new(2), |builder| builder, configure)
    }

    /// A shop that is in a mesh: it publishes, and the other member takes nothing of it.
    pub(crate) fn in_mesh() -> (Shop, impl Sized) {
        let dispatcher = Dispatcher::new(2);
        let queue = |name: &str| Arc::new(dispatcher.queue(QueueConfig::named(name)));
        let clock = queue("clock").clock();
        let network = SimulatedNetwork::new(1, LinkConfig::default(), clock);
        let shop = Member::join(&network.carrier("shop"), 1, queue("shop"));
        let shelf = Member::join(&network.carrier("shelf"), 1, queue("shelf"));
        let full = SubscribeConfig {
            window: 1,
            ack: Ack::Handled,
            ..SubscribeConfig::default()
        };
        let stock = shelf.subscribe::<u32>("stock/**", &full).unwrap();
        let topic = shop.topic::<u32>("stock/apples", Qos::latest(4)).unwrap();
        while topic
            .subscribers()
            .first()
            .is_none_or(|one| one.credit == 0)
        {
            std::thread::yield_now();
        }
        for apples in 0..3 {
            topic.publish(apples).unwrap();
        }
        let shop = Shop::open_on(dispatcher, |builder| builder.mesh(shop), |_| {});
        (shop, (shelf, stock, topic, network))
    }

    pub(crate) fn open_on(
        dispatcher: Dispatcher,
        build: impl FnOnce(NodeBuilder) -> NodeBuilder,
        configure: impl FnOnce(&mut Config),
    ) -> Shop {
        let builder = build(Node::builder("shop").register::<OneTill>());
        let node = builder.start(&dispatcher).unwrap();
        let till = node.create(Create::<OneTill>::of().at("/till"));
        wait_blocking(till).unwrap().unwrap();
        let mut config = Config::at(([127, 0, 0, 1], 0).into());
        configure(&mut config);
        let server = Server::start(&node, config).unwrap();
        Shop {
            at: server.address(),
            server: Some(server),
            node,
            _dispatcher: dispatcher,
        }
    }

    /// One request, over a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        // Whoever is refused before his body has been read may be cut off.
        drop(stream.write_all(request.as_bytes()));
        Answer::read(stream)
    }

    /// As [`Shop::ask`], with bodies of bytes: the head and the body.
    pub(crate) fn bytes(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> (String, Vec<u8>) {
        let mut stream = self.connect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\
             content-length: {length}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let body = answer.split_off(end + 4);
        (String::from_utf8(answer).unwrap(), body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    /// A request with a body of JSON.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let headers = format!("content-type: application/json\r\n{headers}");
        self.ask(method, path, &headers, body)
    }

    pub(crate) fn deposit(&self, name: &str, cents: i64) -> Answer {
        let body = format!(r#"{{"name":"{name}","cents":{cents}}}"#);
        self.send("POST", "/till/-/deposit", "", &body)
    }

    /// Another service, `/guarded`, with which a clerk may do nothing.
    #[cfg(feature = "tls")]
    pub(crate) fn guarded(&self) -> TillClient {
        let rules = ["admin: *"];
        let guarded = Create::<OneTill>::of().at("/guarded").allow(rules);
        wait_blocking(self.node.create(guarded)).unwrap().unwrap()
    }

    /// Keeps both workers of the node busy, until each end is sent something or dropped.
    pub(crate) fn keep_busy(&self) -> [Sender<()>; 2] {
        let (begins, begun) = channel();
        let ends = [(); 2].map(|()| {
            let (begins, (end, ends)) = (begins.clone(), channel::<()>());
            let busy = async move {
                begins.send(()).unwrap();
                // Its end may be dropped.
                let _dropped = ends.recv();
            };
            spawn(&self.node.queue(), busy).unwrap();
            end
        });
        (0..2).for_each(|_| begun.recv().unwrap());
        ends
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).unwrap();
        let limit = Some(Duration::from_secs(20));
        stream.set_read_timeout(limit).unwrap();
        stream
    }
}

/// What a server has sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Reads to the end of the connection.
    pub(crate) fn read(mut stream: TcpStream) -> Answer {
        let mut bytes = Vec::new();
        // A connection that is reset has told what it told.
        drop(stream.read_to_end(&mut bytes));
        Answer::of(&bytes)
    }

    pub(crate) fn of(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap_or_default();
        Answer {
            status: status.parse().unwrap_or_default(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}
