//! The thread that writes to a store: commits that wait together are one, unless that fails.

use crate::{Fault, FaultCode, Store};
use motet_dispatch::Exception;
use motet_ports::{ReplyPort, reply};
use motet_sync::{Condvar, Mutex, OwnedThread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Hands commits to the thread of a store. In virtual time there is no thread: a commit is made at
/// once.
pub(crate) struct StoreWriter {
    shared: Arc<NodeShared>,
    /// There until it is closed.
    store: Mutex<Option<Arc<dyn Store>>>,
    thread: Option<OwnedThread>,
}

struct NodeShared {
    line: Mutex<Line>,
    came: Condvar,
    /// Of the last commit, if that has failed.
    fault: Mutex<Option<Fault>>,
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
            fault: Mutex::default(),
        });
        let mut thread = None;
        if !is_virtual {
            let (writing, target) = (Arc::clone(&shared), Arc::clone(&store));
            let started = OwnedThread::spawn("motet-store", move || writing.write(&*target));
            let started = started.map_err(|error| {
                let reason = format!("the store gets no thread: {error}");
                Fault::new(FaultCode::InsufficientResources, reason)
            })?;
            thread = Some(started);
        }
        let store = Mutex::new(Some(store));
        Ok(StoreWriter {
            shared,
            store,
            thread,
        })
    }

    fn store(&self) -> Result<Arc<dyn Store>, Fault> {
        let store = self.store.lock().clone();
        store.ok_or_else(closed)
    }

    /// Writes what waits and closes the store. Who has got the last answer may do so on the thread.
    pub(crate) fn close(&self) {
        self.shared.line.lock().closed = true;
        self.shared.came.notify_one();
        if let Some(thread) = &self.thread {
            thread.join();
        }
        self.store.lock().take();
    }

    /// The fault of the last commit, if that has failed.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.shared.fault.lock().clone()
    }

    pub(crate) fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        let store = self.store()?;
        unless_it_panics(|| store.load(path))
    }

    /// Ends when the entry is stored.
    pub(crate) async fn commit(&self, path: String, bytes: Vec<u8>) -> Result<(), Fault> {
        let entry = (path, bytes);
        if self.thread.is_none() {
            let store = self.store()?;
            let done = unless_it_panics(|| store.commit(&[entry]));
            self.shared.note(&done);
            return done;
        }
        let (to, answer) = reply();
        {
            let mut line = self.shared.line.lock();
            // The thread ends, and would not come to it.
            if line.closed {
                return Err(closed());
            }
            line.commits.push(Commit { entry, reply: to });
        }
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
            let done = unless_it_panics(|| store.commit(&entries));
            self.note(&done);
            // One that cannot write nothing is down. To try each would take so long for each.
            let is_down = || unless_it_panics(|| store.commit(&[])).is_err();
            // Who has gone meanwhile need not know.
            if done.is_ok() || entries.len() == 1 || is_down() {
                for reply in replies {
                    drop(reply.post(done.clone()));
                }
                continue;
            }
            // Perhaps only one of them cannot be written: the others are, and have no fault.
            for (entry, reply) in entries.into_iter().zip(replies) {
                let done = unless_it_panics(|| store.commit(&[entry]));
                self.note(&done);
                drop(reply.post(done));
            }
        }
    }

    /// Keeps what has become of a commit, before anybody is told.
    fn note(&self, done: &Result<(), Fault>) {
        let before = std::mem::replace(&mut *self.fault.lock(), done.as_ref().err().cloned());
        drop(before);
    }
}

fn closed() -> Fault {
    Fault::new(FaultCode::Gone, "the store was closed: its node has ended")
}

/// What the store answers; its panic is a fault.
fn unless_it_panics<R>(ask: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|payload| {
        let why = Exception::new(payload, "store").message().to_owned();
        Err(Fault::failed(format!("the store panicked: {why}")))
    })
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use motet_ports::Reply;

    /// A store that cannot write what is of one path: it says so, or panics.
    struct Picky {
        kept: Memory,
        panics: bool,
    }

    impl Store for Picky {
        fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
            self.kept.load(path)
        }

        fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
            if entries.iter().any(|(path, _)| path == "/bad") {
                assert!(!self.panics, "too long");
                return Err(Fault::failed("too long"));
            }
            self.kept.commit(entries)
        }
    }

    /// Commits of these paths that wait, the last ones, and their answers.
    fn waiting(paths: [&'static str; 3]) -> (NodeShared, [Reply<Result<(), Fault>>; 3]) {
        let (mut commits, closed) = (Vec::new(), true);
        let answers = paths.map(|path| {
            let (reply, answer) = reply();
            let entry = (path.to_owned(), path.as_bytes().to_vec());
            commits.push(Commit { entry, reply });
            answer
        });
        let shared = NodeShared {
            line: Mutex::new(Line { commits, closed }),
            came: Condvar::new(),
            fault: Mutex::default(),
        };
        (shared, answers)
    }

    /// A store that is down, and how often it was asked.
    #[derive(Default)]
    struct Down(Mutex<usize>);

    impl Store for Down {
        fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
            Ok(None)
        }

        fn commit(&self, _: &[(String, Vec<u8>)]) -> Result<(), Fault> {
            *self.0.lock() += 1;
            Err(Fault::failed("the disk is gone"))
        }
    }

    #[test]
    fn sem_g393_a_store_that_is_down_is_not_asked_for_each_change() {
        let (shared, answers) = waiting(["/one", "/two", "/three"]);
        let store = Down::default();
        shared.write(&store);
        assert_eq!(*store.0.lock(), 2);
        assert!(shared.fault.lock().is_some());
        for answer in answers {
            let done = motet_ports::wait_blocking(answer).unwrap().unwrap();
            assert!(done.unwrap_err().reason().contains("the disk is gone"));
        }
    }

    /// A store that closes its writer: as an answer does whose task has the node's last handle.
    struct Closing(Arc<Mutex<Option<Arc<StoreWriter>>>>);

    impl Store for Closing {
        fn load(&self, _: &str) -> Result<Option<Vec<u8>>, Fault> {
            Ok(None)
        }

        fn commit(&self, _: &[(String, Vec<u8>)]) -> Result<(), Fault> {
            let writer = self.0.lock().take();
            writer.expect("it is closed once").close();
            Ok(())
        }
    }

    #[test]
    fn a_writer_that_is_closed_on_its_own_thread_does_not_wait_for_itself() {
        let kept = Arc::new(Mutex::new(None));
        let store = Arc::new(Closing(Arc::clone(&kept)));
        let writer = Arc::new(StoreWriter::new(store, false).unwrap());
        *kept.lock() = Some(Arc::clone(&writer));
        let done = motet_ports::wait_blocking(writer.commit("/one".to_owned(), Vec::new()));
        assert_eq!(done.unwrap(), Ok(()));
    }

    #[test]
    fn sem_g393_only_what_cannot_be_stored_has_the_fault_of_its_batch() {
        for panics in [false, true] {
            let store = Picky {
                kept: Memory::default(),
                panics,
            };
            let (mut commits, mut answers) = (Vec::new(), Vec::new());
            for path in ["/one", "/bad", "/two"] {
                let (reply, answer) = reply();
                let entry = (path.to_owned(), path.as_bytes().to_vec());
                commits.push(Commit { entry, reply });
                answers.push((path, answer));
            }
            let closed = true;
            let shared = NodeShared {
                line: Mutex::new(Line { commits, closed }),
                came: Condvar::new(),
                fault: Mutex::default(),
            };
            shared.write(&store);
            for (path, answer) in answers {
                let done = motet_ports::wait_blocking(answer).unwrap().unwrap();
                let stored = store.load(path).unwrap();
                if path == "/bad" {
                    assert!(done.unwrap_err().reason().contains("too long"));
                    assert_eq!(stored, None);
                } else {
                    assert_eq!(done, Ok(()));
                    assert_eq!(stored, Some(path.as_bytes().to_vec()));
                }
            }
        }
    }
}
