//! Whom to tell of a change. Its caller is answered first: thousands of subscribers keep nobody
//! waiting who wants the answer. All of it lies in the exclusive group, so what is told next comes
//! after.

use super::Served;
use crate::service::{ContractOf, StateOf};
use crate::{Contract, Cx, Event, Notification, Service};
use std::sync::Arc;

/// What subscribers are to be told. In a box: to hand on what most changes lack takes no time.
pub(super) struct Telling<C: Contract> {
    notification: Notification<C>,
    /// For those who have no room for more.
    state: Arc<C::State>,
}

impl<S: Service> Served<S> {
    /// What is to be told of a change that has been made; `failed`: and was answered with a fault.
    pub(super) fn telling(
        &self,
        cx: &Cx,
        service: &S,
        told: Option<Arc<<ContractOf<S> as Contract>::Request>>,
        failed: bool,
    ) -> Option<Box<Telling<ContractOf<S>>>> {
        let request = told?;
        let state: Arc<StateOf<S>> = service.state().snapshot();
        let event = match failed {
            false => Event::Operation(request),
            true => Event::Replace(Arc::clone(&state)),
        };
        let mut notification = Notification::new(self.slot.common.version(), event);
        notification.keys = cx.take_keys();
        Some(Box::new(Telling {
            notification,
            state,
        }))
    }

    /// As [`Served::telling`], of the state as it is.
    pub(super) fn telling_state(
        &self,
        version: u64,
        service: &S,
    ) -> Option<Box<Telling<ContractOf<S>>>> {
        if !self.slot.subscriptions.are_wanted() {
            return None;
        }
        let state = service.state().snapshot();
        let notification = Notification::new(version, Event::Replace(Arc::clone(&state)));
        Some(Box::new(Telling {
            notification,
            state,
        }))
    }

    /// Tells it when this is dropped. The caller is alone, as it was when the change was made.
    pub(super) fn tells(&self, telling: Option<Box<Telling<ContractOf<S>>>>) -> Tells<'_, S> {
        Tells {
            served: self,
            telling,
        }
    }
}

/// Tells subscribers when it is dropped, also by a panic of what the answer is made of.
pub(super) struct Tells<'a, S: Service> {
    served: &'a Served<S>,
    telling: Option<Box<Telling<ContractOf<S>>>>,
}

impl<S: Service> Drop for Tells<'_, S> {
    fn drop(&mut self) {
        if let Some(telling) = &self.telling {
            let state = || Arc::clone(&telling.state);
            self.served.slot.notify(&telling.notification, state);
        }
    }
}
