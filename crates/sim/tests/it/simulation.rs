//! Processes in virtual time: what they wait for, and queues whose means are known.

use motet_ports::Port;
use motet_sim::{BatchMeans, Interrupt, Sim, Simulation, Tally, TimeWeighted, timeline};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Ticks in a unit of time.
const UNIT: f64 = 1e6;

/// Notes of who did what when.
#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Vec<(u64, String)>>>);

impl Notes {
    fn add(&self, sim: &Sim, what: impl Into<String>) {
        self.0.borrow_mut().push((sim.now(), what.into()));
    }

    fn are(&self, known: &[(u64, &str)]) {
        let notes = self.0.borrow();
        let found: Vec<(u64, &str)> = notes.iter().map(|(at, what)| (*at, &what[..])).collect();
        assert_eq!(found, known);
    }
}

#[test]
fn sem_g183_at_one_time_who_waited_first_goes_on_first() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    for (name, first, second) in [("a", 5, 5), ("b", 3, 7), ("c", 10, 0), ("d", 0, 0)] {
        let notes = notes.clone();
        simulation.spawn(name, async move |sim| {
            sim.sleep(first).await;
            sim.sleep(second).await;
            notes.add(&sim, name);
        });
    }
    simulation.run().unwrap();
    // At 10, c has waited since 0, b since 3, a since 5.
    notes.are(&[(0, "d"), (10, "b"), (10, "a"), (10, "c")]);
    assert_eq!(simulation.now(), 10);
}

/// A process for each request: when it comes, its priority, how long it holds a unit.
fn requests(units: usize, of: &[(u64, i32, u64)]) -> (Notes, Simulation) {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let desk = simulation.resource("desk", units);
    for (number, &(comes, priority, stays)) in of.iter().enumerate() {
        let (desk, notes) = (desk.clone(), notes.clone());
        simulation.spawn("customer", async move |sim| {
            sim.sleep(comes).await;
            let desk = desk.request().priority(priority).await;
            notes.add(&sim, number.to_string());
            sim.sleep(stays).await;
            drop(desk);
        });
    }
    simulation.run().unwrap();
    (notes, simulation)
}

#[test]
fn sem_g184_a_resource_serves_by_priority_then_in_order() {
    let (notes, _) = requests(
        1,
        &[(0, 0, 10), (1, 1, 10), (2, 0, 10), (3, -1, 10), (4, 0, 10)],
    );
    notes.are(&[(0, "0"), (10, "3"), (20, "2"), (30, "4"), (40, "1")]);
    let (notes, simulation) = requests(2, &[(0, 0, 10), (0, 0, 5), (1, 0, 1)]);
    notes.are(&[(0, "0"), (0, "1"), (5, "2")]);
    assert_eq!(simulation.now(), 10);
}

#[test]
fn sem_g184_who_gives_up_leaves_the_line() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let desk = simulation.resource("desk", 1);
    for (number, patience) in [(0, 100), (1, 3), (2, 100)] {
        let (desk, notes) = (desk.clone(), notes.clone());
        simulation.spawn("customer", async move |sim| {
            match sim.timeout(patience, desk.request()).await {
                Some(_desk) => {
                    notes.add(&sim, format!("{number} is served"));
                    sim.sleep(10).await;
                }
                None => notes.add(&sim, format!("{number} gives up")),
            }
        });
    }
    simulation.run().unwrap();
    notes.are(&[(0, "0 is served"), (3, "1 gives up"), (10, "2 is served")]);
    // Timers that nobody waits for do not keep the simulation going.
    assert_eq!(simulation.now(), 20);
    assert!((desk.mean_in_use() - 1.0).abs() < 1e-12);
    assert!((desk.mean_waiting() - (2.0 * 3.0 + 7.0) / 20.0).abs() < 1e-12);
}

#[test]
fn sem_g185_who_is_preempted_hears_of_it() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let machine = simulation.resource("machine", 1);
    let (own, log) = (machine.clone(), notes.clone());
    simulation.spawn("job", async move |sim| {
        let mut left = 10;
        while left > 0 {
            let _machine = own.request().priority(1).await;
            let begin = sim.now();
            let done = sim.unless_interrupted(sim.sleep(left)).await;
            left -= sim.now() - begin;
            if let Err(interrupt) = done {
                log.add(&sim, interrupt.to_string());
            }
        }
        log.add(&sim, "done");
    });
    simulation.spawn("repair", async move |sim| {
        sim.sleep(4).await;
        let _machine = machine.request().priority(0).preempting().await;
        sim.sleep(5).await;
    });
    simulation.run().unwrap();
    notes.are(&[(4, "repair 1 has taken its machine"), (15, "done")]);
}

#[test]
fn sem_g185_an_interrupt_waits_until_it_is_heard() {
    let simulation = Simulation::new(1);
    let worker = simulation.spawn("worker", async |sim| {
        sim.sleep(10).await;
        let heard = sim.unless_interrupted(sim.sleep(10)).await;
        (sim.now(), heard)
    });
    simulation.spawn("boss", async move |sim| {
        sim.sleep(5).await;
        assert!(worker.interrupt("go home"));
        let heard = worker.ended().await;
        assert_eq!(heard, (10, Err(Interrupt::Cause("go home".into()))));
        assert!(!worker.interrupt("again"), "it has ended");
    });
    simulation.run().unwrap();
}

#[test]
fn sem_g185_of_several_interrupts_each_is_heard() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let (desk, log) = (simulation.resource("desk", 1), notes.clone());
    let desk_of_all = desk.clone();
    let clerk = simulation.spawn("clerk", async move |sim| {
        let _desk = desk_of_all.request().priority(5).await;
        for _ in 0..3 {
            let heard = sim.unless_interrupted(sim.sleep(100)).await;
            log.add(
                &sim,
                heard.map_or_else(|why| why.to_string(), |()| "slept".into()),
            );
        }
    });
    simulation.spawn("boss", async move |sim| {
        sim.sleep(10).await;
        // All at one time: the clerk does not go on in between.
        let _desk = desk.request().priority(1).preempting().await;
        assert!(clerk.interrupt("go home"));
    });
    simulation.run().unwrap();
    notes.are(&[
        (10, "boss 1 has taken its desk"),
        (10, "go home"),
        (110, "slept"),
    ]);
}

#[test]
fn sem_g186_containers_and_stores_serve_in_order() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let tank = simulation.container("tank", 100, 10);
    for amount in [50, 5, 20] {
        let (tank, notes) = (tank.clone(), notes.clone());
        simulation.spawn("taker", async move |sim| {
            tank.get(amount).await;
            notes.add(&sim, format!("took {amount}"));
        });
    }
    simulation.spawn("giver", async move |sim| {
        for _ in 0..3 {
            sim.sleep(10).await;
            tank.put(30).await;
        }
        assert_eq!(tank.level(), 10 + 90 - 75);
    });
    simulation.run().unwrap();
    notes.are(&[(20, "took 50"), (20, "took 5"), (30, "took 20")]);

    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let (shelf, log) = (simulation.store("shelf", 2), notes.clone());
    let full = shelf.clone();
    simulation.spawn("maker", async move |sim| {
        for item in [3, 1, 2, 4] {
            full.put(item).await;
            log.add(&sim, format!("put {item}"));
        }
    });
    let log = notes.clone();
    simulation.spawn("buyer", async move |sim| {
        sim.sleep(1).await;
        log.add(
            &sim,
            format!("even {}", shelf.get_where(|item| item % 2 == 0).await),
        );
        log.add(
            &sim,
            format!("least {}", shelf.get_least(|item| *item).await),
        );
        log.add(&sim, format!("oldest {}", shelf.get().await));
        log.add(&sim, format!("last {}", shelf.get().await));
    });
    let stuck = simulation.run();
    assert!(stuck.is_err(), "room for 2 and no even number in it");
    notes.are(&[(0, "put 3"), (0, "put 1")]);
}

/// A process waits for an amount, is served, and is interrupted before it goes on.
fn served_and_interrupted(level: u64, takes: bool) -> u64 {
    let simulation = Simulation::new(1);
    let tank = simulation.container("tank", 10, level);
    let (waited, other) = (tank.clone(), tank.clone());
    let waiter = simulation.spawn("waiter", async move |sim| {
        let amount = if takes {
            waited.get(10)
        } else {
            waited.put(10)
        };
        assert!(sim.unless_interrupted(amount).await.is_err());
    });
    simulation.spawn("other", async move |sim| {
        sim.sleep(5).await;
        // Serves who waits, and goes on as if that had gone on, too.
        for _ in 0..2 {
            let amount = if takes { other.put(10) } else { other.get(10) };
            amount.await;
        }
        assert!(waiter.interrupt("too late"));
        waiter.await;
        // What was given up is made good: all of this has its turn.
        let all = if takes { other.get(20) } else { other.put(20) };
        all.await;
    });
    simulation.run().unwrap();
    tank.level()
}

#[test]
fn sem_g186_an_amount_that_is_given_up_is_neither_lost_nor_doubled() {
    // 20 were put, and 20 taken.
    assert_eq!(served_and_interrupted(0, true), 0);
    // 10 were there, 20 taken, and 20 put.
    assert_eq!(served_and_interrupted(10, false), 10);
}

#[test]
fn a_wait_that_is_given_up_leaves_the_others_of_its_process() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let event = simulation.event::<u32>("bell");
    let (bell, log) = (event.clone(), notes.clone());
    simulation.spawn("listener", async move |sim| {
        let mut first = Box::pin(bell.wait());
        assert_eq!(sim.timeout(5, first.as_mut()).await, None);
        assert_eq!(sim.timeout(5, bell.wait()).await, None);
        log.add(&sim, "waits");
        let number = first.await;
        log.add(&sim, number.to_string());
    });
    simulation.spawn("ringer", async move |sim| {
        sim.sleep(20).await;
        assert!(event.fire(7));
    });
    simulation.run().unwrap();
    notes.are(&[(10, "waits"), (20, "7")]);
}

#[test]
fn a_run_to_a_time_that_has_passed_changes_nothing() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let log = notes.clone();
    simulation.spawn("clock", async move |sim| {
        sim.sleep(150).await;
        log.add(&sim, "rings");
    });
    simulation.run_until(100).unwrap();
    let log = notes.clone();
    simulation.spawn("late", async move |sim| log.add(&sim, "begins"));
    simulation.run_until(50).unwrap();
    let late = simulation.run_paced(50, Duration::from_secs(1)).unwrap();
    assert_eq!((simulation.now(), late), (100, Duration::ZERO));
    notes.are(&[]);
    simulation.run().unwrap();
    notes.are(&[(100, "begins"), (150, "rings")]);
}

#[test]
fn what_takes_place_at_the_end_of_a_run_is_left_to_a_later_one() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let log = notes.clone();
    simulation.spawn("clock", async move |sim| {
        sim.sleep(10).await;
        log.add(&sim, "rings");
    });
    // Also where the run before has ended there.
    for _ in 0..2 {
        simulation.run_until(10).unwrap();
        let late = simulation.run_paced(10, Duration::from_secs(1)).unwrap();
        assert_eq!((simulation.now(), late), (10, Duration::ZERO));
        notes.are(&[]);
    }
    simulation.run_until(11).unwrap();
    notes.are(&[(10, "rings")]);
}

#[test]
fn sem_g187_a_stuck_simulation_says_who_waits_for_what() {
    let simulation = Simulation::new(1);
    let (tank, pump) = (
        simulation.container("tank", 60, 24),
        simulation.resource("pump", 1),
    );
    let (own, same) = (tank.clone(), pump.clone());
    simulation.spawn("car", async move |sim| {
        let _pump = same.request().await;
        sim.sleep(7).await;
        own.get(45).await;
    });
    let same = pump.clone();
    simulation.spawn("car", async move |_| drop(same.request().await));
    simulation.spawn_background("clerk", async |sim| sim.event::<()>("closing").wait().await);
    let stuck = simulation.run().unwrap_err();
    assert_eq!(
        stuck.to_string(),
        "the simulation is stuck at time 7: nothing is scheduled; car 0 waits for 45 of tank, which holds 24 \
         and can hold 60; car 1 waits for pump, which car 0 holds"
    );
    // Somebody helps, and it goes on.
    simulation.spawn("truck", async move |_| tank.put(36).await);
    simulation.run().unwrap();
    assert_eq!(pump.in_use(), 0);
}

#[test]
fn sem_g187_who_waits_for_ever_is_stuck() {
    let simulation = Simulation::new(1);
    let bell = simulation.event::<()>("bell");
    simulation.spawn("listener", async move |sim| {
        sim.timeout(u64::MAX, bell.wait()).await;
    });
    simulation.spawn("sleeper", async |sim| sim.sleep(u64::MAX).await);
    simulation.run_until(10).unwrap();
    let stuck = simulation.run().unwrap_err();
    let names: Vec<&str> = stuck
        .processes
        .iter()
        .map(|process| &process.name[..])
        .collect();
    assert_eq!((stuck.time, names), (10, vec!["listener 0", "sleeper 1"]));
    assert!(stuck.to_string().contains("the event bell"), "{stuck}");
}

#[test]
fn sem_g188_ports_work_in_virtual_time() {
    let (simulation, notes) = (Simulation::new(1), Notes::default());
    let port: Port<u32> = Port::new();
    let (post, log) = (port.clone(), notes.clone());
    simulation.spawn("receiver", async move |sim| {
        for _ in 0..2 {
            let item = port.recv().await;
            log.add(&sim, item.to_string());
        }
    });
    simulation.spawn("poster", async move |sim| {
        for item in [7, 8] {
            sim.sleep(5).await;
            post.post(item).unwrap();
        }
    });
    simulation.run().unwrap();
    notes.are(&[(5, "7"), (10, "8")]);
}

/// Customers come to servers; how long they wait, in units of time. With `room` in all, others are
/// turned away.
fn queue(
    seed: u64,
    (rate, servers, room): (f64, usize, usize),
    service: impl Fn(&Sim) -> u64 + Clone + 'static,
    customers: u64,
) -> (Tally, f64, Vec<String>) {
    let simulation = Simulation::new(seed);
    if customers < 1_000 {
        simulation.keep_trace();
    }
    let desk = simulation.resource("desk", servers);
    let (own, lost) = (desk.clone(), Rc::new(RefCell::new(0_u64)));
    let turned_away = Rc::clone(&lost);
    simulation.spawn("source", async move |sim| {
        for _ in 0..customers {
            sim.sleep(sim.exponential(UNIT / rate)).await;
            if own.in_use() + own.waiting() >= room {
                *turned_away.borrow_mut() += 1;
                continue;
            }
            let (desk, service) = (own.clone(), service.clone());
            sim.spawn("customer", async move |sim| {
                let _desk = desk.request().await;
                sim.sleep(service(&sim)).await;
            });
        }
    });
    simulation.run().unwrap();
    let lost = *lost.borrow() as f64 / customers as f64;
    (desk.waits(), lost, simulation.trace())
}

fn served(sim: &Sim) -> u64 {
    sim.exponential(UNIT)
}

#[test]
fn sem_g189_a_run_is_repeated_by_its_seed() {
    let run = |seed| queue(seed, (0.8, 1, usize::MAX), served, 200);
    let (first, again, other) = (run(1), run(1), run(2));
    assert_eq!(first, again);
    assert_ne!(first.2, other.2);
    let line = &first.2[3];
    assert!(
        line.starts_with("{\"time\":") && line.contains("\"process\":\""),
        "{line}"
    );
}

#[test]
fn queues_wait_as_long_as_the_formulas_say() {
    const CUSTOMERS: u64 = 200_000;
    let n = CUSTOMERS as f64;
    let near = |found: f64, known: f64, within: f64| {
        assert!(
            (found - known).abs() < within,
            "{found} and not {known}, within {within}"
        );
    };
    let mean = |(waits, ..): (Tally, f64, Vec<String>)| waits.mean() / UNIT;
    let all = usize::MAX;
    // M/M/1 at load 0.8: the variance of the mean of n waits is 1976 / n.
    let mm1 = mean(queue(5, (0.8, 1, all), served, CUSTOMERS));
    near(mm1, 4.0, 4.0 * (1976.0 / n).sqrt());
    let md1 = mean(queue(6, (0.8, 1, all), |_| UNIT as u64, CUSTOMERS));
    near(md1, 2.0, 0.2);
    let mm2 = mean(queue(7, (1.6, 2, all), served, CUSTOMERS));
    near(mm2, 1.778, 0.2);
    let (_, lost, _) = queue(8, (0.8, 1, 5), served, CUSTOMERS);
    near(lost, 0.0888, 0.006);
    let (_, lost, _) = queue(9, (1.6, 2, 2), served, CUSTOMERS);
    near(lost, 0.3299, 0.008);
}

#[test]
fn batches_say_how_sure_a_mean_is() {
    let simulation = Simulation::new(4);
    let mut batches = BatchMeans::new(1_000, 500);
    (0..51_000).for_each(|_| batches.add(simulation.uniform()));
    assert_eq!(batches.batches(), 100);
    let error = (1.0 / 12.0 / 50_000.0_f64).sqrt();
    assert!((batches.mean() - 0.5).abs() < 4.0 * error);
    assert!((0.5..2.0).contains(&(batches.standard_error() / error)));
}

#[test]
#[should_panic(expected = "at time 3, before that")]
fn a_mean_before_the_last_change_is_refused() {
    let mut length = TimeWeighted::new(0, 1.0);
    length.set(4, 2.0);
    assert_eq!((length.mean(4), length.mean(8)), (1.0, 1.5));
    let _ = length.mean(3);
}

#[test]
fn a_time_line_shows_each_resource() {
    let simulation = Simulation::new(1);
    let desks = ["desk <1>", "desk 2"].map(|name| simulation.resource(name, 1));
    for (number, desk) in desks.iter().enumerate() {
        desk.keep_history();
        let desk = desk.clone();
        simulation.spawn("customer", async move |sim| {
            sim.sleep(number as u64).await;
            let _desk = desk.request().await;
            sim.sleep(10).await;
        });
    }
    simulation.run().unwrap();
    assert_eq!(desks[1].history(), [(0, 0, 0), (1, 1, 0), (11, 0, 0)]);
    let svg = timeline(&[&desks[0], &desks[1]]);
    assert_eq!(svg.matches("<polygon").count(), 2);
    assert!(
        svg.contains("desk &lt;1>") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
}

/// Starts a process when it is dropped.
struct Starts(Sim, Rc<()>);

impl Drop for Starts {
    fn drop(&mut self) {
        let held = Rc::clone(&self.1);
        self.0.spawn("last", async move |_| drop(held));
    }
}

#[test]
fn what_a_destructor_starts_goes_with_the_simulation() {
    let (simulation, held) = (Simulation::new(1), Rc::new(()));
    // Its place is free when the others are dropped.
    simulation.spawn("first", async |_| ());
    let starts = Starts(Sim::clone(&simulation), Rc::clone(&held));
    simulation.spawn("waits", async move |sim| {
        let _starts = starts;
        sim.event::<()>("never").wait().await;
    });
    assert!(simulation.run().is_err());
    drop(simulation);
    assert_eq!(Rc::strong_count(&held), 1);
}

/// Starts a process with another one of its kind when it is dropped.
struct Again(Sim);

impl Drop for Again {
    fn drop(&mut self) {
        let again = Again(self.0.clone());
        self.0.spawn("again", async move |_| drop(again));
    }
}

#[test]
fn destructors_that_start_processes_without_an_end_are_told() {
    let simulation = Simulation::new(1);
    let again = Again(Sim::clone(&simulation));
    simulation.spawn("waits", async move |sim| {
        let _again = again;
        sim.event::<()>("never").wait().await;
    });
    assert!(simulation.run().is_err());
    let drops = std::panic::AssertUnwindSafe(|| drop(simulation));
    let told = std::panic::catch_unwind(drops).unwrap_err();
    let told = told.downcast_ref::<&str>().unwrap();
    assert!(told.contains("without an end"), "{told}");
}

#[test]
fn a_panic_of_a_process_ends_the_run() {
    let simulation = Simulation::new(1);
    simulation.spawn("fool", async |_| panic!("no way"));
    let run = std::panic::AssertUnwindSafe(|| simulation.run());
    assert!(std::panic::catch_unwind(run).is_err());
}

#[test]
fn sem_g187_after_a_panic_of_a_process_the_next_run_goes_on_with_the_others() {
    let simulation = Simulation::new(1);
    let desk = simulation.resource("desk", 1);
    let held = desk.clone();
    let fool = simulation.spawn("fool", async move |sim| {
        let _desk = held.request().await;
        sim.sleep(3).await;
        assert!(sim.now() < 3, "no way");
    });
    simulation.spawn("next", async move |sim| {
        let _desk = desk.request().await;
        sim.sleep(4).await;
    });
    let run = std::panic::AssertUnwindSafe(|| simulation.run());
    assert!(std::panic::catch_unwind(run).is_err());
    assert!(!fool.interrupt("late"), "it has ended");
    simulation.run().unwrap();
    assert_eq!(simulation.now(), 7);
}
