//! The services of the demonstration: a robot in a room, points that are clustered on ranks,
//! workflows.
//!
//! ```text
//!  /drive ──► /world ──► (each tenth of a second) ──► /bumper          /source ──► /clustering, a job on ranks
//! ```

use motet_comm::World as Ranks;
use motet_mining::{Annealing, Clusters, Control, Points};
use motet_service::workflow::Workflow;
use motet_service::{
    Cx, Fault, NodeBuilder, Notification, Service, State, Subscribe, contract, data,
};
use std::f64::consts::PI;
use std::num::{NonZeroU8, NonZeroU16};

/// What serves when no manifest is named.
const MANIFEST: &str = r#"
[[service]]
type = "sim-world"
at = "/world"

[[service]]
type = "sim-drive"
at = "/drive"
partners = { world = "/world" }

[[service]]
type = "sim-bumper"
at = "/bumper"
partners = { world = "/world" }

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
    format!("{MANIFEST}{persist}")
}

/// Lets a node make the services of this program.
pub(super) fn register(node: NodeBuilder) -> NodeBuilder {
    node.register::<SimWorld>()
        .register::<SimDrive>()
        .register::<SimBumper>()
        .register::<FourTowns>()
        .register::<RankClustering>()
        .register::<Workflow>()
}

/// The side of the room.
const SIDE: f64 = 10.0;

/// A room of 10 by 10 with a robot in it.
#[data]
#[derive(Default, PartialEq)]
struct Room {
    /// Tenths of a second since the begin.
    step: u64,
    x: f64,
    y: f64,
    heading: f64,
    left: f64,
    right: f64,
    /// The robot stands against a wall.
    touches: bool,
}

/// The power of two motors, each from -1 to 1. One that is not named has none.
#[data]
#[derive(Default, PartialEq)]
#[serde(default)]
struct Power {
    left: f64,
    right: f64,
}

#[contract(uri = "motet:world/1", state = Room)]
trait World {
    /// What the motors do, each from -1 to 1.
    #[update]
    fn set_power(&mut self, power: Power) -> Result<(), Fault>;
    /// A tenth of a second passes.
    #[every(seconds = 0.1)]
    fn step(&mut self);
}

#[derive(Service)]
#[service(contract = World)]
struct SimWorld {
    #[state]
    room: State<Room>,
}

impl World for SimWorld {
    fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        let Power { left, right } = power;
        for (name, power) in [("left", left), ("right", right)] {
            if !(-1.0..=1.0).contains(&power) {
                let said = format!("{name} is {power}: a power is from -1 to 1");
                return Err(Fault::failed(said));
            }
        }
        (self.room.left, self.room.right) = (left, right);
        Ok(())
    }

    fn step(&mut self) {
        let room = &mut *self.room;
        if room.left == 0.0 && room.right == 0.0 && !room.touches {
            return;
        }
        room.step += 1;
        room.heading = (room.heading + (room.right - room.left) * 0.1).rem_euclid(2.0 * PI);
        let way = (room.left + room.right) / 2.0 * 0.1;
        let (x, y) = (
            room.x + way * room.heading.cos(),
            room.y + way * room.heading.sin(),
        );
        (room.x, room.y) = (x.clamp(0.0, SIDE), y.clamp(0.0, SIDE));
        room.touches = (room.x, room.y) != (x, y);
    }
}

/// What the drive has been told.
#[data]
#[derive(Default)]
struct Motors {
    commands: u64,
}

#[contract(uri = "motet:drive/1", state = Motors)]
trait Drive {
    /// Sets the power of both motors, each from -1 to 1.
    #[update]
    async fn set_power(&mut self, power: Power) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Drive)]
struct SimDrive {
    #[state]
    motors: State<Motors>,
    #[partner(policy = UseExisting)]
    world: WorldClient,
}

impl Drive for SimDrive {
    async fn set_power(&mut self, power: Power) -> Result<(), Fault> {
        self.world.set_power(power).await?;
        self.motors.commands += 1;
        Ok(())
    }
}

/// What the bumper has felt.
#[data]
#[derive(Default)]
struct Touches {
    touches: bool,
    /// How often it began to touch.
    bumps: u64,
}

#[contract(uri = "motet:bumper/1", state = Touches)]
trait Bumper {
    /// The world has changed.
    #[notified]
    async fn changed(&mut self, by: Notification<WorldContract>);
}

#[derive(Service)]
#[service(contract = Bumper, start = begin)]
struct SimBumper {
    #[state]
    felt: State<Touches>,
    #[partner(policy = UseExisting)]
    world: WorldClient,
}

impl SimBumper {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        let steps = Subscribe::all().operation("step");
        cx.subscribe::<BumperClient, _>(&self.world, steps, BumperRequest::Changed)
            .await
    }
}

impl Bumper for SimBumper {
    async fn changed(&mut self, _: Notification<WorldContract>) {
        let Ok(room) = self.world.get().await else {
            return;
        };
        if room.touches != self.felt.touches {
            self.felt.touches = room.touches;
            self.felt.bumps += u64::from(room.touches);
        }
    }
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
            .ranks(Ranks::threads(wanted.ranks.get().into()))
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
