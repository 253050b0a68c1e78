//! Panics of tasks, caught and described.

use std::any::Any;
use std::fmt;

/// A panic that ended a task.
pub struct Exception {
    message: String,
    queue: String,
    causality: Option<String>,
    payload: Box<dyn Any + Send>,
}

impl Exception {
    /// Describes the panic `payload` of a task of `queue`.
    #[must_use]
    pub fn new(payload: Box<dyn Any + Send>, queue: &str) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic whose payload is not text".to_owned());
        Exception {
            message,
            queue: queue.to_owned(),
            causality: None,
            payload,
        }
    }

    /// What the panic said.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The name of the queue whose task panicked.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// The name of the causality that hears of it; none when the queue or the dispatcher does.
    #[must_use]
    pub fn causality(&self) -> Option<&str> {
        self.causality.as_deref()
    }

    /// The panic's payload, for [`std::panic::resume_unwind`]. Where several causalities hear of
    /// one panic, the first gets the payload and the others its message, as a `String`.
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload
    }

    /// The same panic, to tell another one of.
    pub(crate) fn duplicate(&self) -> Self {
        Exception {
            message: self.message.clone(),
            queue: self.queue.clone(),
            causality: None,
            payload: Box::new(self.message.clone()),
        }
    }

    pub(crate) fn set_causality(&mut self, name: Option<&str>) {
        self.causality = name.map(str::to_owned);
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exception")
            .field("message", &self.message)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a handler of queue '{}' panicked: {}",
            self.queue, self.message
        )
    }
}

impl std::error::Error for Exception {}
