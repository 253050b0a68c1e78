//! What decides where the robot goes.

use super::drive::DriveClient;
use super::sensor::{SensorClient, SensorContract};
use super::world::{Power, SIDE};
use crate::{Cx, Fault, Notification, Service, State, Subscribe, contract, data};
use motet_ports::JoinedReceive;
use std::fmt;

/// What the explorer has done.
#[data]
#[derive(Default)]
pub struct Diary {
    /// It moves the robot.
    pub explores: bool,
    /// How often bumper and laser have said something.
    pub sensed: u64,
    /// How often it has turned.
    pub turns: u64,
}

/// What bumper and laser have said.
#[data]
pub struct Sensed {
    /// The robot has run against a wall.
    pub touches: bool,
    /// How far the nearest wall ahead is.
    pub ahead: f64,
}

/// What explores the room.
#[contract(uri = "motet:explorer/1", state = Diary)]
pub trait Explorer {
    /// Moves the robot from now on, or stops it and leaves it to others.
    #[update]
    async fn explore(&mut self, explores: bool) -> Result<(), Fault>;
    /// Bumper and laser have both said something.
    #[update]
    async fn sense(&mut self, sensed: Sensed) -> Result<(), Fault>;
    /// A second has passed: a robot that stands still senses nothing.
    #[every(seconds = 1.0)]
    async fn nudge(&mut self);
}

const AHEAD: Power = Power {
    left: 1.0,
    right: 0.95,
};

/// An explorer that goes ahead, a little to the right, and turns before walls.
#[derive(Service)]
#[service(contract = Explorer, start = begin)]
pub struct Wanderer {
    #[state]
    diary: State<Diary>,
    #[partner(policy = UseExisting)]
    drive: DriveClient,
    #[partner]
    bumper: SensorClient,
    #[partner]
    laser: SensorClient,
    /// What it had sensed a second ago.
    before: u64,
}

impl Wanderer {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        // By a name: when it is built anew they are in place of those of before.
        let told = || Subscribe::all().named(cx.path());
        let (touches, sights) = (
            self.bumper.subscribe(told()).await?,
            self.laser.subscribe(told()).await?,
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
    async fn explore(&mut self, explores: bool) -> Result<(), Fault> {
        self.diary.explores = explores;
        let power = if explores { AHEAD } else { Power::default() };
        self.drive.set_power(power).await
    }

    async fn sense(&mut self, sensed: Sensed) -> Result<(), Fault> {
        self.diary.sensed += 1;
        if !self.diary.explores {
            return Ok(());
        }
        let power = match sensed {
            Sensed { touches: true, .. } => Power {
                left: -1.0,
                right: -0.4,
            },
            Sensed { ahead, .. } if ahead < 1.5 => Power {
                left: 0.9,
                right: -0.2,
            },
            _ => AHEAD,
        };
        if power != AHEAD {
            self.diary.turns += 1;
        }
        self.drive.set_power(power).await
    }

    async fn nudge(&mut self) {
        let stands = self.diary.sensed == self.before;
        self.before = self.diary.sensed;
        if self.diary.explores && stands {
            // Whether it has heard is seen in a second.
            drop(self.drive.set_power(AHEAD).await);
        }
    }
}

impl fmt::Debug for Wanderer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Wanderer");
        shown.field("diary", &self.diary).finish_non_exhaustive()
    }
}
