//! E36: what a block costs in the forms in which a parallel loop can be written.

use crate::kernels::loops::{LoopSplit, Loops};
use crate::kernels::{Lazy, rayon_rounds, thread_counts, time_us};
use crate::peers::openmp::OpenMp;
use crate::peers::rayon;
use crate::selection::Missing;
use crate::suite::{About, Axis, Case, Experiment, Picture, Point, Quantity, Setting};
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::hint::black_box;
use std::rc::Rc;

/// The loop forms of code.
#[derive(Debug)]
pub(crate) struct FormsOfCode;

const LOOP: Quantity = Quantity::new("time of a loop", "us");
const BLOCK: Quantity = Quantity::new("overhead per block", "us");

impl Experiment for FormsOfCode {
    fn about(&self) -> About {
        About {
            key: "E36",
            name: "forms",
            title: "Forms of code: what a block of a loop costs",
            question: "A loop over blocks can be a message for each block, tasks that take blocks, or a construct of a \
                       language. What does a block cost in each?",
            definition: "Rounds of a loop, one after the other; time of a loop = their time / their number. Port loop (motet static): \
                         a port and a persistent receive whose handler does the block and counts a latch down, made once; a round is \
                         a post for each block and a wait for the latch. Parallel loop (motet dynamic): a round is a task per \
                         thread, which takes one block after the other, and the same wait. Beside them rayon's par_iter over the range \
                         and OpenMP's parallel for. Who calls the loop is one of the threads that run its blocks: in motet a \
                         task of the dispatcher, which awaits the end, in rayon a job of the pool, in OpenMP the team's master. \
                         Overhead per block = (T - ceil(blocks / threads) units t_u) / blocks, with t_u, the unit's time, \
                         measured before each loop. The examples port_loop, parallel_loop and exchange_thread are these \
                         forms as programs; the stages of the third are E14 and E15.",
            parameters: &[
                ("blocks", "blocks of the loop"),
                ("threads", "threads"),
                ("units", "units of work in each block"),
            ],
            threats: "A round follows the one before at once, and whoever has run out of blocks still looks for more: nobody is \
                      woken. A loop that a thread outside calls (as the examples do), or that comes after a pause, costs a wake-up of \
                      its caller and of the threads more, in motet and rayon, some microseconds; OpenMP's threads spin. Only motet \
                      static has a message for each block. A static block of OpenMP is a turn of a compiled loop, and rayon splits \
                      a range only when a thread is idle: empty blocks are mostly such turns too. The cores of a virtual machine \
                      may be near each other in one minute and far in the next, and small blocks on several threads then take \
                      three times as long: compare values of the same rounds. With much work in a block the overhead is a small \
                      difference of large numbers.",
            sources: &["P3 Code Sample 1", "P4 Fig. 2", "P4 Fig. 3"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let openmp = setting.openmp();
        let mut cases = Vec::new();
        for threads in thread_counts() {
            for blocks in setting.by_effort(
                vec![5],
                vec![threads, 100, 10_000],
                vec![threads, 100, 1_000, 10_000, 100_000],
            ) {
                for units in setting.by_effort(vec![1], vec![0, 1], vec![0, 1, 20]) {
                    cases.push(case(setting, &openmp, (blocks, threads, units)));
                }
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e36-block",
            "What a block costs",
            Axis::log("blocks", "blocks"),
            Axis::log("overhead per block", "us"),
        );
        vec![picture.panels_by(&["threads", "units"])]
    }
}

fn case(
    setting: &Setting,
    openmp: &Rc<Result<OpenMp, String>>,
    (blocks, threads, units): (usize, usize, u64),
) -> Case {
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
        Ok(vec![us, (us - work) / blocks as f64])
    };
    let body = move |block: usize| {
        unit.compute(units);
        black_box(block);
    };
    let mut case = Case::new(point, &[LOOP, BLOCK]);
    for split in LoopSplit::BOTH {
        let loops = Lazy::new(move || Loops::new(threads, pin));
        case = case.with(split.name(), move || {
            told(&mut || {
                time_us(budget, |rounds| {
                    loops.get()?.run(split, (blocks, rounds), body)
                })
            })
        });
    }
    if setting.wants("rayon") {
        let pool = Lazy::new(move || rayon::pool(threads, pin));
        case = case.with("rayon", move || {
            let pool = pool.get()?;
            let round = || (0..blocks).into_par_iter().for_each(body);
            told(&mut || time_us(budget, |rounds| Ok(rayon_rounds(pool, rounds, round))))
        });
    }
    if setting.wants("OpenMP") {
        for (name, split) in [
            ("OpenMP static", LoopSplit::Static),
            ("OpenMP dynamic", LoopSplit::Dynamic),
        ] {
            let openmp = Rc::clone(openmp);
            case = case.with(name, move || {
                told(&mut || {
                    let loops = openmp.as_ref().as_ref().map_err(Clone::clone)?.loops(
                        (blocks, threads),
                        (units, unit),
                        split,
                        budget,
                    )?;
                    let known = (0..blocks).sum::<usize>() as f64;
                    match loops.sum == known {
                        true => Ok(loops.us),
                        false => Err(format!("its blocks add up to {}, not {known}", loops.sum)),
                    }
                })
            });
        }
    }
    case
}
