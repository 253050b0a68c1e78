//! What an arbiter runs: a closure or an async closure, once or for each item.

use crate::delivery::QueueHandle;
use crate::parent::Pass;
use motet_dispatch::spawn_here;
use motet_sync::Mutex;
use std::future::Future;
use std::sync::Arc;

/// A handler whose kind is not known any more.
pub(crate) type AnyHandler<A> = Box<dyn Handle<A>>;

/// Handles `A`, as part of a task of `queue`. The pass is dropped when the handler has ended.
pub(crate) trait Handle<A>: Send + Sync {
    fn handle(&self, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>);

    /// As `handle`; the permit is given up when the handler has ended. Async handlers override it.
    fn handle_under(&self, permit: Permit, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        self.handle(args, queue, pass);
        drop(permit);
    }

    /// The name that reports show: the type of the closure says where it was written.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }
}

/// The slot that a handler takes among a limited number of them. Dropped when the handler has
/// ended.
pub(crate) struct Permit(Arc<dyn Releasable>);

/// What a permit gives up.
pub(crate) trait Releasable: Send + Sync {
    fn give_up(&self);
}

/// For each item.
pub(crate) fn each<A: 'static>(handler: impl Fn(A) + Send + Sync + 'static) -> AnyHandler<A> {
    Box::new(Each(handler))
}

/// For one item. The arbiter's claim sees to it that there is only one.
pub(crate) fn once<A: 'static>(handler: impl FnOnce(A) + Send + 'static) -> AnyHandler<A> {
    Box::new(Once(Mutex::new(Some(handler))))
}

/// For each item, async.
pub(crate) fn each_async<A: 'static, Fut>(
    handler: impl Fn(A) -> Fut + Send + Sync + 'static,
) -> AnyHandler<A>
where
    Fut: Future<Output = ()> + Send + 'static,
{
    Box::new(EachAsync(handler))
}

/// For one item, async.
pub(crate) fn once_async<A: 'static, Fut>(
    handler: impl FnOnce(A) -> Fut + Send + 'static,
) -> AnyHandler<A>
where
    Fut: Future<Output = ()> + Send + 'static,
{
    Box::new(OnceAsync(Mutex::new(Some(handler))))
}

struct Each<F>(F);
struct Once<F>(Mutex<Option<F>>);
struct EachAsync<F>(F);
struct OnceAsync<F>(Mutex<Option<F>>);

impl<A, F: Fn(A) + Send + Sync> Handle<A> for Each<F> {
    #[inline]
    fn handle(&self, args: A, _: &QueueHandle, pass: Option<Pass<'_>>) {
        (self.0)(args);
        drop(pass);
    }
}

impl<A, F: FnOnce(A) + Send> Handle<A> for Once<F> {
    fn handle(&self, args: A, _: &QueueHandle, pass: Option<Pass<'_>>) {
        let handler = self.0.lock().take();
        handler.expect("a one-time handler runs once")(args);
        drop(pass);
    }
}

impl<A, F, Fut> Handle<A> for EachAsync<F>
where
    F: Fn(A) -> Fut + Send + Sync,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn handle(&self, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        start(queue, (self.0)(args), None, pass);
    }

    fn handle_under(&self, permit: Permit, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        start(queue, (self.0)(args), Some(permit), pass);
    }
}

impl Permit {
    pub(crate) fn new(slot: Arc<dyn Releasable>) -> Self {
        Permit(slot)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl<A, F, Fut> Handle<A> for OnceAsync<F>
where
    F: FnOnce(A) -> Fut + Send,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn handle(&self, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        let handler = self.0.lock().take();
        let handler = handler.expect("a one-time handler runs once");
        start(queue, handler(args), None, pass);
    }
}

/// Starts an async handler, which keeps the permit and the pass until it ends. Without either it
/// does not carry their place.
fn start(
    queue: &QueueHandle,
    handler: impl Future<Output = ()> + Send + 'static,
    permit: Option<Permit>,
    pass: Option<Pass<'_>>,
) {
    if permit.is_none() && pass.is_none() {
        return spawn_here(queue, handler);
    }
    let pass = pass.map(Pass::into_long);
    spawn_here(queue, async move {
        // Dropped after the handler's future, also when that is dropped unfinished; the permit
        // first.
        let _held = (permit, pass);
        handler.await;
    });
}
