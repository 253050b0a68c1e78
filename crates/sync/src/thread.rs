//! Operating-system threads: std's, or a model's.
#![allow(
    clippy::disallowed_methods,
    reason = "this is where the project starts its threads"
)]

#[cfg(not(any(motet_loom, motet_shuttle)))]
pub use std::thread::{
    JoinHandle, Thread, ThreadId, available_parallelism, current, park, park_timeout, yield_now,
};

#[cfg(motet_loom)]
pub use loom::thread::{JoinHandle, Thread, ThreadId, current, park, spawn, yield_now};

#[cfg(motet_shuttle)]
pub use shuttle::thread::{
    JoinHandle, Thread, ThreadId, current, park, park_timeout, spawn, yield_now,
};

#[cfg(motet_loom)]
use loom::thread::Builder;
#[cfg(motet_shuttle)]
use shuttle::thread::Builder;
#[cfg(not(any(motet_loom, motet_shuttle)))]
use std::thread::Builder;

/// Gives others a turn: in a model no time passes.
#[cfg(motet_loom)]
pub fn park_timeout(_: std::time::Duration) {
    yield_now();
}

/// Starts a thread, as std does; [`spawn_named`] is better where somebody will look at it.
///
/// # Panics
/// When the operating system refuses another thread.
#[cfg(not(any(motet_loom, motet_shuttle)))]
pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    std::thread::spawn(body)
}

/// Starts a thread that carries `name` (shown by debuggers and in panic messages).
///
/// # Errors
/// The operating system's reason when it refuses another thread;
/// [`InvalidInput`](std::io::ErrorKind::InvalidInput) for a name with a zero byte.
///
/// ```
/// let named = motet_sync::thread::spawn_named("worker-0", || std::thread::current().name().map(str::to_owned));
/// assert_eq!(named.unwrap().join().unwrap().as_deref(), Some("worker-0"));
/// ```
pub fn spawn_named<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    spawn_with(name, None, body)
}

/// Like [`spawn_named`], with a stack of `stack_size` bytes (`None`: the system's default).
///
/// # Errors
/// As [`spawn_named`].
pub fn spawn_with<T: Send + 'static>(
    name: &str,
    stack_size: Option<usize>,
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    if name.contains('\0') {
        let said = format!("a thread cannot have the name {name:?}: it has a zero byte");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, said));
    }
    let builder = Builder::new();
    let builder = match stack_size {
        Some(bytes) => builder.stack_size(bytes),
        None => builder,
    };
    builder.name(name.to_owned()).spawn(body)
}

/// The number of processors this process may use; 1 when the system does not say.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
