//! The room, and what the motors do in it.

use crate::{Fault, Service, State, contract, data};
use std::f64::consts::PI;
use std::fmt;

/// The side of the room.
pub const SIDE: f64 = 10.0;

/// A square room with a robot in it.
#[data]
#[derive(Default, PartialEq)]
pub struct Arena {
    /// Tenths of a second in which something has moved.
    pub step: u64,
    /// Where the robot is, from the left wall.
    pub x: f64,
    /// … from the lower wall.
    pub y: f64,
    /// Where it looks, in radians from the right.
    pub heading: f64,
    /// The power of its left motor.
    pub left: f64,
    /// … of its right motor.
    pub right: f64,
    /// It has run against a wall.
    pub touches: bool,
}

impl Arena {
    /// The distance to the wall in each direction, by whole degrees from that of the heading on.
    #[must_use]
    pub fn beams(&self) -> Vec<f64> {
        let beam = |degrees: i32| {
            let angle = self.heading + f64::from(degrees).to_radians();
            let to = |at: f64, slope: f64| match slope {
                slope if slope > 1e-9 => (SIDE - at) / slope,
                slope if slope < -1e-9 => -at / slope,
                _ => f64::MAX,
            };
            to(self.x, angle.cos()).min(to(self.y, angle.sin()))
        };
        (0..360).map(beam).collect()
    }
}

/// The power of two motors, each from -1 to 1. One that is not named has none.
#[data]
#[derive(Default, PartialEq)]
#[serde(default)]
pub struct Power {
    /// Of the left motor.
    pub left: f64,
    /// Of the right motor.
    pub right: f64,
}

impl Power {
    pub(super) fn check(&self) -> Result<(), Fault> {
        for (name, power) in [("left", self.left), ("right", self.right)] {
            if !(-1.0..=1.0).contains(&power) {
                let said = format!("{name} is {power}: a power is from -1 to 1");
                return Err(Fault::failed(said));
            }
        }
        Ok(())
    }
}

/// The world of the robot.
#[contract(uri = "motet:world/1", state = Arena)]
pub trait Simulated {
    /// What the motors do, each from -1 to 1.
    #[update]
    async fn set_power(&mut self, power: Power) -> Result<(), Fault>;
    /// A tenth of a second passes.
    #[every(seconds = 0.1)]
    fn step(&mut self);
}

/// A world that is computed.
#[derive(Service)]
#[service(contract = Simulated)]
pub struct SimWorld {
    #[state]
    room: State<Arena>,
}

impl Simulated for SimWorld {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        power.check()?;
        (self.room.left, self.room.right) = (power.left, power.right);
        Ok(())
    }

    fn step(&mut self) {
        // To look at it changes nothing.
        if self.room.left == 0.0 && self.room.right == 0.0 && !self.room.touches {
            return;
        }
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

impl fmt::Debug for SimWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SimWorld");
        shown.field("room", &self.room).finish_non_exhaustive()
    }
}
