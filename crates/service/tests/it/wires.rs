//! The robot, whose drive is on another node, behind a network that delays, loses,
//! doubles and cuts, in virtual time. From there the drive moves the world by such a network, too.

use crate::shop::replay_with;
use motet_dispatch::{Clock, Replay};
use motet_ports::timer::sleep;
use motet_service::robot::{
    self, Arena, Diary, Drive, DriveClient, DriveContract, ExplorerClient, MANIFEST, Motors, Power,
    SIDE, Sensed, Simulated, SimulatedClient, SimulatedContract,
};
use motet_service::{
    Answering, AnyClient, Client, Fault, FaultCode, Node, Options, Remote, Service, State, Value,
};
use motet_sync::Mutex;
use std::cell::RefCell;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A network between two nodes. What happens to each message is decided by a seed.
struct Wire {
    path: &'static str,
    far: AnyClient,
    seed: AtomicU64,
    /// From then on nothing goes wrong any more.
    is_good: Arc<Mutex<bool>>,
}

impl Wire {
    /// The next number of the seed (splitmix64).
    fn draw(&self, below: u64) -> u64 {
        let step = 0x9E37_79B9_7F4A_7C15;
        let mut z = self
            .seed
            .fetch_add(step, Ordering::Relaxed)
            .wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % below
    }
}

impl Remote for Wire {
    fn path(&self) -> &str {
        self.path
    }

    fn call(&self, name: &str, body: Value, options: Options) -> Answering {
        let good = *self.is_good.lock();
        let fate = if good { 9 } else { self.draw(10) };
        // Much less than a step of the world: a robot that is behind catches up.
        let (there, back) = (self.draw(20), self.draw(20));
        let far = self.far.clone();
        let name = name.to_owned();
        let cut = || Fault::new(FaultCode::Unavailable, "the connection was cut");
        Box::pin(async move {
            sleep(there as u32 * MS).await;
            match fate {
                // Lost on the way there.
                0 => return pending().await,
                // Cut before it is there.
                1 => return Err(cut()),
                // Late by far.
                2 => sleep(3000 * MS).await,
                // Doubled.
                3 => drop(far.call_with(&name, body.clone(), options.clone()).await),
                _ => {}
            }
            let answer = far.call_with(&name, body, options).await;
            sleep(back as u32 * MS).await;
            match fate {
                // Lost or cut on the way back.
                4 => pending().await,
                5 => Err(cut()),
                _ => answer,
            }
        })
    }
}

/// What the far ends are called by, and what has become of it.
#[derive(Clone)]
struct Ways {
    drive: DriveClient,
    world: SimulatedClient,
    clock: Clock,
    tally: Arc<Mutex<Tally>>,
}

/// The commands of one robot, and what became of the calls.
#[derive(Default)]
struct Tally {
    commands: Vec<Power>,
    calls: u64,
    failed: u64,
    late: u64,
}

thread_local! {
    /// A replay runs on one thread: what is built there calls by these.
    static WAYS: RefCell<Option<Ways>> = const { RefCell::new(None) };
}

impl Default for Ways {
    fn default() -> Self {
        let ways = WAYS.with(|ways| ways.borrow().clone());
        ways.expect("the test has set them")
    }
}

/// Hands commands to the drive of the other node, each with a key of its own.
#[derive(Service)]
#[service(contract = Drive)]
struct WiredDrive {
    #[state]
    motors: State<Motors>,
    ways: Ways,
}

/// A key belongs to who has it.
const NAME: &str = "robot";

fn key(command: usize) -> String {
    format!("command {command}")
}

impl Drive for WiredDrive {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        self.motors.commands += 1;
        let command = {
            let mut tally = self.ways.tally.lock();
            tally.commands.push(power.clone());
            tally.commands.len() - 1
        };
        let mut answer = Ok(());
        for within in [300 * MS, 300 * MS, 1000 * MS] {
            let begun = self.ways.clock.now();
            let call = self.ways.drive.set_power(power.clone()).principal(NAME);
            answer = call.key(&key(command)).within(within).await;
            let took = self.ways.clock.now() - begun;
            let mut tally = self.ways.tally.lock();
            tally.calls += 1;
            tally.failed += u64::from(answer.is_err());
            tally.late += u64::from(took > within + 10 * MS);
            if answer.is_ok() {
                break;
            }
        }
        answer
    }
}

/// The world, as the drive of the other node sees it.
#[derive(Service)]
#[service(contract = Simulated)]
struct WiredWorld {
    #[state]
    room: State<Arena>,
    ways: Ways,
}

impl Simulated for WiredWorld {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        self.ways.world.set_power(power).within(150 * MS).await
    }

    fn step(&mut self) {}
}

const FAR: &str = r#"
[[service]]
type = "wired-world"
at = "/ground"

[[service]]
type = "sim-drive"
at = "/wheels"
partners = { world = "/ground" }
"#;

async fn loaded(node: &Node, manifest: &str) {
    let loaded = node.load([manifest]).await.unwrap();
    assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
}

/// Asks the explorer to look, and whether the answer is there by the deadline.
async fn ask(explorer: &ExplorerClient, clock: &Clock) {
    let begun = clock.now();
    let within = Duration::from_secs(1);
    let (touches, ahead) = (false, SIDE);
    // A queue of senses may be before it.
    let sensed = Sensed { touches, ahead };
    drop(explorer.sense(sensed).within(within).await);
    let took = clock.now() - begun;
    assert!(took <= within + 10 * MS, "it took {took:?}");
}

/// The robot explores while the network is bad, and goes on when it is good again.
async fn exploring(near: Node, far: Node, ways: Ways, is_good: Arc<Mutex<bool>>) {
    let clock = ways.clock.clone();
    let explorer: ExplorerClient = near.client("/explorer").unwrap();
    // Whether the drive hears of it or not, it explores from now on.
    drop(explorer.explore(true).await);
    for _ in 0..3 {
        ask(&explorer, &clock).await;
    }
    *is_good.lock() = true;
    let before: Diary = (*explorer.get().await.unwrap().state).clone();
    // What is on its way arrives.
    sleep(Duration::from_secs(8)).await;
    let after: Diary = (*explorer.get().await.unwrap().state).clone();
    assert!(after.sensed > before.sensed, "it goes on");
    let room = near.client::<SimulatedClient>("/world").unwrap();
    let room = room.get().await.unwrap();
    assert!((0.0..=SIDE).contains(&room.x) && (0.0..=SIDE).contains(&room.y));
    let wanderer = near.find("/explorer").unwrap();
    wanderer.call("drop", Value::Null).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    // Each command is asked for once more: it is done now, or was done before.
    let commands = ways.tally.lock().commands.clone();
    for (command, power) in commands.iter().enumerate() {
        let again = ways.drive.set_power(power.clone()).principal(NAME);
        drop(again.key(&key(command)).await);
    }
    let wheels: DriveClient = far.client("/wheels").unwrap();
    let done = wheels.get().await.unwrap().commands;
    assert_eq!(done, commands.len() as u64, "each command once");
    far.shutdown().await;
}

fn explore(seed: u64, total: &mut Tally) {
    let replay = Replay::new(seed);
    let node = |name: &str| {
        let builder = robot::register(Node::builder(name));
        let builder = builder.register::<WiredDrive>().register::<WiredWorld>();
        builder.start(&replay).unwrap()
    };
    let (near, far) = (node("near"), node("far"));
    let tally = Arc::new(Mutex::new(Tally::default()));
    let kept = Arc::clone(&tally);
    replay_with(&replay, &near, move |near| {
        let (far, tally) = (far.clone(), Arc::clone(&kept));
        async move {
            let is_good = Arc::new(Mutex::new(false));
            let wire = |path, node: &Node, seed| {
                Arc::new(Wire {
                    path,
                    far: node.find(path).unwrap(),
                    seed: AtomicU64::new(seed),
                    is_good: Arc::clone(&is_good),
                })
            };
            // The world is there before the drive, and the drive before the explorer.
            let (others, world) = MANIFEST.split_at(MANIFEST.rfind("[[service]]").unwrap());
            loaded(&near, world).await;
            let world: SimulatedClient = Client::elsewhere(wire("/world", &near, !seed)).into();
            let clock = near.queue().clock();
            let nowhere: DriveClient = Client::elsewhere(wire("/world", &near, seed)).into();
            let mut ways = Ways {
                drive: nowhere,
                world,
                clock,
                tally,
            };
            WAYS.with(|kept| *kept.borrow_mut() = Some(ways.clone()));
            loaded(&far, FAR).await;
            ways.drive = Client::elsewhere(wire("/wheels", &far, seed)).into();
            WAYS.with(|kept| *kept.borrow_mut() = Some(ways.clone()));
            loaded(&near, &others.replace("sim-drive", "wired-drive")).await;
            exploring(near, far, ways, is_good).await;
        }
    });
    WAYS.with(|kept| kept.borrow_mut().take());
    let tally = tally.lock();
    total.calls += tally.calls;
    total.failed += tally.failed;
    total.late += tally.late;
}

fn explore_with(seeds: u64) {
    let mut total = Tally::default();
    for seed in 0..seeds {
        explore(seed, &mut total);
    }
    let Tally {
        calls,
        failed,
        late,
        ..
    } = total;
    assert_eq!(late, 0, "calls that did not end by their deadlines");
    // The network was as bad as it was to be, and not worse.
    assert!(
        failed * 100 > calls && failed * 10 < calls * 9,
        "{failed} of {calls} calls failed"
    );
}

#[test]
fn sem_g402_calls_over_a_bad_network_end_by_their_deadlines_and_keyed_ones_are_done_once() {
    explore_with(100);
}

#[test]
#[ignore = "takes minutes"]
fn deep_sem_g402_ten_thousand_bad_networks() {
    explore_with(10_000);
}
