//! Tests of the facade as programs use it.

mod applications;
