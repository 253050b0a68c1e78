//! The services of the demonstration: a robot in a room ([`motet_service::robot`]), points that are
//! clustered on ranks, workflows.
//!
//! ```text
//!  /drive ──► /world ──► /bumper, /laser ──► /explorer ──► /drive          /source ──► /clustering, a job on ranks
//! ```

use motet_comm::World;
use motet_mining::{Annealing, Clusters, Control, Points};
use motet_service::workflow::Workflow;
use motet_service::{Cx, Fault, NodeBuilder, Service, State, contract, data, robot};
use std::num::{NonZeroU8, NonZeroU16};

/// What serves beside the robot when no manifest is named.
const MANIFEST: &str = r#"
[[service]]
type = "four-towns"
at = "/source"

[[service]]
type = "rank-clustering"
at = "/clustering"

[[service]]
type = "workflow"
at = "/workflow"
"#;

/// What serves when no manifest is named; runs of workflows last where there is a store.
pub(super) fn manifest(lasts: bool) -> String {
    let persist = if lasts { "persist = \"each\"\n" } else { "" };
    format!("{}{MANIFEST}{persist}", robot::MANIFEST)
}

/// Lets a node make the services of this program.
pub(super) fn register(node: NodeBuilder) -> NodeBuilder {
    robot::register(node)
        .register::<FourTowns>()
        .register::<RankClustering>()
        .register::<Workflow>()
}

/// Points of a town, at most: the state is sent as a whole.
const MOST_EACH: u32 = 250_000;

/// Points of the plane.
#[data]
#[derive(Default)]
struct Places {
    points: Vec<[f64; 2]>,
}

#[contract(uri = "motet:places/1", state = Places)]
trait Source {
    /// Makes four towns of so many points each, 250,000 at most.
    #[update]
    fn make(&mut self, each: u32) -> Result<usize, Fault>;
}

#[derive(Service)]
#[service(contract = Source)]
struct FourTowns {
    #[state]
    places: State<Places>,
}

impl Source for FourTowns {
    fn make(&mut self, each: u32) -> Result<usize, Fault> {
        if each > MOST_EACH {
            let said = format!("{each} points for each town: give {MOST_EACH} at most");
            return Err(Fault::failed(said));
        }
        let towns = [[1.5, 2.0], [8.0, 2.5], [2.5, 8.0], [8.5, 8.5]];
        let around = |n: u32| {
            // A spiral by the golden angle fills a disc evenly.
            let (turn, far) = (f64::from(n) * 2.399_963, f64::from(n) / f64::from(each));
            [far.sqrt() * turn.cos(), far.sqrt() * turn.sin()]
        };
        let all = towns.iter().flat_map(|town| {
            (0..each).map(move |n| [town[0] + around(n)[0], town[1] + around(n)[1]])
        });
        self.places.points = all.collect();
        Ok(self.places.points.len())
    }
}

/// What a clustering has found.
#[data]
#[derive(Default, PartialEq)]
struct Found {
    centres: Vec<[f64; 2]>,
    sizes: Vec<usize>,
    inertia: f64,
}

/// What is wanted of a clustering: what cannot be is refused before there is a job.
#[data]
struct WantedColumn {
    clusters: NonZeroU16,
    ranks: NonZeroU8,
}

#[contract(uri = "motet:clustering/1", state = Found)]
trait Clustering {
    /// Clusters the points of `/source` on ranks; the answer names the job.
    #[submit(job)]
    async fn cluster(cx: Cx, wanted: WantedColumn) -> Result<Found, Fault>;
    /// Keeps what a job has found.
    #[update]
    fn keep(&mut self, found: Found);
}

#[derive(Service)]
#[service(contract = Clustering)]
struct RankClustering {
    #[state]
    found: State<Found>,
}

impl Clustering for RankClustering {
    async fn cluster(cx: Cx, wanted: WantedColumn) -> Result<Found, Fault> {
        let places = cx.client::<SourceClient>("/source")?.get().await?;
        let points = Points::new(places.points.concat(), 2).map_err(|error| {
            Fault::failed(format!("the points of /source: {error}; call its make"))
        })?;
        cx.progress(0.1, "the points are here");
        let method = Annealing {
            clusters: Clusters::Exactly(wanted.clusters.get().into()),
            ..Annealing::default()
        };
        let ranks = cx
            .ranks(World::threads(wanted.ranks.get().into()))
            .profile();
        let parts =
            ranks.run(async move |comm| method.fit(&comm, &points, &Control::default()).await);
        let parts = parts.await?;
        let found = Found {
            centres: parts[0].centres.chunks(2).map(|c| [c[0], c[1]]).collect(),
            sizes: parts[0].sizes.clone(),
            inertia: parts[0].inertia,
        };
        cx.own::<ClusteringClient>()?.keep(found.clone()).await?;
        Ok(found)
    }

    fn keep(&mut self, found: Found) {
        self.found.set(found);
    }
}
