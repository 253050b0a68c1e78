//! An arbiter of one's own: only the latest value matters.
//!
//! A sensor posts faster than the display can draw. `Latest` keeps one value at most on its way to
//! the handler: a newer one takes the place of one whose handler has not started.
//!
//! ```text
//!  post 1, 2, 3 ──► (readings) ──► Latest: slot [3] ──► task ──► draw(3)
//! ```
//!
//! An arbiter consists of the thing that is built (`Attach`) and the thing at work (`Active`, and a
//! `Receiver` on its port). The task (`TaskBody`) carries what was taken.

#![allow(
    clippy::disallowed_types,
    reason = "a program outside of motet uses the locks of std"
)]

use motet::dispatch::{Awaited, Task, TaskBody, TaskBox, Waiter};
use motet::ports::{Activation, Active, Attach, Offer, Outlet, Receiver, Verdict, WeakPort};
use motet::{Choice, Dispatcher, Port, QueueConfig, Receive};
use std::sync::{Arc, Mutex, Weak};

type Handler<T> = Box<dyn Fn(T) + Send + Sync>;

/// Built, and not at work yet.
struct Latest<T: Send + 'static> {
    port: Port<T>,
    handler: Handler<T>,
    once: bool,
}

/// At work. Its port keeps it, so it must not keep its port.
struct Core<T: Send + 'static> {
    this: Weak<Self>,
    port: WeakPort<T>,
    outlet: Outlet,
    handler: Handler<T>,
    once: bool,
    state: Mutex<State<T>>,
}

struct State<T> {
    /// Takes no more.
    closed: bool,
    /// What the task on its way will handle.
    value: Option<T>,
}

/// The way to the handler.
struct Drawing<T: Send + 'static>(Arc<Core<T>>);

impl<T: Send + 'static> Latest<T> {
    fn persistent(port: &Port<T>, handler: impl Fn(T) + Send + Sync + 'static) -> Self {
        Latest {
            port: port.clone(),
            handler: Box::new(handler),
            once: false,
        }
    }

    fn once(self) -> Self {
        Latest { once: true, ..self }
    }
}

impl<T: Send + 'static> Attach for Latest<T> {
    type Ports = Port<T>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Port<T>) {
        let core = Arc::new_cyclic(|this| Core {
            this: Weak::clone(this),
            port: self.port.downgrade(),
            outlet,
            handler: self.handler,
            once: self.once,
            state: Mutex::new(State {
                closed: false,
                value: None,
            }),
        });
        (core, self.port)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<T: Send + 'static> Receiver<T> for Core<T> {
    /// Runs under the port's lock: quick, and without using any port.
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        let mut state = self.state.lock().expect("nobody panics inside");
        if let Some(older) = &mut state.value {
            *older = offer.accept();
            return Verdict::Accept;
        }
        let core = match self.this.upgrade() {
            Some(core) if !state.closed && self.outlet.is_open() => core,
            _ => {
                offer.leave_port();
                return Verdict::Reject;
            }
        };
        // Room in the queue, and the consent of a choice or a group above, before anything is
        // taken.
        if let Err(verdict) = offer.claim(&self.outlet) {
            return verdict;
        }
        state.value = Some(offer.accept());
        state.closed = self.once;
        offer.send(&self.outlet, TaskBox::new(Drawing(core)).into_task());
        Verdict::Accept
    }
}

impl<T: Send + 'static> TaskBody for Drawing<T> {
    fn run(task: TaskBox<Self>) {
        let Drawing(core) = task.into_inner();
        let into_task = |core| -> Task { TaskBox::new(Drawing(core)).into_task() };
        // A group may hold the task until its turn; what comes back then is nothing.
        let entered = core.outlet.enter(Arc::clone(&core), into_task);
        if let Some((core, _pass)) = entered {
            let value = core.take();
            value.into_iter().for_each(|value| (core.handler)(value));
        }
    }

    fn cleanup(task: TaskBox<Self>) {
        let Drawing(core) = task.into_inner();
        if let Some(value) = core.take() {
            core.port.put_back(value);
        }
    }
}

impl<T: Send + 'static> Core<T> {
    fn take(&self) -> Option<T> {
        self.state
            .lock()
            .expect("nobody panics inside")
            .value
            .take()
    }
}

/// What the waiting list of a dispatcher shows.
impl<T: Send + 'static> Waiter for Core<T> {
    fn awaits(&self) -> Option<Awaited> {
        self.is_active().then(|| Awaited {
            who: "Latest",
            queue: Some(self.outlet.queue().name().to_owned()),
            parts: Vec::new(),
        })
    }
}

impl<T: Send + 'static> Active for Core<T> {
    fn register(&self) {
        if let (Some(port), Some(core)) = (self.port.upgrade(), self.this.upgrade()) {
            port.register(core);
        }
    }

    fn cleanup(&self) {
        self.state.lock().expect("nobody panics inside").closed = true;
        if let (Some(port), Some(core)) = (self.port.upgrade(), self.this.upgrade()) {
            port.unregister(&(core as Arc<dyn Receiver<T>>));
        }
    }

    fn is_active(&self) -> bool {
        let state = self.state.lock().expect("nobody panics inside");
        !state.closed && self.outlet.is_open()
    }
}

fn main() {
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("display"));
    let (readings, drawn) = (Port::new(), Port::new());

    // Alone: while the display is busy (here: its queue is suspended), older readings are replaced.
    let out = drawn.clone();
    let display: Activation = Latest::persistent(&readings, move |n: u32| {
        out.post(n).expect("nobody refuses")
    })
    .activate(&queue)
    .expect("the queue is open");
    dispatcher.wait_idle();
    for burst in [1..=3, 4..=9] {
        queue.suspend();
        burst.for_each(|n| readings.post(n).expect("nobody refuses"));
        queue.resume();
        dispatcher.wait_idle();
    }
    println!("of nine readings were drawn: {:?}", drawn.items());
    assert_eq!(drawn.items(), [3, 9]);
    display.cleanup();

    // As the branch of a choice, like any arbiter.
    let stop = Port::new();
    let (out, stopped) = (drawn.clone(), drawn.clone());
    Choice::new()
        .or(Latest::persistent(&readings, move |n| out.post(n).expect("nobody refuses")).once())
        .or(Receive::once(&stop, move |()| {
            stopped.post(0).expect("nobody refuses")
        }))
        .activate(&queue)
        .expect("the queue is open");
    dispatcher.wait_idle();
    stop.post(()).expect("nobody refuses");
    dispatcher.wait_idle();
    readings.post(10).expect("nobody refuses");
    assert_eq!(
        drawn.items(),
        [3, 9, 0],
        "the choice fell on the other branch"
    );
    assert_eq!(
        readings.test(),
        Some(10),
        "and the reading stayed in its port"
    );
}
