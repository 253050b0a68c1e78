//! The interrupt key.

use motet_mining::CancelToken;

/// A switch that the interrupt key throws. From now on an interrupt does not end the process at
/// once: what runs stops by itself, and files are complete or absent. Where the process already has
/// a handler of its own, that one stays.
pub(crate) fn cancel_on_interrupt() -> CancelToken {
    let cancel = CancelToken::new();
    let thrown = cancel.clone();
    let _ = ctrlc::set_handler(move || thrown.cancel());
    cancel
}

/// The same, for what may take long until it looks: a second interrupt ends the process.
#[cfg(feature = "bench")]
pub(crate) fn cancel_on_first_interrupt() -> CancelToken {
    let cancel = CancelToken::new();
    let thrown = cancel.clone();
    let _ = ctrlc::set_handler(move || match thrown.is_cancelled() {
        true => std::process::exit(130),
        false => thrown.cancel(),
    });
    cancel
}
