//! What a simulation says of who waits, and of what it refuses; many who wait and give up.

use motet_comm::World;
use motet_sim::{Logical, Mode, Model, Options, Out, SimError, Simulation, Time};
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn sem_g187_a_process_that_is_joined_is_named() {
    let simulation = Simulation::new(1);
    let bell = simulation.event::<()>("bell");
    let worker = simulation.spawn("worker", async move |_| bell.wait().await);
    let helper = simulation.spawn_background("helper", async |sim| sim.sleep(u64::MAX).await);
    simulation.spawn("boss", async move |sim| {
        // Who gives up does not wait.
        assert!(sim.timeout(5, worker.ended()).await.is_none());
        worker.await;
    });
    simulation.spawn("other", async move |_| helper.await);
    let stuck = simulation.run().unwrap_err();
    let waits: Vec<_> = stuck
        .processes
        .iter()
        .map(|one| &one.waits_for[..])
        .collect();
    let ends = [
        "the event bell",
        "the end of worker 0",
        "the end of helper 1",
    ];
    assert_eq!(waits, ends);
}

#[test]
fn sem_g187_a_report_of_many_processes_is_short() {
    let simulation = Simulation::new(1);
    let (desks, bell) = (
        simulation.resource("desks", 100),
        simulation.event::<()>("bell"),
    );
    for _ in 0..10_000 {
        let (desks, bell) = (desks.clone(), bell.clone());
        simulation.spawn("customer", async move |_| {
            let _desk = desks.request().await;
            bell.wait().await;
        });
    }
    let stuck = simulation.run().unwrap_err();
    assert_eq!(stuck.processes.len(), 10_000);
    for shown in [
        format!("{stuck:?}"),
        format!("{stuck:#?}"),
        stuck.to_string(),
    ] {
        assert!(shown.len() < 2_000, "{} letters", shown.len());
        assert!(
            shown.contains("customer 7") && shown.contains("9992 more"),
            "{shown}"
        );
    }
    let last = &stuck.processes[9_999].waits_for;
    assert!(
        last.contains("customer 3") && last.contains("and 96 more"),
        "{last}"
    );
}

#[test]
#[should_panic(expected = "the mean is NaN")]
fn sem_g595_a_mean_that_is_no_number_is_refused() {
    let _ = Simulation::new(1).exponential(f64::NAN);
}

#[test]
#[should_panic(expected = "the mean is -1")]
fn sem_g595_a_mean_below_0_is_refused() {
    let _ = Simulation::new(1).exponential(-1.0);
}

/// Draws one time.
#[derive(Clone)]
struct Draws(f64);

impl Logical for Draws {
    type Event = ();

    fn start(&mut self, out: &mut Out<'_, ()>) {
        out.schedule(out.process(), 1, ());
    }

    fn handle(&mut self, _: Time, (): (), out: &mut Out<'_, ()>) {
        let _ = out.exponential(self.0);
    }
}

#[test]
#[should_panic(expected = "the mean is -0.5")]
fn sem_g595_a_mean_below_0_is_refused_in_a_handler() {
    let model = Model::new(1, |_| Draws(-0.5), Options::default());
    let run = World::threads(1).run(async |comm| -> Result<(), SimError> {
        model.run(&comm, Mode::Sequential).await.map(drop)
    });
    panic!("{}", run.unwrap_err());
}

/// Those of many who wait for `amount` of something, or for room, that do not give up, in the order
/// in which they are served.
fn served(takes: bool) -> Vec<u64> {
    const MANY: u64 = 2_000;
    let simulation = Simulation::new(1);
    let tank = simulation.container("tank", 10, if takes { 0 } else { 10 });
    let served = Rc::new(RefCell::new(Vec::new()));
    for number in 0..MANY {
        let (tank, served) = (tank.clone(), Rc::clone(&served));
        simulation.spawn("waiter", async move |sim| {
            // Two of three give up, the last first.
            let patience = if number % 3 == 0 {
                u64::MAX
            } else {
                5_000 - number
            };
            let amount = if takes { tank.get(10) } else { tank.put(10) };
            if sim.timeout(patience, amount).await.is_some() {
                served.borrow_mut().push(number);
            }
        });
    }
    simulation.spawn("other", async move |sim| {
        sim.sleep(10_000).await;
        for _ in (0..MANY).step_by(3) {
            let amount = if takes { tank.put(10) } else { tank.get(10) };
            amount.await;
        }
    });
    simulation.run().unwrap();
    served.take()
}

#[test]
fn sem_g186_who_gives_up_leaves_the_order_of_the_others() {
    let in_order: Vec<u64> = (0..2_000).step_by(3).collect();
    assert_eq!(served(true), in_order);
    assert_eq!(served(false), in_order);
}

#[test]
fn sem_g184_units_are_given_and_preempted_by_rank_of_many_holders() {
    let simulation = Simulation::new(1);
    let desks = simulation.resource("desks", 500);
    let lost = Rc::new(RefCell::new(Vec::new()));
    for number in 0..500 {
        let (desks, lost) = (desks.clone(), Rc::clone(&lost));
        simulation.spawn("customer", async move |sim| {
            let _desk = desks.request().priority(number % 250).await;
            if sim.unless_interrupted(sim.sleep(100)).await.is_err() {
                lost.borrow_mut().push(number);
            }
        });
    }
    simulation.spawn("inspector", async move |sim| {
        sim.sleep(10).await;
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(desks.request().priority(-1).preempting().await);
        }
        assert_eq!((desks.in_use(), desks.waiting()), (500, 0));
    });
    simulation.run().unwrap();
    // Of the greatest number first, and of two who have the same the later one.
    assert_eq!(lost.take(), [499, 249, 498]);
}
