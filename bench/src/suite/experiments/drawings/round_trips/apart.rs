//! What is not on a dispatcher: events of a calendar, and ranks.

use super::trip::{Message, Trips};
use crate::said::Said;
use motet_comm::{CommError, Communicator, World};
use motet_sim::Simulation;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// Two processes in virtual time hand messages to each other by stores.
pub(super) fn events(trips: Trips) -> Result<f64, String> {
    let simulation = Simulation::new(1);
    let store = |name: &'static str| simulation.store::<Message>(name, trips.group);
    let (there, back) = (store("there"), store("back"));
    let (asked, answers) = (there.clone(), back.clone());
    simulation.spawn_background("answers", async move |sim| {
        loop {
            let message = asked.get().await;
            sim.sleep(1).await;
            answers.put(message).await;
        }
    });
    let begun = Rc::new(Cell::new(Instant::now()));
    let begins = Rc::clone(&begun);
    let asks = simulation.spawn("asks", async move |sim| {
        for group in 0..trips.first() + trips.groups {
            if group == trips.first() {
                begins.set(Instant::now());
            }
            for n in 0..trips.group {
                there.put([n as u64; 8]).await;
            }
            sim.sleep(1).await;
            for _ in 0..trips.group {
                back.get().await;
            }
        }
    });
    simulation.run().said()?;
    drop(asks);
    Ok(trips.microseconds(begun.get()))
}

/// Two ranks send to each other.
pub(super) fn ranks(trips: Trips) -> Result<f64, String> {
    let run = async |comm: Communicator| -> Result<f64, CommError> {
        let mut begun = Instant::now();
        for group in 0..trips.first() + trips.groups {
            if group == trips.first() {
                begun = Instant::now();
            }
            if comm.rank() == 0 {
                for n in 0..trips.group {
                    comm.send(1, 0, [n as u64; 8]).await?;
                }
            }
            for _ in 0..trips.group {
                let message = comm.recv::<Message>(1 - comm.rank(), 0).await?;
                if comm.rank() == 1 {
                    comm.send(0, 0, message).await?;
                }
            }
        }
        Ok(trips.microseconds(begun))
    };
    let times = World::threads(2).run(run).said()?;
    Ok(times[0])
}
