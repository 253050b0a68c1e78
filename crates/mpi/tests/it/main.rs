//! Several processes of this program, started by each library's own launcher.

mod calls;
mod closing;
mod ended;
mod hosts;
mod killed;
mod lost;
mod messages;
mod requests;
mod started;
mod turns;
mod world;
