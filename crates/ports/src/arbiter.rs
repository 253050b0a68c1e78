//! Arbiters: the ties between what ports hold and the handlers that run. One file each.

mod after;
mod choice;
mod from_handler;
mod is_ready;
mod joined_receive;
mod multiple_item_receive;
mod place;
mod receive;

pub use after::After;
pub(crate) use choice::Branches;
pub use choice::Choice;
pub use from_handler::FromHandler;
pub(crate) use is_ready::IsReady;
pub use joined_receive::JoinedReceive;
pub use multiple_item_receive::MultipleItemReceive;
pub use receive::Receive;
