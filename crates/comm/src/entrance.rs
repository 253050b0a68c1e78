//! Entrances: messages to a rank that no rank sends.

use crate::address::Status;
use crate::envelope::{Envelope, MessageKind, Receipt, ReceiptSlots};
use crate::fabric::{Door, LocalRanks};
use crate::{CommError, Communicator, Tag, Value};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// A way for messages to one rank from any thread: a topic, a timer, a client. Clones lead to the
/// same rank.
///
/// The rank receives them as others: `recv(ANY_SOURCE, tag)`, or `recv(OUTSIDE, tag)` for these
/// only. Their [`Status::rank`] is `None`. At most `capacity` of them have not been received; a
/// further one is refused, or waits.
///
/// While an entrance is open, a rank that waits for a message that may come through it is not
/// stuck. Nor are the ranks that wait for that rank. The entrance closes when its last clone is
/// dropped, or the rank ends.
pub struct Entrance<T> {
    inner: Arc<Inner>,
    _value: PhantomData<fn(T)>,
}

struct Inner {
    door: Arc<Door>,
    local: Weak<LocalRanks>,
    push: fn(&LocalRanks, usize, Envelope),
    location: &'static Location<'static>,
}

/// A message that has not gone in; it is handed back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntranceError<T> {
    /// So many messages as there may be have not been received.
    Full(T),
    /// The rank has ended.
    Closed(T),
}

impl Communicator {
    /// Opens an entrance to this rank, for messages with `tag` of this communicator. `note` says in
    /// reports what comes through it; it is called from other threads, and does not wait.
    ///
    /// # Errors
    /// [`CommError::Arguments`]: `capacity` is 0, or the world is
    /// [`World::solo`](crate::World::solo), whose rank other threads cannot reach.
    ///
    /// ```
    /// use motet_comm::{ANY_SOURCE, CommError, Status, World};
    ///
    /// let got = World::threads(1)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let entrance = comm.entrance::<u32>(7, 16, || "a clock".to_owned())?;
    ///         std::thread::spawn(move || entrance.post(5).unwrap());
    ///         comm.recv_with_status::<u32>(ANY_SOURCE, 7).await
    ///     })
    ///     .unwrap();
    /// let (value, status) = got[0];
    /// assert_eq!((value, status.rank(), status.source), (5, None, Status::NO_RANK));
    /// ```
    #[track_caller]
    pub fn entrance<T: Value>(
        &self,
        tag: Tag,
        capacity: usize,
        note: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Entrance<T>, CommError> {
        let refused = |problem: &str| CommError::Arguments {
            problem: format!("entrance: {problem}"),
        };
        if capacity == 0 {
            return Err(refused("its capacity is 0; give at least 1"));
        }
        let Some((local, place, push)) = self.fabric().inside() else {
            return Err(refused(
                "other threads cannot reach the rank of World::solo; use World::threads(1)",
            ));
        };
        let location = Location::caller();
        let door = Arc::new(Door {
            place,
            context: self.context(MessageKind::User),
            tag,
            room: Arc::new(ReceiptSlots::new(capacity)),
            site: location.into(),
            note: Box::new(note),
        });
        local.entrances.add(&door);
        let inner = Inner {
            door,
            local: Arc::downgrade(local),
            push,
            location,
        };
        Ok(Entrance {
            inner: Arc::new(inner),
            _value: PhantomData,
        })
    }
}

impl<T: Value> Entrance<T> {
    /// Sends a message to the rank, if there is room. Does not wait.
    ///
    /// # Errors
    /// [`EntranceError`], with the value.
    pub fn post(&self, value: T) -> Result<(), EntranceError<T>> {
        let room = &self.inner.door.room;
        if room.is_closed() {
            return Err(EntranceError::Closed(value));
        }
        match room.free.test() {
            None => Err(EntranceError::Full(value)),
            Some(()) => self.go_in(value),
        }
    }

    /// As [`Entrance::post`], and waits for room.
    ///
    /// # Cancellation
    /// Dropping the future sends nothing.
    ///
    /// # Errors
    /// [`EntranceError::Closed`], with the value.
    pub async fn post_wait(&self, value: T) -> Result<(), EntranceError<T>> {
        let room = &self.inner.door.room;
        if room.is_closed() {
            return Err(EntranceError::Closed(value));
        }
        room.free.recv().await;
        self.go_in(value)
    }

    /// Whether the rank has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.door.room.is_closed()
    }

    /// The message has a place, or what stands for one when the entrance is closed.
    fn go_in(&self, value: T) -> Result<(), EntranceError<T>> {
        let Inner {
            door,
            local,
            push,
            location,
        } = &*self.inner;
        let open = !door.room.is_closed();
        let Some(local) = local.upgrade().filter(|_| open) else {
            // The next who waits finds out too.
            door.room.leave();
            return Err(EntranceError::Closed(value));
        };
        let status = Status {
            source: Status::NO_RANK,
            tag: door.tag,
        };
        let mut message = Envelope::new(door.context, status, location, value);
        message.receipt = Some(Arc::new(Receipt::in_room(&door.room)));
        push(&local, door.place, message);
        Ok(())
    }
}

impl Drop for Inner {
    /// Ranks may be stuck without it: one of them looks.
    fn drop(&mut self) {
        if let Some(local) = self.local.upgrade() {
            local.entrances.remove(&self.door);
            local.slot(self.door.place).wake();
        }
    }
}

impl<T> Clone for Entrance<T> {
    fn clone(&self) -> Self {
        Entrance {
            inner: Arc::clone(&self.inner),
            _value: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Entrance<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entrance").field(&self.inner.door).finish()
    }
}

impl<T> EntranceError<T> {
    /// The value.
    #[must_use]
    pub fn into_value(self) -> T {
        match self {
            EntranceError::Full(value) | EntranceError::Closed(value) => value,
        }
    }
}

impl<T> fmt::Display for EntranceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EntranceError::Full(_) => {
                "the rank has not received what came before: the entrance is full"
            }
            EntranceError::Closed(_) => "the rank has ended: its entrance is closed",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for EntranceError<T> {}
