//! Panics that are looked for and not told: a search makes many.

use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Where this thread panicked last, while it was quiet.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What the place begins with.
pub(super) const AT: &str = ", at ";

/// Runs `body` without a word on standard error about panics of this thread.
pub(super) fn quietly<R>(body: impl FnOnce() -> R) -> R {
    struct Loud(bool);
    impl Drop for Loud {
        fn drop(&mut self) {
            QUIET.set(self.0);
        }
    }
    listen();
    let _loud = Loud(QUIET.replace(true));
    body()
}

/// `, at file:line` of the last panic of this thread.
pub(super) fn place() -> String {
    PLACE.with_borrow(Clone::clone)
}

/// Puts a hook before the one that is there; other threads notice nothing.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                return tell(info);
            }
            let place = info
                .location()
                .map(|place| format!("{AT}{}:{}", place.file(), place.line()));
            PLACE.set(place.unwrap_or_default());
        }));
    });
}
