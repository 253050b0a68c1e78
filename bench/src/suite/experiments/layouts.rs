//! Steps of pairwise annealing of sequences on t threads in each of m processes on each of n nodes
//! (E25 to E32). They are split by hand over ranks, or handed out by a loop of motet or by rayon.
//!
//! Nodes are namespaces of this machine, which share its cores. Each has some of them for itself,
//! so that t m n is at most their number.

pub(crate) mod experiments;
mod pattern;

use crate::kernels::Lazy;
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::peers::mpi::{Mpi, NodeSpread, can_play};
use crate::rank_program::RankProgram;
use crate::rows::over_processes::measured;
use crate::rows::pairwise_steps::{self, Hands, LEAST};
use motet_comm::World;
use motet_mining::Dissimilarities;
use motet_sync::thread;
use pattern::{
    ThreadLayout, low, processes_in_nodes, processes_only, threads_in_nodes, threads_only,
};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Who computes a process's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A rank for each thread, each with its share: the split is static.
    Ranks,
    /// The same over ports, the papers' way; in one process only.
    Ports,
    /// One rank, whose blocks the threads of motet's parallel loop take: the split is dynamic.
    Loop,
    /// The same by rayon's threads.
    Rayon,
}

/// Dissimilarities of so many sequences.
type Made = (usize, Arc<Dissimilarities>);

/// What measurements of layouts need.
#[derive(Debug, Clone)]
struct Layouts {
    /// The installations, where there are layouts of several processes; the first whose library
    /// motet can open is used.
    mpi: Option<Rc<[Mpi]>>,
    motet: Option<PathBuf>,
    /// Whether this machine plays several nodes, which the first layout that has them asks.
    plays: Rc<Lazy<()>>,
    budget_us: f64,
    clusters: usize,
    /// Threads that fill the machine are bound to their cores.
    pinned: bool,
    /// The last dissimilarities that were made, with their number of sequences.
    made: Rc<RefCell<Option<Made>>>,
}

/// The time of a step.
const TIME: Quantity = Quantity::new("run time", "us");
/// f = p T(p) / T(1) - 1, T(1) being that of motet's one rank for all forms.
const OVERHEAD: Quantity = Quantity::new("overhead f", "");
/// f of a static split less f of a dynamic one.
const DIFFERENCE: Quantity = Quantity::new("difference of f", "");
/// Sizes of data that are to each other as the papers' are: 12,500, 25,000 and 50,000 sequences.
/// For these the matrix alone would take 0.3, 1.2 and 5 GB in each process here.
const SIZES: [usize; 3] = [1_000, 2_000, 4_000];
/// The same with `--full`.
const LARGE: [usize; 3] = [2_000, 4_000, 8_000];

/// Makes the values of a case.
type Value = fn(&CaseTimes<'_>) -> Result<Vec<f64>, String>;

/// A case for each layout and size, with a series for each of `forms` that there is there.
fn cases(
    setting: &Setting,
    (layouts, sizes): (&[ThreadLayout], &[usize]),
    forms: &[Form],
    quantities: &[Quantity],
    value: Value,
) -> Cases {
    let all = Layouts::new(setting, layouts);
    let is_there = |form: &Form, layout: ThreadLayout| match form {
        Form::Ranks | Form::Loop => true,
        Form::Ports => layout.is_one_process(),
        Form::Rayon => setting.wants("rayon"),
    };
    // What is a difference says so.
    let differ = quantities.contains(&DIFFERENCE);
    let mut cases = Vec::new();
    for &points in sizes {
        for &layout in layouts {
            let case = Case::new(all.place(layout, points), quantities);
            let forms = forms.iter().filter(|form| is_there(form, layout));
            cases.push(forms.fold(case, |case, &form| {
                let all = all.clone();
                let name = match differ {
                    true => format!("{} less dynamic", form.name()),
                    false => form.name().to_owned(),
                };
                case.with(name, move || {
                    value(&CaseTimes {
                        all: &all,
                        form,
                        layout,
                        points,
                    })
                })
            }));
        }
    }
    match cases.is_empty() {
        false => Ok(cases),
        true => Err("there is one core only: what is measured is what several lose".into()),
    }
}

/// f of all forms.
fn overheads(setting: &Setting, layouts: &[ThreadLayout], sizes: &[usize]) -> Cases {
    cases(
        setting,
        (layouts, sizes),
        &Form::ALL,
        &[OVERHEAD],
        |times| Ok(vec![times.overhead()?]),
    )
}

/// Motet's static split less its dynamic one.
fn differences(setting: &Setting, layouts: &[ThreadLayout], sizes: &[usize]) -> Cases {
    let forms = [Form::Ranks, Form::Ports];
    cases(setting, (layouts, sizes), &forms, &[DIFFERENCE], |times| {
        Ok(vec![times.difference()?])
    })
}

impl Form {
    /// All of them; motet's own first, with which the others are paired.
    const ALL: [Form; 4] = [Form::Ranks, Form::Ports, Form::Loop, Form::Rayon];

    /// The name of its series.
    fn name(self) -> &'static str {
        match self {
            Form::Ranks => "motet",
            Form::Ports => "motet ports",
            Form::Loop => "motet dynamic",
            Form::Rayon => "rayon",
        }
    }
}

impl Layouts {
    /// For experiments with these layouts.
    fn new(setting: &Setting, layouts: &[ThreadLayout]) -> Layouts {
        let processes = layouts.iter().any(|layout| !layout.is_one_process());
        Layouts {
            mpi: processes.then(|| setting.mpi()),
            motet: setting.config().motet.clone(),
            plays: Rc::new(Lazy::new(can_play)),
            budget_us: setting.by_effort(1.0, 20_000.0, 200_000.0),
            clusters: setting.by_effort(3, 10, 10),
            pinned: setting.config().pinned,
            made: Rc::default(),
        }
    }

    /// The dissimilarities of so many sequences.
    fn pairs(&self, rows: usize) -> Arc<Dissimilarities> {
        let mut made = self.made.borrow_mut();
        match &*made {
            Some((of, pairs)) if *of == rows => Arc::clone(pairs),
            _ => {
                let pairs = pairwise_steps::pairs(rows);
                *made = Some((rows, Arc::clone(&pairs)));
                pairs
            }
        }
    }

    /// Where a layout with so many points in all lies.
    fn place(&self, layout: ThreadLayout, points: usize) -> Point {
        let ThreadLayout {
            threads,
            processes,
            nodes,
        } = layout;
        Point::new()
            .with("pattern", format!("{threads}x{processes}x{nodes}"))
            .with("threads", threads)
            .with("processes", processes)
            .with("nodes", nodes)
            .with("p", layout.p())
            .with("points", points)
            .with("p/N", layout.p() as f64 / points as f64)
            .with("clusters", self.clusters)
    }

    /// The time of a step, in µs.
    fn us(&self, form: Form, layout: ThreadLayout, points: usize) -> Result<f64, String> {
        match layout.is_one_process() {
            true => self.us_in_one_process(form, layout.threads, points),
            false => self.us_in_several(form, layout, points),
        }
    }

    fn us_in_one_process(&self, form: Form, threads: usize, points: usize) -> Result<f64, String> {
        let clusters = self.clusters;
        let pin = self.pinned && threads == thread::cores();
        let (world, hands) = match form {
            Form::Ranks => (World::threads(threads).pin(pin), Hands::Own),
            Form::Ports => (World::ports(threads).pin(pin), Hands::Own),
            // The rank waits for these threads: they must not share its core by order.
            Form::Loop => (World::threads(1).pin(false), Hands::Loop(threads, pin)),
            Form::Rayon => (World::threads(1).pin(false), Hands::Rayon(threads, pin)),
        };
        let pairs = self.pairs(points);
        let us = measured(&world, self.budget_us, LEAST, |rounds| {
            pairwise_steps::run_on(&world, (&pairs, clusters), hands, rounds)
        });
        Ok(us?.us)
    }

    fn us_in_several(&self, form: Form, layout: ThreadLayout, rows: usize) -> Result<f64, String> {
        let (threads, clusters) = (layout.threads, self.clusters);
        let (program, ranks) = match form {
            Form::Ranks | Form::Ports => (RankProgram::Pairwise { rows, clusters }, threads),
            Form::Loop => {
                let program = RankProgram::PairwiseByLoop {
                    rows,
                    clusters,
                    threads,
                };
                (program, 1)
            }
            Form::Rayon => {
                let program = RankProgram::PairwiseByRayon {
                    rows,
                    clusters,
                    threads,
                };
                (program, 1)
            }
        };
        let program = program.to_string();
        let motet = self
            .motet
            .as_ref()
            .ok_or("the program motet, which starts processes, is not named")?;
        let found = self
            .mpi
            .as_ref()
            .and_then(|all| all.iter().find(|mpi| mpi.library().is_some()));
        let mpi =
            found.ok_or("no MPI with the standard ABI is found: name installations with --mpi")?;
        if layout.nodes == 1 {
            return mpi.run_motet(motet, &program, (ranks, layout.processes), self.budget_us);
        }
        self.plays.get()?;
        let spread = NodeSpread {
            ranks,
            threads,
            processes: layout.processes,
            nodes: layout.nodes,
        };
        mpi.run_motet_on_nodes(motet, &program, spread, self.budget_us)
    }
}

/// What a case asks for.
#[derive(Debug)]
struct CaseTimes<'a> {
    all: &'a Layouts,
    form: Form,
    layout: ThreadLayout,
    points: usize,
}

impl CaseTimes<'_> {
    /// The time of a step, in µs.
    fn us(&self) -> Result<f64, String> {
        self.all.us(self.form, self.layout, self.points)
    }

    /// f = p T(p) / T(1) - 1, T(1) being that of motet's one rank, just before.
    fn overhead(&self) -> Result<f64, String> {
        overhead(self.form, self.layout, self.source())
    }

    /// p T(p) / N², in ns: what a pair of sequences costs a core.
    fn pair_ns(&self) -> Result<f64, String> {
        let pairs = (self.points * self.points) as f64;
        Ok(self.us()? * 1e3 * self.layout.p() as f64 / pairs)
    }

    /// f, and f N / p, which is the same everywhere if f = a p / N.
    fn factor(&self) -> Result<Vec<f64>, String> {
        let f = self.overhead()?;
        let grain = self.points as f64 / self.layout.p() as f64;
        Ok(vec![f, f * grain])
    }

    /// f with a static split less f with a dynamic one, one after the other.
    fn difference(&self) -> Result<f64, String> {
        difference(self.form, self.layout, self.source())
    }

    fn source(&self) -> impl Fn(Form, ThreadLayout) -> Result<f64, String> {
        |form, layout| self.all.us(form, layout, self.points)
    }
}

/// f of a form. The same T(1) for all of them: the one thread of a dynamic split pays a hand-over
/// on every step, which is overhead too.
fn overhead(
    form: Form,
    layout: ThreadLayout,
    us: impl Fn(Form, ThreadLayout) -> Result<f64, String>,
) -> Result<f64, String> {
    let one = us(Form::Ranks, ThreadLayout::ALONE)?;
    Ok(layout.p() as f64 * us(form, layout)? / one - 1.0)
}

/// f of a form less f of the dynamic one: p (T(p) - T(p) of it) / T(1).
fn difference(
    form: Form,
    layout: ThreadLayout,
    us: impl Fn(Form, ThreadLayout) -> Result<f64, String>,
) -> Result<f64, String> {
    let one = us(Form::Ranks, ThreadLayout::ALONE)?;
    let more = us(form, layout)? - us(Form::Loop, layout)?;
    Ok(layout.p() as f64 * more / one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_lose_against_the_same_time_on_one_thread() {
        let two = ThreadLayout {
            threads: 2,
            ..ThreadLayout::ALONE
        };
        // A dynamic split is slower, on one thread too.
        let us = |form: Form, layout: ThreadLayout| {
            let slower = if form == Form::Loop { 20.0 } else { 0.0 };
            Ok(100.0 / layout.p() as f64 + slower)
        };
        assert_eq!(overhead(Form::Ranks, two, us), Ok(0.0));
        let rayon = overhead(Form::Loop, two, us).unwrap();
        assert!((rayon - 0.4).abs() < 1e-9, "{rayon}");
        // The static split loses less, so its difference is negative.
        let less = difference(Form::Ranks, two, us).unwrap();
        assert!((less + 0.4).abs() < 1e-9, "{less}");
    }
}
