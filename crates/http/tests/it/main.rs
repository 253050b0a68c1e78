//! What the crate promises, by number of the promise (`sem_g…`) and of DSS's behaviour (`dss_…`).

mod browser;
mod console;
#[cfg(feature = "dssp")]
mod dssp;
mod events;
#[cfg(feature = "tls")]
mod keys;
mod peers;
mod refusals;
mod till;
mod verbs;
