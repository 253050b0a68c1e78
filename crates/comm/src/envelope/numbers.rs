//! Messages of plain numbers, which are received where they shall be.

use super::{Context, Envelope, OnMessage, Payload};
use crate::Plain;
use crate::address::Status;
use crate::rendezvous_copy::Borrowed;
use crate::wire::{Of, decode, plain_numbers};
use std::borrow::Cow;
use std::panic::Location;

/// Why numbers were not copied.
pub(crate) enum NotCopied {
    /// There are so many, which do not fit.
    TooMany(usize),
    /// As [`Envelope::open`] says it.
    Unopened(Option<String>),
}

impl Envelope {
    /// A message of numbers that are exposed.
    pub(crate) fn exposed<T: Plain>(
        context: Context,
        status: Status,
        location: &'static Location<'static>,
        numbers: Borrowed,
    ) -> Self {
        let label = OnMessage {
            here: Some((Of::<Vec<T>>::TYPE, location)),
            length: numbers.length(),
        };
        Envelope {
            context,
            status,
            label,
            receipt: None,
            payload: Payload::SharedBuffer(Box::new(numbers)),
            place: 0,
        }
    }

    /// Copies the numbers inside to the beginning of `room`, and says how many they were; a vector
    /// that was written is read for it. If there are more than fit, the error is their number, and
    /// they stay inside; else it is that of [`Envelope::open`].
    pub(crate) fn copy_numbers<T: Plain>(
        self,
        room: &mut [T],
    ) -> Result<usize, Box<(Self, NotCopied)>> {
        if !self.holds::<Vec<T>>() {
            return Err(Box::new((self, NotCopied::Unopened(None))));
        }
        let copied = match &self.payload {
            Payload::Here(value) => {
                let numbers = value.any().downcast_ref::<Vec<T>>();
                copy(numbers.expect("it holds numbers"), room)
            }
            Payload::Written(written) => match read(written.value.all()) {
                Ok(numbers) => copy(&numbers, room),
                Err(reason) => return Err(Box::new((self, NotCopied::Unopened(Some(reason))))),
            },
            Payload::SharedBuffer(numbers) => match numbers.length() {
                length if length <= room.len() => Ok(length),
                length => Err(length),
            },
        };
        match (copied, self.payload) {
            (Ok(length), Payload::SharedBuffer(numbers)) => {
                numbers.fetch(&mut room[..length]);
                Ok(length)
            }
            (Ok(length), _) => Ok(length),
            (Err(length), payload) => {
                let envelope = Envelope { payload, ..self };
                Err(Box::new((envelope, NotCopied::TooMany(length))))
            }
        }
    }
}

/// The numbers of a vector from another process, where they lie if they can be read there.
fn read<T: Plain>(bytes: &[u8]) -> Result<Cow<'_, [T]>, String> {
    plain_numbers(bytes).unwrap_or_else(|| decode::<Vec<T>>(bytes).map(Cow::Owned))
}

fn copy<T: Copy>(numbers: &[T], room: &mut [T]) -> Result<usize, usize> {
    match room.get_mut(..numbers.len()) {
        Some(room) => {
            room.copy_from_slice(numbers);
            Ok(numbers.len())
        }
        None => Err(numbers.len()),
    }
}
