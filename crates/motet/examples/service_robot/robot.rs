//! The services of a robot in a room: a world, two drives, a bumper, a laser, an explorer.

use motet_ports::JoinedReceive;
use motet_service::{
    Cx, Fault, NodeBuilder, Notification, Service, State, Subscribe, contract, data,
};
use std::f64::consts::PI;

/// A room of 10 by 10 with a robot in it.
#[data]
#[derive(Default, PartialEq)]
pub(crate) struct Room {
    pub(crate) step: u64,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) heading: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) touches: bool,
}

#[data]
#[derive(PartialEq)]
pub(crate) struct Power {
    pub(crate) left: f64,
    pub(crate) right: f64,
}

#[contract(uri = "example:world/1", state = Room)]
pub(crate) trait World {
    /// What the motors do.
    #[update]
    async fn set_power(&mut self, power: Power) -> Result<(), Fault>;
    /// A tenth of a second passes.
    #[every(seconds = 0.1)]
    fn step(&mut self);
}

#[derive(Service)]
#[service(contract = World)]
pub(crate) struct SimWorld {
    #[state]
    room: State<Room>,
}

pub(crate) const SIDE: f64 = 10.0;

impl World for SimWorld {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        (self.room.left, self.room.right) = (power.left, power.right);
        Ok(())
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
pub(crate) struct Motors {
    pub(crate) commands: u64,
}

#[contract(uri = "example:drive/1", state = Motors)]
pub(crate) trait Drive {
    /// Sets both, from -1 to 1.
    #[update]
    async fn set_power(&mut self, power: Power) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Drive)]
pub(crate) struct SimDrive {
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
pub(crate) struct GentleDrive {
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
pub(crate) struct Seen {
    pub(crate) step: u64,
    pub(crate) touches: bool,
    /// The distance to the wall in each direction, from that of the heading on.
    pub(crate) beams: Vec<f64>,
}

/// A sensor: its state is what it sees.
#[contract(uri = "example:sensor/1", state = Seen)]
pub(crate) trait Sensor {
    /// The world has changed.
    #[notified]
    async fn changed(&mut self, by: Notification<WorldContract>);
}

macro_rules! sensor {
    ($sensor:ident, $look:ident) => {
        #[derive(Service)]
        #[service(contract = Sensor, start = begin)]
        pub(crate) struct $sensor {
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
pub(crate) const BEAMS: i32 = 360;

pub(crate) fn beams(room: &Room) -> Vec<f64> {
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
pub(crate) struct Diary {
    pub(crate) sensed: u64,
    pub(crate) turns: u64,
}

#[data]
pub(crate) struct Sensed {
    pub(crate) touches: bool,
    pub(crate) ahead: f64,
}

#[contract(uri = "example:explorer/1", state = Diary)]
pub(crate) trait Explorer {
    /// Bumper and laser have both said something.
    #[update]
    async fn sense(&mut self, sensed: Sensed) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Explorer, start = begin)]
pub(crate) struct Wanderer {
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

pub(crate) const MANIFEST: &str = r#"
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

/// Lets a node make all of them.
pub(crate) fn register(node: NodeBuilder) -> NodeBuilder {
    node.register::<SimWorld>()
        .register::<SimDrive>()
        .register::<GentleDrive>()
        .register::<Bumper>()
        .register::<Laser>()
        .register::<Wanderer>()
}
