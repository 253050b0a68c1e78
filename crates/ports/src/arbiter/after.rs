//! After: a handler that runs when a time is over, as the branch of a choice.

use crate::activation::{Active, Attach};
use crate::claim::Claim;
use crate::deferred::Deferred;
use crate::delivery::{Sends, SentBy};
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use motet_dispatch::{Awaited, TaskBody, TaskBox, Timer, WaitPart, Waiter};
use motet_sync::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Runs a handler once, when a time is over: counted from its registration, by the clock of its
/// queue. As the branch of a [`Choice`](crate::Choice) it is the timeout of the others; when
/// another wins, the timer is cancelled.
///
/// The decision is made when the time comes, not when the handler runs; the timer asks for no room
/// in the queue. So it also comes when the queue is full or suspended, and runs when the queue goes
/// on.
///
/// ```
/// use motet_dispatch::{QueueConfig, Replay};
/// use motet_ports::{After, Attach, Port};
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("kitchen"));
/// let (bell, rings) = (Port::new(), Port::new());
/// let ring = rings.clone();
/// After::new(Duration::from_secs(180), move || ring.post("the egg is ready").unwrap())
///     .activate(&queue)
///     .unwrap();
/// bell.post(()).unwrap();
/// replay.run();
/// assert_eq!(rings.test(), Some("the egg is ready"));
/// assert_eq!(replay.elapsed(), Duration::from_secs(180));
/// ```
#[must_use = "a timeout does nothing until it is activated"]
pub struct After {
    span: Duration,
    handler: AnyHandler<()>,
}

/// A time that is being waited for. Its timer keeps it.
struct Core {
    this: Weak<Self>,
    span: Duration,
    handler: AnyHandler<()>,
    outlet: Outlet,
    claim: Claim,
    timer: Mutex<Option<Timer>>,
}

/// The handler, on its way.
struct Due(SentBy<Core>);

impl After {
    /// Runs `handler` when `span` is over.
    pub fn new(span: Duration, handler: impl FnOnce() + Send + 'static) -> Self {
        let handler = handler::once(move |()| handler());
        After { span, handler }
    }

    /// As [`After::new`], with an async handler; while it waits it holds no thread.
    pub fn new_async<Fut>(span: Duration, handler: impl FnOnce() -> Fut + Send + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = handler::once_async(move |()| handler());
        After { span, handler }
    }
}

impl Attach for After {
    type Ports = ();

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, ()) {
        let core = Arc::new_cyclic(|this| Core {
            this: Weak::clone(this),
            span: self.span,
            handler: self.handler,
            outlet: outlet.beyond(),
            claim: Claim::new(),
            timer: Mutex::new(None),
        });
        (core, ())
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl Core {
    /// The time is over.
    fn fire(self: &Arc<Self>) {
        // Its queue is asked for no room, so there is none to give back.
        if !self.outlet.is_open() || !self.claim.take() || !self.outlet.is_granted() {
            return;
        }
        let mut deferred = Deferred::default();
        let task = TaskBox::new(Due(SentBy::new(Arc::clone(self)))).into_task();
        self.outlet.send(task, &mut deferred);
        deferred.carry_out();
    }
}

impl Sends for Core {
    fn lose(&self) {
        self.outlet.lose();
    }
}

impl TaskBody for Due {
    fn run(task: TaskBox<Self>) {
        let core = task.into_inner().0.arrived();
        let held = |()| TaskBox::new(Due(SentBy::new(Arc::clone(&core)))).into_task();
        if let Some(((), pass)) = core.outlet.enter((), held) {
            core.handler.handle((), core.outlet.queue(), pass);
        }
    }
}

impl Waiter for Core {
    fn awaits(&self) -> Option<Awaited> {
        self.is_active().then(|| Awaited {
            who: "After",
            queue: Some(self.outlet.queue().name().to_owned()),
            parts: vec![WaitPart {
                port: format!("a timer of {:?}", self.span),
                there: 0,
                needed: 1,
            }],
        })
    }
}

impl Active for Core {
    fn register(&self) {
        let Some(core) = self.this.upgrade() else {
            return;
        };
        let clock = self.outlet.queue().clock();
        let timer = clock.after(self.span, move |_| core.fire());
        *self.timer.lock() = Some(timer);
        // A cleanup that came before the timer was there could not cancel it.
        if !self.is_active() {
            self.cleanup();
        }
    }

    fn cleanup(&self) {
        self.claim.close();
        let timer = self.timer.lock().take();
        if let Some(timer) = timer {
            timer.cancel();
        }
    }

    fn is_active(&self) -> bool {
        self.claim.is_open() && self.outlet.is_open()
    }
}

impl fmt::Debug for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("After")
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}
