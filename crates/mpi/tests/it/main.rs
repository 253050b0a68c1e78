//! Several processes of this program, started by each library's own launcher.

mod calls;
mod lost;
mod messages;
mod started;
