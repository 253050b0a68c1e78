//! The thread of a log: publications that wait together are one record, and wait for one sync.

use super::record::{FIXED, LENGTH, RECORD};
use super::{LogError, LogSamples, SampleLog};
use crate::start_from::nanoseconds;
use motet_dispatch::{Clock, Timer};
use motet_sync::{Condvar, Mutex, OwnedThread};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// After so long old files are looked at again that could not be dropped.
const PAUSE: Duration = Duration::from_secs(1);

/// Is told on the thread of the log what became of a request.
type Told<R> = Box<dyn FnOnce(Result<R, LogError>) + Send>;

/// What the thread of a log is asked for.
pub(crate) enum LogRequest {
    /// A sample is to be written. Its number.
    Append(Arc<[u8]>, Told<u64>),
    /// Samples from this number on, or from the oldest on, so many at most.
    Read(u64, usize, Told<LogSamples>),
    /// Files that have become old are to be dropped.
    Drop,
}

/// Hands requests to the thread of a log. In virtual time there is no thread: what is asked for is
/// done at once.
pub(crate) struct LogWriter {
    shared: Arc<LogLine>,
    thread: Option<OwnedThread>,
}

struct LogLine {
    log: SampleLog,
    time: LogTime,
    waiting: Mutex<WaitingRequests>,
    came: Condvar,
    /// Of the next file that becomes old. Lock order: before `waiting`.
    timer: Mutex<Option<Timer>>,
}

#[derive(Default)]
struct WaitingRequests {
    requests: VecDeque<LogRequest>,
    closed: bool,
}

/// What is written as the time of a record, since 1970: that of the system, unless it was later in
/// the log before. Then it goes on from there, so that samples grow old where the system's clock
/// was set back. In virtual time it goes on from what the log had when it was opened.
struct LogTime {
    clock: Clock,
    /// What it was last, and when that was.
    before: Mutex<(Instant, u64)>,
}

impl LogWriter {
    /// The thread of a log. Files that have become old while nobody had it are dropped first.
    pub(crate) fn new(log: SampleLog, clock: Clock) -> Result<Self, LogError> {
        let has_thread = !clock.is_virtual();
        let time = LogTime::new(clock, log.time());
        let shared = Arc::new(LogLine {
            log,
            time,
            waiting: Mutex::default(),
            came: Condvar::new(),
            timer: Mutex::default(),
        });
        shared.drop_old();
        shared.set_timer();
        let mut thread = None;
        if has_thread {
            let line = Arc::clone(&shared);
            let started = OwnedThread::spawn("motet-log", move || line.work());
            let file = shared.log.info().file;
            thread = Some(started.map_err(|why| LogError::file(&file, "given a thread", &why))?);
        }
        Ok(LogWriter { shared, thread })
    }

    pub(crate) fn log(&self) -> &SampleLog {
        &self.shared.log
    }

    /// Whether who asks gets the answer at once.
    pub(crate) fn is_at_once(&self) -> bool {
        self.thread.is_none()
    }

    pub(crate) fn ask(&self, request: LogRequest) {
        self.shared.ask(request);
    }

    /// Writes what waits, and lets the log go. Who has got the last answer may do so on the thread.
    pub(crate) fn close(&self) {
        self.shared.waiting.lock().closed = true;
        self.shared.came.notify_one();
        if let Some(thread) = &self.thread {
            thread.join();
        }
        let timer = self.shared.timer.lock().take();
        if let Some(timer) = timer {
            timer.cancel();
        }
        self.shared.log.close();
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.close();
    }
}

impl LogRequest {
    fn fail(self, why: LogError) {
        match self {
            LogRequest::Append(_, told) => tell(told, Err(why)),
            LogRequest::Read(_, _, told) => tell(told, Err(why)),
            LogRequest::Drop => {}
        }
    }
}

/// Tells who asked. That may run what he wrote, whose panic does not end the thread.
fn tell<R>(told: Told<R>, answer: Result<R, LogError>) {
    // The panic has been told on standard error.
    drop(catch_unwind(AssertUnwindSafe(|| told(answer))));
}

impl LogLine {
    fn ask(self: &Arc<Self>, request: LogRequest) {
        {
            let mut waiting = self.waiting.lock();
            if waiting.closed {
                drop(waiting);
                return request.fail(LogError::Closed);
            }
            waiting.requests.push_back(request);
        }
        match self.time.clock.is_virtual() {
            true => self.answer_waiting(),
            false => self.came.notify_one(),
        }
    }

    /// Answers until the line is closed and empty.
    fn work(self: &Arc<Self>) {
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.requests.is_empty() && !waiting.closed {
                waiting = self.came.wait(waiting);
            }
            if waiting.requests.is_empty() {
                return;
            }
            drop(waiting);
            self.answer_waiting();
        }
    }

    /// Answers all that waits now: first those that write.
    fn answer_waiting(self: &Arc<Self>) {
        let requests = std::mem::take(&mut self.waiting.lock().requests);
        let (mut samples, mut tolds, mut reads) = (Vec::new(), VecDeque::new(), Vec::new());
        let mut drops = false;
        for request in requests {
            match request {
                LogRequest::Append(sample, told) => {
                    samples.push(sample);
                    tolds.push_back(told);
                }
                LogRequest::Read(from, most, told) => reads.push((from, most, told)),
                LogRequest::Drop => drops = true,
            }
        }
        let mut samples = &samples[..];
        while !samples.is_empty() {
            let record = &samples[..one_record(samples)];
            let now = self.time.now();
            let kept = self.log.keep(now);
            let fit = self.log.fit(record);
            if fit == 0 {
                // A shorter one may fit.
                if let Some(told) = tolds.pop_front() {
                    tell(told, Err(self.log.full()));
                }
                samples = &samples[1..];
                continue;
            }
            let first = kept.and_then(|()| self.log.append(&record[..fit], now));
            for (number, told) in (0..).zip(tolds.drain(..fit)) {
                tell(told, first.clone().map(|first| first + number));
            }
            samples = &samples[fit..];
        }
        if drops {
            self.drop_old();
        }
        for (from, most, told) in reads {
            tell(told, self.log.read(from, most));
        }
        self.set_timer();
    }

    /// Drops files that have become old. What cannot be dropped is tried again later.
    fn drop_old(&self) {
        let now = self.time.now();
        if self.log.outdated_at().is_some_and(|at| at <= now) {
            let _ = self.log.keep(now);
        }
    }

    /// Sets the timer of the file that becomes old next, if there is one and no timer is set.
    fn set_timer(self: &Arc<Self>) {
        let Some(at) = self.log.outdated_at() else {
            return;
        };
        let mut timer = self.timer.lock();
        if timer.is_some() || self.waiting.lock().closed {
            return;
        }
        let clock = &self.time.clock;
        let mut span = Duration::from_nanos(at.saturating_sub(self.time.now()));
        if span.is_zero() {
            // It could not be dropped: a replay that tried it again and again would not end.
            if clock.is_virtual() {
                return;
            }
            span = PAUSE;
        }
        // None: nobody lives to see it.
        let Some(when) = clock.now().checked_add(span) else {
            return;
        };
        let line = Arc::downgrade(self);
        *timer = Some(clock.at(when, move |_| {
            if let Some(line) = line.upgrade() {
                *line.timer.lock() = None;
                line.ask(LogRequest::Drop);
            }
        }));
    }
}

/// How many samples, the first of these, are one record.
fn one_record(samples: &[Arc<[u8]>]) -> usize {
    let mut length = FIXED;
    let mut is_in = |sample: &Arc<[u8]>| {
        length += LENGTH + sample.len();
        length <= RECORD
    };
    samples
        .iter()
        .take_while(|sample| is_in(sample))
        .count()
        .max(1)
}

impl LogTime {
    /// It goes on from `time`.
    fn new(clock: Clock, time: u64) -> Self {
        let before = Mutex::new((clock.now(), time));
        LogTime { clock, before }
    }

    fn now(&self) -> u64 {
        // Before the other clock is read: where a pause is between the two, time is not ahead.
        let system = match self.clock.is_virtual() {
            true => 0,
            #[expect(
                clippy::disallowed_methods,
                reason = "the log tells people when it was written; its numbers give the order"
            )]
            false => nanoseconds(SystemTime::now()),
        };
        let mut before = self.before.lock();
        let (now, (then, time)) = (self.clock.now(), *before);
        let since = now.saturating_duration_since(then).as_nanos();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        let time = system.max(time.saturating_add(since));
        *before = (now, time);
        time
    }
}
