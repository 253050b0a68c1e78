//! A window of a rank, with what the program holds of it.
//!
//! Beside each window is one of no length, whose locks keep the combinations of one target apart.
//! They may be of any kind of number, which a window of bytes does not know.

use crate::combine::ByteOperator;
use motet::comm::Layout;
use motet::window::{Lock, Window, WindowError};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;

/// A lock that is held: the future that took it gives it back when it is told to.
pub(crate) struct Holding {
    pub(crate) future: Pin<Box<dyn Future<Output = Result<(), WindowError>>>>,
    pub(crate) ends: Rc<Cell<bool>>,
}

/// A window of a rank.
pub(crate) struct OpenWindow {
    pub(crate) window: Window<u8>,
    /// Keeps combinations apart.
    pub(crate) apart: Window<u8>,
    /// What the program's memory held when it was last brought up to date.
    pub(crate) before: RefCell<Vec<u8>>,
    pub(crate) locks: RefCell<BTreeMap<usize, Holding>>,
}

/// Where an access goes: the rank, the first byte, and where from there its bytes are. These are
/// blocks by their begin and length, or so many in a row.
#[derive(FromPyObject)]
pub(crate) struct AccessTarget {
    #[pyo3(attribute("rank"))]
    pub(crate) rank: usize,
    #[pyo3(attribute("offset"))]
    pub(crate) offset: usize,
    #[pyo3(attribute("nbytes"))]
    pub(crate) nbytes: usize,
    #[pyo3(attribute("blocks"))]
    pub(crate) blocks: Option<Vec<(usize, usize)>>,
}

impl AccessTarget {
    fn layout(&self) -> Result<Layout, WindowError> {
        let Some(blocks) = &self.blocks else {
            return Ok(Layout::contiguous(self.nbytes));
        };
        let blocks = blocks.iter().map(|(begin, length)| *begin..begin + length);
        Ok(Layout::indexed(blocks)?)
    }

    pub(crate) async fn put(&self, window: &Window<u8>, bytes: &[u8]) -> Result<(), WindowError> {
        match self.blocks {
            None => window.put(self.rank, self.offset, bytes).await,
            Some(_) => {
                let layout = self.layout()?;
                window
                    .put_layout(self.rank, self.offset, bytes, &layout)
                    .await
            }
        }
    }

    pub(crate) async fn get(&self, window: &Window<u8>) -> Result<Vec<u8>, WindowError> {
        match self.blocks {
            None => window.get(self.rank, self.offset, self.nbytes).await,
            Some(_) => {
                let layout = self.layout()?;
                window.get_layout(self.rank, self.offset, &layout).await
            }
        }
    }
}

/// What becomes of the bytes that are there.
pub(crate) enum Change {
    Keep,
    Replace,
    Combine(ByteOperator),
    /// If they are these.
    Swap(Vec<u8>),
}

impl OpenWindow {
    /// Gives its locks back, without waiting for that.
    pub(crate) fn give_up(&self) {
        let locks = self.locks.take();
        drop(locks);
    }

    /// Changes bytes of a target while nobody else does; what was there.
    pub(crate) async fn change(
        &self,
        target: &AccessTarget,
        bytes: Vec<u8>,
        change: Change,
    ) -> Result<Vec<u8>, WindowError> {
        let lock = self.apart.lock(target.rank, Lock::Exclusive).await?;
        let there = target.get(&self.window).await?;
        let new = match change {
            Change::Keep => None,
            Change::Replace => Some(bytes),
            Change::Combine(combine) => Some(combine.combine(there.clone(), bytes)),
            Change::Swap(expected) => (there == expected).then_some(bytes),
        };
        if let Some(new) = new {
            target.put(&self.window, &new).await?;
            self.window.flush(target.rank).await?;
        }
        lock.unlock().await?;
        Ok(there)
    }

    /// Brings the program's memory and the window up to date. What the program has written since
    /// the last time goes into the window. Then what others have written comes into the memory.
    pub(crate) fn meet(&self, memory: &mut [u8], part: Range<usize>) {
        let mut before = self.before.borrow_mut();
        let end = part.end.min(memory.len()).min(before.len());
        let part = part.start.min(end)..end;
        self.window.with_mut(|there| {
            let both = memory[part.clone()].iter_mut();
            let both = both.zip(before[part.clone()].iter_mut());
            for (there, (own, before)) in there[part].iter_mut().zip(both) {
                if own != before {
                    *there = *own;
                }
                (*own, *before) = (*there, *there);
            }
        });
    }
}
