//! R124: iterative MapReduce on ranks, beside one that is widely used.

use crate::kernels::Lazy;
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::mixture::mixture;
use crate::peers::spark::{Form, Spark};
use crate::said::Said;
use motet_comm::{CommError, Communicator, World};
use motet_mining::Points;
use motet_patterns::map_reduce::{iterate, share};
use motet_sync::thread;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Instant;

const STEP: Quantity = Quantity::new("time of an iteration", "us");
const CLUSTERS: usize = 16;
const DIM: usize = 2;

/// Points with what the first iterations lead to.
struct Task {
    points: Points,
    steps: usize,
    /// The sum of the coordinates of the centres after the steps.
    known: OnceLock<f64>,
}

/// R124: K-means as an iterative MapReduce.
pub(crate) fn r124(setting: &Setting) -> Cases {
    let sizes: &[usize] = setting.by_effort(
        &[200],
        &[1_000, 10_000, 100_000],
        &[1_000, 10_000, 100_000, 1_000_000],
    );
    let steps = setting.by_effort(2, 10, 10);
    let threads = thread::cores();
    let (python, pinned) = (setting.config().python.clone(), setting.pins(threads));
    let start = move || Spark::start(&python, threads).map(RefCell::new);
    let spark = Rc::new(Lazy::new(start));
    let case = |&size: &usize| {
        let task = Rc::new(Task {
            points: mixture(size),
            steps,
            known: OnceLock::new(),
        });
        let point = Point::new().with("points", size).with("threads", threads);
        let here = Rc::clone(&task);
        let case = Case::new(point, &[STEP]).with("motet", move || {
            let (us, sum) = here.on_ranks(threads, pinned)?;
            here.checked(us, sum)
        });
        let forms = [("Spark", Form::Rdd), ("Spark MLlib", Form::Mllib)];
        forms.into_iter().fold(case, |case, (name, form)| {
            let (task, spark) = (Rc::clone(&task), Rc::clone(&spark));
            case.beside(setting, name, move || {
                task.by_spark(form, &mut spark.get()?.borrow_mut())
            })
        })
    };
    Ok(sizes.iter().map(case).collect())
}

impl Task {
    fn first(&self) -> Vec<f64> {
        self.points.values()[..CLUSTERS * DIM].to_vec()
    }

    /// The time of an iteration on so many ranks, in µs, and the sum of the centres after the last.
    fn on_ranks(&self, threads: usize, pinned: bool) -> Result<(f64, f64), String> {
        let world = World::threads(threads).pin(pinned);
        let told = world.run(async |comm| self.rank(&comm).await).said()?;
        let longest = told.iter().map(|(us, _)| *us).fold(0.0, f64::max);
        Ok((longest, told[0].1))
    }

    async fn rank(&self, comm: &Communicator) -> Result<(f64, f64), CommError> {
        let own = share(comm, self.points.len());
        let own = &self.points.values()[own.start * DIM..own.end * DIM];
        // Once for nothing.
        lloyd(comm, own, self.first(), 1).await?;
        comm.barrier().await?;
        let started = Instant::now();
        let last = lloyd(comm, own, self.first(), self.steps).await?;
        let us = started.elapsed().as_secs_f64() * 1e6 / self.steps as f64;
        Ok((us, last.iter().sum()))
    }

    /// The same by Spark.
    fn by_spark(&self, form: Form, spark: &mut Spark) -> Result<f64, String> {
        spark.points(&self.points);
        let (seconds, sum) = spark.step(form, CLUSTERS, &self.first(), self.steps)?;
        self.checked(seconds * 1e6, sum)
    }

    /// The time, if the centres are those of one rank alone.
    fn checked(&self, us: f64, sum: f64) -> Result<f64, String> {
        let alone = || self.on_ranks(1, false).map_or(f64::NAN, |(_, sum)| sum);
        let known = *self.known.get_or_init(alone);
        match (sum - known).abs() <= 1e-6 * known.abs() {
            true => Ok(us),
            false => Err(format!("the centres' sum is {sum}, not {known}")),
        }
    }
}

/// The centres after so many iterations over all ranks' points.
async fn lloyd(
    comm: &Communicator,
    own: &[f64],
    first: Vec<f64>,
    steps: usize,
) -> Result<Vec<f64>, CommError> {
    let map = |centres: &Vec<f64>| assign(own, centres);
    let merge = |mut a: Vec<f64>, b: Vec<f64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let mut done = 0;
    let update = |centres: Vec<f64>, total: Vec<f64>| {
        done += 1;
        let next = moved(&centres, &total);
        match done == steps {
            true => ControlFlow::Break(next),
            false => ControlFlow::Continue(next),
        }
    };
    iterate(comm, first, map, merge, update).await
}

/// For each cluster the sum of the points that are nearest to it, and their number.
fn assign(points: &[f64], centres: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; CLUSTERS * (DIM + 1)];
    for point in points.chunks_exact(DIM) {
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (number, centre) in centres.chunks_exact(DIM).enumerate() {
            let (x, y) = (point[0] - centre[0], point[1] - centre[1]);
            let distance = x * x + y * y;
            if distance < least {
                (nearest, least) = (number, distance);
            }
        }
        let sums = &mut sums[nearest * (DIM + 1)..][..=DIM];
        sums[0] += point[0];
        sums[1] += point[1];
        sums[DIM] += 1.0;
    }
    sums
}

/// A cluster without points stays.
fn moved(centres: &[f64], total: &[f64]) -> Vec<f64> {
    let pairs = centres.chunks_exact(DIM).zip(total.chunks_exact(DIM + 1));
    let next = pairs.flat_map(|(centre, total)| match total[DIM] > 0.0 {
        true => [total[0] / total[DIM], total[1] / total[DIM]],
        false => [centre[0], centre[1]],
    });
    next.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_ranks_has_the_same_centres() {
        let task = Task {
            points: mixture(500),
            steps: 3,
            known: OnceLock::new(),
        };
        let (us, sum) = task.on_ranks(3, false).unwrap();
        assert_eq!(task.checked(us, sum), Ok(us));
        assert!(task.checked(us, sum + 1.0).is_err());
    }
}
