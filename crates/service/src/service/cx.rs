//! What a handler knows beside the service and the request.

use super::any_service::AnyService;
use super::definition::typed;
use super::slot::Common;
use crate::context::{CallContext, CallingService, Panicked};
use crate::options::RequestEnvelope;
use crate::queue::Queue;
use crate::report::Level;
use crate::{
    AnyClient, Contract, ContractClient, Fault, Notification, Operation, Subscribe, TraceParent,
};
use motet_dispatch::Clock;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a handler knows beside the service and the request: who called, until when, on which node.
///
/// A method of a contract takes `cx: &Cx` if it wants it; one without receiver takes `cx: Cx`.
pub struct Cx {
    /// What calls of the handler inherit. It has the service, and holds its group.
    pub(crate) context: CallContext,
    pub(crate) envelope: RequestEnvelope,
    /// What the job knows whose work this is: `job.rs`.
    pub(crate) job: Option<Arc<dyn Any + Send + Sync>>,
    /// The keys of the notification, and whether the state is to be stored: what the handler has
    /// said.
    keys: Mutex<Vec<String>>,
    save: AtomicBool,
}

impl Cx {
    #[inline]
    pub(crate) fn new(common: &Arc<Common>, envelope: RequestEnvelope) -> Self {
        Cx::of(Arc::<Common>::clone(common), envelope)
    }

    /// As [`Cx::new`], of a service for which something stands that need not be counted anew.
    #[inline]
    pub(crate) fn of(own: Arc<dyn CallingService>, mut envelope: RequestEnvelope) -> Self {
        Cx {
            context: CallContext {
                own: Some(own),
                holds: true,
                inherited: envelope.inherited(),
            },
            envelope,
            job: None,
            keys: Mutex::default(),
            save: AtomicBool::new(false),
        }
    }

    /// Of work that the node itself has begun, within this time.
    pub(crate) fn of_node(common: &Arc<Common>, within: Duration) -> Self {
        let clock = common.shared.deadlines.clock();
        let mut options = crate::Options {
            within: Some(within),
            ..crate::Options::default()
        };
        Cx::new(
            common,
            RequestEnvelope::new(Some(&mut options), None, clock, None),
        )
    }

    /// What does not depend on the contract.
    pub(crate) fn common(&self) -> &Common {
        let own = self.context.own.as_ref();
        let common = own.and_then(|own| own.record().downcast_ref());
        common.expect("a handler is one of a service")
    }

    /// The context in which a handler runs; it holds its service's group, if `holds`.
    pub(crate) fn context(&self, holds: bool) -> CallContext {
        let context = self.context.clone();
        CallContext { holds, ..context }
    }

    /// Runs a handler that does not wait; its panic is caught.
    #[inline]
    pub(crate) fn run_now<R>(&self, handler: impl FnOnce() -> R) -> Result<R, Panicked> {
        self.context.run_now(handler)
    }

    /// The path of the service.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.common().path
    }

    /// The queue of the service, for arbiters of its own: joins of subscriptions, for instance.
    #[must_use]
    pub fn queue(&self) -> Queue {
        Queue(Arc::clone(&self.common().queue))
    }

    /// Who called, if that is known: the path of a service, or a name that the caller gave.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.envelope.principal.as_deref()
    }

    /// When the caller stops waiting.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        // A call that is carried out at once has begun just now.
        self.envelope
            .deadline
            .unwrap_or_else(|| self.clock().in_future(self.common().shared.limit()))
    }

    /// The clock of the node: virtual under a replay.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.common().shared.deadlines.clock()
    }

    /// The header of this type, if the caller has sent one.
    #[must_use]
    pub fn header<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.envelope.header()
    }

    /// The trace of which the call is a part, if its caller has said one: by the header
    /// `traceparent` of HTTP, or by its options.
    #[must_use]
    pub fn trace_parent(&self) -> Option<&TraceParent> {
        self.envelope.trace_parent().map(|trace| &**trace)
    }

    /// What subscribers can filter the notification of this operation by.
    pub fn notify_keys<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) {
        *self.keys.lock() = keys.into_iter().map(Into::into).collect();
    }

    pub(crate) fn take_keys(&self) -> Arc<[String]> {
        std::mem::take(&mut *self.keys.lock()).into()
    }

    /// Has the state stored when this exclusive handler has ended well; the answer leaves after
    /// that. When it cannot be stored, the answer is the fault, and the service is built anew of
    /// what is.
    pub fn save(&self) {
        // Relaxed: it is read when the handler has ended.
        self.save.store(true, Ordering::Relaxed);
    }

    pub(crate) fn wants_save(&self) -> bool {
        self.save.load(Ordering::Relaxed)
    }

    /// Has Lookup and [`AnyClient::operations`] list these operations, too, for a contract that
    /// [does not list all](Contract::IS_OPEN). What was said first stays.
    pub fn lists(&self, operations: Vec<&'static Operation>) {
        let _ = self.common().further.set(operations);
    }

    /// The client of this very service. A call that a handler of a group makes to it and awaits is
    /// a [`SelfCall`](crate::FaultCode::SelfCall); what it posts runs later.
    ///
    /// # Errors
    /// A fault when the service has another contract than the client calls, or has ended.
    pub fn own<K: ContractClient>(&self) -> Result<K, Fault> {
        typed(self.own_service()?)
    }

    /// This very service, and not another that has its path by now.
    fn own_service(&self) -> Result<Arc<dyn AnyService>, Fault> {
        let found = self.common().shared.service(&self.common().path)?;
        match found.common().id == self.common().id {
            true => Ok(found),
            false => Err(self.common().absence()),
        }
    }

    /// The client of the service at `path`.
    ///
    /// # Errors
    /// A fault when there is none, or it has another contract.
    pub fn client<K: ContractClient>(&self, path: &str) -> Result<K, Fault> {
        typed(self.common().shared.service(path)?)
    }

    /// The service at `path`, whatever its contract.
    ///
    /// # Errors
    /// A fault when there is none.
    pub fn find(&self, path: &str) -> Result<AnyClient, Fault> {
        self.common().shared.service(path).map(AnyClient)
    }

    /// Has the notifications of `publisher` sent to this service, as long as both are there. `make`
    /// is the operation that takes them, `DriveRequest::Hit` for a method
    /// `#[notified] fn hit(&mut self, by: Notification<…>)`.
    ///
    /// # Errors
    /// As [`Client::subscribe`](crate::Client::subscribe).
    pub async fn subscribe<K: ContractClient, P: Contract>(
        &self,
        publisher: &crate::Client<P>,
        how: Subscribe,
        make: fn(Notification<P>) -> <K::Contract as Contract>::Request,
    ) -> Result<(), Fault> {
        let slot = self.own_service()?.as_any();
        let slot = slot
            .downcast()
            .map_err(|_| Fault::failed("the service has another contract"))?;
        let own = crate::Client::<K::Contract>::here(slot);
        let how = how.named(&format!(
            "{}#{}",
            self.common().path,
            std::any::type_name::<P>()
        ));
        publisher
            .subscribe_to(how, &own, make)
            .await
            .map(crate::Subscription::keep)
    }

    /// Writes to the node's log, with the trace of the call.
    pub fn info(&self, text: &str) {
        self.log(Level::Info, text);
    }

    /// Writes to the node's log that something is not as it should be, with the trace of the call.
    pub fn warn(&self, text: &str) {
        self.log(Level::Warning, text);
    }

    fn log(&self, level: Level, text: &str) {
        let common = self.common();
        let trace = self.trace_parent();
        common
            .shared
            .log_of(level, "service", &common.path, text, trace);
    }
}

impl Clone for Cx {
    fn clone(&self) -> Self {
        Cx {
            context: self.context.clone(),
            envelope: self.envelope.clone(),
            job: self.job.clone(),
            keys: Mutex::default(),
            save: AtomicBool::new(false),
        }
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("path", &self.common().path)
            .field("principal", &self.principal())
            .finish_non_exhaustive()
    }
}
