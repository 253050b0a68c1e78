//! Tests of the facade as programs use it.

mod applications;
mod deliver;
mod files;
mod loops;
#[allow(dead_code, reason = "some of it is for other tests")]
#[path = "../../../mpi/tests/it/started.rs"]
mod started;
#[cfg(target_os = "linux")]
mod why;
mod windows;
