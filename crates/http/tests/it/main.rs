//! What the crate promises, by number of the promise (`sem_g…`) and of DSS's behaviour (`dss_…`).

mod bank;
mod browser;
mod buttons;
mod by_http;
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
/// A service, and the bodies of tests that call it, which the tests of `motet-service` have.
#[allow(dead_code, reason = "those tests use more of it")]
#[path = "../../../service/tests/it/shop.rs"]
mod shop;
mod standby;
mod till;
mod traces;
mod verbs;
#[path = "../../../service/tests/it/ways.rs"]
mod ways;
