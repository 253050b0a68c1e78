//! Services that drive a robot through a room, in virtual time. They are a world, a drive, a
//! bumper, a laser, and an explorer that joins what bumper and laser say. The same seed gives the
//! same way; another manifest gives another drive.

use motet_dispatch::{Replay, spawn};
use motet_ports::{JoinedReceive, Port};
use motet_service::{Cx, Fault, Node, Notification, Service, State, Subscribe, contract, data};
use std::f64::consts::PI;
use std::time::Duration;

/// A room of 10 by 10 with a robot in it.
#[data]
#[derive(Default, PartialEq)]
struct Room {
    step: u64,
    x: f64,
    y: f64,
    heading: f64,
    left: f64,
    right: f64,
    touches: bool,
}

#[data]
#[derive(PartialEq)]
struct Power {
    left: f64,
    right: f64,
}

#[contract(uri = "example:world/1", state = Room)]
trait World {
    /// What the motors do.
    #[update]
    fn set_power(&mut self, power: Power);
    /// A tenth of a second passes.
    #[every(seconds = 0.1)]
    fn step(&mut self);
}

#[derive(Service)]
#[service(contract = World)]
struct SimWorld {
    #[state]
    room: State<Room>,
}

const SIDE: f64 = 10.0;

impl World for SimWorld {
    fn set_power(&mut self, power: Power) {
        (self.room.left, self.room.right) = (power.left, power.right);
    }

    fn step(&mut self) {
        let room = &mut *self.room;
        room.step += 1;
        room.heading = (room.heading + (room.right - room.left) * 0.1).rem_euclid(2.0 * PI);
        let way = (room.left + room.right) / 2.0 * 0.1;
        let (x, y) = (
            room.x + way * room.heading.cos(),
            room.y + way * room.heading.sin(),
        );
        (room.x, room.y) = (x.clamp(0.0, SIDE), y.clamp(0.0, SIDE));
        room.touches = (room.x, room.y) != (x, y);
    }
}

/// Sets the power of two motors, whatever they are of.
#[data]
#[derive(Default)]
struct Motors {
    commands: u64,
}

#[contract(uri = "example:drive/1", state = Motors)]
trait Drive {
    /// Sets both, from -1 to 1.
    #[update]
    async fn set_power(&mut self, power: Power) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Drive)]
struct SimDrive {
    #[state]
    motors: State<Motors>,
    #[partner(policy = UseExisting)]
    world: WorldClient,
}

impl Drive for SimDrive {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        self.motors.commands += 1;
        self.world.set_power(power).await
    }
}

/// Another drive of the same contract: never faster than half.
#[derive(Service)]
#[service(contract = Drive)]
struct GentleDrive {
    #[state]
    motors: State<Motors>,
    #[partner(policy = UseExisting)]
    world: WorldClient,
}

impl Drive for GentleDrive {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        self.motors.commands += 1;
        let (left, right) = (power.left / 2.0, power.right / 2.0);
        self.world.set_power(Power { left, right }).await
    }
}

/// What a sensor has seen last, and in which step of the world.
#[data]
#[derive(Default)]
struct Seen {
    step: u64,
    touches: bool,
    /// The distance to the wall in each direction, from that of the heading on.
    beams: Vec<f64>,
}

/// A sensor: its state is what it sees.
#[contract(uri = "example:sensor/1", state = Seen)]
trait Sensor {
    /// The world has changed.
    #[notified]
    async fn changed(&mut self, by: Notification<WorldContract>);
}

macro_rules! sensor {
    ($sensor:ident, $look:ident) => {
        #[derive(Service)]
        #[service(contract = Sensor, start = begin)]
        struct $sensor {
            #[state]
            seen: State<Seen>,
            #[partner(policy = UseExisting)]
            world: WorldClient,
        }

        impl $sensor {
            async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
                let steps = Subscribe::all().operation("step");
                cx.subscribe::<SensorClient, _>(&self.world, steps, SensorRequest::Changed)
                    .await
            }
        }

        impl Sensor for $sensor {
            async fn changed(&mut self, _: Notification<WorldContract>) {
                if let Ok(room) = self.world.get().await {
                    *self.seen = $look(&room);
                }
            }
        }
    };
}

sensor!(Bumper, touch);
sensor!(Laser, sight);

fn touch(room: &Room) -> Seen {
    Seen {
        step: room.step,
        touches: room.touches,
        beams: Vec::new(),
    }
}

fn sight(room: &Room) -> Seen {
    Seen {
        step: room.step,
        touches: false,
        beams: beams(room),
    }
}

/// A beam for each degree.
const BEAMS: i32 = 360;

fn beams(room: &Room) -> Vec<f64> {
    let beam = |number: i32| {
        let angle = room.heading + f64::from(number).to_radians();
        let to = |at: f64, slope: f64| match slope {
            slope if slope > 1e-9 => (SIDE - at) / slope,
            slope if slope < -1e-9 => -at / slope,
            _ => f64::MAX,
        };
        to(room.x, angle.cos()).min(to(room.y, angle.sin()))
    };
    (0..BEAMS).map(beam).collect()
}

/// What the explorer has done.
#[data]
#[derive(Default)]
struct Diary {
    sensed: u64,
    turns: u64,
}

#[data]
struct Sensed {
    touches: bool,
    ahead: f64,
}

#[contract(uri = "example:explorer/1", state = Diary)]
trait Explorer {
    /// Bumper and laser have both said something.
    #[update]
    async fn sense(&mut self, sensed: Sensed) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Explorer, start = begin)]
struct Wanderer {
    #[state]
    diary: State<Diary>,
    #[partner(policy = UseExisting)]
    drive: DriveClient,
    #[partner]
    bumper: SensorClient,
    #[partner]
    laser: SensorClient,
}

impl Wanderer {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        let (touches, sights) = (
            self.bumper.subscribe(Subscribe::all()).await?,
            self.laser.subscribe(Subscribe::all()).await?,
        );
        // One of each, all or nothing: a join on the ports of two subscriptions.
        let pair = (touches.port().clone(), sights.port().clone());
        let (bumper, laser) = (self.bumper.clone(), self.laser.clone());
        let own: ExplorerClient = cx.own()?;
        let sense = move |_: (Notification<SensorContract>, Notification<SensorContract>)| {
            let (bumper, laser, own) = (bumper.clone(), laser.clone(), own.clone());
            async move {
                let (Ok(touch), Ok(sight)) = (bumper.get().await, laser.get().await) else {
                    return;
                };
                // The nearest of what is within ten degrees of the heading.
                let near = sight
                    .beams
                    .iter()
                    .take(11)
                    .chain(sight.beams.iter().rev().take(10));
                let ahead = near.copied().fold(SIDE, f64::min);
                let sensed = Sensed {
                    touches: touch.touches,
                    ahead,
                };
                drop(own.post(ExplorerRequest::Sense(sensed)));
            }
        };
        let join = JoinedReceive::persistent_async((&pair.0, &pair.1), sense);
        join.activate(&cx.queue())
            .map_err(|why| Fault::failed(why.to_string()))?;
        touches.keep();
        sights.keep();
        Ok(())
    }
}

impl Explorer for Wanderer {
    async fn sense(&mut self, sensed: Sensed) -> Result<(), Fault> {
        self.diary.sensed += 1;
        let power = match sensed {
            Sensed { touches: true, .. } => Power {
                left: -1.0,
                right: -0.4,
            },
            Sensed { ahead, .. } if ahead < 1.5 => Power {
                left: 0.9,
                right: -0.2,
            },
            _ => Power {
                left: 1.0,
                right: 0.95,
            },
        };
        if power.left != 1.0 {
            self.diary.turns += 1;
        }
        self.drive.set_power(power).await
    }
}

const MANIFEST: &str = r#"
[[service]]
type = "wanderer"
partners = { bumper = { link = "bumper" }, laser = { link = "laser" } }

[[service]]
name = "bumper"
type = "bumper"

[[service]]
name = "laser"
type = "laser"

[[service]]
type = "sim-drive"
at = "/drive"

[[service]]
type = "sim-world"
state = { value = { step = 0, x = 5.0, y = 5.0, heading = 0.3, left = 0.0, right = 0.0, touches = false } }
"#;

/// Where the robot was after each second, for a minute.
fn explore(seed: u64, drive: &str) -> (Vec<(f64, f64)>, Diary) {
    let replay = Replay::new(seed);
    let builder = Node::builder("robot")
        .register::<SimWorld>()
        .register::<SimDrive>()
        .register::<GentleDrive>();
    let builder = builder
        .register::<Bumper>()
        .register::<Laser>()
        .register::<Wanderer>();
    let node = builder.start(&replay).expect("the replay takes tasks");
    let way = Port::new();
    let (tell, robot) = (way.clone(), node.clone());
    let manifest = MANIFEST.replace("sim-drive", drive);
    let exploring = async move {
        let loaded = robot.load([manifest]).await.expect("it is a manifest");
        assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
        let world: WorldClient = robot.client("/sim-world").expect("it was loaded");
        for _ in 0..60 {
            motet_ports::timer::sleep(Duration::from_secs(1)).await;
            let room = world.get().await.expect("it answers");
            tell.post((room.x, room.y))
                .expect("the port takes everything");
        }
    };
    spawn(&node.queue(), exploring).expect("the queue takes tasks");
    replay.run_for(Duration::from_secs(70));
    let (diary, told) = (node.clone(), Port::new());
    let tell = told.clone();
    let asking = async move {
        let explorer: ExplorerClient = diary.client("/wanderer").expect("it was loaded");
        tell.post((*explorer.get().await.expect("it answers").state).clone())
            .expect("as above");
    };
    spawn(&node.queue(), asking).expect("the queue takes tasks");
    replay.run_for(Duration::from_secs(1));
    (way.items(), told.test().expect("it was told"))
}

fn main() {
    let (way, diary) = explore(7, "sim-drive");
    println!(
        "after a minute at {:?}; {} looks, {} turns",
        way.last(),
        diary.sensed,
        diary.turns
    );
    assert_eq!(way.len(), 60);
    assert!(diary.sensed > 500 && diary.turns > 0, "{diary:?}");
    assert_eq!(beams(&Room::default()).len(), 360);
    assert!(
        way.iter()
            .all(|(x, y)| (0.0..=SIDE).contains(x) && (0.0..=SIDE).contains(y))
    );
    let bits = |way: &[(f64, f64)]| -> Vec<_> {
        way.iter()
            .map(|(x, y)| (x.to_bits(), y.to_bits()))
            .collect()
    };
    assert_eq!(
        bits(&way),
        bits(&explore(7, "sim-drive").0),
        "the same way from the same seed"
    );
    // Nothing but the manifest is another: the explorer does not know which drive it has.
    let (gentle, diary) = explore(7, "gentle-drive");
    let length = |way: &[(f64, f64)]| -> f64 {
        let steps = way.windows(2);
        steps
            .map(|s| (s[1].0 - s[0].0).hypot(s[1].1 - s[0].1))
            .sum()
    };
    let (fast, slow) = (length(&way), length(&gentle));
    println!("the way of the drive is {fast:.1} long, that of the gentle drive {slow:.1}");
    assert!(diary.sensed > 500 && slow > 5.0 && slow < 0.7 * fast);
}
