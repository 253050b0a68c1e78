//! Plain numbers: what slices of may be sent and received in place.

use crate::Value;

/// A plain number, or a few of them in a row: slices of them are copied straight into the
/// receiver's memory.
///
/// That is every type of which any bytes are a value and which has no others
/// ([`Pod`](https://docs.rs/bytemuck/latest/bytemuck/trait.Pod.html)), and that is a [`Value`].
///
/// The trait is there by itself; nobody implements it.
pub trait Plain: bytemuck::Pod + Value + Sync {}

impl<T: bytemuck::Pod + Value + Sync> Plain for T {}
