//! Supervision: a service that has lost its state is built anew, within limits (OTP's restart
//! intensity).

use super::Served;
use super::cell::{ServiceCell, SharedService};
use super::steps::ServedSteps;
use crate::json::To;
use crate::lifecycle::Lifecycle;
use crate::report::Level;
use crate::service::{Common, Figures, OwnStep};
use crate::{Fault, Service};
use motet_dispatch::{Causalities, spawn};
use motet_ports::reply;
use motet_ports::timer::sleep;
use std::sync::Arc;
use std::time::Duration;

/// The cell is empty: the service is built anew, or has failed for good. One that was dropped
/// meanwhile stays so.
pub(super) fn restart(served: Arc<dyn ServedSteps>, why: &Fault) {
    let common = Arc::clone(served.common());
    // What they answer for has gone with the state. Those that are stored are read again.
    common.keys.lock().clear();
    if common.has_ended() {
        return;
    }
    let now = common.shared.deadlines.clock().now();
    let wait = served.plan().supervision.lock().next(now);
    match wait {
        Some(wait) => begin(served, why, wait, None),
        None => fail(&served, why),
    }
}

/// It has failed for good; if it is essential its node ends.
fn fail(served: &Arc<dyn ServedSteps>, why: &Fault) {
    let common = served.common();
    common.shared.log(
        Level::Error,
        "supervision",
        &common.path,
        &format!("failed for good: {why}"),
    );
    let failed = common.set_unless_ended(Lifecycle::Failed {
        why: why.reason().to_owned(),
    });
    let is_essential = served.plan().supervision.lock().how().essential;
    if failed && is_essential {
        let reason = format!("an essential service has failed for good: {}", why.reason());
        common
            .shared
            .fail(Fault::failed(reason).of_service(&common.path));
    }
}

/// Builds it anew after a time, and has `to` told when that has ended.
fn begin(served: Arc<dyn ServedSteps>, why: &Fault, wait: Duration, to: Option<To<()>>) {
    let common = Arc::clone(served.common());
    common.shared.log(
        Level::Warning,
        "supervision",
        &common.path,
        &format!("is built anew: {why}"),
    );
    if !common.set_unless_ended(Lifecycle::Restarting) {
        return;
    }
    let again = async move {
        if wait > Duration::ZERO {
            sleep(wait).await;
        }
        if served.common().has_ended() {
            return;
        }
        // Who is built anew for another has the others built by that one.
        let begins = to.is_none() && served.plan().supervision.lock().how().with_dependents;
        served.work().lock().is_stale = false;
        match Arc::clone(&served).begin_again().await {
            Err(fault) => restart(served, &fault),
            Ok(()) => {
                if std::mem::take(&mut served.work().lock().is_stale) {
                    let why = Fault::failed("a partner was built anew while it was itself");
                    let (to, _ended) = reply();
                    Arc::clone(&served).post_own(OwnStep::Rebuild(Box::new(why), to));
                }
                if begins {
                    rebuild_dependents(served.common()).await;
                }
            }
        }
        if let Some(to) = to {
            // Who has asked may have gone.
            drop(to.post(Ok(())));
        }
    };
    // Under no causality: that of the change may be cancelled, and would have it skipped.
    let begun = Causalities::none().run(|| spawn(&common.queue, again));
    if begun.is_err() {
        common.set_unless_ended(Lifecycle::Failed {
            why: "the node has stopped".to_owned(),
        });
    }
}

/// Builds the service anew since a partner was, and has `to` told when that has ended. Its own
/// restarts are not counted by it. The caller is in the exclusive group.
pub(super) fn rebuild(served: Arc<dyn ServedSteps>, why: &Fault, to: To<()>) {
    let taken_from = Arc::clone(&served);
    // A destructor that panics has it built anew, too.
    let _taken = TakenService::of(&taken_from);
    // Before the look: whoever builds it anew looks for this once it serves again.
    served.work().lock().is_stale = true;
    let Some(service) = served.take() else {
        // It is being built anew, and may have met the partner as it was; or has failed for good.
        drop(to.post(Ok(())));
        return;
    };
    served.work().lock().is_stale = false;
    drop(service);
    served.common().keys.lock().clear();
    begin(served, why, Duration::ZERO, Some(to));
}

/// Builds those anew that have this one as a partner, and those that have these: one after the
/// other, each behind its partners.
async fn rebuild_dependents(common: &Common) {
    let reason = format!("its partner {} was built anew", common.path);
    for dependent in common.shared.dependents(&common.path) {
        let (to, ended) = reply();
        let why = Box::new(Fault::failed(reason.clone()));
        dependent.post_own(OwnStep::Rebuild(why, to));
        // One that has ended meanwhile is not built.
        drop(ended.await);
    }
}

impl<S: Service> Served<S> {
    /// Serves again. Whoever subscribed is told of the state, which is not what it was.
    pub(super) fn resume(&self, service: S) {
        let common = &self.slot.common;
        Figures::count(&common.figures.restarts);
        if common.has_ended() {
            return;
        }
        let version = common.next_version();
        let slot = &self.slot;
        drop(slot.tells(slot.telling_state(version, service.state())));
        let service = SharedService::new(service);
        // Dropped when nothing is locked.
        let _before = {
            // Under the lock: who ends the service sets its life, and then empties the cell.
            let mut life = common.life.lock();
            if life.is_end() {
                return;
            }
            *life = Lifecycle::Running;
            self.cell.exchange(service)
        };
        common.shared.changed(common);
    }
}

/// What is built anew when its cell is found empty.
pub(super) trait BuiltAnew {
    fn has_lost(&self) -> bool;
    fn build_anew(&self, why: &Fault);
}

impl<S: Service> BuiltAnew for ServiceCell<S> {
    fn has_lost(&self) -> bool {
        self.is_empty()
    }

    #[cold]
    fn build_anew(&self, why: &Fault) {
        // Where nothing serves any more, nothing is built.
        if let Some(served) = self.served() {
            restart(served, why);
        }
    }
}

impl BuiltAnew for Arc<dyn ServedSteps> {
    fn has_lost(&self) -> bool {
        self.is_empty()
    }

    fn build_anew(&self, why: &Fault) {
        restart(Arc::clone(self), why);
    }
}

/// The service is out of its cell until this is dropped. When what was done with it has panicked
/// outside of its handler, or its handler is dropped while it waits, it is not put back, and is
/// built anew.
pub(super) struct TakenService<'a, T: BuiltAnew> {
    served: &'a T,
    /// Its handler waits: it is not put back either where that is dropped.
    pub(super) waits: bool,
    /// A destructor that runs for the panic of another calls: that panic is none of this operation.
    was_panicking: bool,
}

impl<'a, T: BuiltAnew> TakenService<'a, T> {
    pub(super) fn of(served: &'a T) -> Self {
        TakenService {
            served,
            waits: false,
            was_panicking: std::thread::panicking(),
        }
    }
}

impl<T: BuiltAnew> Drop for TakenService<'_, T> {
    fn drop(&mut self) {
        let has_panicked = std::thread::panicking() && !self.was_panicking;
        if (has_panicked || self.waits) && self.served.has_lost() {
            let reason = match has_panicked {
                true => "an operation panicked outside of its handler",
                false => "a handler was dropped while it waited: nobody could wake it",
            };
            self.served.build_anew(&Fault::failed(reason));
        }
    }
}
