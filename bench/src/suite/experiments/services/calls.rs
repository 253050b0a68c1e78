//! Messages to one service: what E09 and E17 measure.

use crate::said::Said;
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
use motet_ports::{reply, wait_blocking};
use motet_service::{Create, Fault, Node, Service, State, contract, data};
use motet_sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallKind {
    /// Read together.
    Get,
    /// Changed alone.
    Update,
    /// The same, with all that a call may say: until when, of which version, a header.
    Whole,
    /// The same, by a method that may wait.
    Async,
    /// As an Update, from a worker that is none of the service's: so each call goes by the port.
    Posted,
    /// Changed alone, and nothing is awaited but one answer behind the group.
    OneWay,
}

/// A number.
#[data]
#[derive(Default)]
pub(crate) struct Count {
    pub(crate) n: u64,
}

#[contract(uri = "motet:bench-counter/1", state = Count)]
pub(crate) trait Counts {
    /// Adds one.
    #[update]
    fn add(&mut self, n: u64) -> u64;
    /// Adds one, and may wait.
    #[update]
    async fn add_async(&mut self, n: u64) -> u64;
}

#[derive(Service)]
#[service(contract = Counts)]
pub(crate) struct Counter {
    #[state]
    count: State<Count>,
}

impl Counts for Counter {
    fn add(&mut self, n: u64) -> u64 {
        self.count.n += n;
        self.count.n
    }

    async fn add_async(&mut self, n: u64) -> u64 {
        self.add(n)
    }
}

/// What a call says with [`CallKind::Whole`].
struct CountHeader;

/// Until when: long after the end of a group.
const LIMIT: Duration = Duration::from_secs(60);

/// Microseconds of a message to a motet service on one worker, when `warm` groups have gone before.
pub(crate) fn on_motet(
    kind: CallKind,
    group: usize,
    groups: usize,
    warm: usize,
) -> Result<f64, String> {
    Ok(timings_on_motet(kind, 1, [group, groups, warm])?[0])
}

/// So many timings, one after the other, each of a service of its own. `messages` are those of a
/// group, the groups, and the groups before them.
pub(crate) fn timings_on_motet(
    kind: CallKind,
    timings: usize,
    messages: [usize; 3],
) -> Result<Vec<f64>, String> {
    let dispatcher = Dispatcher::new(1);
    // The client runs where the services do, as tokio's, or on a worker of its own.
    let apart = matches!(kind, CallKind::Posted).then(|| Dispatcher::new(1));
    let measured = wait_blocking(async {
        let node = Node::builder("bench")
            .register::<Counter>()
            .start(&dispatcher)?;
        let mut counters = Vec::with_capacity(timings);
        for number in 0..timings {
            let path = format!("/counter-{number}");
            let create = Create::<Counter>::of().at(&path);
            let create = create.depth(messages[0].max(1024));
            counters.push(node.create(create).await?);
        }
        let (to, took) = reply();
        let there = node.queue();
        let here: Arc<dyn Enqueue> = match &apart {
            Some(apart) => Arc::new(apart.queue(QueueConfig::named("client"))),
            None => Arc::clone(&there),
        };
        let measuring = async move {
            let result = match there.is_own_worker() == matches!(kind, CallKind::Posted) {
                true => Err(Fault::failed("the client runs in the wrong place")),
                false => measure_each(&counters, kind, messages).await,
            };
            drop(to.post(result));
        };
        spawn(&here, measuring).map_err(|why| Fault::failed(why.reason.to_string()))?;
        let took = took.await.map_err(|why| Fault::failed(why.to_string()))??;
        node.shutdown().await;
        Ok::<Vec<f64>, Fault>(took)
    });
    let measured = measured.said()?;
    measured.said()
}

/// Sends a group of calls, then awaits all answers.
async fn all<T, C: IntoFuture<Output = Result<T, Fault>>>(
    group: usize,
    call: impl Fn() -> C,
) -> Result<(), Fault> {
    let calls: Vec<_> = (0..group).map(|_| call().into_future()).collect();
    for call in calls {
        call.await?;
    }
    Ok(())
}

async fn measure_each(
    counters: &[CountsClient],
    kind: CallKind,
    [group, groups, warm]: [usize; 3],
) -> Result<Vec<f64>, Fault> {
    let mut times = Vec::with_capacity(counters.len());
    for counter in counters {
        times.push(measure(counter, kind, group, groups, warm).await?);
    }
    Ok(times)
}

async fn measure(
    counter: &CountsClient,
    kind: CallKind,
    group: usize,
    groups: usize,
    warm: usize,
) -> Result<f64, Fault> {
    // Each change makes the version that the next one wants. Relaxed: only this task counts.
    let version = AtomicU64::new(0);
    let whole = || {
        let version = version.fetch_add(1, Ordering::Relaxed);
        let call = counter.add(1).within(LIMIT).if_version(version);
        call.header(CountHeader)
    };
    let mut begun = Instant::now();
    for number in 0..warm + groups {
        if number == warm {
            begun = Instant::now();
        }
        match kind {
            CallKind::Whole => all(group, whole).await?,
            CallKind::Get => all(group, || counter.get()).await?,
            CallKind::Update | CallKind::Posted => all(group, || counter.add(1)).await?,
            CallKind::Async => all(group, || counter.add_async(1)).await?,
            CallKind::OneWay => {
                for _ in 0..group {
                    counter.post(CountsRequest::Add(1))?;
                }
                // Changes of one client are carried out in order.
                let last = counter.add(0).await?;
                let all = (group * (number + 1)) as u64;
                if last != all {
                    return Err(Fault::failed(format!("{last} were done, not {all}")));
                }
            }
        }
    }
    let took = begun.elapsed();
    if !matches!(kind, CallKind::Get) {
        let all = (group * (warm + groups)) as u64;
        let done = counter.get().await?.n;
        if done != all {
            return Err(Fault::failed(format!(
                "{done} updates were done, not {all}"
            )));
        }
    }
    Ok(took.as_secs_f64() * 1e6 / (group * groups) as f64)
}

/// Microseconds of a message to a task of tokio on one worker: a queue of requests, each with its
/// oneshot. With an answer for each, or with one behind each group.
pub(crate) fn on_tokio(
    answers: bool,
    group: usize,
    groups: usize,
    warm: usize,
) -> Result<f64, String> {
    Ok(timings_on_tokio(answers, 1, [group, groups, warm])?[0])
}

/// So many timings, one after the other, each of a task of its own.
pub(crate) fn timings_on_tokio(
    answers: bool,
    timings: usize,
    messages: [usize; 3],
) -> Result<Vec<f64>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .said()?;
    let measuring = async move {
        let mut times = Vec::with_capacity(timings);
        for _ in 0..timings {
            times.push(measure_tokio(answers, messages).await?);
        }
        Ok(times)
    };
    runtime.block_on(async { tokio::spawn(measuring).await.said()? })
}

async fn measure_tokio(answers: bool, [group, groups, warm]: [usize; 3]) -> Result<f64, String> {
    let (send, mut recv) = tokio::sync::mpsc::channel(group.max(1024));
    tokio::spawn(async move {
        let mut count = 0;
        while let Some((n, to)) = recv.recv().await {
            count += n;
            let to: Option<tokio::sync::oneshot::Sender<u64>> = to;
            if to.is_some_and(|to| to.send(count).is_err()) {
                break;
            }
        }
    });
    let mut begun = Instant::now();
    for number in 0..warm + groups {
        if number == warm {
            begun = Instant::now();
        }
        let mut awaited = Vec::with_capacity(group);
        for sent in 1..=group {
            let (to, answer) = match answers || sent == group {
                true => Some(tokio::sync::oneshot::channel()).unzip(),
                false => (None, None),
            };
            send.send((1u64, to)).await.said()?;
            awaited.extend(answer);
        }
        for answer in awaited {
            answer.await.said()?;
        }
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / (group * groups) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_runs_where_its_calls_ask_for() {
        for kind in [CallKind::Get, CallKind::Async, CallKind::Posted] {
            let times = timings_on_motet(kind, 2, [3, 2, 1]).unwrap();
            assert!(
                times.len() == 2 && times.iter().all(|us| *us > 0.0),
                "{kind:?}"
            );
        }
    }
}
