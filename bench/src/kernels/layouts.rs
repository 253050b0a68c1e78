//! Steps of annealing on t threads in each of m processes (E25 to E32), split by hand over ranks or handed out by rayon.

use crate::experiments::annealing::mixture;
use crate::kernels::{TEMPERATURE, thread_counts};
use crate::peers::mpi::Mpi;
use crate::peers::rayon;
use crate::rank_program::RankProgram;
use crate::selection::Missing;
use crate::suite::{Case, Point, Quantity, Setting};
use ::rayon::ThreadPool;
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use motet_comm::{Communicator, World};
use motet_mining::{MiningError, Points, SoftStep, Steps};
use motet_sync::thread;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

/// Who computes a process's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A rank for each thread, each with its share: the split is static.
    Ranks,
    /// The same over ports, the papers' way; in one process only.
    Ports,
    /// One rank, whose blocks rayon's threads take: the split is dynamic.
    Rayon,
}

/// Threads in each of so many processes of one machine: t × m × 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) threads: usize,
    pub(crate) processes: usize,
}

/// What measurements of layouts need.
#[derive(Debug, Clone)]
struct Layouts {
    /// The first library that motet can open, among those that were found; nobody looks before it is needed.
    mpi: Option<Rc<[Mpi]>>,
    motet: Option<PathBuf>,
    budget_us: f64,
    clusters: usize,
}

/// The parameters of every point.
pub(crate) const PARAMETERS: &[(&str, &str)] = &[
    (
        "pattern",
        "t x m x n: threads of a process, processes of a node, nodes",
    ),
    ("threads", "t"),
    ("processes", "m"),
    ("nodes", "n"),
    ("p", "t m n"),
    ("points", "N"),
    ("p/N", "the inverse grain size"),
    ("clusters", "clusters"),
];
/// The time of a step.
pub(crate) const TIME: Quantity = Quantity::new("run time", "us");
/// f = p T(p) / T(1) - 1.
pub(crate) const OVERHEAD: Quantity = Quantity::new("overhead f", "");
/// f of a static split less f of a dynamic one.
const DIFFERENCE: Quantity = Quantity::new("difference of f", "");
/// The papers' sizes of data.
pub(crate) const SIZES: [usize; 3] = [12_500, 25_000, 50_000];

/// Threads alone: t × 1 × 1.
pub(crate) fn threads_only() -> Vec<Layout> {
    several(|layout| layout.processes == 1)
}

/// Processes alone: 1 × m × 1.
pub(crate) fn processes_only() -> Vec<Layout> {
    several(|layout| layout.threads == 1)
}

/// All patterns of few cores.
pub(crate) fn low() -> Vec<Layout> {
    several(|layout| layout.p() < 64)
}

/// Layouts of more than one core: one has no overhead by definition.
fn several(wanted: fn(&Layout) -> bool) -> Vec<Layout> {
    let all = Layout::all().into_iter();
    all.filter(|layout| layout.p() > 1 && wanted(layout))
        .collect()
}

/// A case for each layout and size, with a series for each form that there is; `value` makes its quantity.
pub(crate) fn cases(
    setting: &Setting,
    layouts: &[Layout],
    sizes: &[usize],
    quantity: Quantity,
    value: fn(&Times<'_>) -> Result<Vec<f64>, String>,
) -> Result<Vec<Case>, Missing> {
    let all = Layouts::new(setting, layouts);
    let forms = |layout: Layout| {
        let there = Form::ALL.into_iter().filter(move |form| match form {
            Form::Ranks => true,
            Form::Ports => layout.processes == 1,
            Form::Rayon => setting.wants("rayon"),
        });
        there.map(|form| (form.name().to_owned(), form)).collect()
    };
    all.cases(layouts, sizes, quantity, forms, value)
}

/// A case for each layout and size: motet's forms less rayon.
pub(crate) fn differences(
    setting: &Setting,
    layouts: &[Layout],
    sizes: &[usize],
) -> Result<Vec<Case>, Missing> {
    let all = Layouts::new(setting, layouts);
    let forms = |layout: Layout| {
        let there = [Form::Ranks, Form::Ports].into_iter();
        let there = there.filter(move |form| *form == Form::Ranks || layout.processes == 1);
        there
            .map(|form| (format!("{} less rayon", form.name()), form))
            .collect()
    };
    all.cases(layouts, sizes, DIFFERENCE, forms, |times| {
        Ok(vec![times.difference()?])
    })
}

impl Form {
    /// All of them; motet's own first, with which the others are paired.
    const ALL: [Form; 3] = [Form::Ranks, Form::Ports, Form::Rayon];

    /// The name of its series.
    fn name(self) -> &'static str {
        match self {
            Form::Ranks => "motet",
            Form::Ports => "motet ports",
            Form::Rayon => "rayon",
        }
    }
}

impl Layout {
    /// All cuts of p, for each number of threads up to the cores.
    pub(crate) fn all() -> Vec<Layout> {
        let cuts = |p: usize| {
            let processes = (1..=p).filter(move |m| p.is_multiple_of(*m));
            processes.map(move |processes| Layout {
                threads: p / processes,
                processes,
            })
        };
        thread_counts().into_iter().flat_map(cuts).collect()
    }

    /// t × m.
    fn p(self) -> usize {
        self.threads * self.processes
    }
}

impl Layouts {
    /// For experiments with these layouts.
    fn new(setting: &Setting, layouts: &[Layout]) -> Layouts {
        let processes = layouts.iter().any(|layout| layout.processes > 1);
        Layouts {
            mpi: processes.then(|| setting.mpi()),
            motet: setting.config().motet.clone(),
            budget_us: setting.by_effort(1.0, 20_000.0, 200_000.0),
            clusters: setting.by_effort(3, 10, 10),
        }
    }

    /// Where a layout with so many points in all lies.
    fn place(&self, layout: Layout, points: usize) -> Point {
        let Layout { threads, processes } = layout;
        Point::new()
            .with("pattern", format!("{threads}x{processes}x1"))
            .with("threads", threads)
            .with("processes", processes)
            .with("nodes", 1)
            .with("p", layout.p())
            .with("points", points)
            .with("p/N", layout.p() as f64 / points as f64)
            .with("clusters", self.clusters)
    }

    /// A case for each layout and size, with a series for each of `forms`.
    fn cases(
        &self,
        layouts: &[Layout],
        sizes: &[usize],
        quantity: Quantity,
        forms: impl Fn(Layout) -> Vec<(String, Form)>,
        value: fn(&Times<'_>) -> Result<Vec<f64>, String>,
    ) -> Result<Vec<Case>, Missing> {
        let mut cases = Vec::new();
        for &points in sizes {
            for &layout in layouts {
                let mut case = Case::new(self.place(layout, points), &[quantity]);
                for (name, form) in forms(layout) {
                    let all = self.clone();
                    case = case.with(name, move || {
                        value(&Times {
                            all: &all,
                            form,
                            layout,
                            points,
                        })
                    });
                }
                cases.push(case);
            }
        }
        match cases.is_empty() {
            false => Ok(cases),
            true => Err(Missing {
                row: "every pattern".to_owned(),
                reason: "there is one core only: what is measured is what several lose".to_owned(),
            }),
        }
    }

    /// The time of a step, in µs.
    fn us(&self, form: Form, layout: Layout, points: usize) -> Result<f64, String> {
        let Layout { threads, processes } = layout;
        let clusters = self.clusters;
        let (program, ranks) = match form {
            Form::Ranks | Form::Ports => (RankProgram::Annealing { points, clusters }, threads),
            Form::Rayon => {
                let program = RankProgram::AnnealingByRayon {
                    points,
                    clusters,
                    threads,
                };
                (program, 1)
            }
        };
        if processes == 1 {
            let world = match form {
                Form::Ports => World::ports(ranks),
                Form::Ranks | Form::Rayon => World::threads(ranks),
            };
            // The rank waits for rayon's threads: they must not share its core by order.
            let world = if form == Form::Rayon {
                world.pin(false)
            } else {
                world
            };
            return Ok(program.measure(&world, self.budget_us)?.us);
        }
        let motet = self
            .motet
            .as_ref()
            .ok_or("the program motet is not known here")?;
        let found = self
            .mpi
            .as_ref()
            .and_then(|all| all.iter().find(|mpi| mpi.library().is_some()));
        let mpi =
            found.ok_or("no MPI with the standard ABI is found: name installations with --mpi")?;
        mpi.run_motet(
            motet,
            &program.to_string(),
            (ranks, processes),
            self.budget_us,
        )
    }
}

/// What a case asks for.
#[derive(Debug)]
pub(crate) struct Times<'a> {
    all: &'a Layouts,
    form: Form,
    layout: Layout,
    points: usize,
}

impl Times<'_> {
    /// The time of a step, in µs.
    pub(crate) fn us(&self) -> Result<f64, String> {
        self.all.us(self.form, self.layout, self.points)
    }

    /// f = p T(p) / T(1) - 1, T(1) being the same form's on one thread, just before.
    pub(crate) fn overhead(&self) -> Result<f64, String> {
        self.overhead_of(self.form)
    }

    /// f with a static split less f with a dynamic one, one after the other.
    pub(crate) fn difference(&self) -> Result<f64, String> {
        Ok(self.overhead_of(self.form)? - self.overhead_of(Form::Rayon)?)
    }

    fn overhead_of(&self, form: Form) -> Result<f64, String> {
        let alone = Layout {
            threads: 1,
            processes: 1,
        };
        let one = self.all.us(form, alone, self.points)?;
        let all = self.all.us(form, self.layout, self.points)?;
        Ok(self.layout.p() as f64 * all / one - 1.0)
    }
}

/// The time of one of so many steps of annealing on the ranks of `world`, in µs; `threads` of rayon compute the blocks of each
/// rank, if they are given.
pub(crate) fn run_on(
    world: &World,
    (points, clusters): (usize, usize),
    threads: Option<usize>,
    rounds: u64,
) -> Result<f64, String> {
    let (points, pool) = (mixture(points), threads.map(pool).transpose()?);
    let times = world.run(async |comm| {
        let (us, _) = steps(&comm, &points, clusters, pool.as_ref(), rounds).await?;
        Ok::<_, MiningError>(us)
    });
    let times = times.map_err(|error| error.to_string())?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

fn pool(threads: usize) -> Result<ThreadPool, String> {
    rayon::pool(threads, threads == thread::cores())
}

/// The time of a step in µs, and the last one's result.
async fn steps(
    comm: &Communicator,
    points: &Points,
    clusters: usize,
    pool: Option<&ThreadPool>,
    rounds: u64,
) -> Result<(f64, SoftStep), MiningError> {
    let mut pass = Steps::new(comm, points).await?;
    let masses = vec![1.0 / clusters as f64; clusters];
    let centres = &points.values()[..clusters * points.dim()];
    let mut started = Instant::now();
    let mut round = 0;
    loop {
        let step = match pool {
            None => pass.soft(TEMPERATURE, &masses, centres).await?,
            Some(pool) => {
                let by = |blocks, compute: &(dyn Fn(usize) -> Vec<f64> + Sync)| {
                    let sums = (0..blocks).into_par_iter().map(compute);
                    pool.install(|| sums.reduce_with(add)).unwrap_or_default()
                };
                pass.soft_by(TEMPERATURE, &masses, centres, by).await?
            }
        };
        if round == rounds {
            return Ok((started.elapsed().as_secs_f64() * 1e6 / rounds as f64, step));
        }
        if round == 0 {
            // The first one brings the points into the caches and the ranks together.
            started = Instant::now();
        }
        round += 1;
    }
}

fn add(mut left: Vec<f64>, right: Vec<f64>) -> Vec<f64> {
    left.iter_mut().zip(&right).for_each(|(l, r)| *l += r);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_splits_compute_the_same_step() {
        let points = mixture(20_000);
        let step = |ranks: usize, threads: Option<usize>| {
            let pool = threads.map(|threads| pool(threads).unwrap());
            let mut all = World::threads(ranks)
                .run(async |comm| {
                    let (us, step) = steps(&comm, &points, 7, pool.as_ref(), 2).await?;
                    assert!(us > 0.0);
                    Ok::<_, MiningError>(step)
                })
                .unwrap();
            all.remove(0)
        };
        let alone = step(1, None);
        for (ranks, threads) in [(3, None), (1, Some(2)), (2, Some(3))] {
            let here = step(ranks, threads);
            for (here, alone) in here.centres.iter().zip(&alone.centres) {
                assert!(
                    (here - alone).abs() < 1e-12,
                    "{ranks} ranks, {threads:?} threads"
                );
            }
            assert!((here.free_energy - alone.free_energy).abs() < 1e-12);
        }
    }

    #[test]
    fn every_layout_has_its_threads() {
        let all = Layout::all();
        assert_eq!((all[0].threads, all[0].processes), (1, 1));
        let cores = thread::cores();
        let full = all.iter().filter(|layout| layout.p() == cores);
        assert!(full.count() >= if cores > 1 { 2 } else { 1 });
    }
}
