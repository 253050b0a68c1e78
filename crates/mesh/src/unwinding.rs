//! What is put in order when a panic passes through. User code runs within a publication: a value
//! that a port drops, a predicate that publishes against the rules.

/// Runs its closure when it is dropped before [`OnPanic::did_not`].
pub(crate) struct OnPanic<F: FnOnce()>(Option<F>);

pub(crate) fn on_panic<F: FnOnce()>(then: F) -> OnPanic<F> {
    OnPanic(Some(then))
}

impl<F: FnOnce()> OnPanic<F> {
    /// There was none.
    pub(crate) fn did_not(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then();
        }
    }
}
