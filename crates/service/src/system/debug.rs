//! `/sys/diagnostics`, `/sys/debug`.

use super::constructor::Nothing;
use crate::report::{Captured, Level};
use crate::service::Any;
use crate::{
    Cx, Fault, FaultCode, Lifecycle, OperationLatency, Service, ServiceFigures, State, contract,
    data,
};
use std::collections::VecDeque;
use std::time::Duration;

/// The figures of a service.
#[data]
pub struct Figure {
    /// Where it is.
    pub path: String,
    /// What becomes of it.
    pub lifecycle: Lifecycle,
    /// How often what has happened.
    pub figures: ServiceFigures,
    /// How long its operations take: first all of them together, then each that has been called.
    pub latencies: Vec<OperationLatency>,
}

/// A service that waits for the answer of another.
#[data]
pub struct WaitingService {
    /// The service that waits.
    pub from: String,
    /// The service for which it waits.
    pub to: String,
    /// For so many milliseconds.
    pub for_ms: u64,
    /// For so many it still may.
    pub left_ms: u64,
}

/// Which service is to be suspended, or to go on.
#[data]
pub struct DebuggedService {
    /// Where it is.
    pub path: String,
}

/// How many operations of a suspended service are to begin.
#[data]
pub struct DebugSteps {
    /// Where it is.
    pub path: String,
    /// So many, at most; one unless it is said.
    #[serde(default = "one")]
    pub n: usize,
}

fn one() -> usize {
    1
}

/// A service that is suspended.
#[data]
pub struct SuspendedService {
    /// Where it is.
    pub path: String,
    /// How many operations are held. Those whose callers wait no longer are among them.
    pub held: usize,
}

/// The last requests that were captured: 256.
#[data]
#[derive(Default)]
pub struct Captures {
    /// Oldest first.
    pub captured: VecDeque<Captured>,
}

/// How often what has happened.
#[contract(uri = "motet:diagnostics/1", state = Nothing, replace = false)]
pub trait Diagnostics {
    /// The figures of all services, by path.
    #[query]
    async fn figures(cx: Cx) -> Vec<Figure>;
}

/// Requests that were captured: those of calls that [say so](crate::Call::capture); who waits for
/// whom; and services that are suspended.
#[contract(uri = "motet:debug/1", state = Captures)]
pub trait Debug {
    /// Keeps one.
    #[insert]
    fn keep(&mut self, captured: Captured);

    /// The calls for whose answers services wait now, the oldest first.
    #[query]
    async fn waiting(cx: Cx) -> Vec<WaitingService>;

    /// Suspends a service: what is posted to it from here on waits, as long as its callers do and
    /// where there is room. Lookup and the diagnostics answer. What was posted before is carried
    /// out, unless the service still starts, and a handler that has begun goes on. Its periodic
    /// operations rest.
    #[update]
    fn suspend(&mut self, service: DebuggedService, cx: &Cx) -> Result<(), Fault>;

    /// Has the oldest operations that wait since their service is suspended begin, so many at most:
    /// how many. Those whose callers wait no longer do not count.
    #[update]
    fn step(&mut self, steps: DebugSteps, cx: &Cx) -> Result<usize, Fault>;

    /// Ends the suspension of a service: how many operations waited. They begin when the handlers
    /// that have begun have ended.
    #[update]
    fn resume(&mut self, service: DebuggedService, cx: &Cx) -> Result<usize, Fault>;

    /// The services that are suspended, by path.
    #[query]
    async fn suspended(cx: Cx) -> Vec<SuspendedService>;
}

#[derive(Service)]
#[service(contract = Diagnostics, name = "diagnostics")]
pub(crate) struct DiagnosticsService {
    #[state]
    nothing: State<Nothing>,
}

#[derive(Service)]
#[service(contract = Debug, name = "debug")]
pub(crate) struct DebugService {
    #[state]
    captures: State<Captures>,
}

/// How many requests are kept.
const KEPT: usize = 256;

impl Diagnostics for DiagnosticsService {
    async fn figures(cx: Cx) -> Vec<Figure> {
        let services = cx.common().shared.services();
        let figure = |service: &Any| Figure {
            path: service.common().path.to_string(),
            lifecycle: service.common().life.lock().clone(),
            figures: service.figures(),
            latencies: service.latencies(),
        };
        services.iter().map(figure).collect()
    }
}

impl Debug for DebugService {
    fn keep(&mut self, captured: Captured) {
        let kept = &mut self.captures.captured;
        // By Replace there may be more.
        while kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(captured);
    }

    async fn waiting(cx: Cx) -> Vec<WaitingService> {
        let deadlines = &cx.common().shared.deadlines;
        let now = deadlines.clock().now();
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let mut waits = deadlines.waiting();
        waits.sort_by_key(|(between, _)| between.since);
        let written = waits.into_iter().map(|(between, until)| WaitingService {
            from: between.from.to_string(),
            to: between.to.to_string(),
            for_ms: ms(now.saturating_duration_since(between.since)),
            left_ms: ms(until.saturating_duration_since(now)),
        });
        written.collect()
    }

    fn suspend(&mut self, service: DebuggedService, cx: &Cx) -> Result<(), Fault> {
        let path = service.path.as_str();
        debugged(cx, path)?.suspension().suspend()?;
        let shared = &cx.common().shared;
        shared.log(Level::Warning, "debug", path, "is suspended");
        Ok(())
    }

    fn step(&mut self, steps: DebugSteps, cx: &Cx) -> Result<usize, Fault> {
        let service = debugged(cx, &steps.path)?;
        service.suspension().step(steps.n)
    }

    fn resume(&mut self, service: DebuggedService, cx: &Cx) -> Result<usize, Fault> {
        let path = service.path.as_str();
        let resumed = debugged(cx, path)?.suspension().resume()?;
        let shared = &cx.common().shared;
        shared.log(Level::Info, "debug", path, "is suspended no longer");
        Ok(resumed)
    }

    async fn suspended(cx: Cx) -> Vec<SuspendedService> {
        let services = cx.common().shared.services();
        let suspended = services.iter().filter_map(|service| {
            Some(SuspendedService {
                path: service.common().path.to_string(),
                held: service.suspension().held()?,
            })
        });
        suspended.collect()
    }
}

/// The service at this path, unless it is one of the node's own.
fn debugged(cx: &Cx, path: &str) -> Result<Any, Fault> {
    if path.starts_with("/sys/") {
        let reason = "the services of the node's own are not suspended: whoever debugs needs them; \
                      name another, which /sys/directory lists";
        return Err(Fault::new(FaultCode::MessageNotSupported, reason).of_service(path));
    }
    cx.common().shared.service(path)
}
