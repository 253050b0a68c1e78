//! What the crate promises: by number of the promise (`sem_g…`) and of DSS's behaviour (`dss_…`).

mod calls;
mod deadlines;
mod jobs;
mod nodes;
mod shop;
mod subscriptions;
mod verbs;
