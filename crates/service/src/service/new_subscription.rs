//! The number of a new subscription, on its way to its subscriber.

/// The number of a new subscription. Who asked for it may give up at any time before it has this:
/// then the subscription ends, of which nobody would know.
pub(crate) struct NewSubscription {
    id: u64,
    /// Ends it; there until somebody has the number.
    end: Option<Box<dyn FnOnce(u64) + Send>>,
}

impl NewSubscription {
    pub(crate) fn new(id: u64, end: impl FnOnce(u64) + Send + 'static) -> Self {
        let end: Box<dyn FnOnce(u64) + Send> = Box::new(end);
        NewSubscription { id, end: Some(end) }
    }

    /// The number, for who asked for it.
    pub(crate) fn take(mut self) -> u64 {
        self.end = None;
        self.id
    }
}

impl Drop for NewSubscription {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_ports::reply;
    use motet_sync::Mutex;
    use std::sync::Arc;

    #[test]
    fn a_subscription_whose_number_nobody_has_ends() {
        let ended = Arc::new(Mutex::new(Vec::new()));
        let new = |id| {
            let ended = Arc::clone(&ended);
            NewSubscription::new(id, move |id| ended.lock().push(id))
        };
        // It is there, it is there and not read, and it comes too late.
        assert_eq!(new(1).take(), 1);
        let (to, answer) = reply();
        assert!(to.post(new(2)).is_ok());
        drop(answer);
        let (to, answer) = reply();
        drop(answer);
        drop(to.post(new(3)));
        assert_eq!(*ended.lock(), [2, 3]);
    }
}
