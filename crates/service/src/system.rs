//! The services of a node's own, under `/sys`: ordinary services, to be called and subscribed to
//! like all others.
//!
//! | path | contract | is |
//! |---|---|---|
//! | `/sys/directory` | [`Directories`] | which services there are, and what becomes of them |
//! | `/sys/constructor` | [`Constructors`] | makes services of types that are known by name |
//! | `/sys/contracts` | [`Catalogues`] | which types of services there could be |
//! | `/sys/manifests` | [`Manifests`] | loads manifests; their JSON Schema |
//! | `/sys/log` | [`Logs`] | what services say, and what happens to them |
//! | `/sys/diagnostics` | [`Diagnostics`] | how often what has happened |
//! | `/sys/debug` | [`Debug`] | requests that were captured; who waits for whom; services that are suspended |
//! | `/sys/mesh` | [`Mesh`] | peers, topics and subscriptions of the [mesh](crate::NodeBuilder::mesh), if there is one |
//! | `/jobs/n` | [`Job`] | work that goes on after its caller was answered |

mod constructor;
mod debug;
mod directory;
mod job;
mod log;
mod mesh;

pub use crate::manifest::Loaded;
pub use crate::report::{Captured, Level, LogEntry, Record};
pub use crate::spec::Spec;
pub use constructor::{
    Catalogue, Catalogues, CataloguesClient, CataloguesContract, CataloguesRequest, Constructors,
    ConstructorsClient, ConstructorsContract, ConstructorsRequest, KindInfo, Manifests,
    ManifestsClient, ManifestsContract, ManifestsRequest, Nothing,
};
pub use debug::{
    Captures, Debug, DebugClient, DebugContract, DebugRequest, DebugSteps, DebuggedService,
    Diagnostics, DiagnosticsClient, DiagnosticsContract, DiagnosticsRequest, Figure,
    SuspendedService, WaitingService,
};
pub use directory::{
    Directories, DirectoriesClient, DirectoriesContract, DirectoriesRequest, Directory, Filter,
};
pub(crate) use job::JobService;
pub use job::{Finished, Job, JobClient, JobContract, JobRequest, JobState, JobStatus, Progress};
pub use log::{Log, LogFilter, Logs, LogsClient, LogsContract, LogsRequest};
pub use mesh::{
    Mesh, MeshClient, MeshContract, MeshPeer, MeshRequest, MeshStatus, MeshSubscriber,
    MeshSubscription, MeshTopic,
};

use crate::report::NodeReporter;
use crate::service::NodeShared;
use crate::{Client, Contract, Fault, Service};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Starts them.
pub(crate) fn start(shared: &Arc<NodeShared>) -> Result<(), Fault> {
    let reporter = Reporter {
        log: make::<log::LogService>(shared, "/sys/log")?.into(),
        directory: make::<directory::DirectoryService>(shared, "/sys/directory")?.into(),
        debug: make::<debug::DebugService>(shared, "/sys/debug")?.into(),
    };
    shared.set_reporter(Some(Arc::new(reporter)));
    make::<debug::DiagnosticsService>(shared, "/sys/diagnostics")?;
    make::<constructor::ConstructorService>(shared, "/sys/constructor")?;
    make::<constructor::CatalogueService>(shared, "/sys/contracts")?;
    make::<constructor::ManifestService>(shared, "/sys/manifests")?;
    if shared.mesh.is_some() {
        make::<mesh::MeshService>(shared, "/sys/mesh")?;
    }
    Ok(())
}

fn make<S: Service>(shared: &Arc<NodeShared>, path: &str) -> Result<Client<S::Contract>, Fault>
where
    S::Contract: Contract,
{
    let mut spec = Spec {
        at: Some(path.to_owned()),
        ..Spec::of_kind(S::NAME)
    };
    if path == "/sys/directory" {
        // A service whose record finds no room would be missing there for good.
        spec.depth = usize::MAX;
    }
    let making = pin!(crate::create::create::<S>(shared, spec));
    // They have no partners, and their starts wait for nothing.
    match making.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(made) => made.map(Client::here),
        Poll::Pending => Err(Fault::failed(format!("{path} did not start at once"))),
    }
}

/// Tells the services what happens. What they have no room for is gone.
struct Reporter {
    log: LogsClient,
    directory: DirectoriesClient,
    debug: DebugClient,
}

impl NodeReporter for Reporter {
    fn log(&self, entry: LogEntry) {
        // Not carried out here, as all that follows: a handler may be amid its work.
        drop(self.log.post_by_itself(LogsRequest::Write(entry)));
    }

    fn captured(&self, captured: Captured) {
        drop(self.debug.post_by_itself(DebugRequest::Keep(captured)));
    }

    fn recorded(&self, record: Record) {
        let request = DirectoriesRequest::Record(record);
        // Not carried out here: who tells holds a lock.
        drop(self.directory.post_by_itself(request));
    }

    fn removed(&self, path: &str) {
        let request = DirectoriesRequest::Remove(path.to_owned());
        drop(self.directory.post_by_itself(request));
    }
}
