//! Tests of the facade as programs use it.

mod applications;
mod deliver;
mod loops;
#[cfg(target_os = "linux")]
mod why;
