//! The promises of what is sent.

mod layouts;
