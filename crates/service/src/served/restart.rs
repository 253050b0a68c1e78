//! Supervision: a service that has lost its state is built anew, within limits (OTP's restart
//! intensity).

use super::Served;
use crate::lifecycle::Lifecycle;
use crate::report::Level;
use crate::service::Figures;
use crate::{Fault, Service};
use motet_dispatch::{Causalities, spawn};
use motet_ports::timer::sleep;
use std::sync::Arc;
use std::time::Duration;

impl<S: Service> Served<S> {
    /// The cell is empty: the service is built anew, or has failed for good. One that was dropped
    /// meanwhile stays so.
    pub(super) fn restart(self: &Arc<Self>, why: &Fault) {
        let common = &self.slot.common;
        // What they answer for has gone with the state. Those that are stored are read again.
        self.slot.keys.lock().clear();
        if common.has_ended() {
            return;
        }
        let now = common.shared.deadlines.clock().now();
        let wait = self.plan.supervision.lock().next(now);
        let Some(wait) = wait else {
            common.shared.log(
                Level::Error,
                "supervision",
                &common.path,
                &format!("failed for good: {why}"),
            );
            common.set_unless_ended(Lifecycle::Failed {
                why: why.reason().to_owned(),
            });
            return;
        };
        common.shared.log(
            Level::Warning,
            "supervision",
            &common.path,
            &format!("is built anew: {why}"),
        );
        if !common.set_unless_ended(Lifecycle::Restarting) {
            return;
        }
        let served = Arc::clone(self);
        let again = async move {
            if wait > Duration::ZERO {
                sleep(wait).await;
            }
            if served.slot.common.has_ended() {
                return;
            }
            match served.build().await {
                Ok(service) => served.resume(service),
                Err(fault) => served.restart(&fault),
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

    /// Serves again. Whoever subscribed is told of the state, which is not what it was.
    fn resume(&self, service: S) {
        let common = &self.slot.common;
        Figures::count(&common.figures.restarts);
        if common.has_ended() {
            return;
        }
        let version = common.next_version();
        drop(self.tells(self.telling_state(version, &service)));
        let service = Arc::new(service);
        {
            // Both: who ends the service sets its life, and then empties the cell.
            let mut cell = self.cell.lock();
            let mut life = common.life.lock();
            if life.is_end() {
                return;
            }
            *cell = Some(service);
            *life = Lifecycle::Running;
        }
        common.shared.changed(common);
    }
}
