//! Futures in a box: the code of a method is compiled in this crate, and once.
//!
//! The body of an `async fn` is compiled in each crate that awaits it, with the settings of that
//! crate. What a box holds is compiled where the box is made.

use std::future::Future;
use std::pin::Pin;

/// A future of a rank, which need not be `Send`: ranks stay on their threads.
pub type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
