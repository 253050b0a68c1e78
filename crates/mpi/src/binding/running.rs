//! The library between its start and its end, shared by all that use it.

use super::abi;
use super::library::{Library, ThreadLevel, text};
use super::symbols::Symbols;
use crate::error::MpiError;
use motet_sync::{Mutex, thread};
use std::ffi::c_int;
use std::fmt;
use std::ptr;
use std::sync::OnceLock;

/// MPI can be started once in a process, whichever libraries are open.
static STARTED: OnceLock<()> = OnceLock::new();

/// A started library. It ends when this is dropped.
pub(super) struct Running {
    library: Library,
    level: ThreadLevel,
    /// The thread that started it: the only one that may call below `Serialized`.
    owner: thread::ThreadId,
    /// Held during each call where only one thread at a time may call.
    turn: Mutex<()>,
    /// Whether it was ended, or nobody can: dropping it does nothing more.
    ended: bool,
}

impl Running {
    /// Starts the library, asking for this level.
    pub(super) fn start(library: &Library, level: ThreadLevel) -> Result<Running, MpiError> {
        let symbols = &library.symbols;
        let (mut before, mut after) = (0, 0);
        // SAFETY: both may be called at any time, with valid places.
        unsafe {
            (symbols.initialized)(&raw mut before);
            (symbols.finalized)(&raw mut after);
        }
        if before != 0 || after != 0 || STARTED.set(()).is_err() {
            return Err(MpiError::Started);
        }
        let mut provided = 0;
        // SAFETY: MPI is not started (just asked) and nobody else starts it (the flag). The
        // standard allows null for both arguments of the command line.
        let code = unsafe {
            (symbols.init_thread)(
                ptr::null_mut(),
                ptr::null_mut(),
                level.number(),
                &raw mut provided,
            )
        };
        let running = Running {
            library: library.clone(),
            level: ThreadLevel::of(provided),
            owner: thread::current().id(),
            turn: Mutex::new(()),
            // Not started, so not to be ended.
            ended: code != abi::SUCCESS,
        };
        running.check("MPI_Init_thread", code)?;
        for comm in [abi::COMM_WORLD, abi::COMM_SELF] {
            running.call("MPI_Comm_set_errhandler", |symbols| {
                // SAFETY: both communicators and the handler are predefined.
                unsafe { (symbols.comm_set_errhandler)(comm, abi::ERRORS_RETURN) }
            })?;
        }
        Ok(running)
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    pub(super) fn level(&self) -> ThreadLevel {
        self.level
    }

    /// Ends the library, unless this thread panics: that one must not wait for other processes.
    pub(super) fn end(mut self) -> Result<(), MpiError> {
        self.ended = true;
        self.finalize()
    }

    fn finalize(&self) -> Result<(), MpiError> {
        if std::thread::panicking() {
            return Err(MpiError::NotEnded);
        }
        self.call("MPI_Finalize", |symbols| {
            // SAFETY: MPI is started and nothing uses it any more: this is the last owner.
            unsafe { (symbols.finalize)() }
        })
    }

    /// Whether threads take turns: then no call may wait for another process, whose answer may wait
    /// for a call of another thread of this one.
    #[inline]
    pub(super) fn takes_turns(&self) -> bool {
        self.level == ThreadLevel::Serialized
    }

    /// Ends all processes, whoever has the turn: it may be in a call that waits for ever.
    pub(super) fn abort(&self, code: c_int) -> Result<(), MpiError> {
        const NAME: &str = "MPI_Abort";
        let abort = |symbols: &Symbols| {
            // SAFETY: MPI is started and the communicator predefined. The call does not return, so
            // nothing is used that another thread's call may have left half done.
            unsafe { (symbols.abort)(abi::COMM_WORLD, code) }
        };
        if self.takes_turns() {
            return self.check(NAME, abort(&self.library.symbols));
        }
        self.call(NAME, abort)
    }

    /// Calls the library when this thread may, and turns its error code into an error.
    #[inline]
    pub(super) fn call(
        &self,
        name: &'static str,
        body: impl FnOnce(&Symbols) -> c_int,
    ) -> Result<(), MpiError> {
        let code = match self.level {
            ThreadLevel::Multiple => body(&self.library.symbols),
            ThreadLevel::Serialized => {
                let _turn = self.turn.lock();
                body(&self.library.symbols)
            }
            ThreadLevel::Single | ThreadLevel::Funneled => {
                if thread::current().id() != self.owner {
                    return Err(MpiError::WrongThread { call: name });
                }
                body(&self.library.symbols)
            }
        };
        self.check(name, code)
    }

    #[inline]
    fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == abi::SUCCESS {
            Ok(())
        } else {
            Err(self.failure(call, code))
        }
    }

    #[cold]
    pub(super) fn failure(&self, call: &'static str, code: c_int) -> MpiError {
        let symbols = &self.library.symbols;
        let mut class = code;
        // SAFETY: may be called at any time, with valid places.
        unsafe { (symbols.error_class)(code, &raw mut class) };
        let said = text(abi::MAX_ERROR_STRING, |to, length| {
            // SAFETY: may be called at any time; the room is what the standard asks for.
            unsafe { (symbols.error_string)(code, to, length) }
        });
        MpiError::Call {
            call,
            class,
            text: said.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // An error has nobody to go to here: who wants it calls `Environment::finish`.
            let _ = self.finalize();
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("library", &self.library.path())
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}
