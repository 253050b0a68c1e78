//! The thread that writes to a store: commits that wait together are one.

use crate::{Fault, FaultCode, Store};
use motet_ports::{ReplyPort, reply};
use motet_sync::{Condvar, Mutex, thread};
use std::sync::Arc;

/// Hands commits to the thread of a store. In virtual time there is no thread: a commit is made at once.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    has_thread: bool,
}

struct Shared {
    store: Arc<dyn Store>,
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

impl Writer {
    pub(crate) fn new(store: Arc<dyn Store>, is_virtual: bool) -> Result<Self, Fault> {
        let shared = Arc::new(Shared {
            store,
            line: Mutex::default(),
            came: Condvar::new(),
        });
        if !is_virtual {
            let writing = Arc::clone(&shared);
            let started = thread::spawn_named("motet-store", move || writing.write());
            started.map_err(|error| {
                let reason = format!("the store gets no thread: {error}");
                Fault::new(FaultCode::InsufficientResources, reason)
            })?;
        }
        let has_thread = !is_virtual;
        Ok(Writer { shared, has_thread })
    }

    pub(crate) fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.shared.store.load(path)
    }

    /// Ends when the entry is stored.
    pub(crate) async fn commit(&self, path: String, bytes: Vec<u8>) -> Result<(), Fault> {
        if !self.has_thread {
            return self.shared.store.commit(&[(path, bytes)]);
        }
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

impl Shared {
    /// Writes until the line is closed and empty.
    fn write(&self) {
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
            let done = self.store.commit(&entries);
            for reply in replies {
                // Who has gone meanwhile need not know.
                drop(reply.post(done.clone()));
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.line.lock().closed = true;
        self.shared.came.notify_one();
    }
}
