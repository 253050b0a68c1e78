//! Cases of stages: what they add to fixed work, for motet and its peers alike.
//!
//! Overhead per stage = (T(S) − T(1) · ⌈P / threads⌉) / S. T(1) is the same work in one stage, in
//! the same process, next to T(S). It has as many computations at once as there are threads for.

use crate::measuring::{Case, Point, Quantity, Setting};
use crate::peers::java_mpi::JavaRanks;
use crate::peers::{crossbeam, rayon, tokio};
use crate::program::{Pattern, StageMode, WorkProgram, overhead, run};
use crate::unit::Units;
use motet_sync::thread;
use std::rc::Rc;
use std::time::Duration;

/// What a stage adds.
pub(super) const OVERHEAD: Quantity = Quantity::new("overhead per stage", "us");
/// T(S).
pub(super) const RUN_TIME: Quantity = Quantity::new("run time", "s");
/// T(1) · ⌈P / threads⌉.
pub(super) const IDEAL_TIME: Quantity = Quantity::new("run time in one stage", "s");

/// What is measured at one point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages {
    pub(super) pattern: Pattern,
    pub(super) mode: StageMode,
    pub(super) parallel: usize,
    pub(super) threads: usize,
    pub(super) stages: u64,
    pub(super) units: u64,
}

/// Whose program runs beside motet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Tokio,
    Rayon,
    Crossbeam,
    Go,
    Java,
    Floor,
    Locks,
    CSharp,
    Mpi,
    JavaMpi,
}

type Run = Rc<dyn Fn(&WorkProgram) -> Result<Duration, String>>;

impl Peer {
    /// Those that start something for each message.
    pub(super) const SPAWNED: &[Peer] = &[
        Peer::Tokio,
        Peer::Rayon,
        Peer::Crossbeam,
        Peer::Go,
        Peer::Java,
        Peer::Floor,
    ];
    /// Those whose computations wait.
    pub(super) const RENDEZVOUS: &[Peer] = &[
        Peer::Tokio,
        Peer::Crossbeam,
        Peer::Go,
        Peer::Java,
        Peer::Floor,
        Peer::Locks,
        Peer::CSharp,
        Peer::Mpi,
        Peer::JavaMpi,
    ];

    /// All that have a program of this mode.
    pub(super) fn of(mode: StageMode) -> &'static [Peer] {
        match mode {
            StageMode::Spawned => Peer::SPAWNED,
            StageMode::Rendezvous => Peer::RENDEZVOUS,
        }
    }

    /// Its name in rows.
    fn name(self) -> &'static str {
        match self {
            Peer::Tokio => "tokio",
            Peer::Rayon => "rayon",
            Peer::Crossbeam => "crossbeam-channel",
            Peer::Go => "Go",
            Peer::Java => "Java",
            Peer::Floor => "C floor",
            Peer::Locks => "C with locks",
            Peer::CSharp => "C# with locks",
            Peer::Mpi => "MPI",
            Peer::JavaMpi => "MPI in Java",
        }
    }

    /// How it runs a program of so many stages; MPI runs its own number.
    fn run(self, mode: StageMode, setting: &Setting) -> Option<Run> {
        Some(match (self, mode) {
            (Peer::Tokio, StageMode::Spawned) => Rc::new(tokio::spawn),
            (Peer::Tokio, StageMode::Rendezvous) => Rc::new(tokio::ranks),
            (Peer::Crossbeam, StageMode::Spawned) => Rc::new(crossbeam::threads),
            (Peer::Crossbeam, StageMode::Rendezvous) => Rc::new(crossbeam::ranks),
            (Peer::Rayon, StageMode::Spawned) => Rc::new(rayon::spawn),
            (Peer::Rayon, StageMode::Rendezvous) | (Peer::Mpi | Peer::JavaMpi, _) => return None,
            (Peer::Go, _) => {
                let go = Rc::clone(&setting.go);
                Rc::new(move |program| go.get()?.run(mode, program))
            }
            (Peer::Java, _) => {
                let java = Rc::clone(&setting.java);
                Rc::new(move |program| java.get()?.run(mode, program))
            }
            (Peer::CSharp, _) => {
                let csharp = Rc::clone(&setting.csharp);
                Rc::new(move |program| csharp.get()?.run(program))
            }
            (Peer::Floor, _) => {
                let floor = Rc::clone(&setting.floor);
                Rc::new(move |program| floor.get()?.run(program, "spin"))
            }
            (Peer::Locks, _) => {
                let floor = Rc::clone(&setting.floor);
                Rc::new(move |program| floor.get()?.run(program, "locks"))
            }
        })
    }
}

impl Stages {
    /// The point.
    pub(super) fn point(&self, setting: &Setting) -> Point {
        let pinned = ["no", "yes"][usize::from(setting.pins(self.threads))];
        Point::new()
            .with("pattern", self.pattern.name())
            .with("mode", self.mode.name())
            .with("parallel", self.parallel)
            .with("threads", self.threads)
            .with("stages", self.stages)
            .with("units", self.units)
            .with("pinned", pinned)
    }

    /// The case, with motet and those of the peers that are wanted.
    pub(super) fn case(&self, setting: &Setting, peers: &[Peer]) -> Case {
        self.case_at(self.point(setting), setting, peers)
    }

    /// The same at a point of one's own.
    pub(super) fn case_at(&self, point: Point, setting: &Setting, peers: &[Peer]) -> Case {
        let (mode, program) = (self.mode, self.program(setting));
        let own: Run = Rc::new(move |program| Ok(run(mode, program)));
        let case = Case::new(point, &[OVERHEAD, RUN_TIME, IDEAL_TIME])
            .with("motet", move || overhead(&program, &*own));
        peers.iter().fold(case, |case, peer| match peer {
            Peer::Mpi => self.with_mpi(case, setting),
            Peer::JavaMpi => self.with_java_mpi(case, setting),
            peer => match peer.run(mode, setting) {
                Some(run) => case.beside(setting, peer.name(), move || overhead(&program, &*run)),
                None => case,
            },
        })
    }

    /// The program.
    pub(super) fn program(&self, setting: &Setting) -> WorkProgram {
        WorkProgram {
            pattern: self.pattern,
            parallel: self.parallel,
            stages: self.stages,
            threads: self.threads,
            pin: setting.pins(self.threads),
            work: Units {
                unit: setting.unit(),
                count: self.units,
            },
        }
    }

    /// A series for each MPI library, with a process for each computation.
    fn with_mpi(&self, mut case: Case, setting: &Setting) -> Case {
        // An empty list of peers must not build anything.
        if setting.config().peers.as_ref().is_some_and(Vec::is_empty) {
            return case;
        }
        let (program, all) = (self.program(setting), setting.mpi());
        if all.is_empty() && setting.wants("MPI") {
            return case.absent("MPI", "no mpicc is found: name installations with --mpi");
        }
        let budget_us = budget_us(setting);
        for at in 0..all.len() {
            let (all, name) = (Rc::clone(&all), all[at].name);
            if setting.wants("MPI") || setting.wants(name) {
                case = case.with(name, move || {
                    let us = all[at].stages(&program, budget_us)?;
                    Ok(scaled(&program, us))
                });
            }
        }
        case
    }

    /// A series for each MPI in Java, with a rank for each computation.
    fn with_java_mpi(&self, case: Case, setting: &Setting) -> Case {
        let (program, budget_us) = (self.program(setting), budget_us(setting));
        JavaRanks::ALL.into_iter().fold(case, |case, ranks| {
            let mpi = setting.java_mpi(ranks);
            case.beside(setting, ranks.name(), move || {
                let us = mpi.get()?.stages(ranks, &program, budget_us)?;
                Ok(scaled(&program, us))
            })
        })
    }
}

/// The numbers of computations of the papers' tables, as far as they tell something on this
/// machine.
pub(super) fn parallels(setting: &Setting) -> Vec<usize> {
    let cores = thread::cores();
    let mut all = setting.by_effort(vec![1, 3], vec![1, 2, 4, 8], vec![1, 2, 3, 4, 7, 8]);
    if !all.contains(&cores) && setting.by_effort(false, true, true) {
        all.push(cores);
    }
    all.sort_unstable();
    all
}

/// Peers that run their own number of stages run so many as last so long.
fn budget_us(setting: &Setting) -> f64 {
    setting.by_effort(1_000.0, 10_000.0, 300_000.0)
}

/// The quantities of a program by the times of a stage and of its work.
fn scaled(program: &WorkProgram, (stage_us, work_us): (f64, f64)) -> [f64; 3] {
    let seconds = |us: f64| us * program.stages as f64 / 1e6;
    [stage_us - work_us, seconds(stage_us), seconds(work_us)]
}
