//! Arbiters: the ties between what ports hold and the handlers that run. One file each.

mod after;
mod any_input;
mod batch;
mod choice;
mod from_handler;
mod input_list;
mod inputs;
mod interleave;
mod is_ready;
mod join_core;
mod join_gate;
mod join_input;
mod join_report;
mod joined_receive;
mod limited;
mod missing_hint;
mod multiple_item_gather;
mod multiple_item_receive;
mod multiple_port_receive;
mod one_each;
mod part;
mod patience;
mod port_place;
mod receive;
mod rule;
mod source;

pub use after::After;
pub use choice::Choice;
pub(crate) use choice::{Branches, HeldBranches, Kept, Visit};
pub use from_handler::FromHandler;
pub(crate) use inputs::KeptPorts as JoinPorts;
pub use inputs::{IntoPartList, IntoParts, IntoShares, JoinInputs};
pub use interleave::{
    ActiveInterleave, CombineError, EnteredInterleave, Exclusive, Fairness, Interleave,
    SentInterleave, SharedState, StatefulInterleave,
};
pub(crate) use is_ready::IsReady;
pub use joined_receive::JoinedReceive;
pub use multiple_item_gather::MultipleItemGather;
pub use multiple_item_receive::MultipleItemReceive;
pub use multiple_port_receive::MultiplePortReceive;
pub use part::{Batch, IntoPart, Part};
pub use receive::Receive;
pub use source::{IntoMemberSource, MemberSource};
