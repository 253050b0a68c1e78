//! The interrupt key, and the signals that ask the program to end as it does.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use motet::{Current, World};
use motet_mining::CancelToken;
use motet_sync::Mutex;

#[cfg(unix)]
use crate::signals;

/// A second interrupt this soon after the first is the same one, told twice: `timeout` tells the
/// process and its group.
const TWICE: Duration = Duration::from_millis(200);

/// The same in a process of several: the terminal tells all of them, and a launcher passes on what
/// it is told.
const TWICE_OF_SEVERAL: Duration = Duration::from_secs(1);

/// What the first interrupt does.
type Action = Box<dyn Fn() + Send>;

/// What interrupts do in this process.
struct Interrupts {
    first: Action,
    /// When the first one came.
    since: Option<Instant>,
}

static INTERRUPTS: OnceLock<Mutex<Interrupts>> = OnceLock::new();

/// A switch that the interrupt key throws. From now on an interrupt does not end the process at
/// once: what runs stops by itself, and files are complete or absent. A second interrupt ends the
/// process at once.
pub(crate) fn cancel_on_interrupt() -> CancelToken {
    let cancel = CancelToken::new();
    let thrown = cancel.clone();
    on_interrupt(move || thrown.cancel());
    cancel
}

/// Does `first` at an interrupt, in the place of what was to be done until now. A second interrupt
/// ends the process at once. Signals that the process was started to ignore stay ignored.
pub(crate) fn on_interrupt(first: impl Fn() + Send + 'static) {
    let mut is_new = false;
    let interrupts = INTERRUPTS.get_or_init(|| {
        is_new = true;
        Mutex::new(Interrupts {
            first: Box::new(|| ()),
            since: None,
        })
    });
    *interrupts.lock() = Interrupts {
        first: Box::new(first),
        since: None,
    };
    if is_new {
        // Without a handler an interrupt ends the process, as it does where nobody asks for more.
        listen(|| interrupted(interrupts));
    }
}

fn interrupted(interrupts: &Mutex<Interrupts>) {
    let mut now = interrupts.lock();
    let twice = match World::is_one_of_several() {
        true => TWICE_OF_SEVERAL,
        false => TWICE,
    };
    match now.since {
        None => {
            now.since = Some(Instant::now());
            (now.first)();
        }
        Some(since) if since.elapsed() < twice => {}
        Some(_) => end(),
    }
}

#[cfg(unix)]
fn listen(told: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let heard = signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]);
    let Ok(mut signals) = Signals::new(heard) else {
        return;
    };
    let _ = motet_sync::thread::spawn_named("interrupts", move || {
        signals.forever().for_each(|_| told());
    });
}

#[cfg(not(unix))]
fn listen(told: impl FnMut() + Send + 'static) {
    let _ = ctrlc::set_handler(told);
}

/// Nothing at the end of the process is waited for.
#[cfg(unix)]
fn end() {
    signal_hook::low_level::exit(130)
}

#[cfg(not(unix))]
fn end() {
    std::process::exit(130)
}
