//! E36: what a block costs in the forms in which a parallel loop can be written.

use crate::kernels::loops::{LoopSplit, Loops};
use crate::kernels::{Lazy, rayon_rounds, thread_counts, time_us};
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::peers::rayon;
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use itertools::iproduct;
use std::hint::black_box;
use std::rc::Rc;

const LOOP: Quantity = Quantity::new("time of a loop", "us");
const BLOCK: Quantity = Quantity::new("overhead per block", "us");

/// E36: the loop forms of code.
pub(crate) fn e36(setting: &Setting) -> Cases {
    let units = setting.by_effort(vec![1], vec![0, 1], vec![0, 1, 20]);
    let blocks = |threads| {
        let full = vec![threads, 100, 1_000, 10_000, 100_000];
        setting.by_effort(vec![5], vec![threads, 100, 10_000], full)
    };
    let cases = |threads| {
        let each = iproduct!(blocks(threads), units.clone());
        each.map(move |(blocks, units)| case(setting, (blocks, threads, units)))
    };
    Ok(thread_counts().into_iter().flat_map(cases).collect())
}

fn case(setting: &Setting, (blocks, threads, units): (usize, usize, u64)) -> Case {
    let budget = setting.by_effort(1.0, 4_000.0, 40_000.0);
    let (unit, pin) = (setting.unit(), setting.pins(threads));
    let point = Point::new()
        .with("blocks", blocks)
        .with("threads", threads)
        .with("units", units);
    // The loop's time, beside what the work alone takes just before it.
    let told = move |us: &mut dyn FnMut() -> Result<f64, String>| {
        let rounds = blocks.div_ceil(threads) as f64;
        let work = rounds * units as f64 * unit.time_us(200);
        let us = us()?;
        Ok([us, (us - work) / blocks as f64])
    };
    let body = move |block: usize| {
        unit.compute(units);
        black_box(block);
    };
    let mut case = Case::new(point, &[LOOP, BLOCK]);
    for split in LoopSplit::BOTH {
        let loops = Lazy::new(move || Loops::new(threads, pin));
        case = case.with(split.name(), move || {
            let loops = loops.get()?;
            told(&mut || time_us(budget, |rounds| loops.run(split, (blocks, rounds), body)))
        });
    }
    let pool = Lazy::new(move || rayon::pool(threads, pin));
    case = case.beside(setting, "rayon", move || {
        let pool = pool.get()?;
        let round = || (0..blocks).into_par_iter().for_each(body);
        told(&mut || time_us(budget, |rounds| Ok(rayon_rounds(pool, rounds, round))))
    });
    for (name, split) in [
        ("OpenMP static", LoopSplit::Static),
        ("OpenMP dynamic", LoopSplit::Dynamic),
    ] {
        let openmp = Rc::clone(&setting.openmp);
        case = case.beside(setting, name, move || {
            let openmp = openmp.get()?;
            told(&mut || {
                let loops = openmp.loops((blocks, threads), (units, unit), split, budget)?;
                let known = (0..blocks).sum::<usize>() as f64;
                match loops.sum == known {
                    true => Ok(loops.us),
                    false => Err(format!("its blocks add up to {}, not {known}", loops.sum)),
                }
            })
        });
    }
    case
}
