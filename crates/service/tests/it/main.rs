//! What the crate promises: by number of the promise (`sem_g…`) and of DSS's behaviour (`dss_…`).

mod begun;
mod brief;
mod calls;
mod clerk;
mod deadlines;
mod direct;
mod ended_by_handler;
mod fuzz;
mod histories;
mod hosting;
mod jobs;
mod kills;
mod network;
mod nodes;
mod one_way;
mod responses;
mod restarts;
mod shop;
mod stores;
mod storing;
mod subscriptions;
mod supervision;
mod verbs;
mod wires;
mod workflow_lists;
mod workflows;
