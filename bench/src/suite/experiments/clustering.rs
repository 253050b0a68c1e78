//! E12, E18: the overhead of clustering on several threads, on real points, against the inverse of
//! the grain size and against the number of clusters.

use crate::experiments::annealing::AnnealingPlan;
use crate::experiments::quality::census;
use crate::fingerprints::{Fingerprints, spread};
use crate::kernels::{Lazy, thread_counts};
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::peers::scikit_learn::ScikitLearn;
use crate::said::Said;
use motet_comm::World;
use motet_mining::{BitAnnealing, Clusters, Control, Points};
use motet_sync::thread;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

/// E12: overhead against points per thread.
pub(crate) fn e12(setting: &Setting) -> Cases {
    let all = Clusterings::new(setting);
    let mut cases = Vec::new();
    for threads in thread_counts().into_iter().filter(|&threads| threads > 1) {
        for data in PointData::ALL {
            let sizes: &[usize] = match data {
                PointData::Census => setting.by_effort(
                    &[100],
                    &[1_000, 4_000, 16_000],
                    &[1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000],
                ),
                PointData::Chemistry => {
                    setting.by_effort(&[100], &[100, 250], &[100, 250, 1_000, 4_000, 16_000])
                }
                // Ranks share bits by 512 rows.
                PointData::Bits => setting.by_effort(
                    &[100],
                    &[512, 4_096],
                    &[512, 1_024, 2_048, 4_096, 8_192, 16_384],
                ),
            };
            // A fit in 1052 columns takes seconds.
            let quick: &[usize] = match data {
                PointData::Census => &[10, 20],
                PointData::Chemistry | PointData::Bits => &[10],
            };
            for &size in sizes.iter().filter(|&&size| size * threads <= data.rows()) {
                for &clusters in setting.by_effort(&[3][..], quick, &[10, 20]) {
                    let (number, rows) = (cases.len(), size * threads);
                    cases.push(all.case(setting, number, (data, rows), (clusters, threads)));
                }
            }
        }
    }
    several_threads(cases)
}

/// E18: overhead against clusters.
pub(crate) fn e18(setting: &Setting) -> Cases {
    let (all, threads) = (Clusterings::new(setting), thread::cores());
    let mut cases = Vec::new();
    for data in PointData::ALL.into_iter().filter(|_| threads > 1) {
        let rows = match data {
            PointData::Census => setting.by_effort(200, 20_000, 200_000),
            PointData::Chemistry => setting.by_effort(200, 250, 40_000),
            // Ranks share bits by 512 rows.
            PointData::Bits => setting.by_effort(200, 4_096, 40_000),
        };
        let counts: &[usize] = match data {
            PointData::Census => {
                setting.by_effort(&[2], &[2, 5, 10, 20, 40], &[2, 5, 10, 20, 40, 80])
            }
            PointData::Chemistry | PointData::Bits => {
                setting.by_effort(&[2], &[2, 5, 10], &[2, 5, 10, 20])
            }
        };
        for &clusters in counts {
            let number = cases.len();
            cases.push(all.case(setting, number, (data, rows), (clusters, threads)));
        }
    }
    several_threads(cases)
}

/// The cases, if there are any.
fn several_threads(cases: Vec<Case>) -> Cases {
    match cases.is_empty() {
        false => Ok(cases),
        true => Err("there is one core only: what is measured is what several threads lose".into()),
    }
}

/// Real points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PointData {
    /// Census blocks as longitude and latitude, 201,174 of them.
    Census,
    /// Compounds as 1052 binary properties, 41,120 of them, held as floating-point numbers.
    Chemistry,
    /// The same held as bits.
    Bits,
}

/// What the cases of an experiment share.
#[derive(Clone)]
struct Clusterings {
    census: Rc<Lazy<Points>>,
    chemistry: Rc<Lazy<Fingerprints>>,
    /// The process of scikit-learn, and the number of the case whose points it has.
    peer: Rc<Lazy<RefCell<(ScikitLearn, usize)>>>,
}

/// The points of a case, and the fit whose steps are replayed.
struct Sample {
    number: usize,
    points: Points,
    plan: AnnealingPlan,
}

/// f = P T(P) / T(1) - 1 of the steps.
const OVERHEAD: Quantity = Quantity::new("overhead f", "");
/// A step on P threads.
const STEP: Quantity = Quantity::new("step per point and cluster", "ns");

impl PointData {
    /// All of them.
    const ALL: [PointData; 3] = [PointData::Census, PointData::Chemistry, PointData::Bits];

    /// Its name in the points.
    fn name(self) -> &'static str {
        match self {
            PointData::Census => "census",
            PointData::Chemistry => "chemistry as floats",
            PointData::Bits => "chemistry as bits",
        }
    }

    /// How many points there are.
    fn rows(self) -> usize {
        match self {
            PointData::Census => 201_174,
            PointData::Chemistry | PointData::Bits => 41_120,
        }
    }
}

impl Clusterings {
    /// Nothing is read or started yet.
    fn new(setting: &Setting) -> Clusterings {
        let (folder, again) = (setting.config().data.clone(), setting.config().data.clone());
        let python = setting.config().python.clone();
        Clusterings {
            census: Rc::new(Lazy::new(move || {
                census(named(folder.as_deref())?, "blocks").said()
            })),
            chemistry: Rc::new(Lazy::new(move || {
                Fingerprints::read(named(again.as_deref())?)
            })),
            peer: Rc::new(Lazy::new(move || {
                let process = ScikitLearn::start(&python)?;
                Ok(RefCell::new((process, usize::MAX)))
            })),
        }
    }

    /// The overhead at a point: `rows` points in all. `number` tells the cases of an experiment
    /// apart.
    fn case(
        &self,
        setting: &Setting,
        number: usize,
        (data, rows): (PointData, usize),
        (clusters, threads): (usize, usize),
    ) -> Case {
        if data == PointData::Bits {
            return self.bits_case(setting, rows, clusters, threads);
        }
        let all = self.clone();
        let sample = Rc::new(Lazy::new(move || all.sample(number, data, rows, clusters)));
        let point = place(data, rows, clusters, threads);
        // A measurement lasts some milliseconds at least: so many differences in one column.
        let least = setting.by_effort(0.0, 4e7, 4e8);
        let (here, peer) = (Rc::clone(&sample), Rc::clone(&self.peer));
        let pin = setting.pins(threads);
        let case = Case::new(point, &[OVERHEAD, STEP]).with("motet", move || {
            let Sample { points, plan, .. } = here.get()?;
            let work = (points.len() * clusters * plan.annealing_steps()) as f64;
            let rounds = (least / (work * points.dim() as f64)).ceil().max(1.0);
            let seconds = |threads| {
                let seconds =
                    plan.replay_seconds(points, (threads, pin && threads > 1), rounds as usize);
                seconds.said()
            };
            let (one, all) = (seconds(1)?, seconds(threads)?);
            Ok(values(one, all, threads, work * rounds))
        });
        case.beside(setting, "scikit-learn", move || {
            let Sample {
                points,
                plan,
                number,
            } = sample.get()?;
            let (process, has) = &mut *peer.get()?.borrow_mut();
            if has != number {
                process.points(points);
                *has = *number;
            }
            let work = (points.len() * clusters) as f64;
            let steps = (least / (work * points.dim() as f64)).ceil();
            let steps = steps.clamp(2.0, 500.0);
            let mut seconds =
                |threads| process.lloyd_seconds(clusters, &plan.start, threads, steps as usize);
            let (one, all) = (seconds(1)?, seconds(threads)?);
            Ok(values(one, all, threads, work * steps))
        })
    }

    /// The overhead of whole annealings of bits: as many passes on any number of threads.
    fn bits_case(&self, setting: &Setting, rows: usize, clusters: usize, threads: usize) -> Case {
        let chemistry = Rc::clone(&self.chemistry);
        let bits = Lazy::new(move || chemistry.get()?.bits(rows));
        let pin = setting.pins(threads);
        let point = place(PointData::Bits, rows, clusters, threads);
        Case::new(point, &[OVERHEAD, STEP]).with("motet", move || {
            let bits = bits.get()?;
            let method = BitAnnealing {
                clusters: Clusters::Exactly(clusters),
                search: 0,
                ..BitAnnealing::default()
            };
            let seconds = |threads: usize| {
                let world = World::threads(threads).pin(pin && threads > 1);
                let started = Instant::now();
                let control = Control::default();
                let parts = world.run(async |comm| method.fit(&comm, bits, &control).await);
                let seconds = started.elapsed().as_secs_f64();
                let parts = parts.said()?;
                Ok::<_, String>((seconds, parts[0].cluster_iterations as f64))
            };
            let ((one, passes), (all, _)) = (seconds(1)?, seconds(threads)?);
            Ok(values(one, all, threads, passes * bits.len() as f64))
        })
    }

    fn sample(
        &self,
        number: usize,
        data: PointData,
        rows: usize,
        clusters: usize,
    ) -> Result<Sample, String> {
        let points = match data {
            PointData::Census => {
                let all = self.census.get()?;
                let places = spread(rows, all.len());
                let values = places.flat_map(|place| &all.values()[2 * place..2 * place + 2]);
                Points::new(values.copied().collect(), 2).said()?
            }
            PointData::Chemistry | PointData::Bits => self.chemistry.get()?.points(rows)?,
        };
        let plan = AnnealingPlan::new(&points, clusters, 0).said()?;
        Ok(Sample {
            number,
            points,
            plan,
        })
    }
}

/// Where a case lies.
fn place(data: PointData, rows: usize, clusters: usize, threads: usize) -> Point {
    Point::new()
        .with("data", data.name())
        .with("points per thread", rows / threads)
        .with("1/n", threads as f64 / rows as f64)
        .with("clusters", clusters)
        .with("threads", threads)
}

/// The quantities of so much work on one thread and on several.
fn values(one: f64, all: f64, threads: usize, work: f64) -> [f64; 2] {
    [threads as f64 * all / one - 1.0, all * 1e9 / work]
}

/// The folder of the data sets, if it is named.
pub(super) fn named(folder: Option<&Path>) -> Result<&Path, String> {
    Ok(folder.ok_or("name the folder of the data sets: --data DIR")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::Effort;
    use crate::measuring::MeasuringConfig;
    use std::path::PathBuf;

    #[test]
    fn overhead_is_what_p_threads_take_more_than_one() {
        assert_eq!(values(2.0, 1.0, 2, 1e9), [0.0, 1.0]);
        assert_eq!(values(2.0, 1.5, 2, 0.5e9), [0.5, 3.0]);
    }

    #[test]
    fn data_that_are_not_there_are_a_reason() {
        for (data, told) in [
            (None, "--data"),
            (Some(PathBuf::from("no/folder")), "no/folder"),
        ] {
            let setting = Setting::new(MeasuringConfig {
                effort: Effort::Trial,
                peers: Some(Vec::new()),
                data,
                ..MeasuringConfig::default()
            });
            let all = Clusterings::new(&setting);
            for data in PointData::ALL {
                let mut case = all.case(&setting, 0, (data, 100), (3, 2));
                let reason = (case.series[0].program)().unwrap_err();
                assert!(reason.contains(told), "{reason}");
            }
        }
    }

    #[test]
    fn needs_data_overheads_of_real_points() {
        let setting = Setting::new(MeasuringConfig {
            effort: Effort::Trial,
            peers: Some(Vec::new()),
            data: Some(motet_testkit::data()),
            ..MeasuringConfig::default()
        });
        let all = Clusterings::new(&setting);
        for data in PointData::ALL {
            let mut case = all.case(&setting, 0, (data, 200), (3, 2));
            let values = (case.series[0].program)().unwrap();
            assert!(values[0] > -1.0 && values[1] > 0.0, "{values:?}");
        }
    }
}
