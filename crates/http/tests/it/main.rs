//! What the crate promises, by number of the promise (`sem_g…`) and of DSS's behaviour (`dss_…`).

mod bank;
mod browser;
mod buttons;
mod changes;
mod console;
mod console_views;
mod dss;
#[cfg(feature = "dssp")]
mod dssp;
mod entries;
mod events;
#[cfg(feature = "tls")]
mod keys;
mod load;
mod peers;
mod refusals;
mod standby;
mod till;
mod traces;
mod verbs;
