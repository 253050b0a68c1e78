//! A small war game in virtual time: two sides whose units aim at each other, one shot after the
//! other.
//!
//! ```text
//!   unit: sleeps until its next shot ─► aims at a unit of the other side ─► interrupts it: it is out
//! ```
//!
//! Lanchester's square law says who is left: with aimed fire and equal units, √(A² − B²) of the
//! stronger side (F. Lanchester, Aircraft in warfare, 1916). The program compares the mean of many
//! battles.

use motet::sim::{Process, Sim, Simulation};
use std::cell::RefCell;
use std::rc::Rc;

const RED: usize = 50;
const BLUE: usize = 40;
const BATTLES: u64 = 200;
/// Ticks between two hits of a unit, on average.
const AIM: f64 = 10_000.0;

/// The units of both sides that are not out, by their numbers.
type Sides = Rc<RefCell<[Vec<usize>; 2]>>;
/// The processes of all units, of which others are interrupted.
type Units = Rc<RefCell<[Vec<Process<()>>; 2]>>;

async fn unit(sim: Sim, sides: Sides, units: Units, side: usize) {
    loop {
        let shot = sim.sleep(sim.exponential(AIM).max(1));
        if sim.unless_interrupted(shot).await.is_err() {
            return;
        }
        let target = {
            let others = &mut sides.borrow_mut()[1 - side];
            if others.is_empty() {
                return;
            }
            let at = sim.between(0, others.len() as u64 - 1) as usize;
            others.swap_remove(at)
        };
        units.borrow()[1 - side][target].interrupt("hit");
    }
}

/// The units that are left of both sides.
fn battle(seed: u64) -> [usize; 2] {
    let simulation = Simulation::new(seed);
    let sides: Sides = Rc::new(RefCell::new([(0..RED).collect(), (0..BLUE).collect()]));
    let units: Units = Units::default();
    for (side, count) in [RED, BLUE].into_iter().enumerate() {
        for _ in 0..count {
            let (own, all) = (Rc::clone(&sides), Rc::clone(&units));
            let process =
                simulation.spawn("unit", async move |sim| unit(sim, own, all, side).await);
            units.borrow_mut()[side].push(process);
        }
    }
    simulation.run().expect("one side is out in the end");
    // The processes hold the simulation.
    units.take();
    let sides = sides.borrow();
    [sides[0].len(), sides[1].len()]
}

fn main() {
    let (mut left, mut won) = (0, 0);
    for seed in 0..BATTLES {
        let [red, blue] = battle(seed);
        assert!(red == 0 || blue == 0);
        (left, won) = (left + red, won + u64::from(red > 0));
    }
    let mean = left as f64 / BATTLES as f64;
    let law = ((RED * RED - BLUE * BLUE) as f64).sqrt();
    assert!((mean - law).abs() < 4.0, "{mean} and not {law}");
    assert!(won * 10 > BATTLES * 8, "{won}");
    println!(
        "war_game: red wins {won} of {BATTLES} battles and keeps {mean:.1} units; by the square law {law:.1}"
    );
}
