//! What the robot feels and sees.

use super::world::{Arena, SimulatedClient, SimulatedContract};
use crate::{Cx, Fault, Notification, Service, State, Subscribe, contract, data};
use std::fmt;

/// What a sensor has seen last.
#[data]
#[derive(Default)]
pub struct SensorState {
    /// The step of the world in which it was.
    pub step: u64,
    /// Of a bumper: the robot has run against a wall.
    pub touches: bool,
    /// Of a bumper: how often it began to touch one.
    pub bumps: u64,
    /// Of a laser: the distance to the wall in each direction.
    pub beams: Vec<f64>,
}

/// A sensor: its state is what it sees.
#[contract(uri = "motet:sensor/1", state = SensorState)]
pub trait Sensor {
    /// The world has changed.
    #[notified]
    async fn changed(&mut self, by: Notification<SimulatedContract>);
}

macro_rules! sensor {
    ($(#[$doc:meta])* $sensor:ident, $look:ident) => {
        $(#[$doc])*
        #[derive(Service)]
        #[service(contract = Sensor, start = begin)]
        pub struct $sensor {
            #[state]
            seen: State<SensorState>,
            #[partner(policy = UseExisting)]
            world: SimulatedClient,
        }

        impl $sensor {
            async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
                let steps = Subscribe::all().operation("step");
                cx.subscribe::<SensorClient, _>(&self.world, steps, SensorRequest::Changed)
                    .await
            }
        }

        impl fmt::Debug for $sensor {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct(stringify!($sensor));
                shown.field("seen", &self.seen).finish_non_exhaustive()
            }
        }

        impl Sensor for $sensor {
            async fn changed(&mut self, _: Notification<SimulatedContract>) {
                if let Ok(room) = self.world.get().await {
                    let seen = $look(&room, &self.seen);
                    self.seen.set(seen);
                }
            }
        }
    };
}

sensor!(
    /// A bumper, which feels walls.
    SimBumper,
    touch
);
sensor!(
    /// A laser of 360 beams.
    SimLaser,
    sight
);

fn touch(room: &Arena, before: &SensorState) -> SensorState {
    SensorState {
        step: room.step,
        touches: room.touches,
        bumps: before.bumps + u64::from(room.touches && !before.touches),
        beams: Vec::new(),
    }
}

fn sight(room: &Arena, _: &SensorState) -> SensorState {
    SensorState {
        step: room.step,
        beams: room.beams(),
        ..SensorState::default()
    }
}
