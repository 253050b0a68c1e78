//! Where a rank puts what comes.

use crate::buffer_pool::Parcel;
use std::ops::{Deref, DerefMut};

/// The caller's, or the call's own.
pub(crate) enum Room<'c, T> {
    There(&'c mut [T]),
    /// The call gives it to nobody.
    Own(Parcel<T>),
}

impl<T> Deref for Room<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Room::There(room) => room,
            Room::Own(room) => room,
        }
    }
}

impl<T> DerefMut for Room<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Room::There(room) => room,
            Room::Own(room) => room,
        }
    }
}
