//! Ports of this node in a step with ports of others: their items are taken last, or where their
//! keys stand if they are exported, and go back to the front if the step fails.

use crate::TakeError;
use crate::enough::enough;
use crate::export::exported_as;
use crate::held::HeldItems;
use crate::step::{StepFuture, StepName, StepPart};
use crate::taking::TakePart;
use motet_ports::{Batch, Port};
use std::fmt;
use std::future;

/// Items of a port of this node. Dropped, it gives them back.
#[doc(hidden)]
pub struct LocalPart<T: Send + 'static> {
    port: Port<T>,
    /// `None`: a guard says which.
    count: Option<usize>,
    held: Option<HeldItems<T>>,
}

impl<T: Send + 'static> LocalPart<T> {
    fn new(port: Port<T>, count: Option<usize>) -> Self {
        let held = None;
        LocalPart { port, count, held }
    }
}

impl<T: Send + 'static> StepPart for LocalPart<T> {
    fn name(&self) -> StepName {
        let id = self.port.id();
        exported_as(id).map_or(StepName::Number(id), StepName::Key)
    }

    fn ready(&mut self) -> StepFuture<'_, Result<(), TakeError>> {
        let name = self.name().to_string();
        let Some(count) = self.count else {
            return Box::pin(future::ready(Err::<(), _>(TakeError::Guarded(name))));
        };
        let port = &self.port;
        if let Some(bound) = port.capacity().filter(|bound| *bound < count) {
            let port = name;
            let error = TakeError::TooMany { port, count, bound };
            return Box::pin(future::ready(Err::<(), _>(error)));
        }
        Box::pin(async move {
            let is_there = enough(port, count).await;
            is_there.then_some(()).ok_or(TakeError::Closed(name))
        })
    }

    /// In one step: nobody waits for it.
    fn reserve(&mut self) -> StepFuture<'_, Result<bool, TakeError>> {
        let count = self.count;
        self.held = count.and_then(|count| HeldItems::take_out(&self.port, count));
        Box::pin(future::ready(Ok::<_, TakeError>(self.held.is_some())))
    }

    fn give_back(&mut self) -> StepFuture<'_, ()> {
        self.held = None;
        Box::pin(future::ready(()))
    }

    fn take(&mut self) -> StepFuture<'_, Result<(), TakeError>> {
        Box::pin(future::ready(Ok::<_, TakeError>(())))
    }
}

impl<T: Send + 'static> TakePart for &Port<T> {
    type Given = T;
    type Step = LocalPart<T>;

    fn into_step(self) -> LocalPart<T> {
        LocalPart::new(self.clone(), Some(1))
    }

    fn given(step: LocalPart<T>) -> Option<T> {
        step.held?.into_items().pop()
    }
}

impl<T: Send + 'static> TakePart for Batch<T> {
    type Given = Vec<T>;
    type Step = LocalPart<T>;

    fn into_step(self) -> LocalPart<T> {
        let (port, count) = self.into_count();
        LocalPart::new(port, count)
    }

    fn given(step: LocalPart<T>) -> Option<Vec<T>> {
        step.held.map(HeldItems::into_items)
    }
}

impl<T: Send + 'static> fmt::Debug for LocalPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPart")
            .field("port", &self.port)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
