//! What stands for a service where its handlers call others.

use super::slot::{Common, ServiceSlot};
use crate::Contract;
use crate::context::CallingService;
use crate::deadlines::Deadlines;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

impl CallingService for Common {
    fn record(&self) -> &(dyn Any + Send + Sync) {
        self
    }

    fn path(&self) -> &Arc<str> {
        &self.path
    }

    fn may_call_out(&self) -> bool {
        self.network
    }

    fn deadlines(&self) -> &Deadlines {
        &self.shared.deadlines
    }

    fn limit(&self) -> Duration {
        self.shared.limit()
    }

    fn name_everywhere(&self) -> String {
        format!("{:016x}.{}", self.shared.token, self.id)
    }
}

impl<C: Contract> CallingService for ServiceSlot<C> {
    fn record(&self) -> &(dyn Any + Send + Sync) {
        &*self.common
    }

    fn path(&self) -> &Arc<str> {
        self.common.path()
    }

    fn may_call_out(&self) -> bool {
        self.common.may_call_out()
    }

    fn deadlines(&self) -> &Deadlines {
        self.common.deadlines()
    }

    fn limit(&self) -> Duration {
        self.common.limit()
    }

    fn name_everywhere(&self) -> String {
        self.common.name_everywhere()
    }
}
