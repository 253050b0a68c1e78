//! Sends that are under way together.

use super::abi;
use super::request::Request;
use super::running::Running;
use crate::error::MpiError;
use motet_sync::thread;
use std::ffi::c_int;
use std::sync::Arc;

/// Sends that nobody waits for one by one, each with a key that says which it is.
///
/// A set that is dropped before all have ended leaves their bytes where they are, for MPI.
#[derive(Debug)]
pub struct RequestSet<K> {
    running: Option<Arc<Running>>,
    /// As MPI wants them; `keys` and `bytes` have the same order.
    handles: Vec<abi::Request>,
    bytes: Vec<Vec<u8>>,
    keys: Vec<K>,
    /// Room for the answers of one test.
    indices: Vec<c_int>,
    statuses: Vec<abi::Status>,
}

impl<K> RequestSet<K> {
    /// An empty set.
    #[must_use]
    pub fn new() -> RequestSet<K> {
        RequestSet {
            running: None,
            handles: Vec::new(),
            bytes: Vec::new(),
            keys: Vec::new(),
            indices: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// Adds a send.
    ///
    /// # Panics
    /// When the request is not a send.
    pub fn push(&mut self, request: Request, key: K) {
        // Still whole: what is refused ends as any request does.
        assert!(request.is_send(), "a set is for sends");
        let (running, handle, bytes) = request.into_parts();
        self.running.get_or_insert(running);
        self.handles.push(handle);
        self.bytes.push(bytes);
        self.keys.push(key);
    }

    /// How many have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether all have ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// The keys of those that have not ended.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.keys.iter()
    }

    /// Tells those that have ended since (`MPI_Testsome`), with the bytes that were sent, and
    /// whether each did so without an error.
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], or [`MpiError::Call`] when the call says no more than that
    /// something failed.
    pub fn test(&mut self, mut tell: impl FnMut(K, Vec<u8>, bool)) -> Result<(), MpiError> {
        self.take_ended(|key, bytes, code| tell(key, bytes, code == abi::SUCCESS))
    }

    /// Waits until all have ended (`MPI_Testsome`, again and again).
    ///
    /// # Errors
    /// As [`RequestSet::test`]; what has not ended stays in the set. [`MpiError::Call`] also when
    /// all have ended and one of them failed: the first that was seen.
    pub fn wait(&mut self) -> Result<(), MpiError> {
        let mut failed = abi::SUCCESS;
        while !self.is_empty() {
            let before = self.len();
            self.take_ended(|_, _, code| {
                if failed == abi::SUCCESS {
                    failed = code;
                }
            })?;
            if self.len() == before {
                thread::yield_now();
            }
        }
        match &self.running {
            Some(running) if failed != abi::SUCCESS => Err(running.failure(TESTSOME, failed)),
            Some(_) | None => Ok(()),
        }
    }

    /// Takes out those that have ended since, each with its error code.
    fn take_ended(&mut self, mut tell: impl FnMut(K, Vec<u8>, c_int)) -> Result<(), MpiError> {
        if self.is_empty() {
            return Ok(());
        }
        let Some(running) = self.running.clone() else {
            return Ok(());
        };
        self.indices.resize(self.handles.len(), 0);
        self.statuses
            .resize(self.handles.len(), abi::Status::default());
        // More at once than MPI counts are tested in the next call.
        let asked = c_int::try_from(self.handles.len()).unwrap_or(c_int::MAX);
        let mut ended = 0;
        let said = running.call(TESTSOME, |symbols| {
            // SAFETY: the arrays have room for `asked` requests and answers, and the handles are
            // live requests or null.
            unsafe {
                (symbols.testsome)(
                    asked,
                    self.handles.as_mut_ptr(),
                    &raw mut ended,
                    self.indices.as_mut_ptr(),
                    self.statuses.as_mut_ptr(),
                )
            }
        });
        let by_one = match &said {
            Ok(()) => false,
            Err(MpiError::Call { class, .. }) if *class == ERR_IN_STATUS => true,
            Err(_) => return said,
        };
        let mut gone: Vec<(usize, c_int)> = match usize::try_from(ended) {
            Ok(ended) => (0..ended)
                .map(|at| {
                    let code = if by_one {
                        self.statuses[at].error
                    } else {
                        abi::SUCCESS
                    };
                    (usize::try_from(self.indices[at]).unwrap_or(0), code)
                })
                .collect(),
            // MPI_UNDEFINED: all of them had ended before they came into the set.
            Err(_) => (0..asked as usize).map(|at| (at, abi::SUCCESS)).collect(),
        };
        // From the back, so that what moves into a gap has been looked at.
        gone.sort_unstable_by(|a, b| b.cmp(a));
        for (index, code) in gone {
            self.handles.swap_remove(index);
            tell(
                self.keys.swap_remove(index),
                self.bytes.swap_remove(index),
                code,
            );
        }
        Ok(())
    }

    /// Gives up the sends whose key is such: they go on, or fail, unseen.
    pub fn abandon(&mut self, which: impl Fn(&K) -> bool) {
        let mut at = 0;
        while at < self.keys.len() {
            if which(&self.keys[at]) {
                self.handles.swap_remove(at);
                self.keys.swap_remove(at);
                // MPI may still read them.
                let _leaked = self.bytes.swap_remove(at).leak();
            } else {
                at += 1;
            }
        }
    }
}

impl<K> Default for RequestSet<K> {
    fn default() -> Self {
        RequestSet::new()
    }
}

impl<K> Drop for RequestSet<K> {
    fn drop(&mut self) {
        self.abandon(|_| true);
    }
}

/// The call by which a set is tested.
const TESTSOME: &str = "MPI_Testsome";

/// `MPI_ERR_IN_STATUS`: each status has an error of its own.
const ERR_IN_STATUS: i32 = 19;
