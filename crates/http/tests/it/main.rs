//! What the crate promises, by number of the promise (`sem_g…`) and of DSS's behaviour (`dss_…`).

mod dss;
mod events;
mod peers;
mod refusals;
mod till;
mod verbs;
