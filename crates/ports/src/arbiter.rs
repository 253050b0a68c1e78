//! Arbiters: the ties between what ports hold and the handlers that run. One file each.

mod from_handler;
mod join_core;
mod join_gate;
mod join_seat;
mod joined_receive;
mod multiple_item_gather;
mod multiple_item_receive;
mod multiple_port_receive;
mod part;
mod place;
mod receive;
mod row;
mod rule;
mod seats;

pub use from_handler::FromHandler;
pub use joined_receive::JoinedReceive;
pub use multiple_item_gather::MultipleItemGather;
pub use multiple_item_receive::MultipleItemReceive;
pub use multiple_port_receive::MultiplePortReceive;
pub use part::{Batch, IntoPart, Part};
pub use receive::Receive;
pub use seats::{IntoParts, IntoRow, IntoShares, Kit};
