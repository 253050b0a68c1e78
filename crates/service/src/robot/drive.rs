//! What moves the robot.

use super::world::{Power, SimulatedClient};
use crate::{Fault, Service, State, contract, data};
use std::fmt;

/// What a drive has been told.
#[data]
#[derive(Default)]
pub struct Motors {
    /// How often it was told something.
    pub commands: u64,
}

/// What moves the robot.
#[contract(uri = "motet:drive/1", state = Motors)]
pub trait Drive {
    /// Sets the power of both motors, each from -1 to 1.
    #[update]
    async fn set_power(&mut self, power: Power) -> Result<(), Fault>;
}

/// A drive that does what it is told.
#[derive(Service)]
#[service(contract = Drive)]
pub struct SimDrive {
    #[state]
    motors: State<Motors>,
    #[partner(policy = UseExisting)]
    world: SimulatedClient,
}

impl Drive for SimDrive {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        power.check()?;
        self.motors.commands += 1;
        self.world.set_power(power).await
    }
}

/// Another drive of the same contract, which gives half of the power.
#[derive(Service)]
#[service(contract = Drive)]
pub struct GentleDrive {
    #[state]
    motors: State<Motors>,
    #[partner(policy = UseExisting)]
    world: SimulatedClient,
}

impl Drive for GentleDrive {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        power.check()?;
        self.motors.commands += 1;
        let (left, right) = (power.left / 2.0, power.right / 2.0);
        self.world.set_power(Power { left, right }).await
    }
}

impl fmt::Debug for SimDrive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SimDrive");
        shown.field("motors", &self.motors).finish_non_exhaustive()
    }
}

impl fmt::Debug for GentleDrive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GentleDrive");
        shown.field("motors", &self.motors).finish_non_exhaustive()
    }
}
