//! E20, E22, E23: the clustering kernel between synchronisations. Every thread computes one step of
//! annealing over points of its own, then all meet, and so on.

use crate::kernels::{TEMPERATURE, thread_counts};
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::mixture::mixture;
use crate::said::Said;
use crate::statistics::{deviation, mean, range};
use motet_comm::{Communicator, World};
use motet_mining::{MiningError, Points, Steps};
use std::rc::Rc;
use std::time::Instant;

/// E20: scaled run time of the kernel, with more points and more threads at once.
pub(crate) fn e20(setting: &Setting) -> Cases {
    let quantities = [
        Quantity::new("scaled run time", ""),
        Quantity::new("time of a step", "us"),
    ];
    let least = Kernel::sizes(setting)[0];
    let values = move |kernel: Kernel, points: &Points| {
        let alone = Kernel {
            threads: 1,
            points: least,
            clusters: 1,
            ..kernel
        };
        let base = alone.run(&mixture(least))?.mean() / least as f64;
        let step = kernel.run(points)?.mean();
        let work = (kernel.points * kernel.clusters) as f64;
        Ok(vec![step / work / base, step])
    };
    Ok(Kernel::cases(setting, &quantities, values, |case, _| case))
}

/// E22: how far the times of a thread lie from their mean.
pub(crate) fn e22(setting: &Setting) -> Cases {
    let quantity = Quantity::new("deviation over mean", "");
    let values =
        |kernel: Kernel, points: &Points| Ok(vec![kernel.run(points)?.deviation_over_mean()]);
    let others = |case: Case, kernel: Kernel| {
        let (c, csharp) = (Rc::clone(&setting.floor), Rc::clone(&setting.csharp));
        let (words, same) = (kernel.words(), kernel.words());
        case.beside(setting, "C with threads", move || {
            c.get()?.fluctuation(&words)
        })
        .beside(setting, "C# with threads", move || {
            csharp.get()?.fluctuation(&same)
        })
    };
    Ok(Kernel::cases(setting, &[quantity], values, others))
}

/// E23: how far the threads lie apart.
pub(crate) fn e23(setting: &Setting) -> Cases {
    let quantity = Quantity::new("spread over mean", "");
    let values = |kernel: Kernel, points: &Points| Ok(vec![kernel.run(points)?.spread_over_mean()]);
    Ok(Kernel::cases(setting, &[quantity], values, |case, _| case))
}

/// One measurement of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kernel {
    threads: usize,
    /// Points of each thread.
    points: usize,
    clusters: usize,
    synchronisations: usize,
    pinned: bool,
}

/// What each thread took between two synchronisations, in µs.
#[derive(Debug, Clone, PartialEq)]
struct KernelTimes {
    /// For each thread one time for each synchronisation.
    threads: Vec<Vec<f64>>,
}

impl Kernel {
    /// The times of all threads; the synchronisation itself is in none of them.
    ///
    /// # Errors
    /// A rank has failed.
    fn run(self, points: &Points) -> Result<KernelTimes, String> {
        let world = World::threads(self.threads);
        let world = match self.pinned {
            true => world,
            false => world.pin(false),
        };
        let threads = world
            .run(async |comm| self.rank(&comm, points).await)
            .said()?;
        Ok(KernelTimes { threads })
    }

    async fn rank(self, comm: &Communicator, points: &Points) -> Result<Vec<f64>, MiningError> {
        let alone = comm.split(Some(comm.rank()), 0).await?;
        let alone = alone.expect("every rank has a colour");
        let mut steps = Steps::new(&alone, points).await?;
        let masses = vec![1.0 / self.clusters as f64; self.clusters];
        let centres = &points.values()[..self.clusters * points.dim()];
        let mut times = Vec::with_capacity(self.synchronisations);
        // The first tenth warms up.
        let warm = self.synchronisations.div_ceil(10);
        for at in 0..warm + self.synchronisations {
            comm.barrier().await?;
            let started = Instant::now();
            steps.soft(TEMPERATURE, &masses, centres).await?;
            if at >= warm {
                times.push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
        Ok(times)
    }

    /// What programs of other languages are told: threads, points, clusters, synchronisations.
    fn words(self) -> [String; 4] {
        [
            self.threads,
            self.points,
            self.clusters,
            self.synchronisations,
        ]
        .map(|number| number.to_string())
    }

    /// Numbers of points of each thread, the least first.
    fn sizes(setting: &Setting) -> &'static [usize] {
        setting.by_effort(&[200], &[10_000, 50_000], &[10_000, 50_000, 500_000])
    }

    /// Cases of an experiment with this kernel: `values` makes the quantities of a kernel, `more`
    /// adds other series.
    fn cases(
        setting: &Setting,
        quantities: &[Quantity],
        values: impl Fn(Kernel, &Points) -> Result<Vec<f64>, String> + Copy + 'static,
        more: impl Fn(Case, Kernel) -> Case,
    ) -> Vec<Case> {
        let clusters: &[usize] = setting.by_effort(&[1, 8], &[1, 80], &[1, 80]);
        let mut cases = Vec::new();
        for &size in Kernel::sizes(setting) {
            // One after the other, so that only the points of one size are there at a time.
            let points = Rc::new(std::cell::OnceCell::new());
            for &clusters in clusters {
                for threads in thread_counts() {
                    let kernel = Kernel {
                        threads,
                        points: size,
                        clusters,
                        synchronisations: setting.by_effort(5, 100, 1000),
                        pinned: setting.pins(threads),
                    };
                    let point = Point::new()
                        .with("points per thread", size)
                        .with("clusters", clusters)
                        .with("threads", threads);
                    let points = Rc::clone(&points);
                    let case = Case::new(point, quantities).with("motet", move || {
                        values(kernel, points.get_or_init(|| mixture(size)))
                    });
                    cases.push(more(case, kernel));
                }
            }
        }
        cases
    }
}

impl KernelTimes {
    /// The mean over threads and synchronisations.
    fn mean(&self) -> f64 {
        mean(&self.all())
    }

    /// The standard deviation over threads and synchronisations, over the mean.
    fn deviation_over_mean(&self) -> f64 {
        deviation(&self.all()) / self.mean()
    }

    /// What lies between the slowest and the fastest thread of a synchronisation, on average, over
    /// the mean.
    fn spread_over_mean(&self) -> f64 {
        let synchronisations = self.threads.first().map_or(0, Vec::len);
        let spread = |at: usize| {
            let here: Vec<f64> = self.threads.iter().map(|times| times[at]).collect();
            let (least, most) = range(&here);
            most - least
        };
        let spreads: Vec<f64> = (0..synchronisations).map(spread).collect();
        mean(&spreads) / self.mean()
    }

    fn all(&self) -> Vec<f64> {
        self.threads.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_and_spreads() {
        let times = KernelTimes {
            threads: vec![vec![1.0, 3.0], vec![3.0, 5.0]],
        };
        assert_eq!(times.mean(), 3.0);
        assert_eq!(times.deviation_over_mean(), 2.0_f64.sqrt() / 3.0);
        assert_eq!(times.spread_over_mean(), 2.0 / 3.0);
        let alone = KernelTimes {
            threads: vec![vec![1.0, 3.0]],
        };
        assert_eq!(alone.spread_over_mean(), 0.0, "one thread has no others");
    }

    #[test]
    fn every_thread_tells_each_synchronisation() {
        let kernel = Kernel {
            threads: 3,
            points: 100,
            clusters: 4,
            synchronisations: 7,
            pinned: false,
        };
        let times = kernel.run(&mixture(100)).unwrap();
        assert!(times.threads.len() == 3 && times.threads.iter().all(|t| t.len() == 7));
        assert!(times.all().iter().all(|time| *time > 0.0));
    }
}
