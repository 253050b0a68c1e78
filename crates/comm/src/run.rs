//! How the ranks of a world are started, watched and waited for.

mod between;
mod solo;
mod threads;

pub(crate) use between::Way;
pub(crate) use solo::run_solo;
pub(crate) use threads::{On, ThreadsConfig, run_threads};

use crate::Unmatched;

/// What the ranks have returned, in rank order, and the messages that nobody has received.
type Ended<R> = (Vec<R>, Vec<Unmatched>);
