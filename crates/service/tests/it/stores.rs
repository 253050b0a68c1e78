//! States that last, and states to begin with.

use crate::clerk::{node_with, replay};
use crate::shop::{CornerShop, Line, ShopClient, Stock, replay_with};
use motet_dispatch::{Dispatcher, Replay, spawn};
use motet_ports::timer::sleep;
use motet_service::system::DebugClient;
use motet_service::{
    Create, Cx, Fault, FaultCode, Folder, Memory, Node, Persist, Redb, Restart, Service, State,
    Store, Supervise, contract, data,
};
use motet_sync::atomic::{AtomicBool, Ordering};
use std::path::Path;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn dss_082_084_086_initial_states_of_files() {
    let folder = std::env::temp_dir().join(format!("motet-service-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let good = write(
        "good.json",
        r#"{"items": {"apples": 8}, "nested": [], "ticks": 1}"#,
    );
    let bad = write("bad.json", "{\"items\":\n {\"apples\": }");
    let missing = folder.join("missing.json").display().to_string();
    let record = |at: &str, file: &str, required: bool| {
        format!(
            "[[service]]\ntype = \"chain\"\nat = \"{at}\"\nstate = {{ file = \"{file}\", required = {required} }}\n"
        )
    };
    let manifest = record("/good", &good, true)
        + &record("/bad", &bad, true)
        + &record("/none", &missing, true)
        + &record("/default", &missing, false);
    replay(move |node| {
        let manifest = manifest.clone();
        async move {
            let loaded = node.load([manifest]).await.unwrap();
            let shop: ShopClient = node.client("/good").unwrap();
            assert_eq!(shop.count("apples".into()).await, Ok(8));
            let why = |at: usize| loaded[at].fault.clone().unwrap().reason().to_owned();
            assert!(
                why(1).contains("bad.json") && why(1).contains("line 2"),
                "{}",
                why(1)
            );
            assert!(why(2).contains("missing.json"), "{}", why(2));
            let shop: ShopClient = node.client("/default").unwrap();
            assert!(shop.get().await.unwrap().items.is_empty());
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn fill(node: &Node) {
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let shop = node.create(create).await.unwrap();
    shop.upsert(Line::new("apples", 3)).await.unwrap();
    assert_eq!(shop.add(1).key("k").await, Ok(4));
}

async fn refill(node: &Node) {
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let shop = node.create(create).await.unwrap();
    assert_eq!(
        shop.count("apples".into()).await,
        Ok(4),
        "the stored state wins"
    );
    assert_eq!(shop.get().await.unwrap().version, 2, "versions go on");
    assert_eq!(
        shop.add(1).key("k").await,
        Ok(4),
        "the key is stored with the state"
    );
    // A torn state is read again.
    shop.tear(Line::new("torn", 1)).await.unwrap_err();
    loop {
        match shop.count("apples".into()).await {
            Ok(count) => break assert_eq!(count, 4),
            Err(fault) => assert_eq!(fault.code(), FaultCode::Unavailable),
        }
        sleep(MS).await;
    }
    assert!(shop.count("torn".into()).await.is_err());
}

#[test]
fn dss_085_sem_g392_what_was_answered_is_there_after_a_restart() {
    let folder = std::env::temp_dir().join(format!("motet-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let memory = Memory::default();
    for store in ["memory", "folder", "redb"] {
        let file = folder.join("states.redb");
        for life in 0..2 {
            let dispatcher = Dispatcher::new(2);
            let node = match store {
                "memory" => node_with(&dispatcher, memory.clone()),
                "folder" => node_with(&dispatcher, Folder::open(&folder).unwrap()),
                _ => node_with(&dispatcher, Redb::open(&file).unwrap()),
            };
            motet_ports::wait_blocking(async {
                match life {
                    0 => fill(&node).await,
                    _ => refill(&node).await,
                }
                node.shutdown().await;
            })
            .unwrap();
        }
    }
    // A file that was damaged is named.
    std::fs::write(folder.join("shop.json"), "{\"contract\":\n 7").unwrap();
    let dispatcher = Dispatcher::new(1);
    let node = node_with(&dispatcher, Folder::open(&folder).unwrap());
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let fault = motet_ports::wait_blocking(node.create(create))
        .unwrap()
        .unwrap_err();
    assert!(fault.reason().contains("line 2"), "{fault}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// How many apples a start with this file finds.
fn apples_in(file: &Path) -> Result<i64, Fault> {
    let dispatcher = Dispatcher::new(1);
    let node = node_with(&dispatcher, Redb::open(file)?);
    let started = async {
        let create = Create::<CornerShop>::of()
            .at("/shop")
            .persist(Persist::Each);
        let shop = node.create(create).await?;
        let state = shop.get().await?;
        assert_eq!(state.version, 2);
        Ok(state.items["apples"])
    };
    motet_ports::wait_blocking(started).unwrap()
}

/// So many bytes of those that hold something, behind the first page, drawn from a seed.
fn drawn_places(bytes: &[u8], count: usize) -> Vec<usize> {
    let held: Vec<usize> = (4096..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let mut drawn = 0x2545_f491_4f6c_dd1d_u64;
    let place = |_| {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        held[drawn as usize % held.len()]
    };
    (0..count).map(place).collect()
}

#[test]
fn sem_g623_a_damaged_file_is_refused_or_has_what_was_committed() {
    motet_testkit::within(Duration::from_secs(300), || {
        let folder = std::env::temp_dir().join(format!("motet-damaged-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let whole = {
            let (file, dispatcher) = (folder.join("whole.redb"), Dispatcher::new(2));
            let node = node_with(&dispatcher, Redb::open(&file).unwrap());
            let filled = async {
                fill(&node).await;
                node.shutdown().await;
            };
            motet_ports::wait_blocking(filled).unwrap();
            std::fs::read(&file).unwrap()
        };
        let start = |name: &str, bytes: &[u8]| {
            let file = folder.join(name);
            std::fs::write(&file, bytes).unwrap();
            let started = apples_in(&file);
            match &started {
                Ok(apples) => assert_eq!(*apples, 4, "of {name}"),
                Err(fault) => {
                    let reason = fault.reason();
                    let is_told = reason.contains(name) || reason.contains("/shop");
                    assert!(
                        is_told && reason.contains("restore it or remove it"),
                        "{fault}"
                    );
                }
            }
            started.is_ok()
        };
        assert!(start("undamaged.redb", &whole));
        assert!(!start("empty.redb", &[]));
        assert!(!start("text.redb", b"not a store at all"));
        let places = drawn_places(&whole, 48);
        for (n, at) in places.into_iter().enumerate() {
            start(&format!("cut-{n}.redb"), &whole[..at]);
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (n % 8);
            start(&format!("flipped-{n}.redb"), &flipped);
        }
        // A state that would be read without a complaint.
        let committed = br#""apples":4"#;
        let mut changed = whole.clone();
        let mut found = 0;
        for at in 0..whole.len() - committed.len() {
            if whole[at..].starts_with(committed) {
                changed[at + committed.len() - 1] = b'5';
                found += 1;
            }
        }
        assert!(found > 0 && !start("changed.redb", &changed));
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

/// A store that takes so many commits.
struct Full(motet_sync::Mutex<u32>);

impl Store for Full {
    fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }
    fn commit(&self, _: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        let mut left = self.0.lock();
        *left = left
            .checked_sub(1)
            .ok_or_else(|| Fault::failed("the disk is full"))?;
        Ok(())
    }
}

#[test]
fn sem_g393_what_cannot_be_stored_is_not_answered() {
    let replay = Replay::new(1);
    let node = node_with(&replay, Full(motet_sync::Mutex::new(1)));
    replay_with(&replay, &node, async |node| {
        let create = Create::<CornerShop>::of()
            .at("/shop")
            .persist(Persist::Each);
        let shop = node.create(create).await.unwrap();
        shop.upsert(Line::new("apples", 3)).await.unwrap();
        assert_eq!(node.store_fault(), None);
        let fault = shop.upsert(Line::new("pears", 3)).await.unwrap_err();
        assert!(fault.reason().contains("disk is full"), "{fault}");
        let fault = node.store_fault().expect("it has failed");
        assert!(fault.reason().contains("disk is full"), "{fault}");
        sleep(Duration::from_secs(1)).await;
        assert!(shop.count("pears".into()).await.is_err());
    });
}

#[test]
fn sem_g393_a_change_that_is_not_stored_is_not_answered_by_its_key() {
    let replay = Replay::new(1);
    let node = node_with(&replay, Full(motet_sync::Mutex::new(0)));
    replay_with(&replay, &node, async |node| {
        let once = Supervise {
            restart: Restart::Temporary,
            ..Supervise::default()
        };
        let create = Create::<CornerShop>::of()
            .at("/shop")
            .persist(Persist::Each)
            .supervise(once);
        let shop = node.create(create).await.unwrap();
        for wanted in [FaultCode::OperationFailed, FaultCode::Unavailable] {
            let apples = Line::new("apples", 3);
            let fault = shop.upsert(apples).key("k").await.unwrap_err();
            assert_eq!(fault.code(), wanted, "{fault}");
        }
    });
}

#[test]
fn sem_g428_a_captured_change_that_is_not_stored_is_kept() {
    let replay = Replay::new(1);
    let node = node_with(&replay, Full(motet_sync::Mutex::new(0)));
    replay_with(&replay, &node, async |node| {
        let create = Create::<CornerShop>::of()
            .at("/shop")
            .persist(Persist::Each);
        let shop = node.create(create).await.unwrap();
        let apples = Line::new("apples", 3);
        let fault = shop.upsert(apples).key("k").capture().await.unwrap_err();
        sleep(MS).await;
        let debug: DebugClient = node.client("/sys/debug").unwrap();
        let kept = debug.get().await.unwrap();
        assert_eq!(kept.captured.len(), 1);
        assert_eq!(kept.captured[0].operation, "upsert");
        assert_eq!(kept.captured[0].fault, Some(fault.to_string()));
    });
}

/// A store whose first commit panics.
struct Fragile(AtomicBool);

impl Store for Fragile {
    fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }
    fn commit(&self, _: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        assert!(self.0.swap(true, Ordering::Relaxed), "the disk is gone");
        Ok(())
    }
}

/// The change whose commit panics is answered, and so is what follows.
async fn change_and_drop(node: Node) {
    let create = Create::<CornerShop>::of()
        .at("/shop")
        .persist(Persist::Each);
    let shop = node.create(create).await.unwrap();
    let fault = shop.upsert(Line::new("apples", 3)).await.unwrap_err();
    assert!(fault.reason().contains("the disk is gone"), "{fault}");
    // A fault tells that it is being built anew.
    match shop.upsert(Line::new("pears", 3)).await {
        Err(fault) => assert_eq!(fault.code(), FaultCode::Unavailable, "{fault}"),
        Ok(()) => assert_eq!(node.store_fault(), None),
    }
    shop.drop_service().await.unwrap();
}

#[test]
fn sem_g393_a_store_that_panics_leaves_no_later_change_without_an_answer() {
    motet_testkit::within(Duration::from_secs(60), || {
        let dispatcher = Dispatcher::new(2);
        let node = node_with(&dispatcher, Fragile(AtomicBool::new(false)));
        motet_ports::wait_blocking(change_and_drop(node)).unwrap();
    });
    let replay = Replay::new(1);
    let node = node_with(&replay, Fragile(AtomicBool::new(false)));
    replay_with(&replay, &node, change_and_drop);
}

#[data]
#[derive(Default)]
struct Book {
    lines: Vec<u64>,
}

#[contract(uri = "test:book/1", state = Book)]
trait Books {
    #[query]
    fn lines(&self) -> Vec<u64>;
    /// Two lines, between which it waits; then the book is stored.
    #[update]
    async fn enter(&mut self, line: u64, cx: &Cx);
    /// A line, after which it fails.
    #[update]
    fn spoil(&mut self, line: u64, cx: &Cx) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Books)]
struct OneBook {
    #[state]
    book: State<Book>,
}

impl Books for OneBook {
    fn lines(&self) -> Vec<u64> {
        self.book.lines.clone()
    }
    async fn enter(&mut self, line: u64, cx: &Cx) {
        self.book.lines.push(line);
        cx.save();
        sleep(10 * MS).await;
        self.book.lines.push(line);
    }
    fn spoil(&mut self, line: u64, cx: &Cx) -> Result<(), Fault> {
        self.book.lines.push(line);
        cx.save();
        Err(Fault::failed("the pen has broken"))
    }
}

/// A book into which each start enters a line.
#[derive(Service)]
#[service(contract = Books, name = "begun-book", start = begin)]
struct BegunBook {
    #[state]
    book: State<Book>,
}

impl BegunBook {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        self.book.lines.push(0);
        Ok(())
    }
}

impl Books for BegunBook {
    fn lines(&self) -> Vec<u64> {
        self.book.lines.clone()
    }
    async fn enter(&mut self, line: u64, _: &Cx) {
        self.book.lines.push(line);
    }
    fn spoil(&mut self, _: u64, _: &Cx) -> Result<(), Fault> {
        Ok(())
    }
}

#[test]
fn a_change_that_fails_is_not_saved() {
    for store in [None, Some(Memory::default())] {
        let replay = Replay::new(1);
        let builder = Node::builder("books").register::<OneBook>();
        let node = match store.clone() {
            None => builder.start(&replay).unwrap(),
            Some(store) => builder.store(store).start(&replay).unwrap(),
        };
        let is_stored = store.is_some();
        replay_with(&replay, &node, move |node| async move {
            let create = Create::<OneBook>::of().at("/book");
            let create = match is_stored {
                true => create.persist(Persist::OnSave),
                false => create,
            };
            let book = node.create(create).await.unwrap();
            let fault = book.spoil(7).await.unwrap_err();
            assert!(fault.reason().contains("the pen"), "{fault}");
            assert_eq!(book.lines().await, Ok(vec![7]));
        });
        if let Some(store) = store {
            assert_eq!(store.load("/book").unwrap(), None);
        }
    }
}

#[test]
fn sem_g392_what_a_start_makes_of_a_stored_state_has_another_version() {
    let store = Memory::default();
    for (life, wanted) in [(0, (1, vec![0, 7])), (1, (2, vec![0, 7, 0]))] {
        let replay = Replay::new(1);
        let builder = Node::builder("books").register::<BegunBook>();
        let node = builder.store(store.clone()).start(&replay).unwrap();
        replay_with(&replay, &node, move |node| {
            let wanted = wanted.clone();
            async move {
                let create = Create::<BegunBook>::of().persist(Persist::Each);
                let book = node.create(create).await.unwrap();
                if life == 0 {
                    book.enter(7).await.unwrap();
                }
                let got = book.get().await.unwrap();
                assert_eq!((got.version, got.lines.clone()), wanted);
            }
        });
    }
}

#[test]
fn dss_039_nothing_runs_between_the_steps_of_a_change_that_is_saved() {
    for seed in 0..16 {
        let store = Memory::default();
        for life in 0..2 {
            let replay = Replay::new(seed);
            let builder = Node::builder("books").register::<OneBook>();
            let node = builder.store(store.clone()).start(&replay).unwrap();
            replay_with(&replay, &node, move |node| async move {
                let create = Create::<OneBook>::of().persist(Persist::OnSave);
                let book = node.create(create).await.unwrap();
                if life == 0 {
                    for line in 0..4 {
                        let book = book.clone();
                        let entering = async move { book.enter(line).await.unwrap() };
                        spawn(&node.queue(), entering).unwrap();
                    }
                }
                for _ in 0..100 {
                    let lines = book.lines().await.unwrap();
                    let are_pairs = lines
                        .chunks(2)
                        .all(|two| two.len() == 2 && two[0] == two[1]);
                    assert!(are_pairs, "{lines:?}");
                    sleep(MS).await;
                }
                assert_eq!(book.lines().await.unwrap().len(), 8, "in life {life}");
            });
        }
    }
}

#[test]
fn dss_083_a_state_that_is_not_there_is_the_default() {
    let manifest = r#"
        [[service]]
        type = "corner-shop"
        at = "/shop"
        state = { file = "/nowhere/at/all.json", required = false }
    "#;
    replay(move |node| async move {
        let loaded = node.load([manifest]).await.unwrap();
        assert!(loaded[0].fault.is_none(), "{loaded:?}");
        let shop: ShopClient = node.client("/shop").unwrap();
        let state = shop.get().await.unwrap();
        assert_eq!((state.version, &*state.state), (0, &Stock::default()));
        shop.insert(Line::new("apples", 1)).await.unwrap();
    });
}

#[data]
#[derive(Default)]
struct Luck {
    #[serde(serialize_with = "write_luck")]
    number: u64,
}

fn write_luck<W: serde::Serializer>(number: &u64, writer: W) -> Result<W::Ok, W::Error> {
    assert_ne!(*number, 13, "nobody writes that");
    writer.serialize_u64(*number)
}

#[contract(uri = "test:luck/1", state = Luck)]
trait Lucks {
    #[update]
    fn choose(&mut self, number: u64);
}

#[derive(Service)]
#[service(contract = Lucks, name = "luck")]
struct OneLuck {
    #[state]
    luck: State<Luck>,
}

impl Lucks for OneLuck {
    fn choose(&mut self, number: u64) {
        self.luck.number = number;
    }
}

#[test]
fn sem_g371_a_state_whose_writing_panics_is_not_served() {
    let replay = Replay::new(1);
    let builder = Node::builder("lucks").register::<OneLuck>();
    let node = builder.store(Memory::default()).start(&replay).unwrap();
    replay_with(&replay, &node, async |node| {
        let create = Create::<OneLuck>::of().persist(Persist::Each);
        let luck = node.create(create).await.unwrap();
        luck.choose(7).await.unwrap();
        let fault = luck.choose(13).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::NoAnswer, "{fault}");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(luck.get().await.unwrap().number, 7);
        luck.choose(8).await.unwrap();
    });
}
