//! Where a rank puts what comes.

use crate::buffer_pool::PooledBuffer;
use std::ops::{Deref, DerefMut};

/// The caller's, or the call's own.
pub(crate) enum ExchangeBuffer<'c, T> {
    There(&'c mut [T]),
    /// The call gives it to nobody.
    Own(PooledBuffer<T>),
}

impl<T> Deref for ExchangeBuffer<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            ExchangeBuffer::There(room) => room,
            ExchangeBuffer::Own(room) => room,
        }
    }
}

impl<T> DerefMut for ExchangeBuffer<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            ExchangeBuffer::There(room) => room,
            ExchangeBuffer::Own(room) => room,
        }
    }
}
