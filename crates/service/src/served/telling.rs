//! Whom to tell of a change. Its caller is answered first: thousands of subscribers keep nobody
//! waiting who wants the answer. All of it lies in the exclusive group, so what is told next comes
//! after.

use crate::service::ServiceSlot;
use crate::{Contract, Cx, Event, Notification, State, StateRef};
use std::sync::Arc;

/// What subscribers are to be told. In a box: to hand on what most changes lack takes no time.
pub(super) struct Telling<C: Contract> {
    notification: Notification<C>,
    /// For those who have no room for more.
    state: StateRef<C::State>,
}

impl<C: Contract> ServiceSlot<C> {
    /// What is to be told of a change that has been made; `failed`: and was answered with a fault.
    pub(super) fn telling(
        &self,
        cx: &Cx,
        state: &State<C::State>,
        told: Option<Arc<C::Request>>,
        failed: bool,
    ) -> Option<Box<Telling<C>>> {
        let request = told?;
        let state = state.snapshot();
        let event = match failed {
            false => Event::Operation(request),
            true => Event::Replace(state.clone()),
        };
        let mut notification = Notification::new(self.common.version(), event);
        notification.keys = cx.take_keys();
        Some(Box::new(Telling {
            notification,
            state,
        }))
    }

    /// As [`ServiceSlot::telling`], of the state as it is.
    pub(super) fn telling_state(
        &self,
        version: u64,
        state: &State<C::State>,
    ) -> Option<Box<Telling<C>>> {
        if !self.subscriptions.are_wanted() {
            return None;
        }
        let state = state.snapshot();
        let notification = Notification::new(version, Event::Replace(state.clone()));
        Some(Box::new(Telling {
            notification,
            state,
        }))
    }

    /// Tells it when this is dropped. The caller is alone, as it was when the change was made.
    pub(super) fn tells(&self, telling: Option<Box<Telling<C>>>) -> Tells<'_, C> {
        Tells {
            slot: self,
            telling,
        }
    }
}

/// Tells subscribers when it is dropped, also by a panic of what the answer is made of.
pub(super) struct Tells<'a, C: Contract> {
    slot: &'a ServiceSlot<C>,
    telling: Option<Box<Telling<C>>>,
}

impl<C: Contract> Drop for Tells<'_, C> {
    fn drop(&mut self) {
        if let Some(telling) = &self.telling {
            let state = || telling.state.clone();
            self.slot.notify(&telling.notification, state);
        }
    }
}
