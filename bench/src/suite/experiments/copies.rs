//! E07, E08: stages that copy what their message refers to, by their number and by the size of the
//! array.
//!
//! The payload is made outside of the timing and goes from stage to stage by reference; each stage
//! copies it, then computes.

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::program::{Pattern, StageMode, WorkProgram};
use crate::suite::stages::Stages;
use itertools::iproduct;
use motet_patterns::{Work, spawned};
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::thread;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// E07: a thousand words copied in each stage, against the number of stages.
pub(crate) fn e07(setting: &Setting) -> Cases {
    let stages: &[u64] = setting.by_effort(
        &[5],
        &[500, 1_000, 2_000],
        &[10_000, 30_000, 100_000, 300_000, 1_000_000],
    );
    let case =
        |&stages| Copies::new(CopyTarget::Stepped, 1_000, (4, stages, 20), setting).case(setting);
    Ok(stages.iter().map(case).collect())
}

/// E08: arrays of growing size, copied to a new array, a fixed one, or the next part of a large
/// one. These are the papers' three data models.
pub(crate) fn e08(setting: &Setting) -> Cases {
    let words: &[usize] = setting.by_effort(
        &[100],
        &[1_000, 10_000, 100_000, 1_000_000],
        &[1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    );
    let shapes: &[(u64, u64)] =
        setting.by_effort(&[(2, 4)], &[(20, 40)], &[(2_500, 40), (2_500, 4_000)]);
    let case = |(&(stages, units), place, &words)| {
        Copies::new(place, words, (4, stages, units), setting).case(setting)
    };
    Ok(iproduct!(shapes, CopyTarget::ALL, words)
        .map(case)
        .collect())
}

/// T with the copies.
const RUN_TIME: Quantity = Quantity::new("run time", "s");
/// T of the same messages with nothing to copy.
const WITHOUT: Quantity = Quantity::new("run time without copies", "s");
/// Bytes copied, counted once, over the time that the threads spend copying.
const BANDWIDTH: Quantity = Quantity::new("copy bandwidth", "GB/s");

/// Where a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyTarget {
    /// To a new array, made in the stage.
    Inside,
    /// To a fixed array of the computation.
    Outside,
    /// Element by element to the next part of a large array, from its beginning again at its end.
    Stepped,
}

/// What is measured at one point.
#[derive(Debug, Clone, Copy)]
struct Copies {
    place: CopyTarget,
    words: usize,
    program: WorkProgram,
}

/// What a message refers to: P0's envelope has six integers beside the array.
#[derive(Debug)]
struct Payload {
    values: Box<[f64]>,
    header: [i32; 6],
}

/// A message: the payload, and its computation's place for copies.
#[derive(Debug)]
struct CopiedMessage {
    payload: Arc<Payload>,
    to: Vec<f64>,
    at: usize,
    /// Time that all computations of the run have spent copying, in ns.
    spent: Arc<AtomicU64>,
}

impl CopyTarget {
    const ALL: [CopyTarget; 3] = [CopyTarget::Inside, CopyTarget::Outside, CopyTarget::Stepped];

    fn name(self) -> &'static str {
        match self {
            CopyTarget::Inside => "inside",
            CopyTarget::Outside => "outside",
            CopyTarget::Stepped => "stepped",
        }
    }
}

impl Copies {
    /// `parallel` computations of pipeline stages on as many threads as there are cores for.
    fn new(
        place: CopyTarget,
        words: usize,
        (parallel, stages, units): (usize, u64, u64),
        setting: &Setting,
    ) -> Copies {
        let stages = Stages {
            pattern: Pattern::Pipeline,
            mode: StageMode::Spawned,
            parallel,
            threads: parallel.min(thread::cores()),
            stages,
            units,
        };
        Copies {
            place,
            words,
            program: stages.program(setting),
        }
    }

    /// The case: motet, and the same copies on threads that send no messages.
    fn case(self, setting: &Setting) -> Case {
        let program = self.program;
        let point = Point::new()
            .with("place", self.place.name())
            .with("words", self.words)
            .with("stages", program.stages)
            .with("units", program.work.count)
            .with("parallel", program.parallel)
            .with("threads", program.threads);
        // P0 has 20 million words for each computation; a trial must not.
        let large = setting
            .by_effort(1 << 12, 1 << 21, 20_000_000)
            .max(self.words);
        Case::new(point, &[RUN_TIME, WITHOUT, BANDWIDTH])
            .with("motet", move || self.measure(large, with_messages))
            .beside(setting, "threads without messages", move || {
                self.measure(large, on_threads)
            })
    }

    /// A pair of runs: without copies, and with them.
    fn measure(
        self,
        large: usize,
        run: fn(Copies, Vec<CopiedMessage>) -> Result<Duration, String>,
    ) -> Result<[f64; 3], String> {
        let nothing = Copies { words: 0, ..self };
        let without = run(nothing, nothing.parcels(large, &Arc::default()))?.as_secs_f64();
        let spent = Arc::default();
        let time = run(self, self.parcels(large, &spent))?.as_secs_f64();
        let program = &self.program;
        let bytes = 8.0 * self.words as f64 * program.stages as f64 * program.parallel as f64;
        // So many copy at once.
        let threads = program.threads.min(program.parallel) as f64;
        let copying = spent.load(Ordering::Relaxed).max(1) as f64 / threads;
        Ok([time, without, bytes / copying])
    }

    /// The first message of each computation; making them is not timed.
    fn parcels(self, large: usize, spent: &Arc<AtomicU64>) -> Vec<CopiedMessage> {
        let length = match self.place {
            CopyTarget::Inside => 0,
            CopyTarget::Outside => self.words,
            CopyTarget::Stepped => large,
        };
        let parcel = |number: usize| CopiedMessage {
            payload: Arc::new(Payload {
                values: (0..self.words).map(|i| (number + i) as f64).collect(),
                header: [number as i32; 6],
            }),
            // Written once, so that the pages are there.
            to: vec![1.0; length],
            at: 0,
            spent: Arc::clone(spent),
        };
        (0..self.program.parallel).map(parcel).collect()
    }

    /// One copy.
    fn copy(self, mut parcel: CopiedMessage) -> CopiedMessage {
        let started = Instant::now();
        let from = &parcel.payload.values;
        black_box(parcel.payload.header);
        match self.place {
            CopyTarget::Inside => {
                black_box(from.to_vec());
            }
            CopyTarget::Outside => parcel.to.copy_from_slice(from),
            CopyTarget::Stepped => {
                if parcel.at + from.len() > parcel.to.len() {
                    parcel.at = 0;
                }
                let to = &mut parcel.to[parcel.at..][..from.len()];
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from;
                }
                parcel.at += from.len();
            }
        }
        black_box(&mut parcel.to);
        let spent = started.elapsed().as_nanos() as u64;
        // Relaxed: it is read when all have ended.
        parcel.spent.fetch_add(spent, Ordering::Relaxed);
        parcel
    }
}

/// As spawned stages.
fn with_messages(copies: Copies, parcels: Vec<CopiedMessage>) -> Result<Duration, String> {
    let parcels = motet_sync::Mutex::new(parcels.into_iter().map(Some).collect::<Vec<_>>());
    let first = |number: usize| {
        parcels.lock()[number]
            .take()
            .expect("each is asked for once")
    };
    let copy = move |_, parcel| copies.copy(parcel);
    Ok(spawned::run_carrying(&copies.program, &first, copy))
}

/// The same on plain threads, computations shared out in turn.
fn on_threads(copies: Copies, parcels: Vec<CopiedMessage>) -> Result<Duration, String> {
    let program = copies.program;
    let (tell, told) = channel();
    let mut shares: Vec<Vec<CopiedMessage>> = (0..program.threads).map(|_| Vec::new()).collect();
    for (number, parcel) in parcels.into_iter().enumerate() {
        shares[number % program.threads].push(parcel);
    }
    let started = Instant::now();
    for mut share in shares {
        let tell = tell.clone();
        thread::spawn(move || {
            for _ in 0..program.stages {
                for parcel in std::mem::take(&mut share) {
                    share.push(copies.copy(parcel));
                    program.work.stage();
                }
            }
            let _ = tell.send(Instant::now());
        });
    }
    drop(tell);
    let ends: Vec<Instant> = told.iter().collect();
    let last = ends.iter().max().filter(|_| ends.len() == program.threads);
    last.map(|last| *last - started)
        .ok_or_else(|| "a thread has not come to its end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::MeasuringConfig;

    #[test]
    fn copies_arrive_in_their_places() {
        let setting = Setting::new(MeasuringConfig::default());
        for place in CopyTarget::ALL {
            let copies = Copies::new(place, 4, (1, 1, 0), &setting);
            let parcel = copies.parcels(10, &Arc::default()).pop().unwrap();
            let once = copies.copy(parcel);
            let twice = copies.copy(once);
            match place {
                CopyTarget::Inside => assert!(twice.to.is_empty()),
                CopyTarget::Outside => assert_eq!(twice.to, [0.0, 1.0, 2.0, 3.0]),
                CopyTarget::Stepped => {
                    assert_eq!(twice.to[..8], [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]);
                    assert_eq!(twice.at, 8);
                    // The third does not fit any more.
                    assert_eq!(copies.copy(twice).at, 4);
                }
            }
        }
    }
}
