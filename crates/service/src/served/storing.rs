//! When the state of a service is stored: with each change, when it is asked for, or when a period
//! is over in which it has changed.

use super::restart::rebuild;
use super::steps::ServedSteps;
use crate::Fault;
use crate::report::Level;
use crate::service::OwnStep;
use crate::store::{Persist, StoredState};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Stores the state, if the service has a store.
pub(super) async fn commit(
    served: &dyn ServedSteps,
    state: Result<Value, Fault>,
) -> Result<(), Fault> {
    let common = served.common();
    let Some((_, writer)) = &served.plan().persist else {
        return Err(common.no_store());
    };
    let saved = StoredState {
        contract: common.uri.to_owned(),
        version: common.version(),
        schema: served.schema_hash(),
        state: state?,
        keys: common.keys.lock().stored(),
    };
    let bytes = saved.write()?;
    let committed = writer.commit(common.path.to_string(), bytes).await;
    if committed.is_ok() {
        // Nothing changes meanwhile: the caller is alone.
        forget(served);
    }
    committed.map_err(|fault| fault.of_service(&common.path))
}

/// Whether each change is stored before it is answered.
pub(super) fn is_stored_each_time(served: &dyn ServedSteps) -> bool {
    matches!(served.plan().persist, Some((Persist::Each, _)))
}

/// How long a state that could not be stored waits at least until that is tried again.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The state has changed: if it is stored once in a period, it is when this one is over. All such
/// timers are the clock's, which has one thread.
pub(super) fn store_later(served: &Arc<dyn ServedSteps>) {
    store_in(served, Duration::from_millis(1));
}

/// As [`store_later`]; the period is no shorter than that.
fn store_in(served: &Arc<dyn ServedSteps>, least: Duration) {
    let Some((Persist::IntervalMs(period), _)) = served.plan().persist else {
        return;
    };
    let mut work = served.work().lock();
    if work.storing.is_none() {
        let weak = Arc::downgrade(served);
        let clock = served.common().shared.deadlines.clock();
        let period = Duration::from_millis(period).max(least);
        let timer = clock.after(period, move |_| {
            if let Some(served) = weak.upgrade() {
                served.post_own(OwnStep::Store);
            }
        });
        work.storing = Some(timer);
    }
}

/// Whether a change waited to be stored, which is not waited for any more.
pub(super) fn forget(served: &dyn ServedSteps) -> bool {
    let timer = served.work().lock().storing.take();
    if let Some(timer) = &timer {
        timer.cancel();
    }
    timer.is_some()
}

/// Does what the node wants. The caller is in the exclusive group.
pub(super) async fn take_step(served: Arc<dyn ServedSteps>, step: OwnStep) {
    match step {
        OwnStep::GoOn => served.go_on(),
        OwnStep::Store => store_waiting(&served).await,
        OwnStep::Rebuild(why, to) => {
            // Its own state is not torn.
            store_waiting(&served).await;
            rebuild(served, &why, to);
        }
    }
}

/// Stores the state if a change waits for that.
async fn store_waiting(served: &Arc<dyn ServedSteps>) {
    // What was stored meanwhile has nobody waiting.
    if !forget(&**served) {
        return;
    }
    let Some(service) = served.shared() else {
        // Its last changes have gone with it.
        return;
    };
    let state = served.state_value(&service);
    drop(service);
    if let Err(fault) = commit(&**served, state).await {
        tell(&**served, &fault);
        // It is served, and tried again.
        store_in(served, AFTER_FAILURE);
    }
}

/// Tells of a state that is served and could not be stored.
pub(super) fn tell(served: &dyn ServedSteps, fault: &Fault) {
    let common = served.common();
    let text = format!("the state is not stored: {fault}");
    common
        .shared
        .log(Level::Error, "store", &common.path, &text);
}
