//! What a run of ranks tells about itself: who waits for whom, and where the time went.
//!
//! The types are plain data and need no communicator. `motet-comm` fills them in, sends them
//! between processes and gives them on to programs.
//!
//! - Depends on: `motet-sync`.
//! - Used by: `motet-comm`.
//!
//! ```text
//!  a rank sleeps ──► Why ──┬─► WaitReport   every rank waits: why the run was ended
//!                          └─► WaitGraph    somebody asks while it runs: collectives, cycles
//!  a rank calls ───► Recorder ─► RankProfile ─► Profile ─► Overhead, OverheadModel
//! ```
//!
//! | to … | use |
//! |---|---|
//! | name a message's sender, receiver and tag | [`Source`], [`Dest`], [`Tag`], [`TagMatch`] |
//! | say what a rank waits for | [`Wait`], [`WaitOperation`], [`CallSite`] |
//! | report a run that goes on no more | [`WaitReport`] |
//! | show who waits for whom | [`WaitGraph`] |
//! | record where the time of a rank goes | [`Recorder`] |
//! | explain the time of a run | [`Profile`], [`Overhead`], [`OverheadModel`], [`Imbalance`] |
//!
//! ```
//! use motet_trace::{ANY_TAG, WaitOperation, Source};
//!
//! let recv = WaitOperation::Recv { source: Source::Rank(3), tag: ANY_TAG };
//! assert_eq!(recv.to_string(), "recv(source 3, any tag)");
//! ```
//!
//! Read next: `report.rs`, `report/graph.rs`, `profile/recorder.rs`, `profile/overhead.rs`.

mod address;
mod call_site;
mod known;
mod profile;
mod report;

pub use address::{ANY_SOURCE, ANY_TAG, Dest, OUTSIDE, Source, Status, Tag, TagMatch, sender};
pub use call_site::CallSite;
pub use known::known;
pub use profile::{
    Called, EnteredCall, Imbalance, Overhead, OverheadModel, Profile, ProfileClock, RankProfile,
    Recorder, StageProfile,
};
pub use report::graph::{CollectiveNow, RankNow, WaitGraph, WaitNow};
pub use report::{Members, RankState, Unmatched, Wait, WaitOperation, WaitReport, Why};
