//! What is looked at before a service is asked.

use super::slot::{Common, ServiceSlot};
use crate::context::{CallContext, CallTrace, is_told};
use crate::options::{Options, RequestEnvelope};
use crate::{AnyClient, Contract, Fault, FaultCode, Group, Verb};

impl Common {
    /// The envelope of what may be asked for and is posted.
    pub(super) fn envelop(
        &self,
        verb: Verb,
        group: Group,
        options: &mut Options,
        context: Option<&CallContext>,
        waits: bool,
    ) -> Result<RequestEnvelope, Fault> {
        self.admit(verb, group, Some(options), context, waits)?;
        if group == Group::Teardown && options.if_version.is_some() {
            // It is taken once: one that does not fit would end the service all the same.
            let reason = "what ends a service takes no version; read the state, and then end it";
            let fault = Fault::new(FaultCode::MessageNotSupported, reason);
            return Err(fault.of_service(&self.path));
        }
        let shared = &self.shared;
        let parent = context.and_then(|context| context.inherited.trace);
        // What the node does for itself is none of what a handler calls.
        let inherits = parent.is_some() && !self.path.starts_with("/sys/");
        let trace = (options.capture || inherits).then(|| CallTrace {
            id: shared.traces.next(),
            parent,
        });
        let clock = shared.deadlines.clock();
        Ok(RequestEnvelope::new(Some(options), context, clock, trace))
    }

    /// What is refused without a look at the service.
    #[inline]
    pub(crate) fn admit(
        &self,
        verb: Verb,
        group: Group,
        options: Option<&Options>,
        context: Option<&CallContext>,
        waits: bool,
    ) -> Result<(), Fault> {
        let is_held = || {
            context.is_some_and(|context| context.is_held_by(self))
                || options
                    .and_then(|options| options.chain.as_deref())
                    .is_some_and(|told| is_told(told, self))
        };
        if waits && group != Group::Independent && is_held() {
            let reason = "the service would wait for itself: a handler of it awaits this call; \
                      call a method, or answer first";
            return Err(Fault::new(FaultCode::SelfCall, reason).of_service(&self.path));
        }
        self.permit(verb, options, context)
    }

    /// Refuses who may not do this by the rules of the service.
    #[inline]
    pub(super) fn permit(
        &self,
        verb: Verb,
        options: Option<&Options>,
        context: Option<&CallContext>,
    ) -> Result<(), Fault> {
        if options.is_some_and(|options| options.is_own) {
            return Ok(());
        }
        let inherited = || Some(&**context?.own.as_ref()?.path());
        let said = options.and_then(|options| options.principal.as_deref());
        let Some(principal) = said.or_else(inherited) else {
            // Whoever is no principal is the program itself.
            return Ok(());
        };
        let allowed = self.rights.check(principal, verb);
        allowed.map_err(|fault| fault.of_service(&self.path))
    }
}

impl AnyClient {
    /// Whether the service takes the operation of this name: one of its contract that clients may
    /// call, or one that all services have and this one does not refuse. Where the contract
    /// [does not list all](crate::Contract::IS_OPEN) it may be any other.
    #[must_use]
    pub fn takes(&self, operation: &str) -> bool {
        self.0.takes(operation)
    }
}

impl<C: Contract> ServiceSlot<C> {
    /// As [`AnyClient::takes`].
    pub(super) fn takes_named(&self, operation: &str) -> bool {
        match operation {
            "get" | "lookup" | "drop" | "unsubscribe" => true,
            "save" => self.common.is_stored,
            "replace" => C::REPLACE,
            "patch" | "patch_json" => C::PATCH,
            name => {
                let mut called = C::OPERATIONS.iter().filter(|own| own.called);
                C::IS_OPEN || called.any(|own| own.name == name)
            }
        }
    }
}
