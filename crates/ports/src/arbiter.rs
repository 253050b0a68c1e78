//! Arbiters: the ties between what ports hold and the handlers that run. One file each.

mod from_handler;
mod interleave;
mod joined_receive;
mod multiple_item_receive;
mod place;
mod receive;

pub use from_handler::FromHandler;
pub use interleave::{ActiveInterleave, CombineError, Fairness, Interleave};
pub use joined_receive::JoinedReceive;
pub use multiple_item_receive::MultipleItemReceive;
pub use receive::Receive;
