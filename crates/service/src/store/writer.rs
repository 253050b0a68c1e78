//! The thread that writes to a store: commits that wait together are one.

use crate::{Fault, FaultCode, Store};
use motet_ports::{ReplyPort, reply};
use motet_sync::thread::{self, JoinHandle};
use motet_sync::{Condvar, Mutex};
use std::sync::Arc;

/// Hands commits to the thread of a store. In virtual time there is no thread: a commit is made at
/// once.
pub(crate) struct StoreWriter {
    shared: Arc<NodeShared>,
    /// There until it is closed.
    store: Mutex<Option<Arc<dyn Store>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    has_thread: bool,
}

struct NodeShared {
    line: Mutex<Line>,
    came: Condvar,
}

#[derive(Default)]
struct Line {
    commits: Vec<Commit>,
    closed: bool,
}

struct Commit {
    entry: (String, Vec<u8>),
    reply: ReplyPort<Result<(), Fault>>,
}

impl StoreWriter {
    pub(crate) fn new(store: Arc<dyn Store>, is_virtual: bool) -> Result<Self, Fault> {
        let shared = Arc::new(NodeShared {
            line: Mutex::default(),
            came: Condvar::new(),
        });
        let mut running = None;
        if !is_virtual {
            let (writing, target) = (Arc::clone(&shared), Arc::clone(&store));
            let started = thread::spawn_named("motet-store", move || writing.write(&*target));
            let started = started.map_err(|error| {
                let reason = format!("the store gets no thread: {error}");
                Fault::new(FaultCode::InsufficientResources, reason)
            })?;
            running = Some(started);
        }
        let has_thread = !is_virtual;
        let (store, thread) = (Mutex::new(Some(store)), Mutex::new(running));
        Ok(StoreWriter {
            shared,
            store,
            thread,
            has_thread,
        })
    }

    fn store(&self) -> Result<Arc<dyn Store>, Fault> {
        let store = self.store.lock().clone();
        store.ok_or_else(|| Fault::new(FaultCode::Gone, "the store was closed: its node has ended"))
    }

    /// Writes what waits and closes the store.
    pub(crate) fn close(&self) {
        self.shared.line.lock().closed = true;
        self.shared.came.notify_one();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // A panic of the store has been told on standard error.
            drop(thread.join());
        }
        self.store.lock().take();
    }

    pub(crate) fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.store()?.load(path)
    }

    /// Ends when the entry is stored.
    pub(crate) async fn commit(&self, path: String, bytes: Vec<u8>) -> Result<(), Fault> {
        if !self.has_thread {
            return self.store()?.commit(&[(path, bytes)]);
        }
        self.store()?;
        let (to, answer) = reply();
        let entry = (path, bytes);
        self.shared
            .line
            .lock()
            .commits
            .push(Commit { entry, reply: to });
        self.shared.came.notify_one();
        answer
            .await
            .unwrap_or_else(|_| Err(Fault::failed("the store was closed before the commit")))
    }
}

impl NodeShared {
    /// Writes until the line is closed and empty.
    fn write(&self, store: &dyn Store) {
        loop {
            let mut line = self.line.lock();
            while line.commits.is_empty() && !line.closed {
                line = self.came.wait(line);
            }
            let commits = std::mem::take(&mut line.commits);
            drop(line);
            if commits.is_empty() {
                return;
            }
            let (entries, replies): (Vec<_>, Vec<_>) = commits
                .into_iter()
                .map(|commit| (commit.entry, commit.reply))
                .unzip();
            let done = store.commit(&entries);
            for reply in replies {
                // Who has gone meanwhile need not know.
                drop(reply.post(done.clone()));
            }
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.close();
    }
}
