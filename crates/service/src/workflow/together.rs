//! Several that are carried out at once.

use super::failure::Failure;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// What is being carried out, and why it does not end well.
pub(super) type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// Waits until one of them has ended, and takes it out.
pub(super) async fn first_of(running: &mut Vec<Running<'_>>) -> Result<(), Failure> {
    poll_fn(|cx| {
        for at in 0..running.len() {
            if let Poll::Ready(ended) = running[at].as_mut().poll(cx) {
                drop(running.swap_remove(at));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}
