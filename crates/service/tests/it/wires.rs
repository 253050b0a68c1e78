//! A robot whose drive is on another node, behind a network that delays, loses, doubles and cuts,
//! in virtual time.

use crate::shop::replay_with;
use motet_dispatch::{Clock, Replay};
use motet_ports::timer::sleep;
use motet_service::{
    Answering, AnyClient, Client, Create, Cx, Fault, FaultCode, Node, Options, Remote, Service,
    State, Value, contract, data,
};
use motet_sync::Mutex;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A network between two nodes. What happens to each message is decided by a seed.
struct Wire {
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
        "/drive"
    }

    fn call(&self, name: &str, body: Value, options: Options) -> Answering {
        let good = *self.is_good.lock();
        let fate = if good { 9 } else { self.draw(10) };
        let (there, back) = (self.draw(60), self.draw(60));
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

/// What a drive has driven.
#[data]
#[derive(Default)]
struct Way {
    steps: u64,
}

#[contract(uri = "test:far-drive/1", state = Way)]
trait FarDrive {
    /// One step; how many there are then.
    #[update]
    fn step(&mut self, number: u64) -> u64;
}

#[derive(Service)]
#[service(contract = FarDrive, name = "wheels")]
struct Wheels {
    #[state]
    way: State<Way>,
}

impl FarDrive for Wheels {
    fn step(&mut self, _: u64) -> u64 {
        self.way.steps += 1;
        self.way.steps
    }
}

/// How far an explorer is.
#[data]
#[derive(Default)]
struct Diary {
    done: u64,
    tries: u64,
}

/// The way to the drive: a header, since there is no network in a state.
struct To(FarDriveClient);

#[contract(uri = "test:far-explorer/1", state = Diary)]
trait Explorer {
    /// Goes on until the drive has done this step, as long as the caller waits.
    #[update]
    async fn explore(&mut self, number: u64, cx: &Cx) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Explorer, name = "robot")]
struct Robot {
    #[state]
    diary: State<Diary>,
}

impl Explorer for Robot {
    async fn explore(&mut self, number: u64, cx: &Cx) -> Result<u64, Fault> {
        let to = cx.header::<To>().ok_or_else(|| Fault::failed("no drive"))?;
        for tries in 0..3 {
            self.diary.tries += 1;
            let step = to.0.step(number).key(&format!("step {number}"));
            // The last try has what the caller has left.
            let step = if tries < 2 {
                step.within(300 * MS)
            } else {
                step
            };
            match step.await {
                Ok(steps) => {
                    self.diary.done = number;
                    return Ok(steps);
                }
                Err(fault) if tries == 2 => return Err(fault),
                Err(_) => {}
            }
        }
        unreachable!("the third try returns")
    }
}

/// How many calls failed, and how many were made.
#[derive(Default)]
struct Tally {
    failed: u64,
    calls: u64,
}

/// Asks for a step, and looks whether the answer is there by the deadline.
async fn ask(
    robot: &ExplorerClient,
    drive: &FarDriveClient,
    clock: &Clock,
    number: u64,
) -> Result<u64, Fault> {
    let begun = clock.now();
    let within = Duration::from_secs(1);
    let call = robot.explore(number).within(within);
    let answer = call.header(To(drive.clone())).await;
    let took = clock.now() - begun;
    assert!(took <= within + 10 * MS, "step {number} took {took:?}");
    answer
}

const STEPS: u64 = 8;

fn explore(seed: u64, tally: &Arc<Mutex<Tally>>) {
    let replay = Replay::new(seed);
    let near = Node::builder("near").register::<Robot>();
    let near = near.start(&replay).unwrap();
    let far = Node::builder("far").register::<Wheels>();
    let far = far.start(&replay).unwrap();
    let tally = Arc::clone(tally);
    replay_with(&replay, &near, move |near| {
        let (far, tally) = (far.clone(), Arc::clone(&tally));
        async move {
            let wheels = far
                .create(Create::<Wheels>::of().at("/drive"))
                .await
                .unwrap();
            let is_good = Arc::new(Mutex::new(false));
            let drive: FarDriveClient = Client::elsewhere(Arc::new(Wire {
                far: far.find("/drive").unwrap(),
                seed: AtomicU64::new(seed),
                is_good: Arc::clone(&is_good),
            }))
            .into();
            let robot = near.create(Create::<Robot>::of()).await.unwrap();
            let clock = near.queue().clock();
            for number in 1..=STEPS {
                let answer = ask(&robot, &drive, &clock, number).await;
                let mut tally = tally.lock();
                tally.calls += 1;
                tally.failed += u64::from(answer.is_err());
            }
            // What is on its way arrives, and the network is good again: everything is asked for
            // once more.
            sleep(Duration::from_secs(10)).await;
            *is_good.lock() = true;
            for number in 1..=STEPS {
                ask(&robot, &drive, &clock, number).await.unwrap();
            }
            assert_eq!(wheels.get().await.unwrap().steps, STEPS, "each step once");
            assert_eq!(robot.get().await.unwrap().done, STEPS);
            far.shutdown().await;
        }
    });
}

fn explore_with(seeds: u64) {
    let tally = Arc::default();
    for seed in 0..seeds {
        explore(seed, &tally);
    }
    let tally = tally.lock();
    // The network was as bad as it was to be, and not worse.
    assert!(
        tally.failed * 100 > tally.calls && tally.failed * 2 < tally.calls,
        "{} of {} calls failed",
        tally.failed,
        tally.calls
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
