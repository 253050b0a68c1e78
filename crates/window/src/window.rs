//! The window: made, looked at by its own rank, and freed.

use crate::WindowError;
use crate::answers::LeftAnswers;
use crate::head::{Act, Head};
use crate::memory::{WindowMemory, part};
use crate::pending::PendingChanges;
use crate::region::Region;
use crate::site::WindowSite;
use crate::turns::{Turn, Turns, give_way};
use motet_comm::{CommError, Communicator, Delegate, Local, Plain, Tag};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// Numbers of this rank that the others of a communicator read, write and lock, and this rank's way
/// to theirs.
///
/// An operation on the window of a rank of the same process is done when its future has ended.
/// Where all processes are of one machine and share memory, that holds of all ranks. Else one on
/// a rank of another process goes there at once and is carried out there without that rank, also
/// while it computes. A [`fence`](Window::fence), a [`flush`](Window::flush), an unlock, or its
/// own result if it has one, says that it is done. Operations of one rank on one window are carried
/// out in order. Each element is accessed whole; an accumulate, a fetch and a swap are atomic.
///
/// It must be [freed](Window::free) by all ranks together. Who drops it instead leaves the others
/// alone with their calls.
///
/// # Cancellation
/// A put or accumulate is sent when its future is first polled, or not at all. (Where processes
/// share memory and another one uses the numbers it waits for that, and takes place then. This
/// rank's later accesses take place behind it: it is to be polled on, or dropped.) Dropping the
/// future of a fetch, swap or get after that leaves it to be carried out, and its result is lost.
/// Dropping that of `fence`, or of `free`, leaves this rank out of step.
pub struct Window<T: Plain> {
    /// The window's own.
    pub(crate) comm: Communicator,
    pub(crate) site: Arc<WindowSite<T>>,
    pub(crate) own: Arc<Region<T>>,
    pub(crate) delegate: Arc<Delegate>,
    /// The numbers of all ranks, where they share memory; else none.
    shared: Vec<WindowMemory<T>>,
    /// How many elements each rank has.
    lengths: Vec<usize>,
    /// The process of each rank.
    pub(crate) process_of: Vec<usize>,
    pub(crate) processes: usize,
    /// How many fences this rank has come to.
    pub(crate) epoch: Cell<u32>,
    /// Messages to each process since the last one.
    pub(crate) sent: RefCell<Vec<u64>>,
    /// What was changed in other processes, and what of it is known to be done.
    pub(crate) pending: PendingChanges,
    /// Ranks that this one has locked, or waits to lock.
    pub(crate) locked: RefCell<BTreeSet<usize>>,
    /// Answers so far.
    tags: Cell<Tag>,
    /// Those of calls that were given up.
    pub(crate) left: LeftAnswers,
    /// Accesses that wait for numbers which another process uses.
    turns: Turns,
}

/// Tags above are for what is not an answer.
pub(crate) const TAGS: Tag = Tag::MAX - 16;

impl<T: Plain> Window<T> {
    /// Makes a window of `numbers`, with all ranks of the communicator, each of which gives its
    /// own, of any length (MPI_WIN_CREATE, MPI_WIN_ALLOCATE). Offsets count elements.
    ///
    /// # Errors
    /// [`WindowError::Comm`].
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_window::{Window, WindowError};
    ///
    /// let got = World::threads(3)
    ///     .run(async |comm| -> Result<_, WindowError> {
    ///         let window = Window::create(&comm, vec![0; 3]).await?;
    ///         for rank in 0..comm.size() {
    ///             window.put(rank, comm.rank(), &[10 + comm.rank()]).await?;
    ///         }
    ///         window.fence().await?;
    ///         window.free().await
    ///     })
    ///     .unwrap();
    /// assert_eq!(got, vec![vec![10, 11, 12]; 3]);
    /// ```
    #[track_caller]
    pub fn create(
        comm: &Communicator,
        numbers: Vec<T>,
    ) -> impl Future<Output = Result<Self, WindowError>> {
        let called = comm.called_from(Location::caller());
        called.run(Window::made(comm, numbers))
    }

    async fn made(comm: &Communicator, numbers: Vec<T>) -> Result<Self, WindowError> {
        let comm = comm.dup().await?;
        let (rank, length) = (comm.rank(), numbers.len());
        let (memory, shared) = WindowMemory::of_all(&comm, numbers).await?;
        let own = Arc::new(Region::new(rank, memory));
        let site = Window::meet(&comm, &own).await?;
        let asked_site = Arc::clone(&site);
        let delegate = comm.delegate(move |asked| asked_site.asked(rank, asked))?;
        let delegate = Arc::new(delegate);
        own.speak_by(Arc::clone(&delegate));
        // Nobody leaves this before all have their delegates.
        let lengths = comm.allgather(length).await?;
        let process_of: Result<Vec<usize>, CommError> =
            (0..comm.size()).map(|rank| comm.process_of(rank)).collect();
        let process_of = process_of?;
        let processes = process_of.iter().max().map_or(1, |last| last + 1);
        let here = process_of[rank];
        let alone = process_of.iter().all(|process| *process == here);
        let processes = if alone { 1 } else { processes };
        Ok(Window {
            comm,
            site,
            own,
            delegate,
            shared,
            lengths,
            process_of,
            processes,
            epoch: Cell::new(0),
            sent: RefCell::new(vec![0; processes]),
            pending: PendingChanges::default(),
            locked: RefCell::default(),
            tags: Cell::new(0),
            left: LeftAnswers::default(),
            turns: Turns::default(),
        })
    }

    /// What the ranks of this process share.
    async fn meet(
        comm: &Communicator,
        own: &Arc<Region<T>>,
    ) -> Result<Arc<WindowSite<T>>, CommError> {
        // Messages: a collective over several processes writes what it is given, also inside one of
        // them.
        let near = comm.split_by_process().await?;
        if near.rank() > 0 {
            near.send(0, 0, Local(Arc::clone(own))).await?;
            let Local(site) = near.recv(0, 0).await?;
            return Ok(site);
        }
        let mut regions = vec![Arc::clone(own)];
        for rank in 1..near.size() {
            let Local(region) = near.recv(rank, 0).await?;
            regions.push(region);
        }
        let site = Arc::new(WindowSite::new(regions));
        for rank in 1..near.size() {
            near.send(rank, 0, Local(Arc::clone(&site))).await?;
        }
        Ok(site)
    }

    /// This rank, in the communicator.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.comm.rank()
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.comm.size()
    }

    /// How many elements the window of a rank has.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn length_of(&self, rank: usize) -> usize {
        self.lengths[rank]
    }

    /// Has `look` look at this rank's own numbers, while nobody changes them. It is short: whoever
    /// accesses them waits for it, in this process on its thread. What others have put is there
    /// after the call that says so.
    ///
    /// # Panics
    /// When `look` panics. A call of a window inside it blocks the thread for ever. Over several
    /// processes so may one of a communicator, by which what others ask of this window comes.
    pub fn with<R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        let seen = self.own_memory().with(|numbers| look(numbers));
        seen.expect("its owner has not freed it")
    }

    /// As [`Window::with`], to change them.
    ///
    /// # Panics
    /// As [`Window::with`].
    pub fn with_mut<R>(&self, change: impl FnOnce(&mut [T]) -> R) -> R {
        let changed = self.own_memory().with(|numbers| change(numbers));
        changed.expect("its owner has not freed it")
    }

    /// As [`Window::with`], of the numbers of another rank of this process, where they lie, or of
    /// any rank if all share memory (MPI_WIN_SHARED_QUERY).
    ///
    /// # Errors
    /// [`WindowError::Elsewhere`] when it lives in another process and shares no memory;
    /// [`WindowError::Closed`]; [`WindowError::Comm`].
    ///
    /// # Panics
    /// As [`Window::with`].
    pub fn with_rank<R>(
        &self,
        rank: usize,
        look: impl FnOnce(&[T]) -> R,
    ) -> Result<R, WindowError> {
        self.part(rank, 0, 0)?;
        let memory = self.memory_of(rank).ok_or(WindowError::Elsewhere {
            rank,
            process: self.process_of[rank],
        })?;
        memory.with(|numbers| look(numbers))
    }

    /// Ends the window when all ranks have called this, and all operations on it are done, and
    /// gives the numbers back (MPI_WIN_FREE).
    ///
    /// # Errors
    /// [`WindowError::Locked`] when this rank holds a lock; [`WindowError::Comm`].
    #[track_caller]
    pub fn free(self) -> impl Future<Output = Result<Vec<T>, WindowError>> {
        let called = self.comm.called_from(Location::caller());
        called.run(self.freed())
    }

    async fn freed(self) -> Result<Vec<T>, WindowError> {
        if let Some(&rank) = self.locked.borrow().first() {
            return Err(WindowError::Locked { rank });
        }
        self.left.take_all::<T>(&self.comm).await?;
        self.met(self.comm.barrier()).await?;
        // Nobody asks any more: all have left the fence, or wait for nothing but what is here.
        self.comm.barrier().await?;
        let numbers = self.own_memory().close();
        self.own.fall_silent();
        Ok(numbers.expect("its owner has not freed it"))
    }

    /// The numbers of this rank.
    fn own_memory(&self) -> &WindowMemory<T> {
        self.shared.get(self.rank()).unwrap_or(&self.own.memory)
    }

    /// The numbers of a rank, if they can be used from here.
    #[inline]
    pub(crate) fn memory_of(&self, rank: usize) -> Option<&WindowMemory<T>> {
        match self.shares_memory() {
            true => self.shared.get(rank),
            false => self.site.region(rank).map(|region| &region.memory),
        }
    }

    /// Has `use_it` use a part of numbers that can be used from here. Where another process uses
    /// them for long the other ranks of this thread go on meanwhile.
    pub(crate) async fn access<R>(
        &self,
        memory: &WindowMemory<T>,
        (offset, length): (usize, usize),
        use_it: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, WindowError> {
        if !self.shares_memory() {
            return memory.with_part(offset, length, use_it);
        }
        let rank = memory.rank();
        let mut act = move |numbers: &mut [T]| -> Result<R, WindowError> {
            let range = part(rank, numbers.len(), offset, length)?;
            Ok(use_it(&mut numbers[range]))
        };
        let mut turn: Option<Turn<'_>> = None;
        loop {
            let is_next = turn.as_ref().map_or(self.turns.is_free(), Turn::is_next);
            if is_next {
                match memory.with_soon(act) {
                    Ok(used) => return used?,
                    Err(again) => act = again,
                }
            }
            turn.get_or_insert_with(|| self.turns.wait());
            give_way().await;
        }
    }

    /// Whether all ranks use the numbers of all.
    pub(crate) fn shares_memory(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Checks an access.
    #[inline]
    pub(crate) fn part(
        &self,
        rank: usize,
        offset: usize,
        length: usize,
    ) -> Result<(), WindowError> {
        let Some(&window) = self.lengths.get(rank) else {
            let size = self.size();
            return Err(CommError::NoSuchRank { rank, size }.into());
        };
        part(rank, window, offset, length).map(drop)
    }

    /// A message without an answer.
    pub(crate) fn head(&self, act: Act, offset: usize) -> Head {
        Head {
            act,
            op: 0,
            kind: 0,
            answers: false,
            epoch: self.epoch.get(),
            tag: 0,
            offset: offset as u64,
        }
    }

    /// The tag of an answer, or of a lock.
    pub(crate) fn next_tag(&self) -> Tag {
        self.left.take_some::<T>(&self.comm);
        let next = self.tags.get() % TAGS + 1;
        self.tags.set(next);
        next
    }

    /// Asks a rank of another process.
    pub(crate) fn ask(&self, rank: usize, head: Head, body: &[u8]) -> Result<(), WindowError> {
        self.sent.borrow_mut()[self.process_of[rank]] += 1;
        if matches!(
            head.act,
            Act::Put | Act::Accumulate | Act::Fetch | Act::Swap
        ) {
            self.pending.ask(rank);
        }
        Ok(self.delegate.ask(rank, &head.written(), body)?)
    }
}

impl<T: Plain> Drop for Window<T> {
    /// Who accesses it hears that it is closed.
    fn drop(&mut self) {
        self.own_memory().abandon();
    }
}

impl<T: Plain> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("rank", &self.rank())
            .field("lengths", &self.lengths)
            .finish_non_exhaustive()
    }
}
