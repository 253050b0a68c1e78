//! What a rank does to the windows of others: put, get, accumulate, fetch, swap.

use crate::answers::WindowAnswer;
use crate::head::{Act, Head};
use crate::{Number, Op, Window, WindowError};
use motet_comm::{CommError, Layout, Plain, Tag};
use std::future::Future;

/// # Access
///
/// Every call checks the window of its target first: what does not lie in it is refused, and
/// nothing is accessed.
impl<T: Plain> Window<T> {
    /// Puts numbers into the window of a rank, from `offset` on (MPI_PUT).
    ///
    /// # Errors
    /// [`WindowError::Beyond`]; [`WindowError::Closed`] of a rank of this process;
    /// [`WindowError::Comm`]: no such rank.
    pub async fn put(&self, rank: usize, offset: usize, numbers: &[T]) -> Result<(), WindowError> {
        self.part(rank, offset, numbers.len())?;
        match self.memory_of(rank) {
            Some(memory) => {
                let part = (offset, numbers.len());
                let put = |there: &mut [T]| there.copy_from_slice(numbers);
                self.access(memory, part, put).await
            }
            None => self.ask(
                rank,
                self.head(Act::Put, offset),
                bytemuck::cast_slice(numbers),
            ),
        }
    }

    /// A copy of so many numbers of the window of a rank, from `offset` on (MPI_GET).
    ///
    /// # Errors
    /// [`WindowError::Beyond`]; [`WindowError::Closed`]; [`WindowError::Comm`].
    #[track_caller]
    pub fn get(
        &self,
        rank: usize,
        offset: usize,
        length: usize,
    ) -> impl Future<Output = Result<Vec<T>, WindowError>> {
        let tag = self.next_tag();
        let answer = self.comm.recv::<Vec<T>>(rank, tag);
        async move {
            self.part(rank, offset, length)?;
            if let Some(memory) = self.memory_of(rank) {
                let copy = |there: &mut [T]| there.to_vec();
                return self.access(memory, (offset, length), copy).await;
            }
            let head = self.answered(self.head(Act::Get, offset), tag);
            self.ask(rank, head, &(length as u64).to_le_bytes())?;
            let answer = self.left.or_leave(WindowAnswer::numbers(rank, tag), answer);
            whole(answer.await?, rank, length)
        }
    }

    /// As [`Window::get`], into `room`, as many as it has place for.
    ///
    /// # Errors
    /// As [`Window::get`].
    #[track_caller]
    pub fn get_into(
        &self,
        rank: usize,
        offset: usize,
        room: &mut [T],
    ) -> impl Future<Output = Result<(), WindowError>> {
        let got = self.get(rank, offset, room.len());
        async move {
            if let Some(memory) = self.memory_of(rank) {
                let part = (offset, room.len());
                let copy = |there: &mut [T]| room.copy_from_slice(there);
                return self.access(memory, part, copy).await;
            }
            room.copy_from_slice(&got.await?);
            Ok(())
        }
    }

    /// Puts elements into the places of a layout that begins at `offset` of the window of a rank: a
    /// put of a derived datatype.
    /// [`Layout::gather`] gives those of an array here.
    ///
    /// # Errors
    /// As [`Window::put`]; [`WindowError::Comm`] when the layout has not as many elements. Nothing
    /// is put then.
    pub async fn put_layout(
        &self,
        rank: usize,
        offset: usize,
        elements: &[T],
        layout: &Layout,
    ) -> Result<(), WindowError> {
        self.part(rank, offset, layout.reach())?;
        if elements.len() != layout.len() {
            let (given, has) = (elements.len(), layout.len());
            let problem = format!("put_layout: {given} elements for a layout of {has}");
            return Err(CommError::Arguments { problem }.into());
        }
        let mut rest = elements;
        for block in layout.blocks() {
            let (these, others) = rest.split_at(block.len());
            self.put(rank, offset + block.start, these).await?;
            rest = others;
        }
        Ok(())
    }

    /// The elements of a layout that begins at `offset` of the window of a rank: a get of a derived
    /// datatype.
    /// [`Layout::scatter`] puts them into an array here.
    ///
    /// # Errors
    /// As [`Window::get`].
    #[track_caller]
    pub fn get_layout(
        &self,
        rank: usize,
        offset: usize,
        layout: &Layout,
    ) -> impl Future<Output = Result<Vec<T>, WindowError>> {
        let whole = self.get(rank, offset, layout.reach());
        async move { Ok(layout.gather(&whole.await?)?) }
    }

    /// Puts `new` at `offset` of the window of a rank if what is there has the bytes of `expected`;
    /// what was there (MPI_COMPARE_AND_SWAP). It was done if that has the bytes of `expected`.
    ///
    /// # Errors
    /// As [`Window::get`].
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_window::{Window, WindowError};
    ///
    /// // All want to be the first; one is.
    /// let firsts = World::threads(4)
    ///     .run(async |comm| -> Result<_, WindowError> {
    ///         let window = Window::create(&comm, vec![-1_i64]).await?;
    ///         let before = window.compare_and_swap(0, 0, -1, comm.rank() as i64).await?;
    ///         window.free().await?;
    ///         Ok(before == -1)
    ///     })
    ///     .unwrap();
    /// assert_eq!(firsts.iter().filter(|first| **first).count(), 1);
    /// ```
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        rank: usize,
        offset: usize,
        expected: T,
        new: T,
    ) -> impl Future<Output = Result<T, WindowError>> {
        let tag = self.next_tag();
        let answer = self.comm.recv::<Vec<T>>(rank, tag);
        async move {
            self.part(rank, offset, 1)?;
            if let Some(memory) = self.memory_of(rank) {
                let swap = |there: &mut [T]| {
                    let before = there[0];
                    if bytemuck::bytes_of(&before) == bytemuck::bytes_of(&expected) {
                        there[0] = new;
                    }
                    before
                };
                return self.access(memory, (offset, 1), swap).await;
            }
            let head = self.answered(self.head(Act::Swap, offset), tag);
            self.ask(rank, head, bytemuck::cast_slice(&[expected, new]))?;
            Ok(self.changed((rank, tag), 1, answer).await?[0])
        }
    }

    /// The answer to the change that was asked last.
    async fn changed(
        &self,
        (rank, tag): (usize, Tag),
        length: usize,
        answer: impl Future<Output = Result<Vec<T>, CommError>>,
    ) -> Result<Vec<T>, WindowError> {
        let asked = self.pending.asked(rank);
        let answer = self.left.or_leave(WindowAnswer::numbers(rank, tag), answer);
        let before = whole(answer.await?, rank, length)?;
        // What was asked before is done too.
        self.pending.are_done(rank, asked);
        Ok(before)
    }

    /// With an answer that comes with this tag.
    fn answered(&self, head: Head, tag: Tag) -> Head {
        Head { tag, ..head }
    }
}

impl<T: Number> Window<T> {
    /// Combines numbers with those in the window of a rank, from `offset` on (MPI_ACCUMULATE).
    ///
    /// # Errors
    /// As [`Window::put`]; [`WindowError::Operation`].
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_window::{Op, Window, WindowError};
    ///
    /// let sums = World::threads(4)
    ///     .run(async |comm| -> Result<_, WindowError> {
    ///         let window = Window::create(&comm, vec![0.0, 100.0]).await?;
    ///         window.accumulate(0, 1, &[comm.rank() as f64], Op::Sum).await?;
    ///         window.free().await
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums[0], [0.0, 106.0]);
    /// ```
    pub async fn accumulate(
        &self,
        rank: usize,
        offset: usize,
        numbers: &[T],
        op: Op,
    ) -> Result<(), WindowError> {
        self.part(rank, offset, numbers.len())?;
        has::<T>(op)?;
        match self.memory_of(rank) {
            Some(memory) => {
                let part = (offset, numbers.len());
                let change = |there: &mut [T]| combine(there, numbers, op);
                self.access(memory, part, change).await
            }
            None => {
                let head = self.combined(Act::Accumulate, offset, op);
                self.ask(rank, head, bytemuck::cast_slice(numbers))
            }
        }
    }

    /// As [`Window::accumulate`], and gives what was there (MPI_GET_ACCUMULATE). All of it is one
    /// atomic step.
    ///
    /// # Errors
    /// As [`Window::get`]; [`WindowError::Operation`].
    #[track_caller]
    pub fn get_accumulate(
        &self,
        rank: usize,
        offset: usize,
        numbers: &[T],
        op: Op,
    ) -> impl Future<Output = Result<Vec<T>, WindowError>> {
        let tag = self.next_tag();
        let answer = self.comm.recv::<Vec<T>>(rank, tag);
        async move {
            self.part(rank, offset, numbers.len())?;
            has::<T>(op)?;
            if let Some(memory) = self.memory_of(rank) {
                let change = |there: &mut [T]| {
                    let before = there.to_vec();
                    combine(there, numbers, op);
                    before
                };
                return self.access(memory, (offset, numbers.len()), change).await;
            }
            let head = self.answered(self.combined(Act::Fetch, offset, op), tag);
            self.ask(rank, head, bytemuck::cast_slice(numbers))?;
            self.changed((rank, tag), numbers.len(), answer).await
        }
    }

    /// As [`Window::get_accumulate`], with one number (MPI_FETCH_AND_OP).
    ///
    /// # Errors
    /// As [`Window::get_accumulate`].
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_window::{Op, Window, WindowError};
    ///
    /// // Each rank takes tickets from a counter at rank 0: none is given twice.
    /// let mut tickets = World::threads(3)
    ///     .run(async |comm| -> Result<_, WindowError> {
    ///         let counter = Window::create(&comm, vec![0_u64]).await?;
    ///         let first = counter.fetch_and_op(0, 0, 1, Op::Sum).await?;
    ///         let second = counter.fetch_and_op(0, 0, 1, Op::Sum).await?;
    ///         counter.free().await?;
    ///         Ok([first, second])
    ///     })
    ///     .unwrap()
    ///     .concat();
    /// tickets.sort_unstable();
    /// assert_eq!(tickets, [0, 1, 2, 3, 4, 5]);
    /// ```
    #[track_caller]
    pub fn fetch_and_op(
        &self,
        rank: usize,
        offset: usize,
        number: T,
        op: Op,
    ) -> impl Future<Output = Result<T, WindowError>> {
        let tag = self.next_tag();
        let answer = self.comm.recv::<Vec<T>>(rank, tag);
        async move {
            self.part(rank, offset, 1)?;
            has::<T>(op)?;
            if let Some(memory) = self.memory_of(rank) {
                let change = |there: &mut [T]| {
                    let before = there[0];
                    combine(there, &[number], op);
                    before
                };
                return self.access(memory, (offset, 1), change).await;
            }
            let head = self.answered(self.combined(Act::Fetch, offset, op), tag);
            self.ask(rank, head, bytemuck::bytes_of(&number))?;
            Ok(self.changed((rank, tag), 1, answer).await?[0])
        }
    }

    fn combined(&self, act: Act, offset: usize, op: Op) -> Head {
        let (op, kind) = (op as u8, T::KIND);
        let head = self.head(act, offset);
        Head { op, kind, ..head }
    }
}

fn has<T: Number>(op: Op) -> Result<(), WindowError> {
    let zero = T::zeroed();
    let type_name = std::any::type_name::<T>();
    let combined = T::combined(op, zero, zero).map(drop);
    combined.ok_or(WindowError::Operation { op, type_name })
}

fn combine<T: Number>(there: &mut [T], brought: &[T], op: Op) {
    for (there, &brought) in there.iter_mut().zip(brought) {
        if let Some(combined) = T::combined(op, *there, brought) {
            *there = combined;
        }
    }
}

/// Other than as many numbers as were asked for come from a window that is closed.
fn whole<T>(numbers: Vec<T>, rank: usize, length: usize) -> Result<Vec<T>, WindowError> {
    match numbers.len() == length {
        true => Ok(numbers),
        false => Err(WindowError::Closed { rank }),
    }
}
