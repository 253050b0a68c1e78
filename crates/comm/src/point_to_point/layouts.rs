//! Messages of elements that do not lie in a row.

use crate::{CommError, Communicator, Dest, Layout, Plain, Source, Status, Tag, TagMatch};
use std::future::Future;

/// # Layouts
impl Communicator {
    /// Sends the elements of a layout of an array, as one message of numbers: a send of a derived
    /// datatype of MPI.
    ///
    /// # Errors
    /// As [`Communicator::send_slice`]; [`CommError::Arguments`] when the array is too short.
    ///
    /// ```
    /// use motet_comm::{CommError, Layout, World};
    ///
    /// // A column of one matrix becomes a row of another.
    /// let got = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut matrix = [0, 1, 2, 3];
    ///         let column = Layout::vector(2, 1, 2)?;
    ///         if comm.rank() == 0 {
    ///             comm.send_layout(1, 0, &matrix, &column).await?;
    ///         } else {
    ///             comm.recv_layout(&mut matrix, &Layout::contiguous(2), 0, 0).await?;
    ///         }
    ///         Ok(matrix)
    ///     })
    ///     .unwrap();
    /// assert_eq!(got[1], [0, 2, 2, 3]);
    /// ```
    #[track_caller]
    pub fn send_layout<T: Plain>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        array: &[T],
        layout: &Layout,
    ) -> impl Future<Output = Result<(), CommError>> {
        // Not in a closure: that does not know the caller.
        let sent = match layout.gather(array) {
            Ok(elements) => Ok(self.send(dest, tag, elements)),
            Err(refused) => Err(refused),
        };
        async move { sent?.await }
    }

    /// Receives numbers into the places of a layout of an array; who has sent them, with which tag.
    /// The message has as many elements as the layout.
    ///
    /// # Errors
    /// As [`Communicator::recv`]; [`CommError::Arguments`] when the array is too short, or the
    /// message has not as many elements; the message is then lost.
    #[track_caller]
    pub fn recv_layout<T: Plain>(
        &self,
        array: &mut [T],
        layout: &Layout,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<Status, CommError>> {
        let fits = layout.fits(array.len());
        let received = self.recv_with_status::<Vec<T>>(source, tag);
        async move {
            fits?;
            let (elements, status) = received.await?;
            layout.scatter(&elements, array)?;
            Ok(status)
        }
    }
}
