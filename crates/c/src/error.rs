//! What functions give back: a code, and a text for each thread.

use motet::dispatch::QueueError;
use motet::{BlockingError, CommError, PostRefusal};
use motet_sync::thread_local;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

/// As `motet_code` in the header, in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) enum Code {
    /// `MOTET_OK`
    Ok,
    /// `MOTET_EMPTY`
    Empty,
    /// `MOTET_NULL`
    Null,
    /// `MOTET_ARGUMENT`
    Argument,
    /// `MOTET_CLOSED`
    Closed,
    /// `MOTET_FULL`
    Full,
    /// `MOTET_TIMEOUT`
    Timeout,
    /// `MOTET_IN_HANDLER`
    InHandler,
    /// `MOTET_USED`
    Used,
    /// `MOTET_STOPPED`
    Stopped,
    /// `MOTET_THREAD`
    Thread,
    /// `MOTET_TRUNCATED`
    Truncated,
    /// `MOTET_COMM`
    Comm,
    /// `MOTET_RANK`
    Rank,
    /// `MOTET_STUCK`
    Stuck,
    /// `MOTET_START`
    Start,
    /// `MOTET_PANICKED`
    Panicked,
}

/// A call that has failed: what its code and its text are.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Failure {
        let text = text.into();
        Failure { code, text }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Failure {
        Failure::new(Code::Argument, text)
    }
}

impl From<PostRefusal> for Failure {
    fn from(refusal: PostRefusal) -> Failure {
        match refusal {
            PostRefusal::Closed => Failure::new(
                Code::Closed,
                "the port is closed; it takes no item any more",
            ),
            PostRefusal::PortFull => Failure::new(
                Code::Full,
                "the port holds as many items as it may; post again when one has been taken, or \
                 use motet_port_post_wait with MOTET_WAIT_FOR_ROOM",
            ),
            PostRefusal::Queue(error) => error.into(),
            PostRefusal::InsideTask(_) => in_handler(),
            other => Failure::argument(other.to_string()),
        }
    }
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Failure {
        let code = match error {
            QueueError::Stopped => Code::Stopped,
            _ => Code::Full,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<BlockingError> for Failure {
    fn from(error: BlockingError) -> Failure {
        match error {
            BlockingError::Elapsed => Failure::new(Code::Timeout, "the time is over"),
            BlockingError::Closed => Failure::new(
                Code::Closed,
                "the port is closed, and nothing is left in it",
            ),
            BlockingError::InsideTask(_) => in_handler(),
            other => Failure::argument(other.to_string()),
        }
    }
}

impl From<CommError> for Failure {
    fn from(error: CommError) -> Failure {
        let code = match error {
            CommError::NoSuchRank { .. } | CommError::Arguments { .. } => Code::Argument,
            CommError::Truncated { .. } => Code::Truncated,
            CommError::Full { .. } => Code::Full,
            _ => Code::Comm,
        };
        Failure::new(code, error.to_string())
    }
}

/// The call would hold a thread of a dispatcher.
pub(crate) fn in_handler() -> Failure {
    Failure::new(
        Code::InHandler,
        "a blocking call in a handler would hold a thread of its dispatcher; receive by an arbiter \
         there, or call this on a thread of your own",
    )
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps the text of the last call of this thread that has failed.
pub(crate) fn keep(text: &str) {
    // A text with a zero byte would end there.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that is ending has nobody who would ask.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// The text; empty if no call of this thread has failed.
pub(crate) fn last() -> *const c_char {
    const NOTHING: &CStr = c"";
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(NOTHING.as_ptr())
}
