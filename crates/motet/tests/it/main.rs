//! Tests of the facade as programs use it.

mod applications;
#[cfg(target_os = "linux")]
mod why;
